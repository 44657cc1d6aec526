//! Files that a run keeps.

use std::fs;

use serde_json::Value;

use crate::support::Place;

const BUILD: &str = "\
description: Build
steps:
  - name: make
    bash: mkdir -p dist; echo page > report.html; echo one > dist/a.whl; echo two > dist/b.whl; echo {SECRET} > dist/log
  - {name: end, bash: \"rm report.html.old 2> /dev/null; exit {CODE}\"}
artifacts: [report.html, \"dist/*.{whl,zip}\", \"dist/{LOG}\"]
resources:
  cleanup:
    - final-command: rm -r dist report.html
parameters:
  CODE: {type: integer, description: How it ends, default: 0}
  LOG: {type: string, description: The log, default: log}
  SECRET: {type: string, description: A secret, default: swordfish, sensitive: true}
tags: [write]
";

fn json(place: &Place, arguments: &[&str]) -> Value {
    let ran = place.run(arguments);
    serde_json::from_str(&ran.stdout()).unwrap_or_else(|_| panic!("{}", ran.block()))
}

fn names(artifacts: &Value) -> Vec<&str> {
    artifacts.as_array().into_iter().flatten().filter_map(|one| one["path"].as_str()).collect()
}

#[test]
fn a_run_keeps_what_its_tool_declares() {
    let place = Place::with_tool("build", BUILD);
    let ran = json(&place, &["run", "build", "--format", "json"]);
    let expect = ["report.html", "dist/a.whl", "dist/b.whl", "dist/log"];
    assert_eq!(names(&ran["artifacts"]), expect, "{ran}");
    assert!(!place.project().join("dist").exists(), "the cleanup ran after the copies were made");
    // In the history, in the text and in JSON.
    let shown = json(&place, &["runs", "show", "last", "--format", "json"]);
    assert_eq!(names(&shown["artifacts"]), expect, "{shown}");
    let page = place.run(&["runs", "show", "last"]).stdout();
    assert!(page.contains("ARTIFACTS") && page.contains("dist/a.whl"), "{page}");
    // Listed, printed and copied; what is secret is hidden.
    let list = json(&place, &["runs", "artifacts", "last", "--format", "json"]);
    assert_eq!(names(&list), expect, "{list}");
    assert_eq!(list[0]["bytes"], 5, "{list}");
    let table = place.run(&["runs", "artifacts", "last"]);
    assert!(table.stdout().contains("report.html") && table.code() == 0, "{}", table.block());
    assert_eq!(place.run(&["runs", "artifacts", "last", "dist/b.whl"]).stdout(), "two\n");
    assert_eq!(place.run(&["runs", "artifacts", "last", "dist/log"]).stdout(), "****\n");
    let copied = place.run(&["runs", "artifacts", "last", "--output", "out"]);
    assert_eq!(copied.code(), 0, "{}", copied.block());
    assert_eq!((place.read("out/report.html"), place.read("out/dist/a.whl")), ("page\n".into(), "one\n".into()));
    // Nothing that is there is overwritten.
    let again = place.run(&["runs", "artifacts", "last", "--output", "out"]);
    assert!(again.code() == 1 && again.stderr().contains("out/report.html"), "{}", again.block());
    let one = place.run(&["runs", "artifacts", "last", "dist/b.whl", "--output", "other"]);
    assert!(one.code() == 0 && !place.project().join("other/report.html").exists(), "{}", one.block());
    assert_eq!(place.run(&["runs", "artifacts", "last", "nothing"]).code(), 1);
}

#[test]
fn a_step_keeps_files_of_its_own() {
    let tool = "\
description: Test two parts
steps:
  - {name: unit, bash: 'mkdir -p out; echo unit > out/unit.xml; echo unit', artifacts: [out/unit.xml]}
  - name: named
    bash: echo more > \"out/{unit.output}-more.txt\"
    artifacts: ['out/{unit.output}-*.txt']
  - {name: never, run-condition: \"{unit.exit-code} == 1\", bash: 'true', artifacts: [none.txt]}
artifacts: [out/all.log]
resources: {cleanup: [{final-command: rm -r out}]}
tags: [write]
";
    let place = Place::with_tool("parts", tool);
    place.write("out/all.log", "all\n");
    let dry = json(&place, &["run", "parts", "--dry-run", "--format", "json"]);
    assert_eq!(dry["artifacts"], serde_json::json!(["out/all.log", "out/unit.xml", "none.txt"]), "{dry}");
    let ran = json(&place, &["run", "parts", "--format", "json"]);
    assert_eq!(names(&ran["artifacts"]), ["out/all.log", "out/unit.xml", "out/unit-more.txt"], "{ran}");
    let steps: Vec<_> = ran["artifacts"].as_array().into_iter().flatten().map(|one| one["step"].as_str()).collect();
    assert_eq!(steps, [None, Some("unit"), Some("named")]);
    let table = place.run(&["runs", "artifacts", "last"]).stdout();
    assert!(table.contains("STEP") && table.lines().any(|line| line.contains("unit.xml") && line.ends_with("unit")));
    assert!(place.run(&["runs", "show", "last"]).stdout().contains("of unit"));
    assert_eq!(place.run(&["runs", "artifacts", "last", "out/unit.xml"]).stdout(), "unit\n");
    // A step that went well without its file has not.
    place.tool("parts", &tool.replace("echo unit > out/unit.xml", "true"));
    place.write("out/all.log", "all\n");
    let missing = json(&place, &["run", "parts", "--format", "json"]);
    assert_eq!((&missing["success"], &missing["refusal"]["code"]), (&false.into(), &"artifact-missing".into()));
    // A path that leads out is refused before anything runs.
    place.tool("parts", &tool.replace("[out/unit.xml]", "[../unit.xml]"));
    let out = json(&place, &["run", "parts", "--format", "json"]);
    assert_eq!((&out["refusal"]["code"], out["steps"].as_array().map(Vec::len)), (&"artifact-path".into(), Some(0)));
}

#[test]
fn a_file_that_is_missing_fails_a_run_that_went_well() {
    let place = Place::with_tool("build", BUILD);
    let missing = json(&place, &["run", "build", "LOG=no*log", "--format", "json"]);
    assert_eq!((&missing["success"], &missing["refusal"]["code"]), (&false.into(), &"artifact-missing".into()));
    // A value is a name, not a pattern.
    assert!(missing["refusal"]["why"].as_str().is_some_and(|why| why.contains("dist/no*log")), "{missing}");
    assert_eq!(names(&missing["artifacts"]), ["report.html", "dist/a.whl", "dist/b.whl"], "the others are kept");
    // A run that failed keeps what there is, and says why it failed.
    let failed = json(&place, &["run", "build", "LOG=nolog", "CODE=3", "--format", "json"]);
    assert_eq!((&failed["exit_code"], &failed["refusal"]), (&3.into(), &Value::Null), "{failed}");
    assert_eq!(names(&failed["artifacts"]).len(), 3, "{failed}");
}

#[test]
fn nothing_outside_is_kept() {
    let place = Place::new();
    fs::write(place.home().join("key"), "secret\n").expect("a file");
    let outside = place.home().join("key").display().to_string();
    let tool = |artifact: &str, command: &str| {
        place.tool("leak", &format!("description: L\nbash: {command}\nartifacts: ['{artifact}']\ntags: [read]\n"));
        let ran = place.run(&["run", "leak", "--format", "json"]);
        let said: Value = serde_json::from_str(&ran.stdout()).unwrap_or_else(|_| panic!("{}", ran.block()));
        assert_eq!(said["artifacts"], Value::Null, "{said}");
        said["refusal"]["code"].as_str().unwrap_or_default().to_owned()
    };
    // Before anything runs.
    assert_eq!(tool("../home/key", "touch ran"), "artifact-path");
    assert_eq!(tool(&outside, "touch ran"), "artifact-path");
    assert_eq!(tool("a[", "touch ran"), "artifact-path");
    assert!(!place.project().join("ran").exists());
    // Links, at the end and on the way.
    assert_eq!(tool("link", &format!("ln -sf {outside} link")), "artifact-refused");
    assert_eq!(tool("there/key", "ln -sfn ../home there"), "artifact-refused");
    assert_eq!(tool("*/key", "ln -sfn ../home there"), "artifact-missing");
    assert_eq!(tool("pipe", "rm -f pipe; mkfifo pipe"), "artifact-refused");
    // Keys are kept nowhere, whatever they are called.
    assert_eq!(tool("id_ed25519", "echo key > id_ed25519"), "artifact-refused");
    assert_eq!(tool("no/such", "true"), "artifact-missing");
}

#[test]
fn a_link_within_the_workspace_is_a_name_of_its_file() {
    let text = "description: D\nbash: echo new > v2; ln -s v2 latest\nartifacts: [latest]\ntags: [write]\n";
    let place = Place::with_tool("link", text);
    assert_eq!(place.run(&["run", "link"]).code(), 0);
    assert_eq!(place.run(&["runs", "artifacts", "last", "latest"]).stdout(), "new\n");
}

#[test]
fn number_and_size_have_bounds() {
    let text = "description: D\nbash: mkdir -p many; touch many/{1..101}\nartifacts: ['many/*']\ntags: [write]\n";
    let place = Place::with_tool("many", text);
    let many = json(&place, &["run", "many", "--format", "json"]);
    assert_eq!(many["refusal"]["code"], "artifacts-too-large", "{many}");
    place.tool("large", "description: D\nbash: truncate -s 257M large\nartifacts: [large]\ntags: [write]\n");
    let large = json(&place, &["run", "large", "--format", "json"]);
    assert_eq!(large["refusal"]["code"], "artifacts-too-large", "{large}");
    assert_eq!(large["artifacts"], Value::Null, "{large}");
}

#[test]
fn temporary_files_are_kept_before_they_go() {
    let text = "description: D\nbash: echo here > {TEMP}/note\nartifacts: ['{TEMP}/note']\ntags: [read]\n";
    let place = Place::with_tool("temporary", text);
    let ran = json(&place, &["run", "temporary", "--format", "json"]);
    assert_eq!(names(&ran["artifacts"]), ["note"], "{ran}");
    assert_eq!(place.run(&["runs", "artifacts", "last", "note"]).stdout(), "here\n");
    let dry = place.run(&["run", "temporary", "--dry-run"]);
    assert!(dry.stdout().contains("artifacts") && dry.stdout().contains("/note"), "{}", dry.block());
}

#[test]
fn artifacts_go_with_the_run() {
    let text = "description: D\nbash: echo here > note\nartifacts: [note]\ntags: [write]\n";
    let place = Place::with_tool("note", text);
    for _ in 0..2 {
        assert_eq!(place.run(&["run", "note"]).code(), 0);
    }
    let stored = || fs::read_dir(place.home().join(".cycod/artifacts")).expect("a directory").count();
    assert_eq!(stored(), 2);
    assert_eq!(place.run(&["runs", "prune", "--keep", "1"]).code(), 0);
    assert_eq!(stored(), 1);
    assert_eq!(place.run(&["runs", "artifacts", "last", "note"]).stdout(), "here\n");
    fs::remove_dir_all(place.home().join(".cycod/artifacts")).expect("they can be removed by hand");
    let gone = place.run(&["runs", "artifacts", "last", "note"]);
    assert!(gone.code() == 1 && gone.stderr().contains("no longer stored"), "{}", gone.block());
}

#[test]
fn a_test_looks_for_them_and_keeps_none() {
    let text = "description: D\nbash: echo here > {TEMP}/note\nartifacts: ['{TEMP}/note']\ntags: [read]\ntests: [{name: t, expected: {exit-code: 0}}]\n";
    let place = Place::with_tool("note", text);
    let ran = place.run(&["test", "note"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(!place.home().join(".cycod/artifacts").exists());
    place.tool("note", &text.replace("echo here > {TEMP}/note", "mkdir {TEMP}/other"));
    let ran = place.run(&["test", "note"]);
    assert_eq!(ran.code(), 1, "{}", ran.block());
}
