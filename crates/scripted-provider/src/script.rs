//! What the provider says: turns of text, calls and mistakes, in the order in which it is asked.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::Asked;

/// What the provider says, in one conversation or in several.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// The key that must be sent; nothing when any will do.
    pub key: Option<String>,
    /// The turns of every conversation for which there are no others.
    pub turns: Vec<Turn>,
    /// Conversations with turns of their own; the first that fits is taken.
    pub conversations: Vec<Conversation>,
    /// How many tokens the models hold, as the provider's list of models states: 128,000 by default. With 0 there is no list.
    pub window: Option<u64>,
    #[serde(skip)]
    function: Option<Function>,
}

/// The models that the list of the provider names.
const MODELS: [&str; 3] = ["scripted-1", "script-1", "test"];

/// Makes turns of what was asked.
#[derive(Clone)]
struct Function(Arc<dyn Fn(&Asked) -> Turn + Send + Sync>);

/// The turns of one conversation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    /// What the first message of the user holds.
    pub when: String,
    /// Its turns.
    pub turns: Vec<Turn>,
}

/// What the model says at once, and how it arrives.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// Its text.
    pub text: String,
    /// What it thinks before.
    pub thought: String,
    /// The tools it calls.
    pub calls: Vec<ScriptedCall>,
    /// Why it says no more; otherwise that it is done, or waits for its calls.
    pub stop: Option<Stop>,
    /// What it took.
    pub usage: Tokens,
    /// What happens to the first attempts, one after the other.
    pub before: Vec<Before>,
    /// Whether and how the stream breaks off in its middle.
    pub cut: Option<Cut>,
    /// Milliseconds before each event.
    pub pause_ms: u64,
    /// How many bytes are sent at once; whole events otherwise.
    pub chop: Option<usize>,
    /// A text of so many bytes, in place of `text`.
    pub huge: Option<usize>,
    /// A line that never ends.
    pub endless: bool,
    /// The body as it is, in place of everything else.
    pub raw: Option<String>,
}

/// A call of a turn.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The name of the tool.
    pub name: String,
    /// Its arguments; a text is sent as it is, so that it can be no JSON at all.
    #[serde(default)]
    pub arguments: Json,
    /// What the call is called; numbered otherwise.
    #[serde(default)]
    pub id: Option<String>,
    /// What the model wants back with the call, in formats that have such a thing.
    #[serde(default)]
    pub signature: Option<String>,
}

/// Why a model says no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// Its tokens are used up.
    MaxTokens,
    /// It does not want to.
    Refused,
}

/// What a turn took.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// Tokens of the input, kept ones included.
    pub input: u64,
    /// Tokens of the output.
    pub output: u64,
    /// Tokens of the input that were kept.
    pub cached: u64,
}

/// What happens to an attempt that fails.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Before {
    /// The status of the refusal.
    pub status: Option<u16>,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
    /// Its body; an error in the words of no provider otherwise.
    pub body: Option<String>,
    /// Without a status: the turn breaks off so.
    pub cut: Option<Cut>,
}

/// How a stream breaks off in its middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// The message ends as if nothing were missing.
    Clean,
    /// The connection is gone.
    Abrupt,
    /// Before anything is said.
    AtOnce,
}

/// What is sent for a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A turn, perhaps broken off.
    Turn(Box<Turn>),
    /// A refusal.
    Refusal {
        /// Its status.
        status: u16,
        /// Its headers.
        headers: BTreeMap<String, String>,
        /// Its body.
        body: String,
    },
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The same turns for every conversation.
    pub fn of(turns: Vec<Turn>) -> Self {
        Self { turns, ..Self::default() }
    }

    /// A script that looks at what was asked.
    pub fn answering(function: impl Fn(&Asked) -> Turn + Send + Sync + 'static) -> Self {
        Self { function: Some(Function(Arc::new(function))), ..Self::default() }
    }

    /// What the provider tells of its models; nothing when it does not.
    pub(crate) fn listing(&self, path: &str, body: &Json) -> Option<Json> {
        let window = self.window.unwrap_or(128_000);
        let path = path.split('?').next().unwrap_or(path);
        let one = path.split_once("/models/").map(|(_, model)| model);
        let listing = match one {
            _ if path.ends_with("/api/show") && body["model"].is_string() => {
                json!({"model_info": {"scripted.context_length": window}, "parameters": format!("num_ctx {window}")})
            }
            Some(model) if !model.contains(':') => json!({
                "id": model,
                "name": format!("models/{model}"),
                "max_input_tokens": window,
                "inputTokenLimit": window,
            }),
            None if path.ends_with("/models") => {
                let one = |model: &str| json!({"id": model, "context_length": window});
                json!({"data": MODELS.map(one)})
            }
            _ => return None,
        };
        (window > 0).then_some(listing)
    }

    /// What is said to this.
    pub(crate) fn answer(&self, asked: &Asked) -> Answer {
        if let Some(key) = self.key.as_ref().filter(|key| asked.key.as_ref() != Some(key)) {
            let given = asked.key.as_deref().unwrap_or("nothing");
            // Some providers do repeat it.
            let body = format!(r#"{{"error":{{"message":"Incorrect API key provided: {given}, not {key}"}}}}"#);
            return Answer::Refusal { status: 401, headers: BTreeMap::new(), body };
        }
        let turn = match &self.function {
            Some(function) => Some((function.0)(asked)),
            None => self.turns_for(asked).get(asked.turn).cloned(),
        };
        let Some(mut turn) = turn else {
            let body = format!(r#"{{"error":{{"message":"the script has no turn {}"}}}}"#, asked.turn);
            return Answer::Refusal { status: 400, headers: BTreeMap::new(), body };
        };
        match turn.before.get(asked.attempt) {
            Some(Before { status: Some(status), headers, body, .. }) => {
                let usual = || format!(r#"{{"error":{{"message":"scripted {status}","type":"scripted"}}}}"#);
                let body = body.clone().unwrap_or_else(usual);
                Answer::Refusal { status: *status, headers: headers.clone(), body }
            }
            Some(Before { cut, .. }) => {
                turn.cut = *cut;
                Answer::Turn(Box::new(turn))
            }
            None => Answer::Turn(Box::new(turn)),
        }
    }

    fn turns_for(&self, asked: &Asked) -> &[Turn] {
        let own = self.conversations.iter().find(|conversation| asked.first.contains(&conversation.when));
        own.map_or(&self.turns, |conversation| &conversation.turns)
    }
}

impl Turn {
    /// A turn that says a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A turn that calls tools.
    pub fn calls(calls: impl IntoIterator<Item = (&'static str, Json)>) -> Self {
        let call = |(name, arguments): (&str, Json)| ScriptedCall {
            name: name.to_owned(),
            arguments,
            ..ScriptedCall::default()
        };
        Self { calls: calls.into_iter().map(call).collect(), ..Self::default() }
    }
}

impl ScriptedCall {
    /// Its arguments as text.
    pub(crate) fn arguments_text(&self) -> String {
        match &self.arguments {
            Json::String(text) => text.clone(),
            Json::Null => "{}".to_owned(),
            value => value.to_string(),
        }
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self { input: 100, output: 10, cached: 0 }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
