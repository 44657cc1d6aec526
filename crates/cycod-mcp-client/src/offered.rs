//! Makes tools of our own from what a server offers.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use cycod_definition::{Hints, JsonSchema, Level, RemoteTool, Tool, ToolName};
use cycod_store::{Digest, digest};
use serde_json::{Map, Value as Json, json};

use cycod_settings::{Server, ToolOverride, Transport};

use crate::{
    listing::Listing,
    overriding,
    text::{line, misleads, paragraph},
};

/// How a resource and a prompt are called among the tools of their server.
pub(crate) const RESOURCE: &str = "resource:";
pub(crate) const PROMPT: &str = "prompt:";

/// The most characters of a server's name for a tool.
const LONGEST_NAME: usize = 256;

/// The most bytes of a server's instructions that each of its tools is pinned with as they are.
const LONGEST_INSTRUCTIONS: usize = 4 * 1024;

/// A tool that a server offers, made ours.
#[derive(Clone, Debug)]
pub(crate) struct Offered {
    /// What the server calls it; empty when it has no name.
    pub(crate) remote: String,
    /// Everything about it that is pinned.
    pub(crate) definition: Json,
    /// The tool, or why it cannot be one.
    pub(crate) tool: Result<Tool, String>,
    /// What the user changed about it.
    pub(crate) change: ToolOverride,
    /// How long an answer of it counts for further calls.
    pub(crate) cache: Option<Duration>,
}

impl Offered {
    /// The digest of everything that is pinned.
    pub(crate) fn digest(&self) -> Digest {
        digest(&self.definition)
    }
}

/// Makes the tools of a listing ours. Tools that the user did not ask for are left out.
pub(crate) fn offered(server: &Server, instructions: Option<&str>, listing: &Listing) -> Vec<Offered> {
    let origin = origin(server);
    let mut found: Vec<Offered> = Vec::with_capacity(listing.tools.len());
    let mut names = HashMap::new();
    let instructions = instructions.map(pinned);
    let settings = server.tools();
    for wire in &listing.tools {
        let remote = wire["name"].as_str().unwrap_or_default();
        if !settings.wants(remote) {
            continue;
        }
        let (level, change) = (settings.level(remote), settings.changes(remote));
        let mut tool = adopt(server, remote, wire, level, &change);
        if let Ok(adopted) = &tool {
            match names.entry(adopted.name.key()) {
                Entry::Vacant(free) => _ = free.insert(remote),
                Entry::Occupied(taken) => {
                    let (first, name) = (line(taken.get()), &adopted.name);
                    tool = Err(format!("`{first}`, which the server offers before it, is called `{name}` as well"));
                }
            }
        }
        let definition = definition(wire, instructions.as_deref(), &origin);
        if let Ok(adopted) = &mut tool {
            // An approval is bound to this: it covers what the user made of the tool, too.
            let mut document = definition.clone();
            if !change.is_empty() {
                document["override"] = change.to_json();
            }
            if let Some(security) = &server.entry.security {
                document["security"] = security.to_json();
            }
            adopted.origin.document = Arc::new(document);
        }
        // Only calls that change nothing may be left out.
        let cache = change.cache.filter(|_| level == Some(Level::Read));
        found.push(Offered { remote: remote.to_owned(), definition, tool, change, cache });
    }
    found
}

/// What each tool is pinned with of its server's instructions: of long ones the beginning and a digest, because a server may
/// offer thousands of tools.
pub(crate) fn pinned(instructions: &str) -> Cow<'_, str> {
    if instructions.len() <= LONGEST_INSTRUCTIONS {
        return instructions.into();
    }
    let beginning = &instructions[..instructions.floor_char_boundary(LONGEST_INSTRUCTIONS)];
    let digest = Digest::of(instructions.as_bytes());
    format!("{beginning}… [{} bytes with the SHA-256 {digest}]", instructions.len()).into()
}

/// What is pinned of a tool: all that a person or a model is told about it, and who offers it.
fn definition(wire: &Json, instructions: Option<&str>, origin: &Json) -> Json {
    let mut pinned = Map::new();
    for key in ["name", "title", "description", "inputSchema", "outputSchema", "annotations"] {
        if let Some(value) = wire.get(key) {
            pinned.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(instructions) = instructions {
        pinned.insert("instructions".to_owned(), instructions.into());
    }
    pinned.insert("server".to_owned(), origin.clone());
    Json::Object(pinned)
}

/// Who offers the tools: the program that is started, or the address. Values of variables are not part of it.
pub(crate) fn origin(server: &Server) -> Json {
    match &server.entry.transport {
        Transport::Stdio { command, args, .. } => json!({ "command": command, "args": args }),
        Transport::Http { url, .. } => json!({ "url": url }),
    }
}

/// Only the user lowers a level; whatever the server says about itself changes nothing.
fn adopt(
    server: &Server,
    remote: &str,
    wire: &Json,
    level: Option<Level>,
    change: &ToolOverride,
) -> Result<Tool, String> {
    if remote.is_empty() || remote.chars().count() > LONGEST_NAME {
        return Err(format!("its name has to have 1 to {LONGEST_NAME} characters"));
    }
    if [RESOURCE, PROMPT]
        .iter()
        .any(|other| remote.get(..other.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(other)))
    {
        // A rule about resources or prompts must not be one about it.
        return Err(format!("its name begins with `{RESOURCE}` or `{PROMPT}`, as rules call what is no tool"));
    }
    // Arguments are an object whether a schema says so or not.
    let input = &wire["inputSchema"];
    if !input.is_object() || input.get("type").is_some_and(|name| *name != "object") {
        return Err("its `inputSchema` is not of type `object`".to_owned());
    }
    let schema = |key: &str| -> Result<JsonSchema, String> {
        let mut schema = wire[key].clone();
        show(&mut schema);
        if hides(&schema) {
            return Err(format!("its `{key}` has hidden characters where they cannot be shown"));
        }
        Ok(JsonSchema::from(schema))
    };
    let mut body = RemoteTool::new(server.name.as_str(), remote);
    body.output_tokens = change.output_tokens;
    body.fixed = change.fixed_arguments.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let name = name(&server.name, change.name.as_deref().unwrap_or(remote));
    let input = schema("inputSchema")?;
    let published = overriding::published(&input, change);
    let mut tool = Tool::remote(name.clone(), body.clone(), input);
    if let Some(published) = published {
        if let Some(stranger) = overriding::stranger(&tool, change) {
            return Err(stranger);
        }
        tool = Tool::remote(name, body, published);
    }
    tool.returns = wire.get("outputSchema").is_some().then(|| schema("outputSchema")).transpose()?;
    tool.description = change.description.as_deref().or_else(|| wire["description"].as_str()).map(paragraph);
    tool.title = wire["title"].as_str().or_else(|| wire["annotations"]["title"].as_str()).map(line);
    tool.group = Some(format!("mcp/{}", server.name));
    tool.timeout = server.entry.timeout;
    let hint = |key: &str| wire["annotations"][key].as_bool();
    tool.hints = Hints {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    };
    tool.tags = vec![level.unwrap_or(Level::Run).name().to_owned()];
    Ok(tool)
}

/// What something that a server calls `remote` is called here, unless the user changed that.
pub(crate) fn local_name(server: &Server, remote: &str) -> String {
    let change = server.tools().changes(remote);
    name(&server.name, change.name.as_deref().unwrap_or(remote)).to_string()
}

/// How everything of a server is called here: what its names begin with.
pub(crate) fn prefix(server: &str) -> String {
    format!("mcp_{}_", plain(server))
}

/// What a name may hold of a text.
fn plain(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// What a request to a server is called that is not about a tool or a prompt.
pub(crate) fn request_name(server: &str, request: &str) -> ToolName {
    name(server, request)
}

/// What a tool of a server is called here.
fn name(server: &str, remote: &str) -> ToolName {
    let name: String = format!("{}{}", prefix(server), plain(remote)).chars().take(64).collect();
    ToolName::new(&name).expect("it starts with a letter and holds only what a name may hold")
}

/// Shows hidden characters in what a schema says to its readers.
fn show(schema: &mut Json) {
    match schema {
        Json::Object(entries) => entries.iter_mut().for_each(|(key, value)| match (key.as_str(), value) {
            ("description" | "$comment", Json::String(text)) => *text = paragraph(text),
            ("title", Json::String(text)) => *text = line(text),
            ("default" | "const" | "enum" | "examples", _) => {}
            (_, value) => show(value),
        }),
        Json::Array(items) => items.iter_mut().for_each(show),
        _ => {}
    }
}

/// Whether hidden characters are left where they mean something: in names and values.
fn hides(schema: &Json) -> bool {
    let hidden = |text: &str| text.chars().any(misleads);
    match schema {
        Json::Object(entries) => entries.iter().any(|(key, value)| hidden(key) || hides(value)),
        Json::Array(items) => items.iter().any(hides),
        Json::String(text) => hidden(text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_instructions_are_pinned_by_their_digest() {
        let text = "é".repeat(LONGEST_INSTRUCTIONS);
        assert_eq!(pinned(&text[..LONGEST_INSTRUCTIONS]), text[..LONGEST_INSTRUCTIONS]);
        let whole = pinned(&text);
        assert!(whole.len() < LONGEST_INSTRUCTIONS + 200, "{}", whole.len());
        // Also a change behind what is kept is one.
        assert_ne!(whole, pinned(&format!("{}e!", &text[..text.len() - 2])));
    }
}
