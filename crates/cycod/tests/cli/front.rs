//! The first hour: what somebody types who has just met the program.

use expect_test::expect;

use crate::support::Place;

/// A tool with a choice, and one that may be left out.
const DEPLOY: &str = "description: |
  Bring a version to its servers. It waits until they answer.
bash: echo \"{ENV} {VERSION} {DRY_RUN} {TIMEOUT}\"
tags: [write]
parameters:
  ENV: {description: Where to, required: true, validation: {enum: [staging, production]}}
  VERSION: {description: Which one, default: latest}
  DRY_RUN: {type: boolean, description: Only say what would happen, default: false}
  TIMEOUT: {type: integer, description: Seconds to wait for each server, default: 60}
security: {required-permissions: ['filesystem:read:.']}
";

#[test]
fn short_forms_do_what_the_long_ones_do() {
    let place = Place::with_tool(
        "greet",
        "description: Greet\nbash: echo \"Hello, {WHO}!\"\ntags: [read]\nparameters: {WHO: {description: Whom, required: true}}\ntests: [{name: it greets, parameters: {WHO: Ada}, expected: {exit-code: 0}}]\n",
    );
    assert_eq!(place.run(&["run", "greet", "WHO=Ada"]).block(), "exit: 0\n--- stdout\nHello, Ada!\n--- stderr\n");
    for words in [&["list"][..], &["list", "--format", "json"], &["validate"], &["run"], &["--color", "never", "list"]]
    {
        let long: Vec<&str> = match words {
            ["--color", when, rest @ ..] => ["--color", when, "tool"].into_iter().chain(rest.iter().copied()).collect(),
            words => ["tool"].into_iter().chain(words.iter().copied()).collect(),
        };
        let long = place.run(&long).block().replace("cycod help tool ", "cycod help ");
        assert_eq!(place.run(words).block(), long, "{words:?}");
    }
    assert!(place.run(&["test", "greet"]).stdout().contains("1 passed"));
    for word in ["run", "list", "test", "validate"] {
        let page = place.run(&["help", "tool", word]).stdout();
        assert_eq!(place.run(&["help", word]).stdout(), page);
        assert_eq!(place.run(&[word, "--help"]).stdout(), page);
        assert!(page.contains(&format!(" cycod {word} ")), "{page}");
    }
}

#[test]
fn a_mistake_in_a_short_form_is_told_in_it() {
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `--nope` is not an option of `cycod list`
          did you mean `--scope`?
          see: cycod help list
    "#]]
    .assert_eq(&Place::new().run(&["list", "--nope"]).block());
}

/// What grants something is kept from tools in its short form too.
#[test]
fn a_tool_grants_nothing_by_a_short_form() {
    let place = Place::with_tool("fixer", "description: Fix\nbash: cycod validate --fix\ntags: [write]\n");
    let ran = place.shell("cycod run fixer");
    assert!(ran.code() != 0 && ran.stderr().contains("cycod tool validate"), "{}", ran.block());
}

#[test]
fn the_name_of_a_tool_is_no_command() {
    let place = Place::with_tool("deploy", DEPLOY);
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `deploy` is a tool: `cycod run deploy`
    "#]]
    .assert_eq(&place.run(&["deploy", "ENV=staging", "--help"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `deplyo` is neither a command nor a tool
          did you mean the tool `deploy`? `cycod run deploy`
          see: cycod help
    "#]]
    .assert_eq(&place.run(&["deplyo"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `cycod lisst` is not a command
          did you mean `list`?
          see: cycod help
    "#]]
    .assert_eq(&place.run(&["lisst"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `cycod something-else` is not a command
          see: cycod help
    "#]]
    .assert_eq(&place.run(&["something-else"]).block());
}

#[test]
fn nothing_typed_shows_the_tools_and_how_to_go_on() {
    let place = Place::with_tool("deploy", DEPLOY);
    place.tool("greet", "description: Greet\nbash: echo hello\ntags: [read]\n");
    place.tool("broken", "description: Broken\n");
    expect![[r#"
        exit: 0
        --- stdout
        TOOL    PARAMETERS                      DESCRIPTION
        broken                                  broken: line 1: a tool does not define what to execute
        deploy  ENV VERSION? DRY_RUN? TIMEOUT?  Bring a version to its servers
        greet                                   Greet

          cycod run NAME         Run a tool; 'cycod run NAME --help' shows what it takes
          cycod list             List all tools
          cycod help             Show all commands
        --- stderr
    "#]]
    .assert_eq(&place.run(&[]).block());
    assert_eq!(place.run(&["--color", "never"]).block(), place.run(&[]).block());
    for number in 0..30 {
        place.tool(&format!("a{number}"), "description: One of many\nbash: echo hello\ntags: [read]\n");
    }
    let many = place.run(&[]).stdout();
    assert_eq!(many.matches("One of many").count(), 20, "{many}");
    assert!(many.contains("\nand 13 more\n"), "{many}");
}

#[test]
fn tools_that_are_not_trusted_are_marked() {
    let place = Place::cloned();
    place.tool("deploy", DEPLOY);
    let shown = |place: &Place| place.run(&[]).stdout();
    assert!(shown(&place).contains("untrusted - Bring a version"), "{}", shown(&place));
    assert!(shown(&place).contains(": cycod tool trust deploy\n"), "{}", shown(&place));
    place.tool("greet", "description: Greet\nbash: echo hello\ntags: [read]\n");
    assert!(shown(&place).contains("2 tools are not trusted"), "{}", shown(&place));
}

#[test]
fn a_place_without_tools_says_how_to_begin() {
    let place = Place::new();
    expect![[r#"
        exit: 0
        --- stdout
        This project has no tools yet. Begin with one of these:

          cycod tool add hello --description 'Greet someone' --tag read \
            --bash 'echo "Hello, {NAME}!"' --parameter NAME 'Who to greet' required=true
              Make a tool of a command; then: cycod run hello NAME=World

          cycod help writing-tools
              Learn to write tools

          cycod help
              Show all commands
        --- stderr
    "#]]
    .assert_eq(&place.run(&[]).block());
    place.write("Makefile", ".PHONY: build test\nbuild:\n\techo build\ntest:\n\techo test\n");
    place.write("package.json", "{}");
    place.write("a.just", "one:\n  echo one\n");
    let shown = place.run(&[]).stdout();
    assert!(shown.contains("  cycod tool import Makefile\n      Make tools of the 2 targets in it\n"), "{shown}");
    assert!(shown.contains("  cycod tool import a.just\n      Make tools of the 1 recipe in it\n"), "{shown}");
    assert!(!shown.contains("package.json"), "{shown}");
    let (_, add) = shown.split_once("  cycod tool add").expect("it is there");
    let (add, _) = add.split_once("\n      ").expect("a line says what it does");
    assert_eq!(place.shell(&format!("cycod tool add{add} && cycod run hello NAME=World")).stdout(), "Hello, World!\n");
    assert_eq!(
        place.shell("cycod tool import Makefile && cycod list --format simple").stdout(),
        "build\nhello\ntest\n"
    );
    assert!(place.run(&[]).stdout().starts_with("TOOL "));
}

/// Tools of other scopes are shown after those of the project.
#[test]
fn the_tools_of_the_project_come_first() {
    let place = Place::new();
    let add = "cycod tool add aaa --user --description Mine --bash 'echo mine' --tag read";
    assert_eq!(place.shell(add).code(), 0);
    let shown = place.run(&[]).stdout();
    assert!(shown.starts_with("This project has no tools yet.") && shown.contains("\naaa   Mine\n"), "{shown}");
    place.tool("deploy", DEPLOY);
    let shown = place.run(&[]).stdout();
    assert!(shown.find("deploy").expect("it is shown") < shown.find("aaa").expect("it is shown"), "{shown}");
}

#[test]
fn a_parameter_may_be_given_as_an_option() {
    let place = Place::with_tool("deploy", DEPLOY);
    for (arguments, expect) in [
        (&["ENV=staging"][..], "staging latest false 60"),
        (&["--env", "staging", "--version", "1.2.3"], "staging 1.2.3 false 60"),
        (&["--ENV=staging", "--version=a=b"], "staging a=b false 60"),
        (&["--dry-run=false", "ENV=staging"], ""),
        (&["--version", "--weird", "--env", "staging"], "staging --weird false 60"),
        (&["--env", "staging", "--", "--dry-run", "--timeout", "5"], "staging latest true 5"),
        (&["--", "--dry_run", "false", "--env", "production"], "production latest false 60"),
        (&["--timeout", "60000", "TIMEOUT=7", "--env", "staging"], "staging latest false 7"),
        (&["--color", "never", "--env", "staging"], "staging latest false 60"),
    ] {
        let ran = place.run(&[&["run", "deploy"], arguments].concat());
        assert_eq!(ran.stdout().trim_end(), expect, "{arguments:?} {}", ran.block());
        assert_eq!(ran.code() == 0, !expect.is_empty(), "{arguments:?} {}", ran.block());
        let long = place.run(&[&["tool", "run", "deploy"], arguments].concat());
        assert_eq!(long.stdout(), ran.stdout());
    }
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `--versoin` is neither an option of `cycod run` nor a parameter of `deploy`
          did you mean `--version`?
          usage: cycod run deploy ENV=<staging|production> [VERSION=…] [DRY_RUN=<true|false>] [TIMEOUT=…]
          see: cycod run deploy --help
    "#]]
    .assert_eq(&place.run(&["run", "deploy", "--env", "staging", "--versoin", "1"]).block());
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `--version` needs a value
          a value that is also an option of `cycod run`: --version=VALUE
          usage: cycod run deploy ENV=<staging|production> [VERSION=…] [DRY_RUN=<true|false>] [TIMEOUT=…]
    "#]]
    .assert_eq(&place.run(&["run", "deploy", "ENV=staging", "--version", "--show-command", "1"]).block());
}

#[test]
fn a_tool_explains_itself() {
    let place = Place::with_tool("deploy", DEPLOY);
    let page = place.run(&["run", "deploy", "--help"]);
    expect![[r#"
        exit: 0
        --- stdout
        deploy
          Bring a version to its servers. It waits until they answer.

        USAGE
          cycod run deploy ENV=<staging|production> [VERSION=…] [DRY_RUN=<true|false>] [TIMEOUT=…]

        PARAMETERS
          ENV  string, required
              Where to
              must: be one of staging, production
              placed as: free: its values are numbers, booleans or texts of the author
          VERSION  string, default latest
              Which one
              placed as: data: `echo` takes it as text
          DRY_RUN  boolean, default false
              Only say what would happen
              placed as: free: its values are numbers, booleans or texts of the author
          TIMEOUT  integer, default 60
              Seconds to wait for each server
              placed as: free: its values are numbers, booleans or texts of the author

        WHAT IT MAY DO
          level write (tagged `write`)
          filesystem:read:.

        EXAMPLES
          cycod run deploy ENV=staging

        SEE ALSO
          cycod run deploy --dry-run    What would happen
          cycod help run    The options of every run
        --- stderr
    "#]]
    .assert_eq(&page.block());
    for words in [&["tool", "run", "deploy", "-h"][..], &["run", "--help", "deploy"], &["run", "deploy", "ENV=x", "-h"]]
    {
        assert_eq!(place.run(words).block(), page.block(), "{words:?}");
    }
    assert!(place.run(&["run", "deplyo", "--help"]).stderr().contains("did you mean `deploy`?"));
    assert!(place.run(&["run", "--help"]).stdout().starts_with("CYCOD TOOL RUN\n"));
}

#[test]
fn what_is_missing_is_told_with_what_the_tool_takes() {
    let place = Place::with_tool("deploy", DEPLOY);
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error[missing-argument]: `ENV` is required
          usage: cycod run deploy ENV=<staging|production> [VERSION=…] [DRY_RUN=<true|false>] [TIMEOUT=…]
          help: Where to
          try: cycod tool run deploy ENV=staging
          more: cycod explain missing-argument
    "#]]
    .assert_eq(&place.run(&["run", "deploy"]).block());
}
