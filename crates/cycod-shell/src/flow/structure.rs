//! What the author's text around a value is to its reader: an address, a JSON text, a document of XML, a table. A value must stay
//! the part of it in which it stands: the path behind a host is no other host, and the text in a JSON string is no other member.
//!
//! What a rule needs to know stands before the value, and for addresses behind it. Where the author's own text is not clearly one
//! of these, there is no rule.

use crate::verdict::Rule;

/// Stands for what is not the author's in the text before a value.
pub(crate) const MARK: char = '\u{1}';

/// What ends the host of an address, or says that what stands before is none.
const ENDS_HOST: &str = "/?#\\@";

/// Schemes whose addresses are a path alone, in which `?` and `#` are characters as others.
const PATHS: [&str; 5] = ["s3", "gs", "gcs", "az", "file"];

/// The rule for a value in an address, by what stands before and behind it in its word. `is_address` says that the word is one, also
/// where the author's text does not: `"$BASE/users/{X}"`. What is behind it is nothing where that is not known.
pub(crate) fn in_address(before: &str, behind: Option<&str>, is_address: bool) -> Option<Rule> {
    // No address is that long. It ends where a text around it goes on.
    let is_known = behind.is_some();
    let behind = behind.unwrap_or_default().split(char::is_whitespace).next().unwrap_or_default();
    let (scheme, host) = match before.split_once("://") {
        _ if before.len() > 4096 => return None,
        Some((scheme, host)) if is_scheme(scheme) => (scheme, host),
        _ if is_address && before.contains(['/', '?']) => return in_path("", before, behind),
        _ => return None,
    };
    if let Some(at) = host.find(['/', '?', '#', '\\']) {
        return in_path(scheme, &host[at..], behind);
    }
    if !is_known {
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

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
}

/// The rule for a value behind the host of an address: it stays below the author's path, in front of the author's query, and one of
/// the parameters there.
fn in_path(scheme: &str, before: &str, behind: &str) -> Option<Rule> {
    let is_last = behind.is_empty();
    let is_path_alone = PATHS.contains(&scheme);
    if let Some((_, query)) = before.split_once('?').filter(|_| !is_path_alone) {
        let is_rest = is_last && (query.is_empty() || query.ends_with('&'));
        return (!is_rest && !query.contains('#')).then_some(Rule::Without { characters: "&#" });
    }
    if before.contains('#') {
        return None;
    }
    // Only what the author certainly means for a path of the web may have a query of its own.
    let may_ask = is_last && matches!(scheme, "" | "http" | "https" | "ws" | "wss");
    let ends = if is_path_alone || may_ask { "" } else { "?#" };
    let is_below =
        before.rsplit_once(['/', '\\']).is_some_and(|(above, _)| above.contains(|c| !matches!(c, '/' | '\\')));
    (is_below || !ends.is_empty()).then_some(Rule::Below { ends })
}

/// Whether a text leaves the directory of an address, in one of the ways in which its readers spell that.
pub(crate) fn leaves_path(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    if !path.contains(['.', '%']) {
        return false;
    }
    let path = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    path.split(['/', '\\']).any(|part| !part.is_empty() && part.bytes().all(|byte| byte == b'.'))
}

/// Whether a value stands behind `name=` in the fields of a form, which `&` divides.
pub(crate) fn is_in_form(before: &str) -> bool {
    let field = before.rsplit('&').next().unwrap_or_default();
    field.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-[]%+".contains(&byte))
    })
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
    /// It has ended. Another may begin in the next line.
    Ended,
    /// It is none, or goes on behind the JSON.
    Not,
}

impl Json {
    pub(crate) const START: Self = Self::Before { has_text: false, may_begin: true };

    pub(crate) fn read(&mut self, text: &str) {
        for c in text.chars() {
            if *self == Self::Not {
                return;
            }
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
            (Self::Inside { is_string: false, .. }, '}' | ']') => Self::Ended,
            (Self::Ended, '\n') => Self::START,
            (Self::Ended, c) if c.is_whitespace() => self,
            (Self::Begun { .. } | Self::Ended | Self::Not, _) => Self::Not,
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

    /// The rule for a value in a text that says itself what it is: JSON, or a document of XML or HTML.
    pub(super) fn rule(&self, is_json_string: bool) -> Option<Rule> {
        self.json.rule(is_json_string).or_else(|| in_markup(&self.text, false))
    }

    /// The same where a reader takes it for YAML, which JSON is, too.
    pub(super) fn rule_of_yaml(&self, is_json_string: bool) -> Option<Rule> {
        let begins = self.text.trim_start();
        if begins.starts_with(['{', '[']) {
            return self.json.rule(is_json_string);
        }
        // A whole document may be any.
        (!begins.is_empty()).then(|| in_yaml(&self.text))
    }
}

/// Characters that mean something in some language of documents.
const SIGNS: &str = " \t\n\r!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~";

/// The rule for a value in a document of XML or HTML, by what stands before it. `is_one` says that the text is in one, whatever it
/// begins with.
pub(crate) fn in_markup(before: &str, is_one: bool) -> Option<Rule> {
    let begins = before.trim_start().strip_prefix('<');
    let is_tag =
        begins.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?')));
    if !is_tag && !is_one {
        return None;
    }
    let mut rest = before;
    while let Some((_, inside)) = rest.split_once('<') {
        let section =
            [("!--", "-->", Rule::Without { characters: ">" }), ("![CDATA[", "]]>", Rule::Lacks { text: "]]>" })];
        if let Some((begin, end, rule)) = section.into_iter().find(|(begin, _, _)| inside.starts_with(begin)) {
            match inside[begin.len()..].split_once(end) {
                Some((_, behind)) => rest = behind,
                // It may be the end of one together with the value before it.
                None if inside.ends_with([MARK, ']']) => return Some(Rule::Without { characters: ">" }),
                None => return Some(rule),
            }
            continue;
        }
        if !inside.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?' | '/' | MARK)) {
            rest = inside;
            continue;
        }
        match behind_tag(inside) {
            Ok(behind) => rest = behind,
            Err(rule) => return Some(rule),
        }
    }
    Some(Rule::Without { characters: "<" })
}

/// What stands behind a tag that begins here, and behind the code in it; or the rule for a value in it.
fn behind_tag(inside: &str) -> Result<&str, Rule> {
    let name_ends = inside.find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/')).unwrap_or(inside.len());
    let name = inside[..name_ends].to_ascii_lowercase();
    let mut quote = None;
    for (at, c) in inside.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == '>' => {
                let behind = &inside[at + 1..];
                if !matches!(name.as_str(), "script" | "style") {
                    return Ok(behind);
                }
                // In there is another language.
                let is_end = |at: usize| {
                    let end = behind.as_bytes()[at + 2..].get(..name.len());
                    end.is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()))
                };
                let end = behind.match_indices("</").map(|(at, _)| at).find(|at| is_end(*at));
                return end.map(|end| &behind[end..]).ok_or(Rule::Without { characters: SIGNS });
            }
            None => {}
        }
    }
    let is_code = || {
        let attribute = inside.rsplit(char::is_whitespace).find(|word| word.contains('='));
        attribute.is_some_and(|attribute| attribute.to_ascii_lowercase().starts_with("on"))
    };
    Err(match quote {
        Some('"') if !is_code() && !name.starts_with("?php") => Rule::Without { characters: "\"" },
        Some('\'') if !is_code() && !name.starts_with("?php") => Rule::Without { characters: "'" },
        _ => Rule::Without { characters: SIGNS },
    })
}

/// What a file is to the programs that read it, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// Nothing is known, or it is text for people.
    Text,
    Yaml,
    /// XML, or HTML.
    Markup,
    /// A table, whose cells this character divides.
    Table(char),
    /// Settings, one a line.
    Settings,
}

impl FileKind {
    /// The word for it that people read.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "the file",
            Self::Yaml => "YAML",
            Self::Markup => "a document",
            Self::Table(_) => "a table",
            Self::Settings => "a file of settings",
        }
    }

    /// The rule for a value in such a file, by what stands before it. A value that is all of the text may be anything.
    pub(super) fn rule(self, before: &Before, is_whole: bool, is_json_string: bool) -> Option<Rule> {
        match self {
            Self::Text => None,
            Self::Yaml => before.rule_of_yaml(is_json_string),
            Self::Markup => (!is_whole).then(|| in_markup(&before.text, true)).flatten(),
            Self::Table(_) | Self::Settings if is_whole => None,
            Self::Table(divider) => Some(in_table(&before.text, divider)),
            // `name<<END`, where what is made up ends it.
            Self::Settings if before.text.ends_with('\n') && before.text.contains(&format!("<<{MARK}")) => None,
            Self::Settings => before.json.rule(is_json_string).or_else(|| Some(in_settings(&before.text))),
        }
    }
}

/// Whether a value in a document of YAML is in the code of a shell: in the item of a list that is behind `sh` and `-c`, of which the
/// first may stand in a list of its own, as `command: [sh]` does before `args: [-c, …]`.
pub(crate) fn is_in_shell_code(before: &str) -> bool {
    // No such list is that long.
    let from = before.len().saturating_sub(4096);
    let before = &before[before.ceil_char_boundary(from)..];
    let items = items_in_brackets(before).or_else(|| items_of_lines(before));
    let Some((items, key)) = items else { return false };
    let is_code = |item: &str| item.starts_with('-') && !item.starts_with("--") && item.ends_with('c');
    match items.as_slice() {
        [.., program, option] if is_code(option) => {
            crate::programs::runs_shell_code(program) || program.starts_with('-')
        }
        [option] if is_code(option) => key == "args",
        _ => false,
    }
}

/// The items of the list in brackets that is open, before the one that has begun; and the key of the list.
fn items_in_brackets(before: &str) -> Option<(Vec<&str>, &str)> {
    let (mut open, mut quote, mut starts) = (Vec::new(), None, Vec::new());
    for (at, c) in before.char_indices() {
        match (quote, c) {
            (Some(mark), c) if c == mark && !before[..at].ends_with('\\') => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if before[..at].trim_end().ends_with(['[', ',', ':', '-', '{']) => quote = Some(c),
            (None, '[' | '{') => {
                open.push((at, c, std::mem::take(&mut starts)));
                starts.push(at + 1);
            }
            (None, ']' | '}') => starts = open.pop()?.2,
            (None, ',') if !open.is_empty() => starts.push(at + 1),
            _ => {}
        }
    }
    let (at, _, _) = open.last().filter(|(_, bracket, _)| *bracket == '[')?;
    let items = starts.windows(2).map(|pair| unquoted(&before[pair[0]..pair[1] - 1]));
    let key = before[..*at].trim_end().strip_suffix(':')?;
    Some((items.collect(), key.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()))
}

/// The same of a list with an item a line.
fn items_of_lines(before: &str) -> Option<(Vec<&str>, &str)> {
    let mut lines = before.lines().rev();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut most = usize::MAX;
    let own = lines.by_ref().find(|line| {
        let is_own = line.trim_start().starts_with("- ") && depth(line) < most;
        most = if line.trim().is_empty() { most } else { most.min(depth(line)) };
        is_own
    })?;
    let mut items = Vec::new();
    for line in lines {
        match line.trim_start().strip_prefix("- ") {
            Some(item) if depth(line) == depth(own) => items.push(unquoted(item)),
            _ if depth(line) > depth(own) => {}
            _ => {
                items.reverse();
                let key = line.trim().trim_start_matches("- ").strip_suffix(':')?;
                return Some((items, key));
            }
        }
    }
    None
}

fn unquoted(item: &str) -> &str {
    item.trim().trim_matches(['"', '\''])
}

/// The rule for a value in a table: it is one cell, or a part of one.
fn in_table(before: &str, divider: char) -> Rule {
    let is_quoted = before.matches('"').count() % 2 == 1;
    match divider {
        _ if is_quoted => Rule::Without { characters: "\"" },
        '\t' => Rule::Without { characters: "\t\n\r\"" },
        _ => Rule::Without { characters: ",;\n\r\"" },
    }
}

/// The rule for a value among settings: it ends with its line, and within quotes with these.
fn in_settings(before: &str) -> Rule {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let begins = |c: char| c.is_whitespace() || "=:[,(".contains(c);
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') && (at == 0 || line[..at].ends_with(begins)) => quote = Some(c),
            None => {}
        }
    }
    match quote {
        Some('"') => Rule::Without { characters: "\"\\\n\r" },
        Some(_) => Rule::Without { characters: "'\\\n\r" },
        // In such settings a line ends before its end.
        None if before.trim_end().contains(['{', ';']) => Rule::Without { characters: ";{}\"'\n\r" },
        None => Rule::Without { characters: "\n\r" },
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

/// What would end the part of a header of a message in which a value stands: `Cookie: a=` and `Content-Type: a/b; c="`.
pub(super) fn in_header(before: &str) -> Option<&'static str> {
    let (name, parts) = before.split_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let part = parts.rsplit(';').next().filter(|part| is_name && part.contains('='))?;
    Some(if part.matches('"').count() % 2 == 1 { "\"\\" } else { ";" })
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
        let in_address = |before: &str, behind: &str| in_address(before, Some(behind), false);
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
        let below = |ends| Some(Rule::Below { ends });
        assert_eq!(in_address("https://a.b/c/", ""), below(""));
        assert_eq!(in_address("https://a.b/", "/c"), below("?#"));
        assert_eq!(in_address("https://a.b/c/", " is down"), below(""));
        assert_eq!(in_address("postgres://a.b/", ""), below("?#"));
        assert_eq!(in_address("s3://a.b/c/", "/d"), below(""));
        assert_eq!(in_address("https://a.b/?c=", ""), without("&#"));
        assert_eq!(in_address("https://a.b/?", ""), None);
        assert_eq!(in_address("https://a.b/?c=1&", ""), None);
        assert_eq!(in_address("https://a.b/?", "&d=1"), without("&#"));
        assert_eq!(in_address("https://a.b/#", ""), None);
        assert_eq!(super::in_address("repos/", Some("/issues"), true), below("?#"));
        assert_eq!(super::in_address("", Some(""), true), None);
        assert_eq!(super::in_address("https://a.b/c/", None, false), below(""));
        assert_eq!(super::in_address("https://a.b", None, false), None);
        for text in ["..", "a/../b", "%2E%2e/a", "a/..%2fb", ".", "..\\a"] {
            assert!(leaves_path(text), "{text}");
        }
        for text in ["a/b", "v1.2", "a..b", ".github", "a?b=../c", ""] {
            assert!(!leaves_path(text), "{text}");
        }
    }

    #[test]
    fn markup() {
        let without = |characters| Some(Rule::Without { characters });
        let in_markup = |before: &str| in_markup(before, false);
        assert_eq!(in_markup("<a>"), without("<"));
        assert_eq!(in_markup("<?xml version=\"1.0\"?>\n<a><b c=\"1 > 0\">d</b>"), without("<"));
        assert_eq!(in_markup("<a b=\""), without("\""));
        assert_eq!(in_markup("<a b='"), without("'"));
        assert_eq!(in_markup("<a b="), without(SIGNS));
        assert_eq!(in_markup("<a onclick=\"f('"), without(SIGNS));
        assert_eq!(in_markup("<"), None);
        assert_eq!(in_markup("<script>let a = '"), without(SIGNS));
        assert_eq!(in_markup("<script>let a = 1</SCRIPT><p>"), without("<"));
        assert_eq!(in_markup("<a><!-- "), without(">"));
        assert_eq!(in_markup("<a><!-- b --> "), without("<"));
        assert_eq!(in_markup("<a><![CDATA["), Some(Rule::Lacks { text: "]]>" }));
        assert_eq!(in_markup(&format!("<a><![CDATA[{MARK}")), without(">"));
        assert_eq!(in_markup("a < b "), None);
        assert_eq!(in_markup("<- "), None);
    }

    #[test]
    fn lines() {
        let without = |characters| Rule::Without { characters };
        assert_eq!(in_table("a,", ','), without(",;\n\r\""));
        assert_eq!(in_table("a,\"", ','), without("\""));
        assert_eq!(in_settings("[a]\nb = "), without("\n\r"));
        assert_eq!(in_settings("[a]\nb = \""), without("\"\\\n\r"));
        assert_eq!(in_settings("server { server_name "), without(";{}\"'\n\r"));
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
        assert_eq!(in_json("{\"a\": {}}\n{\"b\": \"", false), Some(Rule::JsonString));
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
