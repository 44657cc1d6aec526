use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_settings::{Done, uninstall};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::mcp::{
        file_error,
        install::{NAME, entry_name, host_file},
    },
    options::parsed,
    scope::ScopeOptions,
    store::shown,
};

/// What `cycod mcp uninstall` takes.
#[derive(Parser)]
#[command(name = "uninstall", about = "Undo 'install'")]
struct Arguments {
    /// The host
    #[arg(value_name = "HOST")]
    host: String,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = NAME)]
    name: String,
    /// Remove it even if it starts something else
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod mcp uninstall`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Removes our entry from the configuration of a host.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let host = context.engine.host().clone();
    let (of, file) = host_file(&args.host, &args.scope, &host)?;
    let name = entry_name(&args.name)?;
    let path = shown(&file.path, &host);
    let done = uninstall(of, &file, &name, args.force).map_err(|error| file_error(&error, &host))?;
    match done {
        Done::Missing => Err(CommandError::failure(format!("{} has no entry `{name}`: {path}", of.title))),
        Done::Foreign => {
            Err(CommandError::failure(format!("the entry `{name}` of {} starts something else: {path}", of.title))
                .hint("give --force to remove it nevertheless"))
        }
        _ => {
            context.printer.say(&format!("Removed `{name}` from {}: {path}", of.title));
            Ok(0)
        }
    }
}
