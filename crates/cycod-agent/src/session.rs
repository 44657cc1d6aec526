use cycod_engine::{Approver, Asker, Engine, Stop};
use cycod_model::{Message, Provider};

use crate::{Limits, Sink, Tools, TurnError, Turned, turn::Turn};

/// A conversation with a model that works with tools.
#[derive(Clone, Debug, Default)]
pub struct Session {
    messages: Vec<Message>,
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
    /// A conversation in which these messages were said.
    pub fn of(messages: Vec<Message>) -> Self {
        Self { messages }
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
        self.add(Message::User(text.into()))
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

    /// Adds a message.
    pub(crate) fn add(&mut self, message: Message) -> Result<(), TurnError> {
        self.messages.push(message);
        Ok(())
    }
}
