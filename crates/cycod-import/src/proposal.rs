//! What comes out: a tool for each task, and what it lacks.

use std::collections::HashMap;

use cycod_diagnostic::visible;

use crate::{
    TaskKind, TaskSource,
    draft::{Body, Draft, Found},
    names::{self, Taken},
};

/// What a source becomes.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The tools, in the order of the tasks.
    pub proposals: Vec<TaskProposal>,
    /// What of the source belongs to no task and could not be carried over.
    pub losses: Vec<TaskLoss>,
}

/// A tool for one task.
#[derive(Clone, Debug)]
pub struct TaskProposal {
    /// The tool's name.
    pub name: String,
    /// What the source calls the task.
    pub task: String,
    /// Where the task stands, from 1.
    pub line: usize,
    /// The tool file.
    pub yaml: String,
    /// Why it is not meant to become a tool unless somebody names it.
    pub withheld: Option<String>,
    /// What could not be carried over.
    pub losses: Vec<TaskLoss>,
}

/// Something that could not be carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLoss {
    /// Where it stands, from 1.
    pub line: usize,
    /// What it is.
    pub what: String,
    /// Why, or what takes its place.
    pub why: String,
}

/// The longest description that is carried over; hosts hand every one of them to a model.
const MAX_DESCRIPTION: usize = 1000;

/// Gives names and writes the files.
pub(crate) fn propose(kind: TaskKind, source: &TaskSource<'_>, mut found: Found) -> Imported {
    let losses = &mut found.losses;
    found.drafts.retain(|draft| {
        let why = if draft.has_nul() {
            "it holds a NUL, which no command can"
        } else if is_option(kind, draft) {
            "its name begins with `-`, so that its runner would take it for an option"
        } else {
            return true;
        };
        let what = format!("{} `{}`", kind.noun(), visible(&draft.task));
        losses.push(TaskLoss { line: draft.line, what, why: why.to_owned() });
        false
    });
    let mut taken = Taken::of(source.taken);
    let others = Taken::of(source.taken);
    let is_others = |name: &str| others.contains(name);
    let mut proposals: Vec<TaskProposal> = Vec::new();
    let mut named: Vec<(String, String)> = Vec::new();
    for draft in &found.drafts {
        let name = names::tool(&format!("{}{}", source.prefix, draft.wanted.as_deref().unwrap_or(&draft.task)));
        // Where another tool has the name, the runner's in front of it says which of the two this is.
        let name = match draft.tags.first() {
            Some(runner) if is_others(&name) => names::tool(&format!("{runner}-{name}")),
            _ => name,
        };
        named.push((draft.task.clone(), taken.free(&name)));
    }
    let mut places: HashMap<String, String> = HashMap::new();
    for (task, name) in &named {
        places.entry(task.clone()).or_insert_with(|| name.clone());
    }
    for (mut draft, (_, name)) in found.drafts.into_iter().zip(named) {
        let wanted = format!("{}{}", source.prefix, draft.wanted.as_deref().unwrap_or(&draft.task));
        if name != wanted {
            let why = if is_others(&names::tool(&wanted)) {
                format!("the tool is called `{name}`: there is a tool `{}` already", names::tool(&wanted))
            } else if names::tool(&wanted) == name {
                format!("the tool is called `{name}`: names hold letters, digits, `_`, `.` and `-`, at most 64")
            } else {
                format!("the tool is called `{name}`: another has the name already")
            };
            draft.lose(draft.line, format!("the name `{}`", visible(&draft.task)), why);
        }
        draft.description = one_line(&draft.description);
        let line = draft.line;
        for parameter in &mut draft.parameters {
            let lost = parameter.settle().into_iter();
            let name = parameter.name.clone();
            let lost =
                lost.map(|(what, why)| TaskLoss { line, what: format!("{what} of `{name}`"), why: why.to_owned() });
            draft.losses.extend(lost);
            parameter.description = one_line(&parameter.description);
            if parameter.description.is_empty() {
                parameter.description =
                    format!("The {} `{}`", if parameter.is_list() { "values of" } else { "value of" }, parameter.name);
            }
        }
        if draft.description.is_empty() {
            draft.description =
                format!("{} `{}` of {}", capital(kind.noun()), visible(&draft.task), visible(source.path));
        }
        let base = match &draft.body {
            Body::Alias(task) => places.get(task).map(String::as_str),
            _ => None,
        };
        let remark = format!("Imported from {}, line {}.", one_line(source.path), draft.line);
        let yaml = draft.to_yaml(&name, base, &remark);
        draft.losses.sort_by_key(|loss| loss.line);
        proposals.push(TaskProposal {
            name,
            task: draft.task,
            line: draft.line,
            yaml,
            withheld: draft.withheld,
            losses: draft.losses,
        });
    }
    Imported { proposals, losses: found.losses }
}

/// A text without line breaks and what cannot be seen, of a length that a person reads.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = visible(&words.join(" ")).into_owned();
    match line.char_indices().nth(MAX_DESCRIPTION) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().collect::<String>() + characters.as_str()).unwrap_or_default()
}

/// Whether a runner would take the name of a task for an option. After `--`, make does not.
fn is_option(kind: TaskKind, draft: &Draft) -> bool {
    let is_named = matches!(
        kind,
        TaskKind::Argc
            | TaskKind::Just
            | TaskKind::Mise
            | TaskKind::PackageJson
            | TaskKind::Pyproject
            | TaskKind::Taskfile
    );
    is_named && matches!(draft.body, Body::Run(_)) && draft.task.split("::").any(|part| part.starts_with('-'))
}
