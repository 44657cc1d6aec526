//! What the user's overrides make of the schema of a tool, and of the arguments of its calls.

use cycod_definition::{JsonSchema, Tool, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_settings::ToolOverride;
use rmcp::model::JsonObject;
use serde_json::{Map, Value as Json};

use crate::text::{answer, line};

/// Keywords beside `properties` that relate arguments to one another. With fixed arguments, callers don't see all of them; the
/// whole call is held to the whole schema.
const RELATIONS: [&str; 12] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "minProperties",
    "maxProperties",
];

/// Says which argument of an override the tool does not take.
pub(crate) fn stranger(tool: &Tool, change: &ToolOverride) -> Option<String> {
    if tool.takes_more() {
        return None;
    }
    let keys = [("fixed-arguments", &change.fixed_arguments), ("default-arguments", &change.default_arguments)];
    keys.into_iter().find_map(|(key, arguments)| {
        let name = arguments.keys().find(|name| tool.parameter(name).is_none())?;
        Some(format!("`{}` in `{key}` of its entry is not a parameter of it", line(name)))
    })
}

/// The schema that callers see: without the fixed arguments, and with the user's defaults. Nothing when it is the tool's own.
pub(crate) fn published(schema: &JsonSchema, change: &ToolOverride) -> Option<JsonSchema> {
    if change.fixed_arguments.is_empty() && change.default_arguments.is_empty() {
        return None;
    }
    let mut schema = schema.json().clone();
    let entries = schema.as_object_mut()?;
    if !change.fixed_arguments.is_empty() {
        RELATIONS.iter().for_each(|key| drop(entries.shift_remove(*key)));
    }
    let properties = entries.entry("properties").or_insert_with(|| Json::Object(Map::new()));
    if let Json::Object(properties) = properties {
        change.fixed_arguments.keys().for_each(|name| drop(properties.shift_remove(name)));
        for (name, value) in &change.default_arguments {
            let property = properties.entry(name.as_str()).or_insert_with(|| Json::Object(Map::new()));
            if !property.is_object() {
                *property = Json::Object(Map::new());
            }
            property["default"] = value.clone();
        }
    }
    if let Some(Json::Array(required)) = entries.get_mut("required") {
        required.retain(|name| {
            let name = name.as_str().unwrap_or_default();
            !change.fixed_arguments.contains_key(name) && !change.default_arguments.contains_key(name)
        });
        if required.is_empty() {
            entries.shift_remove("required");
        }
    }
    Some(schema.into())
}

/// Says which value of an override the tool's own schema does not allow.
pub(crate) fn misfit(definition: &Json, change: &ToolOverride) -> Option<String> {
    let mut all = change.default_arguments.clone();
    all.extend(change.fixed_arguments.clone());
    if all.is_empty() {
        return None;
    }
    let mut schema = definition["inputSchema"].clone();
    // Only some of the arguments are here.
    if let Json::Object(entries) = &mut schema {
        RELATIONS.iter().chain(&["required"]).for_each(|key| drop(entries.shift_remove(*key)));
    }
    let schema = JsonSchema::from(schema);
    let violations = schema.violations(&Json::Object(all)).ok()?;
    let violation = violations.first()?;
    let place = violation.instance_pointer.trim_start_matches('/');
    Some(format!("the value of `{}` in its override is wrong: {}", line(place), line(&violation.message)))
}

/// The arguments that a server gets: those of the call, and the fixed ones.
///
/// # Errors
/// When they are not what the tool takes.
pub(crate) fn whole(
    server: &str,
    tool: &str,
    definition: &Json,
    mut given: JsonObject,
    fixed: &[(String, Value)],
) -> Result<JsonObject, Refusal> {
    if fixed.is_empty() {
        return Ok(given);
    }
    given.extend(fixed.iter().map(|(name, value)| (name.clone(), value.to_json())));
    let all = Json::Object(given);
    // The schema may not be applicable at all; then it holds nobody to anything.
    if let Ok(Some(violation)) = JsonSchema::from(definition["inputSchema"].clone())
        .violations(&all)
        .map(|violations| violations.into_iter().next())
    {
        let place = violation.instance_pointer.trim_start_matches('/');
        let place = if place.is_empty() { String::new() } else { format!("`{place}`: ") };
        let why = format!(
            "with the arguments that are fixed in `mcp.json`, the call of `{tool}` doesn't match its schema: {}",
            answer(&format!("{place}{}", violation.message))
        );
        let refusal = Refusal::new(Code::InvalidArgument, why).place(server);
        return Err(refusal.attempt(format!("cycod mcp get {server}")));
    }
    let Json::Object(all) = all else { unreachable!("it was made of an object") };
    Ok(all)
}
