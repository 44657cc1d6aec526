//! The format of chat completions, which OpenAI began and many providers follow.

use serde_json::{Map, Value as Json, json};

use super::{Reading, Terms, WireFormat, failed, named, number, object, parsed, returned, stop, text};
use crate::{Call, Delta, ErrorKind, Message, ModelError, Reply, Request, StopReason, ToolSpec, Usage};

const FORMAT: WireFormat = WireFormat::OpenaiChat;

/// What a model thought, as DeepSeek and those that follow it call it.
const THOUGHTS: &str = "reasoning_content";

/// The same in parts, as OpenRouter calls it.
const DETAILS: &str = "reasoning_details";

/// More calls than anybody carries out for one answer: each part of one is looked for among them.
const MOST_CALLS: usize = 1000;

pub(super) fn body(request: &Request, terms: Terms<'_>) -> Json {
    let system = request.system.iter().map(|system| json!({"role": "system", "content": system}));
    let mut body = json!({
        "model": terms.model,
        "messages": system.chain(request.messages.iter().flat_map(message)).collect::<Vec<_>>(),
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(most) = request.max_tokens {
        let name = if terms.is_openai { "max_completion_tokens" } else { "max_tokens" };
        body[name] = most.into();
    }
    body
}

pub(super) fn tool(tool: &ToolSpec) -> Json {
    let ToolSpec { name, description, schema } = tool;
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
}

fn message(message: &Message) -> Vec<Json> {
    match message {
        Message::User(text) => vec![json!({"role": "user", "content": text})],
        Message::Model(reply) => {
            let mut said = json!({"role": "assistant", "content": reply.text});
            if !reply.calls.is_empty() {
                said["tool_calls"] = reply.calls.iter().map(call).collect();
                if reply.text.is_empty() {
                    said["content"] = Json::Null;
                }
            }
            // Models that think between calls want to read what they thought, and some servers demand it.
            match FORMAT.kept(reply.opaque.as_ref()) {
                Some(Json::Object(kept)) => said.as_object_mut().expect("it was made as one").extend(kept.clone()),
                Some(thoughts @ Json::String(_)) => said[THOUGHTS] = thoughts.clone(),
                _ => {}
            }
            vec![said]
        }
        Message::Results(results) => {
            let result =
                |result: &crate::ToolResult| json!({"role": "tool", "tool_call_id": result.id, "content": result.text});
            results.iter().map(result).collect()
        }
    }
}

fn call(call: &Call) -> Json {
    let function = json!({"name": call.name, "arguments": returned(call).to_string()});
    let mut said = json!({"id": call.id, "type": "function", "function": function});
    if let Some(extra) = FORMAT.kept(call.opaque.as_ref()) {
        said["extra_content"] = extra.clone();
    }
    said
}

/// What was read of an answer.
#[derive(Default)]
pub(super) struct Answer {
    text: String,
    /// What the model thought, for servers that want it back in `reasoning_content`. It may be empty and is still wanted.
    thoughts: Option<String>,
    /// The same in `reasoning_details`, with signatures.
    details: Vec<Json>,
    calls: Vec<Partial>,
    stop: Option<StopReason>,
    is_refusal: bool,
    usage: Usage,
    model: String,
}

/// A call of which more may come.
#[derive(Default)]
struct Partial {
    /// The number that the stream gives it, which is no index into anything.
    number: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Arguments that came as a value, from servers that do not write them as text.
    value: Option<Json>,
    extra: Option<Json>,
}

impl Reading for Answer {
    fn read(&mut self, data: &str, follow: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ModelError> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        let event = parsed(data)?;
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(failed(error));
        }
        if let Some(model) = text(&event, "/model").filter(|_| self.model.is_empty()) {
            model.clone_into(&mut self.model);
        }
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            let cached = number(usage, "/prompt_tokens_details/cached_tokens");
            self.usage = Usage {
                input: number(usage, "/prompt_tokens").unwrap_or_default(),
                output: number(usage, "/completion_tokens").unwrap_or_default(),
                cached: cached.or_else(|| number(usage, "/prompt_cache_hit_tokens")).unwrap_or_default(),
            };
        }
        let Some(choice) = event.pointer("/choices/0") else { return Ok(false) };
        // A server that does not stream after all sends the message whole.
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Json::Null);
        let thought = text(delta, "/reasoning_content").or_else(|| text(delta, "/reasoning"));
        if let Some(thought) = thought.filter(|thought| !thought.is_empty()) {
            follow(Delta::Thought(thought));
        }
        if let Some(thought) = text(delta, "/reasoning_content") {
            self.thoughts.get_or_insert_default().push_str(thought);
        }
        for detail in delta.get(DETAILS).and_then(Json::as_array).into_iter().flatten() {
            self.detail(detail);
        }
        for name in ["/content", "/refusal"] {
            if let Some(said) = text(delta, name).filter(|said| !said.is_empty()) {
                self.is_refusal |= name == "/refusal";
                self.text.push_str(said);
                follow(Delta::Text(said));
            }
        }
        for call in delta.get("tool_calls").and_then(Json::as_array).into_iter().flatten() {
            self.part(call)?;
        }
        if let Some(reason) = text(choice, "/finish_reason").filter(|reason| !reason.is_empty()) {
            self.stop = Some(match reason {
                "stop" => StopReason::End,
                "tool_calls" | "function_call" => StopReason::Calls,
                "length" => StopReason::MaxTokens,
                "content_filter" => StopReason::Refused,
                other => StopReason::Other(other.to_owned()),
            });
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let Self { text, thoughts, details, calls, stop: named_stop, is_refusal, usage, model } = *self;
        let named_stop = if is_refusal { named_stop.map(|_| StopReason::Refused) } else { named_stop };
        let call = |partial: Partial| Call {
            id: partial.id,
            name: partial.name,
            arguments: match partial.value {
                Some(value) => object(Some(value)),
                None => super::arguments(&partial.arguments),
            },
            opaque: partial.extra.map(|extra| FORMAT.keep(extra)),
        };
        let mut calls: Vec<Call> = calls.into_iter().map(call).collect();
        named(&mut calls);
        let stop = stop(named_stop?, &calls);
        let details = (!details.is_empty()).then(|| details.into());
        let kept = [(THOUGHTS, thoughts.map(Json::from)), (DETAILS, details)];
        let kept: Map<String, Json> =
            kept.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        let opaque = (!kept.is_empty()).then(|| FORMAT.keep(kept.into()));
        Some(Reply { text, calls, stop, usage, model, opaque })
    }
}

impl Answer {
    /// Adds a part of what the model thought. Pieces of one part come one by one; its signature comes with the last.
    fn detail(&mut self, detail: &Json) {
        let last = self.details.last_mut().and_then(Json::as_object_mut);
        let known = last.filter(|known| ["type", "index"].iter().all(|name| known.get(*name) == detail.get(*name)));
        // What is sealed comes whole.
        let is_piece = detail["text"].is_string() || detail["summary"].is_string() || detail["signature"].is_string();
        let (Some(known), Some(fields), true) = (known, detail.as_object(), is_piece) else {
            self.details.push(detail.clone());
            return;
        };
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
            match (known.get_mut(name), value) {
                (Some(Json::String(whole)), Json::String(piece)) if matches!(name.as_str(), "text" | "summary") => {
                    whole.push_str(piece);
                }
                _ => {
                    known.insert(name.clone(), value.clone());
                }
            }
        }
    }

    /// Adds a part of a call. Which call it belongs to is told by its number, by its name of a new call, or by nothing but
    /// its place behind the part before.
    fn part(&mut self, part: &Json) -> Result<(), ModelError> {
        let number = number(part, "/index");
        let id = text(part, "/id").unwrap_or_default();
        let name = text(part, "/function/name").unwrap_or_default();
        let found = match number {
            Some(_) => self.calls.iter().rposition(|call| call.number == number),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        // Some servers give every call the same number.
        let found = found.filter(|&at| {
            let known = &self.calls[at];
            id.is_empty() || known.id.is_empty() || known.id == id || name.is_empty()
        });
        let at = match found {
            Some(at) => at,
            None if self.calls.len() == MOST_CALLS => {
                let why = format!("the model asks for more than {MOST_CALLS} calls at once");
                return Err(ModelError::new(ErrorKind::Generation, why));
            }
            None => {
                self.calls.push(Partial { number, ..Partial::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        match part.pointer("/function/arguments") {
            Some(Json::String(text)) => call.arguments.push_str(text),
            Some(value @ (Json::Object(_) | Json::Array(_))) => call.value = Some(value.clone()),
            _ => {}
        }
        if let Some(extra) = part.get("extra_content").filter(|extra| !extra.is_null()) {
            call.extra = Some(extra.clone());
        }
        Ok(())
    }
}

/// The function of a call as a value, as Ollama and others want it.
pub(super) fn function(call: &Call) -> Map<String, Json> {
    [("name".to_owned(), call.name.clone().into()), ("arguments".to_owned(), returned(call))].into_iter().collect()
}
