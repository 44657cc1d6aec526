//! Which calls a rule is about, as people write it.

use std::{cmp::Ordering, fmt, path::PathBuf};

use cycod_definition::{Decimal, Level};
use cycod_diagnostic::closest;
use cycod_schema::Pattern as Regex;

use crate::{
    Places, Subject, Verdict,
    condition::{Condition, Test},
    glob::Glob,
    value::Readings,
};

/// How large a regular expression may become.
const LARGEST_REGEX: usize = 1 << 20;

/// Which calls a rule is about: `write`, `git-*`, `tool:git-push(BRANCH=main)`, `mcp:mail/*`.
#[derive(Clone, Debug)]
pub struct Pattern {
    source: String,
    pub(crate) target: Target,
    conditions: Vec<Condition>,
}

/// Which tools a pattern is about.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// `*`.
    Everything,
    /// `read`, `write`, `run`.
    Level(Level),
    /// A bare word.
    Name(Glob),
    /// `tool:WORD`.
    NameOrTag(Glob),
    /// `mcp:SERVER/TOOL`.
    Remote { server: Glob, tool: Glob },
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// The byte of the text at which it goes wrong.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// How to go on.
    pub help: String,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it, and how to fix it.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        Parser { text, at: 0 }.pattern()
    }

    /// Splits a list of patterns at commas and line ends, but not at those inside of conditions and quotes.
    pub fn split(list: &str) -> Vec<&str> {
        let (mut parts, mut start, mut depth) = (Vec::new(), 0_usize, 0_usize);
        let mut quote = None;
        let mut is_escaped = false;
        for (at, character) in list.char_indices() {
            match (quote, character) {
                (Some(_), _) if is_escaped => is_escaped = false,
                (Some(_), '\\') => is_escaped = true,
                (Some(open), _) if open == character => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if depth > 0 => quote = Some(character),
                (None, '(') => depth += 1,
                (None, ')') => depth = depth.saturating_sub(1),
                (None, ',' | '\n') if depth == 0 => {
                    parts.push(&list[start..at]);
                    start = at + 1;
                }
                (None, _) => {}
            }
        }
        parts.push(&list[start..]);
        parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
    }

    /// The one tool that it is about by its name alone, if it is.
    pub fn tool(&self) -> Option<&str> {
        match &self.target {
            Target::Name(name) | Target::NameOrTag(name) => name.exact(),
            _ => None,
        }
    }

    /// The parameters that its conditions name.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.conditions.iter().map(|condition| &*condition.name)
    }

    /// Whether a bare word in it may also be a tag, so that no tool of the name need be there.
    pub fn may_be_tag(&self) -> bool {
        matches!(self.target, Target::NameOrTag(_))
    }

    /// Whether the tool is one of those that it is about, for a rule of this verdict.
    ///
    /// Allowing a level allows those below; asking about one, or denying it, does so for those above.
    pub(crate) fn covers(&self, verdict: Verdict, subject: &Subject<'_>) -> bool {
        match &self.target {
            Target::Everything => true,
            Target::Level(level) if verdict == Verdict::Allow => subject.level <= *level,
            // A tool that is called so is meant by who denies.
            Target::Level(level) => subject.level >= *level || subject.name.eq_ignore_ascii_case(level.name()),
            Target::Name(name) => name.matches(subject.name),
            Target::NameOrTag(word) => {
                word.matches(subject.name) || subject.tags.iter().any(|tag| !is_level(tag) && word.matches(tag))
            }
            Target::Remote { server, tool } => {
                subject.remote.is_some_and(|(its_server, name)| server.matches(its_server) && tool.matches(name))
            }
        }
    }

    /// Whether all conditions hold.
    pub(crate) fn conditions_hold(&self, verdict: Verdict, arguments: &[Readings<'_>], places: &Places<'_>) -> bool {
        self.conditions.iter().all(|condition| condition.holds(verdict, arguments, places))
    }

    /// Whether a rule of this verdict is about the call.
    pub fn matches(&self, verdict: Verdict, subject: &Subject<'_>, places: &Places<'_>) -> bool {
        let arguments: Vec<_> = subject.arguments.iter().map(Readings::of).collect();
        self.covers(verdict, subject) && self.conditions_hold(verdict, &arguments, places)
    }

    /// How exactly it says what it is about; the most exact of several rules is named.
    pub(crate) fn exactness(&self) -> (bool, u8) {
        let of_target = match &self.target {
            Target::Everything => 0,
            Target::Level(_) => 1,
            Target::Remote { server, tool } => {
                2 + u8::from(server.exact().is_some()) + u8::from(tool.exact().is_some())
            }
            Target::NameOrTag(word) => 3 + u8::from(word.exact().is_some()),
            Target::Name(word) => 4 + u8::from(word.exact().is_some()),
        };
        (!self.conditions.is_empty(), of_target)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// The level that a word names.
fn level(word: &str) -> Option<Level> {
    Level::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, level)| *level)
}

fn is_level(tag: &str) -> bool {
    level(tag).is_some()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

const FORMS: &str =
    "write a level (read, write, run), `*`, a tool's name, `tool:NAME`, `tool:TAG` or `mcp:SERVER/TOOL`";
const TESTS: &str = "write NAME=VALUE, or one of != ~ !~ ^= < <= > >= under, as in (BRANCH=main, DEPTH>1)";

impl<'a> Parser<'a> {
    fn pattern(mut self) -> Result<Pattern, PatternError> {
        self.blanks();
        let start = self.at;
        let head = self.text[start..].split(['(', ')', '"', '\'']).next().unwrap_or_default().trim_end();
        let target = target(head).map_err(|error| PatternError { at: error.at + start, ..error })?;
        self.at = start + head.len();
        self.blanks();
        let mut conditions = Vec::new();
        if self.takes("(") {
            loop {
                conditions.push(self.condition()?);
                self.blanks();
                if self.takes(")") {
                    break;
                }
                if !self.takes(",") {
                    return Err(self.error("`,` or `)` is missing", "quote a value that holds anything but one word"));
                }
            }
            self.blanks();
        }
        if !self.rest().is_empty() {
            return Err(self.error(format!("`{}` is too much", self.rest().trim_end()), FORMS));
        }
        Ok(Pattern { source: self.text.trim().to_owned(), target, conditions })
    }

    fn condition(&mut self) -> Result<Condition, PatternError> {
        self.blanks();
        let name = match self.quoted()? {
            Some(name) => name,
            None => {
                let end = self.rest().find(|c: char| c.is_whitespace() || "=!~<>^,()\"'".contains(c));
                self.take(end.unwrap_or(self.rest().len())).to_owned()
            }
        };
        if name.is_empty() {
            return Err(self.error("the name of a parameter is missing", TESTS));
        }
        self.blanks();
        let is_not = self.word("not");
        self.blanks();
        if self.word("under") {
            let directory = PathBuf::from(self.value()?);
            return Ok(Condition { name, test: Test::Under(directory), is_negated: is_not });
        }
        // The longer ones first.
        let operators = ["!=", "!~", "^=", "<=", ">=", "==", "=~", "=", "~", "<", ">"];
        let start = self.at;
        let Some(operator) = operators.into_iter().find(|operator| !is_not && self.takes(operator)) else {
            return Err(self.error(format!("`{name}` has no condition"), TESTS));
        };
        let wrong = |at, message: String, help: &str| PatternError { at, message, help: help.to_owned() };
        let of_value = self.at;
        let value = self.value()?;
        let bound = |side, includes| match Decimal::parse(&value) {
            Some(limit) => Ok(Test::Bound { side, includes, limit }),
            None => Err(wrong(of_value, format!("`{value}` is not a number"), "compare texts with =, !=, ~ or ^=")),
        };
        let test = match operator {
            "=" | "!=" => Test::Equals(value),
            "~" | "!~" => {
                let regex = Regex::new(&value, LARGEST_REGEX).map_err(|error| {
                    let why = error.to_string();
                    let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                    wrong(of_value, format!("`{value}` is not a regular expression: {why}"), "it may be quoted")
                })?;
                Test::Matches(regex)
            }
            "^=" => Test::Starts(value),
            "<" => bound(Ordering::Less, false)?,
            "<=" => bound(Ordering::Less, true)?,
            ">" => bound(Ordering::Greater, false)?,
            ">=" => bound(Ordering::Greater, true)?,
            other => {
                let meant = if other == "==" { "=" } else { "~" };
                return Err(wrong(start, format!("`{other}` is no test"), &format!("did you mean `{meant}`?")));
            }
        };
        Ok(Condition { name, test, is_negated: operator.starts_with('!') })
    }

    /// A value in quotes, or the text up to `,` or `)`.
    fn value(&mut self) -> Result<String, PatternError> {
        self.blanks();
        if let Some(value) = self.quoted()? {
            return Ok(value);
        }
        let end = self.rest().find([',', '(', ')', '"', '\'']).unwrap_or(self.rest().len());
        let value = self.rest()[..end].trim_end();
        if value.is_empty() {
            return Err(self.error("a value is missing", "write an empty one as \"\""));
        }
        Ok(self.take(value.len()).to_owned())
    }

    fn quoted(&mut self) -> Result<Option<String>, PatternError> {
        let Some(open) = self.rest().chars().next().filter(|c| matches!(c, '"' | '\'')) else { return Ok(None) };
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                _ if character == open => {
                    self.at += at + 1;
                    return Ok(Some(text));
                }
                // Before anything else a backslash is itself: regular expressions are full of them.
                '\\' => match self.rest()[at + 1..].chars().next() {
                    Some(next) if next == open || next == '\\' => {
                        text.push(next);
                        characters.next();
                    }
                    _ => text.push('\\'),
                },
                other => text.push(other),
            }
        }
        Err(self.error("the quote is not closed", "end it with the same quote"))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = &self.rest()[..length];
        self.at += length;
        taken
    }

    fn takes(&mut self, token: &str) -> bool {
        let is_there = self.rest().starts_with(token);
        self.at += if is_there { token.len() } else { 0 };
        is_there
    }

    /// Takes a word that something follows which is not part of it.
    fn word(&mut self, word: &str) -> bool {
        let ends = self.rest().strip_prefix(word).is_some_and(|rest| rest.starts_with([' ', '\t', '"', '\'']));
        ends && self.takes(word)
    }

    fn error(&self, message: impl Into<String>, help: &str) -> PatternError {
        PatternError { at: self.at, message: message.into(), help: help.to_owned() }
    }
}

fn target(head: &str) -> Result<Target, PatternError> {
    let wrong = |at, message: String, help: &str| Err(PatternError { at, message, help: help.to_owned() });
    let is_name = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-*".contains(&byte))
    };
    let word = |word: &str| match word {
        "*" => Some(Target::Everything),
        _ => level(word).map(Target::Level),
    };
    match head.split_once(':') {
        None if head.is_empty() => wrong(0, "there is no pattern".to_owned(), FORMS),
        None if is_name(head) => Ok(word(head).unwrap_or_else(|| Target::Name(Glob::new(head)))),
        None => {
            let (message, near) =
                (format!("`{head}` is neither a level, nor `*`, nor a tool's name"), head.split_once('/'));
            match near {
                Some((server, tool)) => wrong(0, message, &format!("did you mean `mcp:{server}/{tool}`?")),
                None => wrong(0, message, FORMS),
            }
        }
        Some(("tool", name)) if is_tag(name) => Ok(word(name).unwrap_or_else(|| Target::NameOrTag(Glob::new(name)))),
        Some(("tool", name)) => wrong(5, format!("`{name}` is neither a tag, nor a level, nor a tool's name"), FORMS),
        Some(("mcp", place)) => {
            let (server, tool) = place.split_once('/').unwrap_or((place, "*"));
            if is_name(server) && !tool.is_empty() {
                Ok(Target::Remote { server: Glob::new(server), tool: Glob::new(tool) })
            } else {
                wrong(4, format!("`{place}` names no server and tool"), "write `mcp:SERVER/TOOL` or `mcp:SERVER/*`")
            }
        }
        Some((kind, name)) => {
            let help = match closest(kind, ["tool", "tag", "mcp", "level", "name"]) {
                Some("mcp") => format!("did you mean `mcp:{name}`?"),
                Some(_) => format!("did you mean `tool:{name}`?"),
                None => FORMS.to_owned(),
            };
            wrong(0, format!("`{kind}:` begins no pattern"), &help)
        }
    }
}

/// Whether a text may be a tag: tags may hold anything but what ends a pattern.
fn is_tag(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || c.is_control() || "(),:\"'".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wrong(text: &str, at: usize, message: &str, help: &str) {
        let error = Pattern::parse(text).expect_err(text);
        assert_eq!((error.at, &*error.message), (at, message), "{text}");
        assert!(error.help.contains(help), "{text}: {}", error.help);
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        wrong("", 0, "there is no pattern", "a level");
        wrong("a b", 0, "`a b` is neither a level, nor `*`, nor a tool's name", "tool:NAME");
        wrong(
            "mail/send",
            0,
            "`mail/send` is neither a level, nor `*`, nor a tool's name",
            "did you mean `mcp:mail/send`?",
        );
        wrong("tools:x", 0, "`tools:` begins no pattern", "did you mean `tool:x`?");
        wrong("tag:x", 0, "`tag:` begins no pattern", "did you mean `tool:x`?");
        wrong("mcp:", 4, "`` names no server and tool", "mcp:SERVER/TOOL");
        wrong("x(", 2, "the name of a parameter is missing", "NAME=VALUE");
        wrong("x(A)", 3, "`A` has no condition", "NAME=VALUE");
        wrong("x(A=)", 4, "a value is missing", "\"\"");
        wrong("x(A==b)", 3, "`==` is no test", "did you mean `=`?");
        wrong("x(A=b", 5, "`,` or `)` is missing", "quote");
        wrong("x(A=b) c", 7, "`c` is too much", "a level");
        wrong("x(A=\"b)", 4, "the quote is not closed", "same quote");
        wrong("x(A<many)", 4, "`many` is not a number", "compare texts");
        wrong("x(A~\"(\")", 4, "`(` is not a regular expression: unclosed group", "quoted");
    }

    #[test]
    fn lists_are_split_outside_of_conditions() {
        assert_eq!(
            Pattern::split("read, x(A=1,B=\"),\\\",\") ,\n mcp:a/*\n"),
            ["read", "x(A=1,B=\"),\\\",\")", "mcp:a/*"]
        );
        assert!(Pattern::split(" , ").is_empty());
    }
}
