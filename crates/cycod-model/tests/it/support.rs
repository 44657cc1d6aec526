use std::time::Duration;

use cycod_model::{
    Cancel, Delta, Facts, Key, Limits, Message, ModelError, Provider as _, Remote, Reply, Request, Service, ToolSpec,
    WireFormat,
};
use scripted_provider::{Script, ScriptedProvider, Turn};
use serde_json::json;

/// Limits under which a test does not wait.
pub(crate) fn limits() -> Limits {
    Limits {
        first_pause: Duration::from_millis(2),
        longest_pause: Duration::from_secs(2),
        idle: Duration::from_secs(20),
        whole: Duration::from_secs(60),
        ..Limits::default()
    }
}

/// A model of a scripted provider.
pub(crate) fn remote(provider: &ScriptedProvider, format: WireFormat, key: Option<&str>, limits: Limits) -> Remote {
    let service = Service {
        name: format.name().to_owned(),
        format,
        base: provider.url(format.name()),
        key: key.and_then(Key::new),
        key_names: vec!["SCRIPTED_KEY".to_owned()],
        may_be_plain: false,
    };
    Remote::new(service, "scripted-1", Facts::default(), limits).expect("the address is one")
}

/// What was told while a model answered.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) thought: String,
    /// Why each attempt failed.
    pub(crate) again: Vec<String>,
    pub(crate) parts: usize,
}

/// Asks once.
pub(crate) fn ask(remote: &Remote, request: &Request) -> (Result<Reply, ModelError>, Told) {
    let mut told = Told::default();
    let answer = remote.complete(request, &Cancel::default(), &mut |delta| match delta {
        Delta::Text(text) => {
            told.text.push_str(text);
            told.parts += 1;
        }
        Delta::Thought(thought) => told.thought.push_str(thought),
        Delta::Again { why, .. } => {
            let again = std::mem::take(&mut told.again);
            told = Told { again, ..Told::default() };
            told.again.push(why.message.clone());
        }
    });
    (answer, told)
}

/// Asks a provider that says these turns.
pub(crate) fn asked(format: WireFormat, turns: Vec<Turn>) -> (Result<Reply, ModelError>, Told) {
    let provider = ScriptedProvider::start(Script::of(turns));
    ask(&remote(&provider, format, None, limits()), &request("hello"))
}

pub(crate) fn request(text: &str) -> Request {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    Request {
        system: Some("Be brief.".to_owned()),
        messages: vec![Message::User(text.to_owned())],
        tools: vec![ToolSpec { name: "read_file".to_owned(), description: "Reads a file".to_owned(), schema }],
        max_tokens: None,
    }
}

/// Every format.
pub(crate) fn formats() -> impl Iterator<Item = WireFormat> {
    WireFormat::NAMES.into_iter().map(|(_, format)| format)
}
