use std::io::{Read, stdin};

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_secret::{Change, Vault, Zeroizing};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        approvals::{confirm, yes},
        secret::checked,
    },
    printer::ask_hidden,
    secrets::{failed, seconds, store},
    store::shown,
};

/// The most that is read of a value; what is longer is refused.
const MOST: u64 = 1 << 20;

/// `cycod secret set`.
pub(crate) fn command() -> Command {
    let option = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help);
    Command::new("set")
        .about("Store a secret")
        .arg(Arg::new("secret").value_name("NAME").required(true))
        // Taken only to say why it is not.
        .arg(Arg::new("value").hide(true).num_args(0..))
        .arg(
            option("vault", "Where to store the value")
                .value_name("VAULT")
                .value_parser(Vault::NAMES.map(|(name, _)| name)),
        )
        .arg(
            option("for-tool", "Give the secret only to this tool; repeat for several")
                .value_name("TOOL")
                .action(ArgAction::Append),
        )
        .arg(
            option("for-any-tool", "Remove the limit: give the secret to every tool that requests it")
                .action(ArgAction::SetTrue)
                .conflicts_with("for-tool"),
        )
        .arg(option("passphrase", "Protect the encrypted file with a passphrase").action(ArgAction::SetTrue))
        .arg(yes())
}

/// Keeps a secret.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = checked(matches.get_one::<String>("secret").expect("clap requires it"))?;
    if matches.contains_id("value") {
        return Err(CommandError::usage("the value is not given on the command line")
            .hint("every user of the machine can read it there, and the shell keeps it in its history")
            .hint(format!("type it when asked: cycod secret set {name}"))
            .hint(format!("or take it from a file: cycod secret set {name} --yes < FILE")));
    }
    // Who types the value at a terminal says so with it.
    if !context.is_attended() {
        confirm(context, matches, "")?;
    }
    let tools: Vec<String> = matches.get_many::<String>("for-tool").into_iter().flatten().cloned().collect();
    let change = Change {
        vault: matches
            .get_one::<String>("vault")
            .and_then(|given| Vault::NAMES.into_iter().find(|(name, _)| name == given).map(|(_, vault)| vault)),
        tools: (!tools.is_empty() || matches.get_flag("for-any-tool")).then_some(tools),
        now: seconds(context.engine.host().now),
    };
    let store = store(&context.engine);
    if matches.get_flag("passphrase") {
        let ask = |question: &str| {
            ask_hidden(question).map_err(|why| CommandError::failure(why.to_string()).hint("use a terminal"))
        };
        let passphrase = ask("New passphrase (not shown): ")?;
        if passphrase.is_empty() || passphrase != ask("The same again: ")? {
            return Err(CommandError::failure("that was not the same passphrase twice"));
        }
        store.lock(passphrase).map_err(|error| failed(&error, context.engine.host()))?;
    }
    let value = value(context, name)?;
    let (kept, was_there) = store.set(name, &value, change).map_err(|error| failed(&error, context.engine.host()))?;
    let place = match kept.vault {
        Vault::File => shown(store.path(), context.engine.host()),
        Vault::Keyring => "the keyring".to_owned(),
    };
    let verb = if was_there { "Replaced" } else { "Stored" };
    let limit = if kept.tools.is_empty() { String::new() } else { format!(", for {}", kept.tools.join(", ")) };
    context.printer.say(&format!("{verb} `{name}` in {place}{limit}"));
    Ok(0)
}

/// The value: typed unseen by a person, else all of standard input but one line break at its end.
fn value(context: &Context, name: &str) -> Result<Zeroizing<String>, CommandError> {
    if context.is_attended() {
        return ask_hidden(&format!("Value of `{name}` (not shown): "))
            .map_err(|why| CommandError::failure(why.to_string()));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(1 << 16));
    let read = stdin().lock().take(MOST).read_to_end(&mut bytes);
    read.map_err(|error| CommandError::failure(format!("cannot read standard input: {error}")))?;
    let text = str::from_utf8(&bytes).map_err(|_| CommandError::failure("the value is not UTF-8 text"))?;
    let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
    Ok(Zeroizing::new(text.to_owned()))
}
