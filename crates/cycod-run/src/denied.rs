//! Which permission a confined program lacked, told from what it complained about.
//!
//! The kernel tells the program that it may not, and not us. What the proxy refused is known for certain; the rest is read
//! from the program's own words, and held against what exists outside and what it could see.

use std::path::{Path, PathBuf};

use crate::reach::Rights;

/// How a program complains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Complaint {
    /// What it wanted to change cannot be changed.
    ReadOnly,
    /// It may not.
    Forbidden,
    /// What it looked for is not there.
    Missing,
}

/// The words of the C library, and the names under which Node and others pass them on.
const COMPLAINTS: [(&str, Complaint); 9] = [
    ("Read-only file system", Complaint::ReadOnly),
    ("EROFS", Complaint::ReadOnly),
    ("Permission denied", Complaint::Forbidden),
    ("Operation not permitted", Complaint::Forbidden),
    ("EACCES", Complaint::Forbidden),
    ("EPERM", Complaint::Forbidden),
    ("No such file or directory", Complaint::Missing),
    ("ENOENT", Complaint::Missing),
    ("not found", Complaint::Missing),
];

/// What precedes the name of a host that could not be reached: curl and git, wget, Node.
const HOSTS: [&str; 6] = [
    "Could not resolve host: ",
    "unable to resolve host address ",
    "getaddrinfo ENOTFOUND ",
    "getaddrinfo EAI_AGAIN ",
    "Failed to connect to ",
    "Could not resolve hostname ",
];

/// What a program says that finds no network, and no more.
const NO_NETWORK: [&str; 4] = [
    "Temporary failure in name resolution",
    "Name or service not known",
    "nodename nor servname provided",
    "Network is unreachable",
];

/// A permission that would have helped, and what happened without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lack {
    pub(crate) permission: String,
    pub(crate) why: String,
}

/// Reads a program's complaints; `rights` says what it could do with a path.
pub(crate) fn lack(said: &str, directory: &Path, rights: &dyn Fn(&Path) -> Option<Rights>) -> Option<Lack> {
    said.lines().rev().find_map(|line| of_files(line, directory, rights))
}

/// The same for a program that was given no network.
pub(crate) fn lack_of_network(said: &str) -> Option<Lack> {
    let host = |line: &str| {
        HOSTS.iter().find_map(|before| {
            let rest = &line[line.find(before)? + before.len()..];
            let host = rest.trim_start_matches(['‘', '\'', '"']);
            let host = host.split(|c: char| !c.is_alphanumeric() && !".-_".contains(c)).next()?;
            (!host.is_empty()).then(|| host.to_owned())
        })
    };
    if let Some(host) = said.lines().rev().find_map(host) {
        let is_here = host == "localhost" || host.starts_with("127.");
        let kind = if is_here { "loopback" } else { "external" };
        return Some(Lack {
            permission: format!("network:{kind}:{host}"),
            why: format!("it tried to reach {host}, and has no network"),
        });
    }
    NO_NETWORK.iter().any(|words| said.contains(words)).then(|| Lack {
        permission: "network:external:HOST".to_owned(),
        why: "it tried to reach a host, and has no network".to_owned(),
    })
}

fn of_files(line: &str, directory: &Path, rights: &dyn Fn(&Path) -> Option<Rights>) -> Option<Lack> {
    let (at, complaint) = COMPLAINTS
        .iter()
        .filter_map(|(words, complaint)| Some((line.find(words)?, *complaint)))
        .min_by_key(|(at, _)| *at)?;
    // Most name the path before what is wrong with it, Python and Node behind.
    let (before, after) = line.split_at(at);
    let mut paths: Vec<&str> = words(before).into_iter().rev().chain(words(after)).collect();
    // A word that looks like a path is one before a word that may be the name of a file.
    paths.sort_by_key(|word| (!word.starts_with('/'), !word.contains('/')));
    paths.into_iter().find_map(|word| judge(&directory.join(word), complaint, rights))
}

/// The words of a text that may be paths.
fn words(text: &str) -> Vec<&str> {
    let is_quote = |c: char| matches!(c, '\'' | '"' | '`' | '‘' | '’');
    let quoted = text.split(is_quote).skip(1).step_by(2);
    let plain = text.split(|c: char| c.is_whitespace() || is_quote(c));
    let trimmed = plain.map(|word| word.trim_matches(|c: char| ":,;()[]<>".contains(c)));
    let is_path = |word: &&str| !word.is_empty() && !word.starts_with('-') && *word != "." && *word != "/";
    trimmed.chain(quoted).filter(is_path).collect()
}

fn judge(path: &Path, complaint: Complaint, rights: &dyn Fn(&Path) -> Option<Rights>) -> Option<Lack> {
    let real = real(path)?;
    let exists = real.exists();
    let shown = real.display();
    let change = |what: &str| {
        // A file that is not there yet is written by way of its directory.
        let target = if exists { real.as_path() } else { real.parent().unwrap_or(&real) };
        Some(Lack {
            permission: format!("filesystem:write:{}", target.display()),
            why: format!("it tried to {what} `{shown}`, which it is not allowed to"),
        })
    };
    match (complaint, rights(&real)) {
        (_, Some(Rights { write: true, execute: true })) => None,
        (Complaint::ReadOnly, Some(Rights { write: true, .. })) => None,
        (Complaint::ReadOnly, _) => change("change"),
        (Complaint::Forbidden, Some(Rights { write: true, .. })) => Some(Lack {
            permission: format!("filesystem:execute:{shown}"),
            why: format!("it tried to execute `{shown}`, which it is not allowed to"),
        }),
        (Complaint::Forbidden, Some(_)) => change("change"),
        (_, None) if exists => Some(Lack {
            permission: format!("filesystem:read:{shown}"),
            why: format!("it tried to open `{shown}`, which it cannot see"),
        }),
        (Complaint::Forbidden, None) => change("make"),
        (Complaint::Missing, _) => None,
    }
}

/// The path with its links followed as far as it exists; nothing where not even its directory does.
fn real(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(path) => Some(path),
        Err(_) => Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_tell_what_was_missing() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("it exists");
        let [seen, hidden] = ["seen", "hidden"].map(|name| root.join(name));
        for directory in [&seen, &hidden] {
            std::fs::create_dir(directory).expect("made");
            std::fs::write(directory.join("file"), "x").expect("written");
        }
        let rights = |path: &Path| path.starts_with(&seen).then(Rights::default);
        let check = |said: &str, expect: Option<&str>| {
            let said = said.replace("ROOT", &root.to_string_lossy());
            let expect = expect.map(|text| text.replace("ROOT", &root.to_string_lossy()));
            assert_eq!(lack(&said, &seen, &rights).map(|lack| lack.permission), expect, "{said}");
        };
        check("cat: ROOT/hidden/file: No such file or directory", Some("filesystem:read:ROOT/hidden/file"));
        check("ls: cannot access '../hidden': No such file or directory", Some("filesystem:read:ROOT/hidden"));
        check("sh: 1: cannot create file: Read-only file system", Some("filesystem:write:ROOT/seen/file"));
        check("bash: line 1: new.txt: Permission denied", Some("filesystem:write:ROOT/seen"));
        check("bash: line 1: ROOT/hidden/new: Permission denied", Some("filesystem:write:ROOT/hidden"));
        check(
            "FileNotFoundError: [Errno 2] No such file or directory: 'ROOT/hidden/file'",
            Some("filesystem:read:ROOT/hidden/file"),
        );
        check("Error: EROFS: read-only file system, open 'ROOT/seen/file'", Some("filesystem:write:ROOT/seen/file"));
        check("cat: nothing-of-this-name: No such file or directory", None);
        check("everything is fine", None);
    }

    #[test]
    fn a_missing_network_is_told() {
        let check = |said: &str, expect: Option<&str>| {
            assert_eq!(lack_of_network(said).map(|lack| lack.permission).as_deref(), expect, "{said}");
        };
        check("curl: (6) Could not resolve host: example.com", Some("network:external:example.com"));
        check("wget: unable to resolve host address ‘example.com’", Some("network:external:example.com"));
        check("Error: getaddrinfo EAI_AGAIN api.example.com", Some("network:external:api.example.com"));
        check(
            "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
            Some("network:external:HOST"),
        );
        check(
            "urllib.error.URLError: <urlopen error [Errno 8] nodename nor servname provided, or not known>",
            Some("network:external:HOST"),
        );
        check("curl: (7) Failed to connect to 127.0.0.1 port 1 after 0 ms", Some("network:loopback:127.0.0.1"));
        check("nothing of the kind", None);
    }
}
