//! Results of steps that are used again, and those that never are.

use std::{fs, os::unix::fs::symlink};

use serde_json::Value;

use crate::support::Place;

const COUNT: &str = "\
description: Count the lines of the sources
steps:
  - name: count
    bash: echo ran >> runs.log; cat src/*.txt | wc -l | tee counted.txt; echo \"{WORD}\" >&2
    cache: {inputs: ['src/*.txt'], outputs: [counted.txt], env: [MODE]}
  - name: show
    bash: echo \"{count.output} lines, {count.attempts} attempts\"
parameters:
  WORD: {type: string, description: A word, default: word}
tags: [write]
";

fn place() -> Place {
    let place = Place::with_tool("count", COUNT);
    place.write("src/a.txt", "one\ntwo\n");
    place.write("src/b.txt", "three\n");
    place
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let ran = place.run(arguments);
    serde_json::from_str(&ran.stdout()).unwrap_or_else(|_| panic!("{}", ran.block()))
}

/// Writes the script of the project.
fn program(place: &Place, text: &str) {
    place.write("build.sh", text);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.project().join("build.sh"), mode).expect("it is there");
}

/// How often the command of the tool has run.
fn runs(place: &Place) -> usize {
    fs::read_to_string(place.project().join("runs.log")).unwrap_or_default().lines().count()
}

#[test]
fn a_step_whose_inputs_are_the_same_does_not_run_again() {
    let place = place();
    let first = json(&place, &["run", "count", "--format", "json"]);
    assert_eq!((first["output"].as_str(), &first["steps"][0]["cached"]), (Some("3 lines, 1 attempts\n"), &Value::Null));
    assert_eq!(first.get("warnings"), None, "{first}");
    let dry = json(&place, &["run", "count", "--dry-run", "--format", "json"]);
    assert_eq!(dry["steps"][0]["cache"]["hit"], true, "{dry}");
    let second = json(&place, &["run", "count", "--format", "json"]);
    assert_eq!(second["output"], "3 lines, 0 attempts\n", "{second}");
    let step = &second["steps"][0];
    assert_eq!((&step["output"], &step["error"], &step["exit_code"]), (&"3\n".into(), &"word\n".into(), &0.into()));
    let from = step["cached_from"].as_str().expect("the run is named");
    assert_eq!(step["cached"], true);
    assert_eq!(runs(&place), 1);
    // Everywhere where runs are shown.
    let shown = json(&place, &["runs", "show", "last", "--format", "json"]);
    assert_eq!(shown["steps"][0]["cached_from"], from, "{shown}");
    assert_eq!(shown["timeline"][0]["cached_from"], from, "{shown}");
    let page = place.run(&["runs", "show", "last"]).stdout();
    assert!(page.contains("cached: the result of") && page.contains("(cached)"), "{page}");
    let text = place.run(&["run", "count"]);
    assert!(text.stderr().contains("[count] cached: the result of the run"), "{}", text.block());
    // What is stored can be listed and deleted.
    let list = json(&place, &["cache", "list", "--format", "json"]);
    assert_eq!(
        (&list[0]["step"], &list[0]["files"], &list[0]["run"]),
        (&"count/count".into(), &1.into(), &from.into())
    );
    assert!(place.run(&["cache"]).stdout().contains("count/count"));
    assert_eq!(place.run(&["cache", "clear"]).stdout(), "deleted 1 result\n");
    assert_eq!(place.run(&["run", "count"]).code(), 0);
    assert_eq!(runs(&place), 2);
}

#[test]
fn everything_that_decides_the_result_is_part_of_its_key() {
    let place = place();
    let ran = |arguments: &[&str]| {
        let before = runs(&place);
        let ran = place.run(&[&["run", "count"], arguments].concat());
        assert_eq!(ran.code(), 0, "{}", ran.block());
        runs(&place) - before
    };
    assert_eq!([ran(&[]), ran(&[])], [1, 0]);
    // Values, also those that would be the same text together.
    assert_eq!([ran(&["WORD=other"]), ran(&["WORD=other"]), ran(&[])], [1, 0, 0]);
    // The content of a file, its name, and another file.
    place.write("src/a.txt", "one\nTWO\n");
    assert_eq!([ran(&[]), ran(&[])], [1, 0]);
    fs::rename(place.project().join("src/b.txt"), place.project().join("src/c.txt")).expect("renamed");
    assert_eq!([ran(&[]), ran(&[])], [1, 0]);
    place.write("src/d.txt", "");
    assert_eq!([ran(&[]), ran(&[])], [1, 0]);
    // A file that goes and comes back as it was.
    place.write("src/a.txt", "one\ntwo\n");
    assert_eq!(ran(&[]), 1);
    place.write("src/a.txt", "one\nTWO\n");
    assert_eq!(ran(&[]), 0);
    // The command itself, and not what is only told.
    place.tool("count", &COUNT.replace("wc -l", "wc -c"));
    assert_eq!([ran(&[]), ran(&[])], [1, 0]);
    place.tool("count", &COUNT.replace("wc -l", "wc -c").replace("Count the lines", "Count"));
    assert_eq!(ran(&[]), 0);
    // A variable that the author names.
    let with = |mode: &str| place.command(&["run", "count"]).env("MODE", mode).output().expect("cycod starts");
    let before = runs(&place);
    assert!(with("fast").status.success() && with("fast").status.success());
    assert_eq!(runs(&place) - before, 1);
    assert!(with("slow").status.success());
    assert_eq!(runs(&place) - before, 2);
    // Who asks for it.
    assert_eq!([ran(&["--no-cache"]), ran(&[])], [1, 0]);
}

#[test]
fn a_script_of_the_project_is_part_of_the_key() {
    let tool = "description: D\nbash: ./build.sh\ncache: {inputs: []}\ntags: [run]\n";
    let place = Place::with_tool("build", tool);
    program(&place, "#!/bin/sh\necho ran >> runs.log\necho one\n");
    for _ in 0..2 {
        let ran = place.run(&["run", "build"]);
        assert_eq!((ran.stdout().as_str(), runs(&place)), ("one\n", 1), "{}", ran.block());
    }
    program(&place, "#!/bin/sh\necho ran >> runs.log\necho two\n");
    assert_eq!(place.run(&["run", "build"]).stdout(), "two\n");
}

#[test]
fn files_come_back_when_they_are_missing_or_changed() {
    let place = place();
    assert_eq!(place.run(&["run", "count"]).code(), 0);
    fs::remove_file(place.project().join("counted.txt")).expect("removed");
    assert_eq!(place.run(&["run", "count"]).code(), 0);
    assert_eq!((place.read("counted.txt").as_str(), runs(&place)), ("3\n", 1));
    place.write("counted.txt", "something else\n");
    assert_eq!(place.run(&["run", "count"]).code(), 0);
    assert_eq!((place.read("counted.txt").as_str(), runs(&place)), ("3\n", 1));
    // Not through a link, and not over a directory.
    fs::remove_file(place.project().join("counted.txt")).expect("removed");
    place.write("../outside", "untouched\n");
    symlink("../outside", place.project().join("counted.txt")).expect("a link");
    let ran = json(&place, &["run", "count", "--format", "json"]);
    assert!(ran["warnings"].to_string().contains("behind a link"), "{ran}");
    assert_eq!(runs(&place), 2, "it runs, as without a cache");
    fs::remove_file(place.project().join("counted.txt")).expect("removed");
}

#[test]
fn no_failure_is_stored() {
    let tool = "description: D\nbash: echo ran >> runs.log; exit 3\ncache: {inputs: []}\ntags: [write]\n";
    let place = Place::with_tool("fail", tool);
    assert_eq!([place.run(&["run", "fail"]).code(), place.run(&["run", "fail"]).code()], [3, 3]);
    assert_eq!(runs(&place), 2);
    // Nor is what comes of a fallback.
    let tool = "description: D\nsteps:\n  - name: s\n    bash: echo ran >> runs.log; exit 3\n    cache: {inputs: []}\n    error-handling: {fallback: 'echo instead'}\ntags: [write]\n";
    place.tool("fail", tool);
    assert_eq!([place.run(&["run", "fail"]).code(), place.run(&["run", "fail"]).code()], [0, 0]);
    assert_eq!(runs(&place), 4);
}

#[test]
fn nothing_is_stored_of_a_secret() {
    let place = Place::with_tool(
        "tell",
        "description: D\nbash: 'echo ran >> runs.log; echo \"$API_TOKEN\"'\ncache: {inputs: []}\ntags: [write]\n",
    );
    for _ in 0..2 {
        let ran = place.command(&["run", "tell"]).env("API_TOKEN", "swordfish-17").output().expect("cycod starts");
        let error = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(error.contains("isn't cached: its result contains a secret"), "{error}");
    }
    assert_eq!(runs(&place), 2);
    place.tool("tell", "description: D\nbash: 'true'\ncache: {inputs: [], env: [API_TOKEN]}\ntags: [read]\n");
    let ran = place.command(&["run", "tell"]).env("API_TOKEN", "swordfish-17").output().expect("cycod starts");
    let error = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(error.contains("`API_TOKEN` can hold a secret"), "{error}");
}

#[test]
fn nothing_is_stored_when_an_input_changes_meanwhile() {
    let tool =
        "description: D\nbash: echo ran >> runs.log; {COMMAND}; cat in.txt\ncache: {inputs: [in.txt]}\ntags: [write]\n";
    let place = Place::new();
    place.write("in.txt", "one\n");
    for (command, count) in [("echo two > in.txt", 1), ("cp in.txt x; echo other > in.txt; sleep 0.05; cp x in.txt", 2)]
    {
        place.tool("change", &tool.replace("{COMMAND}", command));
        let before = runs(&place);
        for _ in 0..count {
            let ran = place.run(&["run", "change"]);
            assert!(ran.stderr().contains("changed while it ran"), "{}", ran.block());
        }
        assert_eq!(runs(&place) - before, count);
    }
}

#[test]
fn inputs_have_bounds_and_lie_in_the_project() {
    let place = Place::new();
    let why = |inputs: &str, command: &str| {
        place.tool("read", &format!("description: D\nbash: {command}\ncache: {{inputs: [{inputs}]}}\ntags: [write]\n"));
        let ran = json(&place, &["run", "read", "--format", "json"]);
        assert_eq!(ran["success"], true, "{ran}");
        ran["warnings"][0].as_str().unwrap_or_default().to_owned()
    };
    assert!(why("missing.txt", "'true'").contains("no file matches `missing.txt`"));
    place.write("in/a.txt", "a");
    place.write("../outside/b.txt", "b");
    symlink("../../outside/b.txt", place.project().join("in/link.txt")).expect("a link");
    assert!(why("'in/*.txt'", "'true'").contains("leads out"), "a linked file elsewhere decides nothing");
    fs::remove_file(place.project().join("in/link.txt")).expect("removed");
    // A link to a file of the project is read, whatever it is called.
    symlink("a.txt", place.project().join("in/b.txt")).expect("a link");
    assert_eq!(why("'in/*.txt'", "'cat in/b.txt'"), "");
    // What is behind a linked directory would not be seen.
    place.write("more/c.txt", "c");
    symlink("../more", place.project().join("in/more")).expect("a link");
    assert!(why("'in/**'", "'true'").contains("leads past the link `in/more`"));
    place.write("id_rsa", "a key");
    assert!(why("id_rsa", "'true'").contains("keys and passwords"));
    // Too much of it.
    fs::File::create(place.project().join("large.bin")).and_then(|file| file.set_len(257 << 20)).expect("a file");
    assert!(why("large.bin", "'true'").contains("more than 256 MiB"));
    let many = place.project().join("many");
    fs::create_dir(&many).expect("made");
    (0..=10_000).for_each(|number| fs::write(many.join(number.to_string()), "").expect("written"));
    assert!(why("many", "'true'").contains("more than 10000 files"));
}

#[test]
fn a_decision_comes_before_a_stored_result() {
    let place = place();
    assert_eq!(place.run(&["run", "count"]).code(), 0);
    let denied = place.run(&["run", "count", "--auto-deny", "count"]);
    assert_eq!(denied.code(), 3, "{}", denied.block());
    // A level that allows no files brings none back.
    place.tool("count", &COUNT.replace("tags: [write]", "tags: [read]"));
    let ran = json(&place, &["run", "count", "--format", "json"]);
    assert_eq!(ran["success"], true, "{ran}");
    let again = json(&place, &["run", "count", "--format", "json"]);
    assert!(again["warnings"].to_string().contains("doesn't have the level `write`"), "{again}");
}

#[test]
fn a_program_comes_back_as_one_only_for_level_run() {
    let tool = "description: D\nbash: 'echo ran >> runs.log; echo \"#!/bin/sh\" > prog; chmod 755 prog'\ncache: {inputs: [], outputs: [prog]}\ntags: [LEVEL]\n";
    let place = Place::with_tool("make", &tool.replace("LEVEL", "run"));
    assert_eq!(place.run(&["run", "make"]).code(), 0);
    fs::remove_file(place.project().join("prog")).expect("removed");
    assert_eq!(place.run(&["run", "make"]).code(), 0);
    assert_eq!(runs(&place), 1);
    let mode = fs::metadata(place.project().join("prog")).expect("it is back").permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o755);
    place.tool("make", &tool.replace("LEVEL", "write"));
    assert_eq!(place.run(&["run", "make"]).code(), 0);
    fs::remove_file(place.project().join("prog")).expect("removed");
    let ran = place.run(&["run", "make"]);
    assert!(ran.stderr().contains("`prog` is a program"), "{}", ran.block());
    assert_eq!(runs(&place), 3);
}

#[test]
fn a_confined_tool_plants_nothing() {
    let place = place();
    assert_eq!(place.run(&["run", "count"]).code(), 0);
    let stored = || fs::read_dir(place.home().join(".cycod/cache/steps")).expect("a directory").count();
    let before = stored();
    // One that may not write there can't even see it.
    place.tool(
        "plant",
        "description: D\nbash: 'echo evil > {HOME}/.cycod/cache/steps/evil; ls {HOME}/.cycod'\nsecurity: {required-permissions: ['filesystem:write:{WORKSPACE}']}\ntags: [write]\n",
    );
    let ran = place.run(&["run", "plant"]);
    assert_ne!(ran.code(), 0, "{}", ran.block());
    assert_eq!(stored(), before);
    // One that may write there has no cache of its own, and nothing stays of what was there.
    place.tool(
        "plant",
        "description: D\nbash: 'echo ran >> {WORKSPACE}/runs.log; cp {HOME}/.cycod/cache/steps/* {HOME}/.cycod/cache/steps/evil || true'\ncache: {inputs: []}\nsecurity: {required-permissions: ['filesystem:write:{WORKSPACE}', 'filesystem:write:{HOME}']}\ntags: [run]\n",
    );
    let dry = place.run(&["run", "plant", "--dry-run"]);
    assert!(dry.stdout().contains("could change what is stored there"), "{}", dry.block());
    let ran = place.run(&["run", "plant"]);
    assert!(ran.stderr().contains("could change what is stored there"), "{}", ran.block());
    assert_eq!(json(&place, &["cache", "list", "--format", "json"]), serde_json::json!([]));
    let before = runs(&place);
    assert_eq!(place.run(&["run", "count"]).code(), 0);
    assert_eq!(runs(&place), before + 1, "nothing of before is used");
}

#[test]
fn each_item_of_a_list_has_its_own_result() {
    let tool = "description: D\nsteps:\n  - name: each\n    for-each: '{FILES}'\n    bash: echo ran >> runs.log; cat {ITEM}\n    cache: {inputs: ['{ITEM}']}\nparameters: {FILES: {type: array, description: Files, required: true}}\ntags: [write]\n";
    let place = Place::with_tool("each", tool);
    place.write("a", "a\n");
    place.write("b", "b\n");
    let ran = |expect: &str, count: usize| {
        let ran = place.run(&["run", "each", "--FILES", "a", "--FILES", "b"]);
        assert_eq!((ran.stdout().as_str(), runs(&place)), (expect, count), "{}", ran.block());
    };
    ran("a\nb\n", 2);
    ran("a\nb\n", 2);
    place.write("b", "c\n");
    ran("a\nc\n", 3);
}

#[test]
fn a_test_always_runs() {
    let tool = "description: D\nbash: echo ran >> runs.log\ncache: {inputs: []}\ntags: [write]\ntests: [{name: t, expected: {exit-code: 0}}]\n";
    let place = Place::with_tool("tested", tool);
    for _ in 0..2 {
        assert_eq!(place.run(&["test", "tested"]).code(), 0);
    }
    assert_eq!(json(&place, &["cache", "list", "--format", "json"]), serde_json::json!([]));
}
