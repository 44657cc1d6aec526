//! Messages in R's own serialization: data, exact, and read by R as fast as it can read anything.
//!
//! The format is the second version, big endian, as `serialize(x, NULL, version = 2)` writes it; its description is
//! "R Internals", section 1.8. A frame is `cyR` and a byte 1, the length in four bytes, and that many bytes.

mod json;
mod read;
mod write;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use self::read::{Data, Item, Malformed};
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
    if let Some(Data::Raw(bytes)) = message.entry("file").map(|file| &file.data) {
        return Ok(FromWorker::Result { id: id()?, value: Value::String(STANDARD.encode(bytes)) });
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::protocol::{CallContext, HostReply, WorkerCall};

    /// Messages of the host are the only ones here that hold values; from a worker's they differ in their names only.
    fn message(value: Value) -> Vec<u8> {
        let frame =
            encode(&ToWorker::Reply { id: 7, reply: HostReply { to: 1, answer: Ok(value) } }).expect("R can hold it");
        frame[MAGIC.len() + 4..].to_vec()
    }

    #[test]
    fn a_call_is_a_list_of_r() {
        let call = WorkerCall {
            tool: "t".to_owned(),
            key: "k".to_owned(),
            code: "function() 1".to_owned(),
            line: 3,
            file: None,
            language: None,
            args: [("x".to_owned(), json!([1, null]))].into_iter().collect(),
            types: [("x".to_owned(), crate::protocol::ArgumentType::Double)].into(),
            produces: Some("image/png".to_owned()),
            timeout: None,
            memory: None,
            context: CallContext { directory: "/d".to_owned(), workspace: "/w".to_owned(), ..CallContext::default() },
        };
        let frame = encode(&ToWorker::Call { id: 1, call: call.into() }).expect("R can hold it");
        let (head, inside) = frame.split_at(8);
        assert_eq!((&head[..4], &head[4..]), (&MAGIC[..], &(inside.len() as u32).to_be_bytes()[..]));
        assert_eq!(
            json::value(&read::read(inside).expect("it was written by us")),
            Ok(json!({
                "id": 1,
                "call": {
                    "tool": "t", "key": "k", "file": "", "code": "function() 1", "line": 3, "args": {"x": [1, null]},
                    "context": {"directory": "/d", "workspace": "/w", "environment": null},
                    "produces": "image/png",
                },
            }))
        );
    }

    #[test]
    fn what_is_no_message_is_told() {
        let malformed = |bytes: &[u8]| decode(bytes).expect_err("it is no message").to_string();
        assert_eq!(malformed(b""), "it is not R's portable binary format");
        assert_eq!(malformed(b"A\n2\n"), "it is not R's portable binary format");
        assert_eq!(malformed(b"X\n\0\0\0\x03"), "it is not in the second version of R's format");
        assert_eq!(malformed(&message(json!(1))), "it has none of `ready`, `result` and `error`");
        let mut long = message(json!(1));
        long.push(0);
        assert_eq!(malformed(&long), "something follows the value");
    }

    proptest! {
        #[test]
        fn bytes_that_were_cut_or_changed_are_read_or_refused(
            values in proptest::collection::vec("[a-zé]{0,5}", 0..5),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            end in any::<prop::sample::Index>(),
        ) {
            let mut bytes = message(json!({"a": values, "b": [1, 2.5, null], "c": [true, {"d": []}]}));
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            for bytes in [&bytes[..], &bytes[..end.index(bytes.len())]] {
                if let Ok(item) = read::read(bytes) {
                    let _ = json::value(&item);
                }
                let _ = read::read_first(bytes);
            }
        }
    }
}
