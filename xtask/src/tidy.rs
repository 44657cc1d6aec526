//! What the compiler does not hold: the arrows between crates and files, the names of types, the codes of problems,
//! the words we keep out.

mod circles;
mod names;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cycod_code::Code;
use serde_json::Value;

use sources::{is_test, rust_files, without_tests};

/// Every crate with the crates it may use; a crate stands after all it may use, so no arrow can point back.
const ARROWS: [(&str, &[&str]); 50] = [
    ("cycod-thread", &[]),
    ("cycod-process", &["cycod-thread"]),
    ("cycod-file", &["cycod-process"]),
    ("cycod-http", &["cycod-thread"]),
    ("cycod-trace", &["cycod-thread"]),
    ("cycod-mask", &[]),
    ("cycod-code", &[]),
    ("cycod-flow", &[]),
    ("cycod-schedule", &[]),
    ("cycod-search", &[]),
    ("cycod-diagnostic", &["cycod-code", "cycod-thread"]),
    ("cycod-syntax", &["cycod-diagnostic"]),
    ("cycod-shell", &["cycod-code"]),
    ("cycod-schema", &["cycod-thread"]),
    ("cycod-tokens", &["cycod-schema"]),
    ("cycod-definition", &["cycod-diagnostic", "cycod-syntax", "cycod-shell", "cycod-schedule", "cycod-schema"]),
    ("cycod-catalog", &["cycod-file", "cycod-diagnostic", "cycod-definition", "cycod-tokens"]),
    ("cycod-call", &["cycod-mask", "cycod-diagnostic", "cycod-syntax", "cycod-shell", "cycod-definition"]),
    ("cycod-policy", &["cycod-diagnostic", "cycod-shell", "cycod-schema", "cycod-definition"]),
    (
        "cycod-plan",
        &["cycod-mask", "cycod-diagnostic", "cycod-syntax", "cycod-shell", "cycod-definition", "cycod-call"],
    ),
    (
        "cycod-settings",
        &[
            "cycod-file",
            "cycod-diagnostic",
            "cycod-syntax",
            "cycod-shell",
            "cycod-definition",
            "cycod-catalog",
            "cycod-policy",
        ],
    ),
    ("cycod-import", &["cycod-diagnostic", "cycod-shell", "cycod-syntax"]),
    ("cycod-store", &["cycod-file", "cycod-thread", "cycod-diagnostic", "cycod-process", "cycod-schema"]),
    ("cycod-team", &["cycod-code", "cycod-schedule"]),
    ("cycod-team-sync", &["cycod-file", "cycod-code", "cycod-catalog", "cycod-schedule", "cycod-team"]),
    ("cycod-snapshot", &["cycod-file", "cycod-team"]),
    (
        "cycod-team-change",
        &["cycod-diagnostic", "cycod-definition", "cycod-catalog", "cycod-policy", "cycod-settings", "cycod-team"],
    ),
    ("cycod-page", &["cycod-http", "cycod-diagnostic"]),
    ("cycod-conductor", &["cycod-thread", "cycod-flow"]),
    (
        "cycod-hub",
        &[
            "cycod-thread",
            "cycod-file",
            "cycod-flow",
            "cycod-definition",
            "cycod-conductor",
            "cycod-process",
            "cycod-http",
            "cycod-page",
            "cycod-schedule",
            "cycod-team",
            "cycod-team-change",
        ],
    ),
    ("cycod-proxy", &["cycod-thread"]),
    ("cycod-script", &["cycod-thread", "cycod-definition"]),
    (
        "cycod-secret",
        &["cycod-definition", "cycod-mask", "cycod-diagnostic", "cycod-plan", "cycod-process", "cycod-store"],
    ),
    (
        "cycod-run",
        &[
            "cycod-thread",
            "cycod-file",
            "cycod-flow",
            "cycod-mask",
            "cycod-diagnostic",
            "cycod-syntax",
            "cycod-definition",
            "cycod-call",
            "cycod-plan",
            "cycod-policy",
            "cycod-process",
            "cycod-proxy",
            "cycod-script",
        ],
    ),
    ("cycod-builtin", &["cycod-file", "cycod-diagnostic", "cycod-definition", "cycod-process", "cycod-run"]),
    (
        "cycod-engine",
        &[
            "cycod-thread",
            "cycod-file",
            "cycod-flow",
            "cycod-mask",
            "cycod-diagnostic",
            "cycod-syntax",
            "cycod-definition",
            "cycod-catalog",
            "cycod-call",
            "cycod-policy",
            "cycod-plan",
            "cycod-settings",
            "cycod-process",
            "cycod-script",
            "cycod-run",
            "cycod-schema",
            "cycod-store",
            "cycod-tokens",
            "cycod-trace",
        ],
    ),
    (
        "cycod-mcp-client",
        &[
            "cycod-thread",
            "cycod-file",
            "cycod-mask",
            "cycod-diagnostic",
            "cycod-definition",
            "cycod-catalog",
            "cycod-call",
            "cycod-process",
            "cycod-run",
            "cycod-schema",
            "cycod-settings",
            "cycod-shell",
            "cycod-store",
            "cycod-engine",
        ],
    ),
    ("cycod-fuzz", &["cycod-definition", "cycod-diagnostic"]),
    ("growth", &[]),
    ("scripted-issuer", &["cycod-thread"]),
    ("scripted-provider", &[]),
    ("cycod-model", &["cycod-mask", "cycod-schema"]),
    ("cycod-analysis", &["cycod-diagnostic"]),
    (
        "cycod-agent",
        &[
            "cycod-mask",
            "cycod-diagnostic",
            "cycod-engine",
            "cycod-model",
            "cycod-schema",
            "cycod-search",
            "cycod-store",
        ],
    ),
    (
        "cycod-cli-tools",
        &[
            "cycod-thread",
            "cycod-file",
            "cycod-diagnostic",
            "cycod-definition",
            "cycod-builtin",
            "cycod-import",
            "cycod-process",
            "cycod-run",
            "cycod-secret",
            "cycod-settings",
            "cycod-shell",
            "cycod-store",
            "cycod-engine",
            "cycod-mcp-client",
            "cycod-model",
            "cycod-analysis",
        ],
    ),
    (
        "cycod-app",
        &[
            "cycod-builtin",
            "cycod-cli-tools",
            "cycod-engine",
            "cycod-file",
            "cycod-mcp-client",
            "cycod-model",
            "cycod-process",
            "cycod-schema",
            "cycod-script",
            "cycod-secret",
            "cycod-settings",
            "cycod-shell",
            "cycod-store",
            "cycod-syntax",
        ],
    ),
    (
        "cycod-mcp-server",
        &[
            "cycod-thread",
            "cycod-http",
            "cycod-engine",
            "cycod-mcp-client",
            "cycod-process",
            "cycod-schema",
            "cycod-search",
            "cycod-store",
        ],
    ),
    (
        "cycod-web",
        &["cycod-app", "cycod-engine", "cycod-http", "cycod-page", "cycod-settings", "cycod-store", "cycod-thread"],
    ),
    (
        "cycod",
        &[
            "cycod-thread",
            "cycod-search",
            "cycod-web",
            "cycod-app",
            "cycod-agent",
            "cycod-cli-tools",
            "cycod-engine",
            "cycod-model",
            "cycod-import",
            "cycod-process",
            "cycod-syntax",
            "cycod-schema",
            "cycod-script",
            "cycod-secret",
            "cycod-settings",
            "cycod-shell",
            "cycod-snapshot",
            "cycod-store",
            "cycod-file",
            "cycod-schedule",
            "cycod-team",
            "cycod-team-change",
            "cycod-team-sync",
            "cycod-tokens",
            "cycod-mcp-client",
            "cycod-mcp-server",
        ],
    ),
    ("xtask", &["cycod-code"]),
];

/// What a crate that is to stay pure may not reach.
const PURE: [&str; 13] = [
    "cycod-flow",
    "cycod-schedule",
    "cycod-mask",
    "cycod-code",
    "cycod-diagnostic",
    "cycod-syntax",
    "cycod-shell",
    "cycod-definition",
    "cycod-call",
    "cycod-policy",
    "cycod-import",
    "cycod-analysis",
    "cycod-team",
];

/// Words whose presence makes a file touch the machine.
const IMPURE: [&str; 6] = ["std::fs", "std::process", "std::net", "std::env::", "Instant::now", "SystemTime::now"];

/// Checks everything; the error holds one line for each finding.
pub(crate) fn tidy(root: &Path) -> Result<String, Vec<String>> {
    let mut problems = arrows(root);
    let sources = rust_files(&root.join("crates"));
    problems.extend(circles::circles(root));
    problems.extend(names::shared_names(root, &sources));
    problems.extend(purity(root, &sources));
    problems.extend(codes(root, &sources));
    problems.extend(typed_errors(root, &sources));
    problems.extend(readable(root, &sources));
    problems.extend(unsafe_homes(root, &sources));
    problems.extend(homes(root, &sources));
    problems.extend(plain_words(root, &sources));
    if problems.is_empty() { Ok("tidy: nothing to fix".to_owned()) } else { Err(problems) }
}

/// Compares the table with what cargo knows.
fn arrows(root: &Path) -> Vec<String> {
    let output =
        Command::new("cargo").args(["metadata", "--format-version", "1", "--no-deps"]).current_dir(root).output();
    let metadata: Value = match output.map(|output| serde_json::from_slice(&output.stdout)) {
        Ok(Ok(metadata)) => metadata,
        _ => return vec!["cargo metadata gave nothing to read".to_owned()],
    };
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.into_iter().collect();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        seen.insert(name.to_owned());
        let Some(may_use) = allowed.get(name) else {
            problems.push(format!("crate `{name}` is not in the table of arrows (xtask/src/tidy.rs)"));
            continue;
        };
        problems.extend(unused(package));
        let dependencies = || package["dependencies"].as_array().into_iter().flatten();
        let uses =
            |used: &str| dependencies().any(|dependency| dependency["name"] == used && dependency["kind"].is_null());
        problems.extend(
            may_use
                .iter()
                .filter(|used| !uses(used))
                .map(|used| format!("the table of arrows lets `{name}` use `{used}`, which it does not")),
        );
        for dependency in dependencies() {
            let (used, kind) = (dependency["name"].as_str().unwrap_or_default(), &dependency["kind"]);
            if used.starts_with("cycod") && kind.is_null() && !may_use.contains(&used) {
                problems.push(format!("`{name}` uses `{used}`: no arrow points there"));
            }
        }
    }
    problems.extend(
        ARROWS
            .iter()
            .filter(|(name, _)| !seen.contains(*name))
            .map(|(name, _)| format!("the table of arrows names `{name}`, which is gone")),
    );
    for (index, (name, may_use)) in ARROWS.iter().enumerate() {
        let before: Vec<&str> = ARROWS[..index].iter().map(|(name, _)| *name).collect();
        problems.extend(
            may_use
                .iter()
                .filter(|used| !before.contains(used))
                .map(|used| format!("`{name}` may not use `{used}`: it comes later")),
        );
    }
    problems
}

/// The dependencies of a package that neither its code nor its features name. Code of another package is its own, too, where a file
/// of it takes that in by its path.
fn unused(package: &Value) -> Vec<String> {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let files = manifest.parent().map(rust_files).unwrap_or_default();
    let mut code = String::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for path in text.lines().filter_map(|line| line.strip_prefix("#[path = \"../")?.strip_suffix("\"]")) {
            let taken = file.parent().map(|folder| folder.join("..").join(path));
            code.extend(taken.and_then(|taken| fs::read_to_string(taken).ok()));
        }
        code.push_str(&text);
    }
    let words: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let features = package["features"].to_string();
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let name = |dependency: &Value| {
        let name = dependency["rename"].as_str().or_else(|| dependency["name"].as_str()).unwrap_or_default();
        let is_used = words.contains(name.replace('-', "_").as_str())
            || features.contains(&format!("\"{name}/"))
            || features.contains(&format!("dep:{name}\""));
        (!is_used).then(|| name.to_owned())
    };
    dependencies
        .filter_map(name)
        .map(|name| format!("`{}` does not use its dependency `{name}`", package["name"].as_str().unwrap_or_default()))
        .collect()
}

fn purity(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    for path in sources {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let is_pure = PURE.iter().any(|name| relative.starts_with(format!("crates/{name}/src")));
        if !is_pure || is_test(path) {
            continue;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let code = without_tests(&text);
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for word in IMPURE.iter().filter(|word| line.contains(*word)) {
                problems.push(format!(
                    "{}:{}: `{word}` in a crate that is to stay pure",
                    relative.display(),
                    number + 1
                ));
            }
        }
    }
    problems
}

/// Names of codes that are also names of something else: where each is written, and what it is there.
const NAMESAKES: [(Code, &str, &str); 13] = [
    (Code::Cancelled, "crates/cycod-cli-tools/src/workflow_run.rs", "the status of a workflow"),
    (Code::Cancelled, "crates/cycod-engine/src/result_json.rs", "a field of a result"),
    (Code::Cancelled, "crates/cycod-mcp-server/src/background.rs", "the status of a run"),
    (Code::Cancelled, "crates/cycod-mcp-server/src/handles.rs", "the status of a task"),
    (Code::Cancelled, "crates/cycod-store/src/history/read.rs", "the state of a run"),
    (Code::StreamFile, "crates/cycod-definition/src/lower/step.rs", "a key of tool files"),
    (Code::StreamFile, "crates/cycod-definition/src/table/keys.rs", "a key of tool files"),
    (Code::TempDirectory, "crates/cycod-definition/src/lower/settings.rs", "a key of tool files"),
    (Code::TempDirectory, "crates/cycod-definition/src/table/keys.rs", "a key of tool files"),
    (Code::TimedOut, "crates/cycod-definition/src/check/conditions.rs", "the status of a step"),
    (Code::TimedOut, "crates/cycod-run/src/report.rs", "the status of a step"),
    (Code::TimedOut, "crates/cycod-store/src/history/read.rs", "the state of a run"),
    (Code::TimedOut, "crates/cycod-syntax/src/template.rs", "an attribute of steps"),
];

/// Every code is used, and none by its name: a text can be misspelt, and means nothing on any surface.
fn codes(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut unused: BTreeSet<Code> = Code::ALL.iter().copied().collect();
    let mut needless: BTreeSet<(Code, &str)> = NAMESAKES.iter().map(|(code, home, _)| (*code, *home)).collect();
    for path in sources.iter().filter(|path| !path.starts_with(root.join("crates/cycod-code")) && !is_test(path)) {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let text = fs::read_to_string(path).unwrap_or_default();
        let code = without_tests(&text);
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let place = format!("{}:{}", relative.display(), number + 1);
            for rest in line.split("Code::").skip(1) {
                let variant = rest.split(|next: char| !next.is_ascii_alphanumeric()).next().unwrap_or_default();
                unused.retain(|code| format!("{code:?}") != variant);
            }
            for found in line.split('"').skip(1).filter_map(|text| text.parse::<Code>().ok()) {
                let home = NAMESAKES.iter().find(|(code, home, _)| *code == found && relative == Path::new(home));
                match home {
                    Some((code, home, _)) => _ = needless.remove(&(*code, *home)),
                    None => {
                        problems.push(format!("{place}: \"{found}\" is the name of a code: write `Code::{found:?}`"));
                    }
                }
            }
            // What no code is called any more is no name that could be looked for.
            if line.contains("code.name()") && ["==", "!=", "match "].iter().any(|word| line.contains(word)) {
                problems.push(format!("{place}: the name of a code is compared: compare the code"));
            }
        }
    }
    problems.extend(unused.iter().map(|code| format!("`Code::{code:?}` is used by nothing (crates/cycod-code)")));
    let needless = needless.iter().map(|(code, home)| format!("{home}: no \"{code}\" to allow (xtask/src/tidy.rs)"));
    problems.extend(needless);
    problems
}

/// What a crate tells others of a failure has a type: nobody can tell one text from another.
fn typed_errors(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    for path in sources {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let is_ours = relative.components().nth(2).is_some_and(|part| part.as_os_str() == "src")
            && !relative.components().any(|part| part.as_os_str() == "templates");
        if !is_ours || is_test(path) {
            continue;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let code = without_tests(&text);
        problems.extend(texts_as_errors(code).into_iter().map(|number| {
            format!("{}:{number}: `Result<_, String>` for other crates: give the error a type", relative.display())
        }));
    }
    problems
}

/// The lines of public functions, of methods of public traits, of public types and fields with a `Result<_, String>`.
fn texts_as_errors(code: &str) -> Vec<usize> {
    let (mut found, mut in_trait, mut start) = (Vec::new(), false, 0);
    for (number, line) in code.split_inclusive('\n').enumerate() {
        let rest = &code[start..];
        start += line.len();
        in_trait = line.starts_with("pub trait") || in_trait && !line.starts_with('}');
        let item = line.trim_start();
        let end = match item.strip_prefix("pub ").or(in_trait.then_some(item)).unwrap_or_default() {
            item if item.contains("fn ") => rest.find(['{', ';']),
            item if item.starts_with("type ") => rest.find(';'),
            "" => continue,
            _ => Some(line.len()),
        };
        if has_text_as_error(&rest[..end.unwrap_or(rest.len())]) {
            found.push(number + 1);
        }
    }
    found
}

/// Whether the last argument of a `Result` is a `String`.
fn has_text_as_error(signature: &str) -> bool {
    signature.split("Result<").skip(1).any(|arguments| {
        let (mut depth, mut last, mut before) = (0, 0, ' ');
        for (at, next) in arguments.char_indices() {
            match next {
                '<' | '(' | '[' => depth += 1,
                '>' if before == '-' => {}
                '>' if depth == 0 => return arguments[last..at].trim().trim_end_matches(',') == "String" && last > 0,
                '>' | ')' | ']' => depth -= 1,
                ',' if depth == 0 && !arguments[at + 1..].trim_start().starts_with('>') => last = at + 1,
                _ => {}
            }
            before = next;
        }
        false
    })
}

/// A file with more lines than this says first what it is about.
const LONG_FILE: usize = 150;

/// No function has more lines of code than this.
const LONG_FUNCTION: usize = 100;

/// Long files begin with what they are about, and functions fit a screen or two.
fn readable(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    for path in sources.iter().filter(|path| path.strip_prefix(root).is_ok_and(is_source)) {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let text = fs::read_to_string(path).unwrap_or_default();
        let count = text.lines().count();
        // Lints of the whole file may come before it.
        if count > LONG_FILE && !text.lines().take_while(|line| !line.starts_with("use ")).any(is_module_comment) {
            problems.push(format!("{}: {count} lines without a comment on what they are for", relative.display()));
        }
        problems.extend(long_functions(&text).into_iter().map(|(line, name, count)| {
            format!("{}:{line}: `{name}` has {count} lines of code: split it", relative.display())
        }));
    }
    problems
}

/// Whether a path within the repository is code of the program, not the text of a template.
fn is_source(path: &Path) -> bool {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str()).collect();
    parts.get(2).is_some_and(|part| *part == "src") && parts.iter().all(|part| *part != "templates")
}

fn is_module_comment(line: &str) -> bool {
    line.starts_with("//!")
}

/// The functions of a formatted file that are too long: the line, the name, and the lines of code between their braces.
fn long_functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let Some((before, rest)) = code.split_once("fn ") else { continue };
        let is_head = before.split_whitespace().all(|word| {
            matches!(word, "pub" | "const" | "async" | "unsafe" | "extern" | "\"C\"") || word.starts_with("pub(")
        });
        if !is_head {
            continue;
        }
        let is_end = |line: &&&str| line.len() == indent + 1 && line.ends_with('}') && line.trim_start() == "}";
        let body = lines[at + 1..].iter().take_while(|line| !is_end(line));
        let count = body.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//")).count();
        // A declaration without a body ends before its first brace.
        let head = lines[at..].iter().find(|line| line.ends_with('{') || line.ends_with(';') || line.ends_with('}'));
        if count > LONG_FUNCTION && head.is_some_and(|line| line.ends_with('{')) {
            let name = rest.split(|next: char| !next.is_alphanumeric() && next != '_').next().unwrap_or_default();
            found.push((at + 1, name.to_owned(), count));
        }
    }
    found
}

fn unsafe_homes(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let outside = |path: &&PathBuf| !path.starts_with(root.join("crates/cycod-process"));
    let holds = |path: &&PathBuf| {
        fs::read_to_string(path).is_ok_and(|text| text.contains("unsafe {") || text.contains("unsafe fn"))
    };
    sources
        .iter()
        .filter(outside)
        .filter(holds)
        .map(|path| format!("{}: `unsafe` outside cycod-process", path.display()))
        .collect()
}

/// What reaches a terminal without `Shown`, and where each has its home. `clippy.toml` bans most of it; this says where the
/// exceptions are.
const TERMINAL: [(&str, &[&str]); 14] = [
    (
        "io::stdout()",
        &[
            "crates/cycod/src/printer/streams.rs",
            "crates/cycod-mcp-server/src/stdio.rs",
            "crates/cycod-mcp-server/src/streams.rs",
            HUB,
            WORKER,
        ],
    ),
    ("io::stderr()", &["crates/cycod/src/printer/streams.rs", HUB, WORKER]),
    ("tokio::io::std", &[]),
    ("stdio_pipes", &["crates/cycod-mcp-server/src/streams.rs"]),
    ("rustix::stdio", &[]),
    ("rustix::io::write", &["crates/cycod/src/printer/streams.rs"]),
    ("open(\"/dev/tty\")", &["crates/cycod/src/printer/tty/unix.rs"]),
    ("\"/dev/stdout", &[]),
    ("\"/dev/stderr", &[]),
    ("rustyline::", &["crates/cycod/src/commands/chat/editor.rs"]),
    ("anstream::", &[]),
    ("clippy::print_std", &[]),
    ("clippy::disallowed_types", &["crates/cycod/src/commands/chat/editor.rs"]),
    ("Shown::rendered(", &["crates/cycod-diagnostic/src/render.rs"]),
];

/// A worker speaks to the process that started it; what it says of a failure is `Shown`.
/// A program of its own, which prints lines without anything that a terminal acts on.
const HUB: &str = "crates/cycod-hub/src/main.rs";
const WORKER: &str = "crates/cycod-app/src/worker/pipe.rs";

/// What puts a file into its place without `cycod-file`, and who may: one gives a tool file a new name, the other puts an output
/// whose lock it holds beside the rest.
const PLACING: [(&str, &[&str]); 3] = [
    ("fs::rename(", &["crates/cycod-catalog/src/write.rs", "crates/cycod-store/src/outputs.rs", PORTABLE]),
    ("NamedTempFile", &[]),
    (".persist(", &[]),
];
const PORTABLE: &str = "crates/cycod-file/src/folder/portable.rs";

/// What starts a thread or a task whose panic nobody learns of.
const STARTING: [(&str, &[&str]); 6] = [
    ("thread::spawn", &[]),
    ("thread::Builder", &[THREAD]),
    ("tokio::spawn", &[TASK]),
    ("task::spawn(", &[]),
    ("spawn_blocking", &[TASK]),
    ("JoinSet", &[]),
];
const THREAD: &str = "crates/cycod-thread/src/thread.rs";
const TASK: &str = "crates/cycod-thread/src/task.rs";

/// What is done in one place only is done nowhere else.
fn homes(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    for path in sources {
        let relative = path.strip_prefix(root).unwrap_or(path);
        // A server for tests is no part of the program, and neither is what a new project begins with.
        let is_ours = relative.components().any(|part| part.as_os_str() == "src")
            && !relative.starts_with("crates/scripted-issuer")
            && !relative.starts_with("crates/scripted-provider")
            && !relative.starts_with("crates/growth")
            && !relative.components().any(|part| part.as_os_str() == "templates");
        if !is_ours || is_test(path) {
            continue;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let code = without_tests(&text);
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for (table, why) in [
                (&TERMINAL[..], "reaches a terminal: use `cycod::printer`"),
                (&PLACING[..], "puts a file into its place: use `cycod_file`"),
                (&STARTING[..], "starts what may panic unheard: use `cycod_thread`"),
            ] {
                for (word, homes) in table.iter().filter(|(word, _)| line.contains(*word)) {
                    if !homes.iter().any(|home| relative == Path::new(home)) {
                        problems.push(format!("{}:{}: `{word}` {why}", relative.display(), number + 1));
                    }
                }
            }
        }
    }
    problems
}

/// The texts for people whose words are checked: files, and directories with everything below them.
const PLAIN: [&str; 7] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "crates/cycod/src/help/pages",
    "docs",
];

/// No text for people uses a word that the table in `docs/STYLE.md` replaces: pages, and messages in the code.
fn plain_words(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let style = fs::read_to_string(root.join("docs/STYLE.md")).unwrap_or_default();
    let avoided = avoided(&style);
    if avoided.is_empty() {
        return vec!["docs/STYLE.md: the table of words to avoid is missing".to_owned()];
    }
    let mut problems = Vec::new();
    for path in PLAIN.iter().flat_map(|name| texts(&root.join(name))).filter(|path| !path.ends_with("docs/STYLE.md")) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let relative = path.strip_prefix(root).unwrap_or(&path).display();
        let found = uses(&text, &avoided);
        problems.extend(found.into_iter().map(|(line, words)| {
            format!("{relative}:{line}: avoid \"{words}\": the table in docs/STYLE.md says what to use")
        }));
    }
    let is_ours = |path: &&PathBuf| {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let is_in = |name: &str| relative.components().any(|part| part.as_os_str() == name);
        is_in("src") && !is_in("templates") && !is_test(path)
    };
    for path in sources.iter().filter(is_ours) {
        let text = fs::read_to_string(path).unwrap_or_default();
        let relative = path.strip_prefix(root).unwrap_or(path).display();
        for (line, literal) in literals(without_tests(&text)) {
            problems.extend(uses(&literal, &avoided).into_iter().map(|(_, words)| {
                format!("{relative}:{line}: a message with \"{words}\": the table in docs/STYLE.md says what to use")
            }));
        }
    }
    problems
}

/// The texts in quotes of Rust code, with the line in which each begins. Comments aren't texts.
fn literals(code: &str) -> Vec<(usize, String)> {
    let (mut found, mut rest) = (Vec::new(), code);
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let line = || code[..code.len() - rest.len() + at].matches('\n').count() + 1;
        let (before, here) = rest.split_at(at);
        let hashes = before.len() - before.trim_end_matches('#').len();
        let is_raw = before[..before.len() - hashes].ends_with('r');
        rest = if here.starts_with("//") {
            &here[here.find('\n').unwrap_or(here.len())..]
        } else if let Some(quoted) = here.strip_prefix('"').filter(|_| is_raw) {
            let closing = format!("\"{}", "#".repeat(hashes));
            let end = quoted.find(&closing).unwrap_or(quoted.len());
            found.push((line(), quoted[..end].to_owned()));
            quoted.get(end + closing.len()..).unwrap_or_default()
        } else if let Some(quoted) = here.strip_prefix('"') {
            let mut text = String::new();
            let mut rest = quoted.chars();
            while let Some(next) = rest.next().filter(|next| *next != '"') {
                match next {
                    '\\' => match rest.next() {
                        Some('n') => text.push('\n'),
                        // The text continues in the next line, after its indentation.
                        Some('\n') => rest = rest.as_str().trim_start().chars(),
                        Some(escaped) => text.push(escaped),
                        None => {}
                    },
                    next => text.push(next),
                }
            }
            found.push((line(), text));
            rest.as_str()
        } else if here.starts_with("'\\") {
            here.get(2..).and_then(|escape| escape[1..].find('\'').map(|end| &escape[end + 2..])).unwrap_or_default()
        } else if here.starts_with('\'') && here.chars().nth(2) == Some('\'') {
            &here[2 + here.chars().nth(1).map_or(0, char::len_utf8)..]
        } else {
            &here[1..]
        };
    }
    found
}

/// The words in backticks in the first column of the table.
fn avoided(style: &str) -> Vec<&str> {
    let cells = style.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

/// Where a text uses one of the words, code left out; a phrase may continue in the next line.
fn uses<'a>(text: &str, avoided: &[&'a str]) -> Vec<(usize, &'a str)> {
    let (mut words, mut fence, mut in_code) = (Vec::new(), 0, false);
    for (number, line) in text.lines().enumerate() {
        let ticks = line.trim_start().bytes().take_while(|byte| *byte == b'`').count();
        if ticks >= 3 && (fence == 0 || ticks >= fence) {
            fence = if fence == 0 { ticks } else { 0 };
            continue;
        }
        if fence > 0 {
            continue;
        }
        in_code &= !line.trim().is_empty();
        for (index, part) in line.split('`').enumerate() {
            in_code ^= index > 0;
            if in_code {
                words.push((number + 1, "`".to_owned()));
                continue;
            }
            let is_word = |c: char| c.is_alphanumeric() || c == '\'' || c == '-';
            for word in part.split_inclusive(|c: char| !is_word(c)) {
                let (word, end) = word.split_at(word.trim_end_matches(|c: char| !is_word(c)).len());
                if !word.is_empty() {
                    words.push((number + 1, word.to_lowercase()));
                }
                if !end.trim().is_empty() {
                    words.push((number + 1, end.to_owned()));
                }
            }
        }
    }
    let mut found = Vec::new();
    for (start, (line, _)) in words.iter().enumerate() {
        for phrase in avoided {
            let mut rest = words[start..].iter().map(|(_, word)| word.as_str());
            if phrase.split(' ').all(|word| rest.next() == Some(word)) {
                found.push((*line, *phrase));
            }
        }
    }
    found
}

/// A file, or the Markdown and help pages below a directory.
fn texts(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let mut paths: Vec<PathBuf> =
        fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.retain(|path| path.is_dir() || path.extension().is_some_and(|ending| ending == "md" || ending == "txt"));
    paths.iter().flat_map(|path| texts(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::{avoided, literals, long_functions, texts_as_errors, uses};

    #[test]
    fn a_function_is_long_by_its_code() {
        let of = |count: usize, line: &str| {
            format!(
                "impl A {{\n    fn a();\n    pub(crate) const fn b(\n        c: u8,\n    ) {{\n{}    }}\n}}\n",
                line.repeat(count)
            )
        };
        assert!(long_functions(&of(98, "        c();\n")).is_empty());
        assert_eq!(long_functions(&of(99, "        c();\n")), [(3, "b".to_owned(), 101)]);
        assert!(long_functions(&of(200, "        // c\n\n")).is_empty());
        let closure = "fn a() {\n    let f = |b| {\n        b\n    };\n}\n";
        assert!(long_functions(&closure.repeat(40)).is_empty());
    }

    #[test]
    fn words_to_avoid_are_found_outside_of_code() {
        let avoided = avoided("| avoid | use |\n|---|---|\n| `anew`, `goes on` | `again` |\n");
        assert_eq!(avoided, ["anew", "goes on"]);
        let check = |text: &str, lines: &[usize]| {
            let found: Vec<usize> = uses(text, &avoided).into_iter().map(|(line, _)| line).collect();
            assert_eq!(found, lines, "{text}");
        };
        check("It starts Anew.\n", &[1]);
        check("The run goes\non, and\nstarts anew.\n", &[1, 3]);
        check("It goes. On Monday, a-new `anew` renewed anewed.\n", &[]);
        check("`anew\nanew` again anew\n", &[2]);
        check("an `open\n\nanew\n", &[3]);
        check("```text\nanew\n```\nanew\n", &[4]);
        check("````markdown\n```sh\nanew\n```\nanew\n````\nanew\n", &[7]);
    }

    #[test]
    fn messages_in_code_are_found() {
        let check = |code: &str, expect: &[(usize, &str)]| {
            let found = literals(code);
            let found: Vec<(usize, &str)> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
            assert_eq!(found, expect, "{code}");
        };
        check("// a \"comment\"\nlet a = \"b\"; /// \"c\"\n\"d\"", &[(2, "b"), (3, "d")]);
        check("\"a \\\n    b\\nc \\\"d\\\"\" \"e\"", &[(1, "a b\nc \"d\""), (2, "e")]);
        check("r#\"a \"b\" \\\"# r\"c\" '\"' '\\'' '\\\\' \"d\"", &[(1, "a \"b\" \\"), (1, "c"), (1, "d")]);
        check("fn a<'b>(c: &'b str) { \"d\" } 1 / 2 '…' '\\u{7f}' \"e\"", &[(1, "d"), (1, "e")]);
        check("\"open", &[(1, "open")]);
    }

    #[test]
    fn only_what_other_crates_see_needs_a_typed_error() {
        let check = |code: &str, lines: &[usize]| assert_eq!(texts_as_errors(code), lines, "{code}");
        check("pub fn a() -> Result<(), String> {\n}\n", &[1]);
        check(
            "impl A {\n    pub async fn a(\n        b: u8,\n    ) -> Result<\n        (Vec<u8>, u8),\n        String,\n    > {\n    }\n}\n",
            &[2],
        );
        check("pub fn a(b: impl Fn(u8) -> Result<Box<dyn Fn() -> u8>, String>);\n", &[1]);
        check("pub type A = BTreeMap<u8, Result<u8, String>>;\n", &[1]);
        check("pub struct A {\n    pub b: Result<u8, String>,\n    c: Result<u8, String>,\n}\n", &[2]);
        check(
            "pub trait A {\n    /// Says.\n    fn a(&self) -> Result<u8, String>;\n}\nfn b() -> Result<u8, String> {}\n",
            &[3],
        );
        check("trait A {\n    fn a(&self) -> Result<u8, String>;\n}\n", &[]);
        check("pub(crate) fn a() -> Result<u8, String> {}\nfn b() -> Result<u8, String> {}\n", &[]);
        check("pub fn a() -> Result<BTreeMap<u8, String>, Error> {\n    let b: Result<u8, String> = c();\n}\n", &[]);
        check("pub fn a() -> io::Result<String> {}\npub fn b() -> Result<String> {}\n", &[]);
    }
}
