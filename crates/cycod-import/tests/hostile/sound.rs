//! What comes out of a source is sound, whatever it holds; also for the fuzz target.

use cycod_definition::load;
use cycod_diagnostic::{Code, Diagnostic, Severity, SourceFile};
use cycod_import::{TaskDirectory, TaskKind, TaskSource, import};

/// In how many ways a text is taken for a source.
pub(crate) const WAYS: usize = 2 * PATHS.len() + 2;

/// Takes a text for a source in one of the ways.
pub(crate) fn judge(way: u8, text: &str) {
    let way = usize::from(way) % WAYS;
    match (TaskKind::ALL.get(way / 2), way % 2) {
        (Some(kind), 0) => sound(*kind, PATHS[way / 2], text),
        (Some(kind), _) => sound(*kind, PATHS[way / 2], &format!("{}{text}", beginning(*kind))),
        (None, 0) => sound(TaskKind::Mise, "mise-tasks/x", text),
        (None, _) => {
            sound(TaskKind::Nanocoder, ".nanocoder/commands/x.md", &format!("---\nparameters: [a]\n---\n{text}"));
        }
    }
}

/// Sources that begin as they should, so that what follows is looked at.
pub(crate) fn beginning(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Nanocoder | TaskKind::Skill => "---\nname: x\ndescription: y\n---\n",
        TaskKind::Taskfile => "tasks:\n  a:\n    cmds:\n      - echo ",
        TaskKind::PackageJson => "{\"scripts\": {\"a\": \"b\"",
        TaskKind::Pyproject => "[tool.poe.tasks.a]\ncmd = \"x\"\n",
        TaskKind::Mise => "[tasks.a]\nrun = 'x'\n",
        TaskKind::Argc => "# @cmd\n# @arg a\n",
        TaskKind::Just => "a x:\n    ls ",
        TaskKind::Make => "a:\n\tls ",
    }
}

pub(crate) const PATHS: [&str; 9] = [
    "justfile",
    "Makefile",
    "package.json",
    "Taskfile.yml",
    "mise.toml",
    "pyproject.toml",
    "Argcfile.sh",
    ".nanocoder/tools/x y.md",
    "skills/x/SKILL.md",
];

pub(crate) fn sound(kind: TaskKind, path: &str, text: &str) {
    let beside = ["scripts/a b.py".to_owned(), "scripts/{X}.sh".to_owned()];
    let source = TaskSource::new(path, text, TaskDirectory::Absolute("/a {HOME}/b'c")).beside(&beside);
    let Ok(imported) = import(kind, &source) else { return };
    let lines = text.split('\n').count();
    for proposal in imported.proposals {
        let file = SourceFile::new("x.yaml", proposal.yaml.as_str());
        let loaded = load(&file, Some(&proposal.name));
        let is_wrong = |one: &&Diagnostic| {
            one.severity == Severity::Error && !(kind == TaskKind::Nanocoder && is_about_a_program(one.code))
        };
        let errors: Vec<_> = loaded.diagnostics.iter().filter(is_wrong).collect();
        assert!(
            errors.is_empty() && (loaded.tool.is_some() || kind == TaskKind::Nanocoder),
            "{kind:?} {text:?}\n{}\n{errors:?}",
            proposal.yaml
        );
        assert!((1..=lines).contains(&proposal.line), "{} of {lines}", proposal.line);
        assert!(proposal.losses.iter().all(|loss| (1..=lines).contains(&loss.line)), "{:?}", proposal.losses);
    }
    assert!(imported.losses.iter().all(|loss| (1..=lines).contains(&loss.line)), "{:?}", imported.losses);
}

/// A script of nanocoder is carried over as it is: what its programs would do with a value is said of the tool, and the tool is
/// not imported.
fn is_about_a_program(code: Code) -> bool {
    matches!(
        code,
        Code::CouldBeOption
            | Code::EvaluatedAgain
            | Code::InlineValue
            | Code::MixedText
            | Code::OptionLikeValue
            | Code::SplitByShell
            | Code::UnknownProgram
            | Code::UnplaceableValue
            | Code::UnprovenPlace
            | Code::UnsupportedPlace
            | Code::ValueChoosesProgram
            | Code::ValueHasMeaning
            | Code::ValueInArithmetic
            | Code::ValueInCode
    )
}
