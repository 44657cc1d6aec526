//! Messages in R's own serialization: data, exact, and read by R as fast as it can read anything.
//!
//! The format is the second version, big endian, as `serialize(x, NULL, version = 2)` writes it; its description is
//! "R Internals", section 1.8. A frame is `cyR` and a byte 1, the length in four bytes, and that many bytes.

mod json;
mod read;
mod write;

use serde_json::Value;

use self::read::{Item, Malformed};
use crate::protocol::{Failure, FromWorker, Ready, ToWorker};

/// What every frame begins with, so that what is none is seen at once.
pub(crate) const MAGIC: [u8; 4] = *b"cyR\x01";

/// Returns a frame, or why R could not hold what is in it.
pub(crate) fn encode(message: &ToWorker) -> Result<Vec<u8>, String> {
    write::message(message)
}

/// Reads a message from the inside of a frame.
pub(crate) fn decode(bytes: &[u8]) -> Result<FromWorker, Malformed> {
    let message = match read::read(bytes) {
        Ok(message) => message,
        Err(why) if why == read::TOO_DEEP => return too_deep(bytes),
        Err(why) => return Err(why),
    };
    let id = || match message.entry("id").map(json::value) {
        Some(Ok(Value::Number(number))) => number.as_u64().ok_or(Malformed("its `id` is no number of a call")),
        _ => Err(Malformed("it has no `id`")),
    };
    if let Some(ready) = message.entry("ready") {
        let version = text(ready, "version").ok_or(Malformed("`ready` has no `version`"))?;
        return Ok(FromWorker::Ready(Ready { version }));
    }
    if let Some(error) = message.entry("error") {
        let failure = Failure {
            message: text(error, "message").ok_or(Malformed("`error` has no `message`"))?,
            trace: text(error, "trace"),
            line: match error.entry("line").map(json::value) {
                Some(Ok(Value::Number(line))) => line.as_u64().and_then(|line| line.try_into().ok()),
                _ => None,
            },
        };
        return Ok(FromWorker::Failure { id: id()?, failure });
    }
    let result = message.entry("result").ok_or(Malformed("it has none of `ready`, `result` and `error`"))?;
    Ok(match json::value(result) {
        Ok(value) => FromWorker::Result { id: id()?, value },
        Err(message) => FromWorker::Failure { id: id()?, failure: Failure { message, ..Failure::default() } },
    })
}

/// The failure of a call whose result nobody can take. The number of the call comes first in a message.
fn too_deep(bytes: &[u8]) -> Result<FromWorker, Malformed> {
    let Ok(Value::Number(number)) = json::value(&read::read_first(bytes)?) else { return Err(read::TOO_DEEP) };
    let id = number.as_u64().ok_or(read::TOO_DEEP)?;
    let message = format!("the result is nested more than {} levels deep", read::DEEPEST);
    Ok(FromWorker::Failure { id, failure: Failure { message, ..Failure::default() } })
}

fn text(item: &Item<'_>, name: &str) -> Option<String> {
    match json::value(item.entry(name)?) {
        Ok(Value::String(text)) => Some(text),
        _ => None,
    }
}
