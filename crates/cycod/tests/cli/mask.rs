//! Secrets in what a run shows, seen from outside.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    sync::mpsc,
    time::Duration,
};

use serde_json::{Value as Json, json};

use crate::support::Place;

/// A key as long as those that providers give.
const KEY: &str =
    "sk-proj-Zx9TqLm4Rw7VbNc2Yd8Kf5Hj3Gs6Pa1Ue0Oi_XtQzWvBnMlKjHgFdSaPoIuYtReWq-1234567890AbCdEfGhIjKlMnOpQrStUvWx";

#[test]
fn lines_arrive_as_they_are_written_under_a_long_key() {
    assert_eq!(KEY.len(), 108);
    let lines = [
        "Compiling serde v1.0 (/home/ada/project)",
        "tests/it/a.rs: 16 passed, 0 failed, 66 of 76 seconds",
        "done",
        "50%",
        r#"{"event": "say \"x\"", "n": 16}"#,
        "2026-11-23 14:03:15 -- 0x66",
        "/usr/lib/x86_64-linux-gnu/perl-base/unicore/lib/Yes",
        "a&b=c ==",
        "sk-other",
        "ends with s",
    ];
    let script: String = lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("  printf '%s\\n' '{line}'\n  until [ -e go{index} ]; do sleep 0.02; done\n"))
        .collect();
    let place = Place::with_tool("talks", &format!("description: d\nbash: |\n{script}"));
    let mut command = place.command(&["tool", "run", "talks"]);
    let mut child = command.env("PROVIDER_API_KEY", KEY).stdout(Stdio::piped()).spawn().expect("it starts");
    let stdout = child.stdout.take().expect("a pipe");
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || BufReader::new(stdout).lines().try_for_each(|line| sender.send(line)));
    for (index, line) in lines.iter().enumerate() {
        let came = receiver.recv_timeout(Duration::from_secs(30));
        // However it went, the program comes to its end.
        place.write(&format!("go{index}"), "");
        if came.is_err() {
            (index..lines.len()).for_each(|index| place.write(&format!("go{index}"), ""));
        }
        assert_eq!(came.expect("it comes before the next is written").expect("it is text"), *line);
    }
    assert!(child.wait().expect("it ends").success());
    reader.join().expect("it does not panic").expect("somebody listens");
}

/// The result of a tool with these lines that counts to a number which is a secret, and what it shows of it.
#[track_caller]
fn counted(tool: &str) -> (Json, String) {
    let place = Place::with_tool("count", &format!("description: d\n{tool}\n"));
    let run = |options: &[&str]| {
        let mut command = place.command(&[&["tool", "run", "count"], options].concat());
        place.ran(command.env("PARTITION_KEY", "1000").output().expect("it starts"))
    };
    let result = run(&["--format", "json"]);
    assert_eq!(result.code(), 0, "{}", result.block());
    (serde_json::from_str(&result.stdout()).expect("a result is JSON"), run(&[]).stdout())
}

const RETURNS: &str = "returns: {type: object, properties: {count: {type: integer}}, required: [count]}";

#[test]
fn a_number_that_is_a_secret_leaves_json_json() {
    let print = r#"printf '{"count": 1000, "of": [1, 10001]}\n'"#;
    for tool in [
        format!("{RETURNS}\nbash: {}", json!(print)),
        format!("{RETURNS}\nsteps:\n- {{name: a, bash: {}}}", json!(print)),
        format!("{RETURNS}\nsteps:\n- {{name: a, bash: {}, output: {{mode: stream}}}}", json!(print)),
        format!(
            "{RETURNS}\nsteps:\n- {{name: a, bash: {}}}\n- {{name: b, bash: 'false', run-condition: '1 == 2'}}",
            json!(print)
        ),
    ] {
        let (result, shown) = counted(&tool);
        let expect = "{\"count\": \"****\", \"of\": [1, \"****\"]}\n";
        assert_eq!((result["output"].as_str(), &*shown), (Some(expect), expect), "{tool}");
    }
}

#[test]
fn what_says_yes_or_no_is_no_secret() {
    for word in ["true", "FALSE", "null"] {
        let place = Place::with_tool("say", "description: d\nbash: 'echo true FALSE null'\n");
        let ran = place.command(&["tool", "run", "say"]).env("USE_API_KEY", word).output().expect("it starts");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), "true FALSE null\n");
    }
}
