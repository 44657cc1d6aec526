//! What clap has to say about a wrong command line, in our words.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use cycod_engine::diagnostic::closest;

use crate::{command_error::CommandError, help};

/// Returns the error to show for what clap found wrong with `WORDS…`, before which `typed` was typed and after which one of
/// `commands` may come.
pub(crate) fn usage_error(error: &clap::Error, typed: &str, words: &[&str], commands: &[&str]) -> CommandError {
    let command = format!("{typed}{}", words.join(" "));
    let command = command.trim_end();
    let text = |kind| text(error, kind);
    let list = |kind| list(error, kind);
    let option = || text(ContextKind::InvalidArg).map(|shown| option_name(&shown).to_owned()).unwrap_or_default();
    let message = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            format!("`{command} {}` is not a command", text(ContextKind::InvalidSubcommand).unwrap_or_default())
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("a command is missing after `{command}`")
        }
        ErrorKind::UnknownArgument => {
            let unknown = text(ContextKind::InvalidArg).unwrap_or_default();
            if unknown.starts_with('-') {
                format!("`{}` is not an option of `{command}`", option_name(&unknown))
            } else {
                format!("`{unknown}` is one argument too many for `{command}`")
            }
        }
        ErrorKind::InvalidValue => match text(ContextKind::InvalidValue).filter(|value| !value.is_empty()) {
            Some(value) => format!("`{value}` is not a value of `{}`", option()),
            None => format!("`{}` needs a value", option()),
        },
        ErrorKind::ValueValidation => {
            let value = text(ContextKind::InvalidValue).unwrap_or_default();
            format!("`{value}` is not a value of `{}`", option())
        }
        ErrorKind::MissingRequiredArgument => {
            let missing =
                list(ContextKind::InvalidArg).iter().map(|name| format!("`{}`", option_name(name))).collect::<Vec<_>>();
            let verb = if missing.len() == 1 { "is" } else { "are" };
            format!("{} {verb} missing", missing.join(" and "))
        }
        ErrorKind::ArgumentConflict => match list(ContextKind::PriorArg).first() {
            Some(other) if option_name(other) == option() => format!("`{}` is given twice", option()),
            Some(other) => format!("`{}` cannot be used with `{}`", option(), option_name(other)),
            None => format!("`{}` cannot be used with the others", option()),
        },
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8".to_owned(),
        _ => {
            let rendered = error.to_string();
            let first = rendered.lines().next().unwrap_or_default();
            first.strip_prefix("error: ").unwrap_or(first).to_owned()
        }
    };
    let mut result = CommandError::usage(message);
    let unknown_option = option();
    // Clap finds words near that nobody would take for each other; only for options it knows more than we do.
    let known = match error.kind() {
        ErrorKind::InvalidSubcommand => commands.iter().map(|&name| name.to_owned()).collect(),
        _ => list(ContextKind::ValidValue),
    };
    let typed = text(ContextKind::InvalidSubcommand).or_else(|| text(ContextKind::InvalidValue)).unwrap_or_default();
    let near = closest(&typed, known.iter().map(String::as_str)).filter(|_| !typed.is_empty()).map(str::to_owned);
    if let Some(near) = near.or_else(|| list(ContextKind::SuggestedArg).into_iter().next()) {
        result = result.hint(format!("did you mean `{}`?", option_name(&near)));
    } else if !list(ContextKind::ValidValue).is_empty() {
        result = result.hint(format!("one of {}", list(ContextKind::ValidValue).join(", ")));
    }
    let page = help::page(&words.join(" ")).unwrap_or_default();
    match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            result = result.hint(format!("one of {}", commands.join(", ")));
        }
        ErrorKind::MissingRequiredArgument
            if list(ContextKind::InvalidArg).iter().any(|name| !name.starts_with('-')) =>
        {
            result.hints.extend(usage_lines(&page));
            let missing = list(ContextKind::InvalidArg);
            let is_missing = |name: &str| missing.iter().any(|shown| option_name(shown) == name);
            let lists = [("TOOL_NAME", "tools: cycod list"), ("ID", "runs: cycod runs list")];
            // What is deleted or approved by an ID is no run.
            let known = lists
                .into_iter()
                .find(|(name, _)| is_missing(name) && (*name != "ID" || words.first() == Some(&"runs")));
            result.hints.extend(known.map(|(_, hint)| hint.to_owned()));
        }
        // Nearly every other program has this option.
        ErrorKind::UnknownArgument if unknown_option == "--json" && page.contains("--format ") => {
            result = result.hint("did you mean `--format json`?");
        }
        _ => {}
    }
    if error.kind() == ErrorKind::UnknownArgument && words == ["mcp", "add"] {
        result = result.hint("a program and its arguments come after `--`");
    }
    result.hint(["see: cycod help"].iter().chain(words).copied().collect::<Vec<_>>().join(" "))
}

/// How a command is called, after its page.
fn usage_lines(page: &str) -> Vec<String> {
    let forms = page.lines().filter_map(|line| {
        let form = line.trim_start();
        form.strip_prefix("USAGE: ").map(|form| ("usage", form)).or_else(|| Some(("or", form.strip_prefix("OR: ")?)))
    });
    forms.map(|(word, form)| format!("{word}: {form}")).collect()
}

/// `--format` of `--format <FORMAT>`, `NAME` of `[NAME]...`.
fn option_name(shown: &str) -> &str {
    if shown.starts_with('-') {
        return shown.split([' ', '=']).next().unwrap_or(shown);
    }
    shown.trim_end_matches("...").trim_matches(['<', '>', '[', ']'])
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

fn list(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}
