//! The files of a project on a worker, and what a run changed there, with a real hub and real workers.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use cycod_hub::{HubStore as _, SqliteStore};
use jiff::Timestamp;
use rustix::process::Signal;

use crate::{
    confined::is_offered,
    fleet::{Team, signal},
    flows::durable,
    support::{Place, until},
    team_hub::{done, fails},
};

/// A tool that has the files of the project, with a command.
fn tool(command: &str, tags: &str) -> String {
    format!(
        "description: Work\non: fleet\nworkspace: snapshot\nbash: |\n  {}\ntags: [{tags}]\n",
        command.replace('\n', "\n  ")
    )
}

#[expect(clippy::disallowed_methods, reason = "the tests start git as people do")]
fn git(place: &Place, words: &[&str]) {
    let output = Command::new("git").args(words).current_dir(place.project()).output().expect("git starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).expect("a file").permissions().mode() & 0o111 != 0
}

/// The files of the project, without those of cycod and git.
fn files(place: &Place) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![place.project()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(place.project()).expect("below").to_string_lossy().into_owned();
            if name == ".git" || name == ".cycod" {
                continue;
            }
            if path.is_dir() && !path.is_symlink() {
                open.push(path.clone());
            } else {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_run_has_the_files_of_the_project_and_its_changes_come_back() {
    let team = Team::without_files();
    let ada = &team.ada;
    let worker = team.worker("build-1", &[]);
    ada.write("src/a.txt", "one\n");
    ada.write("src/gone/b.txt", "two\n");
    ada.write("run.sh", "#!/bin/sh\necho run\n");
    ada.write(".gitignore", "*.log\nout/\n");
    ada.write("old.log", "log\n");
    ada.write("notes.txt", "notes\n");
    ada.write("known.log", "known\n");
    symlink("a.txt", ada.project().join("src/link")).expect("a link");
    ada.tool(
        "work",
        &tool(
            "set -e\ncat src/a.txt src/link known.log notes.txt\ntest ! -e old.log\ntest ! -e .git\nls .cycod\npwd\n\
             echo three >> src/a.txt\nrm -r src/gone\nchmod +x run.sh\nmkdir -p new/deep out\n\
             echo new > new/deep/c.txt\nln -s ../src/a.txt new/link\necho x > out/big\necho x > x.log",
            "write",
        ),
    );
    git(ada, &["init", "-q"]);
    git(ada, &["add", "-f", "known.log", ".cycod", "src", "run.sh"]);
    let ran = done(ada, &["run", "work"]);
    assert!(ran.stdout().starts_with("one\none\nknown\nnotes\ntools\n"), "{}", ran.block());
    assert!(!ran.stdout().contains("[PLACE]/project"), "it ran elsewhere: {}", ran.block());
    assert_eq!(ada.read("src/a.txt"), "one\nthree\n");
    assert!(is_executable(&ada.project().join("run.sh")));
    assert_eq!(fs::read_link(ada.project().join("new/link")).expect("a link"), Path::new("../src/a.txt"));
    assert_eq!(
        files(ada),
        [
            ".gitignore",
            "known.log",
            "new/deep/c.txt",
            "new/link",
            "notes.txt",
            "old.log",
            "run.sh",
            "src/a.txt",
            "src/link"
        ]
    );
    assert!(!ada.project().join("src/gone").exists(), "the directory was empty");
    // Nothing is left on the worker or at the hub.
    assert_eq!(fs::read_dir(worker.place.path("tmp")).expect("a directory").count(), 0);
    // Once more, in a directory of the project.
    ada.tool("here", &tool("cat b.txt\necho more >> b.txt", "write"));
    ada.write("sub/b.txt", "b\n");
    git(ada, &["add", ".cycod"]);
    let mut command = ada.command(&["run", "here"]);
    let ran = ada.ran(command.current_dir(ada.project().join("sub")).output().expect("it starts"));
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "b\n"), "{}", ran.block());
    assert_eq!(ada.read("sub/b.txt"), "b\nmore\n");
}

#[test]
fn a_directory_without_git_travels_as_its_ignore_files_say() {
    let team = Team::without_files();
    let ada = &team.ada;
    let _worker = team.worker("build-1", &[]);
    ada.write("a.txt", "a\n");
    ada.write("skip/x.txt", "x\n");
    ada.write(".gitignore", "skip/\n");
    fs::create_dir(ada.project().join("empty")).expect("a directory");
    ada.tool("look", &tool("find . -path ./.cycod -prune -o -print | sort\necho changed > a.txt", "read"));
    let ran = done(ada, &["run", "look"]);
    assert_eq!(ran.stdout(), ".\n./.gitignore\n./a.txt\n./empty\n", "{}", ran.block());
    // A tool that only reads changes nothing.
    assert_eq!(ada.read("a.txt"), "a\n");
    // Without the key, nothing travels.
    ada.tool("bare", "description: Look\non: fleet\nbash: find . -type f\ntags: [read]\n");
    assert_eq!(done(ada, &["run", "bare"]).stdout(), "./.cycod/tools/bare.yaml\n");
}

#[test]
fn a_conflict_fails_the_run_and_nothing_is_applied() {
    let team = Team::without_files();
    let ada = &team.ada;
    let _worker = team.worker("build-1", &[]);
    ada.write("a.txt", "a\n");
    ada.write("b.txt", "b\n");
    let mark = ada.path("go");
    let wait = format!("echo begun\nwhile [ ! -e '{}' ]; do sleep 0.05; done\n", mark.display());
    let change = "echo worker > a.txt; echo worker > b.txt; echo worker > new.txt";
    ada.tool("work", &(tool(&format!("{wait}{change}"), "write") + "security: {isolation: none}\n"));
    let (child, _out) = team.begin(&["work"], "begun");
    ada.write("b.txt", "mine\n");
    ada.write("new.txt", "mine\n");
    fs::write(&mark, "").expect("a file");
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(1) && said.contains("error[workspace-conflict]"), "{said}");
    assert!(said.contains("`b.txt` changed on this machine meanwhile"), "{said}");
    assert!(said.contains("`new.txt` was added on this machine meanwhile") && !said.contains("`a.txt`"), "{said}");
    assert_eq!([ada.read("a.txt"), ada.read("b.txt"), ada.read("new.txt")], ["a\n", "mine\n", "mine\n"]);
    // The user sees what it changed, and applies it when nothing is in the way.
    let listed = done(ada, &["runs", "apply", "last", "--dry-run"]);
    assert_eq!(
        listed.stdout(),
        "changed a.txt\nchanged b.txt  (changed on this machine meanwhile)\nadded   new.txt  (was added on this machine meanwhile)\n",
        "{}",
        listed.block()
    );
    _ = done(ada, &["runs", "apply", "last", "--into", "theirs"]);
    assert_eq!(ada.read("theirs/b.txt"), "worker\n");
    fails(&ada.run(&["runs", "apply", "last"]), "error[workspace-conflict]");
    ada.write("b.txt", "b\n");
    fs::remove_file(ada.project().join("new.txt")).expect("a file");
    _ = done(ada, &["runs", "apply", "last"]);
    assert_eq!([ada.read("a.txt"), ada.read("b.txt"), ada.read("new.txt")], ["worker\n", "worker\n", "worker\n"]);
    fails(&ada.run(&["runs", "apply", "last"]), "no changes are kept");
}

#[test]
fn the_changes_of_a_failed_run_are_kept_and_not_applied() {
    let team = Team::without_files();
    let ada = &team.ada;
    let _worker = team.worker("build-1", &[]);
    ada.write("a.txt", "a\n");
    ada.tool("work", &tool("echo worker > a.txt\nexit 3", "write"));
    let ran = ada.run(&["run", "work"]);
    assert_eq!(ran.code(), 3, "{}", ran.block());
    assert!(ran.stderr().contains("the run failed, so nothing that it changed was applied"), "{}", ran.block());
    assert_eq!(ada.read("a.txt"), "a\n");
    _ = done(ada, &["runs", "apply", "last"]);
    assert_eq!(ada.read("a.txt"), "worker\n");
    // Of one that was stopped, nothing is kept.
    ada.tool("stop", &tool("echo begun\necho stopped > a.txt\nsleep 600", "write"));
    let (mut child, _out) = team.begin(&["stop"], "begun");
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(ada.read("a.txt"), "worker\n");
    fails(&ada.run(&["runs", "apply", "last"]), "no changes are kept");
}

#[test]
fn files_that_can_not_travel_are_refused_before_anything_leaves() {
    let team = Team::without_files();
    let ada = &team.ada;
    let _worker = team.worker("build-1", &[]);
    ada.tool("work", &tool("ls -A", "read"));
    let refused = |says: &str| {
        let ran = ada.run(&["run", "work"]);
        assert!(ran.code() == 1 && ran.stderr().contains("error[workspace-refused]"), "{}", ran.block());
        assert!(ran.stderr().contains(says), "{says}: {}", ran.block());
    };
    let link = ada.project().join("out");
    for to in ["/etc/passwd", "../x", "a/../../x"] {
        symlink(to, &link).expect("a link");
        refused(&format!("the link `out` leads out of the project, to `{to}`"));
        fs::remove_file(&link).expect("a link");
    }
    let name = {
        use std::os::unix::ffi::OsStrExt as _;
        ada.project().join(std::ffi::OsStr::from_bytes(b"\xff"))
    };
    fs::write(&name, "x").expect("a file");
    refused("has a name that can't travel");
    fs::remove_file(name).expect("a file");
    for (name, size) in [("big", 200_u64 << 20), ("bigger", 300 << 20)] {
        fs::File::create(ada.project().join(name)).expect("a file").set_len(size).expect("a hole");
    }
    refused("the biggest are `bigger` (314572800 bytes), `big` (209715200 bytes)");
    fs::write(ada.project().join(".gitignore"), "big*\n").expect("a file");
    // Keys stay.
    ada.write("id_rsa", "key\n");
    assert_eq!(done(ada, &["run", "work"]).stdout(), ".cycod\n.gitignore\n");
}

#[test]
fn what_travels_is_shown_before_it_does() {
    let team = Team::without_files();
    let ada = &team.ada;
    ada.write("a.txt", "12345");
    ada.write("b.txt", "67890");
    ada.write("id_rsa", "key\n");
    ada.tool("work", &tool("echo x > a.txt", "write"));
    let plan = done(ada, &["run", "work", "--dry-run"]).stdout();
    assert!(plan.contains("  with 2 files of the project, 10 bytes; what it changes in them comes back\n"), "{plan}");
    assert!(plan.contains("  without id_rsa: it may hold keys\n"), "{plan}");
    let plan = done(ada, &["run", "work", "--dry-run", "--format", "json"]).stdout();
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    assert_eq!(
        plan["workspace"],
        serde_json::json!({"files": 2, "bytes": 10, "comes_back": true, "applied": true, "stay": ["id_rsa"]})
    );
    let says = "the files of the project leave this machine, and what the run changes in them comes back";
    let info = done(ada, &["info", "work"]).stdout();
    assert!(info.split_whitespace().collect::<Vec<_>>().join(" ").contains(says), "{info}");
    let info: serde_json::Value =
        serde_json::from_str(&done(ada, &["info", "work", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!(info["workspace"], "snapshot");
    let plan = done(ada, &["run", "work", "--durable", "--dry-run"]).stdout();
    assert!(plan.contains("what it changes in them comes back when you apply it\n"), "{plan}");
    let schedule = ada.run(&["schedule", "add", "work", "--cron", "0 3 * * *", "--zone", "UTC"]);
    assert!(schedule.stderr().contains("files     2 of the project, 10 bytes\n"), "{}", schedule.block());
    assert!(schedule.stderr().contains("without id_rsa: it may hold keys\n"), "{}", schedule.block());
    // Who is asked reads it, too.
    _ = done(ada, &["policy", "add", "ask", "work", "--user"]);
    _ = ada.run(&["run", "work"]);
    let asked = done(ada, &["approvals", "list", "--format", "json"]).stdout();
    assert!(asked.contains(says), "{asked}");
}

#[test]
fn what_a_killed_worker_had_is_removed_when_it_starts_again() {
    let team = Team::without_files();
    let ada = &team.ada;
    let mut worker = team.worker("build-1", &[]);
    ada.write("a.txt", "a\n");
    ada.tool("work", &tool("mkdir locked\ntouch locked/x\nchmod 500 locked\necho begun\nsleep 600", "write"));
    let (mut child, _out) = team.begin(&["work"], "begun");
    worker.child.kill().expect("it is killed");
    let left = || fs::read_dir(worker.place.path("tmp")).expect("a directory").count();
    assert!(left() > 0, "it could not remove it");
    until("the run is lost", || child.try_wait().expect("a state").is_some());
    worker.child = worker.place.command(&["worker"]).stderr(Stdio::null()).spawn().expect("it starts");
    until("it is removed", || left() == 0);
}

/// Changes the database by hand, as only someone who has taken over the hub can.
fn at_the_hub(team: &Team, statement: &str) -> u64 {
    let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
    let mut changed = 0;
    let work = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
        changed = tx.execute(statement, &[])?;
        Ok(())
    };
    database.transaction(work).expect("a change");
    changed
}

#[test]
fn the_hub_can_not_give_a_worker_other_files() {
    let team = Team::without_files();
    let ada = &team.ada;
    let worker = team.worker("build-1", &[]);
    ada.write("a.txt", "a\n");
    ada.tool("work", &tool("cat a.txt\necho b > a.txt", "write"));
    signal(&worker.child, Signal::STOP);
    std::thread::sleep(Duration::from_millis(1500));
    let mut command = ada.command(&["run", "work"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let other = "UPDATE part_bytes SET bytes = x'00' WHERE digest IN \
                 (SELECT digest FROM task_parts WHERE task IN (SELECT id FROM tasks WHERE state = 'waiting'))";
    until("the ticket is there", || at_the_hub(&team, other) == 1);
    signal(&worker.child, Signal::CONT);
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(3) && said.contains("error[ticket-refused]"), "{said}");
    assert!(said.contains("the hub has other files than those that were signed"), "{said}");
    assert!(ended.stdout.is_empty());
    // What comes back is what the result names.
    let trigger = "CREATE TRIGGER swap AFTER INSERT ON task_parts WHEN NEW.from_worker = 1 \
                   BEGIN UPDATE part_bytes SET bytes = x'00' WHERE digest = NEW.digest; END";
    _ = at_the_hub(&team, trigger);
    fails(&ada.run(&["run", "work"]), "the hub has other files than those that were signed");
    assert_eq!(ada.read("a.txt"), "a\n");
    // A task that has ended leaves no files of the project at the hub.
    _ = at_the_hub(&team, "DROP TRIGGER swap");
    _ = done(ada, &["run", "work"]);
    assert_eq!(ada.read("a.txt"), "b\n");
    assert_eq!(at_the_hub(&team, "DELETE FROM task_parts WHERE from_worker = 0"), 0);
}

#[test]
fn many_bytes_travel_in_parts_and_a_run_in_the_background_brings_them_back() {
    let team = Team::without_files();
    let ada = &team.ada;
    let _worker = team.worker("build-1", &[]);
    // Noise, which can't be compressed.
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    })
    .take(9 << 20)
    .collect();
    fs::write(ada.project().join("noise"), &noise).expect("a file");
    ada.tool("work", &tool("sha256sum < noise\ncat noise noise > twice", "write"));
    let began = ada.run(&["run", "work", "--background"]);
    let ran = done(ada, &["runs", "wait", began.stdout().trim()]);
    assert!(ran.stdout().contains(&cycod_team::BlobDigest::of(&noise).to_string()), "{}", ran.block());
    assert_eq!(fs::read(ada.project().join("twice")).expect("a file"), [&noise[..], &noise[..]].concat());
}

/// A workflow whose steps have the files of the project.
fn steps(steps: &str) -> String {
    format!(
        "description: Work\non: fleet\ndurable: true\nworkspace: snapshot\ntags: [write]\n\
         security: {{isolation: none}}\nsteps:\n{steps}"
    )
}

#[test]
fn each_step_has_the_files_as_the_steps_before_left_them_and_all_changes_are_applied_by_a_command() {
    let team = durable(Team::without_files());
    let ada = &team.ada;
    let workers = [team.worker("build-1", &[]), team.worker("build-2", &[])];
    ada.write("sub/a.txt", "one\n");
    ada.write("sub/gone.txt", "gone\n");
    ada.write(".gitignore", "*.log\n");
    let go = ada.path("go");
    let both = format!("touch '{0}'.$0; until [ -e '{0}'.1 ] && [ -e '{0}'.2 ]; do sleep 0.05; done", go.display());
    let text = format!(
        "  - {{name: a, bash: \"set -- 1; {}; echo A >> a.txt; echo x > x.log; ln -s a.txt link; echo a > ../same\"}}\n\
         \x20 - {{name: b, bash: \"set -- 2; {}; rm gone.txt; echo b > new.txt; chmod +x new.txt; echo a > ../same\", parallel: true}}\n\
         \x20 - {{name: c, bash: 'pwd | grep -c /sub$; cat a.txt new.txt link ../same; ls; test -x new.txt; echo C >> a.txt; exit 3', wait-for: [a, b], continue-on-error: true}}\n\
         \x20 - {{name: d, bash: 'cat a.txt; rm new.txt; echo d > ../d.txt'}}\n",
        both.replace("$0", "$1"),
        both.replace("$0", "$1")
    );
    ada.tool("work", &steps(&text));
    let mut command = ada.command(&["run", "work"]);
    let ran = ada.ran(command.current_dir(ada.project().join("sub")).output().expect("it starts"));
    let lines = ["1", "one", "A", "b", "one", "A", "a", "a.txt", "link", "new.txt"].map(|line| format!("[c] {line}\n"));
    assert!(ran.stderr().contains(&lines.concat()), "{}", ran.block());
    // A step that failed has changed something, too, as on this machine.
    assert!(ran.stdout().contains("one\nA\nC\n"), "{}", ran.block());
    assert!(ran.stderr().contains("it changed 5 files of the project: cycod runs apply "), "{}", ran.block());
    let all = [".gitignore", "sub/a.txt", "sub/gone.txt"];
    assert_eq!((files(ada), ada.read("sub/a.txt")), (all.map(str::to_owned).to_vec(), "one\n".to_owned()));
    let listed = done(ada, &["runs", "apply", "last", "--dry-run"]).stdout();
    let expected = "added   d.txt\nadded   same\nchanged sub/a.txt\nremoved sub/gone.txt\nadded   sub/link\n";
    assert_eq!(listed, expected);
    assert_eq!(done(ada, &["runs", "apply", "last"]).stdout(), expected);
    assert_eq!(ada.read("sub/a.txt"), "one\nA\nC\n");
    assert_eq!(files(ada), [".gitignore", "d.txt", "same", "sub/a.txt", "sub/link"]);
    // Nothing is left on the workers, and of the files of the project nothing at the hub.
    for worker in &workers {
        assert_eq!(fs::read_dir(worker.place.path("tmp")).expect("a directory").count(), 0);
    }
    assert_eq!(at_the_hub(&team, "DELETE FROM task_parts WHERE from_worker = 0"), 0);
}

#[test]
fn steps_that_change_one_file_at_once_conflict_and_so_do_those_that_change_the_tool() {
    let team = durable(Team::without_files());
    let ada = &team.ada;
    let _workers = [team.worker("build-1", &[]), team.worker("build-2", &[])];
    ada.write("a.txt", "one\n");
    ada.write("b.txt", "one\n");
    let go = ada.path("go");
    let wait = |own: u8| {
        format!("touch '{0}'.{own}; until [ -e '{0}'.1 ] && [ -e '{0}'.2 ]; do sleep 0.05; done", go.display())
    };
    let text = format!(
        "  - {{name: a, bash: \"{}; echo a > a.txt; echo a > b.txt\"}}\n\
         \x20 - {{name: b, bash: \"{}; sleep 2; echo b > a.txt\", parallel: true}}\n",
        wait(1),
        wait(2)
    );
    ada.tool("work", &steps(&text));
    let ran = ada.run(&["run", "work"]);
    assert!(ran.stderr().contains("error[workspace-conflict]"), "{}", ran.block());
    assert!(ran.stderr().contains("a step that ran at the same time changed `a.txt`, too"), "{}", ran.block());
    // The changes of the other one count.
    _ = done(ada, &["runs", "apply", "last"]);
    assert_eq!([ada.read("a.txt"), ada.read("b.txt")], ["a\n", "a\n"]);

    // The files of the tool are those that the member signed, in each step.
    ada.write("part.sh", "#!/bin/sh\necho part\n");
    ada.tool(
        "own",
        &steps("  - {name: a, bash: 'sh part.sh; echo echo other > part.sh'}\n  - {name: b, bash: sh part.sh}\n"),
    );
    let ran = ada.run(&["run", "own"]);
    assert!(ran.code() != 0 && ran.block().contains("`part.sh` belongs to the tool"), "{}", ran.block());
    assert!(!ran.stdout().contains("other"), "{}", ran.block());
}

#[test]
fn a_durable_run_that_no_one_follows_keeps_its_changes_at_the_hub() {
    let team = durable(Team::without_files());
    let ada = &team.ada;
    let _worker = team.worker("build-1", &[]);
    ada.write("a.txt", "one\n");
    ada.tool("work", &steps("  - {name: a, bash: 'echo begun; sleep 2; echo a >> a.txt'}\n  - {name: b, bash: 'cat a.txt; echo b >> a.txt'}\n"));
    let mut child =
        ada.command(&["run", "work"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let running = "UPDATE tasks SET piece = piece WHERE state = 'leased' AND run <> ''";
    until("a step runs", || at_the_hub(&team, running) == 1);
    child.kill().expect("it is killed");
    _ = child.wait();
    // The files are those of the beginning, whatever happens to them meanwhile.
    ada.write("a.txt", "mine\n");
    let states = "DELETE FROM used WHERE EXISTS (SELECT run FROM flows WHERE state = 'done') AND what = 'seen'";
    _ = at_the_hub(&team, "INSERT INTO used (what, expires) VALUES ('seen', 9999999999999)");
    until("the run is over", || at_the_hub(&team, states) == 1);
    let ran = done(ada, &["runs", "resume", "last"]);
    assert!(ran.block().contains("one\na\n"), "{}", ran.block());
    fails(&ada.run(&["runs", "apply", "last"]), "`a.txt` changed on this machine meanwhile");
    ada.write("a.txt", "one\n");
    _ = done(ada, &["runs", "apply", "last"]);
    assert_eq!(ada.read("a.txt"), "one\na\nb\n");
    // A tool that only reads brings nothing back, and neither does a run that is stopped.
    ada.tool(
        "look",
        &steps("  - {name: a, bash: 'cat a.txt; echo x > a.txt'}\n  - {name: b, bash: cat a.txt}\n")
            .replace("[write]", "[read]"),
    );
    let ran = done(ada, &["run", "look"]);
    assert!(!ran.stdout().contains('x') && !ran.block().contains("runs apply"), "{}", ran.block());
    ada.tool(
        "stop",
        &steps("  - {name: a, bash: 'echo x > a.txt'}\n  - {name: b, bash: 'echo begun >&2; echo begun; sleep 600'}\n"),
    );
    let child = ada.command(&["run", "stop"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let running = "UPDATE tasks SET piece = piece WHERE state = 'leased' AND run <> '' AND id LIKE '%.1.%'";
    until("the second step runs", || at_the_hub(&team, running) == 1);
    signal(&child, Signal::INT);
    assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(130));
    fails(&ada.run(&["runs", "apply", "last"]), "no changes are kept");
}

#[test]
fn the_runs_of_a_schedule_have_the_files_that_the_user_gave_it() {
    let team = durable(Team::without_files());
    let ada = &team.ada;
    let _worker = team.worker("build-1", &[]);
    ada.write("a.txt", "one\n");
    let whole = "description: Work\nworkspace: snapshot\nbash: cat a.txt; echo more >> a.txt\ntags: [write]\n";
    ada.tool("whole", whole);
    ada.tool(
        "spread",
        &steps("  - {name: a, bash: cat a.txt; echo more >> a.txt}\n  - {name: b, bash: cat a.txt; echo b > b.txt}\n"),
    );
    for tool in ["whole", "spread"] {
        let words = ["schedule", "add", tool, "--cron", "* * * * *", "--zone", "UTC", "--yes"];
        _ = done(ada, &words);
    }
    ada.write("a.txt", "two\n");
    let show = |tool: &str| done(ada, &["schedule", "show", tool]).stdout();
    let minute = 60 * (Timestamp::now().as_second() / 60 + 1);
    team.hub.start_due(Timestamp::from_second(minute).expect("a time")).expect("it starts");
    for tool in ["whole", "spread"] {
        until("the run ends", || show(tool).contains("  ended\n"));
        let log = done(ada, &["schedule", "log", tool]).stdout();
        assert!(log.contains("one\n") && !log.contains("two"), "{tool}: {log}");
    }
    let listed = done(ada, &["schedule", "apply", "spread", "--dry-run"]).stdout();
    assert_eq!(listed, "changed a.txt  (changed on this machine meanwhile)\nadded   b.txt\n");
    fails(&ada.run(&["schedule", "apply", "spread"]), "error[workspace-conflict]");
    _ = done(ada, &["schedule", "apply", "whole", "--into", "theirs"]);
    assert_eq!(ada.read("theirs/a.txt"), "one\nmore\n");
    ada.write("a.txt", "one\n");
    _ = done(ada, &["schedule", "apply", "spread", "--nth", "1"]);
    assert_eq!([ada.read("a.txt"), ada.read("b.txt")], ["one\nmore\n", "b\n"]);
    // The hub has the files until the schedule ends, once for all of its runs.
    assert_eq!(at_the_hub(&team, "UPDATE task_parts SET made = 1 WHERE from_worker = 0"), 2);
    _ = done(ada, &["schedule", "list"]);
    for tool in ["whole", "spread"] {
        _ = done(ada, &["schedule", "remove", tool]);
    }
    assert_eq!(at_the_hub(&team, "DELETE FROM task_parts WHERE from_worker = 0"), 0);
}

#[test]
fn the_guide_is_as_printed() {
    let page = include_str!("../../../../docs/guide/fleet.md");
    let team = Team::without_files();
    crate::guides::prepare(&team.ada, page);
    let _worker = team.worker("build-1", &[]);
    for begin in ["cycod run --dry-run sort-lists", "cycod run sort-lists"] {
        let (words, printed) = crate::guides::printed_below(page, begin);
        let words: Vec<&str> = words.split(' ').skip(1).collect();
        let ran = team.ada.run(&words);
        let said = format!("{}{}", ran.stdout(), ran.stderr()).replace("[PLACE]/project", "/home/ada/project");
        assert!(crate::guides::is_printed(printed, &said), "{words:?}\n-- printed\n{printed}-- really\n{said}");
    }
    let (_, printed) = crate::guides::printed_below(page, "cat lists/names.txt");
    assert_eq!(team.ada.read("lists/names.txt"), printed);
}

/// A tool that works in the directory `data` of the workers, with a command.
fn in_shared(command: &str, tags: &str) -> String {
    tool(command, tags).replace("workspace: snapshot", "workspace: {shared: data}")
}

#[test]
fn a_run_works_in_the_directory_that_workers_share() {
    let team = Team::without_files();
    let ada = &team.ada;
    ada.write("a.txt", "of the project\n");
    let shared = ada.path("mount");
    fs::create_dir_all(shared.join(".cycod/tools")).expect("a directory");
    fs::write(shared.join("a.txt"), "shared\n").expect("a file");
    ada.tool("work", &in_shared("pwd\necho {WORKSPACE}\ncat a.txt\necho more >> a.txt\nls .cycod/tools", "write"));
    // A tool of this name in that directory is none.
    fs::write(shared.join(".cycod/tools/work.yaml"), "description: x\nbash: echo evil\ntags: [write]\n")
        .expect("a file");
    let _plain = team.worker("plain-1", &[]);
    fails(&ada.run(&["run", "work"]), "error[no-worker]: no worker offers `shared:data`: the nearest is `plain-1`");
    let option = format!("data={}", shared.display());
    let worker = team.worker("data-1", &["--shared", &option]);
    let real = fs::canonicalize(&shared).expect("a directory");
    let ran = done(ada, &["run", "work"]);
    let place = ada.path("");
    let line = real.display().to_string().replace(&place.display().to_string(), "[PLACE]/");
    assert_eq!(ran.stdout(), format!("{line}\n{line}\nshared\nwork.yaml\n"), "{}", ran.block());
    assert_eq!(fs::read_to_string(shared.join("a.txt")).expect("a file"), "shared\nmore\n");
    // Nothing came back, and of the tool nothing is left.
    assert_eq!((files(ada), ada.read("a.txt")), (vec!["a.txt".to_owned()], "of the project\n".to_owned()));
    assert_eq!(fs::read_dir(worker.place.path("tmp")).expect("a directory").count(), 0);
    // The next run finds what this one left.
    assert!(done(ada, &["run", "work"]).stdout().contains("shared\nmore\n"));
    // What the tool is held to is there, too: relative paths are those of that directory.
    if is_offered() {
        fs::create_dir(shared.join("out")).expect("a directory");
        fs::write(ada.path("secret.txt"), "secret\n").expect("a file");
        let command = "echo ok > out/x && cat out/x a.txt | head -2; echo x > b.txt || echo refused; cat ../secret.txt || echo hidden";
        let permissions = "security:\n  justification: It is tried\n  required-permissions: [\"filesystem:read:.\", \"filesystem:write:out\"]\n";
        ada.tool("look", &(in_shared(command, "write") + permissions));
        let ran = done(ada, &["run", "look"]);
        assert_eq!(ran.stdout(), "ok\nshared\nrefused\nhidden\n", "{}", ran.block());
        assert!(!shared.join("b.txt").exists());
    }
    // A file system that is away is not offered.
    fs::rename(&shared, ada.path("away")).expect("it moves");
    until("the worker doesn't offer it", || {
        let ran = ada.run(&["run", "work"]);
        ran.code() != 0 && ran.stderr().contains("no worker offers `shared:data`")
    });
}

#[test]
fn a_shared_directory_is_shown_and_is_only_for_workers_that_declare_it() {
    let team = Team::without_files();
    let ada = &team.ada;
    ada.tool("work", &in_shared("rm -rf old", "write"));
    ada.write("old/a.txt", "mine\n");
    let info = done(ada, &["info", "work"]).stdout();
    let words = info.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("works in the directory `data`, which workers share"), "{info}");
    assert!(words.contains("a worker of your team's hub that offers `shared:data`"), "{info}");
    let json =
        |words: &[&str]| -> serde_json::Value { serde_json::from_str(&done(ada, words).stdout()).expect("JSON") };
    let info = json(&["info", "work", "--format", "json"]);
    assert_eq!(
        (&info["workspace"], &info["runs_on"]),
        (&serde_json::json!({"shared": "data"}), &serde_json::json!(["shared:data"]))
    );
    let plan = done(ada, &["run", "work", "--dry-run"]).stdout();
    assert!(plan.contains("  in the directory `data`, which workers share\n"), "{plan}");
    assert_eq!(
        json(&["run", "work", "--dry-run", "--format", "json"])["workspace"],
        serde_json::json!({"shared": "data"})
    );
    // Here, its paths would mean other files.
    for words in [&["run", "work", "--on", "here"][..], &["run", "outer", "--on", "here"]] {
        ada.tool("outer", "description: x\nsteps: [{name: a, use-tool: work}]\ntags: [write]\n");
        fails(&ada.run(words), "error[workspace-refused]");
    }
    assert_eq!(ada.read("old/a.txt"), "mine\n");
    let _plain = team.worker("plain-1", &[]);
    fails(&ada.run(&["run", "outer", "--on", "fleet"]), "write `workspace: {shared: data}` in `outer`, too");
    // A script of the project is not what is in that directory at the same path.
    ada.write("run.sh", "echo run\n");
    ada.tool("script", &in_shared("bash run.sh", "write"));
    fails(&ada.run(&["run", "script"]), "works in the directory `data` of the worker, and starts `run.sh`");
    // A tool names no path.
    for name in ["/etc", "../x", "''", "{A}"] {
        ada.tool("path", &in_shared("ls", "read").replace("data", name));
        let ran = ada.run(&["validate", "path"]);
        assert!(ran.code() != 0 && ran.stdout().contains("error["), "{name}: {}", ran.block());
    }
    // What a worker can't share.
    let worker = Place::cloned();
    let token = team.hub.worker_token("data-1", 1, Timestamp::now()).expect("a token");
    _ = done(&worker, &["worker", "join", &team.address, "--token", &token]);
    let home = worker.home();
    let keys = home.join(".cycod");
    for (option, says) in [
        ("data", "names no directory".to_owned()),
        ("a/b=/tmp", "can't be shared".to_owned()),
        ("data=/no/such", "cannot share `/no/such`".to_owned()),
        (&*format!("data={}", home.display()), "the keys of this worker are in".to_owned()),
        (&*format!("data={}", keys.display()), "the keys of this worker are in".to_owned()),
        ("data=/", "the keys of this worker are in".to_owned()),
    ] {
        fails(&worker.run(&["worker", "--shared", option]), &says);
    }
    fails(&worker.run(&["worker", "--label", "shared:data"]), "says that the worker has a directory");
}

#[test]
fn the_steps_of_a_durable_run_work_in_the_directory_of_their_workers() {
    let team = durable(Team::without_files());
    let ada = &team.ada;
    let shared = ada.path("mount");
    fs::create_dir(&shared).expect("a directory");
    let option = format!("data={}", shared.display());
    let _plain = team.worker("plain-1", &[]);
    let _workers = [team.worker("data-1", &["--shared", &option]), team.worker("data-2", &["--shared", &option])];
    let text = "  - {name: a, bash: 'touch a; until [ -e b ]; do sleep 0.05; done; echo A > a.txt'}\n\
                \x20 - {name: b, bash: 'touch b; until [ -e a ]; do sleep 0.05; done; echo B > b.txt', parallel: true}\n\
                \x20 - {name: c, bash: 'cat a.txt b.txt', wait-for: [a, b]}\n";
    ada.tool(
        "work",
        &steps(text)
            .replace("workspace: snapshot", "workspace: {shared: data}")
            .replace("security: {isolation: none}\n", ""),
    );
    let ran = done(ada, &["run", "work"]);
    assert!(ran.stdout().contains("A\nB\n"), "{}", ran.block());
    // Each step went to a worker that has it, and nothing came back.
    assert_eq!(at_the_hub(&team, "DELETE FROM tasks WHERE worker = 'plain-1'"), 0);
    fails(&ada.run(&["runs", "apply", "last"]), "no changes are kept");
}
