use expect_test::expect;

use crate::support::Place;

#[test]
fn an_option_and_a_command_show_the_same_page() {
    let place = Place::new();
    for words in [&["tool"][..], &["tool", "list"], &["tool", "add"], &["tool", "run"], &["explain"], &[]] {
        let page = place.run(&[&["help"], words].concat());
        assert!(page.code() == 0 && page.stdout().starts_with("CYCOD"), "{}", page.block());
        for option in ["--help", "-h"] {
            assert_eq!(place.run(&[words, &[option]].concat()).block(), page.block(), "{words:?} {option}");
        }
    }
}

#[test]
fn a_command_is_found_without_the_word_before_it() {
    let place = Place::new();
    assert_eq!(place.run(&["help", "validate"]).stdout(), place.run(&["help", "tool", "validate"]).stdout());
    assert!(place.run(&["help", "writing-tools"]).stdout().starts_with("WRITING TOOLS\n"));
}

/// The examples of the guide are tools: what it teaches must be right.
#[test]
fn the_guide_teaches_what_loads() {
    let place = Place::new();
    let guide = place.run(&["help", "writing-tools"]).stdout();
    let examples: Vec<String> = guide
        .split("\n\n")
        .filter(|block| block.starts_with("    description:"))
        .map(|block| block.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect())
        .collect();
    assert_eq!(examples.len(), 2, "{guide}");
    for (index, example) in examples.iter().enumerate() {
        place.tool(&format!("example-{index}"), example);
    }
    expect![[r#"
        exit: 0
        --- stdout
        2 tools: no problems
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "validate"]).block());
}

#[test]
fn mistakes() {
    let place = Place::new();
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: there is no help for `tool lisst`
          did you mean `cycod help tool list`?
    "#]]
    .assert_eq(&place.run(&["help", "tool", "lisst"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: there is no help for `zebra`
          see: cycod help help
    "#]]
    .assert_eq(&place.run(&["help", "zebra"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `cycod toool` is not a command
          did you mean `tool`?
          see: cycod help
    "#]]
    .assert_eq(&place.run(&["toool"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `cycod tool lst` is not a command
          did you mean `list`?
          see: cycod help tool
    "#]]
    .assert_eq(&place.run(&["tool", "lst"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: a command is missing after `cycod tool`
          see: cycod help tool
    "#]]
    .assert_eq(&place.run(&["tool"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `pink` is not a value of `--color`
          one of auto, always, never
          see: cycod help tool list
    "#]]
    .assert_eq(&place.run(&["tool", "list", "--color", "pink"]).block());
}

#[test]
fn the_version() {
    let ran = Place::new().run(&["--version"]);
    assert_eq!((ran.code(), ran.stdout()), (0, format!("cycod {}\n", env!("CARGO_PKG_VERSION"))));
}

/// Help needs no place: a directory that was removed is no reason to be left alone.
#[cfg(target_os = "linux")]
#[test]
fn help_is_there_in_a_directory_that_is_gone() {
    let gone = |command: &str| Place::new().shell(&format!("mkdir gone && cd gone && rmdir ../gone && {command}"));
    assert_eq!(gone("cycod help").code(), 0);
    let ran = gone("cycod tool list");
    assert!(
        ran.code() == 1 && ran.stderr().starts_with("error: cannot determine the working directory: "),
        "{}",
        ran.block()
    );
}
