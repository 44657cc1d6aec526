use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

use cycod_model::{Cancel, Delta, ErrorKind, Message, ModelError, Provider, Reply, Request};
use cycod_schema::Dialect;

/// A provider that says what a model said before, whatever it is asked.
#[derive(Debug)]
pub struct Replay {
    model: String,
    dialect: Dialect,
    replies: Mutex<VecDeque<Reply>>,
}

impl Replay {
    /// Says these, one after the other.
    pub fn new(dialect: Dialect, replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: VecDeque<Reply> = replies.into_iter().collect();
        let model = replies.front().map(|reply| reply.model.clone()).unwrap_or_default();
        Self { model, dialect, replies: Mutex::new(replies) }
    }

    /// Says what the model said in a conversation.
    pub fn of(dialect: Dialect, messages: &[Message]) -> Self {
        Self::new(
            dialect,
            messages.iter().filter_map(|message| match message {
                Message::Model(reply) => Some(reply.clone()),
                _ => None,
            }),
        )
    }
}

impl Provider for Replay {
    fn provider(&self) -> &str {
        "replay"
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn complete(
        &self,
        _request: &Request,
        cancel: &Cancel,
        follow: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError::new(ErrorKind::Cancelled, "it was broken off"));
        }
        let reply = self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let reply = reply.ok_or_else(|| ModelError::new(ErrorKind::Generation, "nothing more was said"))?;
        follow(Delta::Text(&reply.text));
        Ok(reply)
    }
}
