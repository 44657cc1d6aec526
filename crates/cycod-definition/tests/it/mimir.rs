//! Mimir tools: what they mean, and what is said about those that are wrong.

use cycod_definition::{Approval, Body, Level, Runtime, Tool, document_json, level, load};
use cycod_diagnostic::SourceFile;
use expect_test::{Expect, expect};

use crate::{report, round_trip::without_places};

const RUN_TESTS: &str = include_str!("../mimir/run_tests.yml");

#[track_caller]
fn check(text: &str, expect: Expect) {
    let (_, lines) = report(text, Some("tool"));
    expect.assert_eq(&lines);
}

#[track_caller]
fn tool(text: &str) -> Tool {
    let (loaded, lines) = report(text, Some("tool"));
    loaded.tool.unwrap_or_else(|| panic!("the tool loads:\n{text}\n{lines}"))
}

const TAIL: &str = "description: d\nschema: {type: object}\ncode: |\n  export const execute = () => 1\n";

#[test]
fn the_example_of_the_specification() {
    let (loaded, lines) = report(RUN_TESTS, Some("run_tests"));
    assert_eq!(lines, "");
    let tool = loaded.tool.expect("it loads");
    assert_eq!((tool.enabled, tool.token_cost, tool.declared_risk), (true, Some(450), Some(Level::Write)));
    assert_eq!(level(&tool, &|_| None), Level::Run, "no tag says less");
    assert_eq!(tool.security.approval, Approval::UnlessNamed);
    let names: Vec<_> = tool.parameters.iter().map(|parameter| (&*parameter.name, parameter.required)).collect();
    assert_eq!(names, [("pattern", true), ("coverage", false), ("watch", false)]);
    let Body::Handler(handler) = &tool.body else { panic!("a handler") };
    assert_eq!((handler.runtime, handler.is_typescript), (Runtime::Engine, true));
    let patterns: Vec<String> = handler.allowlist.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(patterns, ["yarn test*", "npm test*", "vitest*"]);
    assert_eq!(RUN_TESTS.lines().nth(handler.line as usize - 1), Some("  interface TestArgs {"));
    assert!(handler.code.starts_with("interface TestArgs {\n  pattern: string;"), "{}", handler.code);
}

#[test]
fn json_reads_back_as_the_same_tool() {
    let json = document_json(&SourceFile::new("run_tests.yml", RUN_TESTS)).expect("a document").to_string();
    let mut again = load(&SourceFile::new("tool.json", &*json), None).tool.expect("it loads");
    let mut first = tool(RUN_TESTS);
    assert_eq!(first.origin.document, again.origin.document);
    (first.origin, again.origin) = Default::default();
    assert_eq!(without_places(&first), without_places(&again));
}

#[test]
fn keys() {
    let of = |keys: &str| tool(&format!("{keys}{TAIL}"));
    assert!(!of("enabled: false\n").enabled);
    assert!(of("").enabled && of("").security.approval == Approval::ByRules);
    assert_eq!(of("permissions: {autoAccept: true}\n").security.approval, Approval::ByRules);
    let asks = of("permissions: {autoAccept: false}\nsecurity: {execution-privilege: reduced}\n");
    assert_eq!(asks.security.approval, Approval::UnlessNamed);
    let always = of("permissions: {autoAccept: false}\nsecurity: {approval: always}\n");
    assert_eq!(always.security.approval, Approval::Always);
    assert_eq!(level(&of("tags: [read]\npermissions: {riskLevel: high}\n"), &|_| None), Level::Run);
    assert_eq!(level(&of("tags: [read]\npermissions: {riskLevel: low}\n"), &|_| None), Level::Read);
    let Body::Handler(handler) = of("runtime: node\n").body else { panic!("a handler") };
    assert_eq!((handler.runtime, handler.is_typescript, handler.allowlist), (Runtime::Node, true, None));
}

#[test]
fn mistakes() {
    check(
        &format!("permissions: {{autoAccept: true, allowlists: [x]}}\n{TAIL}"),
        expect![[r#"
        1:15-1:25 warning[auto-accept]: a file cannot allow itself to run without being asked
          help: allow the tool in your own policy: `cycod help policy add`
        1:33-1:43 error[unknown-key]: `permissions` has no key `allowlists`
          help: did you mean `allowlist`?
          fix: write `allowlist`
    "#]],
    );
    check(
        &format!("runtime: deno\nparameters: {{}}\nbahs: ls\n{TAIL}"),
        expect![[r#"
            1:10-1:14 error[unknown-choice]: `runtime` cannot be `deno`
            2:1-2:11 warning[unknown-key]: a Mimir tool has no key `parameters`
            3:1-3:5 error[unknown-key]: a Mimir tool has no key `bahs`
              help: what is run is the tool's block of code alone
        "#]],
    );
    check(
        "description: d\nschema: {type: object}\n",
        expect![[r#"
        1:1-1:12 error[no-handler]: a Mimir tool needs `code`
          help: write the function: `code: |`, then `export async function execute(args, context)`
    "#]],
    );
    check(
        "description: d\ncode: x\n",
        expect![[r#"
        1:1-1:12 error[invalid-schema]: a Mimir tool says in `schema` what it takes
          help: add `schema: {type: object, properties: {}}` if it takes nothing
    "#]],
    );
    check(
        "description: d\nschema: {type: array}\ncode: ''\n",
        expect![[r#"
        2:16-2:21 error[invalid-schema]: `schema` is not a schema that can be used
        3:1-3:5 error[empty-handler]: `code` is empty
          help: write into it what the tool does
    "#]],
    );
    check(
        &format!("permissions: {{allowlist: [' ']}}\n{TAIL}"),
        expect![[r#"
        1:27-1:30 error[empty-command]: this allows no command
          help: write a command, such as `npm test*`, or remove the item
    "#]],
    );
    check(
        "schema: []\ncode: [\n",
        expect![[r#"
        2:7-2:8 error[yaml-syntax]: this `[` is never closed
          help: add the missing `]`, or quote the value
    "#]],
    );
}
