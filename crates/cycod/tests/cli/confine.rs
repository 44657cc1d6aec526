//! `cycod tool confine`.

use serde_json::{Value, json};

use crate::support::Place;

const TOOL: &str = "# mine
description: Make notes
tags: [run]
bash: |
  mkdir -p made/below
  echo one > made/below/note.txt
  cat kept > /dev/null
  echo more > kept
tests:
  - name: once
    description: It makes a note
    expected: {exit-code: 0}
    cleanup: [rm -r made]
";

fn proposed(place: &Place, more: &[&str]) -> Value {
    let ran = place.run(&[&["tool", "confine", "notes", "--format", "json"], more].concat());
    serde_json::from_str(&ran.stdout()).unwrap_or_else(|error| panic!("{error}: {}", ran.block()))
}

#[test]
fn directories_that_a_tool_makes_are_proposed_and_its_trust_is_kept() {
    let place = Place::with_tool("notes", TOOL);
    place.write("kept.md", "");
    let place_text = TOOL.replace("kept", "kept.md");
    place.tool("notes", &place_text);
    let proposal = proposed(&place, &["--write"]);
    assert_eq!(
        proposal["required_permissions"],
        json!(["filesystem:write:kept.md", "filesystem:write:made"]),
        "{proposal:#}"
    );
    assert_eq!((&proposal["holds"], &proposal["failed"]), (&json!(true), &json!([])), "{proposal:#}");
    assert!(place.read(".cycod/tools/notes.yaml").contains("filesystem:write:made"));
    let ran = place.run(&["tool", "run", "notes"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert_eq!(place.read("made/below/note.txt"), "one\n");
}

#[test]
fn a_file_without_an_extension_is_written_by_its_directory() {
    let text =
        TOOL.replace("  mkdir -p made/below\n  echo one > made/below/note.txt\n", "").replace("kept", "kept/now");
    let place = Place::with_tool("notes", &text.replace("    cleanup: [rm -r made]\n", ""));
    place.write("kept/now", "");
    let proposal = proposed(&place, &[]);
    assert_eq!(proposal["required_permissions"], json!(["filesystem:write:kept"]), "{proposal:#}");
    assert_eq!(proposal["holds"], true, "{proposal:#}");
}

#[test]
fn nothing_is_written_outside_of_the_project_to_verify() {
    let text = "description: d\ntags: [run]\nbash: echo more >> \"$HOME/log.txt\"\ntests:\n  - {name: t, description: d, expected: {exit-code: 0}}\n";
    let place = Place::with_tool("notes", text);
    let ran = place.run(&["tool", "confine", "notes"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let log = place.home().join("log.txt");
    assert!(
        ran.stderr().contains("not checked: the tests would write outside of the project again"),
        "{}",
        ran.block()
    );
    assert_eq!(std::fs::read_to_string(log).expect("it was watched once"), "more\n");
}

#[test]
fn what_nobody_trusts_is_not_watched() {
    let place = Place::cloned();
    place.tool("notes", TOOL);
    let ran = place.run(&["tool", "confine", "notes"]);
    assert_eq!(ran.code(), 3, "{}", ran.block());
    assert!(!place.project().join("made").exists());
}
