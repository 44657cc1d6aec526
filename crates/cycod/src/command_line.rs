//! Command lines that people are shown, to be given as they are.

use cycod_engine::{
    definition::{Parameter, Tool, Value},
    diagnostic::visible,
    json, sample,
};

/// An argument as a shell takes it; nothing where no command line can carry it, or not as it is shown.
pub(crate) fn pair(name: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::Text(text) => text.clone(),
        other => json::write(other),
    };
    let quoted = shlex::try_quote(&text).ok()?;
    (visible(&text) == text).then(|| format!("{name}={quoted}"))
}

/// An argument that the parameter takes, or a place for one.
pub(crate) fn sample_pair(parameter: &Parameter) -> String {
    sample(parameter).map_or_else(|| place(&parameter.name), |value| pair_or_place(&parameter.name, &value))
}

/// An argument as a shell takes it, or a place for one.
pub(crate) fn pair_or_place(name: &str, value: &Value) -> String {
    pair(name, value).unwrap_or_else(|| place(name))
}

/// Where somebody writes what we do not know.
pub(crate) fn place(name: &str) -> String {
    format!("{name}=...")
}

/// The arguments that a call of the tool needs, each after a blank.
pub(crate) fn sample_arguments(tool: &Tool) -> String {
    let needed = tool.given_parameters().filter(|parameter| parameter.is_needed());
    needed.map(|parameter| format!(" {}", sample_pair(parameter))).collect()
}
