//! Values that an argument may have, for people who fill in a prompt or an address.

use cycod_engine::definition::{Parameter, ParameterType, Tool, Value};
use rmcp::model::{CompleteResult, CompletionInfo};

/// The values of a parameter that begin with what was typed.
pub(crate) fn values(tool: &Tool, argument: &str, typed: &str) -> CompleteResult {
    let known = tool.parameter(argument).filter(|parameter| !parameter.asked).map(all).unwrap_or_default();
    let typed = typed.to_lowercase();
    let mut fitting: Vec<String> = known.into_iter().filter(|value| value.to_lowercase().starts_with(&typed)).collect();
    let total = fitting.len();
    fitting.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    info.has_more = Some(total > fitting.len());
    info.total = u32::try_from(total).ok();
    info.values = fitting;
    CompleteResult::new(info)
}

fn all(parameter: &Parameter) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    };
    let items = parameter.validation.items.as_ref().and_then(|items| items.validation.allowed.as_ref());
    match (parameter.validation.allowed.as_ref().or(items), parameter.kind) {
        (Some(allowed), _) => allowed.iter().map(text).collect(),
        (None, ParameterType::Boolean) => vec!["true".to_owned(), "false".to_owned()],
        (None, _) => parameter.examples.iter().map(text).collect(),
    }
}
