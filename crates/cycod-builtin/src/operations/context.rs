//! What a project is: its languages, its files that explain it, its history.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use cycod_file::Folder;
use cycod_run::LineFollower;
use ignore::DirEntry;

use super::Answer;
use crate::{
    arguments::Arguments,
    failure::Failure,
    files::{Part, read},
    git::Git,
    kept::Kept,
    say,
    tree::{Progress, Tree},
};

/// How much is told.
struct Measure {
    /// Levels of directories.
    depth: usize,
    /// Entries of the tree.
    entries: usize,
    /// Lines and bytes of each file that is quoted.
    lines: u64,
    bytes: usize,
    commits: u32,
}

const MINIMAL: Measure = Measure { depth: 1, entries: 30, lines: 0, bytes: 0, commits: 1 };
const STANDARD: Measure = Measure { depth: 3, entries: 120, lines: 60, bytes: 4 << 10, commits: 3 };
const COMPREHENSIVE: Measure = Measure { depth: 5, entries: 400, lines: 400, bytes: 16 << 10, commits: 10 };

/// Files that tell a reader, and an agent, about a project, without regard to case; the first of each row is quoted.
const TOLD: [&[&str]; 3] = [
    &["agents.md", "claude.md", "cassidy.md", "mimir.md", ".cursorrules"],
    &["readme.md", "readme", "readme.txt", "readme.rst", "readme.rmd"],
    &["contributing.md"],
];

/// Languages by the endings of their files.
const LANGUAGES: [(&str, &[&str]); 30] = [
    ("C", &["c", "h"]),
    ("C#", &["cs"]),
    ("C++", &["cc", "cpp", "cxx", "hpp", "hh"]),
    ("CSS", &["css", "scss", "less"]),
    ("Clojure", &["clj", "cljs"]),
    ("Dart", &["dart"]),
    ("Elixir", &["ex", "exs"]),
    ("Erlang", &["erl"]),
    ("Go", &["go"]),
    ("HTML", &["html", "htm"]),
    ("Haskell", &["hs"]),
    ("Java", &["java"]),
    ("JavaScript", &["js", "mjs", "cjs", "jsx"]),
    ("Julia", &["jl"]),
    ("Kotlin", &["kt", "kts"]),
    ("Lua", &["lua"]),
    ("Markdown", &["md", "markdown"]),
    ("OCaml", &["ml", "mli"]),
    ("PHP", &["php"]),
    ("Perl", &["pl", "pm"]),
    ("Python", &["py", "pyi", "ipynb"]),
    ("R", &["r", "rmd", "qmd"]),
    ("Ruby", &["rb"]),
    ("Rust", &["rs"]),
    ("SQL", &["sql"]),
    ("Scala", &["scala"]),
    ("Shell", &["sh", "bash", "zsh"]),
    ("Swift", &["swift"]),
    ("TypeScript", &["ts", "tsx", "mts"]),
    ("Zig", &["zig"]),
];

/// What was seen on a walk.
#[derive(Default)]
struct Seen {
    /// Files by language.
    languages: BTreeMap<&'static str, u64>,
    /// Files below each directory that may be shown.
    below: BTreeMap<PathBuf, u64>,
    files: u64,
    entries: u64,
}

pub(crate) fn get_context(arguments: &Arguments<'_>, follow: &mut dyn FnMut(&str)) -> Result<Answer, Failure> {
    let measure = match arguments.text("level") {
        Some("minimal") => MINIMAL,
        Some("comprehensive") => COMPREHENSIVE,
        _ => STANDARD,
    };
    let root = arguments.platform().may_read(Path::new("."))?;
    let (seen, kept) = walk(&root, &measure, arguments, follow)?;
    let mut text = String::new();
    let name = root.file_name().map_or_else(|| root.display().to_string(), |name| name.display().to_string());
    _ = writeln!(text, "# {name}\n\nDirectory: {}", root.display());
    _ = writeln!(text, "Files: {}{}", seen.files, languages(&seen));
    text.push_str(&history(arguments, &measure)?);
    _ = writeln!(text, "\n## Files\n\n{}", tree(&seen, kept));
    if measure.lines > 0 {
        for names in TOLD {
            if let Some((name, quoted)) = quote(arguments, &root, names, &measure)? {
                _ = writeln!(text, "## {name}\n\n{quoted}");
            }
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    Ok(text.into())
}

/// Looks at every file that is not ignored.
fn walk(
    root: &Path,
    measure: &Measure,
    arguments: &Arguments<'_>,
    follow: &mut dyn FnMut(&str),
) -> Result<(Seen, Kept<bool>), Failure> {
    let (seen, kept, progress) = (Mutex::new(Seen::default()), Kept::new(measure.entries), Progress::default());
    let tree = Tree {
        root,
        include: &[],
        exclude: &[],
        all: false,
        hidden: false,
        depth: None,
        guarded: arguments.platform().guarded(),
    };
    tree.walk(arguments.until(), follow, &progress, true, || {
        |entry: DirEntry| {
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_directory {
                seen.files += 1;
                if let Some(language) = language(path) {
                    *seen.languages.entry(language).or_default() += 1;
                }
                for above in path.ancestors().skip(1).filter(|above| above.components().count() <= measure.depth) {
                    match seen.below.get_mut(above) {
                        Some(count) => *count += 1,
                        None => drop(seen.below.insert(above.to_owned(), 1)),
                    }
                }
            }
            if entry.depth() <= measure.depth {
                seen.entries += 1;
                drop(seen);
                // What is near the top comes first.
                kept.add(Path::new(&format!("{:02}", entry.depth())).join(path), 1, is_directory);
            }
        }
    })?;
    Ok((seen.into_inner().unwrap_or_else(PoisonError::into_inner), kept))
}

fn language(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    LANGUAGES.iter().find(|(_, endings)| endings.contains(&ending.as_str())).map(|(name, _)| *name)
}

fn languages(seen: &Seen) -> String {
    let mut languages: Vec<_> = seen.languages.iter().collect();
    languages.sort_by_key(|&(name, &count)| (std::cmp::Reverse(count), *name));
    let named: Vec<String> = languages.iter().take(8).map(|(name, count)| format!("{name} {count}")).collect();
    if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
}

/// The entries that were kept, each below its directory.
fn tree(seen: &Seen, kept: Kept<bool>) -> String {
    let kept = kept.into_entries().map(|(path, is_directory)| {
        let path: PathBuf = path.components().skip(1).collect();
        (path, is_directory)
    });
    let entries: BTreeMap<PathBuf, bool> = kept.collect();
    let mut text = String::new();
    for (path, is_directory) in &entries {
        let indent = "  ".repeat(path.components().count().saturating_sub(1));
        let name = path.file_name().unwrap_or(OsStr::new(".")).display();
        _ = match is_directory {
            true => {
                let files = seen.below.get(path).copied().unwrap_or_default();
                writeln!(text, "{indent}{name}/ ({})", say::count(files, "file", "files"))
            }
            false => writeln!(text, "{indent}{name}"),
        };
    }
    let left = seen.entries.saturating_sub(entries.len() as u64);
    if left > 0 {
        _ = writeln!(text, "… {left} more");
    }
    text
}

/// The state of the repository, where there is one.
fn history(arguments: &Arguments<'_>, measure: &Measure) -> Result<String, Failure> {
    let ask = |operation: &str, words: &[&str]| -> Result<String, Failure> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let git = Git::here(arguments)?;
        let executed = git.run(operation, &words, &mut LineFollower::new(&mut |_| {}))?;
        arguments.until().check()?;
        Ok(String::from_utf8_lossy(&executed.stdout).into_owned())
    };
    let status = match ask("status", &["--short", "--branch"]) {
        Ok(status) => status,
        Err(failure) => {
            arguments.until().check()?;
            let why = match failure {
                Failure::Failed(why) => why,
                Failure::Refused(refusal) => refusal.why,
            };
            // Most directories are in no repository, and that is nothing to explain.
            let is_none = why.contains("not a git repository");
            return Ok(if is_none { "Git: not a repository\n".to_owned() } else { format!("Git: {why}\n") });
        }
    };
    let mut lines = status.lines();
    let branch = lines.next().unwrap_or_default().trim_start_matches("## ");
    let changed = lines.count() as u64;
    let mut text = format!("Git: {branch}, {}\n", say::count(changed, "changed file", "changed files"));
    let count = format!("-{}", measure.commits);
    for commit in ask("log", &[&count, "--format=%h %as %s"])?.lines() {
        _ = writeln!(text, "  {commit}");
    }
    Ok(text)
}

/// The beginning of the first of these files that is there.
fn quote(
    arguments: &Arguments<'_>,
    root: &Path,
    names: &[&str],
    measure: &Measure,
) -> Result<Option<(String, String)>, Failure> {
    let Ok(folder) = Folder::open(root) else { return Ok(None) };
    let mut found = None;
    let listed = folder.names(|name| {
        let rank = names.iter().position(|known| name.eq_ignore_ascii_case(known));
        if let Some(rank) = rank
            && found.as_ref().is_none_or(|(best, _)| rank < *best)
        {
            found = Some((rank, name.to_owned()));
        }
        Ok::<(), std::io::Error>(())
    });
    let Some((_, name)) = found.filter(|_| listed.is_ok()) else { return Ok(None) };
    let shown = Path::new(&name);
    let part = Part { first: None, lines: Some(measure.lines) };
    // One that cannot be read has nothing to tell.
    let path = arguments.platform().may_read(shown).map_err(Failure::from);
    let Ok((bytes, _)) = path.and_then(|path| read(&path, shown, part, arguments.until())) else {
        arguments.until().check()?;
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    let end = text.floor_char_boundary(measure.bytes);
    let is_whole = end == text.len() && (bytes.split(|&byte| byte == b'\n').count() as u64) <= measure.lines;
    let more = if is_whole { "" } else { "\n… read the file for more" };
    Ok(Some((name.display().to_string(), format!("{}{more}\n", text[..end].trim_end()))))
}
