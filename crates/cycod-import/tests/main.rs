//! Sources of every kind as people write them, and what becomes of them.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use cycod_diagnostic::{Code, RenderStyle, Severity, SourceFile, SourceReport, render_text};
use cycod_import::{Imported, TaskDirectory, TaskKind, TaskSource, import};
use expect_test::expect_file;

mod hostile;
mod wrong;

/// What is imported, as one text. Every tool has to load without a complaint.
pub(crate) fn shown(kind: TaskKind, source: &TaskSource<'_>) -> String {
    match import(kind, source) {
        Ok(imported) => {
            for proposal in &imported.proposals {
                let file = SourceFile::new(format!("{}.yaml", proposal.name), proposal.yaml.as_str());
                let loaded = cycod_definition::load(&file, Some(&proposal.name));
                let report = SourceReport { source: file, diagnostics: loaded.diagnostics.clone() };
                // A script may have the name of a program that cycod knows.
                let is_clean = loaded
                    .diagnostics
                    .iter()
                    .all(|one| one.severity == Severity::Hint || one.code == Code::DescribedProgram);
                assert!(is_clean, "{}\n{}", render_text(&report, RenderStyle::Plain).as_str(), proposal.yaml);
                assert!(loaded.tool.is_some(), "{}", proposal.yaml);
            }
            listing(&imported)
        }
        Err(diagnostics) => {
            render_text(&SourceReport { source: source.file(), diagnostics }, RenderStyle::Plain).as_str().to_owned()
        }
    }
}

fn listing(imported: &Imported) -> String {
    let mut text = String::new();
    for loss in &imported.losses {
        writeln!(text, "{}: {}: {}", loss.line, loss.what, loss.why).expect("a text takes text");
    }
    for proposal in &imported.proposals {
        let withheld = proposal.withheld.as_ref().map(|why| format!(" (withheld: {why})")).unwrap_or_default();
        writeln!(text, "\n=== {} from `{}`{withheld}", proposal.name, proposal.task).expect("a text takes text");
        text.push_str(&proposal.yaml);
        for loss in &proposal.losses {
            writeln!(text, "--- {}: {}: {}", loss.line, loss.what, loss.why).expect("a text takes text");
        }
    }
    text
}

fn files(directory: &Path, below: &Path, into: &mut Vec<String>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(below).expect("it is there").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files(directory, &entry, into);
        } else {
            let relative = entry.strip_prefix(directory).expect("it is below");
            into.push(
                relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/"),
            );
        }
    }
}

/// Imports the one source of each case; what comes out stands beside it in `expected.txt`.
#[track_caller]
fn check(kind: TaskKind, case: &str) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(kind.name()).join(case);
    let mut beside = Vec::new();
    files(&directory, &directory, &mut beside);
    beside.retain(|path| path != "expected.txt");
    let path = beside
        .iter()
        .find(|path| TaskKind::of_path(path) == Some(kind) || beside.len() == 1)
        .expect("a source")
        .clone();
    let text = fs::read_to_string(directory.join(&path)).expect("it is text");
    let inside = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let source = TaskSource::new(&path, &text, TaskDirectory::Workspace(inside)).beside(&beside);
    expect_file![directory.join("expected.txt")].assert_eq(&shown(kind, &source));
}

#[test]
fn recipes_of_just() {
    check(TaskKind::Just, "service");
    check(TaskKind::Just, "traps");
    check(TaskKind::Just, "quoting");
}

#[test]
fn targets_of_make() {
    check(TaskKind::Make, "project");
    check(TaskKind::Make, "other");
}

#[test]
fn scripts_of_packages() {
    check(TaskKind::PackageJson, "app");
    check(TaskKind::PackageJson, "pnpm");
}

#[test]
fn tasks_of_task() {
    check(TaskKind::Taskfile, "service");
}

#[test]
fn tasks_of_mise() {
    check(TaskKind::Mise, "config");
    check(TaskKind::Mise, "file");
}

#[test]
fn tasks_of_python_projects() {
    check(TaskKind::Pyproject, "all");
    check(TaskKind::Pyproject, "hatch");
}

#[test]
fn commands_of_argc() {
    check(TaskKind::Argc, "project");
    check(TaskKind::Argc, "script");
}

#[test]
fn commands_and_tools_of_nanocoder() {
    check(TaskKind::Nanocoder, "tool");
    check(TaskKind::Nanocoder, "prompt");
    check(TaskKind::Nanocoder, "section");
}

#[test]
fn skills() {
    check(TaskKind::Skill, "pdf");
}

#[test]
fn every_case_is_checked() {
    let mut cases = 0;
    for kind in TaskKind::ALL {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(kind.name());
        cases += fs::read_dir(directory).expect("every kind has cases").count();
    }
    assert_eq!(cases, 18, "a case was added: name it in a test above, and count it here");
}
