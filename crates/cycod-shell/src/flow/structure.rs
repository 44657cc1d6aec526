//! What the author's text around a value is to its reader: an address, a JSON text, a YAML document. A value must stay the
//! part of it in which it stands: the path behind a host is no other host, and the text in a JSON string is no other member.
//!
//! What a rule needs to know stands before the value, and for addresses behind it. Where the author's own text is not clearly one
//! of these, there is no rule.

use crate::verdict::Rule;

/// Stands for what is not the author's in the text before a value.
pub(crate) const MARK: char = '\u{1}';

/// What ends the host of an address, or says that what stands before is none.
const ENDS_HOST: &str = "/?#\\@";

/// The rule for a value in an address, by what stands before and behind it in its word.
pub(crate) fn in_address(before: &str, behind: &str) -> Option<Rule> {
    // No host is that long.
    let (scheme, host) = before.split_once("://").filter(|_| before.len() < 4096)?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    if !is_scheme || host.contains(['/', '?', '#', '\\']) {
        return None;
    }
    let rest_of_host = behind.split(['/', '?', '#']).next().unwrap_or_default();
    if !rest_of_host.is_empty() {
        return Some(Rule::Without { characters: ENDS_HOST });
    }
    let is_last = behind.is_empty();
    match host.chars().next_back() {
        // All of the host, which may be any.
        None | Some('@') => None,
        // A part of the host, or its port.
        Some('.' | '-' | ':') => Some(Rule::Without { characters: "@\\" }),
        Some(_) if is_last => Some(Rule::Path { or_label: !host.contains('.') }),
        Some(_) => Some(Rule::Without { characters: "/?#\\@.:" }),
    }
}

/// Reads a text up to a value, as far as it is JSON. JSON begins with its first key, or with the first of several objects or texts;
/// before it may stand `payload=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Json {
    /// It has not begun; whether something stands before it, which ends with a `=`.
    Before {
        has_text: bool,
        may_begin: bool,
    },
    /// Brackets have begun; how many, and whether another may follow.
    Begun {
        depth: usize,
        may_nest: bool,
    },
    Inside {
        is_string: bool,
        is_escaped: bool,
        depth: usize,
    },
    /// It is none, or goes on behind the JSON.
    Not,
}

impl Json {
    pub(crate) const START: Self = Self::Before { has_text: false, may_begin: true };

    pub(crate) fn read(&mut self, text: &str) {
        for c in text.chars() {
            *self = self.behind(c);
        }
    }

    fn behind(self, c: char) -> Self {
        match (self, c) {
            (Self::Before { has_text: false, .. } | Self::Begun { .. }, c) if c.is_whitespace() => self,
            (Self::Before { may_begin: true, .. }, '{') => Self::Begun { depth: 1, may_nest: false },
            (Self::Before { may_begin: true, .. }, '[') => Self::Begun { depth: 1, may_nest: true },
            (Self::Before { .. }, c) if c.is_whitespace() || matches!(c, '{' | '[') => Self::Not,
            (Self::Before { .. }, c) => Self::Before { has_text: true, may_begin: c == '=' },
            (Self::Begun { depth, .. }, '"') => Self::Inside { is_string: true, is_escaped: false, depth },
            (Self::Begun { depth, may_nest: true }, '{') => Self::Begun { depth: depth + 1, may_nest: false },
            (Self::Inside { is_escaped: true, is_string, depth }, _) => {
                Self::Inside { is_escaped: false, is_string, depth }
            }
            (Self::Inside { is_string: true, depth, .. }, '\\') => {
                Self::Inside { is_escaped: true, is_string: true, depth }
            }
            (Self::Inside { is_string, depth, .. }, '"') => {
                Self::Inside { is_string: !is_string, is_escaped: false, depth }
            }
            (Self::Inside { is_string: false, depth, .. }, '{' | '[') => {
                Self::Inside { is_string: false, is_escaped: false, depth: depth + 1 }
            }
            (Self::Inside { is_string: false, depth, .. }, '}' | ']') if depth > 1 => {
                Self::Inside { is_string: false, is_escaped: false, depth: depth - 1 }
            }
            (Self::Inside { is_string: false, .. }, '}' | ']') | (Self::Begun { .. } | Self::Not, _) => Self::Not,
            (Self::Inside { .. }, _) => self,
        }
    }

    /// The rule for a value that stands here. What is inside of a JSON string already is data in one.
    pub(crate) fn rule(self, is_json_string: bool) -> Option<Rule> {
        match self {
            Self::Inside { is_string: true, .. } => (!is_json_string).then_some(Rule::JsonString),
            Self::Inside { .. } => Some(Rule::JsonValue),
            _ => None,
        }
    }
}

/// The rule for a value in a JSON text, by what stands before it.
pub(crate) fn in_json(before: &str, is_json_string: bool) -> Option<Rule> {
    let mut json = Json::START;
    json.read(before);
    json.rule(is_json_string)
}

/// What stands before a value in a document.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) text: String,
    json: Json,
}

impl Before {
    pub(super) const START: Self = Self { text: String::new(), json: Json::START };

    pub(super) fn read(&mut self, text: &str) {
        self.text.push_str(text);
        self.json.read(text);
    }

    /// A value, or what else is not the author's.
    pub(super) fn pass(&mut self) {
        self.text.push(MARK);
        self.json.read("\u{1}");
    }

    pub(super) fn rule_of_json(&self, is_json_string: bool) -> Option<Rule> {
        self.json.rule(is_json_string)
    }
}

/// Whether a text is one JSON value, or less than one; its words are not looked at.
pub(crate) fn is_one_json_value(text: &str) -> bool {
    let (mut is_string, mut is_escaped, mut depth) = (false, false, 0_usize);
    let mut has_ended = false;
    for c in text.trim().chars() {
        if has_ended {
            return false;
        }
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => {
                is_string = !is_string;
                has_ended = !is_string && depth == 0;
            }
            _ if is_string => {}
            '{' | '[' => depth += 1,
            '}' | ']' => {
                let Some(left) = depth.checked_sub(1) else { return false };
                depth = left;
                has_ended = depth == 0;
            }
            ',' | ':' if depth == 0 => return false,
            _ => {}
        }
    }
    !is_string && depth == 0
}

/// The rule for a value in a YAML document, by what stands before it.
pub(super) fn in_yaml(before: &str) -> Rule {
    const LONGEST: usize = 4096;
    let line = before.rsplit('\n').next().unwrap_or_default();
    if line.len() > LONGEST {
        return Rule::Plain;
    }
    let (mut quote, mut depth, mut is_escaped) = (None, 0_usize, false);
    for (at, c) in line.char_indices() {
        let begins = line[..at].trim_end().ends_with([':', '-', '[', '{', ',']) || line[..at].trim().is_empty();
        match (quote, c) {
            (Some('"'), _) if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if begins => quote = Some(c),
            (None, '[' | '{') if begins || depth > 0 => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    match quote {
        Some('"') => Rule::Without { characters: "\"\\" },
        Some(_) => Rule::Without { characters: "'" },
        None if is_in_block(before) => Rule::Without { characters: "\n\r" },
        None => Rule::YamlScalar { is_first: begins_scalar(line), is_in_flow: depth > 0 },
    }
}

fn begins_scalar(line: &str) -> bool {
    let text = line.trim_end();
    text.is_empty() || text.len() < line.len() && text.ends_with([':', '-']) || text.ends_with([',', '[', '{'])
}

/// Whether the last line belongs to the text of a block, `key: |`.
fn is_in_block(before: &str) -> bool {
    let mut lines = before.rsplit('\n');
    let depth = |line: &str| line.len() - line.trim_start().len();
    let Some(last) = lines.next() else { return false };
    let own = depth(last);
    for line in lines.filter(|line| !line.trim().is_empty()).take(200) {
        if depth(line) >= own {
            continue;
        }
        let head = line.trim_end().trim_end_matches(['+', '-']).trim_end_matches(|c: char| c.is_ascii_digit());
        return head.ends_with(['|', '>']);
    }
    false
}

/// Whether a text stays the plain scalar, or the part of one, that it is in the author's document.
pub(crate) fn is_yaml_scalar(text: &str, is_first: bool, is_in_flow: bool) -> bool {
    let begins_otherwise = |text: &str| {
        text.starts_with(|c: char| "?:,[]{}#&*!|>'\"%@`".contains(c))
            || text == "-"
            || text.starts_with("- ")
            || text.starts_with("---")
    };
    let ends_it = text.contains(['\n', '\r']) || text.contains(": ") || text.contains(" #") || text.ends_with(':');
    !(ends_it
        || is_first && begins_otherwise(text.trim_start())
        || is_in_flow && text.contains(['[', ']', '{', '}', ',']))
}

/// Whether a value stands in the head of a message, which ends with an empty line.
pub(super) fn is_in_head(before: &str) -> bool {
    !before.contains("\n\n") && !before.contains("\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let path = |or_label| Some(Rule::Path { or_label });
        let without = |characters| Some(Rule::Without { characters });
        assert_eq!(in_address("https://a.b", ""), path(false));
        assert_eq!(in_address("http://localhost", ""), path(true));
        assert_eq!(in_address("https://a.b/", ""), None);
        assert_eq!(in_address("https://", "/a"), None);
        assert_eq!(in_address("https://user@", ""), None);
        assert_eq!(in_address("https://", ".a.b/c"), without(ENDS_HOST));
        assert_eq!(in_address("https://u:", "@a.b/c"), without(ENDS_HOST));
        assert_eq!(in_address("http://localhost:", "/a"), without("@\\"));
        assert_eq!(in_address("http://worker", "/a"), without("/?#\\@.:"));
        assert_eq!(in_address("see https://a.b", ""), None);
        let host = format!("https://{MARK}");
        assert_eq!(in_address(&host, ""), path(true));
        assert_eq!(in_address(&format!("{host}:"), ""), without("@\\"));
    }

    #[test]
    fn json() {
        assert_eq!(in_json(r#"{"a": ""#, false), Some(Rule::JsonString));
        assert_eq!(in_json(r#"{"a": ""#, true), None);
        assert_eq!(in_json(r#"payload={"a": ""#, false), Some(Rule::JsonString));
        assert_eq!(in_json(r#"{"a\"": "#, false), Some(Rule::JsonValue));
        assert_eq!(in_json(r#"[{"a": "#, false), Some(Rule::JsonValue));
        for text in ["[", "[[", "{a", r#"{"a": 1} "#, "see {\"", "${"] {
            assert_eq!(in_json(text, false), None, "{text}");
        }
        for text in ["1", "true", "", r#"{"a": [1, "b}"]}"#, r#""a, b""#, " [1,2] "] {
            assert!(is_one_json_value(text), "{text}");
        }
        for text in ["1, 2", r#"1, "a": 2"#, "}", "[", r#""a" "b""#, r#""a"#, "{}}"] {
            assert!(!is_one_json_value(text), "{text}");
        }
    }

    #[test]
    fn yaml() {
        let plain = |is_first, is_in_flow| Rule::YamlScalar { is_first, is_in_flow };
        assert_eq!(in_yaml("a: 1\nname: "), plain(true, false));
        assert_eq!(in_yaml("name: app-"), plain(false, false));
        assert_eq!(in_yaml("- "), plain(true, false));
        assert_eq!(in_yaml("args: [a, "), plain(true, true));
        assert_eq!(in_yaml("name: \""), Rule::Without { characters: "\"\\" });
        assert_eq!(in_yaml("name: '"), Rule::Without { characters: "'" });
        assert_eq!(in_yaml("name: it's "), plain(false, false));
        assert_eq!(in_yaml("data:\n  a: |\n    one\n\n    "), Rule::Without { characters: "\n\r" });
        assert_eq!(in_yaml("data:\n  a: |\n    one\n  b: "), plain(true, false));
        for text in ["a b", "nginx:1.2", "-5", "it's", "a-b"] {
            assert!(is_yaml_scalar(text, true, false), "{text}");
        }
        for text in ["a\nb", "{a: b}", "a: b", "a:", "a #b", "*a", "- a", "&a b"] {
            assert!(!is_yaml_scalar(text, true, false), "{text}");
        }
        assert!(!is_yaml_scalar("a, b", false, true));
    }
}
