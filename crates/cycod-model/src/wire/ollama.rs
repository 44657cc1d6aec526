use serde_json::{Value as Json, json};

use super::{Reading, Terms, WireFormat, failed, named, number, object, openai, parsed, stop, text};
use crate::{Call, Delta, Message, ModelError, Reply, Request, StopReason, Usage};

const FORMAT: WireFormat = WireFormat::Ollama;

pub(super) fn body(request: &Request, terms: Terms<'_>) -> Json {
    let system = request.system.iter().map(|system| json!({"role": "system", "content": system}));
    let mut body = json!({
        "model": terms.model,
        "messages": system.chain(request.messages.iter().flat_map(message)).collect::<Vec<_>>(),
        "stream": true,
    });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(openai::tool).collect();
    }
    if let Some(most) = request.max_tokens {
        body["options"]["num_predict"] = most.into();
    }
    // Without it, what does not fit into a few thousand tokens is forgotten without a word.
    if let Some(window) = terms.window {
        body["options"]["num_ctx"] = window.into();
    }
    body
}

fn message(message: &Message) -> Vec<Json> {
    match message {
        Message::User(text) => vec![json!({"role": "user", "content": text})],
        Message::Model(reply) => {
            let mut said = json!({"role": "assistant", "content": reply.text});
            if !reply.calls.is_empty() {
                let call = |call: &Call| json!({"id": call.id, "function": openai::function(call)});
                said["tool_calls"] = reply.calls.iter().map(call).collect();
            }
            // The template of the model decides which thoughts it reads again.
            if let Some(thoughts) = FORMAT.kept(reply.opaque.as_ref()) {
                said["thinking"] = thoughts.clone();
            }
            vec![said]
        }
        Message::Results(results) => {
            let result = |result: &crate::ToolResult| {
                json!({
                    "role": "tool",
                    "tool_call_id": result.id,
                    "tool_name": result.name,
                    "content": result.text,
                })
            };
            results.iter().map(result).collect()
        }
    }
}

/// What was read of an answer.
#[derive(Default)]
pub(super) struct Answer {
    reply: Reply,
    thoughts: String,
    is_done: bool,
}

impl Reading for Answer {
    fn read(&mut self, data: &str, follow: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ModelError> {
        let event = parsed(data)?;
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(failed(error));
        }
        let reply = &mut self.reply;
        if let Some(model) = text(&event, "/model").filter(|_| reply.model.is_empty()) {
            model.clone_into(&mut reply.model);
        }
        if let Some(thought) = text(&event, "/message/thinking").filter(|thought| !thought.is_empty()) {
            self.thoughts.push_str(thought);
            follow(Delta::Thought(thought));
        }
        if let Some(said) = text(&event, "/message/content").filter(|said| !said.is_empty()) {
            reply.text.push_str(said);
            follow(Delta::Text(said));
        }
        for call in event.pointer("/message/tool_calls").and_then(Json::as_array).into_iter().flatten() {
            reply.calls.push(Call {
                id: text(call, "/id").unwrap_or_default().to_owned(),
                name: text(call, "/function/name").unwrap_or_default().to_owned(),
                arguments: object(call.pointer("/function/arguments").cloned()),
                opaque: None,
            });
        }
        if event.get("done").and_then(Json::as_bool) != Some(true) {
            return Ok(false);
        }
        self.is_done = true;
        reply.usage = Usage {
            input: number(&event, "/prompt_eval_count").unwrap_or_default(),
            output: number(&event, "/eval_count").unwrap_or_default(),
            cached: number(&event, "/prompt_eval_cached_count").unwrap_or_default(),
        };
        reply.stop = match text(&event, "/done_reason").unwrap_or("stop") {
            "stop" => StopReason::End,
            "length" => StopReason::MaxTokens,
            other => StopReason::Other(other.to_owned()),
        };
        Ok(true)
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let Self { reply, thoughts, is_done } = *self;
        let mut reply = Some(reply).filter(|_| is_done)?;
        reply.opaque = (!thoughts.is_empty()).then(|| FORMAT.keep(thoughts.into()));
        named(&mut reply.calls);
        reply.stop = stop(reply.stop, &reply.calls);
        Some(reply)
    }
}
