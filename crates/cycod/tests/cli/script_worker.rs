//! The process in which scripts run, for real: the tests are its host, and it is as powerless as it ever is.

use std::{
    fs,
    io::PipeWriter,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use cycod_process::{Conversation, Ending, ProcessLimits, Program};
use cycod_script::protocol::{
    self, CallContext, FrameReader, FromWorker, HostReply, MessageError, ToWorker, WorkerCall,
};
use serde_json::{Map, Value, json};

/// How long a worker may be busy before a test gives up; only a failure takes that long.
const LONGEST: Duration = Duration::from_secs(120);

struct Worker {
    conversation: Conversation,
    input: PipeWriter,
    heard: Receiver<Result<Option<FromWorker>, MessageError>>,
}

/// What came of a call.
#[derive(Debug, PartialEq)]
enum Outcome {
    Result(Value),
    Failure(String),
    /// It was not over in time.
    Late,
    /// The process ended.
    Gone,
}

impl Worker {
    fn start(arguments: &[&str]) -> Self {
        let mut program = Program::new(env!("CARGO_BIN_EXE_cycod"), "/");
        program.args = ["--script-worker"].iter().chain(arguments).map(Into::into).collect();
        let (conversation, streams) =
            Conversation::start(program, ProcessLimits::default()).expect("our own program starts");
        let (tell, heard) = channel();
        let mut lines = FrameReader::new(streams.stdout);
        thread::spawn(move || {
            loop {
                let message = protocol::receive(&mut lines);
                let is_last = !matches!(message, Ok(Some(_)));
                if tell.send(message).is_err() || is_last {
                    return;
                }
            }
        });
        let worker = Self { conversation, input: streams.stdin, heard };
        let ready = worker.heard.recv_timeout(LONGEST).expect("it says something");
        assert!(matches!(ready, Ok(Some(FromWorker::Ready(_)))), "{ready:?}");
        worker
    }

    /// Makes a call of a function with this body, and waits for it until `patience` is over.
    fn run(&mut self, body: &str, timeout: u64, patience: Duration) -> Outcome {
        let code = format!("export async function execute(args: any, context: any) {{\n{body}\n}}");
        let call = WorkerCall {
            tool: "probe".to_owned(),
            key: code.clone(),
            code,
            line: 1,
            file: None,
            language: None,
            args: Map::new(),
            types: Default::default(),
            produces: None,
            timeout: Some(timeout),
            memory: None,
            context: CallContext { directory: "/".to_owned(), workspace: "/".to_owned(), ..CallContext::default() },
        };
        protocol::send(&mut self.input, &ToWorker::Call { id: 1, call: call.into() }).expect("the worker reads");
        let until = Instant::now() + patience;
        loop {
            match self.heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Ok(Some(FromWorker::Result { value, .. }))) => return Outcome::Result(value),
                Ok(Ok(Some(FromWorker::Failure { failure, .. }))) => return Outcome::Failure(failure.message),
                Ok(Ok(Some(FromWorker::Ask { id, ask }))) => {
                    let reply = HostReply { to: ask.number, answer: Ok(json!("answer")) };
                    protocol::send(&mut self.input, &ToWorker::Reply { id, reply }).expect("the worker reads");
                }
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => return Outcome::Gone,
                Ok(Err(error)) => panic!("{body}: {error}"),
                Err(RecvTimeoutError::Timeout) => return Outcome::Late,
            }
        }
    }

    fn answer(&mut self, body: &str) -> Outcome {
        self.run(body, 60_000, LONGEST)
    }
}

#[test]
fn is_powerless_before_it_reads() {
    let mark = format!("mark-{}", std::process::id());
    let _worker = Worker::start(&[&mark]);
    let mut seen = 0;
    for process in fs::read_dir("/proc").expect("it is there").flatten() {
        let words = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if !words.split(|&byte| byte == 0).any(|word| word == mark.as_bytes()) {
            continue;
        }
        for thread in fs::read_dir(process.path().join("task")).expect("it runs").flatten() {
            let status = fs::read_to_string(thread.path().join("status")).expect("it runs");
            let has = |line: &str| status.lines().any(|known| known.split_whitespace().eq(line.split_whitespace()));
            assert!(has("Seccomp: 2") && has("NoNewPrivs: 1"), "{status}");
            seen += 1;
        }
    }
    assert!(seen >= 2, "its threads were not found");
}

#[test]
fn can_do_all_that_a_script_needs() {
    let mut worker = Worker::start(&[]);
    for (body, expected) in [
        ("return new Date(2024, 5, 1, 12).getHours()", json!(12)),
        ("return new Date(0).toString().length > 10 && new Date().toLocaleString().length > 5", json!(true)),
        ("return [Math.random() < 1, performance.now() >= 0, Date.now() > 1e12]", json!([true, true, true])),
        ("await new Promise((go) => setTimeout(go, 20)); return 'waited'", json!("waited")),
        ("return (await Promise.all([1, 2, 3].map(() => platform.fs.readFile('x')))).length", json!(3)),
        ("return new TextDecoder().decode(new TextEncoder().encode('ü'.repeat(1e6))).length", json!(1_000_000)),
        ("return new URL('../a?b=ä', 'https://exämple.com/c/d').href", json!("https://xn--exmple-cua.com/a?b=%C3%A4")),
        ("return structuredClone({ a: new Map([[1, 2]]) }).a.get(1)", json!(2)),
        (
            "const all: any[] = []; for (let i = 0; i < 2e5; i++) all.push({ i, s: String(i) }); return all.length",
            json!(200_000),
        ),
        ("return 'x'.repeat(2e7).length", json!(20_000_000)),
        ("return /(\\p{L}+)-\\1/u.exec('ß ab-ab')![1]", json!("ab")),
        ("return await platform.fs.writeFile('big', 'x'.repeat(3e6))", json!("answer")),
        ("console.log('hello'); logger.warn('careful'); return 'said'", json!("said")),
    ] {
        assert_eq!(worker.answer(body), Outcome::Result(expected), "{body}");
    }
    let long = "return 'y'.repeat(8e6)";
    assert_eq!(worker.answer(long), Outcome::Result(Value::String("y".repeat(8_000_000))));
}

#[test]
fn gives_scripts_no_way_out() {
    let mut worker = Worker::start(&[]);
    let escapes = [
        "return [].constructor.constructor('return this')().process",
        "return (async () => {}).constructor('return typeof require')()",
        "return Function('return this')().host",
        "return context.platform.fs.readFile.constructor('return this')().std",
        "return new Proxy(platform.fs, { get: (target, key) => Reflect.get(target, key).constructor('return typeof os')() }).readFile",
        "return Reflect.construct(Function, ['return typeof Deno'])()",
        "return typeof WebAssembly + typeof SharedArrayBuffer + typeof Atomics",
        "return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
        "return await import('fs')",
        "return await Function('return import(\"node:fs\")')()",
        "return await eval('import(\"/etc/passwd\")')",
        "return Object.getOwnPropertyNames(globalThis).filter((name) => /^(host|ask|native|std|os|bjson)$/i.test(name))",
        "let found: any; Object.defineProperty(Object.prototype, 'host', { set(value) { found = value }, configurable: true }); await platform.fs.exists('x'); return typeof found",
        "let seen: any[] = []; Array.prototype.push = function (x: any) { seen[seen.length] = x; return 0 }; await platform.fs.exists('x'); return seen.filter((x) => typeof x === 'function').length",
        "const then = Promise.prototype.then; let seen = 0; Promise.prototype.then = function (this: any, ...all: any[]) { seen++; return then.apply(this, all as any) }; await platform.fs.exists('x'); return 'well'",
        "Object.prototype.toJSON = function () { return { id: 9, ask: { number: 9, what: 'executor.execute', with: [] } } } as any; return { a: 1 }",
        "return '\\n{\"id\":1,\"ask\":{\"number\":1,\"what\":\"executor.execute\",\"with\":[]}}\\n'",
    ];
    for body in escapes {
        match worker.answer(body) {
            Outcome::Result(value) => {
                let shown = value.to_string();
                let known = ["null", "undefined", "0", "[]", "false", "well", "executor.execute"];
                assert!(known.iter().any(|word| shown.contains(word)), "{body}: {shown}");
            }
            Outcome::Failure(why) => assert!(!why.is_empty(), "{body}"),
            other => panic!("{body}: {other:?}"),
        }
        let look = "return [typeof ({} as any).host, typeof ({} as any).toJSON, [].push.name]";
        assert_eq!(worker.answer(look), Outcome::Result(json!(["undefined", "undefined", "push"])), "{body}");
    }
}

#[test]
fn survives_bombs_or_dies_alone() {
    let mut worker = Worker::start(&[]);
    let bombs = [
        "const all: any[] = []; for (;;) all.push(new ArrayBuffer(1 << 20))",
        "let text = 'x'; for (;;) text += text",
        "const f = (): any => f() + f(); return f()",
        "let a: any = []; for (let i = 0; i < 10000; i++) a = [a]; return a",
        "return JSON.parse('['.repeat(1e6) + ']'.repeat(1e6))",
        "return 'x'.repeat(2e8)",
        "return Array(5e6).fill('0123456789')",
        "for (;;) {}",
        "return /^(a+)+$/.test('a'.repeat(50) + 'b')",
        "for (let i = 0; ; i++) new Promise(() => {}); ",
        "for (;;) await null",
        "setInterval(() => {}, 0); await new Promise(() => {})",
        "await new Promise(() => {})",
        "Promise.reject(new Error('nobody cares')); await new Promise(() => {})",
        "throw null",
    ];
    for body in bombs {
        let outcome = worker.run(body, 3_000, LONGEST);
        match outcome {
            Outcome::Failure(why) => assert!(!why.is_empty(), "{body}"),
            Outcome::Gone => worker = Worker::start(&[]),
            other => panic!("{body}: {other:?}"),
        }
        assert_eq!(worker.answer("return 'well'"), Outcome::Result(json!("well")), "{body}");
    }
}

#[test]
fn is_killed_where_it_heeds_no_deadline() {
    for body in [
        "return (10n ** 100000000n) > 5n",
        "return [...Array(4e6).keys()].sort((a, b) => b - a).map(String).sort().length",
        "return JSON.stringify(Array(4e6).fill({ a: { b: { c: 1 } } })).length",
    ] {
        let mut worker = Worker::start(&[]);
        let outcome = worker.run(body, 200, Duration::from_millis(400));
        // A fast machine may be done, or notice in time; whatever it is, the end is there.
        let told = "stopped after 200 ms, which is all the time it has";
        if outcome != Outcome::Late {
            // Whether memory for such a number can be had depends on the machine.
            let is_end = matches!(&outcome, Outcome::Failure(why)
                if why == told || why.contains("memory") || why.starts_with("RangeError"));
            assert!(is_end || matches!(outcome, Outcome::Result(_)), "{body}: {outcome:?}");
            continue;
        }
        let began = Instant::now();
        let ending = worker.conversation.end(Duration::ZERO);
        assert!(matches!(ending, Ending::Signaled(_) | Ending::Stopped { .. }), "{body}: {ending:?}");
        assert!(began.elapsed() < LONGEST, "{body}: it went on");
    }
}

#[test]
fn ends_with_its_host() {
    let Worker { mut conversation, input, heard } = Worker::start(&[]);
    drop(input);
    assert_eq!(conversation.wait(LONGEST), Some(Ending::Exited(0)));
    assert!(matches!(heard.recv_timeout(LONGEST), Ok(Ok(None))));
    // In the midst of a call, too.
    let mut worker = Worker::start(&[]);
    assert_eq!(
        worker.run("await new Promise((go) => setTimeout(go, 1e6))", 1_000_000, Duration::from_millis(50)),
        Outcome::Late
    );
    let Worker { mut conversation, input, .. } = worker;
    drop(input);
    assert_eq!(conversation.wait(LONGEST), Some(Ending::Exited(0)));
}

#[test]
fn ends_when_it_is_told_nonsense() {
    use std::io::Write as _;
    for nonsense in ["hello\n", "{\"id\":1}\n", "{\"id\":1,\"call\":{\"tool\":\"x\"}}\n"] {
        let Worker { mut conversation, mut input, .. } = Worker::start(&[]);
        input.write_all(nonsense.as_bytes()).expect("it reads");
        assert_eq!(conversation.wait(LONGEST), Some(Ending::Exited(1)), "{nonsense}");
    }
}
