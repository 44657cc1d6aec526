use cycod_definition::Runtime;
use cycod_process::Ending;
use cycod_script::protocol::{FromWorker, HostReply, Log, LogLevel, ReplyError, ToWorker};
use expect_test::{Expect, expect};
use proptest::{prelude::Strategy as _, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::support::*;

fn node() -> Worker {
    Worker::start(Runtime::Node)
}

#[test]
fn values_of_node_become_json() {
    let mut worker = node();
    assert!(worker.version.starts_with("Node.js "), "{}", worker.version);
    let mut check = |code: &str, expected: Value| {
        let value = worker.value(&format!("export function execute() {{\n{code}\n}}"), json!({}));
        assert_eq!(value, expected, "{code}");
    };
    check("", json!(null));
    check("return null", json!(null));
    check("return 'a\"b\\n\\u00e9\\u{1F600}\\0'", json!("a\"b\né😀\0"));
    check(
        "return [1, 2.5, -0.1 - 0.2, true, null, undefined, 'x', {a: undefined}]",
        json!([1, 2.5, -0.1 - 0.2, true, null, null, "x", {}]),
    );
    check("return [NaN, Infinity, -Infinity, -0]", json!([null, "Infinity", "-Infinity", 0]));
    check("return [2n ** 52n, -5n, 2n ** 64n]", json!([1_i64 << 52, -5, "18446744073709551616"]));
    check("return new Date(Date.UTC(2024, 4, 1))", json!("2024-05-01T00:00:00.000Z"));
    check(
        "return [new Set([1, 2]), new Map([['a', new Set(['b'])]]), new Map([[1, 2]])]",
        json!([[1, 2], {"a": ["b"]}, [[1, 2]]]),
    );
    check(
        "return [Buffer.from('café'), new TextEncoder().encode('é').buffer, new Float64Array([1.5, 2])]",
        json!(["café", "é", [1.5, 2]]),
    );
    check(
        "return {e: Object.assign(new TypeError('no'), {code: 'E'}), r: /a+/g, u: new URL('http://x/')}",
        json!({"e": {"name": "TypeError", "message": "no", "code": "E"}, "r": "/a+/g", "u": "http://x/"}),
    );
    check("return Object.assign(Object.create(null), {a: 1, f() {}})", json!({"a": 1}));
    check("return Array(200).fill('[')", json!(vec!["["; 200]));
    check("return {__proto__: null, ['__proto__']: 1}", json!({"__proto__": 1}));
}

#[test]
fn json_comes_back_from_node_as_it_went() {
    let mut worker = node();
    let strategy = proptest::collection::vec(any_json(), 400);
    let mut values =
        Value::from(strategy.new_tree(&mut TestRunner::deterministic()).expect("there are values").current());
    let mut back = worker.value("export default ({x}) => x", json!({ "x": values }));
    // JavaScript has no other numbers than doubles.
    plain_numbers(&mut values);
    plain_numbers(&mut back);
    assert_eq!(back, values);
}

fn failure(worker: &mut Worker, code: &str, args: Value, expected: &Expect) {
    let failure = worker.failure(code, args);
    let line = failure.line.map_or("no line".to_owned(), |line| format!("line {line}"));
    expected.assert_eq(&format!("{}\n-- {line}\n{}\n", failure.message, failure.trace.unwrap_or_default()));
}

#[test]
fn errors_of_node_say_where_in_the_file() {
    let mut worker = node();
    let nested = "const helper = (x) => {\n  return x.a.b;\n};\n\nexport async function execute({x}) {\n  await null;\n  return helper(x);\n}";
    failure(
        &mut worker,
        nested,
        json!({"x": {}}),
        &expect![[r#"
        TypeError: Cannot read properties of undefined (reading 'b')
        -- line 12
        at helper (<tool>:12:14)
        at execute (<tool>:17:10)
    "#]],
    );
    failure(
        &mut worker,
        "export function execute() {\n  return (;\n}",
        json!({}),
        &expect![[r#"
        the code is not JavaScript: Unexpected token ';'
        -- line 12

    "#]],
    );
    failure(
        &mut worker,
        "function execute() {}",
        json!({}),
        &expect![[r#"
        the code exports nothing, and must export a function `execute(args, context)`
        -- no line

    "#]],
    );
    failure(
        &mut worker,
        "export const other = 1",
        json!({}),
        &expect![[r#"
        the code exports `other`, and must export a function `execute(args, context)`
        -- no line

    "#]],
    );
    failure(
        &mut worker,
        "export default () => {\n  throw new Error('worse', { cause: new Error('first') });\n}",
        json!({}),
        &expect![[r#"
        worse
        -- line 12
        at default (<tool>:12:9)
        caused by Error: first
    "#]],
    );
    let not_found = format!("cannot find the module `no-such-module` from {}", utf8(worker.directory.path()));
    for (code, says) in [
        ("import 'no-such-module';\nexport default () => 1", &*not_found),
        ("export default () => process.exit(3)", "`process.exit(3)` is not for a handler"),
        (
            "export default () => new Promise(() => setTimeout(() => process.exit(), 1))",
            "`process.exit()` is not for a handler",
        ),
        ("export default () => new Promise(() => setTimeout(() => { throw new Error('later') }, 1))", "later"),
        (
            "export default () => { Promise.reject(new Error('nobody waits')); return new Promise(() => {}) }",
            "nobody waits",
        ),
        ("export default () => { throw 'text' }", "text"),
        ("export default () => { throw null }", "null was thrown"),
        ("export default () => execute; const execute = () => 1", "the result is a function"),
        ("export default () => ({ a: Promise.resolve(1) })", "`a` in the result is a promise"),
        ("export default () => { const x = []; x.push(x); return x }", "circular"),
        ("export default () => { let x = 1; for (let i = 0; i < 300; i++) x = [x]; return x }", "nested more than 100"),
        (
            "export default () => { let x = 1; for (let i = 0; i < 100000; i++) x = [x]; return x }",
            "nested more than 100",
        ),
        ("export default () => ({ a: Buffer.from([255]) })", "no text in UTF-8"),
        ("export default () => ['\\ud800']", "half of a surrogate"),
        ("export default () => 'x'.repeat(70 * 2 ** 20)", "70.0 MiB"),
        ("export default function f() { return f() }", "RangeError"),
        ("export default () => { throw Object.assign(new Error('x'), { stack: 5 }) }", "x"),
    ] {
        let failure = worker.failure(code, json!({}));
        assert!(failure.message.contains(says), "{code}: {failure:?}");
    }
    assert_eq!(worker.value("export default () => 'still here'", json!({})), json!("still here"));
}

#[test]
fn node_keeps_what_calls_leave_and_nothing_disturbs_the_channel() {
    let mut worker = node();
    let directory = utf8(worker.directory.path());
    let counter = "let count = 0;\nglobalThis.seen = 0;\nexport const execute = () => (seen = ++count);";
    assert_eq!([1, 2, 3].map(|_| worker.value(counter, json!({}))), [json!(1), json!(2), json!(3)]);
    assert_eq!(
        worker.value("export default { factor: 2, execute({x}) { return [seen, this.factor * x] } }", json!({"x": 4})),
        json!([3, 8])
    );
    assert_eq!(
        worker.value(
            "const path = require('node:path');\nmodule.exports = async ({x}) => path.join('a', x)",
            json!({"x": "b"})
        ),
        json!(format!("a{}b", std::path::MAIN_SEPARATOR))
    );
    for code in [
        "exports.execute = async ({x}) => x;",
        "module.exports = { execute({x}) { return x } };",
        "module.exports = function run({x}) { return x };\nmodule.exports.other = 1;",
        "module.exports = Object.assign(() => 'the function', { execute: ({x}) => x });",
        "Object.assign(exports, { default: ({x}) => x });",
        // What no module of the other kind may hold.
        "var arguments = 1;\nif (!module) return;\nmodule.exports = ({x}) => x;",
        "let await = 1;\nwith ({}) {}\nexports.execute = ({x}) => x;",
    ] {
        assert_eq!(worker.value(code, json!({"x": 4})), json!(4), "{code}");
    }
    let failure = worker.failure("module.exports = async () => {\n  throw new Error('no');\n};", json!({}));
    assert_eq!((failure.message.as_str(), failure.line), ("no", Some(LINE + 1)), "{failure:?}");
    let files = "export default async (args, { platform: { fs } }) => {\n  await fs.ensureDir(fs.join('made', 'deep'));\n  \
                 await fs.ensureDir('made/deep');\n  const was = await fs.exists('made/deep');\n  await fs.remove('made');\n  \
                 await fs.remove('made');\n  return [was, await fs.exists('made')];\n}";
    assert_eq!(worker.value(files, json!({})), json!([true, false]));

    let mut call = worker.call("import process from 'node:process';\nexport default () => { const where = process.cwd(); process.chdir('/'); return [where, process.env.CYCOD_TEST_NEW, process.env.CYCOD_TEST_OLD]; }", json!({}));
    let both = [("CYCOD_TEST_NEW", "né w"), ("CYCOD_TEST_OLD", "else")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    call.context.environment = Some(both.into());
    assert_eq!(worker.answer(call).expect("it works"), json!([directory, "né w", "else"]));
    let after = "export default () => [process.cwd(), process.env.CYCOD_TEST_NEW, process.env.CYCOD_TEST_OLD]";
    assert_eq!(worker.value(after, json!({})), json!([directory, null, "from the start"]));

    // Modules beside the tool, below the workspace, and brought in while it runs.
    let tools = worker.directory.path().join("tools");
    std::fs::create_dir_all(worker.directory.path().join("node_modules/near")).expect("it can be made");
    std::fs::create_dir(&tools).expect("it can be made");
    for (file, text) in [
        ("node_modules/near/package.json", r#"{"name": "near", "exports": "./near.mjs"}"#),
        ("node_modules/near/near.mjs", "export default 'near'; export const other = 1;"),
        ("tools/beside.mjs", "export const double = (x) => x * 2;"),
        ("tools/data.json", r#"{"a": 1}"#),
    ] {
        std::fs::write(worker.directory.path().join(file), text).expect("it can be written");
    }
    let code = "import near, { other } from 'near';\nimport { double } from './beside.mjs';\nimport data from './data.json' with { type: 'json' };\n\
                export default async () => [near, other, double(4), data, (await import('./beside.mjs')).double(1), import.meta.filename, new Error().stack.includes('tool.md:14:')];";
    let mut call = worker.call(code, json!({}));
    call.file = Some(utf8(&tools.join("tool.md")));
    assert_eq!(
        worker.answer(call).expect("it works"),
        json!(["near", 1, 8, {"a": 1}, 2, utf8(&tools.join("tool.md")), true])
    );
    assert_eq!(worker.value("import near from 'near';\nexport default () => near", json!({})), json!("near"));

    let noise = "import { execSync, spawnSync } from 'node:child_process';\n\
                 import fs from 'node:fs';\n\
                 export default async (args, { logger, signal, platform }) => {\n\
                     console.log('printed'); console.error('to the error stream');\n\
                     logger.info('told %d', 1); logger.warn('warned'); logger.error({a: 1}); logger.debug('small');\n\
                     CHILDREN\n\
                     fs.writeSync(1, 'straight out\\n');\n\
                     await platform.fs.writeFile('x.txt', 'text');\n\
                     const seen = [fs.readFileSync(0, 'utf-8'), signal.aborted, await platform.fs.readFile('x.txt'), await platform.fs.exists('y.txt')];\n\
                     setTimeout(() => console.log('after the call'), 30);\n\
                     setTimeout(() => { throw new Error('too late') }, 30);\n\
                     return seen;\n\
                 };";
    let children = if cfg!(windows) {
        "execSync('echo from a child', { stdio: 'inherit' }); spawnSync('cmd', ['/c', 'echo another'], { stdio: 'inherit' });"
    } else {
        "execSync('echo from a child; echo garbage >&3; cat <&4; true', { stdio: 'inherit' });
         spawnSync('sh', ['-c', 'echo garbage >&3'], { stdio: 'inherit' });"
    };
    let call = worker.call(&noise.replace("CHILDREN", children), json!({}));
    let answer = worker.try_answer(call).expect("the worker goes on");
    assert_eq!(answer.result.expect("it works"), json!(["", false, "text", false]));
    let log = |level, message: &str| Log { level, message: message.to_owned() };
    assert_eq!(
        answer.logs,
        [
            log(LogLevel::Info, "told 1"),
            log(LogLevel::Warn, "warned"),
            log(LogLevel::Error, "{ a: 1 }"),
            log(LogLevel::Debug, "small")
        ]
    );
    for printed in ["printed", "to the error stream", "from a child", "straight out", "after the call", "too late"] {
        worker.logs(printed);
    }
    assert_eq!(
        worker.value(
            "export default () => { for (let i = 0; i < 20000; i++) console.log('x'.repeat(100)); return 'done' }",
            json!({})
        ),
        json!("done")
    );
    let big = "é\"\n".repeat(3 << 20);
    assert_eq!(worker.value("export default ({x}) => x", json!({ "x": big })), json!(big));

    let mut call = worker.call("export default (args, { signal }) => new Promise((done) => { const end = () => done(signal.reason.name); signal.aborted ? end() : signal.addEventListener('abort', end) })", json!({}));
    call.timeout = Some(20);
    assert_eq!(worker.answer(call).expect("it works"), json!("TimeoutError"));
    assert_eq!(worker.leave(), Ending::Exited(0));

    let mut worker = node();
    let call = worker.call("export default () => process.reallyExit(9)", json!({}));
    assert!(worker.try_answer(call).is_none());
    assert_eq!(worker.ends(), Ending::Exited(9));
}

#[test]
fn node_asks_the_host_for_what_the_host_decides() {
    let mut worker = node();
    let code = "export async function execute(args, { platform, llm }) {\n\
                    const both = await Promise.allSettled([platform.executor.execute('echo', ['a']), llm.complete('hi')]);\n\
                    return [both[0].value.stdout, both[1].reason.message, both[1].reason.code];\n\
                }";
    let call = worker.call(code, json!({}));
    let id = worker.send(call);
    for _ in 0..2 {
        let Ok(Some(FromWorker::Ask { id: asked, ask })) = worker.heard() else { panic!("it asks") };
        assert_eq!(asked, id);
        let answer = match ask.what.as_str() {
            "executor.execute" => {
                assert_eq!(ask.with, [json!({"command": "echo", "args": ["a"]})]);
                Ok(json!({"stdout": "a\n"}))
            }
            "llm.complete" => Err(ReplyError { message: "nobody".to_owned(), code: Some("unavailable".to_owned()) }),
            other => panic!("{other} is no part of this"),
        };
        worker.tell(&ToWorker::Reply { id, reply: HostReply { to: ask.number, answer } });
    }
    let Ok(Some(FromWorker::Result { value, .. })) = worker.heard() else { panic!("it answers") };
    assert_eq!(value, json!(["a\n", "nobody", "unavailable"]));
}

#[test]
fn the_last_call_of_node_is_finished_when_nothing_more_is_said() {
    let worker = node();
    let call = worker.call("export default async (args, { llm }) => { await new Promise((done) => setTimeout(done, 100)); return llm.complete('').catch(() => 'late') }", json!({}));
    assert_eq!(worker.last_answer(call), json!("late"));
}
