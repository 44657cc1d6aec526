//! Tools in the words of the protocol.

use std::sync::Arc;

use cycod_engine::definition::{self, Hints, Level, function_schema};
use rmcp::model::{self, ToolAnnotations};
use serde_json::{Map, Value as Json};

/// Writes a tool for a list. Its level is that of everything it reaches.
pub(crate) fn tool(tool: &definition::Tool, level: Level) -> model::Tool {
    let mut schema = function_schema(tool);
    let input = schema.get_mut("parameters").map(Json::take).unwrap_or_default();
    let description = tool.description.clone().unwrap_or_default();
    let mut wire = model::Tool::new(tool.name.to_string(), description, Arc::new(object(input)));
    wire.title.clone_from(&tool.title);
    wire.output_schema = tool.returns.clone().map(|schema| Arc::new(object(schema)));
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
