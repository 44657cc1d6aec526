use crate::Decision;

/// What somebody is asked to allow.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it will execute, ready to be shown.
    pub commands: &'a [String],
    /// Why it asks for what it asks, in its author's words.
    pub justification: Option<&'a str>,
    /// The decision that led to the question.
    pub decision: &'a Decision,
}

/// What somebody answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// No.
    No,
    /// There was nobody to ask.
    Unanswered,
}

/// Somebody who can be asked: a terminal, a client with a dialogue, a page.
pub trait Approver {
    /// Asks, and waits for the answer.
    fn answer(&self, request: &Request<'_>) -> Answer;
}

/// The approver of a surface on which nobody can be asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn answer(&self, _request: &Request<'_>) -> Answer {
        Answer::Unanswered
    }
}
