use std::time::{Duration, Instant};

use serde_json::json;

use crate::host::{Host, call};

#[test]
fn of_time_end_at_the_deadline() {
    let mut host = Host::new();
    let began = Instant::now();
    for body in [
        "for (;;) {}",
        "for (;;) { try { for (;;) {} } catch {} }",
        "try { for (;;) {} } finally { for (;;) {} }",
        "const again = (): any => Promise.resolve().then(again); await again()",
        "while (true) await null",
        "for (;;) new Promise(() => {})",
        "for (;;) { new Promise(() => {}); new Promise(() => {}) }",
        "setInterval(() => {}, 0); await new Promise(() => {})",
        "await new Promise((go) => setTimeout(go, 1e9))",
        "await platform.fs.readFile('never answered')",
        "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
        "return { get a() { for (;;) {} } }",
        "throw { get message() { for (;;) {} }, toString() { for (;;) {} } }",
    ] {
        let mut call = call(body);
        call.timeout = Some(100);
        let id = host.begin(call);
        let failure = loop {
            match host.receive() {
                cycod_script::protocol::FromWorker::Failure { id: of, failure } if of == id => break failure,
                cycod_script::protocol::FromWorker::Ask { .. } => {}
                other => panic!("{body}: {other:?}"),
            }
        };
        assert_eq!(failure.message, "stopped after 100 ms, which is all the time it has", "{body}");
    }
    assert_eq!(host.run("return 'well'"), Ok(json!("well")));
    assert!(began.elapsed() < Duration::from_secs(120), "a loop was not stopped");
}

#[test]
fn of_memory_are_failures() {
    let mut host = Host::new();
    for body in [
        "const all: any[] = []; for (;;) all.push(new Array(100000).fill(0))",
        "let text = 'x'; for (;;) text += text + Math.random()",
        "return 'x'.repeat(2 ** 29)",
        "return new Uint8Array(2 ** 31)",
        "const map = new Map(); for (let i = 0; ; i++) map.set(i, { i })",
        "let a: any = {}; for (;;) a = { a }",
        "return JSON.stringify(Array(3e6).fill({ a: 'x'.repeat(20) }))",
        "const all: any[] = []; for (;;) all.push(new TextEncoder().encode('x'.repeat(100000)))",
    ] {
        let mut call = call(body);
        call.memory = Some(32 << 20);
        let failure = host.carry_out(call, &mut |_| unreachable!()).expect_err(body);
        let is_told = [
            "more memory than the 32 MiB",
            "no memory",
            "string too long",
            "invalid array",
            "invalid string length",
            "invalid length",
        ];
        assert!(is_told.iter().any(|told| failure.message.contains(told)), "{body}: {failure:?}");
        assert_eq!(host.run("return 'well'"), Ok(json!("well")), "{body}");
    }
}

#[test]
fn of_depth_are_failures() {
    let mut host = Host::new();
    for body in [
        "const f = (): any => f(); return f()",
        "let a: any = []; for (let i = 0; i < 10000; i++) a = [a]; return a",
        "let a: any = []; for (let i = 0; i < 200000; i++) a = [a]; return JSON.stringify(a)",
        "return JSON.parse('['.repeat(100000) + ']'.repeat(100000))",
        "let a: any = {}; for (let i = 0; i < 100000; i++) a = { a }; return structuredClone(a)",
        "return eval('('.repeat(100000) + ')'.repeat(100000))",
        "return new RegExp('('.repeat(100000) + ')'.repeat(100000))",
        "let p: any = 1; for (let i = 0; i < 100000; i++) p = new Proxy({}, { get: () => p.x }); return p.x",
        "await platform.fs.exists(JSON.parse('['.repeat(150) + ']'.repeat(150)))",
    ] {
        let failure = host.carry_out(call(body), &mut |_| unreachable!()).expect_err(body);
        assert!(!failure.message.is_empty(), "{body}");
        assert_eq!(host.run("return 'well'"), Ok(json!("well")), "{body}");
    }
}

#[test]
fn of_timers_and_logs_are_bounded() {
    let mut host = Host::new();
    let failure = host.run("for (let i = 0; i < 20000; i++) setTimeout(() => {}, 1e6)").expect_err("they are too many");
    assert_eq!(failure.message, "RangeError: 10000 timers are running, and no more are allowed");
    host.run("console.log('x'.repeat(1e7))").expect("it is only long");
    assert!(host.log[0].message.len() < 70_000);
}
