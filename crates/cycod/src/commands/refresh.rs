use clap::{ArgMatches, Command};
use cycod_engine::{
    catalog::{Catalog, State},
    diagnostic::counted,
};

use cycod_app::shown_path;

use crate::{cli::Context, command_error::CommandError};

/// `cycod tool refresh`.
pub(crate) fn command() -> Command {
    Command::new("refresh").about("Read every tool file again")
}

/// Forgets what is remembered of the tool files and reads them all. An unchanged file is otherwise parsed once.
pub(crate) fn run(context: &mut Context, _matches: &ArgMatches) -> Result<u8, CommandError> {
    let Context { engine, printer, .. } = context;
    let scopes = engine.catalog().scopes().clone();
    scopes
        .forget_indexes()
        .map_err(|error| CommandError::failure(format!("the indexes of tool files cannot be removed: {error}")))?;
    let catalog = Catalog::open(scopes, engine.host());
    for (path, error) in catalog.problems() {
        printer.warn(&format!("cannot list `{}`: {error}", shown_path(path, engine.host())));
    }
    let entries = catalog.entries();
    let broken =
        entries.iter().filter(|entry| matches!(entry.state, State::Broken { .. } | State::Duplicate { .. })).count();
    printer.say(&format!("Read {} again.", counted(entries.len(), "tool file")));
    if broken > 0 {
        let are = if broken == 1 { "is" } else { "are" };
        printer.warn(&format!("{} {are} no tool that can be used; see: cycod validate", counted(broken, "tool file")));
    }
    Ok(0)
}
