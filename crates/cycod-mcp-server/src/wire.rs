//! Tools in the words of the protocol.

use std::sync::Arc;

use cycod_engine::definition::{self, Hints, Level, Produces, function_schema};
use rmcp::model::{self, ToolAnnotations};
use serde_json::{Map, Value as Json};

/// Writes a tool for a list. Its level is that of everything it reaches.
pub(crate) fn tool(tool: &definition::Tool, level: Level) -> model::Tool {
    let mut schema = function_schema(tool);
    let input = schema.get_mut("parameters").map(Json::take).unwrap_or_default();
    let description = tool.description.clone().unwrap_or_default();
    let mut wire = model::Tool::new(tool.name.to_string(), description, Arc::new(object(input)));
    wire.title.clone_from(&tool.title);
    wire.output_schema = tool.returns.as_ref().map(|schema| Arc::new(object(schema.json().clone())));
    wire.annotations = annotations(tool.hints, level);
    wire
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

fn object(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(object) => object,
        _ => Map::new(),
    }
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
