//! What a host and a worker say to each other: one JSON object per line, in both directions.
//!
//! The worker begins with [`FromWorker::Ready`]. The host sends a [`WorkerCall`]; until the worker answers it with a result or a
//! failure, both may send more about it: the worker log lines and [`HostRequest`]s, the host a [`HostReply`] to each ask. A worker
//! carries out one call at a time, and may have several asks under way in it.
//!
//! Neither side trusts the other's lines: what is no message, too long or cut off is a typed error. Nothing can be read
//! after one, so a side that sees it ends the conversation.

mod lines;

use std::{collections::BTreeMap, io::Write};

use cycod_definition::ParameterType;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

pub use self::lines::{FrameReader, LineError};

/// How many bytes a line may have, its end included.
pub const LONGEST_LINE: usize = 64 << 20;

/// What the host tells a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "ToWire", try_from = "ToWire")]
pub enum ToWorker {
    /// Carry this out.
    Call {
        /// Which call this is; everything that is said about it carries the number.
        id: u64,
        /// What to carry out.
        call: Box<WorkerCall>,
    },
    /// The answer to something the worker asked for.
    Reply {
        /// The call during which it was asked.
        id: u64,
        /// The answer.
        reply: HostReply,
    },
}

/// One call of a tool whose code the worker runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerCall {
    /// The tool's name, for messages and stack traces.
    pub tool: String,
    /// A digest of the code, under which the worker keeps it compiled.
    pub key: String,
    /// The code.
    pub code: String,
    /// The line in the tool's file, counted from 1, at which the code begins.
    pub line: u32,
    /// The tool's file, for stack traces, and as the place from which modules beside it are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What the code is written in, where a worker knows more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<ScriptLanguage>,
    /// The arguments by name.
    pub args: Map<String, Value>,
    /// What arguments are declared as, for languages with more kinds of vectors than JSON has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, ArgumentType>,
    /// The media type of the one file that the call yields, if it yields one. A result is then its bytes in Base64, and not
    /// data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub produces: Option<String>,
    /// How many milliseconds the call may take; the host kills a worker that takes longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// How many bytes the code may use, where the worker can tell one call's from another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Where and for whom it runs.
    pub context: CallContext,
}

/// What an argument is, where JSON does not tell; an array is a vector of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentType {
    /// Text.
    Text,
    /// Booleans.
    Logical,
    /// Numbers without a fraction, exact and bounded.
    Integer,
    /// Numbers.
    Double,
    /// A list, also when its items are alike.
    List,
}

impl ArgumentType {
    /// Returns what an argument is that is declared as `kind`, an array of `items`.
    pub fn of(kind: ParameterType, items: Option<ParameterType>) -> Option<Self> {
        match kind {
            ParameterType::String => Some(Self::Text),
            ParameterType::Boolean => Some(Self::Logical),
            ParameterType::Integer => Some(Self::Integer),
            ParameterType::Number => Some(Self::Double),
            ParameterType::Object => Some(Self::List),
            ParameterType::Array => match items? {
                ParameterType::Array | ParameterType::Object => Some(Self::List),
                scalar => Self::of(scalar, None),
            },
            ParameterType::Any => None,
        }
    }
}

/// The languages of the script engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScriptLanguage {
    /// As browsers read it.
    JavaScript,
    /// With types, which are left out before it runs.
    TypeScript,
}

/// Where and for whom a call runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallContext {
    /// The working directory.
    pub directory: String,
    /// The directory that the tools of this place belong to.
    pub workspace: String,
    /// The environment, if it is another than the worker was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<BTreeMap<String, String>>,
    /// Whether the tool may reach the network at all; which hosts, the host decides for each request.
    #[serde(default, skip_serializing_if = "is_false")]
    pub network: bool,
    /// Settings that the code may see.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
    /// The conversation for which the tool is called, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Map<String, Value>>,
}

/// The host's answer to an [`HostRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "ReplyWire", try_from = "ReplyWire")]
pub struct HostReply {
    /// The number of the ask.
    pub to: u64,
    /// What was asked for, or why there is none.
    pub answer: Result<Value, ReplyError>,
}

/// Why the host did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyError {
    /// What the code sees as the message of the error.
    pub message: String,
    /// A word that code can compare, such as `ENOENT` or `permission-denied`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// What a worker tells the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "FromWire", try_from = "FromWire")]
pub enum FromWorker {
    /// The worker can take calls.
    Ready(Ready),
    /// The call ended well.
    Result {
        /// Which call.
        id: u64,
        /// What it gave; `null` is nothing.
        value: Value,
    },
    /// The call failed.
    Failure {
        /// Which call.
        id: u64,
        /// Why.
        failure: Failure,
    },
    /// The call needs something that only the host can do.
    Ask {
        /// Which call.
        id: u64,
        /// What it needs.
        ask: HostRequest,
    },
    /// The call has something to tell the reader of its log.
    Log {
        /// Which call.
        id: u64,
        /// What it tells.
        log: Log,
    },
}

/// What a worker is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// The language and its version, such as `R 4.2.2`.
    pub version: String,
}

/// Why a call has no result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("{message}")]
pub struct Failure {
    /// What went wrong.
    pub message: String,
    /// The calls that led there, innermost first, as the language writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The line in the tool's file, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Something that only the host can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRequest {
    /// Its number within the call, which the reply carries.
    pub number: u64,
    /// What is to be done, such as `fs.readFile`.
    pub what: String,
    /// What it is to be done with.
    #[serde(default)]
    pub with: Vec<Value>,
}

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// How much it matters.
    pub level: LogLevel,
    /// What it says.
    pub message: String,
}

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For the author of a tool.
    Debug,
    /// What goes on.
    Info,
    /// What may be wrong.
    Warn,
    /// What is wrong.
    Error,
}

/// Why a line is no message.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The line itself could not be had.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The line is not what this side may be told.
    #[error("`{excerpt}` is not a message: {why}")]
    Garbage {
        /// How the line begins.
        excerpt: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// It is too long for a line.
    #[error("the message has {size} bytes, and a line holds at most {LONGEST_LINE}")]
    TooLong {
        /// Its size.
        size: usize,
    },
    /// It holds what the other side's language cannot.
    #[error("{why}")]
    Unfit {
        /// What that is.
        why: String,
    },
    /// It could not be written.
    #[error("the other side cannot be written to")]
    Write(#[source] std::io::Error),
}

/// Reads the next message; `None` when the other side has ended between two lines.
///
/// # Errors
/// When the line cannot be read or is no message. A [`LineError::Read`] of the kind `WouldBlock` loses nothing: ask again.
pub fn receive<T: DeserializeOwned>(lines: &mut FrameReader<impl std::io::Read>) -> Result<Option<T>, MessageError> {
    let Some(line) = lines.next()? else { return Ok(None) };
    parse(line).map(Some)
}

/// Reads a message from a line without its end.
///
/// # Errors
/// When the line is no message.
pub fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, MessageError> {
    const EXCERPT: usize = 80;
    serde_json::from_slice(line).map_err(|error| {
        let text = String::from_utf8_lossy(&line[..line.len().min(4 * EXCERPT)]);
        // It may be shown on a terminal.
        let shown = |char: char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char };
        let mut excerpt: String = text.chars().take(EXCERPT).map(shown).collect();
        if text.chars().nth(EXCERPT).is_some() {
            excerpt.push('…');
        }
        MessageError::Garbage { excerpt, why: error.to_string() }
    })
}

/// Writes a message as a line, and sees to it that it leaves.
///
/// # Errors
/// When it is longer than the other side takes, of which nothing is written then; and when it cannot be written.
pub fn send(output: &mut impl Write, message: &impl Serialize) -> Result<(), SendError> {
    let mut line = serde_json::to_vec(message).map_err(|error| SendError::Write(error.into()))?;
    line.push(b'\n');
    if line.len() > LONGEST_LINE {
        return Err(SendError::TooLong { size: line.len() });
    }
    output.write_all(&line).and_then(|()| output.flush()).map_err(SendError::Write)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

// How messages look on the line. Which kind one is shows in the key it has, and it must have exactly one of them: a derived
// enum would tell no more than that nothing fits.

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToWire {
    id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<Box<WorkerCall>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<HostReply>,
}

impl From<ToWorker> for ToWire {
    fn from(message: ToWorker) -> Self {
        match message {
            ToWorker::Call { id, call } => Self { id, call: Some(call), reply: None },
            ToWorker::Reply { id, reply } => Self { id, call: None, reply: Some(reply) },
        }
    }
}

impl TryFrom<ToWire> for ToWorker {
    type Error = &'static str;

    fn try_from(wire: ToWire) -> Result<Self, Self::Error> {
        match wire {
            ToWire { id, call: Some(call), reply: None } => Ok(Self::Call { id, call }),
            ToWire { id, call: None, reply: Some(reply) } => Ok(Self::Reply { id, reply }),
            _ => Err("it must have either `call` or `reply`"),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyWire {
    to: u64,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReplyError>,
}

impl From<HostReply> for ReplyWire {
    fn from(HostReply { to, answer }: HostReply) -> Self {
        match answer {
            Ok(value) => Self { to, value: Some(value), error: None },
            Err(error) => Self { to, value: None, error: Some(error) },
        }
    }
}

impl TryFrom<ReplyWire> for HostReply {
    type Error = &'static str;

    fn try_from(wire: ReplyWire) -> Result<Self, Self::Error> {
        match wire {
            ReplyWire { to, value: Some(value), error: None } => Ok(Self { to, answer: Ok(value) }),
            ReplyWire { to, value: None, error: Some(error) } => Ok(Self { to, answer: Err(error) }),
            _ => Err("a reply must have either `value` or `error`"),
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    ready: Option<Ready>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<HostRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<Log>,
}

impl From<FromWorker> for FromWire {
    fn from(message: FromWorker) -> Self {
        let wire = Self::default();
        match message {
            FromWorker::Ready(ready) => Self { ready: Some(ready), ..wire },
            FromWorker::Result { id, value } => Self { id: Some(id), result: Some(value), ..wire },
            FromWorker::Failure { id, failure } => Self { id: Some(id), error: Some(failure), ..wire },
            FromWorker::Ask { id, ask } => Self { id: Some(id), ask: Some(ask), ..wire },
            FromWorker::Log { id, log } => Self { id: Some(id), log: Some(log), ..wire },
        }
    }
}

impl TryFrom<FromWire> for FromWorker {
    type Error = &'static str;

    fn try_from(wire: FromWire) -> Result<Self, Self::Error> {
        let FromWire { ready, id, result, error, ask, log } = wire;
        match (ready, id, result, error, ask, log) {
            (Some(ready), None, None, None, None, None) => Ok(Self::Ready(ready)),
            (None, Some(id), Some(value), None, None, None) => Ok(Self::Result { id, value }),
            (None, Some(id), None, Some(failure), None, None) => Ok(Self::Failure { id, failure }),
            (None, Some(id), None, None, Some(ask), None) => Ok(Self::Ask { id, ask }),
            (None, Some(id), None, None, None, Some(log)) => Ok(Self::Log { id, log }),
            _ => Err("it must have `ready`, or `id` and one of `result`, `error`, `ask` and `log`"),
        }
    }
}

/// Tells `null` from nothing.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    /// Checks that a message becomes this line, and this line the message.
    fn round<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(message: &T, line: &str) {
        let mut written = Vec::new();
        send(&mut written, message).expect("memory takes everything");
        assert_eq!(String::from_utf8_lossy(&written), format!("{line}\n"));
        assert_eq!(&parse::<T>(line.as_bytes()).expect("it was written by us"), message);
    }

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn what_a_worker_is_told() {
        let call = WorkerCall {
            tool: "greet".to_owned(),
            key: "k1".to_owned(),
            code: "one\ntwo".to_owned(),
            line: 7,
            file: None,
            language: None,
            args: object(json!({ "name": "Ada", "n": null })),
            types: BTreeMap::new(),
            produces: None,
            timeout: None,
            memory: None,
            context: CallContext { directory: "/d".to_owned(), workspace: "/w".to_owned(), ..CallContext::default() },
        };
        round(
            &ToWorker::Call { id: 1, call: call.clone().into() },
            r#"{"id":1,"call":{"tool":"greet","key":"k1","code":"one\ntwo","line":7,"args":{"name":"Ada","n":null},"context":{"directory":"/d","workspace":"/w"}}}"#,
        );
        let call = WorkerCall {
            file: Some("/w/greet.md".to_owned()),
            language: Some(ScriptLanguage::TypeScript),
            types: [("n".to_owned(), ArgumentType::Double)].into(),
            produces: None,
            timeout: Some(30_000),
            memory: Some(1 << 28),
            context: CallContext {
                environment: Some([("A".to_owned(), "1".to_owned())].into()),
                network: true,
                config: object(json!({ "a": 1 })),
                conversation: Some(object(json!({ "id": "c" }))),
                ..call.context
            },
            ..call
        };
        round(
            &ToWorker::Call { id: 2, call: call.into() },
            r#"{"id":2,"call":{"tool":"greet","key":"k1","code":"one\ntwo","line":7,"file":"/w/greet.md","language":"typescript","args":{"name":"Ada","n":null},"types":{"n":"double"},"timeout":30000,"memory":268435456,"context":{"directory":"/d","workspace":"/w","environment":{"A":"1"},"network":true,"config":{"a":1},"conversation":{"id":"c"}}}}"#,
        );
        let reply = |answer| ToWorker::Reply { id: 1, reply: HostReply { to: 3, answer } };
        round(&reply(Ok(json!("text"))), r#"{"id":1,"reply":{"to":3,"value":"text"}}"#);
        round(&reply(Ok(Value::Null)), r#"{"id":1,"reply":{"to":3,"value":null}}"#);
        let error = ReplyError { message: "no".to_owned(), code: None };
        round(&reply(Err(error.clone())), r#"{"id":1,"reply":{"to":3,"error":{"message":"no"}}}"#);
        let error = ReplyError { code: Some("ENOENT".to_owned()), ..error };
        round(&reply(Err(error)), r#"{"id":1,"reply":{"to":3,"error":{"message":"no","code":"ENOENT"}}}"#);
    }

    #[test]
    fn what_a_worker_tells() {
        let version = "R 4.2.2".to_owned();
        round(&FromWorker::Ready(Ready { version }), r#"{"ready":{"version":"R 4.2.2"}}"#);
        round(&FromWorker::Result { id: 1, value: json!({ "a": [1] }) }, r#"{"id":1,"result":{"a":[1]}}"#);
        round(&FromWorker::Result { id: 1, value: Value::Null }, r#"{"id":1,"result":null}"#);
        let failure = Failure { message: "m".to_owned(), trace: None, line: None };
        round(&FromWorker::Failure { id: 1, failure: failure.clone() }, r#"{"id":1,"error":{"message":"m"}}"#);
        let failure = Failure { trace: Some("at f".to_owned()), line: Some(9), ..failure };
        round(&FromWorker::Failure { id: 1, failure }, r#"{"id":1,"error":{"message":"m","trace":"at f","line":9}}"#);
        let ask = HostRequest { number: 2, what: "fs.readFile".to_owned(), with: vec![json!("a"), json!("utf-8")] };
        round(
            &FromWorker::Ask { id: 1, ask },
            r#"{"id":1,"ask":{"number":2,"what":"fs.readFile","with":["a","utf-8"]}}"#,
        );
        let log = Log { level: LogLevel::Warn, message: "careful".to_owned() };
        round(&FromWorker::Log { id: 1, log }, r#"{"id":1,"log":{"level":"warn","message":"careful"}}"#);
    }

    fn refused<T: DeserializeOwned + std::fmt::Debug>(line: &[u8], expected: &Expect) {
        let error = parse::<T>(line).expect_err("it is garbage");
        expected.assert_eq(&error.to_string());
    }

    #[test]
    fn garbage_is_refused_with_the_reason() {
        refused::<FromWorker>(
            b"[1] \"hello\"",
            &expect![[
                r#"`[1] "hello"` is not a message: invalid type: integer `1`, expected struct Ready at line 1 column 2"#
            ]],
        );
        refused::<FromWorker>(b"", &expect!["`` is not a message: EOF while parsing a value at line 1 column 0"]);
        refused::<FromWorker>(
            br#"{"id":1}"#,
            &expect![[
                r#"`{"id":1}` is not a message: it must have `ready`, or `id` and one of `result`, `error`, `ask` and `log`"#
            ]],
        );
        refused::<FromWorker>(
            br#"{"id":1,"result":1,"error":{"message":""}}"#,
            &expect![[
                r#"`{"id":1,"result":1,"error":{"message":""}}` is not a message: it must have `ready`, or `id` and one of `result`, `error`, `ask` and `log`"#
            ]],
        );
        refused::<FromWorker>(
            br#"{"id":-1,"result":1}"#,
            &expect![[
                r#"`{"id":-1,"result":1}` is not a message: invalid value: integer `-1`, expected u64 at line 1 column 8"#
            ]],
        );
        refused::<FromWorker>(
            b"{\"id\":1,\"result\":\"\xff\"}",
            &expect![[r#"`{"id":1,"result":"�"}` is not a message: invalid unicode code point at line 1 column 19"#]],
        );
        refused::<FromWorker>(
            br#"{"id":1,"exec":"sh"}"#,
            &expect![[
                r#"`{"id":1,"exec":"sh"}` is not a message: unknown field `exec`, expected one of `ready`, `id`, `result`, `error`, `ask`, `log` at line 1 column 14"#
            ]],
        );
        refused::<ToWorker>(
            br#"{"id":1,"reply":{"to":1}}"#,
            &expect![[
                r#"`{"id":1,"reply":{"to":1}}` is not a message: a reply must have either `value` or `error` at line 1 column 25"#
            ]],
        );
        refused::<FromWorker>(b"\x1b[2J", &expect!["`�[2J` is not a message: expected value at line 1 column 1"]);
        let long = vec![b'x'; 1000];
        let error = parse::<FromWorker>(&long).expect_err("it is garbage").to_string();
        assert!(error.len() < 200 && error.contains("x…"), "{error}");
    }

    #[test]
    fn ten_thousand_nested_arrays_are_garbage_and_not_the_end_of_us() {
        let line = format!(r#"{{"id":1,"result":{}{}}}"#, "[".repeat(10_000), "]".repeat(10_000));
        let error = parse::<FromWorker>(line.as_bytes()).expect_err("it is too deep").to_string();
        assert!(error.contains("recursion limit"), "{error}");
    }

    #[test]
    fn a_message_too_long_for_a_line_is_not_sent() {
        let mut output = Vec::new();
        let message = FromWorker::Result { id: 1, value: Value::String("x".repeat(LONGEST_LINE)) };
        assert!(matches!(send(&mut output, &message), Err(SendError::TooLong { .. })));
        assert!(output.is_empty());
    }

    #[test]
    fn messages_are_received_until_the_other_side_ends() {
        let input = b"{\"ready\":{\"version\":\"x\"}}\n{\"id\":1,\"result\":2}\nnonsense\n";
        let mut lines = FrameReader::new(input.as_slice());
        assert!(matches!(receive(&mut lines), Ok(Some(FromWorker::Ready(_)))));
        assert!(matches!(receive(&mut lines), Ok(Some(FromWorker::Result { id: 1, .. }))));
        assert!(matches!(receive::<FromWorker>(&mut lines), Err(MessageError::Garbage { .. })));
        assert!(matches!(receive::<FromWorker>(&mut lines), Ok(None)));
    }
}
