//! A place with tools, a model that follows a script, and turns written down so that they can be compared.

use std::{
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use cycod_agent::{Choice, Event, Limits, Session, Tools, TurnError, Turned, With};
use cycod_engine::{Answer, Approver, Asker, Engine, Nobody, Request as Question, Stop, Surface, host};
use cycod_model::{Call, Cancel, Delta, Message, ModelError, Price, Provider, Reply, Request, StopReason, Usage};
use cycod_schema::Dialect;
use cycod_store::History;
use serde_json::{Map, Value as Json};
use tempfile::TempDir;

/// A project directory with a home beside it, and nothing else of this machine but its programs.
pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        for directory in ["project/.cycod/tools", "home", "tmp", "global"] {
            fs::create_dir_all(root.path().join(directory)).expect("a directory in it");
        }
        Self { root }
    }

    /// Adds a tool.
    pub(crate) fn tool(self, name: &str, text: &str) -> Self {
        fs::write(self.project().join(format!(".cycod/tools/{name}.yaml")), text).expect("the tool's file");
        self
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.root.path().canonicalize().expect("it exists")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn engine(&self) -> Engine {
        let root = self.root();
        let mut here = host::current().expect("a working directory");
        let path = here.environment.remove(std::ffi::OsStr::new("PATH")).expect("a PATH");
        here.environment.clear();
        here.environment.insert("PATH".into(), path);
        here.environment.insert("LANG".into(), "C.UTF-8".into());
        here.environment.insert("CYCOD_GLOBAL_DIR".into(), root.join("global").into());
        here.environment.insert(cycod_engine::trust::TRUSTED_DIRECTORIES.into(), root.join("project").into());
        here.home = root.join("home");
        here.temp = root.join("tmp");
        here.working_directory = self.project();
        let engine = Engine::builder(here);
        let history = History::at(engine.place().catalog().scopes().user_directory());
        engine.history(Arc::new(history)).build()
    }
}

/// What a model says next, given what it was told.
type Script = dyn Fn(&Request, usize) -> Result<Reply, ModelError> + Send + Sync;

/// A model that follows a script.
pub(crate) struct Scripted {
    script: Box<Script>,
    asked: Mutex<Vec<Request>>,
    /// What is said before the script is asked.
    pub(crate) before: String,
    pub(crate) window: Option<usize>,
    pub(crate) price: Option<Price>,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    pub(crate) fn by(script: impl Fn(&Request, usize) -> Result<Reply, ModelError> + Send + Sync + 'static) -> Self {
        Self { script: Box::new(script), asked: Mutex::default(), before: String::new(), window: None, price: None }
    }

    /// Says these one after the other, and then that it is done.
    pub(crate) fn saying(replies: Vec<Reply>) -> Self {
        Self::by(move |_, at| Ok(replies.get(at).cloned().unwrap_or_else(|| says("done"))))
    }

    /// What it was told each time.
    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().expect("no test panics with it").clone()
    }
}

impl Provider for Scripted {
    fn provider(&self) -> &str {
        "scripted"
    }

    fn model(&self) -> &str {
        "script-1"
    }

    fn dialect(&self) -> Dialect {
        Dialect::Openai
    }

    fn window(&self) -> Option<usize> {
        self.window
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn complete(
        &self,
        request: &Request,
        cancel: &Cancel,
        follow: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::new(cycod_model::ErrorKind::Cancelled, "it was broken off"));
        }
        let at = {
            let mut asked = self.asked.lock().expect("no test panics with it");
            asked.push(request.clone());
            asked.len() - 1
        };
        if !self.before.is_empty() {
            follow(Delta::Text(&self.before));
        }
        let reply = (self.script)(request, at)?;
        if !reply.text.is_empty() {
            follow(Delta::Text(&reply.text));
        }
        Ok(reply)
    }
}

/// A reply of a text alone.
pub(crate) fn says(text: &str) -> Reply {
    Reply { text: text.to_owned(), usage: Usage { input: 100, output: 10, cached: 0 }, ..Reply::default() }
}

/// A reply of calls alone, each a name with its arguments.
pub(crate) fn calls(calls: &[(&str, Json)]) -> Reply {
    let call = |(at, (name, arguments)): (usize, &(&str, Json))| Call {
        id: format!("call-{at}"),
        name: (*name).to_owned(),
        arguments: match arguments {
            Json::Object(arguments) => Ok(arguments.clone()),
            Json::Null => Ok(Map::new()),
            other => Err(cycod_model::NoObject(other.to_string())),
        },
        opaque: None,
    };
    Reply {
        calls: calls.iter().enumerate().map(call).collect(),
        stop: StopReason::Calls,
        usage: Usage { input: 100, output: 10, cached: 0 },
        ..Reply::default()
    }
}

/// Somebody who answers every question alike.
pub(crate) struct Always(pub(crate) Answer);

impl Approver for Always {
    fn answer(&self, _: &Question) -> Answer {
        self.0.clone()
    }
}

/// A turn with everything around it.
pub(crate) struct Bed {
    pub(crate) place: Place,
    pub(crate) engine: Engine,
    pub(crate) provider: Scripted,
    pub(crate) tools: Tools,
    pub(crate) limits: Limits,
    pub(crate) stop: Stop,
    pub(crate) session: Session,
    pub(crate) story: String,
}

impl Bed {
    pub(crate) fn new(place: Place, provider: Scripted) -> Self {
        let engine = place.engine();
        let tools = Tools::choose(&engine, &Choice::All).expect("all tools can be offered");
        Self {
            place,
            engine,
            provider,
            tools,
            limits: Limits::default(),
            stop: Stop::new().expect("descriptors"),
            session: Session::default(),
            story: String::new(),
        }
    }

    /// Says something and lets the model answer it, with nobody to approve anything.
    pub(crate) fn turn(&mut self, text: &str) -> Result<Turned, TurnError> {
        self.turn_with(text, &Nobody)
    }

    pub(crate) fn turn_with(&mut self, text: &str, approver: &dyn Approver) -> Result<Turned, TurnError> {
        let asker = Asker::from(Surface::Agent);
        let with = With {
            engine: &self.engine,
            provider: &self.provider,
            tools: &self.tools,
            asker: &asker,
            approver,
            limits: &self.limits,
            stop: &self.stop,
            context: None,
        };
        let story = &mut self.story;
        self.session.say(text)?;
        self.session.turn(&with, &mut |event: &Event<'_>| tell(story, event))
    }

    /// The results that the model was told last.
    pub(crate) fn results(&self) -> Vec<cycod_model::ToolResult> {
        let results = self.session.messages().iter().rev().find_map(|message| match message {
            Message::Results(results) => Some(results.clone()),
            _ => None,
        });
        results.unwrap_or_default()
    }
}

/// Writes what happens in short: a line for each event that is the same in every run.
fn tell(story: &mut String, event: &Event<'_>) {
    let _ = match event {
        Event::Asks { iteration, .. } => writeln!(story, "asks {iteration}"),
        Event::Text(text) => writeln!(story, "text {text:?}"),
        Event::Thought(text) => writeln!(story, "thought {text:?}"),
        Event::Again { why, .. } => writeln!(story, "again: {why}"),
        Event::Replied(reply) => writeln!(story, "replied with {} calls", reply.calls.len()),
        Event::CallBegins { call, tool } => writeln!(story, "{} {tool}", call.id),
        Event::Question { call, request } => writeln!(story, "{} may run {}?", call.id, request.tool),
        Event::Answered { call, answer } => writeln!(story, "{} answered {answer:?}", call.id),
        Event::Run { .. } => Ok(()),
        Event::CallEnds { call, result, problem, took } => {
            let code = problem.map(|problem| format!(" {}", problem.code)).unwrap_or_default();
            let ran = if took.is_some() { "ran" } else { "did not run" };
            let word = if result.is_error { "failed" } else { "ok" };
            writeln!(story, "{} {ran} {word}{code}", call.id)
        }
        Event::MadeRoom { results, .. } => writeln!(story, "made room: {results}"),
        Event::Warning(warning) => writeln!(story, "warning: {warning}"),
    };
}
