//! Tools whose work is a function in a language, called with the arguments as data.

use std::fmt;

/// A function in a language. Its arguments and its result cross as data, beside everything that it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// What runs it.
    pub runtime: Runtime,
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
    /// The program that must be installed for it.
    pub fn program(self) -> Option<&'static str> {
        match self {
            Self::R => Some("Rscript"),
            Self::Python => Some("python3"),
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

/// Command lines that a handler may start, matched word by word: `yarn test*`.
///
/// Each word of the pattern matches one word of the command line; `*` in it stands for any characters that no shell gives a
/// meaning. When the pattern ends with `*`, more words may follow. So `yarn test; rm -rf /` is not `yarn test*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    words: Vec<String>,
}

impl CommandPattern {
    /// Reads a pattern; nothing when it has no words.
    pub fn new(text: &str) -> Option<Self> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self { words })
    }

    /// Whether a program with these arguments is one that it means.
    pub fn matches(&self, program: &str, arguments: &[String]) -> bool {
        let words: Vec<&str> = std::iter::once(program).chain(arguments.iter().map(String::as_str)).collect();
        let is_open = self.words.last().is_some_and(|last| last.ends_with('*'));
        let is_long_enough =
            words.len() >= self.words.len() || (words.len() + 1 == self.words.len() && self.ends_free());
        let fits = is_long_enough && (is_open || words.len() == self.words.len());
        fits && self.words.iter().zip(&words).all(|(pattern, word)| word_matches(pattern, word))
    }

    /// Whether the last word may be missing, too: `npm test *`.
    fn ends_free(&self) -> bool {
        self.words.len() > 1 && self.words.last().is_some_and(|last| last == "*")
    }
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

/// Whether `word` is `pattern` with something harmless in the place of each `*`.
fn word_matches(pattern: &str, word: &str) -> bool {
    let is_plain =
        |text: &str| !text.contains(|c: char| c.is_whitespace() || c.is_control() || ";|&$<>()`\\\"'".contains(c));
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = word.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    if !is_plain(rest) {
        return false;
    }
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_words() {
        let check = |pattern: &str, line: &[&str], expect: bool| {
            let pattern = CommandPattern::new(pattern).expect("words");
            let arguments: Vec<String> = line[1..].iter().map(|&word| word.to_owned()).collect();
            assert_eq!(pattern.matches(line[0], &arguments), expect, "{pattern}: {line:?}");
        };
        check("yarn test*", &["yarn", "test"], true);
        check("yarn test*", &["yarn", "test:unit", "--coverage"], true);
        check("yarn test*", &["yarn", "test", "a b; rm -rf /"], true);
        check("yarn test*", &["yarn", "test; rm -rf /"], false);
        check("yarn test*", &["yarn test; rm -rf /"], false);
        check("yarn test*", &["yarn", "add", "test"], false);
        check("yarn test*", &["yarn"], false);
        check("vitest*", &["vitest", "run"], true);
        check("npm test", &["npm", "test"], true);
        check("npm test", &["npm", "test", "--", "x"], false);
        check("npm test *", &["npm", "test"], true);
        check("git log -n*1", &["git", "log", "-n21"], true);
        check("git log -n*1", &["git", "log", "-n12"], false);
        check("*", &["anything", "at", "all"], true);
        assert_eq!(CommandPattern::new("  "), None);
    }
}
