use std::{fmt, time::Duration};

use cycod_schema::Dialect;

use crate::{Cancel, ModelError, Reply, Request, Usage};

/// Somebody who answers for a model.
pub trait Provider: fmt::Debug + Send + Sync {
    /// What the provider is called, such as `anthropic`.
    fn provider(&self) -> &str;

    /// What the model is called, such as `claude-sonnet-5-5`.
    fn model(&self) -> &str;

    /// The dialect in which it is told of tools.
    fn dialect(&self) -> Dialect;

    /// How many tokens it can hold, question and answer together; nothing when nobody knows.
    fn window(&self) -> Option<usize> {
        None
    }

    /// How many tokens a question may have so that the answer it asks for fits, too; nothing when that is unknown.
    fn room(&self) -> Option<usize> {
        self.window()
    }

    /// Finds out what must be known before a conversation, such as how much the model holds, and returns what a person should
    /// know about it. What was returned once is not returned again.
    fn prepare(&self, _cancel: &Cancel) -> Vec<String> {
        Vec::new()
    }

    /// What its tokens cost; nothing when nobody knows.
    fn price(&self) -> Option<Price> {
        None
    }

    /// Asks, and waits for the whole answer, which is told to `follow` as it is said.
    ///
    /// May be called from several threads at once.
    ///
    /// # Errors
    /// When there is no whole answer, after as many attempts as make sense.
    fn complete(
        &self,
        request: &Request,
        cancel: &Cancel,
        follow: &mut dyn FnMut(Delta<'_>),
    ) -> Result<Reply, ModelError>;
}

/// What happens while a model answers.
#[derive(Clone, Copy, Debug)]
pub enum Delta<'a> {
    /// It says something.
    Text(&'a str),
    /// It thinks something, for people who want to follow.
    Thought(&'a str),
    /// An attempt failed and another follows; what was told so far does not count.
    Again {
        /// What failed.
        why: &'a ModelError,
        /// How long until the next.
        pause: Duration,
    },
}

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of the input.
    pub input: f64,
    /// Of the output.
    pub output: f64,
    /// Of input that the provider had kept.
    pub cached: f64,
}

impl Price {
    /// What this use costs, in US dollars.
    pub fn of(self, usage: Usage) -> f64 {
        let fresh = usage.input.saturating_sub(usage.cached);
        (fresh as f64 * self.input + usage.cached as f64 * self.cached + usage.output as f64 * self.output) / 1e6
    }
}
