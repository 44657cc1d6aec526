//! The format of responses of OpenAI.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::{Part, Reading, Terms, WireFormat, failed, named, number, parsed, parts, rest, returned, stop, text};
use crate::{Call, Delta, ErrorKind, Message, ModelError, Reply, Request, StopReason, Usage};

const FORMAT: WireFormat = WireFormat::OpenaiResponses;

pub(super) fn body(request: &Request, terms: Terms<'_>) -> Json {
    let mut body = json!({
        "model": terms.model,
        "input": request.messages.iter().flat_map(|one| message(one, terms.model)).collect::<Vec<_>>(),
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

fn message(message: &Message, model: &str) -> Vec<Json> {
    match message {
        Message::User(text) => vec![json!({"role": "user", "content": text})],
        Message::Model(reply) => said(reply, model),
        Message::Results(results) => {
            let result = |result: &crate::ToolResult| json!({"type": "function_call_output", "call_id": result.id, "output": result.text});
            results.iter().map(result).collect()
        }
    }
}

/// The items of a reply as they came. What one model thought, another cannot read.
fn said(reply: &Reply, model: &str) -> Vec<Json> {
    let item = |part: Part<'_>| match part {
        Part::Text(text, kept) => {
            let is_refusal = kept["refusal"] == true;
            let content = match is_refusal {
                true => json!({"type": "refusal", "refusal": text}),
                false => json!({"type": "output_text", "text": text, "annotations": []}),
            };
            match kept["id"].is_string() {
                _ if text.is_empty() => None,
                false => Some(json!({"role": "assistant", "content": text})),
                true => {
                    let mut item = json!({"type": "message", "role": "assistant", "content": [content]});
                    item.as_object_mut().expect("it was made as one").extend(rest(kept, &["text", "refusal"]));
                    Some(item)
                }
            }
        }
        Part::Call(call) => {
            let arguments = returned(call).to_string();
            let mut item =
                json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments});
            let kept = FORMAT.kept(call.opaque.as_ref()).and_then(Json::as_object);
            item.as_object_mut().expect("it was made as one").extend(kept.cloned().unwrap_or_default());
            Some(item)
        }
        Part::Own(item) => Some(item.clone()),
    };
    parts(FORMAT, reply, Some(model)).into_iter().filter_map(item).collect()
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
        let (mut order, mut calls) = (Vec::new(), Vec::new());
        for Item { is, said } in self.items.into_values() {
            match text(&is, "/type").unwrap_or("message") {
                "message" => {
                    let mut part = Json::Object(rest(&is, &["type", "role", "content"]));
                    part["text"] = said.len().into();
                    if is.pointer("/content/0/type").is_some_and(|kind| kind == "refusal") {
                        part["refusal"] = true.into();
                    }
                    order.push(part);
                    reply.text.push_str(&said);
                }
                "function_call" => {
                    let rest = rest(&is, &["type", "call_id", "name", "arguments"]);
                    calls.push(order.len());
                    order.push(Json::Null);
                    reply.calls.push(Call {
                        id: text(&is, "/call_id").unwrap_or_default().to_owned(),
                        name: text(&is, "/name").unwrap_or_default().to_owned(),
                        arguments: super::arguments(&said),
                        opaque: (!rest.is_empty()).then(|| FORMAT.keep(rest.into())),
                    });
                }
                // Without its content only the provider would know it, and with `store: false` it stores nothing.
                "reasoning" if text(&is, "/encrypted_content").is_some() => {
                    let mut own = Json::Object(rest(&is, &[]));
                    if !own["summary"].is_array() {
                        own["summary"] = json!([]);
                    }
                    order.push(json!({ "own": own }));
                }
                _ => {}
            }
        }
        named(&mut reply.calls);
        for (at, call) in calls.into_iter().zip(&reply.calls) {
            order[at] = json!({ "call": call.id });
        }
        reply.opaque = Some(FORMAT.keep(json!({ "parts": order })));
        reply.stop = stop(named_stop, &reply.calls);
        if self.is_refusal {
            reply.stop = StopReason::Refused;
        }
        Some(reply)
    }
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
                let why = "the answer is incomplete, and the provider gives no reason";
                return Err(ModelError::new(ErrorKind::Provider, why));
            }
            None => StopReason::End,
        });
        Ok(())
    }
}
