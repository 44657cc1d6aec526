//! Tools of the project that wait to be trusted, and what is to be judged about each.

use std::sync::Arc;

use cycod_app::{shown_path, views::SubjectView};
use cycod_engine::{
    Engine, Standing,
    catalog::ScopeFilter,
    diagnostic::{Code, Refusal},
    trust::{Mark, TrustSubject},
};

use super::Paged;
use crate::form::Form;

/// The page of everything that waits.
pub(crate) struct TrustList {
    pub(crate) rows: Paged<TrustRow>,
    /// How many tools of the project are trusted.
    pub(crate) trusted: usize,
}

/// A tool that waits.
pub(crate) struct TrustRow {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) level: &'static str,
    pub(crate) is_changed: bool,
    pub(crate) reaches_network: bool,
    /// Whether it is confined to what it declares.
    pub(crate) is_confined: bool,
    pub(crate) warnings: Vec<String>,
}

/// The page of a tool: itself and the tools of the project that it reaches.
pub(crate) struct TrustPage {
    pub(crate) name: String,
    /// Those that wait.
    pub(crate) cards: Vec<TrustCard>,
    /// Whether the tool itself is one that can be trusted no longer.
    pub(crate) can_stop: bool,
}

/// What is to be judged about a tool.
pub(crate) struct TrustCard {
    pub(crate) row: TrustRow,
    pub(crate) path: String,
    pub(crate) digest: String,
    /// The programs of the project that it starts.
    pub(crate) programs: Vec<String>,
    /// What it starts that trust in it cannot rest on.
    pub(crate) unpinned: Vec<String>,
    /// All that it does.
    pub(crate) text: String,
    /// What is different since it was trusted.
    pub(crate) difference: Vec<(Mark, String)>,
}

impl TrustList {
    /// Everything that waits in the engine's project.
    ///
    /// # Errors
    /// When what is trusted cannot be told.
    pub(crate) fn of(engine: &Engine, query: &Form) -> Result<Self, Refusal> {
        let mut subjects = each_file_once(engine.project_tools()?);
        let all = subjects.len();
        subjects.retain(|subject| subject.standing != Standing::Trusted);
        let rows = Paged::of(&subjects, query.number("page"), |one| TrustRow::of(engine, one));
        Ok(Self { rows, trusted: all - subjects.len() })
    }
}

impl TrustRow {
    fn of(engine: &Engine, subject: &TrustSubject) -> Self {
        let (level, reaches_network) = engine.told_reach(subject);
        Self {
            name: subject.name().to_owned(),
            description: subject.tool.description.clone().unwrap_or_default(),
            level: level.name(),
            is_changed: subject.standing == Standing::Changed,
            reaches_network,
            is_confined: !subject.tool.security.permissions.is_empty(),
            warnings: engine.warnings(subject),
        }
    }
}

impl TrustPage {
    /// Of the tool of a name.
    ///
    /// # Errors
    /// When there is no such tool, or what is trusted cannot be told.
    pub(crate) fn of(engine: &Engine, name: &str) -> Result<Self, Refusal> {
        let subjects = subjects(engine, name)?;
        let is_itself = |subject: &TrustSubject| subject.name().eq_ignore_ascii_case(name);
        let can_stop = subjects.iter().any(|subject| is_itself(subject) && subject.standing == Standing::Trusted);
        let waiting = subjects.iter().filter(|subject| subject.standing != Standing::Trusted);
        let cards = waiting.map(|subject| TrustCard::of(engine, subject)).collect();
        Ok(Self { name: name.to_owned(), cards, can_stop })
    }
}

impl TrustCard {
    fn of(engine: &Engine, subject: &TrustSubject) -> Self {
        let view = SubjectView::of(subject);
        Self {
            row: TrustRow::of(engine, subject),
            path: shown_path(subject.path(), engine.host()),
            programs: view.programs.iter().map(|path| (*path).to_owned()).collect(),
            unpinned: view.unpinned.to_vec(),
            text: engine.described(&subject.tool),
            difference: engine.difference(subject).map(|difference| difference.0).unwrap_or_default(),
            digest: view.digest,
        }
    }
}

/// The tools of the project that the tool of a name needs trust for, each file once.
///
/// # Errors
/// When there is no such tool, or what is trusted cannot be told.
pub(crate) fn subjects(engine: &Engine, name: &str) -> Result<Vec<TrustSubject>, Refusal> {
    let opened = engine.open_tool(name, ScopeFilter::Any);
    let tool = opened.map_err(|error| Refusal::new(Code::UnknownTool, error.to_string()))?.tool;
    Ok(each_file_once(engine.subjects(&Arc::new(tool))?))
}

/// By name, each file once.
fn each_file_once(mut subjects: Vec<TrustSubject>) -> Vec<TrustSubject> {
    subjects.sort_by_key(|subject| subject.name().to_ascii_lowercase());
    subjects.dedup_by(|one, other| one.path() == other.path());
    subjects
}
