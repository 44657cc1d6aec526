//! The messages in which a model of each provider calls tools, and the messages that answer it.

use serde_json::{Map, Value as Json, json};

use crate::pointer::join;

/// Whose messages are read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFormat {
    /// Chat completions: an assistant message with `tool_calls`, answered by messages of role `tool`.
    OpenaiChat,
    /// Responses: items `function_call`, answered by items `function_call_output`.
    OpenaiResponses,
    /// Blocks `tool_use`, answered by a user message of blocks `tool_result`.
    Anthropic,
    /// Parts `functionCall`, answered by a user content of parts `functionResponse`.
    Gemini,
}

/// A message in which a model calls tools.
#[derive(Clone, Debug)]
pub struct CallMessage {
    provider: MessageFormat,
    /// A call by itself is answered by a result by itself.
    is_bare: bool,
    calls: Vec<ToolCall>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// What the result has to repeat; Gemini does without.
    pub id: Option<String>,
    /// The name that the model uses.
    pub name: String,
    /// The arguments, or why they cannot be read.
    pub arguments: Result<Map<String, Json>, ArgumentsProblem>,
}

/// Why the arguments of a call cannot be read, in words that the model can learn from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsProblem {
    /// They are JSON of another type.
    #[error("the arguments are {found}, not a JSON object")]
    NotAnObject {
        /// What they are, with its article.
        found: &'static str,
    },
    /// They are no JSON.
    #[error("the arguments are not JSON: {why}")]
    NotJson {
        /// What is wrong with the text, and where.
        why: String,
    },
    /// The call is of a kind that carries text.
    #[error("a custom call carries text; this tool takes a JSON object of arguments")]
    Custom,
}

/// What a call is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallAnswer {
    /// What the model reads.
    pub text: String,
    /// Whether it reads of a failure.
    pub is_error: bool,
    /// What the model sees, where its provider takes pictures of tools.
    pub pictures: Vec<CallPicture>,
}

/// A picture in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPicture {
    /// Its media type.
    pub media_type: String,
    /// Its bytes, in Base64.
    pub base64: String,
}

impl CallPicture {
    /// The media types that every provider that takes pictures knows.
    pub const MEDIA_TYPES: [&'static str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
}

/// Why a message cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MessageProblem {
    /// A JSON Pointer to the place in the message.
    pub pointer: String,
    /// What is wrong there: a lowercase fragment without a final period.
    pub message: String,
}

impl CallMessage {
    /// Reads a message: what the provider answered as a whole, the message in it, its list of calls, or one call.
    ///
    /// # Errors
    /// When it calls nothing, or a call lacks what its result would have to repeat.
    pub fn read(provider: MessageFormat, message: &Json) -> Result<Self, MessageProblem> {
        let problem =
            |pointer: &str, message: &str| MessageProblem { pointer: pointer.to_owned(), message: message.to_owned() };
        let Some((pointer, items)) = provider.find(message) else {
            if provider.is_call(message) {
                let calls = vec![provider.call(message, "")?];
                return Ok(Self { provider, is_bare: true, calls });
            }
            return Err(problem("", &format!("this is no message with {}", provider.noun())));
        };
        let items = items.iter().enumerate().filter(|(_, item)| provider.is_call(item));
        let calls: Vec<ToolCall> =
            items.map(|(at, item)| provider.call(item, &join(&pointer, &at.to_string()))).collect::<Result<_, _>>()?;
        if calls.is_empty() {
            return Err(problem(&pointer, &format!("there are no {} here", provider.noun())));
        }
        Ok(Self { provider, is_bare: false, calls })
    }

    /// The calls, in the order in which they are answered.
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Writes the message that gives the model one answer for each call.
    pub fn answered(&self, answers: &[CallAnswer]) -> Json {
        let results = self.calls.iter().zip(answers).map(|(call, answer)| self.provider.result(call, answer));
        let mut results: Vec<Json> = results.collect();
        match self.provider {
            _ if self.is_bare => results.pop().unwrap_or_default(),
            MessageFormat::OpenaiChat | MessageFormat::OpenaiResponses => Json::Array(results),
            MessageFormat::Anthropic => json!({"role": "user", "content": results}),
            MessageFormat::Gemini => json!({"role": "user", "parts": results}),
        }
    }
}

impl MessageFormat {
    fn noun(self) -> &'static str {
        match self {
            Self::OpenaiChat => "`tool_calls`",
            Self::OpenaiResponses => "items `function_call`",
            Self::Anthropic => "blocks `tool_use`",
            Self::Gemini => "parts `functionCall`",
        }
    }

    /// Where in a message the calls are listed.
    fn find(self, message: &Json) -> Option<(String, &[Json])> {
        // Of several answers to choose from, the first that calls something.
        let choices = |list: &str| message[list].as_array().map_or(0, Vec::len);
        let places: Vec<String> = match self {
            Self::OpenaiChat => (0..choices("choices"))
                .map(|at| format!("/choices/{at}/message/tool_calls"))
                .chain(["/message/tool_calls".to_owned(), "/tool_calls".to_owned()])
                .collect(),
            Self::OpenaiResponses => vec!["/output".to_owned()],
            Self::Anthropic => vec!["/content".to_owned()],
            Self::Gemini => (0..choices("candidates"))
                .map(|at| format!("/candidates/{at}/content/parts"))
                .chain(["/content/parts".to_owned(), "/parts".to_owned()])
                .collect(),
        };
        let list = |place: String| Some((message.pointer(&place)?.as_array()?.as_slice(), place));
        let mut lists = places.into_iter().chain([String::new()]).filter_map(list).map(|(items, place)| (place, items));
        let first = lists.next();
        let calls = |items: &[Json]| items.iter().any(|item| self.is_call(item));
        match first {
            Some((_, items)) if !calls(items) => lists.find(|(_, items)| calls(items)).or(first),
            first => first,
        }
    }

    fn is_call(self, item: &Json) -> bool {
        match self {
            Self::OpenaiChat => item["function"].is_object() || item["custom"].is_object(),
            Self::OpenaiResponses => item["type"] == "function_call",
            Self::Anthropic => item["type"] == "tool_use",
            Self::Gemini => function_call(item).is_object(),
        }
    }

    fn call(self, item: &Json, pointer: &str) -> Result<ToolCall, MessageProblem> {
        let (id, of, arguments) = match self {
            Self::OpenaiChat => ("id", &item["function"], "arguments"),
            Self::OpenaiResponses => ("call_id", item, "arguments"),
            Self::Anthropic => ("id", item, "input"),
            Self::Gemini => ("id", function_call(item), "args"),
        };
        let id_of = if self == Self::Gemini { of } else { item };
        let missing = |key: &str| MessageProblem {
            pointer: pointer.to_owned(),
            message: format!("a call here has no `{key}`, which its result would have to repeat"),
        };
        let id = match (id_of[id].as_str(), self) {
            (None, Self::Gemini) => None,
            (given, _) => Some(given.ok_or_else(|| missing(id))?.to_owned()),
        };
        let name = of["name"].as_str().or_else(|| item["custom"]["name"].as_str());
        let name = name.ok_or_else(|| missing("name"))?.to_owned();
        let arguments =
            if item["custom"].is_object() { Err(ArgumentsProblem::Custom) } else { read_arguments(&of[arguments]) };
        Ok(ToolCall { id, name, arguments })
    }

    fn result(self, call: &ToolCall, answer: &CallAnswer) -> Json {
        let CallAnswer { text, is_error, pictures } = answer;
        match self {
            // A message of role `tool` takes nothing but text.
            Self::OpenaiChat => json!({"role": "tool", "tool_call_id": call.id, "content": text}),
            Self::OpenaiResponses => {
                let output = with_pictures(
                    text,
                    pictures,
                    "input_text",
                    |CallPicture { media_type, base64 }| json!({"type": "input_image", "image_url": format!("data:{media_type};base64,{base64}")}),
                );
                json!({"type": "function_call_output", "call_id": call.id, "output": output})
            }
            Self::Anthropic => {
                let content = with_pictures(
                    text,
                    pictures,
                    "text",
                    |CallPicture { media_type, base64 }| json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": base64}}),
                );
                let mut result = json!({"type": "tool_result", "tool_use_id": call.id, "content": content});
                if *is_error {
                    result["is_error"] = true.into();
                }
                result
            }
            Self::Gemini => {
                let mut response =
                    json!({"name": call.name, "response": {if *is_error { "error" } else { "output" }: text}});
                if let Some(id) = &call.id {
                    response["id"] = json!(id);
                }
                if !pictures.is_empty() {
                    let part = |CallPicture { media_type, base64 }: &CallPicture| json!({"inlineData": {"mimeType": media_type, "data": base64}});
                    response["parts"] = pictures.iter().map(part).collect();
                }
                json!({"functionResponse": response})
            }
        }
    }
}

/// A text, or a list of its block and those of pictures.
fn with_pictures(text: &str, pictures: &[CallPicture], kind: &str, block: impl Fn(&CallPicture) -> Json) -> Json {
    if pictures.is_empty() {
        return text.into();
    }
    let text = (!text.is_empty()).then(|| json!({"type": kind, "text": text}));
    text.into_iter().chain(pictures.iter().map(block)).collect()
}

/// The call in a part; libraries write it in either way, or leave the part around it away.
fn function_call(part: &Json) -> &Json {
    let named = ["functionCall", "function_call"].into_iter().map(|key| &part[key]).find(|call| call.is_object());
    named.unwrap_or(if part["name"].is_string() { part } else { &Json::Null })
}

/// Reads arguments: an object, or the text of one; no text is no arguments.
fn read_arguments(arguments: &Json) -> Result<Map<String, Json>, ArgumentsProblem> {
    let not_an_object = |found| Err(ArgumentsProblem::NotAnObject { found });
    match arguments {
        Json::Null => Ok(Map::new()),
        Json::Object(arguments) => Ok(arguments.clone()),
        Json::String(text) if text.trim().is_empty() => Ok(Map::new()),
        Json::String(text) => match serde_json::from_str(text) {
            Ok(Json::Object(arguments)) => Ok(arguments),
            Ok(Json::Null) => Ok(Map::new()),
            Ok(Json::Array(_)) => not_an_object("an array"),
            Ok(_) => not_an_object("a single value"),
            Err(error) => Err(ArgumentsProblem::NotJson { why: error.to_string() }),
        },
        Json::Array(_) => not_an_object("an array"),
        _ => not_an_object("a single value"),
    }
}
