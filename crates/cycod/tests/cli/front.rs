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
        let long = place.run(&long).block();
        let long = ["help ", "usage: cycod ", "or: cycod "]
            .iter()
            .fold(long, |long, before| long.replace(&format!("{before}tool "), before));
        assert_eq!(place.run(words).block(), long, "{words:?}");
    }
    assert!(place.run(&["test", "greet"]).stdout().contains("1 passed"));
    // Each form has a page in its own words.
    for word in ["run", "list", "test", "validate", "import", "info"] {
        let page = place.run(&["help", word]).stdout();
        assert!(page.starts_with(&format!("CYCOD {}\n", word.to_uppercase())), "{page}");
        assert!(page.contains(&format!(" cycod {word} ")) && !page.contains(&format!("cycod tool {word}")), "{page}");
        assert_eq!(place.run(&[word, "--help"]).stdout(), page);
        let long = place.run(&["help", "tool", word]).stdout();
        assert!(long.starts_with(&format!("CYCOD TOOL {}\n", word.to_uppercase())), "{long}");
        assert!(long.contains(&format!(" cycod tool {word} ")) && !long.contains(&format!(" cycod {word} ")), "{long}");
        assert_eq!(place.run(&["tool", word, "--help"]).stdout(), long);
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
    assert!(ran.code() != 0 && ran.stderr().contains("`cycod validate`"), "{}", ran.block());
}

#[test]
fn the_name_of_a_tool_is_no_command() {
    let place = Place::with_tool("deploy", DEPLOY);
    expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `deploy` is not a command, but there is a tool of this name
          try: cycod run deploy
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
    assert!(shown(&place).contains(": cycod trust deploy\n"), "{}", shown(&place));
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

          cycod init
              Write a first tool that fits this project

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
    assert!(shown.contains("  cycod import Makefile\n      Make tools of the 2 targets in it\n"), "{shown}");
    assert!(shown.contains("  cycod import a.just\n      Make tools of the 1 recipe in it\n"), "{shown}");
    assert!(!shown.contains("package.json"), "{shown}");
    let (_, add) = shown.split_once("  cycod tool add").expect("it is there");
    let (add, _) = add.split_once("\n      ").expect("a line says what it does");
    assert_eq!(place.shell(&format!("cycod tool add{add} && cycod run hello NAME=World")).stdout(), "Hello, World!\n");
    assert_eq!(place.shell("cycod import Makefile && cycod list --format simple").stdout(), "build\nhello\ntest\n");
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
    assert!(place.run(&["run", "--help"]).stdout().starts_with("CYCOD RUN\n"));
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
          try: cycod run deploy ENV=staging
          more: cycod explain missing-argument
    "#]]
    .assert_eq(&place.run(&["run", "deploy"]).block());
}

/// The first tool is made of what the project has, and can be run at once.
#[test]
fn init_writes_a_first_tool_that_fits_the_project() {
    let place = Place::new();
    place.write(
        "Makefile",
        ".PHONY: build test docs\nbuild:\n\techo build\ntest:\n\t@echo tested\ndocs:\n\techo docs\n",
    );
    let first = place.run(&["init"]);
    expect![[r#"
        exit: 0
        --- stdout
        Wrote the tool `test`: .cycod/tools/test.yaml
          It runs the target `test` of Makefile

        Next:

          cycod run test
              Run it

          cycod tool edit test
              Change it

          cycod import Makefile --only build,docs
              Make tools of the other 2 targets, too

          cycod trust --mine
              Change tools here without being asked to trust them again; others review them once in their clone

          cycod mcp install HOST
              Offer the tools to an editor or assistant; see: cycod help mcp install
        --- stderr

        test (level run, with all your rights)
            name: test
            description: Run `echo tested`
            working-directory: {WORKSPACE}
            requires:
                commands: ["make"]
            tags: ["make","run"]
            timeout: 600000
            run: make --no-print-directory test
    "#]]
    .assert_eq(&first.block());
    assert_eq!(place.run(&["run", "test"]).stdout(), "tested\n");
    // What it proposes does what it says, and nothing is written twice.
    assert_eq!(
        place.shell("cycod import Makefile --only build,docs && cycod list --format simple").stdout(),
        "build\ndocs\ntest\n"
    );
    let written = place.read(".cycod/tools/test.yaml");
    let again = place.run(&["init"]);
    assert!(
        again.code() == 0 && again.stdout().starts_with("This project has 3 tools already; nothing was written.\n"),
        "{}",
        again.block()
    );
    assert_eq!(place.read(".cycod/tools/test.yaml"), written);
}

#[test]
fn init_knows_how_languages_run_their_tests_and_else_gives_an_example() {
    for (file, text, command) in [
        ("Cargo.toml", "[package]\nname = \"x\"\n", "cargo test"),
        ("go.mod", "module x\n", "go test ./..."),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "python3 -m pytest"),
        ("package.json", "{\"scripts\": {\"build\": \"tsc\", \"test\": \"vitest\"}}", "test"),
        ("justfile", "check:\n  echo checked\n", "check"),
    ] {
        let place = Place::new();
        place.write(file, text);
        let ran = place.run(&["init", "--format", "json"]);
        let said: serde_json::Value = serde_json::from_str(&ran.stdout()).expect("it is JSON");
        assert_eq!(
            (said["written"].as_bool(), said["from"]["file"].as_str()),
            (Some(true), Some(file)),
            "{}",
            ran.block()
        );
        let tool = place.read(said["path"].as_str().expect("a path"));
        assert!(tool.contains(command), "{tool}");
        assert_eq!(place.run(&["validate", "--strict"]).code(), 0, "{tool}");
    }
    let place = Place::new();
    place.write("pyproject.toml", "[project]\nname = \"x\"\n");
    let ran =
        place.shell("cycod init >/dev/null 2>&1 && cycod run hello && cycod run hello NAME=Ada && cycod test hello");
    assert!(
        ran.stdout().starts_with("Hello, World!\nHello, Ada!\n") && ran.stdout().contains("1 passed"),
        "{}",
        ran.block()
    );
}

/// A file that is there stays as it is, whatever is in it.
#[test]
fn init_overwrites_nothing() {
    let place = Place::new();
    place.write("Makefile", "test:\n\techo test\n");
    place.write(".cycod/tools/test.yaml", "not: a tool\n");
    let ran = place.run(&["init"]);
    assert_eq!((ran.code(), place.read(".cycod/tools/test.yaml").as_str()), (0, "not: a tool\n"), "{}", ran.block());
}

#[cfg(target_os = "linux")]
mod at_a_terminal {
    use super::{DEPLOY, Place};
    use crate::terminal::Terminal;

    fn run(place: &Place, words: &str) -> Terminal {
        Terminal::run(place, 100, &[], words)
    }

    #[test]
    fn a_missing_parameter_is_asked_for() {
        let place = Place::with_tool("deploy", DEPLOY);
        let terminal = run(&place, "cycod run deploy");
        terminal.wait("ENV - Where to (staging, production):");
        terminal.enter("moon");
        terminal.press(&["Enter"]);
        // One more time, with what was wrong.
        let shown = terminal.wait_for("ENV - Where to", 2);
        assert!(shown.contains("`moon` is not one of"), "{shown}");
        terminal.enter("staging");
        terminal.press(&["Enter"]);
        terminal.wait("staging latest false 60");
        terminal.wait("ended with 0");
    }

    #[test]
    fn a_value_that_is_wrong_twice_ends_the_call() {
        let place = Place::with_tool("deploy", DEPLOY);
        let terminal = run(&place, "cycod run deploy VERSION=2");
        for count in 1..=2 {
            terminal.wait_for("ENV - Where to", count);
            terminal.enter("moon");
            terminal.press(&["Enter"]);
        }
        let shown = terminal.wait("ended with 2");
        assert!(shown.contains("error[invalid-argument]"), "{shown}");
    }

    #[test]
    fn nothing_is_run_without_an_answer() {
        let place = Place::with_tool("deploy", DEPLOY);
        for (key, ended) in [("C-c", "ended with 130"), ("C-d", "ended with 2")] {
            let terminal = run(&place, "cycod run deploy");
            terminal.wait("ENV - Where to");
            terminal.press(&[key]);
            let shown = terminal.wait(ended);
            assert!(!shown.contains("staging latest"), "{shown}");
        }
    }

    #[test]
    fn a_secret_is_not_shown_while_it_is_typed() {
        let place = Place::with_tool(
            "login",
            "description: L\nbash: echo {TOKEN} | wc -c\ntags: [read]\nparameters:\n  TOKEN: {description: The token, required: true, sensitive: true}\n",
        );
        let terminal = run(&place, "cycod run login");
        terminal.wait("TOKEN - The token:");
        terminal.enter("geheim");
        terminal.press(&["Enter"]);
        let shown = terminal.wait("ended with 0");
        assert!(!shown.contains("geheim"), "{shown}");
        let terminal = run(&place, "cycod run login");
        terminal.wait("TOKEN - The token:");
        terminal.press(&["C-c"]);
        terminal.wait("ended with 130");
    }

    /// Another problem comes first: nobody types values for a call that cannot be.
    #[test]
    fn a_call_with_another_problem_asks_nothing() {
        let place = Place::with_tool("deploy", DEPLOY);
        let terminal = run(&place, "cycod run deploy TIMEOUT=soon");
        let shown = terminal.wait("ended with 2");
        assert!(shown.contains("expected an integer") && !shown.contains("ENV - Where to"), "{shown}");
    }
}
