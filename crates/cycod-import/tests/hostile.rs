//! Whatever a source holds, it is read without a panic, and what comes out is sound.

use cycod_import::{TaskDirectory, TaskKind, TaskSource, import};
use proptest::prelude::*;

use sound::{PATHS, WAYS, beginning, judge, sound};

#[path = "hostile/sound.rs"]
mod sound;

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn nothing_panics(text in text()) {
        (0..=u8::MAX).take(WAYS).for_each(|way| judge(way, &text));
    }
}

#[test]
fn a_script_of_nanocoder_is_carried_over_whatever_its_programs_are() {
    let script = "echo.usr/bshell := [\"bash\"\"]\nv :in-env ^ash\n+MISE description=\"{{ x }} {{# x }}/y{{/ x }}\n";
    let text = format!("---\nname: a\ndescription: b\nparameters:\n  x: {{type: string}}\n---\n{script}");
    sound(TaskKind::Nanocoder, ".nanocoder/tools/x.md", &text);
}

#[test]
fn options_of_unusual_names_are_options() {
    for option in ["--b🕴arg", "--a+b", "--a:b", "-é"] {
        let text = format!("# @cmd\n# @option {option} <A>\n# @option {option}s* <A>\na() {{ :; }}\n");
        sound(TaskKind::Argc, "Argcfile.sh", &text);
    }
}

#[test]
fn long_and_deep_sources_are_read_or_refused() {
    for piece in ["(", "[", "{", "{{", "'", "a", "a: b\n", "- ", "\\", "$(", "#", "a x:\n", "\t", "<", "{{# a }}", "a{"]
    {
        let text = piece.repeat(30_000);
        for (kind, path) in TaskKind::ALL.into_iter().zip(PATHS) {
            let _ = import(kind, &TaskSource::new(path, &text, TaskDirectory::Workspace("")));
            let text = format!("{}{text}", beginning(kind));
            let _ = import(kind, &TaskSource::new(path, &text, TaskDirectory::Workspace("")));
        }
    }
    let large = "a".repeat(2 << 20);
    for (kind, path) in TaskKind::ALL.into_iter().zip(PATHS) {
        assert!(import(kind, &TaskSource::new(path, &large, TaskDirectory::Workspace(""))).is_err());
    }
}

#[test]
fn a_task_that_its_runner_would_take_for_an_option_is_left_out() {
    for (kind, path, text) in [
        (TaskKind::Argc, "Argcfile.sh", "# @cmd\n# @arg a!\n-eval() { :; }\n# @cmd\na::-b() { :; }\n"),
        (TaskKind::PackageJson, "package.json", "{\"scripts\": {\"-eval\": \"ls\"}}"),
        (TaskKind::Taskfile, "Taskfile.yml", "tasks:\n  -eval: ls\n"),
        (TaskKind::Mise, "mise.toml", "[tasks.-eval]\nrun = 'ls'\n"),
        (TaskKind::Pyproject, "pyproject.toml", "[tool.poe.tasks]\n-eval = 'ls'\n"),
    ] {
        let imported =
            import(kind, &TaskSource::new(path, text, TaskDirectory::Workspace(""))).expect("it can be read");
        assert!(imported.proposals.is_empty(), "{kind:?}: {}", imported.proposals[0].yaml);
        let is_said = imported.losses.iter().any(|loss| loss.why.contains("begins with `-`"));
        assert!(is_said, "{kind:?}: {:?}", imported.losses);
    }
}
