//! What the compiler does not hold: the arrows between crates, the codes of problems, the words we keep out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cycod_code::Code;
use serde_json::Value;

/// Every crate with the crates it may use; a crate stands after all it may use, so no arrow can point back.
const ARROWS: [(&str, &[&str]); 34] = [
    ("cycod-file", &[]),
    ("cycod-http", &[]),
    ("cycod-code", &[]),
    ("cycod-flow", &[]),
    ("cycod-diagnostic", &["cycod-code"]),
    ("cycod-syntax", &["cycod-diagnostic"]),
    ("cycod-shell", &["cycod-code"]),
    ("cycod-schema", &[]),
    ("cycod-tokens", &["cycod-schema"]),
    ("cycod-definition", &["cycod-diagnostic", "cycod-syntax", "cycod-shell", "cycod-schema"]),
    ("cycod-catalog", &["cycod-file", "cycod-diagnostic", "cycod-syntax", "cycod-definition", "cycod-tokens"]),
    ("cycod-call", &["cycod-diagnostic", "cycod-syntax", "cycod-shell", "cycod-definition"]),
    ("cycod-policy", &["cycod-diagnostic", "cycod-shell", "cycod-schema", "cycod-definition"]),
    (
        "cycod-plan",
        &["cycod-diagnostic", "cycod-syntax", "cycod-shell", "cycod-definition", "cycod-call", "cycod-policy"],
    ),
    (
        "cycod-settings",
        &["cycod-file", "cycod-diagnostic", "cycod-syntax", "cycod-definition", "cycod-catalog", "cycod-policy"],
    ),
    ("cycod-import", &["cycod-diagnostic", "cycod-shell", "cycod-syntax"]),
    ("cycod-store", &["cycod-file", "cycod-diagnostic"]),
    ("cycod-process", &[]),
    ("cycod-proxy", &[]),
    ("cycod-script", &["cycod-definition"]),
    ("cycod-secret", &["cycod-diagnostic", "cycod-plan", "cycod-process", "cycod-store"]),
    (
        "cycod-run",
        &[
            "cycod-file",
            "cycod-flow",
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
            "cycod-file",
            "cycod-flow",
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
        ],
    ),
    (
        "cycod-mcp-client",
        &[
            "cycod-file",
            "cycod-diagnostic",
            "cycod-definition",
            "cycod-catalog",
            "cycod-process",
            "cycod-run",
            "cycod-schema",
            "cycod-settings",
            "cycod-store",
            "cycod-engine",
        ],
    ),
    ("growth", &[]),
    ("scripted-provider", &[]),
    ("cycod-model", &["cycod-schema"]),
    ("cycod-analysis", &[]),
    (
        "cycod-agent",
        &["cycod-diagnostic", "cycod-engine", "cycod-model", "cycod-process", "cycod-schema", "cycod-store"],
    ),
    (
        "cycod-cli-tools",
        &[
            "cycod-file",
            "cycod-diagnostic",
            "cycod-definition",
            "cycod-builtin",
            "cycod-import",
            "cycod-process",
            "cycod-run",
            "cycod-secret",
            "cycod-settings",
            "cycod-store",
            "cycod-engine",
            "cycod-mcp-client",
            "cycod-model",
            "cycod-analysis",
        ],
    ),
    (
        "cycod-mcp-server",
        &["cycod-http", "cycod-diagnostic", "cycod-engine", "cycod-process", "cycod-schema", "cycod-store"],
    ),
    (
        "cycod",
        &[
            "cycod-file",
            "cycod-agent",
            "cycod-builtin",
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
            "cycod-store",
            "cycod-tokens",
            "cycod-mcp-client",
            "cycod-mcp-server",
        ],
    ),
    ("xtask", &["cycod-code"]),
];

/// What a crate that is to stay pure may not reach.
const PURE: [&str; 9] = [
    "cycod-code",
    "cycod-diagnostic",
    "cycod-syntax",
    "cycod-shell",
    "cycod-definition",
    "cycod-call",
    "cycod-policy",
    "cycod-import",
    "cycod-analysis",
];

/// Words whose presence makes a file touch the machine.
const IMPURE: [&str; 6] = ["std::fs", "std::process", "std::net", "std::env::", "Instant::now", "SystemTime::now"];

/// Checks everything; the error holds one line for each finding.
pub(crate) fn tidy(root: &Path) -> Result<String, Vec<String>> {
    let mut problems = arrows(root);
    let sources = rust_files(&root.join("crates"));
    problems.extend(purity(root, &sources));
    problems.extend(codes(root, &sources));
    problems.extend(unsafe_homes(root, &sources));
    problems.extend(homes(root, &sources));
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
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
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

fn purity(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    for path in sources {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let is_pure = PURE.iter().any(|name| relative.starts_with(format!("crates/{name}/src")));
        if !is_pure || is_test(path) {
            continue;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
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

/// Names of codes that are also names of something else, and the files where they are: keys of tool files, and how a step or
/// a run ended.
const NAMESAKES: [(Code, &[&str]); 4] = [
    (
        Code::Cancelled,
        &[
            "crates/cycod-cli-tools/src/workflow_run.rs",
            "crates/cycod-engine/src/history.rs",
            "crates/cycod-engine/src/result_json.rs",
            "crates/cycod-mcp-server/src/background.rs",
            "crates/cycod-mcp-server/src/handles.rs",
            "crates/cycod-store/src/history/read.rs",
        ],
    ),
    (Code::StreamFile, &["crates/cycod-definition/src/lower/step.rs", "crates/cycod-definition/src/table/keys.rs"]),
    (
        Code::TempDirectory,
        &["crates/cycod-definition/src/lower/settings.rs", "crates/cycod-definition/src/table/keys.rs"],
    ),
    (
        Code::TimedOut,
        &[
            "crates/cycod-definition/src/check/conditions.rs",
            "crates/cycod-engine/src/history.rs",
            "crates/cycod-run/src/report.rs",
            "crates/cycod-store/src/history/read.rs",
            "crates/cycod-syntax/src/template.rs",
        ],
    ),
];

/// Every code is used, and none by its name: a text can be misspelt, and means nothing on any surface.
fn codes(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut unused: BTreeSet<Code> = Code::ALL.iter().copied().collect();
    for path in sources.iter().filter(|path| !path.starts_with(root.join("crates/cycod-code")) && !is_test(path)) {
        let relative = path.strip_prefix(root).unwrap_or(path);
        let text = fs::read_to_string(path).unwrap_or_default();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for rest in line.split("Code::").skip(1) {
                let variant = rest.split(|next: char| !next.is_ascii_alphanumeric()).next().unwrap_or_default();
                unused.retain(|code| format!("{code:?}") != variant);
            }
            for found in line.split('"').skip(1).filter_map(|text| text.parse::<Code>().ok()) {
                let homes = NAMESAKES.iter().filter(|(code, _)| *code == found).flat_map(|(_, homes)| homes.iter());
                if !homes.into_iter().any(|home| relative == Path::new(home)) {
                    let place = format!("{}:{}", relative.display(), number + 1);
                    problems.push(format!("{place}: \"{found}\" is the name of a code: write `Code::{found:?}`"));
                }
            }
        }
    }
    problems.extend(unused.iter().map(|code| format!("`Code::{code:?}` is used by nothing (crates/cycod-code)")));
    problems
}

/// Whether a file holds nothing but tests: below `tests/`, or a module that its parent declares for tests only.
fn is_test(path: &Path) -> bool {
    if path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs") {
        return true;
    }
    let (Some(stem), Some(directory)) = (path.file_stem().map(|stem| stem.to_string_lossy()), path.parent()) else {
        return false;
    };
    let parents = [directory.join("lib.rs"), directory.join("mod.rs"), directory.with_extension("rs")];
    let declared = format!("#[cfg(test)]\nmod {stem};");
    parents.iter().any(|parent| fs::read_to_string(parent).is_ok_and(|text| text.contains(&declared)))
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
const TERMINAL: [(&str, &[&str]); 15] = [
    ("io::stdout()", &["crates/cycod/src/printer/streams.rs", "crates/cycod-mcp-server/src/stdio.rs"]),
    ("io::stderr()", &["crates/cycod/src/printer/streams.rs"]),
    ("tokio::io::std", &[]),
    ("transport::io::stdio", &["crates/cycod-mcp-server/src/stdio.rs"]),
    ("rustix::stdio", &[]),
    ("rustix::io::write", &["crates/cycod/src/printer/streams.rs"]),
    ("open(\"/dev/tty\")", &["crates/cycod/src/printer/tty.rs"]),
    ("\"/dev/stdout", &[]),
    ("\"/dev/stderr", &[]),
    ("indicatif::", &["crates/cycod/src/printer/lines.rs"]),
    ("rustyline::", &["crates/cycod/src/commands/chat/editor.rs"]),
    ("anstream::", &[]),
    ("clippy::print_std", &[]),
    ("clippy::disallowed_types", &["crates/cycod/src/printer/lines.rs", "crates/cycod/src/commands/chat/editor.rs"]),
    ("Shown::rendered(", &["crates/cycod-diagnostic/src/render.rs"]),
];

/// What puts a file into its place without `cycod-file`, and who may: one gives a tool file a new name, the other puts an output
/// whose lock it holds beside the rest.
const PLACING: [(&str, &[&str]); 3] = [
    ("fs::rename(", &["crates/cycod-catalog/src/write.rs", "crates/cycod-store/src/outputs.rs", PORTABLE]),
    ("NamedTempFile", &[]),
    (".persist(", &[]),
];
const PORTABLE: &str = "crates/cycod-file/src/folder/portable.rs";

/// What is done in one place only is done nowhere else.
fn homes(root: &Path, sources: &[PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    for path in sources {
        let relative = path.strip_prefix(root).unwrap_or(path);
        // A provider for tests is no part of the program, and neither is what a new project begins with.
        let is_ours = relative.components().any(|part| part.as_os_str() == "src")
            && !relative.starts_with("crates/scripted-provider")
            && !relative.starts_with("crates/growth")
            && !relative.components().any(|part| part.as_os_str() == "templates");
        if !is_ours || is_test(path) {
            continue;
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for (table, why) in [
                (&TERMINAL[..], "reaches a terminal: use `cycod::printer`"),
                (&PLACING[..], "puts a file into its place: use `cycod_file`"),
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

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
