use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Format, Reading, Terms, failed, named, number, parsed, returned, stop, text};
use crate::{Call, Delta, ErrorKind, Message, ModelError, Reply, Request, StopReason, Usage};

const FORMAT: Format = Format::OpenaiResponses;

pub(super) fn body(request: &Request, terms: Terms<'_>) -> Json {
    let mut body = json!({
        "model": terms.model,
        "input": request.messages.iter().flat_map(message).collect::<Vec<_>>(),
        "stream": true,
        // Nothing stays with the provider, so what the model thought must travel with the conversation.
        "store": false,
    });
    if thinks(terms.model) {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(system) = &request.system {
        body["instructions"] = system.as_str().into();
    }
    if !request.tools.is_empty() {
        let tool = |tool: &crate::ToolSpec| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema,
                "strict": false,
            })
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(most) = request.max_tokens {
        body["max_output_tokens"] = most.into();
    }
    body
}

/// Whether a model thinks before it speaks; others refuse to be asked for their thoughts.
fn thinks(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    let is_numbered = |prefix: &str, from: u32| {
        let digits = model.strip_prefix(prefix).map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        digits.flatten().and_then(|digits| digits.parse::<u32>().ok()).is_some_and(|number| number >= from)
    };
    is_numbered("o", 1) || (is_numbered("gpt-", 5) && !model.contains("-chat"))
}

fn message(message: &Message) -> Vec<Json> {
    match message {
        Message::User(text) => vec![json!({"role": "user", "content": text})],
        Message::Model(reply) => said(reply),
        Message::Results(results) => {
            let result = |result: &crate::ToolResult| json!({"type": "function_call_output", "call_id": result.id, "output": result.text});
            results.iter().map(result).collect()
        }
    }
}

/// The items of a reply, each thought before what it led to.
fn said(reply: &Reply) -> Vec<Json> {
    let mut items = Vec::new();
    let mut text = (!reply.text.is_empty()).then(|| json!({"role": "assistant", "content": reply.text}));
    let mut calls: Vec<&Call> = reply.calls.iter().collect();
    let call = |call: &Call| {
        let arguments = returned(call).to_string();
        json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
    };
    for item in FORMAT.kept(reply.opaque.as_ref()).and_then(Json::as_array).into_iter().flatten() {
        match item {
            Json::Object(_) => items.push(item.clone()),
            Json::Null => items.extend(text.take()),
            id => {
                if let Some(at) = calls.iter().position(|call| *id == *call.id) {
                    items.push(call(calls.remove(at)));
                }
            }
        }
    }
    items.extend(text);
    items.extend(calls.into_iter().map(call));
    items
}

/// What was read of an answer.
#[derive(Default)]
pub(super) struct Answer {
    items: BTreeMap<u64, Item>,
    stop: Option<StopReason>,
    is_refusal: bool,
    usage: Usage,
    model: String,
}

/// One item of the output.
#[derive(Default)]
struct Item {
    /// As the provider last described it.
    is: Json,
    /// What was said of it in parts: a text, or the arguments of a call.
    said: String,
}

impl Reading for Answer {
    fn read(&mut self, data: &str, follow: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ModelError> {
        if data.trim() == "[DONE]" {
            return Ok(true);
        }
        let event = parsed(data)?;
        let delta = text(&event, "/delta").unwrap_or_default();
        match text(&event, "/type").unwrap_or_default() {
            "error" => return Err(failed(event.get("error").filter(|error| error.is_object()).unwrap_or(&event))),
            "response.failed" => return Err(failed(event.pointer("/response/error").unwrap_or(&Json::Null))),
            kind @ ("response.output_text.delta" | "response.refusal.delta") => {
                self.is_refusal |= kind == "response.refusal.delta";
                self.item(&event).said.push_str(delta);
                follow(Delta::Text(delta));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                follow(Delta::Thought(delta));
            }
            "response.function_call_arguments.delta" => self.item(&event).said.push_str(delta),
            "response.output_item.added" => {
                self.item(&event).is = event.get("item").cloned().unwrap_or_default();
            }
            "response.output_item.done" => {
                let item = event.get("item").cloned().unwrap_or_default();
                self.done(number(&event, "/output_index").unwrap_or_default(), item, follow);
            }
            kind @ ("response.completed" | "response.incomplete") => {
                let response = event.get("response").cloned().unwrap_or_default();
                self.end(&response, kind == "response.incomplete", follow)?;
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let named_stop = self.stop?;
        let mut reply = Reply { usage: self.usage, model: self.model, ..Reply::default() };
        for item in self.items.values() {
            match text(&item.is, "/type").unwrap_or("message") {
                "message" => reply.text.push_str(&item.said),
                "function_call" => reply.calls.push(Call {
                    id: text(&item.is, "/call_id").unwrap_or_default().to_owned(),
                    name: text(&item.is, "/name").unwrap_or_default().to_owned(),
                    arguments: super::arguments(&item.said),
                    opaque: None,
                }),
                _ => {}
            }
        }
        named(&mut reply.calls);
        reply.opaque = order(self.items.into_values(), &reply.calls).map(|order| FORMAT.keep(order));
        reply.stop = stop(named_stop, &reply.calls);
        if self.is_refusal {
            reply.stop = StopReason::Refused;
        }
        Some(reply)
    }
}

/// The order of a reply's items, when thoughts are among them: thoughts as they came, the text as nothing, calls by name.
fn order(items: impl Iterator<Item = Item>, calls: &[Call]) -> Option<Json> {
    let mut calls = calls.iter();
    let mut has_thoughts = false;
    let place = |item: Item| match text(&item.is, "/type").unwrap_or("message") {
        "message" => Some(Json::Null),
        "function_call" => calls.next().map(|call| call.id.clone().into()),
        // Without its content nobody but the provider could tell what it was, and it keeps nothing for us.
        "reasoning" if text(&item.is, "/encrypted_content").is_some() => {
            has_thoughts = true;
            let mut thought = json!({"type": "reasoning", "encrypted_content": item.is["encrypted_content"]});
            thought["summary"] = item.is.get("summary").cloned().unwrap_or_else(|| json!([]));
            Some(thought)
        }
        _ => None,
    };
    let order: Vec<Json> = items.filter_map(place).collect();
    has_thoughts.then(|| order.into())
}

impl Answer {
    fn item(&mut self, event: &Json) -> &mut Item {
        self.items.entry(number(event, "/output_index").unwrap_or_default()).or_default()
    }

    /// Takes an item as it is in the end; what was not said in parts is said now.
    fn done(&mut self, at: u64, item: Json, follow: &mut dyn FnMut(Delta<'_>)) {
        let known = self.items.entry(at).or_default();
        match text(&item, "/type").unwrap_or_default() {
            "function_call" => {
                if let Some(arguments) = text(&item, "/arguments").filter(|arguments| !arguments.is_empty()) {
                    arguments.clone_into(&mut known.said);
                }
            }
            "message" if known.said.is_empty() => {
                for part in item.get("content").and_then(Json::as_array).into_iter().flatten() {
                    let refusal = text(part, "/refusal");
                    self.is_refusal |= refusal.is_some();
                    if let Some(said) = text(part, "/text").or(refusal).filter(|said| !said.is_empty()) {
                        known.said.push_str(said);
                        follow(Delta::Text(said));
                    }
                }
            }
            _ => {}
        }
        known.is = item;
    }

    fn end(
        &mut self,
        response: &Json,
        is_incomplete: bool,
        follow: &mut dyn FnMut(Delta<'_>),
    ) -> Result<(), ModelError> {
        // Some servers say everything only now.
        if self.items.is_empty() {
            let output = response.get("output").and_then(Json::as_array).cloned().unwrap_or_default();
            for (at, item) in (0..).zip(output) {
                self.done(at, item, follow);
            }
        }
        text(response, "/model").unwrap_or_default().clone_into(&mut self.model);
        let count = |name: &str| number(response, name).unwrap_or_default();
        self.usage = Usage {
            input: count("/usage/input_tokens"),
            output: count("/usage/output_tokens"),
            cached: count("/usage/input_tokens_details/cached_tokens"),
        };
        self.stop = Some(match text(response, "/incomplete_details/reason") {
            Some("max_output_tokens") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refused,
            Some(other) => StopReason::Other(other.to_owned()),
            None if is_incomplete => {
                let why = "the answer is incomplete, and the provider does not say why";
                return Err(ModelError::new(ErrorKind::Provider, why));
            }
            None => StopReason::End,
        });
        Ok(())
    }
}
