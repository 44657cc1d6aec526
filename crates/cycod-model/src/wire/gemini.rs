//! The format of Gemini.

use serde_json::{Value as Json, json};

use super::{Part, Reading, Terms, WireFormat, failed, named, number, object, parsed, parts, returned, stop, text};
use crate::{Call, Delta, ErrorKind, Message, ModelError, Reply, Request, StopReason, Usage};

const FORMAT: WireFormat = WireFormat::Gemini;

/// What the model wants back with the part that it came with.
const SIGNATURE: &str = "thoughtSignature";

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
    // The calls of the last reply to which the provider itself gave ids: their results carry these.
    let mut named = Vec::new();
    for message in messages {
        let (role, parts) = match message {
            Message::User(text) => ("user", vec![json!({"text": text})]),
            Message::Model(reply) => {
                named = reply.calls.iter().filter(|call| own(call)["id"].is_string()).map(|call| &call.id).collect();
                ("model", said(reply))
            }
            Message::Results(results) => {
                let result = |one: &crate::ToolResult| result(one, named.contains(&&one.id));
                ("user", results.iter().map(result).collect())
            }
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

/// The parts of a reply as they came, each with its signature.
fn said(reply: &Reply) -> Vec<Json> {
    let signed = |mut part: Json, kept: &Json| {
        if let Some(signature) = kept.get(SIGNATURE) {
            part[SIGNATURE] = signature.clone();
        }
        part
    };
    let part = |part: Part<'_>| match part {
        Part::Text(text, kept) => {
            (!text.is_empty() || kept.get(SIGNATURE).is_some()).then(|| signed(json!({ "text": text }), kept))
        }
        Part::Call(call) => {
            let kept = own(call);
            let mut function = json!({"name": call.name, "args": returned(call)});
            if kept["id"].is_string() {
                function["id"] = kept["id"].clone();
            }
            Some(signed(json!({ "functionCall": function }), kept))
        }
        Part::Own(part) => Some(part.clone()),
    };
    parts(FORMAT, reply, None).into_iter().filter_map(part).collect()
}

/// What Gemini wants back with a call.
fn own(call: &Call) -> &Json {
    FORMAT.kept(call.opaque.as_ref()).unwrap_or(&Json::Null)
}

fn result(result: &crate::ToolResult, is_named: bool) -> Json {
    let field = if result.is_error { "error" } else { "output" };
    let mut response = json!({"name": result.name, "response": {field: result.text}});
    if is_named {
        response["id"] = result.id.as_str().into();
    }
    json!({ "functionResponse": response })
}

/// What was read of an answer.
#[derive(Default)]
pub(super) struct Answer {
    reply: Reply,
    /// The parts that came, in order; a call by its place.
    order: Vec<Json>,
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
                let said = text(candidate, "/finishMessage").unwrap_or("no one can read it");
                let why = format!("the model wanted to call a tool, and the provider took the call back: {said}");
                let error = ModelError::new(ErrorKind::Generation, why).attempt("ask again");
                return Err(ModelError { may_pass: true, ..error });
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
        let Self { mut reply, mut order, .. } = *self;
        named(&mut reply.calls);
        for part in &mut order {
            let call = part["call"].as_u64().and_then(|at| reply.calls.get(usize::try_from(at).ok()?));
            if let Some(call) = call {
                *part = json!({ "call": call.id });
            }
        }
        reply.opaque = Some(FORMAT.keep(json!({ "parts": order })));
        reply.stop = stop(self.stop?, &reply.calls);
        Some(reply)
    }
}

impl Answer {
    fn part(&mut self, part: &Json, follow: &mut dyn FnMut(Delta<'_>)) {
        let signature = part.get(SIGNATURE).filter(|signature| signature.is_string());
        if let Some(call) = part.get("functionCall") {
            let id = text(call, "/id").filter(|id| !id.is_empty());
            let kept = [(SIGNATURE, signature.cloned()), ("id", id.map(Json::from))];
            let kept: Json = kept.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
            self.order.push(json!({ "call": self.reply.calls.len() }));
            self.reply.calls.push(Call {
                id: id.unwrap_or_default().to_owned(),
                name: text(call, "/name").unwrap_or_default().to_owned(),
                arguments: object(call.get("args").cloned()),
                opaque: kept.as_object().is_some_and(|kept| !kept.is_empty()).then(|| FORMAT.keep(kept)),
            });
            return;
        }
        let Some(said) = text(part, "/text") else { return };
        if part.get("thought").and_then(Json::as_bool) == Some(true) {
            follow(Delta::Thought(said));
            if signature.is_some() {
                self.order.push(json!({ "own": part }));
            }
            return;
        }
        // The pieces of one part come one by one, its signature with the last.
        match self.order.last_mut() {
            Some(last) if last["text"].is_u64() && last.get(SIGNATURE).is_none() => {
                last["text"] = (last["text"].as_u64().unwrap_or_default() + said.len() as u64).into();
                if let Some(signature) = signature {
                    last[SIGNATURE] = signature.clone();
                }
            }
            _ if said.is_empty() && signature.is_none() => {}
            _ => {
                let mut piece = json!({ "text": said.len() });
                if let Some(signature) = signature {
                    piece[SIGNATURE] = signature.clone();
                }
                self.order.push(piece);
            }
        }
        if !said.is_empty() {
            self.reply.text.push_str(said);
            follow(Delta::Text(said));
        }
    }
}
