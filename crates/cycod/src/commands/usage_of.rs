//! What `cycod run NAME` takes: as a line, and as options with the names of parameters.

use std::ffi::{OsStr, OsString};

use clap::Command;
use cycod_engine::{
    definition::{Parameter, ParameterType, Tool, Value},
    diagnostic::closest,
};

use crate::command_error::CommandError;

/// How many choices are written out.
const MOST_CHOICES: usize = 8;

/// How somebody calls a tool, such as `cycod run deploy ENV=<staging|production> [VERSION=…]`.
pub(super) fn usage_of(tool: &Tool) -> String {
    let (needed, others): (Vec<&Parameter>, Vec<_>) =
        tool.given_parameters().partition(|parameter| parameter.is_needed());
    let needed = needed.into_iter().map(|parameter| format!(" {}", place_of(parameter)));
    let others = others.into_iter().map(|parameter| format!(" [{}]", place_of(parameter)));
    format!("cycod run {}{}", tool.name, needed.chain(others).collect::<String>())
}

fn place_of(parameter: &Parameter) -> String {
    let choices: Vec<String> = match &parameter.validation.allowed {
        Some(allowed) => allowed.iter().map(Value::to_string).collect(),
        None if parameter.kind == ParameterType::Boolean => vec!["true".to_owned(), "false".to_owned()],
        None => Vec::new(),
    };
    match choices.len() {
        1..=MOST_CHOICES => format!("{}=<{}>", parameter.name, choices.join("|")),
        _ => format!("{}=…", parameter.name),
    }
}

/// Ends our own options where somebody gives a tool's parameters as options.
///
/// After the name of the tool, what is an option of `command` stays where a parser finds it, and every other word comes
/// behind `--`, in its order. An option that is not ours and has nothing of the tool's behind it is followed by another
/// `--`: a word must not become the value of an option that it did not stand behind.
pub(crate) fn parted(command: &Command, arguments: &[OsString]) -> Vec<OsString> {
    let mut ours = Vec::new();
    let mut theirs: Vec<OsString> = Vec::new();
    let mut is_named = false;
    // Whether the last word could be an option of the tool that has the next one as its value.
    let mut is_open = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match own_option(command, word) {
            _ if word == "--" => {
                if is_open {
                    theirs.push(word.clone());
                }
                theirs.extend(rest.by_ref().cloned());
            }
            Some(takes_next) => {
                if is_open {
                    theirs.push("--".into());
                }
                is_open = false;
                ours.push(word.clone());
                ours.extend(takes_next.then(|| rest.next().cloned()).flatten());
            }
            None if !is_named => {
                // An option before the name can be none of the tool's.
                is_named = !word.as_encoded_bytes().starts_with(b"-");
                ours.push(word.clone());
            }
            None => {
                is_open = word.as_encoded_bytes().starts_with(b"--") && !word.as_encoded_bytes().contains(&b'=');
                theirs.push(word.clone());
            }
        }
    }
    if !theirs.is_empty() {
        ours.push("--".into());
        ours.extend(theirs);
    }
    ours
}

/// Whether a word is an option of `command`, and then whether the next word is its value.
fn own_option(command: &Command, word: &OsStr) -> Option<bool> {
    let word = word.to_str()?;
    let takes_value = |argument: &clap::Arg| argument.get_action().takes_values();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        if name == "color" {
            return Some(value.is_none());
        }
        let argument = command.get_arguments().find(|argument| argument.get_long() == Some(name))?;
        return Some(value.is_none() && takes_value(argument));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let first = letters.next()?;
    let argument = command.get_arguments().find(|argument| argument.get_short() == Some(first))?;
    Some(letters.next().is_none() && takes_value(argument))
}

/// The words of a call with each option written as `NAME=VALUE`.
///
/// The word behind an option is its value, whatever it looks like; a boolean takes it only where it is `true` or `false`.
pub(super) fn with_pairs(tool: &Tool, command: &Command, words: Vec<String>) -> Result<Vec<String>, CommandError> {
    let mut pairs = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            continue;
        }
        let Some(option) = word.strip_prefix("--") else {
            pairs.push(word);
            continue;
        };
        let (name, given) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let parameter = meant(tool, name).ok_or_else(|| unknown(tool, command, name))?;
        let value = match given {
            Some(value) => value.to_owned(),
            None if parameter.kind == ParameterType::Boolean => {
                match words.next_if(|next| matches!(next.as_str(), "true" | "false")) {
                    Some(value) => value,
                    None => "true".to_owned(),
                }
            }
            None => words.next_if(|next| next != "--").ok_or_else(|| {
                CommandError::usage(format!("`--{name}` needs a value"))
                    .hint(format!("a value that is also an option of `cycod run`: --{name}=VALUE"))
                    .hint(format!("usage: {}", usage_of(tool)))
            })?,
        };
        pairs.push(format!("{}={value}", parameter.name));
    }
    Ok(pairs)
}

/// The parameter that an option means: dashes stand for underscores, and letters may be small.
pub(crate) fn meant<'a>(tool: &'a Tool, option: &str) -> Option<&'a Parameter> {
    let index = tool.parameter_meant(option).or_else(|| tool.parameter_meant(&option.replace('-', "_")))?;
    Some(&tool.parameters[index]).filter(|parameter| !parameter.asked)
}

fn unknown(tool: &Tool, command: &Command, name: &str) -> CommandError {
    let error = CommandError::usage(format!(
        "`--{name}` is neither an option of `cycod run` nor a parameter of `{}`",
        tool.name
    ));
    let parameters: Vec<String> =
        tool.given_parameters().map(|parameter| parameter.name.to_lowercase().replace('_', "-")).collect();
    let ours = command.get_arguments().filter_map(clap::Arg::get_long);
    let near = closest(name, ours.chain(parameters.iter().map(String::as_str)).collect::<Vec<_>>());
    let error = match near {
        Some(near) => error.hint(format!("did you mean `--{near}`?")),
        None if name == "json" => error.hint("did you mean `--format json`?"),
        None => error,
    };
    error.hint(format!("usage: {}", usage_of(tool))).hint(format!("see: cycod run {} --help", tool.name))
}

#[cfg(test)]
mod tests {
    use super::parted;

    #[test]
    fn our_options_come_first_and_the_rest_stays_in_order() {
        let command = crate::commands::run::command();
        for (typed, expect) in [
            ("deploy", "deploy"),
            ("deploy A=1 --dry-run B=2", "deploy --dry-run -- A=1 B=2"),
            ("deploy --version 1.2 --timeout 5 --x=3", "deploy --timeout 5 -- --version 1.2 --x=3"),
            ("--timeout 5 deploy -p A=1 b", "--timeout 5 deploy -p A=1 -- b"),
            ("deploy -pA=1 -g --color never", "deploy -pA=1 -g --color never"),
            ("--version deploy", "--version deploy"),
            // What stands behind one of ours is no value of what stands before it.
            ("deploy --message --dry-run A=1", "deploy --dry-run -- --message -- A=1"),
            ("deploy --message --auto-approve=* x", "deploy --auto-approve=* -- --message -- x"),
            ("deploy --message --other", "deploy -- --message --other"),
            ("deploy --message --other --dry-run", "deploy --dry-run -- --message --other --"),
            ("deploy -- --timeout 5 --dry-run", "deploy -- --timeout 5 --dry-run"),
            ("deploy --force -- A=1", "deploy -- --force -- A=1"),
            ("deploy --offset -5", "deploy -- --offset -5"),
        ] {
            let words: Vec<_> = typed.split(' ').map(Into::into).collect();
            let expect: Vec<std::ffi::OsString> = expect.split(' ').map(Into::into).collect();
            assert_eq!(parted(&command, &words), expect, "{typed}");
        }
    }
}
