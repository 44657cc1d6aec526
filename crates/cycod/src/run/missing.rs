//! What a call lacks, asked of the user at the terminal.

use std::sync::Arc;

use cycod_engine::{
    Given, PlanError,
    definition::{Parameter, ParameterType, Tool, Value},
    diagnostic::{Code, Shown},
};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    editor::prompt,
    printer::{Unasked, ask_hidden},
    run::not_planned,
};

/// How often a value may be typed.
const ATTEMPTS: usize = 2;

/// Adds to the arguments what the call lacks, where the user is there to ask. A call that has another problem stays as it
/// is, so that the user learns of that first; so does one for which the user has no value.
///
/// # Errors
/// What is wrong with a value that was typed twice, and when the user gives up.
pub(crate) fn completed(
    context: &mut Context,
    tool: &Arc<Tool>,
    arguments: Vec<(String, Given)>,
) -> Result<Vec<(String, Given)>, CommandError> {
    if !context.is_attended() {
        return Ok(arguments);
    }
    let definition = context.engine.resulting(Tool::clone(tool));
    let mut full = arguments.clone();
    while let Some(problems) = problems(context, tool, &full)? {
        if problems.iter().any(|problem| problem.code != Code::MissingArgument) {
            return Ok(arguments);
        }
        let lacking = problems.first().and_then(|problem| problem.parameter.as_deref());
        let is_lacking = |parameter: &&Parameter| Some(parameter.name.as_str()) == lacking && !parameter.asked;
        let Some(parameter) = definition.parameters.iter().find(is_lacking) else { return Ok(arguments) };
        let is_secret = parameter.sensitive || definition.environment.is_secret(&parameter.name);
        match value(context, tool, parameter, is_secret, &full)? {
            Some(given) => full.extend(given),
            None => return Ok(arguments),
        }
    }
    Ok(full)
}

/// What is wrong with arguments, if anything is.
fn problems(
    context: &Context,
    tool: &Arc<Tool>,
    arguments: &[(String, Given)],
) -> Result<Option<Vec<cycod_engine::ArgumentProblem>>, CommandError> {
    let arguments = context.engine.by_person(tool, arguments.to_vec())?;
    match context.engine.plan_unasked(tool, arguments, None) {
        Err(PlanError::Arguments(problems)) => Ok(Some(problems)),
        // What else is wrong is found again, and reported, when the call is planned.
        _ => Ok(None),
    }
}

/// Asks for the value of a parameter until it is valid, at most twice.
fn value(
    context: &mut Context,
    tool: &Arc<Tool>,
    parameter: &Parameter,
    is_secret: bool,
    arguments: &[(String, Given)],
) -> Result<Option<Vec<(String, Given)>>, CommandError> {
    let question = question(parameter);
    for attempt in 1.. {
        let typed = if is_secret { hidden(&question)? } else { prompt(context, &question)? };
        let Some(typed) = typed else { return Ok(None) };
        let typed = typed.trim();
        let typed = match only_choice(parameter) {
            Some(only) if typed.is_empty() => only,
            _ => typed.to_owned(),
        };
        if typed.is_empty() {
            if attempt == ATTEMPTS {
                return Ok(None);
            }
            context.printer.say("  a value is needed");
            continue;
        }
        let values = match parameter.kind {
            ParameterType::Array => typed.split(',').map(|item| item.trim().to_owned()).collect(),
            _ => vec![typed],
        };
        let given: Vec<_> = values.into_iter().map(|value| (parameter.name.clone(), Given::Text(value))).collect();
        let full = [arguments, &given].concat();
        let mut wrong = problems(context, tool, &full)?.unwrap_or_default();
        wrong.retain(|problem| problem.parameter.as_deref() == Some(parameter.name.as_str()));
        match wrong.first() {
            None => return Ok(Some(given)),
            Some(problem) if attempt < ATTEMPTS => {
                context.printer.say(Shown::from(&format!("  {}", problem.message)).on_one_line());
            }
            Some(_) => return Err(not_planned(tool.name.as_str(), PlanError::Arguments(wrong))),
        }
    }
    Ok(None)
}

/// Asks for a value that is not shown.
fn hidden(question: &str) -> Result<Option<String>, CommandError> {
    match ask_hidden(question) {
        Ok(text) => Ok(Some(text.to_string())),
        Err(Unasked::GaveUp) => {
            Err(CommandError { exit: exit::INTERRUPTED, ..CommandError::failure(Unasked::GaveUp.to_string()) })
        }
        Err(why) => Err(CommandError::failure(why.to_string())),
    }
}

/// The line that asks for a parameter: its name, what it is for, what there is to choose from, and what Enter means.
fn question(parameter: &Parameter) -> String {
    let what = match parameter.description.trim() {
        "" => String::new(),
        description => format!(" - {}", description.trim_end_matches('.')),
    };
    let choices = choices(parameter);
    let listed = match (choices.as_slice(), parameter.examples.first()) {
        ([], Some(example)) => format!(", such as {example}"),
        ([], None) => String::new(),
        (choices, _) => format!(" ({})", choices.join(", ")),
    };
    let list = if parameter.kind == ParameterType::Array { ", separated by commas" } else { "" };
    let default = only_choice(parameter).map(|only| format!(" [{only}]")).unwrap_or_default();
    format!("{}{what}{listed}{list}{default}: ", parameter.name)
}

fn choices(parameter: &Parameter) -> Vec<String> {
    match &parameter.validation.allowed {
        Some(allowed) => allowed.iter().map(Value::to_string).collect(),
        None if parameter.kind == ParameterType::Boolean => vec!["true".to_owned(), "false".to_owned()],
        None => Vec::new(),
    }
}

/// The value of a parameter that can have only one.
fn only_choice(parameter: &Parameter) -> Option<String> {
    match choices(parameter).as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}
