//! What `cycod info` shows of a tool, for people and as JSON.

use std::collections::BTreeSet;

use cycod_engine::{
    Engine,
    catalog::{DirectoryStyle, Entry, ToolOrigin},
    definition::{Body, FleetWorkspace, RunSite, TestCase, Tool, document_json, function_schema},
    diagnostic::SourceFile,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Beyond, Parameters, ToolView, stated_json};
use crate::command_line::{literal, quoted, sample_arguments};

/// Where a tool comes from.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "as in `Origin`")]
pub struct OriginView<'a> {
    pub source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'a str>,
}

impl<'a> OriginView<'a> {
    /// Of an entry.
    pub fn of(entry: &'a Entry) -> Self {
        let ToolOrigin { source, version, owner } = &*entry.origin;
        Self { source: source.name(), version: version.as_deref(), owner: owner.as_deref() }
    }

    /// In a few words, such as `mcp, weather 1.2.0`.
    pub fn in_words(&self) -> String {
        let names: Vec<&str> = self.owner.into_iter().chain(self.version).collect();
        if names.is_empty() { self.source.to_owned() } else { format!("{}, {}", self.source, names.join(" ")) }
    }
}

/// What somebody wants to know who is to use a tool.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the reference of `cycod info --format json` says what each is")]
pub struct ToolInfo<'a> {
    #[serde(flatten)]
    pub tool: ToolView<'a>,
    pub source: String,
    pub origin: OriginView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub runs_on: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Value>,
    /// `same-worker` if the steps of a durable run stay with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_on: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examples: Option<Vec<String>>,
}

impl<'a> ToolInfo<'a> {
    /// Of an entry and what a caller meets of it; `tool` is absent when the file is broken.
    pub fn of(engine: &Engine, entry: &'a Entry, tool: Option<&'a Tool>) -> Self {
        let view = ToolView::of(entry, &Beyond::of(engine, entry));
        let parameters = tool.map(|tool| Parameters::Schema(function_schema(tool)["parameters"].clone()));
        let permissions =
            |tool: &'a Tool| tool.security.permissions.iter().map(|permission| permission.source.as_str()).collect();
        Self {
            tool: ToolView { parameters: parameters.unwrap_or(view.parameters), ..view },
            source: kind(entry, tool),
            origin: OriginView::of(entry),
            permissions: tool.map(permissions),
            stated: tool.and_then(stated_json),
            on: tool.filter(|tool| tool.on == RunSite::Fleet).map(|_| "fleet"),
            runs_on: tool.map(Tool::worker_labels).unwrap_or_default(),
            workspace: tool.and_then(|tool| match &tool.workspace {
                FleetWorkspace::None => None,
                FleetWorkspace::Snapshot => Some(json!("snapshot")),
                FleetWorkspace::Shared(name) => Some(json!({"shared": name.as_str()})),
            }),
            keep_on: tool.filter(|tool| tool.keep_on).map(|_| "same-worker"),
            examples: tool.map(|_| examples(entry, tool)),
        }
    }
}

/// A tool with the definition in its file.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolDetail<'a> {
    #[serde(flatten)]
    pub tool: ToolView<'a>,
    pub run: String,
    pub origin: OriginView<'a>,
    pub definition: Value,
}

impl<'a> ToolDetail<'a> {
    /// Of an entry with its text and what a caller meets of it.
    pub fn of(engine: &Engine, entry: &'a Entry, tool: Option<&Tool>, source: &SourceFile) -> Self {
        Self {
            tool: ToolView::of(entry, &Beyond::of(engine, entry)),
            run: example(entry, tool),
            origin: OriginView::of(entry),
            definition: document_json(source).unwrap_or_default(),
        }
    }
}

/// What kind of tool it is, and what runs it.
pub fn kind(entry: &Entry, tool: Option<&Tool>) -> String {
    let runtime = match tool.map(|tool| &tool.body) {
        Some(Body::Handler(handler)) => format!(", run by {}", handler.runtime),
        _ => String::new(),
    };
    let extension = entry.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let kind = match entry.style {
        DirectoryStyle::BuiltIn => "built in".to_owned(),
        DirectoryStyle::Mcp => format!("MCP server, as {}", entry.path.display()),
        DirectoryStyle::Cassidy => "custom, Markdown of `.cassidy`, which is only read".to_owned(),
        DirectoryStyle::Mimir => "custom, YAML of `.mimir`, which is only read".to_owned(),
        DirectoryStyle::Cycod if extension.eq_ignore_ascii_case("md") => "custom, Markdown".to_owned(),
        DirectoryStyle::Cycod => "custom, YAML".to_owned(),
    };
    format!("{kind}{runtime}")
}

/// Command lines that run the tool: one with what it needs, and one for each of its tests that must succeed.
pub fn examples(entry: &Entry, tool: Option<&Tool>) -> Vec<String> {
    let mut examples = vec![example(entry, tool)];
    let Some(tool) = tool else { return examples };
    let succeeds = |test: &&TestCase| test.expected.exit_code.is_none_or(|code| code == 0);
    for test in tool.tests.iter().filter(succeeds) {
        let given = test.parameters.iter().map(|(name, value)| format!(" {name}={}", quoted(&literal(value))));
        let line = format!("cycod run {}{}", entry.name, given.collect::<String>());
        if line.len() <= 200 && !examples.contains(&line) {
            examples.push(line);
        }
    }
    examples
}

/// A command line that runs the tool, with values that it accepts where its author gave any.
pub fn example(entry: &Entry, tool: Option<&Tool>) -> String {
    let scope = if entry.is_active() { String::new() } else { format!(" --scope {}", entry.scope) };
    format!("cycod run {}{scope}{}", entry.name, tool.map(sample_arguments).unwrap_or_default())
}
