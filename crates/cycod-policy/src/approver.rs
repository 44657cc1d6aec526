use cycod_definition::{Level, Privilege};

use crate::Surface;

/// What somebody is asked to allow: everything that is needed to decide, ready to be shown but for characters that a
/// terminal would act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The tool.
    pub tool: String,
    /// What its author calls it.
    pub title: Option<String>,
    /// Where its definition comes from: a file, or another program's server.
    pub source: String,
    /// How dangerous it is, composition included.
    pub level: Level,
    /// With whose rights it runs.
    pub privilege: Privilege,
    /// Everything that it may execute, secrets masked.
    pub commands: Vec<String>,
    /// Its arguments as one JSON object, secrets masked.
    pub arguments: String,
    /// The arguments as they were given, where the approver may change them: one JSON object, secrets masked.
    pub editable: Option<String>,
    /// Where its commands run.
    pub working_directory: String,
    /// What it can reach, a line each.
    pub reach: Vec<String>,
    /// The rule that led to the question.
    pub rule: String,
    /// Whether a rule that allows would change it.
    pub yields: bool,
    /// Why it asks for what it asks, in its author's words.
    pub justification: Option<String>,
    /// What changed since it was last accepted.
    pub changes: Option<String>,
    /// What else the approver should know.
    pub warnings: Vec<String>,
    /// The digest of everything that makes the tool what it is.
    pub digest: String,
    /// The digest of this very call: who asks, the tool as it is, arguments, commands.
    pub call: String,
    /// Who asks for it.
    pub surface: Surface,
    /// The same in words, such as the name of a host.
    pub asker: String,
    /// Whether an answer may hold for more than this call.
    pub is_lasting: bool,
    /// Whether the caller has a session that an answer may hold for.
    pub has_session: bool,
}

impl Request {
    /// Whether the call has arguments.
    pub fn has_arguments(&self) -> bool {
        self.arguments != "{}"
    }
}

/// What somebody answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, as long as the session of the caller lasts.
    Session(Breadth),
    /// Yes, as long as the tool is what it is.
    Always(Breadth),
    /// Ask again, with these arguments: one JSON object in the place of [`Request::editable`].
    Edit(String),
    /// No, and perhaps why.
    No(Option<String>),
    /// There was nobody to ask; with what can be done about it.
    Unanswered(Option<String>),
}

/// How far an answer reaches that holds for more than one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// To calls with the same arguments.
    TheseArguments,
    /// To every call of the tool as it is.
    AnyArguments,
}

/// Somebody who can be asked: a terminal, a client with a dialogue, a page.
pub trait Approver {
    /// Asks, and waits for the answer.
    fn answer(&self, request: &Request) -> Answer;

    /// Tells why there is no call with the arguments that were answered; returns whether to ask once more.
    fn tell(&self, why: &str) -> bool {
        let _ = why;
        false
    }
}

/// The approver of a surface on which nobody can be asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn answer(&self, _request: &Request) -> Answer {
        Answer::Unanswered(None)
    }
}
