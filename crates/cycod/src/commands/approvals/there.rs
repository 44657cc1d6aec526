use std::time::Duration;

use cycod_engine::{Answer, Approver, Engine, Request, Stop};

use super::{queue, queue_for_model, tty_of_a_person};
use crate::run::Prompt;

/// Asks the user at the terminal; without one, the request waits in the queue.
pub(crate) struct TerminalOrQueue<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) stop: &'a Stop,
    /// How long a call may wait in the queue.
    pub(crate) wait: Duration,
    /// The command by which a model asks; nothing where a person does.
    pub(crate) command: Option<&'a str>,
}

impl TerminalOrQueue<'_> {
    fn terminal(&self) -> Option<Prompt<'_>> {
        let host = self.engine.host();
        tty_of_a_person().map(|tty| Prompt { tty, host, stop: Some(self.stop) })
    }
}

impl Approver for TerminalOrQueue<'_> {
    fn answer(&self, request: &Request) -> Answer {
        match (self.terminal(), self.command) {
            (Some(prompt), _) => prompt.answer(request),
            (None, Some(command)) => queue_for_model(self.engine, self.wait, self.stop, request, command),
            (None, None) => queue(self.engine, self.wait, self.stop, request),
        }
    }

    fn tell(&self, why: &str) -> bool {
        self.terminal().is_some_and(|prompt| prompt.tell(why))
    }
}
