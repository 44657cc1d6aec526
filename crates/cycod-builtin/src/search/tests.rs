//! Searches in real directories: what is found, in which order, and what limits end.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_definition::{Host, OfferedConfinement, Platform};
use cycod_process::Stop;
use cycod_run::Guarded;
use expect_test::{Expect, expect};

use super::*;

/// A search with everything but mode, query and root as it is when nobody says otherwise.
struct Asked<'a> {
    root: &'a Path,
    mode: Mode,
    query: &'a str,
    include: &'a [String],
    exclude: &'a [String],
    all: bool,
    ignore_case: bool,
    context: usize,
    limit: usize,
}

/// What is more than a file on a machine with nothing but this workspace.
fn guarded(workspace: &Path) -> Arc<Guarded> {
    let host = Host {
        platform: Platform::Linux,
        home: "/nowhere".into(),
        working_directory: workspace.to_owned(),
        workspace: workspace.to_owned(),
        temp: "/nowhere".into(),
        environment: Default::default(),
        now: std::time::SystemTime::UNIX_EPOCH,
        offered: OfferedConfinement::nothing(),
    };
    Arc::new(Guarded::new(&host))
}

impl<'a> Asked<'a> {
    fn new(root: &'a Path, mode: Mode, query: &'a str) -> Self {
        let nothing = &[];
        Self {
            root,
            mode,
            query,
            include: nothing,
            exclude: nothing,
            all: false,
            ignore_case: false,
            context: 0,
            limit: 50,
        }
    }

    fn run(&self) -> Result<String, String> {
        let stop = Stop::new().expect("a stop");
        let until = Until { stop: &stop, deadline: Instant::now() + Duration::from_secs(60) };
        self.until(until)
    }

    fn until(&self, until: Until<'_>) -> Result<String, String> {
        let root = self.root.canonicalize().expect("it exists");
        let tree = Tree {
            root: &root,
            include: self.include,
            exclude: self.exclude,
            all: self.all,
            hidden: false,
            depth: None,
            guarded: &guarded(&root),
        };
        let Self { mode, query, ignore_case, context, limit, .. } = *self;
        let search = Search { mode, query, ignore_case, tree, prefix: Path::new("."), context, limit };
        match search.run(until, &mut |_| {}) {
            Ok(found) => {
                assert_eq!(found.json(&search)["total"], found.counts.found);
                Ok(found.text(&search))
            }
            Err(Failure::Failed(text)) => Err(text),
            Err(Failure::Refused(refusal)) => Err(refusal.code.to_string()),
        }
    }

    #[track_caller]
    fn check(&self, expect: &Expect) {
        let root = self.root.canonicalize().expect("it exists").display().to_string();
        let said = self.run().unwrap_or_else(|error| format!("error: {error}\n"));
        expect.assert_eq(&said.replace(&root, "ROOT"));
    }
}

fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().expect("below the root")).expect("made");
        fs::write(path, text).expect("written");
    }
    place
}

fn project() -> tempfile::TempDir {
    place(&[
        (".git/HEAD", "ref: fn main"),
        (".gitignore", "target/\n*.log\n"),
        (".hidden", "fn main hidden"),
        ("build.log", "fn main log"),
        ("src/main.rs", "use std;\n\nfn main() {\n    helper();\n}\n"),
        ("src/lib.rs", "fn helper() {}\r\nfn main_too() {}\r\n"),
        ("target/out.rs", "fn main built"),
        ("readme.md", "How fn main works\n"),
    ])
}

#[test]
fn lines_are_found_where_git_would_look() {
    let place = project();
    Asked::new(place.path(), Mode::Text, "fn main").check(&expect![[r#"
        readme.md
        1:How fn main works

        src/lib.rs
        2:fn main_too() {}

        src/main.rs
        3:fn main() {

        3 lines in 3 files
    "#]]);
    Asked { all: true, ..Asked::new(place.path(), Mode::Text, "fn main") }.check(&expect![[r#"
        .hidden
        1:fn main hidden

        build.log
        1:fn main log

        readme.md
        1:How fn main works

        src/lib.rs
        2:fn main_too() {}

        src/main.rs
        3:fn main() {

        target/out.rs
        1:fn main built

        6 lines in 6 files
    "#]]);
}

#[test]
fn a_text_is_no_expression_and_an_expression_is() {
    let place = project();
    Asked::new(place.path(), Mode::Text, "main()").check(&expect![[r#"
        src/main.rs
        3:fn main() {

        1 line in 1 file
    "#]]);
    Asked::new(place.path(), Mode::Regex, r"fn \w+\(\) \{\}$").check(&expect![[r#"
        src/lib.rs
        1:fn helper() {}
        2:fn main_too() {}

        2 lines in 1 file
    "#]]);
    Asked { ignore_case: true, ..Asked::new(place.path(), Mode::Text, "HOW") }.check(&expect![[r#"
        readme.md
        1:How fn main works

        1 line in 1 file
    "#]]);
    Asked::new(place.path(), Mode::Regex, "fn (").check(&expect![[r#"
        error: `query` is not a regular expression that can be used: regex parse error:
            fn (
               ^
        error: unclosed group; to look for the text as it is, use mode `grep`
    "#]]);
    Asked::new(place.path(), Mode::Text, "a\nb").check(&expect![[r#"
        error: `query` holds a line break, and lines are searched one by one: look for one of the lines
    "#]]);
}

#[test]
fn globs_name_files() {
    let place = project();
    Asked::new(place.path(), Mode::Glob, "*.rs").check(&expect![[r#"
        src/lib.rs
        src/main.rs

        2 paths
    "#]]);
    Asked::new(place.path(), Mode::Glob, "src/{main,other}.*").check(&expect![[r#"
        src/main.rs

        1 path
    "#]]);
    Asked { ignore_case: true, ..Asked::new(place.path(), Mode::Glob, "README*") }.check(&expect![[r#"
        readme.md

        1 path
    "#]]);
    Asked::new(place.path(), Mode::Glob, "[").check(&expect![[r#"
        error: `[` in `query` is not a glob: error parsing glob '[': unclosed character class; missing ']'
    "#]]);
    Asked::new(place.path(), Mode::Glob, "*.py").check(&expect![[r#"
        0 paths found; 3 files searched, without hidden and ignored ones (`all: true` includes them)
    "#]]);
}

#[test]
fn include_and_exclude_narrow() {
    let place = project();
    let (rust, main) = (["*.rs".to_owned(), "*.log".to_owned()], ["main*".to_owned()]);
    Asked { include: &rust, ..Asked::new(place.path(), Mode::Text, "fn main") }.check(&expect![[r#"
        src/lib.rs
        2:fn main_too() {}

        src/main.rs
        3:fn main() {

        2 lines in 2 files
    "#]]);
    Asked { include: &rust, exclude: &main, ..Asked::new(place.path(), Mode::Text, "fn main") }.check(&expect![[r#"
        src/lib.rs
        2:fn main_too() {}

        1 line in 1 file
    "#]]);
    let wrong = ["!src".to_owned()];
    Asked { include: &wrong, ..Asked::new(place.path(), Mode::Text, "fn main") }.check(&expect![[r#"
        error: `include` has `!src`, which leaves files out: put `src` into `exclude`
    "#]]);
}

#[test]
fn what_is_left_off_is_counted() {
    let place = project();
    Asked { limit: 2, context: 1, ..Asked::new(place.path(), Mode::Text, "fn ") }.check(&expect![[r#"
        readme.md
        1:How fn main works

        src/lib.rs
        1:fn helper() {}

        4 lines in 3 files; 2 shown, 2 left off: narrow `query`, `path` or `include`, or raise `limit`
    "#]]);
    Asked { context: 1, ..Asked::new(place.path(), Mode::Text, "helper") }.check(&expect![[r#"
        src/lib.rs
        1:fn helper() {}
        2-fn main_too() {}

        src/main.rs
        3-fn main() {
        4:    helper();
        5-}

        2 lines in 2 files
    "#]]);
    Asked { limit: 1, ..Asked::new(place.path(), Mode::Glob, "*") }.check(&expect![[r#"
        readme.md

        3 paths; 1 shown, 2 left off: narrow `query`, `path` or `include`, or raise `limit`
    "#]]);
}

#[test]
fn binary_files_are_passed_over_and_long_lines_cut() {
    let long = format!("{}needle{}", "é".repeat(200), "x".repeat(1000));
    let place = place(&[("a.bin", "needle\0"), ("long.txt", &long)]);
    fs::write(place.path().join("latin.txt"), b"caf\xe9 needle\n").expect("written");
    let said = Asked::new(place.path(), Mode::Text, "needle").run().expect("found");
    assert!(said.contains("1:caf\u{fffd} needle\n"), "{said}");
    assert!(said.ends_with("2 lines in 2 files\n1 binary file passed over\n"), "{said}");
    let line = said.lines().find(|line| line.contains('…')).expect("the long one");
    assert!(line.starts_with("1:…é") && line.contains("needle") && line.ends_with("x…"), "{line}");
    assert!(line.len() < 320, "{line}");
}

#[cfg(unix)]
#[test]
fn nothing_in_a_tree_makes_a_search_wait() {
    let place = place(&[("a/b.txt", "needle"), ("c/d.txt", "needle"), ("e.txt", "needle")]);
    for name in ["pipe", "a/.gitignore"] {
        rustix::fs::mknodat(rustix::fs::CWD, place.path().join(name), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
    }
    std::os::unix::fs::symlink("/dev/zero", place.path().join("zero")).expect("a link");
    std::os::unix::fs::symlink("..", place.path().join("c/up")).expect("a loop");
    Asked::new(place.path(), Mode::Text, "needle").check(&expect![[r#"
        c/d.txt
        1:needle

        e.txt
        1:needle

        2 lines in 2 files
        1 place could not be read:
          ROOT/a/.gitignore: it is not a file
    "#]]);
    fs::remove_file(place.path().join("e.txt")).expect("removed");
    rustix::fs::mknodat(rustix::fs::CWD, place.path().join(".gitignore"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    Asked::new(place.path(), Mode::Glob, "*.txt").check(&expect![[r#"
        c/d.txt

        1 path
        2 places could not be read:
          ROOT/.gitignore: it is not a file
          ROOT/a/.gitignore: it is not a file
    "#]]);
}

#[cfg(unix)]
#[test]
fn links_are_named_and_never_followed() {
    let outside = place(&[("secret.txt", "needle")]);
    let place = place(&[("a.txt", "needle")]);
    std::os::unix::fs::symlink(outside.path(), place.path().join("out")).expect("a link");
    std::os::unix::fs::symlink(outside.path().join("secret.txt"), place.path().join("b.txt")).expect("a link");
    Asked::new(place.path(), Mode::Text, "needle").check(&expect![[r#"
        a.txt
        1:needle

        1 line in 1 file
    "#]]);
    Asked::new(place.path(), Mode::Glob, "*").check(&expect![[r#"
        a.txt
        b.txt
        out

        3 paths
    "#]]);
}

#[cfg(unix)]
#[test]
fn names_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = place(&[]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(place.path().join(name), "needle").expect("written");
    Asked::new(place.path(), Mode::Text, "needle").check(&expect![[r#"
        caf�.txt
        1:needle

        1 line in 1 file
    "#]]);
}

#[test]
fn a_file_is_searched_by_itself() {
    let place = project();
    let file = place.path().join("build.log");
    let root = file.canonicalize().expect("it exists");
    let guarded = guarded(&root);
    let tree =
        Tree { root: &root, include: &[], exclude: &[], all: false, hidden: false, depth: None, guarded: &guarded };
    let stop = Stop::new().expect("a stop");
    let until = Until { stop: &stop, deadline: Instant::now() + Duration::from_secs(60) };
    let (mode, query) = (Mode::Text, "log");
    let search = Search { mode, query, ignore_case: false, tree, prefix: Path::new("build.log"), context: 0, limit: 9 };
    let found = search.run(until, &mut |_| {}).expect("searched");
    assert_eq!(found.text(&search), "build.log\n1:fn main log\n\n1 line in 1 file\n");
}

#[test]
fn a_stop_and_a_deadline_end_it() {
    let place = project();
    let asked = Asked::new(place.path(), Mode::Text, "fn");
    let stop = Stop::new().expect("a stop");
    // A search as short as this one may be over before anybody looks at the clock.
    let late = asked.until(Until { stop: &stop, deadline: Instant::now() });
    assert!(late.is_ok() || late == Err("timed-out".to_owned()), "{late:?}");
    // One line without an end, read from a file that never ends by itself in our time.
    let huge = place.path().join("huge.txt");
    let file = fs::File::create(&huge).expect("made");
    drop(file);
    fs::write(&huge, "fn\n".repeat(1 << 22)).expect("written");
    stop.ask();
    let began = Instant::now();
    let ended = asked.until(Until { stop: &stop, deadline: Instant::now() + Duration::from_secs(60) });
    assert!(ended.is_ok() || ended == Err("cancelled".to_owned()), "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(50));
}

#[test]
fn the_answer_is_the_same_each_time() {
    let place = tempfile::tempdir().expect("a directory");
    for directory in 0..20 {
        fs::create_dir(place.path().join(format!("d{directory}"))).expect("made");
        for file in 0..20 {
            let text = "needle\n".repeat(file % 5);
            fs::write(place.path().join(format!("d{directory}/{file}.txt")), text).expect("written");
        }
    }
    let asked = Asked { limit: 33, ..Asked::new(place.path(), Mode::Text, "needle") };
    let first = asked.run().expect("found");
    assert!(first.contains("800 lines in 320 files; 33 shown, 767 left off"), "{first}");
    for _ in 0..20 {
        assert_eq!(asked.run().expect("found"), first);
    }
}
