//! How long a search among ten thousand skills takes, everything included: finding out whether anything has changed, reading
//! the index, ranking. Beside it, in the same run, what no search can do without: asking the system for the state of each file.

use std::{fs, path::Path, sync::Arc};

use cycod_cli_tools::CliTools;
use cycod_engine::{
    Control, Engine, Given, Ignore, Nobody, Surface, ToolAnswer,
    definition::{Host, Tool, Value},
    host,
};
use divan::{Bencher, black_box};

const SKILLS: usize = 10_000;

const SUBJECTS: [&str; 20] = [
    "review",
    "deploy",
    "database",
    "security",
    "scan",
    "test",
    "release",
    "document",
    "refactor",
    "profile",
    "migrate",
    "translate",
    "design",
    "monitor",
    "backup",
    "schedule",
    "invoice",
    "report",
    "parse",
    "render",
];

fn main() {
    divan::main();
}

/// A home with many skills, as long as the run lasts.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a directory"));
        for number in 0..SKILLS {
            let word = |step: usize| SUBJECTS[(number / step) % SUBJECTS.len()];
            let directory = home.0.path().join(format!(".claude/skills/{}-{}-{number}", word(1), word(20)));
            fs::create_dir_all(&directory).expect("a directory");
            let text = format!(
                "---\nname: {0}-{1}-{number}\ndescription: Helps to {0} and {1} the {2} of module {number}, step by step.\ncategory: {3}\n---\n\n# {0}\n\nText.\n\n## When to {1}\n\nMore text about {2}.\n",
                word(1),
                word(20),
                word(400),
                word(7),
            );
            fs::write(directory.join("SKILL.md"), text).expect("a file");
        }
        // What has just been written is looked at again each time, until its times can be believed.
        std::thread::sleep(std::time::Duration::from_secs(3));
        home
    }

    fn engine(&self) -> Engine {
        let mut here = host::current().expect("a working directory");
        here.environment.insert("HOME".into(), self.0.path().into());
        here.environment.insert("CYCOD_GLOBAL_DIR".into(), self.0.path().join("global").into());
        here.environment.remove(std::ffi::OsStr::new("CYCOD_HOME"));
        here.home = self.0.path().to_owned();
        here.working_directory = self.0.path().join("project");
        fs::create_dir_all(&here.working_directory).expect("a directory");
        open(here)
    }

    fn forget(&self) {
        _ = fs::remove_dir_all(self.0.path().join(".cycod/cache/skills"));
    }
}

fn open(host: Host) -> Engine {
    Engine::builder(host).built_ins(Arc::new(CliTools::new(Arc::new(open)))).build()
}

fn search(engine: &Engine, tool: &Arc<Tool>, control: &Control, query: &str) -> usize {
    let given = vec![("query".to_owned(), Given::Value(Value::Text(query.to_owned())))];
    let plan = engine.plan(tool, given, None).expect("it fits");
    let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
    let answer = ToolAnswer::of(tool, &engine.run(approved, control, &mut Ignore));
    let value = answer.structured.expect("a value");
    assert_eq!(value["searched"]["skills"], SKILLS, "{value:#}");
    value["results"].as_array().map_or(0, Vec::len)
}

/// A call of the tool, from its plan to its answer.
#[divan::bench(args = ["security scan", "migrate databse invoices", "when to render the report of module 77", "deploy"], sample_count = 20, sample_size = 1)]
fn warm(bencher: Bencher<'_, '_>, query: &str) {
    let home = Home::new();
    let engine = home.engine();
    let (tool, control) =
        (engine.tool("cli_skills_search").expect("it is there"), engine.control().expect("descriptors"));
    search(&engine, &tool, &control, query);
    bencher.bench_local(|| black_box(search(&engine, &tool, &control, query)));
}

/// The same when nothing is known of the skills.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn cold(bencher: Bencher<'_, '_>) {
    let home = Home::new();
    let engine = home.engine();
    let (tool, control) =
        (engine.tool("cli_skills_search").expect("it is there"), engine.control().expect("descriptors"));
    bencher
        .with_inputs(|| home.forget())
        .bench_local_values(|()| black_box(search(&engine, &tool, &control, "security scan")));
}

/// The same when one of them has changed.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn one_changed(bencher: Bencher<'_, '_>) {
    let home = Home::new();
    let engine = home.engine();
    let (tool, control) =
        (engine.tool("cli_skills_search").expect("it is there"), engine.control().expect("descriptors"));
    search(&engine, &tool, &control, "security scan");
    let changed = home.0.path().join(".claude/skills/review-review-0/SKILL.md");
    let text = fs::read_to_string(&changed).expect("it is there");
    let change = || fs::write(&changed, &text).expect("written");
    bencher.with_inputs(change).bench_local_values(|()| black_box(search(&engine, &tool, &control, "security scan")));
}

/// The floor: the state of each file, and nothing else.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn floor_stat_of_every_file(bencher: Bencher<'_, '_>) {
    let home = Home::new();
    let root = home.0.path().join(".claude/skills");
    let files: Vec<_> = fs::read_dir(&root)
        .expect("it is there")
        .map(|entry| entry.expect("an entry").path().join("SKILL.md"))
        .collect();
    let total = |files: &[std::path::PathBuf]| files.iter().map(|file| length(file)).sum::<u64>();
    bencher.bench_local(|| black_box(total(&files)));
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |metadata| metadata.len())
}
