//! `file_search` beside `rg` on the same tree in one run: `cargo bench -p cycod-builtin --bench search`.
//!
//! Times of different runs and machines say nothing about each other; the ratios do. Ours are whole calls, from the plan to the
//! report; those of `rg` are whole processes.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench starts programs and prints what it measured"
)]

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_builtin::Toolbox;
use cycod_engine::{Engine, Given, Ignore, Nobody, Surface, definition::Value, host};
use serde_json::{Value as Json, json};

const DIRECTORIES: usize = 1000;
const FILES: usize = 100;
const ROUNDS: usize = 11;

/// What a search may take at most, in times of `rg`.
const AIM: f64 = 1.3;

fn main() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let root = place.path().canonicalize().expect("it exists");
    grow(&root);
    let engine = engine(&root);
    println!("{} files; medians of {ROUNDS} rounds in turn", DIRECTORIES * FILES);
    println!("{:<34} {:>10} {:>10} {:>7}  aim", "search", "ours", "rg", "ratio");
    let rows: [(&str, Json, &[&str]); 5] = [
        ("a text in 100 files", json!({"mode": "grep", "query": "needle in the hay"}), &["-F", "needle in the hay"]),
        ("a text in no file", json!({"mode": "grep", "query": "not there at all"}), &["-F", "not there at all"]),
        ("an expression", json!({"mode": "regex", "query": r"fn need\w+\(\d+\)"}), &[r"fn need\w+\(\d+\)"]),
        ("a text on a million lines", json!({"mode": "grep", "query": "let value"}), &["-F", "let value"]),
        ("names", json!({"mode": "glob", "query": "*7.rs"}), &["--files", "-g", "*7.rs"]),
    ];
    for (name, arguments, words) in rows {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(timed(|| call(&engine, &arguments)));
            theirs.push(timed(|| rg(&root, words)));
        }
        let (ours, theirs) = (median(ours), median(theirs));
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let verdict = if ratio <= AIM { "met" } else { "MISSED" };
        println!("{name:<34} {ours:>10.1?} {theirs:>10.1?} {ratio:>7.2}  within {AIM}: {verdict}");
    }
}

/// Makes the tree: sources of about a kilobyte, some of them ignored.
fn grow(root: &Path) {
    fs::create_dir(root.join(".git")).expect("made");
    fs::write(root.join(".gitignore"), "*.o\n/target\n").expect("written");
    let mut text = String::new();
    for directory in 0..DIRECTORIES {
        let path = root.join(format!("a{:02}/b{directory:04}", directory % 50));
        fs::create_dir_all(&path).expect("made");
        for file in 0..FILES {
            text.clear();
            for line in 0..12 {
                _ = writeln!(
                    text,
                    "    let value_{line} = compute({directory}, {file}, \"{line} some words of text\");"
                );
            }
            if (directory * FILES + file).is_multiple_of(1000) {
                _ = writeln!(text, "// a needle in the hay: fn needle({file})");
            }
            let ending = if file % 20 == 19 { "o" } else { "rs" };
            fs::write(path.join(format!("f{file:02}.{ending}")), &text).expect("written");
        }
    }
}

fn engine(root: &Path) -> Engine {
    let mut here = host::current().expect("a working directory");
    here.environment.retain(|name, _| name == "PATH");
    here.home = root.join(".home");
    here.working_directory = root.to_owned();
    Engine::builder(here).built_ins(Arc::new(Toolbox)).build()
}

fn call(engine: &Engine, arguments: &Json) {
    let tool = engine.tool("file_search").expect("it is there");
    let given = arguments.as_object().expect("an object").clone().into_iter();
    let given = given.map(|(name, value)| (name, Given::Value(Value::from(value)))).collect();
    let plan = engine.plan(&tool, given, None).expect("a plan");
    let control = engine.control().expect("descriptors");
    let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
    let report = engine.run(approved, &control, &mut Ignore);
    assert!(report.success, "{report:?}");
}

fn rg(root: &Path, words: &[&str]) {
    let mut command = Command::new("rg");
    command.arg("--no-config").arg("-n").args(words).arg(".").current_dir(root).stdin(Stdio::null());
    // Its output goes through a pipe, as it would to another program.
    let output = command.output().expect("rg is installed");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
}

fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
