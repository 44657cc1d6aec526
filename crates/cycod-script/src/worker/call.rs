//! One call in a worker of scripts: makes an engine, gives the script its surroundings, runs it, and takes its result back across
//! the border.
//!
//! Everything that crosses is data with limits; what the script asks for is carried out by the host.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
    io::{Read, Write},
    os::fd::AsFd,
    rc::Rc,
    time::{Duration, Instant},
};

use rquickjs::{
    CatchResultExt as _, CaughtError, Context, Ctx, Exception, Function, Module, Object, Persistent, Runtime, Value,
    context::{EvalOptions, intrinsic},
    function::Func,
};
use serde::Deserialize;

use super::{
    channel::{Heard, Shared},
    natives,
};
use crate::{
    protocol::{
        CallContext, Failure, FromWorker, LONGEST_LINE, Log, LogLevel, MessageError, ReplyError, SendError, ToWorker,
        WorkerCall,
    },
    source::SourcePlaces,
};

/// How many bytes the code of a call may use when nothing is said.
pub const MEMORY: u64 = 256 << 20;

/// How much of the stack the engine may use. It is far from what there is.
const STACK: usize = 4 << 20;

/// How deep what crosses the border may be nested; the host takes a little more, for what it is wrapped in.
const DEEPEST: usize = 100;

/// How long a message, a trace or a line of the log may be.
const LONGEST_TEXT: usize = 64 << 10;

/// What stands before the surroundings of a tool's code in traces.
const SURROUNDINGS: &str = "cycod";

const PRELUDE: &str = include_str!("prelude.js");
const EXTRAS: &str = include_str!("extras.js");

/// Why a call has no outcome that anybody could be told.
#[derive(Debug)]
pub(super) enum Broken {
    /// The host is gone.
    Ended,
    /// What it said is no message.
    Received(MessageError),
    /// It cannot be told anything.
    Sent(SendError),
    /// It sent this call during the other.
    Second(u64),
}

/// Makes the engine learn what it learns from the system but once.
pub(super) fn warm_up() {
    // Without a result nothing is lost: it is learnt again later, or not at all.
    let learnt = Runtime::new().and_then(|runtime| {
        let context = Context::full(&runtime)?;
        context.with(|ctx| ctx.eval::<f64, _>("new Date(2000, 1, 1).getTimezoneOffset() + Math.random()"))
    });
    drop(learnt);
}

/// Carries out a call whose code was read, and returns the line that tells its result.
pub(super) fn carry_out<R, W>(
    id: u64,
    call: &WorkerCall,
    script: &str,
    places: &SourcePlaces,
    channel: &Shared<R, W>,
) -> Result<Result<String, Failure>, Broken>
where
    R: Read + AsFd + 'static,
    W: Write + AsFd + 'static,
{
    let began = Instant::now();
    let deadline = call.timeout.map(|timeout| began + Duration::from_millis(timeout));
    let progress = Rc::new(Progress { began, deadline, ..Progress::default() });
    let made = Runtime::new().and_then(|runtime| {
        runtime.set_max_stack_size(STACK);
        runtime.set_interrupt_handler(Some(Box::new({
            let progress = progress.clone();
            move || progress.must_stop()
        })));
        runtime.set_host_promise_rejection_tracker(Some(Box::new({
            let progress = progress.clone();
            move |ctx, promise, reason, is_handled| progress.rejected(&ctx, promise, reason, is_handled)
        })));
        let context = Context::builder()
            .with::<intrinsic::Eval>()
            .with::<intrinsic::RegExpCompiler>()
            .with::<intrinsic::RegExp>()
            .with::<intrinsic::Json>()
            .with::<intrinsic::Date>()
            .with::<intrinsic::MapSet>()
            .with::<intrinsic::TypedArrays>()
            .with::<intrinsic::Proxy>()
            .with::<intrinsic::WeakRef>()
            .with::<intrinsic::Promise>()
            .with::<intrinsic::DOMException>()
            .with::<intrinsic::Performance>()
            .build(&runtime)?;
        Ok((runtime, context))
    });
    let (runtime, context) = match made {
        Ok(made) => made,
        Err(error) => return Ok(Err(failure(format!("the script engine did not start: {error}")))),
    };
    let memory = usize::try_from(call.memory.unwrap_or(MEMORY)).unwrap_or(usize::MAX);
    runtime.set_memory_limit(memory);
    let running = Running { id, call, memory, places, channel, progress: &progress };
    let outcome = context.with(|ctx| running.run(&ctx, script));
    // They hold on to the runtime, which must be the last to go.
    progress.rejections.borrow_mut().clear();
    outcome
}

/// How far a call is, as the functions see it that the engine calls.
struct Progress {
    began: Instant,
    deadline: Option<Instant>,
    /// Whether its time was over.
    is_late: Cell<bool>,
    /// What the channel said when it could not be used any more.
    broken: RefCell<Option<SendError>>,
    /// What the code gave: a result as JSON, or what was thrown, described as JSON.
    outcome: RefCell<Option<Result<String, String>>>,
    /// Promises that were rejected and that nobody handles, with their reasons.
    rejections: RefCell<Vec<(Persistent<Value<'static>>, Persistent<Value<'static>>)>>,
    /// The number of the last ask or timer.
    number: Cell<u64>,
    /// How many asks wait for their replies.
    asked: Cell<usize>,
    /// Timers by the time when they are due.
    timers: RefCell<BTreeSet<(Instant, u64)>>,
    due: RefCell<HashMap<u64, Instant>>,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            deadline: None,
            is_late: Cell::default(),
            broken: RefCell::default(),
            outcome: RefCell::default(),
            rejections: RefCell::default(),
            number: Cell::default(),
            asked: Cell::default(),
            timers: RefCell::default(),
            due: RefCell::default(),
        }
    }
}

impl Progress {
    fn must_stop(&self) -> bool {
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.is_late.set(self.is_late.get() || is_late);
        is_late || self.broken.borrow().is_some()
    }

    fn rejected<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>, reason: Value<'js>, is_handled: bool) {
        if self.is_late.get() {
            // The stop fell into the function that a promise is made with, and the engine took it for the promise's own error.
            // It stops again after a fixed number of steps: a step more each time lets it fall elsewhere, even if the code
            // makes one promise after the other.
            drop(ctx.eval::<Value<'_>, _>("0"));
            return;
        }
        let promise = Persistent::save(ctx, promise);
        let mut rejections = self.rejections.borrow_mut();
        if is_handled {
            rejections.retain(|(known, _)| *known != promise);
        } else {
            rejections.push((promise, Persistent::save(ctx, reason)));
        }
    }

    fn next_number(&self) -> u64 {
        self.number.set(self.number.get() + 1);
        self.number.get()
    }

    fn set_timer(&self, id: u64, milliseconds: f64) {
        let due = Instant::now() + Duration::from_secs_f64(milliseconds.clamp(0.0, 1e10) / 1000.0);
        self.end_timer(id);
        self.timers.borrow_mut().insert((due, id));
        self.due.borrow_mut().insert(id, due);
    }

    fn end_timer(&self, id: u64) {
        if let Some(due) = self.due.borrow_mut().remove(&id) {
            self.timers.borrow_mut().remove(&(due, id));
        }
    }

    /// Takes the next timer that was due before `now`.
    fn take_due(&self, now: Instant) -> Option<u64> {
        let first = self.timers.borrow().first().copied().filter(|(due, _)| *due <= now);
        let (_, id) = first?;
        self.end_timer(id);
        Some(id)
    }
}

/// A call that runs.
struct Running<'c, R, W> {
    id: u64,
    call: &'c WorkerCall,
    memory: usize,
    places: &'c SourcePlaces,
    channel: &'c Shared<R, W>,
    progress: &'c Rc<Progress>,
}

/// The functions of the surroundings.
struct Surroundings<'js> {
    carry_out: Function<'js>,
    settle: Function<'js>,
    fire: Function<'js>,
    describe: Function<'js>,
}

impl<R: Read + AsFd + 'static, W: Write + AsFd + 'static> Running<'_, R, W> {
    fn run(&self, ctx: &Ctx<'_>, script: &str) -> Result<Result<String, Failure>, Broken> {
        let surroundings = match self.surroundings(ctx).catch(ctx) {
            Ok(surroundings) => surroundings,
            Err(error) => return Ok(Err(self.caught(&error))),
        };
        if let Err(error) = self.begin(ctx, script, &surroundings).catch(ctx) {
            let failure = match error {
                CaughtError::Exception(exception) => self.thrown(&surroundings, exception.into_value()),
                CaughtError::Value(value) => self.thrown(&surroundings, value),
                error @ CaughtError::Error(_) => self.caught(&error),
            };
            return self.unless_broken(Err(failure));
        }
        let outcome = self.turns(ctx, &surroundings)?;
        let asked = self.progress.asked.get();
        if outcome.is_ok() && asked > 0 {
            let message = format!(
                "the call ended before the host had answered {asked} of its requests: `await` them, or they may come to nothing"
            );
            let log = Log { level: LogLevel::Warn, message };
            let told = self.channel.borrow_mut().tell(&FromWorker::Log { id: self.id, log });
            told.map_err(Broken::Sent)?;
        }
        self.unless_broken(outcome)
    }

    fn unless_broken(&self, outcome: Result<String, Failure>) -> Result<Result<String, Failure>, Broken> {
        match self.progress.broken.borrow_mut().take() {
            Some(error) => Err(Broken::Sent(error)),
            None => Ok(outcome),
        }
    }

    /// Makes what the code finds in its world.
    fn surroundings<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Surroundings<'js>> {
        let host = self.host(ctx)?;
        let made: Object<'js> = surrounding::<Function<'js>>(ctx, PRELUDE)?.call((host,))?;
        Ok(Surroundings {
            carry_out: made.get("carryOut")?,
            settle: made.get("settle")?,
            fire: made.get("fire")?,
            describe: made.get("describe")?,
        })
    }

    /// Makes the functions that leave the engine.
    fn host<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let host = Object::new(ctx.clone())?;
        natives::give(&host)?;
        let progress = || self.progress.clone();
        host.set("network", self.call.context.network)?;
        host.set("extras", Func::from(|ctx: Ctx<'js>| surrounding::<Function<'js>>(&ctx, EXTRAS)))?;
        host.set(
            "done",
            Func::from({
                let progress = progress();
                move |json: String| {
                    progress.outcome.borrow_mut().get_or_insert(Ok(json));
                }
            }),
        )?;
        host.set(
            "failed",
            Func::from({
                let progress = progress();
                move |json: String| {
                    progress.outcome.borrow_mut().get_or_insert(Err(json));
                }
            }),
        )?;
        host.set(
            "now",
            Func::from({
                let began = self.progress.began;
                move || began.elapsed().as_secs_f64() * 1000.0
            }),
        )?;
        host.set(
            "begin",
            Func::from({
                let progress = progress();
                move |milliseconds: f64| {
                    let id = progress.next_number();
                    progress.set_timer(id, milliseconds);
                    id as f64
                }
            }),
        )?;
        host.set(
            "again",
            Func::from({
                let progress = progress();
                // Without a pause nothing else would ever have its turn.
                move |id: f64, milliseconds: f64| progress.set_timer(id as u64, milliseconds.max(1.0))
            }),
        )?;
        host.set(
            "end",
            Func::from({
                let progress = progress();
                move |id: f64| progress.end_timer(id as u64)
            }),
        )?;
        host.set(
            "log",
            Func::from({
                let (progress, channel, id) = (progress(), self.channel.clone(), self.id);
                move |ctx: Ctx<'js>, level: String, message: String| {
                    let level = match level.as_str() {
                        "debug" => LogLevel::Debug,
                        "warn" => LogLevel::Warn,
                        "error" => LogLevel::Error,
                        _ => LogLevel::Info,
                    };
                    let log = Log { level, message: shortened(message) };
                    let told = channel.borrow_mut().tell(&FromWorker::Log { id, log });
                    told.map_err(|error| gone(&ctx, &progress, error))
                }
            }),
        )?;
        host.set(
            "ask",
            Func::from({
                let (progress, channel, id) = (progress(), self.channel.clone(), self.id);
                move |ctx: Ctx<'js>, what: String, with: String| -> rquickjs::Result<f64> {
                    let with = fit(with, &format!("an argument of `{what}`"))
                        .map_err(|why| Exception::throw_range(&ctx, &why))?;
                    let number = progress.next_number();
                    let what = serde_json::Value::String(what);
                    let line =
                        format!("{{\"id\":{id},\"ask\":{{\"number\":{number},\"what\":{what},\"with\":{with}}}}}\n");
                    match channel.borrow_mut().send(line.as_bytes()) {
                        Ok(()) => {}
                        Err(error @ SendError::TooLong { .. }) => {
                            return Err(Exception::throw_range(&ctx, &error.to_string()));
                        }
                        Err(error) => return Err(gone(&ctx, &progress, error)),
                    }
                    progress.asked.set(progress.asked.get() + 1);
                    Ok(number as f64)
                }
            }),
        )?;
        Ok(host)
    }

    /// Starts the code; what it gives comes later.
    fn begin<'js>(&self, ctx: &Ctx<'js>, script: &str, surroundings: &Surroundings<'js>) -> rquickjs::Result<()> {
        // With the lines before it, every place that the engine tells is one of the file.
        let above = usize::try_from(self.call.line.saturating_sub(1)).unwrap_or_default().min(1 << 20);
        let mut source = "\n".repeat(above);
        source.push_str(script);
        let CallContext { directory, workspace, config, conversation, .. } = &self.call.context;
        let mut config = config.clone();
        for (name, value) in [("workingDirectory", directory), ("workspace", workspace)] {
            config.entry(name).or_insert_with(|| value.clone().into());
        }
        let mut context = serde_json::Map::new();
        context.insert("config".to_owned(), config.into());
        if let Some(conversation) = conversation {
            context.insert("conversation".to_owned(), conversation.clone().into());
        }
        let context = ctx.json_parse(serde_json::Value::Object(context).to_string())?;
        let args = ctx.json_parse(serde_json::Value::Object(self.call.args.clone()).to_string())?;
        let (module, ready) = Module::declare(ctx.clone(), self.module(), source)?.eval()?;
        surroundings.carry_out.call::<_, Value<'js>>((ready, module.namespace()?, args, context))?;
        Ok(())
    }

    /// The name of the code in traces.
    fn module(&self) -> String {
        self.call.tool.replace(['\0', '\n', ':'], "_")
    }

    /// Gives the code its turns until it has an outcome, or never will.
    fn turns<'js>(&self, ctx: &Ctx<'js>, surroundings: &Surroundings<'js>) -> Result<Result<String, Failure>, Broken> {
        let progress = &**self.progress;
        loop {
            while progress.outcome.borrow().is_none() && !progress.must_stop() && ctx.execute_pending_job() {}
            if let Some(outcome) = progress.outcome.borrow_mut().take() {
                return Ok(self.line(outcome));
            }
            if progress.broken.borrow().is_some() {
                return Ok(Err(Failure::default()));
            }
            if progress.is_late.get() {
                return Ok(Err(self.late()));
            }
            // Describing it may run code, which may reject others.
            let rejection = progress.rejections.borrow_mut().pop();
            if let Some((_, reason)) = rejection {
                let told = reason.restore(ctx).map(|reason| self.thrown(surroundings, reason));
                let mut failure = told.unwrap_or_else(|error| failure(error.to_string()));
                failure.message = format!("a promise was rejected that nothing awaits: {}", failure.message);
                return Ok(Err(failure));
            }
            let timer = progress.timers.borrow().first().map(|(due, _)| *due);
            if timer.is_none() && progress.asked.get() == 0 {
                return Ok(Err(failure(
                    "the code waits for a promise that nothing can settle: no timer runs, and nothing was asked of the host",
                )));
            }
            let until = [timer, progress.deadline].into_iter().flatten().min();
            let heard = self.channel.borrow_mut().wait(until).map_err(Broken::Received)?;
            let done = match heard {
                Heard::Message(ToWorker::Reply { id, reply }) if id == self.id => {
                    progress.asked.set(progress.asked.get().saturating_sub(1));
                    self.settle(ctx, surroundings, reply.to, reply.answer)
                }
                Heard::Message(ToWorker::Reply { .. }) => Ok(()),
                Heard::Message(ToWorker::Call { id, .. }) => return Err(Broken::Second(id)),
                Heard::Ended => return Err(Broken::Ended),
                Heard::Late => match progress.take_due(Instant::now()) {
                    Some(timer) => surroundings.fire.call::<_, Value<'js>>((timer as f64,)).map(drop),
                    None => Ok(()),
                },
            };
            if let Err(error) = done {
                let thrown = match CaughtError::from_error(ctx, error) {
                    CaughtError::Exception(exception) => exception.into_value(),
                    CaughtError::Value(value) => value,
                    error @ CaughtError::Error(_) => return Ok(Err(self.caught(&error))),
                };
                return Ok(Err(self.thrown(surroundings, thrown)));
            }
        }
    }

    fn settle<'js>(
        &self,
        ctx: &Ctx<'js>,
        surroundings: &Surroundings<'js>,
        number: u64,
        answer: Result<serde_json::Value, ReplyError>,
    ) -> rquickjs::Result<()> {
        let number = number as f64;
        let settled: rquickjs::Result<Value<'js>> = match answer {
            Ok(value) => surroundings.settle.call((number, ctx.json_parse(value.to_string())?)),
            Err(ReplyError { message, code }) => {
                let nothing = Value::new_undefined(ctx.clone());
                surroundings.settle.call((number, nothing, message, code))
            }
        };
        settled.map(drop)
    }

    /// Makes the line that tells a result.
    fn line(&self, outcome: Result<String, String>) -> Result<String, Failure> {
        let json = outcome.map_err(|told| self.told(&told))?;
        let json = fit(json, "the result").map_err(failure)?;
        let line = format!("{{\"id\":{},\"result\":{json}}}\n", self.id);
        if line.len() > LONGEST_LINE {
            let (size, most) = (line.len() >> 20, LONGEST_LINE >> 20);
            return Err(failure(format!("the result has {size} MiB, and may have {most}: write it to a file")));
        }
        Ok(line)
    }

    /// Tells what was thrown.
    fn thrown<'js>(&self, surroundings: &Surroundings<'js>, thrown: Value<'js>) -> Failure {
        // What cannot even be described took the last of the memory, or the time.
        match surroundings.describe.call::<_, String>((thrown,)) {
            Ok(told) => self.told(&told),
            Err(_) => self.told("null"),
        }
    }

    fn told(&self, json: &str) -> Failure {
        #[derive(Deserialize)]
        struct Told {
            message: String,
            trace: String,
        }
        if self.progress.is_late.get() {
            return self.late();
        }
        let Ok(Told { message, trace }) = serde_json::from_str(json) else {
            return failure(format!(
                "the code failed, and there was no memory left to say why: it may use {}",
                self.room()
            ));
        };
        let message = match message.as_str() {
            "out of memory" | "InternalError: out of memory" => {
                format!("the code needs more memory than the {} it may use", self.room())
            }
            _ => message,
        };
        let module = self.module();
        // How our surroundings called the code tells its author nothing.
        let is_ours = |frame: &str| frame.contains(&format!("({SURROUNDINGS}:")) || frame.trim() == "at apply (native)";
        let frames: Vec<&str> = trace.lines().filter(|frame| !is_ours(frame) && !frame.trim().is_empty()).collect();
        // The engine counts in the script, people in the file.
        let trace = self.places.in_trace(&frames.join("\n"), &module, self.call.line as usize);
        let line = trace.lines().find_map(|frame| line_of(frame, &module));
        let trace = (!trace.is_empty()).then(|| shortened(trace));
        Failure { message: shortened(message), trace, line }
    }

    fn caught(&self, error: &CaughtError<'_>) -> Failure {
        if self.progress.is_late.get() { self.late() } else { failure(error.to_string()) }
    }

    fn late(&self) -> Failure {
        failure(format!("stopped after {} ms, which is all the time it has", self.call.timeout.unwrap_or_default()))
    }

    fn room(&self) -> String {
        format!("{} MiB", self.memory >> 20)
    }
}

fn failure(message: impl Into<String>) -> Failure {
    Failure { message: message.into(), trace: None, line: None }
}

/// Evaluates one of our own texts.
fn surrounding<'js, T: rquickjs::FromJs<'js>>(ctx: &Ctx<'js>, text: &str) -> rquickjs::Result<T> {
    let mut options = EvalOptions::default();
    options.filename = Some(SURROUNDINGS.to_owned());
    ctx.eval_with_options(text, options)
}

/// Ends a call whose host cannot be told anything.
fn gone(ctx: &Ctx<'_>, progress: &Progress, error: SendError) -> rquickjs::Error {
    let message = error.to_string();
    progress.broken.borrow_mut().get_or_insert(error);
    Exception::throw_message(ctx, &message)
}

/// Makes JSON of the engine fit for the host: half a surrogate pair is no text elsewhere, and what is nested too deeply is not
/// read.
fn fit(json: String, what: &str) -> Result<String, String> {
    let mut bytes = json.into_bytes();
    let (mut depth, mut is_text) = (0_usize, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => is_text = !is_text,
            b'\\' => {
                // Whole pairs are written as the character that they are.
                if bytes.get(at + 1..at + 3).is_some_and(|escape| escape[0] == b'u' && escape[1] == b'd')
                    && bytes.get(at + 3).is_some_and(|digit| matches!(digit, b'8' | b'9' | b'a'..=b'f'))
                {
                    bytes[at + 2..at + 6].copy_from_slice(b"fffd");
                }
                at += 1;
            }
            b'[' | b'{' if !is_text => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(format!("{what} is nested more than {DEEPEST} deep, which the host does not take"));
                }
            }
            b']' | b'}' if !is_text => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    String::from_utf8(bytes).map_err(|_| format!("{what} is no text"))
}

fn shortened(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push('…');
    }
    text
}

/// The line that a frame of a trace tells, if it is one of the tool.
fn line_of(frame: &str, module: &str) -> Option<u32> {
    let (rest, _column) = frame.trim_end_matches(')').rsplit_once(':')?;
    let (name, line) = rest.rsplit_once(':')?;
    let is_ours = name.strip_suffix(module).is_some_and(|before| before.ends_with(['(', ' ']));
    if is_ours { line.parse().ok() } else { None }
}
