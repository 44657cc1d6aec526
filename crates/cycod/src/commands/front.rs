//! What `cycod` shows when nothing else is typed: the tools of this place, and how to go on.

use cycod_app::views::{Beyond, misuse_of};
use cycod_engine::{
    Engine, Standing,
    catalog::{Entry, Scope, State},
    definition::Tool,
};
use cycod_shell::quoted_if_needed;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{import::task_files, list},
    table::{Cell, Table},
};

/// How many tools are shown.
const MOST: usize = 20;

/// Shows the tools of this place, the project's first, and the commands that somebody needs next.
pub(crate) fn run(context: &mut Context) -> Result<u8, CommandError> {
    let mut entries = context.engine.catalog().entries();
    entries.retain(|entry| !matches!(entry.state, State::Shadowed { .. }) && entry.availability.turned_off().is_none());
    entries.sort_by_key(|entry| entry.scope);
    let is_beginning = entries.iter().all(|entry| entry.scope != Scope::Local);
    let beginning = if is_beginning { beginning(context) } else { String::new() };
    let Context { engine, printer, .. } = context;
    if is_beginning {
        printer.text(beginning.as_str());
        if !entries.is_empty() {
            printer.text("\n");
        }
    }
    let standings = engine.standings(&entries).unwrap_or_else(|refusal| {
        printer.warn(&refusal.why);
        vec![None; entries.len()]
    });
    let is_doubtful = |trust: &Option<Standing>| trust.is_some_and(|trust| trust != Standing::Trusted);
    let doubtful: Vec<&str> = entries
        .iter()
        .zip(&standings)
        .filter(|(_, trust)| is_doubtful(trust))
        .map(|(entry, _)| entry.name.as_str())
        .collect();
    if !entries.is_empty() {
        let mut table = Table::new(&["TOOL", "PARAMETERS", "DESCRIPTION"]);
        for (entry, trust) in entries.iter().zip(&standings).take(MOST) {
            table.row(row(engine, entry, *trust));
        }
        table.print(printer);
    }
    if let Some(more) = entries.len().checked_sub(MOST + 1) {
        printer.line(&format!("and {} more", more + 1));
    }
    match doubtful.as_slice() {
        [] => {}
        [name] => printer.page(&format!("\n1 tool is not trusted; see it and decide: cycod trust {name}\n")),
        names => {
            let count = names.len();
            printer.page(&format!("\n{count} tools are not trusted; see them and decide: cycod trust --all\n"));
        }
    }
    printer.page(if entries.is_empty() { NEXT_WITHOUT_TOOLS } else { NEXT });
    Ok(0)
}

const NEXT: &str = "
  cycod run NAME         Run a tool; 'cycod run NAME --help' shows what it takes
  cycod list             List all tools
  cycod help             Show all commands
";

const NEXT_WITHOUT_TOOLS: &str = "
  cycod help
      Show all commands
";

/// How to begin where a project has no tools.
fn beginning(context: &Context) -> String {
    let mut text = "This project has no tools yet. Begin with one of these:\n\n  cycod init\n      Write a first tool \
                    that fits this project\n\n"
        .to_owned();
    for (file, tasks) in task_files(context) {
        let file = quoted_if_needed(&file);
        text.push_str(&format!("  cycod import {file}\n      Make tools of the {tasks} in it\n\n"));
    }
    text.push_str(
        "  cycod tool add hello --description 'Greet someone' --tag read \\\n    --bash 'echo \"Hello, {NAME}!\"' \
         --parameter NAME 'Who to greet' required=true\n      Make a tool of a command; then: cycod run hello \
         NAME=World\n\n  cycod help writing-tools\n      Learn to write tools\n",
    );
    text
}

/// A tool in one line: its name, what it takes, and what it is for, after what keeps it from being called.
fn row<'a>(engine: &Engine, entry: &'a Entry, trust: Option<Standing>) -> Vec<Cell<'a>> {
    let tool = entry.load().ok().map(|opened| engine.resulting(opened.tool));
    let beyond = Beyond { trust, misuse: misuse_of(engine, entry) };
    let description = entry.summary.description.as_deref().map(first_sentence);
    vec![
        Cell::new(entry.name.as_str()),
        Cell::new(tool.as_ref().map(parameters).unwrap_or_default()),
        list::noted(entry, &beyond, engine.host(), description),
    ]
}

/// The names of what a tool takes; what may be left out has a question mark.
fn parameters(tool: &Tool) -> String {
    let mark = |is_needed: bool| if is_needed { "" } else { "?" };
    let names = tool.given_parameters().map(|parameter| format!("{}{}", parameter.name, mark(parameter.is_needed())));
    names.collect::<Vec<_>>().join(" ")
}

/// The first sentence of a text, without its period.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let text = text.split_once("\n\n").map_or(text, |(first, _)| first);
    let ends = |&(at, character): &(usize, char)| {
        let rest = &text[at + character.len_utf8()..];
        let next = rest.trim_start();
        // What goes on in small letters was an abbreviation.
        matches!(character, '.' | '!' | '?') && next.len() < rest.len() && !next.starts_with(char::is_lowercase)
    };
    let end = text.char_indices().find(ends).map_or(text.len(), |(at, character)| at + character.len_utf8());
    text[..end].trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn a_sentence_ends_where_another_begins() {
        for (text, expect) in [
            ("", ""),
            ("Search the log", "Search the log"),
            ("Search the log.", "Search the log"),
            ("Wait.\nThen go.", "Wait"),
            ("Really? Yes.", "Really?"),
            ("Runs v1.2 of it, e.g. in CI. Slowly.", "Runs v1.2 of it, e.g. in CI"),
            ("Wrapped\nwords\n\nMore", "Wrapped\nwords"),
        ] {
            assert_eq!(first_sentence(text), expect, "{text:?}");
        }
    }
}
