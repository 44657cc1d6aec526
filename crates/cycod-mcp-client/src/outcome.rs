use cycod_definition::JsonSchema;
use cycod_diagnostic::{Code, Refusal};
use cycod_run::ToolOutcome;
use rmcp::model::CallToolResult;
use serde_json::{Value as Json, json};

use crate::{
    failure,
    others::{keep_extras, meta},
    text::answer,
};

/// Turns a result into an outcome, held to the schema that the tool declares.
pub(crate) fn outcome(
    server: &str,
    tool: &str,
    result: CallToolResult,
    returns: Option<&JsonSchema>,
) -> Result<ToolOutcome, Refusal> {
    let is_error = result.is_error == Some(true);
    if let Some(schema) = returns.filter(|_| !is_error) {
        check(server, tool, result.structured_content.as_ref(), schema)?;
    }
    let blocks = serde_json::to_value(&result.content).map_err(|error| failure::broken(server, error))?;
    let meta = result.meta.as_ref().and_then(|said| meta(&json!({ "_meta": said })));
    let Json::Array(mut blocks) = blocks else { unreachable!("a list is written as an array") };
    blocks.iter_mut().for_each(clean);
    let mut texts: Vec<String> = blocks.iter().map(shown).collect();
    if let (true, Some(structured)) = (texts.is_empty(), &result.structured_content) {
        texts.push(answer(&structured.to_string()).into_owned());
    }
    Ok(ToolOutcome {
        output: texts.join("\n").into_bytes(),
        error: Vec::new(),
        blocks: Some(Json::Array(blocks)),
        structured: result.structured_content,
        meta: meta.map(|meta| Json::Object(meta.0)),
        is_error,
    })
}

fn check(server: &str, tool: &str, structured: Option<&Json>, schema: &JsonSchema) -> Result<(), Refusal> {
    let wrong = |what: &str| {
        Refusal::new(
            Code::WrongOutput,
            format!("`{tool}` of the server `{server}` does not keep to its own output schema: {what}"),
        )
        .place(server)
        .attempt("call it differently, or report it to the server's authors")
    };
    let Some(structured) = structured else { return Err(wrong("it gave no structured content")) };
    match schema.violations(structured).as_deref() {
        // A schema that nobody can apply holds nobody to anything; `mcp test` tells of it.
        Ok([]) | Err(_) => Ok(()),
        Ok([violation, ..]) => {
            let place = if violation.instance_pointer.is_empty() { "the whole" } else { &violation.instance_pointer };
            Err(wrong(&answer(&format!("{place}: {}", violation.message))))
        }
    }
}

/// What of a block is text that somebody reads.
const TEXTS: [&str; 9] = [
    "/text",
    "/uri",
    "/mimeType",
    "/name",
    "/title",
    "/description",
    "/resource/text",
    "/resource/uri",
    "/resource/mimeType",
];

/// Shows what would mislead in the texts of a block, and leaves out pictures and metadata that are not passed on. Data that is
/// not text stays as it is.
pub(crate) fn clean(block: &mut Json) {
    for pointer in TEXTS {
        if let Some(Json::String(text)) = block.pointer_mut(pointer) {
            *text = answer(text).into_owned();
        }
    }
    keep_extras(block);
    if let Some(resource) = block.get_mut("resource").filter(|resource| resource.get("_meta").is_some()) {
        clean(resource);
    }
}

/// The same for a piece of a resource, or a message of a prompt.
pub(crate) fn clean_content(piece: &mut Json) {
    match piece.get_mut("content") {
        Some(block) => clean(block),
        None => clean(piece),
    }
}

/// A block as a person reads it.
pub(crate) fn shown(block: &Json) -> String {
    let text = |pointer: &str| block.pointer(pointer).and_then(Json::as_str);
    if let Some(text) = text("/text").or_else(|| text("/resource/text")) {
        return text.to_owned();
    }
    let kind = text("/type").unwrap_or("block");
    let media = text("/mimeType").or_else(|| text("/resource/mimeType")).unwrap_or("unknown type");
    match (text("/uri").or_else(|| text("/resource/uri")), text("/data").or_else(|| text("/resource/blob"))) {
        (Some(uri), _) => answer(&format!("[{kind} {uri}]")).into_owned(),
        (None, Some(data)) => format!("[{kind} of {} bytes, {}]", data.len() / 4 * 3, answer(media)),
        (None, None) => format!("[{kind}]"),
    }
}
