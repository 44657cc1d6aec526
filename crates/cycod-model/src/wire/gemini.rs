use serde_json::{Value as Json, json};

use super::{Format, Reading, Terms, failed, named, number, object, parsed, returned, stop, text};
use crate::{Call, Delta, ErrorKind, Message, ModelError, Reply, Request, StopReason, Usage};

const FORMAT: Format = Format::Gemini;

pub(super) fn body(request: &Request, _: Terms<'_>) -> Json {
    let mut body = json!({ "contents": contents(&request.messages) });
    if let Some(system) = &request.system {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    if !request.tools.is_empty() {
        let tool = |tool: &crate::ToolSpec| json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
        body["tools"] = json!([{"functionDeclarations": request.tools.iter().map(tool).collect::<Vec<_>>()}]);
    }
    if let Some(most) = request.max_tokens {
        body["generationConfig"] = json!({"maxOutputTokens": most});
    }
    body
}

fn contents(messages: &[Message]) -> Vec<Json> {
    let mut turns: Vec<Json> = Vec::new();
    for message in messages {
        let (role, parts) = match message {
            Message::User(text) => ("user", vec![json!({"text": text})]),
            Message::Model(reply) => ("model", said(reply)),
            Message::Results(results) => ("user", results.iter().map(result).collect()),
        };
        if parts.is_empty() {
            continue;
        }
        match turns.last_mut().filter(|turn| turn["role"] == role) {
            Some(turn) => turn["parts"].as_array_mut().expect("it was made as one").extend(parts),
            None => turns.push(json!({"role": role, "parts": parts})),
        }
    }
    turns
}

fn said(reply: &Reply) -> Vec<Json> {
    let signed = |mut part: Json, opaque: Option<&Json>| {
        if let Some(signature) = FORMAT.kept(opaque) {
            part["thoughtSignature"] = signature.clone();
        }
        part
    };
    let is_silent = reply.text.is_empty() && FORMAT.kept(reply.opaque.as_ref()).is_none();
    let text = (!is_silent).then(|| signed(json!({"text": reply.text}), reply.opaque.as_ref()));
    let call = |call: &Call| {
        signed(json!({"functionCall": {"name": call.name, "args": returned(call)}}), call.opaque.as_ref())
    };
    text.into_iter().chain(reply.calls.iter().map(call)).collect()
}

fn result(result: &crate::ToolResult) -> Json {
    let field = if result.is_error { "error" } else { "output" };
    json!({"functionResponse": {"name": result.name, "response": {field: result.text}}})
}

/// What was read of an answer.
#[derive(Default)]
pub(super) struct Answer {
    reply: Reply,
    stop: Option<StopReason>,
}

impl Reading for Answer {
    fn read(&mut self, data: &str, follow: &mut dyn FnMut(Delta<'_>)) -> Result<bool, ModelError> {
        let event = parsed(data)?;
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            return Err(failed(error));
        }
        if let Some(model) = text(&event, "/modelVersion") {
            model.clone_into(&mut self.reply.model);
        }
        if let Some(usage) = event.get("usageMetadata") {
            let count = |name: &str| number(usage, name).unwrap_or_default();
            self.reply.usage = Usage {
                input: count("/promptTokenCount").saturating_add(count("/toolUsePromptTokenCount")),
                output: count("/candidatesTokenCount").saturating_add(count("/thoughtsTokenCount")),
                cached: count("/cachedContentTokenCount"),
            };
        }
        if text(&event, "/promptFeedback/blockReason").is_some() {
            self.stop = Some(StopReason::Refused);
        }
        let Some(candidate) = event.pointer("/candidates/0") else { return Ok(false) };
        for part in candidate.pointer("/content/parts").and_then(Json::as_array).into_iter().flatten() {
            self.part(part, follow);
        }
        match text(candidate, "/finishReason") {
            None | Some("FINISH_REASON_UNSPECIFIED") => {}
            Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") => {
                let said = text(candidate, "/finishMessage").unwrap_or("nobody can read it");
                let why = format!("the model wanted to call a tool, and the provider took the call back: {said}");
                return Err(ModelError::new(ErrorKind::Generation, why).attempt("ask again"));
            }
            Some(reason) => {
                self.stop = Some(match reason {
                    "STOP" => StopReason::End,
                    "MAX_TOKENS" => StopReason::MaxTokens,
                    "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" => {
                        StopReason::Refused
                    }
                    other => StopReason::Other(other.to_owned()),
                });
            }
        }
        Ok(false)
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let mut reply = self.reply;
        named(&mut reply.calls);
        reply.stop = stop(self.stop?, &reply.calls);
        Some(reply)
    }
}

impl Answer {
    fn part(&mut self, part: &Json, follow: &mut dyn FnMut(Delta<'_>)) {
        let signature = part.get("thoughtSignature").map(|signature| FORMAT.keep(signature.clone()));
        if let Some(call) = part.get("functionCall") {
            self.reply.calls.push(Call {
                id: text(call, "/id").unwrap_or_default().to_owned(),
                name: text(call, "/name").unwrap_or_default().to_owned(),
                arguments: object(call.get("args").cloned()),
                opaque: signature,
            });
            return;
        }
        let Some(said) = text(part, "/text") else { return };
        if part.get("thought").and_then(Json::as_bool) == Some(true) {
            follow(Delta::Thought(said));
            return;
        }
        if signature.is_some() {
            self.reply.opaque = signature;
        }
        if !said.is_empty() {
            self.reply.text.push_str(said);
            follow(Delta::Text(said));
        }
    }
}
