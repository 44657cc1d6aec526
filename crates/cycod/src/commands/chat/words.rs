//! What a person types in a chat: something for the model, or a command.

use cycod_engine::diagnostic::{closest, visible};

use crate::command_error::CommandError;

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// Nothing to act on.
    Nothing,
    /// Something for the model.
    Question(String),
    /// A command, with the words after it.
    Command(Command, Vec<String>),
}

/// What can be done besides asking the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Tools,
    Model,
    Approve,
    Deny,
    Usage,
    Save,
    Resume,
    Clear,
    Exit,
}

/// A command as help shows it.
pub(super) struct Entry {
    /// Without the slash.
    pub(super) name: &'static str,
    pub(super) command: Command,
    /// The words after it.
    pub(super) takes: &'static str,
    pub(super) about: &'static str,
}

const fn entry(name: &'static str, command: Command, takes: &'static str, about: &'static str) -> Entry {
    Entry { name, command, takes, about }
}

/// Every command, in the order in which help lists them.
pub(super) const COMMANDS: &[Entry] = &[
    entry("help", Command::Help, "", "Show the commands and keys"),
    entry(
        "tools",
        Command::Tools,
        "[list|enable|disable|info|tokens]",
        "Show the tools and what they cost; turn them on or off",
    ),
    entry("model", Command::Model, "[NAME]", "Show the models, or switch to another"),
    entry(
        "approve",
        Command::Approve,
        "[list|NAME...]",
        "Show approvals; approve a request, or all future calls of a tool",
    ),
    entry("deny", Command::Deny, "NAME...", "Deny a request, or all future calls of a tool"),
    entry("usage", Command::Usage, "", "Show what this conversation took: tokens and money"),
    entry("save", Command::Save, "[FILE]", "Show where this conversation is saved, or write it to a file"),
    entry("resume", Command::Resume, "[ID]", "List saved conversations, or continue one"),
    entry("clear", Command::Clear, "", "Begin a new conversation"),
    entry("exit", Command::Exit, "", "End the chat, as Ctrl-D does"),
];

/// Reads what was typed.
///
/// A command is a single line that begins with a slash and a word of letters; so `/etc/hosts`, `// a comment` and a pasted
/// text are for the model.
///
/// # Errors
/// A command that does not exist, or whose quotes are not closed.
pub(super) fn read(text: &str) -> Result<Typed, CommandError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Typed::Nothing);
    }
    let Some((name, rest)) = command(text) else { return Ok(Typed::Question(text.to_owned())) };
    let Some(entry) = COMMANDS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name)) else {
        return Err(unknown(name));
    };
    let words = shlex::split(rest).ok_or_else(|| {
        CommandError::usage(format!("`/{}{}`: a quote is not closed", entry.name, visible(&format!(" {rest}"))))
            .hint("a quote as such is written \\' or \\\"")
    })?;
    if entry.takes.is_empty() && !words.is_empty() {
        return Err(CommandError::usage(format!("`/{}` takes nothing after it", entry.name)).hint("see: /help"));
    }
    Ok(Typed::Command(entry.command, words))
}

/// The name of a command, and what follows it.
fn command(text: &str) -> Option<(&str, &str)> {
    let line = text.strip_prefix('/').filter(|line| !line.contains('\n'))?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_word = !name.is_empty() && name.chars().all(|character| character.is_ascii_alphabetic() || character == '-');
    is_word.then_some((name, rest))
}

fn unknown(name: &str) -> CommandError {
    let failed = CommandError::usage(format!("`/{name}` is not a command"));
    match closest(&name.to_ascii_lowercase(), COMMANDS.iter().map(|entry| entry.name)) {
        Some(near) => failed.hint(format!("did you mean `/{near}`?")),
        None => failed.hint("see: /help"),
    }
    .hint("a question that begins with a slash: put a space and a word before it")
}

/// The page of `/help`.
pub(super) fn help() -> String {
    let mut text = String::from("Commands:\n");
    for Entry { name, takes, about, .. } in COMMANDS {
        text.push_str(&format!("  {}\n      {about}\n", format!("/{name} {takes}").trim_end()));
    }
    text.push_str(
        "\nKeys:\n  Enter sends; a line that ends with \\ continues on the next; pasted text can have several lines\n  \
         Up and Down go through earlier input, Ctrl-R searches it\n  \
         Tab completes commands, tools, models, and paths after @\n  \
         Ctrl-C stops an answer; twice at an empty prompt, or Ctrl-D, ends the chat\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &Typed) {
        assert_eq!(read(text).as_ref().ok(), Some(expect), "{text:?}");
    }

    fn wrong(text: &str, message: &str, hint: &str) {
        let error = read(text).expect_err(text);
        assert_eq!((error.exit, &*error.message, &*error.hints[0]), (2, message, hint), "{text:?}");
    }

    #[test]
    fn what_is_no_command_is_for_the_model() {
        check(" \n ", &Typed::Nothing);
        for text in ["what is /tools?", "/etc/hosts has what?", "// a comment", "/", "/tools\nof the trade", "/2"] {
            check(text, &Typed::Question(text.to_owned()));
        }
        check("  two\nlines  ", &Typed::Question("two\nlines".to_owned()));
    }

    #[test]
    fn commands_take_words() {
        let check = |text: &str, command, words: &[&str]| {
            check(text, &Typed::Command(command, words.iter().map(|&word| word.to_owned()).collect()));
        };
        check("/tools", Command::Tools, &[]);
        check(" /TOOLS  enable 'a b' c ", Command::Tools, &["enable", "a b", "c"]);
        check("/exit", Command::Exit, &[]);
        check("/save my\\ file", Command::Save, &["my file"]);
    }

    #[test]
    fn mistakes_are_told_with_what_was_meant() {
        wrong("/tool list", "`/tool` is not a command", "did you mean `/tools`?");
        wrong("/Modle", "`/Modle` is not a command", "did you mean `/model`?");
        wrong("/frobnicate", "`/frobnicate` is not a command", "see: /help");
        wrong("/save 'x", "`/save 'x`: a quote is not closed", "a quote as such is written \\' or \\\"");
        wrong("/exit now", "`/exit` takes nothing after it", "see: /help");
    }

    #[test]
    fn help_fits_a_narrow_terminal_by_its_commands() {
        let page = help();
        assert!(page.lines().filter(|line| line.starts_with("  /")).all(|line| line.len() <= 44), "{page}");
        assert!(COMMANDS.iter().all(|entry| page.contains(&format!("  /{}", entry.name))));
    }
}
