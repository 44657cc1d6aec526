use cycod_engine::{Event, Sink};
use expect_test::expect;
use serde_json::json;

use crate::support::Place;

const TOOL: &str = "bash_execution";

#[test]
fn a_command_line_or_a_program() {
    let place = Place::new();
    place.check(
        TOOL,
        json!({"command": "echo \"$((6 * 7))\" | tr 4 5; cd /; pwd >&2"}),
        &expect![[r#"
        52
        --- stderr ---
        /
    "#]],
    );
    place.check(
        TOOL,
        json!({"command": "printf", "args": ["%s\\n", "$HOME; `id`", "*"]}),
        &expect![[r#"
        $HOME; `id`
        *
    "#]],
    );
    place.check(
        TOOL,
        json!({"command": "pwd", "args": []}),
        &expect![[r#"
        ROOT/project
    "#]],
    );
    place.check(
        TOOL,
        json!({"command": "echo a b", "args": []}),
        &expect![[r#"
        exit 127
        refused[program-missing]: `echo a b` is not installed, or not on the PATH
        try: install `echo a b`
    "#]],
    );
}

#[test]
fn a_failure_tells_all() {
    let place = Place::new();
    place.check(
        TOOL,
        json!({"command": "echo out; echo err >&2; exit 3"}),
        &expect![[r#"
        exit 1
        out
        --- stderr ---
        err
        exit code 3
    "#]],
    );
    place.check(
        TOOL,
        json!({"command": "kill -KILL $$"}),
        &expect![[r#"
        exit 1
        exit code 137
    "#]],
    );
    place.check(
        TOOL,
        json!({"command": "echo begun; sleep 60", "timeout": 300}),
        &expect![[r#"
        exit 1
        begun
        ended after 300 ms: raise `timeout` if it needs longer
    "#]],
    );
    place.check(
        TOOL,
        json!({"command": "x".repeat(200_000)}),
        &expect![[r#"
        exit 1
        `command` has 195.3 KB, and a command line at most 120 KB: write it to a file and run that
    "#]],
    );
    let report = place.call(TOOL, json!({"command": "printf 'caf\\351'; exit 2"}));
    let structured = report.answer.expect("an answer").structured.expect("data");
    expect![[r#"{"exit_code":2,"stdout":"caf�","stderr":"","timed_out":false,"truncated":false}"#]]
        .assert_eq(&structured.to_string());
}

struct Heard(Vec<String>);

impl Sink for Heard {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Log { message, .. } = event {
            self.0.push(message.clone());
        }
    }
}

#[test]
fn what_it_says_is_heard_while_it_runs() {
    let place = Place::new();
    let mut heard = Heard(Vec::new());
    let arguments = json!({"command": "echo one; sleep 0.3; echo two >&2"});
    place.call_in(&place.project(), TOOL, arguments, &mut heard, &place.control());
    assert_eq!(heard.0, ["one", "two"]);
}

#[test]
fn nothing_is_left_running() {
    let place = Place::new();
    let command = "sleep 1000 & echo $! > pid; disown; echo done";
    place.check(
        TOOL,
        json!({"command": command}),
        &expect![[r#"
        done
    "#]],
    );
    let pid = place.read("pid");
    let alive = || {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        !(state.is_empty() || state.contains(") Z "))
    };
    for _ in 0..200 {
        if !alive() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{pid} is still there");
}
