//! A conversation with a model that works with tools, and what it keeps between turns.

use std::{collections::BTreeSet, ffi::OsString, path::Path, sync::Arc};

use cycod_engine::{
    Approver, Asker, Engine, Stop,
    outputs::{Shelf, retention},
};
use cycod_model::{Message, Provider};
use serde_json::Value as Json;

use crate::{
    Limits, Sink, Tools, Transcript, TranscriptError, TurnError, Turned,
    transcript::{What, Writer},
    turn::Turn,
};

/// A conversation with a model that works with tools.
#[derive(Debug, Default)]
pub struct Session {
    messages: Vec<Message>,
    writer: Option<Writer>,
    jq_worker: Vec<OsString>,
    shelf: Option<Arc<Shelf>>,
    /// The tools that the model has found, where it has to search.
    pub(crate) found: BTreeSet<String>,
    /// What was learned about how a model counts.
    pub(crate) learned: Option<Learned>,
}

/// What the answers of a model have shown about its limits.
#[derive(Clone, Debug)]
pub(crate) struct Learned {
    /// The model, with its provider.
    pub(crate) model: String,
    /// How many of its tokens one of our estimate is.
    pub(crate) measure: f64,
    /// The longest request that it takes, in its tokens, if its provider stated one.
    pub(crate) room: Option<usize>,
}

/// Whom a turn works with. All of it may be another for the next turn.
#[derive(Clone, Copy)]
pub struct With<'a> {
    /// What decides about calls, and carries them out.
    pub engine: &'a Engine,
    /// The model.
    pub provider: &'a dyn Provider,
    /// The tools that the model may use.
    pub tools: &'a Tools,
    /// Who asks for the calls. What functions keep in their interpreters is shared within the asker's session.
    pub asker: &'a Asker,
    /// Who says whether a call may run that the rules do not decide. One question is asked at a time.
    pub approver: &'a dyn Approver,
    /// How far the turn may go.
    pub limits: &'a Limits,
    /// Ends the turn.
    pub stop: &'a Stop,
    /// What the model is told beside our own words, such as the contents of files.
    pub context: Option<&'a str>,
}

impl Session {
    /// A conversation in which these messages were said. Each call in them must have a result.
    pub fn of(messages: Vec<Message>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Goes on with the session whose name in a directory begins so, and says what is known of it.
    ///
    /// # Errors
    /// When there is none, or several, or another process is at work with it, or it cannot be read.
    pub fn resume(directory: &Path, start: &str, engine: &Engine) -> Result<(Self, Transcript), TranscriptError> {
        let (writer, transcript) = Writer::resume(directory, start, engine.secrets_here())?;
        let messages = transcript.messages();
        Ok((Self { messages, writer: Some(writer), ..Self::default() }, transcript))
    }

    /// Writes down in a directory what was said and will be, under a name of its own. Secrets are left out.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn record(&mut self, directory: &Path, about: &Json, engine: &Engine) -> Result<&str, TranscriptError> {
        let mut writer = Writer::begin(directory, about, engine.secrets_here())?;
        for message in &self.messages {
            writer.write(&What::Message(message.clone()))?;
        }
        Ok(self.writer.insert(writer).id())
    }

    /// What the session is called where it is written down.
    pub fn id(&self) -> Option<&str> {
        self.writer.as_ref().map(Writer::id)
    }

    /// Says which program, with its first arguments, asks jq programs about outputs. Without one, none are asked.
    pub fn ask_jq_by(&mut self, worker: Vec<OsString>) {
        (self.jq_worker, self.shelf) = (worker, None);
    }

    /// What was said so far, the oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds what a person says. It is answered by the next turn.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn say(&mut self, text: impl Into<String>) -> Result<(), TurnError> {
        Ok(self.add(Message::User(text.into()))?)
    }

    /// Lets the model go on until it has answered, or may go no further.
    ///
    /// However it ends, each call that the model made has a result, so that the conversation can go on.
    ///
    /// # Errors
    /// When the model cannot be asked, or what is said cannot be written down.
    pub fn turn(&mut self, with: &With<'_>, sink: &mut dyn Sink) -> Result<Turned, TurnError> {
        Turn::new(self, with, sink)?.go()
    }

    /// Adds a message. What cannot be written down was not said, but for results: what was done was done.
    pub(crate) fn add(&mut self, message: Message) -> Result<(), TranscriptError> {
        let written = match &mut self.writer {
            Some(writer) => writer.write(&What::Message(message.clone())),
            None => Ok(()),
        };
        if written.is_ok() || matches!(message, Message::Results(_)) {
            self.messages.push(message);
        }
        written
    }

    /// Writes down how a turn ended.
    pub(crate) fn turned(&mut self, how: Json) -> Result<(), TranscriptError> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(&What::Turned(how)))
    }

    /// Keeps texts from being written down.
    pub(crate) fn hide(&mut self, secrets: Vec<String>) {
        if let Some(writer) = &mut self.writer {
            writer.hide(secrets);
        }
    }

    /// Where outputs are kept.
    pub(crate) fn shelf(&mut self, engine: &Engine) -> Arc<Shelf> {
        let new =
            || Arc::new(Shelf::new(engine.outputs_directory(), retention(&engine.settings()), self.jq_worker.clone()));
        Arc::clone(self.shelf.get_or_insert_with(new))
    }

    pub(crate) fn messages_mut(&mut self) -> &mut Vec<Message> {
        &mut self.messages
    }
}
