use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_agent::{Transcript, What};
use cycod_engine::diagnostic::{Shown, shown};
use cycod_model::Message;
use serde_json::json;

use super::{
    directory, failed,
    show::{begins, result_text},
};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
    printer::{HEADING, paint},
};

/// What `cycod agent replay` takes.
#[derive(Parser)]
#[command(name = "replay", about = "Show a recorded session, without a model")]
struct Arguments {
    /// The session's name, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod agent replay`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows what was said and done; nothing runs, and no model is asked.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let start = &args.id;
    let transcript = Transcript::read(&directory(&context.engine), start).map_err(|error| failed(&error))?;
    if args.format.is_json() {
        let value = json!({"id": transcript.id, "about": transcript.about, "entries": transcript.entries});
        context.printer.json(&format!("{value:#}"));
        return Ok(0);
    }
    let colour = context.printer.data_colour;
    let heading = |text: &str| paint(colour, HEADING, text);
    for entry in &transcript.entries {
        let text = match &entry.what {
            What::Session(about) => {
                let said = |key: &str| about[key].as_str().unwrap_or_default().to_owned();
                let facts = format!(" {}  {}  {}\n", transcript.id, said("model"), said("working_dir"));
                shown![heading("session"), &facts]
            }
            What::Message(Message::User(text)) => shown!["\n", heading(">"), " ", text, "\n"],
            What::Message(Message::Model(reply)) => {
                let mut text = Shown::default();
                if !reply.text.is_empty() {
                    text.push(shown!["\n", reply.text.trim_end(), "\n"]);
                }
                reply.calls.iter().for_each(|call| text.line(begins(colour, call)));
                text
            }
            What::Message(Message::Results(results)) => {
                results.iter().map(|result| Shown::from(&result_text(result))).collect()
            }
            What::Turned(how) => {
                let count = |key: &str| how[key].as_u64().unwrap_or_default();
                let tokens = how["tokens"]["input"].as_u64().unwrap_or_default()
                    + how["tokens"]["output"].as_u64().unwrap_or_default();
                let facts = format!(
                    " {}: {} iterations, {} calls, {tokens} tokens\n",
                    how["ending"].as_str().unwrap_or_default(),
                    count("iterations"),
                    count("calls"),
                );
                shown![heading("ended"), &facts]
            }
        };
        context.printer.text(text);
    }
    Ok(0)
}
