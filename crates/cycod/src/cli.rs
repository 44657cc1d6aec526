use std::process::ExitCode;

use clap::{ArgMatches, Command};
use cycod_engine::{Engine, host};

use crate::{command_error::CommandError, commands, printer::Printer};

/// What every command works with.
pub(crate) struct Context {
    /// The tools of this place.
    pub(crate) engine: Engine,
    /// The way to the terminal.
    pub(crate) printer: Printer,
}

/// Parses the command line, carries it out and returns the exit code.
pub(crate) fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are data and succeed, everything else is a usage error; clap knows which.
            let code = if error.use_stderr() { crate::command_error::exit::USAGE } else { 0 };
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    let host = match host::current() {
        Ok(host) => host,
        Err(error) => {
            Printer::new(true).say(&format!("error: cannot tell the working directory: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let no_color = host.environment.get(std::ffi::OsStr::new("NO_COLOR")).is_some_and(|value| !value.is_empty());
    let mut context = Context { engine: Engine::open(host), printer: Printer::new(no_color) };
    match dispatch(&mut context, &matches) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            report(&mut context.printer, &error);
            ExitCode::from(error.exit)
        }
    }
}

/// What carries a command out.
type Run = fn(&mut Context, &ArgMatches) -> Result<u8, CommandError>;

/// The commands below `cycod tool`, in the order in which help lists them.
const TOOL_COMMANDS: [(fn() -> Command, Run); 13] = [
    (commands::list::command, commands::list::run),
    (commands::get::command, commands::get::run),
    (commands::add::command, commands::add::run),
    (commands::remove::command, commands::remove::run),
    (commands::test::command, commands::test::run),
    (commands::validate::command, commands::validate::run),
    (commands::edit::command, commands::edit::run),
    (commands::export::command, commands::export::run),
    (commands::import::command, commands::import::run),
    (commands::run::command, commands::run::run),
    (commands::schema::command, commands::schema::run),
    (commands::schema_file::command, commands::schema_file::run),
    (commands::graph::command, commands::graph::run),
];

/// The commands beside `tool`.
const OTHER_COMMANDS: [(fn() -> Command, Run); 4] = [
    (commands::explain::command, commands::explain::run),
    (commands::help::command, commands::help::run),
    (commands::completions::command, commands::completions::run),
    (commands::man::command, commands::man::run),
];

/// The whole command line.
pub(crate) fn command() -> Command {
    let tool = Command::new("tool")
        .about("Manage, run and test tools")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommands(TOOL_COMMANDS.iter().map(|(command, _)| command()));
    Command::new("cycod")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Tools for people and language models, written once in a small file")
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand(tool)
        .subcommands(OTHER_COMMANDS.iter().map(|(command, _)| command()))
}

fn dispatch(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let found = match matches.subcommand() {
        Some(("tool", matches)) => matches.subcommand().and_then(|(name, matches)| Some((find(&TOOL_COMMANDS, name)?, matches))),
        Some((name, matches)) => find(&OTHER_COMMANDS, name).map(|run| (run, matches)),
        None => None,
    };
    let (run, matches) = found.ok_or_else(|| CommandError::usage("a command is missing").hint("cycod help"))?;
    run(context, matches)
}

fn find(commands: &[(fn() -> Command, Run)], name: &str) -> Option<Run> {
    commands.iter().find(|(command, _)| command().get_name() == name).map(|(_, run)| *run)
}

fn report(printer: &mut Printer, error: &CommandError) {
    let code = error.code.map(|code| format!("[{code}]")).unwrap_or_default();
    printer.say(&format!("error{code}: {}", error.message));
    for hint in &error.hints {
        printer.say(&format!("  {hint}"));
    }
    if let Some(code) = error.code {
        printer.say(&format!("  more: cycod explain {code}"));
    }
}
