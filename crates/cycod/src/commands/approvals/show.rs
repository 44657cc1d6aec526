use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::PendingView;

use super::{RequestName, elsewhere, lost, pending, request};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    run::request_text,
};

/// What `cycod approvals show` takes.
#[derive(Parser)]
#[command(name = "show", about = "Show a request in full")]
struct Arguments {
    #[command(flatten)]
    request: RequestName,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod approvals show`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows a request in full.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let is_json = args.format.is_json();
    if let Some(lost) = lost::named(context, &args.request)? {
        return lost::show(context, &lost, is_json);
    }
    if let Some(there) = elsewhere::named(context, &args.request)? {
        return there.show(context, is_json);
    }
    let pending = pending(context, &args.request)?;
    if is_json {
        context.printer.json_of(&PendingView::of(&pending));
    } else {
        let (text, _) = request_text(&request(&pending)?, context.printer.width.unwrap_or(100), true);
        context.printer.text(&text);
    }
    Ok(0)
}
