//! Whatever a tool is called with, its answer is the one it promises.

use std::{fs, sync::Arc};

use cycod_cli_tools::CliTools;
use cycod_engine::{BuiltIns as _, Engine, definition::Tool};
use serde_json::{Value as Json, json};

use crate::support::Place;

/// Values that nobody means well with, and some that are only wrong.
fn values() -> Vec<Json> {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(1e308),
        json!(""),
        json!(" \t\n"),
        json!("x"),
        json!("a\0b"),
        json!("\u{1b}[2J\u{202e}\u{7}"),
        json!("../../../../../../etc/passwd"),
        json!("/etc/shadow"),
        json!("~/.ssh/id_rsa"),
        json!("..\\..\\windows"),
        json!("(.*+?[{^$|\\"),
        json!("**/*"),
        json!("-rf"),
        json!("$(touch hacked); `touch hacked` && touch hacked"),
        json!("日本語 ключ 🦀 e\u{301}"),
        json!("x".repeat(10_000)),
        json!("long ".repeat(50_000)),
        json!([]),
        json!(["..", 1, null, {"a": []}]),
        json!({}),
        json!({"a": {"b": ["c"]}}),
        deep,
    ]
}

#[track_caller]
fn check(place: &Place, tool: &Tool, arguments: Vec<(String, Json)>, path: &str) {
    let shown = format!("{} {:.200}", tool.name, json!(arguments).to_string());
    let answer = place.told(tool, arguments, &[("PATH", path)]);
    let value = answer.structured.unwrap_or_else(|| panic!("{shown}: no value, {:?}", answer.problem));
    let schema = tool.returns.as_ref().expect("a promise");
    let violations = schema.violations(&value).expect("a schema");
    assert!(violations.is_empty(), "{shown}: {violations:?} in {value:#}");
    assert_eq!(
        value["success"] == false && value["error"].is_string(),
        value["error"].is_string(),
        "{shown}: {value:#}"
    );
    if answer.problem.is_some() {
        assert_eq!(value["success"], false, "{shown}");
        assert!(value["error"].as_str().is_some_and(|error| !error.is_empty()), "{shown}: {value:#}");
        assert!(value["error_type"].is_string(), "{shown}: {value:#}");
        assert!(answer.is_error, "{shown}");
    }
}

fn tools() -> Vec<Tool> {
    CliTools::new(Arc::new(Engine::open)).tools()
}

#[test]
fn every_tool_promises_a_failure_in_the_same_form() {
    for tool in tools() {
        let schema = tool.returns.as_ref().unwrap_or_else(|| panic!("{} promises nothing", tool.name));
        let failure = json!({"success": false, "error": "x", "error_type": "y"});
        assert!(schema.violations(&failure).expect("a schema").is_empty(), "{}", tool.name);
        assert!(!schema.violations(&json!({})).expect("a schema").is_empty(), "{}: `success` is required", tool.name);
    }
}

#[test]
fn every_answer_is_the_one_that_is_promised() {
    let place = Place::new();
    // Of the machine's programs only the shell: what the tools start besides is their own tests' to look at.
    let programs = place.root().join("programs");
    fs::create_dir_all(&programs).expect("a directory");
    for program in ["sh", "bash"] {
        std::os::unix::fs::symlink(format!("/bin/{program}"), programs.join(program)).expect("a link");
    }
    let path = programs.display().to_string();
    for tool in tools() {
        check(&place, &tool, Vec::new(), &path);
        check(&place, &tool, vec![("no_such_argument".to_owned(), json!(1))], &path);
        check(&place, &tool, vec![("\0".to_owned(), json!("\0")), (String::new(), json!(null))], &path);
        for parameter in &tool.parameters {
            for value in values() {
                let others = tool.parameters.iter().filter(|other| other.required && other.name != parameter.name);
                let mut arguments: Vec<(String, Json)> = others.map(|other| (other.name.clone(), json!("x"))).collect();
                arguments.push((parameter.name.clone(), value));
                check(&place, &tool, arguments, &path);
            }
        }
    }
    assert!(!place.project().join("hacked").exists(), "a value became code");
    assert!(place.names(&place.root().join("outside")).is_empty(), "something was written outside of the project");
}
