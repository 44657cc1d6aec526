//! Functions in R, Python, Node and TypeScript: what they are given and give back, and how their processes are kept and ended.
#![cfg(target_os = "linux")]

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{
    serve::Client,
    support::{Place, Ran},
};

/// A Markdown tool with a handler.
fn handler(place: &Place, name: &str, front: &str, language: &str, code: &str) {
    let text =
        format!("---\nname: {name}\ndescription: A tool\ntags: [read]\n{front}---\n\n```{language}\n{code}\n```\n");
    place.write(&format!(".cycod/tools/{name}.md"), &text);
}

const GIVEN: &str = "parameters:\n  text: {type: string, description: T, required: true}\n  count: {type: integer, description: C, default: 2}\n";

/// The same function in every language: it says something for the log, fails when it is told to, and gives back an object.
fn echo(place: &Place) {
    handler(
        place,
        "in_r",
        GIVEN,
        "r",
        "function(text, count) {\n  cat('working\\n')\n  if (count < 0) stop('too few')\n  list(text = text, twice = count * 2L)\n}",
    );
    handler(
        place,
        "in_python",
        GIVEN,
        "python",
        "def handler(text, count):\n    print('working')\n    if count < 0:\n        raise ValueError('too few')\n    return {'text': text, 'twice': count * 2}",
    );
    handler(
        place,
        "in_node",
        GIVEN,
        "javascript",
        "export function execute({ text, count }) {\n  console.log('working');\n  if (count < 0) throw new Error('too few');\n  return { text, twice: count * 2 };\n}",
    );
    handler(
        place,
        "in_engine",
        GIVEN,
        "typescript",
        "export async function execute(args: { text: string, count: number }, { logger }: ToolContext) {\n  logger.info('working');\n  if (args.count < 0) throw new Error('too few');\n  return { text: args.text, twice: args.count * 2 };\n}",
    );
}

const ECHOES: [&str; 4] = ["in_r", "in_python", "in_node", "in_engine"];

fn run(place: &Place, name: &str, parameters: &[&str]) -> Ran {
    let given = parameters.iter().flat_map(|parameter| ["--param", parameter]);
    place.run(&["tool", "run", name].into_iter().chain(given).collect::<Vec<_>>())
}

#[test]
fn arguments_and_results_are_data_in_every_language() {
    let place = Place::new();
    echo(&place);
    let text = "`$(id)`; rm -rf / \"'\\ {NAME} ✓ \u{1F600}\nsecond\tline";
    for name in ECHOES {
        let ran = run(&place, name, &[&format!("text={text}"), "count=21"]);
        assert_eq!(ran.code(), 0, "{name}: {}", ran.block());
        let value: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
        assert_eq!(value, json!({"text": text, "twice": 42}), "{name}");
        assert!(ran.stderr().contains("working"), "{name}: {}", ran.block());
    }
}

#[test]
fn an_error_names_the_line_of_the_file() {
    let place = Place::new();
    echo(&place);
    for (name, line) in ECHOES.into_iter().zip([13, 14, 13, 13]) {
        let ran = run(&place, name, &["text=x", "count=-1"]);
        assert_eq!(ran.code(), 1, "{name}: {}", ran.block());
        assert!(ran.stderr().contains("too few"), "{name}: {}", ran.block());
        assert!(ran.stderr().contains(&format!("{name}.md:{line}")), "{name}: {}", ran.block());
    }
}

/// Functions that say in their result that they failed.
fn failing(place: &Place) {
    for (name, language, code) in [
        ("in_r", "r", "function() {\n  list(success = FALSE, error = 'the disk is full')\n}"),
        ("in_python", "python", "def handler():\n    return {'success': False, 'error': 'the disk is full'}"),
        ("in_node", "javascript", "export const execute = () => ({ success: false, error: 'the disk is full' });"),
        (
            "in_engine",
            "typescript",
            "export const execute = async (): Promise<ToolResult> => ({ success: false, error: 'the disk is full' });",
        ),
    ] {
        handler(place, name, "", language, code);
    }
}

#[test]
fn a_result_that_says_it_failed_is_a_failure() {
    let place = Place::new();
    failing(&place);
    let mut client = Client::legacy(&place, &[], json!({}));
    for name in ECHOES {
        let ran = run(&place, name, &[]);
        assert_eq!((ran.code(), ran.stdout().as_str()), (1, ""), "{name}: {}", ran.block());
        assert!(ran.stderr().contains("the disk is full"), "{name}: {}", ran.block());
        let answer = client.call(name, json!({}));
        assert_eq!(answer["isError"], true, "{name}: {answer}");
        assert!(answer["content"].to_string().contains("the disk is full"), "{name}: {answer}");
        let steps = format!(
            "description: D\ntags: [read]\nsteps:\n  - name: try\n    use-tool: {name}\n    error-handling:\n      retry: {{attempts: 2, delay: 1}}\n      fallback: echo instead\n"
        );
        place.write(".cycod/tools/retried.yaml", &steps);
        let ran = place.run(&["tool", "run", "retried", "--format", "json"]);
        let result: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
        let step = &result["steps"][0];
        assert_eq!((ran.code(), &step["output"]), (0, &json!("instead\n")), "{name}: {}", ran.block());
        assert_eq!((&step["attempts"], &step["used_fallback"]), (&json!(3), &json!(true)), "{name}: {}", ran.block());
    }
}

#[test]
fn what_a_failed_result_says_beside_its_error_is_the_output() {
    let place = Place::new();
    let check = |code: &str, output: Value, error: &str| {
        handler(&place, "says", "", "typescript", &format!("export const execute = () => ({code});"));
        let ran = run(&place, "says", &[]);
        let found = serde_json::from_str(&ran.stdout()).unwrap_or(Value::Null);
        assert_eq!((ran.code(), found), (1, output), "{code}: {}", ran.block());
        assert!(ran.stderr().contains(error), "{code}: {}", ran.block());
    };
    let more = json!({"success": false, "error": "2 tests failed", "failed": ["a", "b"]});
    check("{ success: false, error: '2 tests failed', failed: ['a', 'b'] }", more, "2 tests failed");
    check("{ success: false, output: '', error: 'as Mimir writes it' }", Value::Null, "as Mimir writes it");
    check("{ success: false, error: new TypeError('no text') }", Value::Null, "no text");
    check("{ success: false, error: ['one', 'two'] }", Value::Null, "one\ntwo");
    check("{ success: false, message: 'said otherwise' }", Value::Null, "said otherwise");
    check("{ success: false }", Value::Null, "returned `success: false`");
    // Only `false` says so, and only for the whole.
    handler(&place, "says", "", "typescript", "export const execute = () => [{ success: false }, { success: 0 }];");
    assert_eq!(run(&place, "says", &[]).code(), 0);
    handler(&place, "says", "", "typescript", "export const execute = () => ({ success: true, error: null });");
    assert_eq!(run(&place, "says", &[]).code(), 0);
}

/// What `validate` says about one block of code, which begins in line 7, without the lines that show the file.
fn validated(place: &Place, language: &str, code: &str) -> (i32, String) {
    handler(place, "checked", "", language, code);
    let ran = place.run(&["tool", "validate", "checked"]);
    let said = ran.stdout();
    let lines = said.lines().filter(|line| {
        let line = line.trim_start();
        line.starts_with("error") || line.starts_with("warning") || line.starts_with("-->")
    });
    (ran.code(), lines.map(|line| format!("{}\n", line.trim_start())).collect())
}

#[test]
fn validate_reads_r_and_python_with_their_interpreters() {
    let place = Place::new();
    let check = |language: &str, code: &str, expect: Expect| {
        let (exit, said) = validated(&place, language, code);
        expect.assert_eq(&format!("{exit}\n{said}"));
    };
    check(
        "r",
        "function(x) {\n  y <- x 1\n}",
        expect![[r#"
        1
        warning[no-description]: parameter `x` has no description
        --> .cycod/tools/checked.md:8:10
        error[script-syntax]: the code is not R: unexpected numeric constant
        --> .cycod/tools/checked.md:9:10
    "#]],
    );
    check(
        "r",
        "function(x) {\n\t\u{e9} <- \"\u{fc}\" )",
        expect![[r#"
        1
        warning[no-description]: parameter `x` has no description
        --> .cycod/tools/checked.md:8:10
        error[script-syntax]: the code is not R: unexpected ')'
        --> .cycod/tools/checked.md:9:11
    "#]],
    );
    check(
        "r",
        "function(x) {\n  x\n",
        expect![[r#"
        1
        warning[no-description]: parameter `x` has no description
        --> .cycod/tools/checked.md:8:10
        error[script-syntax]: the code is not R: unexpected end of input
        --> .cycod/tools/checked.md:9:4
    "#]],
    );
    check(
        "r",
        "library(stats)\nlimit <- 3",
        expect![[r#"
        1
        error[script-syntax]: the code yields a number and no function; its last expression must be `function(...) { ... }`
        --> .cycod/tools/checked.md:9:1
    "#]],
    );
    check(
        "r",
        "cat('working')",
        expect![[r#"
        0
        warning[script-syntax]: the code holds no function: what `cat()` returns must be one
        --> .cycod/tools/checked.md:8:1
    "#]],
    );
    check(
        "r",
        "add <- function(x) x + 1\nadd",
        expect![[r#"
        0
        warning[no-description]: parameter `x` has no description
        --> .cycod/tools/checked.md:8:17
    "#]],
    );
    check(
        "python",
        "def handler(x):\n    return (x\n",
        expect![[r#"
        1
        warning[no-description]: parameter `x` has no description
        --> .cycod/tools/checked.md:8:13
        error[script-syntax]: the code is not Python: '(' was never closed
        --> .cycod/tools/checked.md:9:12
    "#]],
    );
    check(
        "python",
        "def handler(x):\n    \u{e9} = '\u{fc}' x\n",
        expect![[r#"
        1
        warning[no-description]: parameter `x` has no description
        --> .cycod/tools/checked.md:8:13
        error[script-syntax]: the code is not Python: invalid syntax
        --> .cycod/tools/checked.md:9:13
    "#]],
    );
    check(
        "python",
        "return 1\n",
        expect![[r#"
        1
        error[script-syntax]: the code is not Python: 'return' outside function
        --> .cycod/tools/checked.md:8:1
    "#]],
    );
    check(
        "python",
        "LIMIT = 3\nprint(LIMIT)\n",
        expect![[r#"
        1
        error[script-syntax]: the code has no function that could be called: write `def handler(...)`
        --> .cycod/tools/checked.md:8:1
    "#]],
    );
    check(
        "python",
        "def one():\n    pass\n\ndef two():\n    pass\n",
        expect![[r#"
        1
        error[script-syntax]: the code has several functions (`one`, `two`); one must be called `handler`
        --> .cycod/tools/checked.md:11:1
    "#]],
    );
    check(
        "python",
        "from functools import partial\nhandler = partial(print, 'x')\n",
        expect![[r#"
        0
    "#]],
    );
    check(
        "python",
        "def _help():\n    pass\n\nasync def go():\n    pass\n",
        expect![[r#"
        0
    "#]],
    );
}

#[test]
fn validate_runs_nothing_of_what_it_reads() {
    let place = Place::new();
    let touch = |name: &str| place.project().join(name).to_string_lossy().into_owned();
    let (r, python) = (touch("r"), touch("python"));
    handler(&place, "in_r", "", "r", &format!("file.create('{r}')\nfunction(x = file.create('{r}')) x"));
    let code =
        format!("open('{python}', 'w')\n@open('{python}', 'w')\ndef handler(x=open('{python}', 'w')):\n    pass");
    handler(&place, "in_python", "", "python", &code);
    // Nor is anything of the project part of how they are read.
    for (name, text) in [
        (".Rprofile", format!("file.create('{r}')\n")),
        ("ast.py", format!("open('{python}', 'w')\n")),
        ("sitecustomize.py", format!("open('{python}', 'w')\n")),
        ("python3", format!("#!/bin/sh\ntouch '{python}'\n")),
        ("Rscript", format!("#!/bin/sh\ntouch '{r}'\n")),
    ] {
        place.write(name, &text);
    }
    let ran =
        place.shell("chmod +x python3 Rscript; PATH=.:$PATH PYTHONPATH=. R_PROFILE_USER=.Rprofile cycod validate");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    for path in [r, python] {
        assert!(!std::path::Path::new(&path).exists(), "{path}");
    }
}

#[test]
fn what_is_not_installed_checks_nothing() {
    let place = Place::new();
    handler(&place, "in_r", "", "r", "function(x) {");
    handler(&place, "in_python", "", "python", "def handler(:");
    let ran = place.shell("PATH=$(dirname $(command -v cycod)) cycod validate");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    // One that says nothing of use is no proof of anything.
    place.write("bin/python3", "#!/bin/sh\necho broken >&2; exit 3\n");
    let ran = place.shell("chmod +x bin/python3; PATH=$PWD/bin:$PATH cycod validate in_python");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(
        ran.stdout().contains("warning[script-unchecked]") && ran.stdout().contains("exit code 3: broken"),
        "{}",
        ran.block()
    );
}

#[test]
fn a_dry_run_shows_the_call() {
    let place = Place::new();
    echo(&place);
    let ran = place.run(&["tool", "run", "in_python", "--param", "text=hello", "--dry-run"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(ran.stdout().contains(r#"Python: in_python({"text":"hello","count":2})"#), "{}", ran.block());
}

#[test]
fn what_one_call_keeps_the_next_of_its_session_finds() {
    let place = Place::new();
    for (language, keep, look, end) in [
        ("r", "function(n) { kept <<- n; n }", "function() kept", "function() tools::pskill(Sys.getpid(), 9L)"),
        (
            "python",
            "import builtins\ndef handler(n):\n    builtins.kept = n\n    return n",
            "import builtins\ndef handler():\n    return builtins.kept",
            "import os\ndef handler():\n    os.kill(os.getpid(), 9)",
        ),
        (
            "javascript",
            "export const execute = ({ n }) => (globalThis.kept = n);",
            "export const execute = () => globalThis.kept;",
            "export const execute = () => process.kill(process.pid, 'SIGKILL');",
        ),
    ] {
        let number = "parameters:\n  n: {type: integer, description: N, required: true}\n";
        handler(&place, &format!("keep_{language}"), number, language, keep);
        handler(&place, &format!("look_{language}"), "", language, look);
        handler(&place, &format!("end_{language}"), "", language, end);
    }
    let mut client = Client::legacy(&place, &[], json!({}));
    for language in ["r", "python", "javascript"] {
        let kept = client.call(&format!("keep_{language}"), json!({"n": 41}));
        assert_eq!(text(&kept), "41", "{kept}");
        let found = client.call(&format!("look_{language}"), json!({}));
        assert_eq!(text(&found), "41", "{found}");
        let ended = client.call(&format!("end_{language}"), json!({}));
        assert_eq!(ended["isError"], true, "{ended}");
        assert!(ended.to_string().contains("worker-failed"), "{ended}");
        // A fresh process knows nothing, and works.
        let gone = client.call(&format!("look_{language}"), json!({}));
        assert_ne!(text(&gone), "41", "{gone}");
        assert_eq!(text(&client.call(&format!("keep_{language}"), json!({"n": 7}))), "7");
    }
}

/// The first text of a result.
fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn a_handler_is_ended_when_its_time_is_over() {
    let place = Place::new();
    for (name, language, code) in [
        ("r", "r", "function() repeat {}"),
        ("python", "python", "def handler():\n    while True:\n        pass"),
        ("node", "javascript", "export const execute = () => { for (;;); };"),
        ("engine", "typescript", "export const execute = () => { for (;;); };"),
        ("natives", "typescript", "export const execute = () => JSON.stringify(Array(3e6).fill({ a: 1 })).length;"),
    ] {
        handler(&place, name, "timeout: 1500\n", language, code);
        let ran = run(&place, name, &[]);
        assert_eq!(ran.code(), 124, "{name}: {}", ran.block());
        assert!(ran.stderr().contains("error[timed-out]"), "{name}: {}", ran.block());
    }
}

#[test]
fn a_handler_is_held_to_what_its_tool_declares() {
    let place = Place::new();
    place.write("inside/file", "inside");
    place.write("file", "outside");
    let front = "parameters:\n  path: {type: string, description: P, required: true}\nsecurity:\n  required-permissions: [\"filesystem:read:inside\"]\n";
    handler(&place, "r", front, "r", "function(path) readLines(path, warn = FALSE)");
    handler(
        &place,
        "engine",
        front,
        "typescript",
        "export const execute = ({ path }, { platform }) => platform.fs.readFile(path, 'utf-8');",
    );
    for name in ["r", "engine"] {
        let ran = run(&place, name, &["path=inside/file"]);
        assert_eq!((ran.code(), ran.stdout().trim()), (0, "inside"), "{name}: {}", ran.block());
        for path in ["file", "inside/../file", "/etc/hostname/../passwd/../../root/.bashrc"] {
            let ran = run(&place, name, &[&format!("path={path}")]);
            assert_ne!(ran.code(), 0, "{name}: {}", ran.block());
            assert!(!ran.stdout().contains("outside"), "{name}: {}", ran.block());
        }
    }
}

#[test]
fn memory_is_limited() {
    let place = Place::new();
    let front = "resources: {max-memory: 100MB}\n";
    handler(&place, "python", front, "python", "def handler():\n    return len(bytearray(400_000_000))");
    handler(
        &place,
        "engine",
        front,
        "typescript",
        "export const execute = () => { const all = []; for (;;) all.push(new Array(1e6).fill(1)); };",
    );
    for name in ["python", "engine"] {
        let ran = run(&place, name, &[]);
        assert_ne!(ran.code(), 0, "{name}: {}", ran.block());
        let said = ran.stderr().to_lowercase();
        assert!(said.contains("memory"), "{name}: {}", ran.block());
    }
    handler(&place, "little", front, "python", "def handler():\n    print('alone')\n    return 'fits'");
    let ran = run(&place, "little", &[]);
    assert_eq!((ran.code(), ran.stdout().trim()), (0, "fits"), "{}", ran.block());
}

#[test]
fn a_missing_interpreter_is_told() {
    let place = Place::new();
    handler(&place, "in_r", "", "r", "function() 1");
    let ran = place.shell("PATH=$(dirname $(command -v cycod)) cycod run in_r");
    assert_eq!(ran.code(), 127, "{}", ran.block());
    assert!(ran.stderr().contains("error[program-missing]") && ran.stderr().contains("Rscript"), "{}", ran.block());
    let ran = place.shell("PATH=$(dirname $(command -v cycod)) cycod list");
    assert!(ran.stdout().contains("unavailable") || ran.stdout().contains("Rscript"), "{}", ran.block());
}

#[test]
fn scripts_start_what_their_list_has() {
    let place = Place::new();
    place.write("hello", "hello\n");
    let mimir = |name: &str, body: &str| {
        place.write(
            &format!(".mimir/tools/{name}.yml"),
            &format!("name: {name}\ndescription: A tool\nschema: {{type: object, properties: {{}}}}\npermissions:\n  allowlist: [\"cat hel*\"]\ncode: |\n  export async function execute(args, {{ platform }}) {{\n    {body}\n  }}\n"),
        );
    };
    mimir(
        "allowed",
        "const r = await platform.executor.execute({ command: 'cat', args: ['hello'] }); return `${r.exitCode} ${r.stdout}`;",
    );
    mimir("other", "return (await platform.executor.execute({ command: 'id', args: [] })).stdout;");
    mimir("shell", "return (await platform.executor.execute({ command: 'cat hello; id' })).stdout;");
    let ran = run(&place, "allowed", &[]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "0 hello\n"), "{}", ran.block());
    mimir(
        "asks",
        "const { permissions } = arguments[1]; return [await permissions.check('cat hello'), await permissions.check('id')];",
    );
    let asked: Value = serde_json::from_str(&run(&place, "asks", &[]).stdout()).expect("JSON");
    assert_eq!(asked, json!([true, false]));
    for name in ["other", "shell"] {
        let ran = run(&place, name, &[]);
        assert_eq!(ran.code(), 1, "{}", ran.block());
        assert!(ran.stderr().contains("allowlist") && !ran.stdout().contains("uid="), "{}", ran.block());
    }
}

#[test]
fn the_documents_tool_runs_the_tests_of_a_project() {
    let place = Place::new();
    let tool = include_str!("../../../cycod-definition/tests/mimir/run_tests.yml");
    place.write(".mimir/tools/run_tests.yml", tool);
    place.write("test/sum.mjs", "import assert from 'node:assert';\nassert.equal(1 + 2, 3);\n");
    place.write("test/bad.mjs", "import assert from 'node:assert';\nassert.equal(1 + 2, 4);\n");
    // What `yarn test PATTERN` does here: each file that fits is a test.
    place.write(
        "bin/yarn",
        "#!/bin/sh\nfor file in test/*\"$2\"*; do node \"$file\" 2>/dev/null && echo \"PASS $file\" || echo \"FAIL $file\"; done\n",
    );
    let run = |pattern: &str| {
        place.shell(&format!("chmod +x bin/yarn; PATH=$PWD/bin:$PATH cycod run run_tests pattern={pattern}"))
    };
    let ran = run("sum");
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "✓ All 1 tests passed!"), "{}", ran.block());
    assert!(ran.stderr().contains("Running tests matching: sum"), "{}", ran.block());
    let ran = run("mjs");
    assert!(ran.stdout().starts_with("✗ 1 tests failed (1 passed)"), "{}", ran.block());
}

#[test]
fn what_makes_code_of_types_works_and_keeps_its_lines() {
    let place = Place::new();
    let code = "enum Size { Small = 's', Large = 'l' }\n\nnamespace Units {\n  export const factor = 2;\n}\n\nclass Box {\n  \
                constructor(private readonly size: Size, public count = 1) {}\n\n  fill(): string {\n    if (this.count > 2) throw new Error('too many');\n    \
                return `${this.count * Units.factor} ${this.size}`;\n  }\n}\n\nexport function execute({ count }: { count: number }) {\n  \
                return new Box(Size.Large, count).fill();\n}";
    for (name, runtime) in [("in_engine", "engine"), ("in_node", "node")] {
        let front =
            format!("runtime: {runtime}\nparameters:\n  count: {{type: integer, description: C, default: 2}}\n");
        handler(&place, name, &front, "typescript", code);
        let ran = place.run(&["tool", "validate", name]);
        assert_eq!(ran.code(), 0, "{name}: {}", ran.block());
        let ran = run(&place, name, &[]);
        assert_eq!((ran.code(), ran.stdout().as_str()), (0, "4 l"), "{name}: {}", ran.block());
        let ran = run(&place, name, &["count=3"]);
        assert_eq!(ran.code(), 1, "{name}: {}", ran.block());
        // The code begins in the eleventh line.
        for line in [21, 27] {
            assert!(ran.stderr().contains(&format!(":{line}:")), "{name}: {line} in {}", ran.block());
        }
        assert!(ran.stderr().contains(&format!("at {name}.md:21\n")), "{name}: {}", ran.block());
    }
}

#[test]
fn functions_and_programs_of_handlers_are_no_templates() {
    let place = Place::new();
    let front = "parameters:\n  HOME: {type: string, description: H, default: given}\n  count: {type: integer, description: C, default: 2}\n";
    for (name, language, code, expect) in [
        ("in_r", "r", "function(HOME, count) paste('{HOME}', '{count}', HOME)", "{HOME} {count} given"),
        ("in_python", "python", "def handler(HOME, count):\n    return f'{HOME} {{HOME}} {count}'", "given {HOME} 2"),
        (
            "in_node",
            "javascript",
            "export const execute = ({ HOME }) => `${HOME} {HOME} {count}`;",
            "given {HOME} {count}",
        ),
        (
            "in_engine",
            "typescript",
            "export const execute = ({ HOME }) => `${HOME} {HOME} {count}`;",
            "given {HOME} {count}",
        ),
        (
            "in_perl",
            "perl",
            "my %h = (count => 7, HOME => 8);\nprint \"$h{count} $h{HOME} {count} {LANG} $ENV{LANG} $ENV{CYCOD_PARAM_count}\";",
            "7 8 {count} {LANG} C.UTF-8 2",
        ),
        (
            "in_ruby",
            "ruby",
            "HOME = 8\nprint \"#{HOME} {HOME} {count} #{ENV['CYCOD_PARAM_count']} \", [1].map{HOME}",
            "8 {HOME} {count} 2 [8]",
        ),
    ] {
        handler(&place, name, front, language, code);
        let ran = place.run(&["tool", "validate", name]);
        assert_eq!(ran.code(), 0, "{name}: {}", ran.block());
        let ran = run(&place, name, &[]);
        assert_eq!((ran.code(), ran.stdout().as_str()), (0, expect), "{name}: {}", ran.block());
    }
    // In a script of a tool file numbers may stand where they are no part of the language.
    place.tool(
        "script",
        "description: D\ntags: [read]\nshell: perl\nparameters:\n  count: {type: integer, description: C, default: 2}\n\
         script: |\n  my %h = (count => 7);\n  print \"$ENV{LANG} $h{count} {LANG} {WORKSPACE} \", {count} * 2;\n",
    );
    let ran = run(&place, "script", &[]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "C.UTF-8 7 {LANG} {WORKSPACE} 4"), "{}", ran.block());
}

#[test]
fn code_for_node_may_put_its_function_into_module_exports() {
    let place = Place::new();
    for (name, code) in [
        (
            "all",
            "const path = require('node:path');\nmodule.exports = async (args: { a: string }) => path.join('x', args.a);",
        ),
        ("one", "exports.execute = ({ a }: { a: string }) => `x/${a}`;"),
        ("object", "module.exports = { execute({ a }) { return 'x/' + a } };"),
    ] {
        let code = code.replace('\n', "\n  ");
        place.write(
            &format!(".mimir/tools/{name}.yml"),
            &format!("name: {name}\ndescription: D\nruntime: node\nschema:\n  type: object\n  properties:\n    a: {{type: string}}\n  required: [a]\ncode: |\n  {code}\n"),
        );
        let ran = place.run(&["tool", "validate", name]);
        assert_eq!(ran.code(), 0, "{name}: {}", ran.block());
        let ran = run(&place, name, &["a=b"]);
        assert_eq!((ran.code(), ran.stdout().as_str()), (0, "x/b"), "{name}: {}", ran.block());
    }
    // What offers nothing is told before it runs, and so is what is no JavaScript.
    for code in ["const execute = () => 1;", "module.exports = () => {"] {
        handler(&place, "wrong", "", "javascript", code);
        let ran = place.run(&["tool", "validate", "wrong"]);
        assert!(ran.code() == 1 && ran.stdout().contains("error[script-syntax]"), "{code}: {}", ran.block());
    }
}

#[test]
fn a_tool_that_wants_to_be_asked_about_can_be_allowed_by_its_name() {
    let place = Place::new();
    let tool = |name: &str, more: &str| {
        place.write(
            &format!(".mimir/tools/{name}.yml"),
            &format!("name: {name}\ndescription: D\nschema: {{type: object, properties: {{n: {{type: integer}}}}}}\npermissions: {{autoAccept: false}}\n{more}code: |\n  export const execute = () => 'done'\n"),
        );
    };
    tool("run_tests", "");
    tool("always", "security: {approval: always}\n");
    place.tool("uses", "description: D\ntags: [run]\nsteps: [{name: a, use-tool: run_tests}]\n");
    let asks = |name: &str, more: &[&str]| {
        let ran = place.run(&[&["tool", "why", name], more].concat());
        let said = ran.stdout();
        let answer = said.lines().find_map(|line| line.strip_prefix("a model in a host (mcp): "));
        match answer.unwrap_or_else(|| panic!("{}", ran.block())) {
            "allowed" => false,
            "asked about" => true,
            other => panic!("{other}: {}", ran.block()),
        }
    };
    let add = |rule: &str, scope: &str| {
        let ran = place.run(&["policy", "add", "allow", rule, scope, "--yes"]);
        assert_eq!(ran.code(), 0, "{}", ran.block());
    };
    // What is broader than its name, or comes from the project, does not speak of it.
    for rule in ["*", "run", "run_*", "tool:ci"] {
        add(rule, "--user");
    }
    add("run_tests", "--local");
    assert!(asks("run_tests", &["n=1"]));
    add("run_tests(n=1)", "--user");
    assert!(!asks("run_tests", &["n=1"]) && asks("run_tests", &["n=2"]));
    add("run_tests", "--user");
    assert!(!asks("run_tests", &["n=2"]));
    add("always", "--user");
    assert!(asks("always", &[]), "what its author holds to is asked about whatever rules say");
    assert!(!asks("uses", &[]), "the rule is about the tool wherever it runs");
    assert!(
        place.run(&["tool", "info", "run_tests"]).stdout().contains("unless your own policy allows it by its name")
    );
}

#[test]
fn the_guides_tools_run_the_tests_of_a_project() {
    let page = include_str!("../../../../docs/guide/run-tests.md");
    let tools: Vec<&str> = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
    let [document, corrected] = tools[..] else { panic!("two tools") };
    assert_eq!(document, include_str!("../../../cycod-definition/tests/mimir/run_tests.yml").trim_end());
    let place = Place::new();
    // What Vitest says, whose first word after `test` is the pattern.
    place.write(
        "bin/yarn",
        "#!/bin/sh\ncase $2 in\n\
         sum) printf ' \\342\\235\\257 sum.test.ts (3)\\n   \\303\\227 adds\\n\\n FAIL  sum.test.ts > adds\\n FAIL  sum.test.ts > adds nothing\\n\\n'\n\
         printf ' Test Files  1 failed (1)\\n      Tests  2 failed | 1 passed (3)\\n'; exit 1;;\n\
         ok) printf '\\033[2m      Tests \\033[22m \\033[32m4 passed\\033[39m (4)\\n'; [ \"$3\" != --coverage ] || echo covered;;\n\
         none) echo 'No test files found, exiting with code 1'; exit 1;;\n\
         *) echo nothing at all;;\nesac\n",
    );
    let run = |more: &str| place.shell(&format!("chmod +x bin/yarn; PATH=$PWD/bin:$PATH cycod run run_tests {more}"));
    place.write(".mimir/tools/run_tests.yml", document);
    for pattern in ["sum", "none"] {
        let ran = run(&format!("pattern={pattern}"));
        assert_eq!(ran.code(), 0, "as the page says: {}", ran.block());
    }
    let ran = run("pattern=none");
    assert_eq!(ran.stdout(), "✓ All 0 tests passed!", "as the page says: {}", ran.block());
    let ran = run("pattern=ok coverage=true");
    assert!(ran.code() == 1 && ran.stderr().contains("allowlist"), "as the page says: {}", ran.block());

    place.write(".mimir/tools/run_tests.yml", corrected);
    let ran = place.run(&["tool", "validate", "run_tests"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    for more in ["pattern=ok", "pattern=ok coverage=true"] {
        let ran = run(more);
        assert_eq!((ran.code(), ran.stdout().as_str()), (0, "✓ All 4 tests passed!"), "{}", ran.block());
    }
    let ran = run("pattern=sum");
    assert_eq!(ran.code(), 1, "{}", ran.block());
    assert!(
        ran.stderr().contains("2 tests failed (1 passed)\nsum.test.ts > adds\nsum.test.ts > adds nothing\n"),
        "{}",
        ran.block()
    );
    for (pattern, why) in [("none", "No test files found"), ("other", "no test ran for other")] {
        let ran = run(&format!("pattern={pattern}"));
        assert!(ran.code() == 1 && ran.stderr().contains(why), "{}", ran.block());
    }
}

/// Pictures that functions return, or draw and do not return: the media type, the language and the code.
const PICTURES: [(&str, &str, &str); 14] = [
    (
        "image/png",
        "python",
        "import matplotlib.pyplot as plt\ndef handler():\n    figure, axes = plt.subplots()\n    axes.plot([1, 2])\n    return figure",
    ),
    ("image/png", "python", "import matplotlib.pyplot as plt\ndef handler():\n    return plt.subplots(2)[1]"),
    ("image/png", "python", "def handler():\n    import matplotlib.pyplot as plt\n    plt.plot([1, 2])"),
    ("image/svg+xml", "python", "def handler():\n    import matplotlib.pyplot as plt\n    return plt.subplots()[0]"),
    ("image/png", "python", "from PIL import Image\ndef handler():\n    return Image.new('RGBA', (30, 30))"),
    ("image/jpeg", "python", "from PIL import Image\ndef handler():\n    return Image.new('RGBA', (30, 30))"),
    ("image/png", "python", "def handler():\n    return b'\\x89PNG\\r\\n\\x1a\\n\\x00\\xff rest'"),
    (
        "image/png",
        "r",
        "function() ggplot2::ggplot(data.frame(x = 1:3, y = 1:3), ggplot2::aes(x, y)) + ggplot2::geom_point()",
    ),
    ("image/png", "r", "function() plot(1:3)"),
    ("image/svg+xml", "r", "function() barplot(c(a = 1, b = 2))"),
    ("image/jpeg", "r", "function() { plot(1:3); invisible(3) }"),
    ("image/png", "r", "function() { png(f <- tempfile()); plot(1); dev.off(); readBin(f, 'raw', file.size(f)) }"),
    ("image/png", "javascript", "export const execute = () => Buffer.from('89504e470d0a1a0a00ff', 'hex');"),
    ("image/svg+xml", "javascript", "export const execute = () => '<?xml version=\"1.0\"?><svg/>';"),
];

#[test]
fn a_picture_is_returned_by_returning_it() {
    let place = Place::new();
    for (number, (media_type, language, code)) in PICTURES.iter().enumerate() {
        handler(&place, &format!("picture{number}"), &format!("produces: {media_type}\n"), language, code);
    }
    let begins = |media_type: &str| match media_type {
        "image/png" => "89504e470d0a1a0a",
        "image/jpeg" => "ffd8ff",
        // `<?xml`
        _ => "3c3f786d6c",
    };
    // In a file: Debian's Python is the one with the libraries.
    for (number, (media_type, language, _)) in PICTURES.iter().enumerate() {
        let script = format!("PATH=/usr/bin:$PATH cycod run picture{number} > picture && head -c 8 picture | xxd -p");
        let ran = place.shell(&script);
        assert!(ran.stdout().starts_with(begins(media_type)), "picture {number} in {language}: {}", ran.block());
    }
    // Over MCP, one after another in the same processes.
    let mut client = Client::in_path(&place, "/usr/bin", &[]);
    for (number, (media_type, language, _)) in PICTURES.iter().enumerate() {
        let answer = client.call(&format!("picture{number}"), json!({}));
        let content = &answer["content"][0];
        if media_type.ends_with("xml") {
            let text = content["resource"]["text"].as_str().or(content["text"].as_str()).unwrap_or_default();
            let is_image = content["type"] == "image" && content["mimeType"] == *media_type;
            assert!(is_image || text.starts_with("<?xml"), "picture {number} in {language}: {answer}");
            continue;
        }
        assert_eq!((&content["type"], &content["mimeType"]), (&json!("image"), &json!(media_type)), "{answer}");
        let data =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, content["data"].as_str().unwrap());
        let hex: String = data.expect("Base64").iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        assert!(hex.starts_with(begins(media_type)), "picture {number} in {language}: {hex}");
    }
}

#[test]
fn what_is_no_picture_is_said() {
    let place = Place::new();
    let says = |name: &str, language: &str, code: &str| {
        handler(&place, name, "produces: image/png\n", language, code);
        let ran = run(&place, name, &[]);
        assert_eq!((ran.code(), ran.stdout().as_str()), (1, ""), "{}", ran.block());
        ran.stderr()
    };
    assert!(
        says("a", "python", "def handler():\n    return {'a': 1}").contains("`dict`, and the tool produces image/png")
    );
    assert!(says("b", "python", "def handler():\n    pass").contains("drew nothing"));
    assert!(says("c", "r", "function() 3").contains("class numeric and drew nothing"));
    assert!(says("d", "javascript", "export const execute = () => ({a: 1});").contains("type Object"));
    // Who says that it failed has failed, and not drawn something wrong.
    for (name, language, code) in [
        ("e", "python", "def handler():\n    return {'success': False, 'error': 'too far'}"),
        ("f", "r", "function() list(success = FALSE, error = 'too far')"),
        ("g", "javascript", "export const execute = () => ({success: false, error: 'too far'});"),
    ] {
        assert!(says(name, language, code).contains("too far"), "{language}");
    }
}
