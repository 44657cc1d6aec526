//! A turn as each format streams it.

use serde_json::{Value as Json, json};

use crate::{Asked, Format, ScriptedCall, Stop, Turn};

/// How many characters of a text are sent at once.
const PIECE: usize = 12;

/// The events of an answer, each as it is on the wire.
pub(crate) fn frames(turn: &Turn, asked: &Asked) -> Vec<String> {
    let text = turn.huge.map_or_else(|| turn.text.clone(), |bytes| "x".repeat(bytes));
    let said = Said { turn, texts: pieces(&text), thoughts: pieces(&turn.thought), model: &asked.model, asked };
    match asked.format {
        Format::OpenaiChat => said.openai_chat(),
        Format::OpenaiResponses => said.openai_responses(),
        Format::Anthropic => said.anthropic(),
        Format::Gemini => said.gemini(),
        Format::Ollama => said.ollama(),
    }
}

struct Said<'a> {
    turn: &'a Turn,
    texts: Vec<String>,
    thoughts: Vec<String>,
    model: &'a str,
    asked: &'a Asked,
}

fn pieces(text: &str) -> Vec<String> {
    // Few events for a text that is large on purpose.
    let piece = PIECE.max(text.len() / 4096);
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(piece).map(|piece| piece.iter().collect()).collect()
}

fn data(value: &Json) -> String {
    format!("data: {value}\n\n")
}

fn event(value: &Json) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or("message"))
}

impl Said<'_> {
    fn id(&self, at: usize, call: &ScriptedCall) -> String {
        call.id.clone().unwrap_or_else(|| format!("call_{}_{at}", self.asked.turn))
    }

    fn stop<'a>(&self, end: &'a str, calls: &'a str, tokens: &'a str, refused: &'a str) -> &'a str {
        match self.turn.stop {
            Some(Stop::MaxTokens) => tokens,
            Some(Stop::Refused) => refused,
            None if self.turn.calls.is_empty() => end,
            None => calls,
        }
    }

    fn openai_chat(&self) -> Vec<String> {
        let chunk = |delta: &Json, reason: Option<&str>| {
            data(&json!({
                "id": "chatcmpl-scripted",
                "object": "chat.completion.chunk",
                "created": 1_760_000_000,
                "model": self.model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
            }))
        };
        let mut frames = vec![chunk(&json!({"role": "assistant", "content": ""}), None)];
        frames.extend(self.thoughts.iter().map(|thought| chunk(&json!({"reasoning_content": thought}), None)));
        frames.extend(self.texts.iter().map(|text| chunk(&json!({"content": text}), None)));
        for (index, call) in self.turn.calls.iter().enumerate() {
            let function = json!({"name": call.name, "arguments": ""});
            let mut head =
                json!({"index": index, "id": self.id(index, call), "type": "function", "function": function});
            if let Some(signature) = &call.signature {
                head["extra_content"] = json!({"google": {"thought_signature": signature}});
            }
            frames.push(chunk(&json!({ "tool_calls": [head] }), None));
            for piece in pieces(&call.arguments_text()) {
                let part = json!({"index": index, "function": {"arguments": piece}});
                frames.push(chunk(&json!({ "tool_calls": [part] }), None));
            }
        }
        frames.push(chunk(&json!({}), Some(self.stop("stop", "tool_calls", "length", "content_filter"))));
        let usage = self.turn.usage;
        frames.push(data(&json!({
            "id": "chatcmpl-scripted",
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": self.model,
            "choices": [],
            "usage": {
                "prompt_tokens": usage.input,
                "completion_tokens": usage.output,
                "total_tokens": usage.input + usage.output,
                "prompt_tokens_details": {"cached_tokens": usage.cached},
            },
        })));
        frames.push("data: [DONE]\n\n".to_owned());
        frames
    }

    fn openai_responses(&self) -> Vec<String> {
        let mut frames = Vec::new();
        let mut number = 0;
        let mut add = |mut value: Json| {
            value["sequence_number"] = number.into();
            number += 1;
            frames.push(event(&value));
        };
        let response = |status: &str| json!({"id": "resp_scripted", "object": "response", "model": self.model, "status": status, "output": []});
        add(json!({"type": "response.created", "response": response("in_progress")}));
        let mut output = Vec::new();
        if !self.thoughts.is_empty() {
            let at = output.len();
            let open = json!({"type": "reasoning", "id": "rs_scripted", "summary": []});
            add(json!({"type": "response.output_item.added", "output_index": at, "item": open}));
            for thought in &self.thoughts {
                add(
                    json!({"type": "response.reasoning_summary_text.delta", "output_index": at, "item_id": "rs_scripted", "summary_index": 0, "delta": thought}),
                );
            }
            let summary = json!([{"type": "summary_text", "text": self.turn.thought}]);
            let item =
                json!({"type": "reasoning", "id": "rs_scripted", "summary": summary, "encrypted_content": "c2VhbGVk"});
            add(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
            output.push(item);
        }
        if !self.texts.is_empty() {
            let at = output.len();
            let open = json!({"type": "message", "id": "msg_scripted", "role": "assistant", "status": "in_progress", "content": []});
            add(json!({"type": "response.output_item.added", "output_index": at, "item": open}));
            for text in &self.texts {
                add(
                    json!({"type": "response.output_text.delta", "output_index": at, "item_id": "msg_scripted", "content_index": 0, "delta": text}),
                );
            }
            let content = json!([{"type": "output_text", "text": self.texts.concat(), "annotations": []}]);
            let item = json!({"type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed", "content": content});
            add(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
            output.push(item);
        }
        for (index, call) in self.turn.calls.iter().enumerate() {
            let at = output.len();
            let item = |arguments: &str, status: &str| {
                let id = format!("fc_{index}");
                json!({"type": "function_call", "id": id, "call_id": self.id(index, call), "name": call.name, "arguments": arguments, "status": status})
            };
            add(json!({"type": "response.output_item.added", "output_index": at, "item": item("", "in_progress")}));
            let arguments = call.arguments_text();
            for piece in pieces(&arguments) {
                add(
                    json!({"type": "response.function_call_arguments.delta", "output_index": at, "item_id": format!("fc_{index}"), "delta": piece}),
                );
            }
            let item = item(&arguments, "completed");
            add(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
            output.push(item);
        }
        let reason = self.stop("", "", "max_output_tokens", "content_filter");
        let kind = if reason.is_empty() { "completed" } else { "incomplete" };
        let mut last = response(kind);
        last["output"] = output.into();
        if !reason.is_empty() {
            last["incomplete_details"] = json!({ "reason": reason });
        }
        let usage = self.turn.usage;
        last["usage"] = json!({
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output,
        });
        add(json!({"type": format!("response.{kind}"), "response": last}));
        frames
    }

    fn anthropic(&self) -> Vec<String> {
        let usage = self.turn.usage;
        let fresh = usage.input.saturating_sub(usage.cached);
        let begun = json!({"input_tokens": fresh, "cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": 0, "output_tokens": 1});
        let message = json!({"id": "msg_scripted", "type": "message", "role": "assistant", "model": self.model, "content": [], "stop_reason": null, "stop_sequence": null, "usage": begun});
        let mut frames =
            vec![event(&json!({"type": "message_start", "message": message})), event(&json!({"type": "ping"}))];
        let mut index = 0;
        let mut block = |open: Json, deltas: Vec<Json>| {
            frames.push(event(&json!({"type": "content_block_start", "index": index, "content_block": open})));
            for delta in deltas {
                frames.push(event(&json!({"type": "content_block_delta", "index": index, "delta": delta})));
            }
            frames.push(event(&json!({"type": "content_block_stop", "index": index})));
            index += 1;
        };
        if !self.thoughts.is_empty() {
            let thought = |thought: &String| json!({"type": "thinking_delta", "thinking": thought});
            let signature = json!({"type": "signature_delta", "signature": "c2lnbmVk"});
            let deltas = self.thoughts.iter().map(thought).chain([signature]).collect();
            block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
        }
        if !self.texts.is_empty() {
            let text = |text: &String| json!({"type": "text_delta", "text": text});
            block(json!({"type": "text", "text": ""}), self.texts.iter().map(text).collect());
        }
        for (at, call) in self.turn.calls.iter().enumerate() {
            let open = json!({"type": "tool_use", "id": self.id(at, call), "name": call.name, "input": {}});
            let part = |part: String| json!({"type": "input_json_delta", "partial_json": part});
            block(open, pieces(&call.arguments_text()).into_iter().map(part).collect());
        }
        let reason = self.stop("end_turn", "tool_use", "max_tokens", "refusal");
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        frames.push(event(&json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage.output}})));
        frames.push(event(&json!({"type": "message_stop"})));
        frames
    }

    fn gemini(&self) -> Vec<String> {
        let usage = self.turn.usage;
        let chunk = |parts: Vec<Json>, reason: Option<&str>| {
            let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
            if let Some(reason) = reason {
                candidate["finishReason"] = reason.into();
            }
            data(&json!({
                "candidates": [candidate],
                "usageMetadata": {
                    "promptTokenCount": usage.input,
                    "candidatesTokenCount": usage.output,
                    "cachedContentTokenCount": usage.cached,
                    "totalTokenCount": usage.input + usage.output,
                },
                "modelVersion": self.model,
                "responseId": "scripted",
            }))
        };
        let mut frames: Vec<String> =
            self.thoughts.iter().map(|thought| chunk(vec![json!({"text": thought, "thought": true})], None)).collect();
        frames.extend(self.texts.iter().map(|text| chunk(vec![json!({ "text": text })], None)));
        for call in &self.turn.calls {
            let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments}});
            if let Some(signature) = &call.signature {
                part["thoughtSignature"] = signature.as_str().into();
            }
            frames.push(chunk(vec![part], None));
        }
        frames.push(chunk(vec![json!({"text": ""})], Some(self.stop("STOP", "STOP", "MAX_TOKENS", "SAFETY"))));
        frames
    }

    fn ollama(&self) -> Vec<String> {
        let usage = self.turn.usage;
        let line = |message: &Json| {
            format!(
                "{}\n",
                json!({"model": self.model, "created_at": "2025-10-09T08:53:20Z", "message": message, "done": false})
            )
        };
        let mut frames: Vec<String> = self
            .thoughts
            .iter()
            .map(|thought| line(&json!({"role": "assistant", "content": "", "thinking": thought})))
            .collect();
        frames.extend(self.texts.iter().map(|text| line(&json!({"role": "assistant", "content": text}))));
        for call in &self.turn.calls {
            let function = json!({"name": call.name, "arguments": call.arguments});
            frames.push(line(&json!({"role": "assistant", "content": "", "tool_calls": [{"function": function}]})));
        }
        let last = json!({
            "model": self.model,
            "created_at": "2025-10-09T08:53:21Z",
            "message": {"role": "assistant", "content": ""},
            "done": true,
            "done_reason": self.stop("stop", "stop", "length", "refused"),
            "total_duration": 1_000_000,
            "prompt_eval_count": usage.input,
            "eval_count": usage.output,
        });
        frames.push(format!("{last}\n"));
        frames
    }
}
