use std::{
    io::Write,
    process::{Output, Stdio},
};

use expect_test::expect;

use crate::support::{Place, Ran};

/// Keeps a secret by standard input.
#[track_caller]
fn set(place: &Place, name: &str, value: &[u8], options: &[&str]) -> Ran {
    let mut command = place.command(&[&["secret", "set", name, "--yes"], options].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // It does not read when it refuses the name.
    let _ = child.stdin.take().expect("a pipe").write_all(value);
    let output: Output = child.wait_with_output().expect("it ends");
    place.ran(output)
}

const USER: &str =
    "description: d\nbash: 'echo ${#TRACKER_TOKEN} $TRACKER_TOKEN'\nenvironment: {secrets: [TRACKER_TOKEN]}\n";

#[test]
fn a_secret_is_kept_used_listed_and_removed() {
    let place = Place::with_tool("issues", USER);
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[secret-missing]: `issues` needs the secret `TRACKER_TOKEN`, and none is stored under this name
          try: cycod secret set TRACKER_TOKEN
          more: cycod explain secret-missing
    "#]]
    .assert_eq(&place.run(&["tool", "run", "issues"]).block());
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Stored `TRACKER_TOKEN` in ~/.cycod/secrets.age
    "#]]
    .assert_eq(&set(&place, "TRACKER_TOKEN", b"correct horse\n", &[]).block());
    expect![[r#"
        exit: 0
        --- stdout
        13 ****
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "run", "issues"]).block());
    let listed = place.run(&["secret", "list", "--format", "json"]).stdout();
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed[0]["name"], "TRACKER_TOKEN");
    assert_eq!((&listed[0]["kept"], &listed[0]["used_by"][0]), (&"file".into(), &"issues".into()));
    let table = place.run(&["secret", "list"]).stdout();
    assert!(table.contains("TRACKER_TOKEN  file") && !table.contains("correct"), "{table}");
    let shown = place.run(&["secret", "show", "TRACKER_TOKEN"]).stdout();
    assert!(shown.starts_with("name: TRACKER_TOKEN\nkept: file\nset: 2") && !shown.contains("correct"), "{shown}");
    assert_eq!(place.run(&["secret", "show", "TRACKER_TOKEN", "--reveal"]).code(), 2, "no terminal");
    assert_eq!(place.run(&["secret", "remove", "TRACKER_TOKEN"]).code(), 2, "nobody can be asked");
    assert_eq!(place.run(&["secret", "remove", "TRACKER_TOKEN", "--force"]).code(), 0);
    assert_eq!(place.run(&["tool", "run", "issues"]).code(), 1);
}

#[test]
fn a_value_on_the_command_line_is_refused() {
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: the value is not given on the command line
          every user of the machine can read it there, and the shell keeps it in its history
          type it when asked: cycod secret set A
          or take it from a file: cycod secret set A --yes < FILE
    "#]]
    .assert_eq(&Place::new().run(&["secret", "set", "A", "correct horse"]).block());
}

#[test]
fn a_value_that_could_not_be_masked_is_refused() {
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[secret-unmaskable]: the value is a yes, a no or empty, and cannot be masked without hiding half of the output
          try: give another value; what is no secret can be a variable or a parameter
          more: cycod explain secret-unmaskable
    "#]]
    .assert_eq(&set(&Place::new(), "TRACKER_TOKEN", b"true\n", &[]).block());
    for value in ["false", "null", "True", "abc"] {
        let refused = set(&Place::new(), "TRACKER_TOKEN", value.as_bytes(), &[]).block();
        assert!(refused.contains("error[secret-unmaskable]: "), "{refused}");
    }
}

#[test]
fn one_line_break_at_the_end_is_not_part_of_a_value() {
    let place = Place::with_tool("issues", USER);
    for (value, length) in [(&b"correct"[..], "7"), (b"correct\n", "7"), (b"correct\r\n", "7"), (b"correct\n\n", "8")] {
        assert_eq!(set(&place, "TRACKER_TOKEN", value, &[]).code(), 0);
        assert!(place.run(&["tool", "run", "issues"]).stdout().starts_with(length), "{value:?}");
    }
    for value in [&b"abc\n"[..], b"\xff\xff\xff\xff", b"cor\0rect"] {
        assert_eq!(set(&place, "OTHER", value, &[]).code(), 1, "{value:?}");
    }
    assert_eq!(set(&place, "a/b", b"correct", &[]).code(), 2);
}

#[test]
fn a_secret_for_one_tool_is_not_for_another() {
    let place = Place::with_tool("issues", USER);
    place.tool("other", USER);
    assert_eq!(set(&place, "TRACKER_TOKEN", b"correct horse", &["--for-tool", "issues"]).code(), 0);
    assert_eq!(place.run(&["tool", "run", "issues"]).code(), 0);
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[secret-not-for-tool]: the secret `TRACKER_TOKEN` is limited to `issues`, not available for `other`
          try: set it again with --for-tool for each tool that may have it
          more: cycod explain secret-not-for-tool
    "#]]
    .assert_eq(&place.run(&["tool", "run", "other"]).block());
    assert_eq!(set(&place, "TRACKER_TOKEN", b"correct horse", &["--for-any-tool"]).code(), 0);
    assert_eq!(place.run(&["tool", "run", "other"]).code(), 0);
}

#[test]
fn secrets_that_cannot_be_read_are_told_and_nothing_runs() {
    let place =
        Place::with_tool("issues", "description: d\nbash: touch ran\nenvironment: {secrets: [TRACKER_TOKEN]}\n");
    assert_eq!(set(&place, "TRACKER_TOKEN", b"correct horse", &[]).code(), 0);
    std::fs::write(place.home().join(".cycod/secrets.age"), "{}").expect("it can be written");
    let ran = place.run(&["tool", "run", "issues"]);
    assert!(ran.code() == 1 && ran.stderr().contains("error[secrets-unavailable]"), "{}", ran.block());
    assert!(!place.project().join("ran").exists());
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error[secrets-unavailable]: `~/.cycod/secrets.age` is damaged: Header is invalid
          try: bring back an older copy, or move the file away and set the secrets again
          more: cycod explain secrets-unavailable
    "#]]
    .assert_eq(&place.run(&["secret", "list"]).block());
    // What does not need them works.
    assert_eq!(place.run(&["tool", "validate", "issues"]).code(), 0);
    assert_eq!(place.run(&["tool", "run", "issues", "--dry-run"]).code(), 0);
}
