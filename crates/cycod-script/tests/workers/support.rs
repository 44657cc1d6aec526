//! Real interpreters, started as workers and talked to.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use cycod_definition::Runtime;
use cycod_process::{Conversation, Program, Spec, find_program};
use cycod_script::{
    Answers, Prelude, prelude,
    protocol::{ArgumentType, CallContext, Failure, FromWorker, Log, MessageError, ToWorker, WorkerCall},
};
use serde_json::{Map, Value};
use tempfile::TempDir;

/// Only a hang takes this long.
const PATIENCE: Duration = Duration::from_secs(120);

/// The line of the tools' files at which their code begins.
pub(crate) const LINE: u32 = 11;

/// A worker that was started and said that it is ready.
pub(crate) struct Worker {
    prelude: Prelude,
    pub(crate) version: String,
    /// The working directory of calls.
    pub(crate) directory: TempDir,
    stdin: std::io::PipeWriter,
    answers: mpsc::Receiver<Result<Option<FromWorker>, MessageError>>,
    /// What was printed so far.
    log: Arc<Mutex<Vec<u8>>>,
    conversation: Conversation,
    calls: u64,
}

/// What a call gave, and what it logged over the channel.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) result: Result<Value, Failure>,
    pub(crate) logs: Vec<Log>,
}

impl Worker {
    pub(crate) fn start(runtime: Runtime) -> Worker {
        Self::start_with(runtime, &[])
    }

    /// A worker with these variables in its environment.
    pub(crate) fn start_with(runtime: Runtime, variables: &[(&str, &Path)]) -> Worker {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let prelude = prelude(runtime).expect("it is a program");
        let file = directory.path().join(prelude.file_name);
        std::fs::write(&file, prelude.text).expect("a file can be written");
        let mut program = program(&prelude, &file).env("HOME", directory.path());
        // The barest environment: text is UTF-8 in a worker all the same.
        program = program.env("LC_ALL", "C").env("CYCOD_TEST_OLD", "from the start");
        for (name, value) in variables {
            program = program.env(*name, value.as_os_str());
        }
        let spec = Spec {
            #[cfg(windows)]
            has_channel: true,
            ..Spec::new(program)
        };
        let (conversation, streams) = Conversation::start_as(&spec).expect("it starts");
        let (sender, answers) = mpsc::channel();
        let mut reader = Answers::new(prelude.codec, streams.stdout);
        std::thread::spawn(move || {
            loop {
                let message = reader.next();
                let is_last = !matches!(message, Ok(Some(_)));
                if sender.send(message).is_err() || is_last {
                    return;
                }
            }
        });
        let log = Arc::new(Mutex::new(Vec::new()));
        let (mut stderr, sink) = (streams.stderr, Arc::clone(&log));
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                sink.lock().expect("nobody panics with it").extend_from_slice(&bytes[..count]);
            }
        });
        let (version, stdin) = (String::new(), streams.stdin);
        let mut worker = Worker { prelude, version, directory, stdin, answers, log, conversation, calls: 0 };
        match worker.next() {
            Some(FromWorker::Ready(ready)) => worker.version = ready.version,
            other => panic!("{runtime} says {other:?} and logs {}", worker.log()),
        }
        worker
    }

    #[track_caller]
    fn next(&mut self) -> Option<FromWorker> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(Ok(message)) => message,
            Ok(Err(error)) => panic!("{error}\n{}", self.log()),
            Err(error) => panic!("no answer from {}: {error}\n{}", self.prelude.program, self.log()),
        }
    }

    /// The next message, or what is wrong with it.
    pub(crate) fn heard(&mut self) -> Result<Option<FromWorker>, MessageError> {
        self.answers.recv_timeout(PATIENCE).expect("it says something")
    }

    /// Everything printed until now.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&self.log.lock().expect("nobody panics with it")).into_owned()
    }

    /// Waits until something was printed: the log and the channel are two streams.
    #[track_caller]
    pub(crate) fn logs(&self, text: &str) {
        let end = std::time::Instant::now() + PATIENCE;
        while !self.log().contains(text) {
            assert!(std::time::Instant::now() < end, "never printed {text:?}: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn call(&self, code: &str, args: Value) -> WorkerCall {
        let Value::Object(args) = args else { panic!("arguments are an object") };
        WorkerCall {
            tool: "tool".to_owned(),
            key: code.to_owned(),
            code: code.to_owned(),
            line: LINE,
            file: None,
            language: None,
            args,
            types: BTreeMap::new(),
            produces: None,
            timeout: None,
            memory: None,
            context: CallContext {
                directory: utf8(self.directory.path()),
                workspace: utf8(self.directory.path()),
                ..CallContext::default()
            },
        }
    }

    #[track_caller]
    pub(crate) fn send(&mut self, call: WorkerCall) -> u64 {
        self.calls += 1;
        self.tell(&ToWorker::Call { id: self.calls, call: call.into() });
        self.calls
    }

    #[track_caller]
    pub(crate) fn tell(&mut self, message: &ToWorker) {
        let bytes = self.prelude.codec.encode(message).expect("it can be said");
        self.stdin.write_all(&bytes).expect("it listens");
    }

    /// Calls, and waits for the answer; `None` when the worker ended instead.
    #[track_caller]
    pub(crate) fn try_answer(&mut self, call: WorkerCall) -> Option<Answer> {
        let called = self.send(call);
        let mut logs = Vec::new();
        let (id, result) = loop {
            match self.next()? {
                FromWorker::Result { id, value } => break (id, Ok(value)),
                FromWorker::Failure { id, failure } => break (id, Err(failure)),
                FromWorker::Log { log, .. } => logs.push(log),
                other => panic!("{other:?} is no answer"),
            }
        };
        assert_eq!(id, called);
        Some(Answer { result, logs })
    }

    #[track_caller]
    pub(crate) fn answer(&mut self, call: WorkerCall) -> Result<Value, Failure> {
        self.try_answer(call).expect("the worker goes on").result
    }

    /// Calls code with arguments.
    #[track_caller]
    pub(crate) fn run(&mut self, code: &str, args: Value) -> Result<Value, Failure> {
        let call = self.call(code, args);
        self.answer(call)
    }

    /// Calls code that succeeds.
    #[track_caller]
    pub(crate) fn value(&mut self, code: &str, args: Value) -> Value {
        match self.run(code, args) {
            Ok(value) => value,
            Err(failure) => panic!("{failure:?}\n{}", self.log()),
        }
    }

    /// Calls code that fails.
    #[track_caller]
    pub(crate) fn failure(&mut self, code: &str, args: Value) -> Failure {
        match self.run(code, args) {
            Ok(value) => panic!("it gave {value}"),
            Err(failure) => failure,
        }
    }

    /// Checks that the worker has ended by itself.
    #[track_caller]
    pub(crate) fn ends(mut self) -> cycod_process::Ending {
        self.conversation.wait(PATIENCE).expect("it ends")
    }

    /// Calls as a host does that has nothing more to say.
    #[track_caller]
    pub(crate) fn last_answer(mut self, call: WorkerCall) -> Value {
        self.send(call);
        drop(self.stdin);
        let message = self.answers.recv_timeout(PATIENCE).expect("it answers").expect("it is a message");
        match message {
            Some(FromWorker::Result { value, .. }) => value,
            other => panic!("{other:?} is no result"),
        }
    }

    /// Ends the worker as a host does, by saying no more.
    #[track_caller]
    pub(crate) fn leave(self) -> cycod_process::Ending {
        drop(self.stdin);
        self.conversation.end(PATIENCE)
    }
}

/// What starts a worker of the interpreter whose program text is in `file`.
#[cfg(unix)]
fn program(prelude: &Prelude, file: &Path) -> Program {
    const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
    let find = |name: &str| find_program(name.as_ref(), PATH.as_ref(), "/".as_ref()).expect("it is installed");
    let mut program = Program::new(find("sh"), file.parent().expect("it has one")).env("PATH", PATH);
    program.args = prelude.shell_arguments(&find(prelude.program), file);
    program
}

/// What starts a worker of the interpreter whose program text is in `file`.
#[cfg(windows)]
fn program(prelude: &Prelude, file: &Path) -> Program {
    let directory = file.parent().expect("it has one");
    let variables = std::env::vars_os().filter(|(name, _)| {
        ["PATH", "PATHEXT", "SYSTEMROOT", "COMSPEC"].iter().any(|system| name.eq_ignore_ascii_case(system))
    });
    let variables: Vec<_> = variables.collect();
    let path = variables.iter().find(|(name, _)| name.eq_ignore_ascii_case("PATH")).expect("there is one");
    let found = find_program(prelude.program.as_ref(), &path.1, directory).expect("it is installed");
    Program { args: prelude.arguments(file), env: variables, ..Program::new(found, directory) }
}

/// A tool's file with its code where calls say that it begins.
pub(crate) fn utf8(path: &Path) -> String {
    path.to_str().expect("temporary directories are text").to_owned()
}

pub(crate) fn types<const N: usize>(types: [(&str, ArgumentType); N]) -> BTreeMap<String, ArgumentType> {
    types.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect()
}

/// Values that have a form in JSON, for round trips.
pub(crate) fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    const TEXT: &str = "[ -~\u{a0}-\u{2fff}\u{1f300}-\u{1f6ff}\n\t\"\\\\]{0,12}";
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-(1_i64 << 53)..=1 << 53).prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        TEXT.prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((TEXT, inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Numbers as every language keeps them: a whole one has no fraction.
pub(crate) fn plain_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(double) = number.as_f64().filter(|double| double.fract() == 0.0 && double.abs() < 9e15) {
                *value = Value::from(double as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain_numbers),
        Value::Object(entries) => entries.values_mut().for_each(plain_numbers),
        _ => {}
    }
}
