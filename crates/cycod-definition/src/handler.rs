//! Tools whose work is a function in a language, called with the arguments as data.

use std::fmt;

use crate::{Platform, matches_stars};

/// A function in a language. Its arguments and its result cross as data, beside everything that it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// What runs it.
    pub runtime: Runtime,
    /// The interpreter that the author names: a file or an environment, as a path, or `uv`.
    pub interpreter: Option<String>,
    /// Whether the code has types, which are taken out before it runs.
    pub is_typescript: bool,
    /// The code, as its author wrote it.
    pub code: String,
    /// The line of the tool's file at which the code begins, from 1: places in errors point into the file.
    pub line: u32,
    /// What it may start through the platform; anything where there is no list.
    pub allowlist: Option<Vec<CommandPattern>>,
}

/// What runs a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Runtime {
    /// R, by `Rscript`.
    R,
    /// Python 3.
    Python,
    /// Node.js.
    Node,
    /// The script engine of this program, which reaches nothing by itself.
    Engine,
}

impl Runtime {
    /// Whether functions run in it on this system. R can't be given a channel beside its standard streams on Windows.
    pub fn runs_on(self, platform: Platform) -> bool {
        self != Self::R || platform.is_unix()
    }

    /// The program that must be installed for it.
    pub const fn program(self) -> Option<&'static str> {
        match self {
            Self::R => Some("Rscript"),
            // The installer for Windows makes no `python3`.
            Self::Python => Some(if cfg!(windows) { "python" } else { "python3" }),
            Self::Node => Some("node"),
            Self::Engine => None,
        }
    }

    /// Its key where interpreters are named.
    pub fn key(self) -> Option<&'static str> {
        match self {
            Self::R => Some("r"),
            Self::Python => Some("python"),
            Self::Node => Some("node"),
            Self::Engine => None,
        }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::R => "R",
            Self::Python => "Python",
            Self::Node => "Node",
            Self::Engine => "the script engine",
        })
    }
}

/// Command lines that a handler may start: `git log --oneline *`.
///
/// It describes the variables that may be set for the program (`CI=*` before its name), the program as it is called, and each
/// argument. `*` in a word stands for any text in that one argument. A final ` *` lets more arguments follow that are no
/// options, a final `**` any arguments; a last word that ends with `*` lets more follow as ` *` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    variables: Vec<(String, String)>,
    words: Vec<String>,
}

impl CommandPattern {
    /// Reads a pattern; nothing when it names no program.
    pub fn new(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().map(str::to_owned).peekable();
        let mut variables = Vec::new();
        while let Some((name, value)) =
            words.peek().and_then(|word| word.split_once('=')).filter(|(name, _)| is_variable(name))
        {
            variables.push((name.to_owned(), value.to_owned()));
            words.next();
        }
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then_some(Self { variables, words })
    }

    /// Whether a program with these arguments and these variables is one that it means.
    pub fn matches(&self, program: &str, arguments: &[String], variables: &[(String, String)]) -> bool {
        let is_listed = |(name, value): &(String, String)| {
            self.variables.iter().any(|(known, pattern)| known == name && matches_stars(pattern, value))
        };
        let (more, words) = match self.words.split_last() {
            Some((last, words)) if last == "**" => (More::Any, words),
            Some((last, words)) if last == "*" => (More::Operands, words),
            Some((last, _)) if last.ends_with('*') => (More::Operands, self.words.as_slice()),
            _ => (More::Nothing, self.words.as_slice()),
        };
        let given: Vec<&str> = std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect();
        let Some((given, rest)) = given.split_at_checked(words.len().max(1)) else { return false };
        // What comes after the end of the options is none.
        let ends_options = words.iter().any(|word| word == "--");
        let follows = match more {
            More::Any => true,
            More::Operands => ends_options || rest.iter().all(|word| !is_option(word)),
            More::Nothing => rest.is_empty(),
        };
        // One that stands alone in the place of the program.
        let any_program = words.is_empty();
        follows
            && variables.iter().all(is_listed)
            && (any_program || words.iter().zip(given).all(|(pattern, word)| word_matches(pattern, word)))
    }

    /// The variables that may be set, with the pattern of each value.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The program and its arguments, as patterns.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// Whether it leaves open which program it is.
    pub fn is_any_program(&self) -> bool {
        self.words.first().is_some_and(|program| program.contains('*'))
    }
}

/// What may follow the words of a pattern.
#[derive(Clone, Copy)]
enum More {
    Nothing,
    Operands,
    Any,
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.variables {
            write!(f, "{name}={value} ")?;
        }
        f.write_str(&self.words.join(" "))
    }
}

/// Whether `word` is `pattern` with some text in the place of each `*`; what the author did not begin begins no option.
fn word_matches(pattern: &str, word: &str) -> bool {
    (!pattern.starts_with('*') || !is_option(word)) && matches_stars(pattern, word)
}

impl Handler {
    /// Whether its code can have any program started: nothing lists which, and its code speaks of what starts them. Code that
    /// hides that it does is refused when it tries.
    pub fn starts_anything(&self) -> bool {
        let is_listed = self.allowlist.as_ref().is_some_and(|list| !list.iter().any(CommandPattern::is_any_program));
        self.runtime == Runtime::Engine
            && !is_listed
            && ["executor", "docker"].iter().any(|name| self.code.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_words() {
        let check = |pattern: &str, line: &[&str], expect: bool| {
            let pattern = CommandPattern::new(pattern).expect("words");
            let arguments: Vec<String> = line[1..].iter().map(|&word| word.to_owned()).collect();
            assert_eq!(pattern.matches(line[0], &arguments, &[]), expect, "{pattern}: {line:?}");
        };
        check("yarn test*", &["yarn", "test"], true);
        check("yarn test*", &["yarn", "test:unit", "sum"], true);
        check("yarn test*", &["yarn", "test", "--config=evil.js"], false);
        check("yarn test* **", &["yarn", "test", "sum", "--coverage"], true);
        check("yarn test*", &["yarn", "test", "a b; rm -rf /"], true);
        check("yarn test*", &["yarn test; rm -rf /"], false);
        check("yarn test*", &["yarn", "add", "test"], false);
        check("yarn test*", &["yarn"], false);
        check("yarn test*", &["./yarn", "test"], false);
        check("vitest*", &["vitest", "run"], true);
        check("npm test", &["npm", "test"], true);
        check("npm test", &["npm", "test", "--", "x"], false);
        check("npm test *", &["npm", "test"], true);
        check("npm test *", &["npm", "test", "a", "b"], true);
        check("npm test *", &["npm", "test", "a", "--x"], false);
        check("npm test -- *", &["npm", "test", "--", "--x"], true);
        check("npm test **", &["npm", "test", "--x", "y"], true);
        check("git commit -m *", &["git", "commit", "-m", "fix the \"bug\"; really"], true);
        check("git commit -m *", &["git", "commit", "-m", "fix", "--amend"], false);
        check("git diff --name-only *", &["git", "diff", "--name-only", "main"], true);
        check("git diff --name-only *", &["git", "diff", "--name-only", "--output=/tmp/x"], false);
        check("git tag * HEAD", &["git", "tag", "v 1", "HEAD"], true);
        check("git tag * HEAD", &["git", "tag", "-d", "HEAD"], false);
        check("tool --name=* end", &["tool", "--name=--x y", "end"], true);
        check("git log -n*1", &["git", "log", "-n21"], true);
        check("git log -n*1", &["git", "log", "-n12"], false);
        check("*", &["anything", "at", "all"], true);
        check("*", &["anything", "--all"], false);
        check("**", &["anything", "--all"], true);
        assert_eq!(CommandPattern::new("  "), None);
        assert_eq!(CommandPattern::new("CI=1"), None);
    }

    #[test]
    fn variables_are_part_of_what_may_be_started() {
        let check = |pattern: &str, variables: &[(&str, &str)], expect: bool| {
            let pattern = CommandPattern::new(pattern).expect("words");
            let variables: Vec<_> =
                variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            assert_eq!(pattern.matches("npm", &["test".to_owned()], &variables), expect, "{pattern}: {variables:?}");
        };
        check("npm test", &[], true);
        check("npm test", &[("PATH", ".")], false);
        check("npm test **", &[("LD_PRELOAD", "x.so")], false);
        check("CI=* npm test", &[("CI", "1")], true);
        check("CI=* npm test", &[], true);
        check("CI=1 npm test", &[("CI", "2")], false);
        check("CI=* npm test", &[("CI", "1"), ("GIT_CONFIG_COUNT", "1")], false);
    }
}
