//! Whatever a source holds, it is read without a panic, and what comes out is sound.

use cycod_definition::load;
use cycod_diagnostic::{Severity, SourceFile};
use cycod_import::{Directory, Kind, Source, import};
use proptest::prelude::*;

/// Pieces that mean something to one format or another.
const PIECES: [&str; 96] = [
    "\n",
    "\n",
    "\n    ",
    "\n\t",
    " ",
    ":",
    ":=",
    "=",
    "?=",
    "a",
    "b",
    "NAME",
    "é",
    "\u{0}",
    "\u{1b}",
    "\r\n",
    "'",
    "\"",
    "`",
    "'''",
    "\"\"\"",
    "{{",
    "}}",
    "{{a}}",
    "{{ a }}",
    "{{# a }}",
    "{{/ a }}",
    "{{^ a }}",
    "{{.A}}",
    "{{.A | default \"x\"}}",
    "{{.CLI_ARGS}}",
    "$(",
    "${",
    ")",
    "}",
    "{",
    "[",
    "]",
    "(",
    "#",
    "##",
    "# ",
    "# @cmd ",
    "# @arg a",
    "# @option --b",
    "# @flag -c --d",
    "!",
    "*",
    "+",
    "~",
    "<X>",
    "[a|b]",
    "[=a|b]",
    "=`f`",
    "() {",
    "a() { :; }",
    "::",
    "---\n",
    "name: a\n",
    "description: b\n",
    "parameters: [a]\n",
    "parameters:\n  a: {type: string}\n",
    "tasks:\n",
    "  a: ls\n",
    "  a:\n    cmds: [ls]\n",
    "    vars: {A: b}\n",
    "    requires: {vars: [A]}\n",
    "[tasks.a]\n",
    "run = \"ls\"\n",
    "usage = '''\n",
    "'''\n",
    "arg \"<a>\"\n",
    "flag \"-b --b <c>\"\n",
    "[tool.poe.tasks]\n",
    "a = \"ls\"\n",
    "args = [\"x\"]\n",
    "{\"scripts\": {\"a\": \"b\"}}",
    "\"a\": ",
    ",",
    "a:\n    ls {{a}}\n",
    "a b:\n    ls \"{{b}}\"\n",
    "alias c := a\n",
    "set export\n",
    "[private]\n",
    "[confirm(\"x\")]\n",
    "*",
    "\\",
    "\\\n",
    "include x\n",
    ".PHONY: a\n",
    "%.o: %.c\n",
    "a ?= b\n",
    "\u{feff}",
    "#MISE a=1\n",
    "#USAGE arg \"<a>\"\n",
    "//",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES.as_slice()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Sources that begin as they should, so that what follows is looked at.
fn beginning(kind: Kind) -> &'static str {
    match kind {
        Kind::Nanocoder | Kind::Skill => "---\nname: x\ndescription: y\n---\n",
        Kind::Taskfile => "tasks:\n  a:\n    cmds:\n      - echo ",
        Kind::PackageJson => "{\"scripts\": {\"a\": \"b\"",
        Kind::Pyproject => "[tool.poe.tasks.a]\ncmd = \"x\"\n",
        Kind::Mise => "[tasks.a]\nrun = 'x'\n",
        Kind::Argc => "# @cmd\n# @arg a\n",
        Kind::Just => "a x:\n    ls ",
        Kind::Make => "a:\n\tls ",
    }
}

const PATHS: [&str; 9] = [
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

fn sound(kind: Kind, path: &str, text: &str) {
    let beside = ["scripts/a b.py".to_owned(), "scripts/{X}.sh".to_owned()];
    let source = Source::new(path, text, Directory::Absolute("/a {HOME}/b'c")).beside(&beside);
    let Ok(imported) = import(kind, &source) else { return };
    let lines = text.split('\n').count();
    for proposal in imported.proposals {
        let file = SourceFile::new("x.yaml", proposal.yaml.as_str());
        let loaded = load(&file, Some(&proposal.name));
        let errors: Vec<_> =
            loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).collect();
        assert!(errors.is_empty() && loaded.tool.is_some(), "{kind:?} {text:?}\n{}\n{errors:?}", proposal.yaml);
        assert!((1..=lines).contains(&proposal.line), "{} of {lines}", proposal.line);
        assert!(proposal.losses.iter().all(|loss| (1..=lines).contains(&loss.line)), "{:?}", proposal.losses);
    }
    assert!(imported.losses.iter().all(|loss| (1..=lines).contains(&loss.line)), "{:?}", imported.losses);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn nothing_panics(text in text()) {
        for (kind, path) in Kind::ALL.into_iter().zip(PATHS) {
            sound(kind, path, &text);
            sound(kind, path, &format!("{}{text}", beginning(kind)));
        }
        sound(Kind::Mise, "mise-tasks/x", &text);
        sound(Kind::Nanocoder, ".nanocoder/commands/x.md", &format!("---\nparameters: [a]\n---\n{text}"));
    }
}

#[test]
fn options_of_unusual_names_are_options() {
    for option in ["--b🕴arg", "--a+b", "--a:b", "-é"] {
        let text = format!("# @cmd\n# @option {option} <A>\n# @option {option}s* <A>\na() {{ :; }}\n");
        sound(Kind::Argc, "Argcfile.sh", &text);
    }
}

#[test]
fn long_and_deep_sources_are_read_or_refused() {
    for piece in ["(", "[", "{", "{{", "'", "a", "a: b\n", "- ", "\\", "$(", "#", "a x:\n", "\t", "<", "{{# a }}", "a{"]
    {
        let text = piece.repeat(30_000);
        for (kind, path) in Kind::ALL.into_iter().zip(PATHS) {
            let _ = import(kind, &Source::new(path, &text, Directory::Workspace("")));
            let text = format!("{}{text}", beginning(kind));
            let _ = import(kind, &Source::new(path, &text, Directory::Workspace("")));
        }
    }
    let large = "a".repeat(2 << 20);
    for (kind, path) in Kind::ALL.into_iter().zip(PATHS) {
        assert!(import(kind, &Source::new(path, &large, Directory::Workspace(""))).is_err());
    }
}
