use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use cycod_engine::{Given, Ignore, definition::Value};
use expect_test::expect;
use serde_json::{Value as Json, json};

use crate::support::{Place, answer};

const TOOL: &str = "cli_analyze_code";

/// A project with something of everything.
fn project() -> Place {
    let place = Place::new();
    place.file("src/app.py", "import os\n\n\ndef run(name):\n    if name:\n        os.system('ls ' + name)\n");
    place.file("src/lib.rs", "pub fn f(a: u8) -> u8 {\n    a\n}\n");
    place.file(".env", format!("TOKEN=ghp_{}\n", "q7Zt4Xw9Lm2Kc8Vb5Nd3Rf6Hg1Jp0Ys7Ta4U"));
    place.file("data.bin", b"\0\0\0");
    place.file("node_modules/a/index.js", "eval(x)\n");
    place.file(".venv/a.py", "eval(x)\n");
    place.file("ignored.py", "eval(x)\n");
    place.file(".gitignore", "ignored.py\n");
    place
}

/// A call without the analysers of this machine.
fn alone(place: &Place, mut arguments: Json) -> Json {
    arguments["analyzers"] = json!([]);
    place.call(TOOL, arguments)
}

fn places(findings: &Json) -> Vec<String> {
    let findings = findings.as_array().expect("a list").iter();
    findings
        .map(|found| format!("{}:{} {}", found["file"].as_str().unwrap_or_default(), found["line"], found["rule"]))
        .collect()
}

#[test]
fn a_directory() {
    let place = project();
    let value = alone(&place, json!({"path": "."}));
    assert_eq!(places(&value["security_findings"]), [".env:1 \"secret-key\"", "src/app.py:6 \"shell-command\""]);
    assert_eq!(value["metrics"]["totals"]["functions"], 2);
    assert_eq!(value["skipped"], json!([{"file": "data.bin", "reason": "binary"}]));
    assert!(value.get("output_path").is_none(), "no report was written");
    assert_eq!(value, alone(&place, json!({"path": "."})), "the same code gives the same answer");
    assert!(!value.to_string().contains("q7Zt4Xw9"));
    let named = alone(&place, json!({"path": "./src/"}));
    assert_eq!(places(&named["security_findings"]), ["./src/app.py:6 \"shell-command\""]);
}

#[test]
fn a_file() {
    let value = alone(&project(), json!({"path": "src/app.py"}));
    assert_eq!(value["files_analyzed"], 1);
    assert_eq!(places(&value["security_findings"]), ["src/app.py:6 \"shell-command\""]);
}

#[test]
fn what_is_not_asked_for_is_left_out() {
    let value = alone(&project(), json!({"path": ".", "include_security": false, "include_metrics": false}));
    assert_eq!((&value["metrics"], &value["security_findings"]), (&json!({}), &json!([])));
    let value = project().call(TOOL, json!({"path": "src", "include_security": false}));
    let names: Vec<&str> = value["analyzers"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|analyzer| analyzer["name"].as_str())
        .collect();
    assert_eq!(names, ["ruff", "shellcheck"]);
}

#[test]
fn reports() {
    let place = project();
    for (format, name) in
        [("json", "analysis.json"), ("sarif", "analysis.sarif"), ("html", "analysis.html"), ("text", "analysis.txt")]
    {
        let value = alone(&place, json!({"path": ".", "output": "./reports/new", "format": format}));
        assert_eq!(value["output_path"], format!("./reports/new/{name}"));
        let report = place.read(&format!("reports/new/{name}"));
        assert!(report.contains("shell-command"), "{format}: {report}");
        assert!(!report.contains("q7Zt4Xw9"), "{format}");
        let again = alone(&place, json!({"path": "src", "output": "reports/new", "format": format}));
        assert_eq!(again["success"], true, "a report takes the place of the last one");
    }
    assert_eq!(place.names(&place.project().join("reports/new")).len(), 4, "nothing is left lying about");
}

#[test]
fn what_cannot_be_done() {
    let place = project();
    expect![[r#"
        {
          "success": false,
          "error": "Analysis failed: `src/ap.py` does not exist; did you mean `src/app.py`?",
          "error_type": "FileNotFoundError",
          "path": "src/ap.py"
        }
    "#]]
    .assert_eq(&format!("{:#}\n", alone(&place, json!({"path": "src/ap.py"}))));
    let value = alone(&place, json!({"path": "nothing/at/all"}));
    assert_eq!(value["error_type"], "FileNotFoundError");
    fs::create_dir_all(place.project().join("reports/analysis.json")).expect("a directory");
    let value = alone(&place, json!({"path": "src", "output": "reports"}));
    assert_eq!(value["error_type"], "AnalysisError");
    for arguments in
        [json!({"path": "../outside"}), json!({"path": "/etc"}), json!({"path": "src", "output": "../outside"})]
    {
        let refusal = place.refusal(TOOL, arguments.clone());
        assert!(refusal.starts_with("outside-workspace: "), "{arguments}: {refusal}");
    }
    assert!(place.names(&place.root().join("outside")).is_empty());
}

#[test]
fn links_are_not_followed() {
    let place = Place::new();
    fs::write(place.root().join("outside/a.py"), "eval(x)\n").expect("written");
    symlink("../outside/a.py", place.project().join("a.py")).expect("linked");
    symlink("../outside", place.project().join("b")).expect("linked");
    let value = alone(&place, json!({"path": "."}));
    assert_eq!((&value["files_analyzed"], &value["security_findings"]), (&json!(0), &json!([])));
    let refusal = place.refusal(TOOL, json!({"path": "a.py"}));
    assert!(refusal.starts_with("outside-workspace: "), "{refusal}");
}

#[test]
fn long_lists_are_cut_and_whole_in_the_report() {
    let place = Place::new();
    place.file("a.py", "eval(x)\n".repeat(700));
    let value = alone(&place, json!({"path": ".", "output": "reports"}));
    assert_eq!(value["security_findings"].as_array().map(Vec::len), Some(500));
    assert_eq!(value["left_off"]["security_findings"], 200);
    let report: Json = serde_json::from_str(&place.read("reports/analysis.json")).expect("JSON");
    assert_eq!(report["security_findings"].as_array().map(Vec::len), Some(700));
}

/// Calls with programs of ours in the place of analysers.
fn with_programs(place: &Place, programs: &[(&str, &str)], arguments: Json) -> Json {
    let bin = place.root().join("bin");
    fs::create_dir_all(&bin).expect("a directory");
    for (name, script) in programs {
        fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("changed");
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let control = place.control();
    let report = place.run_with(TOOL, arguments, &[("PATH", &path)], &mut Ignore, &control).expect("the arguments fit");
    answer(TOOL, &report)
}

#[test]
fn one_analyzer_that_fails_does_not_spoil_the_others() {
    let place = project();
    place.file("run.sh", "echo $1\n");
    let programs = [
        (
            "ruff",
            "printf '[{\"code\":\"F401\",\"filename\":\"%s/src/app.py\",\"location\":{\"row\":1,\"column\":8},\"message\":\"unused\"}]' \"$PWD\"",
        ),
        ("bandit", "echo garbage"),
        (
            "shellcheck",
            "echo '{\"comments\":[{\"file\":\"/etc/passwd\",\"line\":1,\"level\":\"info\",\"code\":1,\"message\":\"x\"}]}'",
        ),
        ("semgrep", "echo went wrong >&2; exit 7"),
    ];
    let value = with_programs(&place, &programs, json!({"path": "."}));
    assert_eq!(places(&value["issues"]), ["src/app.py:1 \"F401\""]);
    expect![[r#"
        [
          {
            "name": "bandit",
            "status": "failed",
            "reason": "what it printed cannot be read: expected value at line 1 column 1"
          },
          {
            "name": "ruff",
            "status": "ran",
            "files": 1,
            "findings": 1
          },
          {
            "name": "semgrep",
            "status": "failed",
            "reason": "it ended with exit code 7: went wrong"
          },
          {
            "name": "shellcheck",
            "status": "failed",
            "reason": "it names `/etc/passwd`, which it was not given"
          }
        ]
    "#]]
    .assert_eq(&format!("{:#}\n", value["analyzers"]));
    assert_eq!(value["files_analyzed"], 5);
}

#[test]
fn an_analyzer_that_talks_too_much_fails() {
    let arguments = json!({"path": "src", "analyzers": ["ruff"]});
    let value = with_programs(&project(), &[("ruff", "yes | head -c 70000000")], arguments);
    assert_eq!(value["analyzers"][0]["status"], "failed");
}

#[test]
fn programs_of_the_project_are_only_started_when_they_are_named() {
    let place = project();
    place.file("web.js", "let a;\n");
    place.file("Cargo.toml", "[package]\n");
    for name in ["node_modules/.bin/eslint", "ruff", "bandit"] {
        place.file(name, "#!/bin/sh\n: > started\necho '[]'\n");
        fs::set_permissions(place.project().join(name), fs::Permissions::from_mode(0o755)).expect("changed");
    }
    let control = place.control();
    let run = |arguments: Json| {
        let report =
            place.run_with(TOOL, arguments, &[("PATH", ".::")], &mut Ignore, &control).expect("the arguments fit");
        answer(TOOL, &report)
    };
    let value = run(json!({"path": "."}));
    assert!(
        value["analyzers"].as_array().expect("a list").iter().all(|analyzer| analyzer["status"] != "ran"),
        "{value:#}"
    );
    assert!(!place.project().join("started").exists());
    let value = run(json!({"path": ".", "analyzers": ["eslint"]}));
    assert_eq!(value["analyzers"][0]["status"], "ran");
    assert!(place.project().join("started").exists());
}

#[test]
fn a_call_is_as_dangerous_as_what_it_starts_and_writes() {
    let place = Place::new();
    let engine = place.engine(&[]);
    let tool = engine.tool(TOOL).expect("there is such a tool");
    let level = |arguments: Json| {
        let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
        let given = arguments.into_iter().map(|(name, value)| (name, Given::Value(Value::from(value))));
        engine.plan(&tool, given.collect(), None).expect("the arguments fit").level.to_string()
    };
    assert_eq!(level(json!({"path": "."})), "read");
    assert_eq!(level(json!({"path": ".", "format": "html", "analyzers": ["ruff", "bandit"]})), "read");
    assert_eq!(level(json!({"path": ".", "output": "reports"})), "write");
    assert_eq!(level(json!({"path": ".", "analyzers": ["ruff", "eslint"]})), "run");
    assert_eq!(level(json!({"path": ".", "analyzers": ["clippy"], "output": "x"})), "run");
}
