use std::time::{Duration, UNIX_EPOCH};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_agent::{Transcript, What};
use cycod_engine::{diagnostic::visible, timestamp};
use serde_json::json;

use super::{directory, failed};
use crate::{
    cli::Context,
    command_error::CommandError,
    options::{TextOrJson, parsed},
};

/// What `cycod agent list` takes.
#[derive(Parser)]
#[command(name = "list", about = "List the sessions that you can resume or replay")]
struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod agent list`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Lists what was written down, the latest first.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let directory = directory(&context.engine);
    let mut ids = Transcript::list(&directory).map_err(|error| failed(&error))?;
    ids.reverse();
    let mut rows = Vec::new();
    for id in ids {
        let transcript = match Transcript::read(&directory, &id) {
            Ok(transcript) => transcript,
            Err(error) => {
                context.printer.warn(&failed(&error).message);
                continue;
            }
        };
        let began = transcript.entries.first().map_or(0, |entry| entry.at);
        let turned = transcript.entries.iter().rev().find_map(|entry| match &entry.what {
            What::Turned(how) => how["ending"].as_str().map(str::to_owned),
            _ => None,
        });
        let task = transcript.about["task"].as_str().unwrap_or_default().to_owned();
        rows.push((id, began, turned.unwrap_or_else(|| "broken off".to_owned()), task));
    }
    if args.format.is_json() {
        let rows = rows
            .into_iter()
            .map(|(id, began, ending, task)| json!({"id": id, "began": began, "ending": ending, "task": task}));
        context.printer.json(&format!("{:#}", rows.collect::<serde_json::Value>()));
        return Ok(0);
    }
    if rows.is_empty() {
        context.printer.say("no session was written down yet");
    }
    for (id, began, ending, task) in rows {
        let moment = timestamp(UNIX_EPOCH + Duration::from_millis(began));
        let task = task.lines().next().unwrap_or_default();
        context.printer.line(&format!("{id}  {moment}  {ending:<10}  {}", visible(task)));
    }
    Ok(0)
}
