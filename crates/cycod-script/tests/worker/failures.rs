use cycod_script::protocol::{Failure, LogLevel, ScriptLanguage, ToWorker};
use expect_test::expect;

use crate::host::{Host, call, whole, why_not};

#[test]
fn tell_the_line_of_the_file() {
    let code = "interface A {\n  b: string;\n}\nfunction inner(a: A): never {\n  throw new RangeError(a.b);\n}\nexport async function execute(args: any) {\n  await null;\n  inner({ b: 'deep' });\n}\n";
    let mut call = whole(code);
    call.line = 20;
    let failure = Host::new().carry_out(call, &mut |_| unreachable!()).expect_err("it throws");
    expect![[r#"
        Failure {
            message: "RangeError: deep",
            trace: Some(
                "    at inner (probe:24:24)\n    at execute (probe:28:3)",
            ),
            line: Some(
                24,
            ),
        }
    "#]]
    .assert_debug_eq(&failure);
}

#[test]
fn are_told_by_what_was_thrown() {
    assert_eq!(why_not("throw new Error('plain')"), "plain");
    assert_eq!(why_not("throw new Error()"), "an error without a message was thrown");
    assert_eq!(why_not("throw 'text'"), "text");
    assert_eq!(why_not("throw { code: 7 }"), "{code: 7} was thrown, which is no Error");
    assert_eq!(why_not("throw undefined"), "undefined was thrown, which is no Error");
    assert_eq!(why_not("throw null"), "`null` was thrown, which is also what happens when no memory is left");
    assert_eq!(why_not("null.x"), "TypeError: cannot read property 'x' of null");
    assert_eq!(
        why_not("throw Object.create(Error.prototype, { message: { get() { throw 1 } } })"),
        "what was thrown cannot be described"
    );
    assert!(why_not("throw new Error('x'.repeat(1e7))").len() < 70_000);
    let failure = Host::new().run("throw new Error('outer', { cause: new Error('inner') })").expect_err("it throws");
    assert!(failure.trace.expect("it has one").contains("caused by inner"));
}

#[test]
fn say_what_node_has_and_the_engine_does_not() {
    assert_eq!(
        why_not("return process.env.HOME"),
        "ReferenceError: process is not defined: `process` is a part of Node.js, which this engine is not; `runtime: node` is"
    );
    assert!(why_not("require('fs')").contains("`runtime: node`"));
}

#[test]
fn of_promises_that_nobody_awaits_are_told() {
    assert_eq!(
        why_not("Promise.reject(new Error('lost')); await new Promise(() => {})"),
        "a promise was rejected that nothing awaits: lost"
    );
    assert_eq!(
        why_not(
            "setTimeout(async () => { throw new Error('late') }, 1); await new Promise(go => setTimeout(go, 1000))"
        ),
        "a promise was rejected that nothing awaits: late"
    );
    assert_eq!(
        why_not(
            "setTimeout(() => { throw new Error('in a timer') }, 1); await new Promise(go => setTimeout(go, 1000))"
        ),
        "in a timer"
    );
    let spiteful = "const spite = new Error(); Object.defineProperty(spite, 'message', { get() { Promise.reject(1); return 'spite' } });
        Promise.reject(spite); await new Promise(() => {})";
    assert_eq!(why_not(spiteful), "a promise was rejected that nothing awaits: spite");
    // One that is handled later is not lost.
    assert_eq!(
        why_not(
            "const p = Promise.reject(new Error('kept')); await null; try { await p } catch { throw new Error('caught') }"
        ),
        "caught"
    );
}

#[test]
fn to_settle_are_noticed_at_once() {
    let stuck =
        "the code waits for a promise that nothing can settle: no timer runs, and nothing was asked of the host";
    assert_eq!(why_not("await new Promise(() => {})"), stuck);
    let failure =
        Host::new().carry_out(whole("await new Promise(() => {}); export default () => 1"), &mut |_| unreachable!());
    assert_eq!(failure.expect_err("it is stuck").message, stuck);
    assert_eq!(why_not("const t = setTimeout(() => {}, 50); clearTimeout(t); await new Promise(() => {})"), stuck);
}

#[test]
fn to_read_code_are_told_with_the_line() {
    let mut call = whole("@a class A {}\nexport default () => 1");
    call.line = 5;
    let failure = Host::new().carry_out(call, &mut |_| unreachable!()).expect_err("it is no code");
    assert_eq!(failure.line, Some(5));
    assert!(failure.message.starts_with("line 5, column 1: the engine knows no decorators"), "{failure:?}");
    let mut call = whole("export default (a: string) => 1");
    call.language = Some(ScriptLanguage::JavaScript);
    let failure = Host::new().carry_out(call, &mut |_| unreachable!()).expect_err("it is no code");
    assert_eq!(failure.message, "line 1, column 18: expected `,` or `)` but found `:`");
}

#[test]
fn of_code_that_was_made_have_the_places_of_the_file() {
    let code = "enum Color { Red, Green, Blue }\n\ninterface Args {\n  color: Color;\n}\n\nclass Paint {\n  constructor(readonly color: Color) {}\n\n  \
                mix(): never {\n    throw new Error(Color[this.color]);\n  }\n}\n\nexport function execute(args: Args) {\n  return [\n    1,\n    \
                new Paint(Color.Green).mix(),\n  ];\n}\n";
    let mut call = whole(code);
    call.line = 5;
    let failure = Host::new().carry_out(call, &mut |_| unreachable!()).expect_err("it throws");
    assert_eq!((failure.message.as_str(), failure.line), ("Green", Some(15)), "{failure:?}");
    let trace = failure.trace.expect("it has one");
    let places: Vec<&str> = trace.lines().filter_map(|frame| frame.rsplit(['/', '(', ' ']).next()).collect();
    assert!(places[0].contains(":15:") && places[1].contains(":22:"), "{trace}");
}

#[test]
fn do_not_end_the_worker() {
    let mut host = Host::new();
    for _ in 0..3 {
        assert!(host.run("throw new Error('again')").is_err());
        assert_eq!(host.run("return 1"), Ok(1.into()));
    }
}

#[test]
fn of_what_is_left_undone_are_a_warning() {
    let mut host = Host::new();
    let ended = {
        let id = host.begin(call("context.platform.fs.readFile('a'); return 'done'"));
        let mut heard = Vec::new();
        loop {
            match host.receive() {
                cycod_script::protocol::FromWorker::Result { id: of, .. } if of == id => break heard,
                other => heard.push(other),
            }
        }
    };
    assert_eq!(ended.len(), 2, "{ended:?}");
    let cycod_script::protocol::FromWorker::Log { log, .. } = &ended[1] else { panic!("{ended:?}") };
    assert_eq!(log.level, LogLevel::Warn);
    // A reply that comes too late is of no use, and does no harm.
    let late = cycod_script::protocol::HostReply { to: 1, answer: Ok("late".into()) };
    host.send(&ToWorker::Reply { id: 1, reply: late });
    assert_eq!(host.run("return 2"), Ok(2.into()));
}

#[test]
fn name_no_place_they_do_not_know() {
    let failure = Host::new().run("throw 'text'").expect_err("it throws");
    assert_eq!(failure, Failure { message: "text".to_owned(), trace: None, line: None });
}
