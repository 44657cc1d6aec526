//! Runs that go on after a crash.

use std::{
    fs,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{Place, until};

const SHIP: &str = "\
description: Ship in steps
durable: true
parameters: {PIN: {type: string, description: A secret, sensitive: true, default: none}}
steps:
  - {name: one, bash: \"echo one >> log; echo {PIN}\"}
  - {name: two, bash: \"echo two >> log; [ -e go ] || sleep 60; echo {one.output}-2\"}
  - {name: three, bash: \"echo three >> log; printf 'got %s\\\\n' {two.output}\"}
";

fn log(place: &Place) -> String {
    fs::read_to_string(place.project().join("log")).unwrap_or_default()
}

/// Starts a tool and kills everything once `is_so`.
fn interrupted(place: &Place, arguments: &[&str], what: &str, is_so: impl FnMut() -> bool) {
    let mut running = place.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    until(what, is_so);
    kill(&mut running);
}

fn kill(running: &mut Child) {
    running.kill().expect("it is killed");
    running.wait().expect("it is gone");
}

fn ship() -> Place {
    let place = Place::with_tool("ship", SHIP);
    interrupted(&place, &["tool", "run", "ship", "PIN=swordfish-9"], "the second step runs", || {
        log(&place).ends_with("two\n")
    });
    assert!(place.run(&["runs", "list"]).stdout().contains("interrupted"));
    place.write("go", "");
    place
}

fn states(place: &Place) -> usize {
    let entries = fs::read_dir(place.home().join(".cycod/journals")).expect("journals").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".state")).count()
}

#[test]
fn a_run_goes_on_where_it_was_interrupted() {
    let place = ship();
    // Nobody says whether the second step was done, so nothing is done.
    let refused = place.run(&["runs", "resume", "last"]);
    assert_eq!(refused.code(), 1);
    assert!(
        refused.stderr().contains("error[step-lost]") && refused.stderr().contains("`two`"),
        "{}",
        refused.stderr()
    );
    let resumed = place.run(&["runs", "resume", "last", "--lost", "again"]);
    assert_eq!((resumed.stdout().as_str(), resumed.code()), ("got ****-2\n", 0), "{}", resumed.stderr());
    assert_eq!(log(&place), "one\ntwo\ntwo\nthree\n");

    // It is one run, with one journal, and there is nothing left to go on with.
    let show: Value = serde_json::from_str(&place.run(&["runs", "show", "last", "--format", "json"]).stdout()).unwrap();
    let steps: Vec<_> =
        show["timeline"].as_array().unwrap().iter().map(|step| [&step["step"], &step["status"]]).collect();
    let mut steps: Vec<String> = steps.into_iter().map(|step| format!("{} {}", step[0], step[1])).collect();
    steps.sort_unstable();
    assert_eq!(steps, [r#""one" "ok""#, r#""three" "ok""#, r#""two" "ok""#]);
    assert_eq!((&show["status"], show["journal"]["sha256"].is_string()), (&"ok".into(), true));
    assert_eq!(place.run(&["runs", "list", "--format", "json"]).stdout().matches("\"ship\"").count(), 1);
    assert_eq!(states(&place), 0);
    assert!(place.run(&["runs", "resume", "last"]).stderr().contains("has ended: ok"));
    assert_eq!(place.run(&["runs", "verify"]).code(), 0);
}

#[test]
fn a_run_that_went_on_keeps_its_artifacts() {
    let place = Place::with_tool("ship", &format!("{SHIP}artifacts: [log]\n"));
    interrupted(&place, &["tool", "run", "ship"], "the second step runs", || log(&place).ends_with("two\n"));
    place.write("go", "");
    let resumed = place.run(&["runs", "resume", "last", "--lost", "again"]);
    assert_eq!(resumed.code(), 0, "{}", resumed.block());
    assert_eq!(place.run(&["runs", "artifacts", "last", "log"]).stdout(), "one\ntwo\ntwo\nthree\n");
}

#[test]
fn a_step_that_may_have_been_done_asks_each_time() {
    let place = Place::with_tool(
        "ship",
        "description: d\ndurable: true\nsteps:\n  - {name: one, bash: \"echo one >> log; [ -e go ] || sleep 60\"}\n  - {name: two, bash: echo two >> log}\n",
    );
    // The first step of a run is as dear as every other, and so is a step that was interrupted before.
    interrupted(&place, &["tool", "run", "ship"], "the first step runs", || log(&place) == "one\n");
    let refused = place.run(&["runs", "resume", "last"]);
    assert!(refused.stderr().contains("error[step-lost]"), "{}", refused.stderr());
    assert_eq!(log(&place), "one\n");
    let again = ["runs", "resume", "last", "--lost", "again"];
    interrupted(&place, &again, "it runs again", || log(&place) == "one\none\n");
    place.write("go", "");
    assert!(place.run(&["runs", "resume", "last"]).stderr().contains("error[step-lost]"));
    let resumed = place.run(&["runs", "resume", "last", "--lost", "done"]);
    assert_eq!((resumed.code(), log(&place).as_str()), (0, "one\none\ntwo\n"), "{}", resumed.stderr());
}

#[test]
fn a_first_step_that_is_skipped_is_shown() {
    let place = Place::with_tool(
        "t",
        "description: d\nsteps:\n  - {name: first, bash: echo 1, run-condition: \"false\"}\n  - {name: second, bash: sleep 0.1; echo 2}\n",
    );
    let run = place.run(&["tool", "run", "t"]);
    assert!(run.stderr().contains("first") && run.stderr().contains("skip"), "{}", run.block());
    let show: Value = serde_json::from_str(&place.run(&["runs", "show", "last", "--format", "json"]).stdout()).unwrap();
    assert_eq!((&show["timeline"][0]["step"], &show["timeline"][0]["status"]), (&"first".into(), &"skipped".into()));
}

#[test]
fn what_was_done_is_not_done_again() {
    let place = ship();
    let resumed = place.run(&["runs", "resume", "last", "--lost", "done"]);
    assert_eq!((resumed.stdout().as_str(), resumed.code()), ("got \n", 0), "a step that was done said nothing");
    assert_eq!(log(&place), "one\ntwo\nthree\n");
}

#[test]
fn what_is_given_up_has_failed() {
    let place = ship();
    let resumed = place.run(&["resume", "last", "--lost", "stop"]);
    assert_eq!(resumed.code(), 1);
    assert!(resumed.stderr().contains("step-lost"), "{}", resumed.stderr());
    assert_eq!((log(&place).as_str(), states(&place)), ("one\ntwo\n", 0));
}

#[test]
fn nothing_secret_is_left_in_files() {
    let place = ship();
    for entry in fs::read_dir(place.home().join(".cycod/journals")).expect("journals").flatten() {
        let bytes = fs::read(entry.path()).expect("it can be read");
        assert!(!bytes.windows(9).any(|part| part == b"swordfish"), "{:?}", entry.path());
    }
}

#[test]
fn a_tool_that_changed_is_not_gone_on_with() {
    let place = ship();
    place.tool("ship", &SHIP.replace("echo three", "echo 3"));
    let refused = place.run(&["runs", "resume", "last", "--lost", "again"]);
    assert!(refused.stderr().contains("error[tool-changed]"), "{}", refused.stderr());
    assert_eq!(log(&place), "one\ntwo\n");
    let resumed = place.run(&["runs", "resume", "last", "--lost", "again", "--with-current"]);
    assert_eq!((resumed.code(), log(&place).as_str()), (0, "one\ntwo\ntwo\n3\n"), "{}", resumed.stderr());
}

#[test]
fn rules_of_today_hold_for_a_run_of_yesterday() {
    let place = ship();
    let added = place.run(&["policy", "add", "deny", "ship", "--user", "--yes"]);
    assert_eq!(added.code(), 0, "{}", added.stderr());
    let refused = place.run(&["runs", "resume", "last", "--lost", "again"]);
    assert!(refused.stderr().contains("denied-by-policy"), "{}", refused.stderr());
    assert_eq!((log(&place).as_str(), states(&place)), ("one\ntwo\n", 1));
}

#[test]
fn one_process_at_a_time_goes_on_with_a_run() {
    let place = ship();
    fs::remove_file(place.project().join("go")).unwrap();
    let mut one = place.command(&["runs", "resume", "last", "--lost", "again"]).stderr(Stdio::null()).spawn().unwrap();
    until("it goes on", || log(&place) == "one\ntwo\ntwo\n");
    let other = place.run(&["runs", "resume", "last", "--lost", "again"]);
    assert!(other.stderr().contains("is still running"), "{}", other.stderr());
    kill(&mut one);
    place.write("go", "");
    assert_eq!(place.run(&["runs", "resume", "last", "--lost", "again"]).code(), 0);
    assert_eq!(log(&place), "one\ntwo\ntwo\ntwo\nthree\n");
}

#[test]
fn steps_beside_each_other_and_called_tools_go_on() {
    let place = Place::with_tool(
        "outer",
        "description: d\non-lost: retry\nsteps:\n  - {name: left, bash: echo left >> log, parallel: true}\n  - {name: inner, use-tool: inner, with: {WHO: me}, parallel: true}\n  - {name: last, bash: \"echo {inner.output} >> log\", wait-for: [left, inner]}\n",
    );
    place.tool(
        "inner",
        "description: d\non-lost: retry\nparameters: {WHO: {type: string, description: w}}\nsteps:\n  - {name: a, bash: \"echo a >> log; echo {WHO}\"}\n  - {name: b, bash: \"[ -e go ] || sleep 60; echo b >> log; echo {a.output}!\"}\n",
    );
    let both = || log(&place).contains("left\n") && log(&place).contains("a\n");
    interrupted(&place, &["tool", "run", "outer", "--durable"], "the inner step waits", both);
    std::thread::sleep(Duration::from_millis(100));
    place.write("go", "");
    let resumed = place.run(&["resume", "--all"]);
    assert_eq!(resumed.code(), 0, "{}", resumed.stderr());
    let mut lines: Vec<String> = log(&place).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    // The step beside it may have been interrupted before its end was written.
    lines.dedup();
    assert_eq!(lines, ["a", "b", "left", "me!"]);
}

#[test]
fn a_durable_run_without_a_crash_leaves_nothing() {
    let place = Place::with_tool("ship", SHIP);
    place.write("go", "");
    assert_eq!(place.run(&["tool", "run", "ship", "PIN=a"]).stdout(), "got a-2\n");
    assert_eq!(states(&place), 0);
    assert_eq!(place.run(&["resume", "--all"]).block(), "exit: 0\n--- stdout\n--- stderr\n");
}

#[test]
fn a_run_that_is_not_durable_cannot_go_on() {
    let place = Place::with_tool(
        "t",
        "description: d\nsteps:\n  - {name: a, bash: echo a >> log}\n  - {name: b, bash: sleep 60}\n",
    );
    interrupted(&place, &["tool", "run", "t"], "the first step ended", || log(&place) == "a\n");
    let refused = place.run(&["runs", "resume", "last"]);
    assert!(refused.stderr().contains("error[not-resumable]"), "{}", refused.stderr());
}

#[cfg(unix)]
fn killed_in_the_background(place: &Place) -> String {
    use crate::background::{kill, process_of, start, state};
    let id = start(place, "ship");
    until("the second step runs", || log(place) == "one\ntwo\n");
    kill(process_of(place, &id));
    until("the history says so", || state(place, &id) == "interrupted");
    place.write("go", "");
    id
}

#[cfg(unix)]
#[test]
fn a_run_in_the_background_goes_on() {
    let place = Place::with_tool("ship", SHIP);
    let id = killed_in_the_background(&place);
    let refused = place.run(&["runs", "resume", &id]);
    assert!(refused.stderr().contains("error[step-lost]"), "{}", refused.stderr());
    let resumed = place.run(&["runs", "resume", &id, "--lost", "again"]);
    assert_eq!((resumed.code(), log(&place).as_str()), (0, "one\ntwo\ntwo\nthree\n"), "{}", resumed.block());
    // A caller that waits for it gets the answer of the tool that started it.
    let waited: Value = serde_json::from_str(&place.run(&["runs", "wait", &id]).stdout()).expect("the answer");
    assert_eq!((&waited["status"], &waited["workflow_id"]), (&"completed".into(), &id.as_str().into()), "{waited}");
    assert_eq!((&waited["result"]["output"], states(&place)), (&"got ****-2\n".into(), 0), "{waited}");
    assert_eq!(place.run(&["runs", "verify"]).code(), 0);
}

#[cfg(unix)]
#[test]
fn a_run_in_the_background_is_checked_again() {
    let place = Place::with_tool("ship", SHIP);
    let id = killed_in_the_background(&place);
    place.tool("ship", &SHIP.replace("echo three", "echo 3"));
    let refused = place.run(&["runs", "resume", &id, "--lost", "again"]);
    assert!(refused.stderr().contains("error[tool-changed]"), "{}", refused.stderr());
    place.tool("ship", SHIP);
    let _ = place.run(&["policy", "add", "deny", "ship", "--user", "--yes"]);
    let refused = place.run(&["runs", "resume", &id, "--lost", "again"]);
    assert!(refused.stderr().contains("denied-by-policy"), "{}", refused.stderr());
    assert_eq!((log(&place).as_str(), states(&place)), ("one\ntwo\n", 1));
}

#[cfg(unix)]
#[test]
fn a_workflow_in_another_tools_place_goes_on() {
    // The option makes it durable where the tool does not say so.
    let place = Place::with_tool("ship", &SHIP.replace("durable: true\n", ""));
    let call = ["tool", "run", "cli_workflow_run", "workflow_name=ship", "--durable"];
    interrupted(&place, &call, "the second step runs", || log(&place).ends_with("two\n"));
    place.write("go", "");
    let resumed = place.run(&["resume", "last", "--lost", "done"]);
    assert_eq!((resumed.code(), log(&place).as_str()), (0, "one\ntwo\nthree\n"), "{}", resumed.block());
    assert_eq!(states(&place), 0);
}

/// What waits for a decision.
fn queue(place: &Place) -> Vec<Value> {
    serde_json::from_str(&place.run(&["approvals", "list", "--format", "json"]).stdout()).expect("a list")
}

fn id(lost: &Value) -> &str {
    lost["id"].as_str().expect("a name")
}

#[cfg(unix)]
#[test]
fn a_lost_step_waits_in_the_queue() {
    let place = Place::with_tool("ship", &SHIP.replace("[ -e go ]", "echo half of it; [ -e go ]"));
    let has_written = || {
        let outputs = fs::read_dir(place.home().join(".cycod/journals")).into_iter().flatten().flatten();
        let mut outputs = outputs.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "out"));
        outputs.any(|output| fs::read_to_string(output.path()).is_ok_and(|text| text.contains("half of it")))
    };
    interrupted(&place, &["tool", "run", "ship", "PIN=swordfish-9"], "the second step has written", has_written);
    place.write("go", "");
    let waiting = queue(&place);
    let [lost] = &waiting[..] else { panic!("one step waits: {waiting:?}") };
    let said = ["state", "tool", "step"].map(|field| lost[field].as_str().unwrap_or_default());
    assert_eq!(said, ["lost", "ship", "two"], "{lost}");
    assert!(place.run(&["approvals", "list"]).stdout().contains("ship: step two"));
    let shown = place.run(&["approvals", "show", id(lost)]).stdout();
    for part in ["may have been done", "echo two >> log", "half of it"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("swordfish"), "{shown}");
    // Nobody decides by accident.
    let refused = place.run(&["approvals", "approve", id(lost)]);
    assert!(refused.stderr().contains("approval-needs-terminal"), "{}", refused.stderr());
    assert!(place.run(&["approvals", "approve", "aaaaaaaa", "--lost", "again"]).code() != 0);

    // From anywhere: the run goes on where it was started.
    let mut decided = place.command(&["approvals", "approve", id(lost), "--lost", "again"]);
    let decided = decided.current_dir(place.home()).output().expect("it starts");
    let said = String::from_utf8_lossy(&[decided.stdout, decided.stderr].concat()).into_owned();
    assert!(decided.status.success() && said.contains("`ship` continues"), "{said}");
    assert_eq!(place.run(&["runs", "wait", "last"]).code(), 0);
    assert_eq!((log(&place).as_str(), queue(&place).len()), ("one\ntwo\ntwo\nthree\n", 0));
    until("nothing is left", || states(&place) == 0);
    let again = place.run(&["approvals", "approve", id(lost), "--lost", "again"]);
    assert_eq!(again.code(), 1, "{}", again.block());
}

#[cfg(unix)]
#[test]
fn a_lost_step_that_is_denied_has_failed() {
    let place = ship();
    let waiting = queue(&place);
    assert_eq!(place.run(&["approvals", "deny", id(&waiting[0]), "--reason", "no"]).code(), 2);
    assert_eq!(place.run(&["approvals", "deny", id(&waiting[0])]).code(), 0);
    assert_eq!(place.run(&["runs", "wait", "last"]).code(), 1);
    assert_eq!((log(&place).as_str(), queue(&place).len()), ("one\ntwo\n", 0));
}

#[cfg(unix)]
#[test]
fn a_run_goes_on_when_all_its_lost_steps_are_decided() {
    let step = |name: &str| {
        format!("  - {{name: {name}, bash: \"echo {name} >> log; [ -e go ] || sleep 60\", parallel: true}}\n")
    };
    let place =
        Place::with_tool("both", &format!("description: d\ndurable: true\nsteps:\n{}{}", step("left"), step("right")));
    interrupted(&place, &["tool", "run", "both"], "both run", || log(&place).lines().count() == 2);
    place.write("go", "");
    let waiting = queue(&place);
    assert_eq!(waiting.iter().map(|lost| lost["step"].as_str().unwrap()).collect::<Vec<_>>(), ["left", "right"]);
    let first = place.run(&["approvals", "approve", id(&waiting[0]), "--lost", "done"]);
    assert!(first.code() == 0 && first.stderr().contains("when another step is decided"), "{}", first.block());
    // The decision is kept, and the other step waits alone.
    assert_eq!(queue(&place), waiting[1..]);
    assert!(place.run(&["runs", "list"]).stdout().contains("interrupted"));
    let second = place.run(&["approvals", "approve", id(&waiting[1]), "--lost", "again"]);
    assert_eq!(second.code(), 0, "{}", second.block());
    let waited = place.run(&["runs", "wait", "last"]);
    assert_eq!(waited.code(), 0, "{}", waited.block());
    assert_eq!((log(&place).lines().count(), log(&place).ends_with("right\n")), (3, true), "{}", log(&place));
}

#[cfg(unix)]
#[test]
fn a_decision_outlasts_a_refusal() {
    let place = ship();
    place.tool("ship", &SHIP.replace("echo three", "echo 3"));
    let refused = place.run(&["approvals", "approve", id(&queue(&place)[0]), "--lost", "done"]);
    assert!(refused.stderr().contains("error[tool-changed]"), "{}", refused.stderr());
    assert!(refused.stderr().contains("cycod runs resume"), "{}", refused.stderr());
    let resumed = place.run(&["runs", "resume", "last", "--with-current"]);
    assert_eq!((resumed.code(), log(&place).as_str()), (0, "one\ntwo\n3\n"), "{}", resumed.block());
}

/// Kills at random moments, until so many kills have hit: what ended is never done again, and the end is as it would have been.
#[test]
fn kills_at_any_moment_lose_nothing_and_repeat_nothing() {
    const KILLS: usize = 100;
    let steps: String = (1..=20)
        .map(|number| format!("  - {{name: s{number}, bash: \"echo {number} >> log; echo {number}\"}}\n"))
        .collect();
    let tool = format!("description: d\ndurable: true\non-lost: retry\nsteps:\n{steps}");
    let mut random = 88_172_645_463_325_252_u64;
    let mut kills = 0;
    while kills < KILLS {
        let place = Place::with_tool("steps", &tool);
        let mut arguments = vec!["tool", "run", "steps"];
        let mut hits = 0;
        loop {
            let began = Instant::now();
            let mut running =
                place.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
            // Xorshift, from 5 to 125 ms.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let until = Duration::from_millis(5 + random % 120);
            // A step that is lost three times has failed: before every other kill the run gets on by two steps.
            let (before, is_spared) = (log(&place).lines().count(), hits % 2 == 1);
            let ended = loop {
                if let Some(status) = running.try_wait().expect("it can be asked") {
                    break Some(status);
                }
                let has_got_on = !is_spared || log(&place).lines().count() >= before + 2;
                if began.elapsed() >= until && has_got_on {
                    break None;
                }
                std::thread::sleep(Duration::from_millis(1));
            };
            if let Some(status) = ended {
                let mut said = String::new();
                std::io::Read::read_to_string(&mut running.stdout.take().expect("a pipe"), &mut said)
                    .expect("it can be read");
                if !place.run(&["runs", "list"]).stdout().contains("steps") {
                    // It was killed before it began.
                    arguments = vec!["tool", "run", "steps"];
                    continue;
                }
                let mut why = String::new();
                std::io::Read::read_to_string(&mut running.stderr.take().expect("a pipe"), &mut why)
                    .expect("it can be read");
                assert!(status.success(), "{status}: {why}");
                assert_eq!(said, "20\n");
                break;
            }
            kill(&mut running);
            hits += 1;
            // What the killed process started may live a moment longer, and the run with it.
            let listed = || place.run(&["runs", "list"]).stdout();
            let list = (0..100).map(|_| listed()).find(|list| !list.contains("running")).expect("it is over");
            arguments = if list.contains("interrupted") {
                vec!["runs", "resume", "last"]
            } else if list.contains(" ok ") {
                break;
            } else {
                vec!["tool", "run", "steps"]
            };
        }
        kills += hits;
        let numbers: Vec<u32> = log(&place).lines().map(|line| line.parse().expect("a number")).collect();
        assert!(numbers.is_sorted(), "a step that had ended ran again: {numbers:?}");
        let mut each = numbers.clone();
        each.dedup();
        assert_eq!(each, (1..=20).collect::<Vec<_>>());
        assert!(numbers.len() - each.len() <= hits, "{hits} kills: {numbers:?}");
        assert_eq!(place.run(&["runs", "verify"]).code(), 0);
    }
}
