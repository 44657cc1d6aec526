//! Files of a crate that use each other in a circle: none of them can be read, tested or moved without the others.
//!
//! A file uses another where it names something that the other defines, in a `use` or in a path. What a module only passes
//! on (`pub use`) counts for the file that defines it. Methods are not followed.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::Path,
};

use super::sources::{is_test, rust_files, without_tests};

/// The crates whose files may not.
const STRAIGHT: [&str; 13] = [
    "cycod-cli-tools",
    "cycod-code",
    "cycod-diagnostic",
    "cycod-engine",
    "cycod-mcp-client",
    "cycod-mcp-server",
    "cycod-run",
    "cycod-secret",
    "cycod-thread",
    "cycod-tokens",
    "growth",
    "scripted-provider",
    "xtask",
];

/// How many names in a row may pass on another.
const MOST_HOPS: usize = 16;

/// The path of a module within its crate; that of the crate is empty.
type ModulePath = Vec<String>;

/// One file.
#[derive(Debug, Default)]
struct Module {
    file: String,
    code: String,
    /// What each name stands for that a `use` brings in.
    names: BTreeMap<String, Vec<String>>,
    /// The modules of which a `use` brings in everything.
    globs: Vec<Vec<String>>,
    /// The paths that it uses.
    uses: Vec<Vec<String>>,
}

/// The circles of the crates that may have none.
pub(super) fn circles(root: &Path) -> Vec<String> {
    let found = STRAIGHT.iter().flat_map(|name| {
        let directory =
            if *name == "xtask" { root.join("xtask/src") } else { root.join("crates").join(name).join("src") };
        circles_of(&modules(&directory)).into_iter().map(move |circle| (name, circle))
    });
    found.map(|(name, circle)| format!("{name}: files use each other in a circle: {}", circle.join(" → "))).collect()
}

/// Reads the files of a crate.
fn modules(directory: &Path) -> BTreeMap<ModulePath, Module> {
    let files = rust_files(directory).into_iter().filter(|file| !is_test(file));
    let read = files.filter_map(|file| {
        let relative = file.strip_prefix(directory).ok()?.to_owned();
        let text = fs::read_to_string(&file).ok()?;
        Some((path_of(&relative), module(relative.display().to_string(), &text)))
    });
    read.collect()
}

/// The module that a file holds.
fn path_of(file: &Path) -> ModulePath {
    let mut path: ModulePath = file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        path.pop();
    }
    path
}

fn module(file: String, text: &str) -> Module {
    let code = bare(without_tests(text));
    let mut module = Module { file, ..Module::default() };
    let mut rest = String::new();
    let mut lines = code.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let item = line.trim_start();
        let (visibility, used) = match item.find("use ") {
            Some(at) if at == 0 || item.starts_with("pub") && !item[..at].contains("fn ") => item.split_at(at),
            _ => {
                rest.push_str(line);
                continue;
            }
        };
        let mut used = used["use ".len()..].to_owned();
        while !used.contains(';') {
            let Some(line) = lines.next() else { break };
            used.push_str(line);
        }
        for (path, name) in expanded(used.split(';').next().unwrap_or_default()) {
            if visibility.is_empty() {
                module.uses.push(path.clone());
            }
            match name.as_str() {
                "*" => module.globs.push(path[..path.len() - 1].to_vec()),
                _ => _ = module.names.insert(name, path),
            }
        }
    }
    module.uses.extend(paths(&rest));
    module.code = rest;
    module
}

/// Code without comments, and without what is in its texts.
fn bare(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let end = |from: usize, what: &str| {
            let found = rest.get(from..).and_then(|after| after.find(what));
            found.map_or(rest.len(), |at| from + at + what.len())
        };
        let raw = rest.strip_prefix('r').map(|after| (after, after.trim_start_matches('#')));
        let is_word = |last: char| last.is_alphanumeric() || last == '_';
        let raw = raw.filter(|(_, text)| text.starts_with('"') && !code.ends_with(is_word));
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some((after, text)) = raw {
            let hashes = after.len() - text.len();
            code.push_str("\"\"");
            end(2 + hashes, &format!("\"{}", "#".repeat(hashes)))
        } else if first == '"' {
            code.push_str("\"\"");
            let mut is_escaped = false;
            let close = rest.char_indices().skip(1).find(|(_, next)| {
                let is_end = *next == '"' && !is_escaped;
                is_escaped = *next == '\\' && !is_escaped;
                is_end
            });
            close.map_or(rest.len(), |(at, _)| at + 1)
        } else if first == '\'' && rest.chars().nth(2) == Some('\'') {
            rest.char_indices().nth(3).map_or(rest.len(), |(at, _)| at)
        } else if rest.starts_with("'\\") {
            end(3, "'")
        } else {
            code.push(first);
            first.len_utf8()
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    code
}

/// What a `use` names, each with the name by which it is known afterwards.
fn expanded(used: &str) -> Vec<(Vec<String>, String)> {
    let used = used.trim();
    let segments = |text: &str| -> Vec<String> {
        text.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let Some((head, tail)) = used.split_once('{') else {
        let (path, alias) = used.split_once(" as ").map_or((used, None), |(path, alias)| (path, Some(alias.trim())));
        let mut path = segments(path);
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = alias.map(str::to_owned).or_else(|| path.last().cloned());
        return vec![(path, name.unwrap_or_default())];
    };
    let inside = tail.rsplit_once('}').map_or(tail, |(inside, _)| inside);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, next) in inside.char_indices() {
        match next {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    let head = segments(head);
    let all = parts.into_iter().filter(|part| !part.trim().is_empty()).flat_map(expanded);
    all.map(|(path, name)| {
        let path: Vec<String> = head.iter().cloned().chain(path).collect();
        let name = if name.is_empty() { path.last().cloned().unwrap_or_default() } else { name };
        (path, name)
    })
    .collect()
}

/// The paths of at least two names in code.
fn paths(code: &str) -> Vec<Vec<String>> {
    let is_path = |next: char| next.is_alphanumeric() || next == '_' || next == ':';
    let words = code.split(|next| !is_path(next)).filter(|word| word.contains("::"));
    let path = |word: &str| -> Vec<String> {
        word.split("::").map(|part| part.trim_matches(':').to_owned()).take_while(|part| !part.is_empty()).collect()
    };
    words.map(path).filter(|path| path.len() > 1).collect()
}

/// The module that defines what a path in `from` names; nothing for what is another crate's.
fn defining(
    modules: &BTreeMap<ModulePath, Module>,
    from: &ModulePath,
    path: &[String],
    hops: usize,
) -> Option<ModulePath> {
    let hops = hops.checked_sub(1)?;
    let (mut at, mut rest) = (from.clone(), path);
    match rest.first()?.as_str() {
        "crate" => (at, rest) = (Vec::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        "super" => {
            while let Some((_, after)) = rest.split_first().filter(|(first, _)| *first == "super") {
                at.pop();
                rest = after;
            }
        }
        first => {
            let child: ModulePath = from.iter().cloned().chain([first.to_owned()]).collect();
            if !modules.contains_key(&child) {
                let known = modules.get(from)?.names.get(first).filter(|known| known.as_slice() != path)?;
                let whole: Vec<String> = known.iter().chain(&path[1..]).cloned().collect();
                return defining(modules, from, &whole, hops);
            }
        }
    }
    while let Some((first, after)) = rest.split_first() {
        let child: ModulePath = at.iter().cloned().chain([first.clone()]).collect();
        if !modules.contains_key(&child) {
            break;
        }
        (at, rest) = (child, after);
    }
    let Some(item) = rest.first() else { return Some(at) };
    let module = modules.get(&at)?;
    if let Some(known) = module.names.get(item) {
        let is_ours = known.first().is_some_and(|first| {
            let child: ModulePath = at.iter().cloned().chain([first.clone()]).collect();
            matches!(first.as_str(), "crate" | "self" | "super") || modules.contains_key(&child)
        });
        return if is_ours { defining(modules, &at, known, hops) } else { None };
    }
    let through = module.globs.iter().find_map(|glob| {
        let whole: Vec<String> = glob.iter().cloned().chain([item.clone()]).collect();
        defining(modules, &at, &whole, hops).filter(|found| modules.get(found).is_some_and(|found| found.defines(item)))
    });
    through.or(Some(at))
}

impl Module {
    /// Whether it has an item of this name.
    fn defines(&self, name: &str) -> bool {
        let kinds = ["struct", "enum", "trait", "type", "fn", "const", "static"];
        kinds.iter().any(|kind| {
            self.code
                .split(&format!("{kind} {name}"))
                .skip(1)
                .any(|after| !after.starts_with(|c: char| c.is_alphanumeric()))
        })
    }
}

/// The circles among files, a shortest way round for each.
fn circles_of(modules: &BTreeMap<ModulePath, Module>) -> Vec<Vec<String>> {
    let arrows: BTreeMap<&ModulePath, BTreeSet<ModulePath>> = modules
        .iter()
        .map(|(from, module)| {
            let used = module.uses.iter().filter_map(|path| defining(modules, from, path, MOST_HOPS));
            (from, used.filter(|to| to != from).collect())
        })
        .collect();
    let (mut circles, mut seen) = (Vec::new(), BTreeSet::new());
    for start in modules.keys() {
        if seen.contains(start) {
            continue;
        }
        // From which file each was reached first.
        let mut reached: BTreeMap<&ModulePath, &ModulePath> = BTreeMap::new();
        let mut waiting = VecDeque::from([start]);
        while let Some(from) = waiting.pop_front() {
            for to in arrows.get(from).into_iter().flatten() {
                if !reached.contains_key(to) {
                    reached.insert(to, from);
                    waiting.push_back(to);
                }
            }
        }
        let Some(mut at) = reached.get(start).copied() else { continue };
        let mut round = vec![start, at];
        while at != start {
            at = reached[at];
            round.push(at);
        }
        round.reverse();
        seen.extend(round.iter().copied());
        circles.push(round.iter().map(|path| modules[*path].file.clone()).collect());
    }
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expect: &[&[&str]]) {
        let modules =
            files.iter().map(|(file, text)| (path_of(Path::new(file)), module((*file).to_owned(), text))).collect();
        assert_eq!(circles_of(&modules), expect, "{files:?}");
    }

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        check(&[("a.rs", "use crate::b::B;\n"), ("b.rs", "pub struct B;\n")], &[]);
        check(
            &[
                ("a.rs", "use crate::b::B;\npub struct A;\n"),
                ("b.rs", "use crate::{a::A, c};\npub struct B;\n"),
                ("c.rs", ""),
            ],
            &[&["a.rs", "b.rs", "a.rs"]],
        );
        check(
            &[
                ("a.rs", "fn a() { crate::b::b() }\n"),
                ("b.rs", "fn b() { super::c::c() }\n"),
                ("c.rs", "fn c() { super::a::a(\"\") }\n"),
            ],
            &[&["a.rs", "b.rs", "c.rs", "a.rs"]],
        );
    }

    #[test]
    fn what_is_passed_on_counts_for_who_defines_it() {
        let lib = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::{\n    B,\n    C as D,\n};\n");
        check(&[lib, ("a.rs", "use crate::B;\npub struct A;\n"), ("b.rs", "pub struct B;\n")], &[]);
        check(
            &[lib, ("a.rs", "use crate::D;\npub struct A;\n"), ("b.rs", "fn b(_: crate::A) {}\npub struct C;\n")],
            &[&["a.rs", "b.rs", "a.rs"]],
        );
    }

    #[test]
    fn a_folder_is_no_excuse() {
        check(
            &[("a.rs", "mod b;\nuse b::B;\npub struct A;\n"), ("a/b.rs", "use super::A;\npub struct B;\n")],
            &[&["a.rs", "a/b.rs", "a.rs"]],
        );
        check(&[("a.rs", "mod b;\npub use b::B;\npub struct A;\n"), ("a/b.rs", "use super::A;\npub struct B;\n")], &[]);
        check(
            &[("a/mod.rs", "mod b;\nmod c;\nfn a() { b::b() }\n"), ("a/b.rs", "use super::c::*;\n"), ("a/c.rs", "")],
            &[],
        );
    }

    #[test]
    fn comments_texts_and_tests_use_nothing() {
        let a = "// use crate::b::B;\nfn a() -> &'static str { \"crate::b::B\" }\nconst C: char = '\"';\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n";
        check(&[("a.rs", a), ("b.rs", "use crate::a::a;\npub struct B;\nconst R: &str = r#\"crate::a\"#;\n")], &[]);
    }
}
