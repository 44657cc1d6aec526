use std::time::Duration;

use cycod_diagnostic::Refusal;
use cycod_engine::{Answer, Request};
use cycod_model::{Call, ModelError, Reply, ToolResult};

/// Something that happens in a turn. What tools say is without secrets.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A model is asked.
    Asks {
        /// How often it was asked in this turn, this time included.
        iteration: u32,
        /// How many tokens it is told, by estimate.
        tokens: usize,
    },
    /// The model says something.
    Text(&'a str),
    /// The model thinks something.
    Thought(&'a str),
    /// An attempt failed and another follows; what the model said so far does not count.
    Again {
        /// What failed.
        why: &'a ModelError,
        /// How long until the next.
        pause: Duration,
    },
    /// The model has said what it wants to say.
    Replied(&'a Reply),
    /// A call is looked at; it may wait for an approval.
    CallBegins {
        /// The call.
        call: &'a Call,
        /// What the tool is called here.
        tool: &'a str,
    },
    /// Somebody is asked whether a call may run.
    Question {
        /// The call.
        call: &'a Call,
        /// What is asked.
        request: &'a Request,
    },
    /// What was answered.
    Answered {
        /// The call.
        call: &'a Call,
        /// The answer.
        answer: &'a Answer,
    },
    /// Something happens in the run of a call. Those of calls that run side by side are mixed.
    Run {
        /// The call.
        call: &'a Call,
        /// What happens.
        event: &'a cycod_engine::Event<'a>,
    },
    /// A call has its result.
    CallEnds {
        /// The call.
        call: &'a Call,
        /// What the model is told.
        result: &'a ToolResult,
        /// Why it did not run, or did not end well, when it is more than an exit code.
        problem: Option<&'a Refusal>,
        /// How long it ran; nothing when it did not.
        took: Option<Duration>,
    },
    /// Old content was replaced by references so that the request fits.
    MadeRoom {
        /// How many results, and other parts of messages.
        results: usize,
        /// How many messages were left out altogether.
        messages: usize,
        /// How many tokens that won, by estimate.
        tokens: usize,
    },
    /// Something that a person should know.
    Warning(&'a str),
}

/// Somebody who follows a turn.
pub trait Sink {
    /// Takes note of an event. While it does not return, the turn waits.
    fn event(&mut self, event: &Event<'_>);
}

impl<F: FnMut(&Event<'_>)> Sink for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// A sink for turns that nobody follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Sink for Silent {
    fn event(&mut self, _event: &Event<'_>) {}
}
