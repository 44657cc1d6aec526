//! The formats: how a request is written, and how an answer is read.
//!
//! What a provider wants back in later requests rides in the `opaque` of a reply or a call, as `{"FORMAT": …}`, so that a
//! conversation that goes on with another provider takes nothing along that this one does not understand. Of a reply that is
//! `{"parts": […], "seal": …}`: the order of its parts with what belongs to each, and what must be unchanged so that those of
//! the provider's own still count.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod responses;

use cycod_schema::Dialect;
use serde_json::{Map, Value as Json, json};

use crate::{Call, Delta, ErrorKind, ModelError, NoObject, Reply, Request, StopReason, frames::Framing, too_long};

/// How requests are written and answers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WireFormat {
    /// Chat completions of OpenAI, and of the many programs that speak like them.
    OpenaiChat,
    /// The Responses API of OpenAI.
    OpenaiResponses,
    /// Messages of Anthropic.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// Ollama's own `/api/chat`.
    Ollama,
}

/// What a request is written with, beside what is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    /// The model.
    pub(crate) model: &'a str,
    /// How much it can hold, where that is known.
    pub(crate) window: Option<usize>,
    /// The most tokens that it can say, where that is known.
    pub(crate) output: Option<u32>,
    /// Whether the address is that of OpenAI itself, which no longer takes what others still need.
    pub(crate) is_openai: bool,
}

/// Reads the events of one answer.
pub(crate) trait Reading {
    /// Takes an event; whether it was the last.
    fn read(&mut self, data: &str, follow: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ModelError>;

    /// What was said, when the stream ended as it must.
    fn finish(self: Box<Self>) -> Option<Reply>;
}

impl WireFormat {
    /// Every format with its name.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("openai", Self::OpenaiChat),
        ("openai-responses", Self::OpenaiResponses),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
        ("ollama", Self::Ollama),
    ];

    /// The format called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// The dialect in which its models are told of tools.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::OpenaiChat | Self::Ollama => Dialect::Openai,
            Self::OpenaiResponses => Dialect::OpenaiResponses,
            Self::Anthropic => Dialect::Anthropic,
            Self::Gemini => Dialect::Gemini,
        }
    }

    /// Below a base address, where requests for a model go.
    pub(crate) fn path(self, base: &str, model: &str) -> String {
        let base = base.trim_end_matches('/');
        // Programs disagree on whether the version belongs to the base of these.
        let version = |version: &str| if base.ends_with(version) { "" } else { version }.to_owned();
        match self {
            Self::OpenaiChat => format!("{base}/chat/completions"),
            Self::OpenaiResponses => format!("{base}/responses"),
            Self::Anthropic => format!("{base}{}/messages", version("/v1")),
            Self::Gemini => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                format!("{base}{}/models/{model}:streamGenerateContent?alt=sse", version("/v1beta"))
            }
            Self::Ollama => format!("{base}/api/chat"),
        }
    }

    /// The header that carries a key, and what stands before the key in it.
    pub(crate) fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses | Self::Ollama => ("authorization", "Bearer "),
            Self::Anthropic => ("x-api-key", ""),
            Self::Gemini => ("x-goog-api-key", ""),
        }
    }

    /// The headers of every request.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            _ => &[],
        }
    }

    /// How its events are told apart.
    pub(crate) fn framing(self) -> Framing {
        if self == Self::Ollama { Framing::Lines } else { Framing::Events }
    }

    /// A request as it is sent.
    pub(crate) fn body(self, request: &Request, terms: Terms<'_>) -> Json {
        match self {
            Self::OpenaiChat => openai::body(request, terms),
            Self::OpenaiResponses => responses::body(request, terms),
            Self::Anthropic => anthropic::body(request, terms),
            Self::Gemini => gemini::body(request, terms),
            Self::Ollama => ollama::body(request, terms),
        }
    }

    /// What reads an answer.
    pub(crate) fn reading(self) -> Box<dyn Reading> {
        match self {
            Self::OpenaiChat => Box::<openai::Answer>::default(),
            Self::OpenaiResponses => Box::<responses::Answer>::default(),
            Self::Anthropic => Box::<anthropic::Answer>::default(),
            Self::Gemini => Box::<gemini::Answer>::default(),
            Self::Ollama => Box::<ollama::Answer>::default(),
        }
    }

    /// The tokens that a model may say when nobody knows its limit and the format demands one.
    pub(crate) const SAFE_OUTPUT: u32 = 8192;

    /// What must be the same in a later request so that a provider takes its own parts of a reply back: for Anthropic the whole
    /// conversation before it, for Responses the model.
    pub(crate) fn seal(self, request: &Request, terms: Terms<'_>) -> Option<String> {
        match self {
            Self::Anthropic => Some(anthropic::seal(request)),
            Self::OpenaiResponses => Some(terms.model.to_owned()),
            Self::OpenaiChat | Self::Gemini | Self::Ollama => None,
        }
    }

    /// Puts the seal of its request on a reply.
    pub(crate) fn put_seal(self, reply: &mut Reply, seal: Option<String>) {
        let opaque = reply.opaque.as_mut().and_then(|opaque| opaque.get_mut(self.name())?.as_object_mut());
        if let (Some(opaque), Some(seal)) = (opaque, seal) {
            opaque.insert("seal".to_owned(), seal.into());
        }
    }

    fn kept(self, opaque: Option<&Json>) -> Option<&Json> {
        opaque?.get(self.name())
    }

    fn keep(self, value: Json) -> Json {
        Json::Object([(self.name().to_owned(), value)].into_iter().collect())
    }
}

/// A part of a reply, as it goes back.
enum Part<'a> {
    /// A piece of its text, with what belongs to it.
    Text(&'a str, &'a Json),
    /// A call.
    Call(&'a Call),
    /// What is the provider's own, as it came.
    Own(&'a Json),
}

/// The parts of a reply in the order in which they came, those of the provider's own only when `seal` is that of the reply.
///
/// A text that was changed since, because it was long or secret, is one piece.
fn parts<'a>(format: WireFormat, reply: &'a Reply, seal: Option<&str>) -> Vec<Part<'a>> {
    let kept = format.kept(reply.opaque.as_ref()).filter(|kept| kept.is_object());
    let order = kept.and_then(|kept| kept["parts"].as_array()).map(Vec::as_slice).unwrap_or_default();
    let is_sealed = kept.and_then(|kept| kept["seal"].as_str()) == seal;
    let length = |part: &Json| part["text"].as_u64().and_then(|length| usize::try_from(length).ok());
    let is_whole = order.iter().filter_map(length).sum::<usize>() == reply.text.len();
    let (mut parts, mut at, mut calls) = (Vec::new(), 0, reply.calls.iter().collect::<Vec<_>>());
    for part in order {
        if let Some(length) = length(part) {
            let end = if is_whole { at + length } else { reply.text.len() };
            parts.push(Part::Text(reply.text.get(at..end).unwrap_or_default(), part));
            at = end;
        } else if let Some(id) = part["call"].as_str() {
            if let Some(place) = calls.iter().position(|call| call.id == id) {
                parts.push(Part::Call(calls.remove(place)));
            }
        } else if is_sealed && part["own"].is_object() {
            parts.push(Part::Own(&part["own"]));
        }
    }
    if at < reply.text.len() {
        parts.push(Part::Text(&reply.text[at..], &Json::Null));
    }
    parts.extend(calls.into_iter().map(Part::Call));
    parts
}

/// What a part of the provider's has beside what every part of its kind has.
fn rest(part: &Json, known: &[&str]) -> Map<String, Json> {
    let fields = part.as_object().into_iter().flatten();
    let rest = fields.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null());
    rest.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// An event as JSON.
fn parsed(data: &str) -> Result<Json, ModelError> {
    serde_json::from_str(data).map_err(|wrong| {
        let start: String = data.chars().take(80).collect();
        let why = format!("an event of the answer is not JSON ({wrong}): {start}");
        // The next answer is another one.
        ModelError { may_pass: true, ..ModelError::new(ErrorKind::Provider, why).attempt("try again") }
    })
}

/// What an event says went wrong: `error`, `message` and `type` stand where each provider puts them.
fn failed(error: &Json) -> ModelError {
    let field = |name: &str| error.get(name).filter(|value| !value.is_null());
    let text = |name: &str| field(name).and_then(Json::as_str);
    let message = text("message").or(error.as_str()).unwrap_or("it gives no reason");
    let names = ["code", "type", "status"].map(|name| field(name).map(plain).unwrap_or_default());
    let status = field("code").and_then(Json::as_u64).and_then(|code| u16::try_from(code).ok());
    let named = |words: &[&str]| names.iter().any(|name| words.iter().any(|word| name.contains(word)));
    let status = status.filter(|status| (400..600).contains(status)).or_else(|| {
        // Named, as in an answer that began well: the status would have said the same.
        if named(&["rate_limit", "RESOURCE_EXHAUSTED"]) {
            Some(429)
        } else if named(&["overloaded", "UNAVAILABLE"]) {
            Some(529)
        } else if named(&["api_error", "server_error", "internal", "INTERNAL", "timeout"]) {
            Some(500)
        } else {
            None
        }
    });
    let kind = if status == Some(429) { ErrorKind::RateLimit } else { ErrorKind::Provider };
    let too_long = too_long::read(None, &names, message);
    let why = format!("the provider failed while it answered: {message}");
    ModelError { status, too_long, ..ModelError::new(kind, why) }
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The arguments of a call that came as a text.
fn arguments(text: &str) -> Result<Map<String, Json>, NoObject> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text).map_err(|_| NoObject(text.to_owned()))
}

/// The arguments of a call that came as a value.
fn object(value: Option<Json>) -> Result<Map<String, Json>, NoObject> {
    match value {
        None | Some(Json::Null) => Ok(Map::new()),
        Some(Json::Object(arguments)) => Ok(arguments),
        Some(Json::String(text)) => arguments(&text),
        Some(other) => Err(NoObject(other.to_string())),
    }
}

/// The arguments of a call as they are sent back. What was no object becomes one: providers refuse anything else, and the
/// conversation would be lost.
fn returned(call: &Call) -> Json {
    match &call.arguments {
        Ok(arguments) => Json::Object(arguments.clone()),
        Err(NoObject(text)) => json!({ "unreadable": text }),
    }
}

/// Gives every call a name of its own: some servers leave it out, some repeat it.
fn named(calls: &mut [Call]) {
    let mut seen = std::collections::HashSet::new();
    for (index, call) in calls.iter_mut().enumerate() {
        while call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = format!("{}call_{index}", call.id);
        }
    }
}

/// Why a model said no more, when what it said is looked at as well.
fn stop(named: StopReason, calls: &[Call]) -> StopReason {
    match named {
        StopReason::End | StopReason::Calls if calls.is_empty() => StopReason::End,
        StopReason::End => StopReason::Calls,
        named => named,
    }
}

fn number(value: &Json, pointer: &str) -> Option<u64> {
    let number = value.pointer(pointer)?;
    number.as_u64().or_else(|| number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
}

fn text<'a>(value: &'a Json, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}
