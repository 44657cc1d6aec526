use serde_json::Value as Json;

/// How a request is written and an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Chat completions of OpenAI.
    OpenaiChat,
    /// The Responses API of OpenAI.
    OpenaiResponses,
    /// Messages of Anthropic.
    Anthropic,
    /// `streamGenerateContent` of Gemini.
    Gemini,
    /// `/api/chat` of Ollama.
    Ollama,
}

/// A request, as far as scripts and tests look at it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// How it was written.
    pub format: Format,
    /// The model.
    pub model: String,
    /// The key that came with it.
    pub key: Option<String>,
    /// The whole body.
    pub body: Json,
    /// The first message of the user.
    pub first: String,
    /// How often the model has spoken before.
    pub turn: usize,
    /// The results of tools since then, in order.
    pub results: Vec<String>,
    /// The names of the tools that it was told of.
    pub tools: Vec<String>,
    /// How often exactly this was asked before.
    pub attempt: usize,
}

impl Format {
    /// The format whose requests go to a path.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        let is = |end: &str| path.ends_with(end);
        if is("/chat/completions") {
            Some(Self::OpenaiChat)
        } else if is("/responses") {
            Some(Self::OpenaiResponses)
        } else if is("/messages") {
            Some(Self::Anthropic)
        } else if is(":streamGenerateContent") {
            Some(Self::Gemini)
        } else if is("/api/chat") {
            Some(Self::Ollama)
        } else {
            None
        }
    }
}

impl Asked {
    /// Reads a request.
    pub(crate) fn read(format: Format, path: &str, key: Option<String>, body: Json) -> Self {
        let messages = match format {
            Format::OpenaiChat | Format::Anthropic | Format::Ollama => &body["messages"],
            Format::OpenaiResponses => &body["input"],
            Format::Gemini => &body["contents"],
        };
        let messages = messages.as_array().cloned().unwrap_or_default();
        let role = |message: &Json| message["role"].as_str().unwrap_or_default().to_owned();
        let is_models = |message: &Json| {
            matches!(role(message).as_str(), "assistant" | "model")
                || matches!(message["type"].as_str(), Some("function_call" | "reasoning"))
        };
        // What a model said at once may be several items.
        let turn = messages.iter().zip(messages.iter().skip(1).map(Some).chain([None]));
        let turn = turn.filter(|(message, next)| is_models(message) && !next.is_some_and(is_models)).count();
        let since = messages.iter().rposition(is_models).map_or(0, |at| at + 1);
        let first = messages.iter().find(|message| role(message) == "user").map(text).unwrap_or_default();
        let results = messages[since..].iter().flat_map(results).collect();
        let tools = body["tools"].as_array().into_iter().flatten();
        let tools = tools.flat_map(|tool| match tool["functionDeclarations"].as_array() {
            Some(declarations) => declarations.clone(),
            None => vec![if tool["function"].is_object() { tool["function"].clone() } else { tool.clone() }],
        });
        let tools = tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
        let in_path = || path.split("/models/").nth(1)?.split(':').next().map(str::to_owned);
        let model = body["model"].as_str().map(str::to_owned).or_else(in_path).unwrap_or_default();
        Self { format, model, key, first, turn, results, tools, attempt: 0, body }
    }
}

/// The text of a message, however it is written.
fn text(message: &Json) -> String {
    let content = if message["parts"].is_array() { &message["parts"] } else { &message["content"] };
    match content {
        Json::String(text) => text.clone(),
        Json::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The results of tools in a message.
fn results(message: &Json) -> Vec<String> {
    if message["role"] == "tool" {
        return vec![text(message)];
    }
    if let Some(output) = message["output"].as_str() {
        return vec![output.to_owned()];
    }
    let blocks = message["content"].as_array().or(message["parts"].as_array()).into_iter().flatten();
    blocks
        .filter_map(|block| {
            if block["type"] == "tool_result" {
                return Some(text(block));
            }
            let response = block["functionResponse"]["response"].as_object()?;
            response.values().next().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        })
        .collect()
}
