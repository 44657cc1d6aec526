//! Makes tools of the tasks that other programs know: recipes, targets, scripts, commands, skills.
//!
//! Text goes in, proposals come out: the YAML of a tool for each task, and for each task what could not be carried
//! over. Where a task has a runner, the tool *calls the runner* with the task's name and typed arguments, because
//! nobody understands a recipe better than the program it was written for. What is read of the recipe is what decides how
//! a value may be handed over: many runners paste arguments into the text of a shell, and a value that would become
//! code there is either quoted for exactly that place, or held to characters that mean nothing anywhere.
//!
//! Invariant: nothing here opens a file, starts a program or asks what is installed. What else there is beside a file is
//! handed in.

mod argc;
mod draft;
mod effort;
mod front_matter;
mod just;
mod kind;
mod make;
mod mise;
mod names;
mod nanocoder;
mod npm;
mod pasted;
mod proposal;
mod pyproject;
mod skill;
mod source;
mod taskfile;
mod tree;
mod usage;

pub use kind::TaskKind;
pub use proposal::{Imported, TaskLoss, TaskProposal};
pub use skill::{SkillHead, skill_head};
pub use source::{TaskDirectory, TaskSource};

use cycod_diagnostic::Diagnostic;

/// Returns what the tasks of a source become, in their order.
///
/// # Errors
/// What is wrong with the source itself, so that nothing in it can be relied on.
pub fn import(kind: TaskKind, source: &TaskSource<'_>) -> Result<Imported, Vec<Diagnostic>> {
    let found = match kind {
        TaskKind::Just => just::read(source),
        TaskKind::Make => make::read(source),
        TaskKind::PackageJson => npm::read(source),
        TaskKind::Taskfile => taskfile::read(source),
        TaskKind::Mise => mise::read(source),
        TaskKind::Pyproject => pyproject::read(source),
        TaskKind::Argc => argc::read(source),
        TaskKind::Nanocoder => nanocoder::read(source),
        TaskKind::Skill => skill::read(source),
    }?;
    let mut imported = proposal::propose(kind, source, found);
    if source.effort.is_spent() {
        let what = format!("what the {}s do with their values", kind.noun());
        let why =
            "the file is too intricate to work all of it out, so only plain values are allowed: split it".to_owned();
        imported.losses.push(TaskLoss { line: 1, what, why });
    }
    Ok(imported)
}
