//! What can be left out of a description or a schema, from what says nothing to what says something.

use std::collections::HashSet;

use cycod_schema::{Function, escaped_token, unescaped_token};
use serde_json::Value as Json;

/// A text that becomes shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// A JSON Pointer into `{name, description, parameters}`.
    pub pointer: String,
    /// Why it can be.
    pub kind: CutKind,
    /// What it is.
    pub from: String,
    /// What it becomes; nothing when it goes.
    pub to: Option<String>,
}

/// Why a text can be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CutKind {
    /// A keyword that says nothing about values.
    Keyword,
    /// A title.
    Title,
    /// A description with no word that the name does not have.
    SaysTheName,
    /// Sentences that the tool's description or an earlier parameter says, too.
    Repeated,
    /// What stands in parentheses.
    Aside,
    /// Examples.
    Examples,
    /// All but the first sentence of a parameter.
    Parameter,
    /// All but the first sentence of the tool.
    Tool,
}

impl CutKind {
    /// What is done, for a person.
    pub fn what(self) -> &'static str {
        match self {
            Self::Keyword => "leave out a keyword without content",
            Self::Title => "leave out the title",
            Self::SaysTheName => "leave out what the name says already",
            Self::Repeated => "leave out repeated text",
            Self::Aside => "leave out text in parentheses",
            Self::Examples => "leave out the examples",
            Self::Parameter | Self::Tool => "keep the first sentence",
        }
    }

    /// What each word that goes is worth.
    fn weight(self) -> f64 {
        match self {
            Self::Keyword | Self::SaysTheName => 0.01,
            Self::Title => 0.1,
            Self::Repeated => 0.2,
            Self::Examples => 0.4,
            Self::Aside => 0.6,
            Self::Parameter => 1.0,
            Self::Tool => 2.0,
        }
    }
}

/// The steps by which one text becomes shorter; each follows the one before it.
#[derive(Debug)]
pub(crate) struct Ladder {
    pub(crate) pointer: String,
    pub(crate) steps: Vec<Step>,
}

/// A shorter text, with what is won and lost.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) kind: CutKind,
    pub(crate) to: Option<Json>,
    /// Characters won for each word of weight that is lost.
    pub(crate) worth: f64,
}

/// Everything that could be cut from a tool.
pub(crate) fn ladders(function: &Function) -> Vec<Ladder> {
    let mut ladders = Vec::new();
    let mut said: HashSet<String> = sentences(&function.description).into_iter().map(plain).collect();
    let pointer = "/description".to_owned();
    let steps = prose(&function.description, None, &mut HashSet::new(), CutKind::Tool);
    ladders.extend((!steps.is_empty()).then_some(Ladder { pointer, steps }));
    schema(&function.parameters, "/parameters", None, &mut said, &mut ladders);
    ladders
}

fn schema(node: &Json, pointer: &str, name: Option<&str>, said: &mut HashSet<String>, into: &mut Vec<Ladder>) {
    let Some(keywords) = node.as_object() else { return };
    let mut drop = |keyword: &str, kind: CutKind, value: &Json| {
        let text = value.to_string();
        let steps = vec![step(kind, &text, None, keyword.len() + 4)];
        into.push(Ladder { pointer: format!("{pointer}/{}", escaped_token(keyword)), steps });
    };
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "$schema" | "$id" | "$comment" => drop(keyword, CutKind::Keyword, value),
            "title" => {
                let says_the_name = value.as_str().zip(name).is_some_and(|(title, name)| says_only(title, name));
                drop(keyword, if says_the_name { CutKind::SaysTheName } else { CutKind::Title }, value);
            }
            "examples" | "example" => drop(keyword, CutKind::Examples, value),
            _ => {}
        }
    }
    if let Some(text) = keywords.get("description").and_then(Json::as_str) {
        let steps = prose(text, name, said, CutKind::Parameter);
        let pointer = format!("{pointer}/description");
        into.extend((!steps.is_empty()).then_some(Ladder { pointer, steps }));
    }
    for (keyword, value) in keywords {
        let below = format!("{pointer}/{}", escaped_token(keyword));
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions" | "patternProperties", Json::Object(named)) => {
                for (name, node) in named {
                    schema(node, &format!("{below}/{}", escaped_token(name)), Some(name), said, into);
                }
            }
            ("items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains", Json::Object(_)) => {
                schema(value, &below, None, said, into);
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Json::Array(nodes)) => {
                for (index, node) in nodes.iter().enumerate() {
                    schema(node, &format!("{below}/{index}"), None, said, into);
                }
            }
            _ => {}
        }
    }
}

/// The steps of a description. What it says is added to what is said.
fn prose(text: &str, name: Option<&str>, said: &mut HashSet<String>, last: CutKind) -> Vec<Step> {
    if name.is_some_and(|name| says_only(text, name)) {
        return vec![step(CutKind::SaysTheName, text, None, "description".len() + 6)];
    }
    let mut steps = Vec::new();
    let mut now = text.to_owned();
    let mut go = |now: &mut String, kind: CutKind, to: String| {
        if !to.is_empty() && to.len() < now.len() {
            steps.push(step(kind, now, Some(&to), 0));
            *now = to;
        }
    };
    let fresh: Vec<&str> = sentences(text).into_iter().filter(|sentence| said.insert(plain(sentence))).collect();
    go(&mut now, CutKind::Repeated, fresh.join(" "));
    let aside = without_asides(&now);
    go(&mut now, CutKind::Aside, aside);
    let first = sentences(&now).first().map_or_else(String::new, |first| (*first).to_owned());
    go(&mut now, last, first);
    steps
}

fn step(kind: CutKind, from: &str, to: Option<&str>, beside: usize) -> Step {
    let characters = from.len() + beside - to.map_or(0, str::len);
    let words = from.split_whitespace().count() - to.map_or(0, |to| to.split_whitespace().count()).min(from.len());
    #[expect(clippy::cast_precision_loss, reason = "the texts of tools are short")]
    let worth = characters as f64 / (kind.weight() * words.max(1) as f64);
    Step { kind, to: to.map(Json::from), worth }
}

/// The sentences of a text: each ends with `.`, `!` or `?` before white space and a capital, or with an empty line.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    let letters: Vec<(usize, char)> = text.char_indices().collect();
    for (index, &(at, letter)) in letters.iter().enumerate() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let next = letters.get(index + 1).map(|(_, letter)| *letter);
        let after = letters[index..].iter().skip(1).map(|(_, letter)| *letter).find(|letter| !letter.is_whitespace());
        let word = text[start..at].rsplit(char::is_whitespace).next().unwrap_or_default();
        // `e.g. `, `i.e. `, `etc. ` and initials end no sentence.
        let is_short =
            letter == '.' && (word.contains('.') || word.chars().count() < 2 || word == "etc" || word == "vs");
        let ends = ".!?".contains(letter)
            && depth == 0
            && !is_short
            && next.is_some_and(char::is_whitespace)
            && after.is_some_and(|after| !after.is_lowercase());
        let is_gap = letter == '\n' && next == Some('\n');
        if ends || is_gap {
            let end = at + letter.len_utf8();
            found.push(text[start..end].trim());
            start = end;
        }
    }
    found.push(text[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

/// The text without what stands in parentheses, where the parentheses are in order.
fn without_asides(text: &str) -> String {
    let mut kept = String::new();
    let mut depth = 0_i32;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => return text.to_owned(),
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    if depth != 0 || kept.len() == text.len() {
        return text.to_owned();
    }
    let words: Vec<&str> = kept.split_whitespace().collect();
    words.join(" ").replace(" .", ".").replace(" ,", ",").replace(" ;", ";").replace(" :", ":")
}

/// Whether a text has no word that a name does not have.
fn says_only(text: &str, name: &str) -> bool {
    const EMPTY: [&str; 12] =
        ["the", "a", "an", "of", "for", "to", "this", "is", "value", "parameter", "argument", "its"];
    let words = |text: &str| -> Vec<String> {
        let mut words = vec![String::new()];
        let mut before = ' ';
        for letter in text.chars() {
            if !letter.is_alphanumeric() || (letter.is_uppercase() && before.is_lowercase()) {
                words.push(String::new());
            }
            if letter.is_alphanumeric() {
                words.last_mut().expect("there is one").extend(letter.to_lowercase());
            }
            before = letter;
        }
        words.retain(|word| !word.is_empty());
        words
    };
    let known = words(name);
    words(text).iter().all(|word| known.contains(word) || EMPTY.contains(&word.as_str()))
}

fn plain(sentence: &str) -> String {
    sentence.trim_end_matches(['.', '!', '?']).split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Puts a step into a tool.
pub(crate) fn apply(function: &mut Function, pointer: &str, to: Option<&Json>) -> Option<Cut> {
    if pointer == "/description" {
        let to = to.and_then(Json::as_str).unwrap_or_default().to_owned();
        let from = std::mem::replace(&mut function.description, to.clone());
        return Some(Cut { pointer: pointer.to_owned(), kind: CutKind::Tool, from, to: Some(to) });
    }
    let (parent, key) = pointer.strip_prefix("/parameters")?.rsplit_once('/')?;
    let key = unescaped_token(key);
    let keywords = function.parameters.pointer_mut(parent)?.as_object_mut()?;
    let shown = |json: &Json| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    let from = match to {
        Some(to) => shown(&keywords.insert(key, to.clone())?),
        None => shown(&keywords.shift_remove(&key)?),
    };
    Some(Cut { pointer: pointer.to_owned(), kind: CutKind::Parameter, from, to: to.map(shown) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_people_end_them() {
        for (text, expect) in [
            ("One. Two! Three", vec!["One.", "Two!", "Three"]),
            ("See e.g. London. Or not", vec!["See e.g. London.", "Or not"]),
            ("Version 1.5 of it. Next", vec!["Version 1.5 of it.", "Next"]),
            ("Head\n\nbody", vec!["Head", "body"]),
            ("Units (m. Or km. Or so) matter. End", vec!["Units (m. Or km. Or so) matter.", "End"]),
            ("", vec![]),
        ] {
            assert_eq!(sentences(text), expect);
        }
    }

    #[test]
    fn asides_go_only_where_parentheses_are_in_order() {
        assert_eq!(without_asides("The path (absolute), as is (or not)."), "The path, as is.");
        assert_eq!(without_asides("a ) b ("), "a ) b (");
        assert_eq!(without_asides("a (b"), "a (b");
    }

    #[test]
    fn a_text_may_say_nothing_but_its_name() {
        assert!(says_only("The user ID", "user_id"));
        assert!(says_only("User Id", "userId"));
        assert!(says_only("", "x"));
        assert!(!says_only("The user's ID in LDAP", "user_id"));
    }
}
