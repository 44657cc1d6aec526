//! The conversations with models that are kept, for every command that has them.

use std::{path::PathBuf, time::UNIX_EPOCH};

use cycod_agent::{Transcript, TranscriptError, What};
use cycod_engine::{
    Engine,
    diagnostic::{Shown, visible},
    timestamp,
};
use cycod_model::{Message, NoObject, Provider};
use serde_json::{Value as Json, json};

use crate::{
    command_error::CommandError,
    run::fitted,
    table::{Cell, Table},
};

/// How much of what was asked first is shown.
const TITLE: usize = 60;

/// Where conversations are kept.
pub(crate) fn directory(engine: &Engine) -> PathBuf {
    engine.catalog().scopes().user_directory().join("agents")
}

/// What is written down about a chat that begins with a question.
pub(crate) fn about(engine: &Engine, question: &str, provider: &dyn Provider) -> Json {
    json!({
        "program": concat!("cycod ", env!("CARGO_PKG_VERSION")),
        "task": question,
        "model": format!("{}/{}", provider.provider(), provider.model()),
        "working_dir": engine.host().working_directory.to_string_lossy(),
    })
}

/// The names of those that are kept, the latest last.
///
/// # Errors
/// When the directory cannot be read.
pub(crate) fn names(engine: &Engine) -> Result<Vec<String>, CommandError> {
    Transcript::list(&directory(engine)).map_err(|error| failed(&error))
}

/// A table of the latest, the latest first; nothing when there are none.
///
/// # Errors
/// When the directory cannot be read.
pub(crate) fn table(
    engine: &Engine,
    most: usize,
    width: Option<usize>,
    colour: bool,
) -> Result<Option<Shown>, CommandError> {
    let directory = directory(engine);
    let mut kept: Vec<(u64, String, Result<Transcript, String>)> = names(engine)?
        .into_iter()
        .map(|name| {
            let read = Transcript::read(&directory, &name).map_err(|error| failed(&error).message);
            let last = read.as_ref().ok().and_then(|one| one.entries.last()).map_or(0, |entry| entry.at);
            (last, name, read)
        })
        .collect();
    kept.sort_by_key(|(last, ..)| std::cmp::Reverse(*last));
    kept.truncate(most);
    let mut table = Table::new(&["ID", "LAST USED", "MODEL", "ASKED FIRST"]);
    for (last, name, read) in &kept {
        let text = |of: &Json| of.as_str().unwrap_or("?").to_owned();
        let when = timestamp(UNIX_EPOCH + std::time::Duration::from_millis(*last));
        table.row(match read {
            Ok(one) => vec![
                Cell::new(name.as_str()),
                Cell::new(when),
                Cell::new(text(&one.about["model"])),
                Cell::new(title(one)),
            ],
            Err(why) => {
                vec![Cell::new(name.as_str()), Cell::new("?"), Cell::new("?"), Cell::new(why.as_str())]
            }
        });
    }
    Ok((!kept.is_empty()).then(|| table.render(width, colour)))
}

/// What was asked first, on one line.
fn title(transcript: &Transcript) -> String {
    let asked = transcript.entries.iter().find_map(|entry| match &entry.what {
        What::Message(Message::User(text)) => Some(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        _ => None,
    });
    fitted(&visible(&asked.unwrap_or_default()), TITLE)
}

/// Writes a conversation so that a person can read it.
pub(crate) fn markdown(transcript: &Transcript) -> String {
    let mut text = String::new();
    for entry in &transcript.entries {
        match &entry.what {
            What::Session(_) | What::Turned(_) => {}
            What::Message(Message::User(said)) => text.push_str(&format!("## You\n\n{}\n\n", said.trim_end())),
            What::Message(Message::Model(reply)) => {
                text.push_str(&format!("## {}\n\n", if reply.model.is_empty() { "The model" } else { &reply.model }));
                if !reply.text.trim().is_empty() {
                    text.push_str(&format!("{}\n\n", reply.text.trim()));
                }
                for call in &reply.calls {
                    let arguments = match &call.arguments {
                        Ok(arguments) => serde_json::to_string_pretty(arguments).unwrap_or_default(),
                        Err(NoObject(text)) => text.clone(),
                    };
                    text.push_str(&format!("Calls `{}`:\n\n{}", call.name, fenced("json", &arguments)));
                }
            }
            What::Message(Message::Results(results)) => {
                for result in results {
                    let how = if result.is_error { " failed" } else { "" };
                    text.push_str(&format!("`{}`{how}:\n\n{}", result.name, fenced("", &result.text)));
                }
            }
        }
    }
    text
}

/// A block of text that ends where it ends, whatever it holds.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n\n", text.trim_end())
}

/// Why a conversation cannot be read or written.
pub(crate) fn failed(error: &TranscriptError) -> CommandError {
    let cause = std::error::Error::source(error);
    let causes = std::iter::successors(cause, |error| error.source()).map(|cause| format!(": {cause}"));
    let failed = CommandError::failure(format!("{error}{}", causes.collect::<String>()));
    match error {
        TranscriptError::Unknown(_) | TranscriptError::Ambiguous { .. } => failed.hint("see: cycod agent list"),
        TranscriptError::Malformed { .. } | TranscriptError::Store(_) => failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_where_they_end() {
        assert_eq!(fenced("json", "{}\n"), "```json\n{}\n```\n\n");
        assert_eq!(fenced("", "a ```` b"), "`````\na ```` b\n`````\n\n");
    }
}
