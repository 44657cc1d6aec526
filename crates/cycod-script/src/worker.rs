//! The process in which the code of tools runs.
//!
//! A worker has no power but its channel: what it computes is told to the host, and what only the host can do is asked of
//! it. Each call gets a runtime of its own, so nothing that code does to its world is there for the next call, of the same
//! tool or another; only the text of code that was read before is kept.
//!
//! It all happens on one thread with a large stack, which is made before the process gives up its powers: the parser goes
//! as deep as the code is nested.

mod call;
mod channel;
mod natives;

use std::{
    collections::HashMap,
    fmt,
    io::{Read, Write},
    os::fd::AsFd,
    thread,
};

use cycod_thread::Thread;

use self::{call::carry_out, channel::Channel};
use crate::{
    protocol::{Failure, FromWorker, MessageError, Ready, ScriptLanguage, SendError, ToWorker, WorkerCall},
    source::{READING_STACK, ScriptDiagnostic, SourcePlaces, read},
};

pub use self::call::MEMORY;

/// How many bytes of code are kept for the next call.
const KEPT_CODE: usize = 16 << 20;

/// Why a worker ended other than by the end of its input.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError<E: fmt::Display> {
    /// The thread on which everything happens was not to be had.
    #[error("the worker's thread cannot be started")]
    Thread(#[source] std::io::Error),
    /// The process could not be made powerless.
    #[error("{0}")]
    Seal(E),
    /// The host said something that is no message, or cannot be read.
    #[error(transparent)]
    Received(#[from] MessageError),
    /// The host cannot be told anything any more.
    #[error(transparent)]
    Sent(#[from] SendError),
    /// The host sent a call during another.
    #[error("the host sent call {second} during call {first}")]
    Second {
        /// The call that is under way.
        first: u64,
        /// The call that came.
        second: u64,
    },
    /// A mistake of ours: the thread panicked.
    #[error("the worker failed: this is a bug")]
    Panicked,
}

/// Carries out calls until the input ends. Everything it needs is made first; then `seal` takes the powers of the process,
/// and only then the first word is read.
///
/// # Errors
/// When the process cannot be sealed, and when the channel cannot be used any more.
pub fn serve<E: fmt::Display + Send>(
    input: impl Read + AsFd + Send + 'static,
    output: impl Write + AsFd + Send + 'static,
    seal: impl FnOnce() -> Result<(), E> + Send,
) -> Result<(), WorkerError<E>> {
    thread::scope(|scope| {
        let body = || {
            // The engine learns the time zone from a file, once.
            call::warm_up();
            let channel = Channel::new(input, output).map_err(SendError::Write)?;
            seal().map_err(WorkerError::Seal)?;
            Worker { channel: channel.shared(), kept: HashMap::new(), size: 0 }.serve()
        };
        let thread = Thread::named("worker").stack(READING_STACK).scoped(scope, body);
        thread.map_err(WorkerError::Thread)?.join().unwrap_or(Err(WorkerError::Panicked))
    })
}

struct Worker<R, W> {
    channel: channel::Shared<R, W>,
    kept: HashMap<String, Kept>,
    /// How many bytes are kept.
    size: usize,
}

/// Code that was read.
struct Kept {
    code: String,
    language: ScriptLanguage,
    script: String,
    places: SourcePlaces,
}

impl<R: Read + AsFd + 'static, W: Write + AsFd + 'static> Worker<R, W> {
    fn serve<E: fmt::Display>(mut self) -> Result<(), WorkerError<E>> {
        let version = "QuickJS-ng".to_owned();
        self.channel.borrow_mut().tell(&FromWorker::Ready(Ready { version }))?;
        loop {
            let message = self.channel.borrow_mut().receive()?;
            match message {
                None => return Ok(()),
                Some(ToWorker::Call { id, call }) => self.call(id, &call)?,
                // What is answered after its call had ended is of no use.
                Some(ToWorker::Reply { .. }) => {}
            }
        }
    }

    fn call<E: fmt::Display>(&mut self, id: u64, call: &WorkerCall) -> Result<(), WorkerError<E>> {
        let channel = self.channel.clone();
        let ended = match self.script(call) {
            Ok(kept) => carry_out(id, call, &kept.script, &kept.places, &channel),
            Err(failure) => Ok(Err(failure)),
        };
        let mut channel = channel.borrow_mut();
        match ended {
            Ok(Ok(line)) => channel.send(line.as_bytes())?,
            Ok(Err(failure)) => channel.tell(&FromWorker::Failure { id, failure })?,
            Err(call::Broken::Ended) => {}
            Err(call::Broken::Received(error)) => return Err(error.into()),
            Err(call::Broken::Sent(error)) => return Err(error.into()),
            Err(call::Broken::Second(second)) => return Err(WorkerError::Second { first: id, second }),
        }
        Ok(())
    }

    /// Returns the code of a call as it can run, and keeps it.
    fn script(&mut self, call: &WorkerCall) -> Result<&Kept, Failure> {
        let language = call.language.unwrap_or(ScriptLanguage::TypeScript);
        let is_same = |kept: &Kept| kept.code == call.code && kept.language == language;
        if !self.kept.get(&call.key).is_some_and(is_same) {
            let read = read(&call.code, language).map_err(|problems| unreadable(call, &problems))?;
            if self.size + call.code.len() > KEPT_CODE {
                self.kept.clear();
                self.size = 0;
            }
            // The script and its places are about as large again.
            self.size += 4 * call.code.len();
            let kept = Kept { code: call.code.clone(), language, script: read.script, places: read.places };
            self.kept.insert(call.key.clone(), kept);
        }
        Ok(&self.kept[&call.key])
    }
}

fn unreadable(call: &WorkerCall, problems: &[ScriptDiagnostic]) -> Failure {
    let line = |problem: &ScriptDiagnostic| {
        u32::try_from(problem.line).ok().and_then(|line| (line - 1).checked_add(call.line.max(1)))
    };
    let told: Vec<String> = problems
        .iter()
        .map(|problem| {
            let place = line(problem).map(|line| format!("line {line}, column {}: ", problem.column));
            let help = problem.help.as_ref().map(|help| format!("; {help}"));
            format!("{}{}{}", place.unwrap_or_default(), problem.message, help.unwrap_or_default())
        })
        .collect();
    Failure { message: told.join("\n"), trace: None, line: problems.first().and_then(line) }
}
