//! What was said in a session, as lines in a file that a later session can continue.

use std::{
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use cycod_mask::Masks;
use cycod_model::{Message, ToolResult};
use cycod_store::{Journal, RunId, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// What was said in a session, as it was written down.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// What the session is called.
    pub id: String,
    /// What is known about it: whatever the program that began it wrote down.
    pub about: Json,
    /// What happened, the oldest first.
    pub entries: Vec<Entry>,
}

/// Something that was written down, with when, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What is written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// The session began.
    Session(Json),
    /// Something was said.
    Message(Message),
    /// A turn ended.
    Turned(Json),
}

/// Why a transcript cannot be read, or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// There is none of this name.
    #[error("no transcript is called `{0}`")]
    Unknown(String),
    /// Several begin so.
    #[error("{count} transcripts begin with `{start}`")]
    Ambiguous {
        /// What was given.
        start: String,
        /// How many there are.
        count: usize,
    },
    /// It holds something that is no part of a transcript.
    #[error("`{}` is not a transcript: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// It cannot be read or written.
    #[error("the transcript cannot be used")]
    Store(#[from] StoreError),
}

impl Transcript {
    /// Reads the one whose name begins so.
    ///
    /// # Errors
    /// When there is none, or several, or it cannot be read.
    pub fn read(directory: &Path, start: &str) -> Result<Self, TranscriptError> {
        let id = Self::find(directory, start)?;
        let path = path_of(directory, &id);
        Self::of(id, Journal::read(&path)?, &path)
    }

    /// The names of all in a directory, the latest last.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn list(directory: &Path) -> Result<Vec<String>, TranscriptError> {
        Ok(Journal::list(directory)?)
    }

    /// The messages, with a result for each call: what was under way when its process died has none.
    pub fn messages(&self) -> Vec<Message> {
        let mut messages: Vec<Message> = Vec::new();
        let said = self.entries.iter().filter_map(|entry| match &entry.what {
            What::Message(message) => Some(message.clone()),
            What::Session(_) | What::Turned(_) => None,
        });
        for message in said {
            if !matches!(message, Message::Results(_)) {
                messages.extend(messages.last().and_then(unanswered));
            }
            messages.push(message);
        }
        messages.extend(messages.last().and_then(unanswered));
        messages
    }

    fn find(directory: &Path, start: &str) -> Result<String, TranscriptError> {
        let mut names = Self::list(directory)?;
        names.retain(|name| name.starts_with(start));
        match names.len() {
            1 => Ok(names.remove(0)),
            _ if names.iter().any(|name| name == start) => Ok(start.to_owned()),
            0 => Err(TranscriptError::Unknown(start.to_owned())),
            count => Err(TranscriptError::Ambiguous { start: start.to_owned(), count }),
        }
    }

    fn of(id: String, values: Vec<Json>, path: &Path) -> Result<Self, TranscriptError> {
        let wrong = |why: String| TranscriptError::Malformed { path: path.to_owned(), why };
        let mut entries = Vec::new();
        let mut about = Json::Null;
        for (at, value) in values.into_iter().enumerate() {
            let entry: Entry =
                serde_json::from_value(value).map_err(|error| wrong(format!("line {}: {error}", at + 1)))?;
            if let What::Session(said) = &entry.what {
                about = said.clone();
            }
            entries.push(entry);
        }
        if about.is_null() {
            return Err(wrong("it does not say what it is of".to_owned()));
        }
        Ok(Self { id, about, entries })
    }
}

/// Results for the calls of a reply that has none.
fn unanswered(message: &Message) -> Option<Message> {
    let Message::Model(reply) = message else { return None };
    let result = |call: &cycod_model::Call| ToolResult {
        id: call.id.clone(),
        name: call.name.clone(),
        text: "the work was broken off during this call; it is not known whether it was carried out".to_owned(),
        is_error: true,
    };
    let results: Vec<ToolResult> = reply.calls.iter().map(result).collect();
    (!results.is_empty()).then_some(Message::Results(results))
}

fn path_of(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!("{id}.jsonl"))
}

/// A transcript that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    id: String,
    journal: Journal,
    masks: Masks,
}

impl Writer {
    /// Begins one. `secrets` are never written.
    pub(crate) fn begin(directory: &Path, about: &Json, secrets: Vec<String>) -> Result<Self, TranscriptError> {
        let id = RunId::random()?.to_string();
        let journal = Journal::create(&path_of(directory, &id))?;
        let mut writer = Self { id, journal, masks: Masks::new(secrets) };
        writer.write(&What::Session(about.clone()))?;
        Ok(writer)
    }

    /// Goes on with one.
    pub(crate) fn resume(
        directory: &Path,
        start: &str,
        secrets: Vec<String>,
    ) -> Result<(Self, Transcript), TranscriptError> {
        let id = Transcript::find(directory, start)?;
        let path = path_of(directory, &id);
        let (journal, values) = Journal::open(&path)?;
        let transcript = Transcript::of(id.clone(), values, &path)?;
        Ok((Self { id, journal, masks: Masks::new(secrets) }, transcript))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Adds what is never to be written from now on.
    pub(crate) fn hide(&mut self, secrets: Vec<String>) {
        self.masks = self.masks.with(secrets);
    }

    pub(crate) fn write(&mut self, what: &What) -> Result<(), TranscriptError> {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let entry = json!(Entry { at: u64::try_from(at).unwrap_or(u64::MAX), what: what.clone() });
        Ok(self.journal.add(&masked(&self.masks, entry))?)
    }
}

/// A value without secrets. What belongs to a provider cannot be changed without breaking it, and is left out instead.
fn masked(masks: &Masks, mut value: Json) -> Json {
    leave_out(masks, &mut value);
    masks.json(value)
}

fn leave_out(masks: &Masks, value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| leave_out(masks, item)),
        Json::Object(fields) => {
            fields.retain(|name, value| name != "opaque" || masks.json(value.clone()) == *value);
            fields.values_mut().for_each(|value| leave_out(masks, value));
        }
        _ => {}
    }
}
