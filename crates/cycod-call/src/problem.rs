use std::sync::Arc;

use cycod_definition::{Value, json, shown};
use cycod_diagnostic::Code;

/// How long a call may be that is written out to be made again.
const LONGEST: usize = 2000;

/// How many names or problems of one call are reported. A caller who gets more of them wrong did not read what the tool takes.
pub const MOST_TOLD: usize = 20;

/// How many characters of a name that no parameter has are told.
const LONGEST_NAME: usize = 100;

/// Arguments that a tool takes, in the place of those that it did not.
#[derive(Clone, Debug, PartialEq)]
pub struct Instead {
    /// All of them, in the order of the parameters.
    pub arguments: Vec<(String, Value)>,
    /// The answers to the tool's questions, which only a person gives.
    pub answers: Vec<(String, Value)>,
    /// Those among both that the caller did not give, or gave otherwise.
    pub changed: Vec<String>,
    /// What the caller gave that is to be left out.
    pub dropped: Vec<String>,
    /// Whether the caller gave something secret, so that not all of them may be shown.
    pub has_secret: bool,
}

impl Instead {
    /// What to call again with, for a caller that gives arguments as one JSON object; nothing where a person has to answer first.
    pub fn as_json(&self) -> Option<String> {
        if self.answers.iter().any(|(name, _)| self.changed.contains(name)) {
            return None;
        }
        let object = |arguments: &mut dyn Iterator<Item = &(String, Value)>| {
            let mut text = String::new();
            json::write_object(arguments.map(|(name, value)| (name.as_str(), value)), &mut text);
            text
        };
        let whole = object(&mut self.arguments.iter());
        if !self.has_secret && whole.len() <= LONGEST {
            return Some(format!("call again with {whole}"));
        }
        let changes = object(&mut self.changes());
        let without = self.without();
        Some(match self.changed.is_empty() {
            true => format!("call again with the same arguments{without}"),
            false => format!("call again with the same arguments and {changes}{without}"),
        })
    }

    /// What is to be left out, as the end of a sentence.
    pub fn without(&self) -> String {
        let names: Vec<String> = self.dropped.iter().take(MOST_TOLD).map(|name| format!("`{name}`")).collect();
        let more = match self.dropped.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} others"),
        };
        if names.is_empty() { String::new() } else { format!(", without {}{more}", names.join(" and ")) }
    }

    /// Those that are given otherwise.
    pub fn changes(&self) -> impl Iterator<Item = &(String, Value)> {
        self.arguments.iter().chain(&self.answers).filter(|(name, _)| self.changed.contains(name))
    }
}

/// One thing that is wrong with the arguments of a call.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentProblem {
    /// The parameter it is about, or the name as given when there is no such parameter.
    pub parameter: Option<String>,
    /// Which kind, with a page in `docs/errors/`.
    pub code: Code,
    /// What is wrong: a lowercase fragment without a final period.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
    /// Arguments that would do, where some are known; with the first problem of a call.
    pub instead: Option<Arc<Instead>>,
}

impl ArgumentProblem {
    pub(crate) fn new(parameter: &str, code: Code, message: impl Into<String>) -> Self {
        Self { parameter: Some(parameter.to_owned()), code, message: message.into(), help: None, instead: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A name that the caller made up, as far as anybody reads it.
pub(crate) fn told(name: &str) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", shown(&name[..end])),
        None => shown(name),
    }
}
