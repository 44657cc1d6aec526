//! Many processes change one directory at a time: nothing is lost, torn or there twice.
//!
//! Started without arguments this is the test; with `work DIRECTORY SEED` it is one of the processes. Each makes a
//! hundred random changes, adds its part to a shared counter by compare-and-replace, and reports on its standard
//! output what it did. Meanwhile the test itself reads the directory over and over.

#![expect(clippy::print_stdout, reason = "a process of the test reports so")]

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::SystemTime,
};

use cycod_catalog::{Catalog, Overrides, Overwrite, Scope, ScopeFilter, Scopes, State, WriteError, Writer};
use cycod_definition::{Host, Platform, ToolName};

const PROCESSES: u64 = 8;
const CHANGES: u64 = 100;
const COUNTS: u64 = 20;
const NAMES: u64 = 12;
const COUNTER: &str = "counter";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1..).unwrap_or_default() {
        [work, root, seed] if work == "work" => {
            let done = work_in(Path::new(root), seed.parse().expect("a number"));
            println!("{} {} {}", done.created, done.removed, done.refused);
        }
        // The harness's arguments: a list, or a part of the names of the tests that are wanted.
        arguments if arguments.iter().any(|argument| argument == "--list") => {}
        arguments
            if arguments.iter().any(|word| !word.starts_with('-') && !"many_processes".contains(word.as_str())) => {}
        _ => many_processes_change_one_directory(),
    }
    ExitCode::SUCCESS
}

fn host(root: &Path) -> Host {
    Host {
        platform: Platform::Linux,
        home: root.join("home"),
        working_directory: root.to_owned(),
        workspace: root.to_owned(),
        temp: root.to_owned(),
        environment: Default::default(),
        now: SystemTime::UNIX_EPOCH,
        offered: cycod_definition::OfferedConfinement::nothing(),
    }
}

fn scopes(root: &Path) -> Scopes {
    Scopes::discover(&host(root), &Overrides { user: None, added: None, global: Some(root.join("global")) })
}

fn name(text: &str) -> ToolName {
    ToolName::new(text).expect("a valid name")
}

/// A text that says of itself whether all of it is there: of varying length, and ending as it begins.
fn text(tool: &str, seal: u64) -> String {
    let filler = "# of no meaning\n".repeat(usize::try_from(seal % 700).expect("small"));
    format!("name: {tool}\ndescription: {seal}\nbash: ls\n{filler}# {seal}\n")
}

fn is_whole(text: &str) -> bool {
    let seal = text.lines().nth(1).and_then(|line| line.strip_prefix("description: "));
    seal.is_some_and(|seal| text.ends_with(&format!("\n# {seal}\n")) && text.starts_with("name: "))
}

#[derive(Default)]
struct Done {
    created: u64,
    removed: u64,
    refused: u64,
}

fn work_in(root: &Path, seed: u64) -> Done {
    let scopes = scopes(root);
    let writer = Writer::new(&scopes);
    let open = || Catalog::open(scopes.clone(), &host(root));
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut done = Done::default();
    for change in 0..CHANGES {
        let tool = format!("t{}", random(NAMES));
        let wanted = text(&tool, random(1 << 40));
        let outcome = match random(10) {
            0..5 => {
                let overwrite = if random(2) == 0 { Overwrite::Refuse } else { Overwrite::Replace };
                let added = writer.add(Scope::User, &name(&tool), &wanted, overwrite);
                added.map(|written| done.created += u64::from(!written.replaced))
            }
            5..8 => open().find(&tool, ScopeFilter::Any).map_or(Ok(()), |entry| {
                let Ok(current) = fs::read_to_string(&entry.path) else { return Ok(()) };
                assert!(is_whole(&current), "torn: {current:?}");
                // Half of the edits rename the tool inside of its file.
                let wanted =
                    if random(2) == 0 { wanted } else { text(&format!("t{}", random(NAMES)), random(1 << 40)) };
                writer.replace(&entry, &current, &wanted)
            }),
            _ => open()
                .find(&tool, ScopeFilter::Any)
                .map_or(Ok(()), |entry| writer.remove(&entry).map(|()| done.removed += 1)),
        };
        match outcome {
            Ok(()) => {}
            Err(
                WriteError::Exists { .. }
                | WriteError::Changed { .. }
                | WriteError::Gone { .. }
                | WriteError::Occupied { .. },
            ) => done.refused += 1,
            Err(error) => panic!("{error}: {error:?}"),
        }
        if change % (CHANGES / COUNTS) == 0 {
            count_one_more(&writer, &open);
        }
    }
    done
}

/// Adds one to the counter, trying until nobody came between.
fn count_one_more(writer: &Writer<'_>, open: &dyn Fn() -> Catalog) {
    loop {
        let entry = open().find(COUNTER, ScopeFilter::Any).expect("the counter is there");
        let current = fs::read_to_string(&entry.path).expect("the counter's text");
        match writer.replace(&entry, &current, &text(COUNTER, count(&current) + 1)) {
            Ok(()) => return,
            Err(WriteError::Changed { .. }) => {}
            Err(error) => panic!("{error}: {error:?}"),
        }
    }
}

fn count(text: &str) -> u64 {
    assert!(is_whole(text), "torn: {text:?}");
    let seal = text.lines().nth(1).and_then(|line| line.strip_prefix("description: ")).expect("a seal");
    seal.parse().expect("a number")
}

fn many_processes_change_one_directory() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let root = root.path();
    let scopes = scopes(root);
    Writer::new(&scopes)
        .add(Scope::User, &name(COUNTER), &text(COUNTER, 0), Overwrite::Refuse)
        .expect("the counter is added");

    let this = std::env::current_exe().expect("this program");
    #[expect(clippy::disallowed_methods, reason = "the test starts itself, not a user's program")]
    let mut children: Vec<_> = (1..=PROCESSES)
        .map(|seed| {
            let mut command = Command::new(&this);
            command.arg("work").arg(root).arg(seed.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
            command.spawn().expect("a process")
        })
        .collect();

    let tools = scopes.written(Scope::User);
    let mut looks = 0_u32;
    while children.iter_mut().any(|child| child.try_wait().expect("a state").is_none()) {
        for entry in fs::read_dir(&tools).expect("the directory") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "yaml")
                && let Ok(text) = fs::read_to_string(&path)
            {
                assert!(is_whole(&text), "torn: {path:?} {text:?}");
            }
        }
        let catalog = Catalog::open(scopes.clone(), &host(root));
        for entry in catalog.entries() {
            assert!(!matches!(entry.state, State::Broken { .. }), "{entry:?}");
        }
        assert!(catalog.find(COUNTER, ScopeFilter::Any).is_some(), "the counter is always there");
        looks += 1;
    }

    let (mut created, mut removed, mut refused) = (0, 0, 0);
    for child in children {
        let output = child.wait_with_output().expect("an end");
        assert!(output.status.success(), "{:?}", output.status);
        let report = String::from_utf8(output.stdout).expect("text");
        let numbers: Vec<u64> = report.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [more, fewer, not] = numbers[..] else { panic!("{report:?}") };
        (created, removed, refused) = (created + more, removed + fewer, refused + not);
    }

    let catalog = Catalog::open(scopes.clone(), &host(root));
    let entries = catalog.entries();
    assert!(entries.iter().all(|entry| entry.is_active()), "no duplicate, none broken: {entries:?}");
    assert_eq!(entries.len() as u64, 1 + created - removed, "none lost: {created} created, {removed} removed");
    assert_eq!(entries, Catalog::open_uncached(scopes, &host(root)).entries(), "the index agrees");
    let counter = catalog.find(COUNTER, ScopeFilter::Any).expect("the counter is there");
    let counted = count(&fs::read_to_string(counter.path).expect("the counter's text"));
    assert_eq!(counted, PROCESSES * COUNTS, "no edit was lost");
    let names = fs::read_dir(&tools).expect("the directory").flatten().map(|entry| entry.file_name());
    let hidden: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(hidden.iter().all(|name| name == ".lock"), "no temporary file is left: {hidden:?}");
    assert!(created > 20 && removed > 10 && refused > 20 && looks > 0, "{created} {removed} {refused} {looks}");
    println!("{created} created, {removed} removed, {refused} refused, looked {looks} times");
}
