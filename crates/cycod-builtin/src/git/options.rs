//! The options that git gets from callers.
//!
//! A list of what is known to be harmless, not of what is known to be harmful: git has hundreds of options, takes any
//! beginning of a long one for it, and learns new ones.

use cycod_diagnostic::{Code, Refusal};

use crate::failure::Failure;

/// What is known about an operation.
#[derive(Debug)]
pub(super) struct Known {
    /// Whether it only looks, or changes nothing but names of commits, so that nothing needs to be started for it.
    pub(super) looks: bool,
    /// What is said in any case.
    pub(super) forced: &'static [&'static str],
    /// Its options. One that ends with `:` needs a value, one that ends with `?` can have one attached.
    options: &'static [&'static [&'static str]],
}

/// What is shown of a change.
const CHANGES: &[&str] = &[
    "-0",
    "-1",
    "-2",
    "-3",
    "-B?",
    "-C?",
    "-D",
    "-G:",
    "-I:",
    "-M?",
    "-R",
    "-S:",
    "-U:",
    "-W",
    "-a",
    "-b",
    "-l:",
    "-p",
    "-s",
    "-u",
    "-w",
    "-z",
    "--abbrev?",
    "--anchored:",
    "--binary",
    "--break-rewrites?",
    "--check",
    "--color-words?",
    "--compact-summary",
    "--diff-algorithm:",
    "--diff-filter:",
    "--dirstat?",
    "--dst-prefix:",
    "--find-copies?",
    "--find-copies-harder",
    "--find-renames?",
    "--full-index",
    "--function-context",
    "--histogram",
    "--ignore-all-space",
    "--ignore-blank-lines",
    "--ignore-cr-at-eol",
    "--ignore-matching-lines:",
    "--ignore-space-at-eol",
    "--ignore-space-change",
    "--inter-hunk-context:",
    "--irreversible-delete",
    "--line-prefix:",
    "--minimal",
    "--name-only",
    "--name-status",
    "--no-color",
    "--no-patch",
    "--no-prefix",
    "--no-relative",
    "--no-renames",
    "--numstat",
    "--patch",
    "--patch-with-stat",
    "--patience",
    "--pickaxe-all",
    "--pickaxe-regex",
    "--raw",
    "--relative?",
    "--rename-empty",
    "--shortstat",
    "--src-prefix:",
    "--stat?",
    "--summary",
    "--text",
    "--unified:",
    "--word-diff?",
    "--word-diff-regex:",
];

const STATUS: &[&str] = &[
    "-b",
    "-s",
    "-u?",
    "-v",
    "-z",
    "--ahead-behind",
    "--branch",
    "--column?",
    "--find-renames?",
    "--ignored?",
    "--long",
    "--no-ahead-behind",
    "--no-column",
    "--no-renames",
    "--porcelain?",
    "--renames",
    "--short",
    "--show-stash",
    "--untracked-files?",
    "--verbose",
];

const DIFF: &[&str] = &["--base", "--cached", "--merge-base", "--ours", "--staged", "--theirs"];

const LOG: &[&str] = &[
    "-E",
    "-F",
    "-L:",
    "-P",
    "-c",
    "-g",
    "-i",
    "-m",
    "-n:",
    "--abbrev-commit",
    "--after:",
    "--all",
    "--all-match",
    "--ancestry-path?",
    "--author-date-order",
    "--author:",
    "--basic-regexp",
    "--before:",
    "--boundary",
    "--branches?",
    "--cc",
    "--cherry",
    "--cherry-mark",
    "--cherry-pick",
    "--children",
    "--committer:",
    "--date-order",
    "--date:",
    "--decorate-refs-exclude:",
    "--decorate-refs:",
    "--decorate?",
    "--exclude:",
    "--extended-regexp",
    "--first-parent",
    "--fixed-strings",
    "--follow",
    "--format:",
    "--full-diff",
    "--full-history",
    "--glob:",
    "--graph",
    "--grep:",
    "--invert-grep",
    "--left-only",
    "--left-right",
    "--max-count:",
    "--max-parents:",
    "--merges",
    "--min-parents:",
    "--no-abbrev-commit",
    "--no-decorate",
    "--no-max-parents",
    "--no-merges",
    "--no-min-parents",
    "--no-notes",
    "--no-walk?",
    "--not",
    "--notes?",
    "--oneline",
    "--parents",
    "--perl-regexp",
    "--pretty?",
    "--reflog",
    "--regexp-ignore-case",
    "--relative-date",
    "--remotes?",
    "--reverse",
    "--right-only",
    "--show-pulls",
    "--simplify-by-decoration",
    "--simplify-merges",
    "--since:",
    "--skip:",
    "--source",
    "--sparse",
    "--tags?",
    "--topo-order",
    "--until:",
    "--walk-reflogs",
];

const COMMIT: &[&str] = &[
    "-C:",
    "-a",
    "-i",
    "-m:",
    "-n",
    "-o",
    "-q",
    "-s",
    "--all",
    "--allow-empty",
    "--allow-empty-message",
    "--amend",
    "--author:",
    "--branch",
    "--date:",
    "--dry-run",
    "--fixup:",
    "--include",
    "--long",
    "--message:",
    "--no-edit",
    "--no-signoff",
    "--no-verify",
    "--only",
    "--porcelain",
    "--quiet",
    "--reset-author",
    "--reuse-message:",
    "--short",
    "--signoff",
    "--squash:",
    "--trailer:",
];

const BRANCH: &[&str] = &[
    "-C",
    "-D",
    "-M",
    "-a",
    "-c",
    "-d",
    "-f",
    "-i",
    "-l",
    "-m",
    "-q",
    "-r",
    "-t",
    "-u:",
    "-v",
    "--abbrev?",
    "--all",
    "--column?",
    "--contains?",
    "--copy",
    "--delete",
    "--force",
    "--format:",
    "--ignore-case",
    "--list",
    "--merged?",
    "--move",
    "--no-abbrev",
    "--no-color",
    "--no-column",
    "--no-contains?",
    "--no-merged?",
    "--no-track",
    "--points-at:",
    "--quiet",
    "--remotes",
    "--set-upstream-to:",
    "--show-current",
    "--sort:",
    "--track?",
    "--unset-upstream",
    "--verbose",
];

const CHECKOUT: &[&str] = &[
    "-B:",
    "-b:",
    "-d",
    "-f",
    "-l",
    "-m",
    "-q",
    "-t",
    "--conflict:",
    "--detach",
    "--force",
    "--guess",
    "--ignore-other-worktrees",
    "--merge",
    "--no-guess",
    "--no-overlay",
    "--no-progress",
    "--no-track",
    "--orphan:",
    "--ours",
    "--overlay",
    "--quiet",
    "--theirs",
    "--track?",
];

/// What is known about `operation`.
pub(super) fn known(operation: &str) -> Option<&'static Known> {
    // A submodule's own configuration is not looked through, so nobody looks into it.
    const OUTSIDE: &str = "--ignore-submodules=dirty";
    const KNOWN: [(&str, Known); 6] = [
        ("status", Known { looks: true, forced: &[OUTSIDE], options: &[STATUS] }),
        (
            "diff",
            Known { looks: true, forced: &["--no-ext-diff", "--no-textconv", OUTSIDE], options: &[DIFF, CHANGES] },
        ),
        ("log", Known { looks: true, forced: &["--no-ext-diff", "--no-textconv", OUTSIDE], options: &[LOG, CHANGES] }),
        ("branch", Known { looks: true, forced: &[], options: &[BRANCH] }),
        ("commit", Known { looks: false, forced: &[], options: &[COMMIT] }),
        ("checkout", Known { looks: false, forced: &["--no-progress"], options: &[CHECKOUT] }),
    ];
    const { &KNOWN }.iter().find(|(name, _)| *name == operation).map(|(_, known)| known)
}

/// Whether an option has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Maybe,
    Value,
}

impl Known {
    fn takes(&self, option: &str) -> Option<Takes> {
        let names = self.options.iter().flat_map(|names| names.iter());
        names.copied().find_map(|name| match name.strip_prefix(option)? {
            "" => Some(Takes::Nothing),
            "?" => Some(Takes::Maybe),
            ":" => Some(Takes::Value),
            _ => None,
        })
    }
}

/// Arguments for git.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    /// All of them; values are attached to their options, so that git cannot take one for a path.
    pub(super) words: Vec<String>,
    /// Where those stand that are revisions or paths.
    pub(super) positions: Vec<usize>,
}

/// Refuses what git is not given here.
pub(super) fn check(operation: &str, known: &Known, arguments: &[String]) -> Result<Checked, Failure> {
    let mut checked = Checked::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let needs_next = if argument == "--" {
            checked.words.push(argument.clone());
            for path in arguments {
                checked.positions.push(checked.words.len());
                checked.words.push(path.clone());
            }
            break;
        } else if let Some(long) = argument.strip_prefix("--") {
            check_long(operation, known, argument, long)?
        } else if argument.len() > 1 && argument.starts_with('-') {
            check_short(operation, known, argument)?
        } else {
            checked.positions.push(checked.words.len());
            false
        };
        checked.words.push(argument.clone());
        if needs_next {
            let value = arguments.next();
            let value =
                value.ok_or_else(|| Failure::new(format!("`git {operation} {argument}` needs a value after it")))?;
            match checked.words.last_mut() {
                Some(option) if option.starts_with("--") => *option = format!("{option}={value}"),
                Some(option) if !value.is_empty() => option.push_str(value),
                _ => checked.words.push(value.clone()),
            }
        }
    }
    Ok(checked)
}

/// Returns whether the option has its value in the next argument.
fn check_long(operation: &str, known: &Known, argument: &str, long: &str) -> Result<bool, Failure> {
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    match (known.takes(&format!("--{name}")), value) {
        (Some(Takes::Value), None) => Ok(true),
        (Some(Takes::Nothing), Some(_)) => Err(Failure::new(format!("`git {operation} --{name}` takes no value"))),
        (Some(_), _) => Ok(false),
        (None, _) => Err(refused(operation, argument)),
    }
}

/// Short options may stand together; returns whether the last one has its value in the next argument.
fn check_short(operation: &str, known: &Known, argument: &str) -> Result<bool, Failure> {
    let letters = &argument[1..];
    let is_count = operation == "log" && letters.bytes().all(|byte| byte.is_ascii_digit());
    if is_count {
        return Ok(false);
    }
    for (at, letter) in letters.char_indices() {
        let rest = &letters[at + letter.len_utf8()..];
        match known.takes(&format!("-{letter}")) {
            Some(Takes::Nothing) => {}
            Some(Takes::Maybe) => return Ok(false),
            Some(Takes::Value) => return Ok(rest.is_empty()),
            None => return Err(refused(operation, argument)),
        }
    }
    Ok(false)
}

fn refused(operation: &str, argument: &str) -> Failure {
    let option = argument.split('=').next().unwrap_or(argument);
    Refusal::new(Code::GitOption, format!("`git {operation} {option}` is not carried out by this tool"))
        .rule("only options that start no program and stay in the repository are")
        .place(argument)
        .attempt("leave it out, or run git by `bash_execution`")
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words, those that are revisions or paths in brackets; or what is wrong.
    fn checked(line: &str) -> Result<String, String> {
        let mut words = line.split(' ').map(str::to_owned);
        let operation = words.next().expect("an operation");
        let arguments: Vec<String> = words.collect();
        match check(&operation, known(&operation).expect("it is known"), &arguments) {
            Ok(Checked { mut words, positions }) => {
                positions.iter().for_each(|&at| words[at] = format!("[{}]", words[at]));
                Ok(words.join(" "))
            }
            Err(Failure::Failed(why)) => Err(why),
            Err(Failure::Refused(refusal)) => Err(refusal.why),
        }
    }

    #[test]
    fn usual_arguments_are_passed_on() {
        for (line, expect) in [
            ("status -sb", "-sb"),
            ("status --porcelain=v2 --untracked-files=no -- a b", "--porcelain=v2 --untracked-files=no -- [a] [b]"),
            ("diff --stat=80 HEAD~1 -- src", "--stat=80 [HEAD~1] -- [src]"),
            ("diff -U3 -M90% main..dev", "-U3 -M90% [main..dev]"),
            ("diff -S ../secret HEAD", "-S../secret [HEAD]"),
            ("log --oneline -5 --since 2.weeks main", "--oneline -5 --since=2.weeks [main]"),
            ("log -n 3 -S  -p", "-n3 -S  -p"),
            ("commit -am message", "-ammessage"),
            ("commit -m --exec-path -- -x", "-m--exec-path -- [-x]"),
            ("branch -D old", "-D [old]"),
            ("checkout -b new main", "-bnew [main]"),
            ("checkout -", "[-]"),
        ] {
            assert_eq!(checked(line).as_deref(), Ok(expect), "{line}");
        }
    }

    #[test]
    fn options_that_start_or_write_something_are_not() {
        for line in [
            "diff --output=x",
            "diff --outp=x",
            "diff --ext-diff",
            "diff --textconv",
            "diff --no-index a b",
            "diff -Ofile",
            "diff --submodule=diff",
            "diff -pO",
            "log --show-signature",
            "log --remerge-diff",
            "log --output x",
            "log --stdin",
            "commit -F /etc/passwd",
            "commit --file=x",
            "commit -S",
            "commit -e",
            "commit -tx",
            "commit -c HEAD",
            "commit --pathspec-from-file=x",
            "branch --edit-description",
            "checkout -p",
            "status --exec-path=x",
            "checkout --recurse-submodules",
            "status --ignore-submodules=none",
            "log --ignore-submodules=none",
            "diff --color",
            "log --diff-merges=remerge",
        ] {
            let refused = checked(line).expect_err(line);
            assert!(refused.contains("is not carried out"), "{line}: {refused}");
        }
        assert_eq!(checked("log -n").expect_err("no value"), "`git log -n` needs a value after it");
        assert_eq!(checked("status --short=1").expect_err("a value"), "`git status --short` takes no value");
    }
}
