//! How a tool stands here: what keeps it from being called, and what a person should know before calling it.

use std::path::Path;

use anstyle::Style;
use cycod_engine::{
    Engine, Standing,
    catalog::{Availability, Entry, Scope, State},
    definition::{Host, Tool},
    diagnostic::visible,
};
use serde_json::{Map, Value, json};

use crate::printer::{ERROR, WARNING};

/// One thing about a tool that is not as usual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// One word for it.
    pub(crate) word: &'static str,
    /// What follows the word: `: reason`, ` by whom`, or nothing.
    pub(crate) reason: String,
    /// How the word looks.
    pub(crate) style: Style,
}

/// Whether a tool is trusted; nothing where that is no question, or cannot be told.
pub(crate) fn trust_of(engine: &Engine, entry: &Entry) -> Option<Standing> {
    engine.standings(std::slice::from_ref(entry)).ok()?.pop()?
}

/// What is known of a tool beside its own file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beyond {
    /// Whether it is trusted; nothing where that is no question, or cannot be told.
    pub(crate) trust: Option<Standing>,
    /// What is wrong between it and the tools it uses, so that every call of it is refused.
    pub(crate) misuse: Option<String>,
}

impl Beyond {
    pub(crate) fn of(engine: &Engine, entry: &Entry) -> Self {
        Self { trust: trust_of(engine, entry), misuse: misuse_of(engine, entry) }
    }
}

/// What is wrong between a tool and those it uses, if anything is.
pub(crate) fn misuse_of(engine: &Engine, entry: &Entry) -> Option<String> {
    if entry.summary.uses.is_empty() || !entry.is_active() {
        return None;
    }
    let misuses = engine.misuses(&entry.load().ok()?.tool);
    let first = misuses.first()?;
    let step = first.step.as_ref().map(|step| format!("step `{step}`: ")).unwrap_or_default();
    Some(format!("{step}{}", first.why))
}

/// Why a tool that is on cannot be called.
fn unavailable_reasons(entry: &Entry, misuse: Option<&str>) -> Vec<String> {
    let of_machine = match &entry.availability.if_on() {
        Availability::Available => Vec::new(),
        Availability::Unavailable(reasons) => reasons.iter().map(ToString::to_string).collect(),
    };
    of_machine.into_iter().chain(misuse.map(str::to_owned)).collect()
}

/// Returns what is not as usual about an entry, the worst first.
pub(crate) fn notes(entry: &Entry, beyond: &Beyond, host: &Host) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |word: &'static str, style, reason: String| {
        let joint = if reason.is_empty() || reason.starts_with("by ") { " " } else { ": " };
        // Some of it is text of the file, and goes where a person reads it.
        let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        notes.push(Note { word, reason: format!("{joint}{}", visible(&line)).trim_end().to_owned(), style });
    };
    match &entry.state {
        State::Active => {}
        State::Broken { problem } => note("broken", ERROR, problem.to_string()),
        State::Duplicate { with } => {
            let others: Vec<String> = with.iter().map(|path| shown_path(path, host)).collect();
            note("duplicate", ERROR, format!("also in {}", others.join(", ")));
        }
        State::Shadowed { by } => note("shadowed", WARNING, format!("by {}", shown_path(by, host))),
    }
    if let Some(place) = entry.availability.turned_off() {
        note("disabled", WARNING, format!("by {place}"));
    }
    let reasons = unavailable_reasons(entry, beyond.misuse.as_deref());
    if !reasons.is_empty() {
        note("unavailable", WARNING, reasons.join("; "));
    }
    if let Some(trust) = beyond.trust.as_ref().filter(|trust| **trust != Standing::Trusted) {
        note(trust.name(), WARNING, String::new());
    }
    if let Some(deprecation) = &entry.summary.deprecated {
        note("deprecated", WARNING, deprecation.message.clone().unwrap_or_default());
    }
    notes
}

/// Returns what a program wants to know of an entry.
pub(crate) fn entry_json(entry: &Entry, beyond: &Beyond) -> Value {
    let summary = &entry.summary;
    let mut object = Map::new();
    let mut set = |key: &str, value: Value| _ = object.insert(key.to_owned(), value);
    set("name", json!(entry.name));
    set("scope", json!(entry.scope.name()));
    set("path", json!(entry.path.display().to_string()));
    set("level", json!(entry.level.name()));
    set("title", json!(summary.title));
    set("group", json!(summary.group));
    set("description", json!(summary.description));
    set("version", json!(summary.version));
    set("category", json!(summary.category));
    set("subcategory", json!(summary.subcategory));
    set("tags", json!(tags(entry)));
    set("platforms", summary.platforms.iter().map(|platform| platform.name()).collect());
    set("parameters", json!(summary.parameters));
    set("tests", json!(summary.tests));
    let (state, reason) = match &entry.state {
        State::Active => ("active", Value::Null),
        State::Shadowed { by } => ("shadowed", json!({ "by": by.display().to_string() })),
        State::Duplicate { with } => {
            ("duplicate", json!({ "with": with.iter().map(|path| path.display().to_string()).collect::<Vec<_>>() }))
        }
        State::Broken { problem } => {
            ("broken", json!({ "code": problem.code.name(), "message": problem.message, "line": problem.line }))
        }
    };
    set("state", json!(state));
    set("state-reason", reason);
    set("trust", json!(beyond.trust.as_ref().map(|trust| trust.name())));
    set("enabled", json!(entry.availability.turned_off().is_none()));
    set("disabled-by", json!(entry.availability.turned_off()));
    let unavailable = unavailable_reasons(entry, beyond.misuse.as_deref());
    if !matches!(entry.state, State::Broken { .. }) {
        set("available", json!(unavailable.is_empty()));
        set("unavailable-reasons", json!(unavailable));
    }
    if !summary.ignored.is_empty() {
        set("ignored", json!(summary.ignored));
    }
    set("deprecated", json!(summary.deprecated.is_some()));
    set(
        "deprecated-message",
        json!(summary.deprecated.as_ref().and_then(|deprecation| deprecation.message.as_deref())),
    );
    object.retain(|_, value| !value.is_null());
    Value::Object(object)
}

/// The group that an entry is listed under; one that its author put into none is among the custom ones.
pub(crate) fn group(entry: &Entry) -> &str {
    match (&entry.summary.group, entry.scope) {
        (Some(group), _) => group,
        (None, Scope::Mcp) => "mcp",
        (None, _) => "custom",
    }
}

/// Every tag of a tool once, those with a security meaning first.
pub(crate) fn tags(entry: &Entry) -> Vec<&str> {
    let mut tags: Vec<&str> = Vec::new();
    for tag in entry.summary.tags.iter().chain(&entry.summary.metadata_tags) {
        if !tags.iter().any(|known| known.eq_ignore_ascii_case(tag)) {
            tags.push(tag);
        }
    }
    tags
}

/// What a tool rests on that a file says about programs: `stated in .cycod/programs.yaml: fossa: text`.
pub(crate) fn stated(tool: &Tool, host: &Host) -> Option<String> {
    let file = tool.stated.file.as_ref().filter(|_| !tool.stated.natures.is_empty())?;
    let natures: Vec<String> =
        tool.stated.natures.iter().map(|(name, nature)| format!("{name}: {}", nature.name())).collect();
    let file = shown_path(Path::new(&file.source.name), host);
    Some(visible(&format!("stated in {file}: {}", natures.join(", "))).into_owned())
}

/// The same for a program: names and natures, with the file.
pub(crate) fn stated_json(tool: &Tool) -> Option<Value> {
    let file = tool.stated.file.as_ref().filter(|_| !tool.stated.natures.is_empty())?;
    let natures: Map<String, Value> =
        tool.stated.natures.iter().map(|(name, nature)| (name.clone(), json!(nature.name()))).collect();
    Some(json!({ "file": file.source.name, "programs": natures }))
}

/// A path as a person would write it from where they stand.
pub(crate) fn shown_path(path: &Path, host: &Host) -> String {
    match (path.strip_prefix(&host.working_directory), path.strip_prefix(&host.home)) {
        (Ok(here), _) if here.components().next().is_some() => here.display().to_string(),
        (_, Ok(home)) => Path::new("~").join(home).display().to_string(),
        _ => path.display().to_string(),
    }
}
