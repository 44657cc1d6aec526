use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::catalog::{Scope, ScopeFilter, State};

use crate::{
    cli::Context,
    command_error::CommandError,
    options::parsed,
    removal::RemovalOptions,
    scope::ScopeOptions,
    store::{entry, forget, shown, write_error},
};

/// What `cycod tool remove` takes.
#[derive(Parser)]
#[command(name = "remove", about = "Delete a tool")]
struct Arguments {
    #[arg(value_name = "TOOL_NAME")]
    name: String,
    #[command(flatten)]
    removal: RemovalOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod tool remove`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Deletes the first tool of a name, and says which.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = &args.name;
    let entry = entry(context, name, args.scope.filter()?.unwrap_or(ScopeFilter::Any))?;
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
    args.removal.confirm(context, &what)?;
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
