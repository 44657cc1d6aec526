//! The program with the features it was built with: the test command builds it with all of them and with none.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// Starts the program in a project; what it says is exact, for nobody is at a terminal.
#[expect(clippy::disallowed_methods, reason = "the tests start the program under test")]
fn cycod(root: &Path, words: &[&str]) -> Output {
    let path = std::env::var_os("PATH").expect("a PATH");
    let mut program = Command::new(env!("CARGO_BIN_EXE_cycod"));
    program.args(words).current_dir(root.join("project")).env_clear().env("PATH", path).env("HOME", root.join("home"));
    program.env("CYCOD_GLOBAL_DIR", root.join("global")).env("CYCOD_TRUSTED_DIRECTORIES", root.join("project"));
    program.output().expect("the program starts")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for directory in ["project/.cycod/tools", "home", "global"] {
        fs::create_dir_all(place.path().join(directory)).expect("a directory in it");
    }
    place
}

#[test]
fn a_tool_runs_and_a_script_has_its_worker() {
    let place = place();
    let tools = place.path().join("project/.cycod/tools");
    let greet = "description: Greet\nbash: echo \"Hello, {WHO}!\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Who, default: world}\n";
    fs::write(tools.join("greet.yaml"), greet).expect("a file");
    let double = "description: Double\ntags: [read]\nparameters:\n  n: {type: number, description: The number, required: true}\nhandler:\n  language: typescript\n  code: |\n    export const execute = ({ n }: { n: number }) => n * 2;\n";
    fs::write(tools.join("double.yaml"), double).expect("a file");
    let ran = cycod(place.path(), &["run", "greet", "WHO=Ada"]);
    assert_eq!((ran.status.code(), String::from_utf8_lossy(&ran.stdout).trim()), (Some(0), "Hello, Ada!"), "{ran:?}");
    let ran = cycod(place.path(), &["run", "double", "n=21"]);
    assert_eq!((ran.status.code(), String::from_utf8_lossy(&ran.stdout).trim()), (Some(0), "42"), "{ran:?}");
    for words in [&["list"][..], &["validate"], &["tools", "list"], &["init"], &["doctor"], &[]] {
        let shown = cycod(place.path(), words);
        assert!(shown.status.code().is_some_and(|code| code < 2) && !text(&shown).is_empty(), "{words:?}: {shown:?}");
    }
}

#[test]
fn what_is_left_out_says_so() {
    let place = place();
    fs::write(place.path().join("project/justfile"), "test:\n    echo tested\n").expect("a file");
    let imported = cycod(place.path(), &["import", "justfile", "--dry-run"]);
    if cfg!(feature = "imports") {
        assert!(text(&imported).contains("just"), "{}", text(&imported));
    } else {
        assert!(text(&imported).contains("feature `imports`"), "{}", text(&imported));
    }
    assert_eq!(imported.status.success(), cfg!(feature = "imports"));
    let counted = cycod(place.path(), &["tools", "tokens", "--exact"]);
    assert_eq!(counted.status.success(), cfg!(feature = "exact-tokens"), "{}", text(&counted));
    let tool = cycod(place.path(), &["tool", "info", "cli_analyze_code"]);
    assert_eq!(tool.status.success(), cfg!(feature = "analysis"), "{}", text(&tool));
}
