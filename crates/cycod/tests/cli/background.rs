//! Workflows that go on by themselves, seen from several processes.
#![cfg(unix)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    serve::Client,
    support::{Place, until},
};

/// A workflow that tells where its process is, and goes on until a file is there.
const PATIENT: &str = r#"
description: d
tags: [run]
steps:
- name: first
  bash: echo begun
- name: second
  bash: trap "" TERM; (sleep 600 & echo $! > below; wait) & echo $$ > pid.tmp; mv pid.tmp pid; until [ -e go ]; do sleep 0.05; done; echo over; kill $(cat below)
"#;

fn place() -> Place {
    Place::with_tool("patient", PATIENT)
}

/// Runs a command to its end.
fn said(place: &Place, arguments: &[&str]) -> (i32, String, String) {
    let output = place.command(arguments).output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn json_of(place: &Place, arguments: &[&str]) -> Value {
    let (_, out, err) = said(place, arguments);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {out}{err}"))
}

/// Starts a workflow in the background and returns its name.
pub(crate) fn start(place: &Place, workflow: &str) -> String {
    let name = format!("workflow_name={workflow}");
    let answer = json_of(place, &["tool", "run", "cli_workflow_run", &name, "async_execution=true"]);
    assert_eq!((&answer["success"], &answer["status"]), (&json!(true), &json!("running")), "{answer}");
    assert_eq!(answer["result"], json!({}), "{answer}");
    answer["workflow_id"].as_str().expect("a name").to_owned()
}

fn file(place: &Place, name: &str) -> PathBuf {
    place.project().join(name)
}

fn pid(path: &Path) -> i32 {
    until("it tells its number", || fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n')));
    fs::read_to_string(path).expect("it is there").trim().parse().expect("a number")
}

fn is_there(pid: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat"));
    state.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z')))
}

pub(crate) fn state(place: &Place, id: &str) -> String {
    json_of(place, &["runs", "show", id, "--format", "json"])["status"].as_str().expect("a state").to_owned()
}

fn control(place: &Place, id: &str) -> PathBuf {
    place.home().join(format!(".cycod/runs/{id}/control"))
}

/// The process that carries a run on: the one that has its control open.
///
/// It starts programs, and each of those is a copy of it until `exec`. So there can be two for a moment.
pub(crate) fn process_of(place: &Place, id: &str) -> i32 {
    let control = control(place, id);
    let holders = || -> Vec<i32> {
        let holder = |entry: fs::DirEntry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let mut descriptors = fs::read_dir(entry.path().join("fd")).ok()?.flatten();
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let is_ours = String::from_utf8_lossy(&command).contains("--background-run");
            (is_ours && descriptors.any(|file| fs::read_link(file.path()).is_ok_and(|path| path == control)))
                .then_some(pid)
        };
        fs::read_dir("/proc").expect("a list").flatten().filter_map(holder).collect()
    };
    let mut found = Vec::new();
    until("one process carries it on", || {
        found = holders();
        found.len() == 1
    });
    found[0]
}

pub(crate) fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).expect("a number");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
}

#[test]
fn it_is_started_asked_after_and_waited_for_by_different_processes() {
    let place = place();
    let id = start(&place, "patient");
    assert_eq!(state(&place, &id), "running");
    let run = json_of(&place, &["runs", "show", &id, "--format", "json"]);
    assert_eq!((&run["tool"], &run["through"]["tool"]), (&json!("patient"), &json!("cli_workflow_run")));
    let (code, _, talk) = said(&place, &["runs", "wait", &id, "--timeout", "0s"]);
    assert!(code == 124 && talk.contains("still runs"), "{code} {talk}");
    place.write("go", "");
    let (code, out, _) = said(&place, &["runs", "wait", &id]);
    let answer: Value = serde_json::from_str(&out).expect("the answer");
    assert_eq!((code, &answer["status"], &answer["workflow_id"]), (0, &json!("completed"), &json!(id)));
    assert_eq!((&answer["result"]["output"], &answer["steps_completed"]), (&json!("over\n"), &json!(2)));
    let (_, transcript, _) = said(&place, &["runs", "show", &id, "--output", "transcript"]);
    assert!(transcript.contains("begun") && transcript.contains("over"), "{transcript}");
    assert_eq!(fs::read_dir(place.home().join(".cycod/runs")).expect("it stays").count(), 0, "no control is left");
    let (code, out, _) = said(&place, &["runs", "cancel", &id]);
    assert!(code == 0 && out.contains("has ended already: ok"), "{out}");
}

#[test]
fn one_whose_program_is_missing_has_failed() {
    let place = Place::with_tool(
        "missing",
        "description: d\ntags: [run]\nsteps:\n- {name: first, bash: echo begun}\n- {name: second, run: no-such-program-anywhere}\n",
    );
    let id = start(&place, "missing");
    let (code, out, _) = said(&place, &["runs", "wait", &id]);
    let answer: Value = serde_json::from_str(&out).expect("the answer");
    assert_eq!((code, state(&place, &id).as_str()), (127, "failed"), "{answer}");
    let told = ["status", "failed_step", "code"].map(|field| answer[field].as_str().unwrap_or_default());
    assert_eq!(told, ["failed", "second", "program-missing"], "{answer}");

    let mut client = Client::legacy(&place, &["--built-in", "--auto-approve", "run"], json!({}));
    let started = client.call("cli_workflow_run", json!({"workflow_name": "missing", "async_execution": true}));
    let run = &started["structuredContent"]["workflow_id"];
    let ended = client.call("run_wait", json!({"run": run, "timeout_ms": 50_000}));
    assert_eq!((&ended["isError"], &ended["structuredContent"]["status"]), (&json!(true), &json!("failed")), "{ended}");
}

#[test]
fn it_is_ended_by_another_process_though_it_does_not_want_to() {
    let place = place();
    let id = start(&place, "patient");
    let [own, below] = ["pid", "below"].map(|name| pid(&file(&place, name)));
    let (code, out, err) = said(&place, &["runs", "cancel", &id]);
    assert!(code == 0 && out.contains("cancelled"), "{out}{err}");
    until("everything below it ends", || !is_there(own) && !is_there(below));
    let (code, out, _) = said(&place, &["runs", "wait", &id]);
    let answer: Value = serde_json::from_str(&out).expect("the answer");
    assert_eq!((&answer["status"], &answer["failed_step"]), (&json!("cancelled"), &json!("second")));
    assert_ne!(code, 0);
}

#[test]
fn it_outlives_whoever_started_it_and_two_go_on_at_once() {
    let place = place();
    place.tool("other", &PATIENT.replace("pid", "number").replace("below", "under"));
    let mut client = Client::legacy(&place, &["--built-in", "--auto-approve", "run"], json!({}));
    let mut started = ["patient", "other"].map(|workflow| {
        let arguments = json!({"workflow_name": workflow, "async_execution": true});
        let answer = client.call("cli_workflow_run", arguments);
        let answer = &answer["structuredContent"];
        assert_eq!(answer["status"], "running", "{answer}");
        answer["workflow_id"].as_str().expect("a name").to_owned()
    });
    let asked = client.call("run_status", json!({"run": started[0]}));
    assert_eq!(asked["structuredContent"]["status"], "working", "{asked}");
    client.kill();
    for id in &started {
        assert_eq!(state(&place, id), "running");
    }
    pid(&file(&place, "pid"));
    pid(&file(&place, "number"));
    // Another server of the same user knows them, too.
    let mut client = Client::legacy(&place, &["--built-in"], json!({}));
    let asked = client.call("run_cancel", json!({"run": started[1]}));
    assert_eq!(asked["structuredContent"]["status"], "cancelled", "{asked}");
    place.write("go", "");
    let asked = client.call("run_wait", json!({"run": started[0], "timeout_ms": 50_000}));
    let told = &asked["structuredContent"];
    assert_eq!(
        (&told["status"], &told["answer"]["result"]["output"]),
        (&json!("completed"), &json!("over\n")),
        "{asked}"
    );
    // What a person started is not for a model to see.
    fs::remove_file(file(&place, "go")).expect("removed");
    started[0] = start(&place, "patient");
    for hostile in [started[0].as_str(), "../runs", "a\0b", &"f".repeat(100_000), ""] {
        let asked = client.call("run_cancel", json!({"run": hostile}));
        assert!(asked.to_string().contains("unknown-run"), "{asked}");
    }
    assert_eq!(state(&place, &started[0]), "running");
    said(&place, &["runs", "cancel", &started[0]]);
}

#[test]
fn killed_it_leaves_nothing_behind_and_the_history_says_so() {
    let place = place();
    let id = start(&place, "patient");
    let [own, below] = ["pid", "below"].map(|name| pid(&file(&place, name)));
    let control = control(&place, &id);
    kill(process_of(&place, &id));
    until("everything below it ends", || !is_there(own) && !is_there(below));
    until("the history says so", || state(&place, &id) == "interrupted");
    let (code, out, _) = said(&place, &["runs", "cancel", &id]);
    assert!(code == 0 && out.contains("interrupted"), "{out}");
    // The next one tidies up.
    let next = start(&place, "patient");
    assert!(!control.exists());
    said(&place, &["runs", "cancel", &next]);
}

#[test]
fn one_that_somebody_waits_for_is_ended_there() {
    let place = place();
    let mut run = place.command(&["tool", "run", "patient"]).stdout(Stdio::null()).spawn().expect("it starts");
    pid(&file(&place, "pid"));
    let (code, _, err) = said(&place, &["runs", "cancel", "last"]);
    assert!(code == 1 && err.contains("run-without-control"), "{err}");
    for hostile in ["../last", &"f".repeat(10_000), "0/../..", "*"] {
        let (code, _, err) = said(&place, &["runs", "cancel", hostile]);
        assert!(code == 1 && err.contains("no run is called"), "{err}");
    }
    place.write("go", "");
    assert!(run.wait().expect("it ends").success());
}

#[test]
fn what_was_not_approved_is_not_started() {
    let place = place();
    // What somebody else could send: another call than the one that was approved.
    let order = |call: &str, surface: &str| {
        json!({
            "tool": "cli_workflow_run",
            "arguments": r#"{"workflow_name": "patient", "async_execution": true}"#,
            "given": "{}",
            "answers": [],
            "run": "01a2021a4831ea9400fc71aa3f533d16",
            "moment": [1_700_000_000, 0],
            "timeout": [60, 0],
            "call": call,
            "rule": "a rule",
            "surface": surface,
            "host": null,
            "principal": "somebody",
            "local": true,
        })
        .to_string()
    };
    let sent = |order: &str| {
        use std::io::Write as _;
        let mut command = place.command(&["--background-run"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(order.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let said = sent(&order(&"0".repeat(64), "mcp"));
    assert!(said.contains("tool-changed") && said.contains("not any more what was approved"), "{said}");
    for nonsense in ["", "{}", "null", "[1", &order("x", "root")] {
        let said = sent(nonsense);
        assert!(said.contains("not understood"), "{nonsense}: {said}");
    }
    assert!(!file(&place, "pid").exists());
}

#[test]
fn nothing_goes_on_behind_a_run() {
    let place = place();
    let program = env!("CARGO_BIN_EXE_cycod");
    place.tool("within", &format!(
        "description: d\ntags: [run]\nbash: '{program} tool run cli_workflow_run workflow_name=patient async_execution=true'\n"
    ));
    let (_, out, err) = said(&place, &["tool", "run", "within"]);
    assert!(err.contains("background-unavailable") || out.contains("background-unavailable"), "{out}{err}");
    assert!(!file(&place, "pid").exists());
}

#[test]
fn any_tool_runs_in_the_background_from_the_command_line() {
    let place = Place::with_tool(
        "slow",
        "description: Slow\nbash: echo begun > log; until [ -e go ]; do sleep 0.05; done; echo ended {WORD}\nparameters: \
         {WORD: {type: string, description: A word, required: true}}\ntags: [write]\n",
    );
    let started = place.run(&["run", "slow", "WORD=well", "--background"]);
    assert_eq!(started.code(), 0, "{}", started.stderr());
    let run = started.stdout().trim().to_owned();
    assert!(started.stderr().contains(&format!("cycod runs follow {run}")), "{}", started.stderr());
    until("it has begun", || place.project().join("log").exists());
    assert!(place.run(&["runs", "list", "--status", "running"]).stdout().contains("slow"));
    place.write("go", "");
    let waited = place.run(&["runs", "wait", &run]);
    assert_eq!((waited.code(), waited.stdout().as_str()), (0, "ended well\n"), "{}", waited.stderr());
    assert_eq!(place.run(&["runs", "show", &run, "--output"]).stdout(), "ended well\n");

    // It can be ended from elsewhere, and what is wrong is said at once.
    std::fs::remove_file(place.project().join("go")).expect("it is there");
    let started = place.run(&["run", "slow", "WORD=never", "--background", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&started.stdout()).expect("JSON");
    let run = json["run"].as_str().expect("an ID").to_owned();
    assert_eq!(place.run(&["runs", "cancel", &run]).code(), 0);
    assert_ne!(place.run(&["runs", "wait", &run]).code(), 0);
    let refused = place.run(&["run", "slow", "--background"]);
    assert!(refused.code() == 2 && refused.stdout().is_empty(), "{}", refused.block());
}
