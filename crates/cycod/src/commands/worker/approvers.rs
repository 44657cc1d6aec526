//! `cycod worker approvers`: who may approve what the rules of this worker ask about.

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_team::hex;
use cycod_team_sync::WorkerMachine;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::team::not_synced,
    options::{TextOrJson, parsed},
    table::{Cell, Table},
};

/// What `cycod worker approvers` takes.
#[derive(Parser)]
#[command(name = "approvers", about = "List or name who may approve runs that your rules ask about")]
struct Arguments {
    /// Let the device with this key approve; 'cycod team show' prints the key of a device
    #[arg(long, value_name = "NAME=KEY")]
    add: Vec<String>,
    /// Take that back
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod worker approvers`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Changes who may approve, and lists them.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let home = context.engine.catalog().scopes().user_directory().to_owned();
    let machine = WorkerMachine::read(&home).map_err(|error| not_synced(&error))?;
    let Some(mut machine) = machine else {
        return Err(CommandError::failure("this machine isn't a worker").hint("cycod worker join HUB --token TOKEN"));
    };
    for name in &args.remove {
        if machine.approvers.remove(name).is_none() {
            return Err(CommandError::failure(format!("`{name}` isn't one of the approvers")));
        }
    }
    for given in &args.add {
        let (name, key) = read(given)?;
        if machine.approvers.get(name).is_some_and(|known| known != key) {
            return Err(CommandError::failure(format!("`{name}` has another key"))
                .hint("give each device a name of its own, or add: --remove NAME"));
        }
        machine.approvers.insert(name.to_owned(), key.to_owned());
    }
    if !(args.add.is_empty() && args.remove.is_empty()) {
        machine.write(&home).map_err(|error| not_synced(&error))?;
    }
    if args.format.is_json() {
        context.printer.json_of(&machine.approvers);
    } else if machine.approvers.is_empty() {
        context.printer.say("No one may approve: what the rules of this worker ask about is refused");
    } else {
        let mut table = Table::new(&["NAME", "KEY"]);
        for (name, key) in &machine.approvers {
            table.row(vec![Cell::new(name.as_str()), Cell::new(key.as_str())]);
        }
        let text = table.render(context.printer.width, context.printer.data_colour);
        context.printer.text(&text);
    }
    Ok(0)
}

/// Reads a name with a key.
fn read(given: &str) -> Result<(&str, &str), CommandError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+');
    let is_key = |key: &str| hex::bytes::<32>(key).is_some();
    let read = given.split_once('=');
    read.filter(|(name, key)| (1..=100).contains(&name.len()) && name.chars().all(is_plain) && is_key(key)).ok_or_else(
        || {
            CommandError::usage(format!("`{given}` isn't NAME=KEY"))
                .hint("a key has 64 hexadecimal digits, and a name letters, digits and `.`, `_`, `-`, `@`, `+`")
        },
    )
}
