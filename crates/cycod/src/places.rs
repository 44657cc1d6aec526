use cycod_engine::{
    definition::{Command, CommandText, Interpreter, Parameter, ParameterType, Tool},
    diagnostic::{Report, Severity},
};
use cycod_syntax::template::{Hole, HoleValue, Reference};

/// A place in a command where a value goes.
pub(crate) struct Place {
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Its column, from 1.
    pub(crate) column: usize,
    /// As written.
    pub(crate) token: String,
    /// What becomes of a value there.
    pub(crate) verdict: String,
}

/// Returns every place of a tool's commands in the order of the file, with what the checks found there.
pub(crate) fn places(tool: &Tool, report: &Report) -> Vec<Place> {
    let mut places = Vec::new();
    for text in tool.commands().flat_map(Command::texts) {
        for hole in text.template.holes() {
            let at = report.source.position(hole.span.start);
            places.push(Place {
                line: at.line,
                column: at.column,
                token: hole.to_string(),
                verdict: verdict(tool, text, hole, report),
            });
        }
    }
    places.sort_by_key(|place| (place.line, place.column));
    places.dedup_by_key(|place| (place.line, place.column));
    places
}

fn verdict(tool: &Tool, text: &CommandText, hole: &Hole, report: &Report) -> String {
    let found = report.diagnostics.iter().find(|diagnostic| {
        diagnostic.span().is_some_and(|span| span.start >= hole.span.start && span.end <= hole.span.end)
    });
    if let Some(found) = found {
        let severity = if found.severity == Severity::Error { "error" } else { "warning" };
        return format!("{severity}[{}]", found.code.0);
    }
    let parameter = match &hole.value {
        HoleValue::Reference { of: Reference::Parameter(name), .. } => tool.parameter(name),
        _ => None,
    };
    if hole.raw || parameter.is_some_and(|parameter| parameter.escape_shell == Some(false)) {
        return "text: parsed as part of the command".to_owned();
    }
    match text.interpreter {
        Interpreter::Argv => "data: part of one word, no shell".to_owned(),
        Interpreter::Program(_) if parameter.is_some_and(cannot_be_misread) => {
            "data: a value that cannot be misread".to_owned()
        }
        Interpreter::Program(_) => "data: refused when it could be misread".to_owned(),
        _ => match parameter.map(|parameter| parameter.escape_shell) {
            Some(Some(true)) => "data: always one word".to_owned(),
            _ => "data: never parsed as code".to_owned(),
        },
    }
}

/// Whether the values of a parameter are numbers, booleans or chosen by the tool's author.
fn cannot_be_misread(parameter: &Parameter) -> bool {
    matches!(parameter.kind, ParameterType::Number | ParameterType::Integer | ParameterType::Boolean)
        || parameter.validation.allowed.is_some()
}
