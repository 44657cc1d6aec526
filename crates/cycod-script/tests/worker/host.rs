use std::{
    convert::Infallible,
    io::{PipeReader, PipeWriter},
    thread,
};

use cycod_script::{
    protocol::{
        self, CallContext, Failure, FrameReader, FromWorker, HostReply, HostRequest, Log, ReplyError, ToWorker,
        WorkerCall,
    },
    worker,
};
use serde_json::{Map, Value};

/// A worker and the ends of its channel.
pub(crate) struct Host {
    input: Option<PipeWriter>,
    output: FrameReader<PipeReader>,
    next: u64,
    thread: Option<thread::JoinHandle<()>>,
    /// What the calls so far have logged.
    pub(crate) log: Vec<Log>,
}

/// What came of a call.
pub(crate) type Outcome = Result<Value, Failure>;

/// What the host does for a call.
pub(crate) type Answer<'a> = &'a mut dyn FnMut(&HostRequest) -> Result<Value, ReplyError>;

impl Host {
    pub(crate) fn new() -> Self {
        let (input, to_worker) = std::io::pipe().expect("a pipe");
        let (from_worker, output) = std::io::pipe().expect("a pipe");
        let thread = thread::spawn(move || {
            // A test that is done with it closes the channel at any time.
            drop(worker::serve(input, output, || Ok::<_, Infallible>(())));
        });
        let mut host = Self {
            input: Some(to_worker),
            output: FrameReader::new(from_worker),
            next: 1,
            thread: Some(thread),
            log: Vec::new(),
        };
        assert!(matches!(host.receive(), FromWorker::Ready(_)));
        host
    }

    pub(crate) fn receive(&mut self) -> FromWorker {
        protocol::receive(&mut self.output).expect("a message").expect("the worker lives")
    }

    pub(crate) fn send(&mut self, message: &ToWorker) {
        protocol::send(self.input.as_mut().expect("it is open"), message).expect("the worker reads");
    }

    /// Starts a call and returns its number.
    pub(crate) fn begin(&mut self, call: WorkerCall) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&ToWorker::Call { id, call: call.into() });
        id
    }

    /// Makes a call to its end.
    pub(crate) fn carry_out(&mut self, call: WorkerCall, answer: Answer<'_>) -> Outcome {
        let call_id = self.begin(call);
        loop {
            match self.receive() {
                FromWorker::Result { id, value } if id == call_id => return Ok(value),
                FromWorker::Failure { id, failure } if id == call_id => return Err(failure),
                FromWorker::Log { id, log } if id == call_id => self.log.push(log),
                FromWorker::Ask { id, ask } if id == call_id => {
                    let reply = HostReply { to: ask.number, answer: answer(&ask) };
                    self.send(&ToWorker::Reply { id, reply });
                }
                other => panic!("not about call {call_id}: {other:?}"),
            }
        }
    }

    /// Runs the body of a function `execute(args, context)`.
    pub(crate) fn run(&mut self, body: &str) -> Outcome {
        self.carry_out(call(body), &mut |ask| panic!("nothing is to be asked: {ask:?}"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.input = None;
        if let Some(thread) = self.thread.take() {
            // A worker that failed has failed its test already.
            drop(thread.join());
        }
    }
}

/// A call of code whose function has this body.
pub(crate) fn call(body: &str) -> WorkerCall {
    whole(&format!("export async function execute(args: any, context: any) {{\n{body}\n}}"))
}

/// A call of this code.
pub(crate) fn whole(code: &str) -> WorkerCall {
    WorkerCall {
        tool: "probe".to_owned(),
        key: code.to_owned(),
        code: code.to_owned(),
        line: 1,
        file: None,
        language: None,
        args: Map::new(),
        types: Default::default(),
        produces: None,
        timeout: Some(60_000),
        memory: None,
        context: CallContext {
            directory: "/here".to_owned(),
            workspace: "/space".to_owned(),
            ..CallContext::default()
        },
    }
}

/// The result of the body of a function.
pub(crate) fn result(body: &str) -> Value {
    Host::new().run(body).unwrap_or_else(|failure| panic!("{body}\n{failure:?}"))
}

/// Why the body of a function has none.
pub(crate) fn why_not(body: &str) -> String {
    Host::new().run(body).expect_err(body).message
}
