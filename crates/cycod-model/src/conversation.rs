use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// What a model is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// What holds for the whole conversation.
    pub system: Option<String>,
    /// What was said so far, the oldest first.
    pub messages: Vec<Message>,
    /// The tools that it may call.
    pub tools: Vec<ToolSpec>,
    /// The most tokens of the answer; the provider's own limit where nothing is said.
    pub max_tokens: Option<u32>,
}

/// A tool as a model is told of it: already in the dialect of the provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name by which it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Json,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// By the person, or a program in a person's place.
    User(String),
    /// By the model.
    Model(Reply),
    /// By tools: one result for each call of the reply before, in its order.
    Results(Vec<ToolResult>),
}

/// What a model said: a text, calls, or both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Its text; may be empty.
    pub text: String,
    /// The tools that it wants called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// Why it said no more.
    pub stop: StopReason,
    /// What it took.
    pub usage: Usage,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// What the provider wants back with this message, in its own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Json>,
}

/// What should have been a JSON object of arguments and is none, as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("the arguments are not a JSON object: {0}")]
#[serde(transparent)]
pub struct NoObject(pub String);

/// A call that a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// What the provider calls it; unique within the reply.
    pub id: String,
    /// The name of the tool, as it was told.
    pub name: String,
    /// Its arguments, or what was there in their place.
    pub arguments: Result<Map<String, Json>, NoObject>,
    /// What the provider wants back with this call, in its own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Json>,
}

impl Call {
    /// Its arguments as text: one JSON object on one line, or what should have been one.
    pub fn arguments_text(&self) -> String {
        match &self.arguments {
            Ok(arguments) => serde_json::to_string(arguments).unwrap_or_default(),
            Err(NoObject(text)) => text.clone(),
        }
    }
}

/// What came of a call, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub id: String,
    /// The name of the tool, as it was told.
    pub name: String,
    /// What it said.
    pub text: String,
    /// Whether it failed or was refused.
    pub is_error: bool,
}

/// Why a model said no more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// It was done.
    #[default]
    End,
    /// It waits for its calls.
    Calls,
    /// Its tokens were used up.
    MaxTokens,
    /// The provider, or the model, did not want to say more.
    Refused,
    /// Anything else, as the provider names it.
    Other(String),
}

/// What a reply took, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens that were read, cached ones included.
    pub input: u64,
    /// Tokens that were said, those of its thoughts included.
    pub output: u64,
    /// Tokens of the input that the provider had kept from before.
    #[serde(default)]
    pub cached: u64,
}

impl Usage {
    /// All of them.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cached = self.cached.saturating_add(other.cached);
    }
}
