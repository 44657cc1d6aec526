use clap::{Arg, ArgMatches, Command};
use cycod_engine::catalog::{Scope, ScopeFilter, State};

use crate::{
    cli::Context,
    command_error::CommandError,
    removal::{confirm, force},
    scope::{scope, with_scope},
    store::{entry, forget, shown, write_error},
};

/// `cycod tool remove`.
pub(crate) fn command() -> Command {
    let command = Command::new("remove")
        .about("Delete a tool")
        .arg(Arg::new("name").value_name("TOOL_NAME").required(true))
        .arg(force());
    with_scope(command)
}

/// Deletes the first tool of a name, and says which.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("name").expect("clap requires it");
    let entry = entry(context, name, scope(matches)?.unwrap_or(ScopeFilter::Any))?;
    let path = shown(&entry.path, context.engine.host());
    if let State::Duplicate { with } = &entry.state {
        let files = with.iter().map(|other| shown(other, context.engine.host())).collect::<Vec<_>>().join(", ");
        return Err(CommandError::failure(format!(
            "several files of the {} scope hold tool `{}`: {path}, {files}",
            entry.scope, entry.name
        ))
        .hint("remove one of the files"));
    }
    let what = format!("{} tool `{}`: {path}", entry.scope, entry.name);
    confirm(context, matches, &what)?;
    context.engine.catalog().writer().remove(&entry).map_err(|error| write_error(&error, context.engine.host()))?;
    forget(context, &entry)?;
    context.printer.say(&format!("Removed {what}"));
    // The catalog is from before the change; what it says about other scopes still holds.
    let behind = Scope::ALL
        .into_iter()
        .filter(|scope| *scope != entry.scope)
        .find_map(|scope| context.engine.catalog().find(name, ScopeFilter::Only(scope)));
    if let Some(other) = behind {
        let path = shown(&other.path, context.engine.host());
        context.printer.say(&format!("  the name now leads to the {} tool: {path}", other.scope));
    }
    Ok(0)
}
