use std::io::{Read, stdin};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_secret::{SecretChange, Vault, Zeroizing};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{approvals::ConfirmationOptions, secret::checked},
    options::{one_of, parsed},
    printer::ask_hidden,
    secrets::{failed, seconds, store},
    store::shown,
};

/// The most that is read of a value; what is longer is refused.
const MOST: u64 = 1 << 20;

/// What `cycod secret set` takes.
#[derive(Parser)]
#[command(name = "set", about = "Store a secret")]
struct Arguments {
    #[arg(value_name = "NAME")]
    secret: String,
    // Taken only to say why it is not.
    #[arg(value_name = "value", hide = true, num_args = 0..)]
    value: Option<Vec<String>>,
    /// Where to store the value
    #[arg(long, value_name = "VAULT", value_parser = one_of(Vault::NAMES))]
    vault: Option<Vault>,
    /// Give the secret only to this tool; repeat for several
    #[arg(long, value_name = "TOOL")]
    for_tool: Vec<String>,
    /// Remove the limit: give the secret to every tool that requests it
    #[arg(long, conflicts_with = "for_tool")]
    for_any_tool: bool,
    /// Protect the encrypted file with a passphrase
    #[arg(long)]
    passphrase: bool,
    #[command(flatten)]
    confirmation: ConfirmationOptions,
}

/// `cycod secret set`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Keeps a secret.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let name = checked(&args.secret)?;
    if args.value.is_some() {
        return Err(CommandError::usage("the value is not given on the command line")
            .hint("every user of the machine can read it there, and the shell keeps it in its history")
            .hint(format!("type it when asked: cycod secret set {name}"))
            .hint(format!("or take it from a file: cycod secret set {name} --yes < FILE")));
    }
    // Who types the value at a terminal says so with it.
    if !context.is_attended() {
        args.confirmation.confirm(context, "")?;
    }
    let tools: Vec<String> = args.for_tool.clone();
    let change = SecretChange {
        vault: args.vault,
        tools: (!tools.is_empty() || args.for_any_tool).then_some(tools),
        now: seconds(context.engine.host().now),
    };
    let store = store(&context.engine);
    if args.passphrase {
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
