use std::{path::PathBuf, sync::Arc};

use cycod_definition::{Body, Level, Tool, level};
use cycod_diagnostic::SourceFile;
use serde_json::{Map, Value as Json, json};

use crate::availability::Machine;
use crate::{Availability, DirectoryStyle, Entry, Scope, State, Summary, ToolOrigin, UnavailableReason};

/// A tool that no file describes: another program offers it, or this one has it built in.
#[derive(Clone, Debug)]
pub struct Adopted {
    /// The tool.
    pub tool: Tool,
    /// Where it comes from.
    pub origin: Arc<ToolOrigin>,
    /// Why it may not be called now.
    pub withheld: Option<String>,
}

impl PartialEq for Adopted {
    /// Whether both are the same tool of the same program, in the same state.
    fn eq(&self, other: &Self) -> bool {
        let remote = |adopted: &Self| match &adopted.tool.body {
            Body::Remote(remote) => Some(remote.clone()),
            _ => None,
        };
        remote(self) == remote(other) && self.withheld == other.withheld
    }
}

impl Eq for Adopted {}

impl Adopted {
    /// The entry of the tool. It takes no name away from files.
    pub(crate) fn entry(self: &Arc<Self>, shadowed: Option<PathBuf>, machine: &Machine) -> Entry {
        let own_level = level(&self.tool, &|_| None);
        let summary = Summary::of(&self.tool, own_level, 0);
        let availability = match &self.withheld {
            Some(why) => Availability::Unavailable(vec![UnavailableReason::Withheld(why.clone())]),
            None if self.is_built_in() => machine.availability(&summary),
            None => Availability::Available,
        };
        Entry {
            name: self.tool.name.as_str().to_owned(),
            path: self.place().into(),
            scope: if self.is_built_in() { Scope::BuiltIn } else { Scope::Mcp },
            origin: Arc::clone(&self.origin),
            style: if self.is_built_in() { DirectoryStyle::BuiltIn } else { DirectoryStyle::Mcp },
            places: Arc::default(),
            summary: Arc::new(summary),
            level: own_level,
            state: shadowed.map_or(State::Active, |by| State::Shadowed { by }),
            availability,
            adopted: Some(Arc::clone(self)),
        }
    }

    /// Whether this program carries it out itself.
    pub(crate) fn is_built_in(&self) -> bool {
        !matches!(self.tool.body, Body::Remote(_))
    }

    /// Where it comes from, in place of a file: `mcp:SERVER/TOOL` or `builtin:TOOL`.
    fn place(&self) -> String {
        match &self.tool.body {
            Body::Remote(remote) => format!("mcp:{}/{}", remote.server, remote.tool),
            _ => format!("builtin:{}", self.tool.name),
        }
    }

    /// What a file would say about it.
    pub(crate) fn source(&self) -> SourceFile {
        let tool = &self.tool;
        let mut document = Map::new();
        let mut set = |key: &str, value: Option<Json>| {
            if let Some(value) = value {
                document.insert(key.to_owned(), value);
            }
        };
        set("name", Some(json!(tool.name.as_str())));
        set("title", tool.title.clone().map(Json::String));
        set("description", tool.description.clone().map(Json::String));
        match &tool.body {
            Body::Remote(_) => set("mcp", Some(json!(self.place().trim_start_matches("mcp:")))),
            _ => set("built-in", Some(json!(true))),
        }
        set("tags", Some(json!(tool.tags)));
        set("input-schema", tool.input_schema.as_ref().map(|schema| schema.json().clone()));
        set("returns", tool.returns.as_ref().map(|schema| schema.json().clone()));
        SourceFile::new(self.place(), format!("{:#}\n", Json::Object(document)))
    }

    /// How dangerous it is.
    pub(crate) fn level(&self) -> Level {
        level(&self.tool, &|_| None)
    }
}
