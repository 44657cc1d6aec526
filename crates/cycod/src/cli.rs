use std::{cell::LazyCell, collections::BTreeMap, ffi::OsString, process::ExitCode};

use clap::{Arg, ArgMatches, Command};
use cycod_engine::{Engine, diagnostic::visible, host};

use crate::{
    command_error::CommandError,
    commands, help,
    printer::{ERROR, Printer, paint},
    terminal::{Color, Terminal},
    usage::usage_error,
};

/// The tools of this place, looked for when a command first asks.
pub(crate) type Tools = LazyCell<Engine, Box<dyn FnOnce() -> Engine>>;

/// What every command works with.
pub(crate) struct Context {
    /// The tools of this place.
    pub(crate) engine: Tools,
    /// The way to the terminal.
    pub(crate) printer: Printer,
}

/// What carries a command out.
type Run = fn(&mut Context, &ArgMatches) -> Result<u8, CommandError>;

/// A command: its name, what it takes and what it does.
pub(crate) struct Entry {
    /// As it is typed.
    pub(crate) name: &'static str,
    command: fn() -> Command,
    run: Run,
    /// Whether it looks at the tools of this place, and so needs to know where that is.
    opens_tools: bool,
}

macro_rules! entry {
    ($name:literal, $module:ident, $opens_tools:literal) => {
        Entry {
            name: $name,
            command: commands::$module::command,
            run: commands::$module::run,
            opens_tools: $opens_tools,
        }
    };
}

/// The commands below `cycod tool`, in the order in which help lists them.
pub(crate) const TOOL_COMMANDS: &[Entry] = &[
    entry!("list", list, true),
    entry!("get", get, true),
    entry!("add", add, true),
    entry!("remove", remove, true),
    entry!("test", test, true),
    entry!("validate", validate, true),
    entry!("edit", edit, true),
    entry!("export", export, true),
    entry!("import", import, true),
    entry!("run", run, true),
    entry!("schema", schema, true),
    entry!("schema-file", schema_file, false),
    entry!("graph", graph, true),
];

/// The commands beside `tool`.
pub(crate) const OTHER_COMMANDS: &[Entry] = &[
    entry!("explain", explain, false),
    entry!("help", help, false),
    entry!("completions", completions, false),
    entry!("man", man, false),
];

/// Parses the command line, carries it out and returns the exit code.
pub(crate) fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let host = host::current();
    let none = BTreeMap::new();
    let environment = host.as_ref().map_or(&none, |host| &host.environment);
    let words = words(&arguments);
    let parsed = branch(&words).no_binary_name(true).try_get_matches_from(&arguments);
    let color = match &parsed {
        Ok(matches) => matches.get_one::<String>("color").and_then(|name| Color::named(name)).unwrap_or_default(),
        Err(_) => typed_color(&arguments),
    };
    let mut printer = Printer::new(&Terminal::new(environment, color));
    let matches = match parsed {
        Ok(matches) => matches,
        // Help and version are data and succeed, everything else is a usage error; clap knows which.
        Err(error) if !error.use_stderr() => {
            printer.data(error.render().to_string().as_bytes());
            return end(&mut printer, 0);
        }
        Err(error) => {
            let words = known(&words);
            let others = || OTHER_COMMANDS.iter().map(|entry| entry.name).chain(["tool"]).collect::<Vec<_>>();
            let commands =
                if words.is_empty() { others() } else { TOOL_COMMANDS.iter().map(|entry| entry.name).collect() };
            return fail(&mut printer, &usage_error(&error, words, &commands));
        }
    };
    let Some((entry, matches)) = chosen(&matches) else {
        return fail(&mut printer, &CommandError::usage("a command is missing").hint("see: cycod help"));
    };
    let engine: Box<dyn FnOnce() -> Engine> = match host {
        Ok(host) => Box::new(|| Engine::open(host)),
        Err(error) if entry.opens_tools => {
            return fail(&mut printer, &CommandError::failure(format!("cannot tell the working directory: {error}")));
        }
        Err(_) => Box::new(|| unreachable!("only commands that open no tools run without a working directory")),
    };
    let mut context = Context { engine: LazyCell::new(engine), printer };
    match (entry.run)(&mut context, matches) {
        Ok(code) => end(&mut context.printer, code),
        Err(error) => fail(&mut context.printer, &error),
    }
}

/// The whole command line, for what has to know all of it: help, completions, man pages.
pub(crate) fn command() -> Command {
    tree(TOOL_COMMANDS, OTHER_COMMANDS)
}

/// The part of the command line that `words` lead to: building all of it takes longer than most commands do.
fn branch(words: &[&str]) -> Command {
    match words {
        ["tool", name, ..] => match position(TOOL_COMMANDS, name) {
            Some(at) => tree(&TOOL_COMMANDS[at..=at], &[]),
            None => command(),
        },
        [name, ..] => match position(OTHER_COMMANDS, name) {
            Some(at) => tree(&[], &OTHER_COMMANDS[at..=at]),
            None => command(),
        },
        [] => tree(&[], &[]).subcommand_required(false),
    }
}

fn tree(tool_commands: &[Entry], other_commands: &[Entry]) -> Command {
    let page = |command: Command, path: &str| match help::page(path) {
        Some(page) => command.override_help(page),
        None => command,
    };
    let tool = Command::new("tool")
        .about("Manage, run and test tools")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(tool_commands.iter().map(|entry| page((entry.command)(), &format!("tool {}", entry.name))));
    let color = Arg::new("color").long("color").value_name("WHEN").global(true).help("When to use colours");
    let root = Command::new("cycod")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Tools for people and language models, written once in a small file")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .arg(color.value_parser(Color::NAMES.map(|(name, _)| name)).default_value("auto"))
        .subcommand(page(tool, "tool"))
        .subcommands(other_commands.iter().map(|entry| page((entry.command)(), entry.name)));
    page(root, "")
}

/// The words of a command line that may name a command: options of the program itself are skipped.
fn words(arguments: &[OsString]) -> Vec<&str> {
    let mut words = Vec::new();
    let mut arguments = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    while let Some(argument) = arguments.next() {
        match argument {
            "--color" => drop(arguments.next()),
            _ if argument.starts_with('-') => {}
            _ => words.push(argument),
        }
    }
    words
}

/// The leading words that do name commands.
fn known<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    match words {
        ["tool", name, ..] if position(TOOL_COMMANDS, name).is_some() => &words[..2],
        ["tool", ..] => &words[..1],
        [name, ..] if position(OTHER_COMMANDS, name).is_some() => &words[..1],
        _ => &[],
    }
}

/// What `--color` says in a command line that cannot be parsed.
fn typed_color(arguments: &[OsString]) -> Color {
    let mut arguments = arguments.iter().map(|argument| argument.to_str().unwrap_or_default());
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--color") {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        if let Some(color) = value.and_then(Color::named) {
            return color;
        }
    }
    Color::Auto
}

fn position(entries: &[Entry], name: &str) -> Option<usize> {
    entries.iter().position(|entry| entry.name == name)
}

fn chosen(matches: &ArgMatches) -> Option<(&'static Entry, &ArgMatches)> {
    let (table, name, matches) = match matches.subcommand()? {
        ("tool", matches) => matches.subcommand().map(|(name, matches)| (TOOL_COMMANDS, name, matches))?,
        (name, matches) => (OTHER_COMMANDS, name, matches),
    };
    Some((&table[position(table, name)?], matches))
}

/// Ends with `code`, or with a failure when data was lost on its way.
fn end(printer: &mut Printer, code: u8) -> ExitCode {
    match printer.take_failure() {
        Some(error) if code == 0 => {
            fail(printer, &CommandError::failure(format!("cannot write to standard output: {error}")))
        }
        _ => ExitCode::from(code),
    }
}

/// Shows an error: the one place that does.
fn fail(printer: &mut Printer, error: &CommandError) -> ExitCode {
    let code = error.code.map(|code| format!("[{code}]")).unwrap_or_default();
    let head = paint(printer.colour, ERROR, &format!("error{code}"));
    // What is wrong may quote a file, or an argument that a program made up.
    printer.say(&format!("{head}: {}", visible(&error.message)));
    for hint in &error.hints {
        printer.say(&format!("  {}", visible(hint)));
    }
    if let Some(code) = error.code {
        printer.say(&format!("  more: cycod explain {code}"));
    }
    ExitCode::from(error.exit)
}
