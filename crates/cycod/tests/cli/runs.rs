//! `cycod runs`.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::Value;

use crate::support::{Place, until};

const GREET: &str = "\
description: Greet somebody
bash: echo \"hello {WHO}\"; exit {CODE}
tags: [read]
parameters:
  WHO: {type: string, description: Whom, transform: value.toUpperCase()}
  CODE: {type: integer, description: How it ends, default: 0}
  PIN: {type: string, description: A secret, sensitive: true, default: none}
tests:
  - name: greets
    parameters: {WHO: me}
";

fn place() -> Place {
    Place::with_tool("greet", GREET)
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let ran = place.run(arguments);
    assert_eq!(ran.stderr(), "");
    serde_json::from_str(&ran.stdout()).expect("JSON")
}

#[test]
fn a_run_is_shown_with_everything() {
    let place = place();
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=you", "CODE=3", "PIN=swordfish"]).code(), 3);
    assert_eq!(place.run(&["tool", "test", "greet"]).code(), 0);
    let list = json(&place, &["runs", "list", "--format", "json"]);
    let told: Vec<_> = list.as_array().expect("a list").iter().map(|run| [&run["surface"], &run["status"]]).collect();
    assert_eq!(told, [["test", "ok"], ["person", "failed"]]);
    let run = json(&place, &["runs", "show", "-2", "--format", "json"]);
    assert_eq!(run, list[1]);
    assert_eq!(run["arguments"], serde_json::json!({"WHO": "you", "CODE": 3}));
    assert_eq!(run["withheld"], serde_json::json!({"PIN": {"why": "secret"}}));
    assert_eq!(run["outputs"]["stdout"]["text"], "hello YOU\n");
    assert_eq!((&run["exit_code"], &run["verdict"], &run["level"]), (&3.into(), &"allow".into(), &"read".into()));
    assert_eq!(place.run(&["runs", "show", "-2", "--output"]).stdout(), "hello YOU\n");
    let id = run["id"].as_str().expect("a name");
    let shown = place.run(&["runs", "show", &id[..20]]).stdout();
    for line in ["greet: exit 3", "PIN is not kept (secret)", "hello YOU", "  WHO=you"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let table = place.run(&["runs", "list", "--status", "failed"]).stdout();
    assert!(table.lines().count() == 2 && table.contains("exit 3"), "{table}");
    assert_eq!(
        place.run(&["runs", "list", "--tool", "other"]).block(),
        "exit: 0\n--- stdout\n--- stderr\nno runs found\n"
    );
    for wrong in [&["runs", "show", "ffff"][..], &["runs", "show", "-9"], &["runs", "show", "last", "--output", "x"]] {
        assert_eq!(place.run(wrong).code(), 1, "{wrong:?}");
    }
    assert_eq!(place.run(&["runs", "list", "--since", "yesterday"]).code(), 2);
    let lines = place.run(&["runs", "export", "--since", "1h"]).stdout();
    assert_eq!(
        lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect::<Vec<_>>(),
        *list.as_array().expect("a list")
    );
    let csv = place.run(&["runs", "export", "--format", "csv", "--surface", "person"]).stdout();
    assert!(csv.starts_with("id,at,ended,tool,") && csv.lines().count() == 2 && csv.contains(",failed,3,"), "{csv}");
}

#[test]
fn a_run_is_run_again_where_it_was() {
    let place = place();
    fs::create_dir(place.project().join("below")).expect("a directory");
    place.tool("where", "description: Where\nbash: pwd\ntags: [read]\n");
    let below = || {
        let mut command = place.command(&["tool", "run", "where"]);
        command.current_dir(place.project().join("below"));
        command
    };
    assert!(below().status().expect("it starts").success());
    assert_eq!(place.run(&["runs", "rerun", "last"]).stdout(), "[PLACE]/project/below\n");
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=you"]).stdout(), "hello YOU\n");
    // The argument is what was given, not what became of it.
    assert_eq!(place.run(&["runs", "rerun", "last"]).stdout(), "hello YOU\n");
    assert_eq!(place.run(&["runs", "rerun", "last", "WHO=me"]).stdout(), "hello ME\n");
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=you", "PIN=swordfish"]).code(), 0);
    let refused = place.run(&["runs", "rerun", "last"]);
    assert_eq!(refused.code(), 2);
    assert!(refused.stderr().contains("the history does not hold `PIN` (secret)"), "{}", refused.stderr());
    let refused = place.run(&["runs", "rerun", "last", "WHO=you two"]);
    assert!(refused.stderr().contains(" WHO='you two' PIN=..."), "{}", refused.stderr());
    assert_eq!(
        place.run(&["runs", "rerun", "last", "PIN=swordfish"]).block(),
        "exit: 0\n--- stdout\nhello YOU\n--- stderr\n"
    );
    place.tool("greet", &GREET.replace("hello", "good day"));
    let again = place.run(&["runs", "rerun", "-1", "PIN=swordfish"]);
    assert_eq!(
        again.block(),
        "exit: 0\n--- stdout\ngood day YOU\n--- stderr\nwarning: `greet` is not what it was when it ran\n"
    );
}

#[test]
fn runs_are_followed_from_another_process() {
    let place = place();
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=first"]).code(), 0);
    let mut command = place.command(&["runs", "tail", "--follow", "--lines", "1", "--format", "json"]);
    let mut tail = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(tail.stdout.take().expect("a pipe")).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().expect("a line").expect("text")).expect("JSON");
    assert_eq!(next()["kind"], "end");
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=second"]).code(), 0);
    let (call, end) = (next(), next());
    assert_eq!((&call["kind"], &call["body"]["arguments"]["WHO"]), (&"call".into(), &"second".into()));
    assert_eq!((&end["status"], &end["run"]), (&"ok".into(), &call["run"]));
    tail.kill().expect("it is there");
    tail.wait().expect("it ends");
    let text = place.run(&["runs", "tail", "-n", "2"]).stdout();
    assert!(text.contains("greet person begins: allow, ") && text.contains("ok, exit 0, "), "{text}");
}

#[test]
fn a_history_that_was_changed_is_told() {
    let place = place();
    assert_eq!(place.run(&["runs", "verify"]).stdout(), "nothing was run yet\n");
    assert_eq!(place.run(&["runs", "list"]).code(), 0);
    assert!(!place.home().join(".cycod").exists(), "asking makes no history");
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=you"]).code(), 0);
    let head = place.run(&["runs", "head"]).stdout();
    let ran = place.run(&["runs", "verify", "--head", head.trim()]);
    assert_eq!(
        ran.block(),
        format!("exit: 0\n--- stdout\n2 rows, from 1 to 2, are as they were written\nhead: {head}--- stderr\n")
    );
    let other = head.replacen('2', "9", 1);
    let ran = place.run(&["runs", "verify", "--head", other.trim()]);
    assert_eq!(ran.block(), "exit: 1\n--- stdout\nthe rows after row 2, up to row 9, were removed\n--- stderr\n");
    let json = json(&place, &["runs", "verify", "--format", "json"]);
    assert_eq!((&json["ok"], &json["rows"]), (&true.into(), &2.into()));
    assert_eq!(place.run(&["runs", "verify", "--head", "x"]).code(), 2);
    let pruned = place.run(&["runs", "prune", "--keep", "30d", "--keep", "10", "--keep", "1GiB"]).stdout();
    assert_eq!(pruned, "dropped 0 rows; limits from now on: 30 days, 10 runs, 1024 MiB\n");
    assert_eq!(place.run(&["runs", "prune", "--keep", "everything"]).code(), 2);
    for (name, text) in [("history.db", "not what it was"), ("history.db-wal", "")] {
        fs::write(place.home().join(".cycod").join(name), text).expect("it can be written");
    }
    let ran = place.run(&["runs", "verify"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.stderr().contains("is not a history: "), "{}", ran.stderr());
    // A person goes on, and is told; a model does not.
    let ran = place.run(&["tool", "run", "greet", "WHO=you"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "hello YOU\n"));
    assert!(ran.stderr().contains("warning: this run is not in the history: "), "{}", ran.stderr());
}

const STEPS: &str = "\
description: Three steps
steps:
  - {name: one, bash: \"echo first; sleep 0.4; echo second\", parallel: true}
  - {name: two, bash: echo 'beside' >&2; sleep 0.2, parallel: true}
  - {name: three, bash: exit 4, wait-for: [one, two], continue-on-error: true}
";

#[test]
fn a_run_has_a_timeline() {
    let place = Place::with_tool("steps", STEPS);
    assert_eq!(place.run(&["tool", "run", "steps"]).code(), 0);
    let run = json(&place, &["runs", "show", "last", "--format", "json"]);
    let timeline = run["timeline"].as_array().expect("a timeline");
    let mut told: Vec<_> = timeline.iter().map(|step| (step["step"].as_str(), step["status"].as_str())).collect();
    told.sort_unstable();
    let expected = [("one", "ok"), ("three", "failed"), ("two", "ok")];
    assert_eq!(told, expected.map(|(step, status)| (Some(step), Some(status))));
    let took =
        |name: &str| timeline.iter().find(|step| step["step"] == name).and_then(|step| step["duration_us"].as_u64());
    assert!(took("one") > took("two") && took("two") > took("three"), "{timeline:?}");
    assert_eq!(run["journal"]["sha256"].as_str().map(str::len), Some(64));
    let shown = place.run(&["runs", "show", "last"]).stdout();
    let lines: Vec<&str> = shown.lines().skip_while(|line| *line != "TIMELINE").skip(1).take(3).collect();
    assert!(lines.iter().all(|line| line.contains('━')) && shown.contains("(exit code 4)"), "{shown}");
}

#[test]
fn a_run_of_another_process_is_followed() {
    let place = Place::with_tool("steps", STEPS);
    let mut running =
        place.command(&["tool", "run", "steps"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    until("it runs", || place.run(&["runs", "list"]).stdout().contains("running"));
    let followed = place.run(&["runs", "follow", "last"]);
    let ended = std::process::Child::wait(&mut running).unwrap();
    assert!(ended.success());
    let mut live = String::new();
    std::io::Read::read_to_string(&mut running.stderr.take().unwrap(), &mut live).unwrap();
    let (lines, last) =
        followed.stderr().trim_end().rsplit_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(lines, live.trim_end().rsplit_once('\n').unwrap().0, "what was seen where it ran");
    assert!(last.contains(": ok, "), "{last}");
    assert_eq!(followed.code(), 0);

    // The same can be had later, for people and for programs.
    assert_eq!(place.run(&["runs", "follow", "last"]).stderr(), followed.stderr());
    let events = place.run(&["runs", "follow", "last", "--format", "json"]).stdout();
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let text: String =
        events.iter().filter(|event| event["s"] == 1).filter_map(|event| event["text"].as_str()).collect();
    assert_eq!(text, "first\nsecond\n");
    assert_eq!(events.last().map(|event| &event["e"]), Some(&"done".into()));
}

#[test]
fn a_short_run_is_followed_by_its_row() {
    let place = place();
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=you", "CODE=3"]).code(), 3);
    let followed = place.run(&["runs", "follow", "last"]);
    assert_eq!((followed.stdout().as_str(), followed.code()), ("hello YOU\n", 3));
}

#[test]
fn a_journal_holds_no_secret() {
    let place = Place::with_tool(
        "steps",
        "description: d\nparameters:\n  PIN: {type: string, description: A secret, sensitive: true}\nsteps:\n  - {name: one, bash: \"echo {PIN}; sleep 0.1\"}\n  - {name: two, bash: \"echo got {one.output} >&2\"}\n",
    );
    assert_eq!(place.run(&["tool", "run", "steps", "PIN=swordfish-77"]).code(), 0);
    let journals = place.home().join(".cycod/journals");
    let mut files = 0;
    for entry in fs::read_dir(&journals).expect("journals").flatten() {
        let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
        assert!(!text.contains("swordfish"), "{text}");
        files += 1;
    }
    assert_eq!(files, 2);
}

#[test]
fn a_killed_run_leaves_a_journal_without_end() {
    let place = Place::with_tool(
        "steps",
        "description: d\nsteps:\n  - {name: one, bash: echo first}\n  - {name: two, bash: sleep 60}\n",
    );
    let mut running = place.command(&["tool", "run", "steps"]).stderr(Stdio::null()).spawn().unwrap();
    until("the second step runs", || {
        let show = place.run(&["runs", "show", "last", "--format", "json"]).stdout();
        show.contains("\"two\"")
    });
    running.kill().unwrap();
    running.wait().unwrap();
    let run = json(&place, &["runs", "show", "last", "--format", "json"]);
    assert_eq!((&run["status"], &run["timeline"][1]["status"]), (&"interrupted".into(), &"running".into()));
    let followed = place.run(&["runs", "follow", "last"]);
    assert!(
        followed.stderr().contains("[one] first") && followed.stderr().contains("interrupted"),
        "{}",
        followed.stderr()
    );
    assert_ne!(followed.code(), 0);
}

/// A list is of this project, and `last` is something that ran in it.
#[test]
fn runs_are_listed_by_project_and_last_is_a_run() {
    let place = place();
    place.write("other/.cycod/tools/greet.yaml", GREET);
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=here"]).code(), 0);
    place.write("below/x", "");
    assert_eq!(place.shell("cd below && cycod tool run greet WHO=below").code(), 0);
    let elsewhere = "mkdir -p ../elsewhere/.cycod && cp -r .cycod/tools ../elsewhere/.cycod/ && cd ../elsewhere && CYCOD_TRUSTED_DIRECTORIES=$PWD cycod tool run greet WHO=there";
    assert_eq!(place.shell(elsewhere).code(), 0);
    let who = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|run| run["arguments"]["WHO"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(who(&json(&place, &["runs", "list", "--format", "json"])), ["below", "here"]);
    assert_eq!(who(&json(&place, &["runs", "list", "--all", "--format", "json"])), ["there", "below", "here"]);
    let all = place.run(&["runs", "list", "--all"]).stdout();
    assert!(all.contains("DIRECTORY") && all.contains("elsewhere"), "{all}");
    // What was refused and what `doctor` started is no last run.
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=refused", "--auto-deny", "greet"]).code(), 3);
    drop(place.run(&["doctor"]));
    let last = json(&place, &["runs", "show", "last", "--format", "json"]);
    assert_eq!(last["arguments"]["WHO"], "below");
    assert_eq!(json(&place, &["runs", "show", "-2", "--format", "json"])["arguments"]["WHO"], "here");
    let list = json(&place, &["runs", "list", "--format", "json"]);
    assert_eq!(list[0]["surface"], "doctor");
    assert_eq!(list[1]["status"], "refused");
    let nothing = place.shell("mkdir -p ../empty && cd ../empty && cycod runs list; cycod runs show last");
    assert!(nothing.stderr().contains("cycod runs list --all") && nothing.code() == 1, "{}", nothing.block());
}

/// A table has the times of this machine's clock, JSON those of UTC.
#[test]
fn a_table_has_local_times() {
    let place = place();
    assert_eq!(place.run(&["tool", "run", "greet", "WHO=me"]).code(), 0);
    let list = json(&place, &["runs", "list", "--format", "json"]);
    let at = list[0]["at"].as_str().expect("a moment");
    assert!(at.ends_with('Z') && at.contains('T'), "{at}");
    let shown = |zone: &str| place.shell(&format!("TZ={zone} cycod runs list --format table")).stdout();
    let (utc, east) = (shown("UTC0"), shown("XXX-5"));
    assert!(utc.contains(&at[..19].replace('T', " ")), "{at}: {utc}");
    assert_ne!(utc, east);
}

/// At a terminal, a run that fails ends with what failed: the command, and the end of both its streams.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_step_shows_itself_at_a_terminal() {
    let place = Place::with_tool(
        "flow",
        "description: Flow\ntags: [read]\nsteps:\n  - {name: good, bash: echo fine}\n  - name: bad\n    bash: |\n      for i in $(seq 30); do echo line-$i; done\n      printf 'oh\\033[2J no\\n' >&2\n      exit 5\n",
    );
    let player = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/terminal.py");
    let shown = place.shell(&format!("NO_COLOR=1 TERM=xterm python3 {player} 100 '[]' cycod tool run flow")).stdout();
    let from = shown.find("bad failed").unwrap_or_else(|| panic!("{shown}"));
    let end = &shown[from..];
    for line in [
        "bad failed with exit code 5",
        "  $ for i in $(seq 30)",
        "(without the first 15 lines)",
        "line-30",
        "oh\\u{1b}[2J no",
    ] {
        assert!(end.contains(line), "{line}: {shown}");
    }
    assert!(!end.contains("line-15") && !shown.contains("good failed"), "{shown}");
    let id = end.split("cycod runs show ").nth(1).expect("it says where").split_whitespace().next().expect("a name");
    assert!(place.run(&["runs", "show", id]).stdout().contains("line-1\n"), "{shown}");
    // In a log everything stands already.
    let log = place.run(&["tool", "run", "flow"]).stderr();
    assert!(log.matches("line-30").count() <= 1 && !log.contains("bad failed with"), "{log}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_interrupted_says_so() {
    let place = Place::with_tool(
        "slow",
        "description: Slow\ntags: [read]\nsteps:\n  - {name: one, bash: echo began; sleep 30}\n  - {name: two, bash: echo two}\n",
    );
    let player = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/terminal.py");
    let script = r#"[["began", "\u0003"]]"#;
    let shown =
        place.shell(&format!("NO_COLOR=1 TERM=xterm python3 {player} 100 '{script}' cycod tool run slow")).stdout();
    assert!(shown.contains("interrupted after 1 of 2 steps") && shown.contains("exit 130"), "{shown}");
    assert!(!shown.contains("one failed with") && !shown.contains("error["), "{shown}");
    assert!(shown.contains("stop one") && shown.contains("(stopped)"), "{shown}");
}
