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

#[test]
fn a_repository_is_written_as_a_directory() {
    let text = "description: d\ntags: [run]\nbash: |\n  echo x >> a.txt\n  git add a.txt\n  git -c user.name=me -c user.email=me@here commit -qm more\ntests:\n  - {name: t, description: d, expected: {exit-code: 0}}\n";
    let place = Place::with_tool("notes", text);
    place.write("a.txt", "");
    assert_eq!(
        place.shell("git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm one").code(),
        0
    );
    let proposal = proposed(&place, &[]);
    assert_eq!(
        proposal["required_permissions"],
        json!(["filesystem:read:.", "filesystem:write:.git", "filesystem:write:a.txt"]),
        "{proposal:#}"
    );
    assert_eq!(proposal["holds"], true, "{proposal:#}");
}

/// What is read in a repository lies elsewhere after the next commit.
#[test]
fn a_repository_is_read_as_a_directory() {
    let text = "description: d\ntags: [run]\nbash: git log --format=%s -n 1\ntests:\n  - {name: t, description: d, expected: {exit-code: 0}}\n";
    let place = Place::with_tool("notes", text);
    let commit = "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm";
    assert_eq!(place.shell(&format!("{commit} one")).code(), 0);
    let proposal = proposed(&place, &["--write"]);
    assert_eq!(proposal["required_permissions"], json!(["filesystem:read:.git"]), "{proposal:#}");
    let ran = place.shell(&format!("{commit} two && cycod run notes"));
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "two\n"), "{}", ran.block());
}

#[test]
fn directories_that_are_there_already_are_not_written() {
    // `mkdir -p` asks for each directory on the way.
    let text = "description: d\ntags: [run]\nbash: mkdir -p \"$PWD/made/below\" && echo x > \"$PWD/made/below/x.txt\"\ntests:\n  - {name: t, description: d, expected: {exit-code: 0}}\n";
    let place = Place::with_tool("notes", text);
    let proposal = proposed(&place, &[]);
    assert_eq!(proposal["required_permissions"], json!(["filesystem:write:made"]), "{proposal:#}");
    assert_eq!(proposal["holds"], true, "{proposal:#}");
}

/// A tool that has changed is watched again, when the user wants it to run without what it declares.
#[test]
fn a_confined_tool_is_watched_again_after_a_change() {
    let place = Place::cloned();
    let text = "# mine\ndescription: d\ntags: [run]\nbash: echo x > one.txt\nsecurity:\n  # what it needs\n  required-permissions: [\"filesystem:write:one.txt\"]\ntests:\n  - {name: t, description: d, expected: {exit-code: 0}}\n";
    let changed = text.replace("echo x > one.txt", "echo x > one.txt; mkdir -p two; echo y > two/y");
    place.tool("notes", &changed);
    place.write("one.txt", "");
    let refused = place.run(&["tool", "confine", "notes", "--unconfined"]);
    assert!(refused.code() == 3 && !place.project().join("two").exists(), "{}", refused.block());
    assert_eq!(place.run(&["tool", "trust", "notes", "--yes"]).code(), 0);
    let asked = place.run(&["tool", "confine", "notes"]);
    assert!(asked.code() == 1 && asked.stderr().contains("--unconfined"), "{}", asked.block());
    assert!(!place.project().join("two").exists());
    let proposal = proposed(&place, &["--unconfined", "--write"]);
    assert_eq!(
        proposal["required_permissions"],
        json!(["filesystem:write:one.txt", "filesystem:write:two"]),
        "{proposal:#}"
    );
    assert_eq!(proposal["holds"], true, "{proposal:#}");
    let written = place.read(".cycod/tools/notes.yaml");
    assert!(written.starts_with("# mine\n") && written.contains("filesystem:write:two"), "{written}");
    assert_eq!(written.matches("required-permissions").count(), 1, "{written}");
    let ran = place.run(&["tool", "run", "notes"]);
    assert_eq!(ran.code(), 0, "it is trusted as it was: {}", ran.block());
}

/// For one file in a home, nothing else there is opened.
#[test]
fn a_home_is_not_opened_for_a_file_in_it() {
    let text = "description: d\ntags: [run]\nbash: |\n  for n in 1 2 3 4 5; do echo more >> \"$HOME/log$n.txt\"; done\ntests:\n  - {name: t, description: d, expected: {exit-code: 0}}\n";
    let place = Place::with_tool("notes", text);
    let proposal = proposed(&place, &[]);
    let expected: Vec<String> = (1..=5).map(|number| format!("filesystem:write:~/log{number}.txt")).collect();
    assert_eq!(proposal["required_permissions"], json!(expected), "{proposal:#}");
}
