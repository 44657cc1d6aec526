//! Tools in the words of the protocol.

use std::sync::Arc;

use cycod_engine::{
    SpanContext,
    definition::{self, Hints, JsonSchema, Level, Produces, arguments_schema},
};
use cycod_schema::{Era, published_input, published_output, wrapped_output};
use rmcp::{
    RoleServer,
    model::{self, CallToolResult, JsonObject, ToolAnnotations},
    service::RequestContext,
};
use serde_json::Value as Json;

/// The span in which the client works, as the request says it in `_meta`, or in the headers that brought it.
pub(crate) fn trace(context: &RequestContext<RoleServer>) -> Option<SpanContext> {
    let headers = context.extensions.get::<hyper::http::request::Parts>().map(|parts| &parts.headers);
    let header = |name: &str| headers?.get(name)?.to_str().ok();
    let (parent, state) = match context.meta.get_traceparent() {
        Some(parent) => (parent, context.meta.get_tracestate()),
        None => (header("traceparent")?, header("tracestate")),
    };
    Some(SpanContext::parse(parent)?.with_state(state))
}

/// A tool for a list.
pub(crate) struct Listed {
    pub(crate) tool: model::Tool,
    /// What it returns, for clients of the era with handshakes where they are shown something else.
    pub(crate) older_output: Option<Arc<JsonObject>>,
}

/// Writes a tool for a list. Its level is that of everything it reaches.
pub(crate) fn tool(tool: &definition::Tool, level: Level) -> Listed {
    let description = tool.description.clone().unwrap_or_default();
    let input = Arc::new(published_input(&arguments_schema(tool)));
    let mut wire = model::Tool::new(tool.name.to_string(), description, input);
    wire.title.clone_from(&tool.title);
    wire.annotations = annotations(tool.hints, level);
    let mut older_output = None;
    if let Some(returns) = tool.returns.as_ref().filter(|returns| is_applicable(returns)) {
        let [newer, older] = [Era::Stateless, Era::Handshake].map(|era| published_output(returns.json(), era).schema);
        older_output = (older != newer).then(|| Arc::new(older));
        wire.output_schema = Some(Arc::new(newer));
    }
    Listed { tool: wire, older_output }
}

/// Whether values can be held against a schema. That of another program's tool may be none.
fn is_applicable(schema: &JsonSchema) -> bool {
    schema.violations(&Json::Null).is_ok()
}

/// Writes the result of a tool that returns what `returns` says for the era of a client: in the one with handshakes,
/// structured content is an object or the whole result is lost.
pub(crate) fn for_era(mut result: CallToolResult, returns: Option<&JsonSchema>, is_modern: bool) -> CallToolResult {
    if is_modern {
        return result;
    }
    let returns = returns.filter(|returns| is_applicable(returns));
    if let Some(value) = result.structured_content.take() {
        // Clients hold an error to the schema, too. What it says is in its text.
        let is_kept = result.is_error != Some(true)
            || returns.is_none_or(|returns| returns.violations(&value).is_ok_and(|violations| violations.is_empty()));
        let is_wrapped = returns.map_or(!value.is_object(), |returns| Era::Handshake.wraps(returns.json()));
        result.structured_content = is_kept.then(|| if is_wrapped { wrapped_output(value) } else { value });
    }
    result
}

/// What a host is told about a tool's effects: only what differs from what it must assume.
fn annotations(hints: Hints, level: Level) -> Option<ToolAnnotations> {
    // A hint makes a tool look more dangerous than its level, never less.
    let read_only = level == Level::Read && hints.read_only != Some(false);
    let destructive = if read_only { None } else { hints.destructive.filter(|destructive| !destructive) };
    let annotations = ToolAnnotations::from_raw(
        None,
        read_only.then_some(true),
        destructive,
        hints.idempotent.filter(|idempotent| *idempotent),
        hints.open_world.filter(|open| !open),
    );
    (annotations != ToolAnnotations::new()).then_some(annotations)
}

/// Writes a tool as a prompt.
pub(crate) fn prompt(tool: &definition::Tool) -> model::Prompt {
    let arguments = tool.parameters.iter().filter(|parameter| !parameter.asked).map(|parameter| {
        let argument = model::PromptArgument::new(&parameter.name).with_required(parameter.is_needed());
        if parameter.description.is_empty() { argument } else { argument.with_description(&parameter.description) }
    });
    let arguments: Vec<_> = arguments.collect();
    let mut prompt = model::Prompt::new(
        tool.name.as_str(),
        tool.description.clone(),
        Some(arguments).filter(|arguments| !arguments.is_empty()),
    );
    prompt.title.clone_from(&tool.title);
    prompt
}

/// Writes a tool as a resource.
pub(crate) fn resource(tool: &definition::Tool, uri: &str) -> model::Resource {
    let mut resource = model::Resource::new(uri, tool.name.as_str()).with_mime_type(media_type(tool));
    resource.title.clone_from(&tool.title);
    resource.description.clone_from(&tool.description);
    resource
}

/// Writes a tool as a template of resources.
pub(crate) fn template(tool: &definition::Tool, uri: &str) -> model::ResourceTemplate {
    let mut template = model::ResourceTemplate::new(uri, tool.name.as_str()).with_mime_type(media_type(tool));
    template.title.clone_from(&tool.title);
    template.description.clone_from(&tool.description);
    template
}

/// What a tool's output is, as a media type.
pub(crate) fn media_type(tool: &definition::Tool) -> &str {
    match &tool.produces {
        Produces::Text => "text/plain",
        Produces::Json | Produces::Blocks => "application/json",
        Produces::Media(media_type) => media_type,
    }
}
