use std::path::{Path, PathBuf};

use cycod_definition::Value;
use cycod_run::{BuiltInCall, ToolPlatform};

use crate::{failure::Failure, until::Until};

/// The arguments of a call, whose types its definition has seen to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    call: &'a BuiltInCall<'a>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn of(call: &'a BuiltInCall<'a>) -> Self {
        Self { call }
    }

    /// What the tool may reach.
    pub(crate) fn platform(&self) -> &'a ToolPlatform<'a> {
        self.call.platform
    }

    /// How long the call may go on.
    pub(crate) fn until(&self) -> Until<'a> {
        Until { stop: self.platform().stop(), deadline: self.platform().deadline() }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.call.argument(name).is_some()
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        match self.call.argument(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A text that the tool cannot do without, though not every operation of it needs it.
    pub(crate) fn needed(&self, name: &str, operation: &str) -> Result<&'a str, Failure> {
        self.text(name).ok_or_else(|| Failure::new(format!("`{operation}` needs `{name}`")))
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.call.argument(name), Some(Value::Bool(true)))
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        match self.call.argument(name) {
            // Numbers keep the text that they were written with, such as `5.0`.
            Some(Value::Number(text)) => {
                text.parse().ok().or_else(|| text.parse::<f64>().ok().map(|number| number as u64))
            }
            _ => None,
        }
    }

    /// A number that counts things in memory.
    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        self.number(name).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        match self.call.argument(name) {
            Some(Value::List(items)) => items.iter().map(Value::to_string).collect(),
            _ => Vec::new(),
        }
    }

    /// A path as the caller wrote it, from the directory that it is to start from.
    pub(crate) fn path(&self, name: &str) -> Option<Named<'a>> {
        self.text(name).map(|text| Named { text, path: below(self.text("working_dir"), text) })
    }
}

/// A path that a caller wrote, from the directory that it starts from.
pub(crate) fn below(directory: Option<&str>, text: &str) -> PathBuf {
    match directory {
        Some(directory) if !text.starts_with('~') => Path::new(directory).join(text),
        _ => PathBuf::from(text),
    }
}

/// A path of a caller's.
#[derive(Clone, Debug)]
pub(crate) struct Named<'a> {
    text: &'a str,
    /// Where it is.
    pub(crate) path: PathBuf,
}

impl Named<'_> {
    /// As the caller wrote it.
    pub(crate) fn shown(&self) -> &Path {
        Path::new(self.text)
    }
}
