//! The questions of a tool, asked of the person at the terminal.

use std::{path::Path, sync::Arc};

use cycod_app::command_line::{pair, sample_pair};
use cycod_engine::{
    AnswerTo, AskedOf, Given, PendingQuestion, PlanError,
    definition::{Parameter, Tool, Value, Whom},
    diagnostic::{Code, Refusal, Shown, shown, visible},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::{Map, Value as Json, json};

use crate::{
    cli::Context,
    command_error::CommandError,
    editor::{ask, prompt},
};

/// Collects the answers to what a tool asks before it runs, round by round.
pub(crate) fn answers(
    context: &mut Context,
    tool: &Arc<Tool>,
    arguments: &[(String, Given)],
) -> Result<Vec<(String, AnswerTo)>, CommandError> {
    let mut answers = Vec::new();
    loop {
        let questions = context
            .engine
            .questions(tool, arguments.to_vec(), &answers, true, &context.engine.begin())
            .map_err(|error| not_planned(tool.name.as_str(), error))?;
        if questions.is_empty() {
            return Ok(answers);
        }
        for question in questions {
            let answer = answer(context, tool, arguments, &question)?;
            answers.push((question.name, answer));
        }
    }
}

/// Why there is no plan, as the command says it.
pub(crate) fn not_planned(tool: &str, error: PlanError) -> CommandError {
    match error {
        PlanError::Refused(refusal) => refusal.into(),
        PlanError::Arguments(problems) => CommandError::arguments(tool, problems),
    }
}

fn answer(
    context: &mut Context,
    tool: &Tool,
    arguments: &[(String, Given)],
    question: &PendingQuestion,
) -> Result<AnswerTo, CommandError> {
    let is_attended = context.is_attended();
    match &question.whom {
        AskedOf::Roots => {
            let workspace = file_address(&context.engine.host().workspace);
            Ok(AnswerTo::Accept(json!({ question.name.as_str(): [workspace] })))
        }
        AskedOf::Person { message, form } if is_attended => ask_person(context, tool.name.as_str(), message, form),
        AskedOf::Person { .. } if !question.is_required => Ok(AnswerTo::Decline),
        AskedOf::Person { message, form } => {
            let fields = form["properties"].as_object();
            let needed = fields.into_iter().flatten().map(|(name, _)| name.as_str()).find(|name| is_needed(form, name));
            let why = format!("`{}` asks “{}”, and there is no terminal", tool.name, visible(message));
            Err(unanswered(tool, arguments, question, needed.unwrap_or(&question.name), why))
        }
        AskedOf::Model { prompt, .. } => {
            let why = format!("`{}` asks a model “{}”, and a host with one is needed", tool.name, visible(prompt));
            Err(unanswered(tool, arguments, question, &question.name, why))
        }
    }
}

/// Refuses a call whose question nobody answers, and says how to give all its answers with it.
fn unanswered(
    tool: &Tool,
    arguments: &[(String, Given)],
    question: &PendingQuestion,
    field: &str,
    why: String,
) -> CommandError {
    fn given(name: &str, value: &Given) -> Option<String> {
        match value {
            Given::Text(text) => pair(name, &Value::Text(text.clone())),
            Given::Value(value) => pair(name, value),
            Given::Answer(answer) => given(name, answer),
        }
    }
    let is_given = |index: usize| arguments.iter().any(|(name, _)| tool.parameter_meant(name) == Some(index));
    let is_secret = |name: &str| {
        tool.parameter_meant(name)
            .map(|index| &tool.parameters[index])
            .is_some_and(|parameter| parameter.sensitive || tool.environment.is_secret(&parameter.name))
    };
    // Which directories there are is known here.
    let is_known = |name: &str| {
        tool.asks.iter().any(|ask| matches!(ask.whom, Whom::Roots) && ask.fields.iter().any(|of| of == name))
    };
    let is_needed = |(index, parameter): &(usize, &Parameter)| {
        let is_required = parameter.is_needed() && !is_known(&parameter.name);
        parameter.asked && !is_given(*index) && (is_required || parameter.name == field)
    };
    let needed = tool.parameters.iter().enumerate().filter(is_needed);
    let answers: Vec<String> = needed.map(|(_, parameter)| sample_pair(parameter)).collect();
    // What is secret is not repeated where others can look.
    let known = arguments.iter().map(|(name, value)| if is_secret(name) { None } else { given(name, value) });
    let attempt = match known.collect::<Option<Vec<_>>>() {
        Some(known) => [vec![format!("cycod run {}", tool.name)], known, answers].concat().join(" "),
        None => format!("the same again with {}", answers.join(" ")),
    };
    Refusal::new(Code::QuestionUnanswered, why).place(&question.name).attempt(attempt).into()
}

fn ask_person(context: &mut Context, tool: &str, message: &str, form: &Json) -> Result<AnswerTo, CommandError> {
    context.printer.say(shown!["`", tool, "` asks:\n", Shown::from(message).quoted("  | ")]);
    let fields = form["properties"].as_object().cloned().unwrap_or_default();
    if fields.is_empty() {
        let said = ask(context, "Yes or no? [y/n] ", &["y", "n"])?;
        return Ok(if said == Some("y") { AnswerTo::Accept(json!({})) } else { AnswerTo::Decline });
    }
    let mut values = Map::new();
    for (name, field) in &fields {
        let question = line(name, field);
        loop {
            let Some(said) = prompt(context, &question)? else { return Ok(AnswerTo::Cancel) };
            let said = said.trim();
            if said.is_empty() && is_needed(form, name) {
                continue;
            }
            if !said.is_empty() {
                // What is meant by the text is read as for an argument.
                let value = match field["type"].as_str() {
                    Some("array") => said.split(',').map(|item| json!(item.trim())).collect(),
                    _ => json!(said),
                };
                values.insert(name.clone(), value);
            }
            break;
        }
    }
    Ok(AnswerTo::Accept(Json::Object(values)))
}

fn is_needed(form: &Json, field: &str) -> bool {
    form["required"].as_array().is_some_and(|required| required.iter().any(|name| name == field))
}

/// The line that asks for a field: what it is for, what there is to choose from, what holds when nothing is said.
pub(crate) fn line(name: &str, field: &Json) -> String {
    let shown = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let what = ["title", "description"].iter().find_map(|key| field[*key].as_str()).unwrap_or(name);
    let choices = if field["type"] == "array" { &field["items"] } else { field };
    let listed = choices["enum"].as_array().into_iter().flatten().map(shown);
    let titled = ["oneOf", "anyOf"].iter().filter_map(|key| choices[*key].as_array()).flatten();
    let titled = titled.map(|choice| match choice["title"].as_str() {
        Some(title) => format!("{} ({title})", shown(&choice["const"])),
        None => shown(&choice["const"]),
    });
    let mut choices: Vec<String> = listed.chain(titled).collect();
    if field["type"] == "boolean" {
        choices = vec!["yes".to_owned(), "no".to_owned()];
    }
    let choices = if choices.is_empty() { String::new() } else { format!(" ({})", choices.join(", ")) };
    let default = field.get("default").map(|default| format!(" [{}]", shown(default))).unwrap_or_default();
    Shown::from(&format!("  {what}{choices}{default}: ")).on_one_line().as_str().to_owned()
}

/// The address of a directory.
fn file_address(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_encoded_bytes(), PATH))
}

/// What is escaped in the path of a URI (RFC 3986).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_asked_for_in_a_line() {
        let check = |field: Json, expect: &str| assert_eq!(line("name", &field), expect);
        check(json!({}), "  name: ");
        check(json!({"type": "string", "description": "The name", "default": "ash"}), "  The name [ash]: ");
        check(json!({"type": "boolean", "title": "Sure", "default": false}), "  Sure (yes, no) [false]: ");
        check(json!({"oneOf": [{"const": "a", "title": "Alpha"}, {"const": "b"}]}), "  name (a (Alpha), b): ");
        check(json!({"type": "array", "items": {"enum": ["x", "y"]}}), "  name (x, y): ");
        check(json!({"description": "two\u{1b}[31m"}), "  two\\u{1b}[31m: ");
    }

    #[test]
    fn directories_have_addresses() {
        assert_eq!(file_address(Path::new("/work dir/ü")), "file:///work%20dir/%C3%BC");
    }
}
