//! How a tool stands here: what keeps it from being called, and what a person should know before calling it.

use std::path::Path;

use cycod_engine::{
    Engine, Standing,
    catalog::{Availability, Entry, State},
    definition::{Host, Tool},
    diagnostic::visible,
    tags_of,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::shown_path;

/// One thing about a tool that is not as usual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// One word for it.
    pub word: &'static str,
    /// What follows the word: `: reason`, ` by whom`, or nothing.
    pub reason: String,
    /// Whether it is a mistake of somebody's, which keeps the tool from being used.
    pub is_mistake: bool,
}

/// Whether a tool is trusted; nothing where that is no question, or cannot be told.
pub fn trust_of(engine: &Engine, entry: &Entry) -> Option<Standing> {
    engine.standings(std::slice::from_ref(entry)).ok()?.pop()?
}

/// What is known of a tool beside its own file.
#[derive(Clone, Debug, Default)]
pub struct Beyond {
    /// Whether it is trusted; nothing where that is no question, or cannot be told.
    pub trust: Option<Standing>,
    /// What is wrong between it and the tools it uses, so that every call of it is refused.
    pub misuse: Option<String>,
}

impl Beyond {
    /// Looks it up for one tool.
    pub fn of(engine: &Engine, entry: &Entry) -> Self {
        Self { trust: trust_of(engine, entry), misuse: misuse_of(engine, entry) }
    }
}

/// What is wrong between a tool and those it uses, if anything is.
pub fn misuse_of(engine: &Engine, entry: &Entry) -> Option<String> {
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
pub fn notes(entry: &Entry, beyond: &Beyond, host: &Host) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |word: &'static str, is_mistake, reason: String| {
        let joint =
            if ["by ", "since "].iter().any(|word| reason.is_empty() || reason.starts_with(word)) { " " } else { ": " };
        // Some of it is text of the file, and goes where a person reads it.
        let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        notes.push(Note { word, reason: format!("{joint}{}", visible(&line)).trim_end().to_owned(), is_mistake });
    };
    match &entry.state {
        State::Active => {}
        State::Broken { problem } => note("broken", true, problem.to_string()),
        State::Duplicate { with } => {
            let others: Vec<String> = with.iter().map(|path| shown_path(path, host)).collect();
            note("duplicate", true, format!("also in {}", others.join(", ")));
        }
        State::Shadowed { by } => note("shadowed", false, format!("by {}", shown_path(by, host))),
    }
    if let Some(place) = entry.availability.turned_off() {
        note("disabled", false, format!("by {place}"));
    }
    let reasons = unavailable_reasons(entry, beyond.misuse.as_deref());
    if !reasons.is_empty() {
        note("unavailable", false, reasons.join("; "));
    }
    if let Some(trust) = beyond.trust.as_ref().filter(|trust| **trust != Standing::Trusted) {
        let since = if *trust == Standing::Changed { "since you trusted it" } else { "" };
        note(trust.name(), false, since.to_owned());
    }
    if let Some(deprecation) = &entry.summary.deprecated {
        note("deprecated", false, deprecation.message.clone().unwrap_or_default());
    }
    notes
}

/// A tool as a list shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the reference of `cycod list --format json` says what each is")]
pub struct ToolView<'a> {
    pub name: &'a str,
    pub scope: &'static str,
    pub path: String,
    pub level: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subcategory: Option<&'a str>,
    pub tags: Vec<&'a str>,
    pub platforms: Vec<&'static str>,
    pub parameters: Parameters,
    pub tests: u32,
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_reason: Option<StateReason<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<&'static str>,
    pub enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_reasons: Option<Vec<String>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub ignored: &'a [String],
    pub deprecated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated_message: Option<&'a str>,
}

/// What a tool takes: how much in a list, the schema where one tool is shown.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Parameters {
    Count(u32),
    Schema(Value),
}

/// Why the name of a tool does not lead to it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "as in `State`")]
pub enum StateReason<'a> {
    Shadowed { by: String },
    Duplicate { with: Vec<String> },
    Broken { code: &'static str, message: &'a str, line: Option<u32> },
}

impl<'a> ToolView<'a> {
    /// What is known of an entry.
    pub fn of(entry: &'a Entry, beyond: &Beyond) -> Self {
        let summary = &entry.summary;
        let path = |path: &Path| path.display().to_string();
        let (state, state_reason) = match &entry.state {
            State::Active => ("active", None),
            State::Shadowed { by } => ("shadowed", Some(StateReason::Shadowed { by: path(by) })),
            State::Duplicate { with } => {
                let with = with.iter().map(|other| path(other)).collect();
                ("duplicate", Some(StateReason::Duplicate { with }))
            }
            State::Broken { problem } => {
                let (code, message, line) = (problem.code.name(), problem.message.as_str(), problem.line);
                ("broken", Some(StateReason::Broken { code, message, line }))
            }
        };
        let is_broken = matches!(entry.state, State::Broken { .. });
        let unavailable = unavailable_reasons(entry, beyond.misuse.as_deref());
        let disabled_by = entry.availability.turned_off();
        Self {
            name: &entry.name,
            scope: entry.scope.name(),
            path: path(&entry.path),
            level: entry.level.name(),
            title: summary.title.as_deref(),
            group: summary.group.as_deref(),
            description: summary.description.as_deref(),
            version: summary.version.as_deref(),
            category: summary.category.as_deref(),
            subcategory: summary.subcategory.as_deref(),
            tags: tags_of(entry),
            platforms: summary.platforms.iter().map(|platform| platform.name()).collect(),
            parameters: Parameters::Count(summary.parameters),
            tests: summary.tests,
            state,
            state_reason,
            trust: beyond.trust.map(Standing::name),
            enabled: disabled_by.is_none(),
            disabled_by,
            available: (!is_broken).then_some(unavailable.is_empty()),
            unavailable_reasons: (!is_broken).then_some(unavailable),
            ignored: &summary.ignored,
            deprecated: summary.deprecated.is_some(),
            deprecated_message: summary.deprecated.as_ref().and_then(|deprecation| deprecation.message.as_deref()),
        }
    }
}

/// What a tool rests on that a file says about programs: `stated in .cycod/programs.yaml: fossa: text`.
pub fn stated(tool: &Tool, host: &Host) -> Option<String> {
    let file = tool.stated.file.as_ref().filter(|_| !tool.stated.natures.is_empty())?;
    let natures: Vec<String> =
        tool.stated.natures.iter().map(|(name, nature)| format!("{name}: {}", nature.name())).collect();
    let file = shown_path(Path::new(&file.source.name), host);
    Some(visible(&format!("stated in {file}: {}", natures.join(", "))).into_owned())
}

/// The same for a program: names and natures, with the file.
pub fn stated_json(tool: &Tool) -> Option<Value> {
    let file = tool.stated.file.as_ref().filter(|_| !tool.stated.natures.is_empty())?;
    let natures: Map<String, Value> =
        tool.stated.natures.iter().map(|(name, nature)| (name.clone(), json!(nature.name()))).collect();
    Some(json!({ "file": file.source.name, "programs": natures }))
}
