use expect_test::expect;

use crate::support::Place;

const TOOL: &str = "description: Say it
bash: 'echo \"{WHAT}\"; echo oh >&2; exit {CODE}'
parameters:
  WHAT: {type: string, description: What, default: hello}
  CODE: {type: integer, description: How, default: 0}
tests:
  - {name: plain, description: It works}
  - {name: wrong, parameters: {CODE: 3, WHAT: <&>}, expected: {output-contains: [hello, \"]]>\"]}, cleanup: ['false']}
  - {name: elsewhere, platforms: [windows]}
";

/// The block of a run with durations as `N ms`.
fn block(place: &Place, script: &str) -> String {
    let block = place.shell(script).block();
    let mut shown = String::new();
    for line in block.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let mut line = line.to_owned();
        for pair in words.windows(2) {
            if pair[1] == "ms" && pair[0].bytes().all(|byte| byte.is_ascii_digit()) {
                line = line.replace(&format!("{} ms", pair[0]), "N ms");
            }
        }
        shown.push_str(&line);
        shown.push('\n');
    }
    shown
}

#[test]
fn a_report_for_people() {
    let place = Place::with_tool("t", TOOL);
    expect![[r#"
        exit: 1
        --- stdout
        t
          ✓ plain  N ms
          ✗ wrong  N ms
              expected exit code 0
                   got exit code 3
              expected output with "hello"
                   got 2 lines without it
              expected output with "]]>"
                   got 2 lines without it
              $ cycod_WHAT='<&>'; echo "${cycod_WHAT}"; echo oh >&2; exit 3
              │ <&>
              │ oh
              warning: cleanup `false` ended with exit code 1
          - elsewhere  skipped: not for linux

        1 passed, 1 failed, 1 skipped  N ms
        --- stderr
    "#]]
    .assert_eq(&block(&place, "cycod test t"));
    expect![[r#"
        exit: 0
        --- stdout
        t
          ok   plain  N ms
              It works
              $ echo "hello"; echo oh >&2; exit 0
              | hello
              | oh

        1 passed  N ms
        --- stderr
    "#]]
    .assert_eq(&block(&place, "LC_ALL=C cycod test t --test plain --verbose"));
    expect![[r#"
        exit: 0
        --- stdout
        16
        --- stderr
        1 passed, 1 failed, 1 skipped  N ms
    "#]]
    .assert_eq(&block(&place, "cycod test t --output report.txt; wc -l < report.txt"));
}

#[test]
fn several_tools_and_all_of_them() {
    let place = Place::with_tool("t", "description: x\nbash: exit 1\ntests: [{name: fails}]\n");
    place.tool("u", "description: x\nbash: echo hi\ntests: [{name: works, expected: {output-contains: hi}}]\n");
    place.tool("without", "description: x\nbash: echo hi\n");
    place.tool("broken", "description: x\n");
    place.tool(
        "elsewhere",
        "description: x\nbash: echo hi\nrequires: {commands: [no-such-program]}\ntests: [{name: any}]\n",
    );
    expect![[r#"
        exit: 1
        --- stdout
        t
          ✗ fails  N ms
              expected exit code 0
                   got exit code 1
              $ exit 1
        u
          ✓ works  N ms

        1 passed, 1 failed  N ms
        --- stderr
    "#]]
    .assert_eq(&block(&place, "cycod test t u U"));
    expect![[r#"
        exit: 1
        --- stdout
        t
          ✗ fails  N ms
              expected exit code 0
                   got exit code 1
              $ exit 1

        1 failed  N ms
        --- stderr
    "#]]
    .assert_eq(&block(&place, "cycod test t u --stop-on-failure"));
    expect![[r#"
        exit: 1
        --- stdout
        broken
          ✗ loads  N ms
              expected a tool
                   got a tool does not define what to execute
        elsewhere
          - any  skipped: requires `no-such-program`, which is not on the PATH
        t
          ✗ fails  N ms
              expected exit code 0
                   got exit code 1
              $ exit 1
        u
          ✓ works  N ms

        1 passed, 2 failed, 1 skipped  N ms
        --- stderr
    "#]]
    .assert_eq(&block(&place, "cycod test --all"));
    expect![[r#"
        exit: 1
        --- stdout
        --- stderr
        error: no tool here has tests
          write some under `tests:` in a tool's file: cycod help tools
    "#]]
    .assert_eq(&block(&place, "cycod test --all --user"));
}

#[test]
fn what_cannot_be_tested() {
    let place = Place::with_tool("t", TOOL);
    place.tool("without", "description: x\nbash: echo hi\n");
    expect![[r#"
        exit: 0
        --- stdout
        1
        1
        1
        1
        1
        1
        2
        2
        --- stderr
        error: no test is called `plian`
          did you mean `plain`?
        error: no test is called `other`
          there are plain, wrong and elsewhere
        error: there are no tests to run
          write some under `tests:` in a tool's file: cycod help tools
        error: no test is called `x`
          there are no tests at all
        error: no test of any tool is called `nowhere`
        error[unknown-tool]: no tool is called `none`
          try: cycod list
          more: cycod explain unknown-tool
        error: `TOOL_NAME` is missing
          usage: cycod test TOOL_NAME [--scope] [options]
          or: cycod test TOOL_NAME... [--scope] [options]
          or: cycod test --all [--scope] [options]
          tools: cycod list
          see: cycod help test
        error: `TOOL_NAME` cannot be used with `--all`
          see: cycod help test
    "#]]
    .assert_eq(&block(
        &place,
        "cycod test t --test plian; echo $?
cycod test t --test other; echo $?
cycod test without; echo $?
cycod test without --test x; echo $?
cycod test --all --test nowhere; echo $?
cycod test t none; echo $?
cycod test; echo $?
cycod test t --all; echo $?",
    ));
}

#[test]
fn junit() {
    let tool = TOOL.replace("echo \"{WHAT}\"", "echo \"{WHAT}\"; printf \"\\\\033[1m\\\\000\\\\377]]>\"");
    let place = Place::with_tool("t", &tool);
    place.tool(
        "u",
        "description: x\nsteps: [{name: a, bash: echo one}, {name: b, bash: echo two}]\ntests: [{name: works}]\n",
    );
    let shown = place.shell("cycod test t u --format junit | sed 's/time=\"[0-9.]*\"/time=\"T\"/g'").stdout();
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="cycod" tests="4" failures="1" errors="0" skipped="1" time="T">
          <testsuite name="t" tests="3" failures="1" errors="0" skipped="1" time="T">
            <testcase classname="t" name="plain" time="T">
              <system-out>hello
        \x1b[1m\x00�]]&gt;</system-out>
              <system-err>oh
        </system-err>
            </testcase>
            <testcase classname="t" name="wrong" time="T">
              <failure message="expected exit code 0, got exit code 3">expected exit code 0, got exit code 3
        expected output with "hello", got 2 lines without it</failure>
              <system-out>&lt;&amp;&gt;
        \x1b[1m\x00�]]&gt;</system-out>
              <system-err>oh
        </system-err>
            </testcase>
            <testcase classname="t" name="elsewhere" time="T">
              <skipped message="not for linux"/>
            </testcase>
          </testsuite>
          <testsuite name="u" tests="1" failures="0" errors="0" skipped="0" time="T">
            <testcase classname="u" name="works" time="T">
              <system-out>--- a ---
        one
        --- b ---
        two
        </system-out>
            </testcase>
          </testsuite>
        </testsuites>
    "#]]
    .assert_eq(&shown);
}

#[test]
fn json() {
    let place = Place::with_tool("t", TOOL);
    let ran = place.run(&["tool", "test", "t", "--format", "json", "--output", "report.json"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (1, ""), "{}", ran.block());
    let report: serde_json::Value = serde_json::from_str(&place.read("report.json")).expect("it is JSON");
    let tests = &report["tools"][0]["tests"];
    assert_eq!(
        (&report["success"], &report["passed"], &report["failed"], &report["skipped"]),
        (&false.into(), &1.into(), &1.into(), &1.into())
    );
    assert_eq!((&tests[0]["status"], &tests[0]["result"]["output"]), (&"passed".into(), &"hello\n".into()));
    assert_eq!(
        (&tests[1]["failures"][0]["came"], &tests[1]["warnings"][0]),
        (&"exit code 3".into(), &"cleanup `false` ended with exit code 1".into())
    );
    assert_eq!(tests[2]["reason"], "not for linux");
}

#[test]
fn a_fresh_directory() {
    let place = Place::with_tool(
        "t",
        "description: x\nbash: touch made\ntests: [{name: makes, expected: {file-exists: made}}]\n",
    );
    let ran = place.shell("cycod test t --isolated > /dev/null && ls && cycod test t > /dev/null && ls");
    assert_eq!(ran.stdout(), "made\n", "{}", ran.block());
}
