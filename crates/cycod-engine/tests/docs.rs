//! Holds the documentation to the code: its tools load, its tests pass, its errors happen, its links lead somewhere.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use cycod_engine::{
    Engine, Given, Ignore, Nobody, PlanError, StepReport, Surface, TestOptions, TestVerdict, definition,
    diagnostic::{Refusal, Severity, SourceFile},
    host,
};
use tempfile::TempDir;

/// Warnings that a guide shows on purpose.
const SHOWN: [(&str, &str); 4] = [
    ("docs/guide/values.md", "value-in-code"),
    ("docs/guide/values.md", "evaluated-again"),
    ("docs/guide/security.md", "raw-placing"),
    // Its file has the ending that Mimir's files have.
    ("docs/guide/run-tests.md", "name-mismatch"),
];

/// Tools of the guides whose tests fail on purpose.
const FAILING: [&str; 1] = ["shout"];

/// Pages whose problem is not one file's or one call's, with what holds them to the code instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("approval-by-a-tool", "the tests of approvals: a tool that approves"),
    ("approval-declined", "the tests of approvals: somebody says no"),
    ("approval-needs-terminal", "the tests of approvals: no terminal"),
    ("asked-parameter", "the tests of questions: a caller that is not the person"),
    ("background-unavailable", "the tests of workflows in the background: a call from within a run"),
    ("broken-programs-file", "the tests of the command line: a file about programs"),
    ("budget-spent", "the tests of turns: a limit that is reached"),
    ("cancelled", "the tests of whole runs: somebody has to stop it"),
    ("definition-changed", "the tests of the MCP client: a server that changes"),
    ("denied-by-policy", "the tests of the command line: a file of rules"),
    ("not-portable", "the tests of bundles: tools that only work here"),
    ("not-resumable", "the tests of durable runs: one that was not durable"),
    ("step-lost", "the tests of durable runs: a kill between two steps"),
    ("hub-failed", "the tests of workers: a hub that is gone"),
    ("no-worker", "the tests of workers: a label that none has"),
    ("no-hub", "the tests of workers: a user without a team"),
    ("ticket-refused", "the tests of workers: a tool that was changed on the way"),
    ("worker-lost", "the tests of workers: one that is killed"),
    ("workspace-conflict", "the tests of workspaces: a file that changes on both machines"),
    ("workspace-refused", "the tests of workspaces: a link that leads out of the project"),
    ("internal-error", "the tests of whole runs: a step that panics"),
    ("duplicate-name", "the catalog's tests: two files"),
    ("duplicate-task", "the tests of importing: a file of another program"),
    ("file-too-large", "the catalog's tests: four megabytes"),
    ("git-option", "the tests of built-in tools: a call of `git`"),
    ("holds-a-secret", "the tests of built-in tools: a home directory"),
    ("level-exceeded", "the tests of the command line: scripts"),
    ("history-unwritable", "the tests of the history: a directory that cannot be written"),
    ("login-needed", "the tests of the MCP client: a server that wants a login"),
    ("many-problems", "the definition's tests: two hundred steps"),
    ("missing-step-result", "the tests of calls: a step without a result"),
    ("model-budget", "the tests of models: a script that asks too often"),
    ("model-no-answer", "the tests of models: an answer without an end"),
    ("model-rate-limit", "the tests of models: a provider that is busy"),
    ("model-unavailable", "the tests of models: a key that is missing"),
    ("not-a-file", "the catalog's tests: a directory"),
    ("not-on-allowlist", "the tests of handlers: a script that starts a program"),
    ("not-utf8", "the catalog's tests: other bytes"),
    ("outside-workspace", "the tests of built-in tools: a file elsewhere"),
    ("output-unavailable", "the server's tests: a question about an output that cannot be answered"),
    ("policy-broken", "the tests of the command line: a file of rules"),
    ("policy-example", "the tests of settings: a file of rules"),
    ("policy-not-accepted", "the tests of the command line: a project's file"),
    ("policy-pattern", "the tests of settings: a file of rules"),
    ("policy-rule", "the tests of settings: a file of rules"),
    ("question-declined", "the tests of questions: somebody declines"),
    ("cut-off-call", "the tests of turns: an answer that ends in the middle of a call"),
    ("repeated-call", "the tests of turns: a model that goes in circles"),
    ("outcome-unknown", "the tests of the MCP client: a server that dies in a call"),
    ("release-expired", "the tests of releases: one that is too old"),
    ("release-malformed", "the tests of releases: a key that is not known"),
    ("release-mixed", "the tests of releases: files of two of them"),
    ("release-rolled-back", "the tests of releases: an older one"),
    ("release-too-large", "the tests of releases: more than they may hold"),
    ("release-truncated", "the tests of releases: a file that is not there"),
    ("release-unreviewed", "the tests of reviews: a file that too few reviewers approved"),
    ("release-wrong-key", "the tests of releases: a key that does not count"),
    ("release-yanked", "the tests of reviews: a file that was withdrawn"),
    ("team-record-broken", "the tests of the command line: a record that cannot be read"),
    ("team-root-expired", "the tests of releases: a root that is too old"),
    ("team-unreachable", "the tests of the command line: a source that is away"),
    ("unsafe-machine-file", "the tests of the command line: a file of the machine"),
    ("remote-failed", "the tests of the MCP client: a server that breaks the protocol"),
    ("remote-unreachable", "the tests of the MCP client: a server that does not start"),
    ("reserved-name", "the catalog's tests: a program with tools of its own"),
    ("run-without-control", "the tests of workflows in the background: a run that somebody waits for"),
    ("script-syntax", "the tests of the command line: a tool that is validated"),
    ("script-unchecked", "the tests of the command line: a tool that is validated"),
    ("secret-missing", "the tests of secrets: a run"),
    ("secret-not-for-tool", "the tests of secrets: a store"),
    ("secret-unmaskable", "the tests of the command line: a value that says yes or no"),
    ("secrets-unavailable", "the tests of secrets: a store that cannot be read"),
    ("server-not-accepted", "the tests of the MCP client: a server of a cloned project"),
    ("source-syntax", "the tests of importing: a file of another program"),
    ("tool-changed", "the tests of trust: a tool that changes"),
    ("tool-disabled", "the tests of the command line: a file of settings"),
    ("tool-enforced", "the tests of the command line: a file of the machine's settings"),
    ("setting-not-heard", "the tests of settings: a file of settings"),
    ("settings-broken", "the tests of the command line: a file of settings"),
    ("too-many", "the definition's tests: a thousand steps"),
    ("too-many-questions", "the server: a client that answers something else"),
    ("too-many-runs", "the server: more runs than it carries"),
    ("unknown-form", "the server: a form that the protocol does not know"),
    ("unknown-output", "the server's tests: an address that nobody gave"),
    ("unknown-run", "the server's tests: a name that nobody gave"),
    ("unknown-server", "the tests of the MCP client: a name that is not configured"),
    ("unknown-workflow", "the tests of cli_workflow_run: a name that nothing has"),
    ("unreadable-file", "the catalog's tests: a file without permissions"),
    ("untrusted-tool", "the tests of trust: a tool of a cloned project"),
    ("wrong-output", "the tests of answers: a surface that hands data on"),
    ("worker-failed", "the tests of handlers: a process that ends"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// Every page that we wrote, by its path from the root.
fn pages() -> BTreeMap<String, String> {
    let root = root();
    let mut pages = BTreeMap::new();
    let mut directories = vec![root.join("docs"), root.join("examples")];
    let mut files: Vec<PathBuf> =
        fs::read_dir(&root).expect("it can be read").flatten().map(|entry| entry.path()).collect();
    while let Some(directory) = directories.pop() {
        for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    for path in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let name = path.strip_prefix(&root).expect("it is below").to_string_lossy().replace('\\', "/");
        pages.insert(name, fs::read_to_string(path).expect("a page is text"));
    }
    pages
}

fn error_pages() -> BTreeMap<String, String> {
    let code = |name: &str| Some(name.strip_prefix("docs/errors/")?.strip_suffix(".md")?.to_owned());
    pages().into_iter().filter_map(|(name, text)| Some((code(&name)?, text))).collect()
}

/// The fenced blocks of a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find(&opening) {
        let inner = &rest[start + opening.len()..];
        let end = inner.find("```").expect("a fence is closed");
        blocks.push(&inner[..end]);
        rest = &inner[end + 3..];
    }
    blocks
}

/// What a page shows of one file: the ending of its name, and its text.
type Shown<'a> = (&'static str, &'a str);

/// The files that a page shows, in its order: YAML, and Markdown between four backticks, since it has blocks of its own.
fn files(page: &str) -> Vec<Shown<'_>> {
    let fences = [("```yaml\n", "```", "yaml"), ("````markdown\n", "````", "md")];
    let mut files: Vec<(usize, Shown<'_>)> = Vec::new();
    for (opening, closing, ending) in fences {
        for (start, _) in page.match_indices(opening).filter(|(start, _)| *start == 0 || page[..*start].ends_with('\n'))
        {
            let inner = &page[start + opening.len()..];
            let end = inner.find(closing).expect("a fence is closed");
            files.push((start, (ending, &inner[..end])));
        }
    }
    files.sort_unstable();
    files.into_iter().map(|(_, file)| file).collect()
}

/// A page without its fenced blocks.
fn prose(page: &str) -> String {
    let mut open = None;
    let kept = page.lines().filter(|line| {
        let length = line.len() - line.trim_start_matches('`').len();
        match open {
            None if length >= 3 => open = Some(length),
            None => return true,
            Some(opening) if length >= opening => open = None,
            Some(_) => {}
        }
        false
    });
    kept.collect::<Vec<_>>().join("\n")
}

fn is_tool(block: &str) -> bool {
    block.lines().any(|line| line.starts_with("description:") || line.starts_with("type: alias"))
}

/// The file of the project that a block of a guide belongs into: a comment in its first line says so, or in the first
/// line of its front matter.
fn file_name<'a>((ending, text): Shown<'a>) -> Option<&'a str> {
    let comment = text.lines().find(|line| *line != "---")?;
    comment.strip_prefix("# ").filter(|name| name.rsplit('.').next() == Some(ending) && !name.starts_with('~'))
}

/// The name of a file without its directories and its ending.
fn stem(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// What loading says, as `severity[code]: message`.
fn diagnostics(stem: Option<&str>, (ending, text): Shown<'_>) -> Vec<(Severity, String, String)> {
    let loaded = definition::load(&SourceFile::new(format!("page.{ending}"), text), stem);
    loaded.diagnostics.into_iter().map(|found| (found.severity, found.code.to_string(), found.message)).collect()
}

/// A project with a home beside it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a temporary directory"));
        for directory in ["project/.cycod/tools", "home", "tmp", "global"] {
            fs::create_dir_all(place.0.path().join(directory)).expect("a directory in it");
        }
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join("project").join(name);
        fs::create_dir_all(path.parent().expect("it is in the project")).expect("a directory in it");
        fs::write(path, text).expect("a file in it");
    }

    fn engine(&self) -> Engine {
        let root = self.0.path().canonicalize().expect("it exists");
        let mut here = host::current().expect("a working directory");
        let path = here.environment.remove(std::ffi::OsStr::new("PATH")).expect("a PATH");
        here.environment.clear();
        here.environment.insert("PATH".into(), path);
        here.environment.insert("LANG".into(), "C.UTF-8".into());
        here.environment.insert("CYCOD_GLOBAL_DIR".into(), root.join("global").into());
        here.environment.insert(cycod_engine::trust::TRUSTED_DIRECTORIES.into(), root.join("project").into());
        here.home = root.join("home");
        here.temp = root.join("tmp");
        here.working_directory = root.join("project");
        Engine::open(here)
    }
}

#[test]
fn every_tool_on_a_page_loads() {
    let mut seen = 0;
    for (page, text) in pages().iter().filter(|(page, _)| !page.starts_with("docs/errors/")) {
        for file in files(text).into_iter().filter(|(_, block)| is_tool(block)) {
            let mut found = diagnostics(file_name(file).map(stem).or(Some("tool")), file);
            found.retain(|(severity, code, _)| *severity != Severity::Hint && !SHOWN.contains(&(page, code)));
            assert!(found.is_empty(), "{page}: {found:?}\n{}", file.1);
            seen += 1;
        }
    }
    assert!(seen >= 20, "only {seen} tools were found");
}

#[test]
fn the_tests_of_the_guides_tools_pass() {
    let mut passed = 0;
    for (page, text) in pages().iter().filter(|(page, _)| page.starts_with("docs/guide/")) {
        let place = Place::new();
        let tools: Vec<(&str, &str)> =
            files(text).into_iter().filter_map(|file| Some((file_name(file)?, file.1))).collect();
        // A guide may show a file twice, as it grows: the last counts.
        tools.iter().for_each(|(file, block)| place.write(file, block));
        let engine = place.engine();
        let names: BTreeSet<&str> =
            tools.iter().filter_map(|(file, _)| file.strip_prefix(".cycod/tools/").map(stem)).collect();
        for name in names {
            let tool = engine.tool(name).unwrap_or_else(|error| panic!("{page}: {error}"));
            let control = engine.control().expect("descriptors");
            let report = engine.test(&tool, &TestOptions::default(), &control, &mut |_| {});
            for outcome in report.outcomes {
                let is_failure = matches!(outcome.verdict, TestVerdict::Failed(_));
                assert_eq!(
                    is_failure,
                    FAILING.contains(&name),
                    "{page}: {name}: {}: {:?}",
                    outcome.name,
                    outcome.verdict
                );
                passed += usize::from(!is_failure);
            }
        }
    }
    assert!(passed >= 7, "only {passed} tests were found");
}

/// Everything that stops a call, from its arguments to its end.
fn refusals(engine: &Engine, name: &str, arguments: &[(String, Given)]) -> BTreeSet<String> {
    let code = |refusal: &Refusal| refusal.code.to_string();
    let tool = match engine.tool(name) {
        Ok(tool) => tool,
        Err(error) => return BTreeSet::from([code(&error.into_refusal())]),
    };
    let timeout = tool.timeout.unwrap_or(Duration::from_secs(10)).min(Duration::from_secs(10));
    let plan = |arguments| engine.plan(&tool, arguments, Some(timeout));
    match (plan(arguments.to_vec()), plan(arguments.to_vec())) {
        (Ok(by_model), Ok(by_person)) => {
            let mut codes: BTreeSet<String> = engine.preview(&by_model).refusal().into_iter().map(code).collect();
            codes.extend(engine.approve(by_model, Surface::Agent, &Nobody).err().iter().map(code));
            match engine.approve(by_person, Surface::Person, &Nobody) {
                Ok(approved) => {
                    let report = engine.run(approved, &engine.control().expect("descriptors"), &mut Ignore);
                    codes.extend(report.refusal.iter().map(code));
                    in_steps(&report.steps, &mut codes);
                }
                Err(refusal) => drop(codes.insert(code(&refusal))),
            }
            codes
        }
        (Err(PlanError::Arguments(problems)), _) => {
            problems.into_iter().map(|problem| problem.code.to_string()).collect()
        }
        (Err(error), _) | (_, Err(error)) => BTreeSet::from([code(&error.into_refusal(name))]),
    }
}

fn in_steps(steps: &[StepReport], codes: &mut BTreeSet<String>) {
    for step in steps {
        codes.extend(step.refusal.iter().map(|refusal| refusal.code.to_string()));
        in_steps(&step.steps, codes);
    }
}

/// The arguments in a page's `$ cycod run NAME --param A=b`.
fn arguments(page: &str) -> Vec<(String, Given)> {
    let line = blocks(page, "console").first().and_then(|block| block.lines().next()).unwrap_or_default();
    let line = line.split(" < ").next().unwrap_or_default();
    let pairs = line.split("--param ").skip(1).filter_map(|pair| pair.trim().split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), Given::Text(value.trim_matches('\'').to_owned()))).collect()
}

#[test]
fn the_first_example_of_an_error_page_shows_the_error() {
    let pages = error_pages();
    let mut problems = Vec::new();
    for (code, _) in ELSEWHERE {
        assert!(pages.contains_key(*code), "docs/errors/{code}.md is gone");
    }
    for (code, page) in pages.iter().filter(|(code, _)| ELSEWHERE.iter().all(|(known, _)| known != code)) {
        let Some(&file) = files(page).first() else {
            problems.push(format!("docs/errors/{code}.md has no example"));
            continue;
        };
        // A file is called `greet`, where its name matters, or has none.
        if [Some("greet"), None]
            .into_iter()
            .any(|stem| diagnostics(stem, file).iter().any(|(_, found, _)| found == code))
        {
            continue;
        }
        let place = Place::new();
        place.write(&format!(".cycod/tools/tool.{}", file.0), file.1);
        let engine = place.engine();
        let entries = engine.catalog().entries();
        let name = entries.first().map_or("tool", |entry| entry.name.as_str());
        let codes = refusals(&engine, name, &arguments(page));
        if !codes.contains(code) {
            problems.push(format!("the example of docs/errors/{code}.md gives {codes:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_last_example_of_an_error_page_mends_it() {
    let mut seen = 0;
    for (code, page) in error_pages() {
        let [_, .., fixed] = files(&page)[..] else { continue };
        if is_tool(fixed.1) {
            let found = diagnostics(Some("greet"), fixed);
            assert!(
                !found.iter().any(|(severity, found, _)| *severity == Severity::Error || *found == code),
                "{code}: {found:?}"
            );
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} fixed examples were found");
}

#[test]
fn every_error_page_says_what_it_is_about() {
    let mut short = Vec::new();
    for (code, page) in error_pages() {
        let mut lines = page.lines();
        assert_eq!(lines.next(), Some(&*format!("# {code}")), "the heading of docs/errors/{code}.md");
        let words = prose(&page).split_whitespace().count();
        if words < 20 {
            short.push(format!("docs/errors/{code}.md explains in {words} words"));
        }
    }
    assert!(short.is_empty(), "{}", short.join("\n"));
}

/// The anchor that a heading gets where Markdown is shown.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let root = root();
    let (mut seen, mut broken) = (0, Vec::new());
    let pages = pages();
    for (page, text) in &pages {
        let directory = root.join(page).parent().expect("a page is in a directory").to_owned();
        let text = prose(text);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (path, fragment) =
                target.split_once('#').map_or((target, None), |(path, fragment)| (path, Some(fragment)));
            let file = if path.is_empty() { root.join(page) } else { directory.join(path) };
            let Ok(file) = file.canonicalize() else {
                broken.push(format!("{page}: [{target}]"));
                continue;
            };
            if let Some(fragment) = fragment {
                let name = file.strip_prefix(&root).expect("links stay here").to_string_lossy().into_owned();
                let linked = pages.get(&name).unwrap_or_else(|| panic!("{page}: [{target}] is not a page"));
                let linked = prose(linked);
                let mut headings = linked.lines().filter(|line| line.starts_with('#'));
                assert!(
                    headings.any(|line| anchor(line.trim_start_matches('#')) == fragment),
                    "{page}: no heading for [{target}]"
                );
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
    assert!(seen > 50, "only {seen} links were found");
}

#[test]
fn the_index_names_every_page() {
    let pages = pages();
    let index = &pages["docs/README.md"];
    for name in pages.keys().filter_map(|page| page.strip_prefix("docs/")) {
        let is_indexed = name.starts_with("errors/") || name == "README.md" || index.contains(&format!("]({name})"));
        assert!(is_indexed, "docs/README.md does not name {name}");
    }
}

#[test]
fn every_code_that_is_mentioned_has_a_page() {
    let known = error_pages();
    let mut seen = 0;
    for (page, text) in pages() {
        for (start, end) in
            [("error[", ']'), ("warning[", ']'), ("cycod explain ", '\n'), ("\"code\":\"", '"'), ("\"code\": \"", '"')]
        {
            for found in text.split(start).skip(1) {
                let code = found.split([end, '`', '\n', ' ', '|']).next().unwrap_or_default();
                let is_code = code.contains('-') && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
                assert!(!is_code || known.contains_key(code), "{page} mentions `{code}`, which has no page");
                seen += usize::from(is_code);
            }
        }
    }
    assert!(seen > 15, "only {seen} codes were found");
}
