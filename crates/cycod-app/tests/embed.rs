//! Runs the example for real: what the guide about embedding shows works in a program that is not ours.
#![cfg(unix)]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use cycod_store::{Filter, History};
use serde_json::Value;
use tempfile::TempDir;

const EXAMPLE: &str = include_str!("../examples/embed.rs");
const GUIDE: &str = include_str!("../../../docs/guide/embedding.md");

/// A project with the tools of the guide, and a home beside it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a temporary directory"));
        for tool in blocks("yaml") {
            let path =
                tool.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a tool begins with its path");
            let path = place.project().join(path);
            fs::create_dir_all(path.parent().expect("a file has a parent")).expect("its directory");
            fs::write(path, tool).expect("the file");
        }
        fs::create_dir_all(place.0.path().join("home")).expect("a directory");
        place
    }

    fn project(&self) -> PathBuf {
        self.0.path().join("project")
    }

    /// What the example prints for these arguments, when the person at it agrees.
    #[expect(clippy::disallowed_methods, reason = "the test starts the program under test")]
    fn said(&self, arguments: &[&str]) -> Value {
        let mut child = Command::new(program())
            .args(arguments)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.0.path().join("home"))
            .env("CYCOD_GLOBAL_DIR", self.0.path().join("global"))
            .env("CYCOD_TRUSTED_DIRECTORIES", self.project())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the example starts");
        // It may have ended without a question.
        _ = child.stdin.take().expect("piped").write_all(b"y\n");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }
}

/// The example, which cargo builds beside the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let program = test.ancestors().nth(2).expect("it is in `deps`").join("examples/embed");
    assert!(program.exists(), "build it: cargo build -p cycod-app --example embed");
    program
}

/// The fenced blocks of a language in the guide.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("```{language}\n");
    GUIDE.split(&opening).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

fn until(path: &Path) -> String {
    let began = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(began.elapsed() < Duration::from_secs(60), "{} does not come", path.display()),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_guide_shows_the_example() {
    for shown in blocks("rust") {
        assert!(
            EXAMPLE.contains(shown.trim_end()),
            "docs/guide/embedding.md shows another program than examples/embed.rs"
        );
    }
}

#[test]
fn it_tells_a_model_of_the_tools_and_answers_calls() {
    let place = Place::new();
    let tools = place.said(&[]);
    let names: Vec<&str> = tools.as_array().expect("a list").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["greet", "release", "slug"]);
    let answer = place.said(&["greet", r#"{"WHO": "Ada; reboot"}"#]);
    assert_eq!((&answer["success"], &answer["output"]), (&true.into(), &"Hello, Ada; reboot\n".into()));
    let history = History::at(&place.0.path().join("home/.cycod"));
    let runs = history.runs(&Filter { limit: 1, ..Filter::default() }).expect("it can be read");
    assert_eq!((runs[0].tool.as_str(), runs[0].surface.as_str()), ("greet", "agent"));
    let answer = place.said(&["greet", r#"{"WHOM": "Ada"}"#]);
    assert_eq!((&answer["success"], &answer["refusal"]["code"]), (&false.into(), &"unknown-argument".into()));
    let answer = place.said(&["greed", "{}"]);
    assert_eq!(answer["refusal"]["code"], "unknown-tool");
}

#[test]
fn scripts_run_in_processes_of_the_program() {
    let answer = Place::new().said(&["slug", r#"{"text": "Hello, World!"}"#]);
    assert_eq!((&answer["success"], &answer["output"]), (&true.into(), &"hello-world".into()), "{answer}");
}

#[test]
fn a_run_goes_on_when_the_program_has_ended() {
    let place = Place::new();
    let answer = place.said(&["cli_workflow_run", r#"{"workflow_name": "release", "async_execution": true}"#]);
    assert_eq!(answer["success"], true, "{answer}");
    let output: Value = serde_json::from_str(answer["output"].as_str().expect("a text")).expect("JSON");
    assert_eq!(output["status"], "running", "{answer}");
    let packed = place.project().join("release.txt");
    assert!(!packed.exists(), "the run has not ended with the program");
    assert_eq!(until(&packed), "packed\n");
}
