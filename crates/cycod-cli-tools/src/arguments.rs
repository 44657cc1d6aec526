use cycod_definition::{Host, Value};
use cycod_engine::Engine;
use cycod_run::{BuiltInCall, ToolPlatform};

use crate::CliTools;

/// One call: its arguments, whose types the definition has seen to, and what it may reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) tools: &'a CliTools,
    pub(crate) call: &'a BuiltInCall<'a>,
}

impl<'a> Call<'a> {
    /// What the tool may reach.
    pub(crate) fn platform(&self) -> &'a ToolPlatform<'a> {
        self.call.platform
    }

    /// The machine and the moment.
    pub(crate) fn host(&self) -> &'a Host {
        self.call.platform.host()
    }

    /// The tools of the place where the call works, opened for this call.
    pub(crate) fn engine(&self) -> Engine {
        let host = Host { working_directory: self.platform().directory().to_owned(), ..self.host().clone() };
        self.tools.open(host)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        match self.call.argument(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.call.argument(name) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => None,
        }
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

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        match self.call.argument(name) {
            Some(Value::List(items)) => items.iter().map(Value::to_string).collect(),
            _ => Vec::new(),
        }
    }
}
