//! The list of tools.

use std::collections::HashMap;

use cycod_app::views::{Beyond, Note, ago, notes, outcome};
use cycod_engine::{Engine, Registered, tags_of, tokens::Measure};
use cycod_store::{Filter, History, State};

use super::Paged;
use crate::form::Form;

/// How many calls are read to say when each tool ran last.
const CALLS: usize = 2000;

/// A page of the list.
pub(crate) struct Tools {
    /// Those that are wanted.
    pub(crate) rows: Paged<ToolRow>,
    /// How many tools there are.
    pub(crate) all: usize,
    pub(crate) sources: Vec<&'static str>,
    pub(crate) groups: Vec<String>,
    /// What models pay for all tools that they are offered.
    pub(crate) tokens: usize,
}

/// A tool in the list.
pub(crate) struct ToolRow {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) source: &'static str,
    pub(crate) level: &'static str,
    pub(crate) tokens: Option<usize>,
    pub(crate) notes: Vec<Note>,
    pub(crate) last: Option<Last>,
}

/// When a tool ran last.
#[derive(Clone)]
pub(crate) struct Last {
    pub(crate) run: String,
    pub(crate) state: State,
    pub(crate) outcome: String,
    pub(crate) when: String,
}

impl Tools {
    /// Those that a query wants.
    pub(crate) fn of(engine: &Engine, history: &History, query: &Form) -> Self {
        let registry = engine.registry(Measure::ESTIMATE);
        let words: Vec<String> =
            query.text("q").unwrap_or_default().split_whitespace().map(str::to_lowercase).collect();
        let is = |name: &str, value: &str| query.filled(name).is_none_or(|wanted| wanted == value);
        let wanted: Vec<&Registered> = registry
            .tools
            .iter()
            .filter(|tool| {
                let entry = &tool.entry;
                let text = || {
                    let summary = &entry.summary;
                    let [title, description] =
                        [&summary.title, &summary.description].map(|text| text.as_deref().unwrap_or_default());
                    format!("{} {title} {description} {}", entry.name, tags_of(entry).join(" ")).to_lowercase()
                };
                is("source", tool.source.name())
                    && is("level", entry.level.name())
                    && is("group", entry.summary.group.as_deref().unwrap_or_default())
                    && (words.is_empty() || words.iter().all(|word| text().contains(word)))
            })
            .collect();
        let last = last_runs(history);
        let rows = Paged::of(&wanted, query.number("page"), |tool| row(engine, tool, &last));
        let mut sources: Vec<&str> = registry.tools.iter().map(|tool| tool.source.name()).collect();
        sources.dedup();
        let mut groups: Vec<String> =
            registry.tools.iter().filter_map(|tool| tool.entry.summary.group.clone()).collect();
        groups.sort_unstable();
        groups.dedup();
        let tokens = registry.total();
        Self { rows, all: registry.tools.len(), sources, groups, tokens }
    }
}

/// A tool as a row.
pub(crate) fn row(engine: &Engine, tool: &Registered, last: &HashMap<String, Last>) -> ToolRow {
    let entry = &tool.entry;
    let beyond = Beyond { trust: tool.standing, misuse: None };
    ToolRow {
        name: entry.name.clone(),
        description: entry.summary.description.clone().unwrap_or_default(),
        source: tool.source.name(),
        level: entry.level.name(),
        tokens: tool.tokens,
        notes: notes(entry, &beyond, engine.host()),
        last: last.get(&entry.name.to_ascii_lowercase()).cloned(),
    }
}

/// When each tool ran last; a history that cannot be read says nothing about it.
pub(crate) fn last_runs(history: &History) -> HashMap<String, Last> {
    let mut last = HashMap::new();
    _ = history.each_run(&Filter { limit: CALLS, ..Filter::default() }, &mut |run| {
        if run.state != State::Refused {
            last.entry(run.tool.to_ascii_lowercase()).or_insert_with(|| Last {
                run: run.id.clone(),
                state: run.state,
                outcome: outcome(&run),
                when: ago(run.at),
            });
        }
        true
    });
    last
}
