use expect_test::expect;

use crate::support::Place;

#[test]
fn an_option_and_a_command_show_the_same_page() {
    let place = Place::new();
    for words in
        [&["tool"][..], &["tool", "list"], &["list"], &["tool", "add"], &["tool", "run"], &["run"], &["explain"], &[]]
    {
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
    assert_eq!(place.run(&["help", "confine"]).stdout(), place.run(&["help", "tool", "confine"]).stdout());
    assert!(place.run(&["help", "writing-tools"]).stdout().starts_with("WRITING TOOLS\n"));
}

#[test]
fn every_guide_is_in_the_program() {
    let place = Place::new();
    let list = place.run(&["help", "guides"]).stdout();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide");
    for file in std::fs::read_dir(directory).expect("the guides") {
        let path = file.expect("an entry").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let text = std::fs::read_to_string(&path).expect("a guide");
        let shown = place.run(&["help", "guide", name]);
        let title = text.lines().next().expect("a title").trim_start_matches("# ");
        assert!(shown.code() == 0 && shown.stdout().starts_with(&format!("{title}\n")), "{}", shown.block());
        assert!(!shown.stdout().contains("]("), "{}", shown.stdout());
        assert!(list.contains(&format!("\n{name} ")), "{list}");
    }
    // The name of a guide is enough where no command has it.
    let whole = place.run(&["help", "guide", "workflows"]).stdout();
    assert_eq!(place.run(&["help", "workflows"]).stdout(), whole);
    assert!(place.run(&["help", "policy"]).stdout().starts_with("CYCOD POLICY"));
    assert!(place.run(&["help", "guide", "polcy"]).stderr().contains("did you mean `cycod help guide policy`?"));
}

/// Help is read at terminals of every width.
#[cfg(target_os = "linux")]
#[test]
fn help_is_folded_to_the_terminal() {
    let place = Place::with_tool(
        "deploy",
        "description: Bring a version to its servers, which takes as long as it takes\nbash: echo {ENV}\ntags: [read]\nparameters: {ENV: {description: 'Where to, as one of the names of the places where it can go', required: true}}\n",
    );
    for width in [80, 40] {
        for words in [
            "help run",
            "help tool list",
            "run --help",
            "explain not-on-allowlist",
            "help workflows",
            "help guides",
            "run deploy --help",
        ] {
            let words = format!("cycod --color never {words}");
            let terminal = crate::terminal::Terminal::run(&place, width, &[], &words);
            terminal.wait("ended with 0");
            // What is typed as it is stays on one line: code, examples, names of options.
            let written = terminal.written().replace('\r', "");
            let long = |line: &&str| {
                let text = line.trim_start();
                line.chars().count() > width as usize
                    && !line.starts_with("    ")
                    && !text.starts_with("cycod ")
                    && text.contains(' ')
            };
            let long: Vec<&str> = written.lines().filter(long).collect();
            assert!(long.is_empty(), "{width} {words}: {long:#?}");
        }
    }
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
          one of list, search, groups, info, get, add, create, remove, test, validate, edit, export, import, run, call, schema, schema-file, refresh, graph, why, confine, trust, untrust
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
    let ran = gone("cycod list");
    assert!(
        ran.code() == 1 && ran.stderr().starts_with("error: cannot determine the working directory: "),
        "{}",
        ran.block()
    );
}
