//! The end of a call in the words of the protocol.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use cycod_engine::{
    Block, Content, Payload, RunReport, ToolAnswer,
    definition::Tool,
    diagnostic::{Code, Refusal},
    outputs::{self, Rest, RunEnd, RunOutput},
    refusal_json,
};
use cycod_store::StoredOutput;
use rmcp::{
    ErrorData,
    model::{
        AudioContent, CacheScope, CallToolResult, ContentBlock, EmbeddedResource, ErrorCode, ImageContent,
        PromptMessage, ReadResourceResult, Resource, ResourceContents, Role, TextContent,
    },
};
use serde_json::json;

use crate::wire;

/// The reply to a call that has run, with at most `cap` tokens of its output; the rest is on the shelf.
pub(crate) fn result(mut ended: RunEnd, cap: usize, shelf: &outputs::Shelf) -> CallToolResult {
    let artifacts = ended.artifacts().into_iter().map(block);
    if let Some(answer) = ended.take_answer(cap, shelf) {
        let mut result = of_answer(answer, &ended);
        result.content.extend(artifacts);
        return result;
    }
    let mut result = of_text(&mut ended, cap);
    result.content.extend(artifacts);
    result
}

/// The same for a tool that returns text.
fn of_text(ended: &mut RunEnd, cap: usize) -> CallToolResult {
    let mut blocks = Vec::new();
    for shown in ended.shown(cap) {
        blocks.push(ContentBlock::text(shown.text));
        blocks.extend(shown.rest.as_ref().map(link));
    }
    let report = &ended.report;
    if report.success {
        if blocks.is_empty() {
            blocks.push(ContentBlock::text(""));
        }
        return with_meta(CallToolResult::success(blocks), report);
    }
    blocks.push(match &report.refusal {
        Some(refusal) => explained(refusal),
        None => ContentBlock::text(format!("exit code {}", report.exit_code)),
    });
    with_meta(CallToolResult::error(blocks), report)
}

/// The reply to a call of a tool that did not run.
pub(crate) fn refused_by(tool: &Tool, refusal: Refusal) -> CallToolResult {
    let answer = ToolAnswer::refused_by(tool, refusal);
    let mut result = CallToolResult::error(answer.blocks.into_iter().map(block).collect());
    result.structured_content = answer.structured;
    result
}

/// The reply to a call that did not run.
pub(crate) fn refused(refusal: &Refusal) -> CallToolResult {
    CallToolResult::error(vec![explained(refusal)])
}

/// A refusal as an error of the protocol.
pub(crate) fn error(refusal: &Refusal, number: i32) -> ErrorData {
    ErrorData::new(ErrorCode(number), refusal.why.clone(), Some(refusal_json(refusal)))
}

/// The answer to a request that was refused and has no room for anything but an error.
pub(crate) fn refused_as_error(refusal: &Refusal) -> ErrorData {
    error(refusal, refusal.code.error_over_mcp())
}

/// The same for one whose tool ran and failed.
fn failure(refusal: Option<&Refusal>, result: &CallToolResult) -> ErrorData {
    refusal.map_or_else(|| ErrorData::internal_error(said(result), None), refused_as_error)
}

/// A refusal in one text.
pub(crate) fn told(refusal: &Refusal) -> String {
    match &refusal.attempt {
        Some(attempt) => format!("{}; {attempt}", refusal.why),
        None => refusal.why.clone(),
    }
}

/// The refusal of an output, with the address, as the protocol wants it.
pub(crate) fn unread(refusal: &Refusal, uri: &str) -> ErrorData {
    let mut error = refused_as_error(refusal);
    if let Some(data) = &mut error.data {
        data["uri"] = uri.into();
    }
    error
}

/// A resource that is not there.
pub(crate) fn missing(why: &str, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(why.to_owned(), Some(json!({ "uri": uri })))
}

/// A resource that is another one the next time.
pub(crate) fn fresh(result: ReadResourceResult) -> ReadResourceResult {
    result.with_ttl_ms(0).with_cache_scope(CacheScope::Private)
}

/// The way to an output that was not handed over whole.
fn link(rest: &Rest) -> ContentBlock {
    let mut resource = Resource::new(rest.id.uri(), rest.id.name());
    resource.size = Some(rest.bytes);
    resource.mime_type = rest.media_type.map(str::to_owned);
    resource.description = Some("All of the output; look into it with `run_output`, or read the resource".to_owned());
    ContentBlock::ResourceLink(resource)
}

fn of_answer(answer: ToolAnswer, ended: &RunEnd) -> CallToolResult {
    let blocks = answer.blocks.into_iter().map(block).collect();
    let mut result = if answer.is_error { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
    result.structured_content = answer.structured;
    result.meta = answer.meta.and_then(|meta| serde_json::from_value(meta).ok());
    with_meta(result, &ended.report)
}

/// What a host learns about a run besides its result: warnings, and the steps that did not run because their results were
/// stored.
fn with_meta(mut result: CallToolResult, report: &RunReport) -> CallToolResult {
    let mut meta = serde_json::Map::new();
    if !report.warnings.is_empty() {
        meta.insert("warnings".to_owned(), json!(report.warnings));
    }
    let cached = report.cached_steps();
    if !cached.is_empty() {
        meta.insert("cached".to_owned(), json!(cached));
    }
    if !meta.is_empty() {
        result.meta.get_or_insert_default().0.insert("cycod/run".to_owned(), meta.into());
    }
    result
}

fn explained(refusal: &Refusal) -> ContentBlock {
    ContentBlock::text(json!({ "refusal": refusal_json(refusal) }).to_string())
}

/// A block in the words of the protocol.
pub(crate) fn block(block: Block) -> ContentBlock {
    let annotations = block.annotations.and_then(|annotations| serde_json::from_value(annotations).ok());
    let extra = |key: &str| block.extras.get(key).cloned();
    let meta = extra("_meta").and_then(|meta| serde_json::from_value(meta).ok());
    match block.content {
        Content::Text(text) => {
            let mut content = TextContent::new(text);
            content.annotations = annotations;
            content.meta = meta;
            ContentBlock::Text(content)
        }
        Content::Image { media_type, bytes } => {
            let mut content = ImageContent::new(BASE64_STANDARD.encode(bytes), media_type);
            content.annotations = annotations;
            content.meta = meta;
            ContentBlock::Image(content)
        }
        Content::Audio { media_type, bytes } => {
            let mut content = AudioContent::new(BASE64_STANDARD.encode(bytes), media_type);
            content.annotations = annotations;
            content.meta = meta;
            ContentBlock::Audio(content)
        }
        Content::Resource { uri, media_type, payload } => {
            let mut content = EmbeddedResource::new(contents(uri, media_type, payload));
            content.annotations = annotations;
            content.meta = meta;
            ContentBlock::Resource(content)
        }
        Content::Link { uri, name, title, description, media_type } => {
            let mut resource = Resource::new(uri, name);
            resource.title = title;
            resource.description = description;
            resource.mime_type = media_type;
            resource.annotations = annotations;
            resource.meta = meta;
            resource.icons = extra("icons").and_then(|icons| serde_json::from_value(icons).ok());
            resource.size = extra("size").and_then(|size| size.as_u64());
            ContentBlock::ResourceLink(resource)
        }
    }
}

/// What a resource holds, in the words of the protocol.
pub(crate) fn contents(uri: String, media_type: Option<String>, payload: Payload) -> ResourceContents {
    let contents = match payload {
        Payload::Text(text) => ResourceContents::text(text, uri),
        Payload::Bytes(bytes) => ResourceContents::blob(BASE64_STANDARD.encode(bytes), uri),
    };
    match media_type {
        Some(media_type) => contents.with_mime_type(media_type),
        None => contents,
    }
}

/// What a tool printed, as messages of a prompt: one for each block.
pub(crate) fn messages(mut ended: RunEnd, cap: usize, shelf: &outputs::Shelf) -> Result<Vec<PromptMessage>, ErrorData> {
    let refusal = ended.report.refusal.take();
    let result = result(ended, cap, shelf);
    if result.is_error == Some(true) {
        return Err(failure(refusal.as_ref(), &result));
    }
    Ok(result.content.into_iter().map(|content| PromptMessage::new(Role::User, content)).collect())
}

/// What a tool printed, as the content of a resource.
pub(crate) fn resource(
    mut ended: RunEnd,
    tool: &Tool,
    uri: &str,
    shelf: &outputs::Shelf,
) -> Result<ResourceContents, ErrorData> {
    if !ended.report.success || ended.answer.as_ref().is_some_and(|answer| answer.is_error) {
        let refusal = ended.report.refusal.take();
        return Err(failure(refusal.as_ref(), &result(ended, 1_000, shelf)));
    }
    let media_type = wire::media_type(tool).to_owned();
    let bytes = match ended.output.take() {
        Some(RunOutput::Kept(mut kept)) => whole(&mut kept).map_err(|refusal| refused_as_error(&refusal))?,
        Some(RunOutput::Held { bytes, is_whole: true, .. }) => bytes,
        Some(RunOutput::Held { why, .. }) => {
            let refusal = Refusal::new(Code::OutputUnavailable, format!("the output could not be stored: {why}"));
            return Err(refused_as_error(&refusal));
        }
        None => ended.report.output,
    };
    let payload = Payload::of(&media_type, bytes);
    Ok(contents(uri.to_owned(), Some(media_type), payload))
}

/// The most of a resource that is handed over at once, in bytes.
pub(crate) const MOST: u64 = 4 << 20;

/// All bytes of an output that is not too large.
pub(crate) fn whole(kept: &mut StoredOutput) -> Result<Vec<u8>, Refusal> {
    if kept.bytes() > MOST {
        let (bytes, uri) = (kept.bytes(), kept.id().uri());
        let why = format!("{bytes} bytes are too many to hand over at once; look into {uri} with `run_output`");
        return Err(Refusal::new(Code::InvalidArgument, why));
    }
    let mut bytes = vec![0; usize::try_from(kept.bytes()).unwrap_or_default()];
    let mut filled = 0;
    while filled < bytes.len() {
        match kept.read_at(filled as u64, &mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) => return Err(outputs::refused(&error)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The text of a result, for an error that has room for nothing else.
fn said(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
