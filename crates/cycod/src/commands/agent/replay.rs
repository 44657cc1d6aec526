use clap::{Arg, ArgMatches, Command};
use cycod_agent::{Transcript, What};
use cycod_engine::diagnostic::visible;
use cycod_model::Message;
use serde_json::json;

use super::{
    directory, failed, format, is_json,
    show::{begins, result_text},
};
use crate::{
    cli::Context,
    command_error::CommandError,
    printer::{HEADING, paint},
};

/// `cycod agent replay`.
pub(crate) fn command() -> Command {
    Command::new("replay")
        .about("Show a session as it was, without a model")
        .arg(Arg::new("id").value_name("ID").required(true).help("The session, or how its name begins"))
        .arg(format())
}

/// Shows what was said and done; nothing runs, and no model is asked.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let start = matches.get_one::<String>("id").expect("clap requires it");
    let transcript = Transcript::read(&directory(&context.engine), start).map_err(|error| failed(&error))?;
    if is_json(matches) {
        let value = json!({"id": transcript.id, "about": transcript.about, "entries": transcript.entries});
        context.printer.line(&format!("{value:#}"));
        return Ok(0);
    }
    let colour = context.printer.data_colour;
    let heading = |text: &str| paint(colour, HEADING, text);
    for entry in &transcript.entries {
        let text = match &entry.what {
            What::Session(about) => {
                let said = |key: &str| about[key].as_str().unwrap_or_default().to_owned();
                format!(
                    "{} {}  {}  {}\n",
                    heading("session"),
                    transcript.id,
                    said("model"),
                    visible(&said("working_dir"))
                )
            }
            What::Message(Message::User(text)) => format!("\n{} {}\n", heading(">"), visible(text)),
            What::Message(Message::Model(reply)) => {
                let mut text = String::new();
                if !reply.text.is_empty() {
                    text.push_str(&format!("\n{}\n", visible(reply.text.trim_end())));
                }
                reply.calls.iter().for_each(|call| text.push_str(&format!("{}\n", begins(colour, call))));
                text
            }
            What::Message(Message::Results(results)) => results.iter().map(result_text).collect(),
            What::Turned(how) => {
                let count = |key: &str| how[key].as_u64().unwrap_or_default();
                let tokens = how["tokens"]["input"].as_u64().unwrap_or_default()
                    + how["tokens"]["output"].as_u64().unwrap_or_default();
                format!(
                    "{} {}: {} iterations, {} calls, {tokens} tokens\n",
                    heading("ended"),
                    how["ending"].as_str().unwrap_or_default(),
                    count("iterations"),
                    count("calls"),
                )
            }
        };
        context.printer.data(text.as_bytes());
    }
    Ok(0)
}
