use expect_test::{Expect, expect};

use crate::support::Place;

/// A place with a tool of every kind that a list can meet.
fn crowded() -> Place {
    let place = Place::with_tool(
        "weather",
        "description: |\n  Get the weather\n  for a place\nbash: curl {X}\ntags: [Weather, api, read]\nparameters:\n  X: {type: string, description: Where}\nmetadata: {category: web, search-keywords: [forecast]}\n",
    );
    place.tool("clone", "description: Clone a repository\nbash: git clone {U}\ntags: [git, write]\nparameters:\n  U: {type: string, description: What}\nmetadata: {category: development, subcategory: vcs}\n");
    place.tool("alpha", "name: twin\ndescription: One\nbash: ls\n");
    place.tool("beta", "name: twin\ndescription: Two\nbash: ls\n");
    place.tool("open", "description: x\nbash: ls\ncmd: dir\n");
    place.tool("needs", "description: Needs something\nbash: ls\nrequires: {commands: [no-such-program]}\n");
    place.tool("old", "description: Old\nbash: ls\ndeprecated: true\ndeprecated-message: Use weather\n");
    place.tool("win", "description: For Windows\ncmd: dir\nplatforms: [windows]\ntags: [read]\n");
    place.write("../home/.cycod/tools/weather.yaml", "description: The user's weather\nbash: ls\ntags: [read]\n");
    place.write("../home/.cycod/tools/mine.yaml", "description: Mine\nbash: ls\ntags: [read]\n");
    place
}

fn check(place: &Place, arguments: &[&str], expect: Expect) {
    let arguments = [&["tool", "list"], arguments].concat();
    expect.assert_eq(&place.run(&arguments).block());
}

#[test]
fn everything() {
    check(
        &crowded(),
        &[],
        expect![[r#"
        exit: 0
        --- stdout
        NAME     SCOPE  LEVEL  TAGS          DESCRIPTION
        clone    local  write  git           Clone a repository
        mine     user   read                 Mine
        needs    local  run                  unavailable: requires `no-such-program`, which is not on the PATH - Needs something
        old      local  run                  deprecated: Use weather - Old
        open     local                       broken: line 2: a tool says in two ways what it executes
        twin     local  run                  duplicate: also in .cycod/tools/beta.yaml - One
        twin     local  run                  duplicate: also in .cycod/tools/alpha.yaml - Two
        weather  local  read   Weather, api  Get the weather for a place
        weather  user   read                 shadowed by .cycod/tools/weather.yaml - The user's weather
        win      local  read                 unavailable: runs only on windows; `cmd`, which runs its commands, is not on the PATH - For Windows
        --- stderr
        3 tools cannot be used; see: cycod validate
    "#]],
    );
}

#[test]
fn by_category() {
    check(
        &crowded(),
        &["--sort", "category", "--format", "simple"],
        expect![[r#"
        exit: 0
        --- stdout
        clone
        weather
        mine
        needs
        old
        open
        twin
        win
        --- stderr
    "#]],
    );
}

#[test]
fn by_scope() {
    check(
        &crowded(),
        &["--sort", "scope", "--search", "weather"],
        expect![[r#"
        exit: 0
        --- stdout
        NAME     SCOPE  LEVEL  TAGS          DESCRIPTION
        weather  local  read   Weather, api  Get the weather for a place
        weather  user   read                 shadowed by .cycod/tools/weather.yaml - The user's weather
        --- stderr
    "#]],
    );
}

#[test]
fn filters_narrow_together() {
    let place = crowded();
    for tags in ["WEATHER", "WEATHER,none"] {
        check(
            &place,
            &["--tag", tags, "--tag", "api", "--format", "simple"],
            expect![[r#"
                exit: 0
                --- stdout
                weather
                --- stderr
            "#]],
        );
    }
    check(
        &place,
        &["--category", "VCS", "--format", "simple"],
        expect![[r#"
        exit: 0
        --- stdout
        clone
        --- stderr
    "#]],
    );
    check(
        &place,
        &["--search", "FORECAST get", "--format", "simple"],
        expect![[r#"
        exit: 0
        --- stdout
        weather
        --- stderr
    "#]],
    );
    check(
        &place,
        &["--platform", "win32", "--tag", "read", "--format", "simple"],
        expect![[r#"
        exit: 0
        --- stdout
        mine
        weather
        win
        --- stderr
    "#]],
    );
    check(
        &place,
        &["--platform", "osx", "--tag", "read", "--format", "simple"],
        expect![[r#"
        exit: 0
        --- stdout
        mine
        weather
        --- stderr
    "#]],
    );
    check(
        &place,
        &["--user", "--format", "simple"],
        expect![[r#"
        exit: 0
        --- stdout
        mine
        weather
        --- stderr
    "#]],
    );
}

#[test]
fn for_programs() {
    let place = crowded();
    check(
        &place,
        &["--format", "json", "--search", "needs"],
        expect![[r#"
            exit: 0
            --- stdout
            [
              {
                "name": "needs",
                "scope": "local",
                "path": "[PLACE]/project/.cycod/tools/needs.yaml",
                "level": "run",
                "description": "Needs something",
                "tags": [],
                "platforms": [],
                "parameters": 0,
                "tests": 0,
                "state": "active",
                "trust": "trusted",
                "enabled": true,
                "available": false,
                "unavailable-reasons": [
                  "requires `no-such-program`, which is not on the PATH"
                ],
                "deprecated": false
              }
            ]
            --- stderr
        "#]],
    );
    check(
        &place,
        &["--format", "yaml", "--search", "weather"],
        expect![[r#"
            exit: 0
            --- stdout
            - name: weather
              scope: local
              path: [PLACE]/project/.cycod/tools/weather.yaml
              level: read
              description: |
                Get the weather
                for a place
              category: web
              tags: [Weather, api, read]
              platforms: []
              parameters: 1
              tests: 0
              state: active
              trust: trusted
              enabled: true
              available: true
              unavailable-reasons: []
              deprecated: false
            - name: weather
              scope: user
              path: [PLACE]/home/.cycod/tools/weather.yaml
              level: read
              description: The user's weather
              tags: [read]
              platforms: []
              parameters: 0
              tests: 0
              state: shadowed
              state-reason:
                by: [PLACE]/project/.cycod/tools/weather.yaml
              trust: trusted
              enabled: true
              available: true
              unavailable-reasons: []
              deprecated: false
            --- stderr
        "#]],
    );
}

#[test]
fn json_says_why_a_tool_cannot_be_used() {
    let place = crowded();
    let ran = place.run(&["tool", "list", "--format", "json"]);
    let list: serde_json::Value = serde_json::from_str(&ran.stdout()).expect("JSON");
    let states: Vec<String> = list
        .as_array()
        .expect("an array")
        .iter()
        .map(|tool| {
            format!(
                "{} {} {}",
                tool["name"].as_str().unwrap_or("-"),
                tool["scope"].as_str().unwrap_or("-"),
                tool["state"].as_str().unwrap_or("-")
            )
        })
        .collect();
    expect![[r#"
        clone local active
        mine user active
        needs local active
        old local active
        open local broken
        twin local duplicate
        twin local duplicate
        weather local active
        weather user shadowed
        win local active"#]]
    .assert_eq(&states.join("\n"));
}

#[test]
fn nothing_is_found() {
    let place = crowded();
    check(
        &place,
        &["--tag", "git", "--search", "zebra"],
        expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        no tool matches --tag and --search; see all with `cycod list`
    "#]],
    );
    check(
        &place,
        &["--global"],
        expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        no tools in the global scope; see those of all scopes with `cycod list`
    "#]],
    );
    check(
        &place,
        &["--format", "json", "--tag", "zebra"],
        expect![[r#"
        exit: 0
        --- stdout
        []
        --- stderr
        no tool matches --tag; see all with `cycod list`
    "#]],
    );
}

#[test]
fn an_empty_place_says_how_to_begin() {
    check(
        &Place::new(),
        &[],
        expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        no tools here yet; write a first one with `cycod init`, or put a file into .cycod/tools
    "#]],
    );
}

#[test]
fn mistakes() {
    let place = Place::new();
    check(
        &place,
        &["--platform", "lynux"],
        expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `lynux` is not a platform
          did you mean `linux`?
    "#]],
    );
    check(
        &place,
        &["--format", "tabel"],
        expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `tabel` is not a value of `--format`
          did you mean `table`?
          see: cycod help tool list
    "#]],
    );
    check(
        &place,
        &["--scope", "glob"],
        expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `glob` is not a scope
          one of local, user, global, any
    "#]],
    );
    check(
        &place,
        &["--user", "--scope", "local"],
        expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: two different scopes are asked for
          give one of --scope, -g, -u, -l, -a
    "#]],
    );
    check(
        &place,
        &["--serach", "x"],
        expect![[r#"
        exit: 2
        --- stdout
        --- stderr
        error: `--serach` is not an option of `cycod tool list`
          did you mean `--search`?
          see: cycod help tool list
    "#]],
    );
}

#[test]
fn colours_are_asked_for() {
    let place = Place::with_tool("x", "description: X\nbash: ls\ntags: [read]\n");
    assert_eq!(place.run(&["tool", "list", "--color", "always"]).stdout().matches("\u{1b}[1m").count(), 4);
    assert!(!place.run(&["tool", "list"]).stdout().contains('\u{1b}'));
}

/// A reader that has seen enough goes away; that is not a failure.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_quiet() {
    use std::process::Stdio;

    let place = Place::with_tool("x", "description: X\nbash: ls\n");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let child =
        place.command(&["tool", "list"]).stdout(writer).stderr(Stdio::piped()).spawn().expect("the program starts");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

/// A full disk is a failure: the caller believes that the list is there.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_not() {
    let place = Place::with_tool("x", "description: X\nbash: ls\n");
    let full = std::fs::File::options().write(true).open("/dev/full").expect("the device");
    let output = place.command(&["tool", "list"]).stdout(full).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: cannot write to standard output: "));
}

#[test]
fn tools_are_found_by_what_they_do() {
    let place = Place::new();
    place.tool("prune", "description: Remove branches that are merged\nbash: echo gone\ntags: [git, write]\n");
    place.tool("count", "description: Count the lines of a text\nbash: wc -l\ntags: [read]\n");
    place.tool("broken", "description: delete branches\nnothing: here\n");
    let simple = |words: &[&str]| place.run(&[&["tool", "search", "--format", "simple"], words].concat()).stdout();
    assert_eq!(simple(&["delete", "old", "branches"]), "prune\n");
    assert_eq!(simple(&["how many lines does it have"]), "count\n");
    assert_eq!(simple(&["git"]), "prune\n");
    assert_eq!(simple(&["lines", "branches", "--limit", "1"]).lines().count(), 1);
    let table = place.run(&["tool", "search", "count"]);
    assert!(table.stdout().contains("Count the lines"), "{}", table.block());
    let json = place.run(&["tool", "search", "count", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout()).expect("JSON");
    assert_eq!(json[0]["name"], "count");
    let nothing = place.run(&["tool", "search", "zzzz"]);
    assert!(nothing.code() == 0 && nothing.stderr().contains("no tool fits"), "{}", nothing.block());
    assert_eq!(place.run(&["tool", "search"]).code(), 2);
    assert_eq!(place.run(&["tool", "search", "x", "--limit", "0"]).code(), 2);
}
