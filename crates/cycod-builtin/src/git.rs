//! Git in a repository that nobody vouches for.
//!
//! A repository can name programs in its configuration, its attributes and its hooks, and git starts them while it only
//! looks. So whatever a repository says by itself about programs is taken back before git is started for an operation that
//! looks; what the user configured for all repositories stays. Which arguments git gets is told by a [table](options): only
//! options whose effects are known to stay in the repository.

mod options;
mod repository;
mod taken_back;

use cycod_diagnostic::Refusal;
use cycod_run::{Execute, Executed, LineFollower, ToolPlatform};

use crate::{arguments::Arguments, failure::Failure};

use repository::Repository;

/// What is said to git on every occasion.
const ALWAYS: [&str; 9] = [
    "--no-pager",
    // A directory that looks like a repository is none unless it is called `.git`.
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "color.ui=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "status.submoduleSummary=false",
];

/// What is said to it when it is only to look.
const LOOKING: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "diff.submodule=short",
    "-c",
    "log.showSignature=false",
    // Otherwise a comparison writes into the index what it found out about times.
    "-c",
    "diff.autoRefreshIndex=false",
    // Otherwise a merge may be made once more, by programs that the user has for it.
    "-c",
    "log.diffMerges=separate",
];

/// Variables for every occasion: nobody is asked anything.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// Variables for when it is only to look: nothing is fetched, and nothing written on the way.
const LOOKING_ENVIRONMENT: [(&str, &str); 3] =
    [("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none"), ("GIT_OPTIONAL_LOCKS", "0")];

/// Whether an operation with these arguments changes nothing in the repository and starts nothing in its place.
///
/// Of arguments that git is not given here nothing is known.
pub(crate) fn only_reads(operation: &str, arguments: &[String]) -> bool {
    // A state with all its changes is shown by the converters that the user has, and cannot be told not to be.
    let converts = |word: &String| match word.strip_prefix('-') {
        Some(option) if option.starts_with('-') => option == "-verbose",
        Some(letters) => letters.contains('v'),
        None => false,
    };
    let looks = match operation {
        "status" => !arguments.iter().any(converts),
        "diff" | "log" => true,
        _ => false,
    };
    looks && options::known(operation).is_some_and(|known| options::check(operation, known, arguments).is_ok())
}

/// Git, in the repository of the directory where a tool works.
pub(crate) struct Git<'a> {
    platform: &'a ToolPlatform<'a>,
    repository: Repository,
}

impl<'a> Git<'a> {
    /// Finds the repository, and refuses one that lies elsewhere.
    pub(crate) fn here(arguments: &Arguments<'a>) -> Result<Self, Failure> {
        let platform = arguments.platform();
        let repository = Repository::find(platform)?;
        Ok(Self { platform, repository })
    }

    /// Runs one operation with arguments of a caller's.
    pub(crate) fn run(
        &self,
        operation: &str,
        arguments: &[String],
        lines: &mut LineFollower<'_>,
    ) -> Result<Executed, Failure> {
        let known = options::known(operation)
            .ok_or_else(|| Failure::new(format!("`{operation}` is no operation that is carried out here")))?;
        let checked = options::check(operation, known, arguments)?;
        for &position in &checked.positions {
            self.repository.check_stays(&checked.words[position])?;
        }
        let holds_keys = matches!(operation, "diff" | "log") && self.repository.holds_keys(self.platform);
        if holds_keys && operation == "diff" {
            return Err(self.repository.shows_keys(operation));
        }
        let mut words: Vec<&str> = Vec::new();
        let mut environment = Vec::new();
        if known.looks {
            words.extend(LOOKING);
            environment = looking_environment();
            environment.extend(taken_back::variables(self.platform)?);
        }
        words.push(operation);
        words.extend(known.forced);
        let paths = checked.words.iter().position(|word| word == "--").unwrap_or(checked.words.len());
        let (before, paths) = checked.words.split_at(paths);
        words.extend(before.iter().map(String::as_str));
        if holds_keys {
            // It lists the commits, and whatever else it was told to show of them is not shown.
            words.push("--no-patch");
        }
        words.extend(paths.iter().map(String::as_str));
        Ok(start(self.platform, &words, environment, lines)?)
    }
}

fn looking_environment() -> Vec<(String, String)> {
    LOOKING_ENVIRONMENT.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Starts git where the tool works.
fn start(
    platform: &ToolPlatform<'_>,
    words: &[&str],
    mut environment: Vec<(String, String)>,
    lines: &mut LineFollower<'_>,
) -> Result<Executed, Refusal> {
    environment.extend(ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let execute = Execute {
        program: "git".to_owned(),
        arguments: ALWAYS.iter().chain(words).map(|&word| word.to_owned()).collect(),
        environment,
        ..Execute::default()
    };
    platform.execute(&execute, &mut |stream, bytes| lines.take(stream, bytes))
}

/// Asks git something for ourselves.
fn ask(platform: &ToolPlatform<'_>, words: &[&str]) -> Result<Executed, Refusal> {
    start(platform, words, looking_environment(), &mut LineFollower::new(&mut |_| {}))
}
