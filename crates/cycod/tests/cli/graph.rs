use expect_test::expect;

use crate::support::Place;

const TOOL: &str = "description: Release
steps:
  - {name: checkout, bash: git clone ., error-handling: {retry: {attempts: 3}}}
  - {name: lint, bash: cargo clippy, wait-for: [checkout], continue-on-error: true}
  - {name: unit, bash: cargo test, wait-for: [checkout]}
  - {name: publish, use-tool: release, with: {TEXT: '{unit.output}'}, run-condition: '{unit.status} == ok'}
";

#[test]
fn as_text() {
    let place = Place::with_tool("t", TOOL);
    expect![[r#"
        exit: 0
        --- stdout
        ○    checkout  bash: git clone .
        │              3 retries
        ├─╮
        ○ │  lint      bash: cargo clippy
        │ │            may fail
        │ ○  unit      bash: cargo test
        ├─╯
        ○    publish   use-tool: release
                       if {unit.status} == ok
        --- stderr
    "#]]
    .assert_eq(&place.run(&["tool", "graph", "t"]).block());
    expect![[r#"
        o    checkout  bash: git clone .
        |              3 retries
        +-.
        o |  lint      bash: cargo clippy
        | |            may fail
        | o  unit      bash: cargo test
        +-'
        o    publish   use-tool: release
                       if {unit.status} == ok
    "#]]
    .assert_eq(&place.shell("LC_ALL=C cycod tool graph t").stdout());
}

#[test]
fn as_mermaid_and_as_a_picture() {
    let place = Place::with_tool("t", TOOL);
    expect![[r#"
        flowchart TD
            s0["checkout<br/>bash: git clone .<br/>3 retries"]
            s1["lint<br/>bash: cargo clippy<br/>may fail"]
            s2["unit<br/>bash: cargo test"]
            s3[["publish<br/>tool release<br/>if #123;unit.status#125; == ok"]]
            s0 --> s1
            s0 --> s2
            s1 --> s3
            s2 -->|"status, output"| s3
    "#]]
    .assert_eq(&place.run(&["tool", "graph", "t", "--format", "mermaid"]).stdout());
    let ran = place.run(&["tool", "graph", "t", "--format", "svg", "--output", "t.svg"]);
    expect![[r#"
        exit: 0
        --- stdout
        --- stderr
        Drew tool `t` to t.svg
    "#]]
    .assert_eq(&ran.block());
    let svg = place.read("t.svg");
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    assert_eq!(svg.matches("<rect class=\"cg-box\"").count(), 4, "{svg}");
    assert_eq!(svg.matches("class=\"cg-head\"").count(), 4, "{svg}");
    // It may stand in a page: no class and no rule of it is one of the page's.
    assert!(svg.split("class=\"").skip(1).all(|rest| rest.starts_with("cg-")), "{svg}");
    let style = svg.split_once("<style>").and_then(|(_, rest)| rest.split_once("</style>")).expect("a style").0;
    let style = style.replace("@media (prefers-color-scheme:dark){", "");
    let mut selectors = style.split('}').map(|rule| rule.split('{').next().unwrap_or_default());
    assert!(selectors.all(|selector| selector.is_empty() || selector.starts_with(".cg-")), "{style}");
}

#[test]
fn what_cannot_be_drawn() {
    let place = Place::with_tool("broken", "description: x\n");
    expect![[r#"
        exit: 0
        --- stdout
        1
        1
        2
        --- stderr
        error[broken-tool]: tool `broken` in `[PLACE]/project/.cycod/tools/broken.yaml` cannot be used: line 1: a tool does not define what to execute
          try: cycod validate broken
          more: cycod explain broken-tool
        error[unknown-tool]: no tool is called `brokn`
          did you mean `broken`?
          more: cycod explain unknown-tool
        error: `png` is not a value of `--format`
          one of text, mermaid, svg
          see: cycod help tool graph
    "#]].assert_eq(&place.shell("cycod tool graph broken; echo $?; cycod tool graph brokn; echo $?; cycod tool graph broken --format png; echo $?").block());
}
