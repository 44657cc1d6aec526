//! The format of Anthropic.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use serde_json::{Map, Value as Json, json};

use super::{
    Part, Reading, Terms, WireFormat, failed, named, number, object, parsed, parts, rest, returned, stop, text,
};
use crate::{Call, Delta, ErrorKind, Message, ModelError, Reply, Request, StopReason, Usage};

const FORMAT: WireFormat = WireFormat::Anthropic;

pub(super) fn body(request: &Request, terms: Terms<'_>) -> Json {
    let known = terms.output.unwrap_or(WireFormat::SAFE_OUTPUT);
    let mut body = json!({
        "model": terms.model,
        "max_tokens": request.max_tokens.unwrap_or(known),
        "messages": messages(request).0,
        "stream": true,
    });
    if let Some(system) = request.system.as_ref().filter(|system| !system.trim().is_empty()) {
        body["system"] = json!([{"type": "text", "text": system}]);
        remember(&mut body["system"]);
    }
    if !request.tools.is_empty() {
        let tool = |tool: &crate::ToolSpec| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema});
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

/// Asks the provider to keep what stands up to the last of some blocks: the next request begins the same.
fn remember(blocks: &mut Json) {
    if let Some(block) = blocks.as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// What a thought is bound to: the API refuses one when anything that stood before it was changed since.
/// See <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>.
pub(super) fn seal(request: &Request) -> String {
    messages(request).1
}

/// The turns of a conversation, and the seal of all of it.
fn messages(request: &Request) -> (Vec<Json>, String) {
    let mut hasher = DefaultHasher::new();
    let seal = |hasher: &DefaultHasher| format!("{:016x}", hasher.finish());
    request.system.hash(&mut hasher);
    for tool in &request.tools {
        (&tool.name, &tool.description, tool.schema.to_string()).hash(&mut hasher);
    }
    let mut turns: Vec<Json> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = match message {
            Message::User(text) => ("user", vec![json!({"type": "text", "text": text})]),
            Message::Model(reply) => ("assistant", said(reply, &seal(&hasher))),
            Message::Results(results) => ("user", results.iter().map(result).collect()),
        };
        if blocks.is_empty() {
            continue;
        }
        (role, Json::from(blocks.clone()).to_string()).hash(&mut hasher);
        // One turn each: results and what the person adds to them belong together.
        match turns.last_mut().filter(|turn| turn["role"] == role) {
            Some(turn) => turn["content"].as_array_mut().expect("it was made as one").extend(blocks),
            None => turns.push(json!({"role": role, "content": blocks})),
        }
    }
    if let Some(turn) = turns.last_mut().filter(|turn| turn["role"] == "user") {
        remember(&mut turn["content"]);
    }
    let seal = seal(&hasher);
    (turns, seal)
}

/// The blocks of a reply as they came. Thoughts come back only when nothing before them has changed.
fn said(reply: &Reply, seal: &str) -> Vec<Json> {
    let block = |part: Part<'_>| match part {
        // An empty one would be refused.
        Part::Text(text, _) => (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text})),
        Part::Call(call) => {
            let mut block = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": returned(call)});
            if let (Some(kept), Some(block)) =
                (FORMAT.kept(call.opaque.as_ref()).and_then(Json::as_object), block.as_object_mut())
            {
                block.extend(kept.clone());
            }
            Some(block)
        }
        Part::Own(block) => Some(block.clone()),
    };
    parts(FORMAT, reply, Some(seal)).into_iter().filter_map(block).collect()
}

fn result(result: &crate::ToolResult) -> Json {
    let mut block = json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text});
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}

/// What was read of an answer.
#[derive(Default)]
pub(super) struct Answer {
    blocks: BTreeMap<u64, Block>,
    stop: Option<StopReason>,
    usage: Usage,
    model: String,
    is_over: bool,
}

enum Block {
    Text(String),
    /// A block that goes back as it came.
    Thought(Json),
    Call {
        id: String,
        name: String,
        input: Json,
        text: String,
        /// What else the block has.
        rest: Map<String, Json>,
    },
    /// What nobody asked for.
    Other,
}

impl Reading for Answer {
    fn read(&mut self, data: &str, follow: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ModelError> {
        let event = parsed(data)?;
        match text(&event, "/type").unwrap_or_default() {
            "error" => return Err(failed(event.get("error").unwrap_or(&event))),
            "message_start" => {
                text(&event, "/message/model").unwrap_or_default().clone_into(&mut self.model);
                self.spent(event.pointer("/message/usage"));
            }
            "content_block_start" => {
                let block = event.get("content_block").cloned().unwrap_or_default();
                let field = |name: &str| text(&block, name).unwrap_or_default().to_owned();
                let block = match text(&block, "/type").unwrap_or_default() {
                    "text" => {
                        let said = field("/text");
                        if !said.is_empty() {
                            follow(Delta::Text(&said));
                        }
                        Block::Text(said)
                    }
                    "thinking" | "redacted_thinking" => Block::Thought(block),
                    "tool_use" => {
                        let input = block.get("input").cloned().unwrap_or_default();
                        let rest = rest(&block, &["type", "id", "name", "input", "cache_control"]);
                        Block::Call { id: field("/id"), name: field("/name"), input, text: String::new(), rest }
                    }
                    _ => Block::Other,
                };
                self.blocks.insert(index(&event)?, block);
            }
            "content_block_delta" => self.delta(&event, follow)?,
            "message_delta" => {
                self.spent(event.get("usage"));
                self.stop = text(&event, "/delta/stop_reason").map(|reason| match reason {
                    "end_turn" | "stop_sequence" => StopReason::End,
                    "tool_use" => StopReason::Calls,
                    "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
                    "refusal" => StopReason::Refused,
                    other => StopReason::Other(other.to_owned()),
                });
            }
            "message_stop" => self.is_over = true,
            // `ping`, the ends of blocks, and what is added to the format later.
            _ => {}
        }
        Ok(self.is_over)
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let named_stop = self.stop.filter(|_| self.is_over)?;
        let mut reply = Reply { usage: self.usage, model: self.model, ..Reply::default() };
        let (mut order, mut calls) = (Vec::new(), Vec::new());
        for block in self.blocks.into_values() {
            match block {
                Block::Text(text) => {
                    order.push(json!({ "text": text.len() }));
                    reply.text.push_str(&text);
                }
                Block::Thought(block) => order.push(json!({ "own": block })),
                Block::Call { id, name, input, text, rest } => {
                    let arguments = if text.is_empty() { object(Some(input)) } else { super::arguments(&text) };
                    let opaque = (!rest.is_empty()).then(|| FORMAT.keep(rest.into()));
                    calls.push(order.len());
                    order.push(Json::Null);
                    reply.calls.push(Call { id, name, arguments, opaque });
                }
                Block::Other => {}
            }
        }
        named(&mut reply.calls);
        for (at, call) in calls.into_iter().zip(&reply.calls) {
            order[at] = json!({ "call": call.id });
        }
        reply.stop = stop(named_stop, &reply.calls);
        reply.opaque = Some(FORMAT.keep(json!({ "parts": order })));
        Some(reply)
    }
}

impl Answer {
    fn delta(&mut self, event: &Json, follow: &mut dyn FnMut(Delta<'_>)) -> Result<(), ModelError> {
        let said = |name: &str| text(event, name);
        match (self.blocks.get_mut(&index(event)?), said("/delta/type").unwrap_or_default()) {
            (Some(Block::Text(whole)), "text_delta") => {
                let said = said("/delta/text").unwrap_or_default();
                whole.push_str(said);
                follow(Delta::Text(said));
            }
            (Some(Block::Call { text, .. }), "input_json_delta") => {
                text.push_str(said("/delta/partial_json").unwrap_or_default());
            }
            (Some(Block::Thought(block)), kind @ ("thinking_delta" | "signature_delta")) => {
                let name = if kind == "thinking_delta" { "thinking" } else { "signature" };
                let said = event["delta"][name].as_str().unwrap_or_default();
                if kind == "thinking_delta" {
                    follow(Delta::Thought(said));
                }
                match &mut block[name] {
                    Json::String(whole) => whole.push_str(said),
                    other => *other = said.into(),
                }
            }
            (Some(_), _) => {}
            // Some servers leave out that a text begins.
            (None, "text_delta") => {
                let said = said("/delta/text").unwrap_or_default();
                self.blocks.insert(index(event)?, Block::Text(said.to_owned()));
                follow(Delta::Text(said));
            }
            (None, _) => {
                let why = "a part of the answer belongs to no block that was begun";
                return Err(ModelError::new(ErrorKind::Provider, why));
            }
        }
        Ok(())
    }

    /// Later counts replace earlier ones; what a count leaves out stays.
    fn spent(&mut self, usage: Option<&Json>) {
        let Some(usage) = usage else { return };
        let kept = |name: &str| number(usage, name).unwrap_or_default();
        if let Some(fresh) = number(usage, "/input_tokens") {
            self.usage.cached = kept("/cache_read_input_tokens");
            let written = kept("/cache_creation_input_tokens");
            self.usage.input = fresh.saturating_add(self.usage.cached).saturating_add(written);
        }
        if let Some(output) = number(usage, "/output_tokens") {
            self.usage.output = output;
        }
    }
}

fn index(event: &Json) -> Result<u64, ModelError> {
    number(event, "/index").ok_or_else(|| {
        ModelError::new(ErrorKind::Provider, "a part of the answer does not say which block it belongs to")
    })
}
