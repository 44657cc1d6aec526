//! Calls of functions in a language.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_definition::{Handler, Level, Parameter, Privilege, Produces, Runtime, digest};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::PreparedCall;
use cycod_process::{Ending, Input, ProcessLimits, Program, Spec, Stream};
use cycod_script::{
    Answers, Codec, FoundInterpreter, InterpreterError, Prelude, SourcePlaces, interpreter, prelude,
    protocol::{ArgumentType, CallContext, Failure, FromWorker, ScriptLanguage, ToWorker, WorkerCall},
};
use serde_json::{Map, Value};
use tempfile::TempDir;

use crate::{
    Event, StepReport, ToolOutcome, ToolPlatform,
    asks::Asks,
    platform::Starts,
    reach::Allowed,
    worker::{Attempt, Worker},
    workers::{Broken, End, Lines, Running, Workers},
};

/// How many bytes a script of the engine may use where its tool says nothing (Mimir's tool system, sandbox).
const SCRIPT_MEMORY: u64 = 256 << 20;

/// How much longer than its own limit a script of the engine may take until it stops by itself, and then until its process is
/// ended: it says better than we can what it was doing.
const PATIENCE: Duration = Duration::from_millis(20);
const LAST_PATIENCE: Duration = Duration::from_millis(200);

impl Worker<'_> {
    /// Calls a function in a language.
    pub(crate) fn call_handler(&self, handler: &Handler, report: &mut StepReport, emit: &dyn Fn(Event<'_>)) -> Attempt {
        let shown = self.plan.shown_call(&handler.runtime.to_string());
        report.commands.push(shown.clone());
        emit(Event::StepStarted { step: self.path.clone(), attempt: report.attempts, command: shown });
        let call = match self.plan.prepare_call(self.step, &self.results) {
            Ok(call) => call,
            Err(refusal) => return Attempt::refused(refusal),
        };
        report.keep_secret(&call.secrets);
        self.answered(&call.masks, |follow| self.function(handler, &call, follow), report, emit)
    }

    fn function(
        &self,
        handler: &Handler,
        call: &PreparedCall,
        follow: &mut dyn FnMut(&str, &str),
    ) -> Result<ToolOutcome, Refusal> {
        let place = self.path.as_str();
        let unusable = |why: &str| Err(Refusal::new(Code::ConfinementUnavailable, why.to_owned()).place(place));
        let confinement = &self.plan.confinement;
        if confinement.privilege == Privilege::Elevated {
            return unusable("a function runs with the rights of the user, never with elevated ones");
        }
        if confinement.container.as_ref().is_some_and(|container| container.image.is_some()) {
            return unusable("a function runs in a process of ours, which no image has");
        }
        let Some(workers) = self.driver.workers else {
            return Err(Refusal::new(Code::NotStarted, "nothing here carries out functions").place(place));
        };
        let deadline = self.attempt_deadline();
        let (request, places) = self.request(handler, call, deadline)?;
        let is_file = request.produces.is_some();
        let starts = match &handler.allowlist {
            Some(list) => Starts::Listed(list),
            None if !self.plan.confinement.layers.is_empty() || self.plan.granted() == Level::Run => Starts::Any,
            None => Starts::None,
        };
        let platform = ToolPlatform::new(self, call, starts);
        let asks = Asks::new(&platform);
        let end = End { deadline, stop: self.driver.stop };
        let configured = self.driver.interpreters.map(|configured| configured()).unwrap_or_default();
        let interpreter = interpreter(handler, self.file(), self.plan.host(), &configured).map_err(|error| {
            Refusal::new(Code::NotStarted, error.to_string()).place(place).attempt(match error {
                InterpreterError::NoUv => "install uv, or name an environment that has them in `runtime`",
                _ => "see what is there: cycod doctor",
            })
        })?;
        let answer = match prelude(handler.runtime).zip(interpreter.as_ref()) {
            None => {
                let end = End { deadline: deadline + LAST_PATIENCE, ..end };
                let taken = workers.take("engine", false, &end, || self.start_engine(workers));
                taken.and_then(|taken| taken.call(request, &asks, &end, follow))
            }
            Some(worker) if self.is_alone(call) => self.call_once(worker, call, request, follow),
            Some(worker) => {
                let key = self.key(worker.1, call);
                let taken = workers.take(&key, true, &end, || self.start_interpreter(worker, call));
                taken.and_then(|taken| taken.call(request, &asks, &end, follow))
            }
        };
        if let Some(line) = asks.spent() {
            follow("info", &line);
        }
        match answer {
            Ok(Ok(Value::String(text))) if is_file => match STANDARD.decode(text) {
                Ok(output) => Ok(ToolOutcome { output, ..ToolOutcome::default() }),
                Err(error) => Err(self.broken(Broken::Ended(format!("its worker answered with no file: {error}")))),
            },
            Ok(Ok(value)) => Ok(outcome(value)),
            Ok(Err(_)) if Instant::now() >= deadline => Err(self.timed_out()),
            Ok(Err(failure)) => {
                let failure = self.placed(failure, handler, &places);
                Ok(ToolOutcome { error: told(&failure, self.file()), is_error: true, ..ToolOutcome::default() })
            }
            Err(broken) => Err(self.broken(broken)),
        }
    }

    /// Whether a call gets a process that no other call sees: its memory is limited, somebody watches it, or what it is to
    /// trust is made for this run.
    fn is_alone(&self, call: &PreparedCall) -> bool {
        self.plan.tool().resources.max_memory.is_some() || self.driver.observer.is_some() || !call.swaps.is_empty()
    }

    /// What a worker is told, and where the code that it gets stood in the file.
    fn request(
        &self,
        handler: &Handler,
        call: &PreparedCall,
        deadline: Instant,
    ) -> Result<(WorkerCall, SourcePlaces), Refusal> {
        let tool = self.plan.tool();
        let is_engine = handler.runtime == Runtime::Engine;
        let arguments = call.arguments.iter().map(|(name, value)| (name.clone(), value.to_json()));
        let host = self.plan.host();
        let directory = call.working_directory.to_string_lossy().into_owned();
        let mut config = Map::new();
        config.insert("workingDirectory".to_owned(), Value::String(directory.clone()));
        let mut conversation = config.clone();
        conversation.insert("id".to_owned(), Value::String(self.plan.run_id().to_owned()));
        let trace = self.trace().into_iter().map(|(name, value)| (name.to_ascii_uppercase(), value)).collect();
        let trace: BTreeMap<String, String> = if is_engine { BTreeMap::new() } else { trace };
        let (code, places) = match (handler.runtime, handler.is_typescript) {
            (Runtime::Node, true) => lowered(&handler.code, handler.line)?,
            _ => (handler.code.clone(), SourcePlaces::default()),
        };
        let language = if handler.is_typescript { ScriptLanguage::TypeScript } else { ScriptLanguage::JavaScript };
        let request = WorkerCall {
            tool: tool.name.to_string(),
            key: digest(&format!("{}\0{}\0{code}", tool.name.key(), handler.line)),
            code,
            line: handler.line,
            language: is_engine.then_some(language),
            file: self.file().map(|file| file.to_string_lossy().into_owned()),
            args: arguments.collect(),
            types: tool.parameters.iter().filter_map(argument_type).collect(),
            produces: file_type(handler, &tool.produces),
            timeout: u64::try_from((deadline + PATIENCE).saturating_duration_since(Instant::now()).as_millis()).ok(),
            memory: is_engine.then(|| tool.resources.max_memory.unwrap_or(SCRIPT_MEMORY)),
            context: CallContext {
                directory,
                workspace: host.workspace.to_string_lossy().into_owned(),
                environment: (!trace.is_empty()).then_some(trace),
                network: Allowed::has_hosts(self.plan)?,
                config,
                conversation: Some(conversation),
            },
        };
        Ok((request, places))
    }

    /// A failure with the places of the file, where its worker ran code that was made of the file's.
    fn placed(&self, failure: Failure, handler: &Handler, places: &SourcePlaces) -> Failure {
        let first = handler.line as usize;
        let name = self
            .file()
            .map_or_else(|| format!("<{}>", self.plan.tool().name), |file| file.to_string_lossy().into_owned());
        let trace = failure.trace.map(|trace| places.in_trace(&trace, &name, first));
        let line = failure.line.map(|line| {
            let inside = (line as usize + 1).saturating_sub(first).max(1);
            u32::try_from(places.original(inside, 1).0 + first - 1).unwrap_or(line)
        });
        // The trace knows the column too.
        let line = trace.as_deref().and_then(|trace| line_in(trace, &name)).or(line);
        Failure { trace, line, ..failure }
    }

    /// What two calls have in common that share a worker.
    fn key(&self, interpreter: &FoundInterpreter, call: &PreparedCall) -> String {
        let confinement = &self.plan.confinement;
        let held = if confinement.is_confined() { format!("{confinement:?}") } else { String::new() };
        let host = self.plan.host();
        let words = format!(
            "{interpreter:?}\0{}\0{held}\0{:?}\0{:?}",
            self.driver.worker_session, host.workspace, call.environment
        );
        digest(&words)
    }

    fn start_engine(&self, workers: &Workers) -> Result<Running, Refusal> {
        let Some((program, arguments)) = workers.engine() else {
            let why = "the program that embeds this library does not say what carries out scripts";
            return Err(Refusal::new(Code::NotStarted, why).place(self.path.as_str()));
        };
        // It gives up every power before it reads a word, so it is held to nothing else.
        let directory = self.directory()?;
        let program = Program { args: arguments.clone(), ..Program::new(program, directory.path()) };
        Running::start(&Spec::new(program), None, Codec::Json, directory)
    }

    /// Starts an interpreter under the plan's terms.
    fn start_interpreter(
        &self,
        (prelude, interpreter): (Prelude, &FoundInterpreter),
        call: &PreparedCall,
    ) -> Result<Running, Refusal> {
        let directory = self.directory()?;
        let launch = self.launch_interpreter(prelude, interpreter, call, directory.path());
        let launch = launch.map_err(|failure| *failure.refusal)?;
        Running::start(&launch.spec, launch.held, prelude.codec, directory)
    }

    fn directory(&self) -> Result<TempDir, Refusal> {
        let parent = &self.plan.host().temp;
        tempfile::Builder::new().prefix("cycod-worker-").tempdir_in(parent).map_err(|error| {
            Refusal::new(Code::TempDirectory, format!("cannot make a directory in `{}`: {error}", parent.display()))
        })
    }

    /// Makes the call in a process that begins and ends with it.
    fn call_once(
        &self,
        (prelude, interpreter): (Prelude, &FoundInterpreter),
        call: &PreparedCall,
        request: WorkerCall,
        follow: &mut dyn FnMut(&str, &str),
    ) -> Result<Result<Value, Failure>, Broken> {
        const ONLY: u64 = 1;
        let directory = self.directory().map_err(Broken::Refused)?;
        let mut launch = self
            .launch_interpreter(prelude, interpreter, call, directory.path())
            .map_err(|failure| Broken::Refused(*failure.refusal))?;
        let message = prelude.codec.encode(&ToWorker::Call { id: ONLY, call: Box::new(request) });
        launch.spec.input = Input::Bytes(message.map_err(|error| Broken::Unfit(error.to_string()))?.into());
        launch.spec.deadline = Some(self.attempt_deadline());
        launch.spec.limits =
            ProcessLimits { memory: self.plan.tool().resources.max_memory, ..ProcessLimits::default() };
        let (mut answers, mut lines, mut last) = (Vec::new(), Lines::default(), String::new());
        let mut hear = |line: String| {
            follow("info", &line);
            last = line;
        };
        let ended = self.session.run(&launch.spec, self.driver.stop, &mut |stream, bytes| match stream {
            Stream::Stdout => answers.extend_from_slice(bytes),
            Stream::Stderr => lines.push(bytes, &mut hear),
        });
        lines.end().map(hear);
        let ended = ended.map_err(|error| Broken::Refused(*crate::failure::not_started(&error).refusal))?;
        let mut read = Answers::new(prelude.codec, answers.as_slice());
        let wrong = loop {
            match read.next() {
                Ok(Some(FromWorker::Result { value, .. })) => return Ok(Ok(value)),
                Ok(Some(FromWorker::Failure { failure, .. })) => return Ok(Err(failure)),
                Ok(Some(FromWorker::Log { log, .. })) => follow("info", &log.message),
                Ok(Some(FromWorker::Ready(_) | FromWorker::Ask { .. })) => {}
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        Err(match ended.ending {
            Ending::TimedOut { .. } => Broken::TimedOut,
            Ending::Stopped { .. } => Broken::Stopped,
            Ending::MemoryExceeded => {
                let limit = self.plan.tool().resources.max_memory.unwrap_or_default();
                let why = format!("`{}` used more than its `max-memory` of {limit} bytes", self.path);
                let refusal = Refusal::new(Code::MemoryExceeded, why).place(self.path.as_str());
                Broken::Refused(refusal.attempt("raise `resources.max-memory`"))
            }
            Ending::Exited(code) => {
                Broken::Ended(wrong.unwrap_or_else(|| format!("its process ended with exit code {code}; {last}")))
            }
            Ending::Signaled(signal) => Broken::Ended(format!("its process was ended by signal {signal}; {last}")),
        })
    }

    fn broken(&self, broken: Broken) -> Refusal {
        let place = self.path.as_str();
        match broken {
            Broken::TimedOut => self.timed_out(),
            Broken::Stopped => {
                Refusal::new(Code::Cancelled, format!("`{place}` was stopped from outside")).place(place)
            }
            Broken::Ended(how) => Refusal::new(Code::WorkerFailed, format!("`{place}` has no result: {how}"))
                .place(place)
                .attempt("let the handler return, or raise an error"),
            Broken::Unfit(why) => {
                Refusal::new(Code::InvalidArgument, format!("the arguments cannot be handed over: {why}")).place(place)
            }
            Broken::Refused(refusal) => refusal,
        }
    }

    /// The file in which the handler's code is.
    fn file(&self) -> Option<&std::path::Path> {
        self.plan.tool().origin.file.as_deref()
    }
}

/// The media type of the file that a function yields, for those that can yield bytes.
fn file_type(handler: &Handler, produces: &Produces) -> Option<String> {
    match produces {
        Produces::Media(media_type) if handler.runtime != Runtime::Engine => Some(media_type.clone()),
        _ => None,
    }
}

/// What a parameter's values are for a language with more kinds of vectors than JSON has.
fn argument_type(parameter: &Parameter) -> Option<(String, ArgumentType)> {
    let items = parameter.validation.items.as_ref().map(|items| items.kind);
    Some((parameter.name.clone(), ArgumentType::of(parameter.kind, items)?))
}

/// What a function's result is for people, models and later steps.
fn outcome(value: Value) -> ToolOutcome {
    if let Some(failed) = reported_failure(&value) {
        return failed;
    }
    match value {
        Value::Null => ToolOutcome::default(),
        Value::String(text) => ToolOutcome { output: text.into_bytes(), ..ToolOutcome::default() },
        value => ToolOutcome { output: format!("{value:#}").into_bytes(), ..ToolOutcome::default() },
    }
}

/// What became of a function that returned an object with `success: false` instead of raising an error.
///
/// Its `error` is what is told. The object is the output, unless there is nothing else in it.
fn reported_failure(value: &Value) -> Option<ToolOutcome> {
    let fields = value.as_object()?;
    if fields.get("success") != Some(&Value::Bool(false)) {
        return None;
    }
    let told = ["error", "message"].into_iter().find_map(|name| Some((name, error_text(fields.get(name)?)?)));
    let is_told = |name: &str| name == "success" || told.as_ref().is_some_and(|(known, _)| *known == name);
    let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    let says_more = fields.iter().any(|(name, value)| !is_told(name) && !is_empty(value));
    let mut error = match told {
        Some((_, text)) => text,
        None => "the function returned `success: false`, and no `error` with the reason".to_owned(),
    };
    error.push('\n');
    let output = if says_more { format!("{value:#}").into_bytes() } else { Vec::new() };
    Some(ToolOutcome { output, error: error.into_bytes(), is_error: true, ..ToolOutcome::default() })
}

/// What a value says as the reason of a failure: a text, several of them, or an error with its message.
fn error_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().filter_map(error_text).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) if fields.get("message").is_some_and(Value::is_string) => {
            return error_text(&fields["message"]);
        }
        value => value.to_string(),
    };
    let text = text.trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// What a function that failed has to say, with the place in its file.
fn told(failure: &Failure, file: Option<&std::path::Path>) -> Vec<u8> {
    let mut text = failure.message.trim_end().to_owned();
    match (failure.line, file.and_then(std::path::Path::file_name)) {
        (Some(line), Some(file)) => text.push_str(&format!("\n  at {}:{line}", file.to_string_lossy())),
        (Some(line), None) => text.push_str(&format!("\n  at line {line}")),
        (None, _) => {}
    }
    if let Some(trace) = &failure.trace {
        for line in trace.trim_end().lines() {
            text.push_str("\n  ");
            text.push_str(line);
        }
    }
    text.push('\n');
    text.into_bytes()
}

/// The line of the first place in a trace that is one of the file.
fn line_in(trace: &str, file: &str) -> Option<u32> {
    let mark = format!("{file}:");
    let (_, after) = trace.split_once(&mark)?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// JavaScript made of TypeScript, for an interpreter that does not know types.
fn lowered(code: &str, line: u32) -> Result<(String, SourcePlaces), Refusal> {
    cycod_script::lower(code).map_err(|problems| {
        let first =
            problems.first().map(|problem| format!(": line {}: {}", line as usize + problem.line - 1, problem.message));
        Refusal::new(Code::NotStarted, format!("the handler cannot be read{}", first.unwrap_or_default()))
    })
}
