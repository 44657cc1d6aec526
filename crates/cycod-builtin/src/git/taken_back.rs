use std::collections::{BTreeMap, BTreeSet};

use cycod_run::ToolPlatform;

use super::ask;
use crate::failure::Failure;

/// Settings that name a program, or make git start one. `*` stands for any text between dots.
const STARTS: [&str; 34] = [
    "alias.*",
    "browser.*.cmd",
    "commit.gpgsign",
    "core.alternaterefscommand",
    "core.askpass",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "credential.*",
    "diff.*.cachetextconv",
    "diff.*.command",
    "diff.*.textconv",
    "diff.external",
    "difftool.*.cmd",
    "filter.*.clean",
    "filter.*.process",
    "filter.*.required",
    "filter.*.smudge",
    "gpg.*.program",
    "gpg.program",
    "gpg.ssh.defaultkeycommand",
    "hook.*.command",
    "interactive.difffilter",
    "merge.*.driver",
    "mergetool.*.cmd",
    "pager.*",
    "remote.*.vcs",
    "sequence.editor",
    "tag.gpgsign",
    "trailer.*.cmd",
    "trailer.*.command",
];

/// Variables that put what the repository says about programs back to what the user says, or to nothing.
///
/// Not by `-c`: a setting's name may hold `=`.
pub(super) fn variables(platform: &ToolPlatform<'_>) -> Result<Vec<(String, String)>, Failure> {
    let asked = ask(platform, &["config", "--list", "--show-scope", "--includes", "-z"])?;
    if asked.exit_code != 0 {
        let why = String::from_utf8_lossy(&asked.stderr);
        return Err(Failure::new(format!("the repository's configuration cannot be read: {}", why.trim())));
    }
    if asked.truncated {
        return Err(Failure::new("the repository's configuration is too large to be looked through"));
    }
    let settings = taken_back(&String::from_utf8_lossy(&asked.stdout));
    if let Some((key, _)) = settings.iter().find(|(key, _)| key.contains(char::REPLACEMENT_CHARACTER)) {
        let why = format!("the repository's configuration names a program in `{key}`, which is not UTF-8");
        return Err(Failure::new(format!("{why}: rename or remove the setting in `.git/config`")));
    }
    let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string())];
    for (at, (key, value)) in settings.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}"), key));
        variables.push((format!("GIT_CONFIG_VALUE_{at}"), value));
    }
    Ok(variables)
}

/// Reads a listing: a scope, then a key with its value on the lines after it, each ended by NUL.
fn taken_back(listing: &str) -> Vec<(String, String)> {
    let mut users: BTreeMap<&str, &str> = BTreeMap::new();
    let mut repositorys: BTreeSet<&str> = BTreeSet::new();
    let mut parts = listing.split('\0');
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        match scope {
            "local" | "worktree" => drop(repositorys.insert(key)),
            "system" | "global" => drop(users.insert(key, value)),
            // What we said ourselves.
            _ => {}
        }
    }
    let starting = repositorys.iter().filter(|key| STARTS.iter().any(|pattern| matches(pattern, key)));
    let setting = |key: &&str| {
        let nothing = if key.ends_with(".required") { "false" } else { "" };
        ((*key).to_owned(), (*users.get(*key).unwrap_or(&nothing)).to_owned())
    };
    starting.map(setting).collect()
}

/// Whether a key is of this form. Its first and last part know no case, and git lists them in lower case.
fn matches(pattern: &str, key: &str) -> bool {
    match pattern.split_once('*') {
        None => key == pattern,
        Some((begin, end)) => key.len() >= begin.len() + end.len() && key.starts_with(begin) && key.ends_with(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_repository_says_is_taken_back() {
        let listing = [
            ("global", "filter.lfs.clean\ngit-lfs clean"),
            ("global", "alias.st\nstatus"),
            ("local", "core.bare\nfalse"),
            ("local", "core.fsmonitor\ntouch pwned"),
            ("local", "filter.lfs.clean\ntouch pwned\nand more"),
            ("local", "filter.a.b=c.clean\ntouch pwned"),
            ("worktree", "filter.x.required"),
            ("command", "core.pager\ncat"),
        ];
        let listing: String = listing.iter().map(|(scope, entry)| format!("{scope}\0{entry}\0")).collect();
        let expect = [
            ("core.fsmonitor", ""),
            ("filter.a.b=c.clean", ""),
            ("filter.lfs.clean", "git-lfs clean"),
            ("filter.x.required", "false"),
        ];
        let expect = expect.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(taken_back(&listing), expect);
    }
}
