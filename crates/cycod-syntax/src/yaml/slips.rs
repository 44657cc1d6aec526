//! Slips that YAML refuses somewhere else, or takes for something else.
//!
//! A comment of another language in a JSON file becomes part of the next key, a missing comma is found a line later, and a
//! character that only looks like a space begins a key. When a file does not read well, the text is searched for these slips,
//! and a copy without them is read for the rest.

use cycod_diagnostic::{Code, Diagnostic, Edit, Span};

use super::{Node, NodeKind, Places, read};

/// A mistake, and what a copy of the text has in its place.
struct Slip {
    start: usize,
    end: usize,
    instead: String,
    diagnostic: Diagnostic,
}

/// What was read of a file that has slips.
pub(super) struct Read {
    pub(super) tree: Option<Node>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Reads a text without its slips; nothing when it has none that explain what is wrong with it.
///
/// `first` is what reading it as it is gave.
pub(super) fn read(text: &str, first: &Result<read::Read, Vec<Diagnostic>>) -> Option<Read> {
    let first_error = match first {
        Ok((tree, _)) if tree.as_ref().is_some_and(shows) || may_hide_comments(text) => None,
        Ok(_) => return None,
        Err(found) => Some(last_place(found)),
    };
    if let Some(slips) = of_json(text).filter(|slips| !slips.is_empty()) {
        return Some(without(text, slips).0);
    }
    if matches!(first, Ok((tree, _)) if !tree.as_ref().is_some_and(shows)) {
        return None;
    }
    // How wide a tab was meant to be is not known, and what looks like a space may stand where nothing belongs.
    let widths = [(" ", 2), (" ", 4), (" ", 8), ("", 0)];
    let mut best: Option<Read> = None;
    for (space, width) in widths {
        let slips = of_indentation(text, space, width);
        if slips.is_empty() {
            return None;
        }
        let last = slips.last().map_or(0, |slip| slip.end);
        let (found, error) = without(text, slips);
        match error {
            None => return Some(found),
            // What is still wrong must come behind, or the slips were none.
            Some(at) if first_error.is_none_or(|first| at > first) && at >= last => best = best.or(Some(found)),
            Some(_) => {}
        }
    }
    best
}

/// Reads the text without the slips; also returns where it still cannot be read.
fn without(text: &str, mut slips: Vec<Slip>) -> (Read, Option<usize>) {
    // What is missing at a place comes before what is wrong from there on.
    slips.sort_by_key(|slip| (slip.start, slip.end));
    let (mut copy, mut places, mut copied) = (String::with_capacity(text.len()), Places::same(), 0);
    for slip in &slips {
        copy.push_str(&text[copied..slip.start]);
        places.replaced(copy.len(), slip.start);
        copy.push_str(&slip.instead);
        places.piece(copy.len(), slip.end);
        copied = slip.end;
    }
    copy.push_str(&text[copied..]);
    let mut diagnostics: Vec<Diagnostic> = slips.into_iter().map(|slip| slip.diagnostic).collect();
    match read::read(&copy, &places) {
        Ok((tree, more)) => {
            diagnostics.extend(more);
            (Read { tree, diagnostics }, None)
        }
        Err(more) => {
            let at = last_place(&more);
            diagnostics.extend(more);
            (Read { tree: None, diagnostics }, Some(at))
        }
    }
}

/// Where reading had to stop.
fn last_place(found: &[Diagnostic]) -> usize {
    found.iter().filter_map(Diagnostic::span).map(|span| span.start as usize).max().unwrap_or_default()
}

/// Whether a key of the tree can only come from a slip.
fn shows(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar(_) => false,
        NodeKind::Sequence(items) => items.iter().any(shows),
        NodeKind::Mapping(entries) => entries.iter().any(|entry| {
            entry.key.starts_with(is_odd_space)
                || ["//", "/*"].iter().any(|comment| entry.key.starts_with(comment))
                || shows(&entry.value)
        }),
    }
}

/// Whether comments of another language may have become part of plain values in braces.
fn may_hide_comments(text: &str) -> bool {
    text.trim_start().starts_with('{') && ["//", "/*"].iter().any(|sign| text.contains(sign))
}

/// A character that looks like a space and is none for YAML.
fn is_odd_space(character: char) -> bool {
    !character.is_ascii() && (character.is_whitespace() || matches!(character, '\u{200b}' | '\u{feff}'))
}

fn error(start: usize, end: usize, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::YamlSyntax, Span::new(start, end), message)
}

fn edit(start: usize, end: usize, replacement: impl Into<String>) -> Vec<Edit> {
    vec![Edit { span: Span::new(start, end), replacement: replacement.into() }]
}

/// The slip of characters that only look like spaces, from `start` to `end`.
fn odd_space(text: &str, start: usize, end: usize, space: &str) -> Slip {
    let instead = space.repeat(text[start..end].chars().count());
    let code = text[start..].chars().next().map_or(0, u32::from);
    let diagnostic = error(start, end, format!("this looks like a space, and is the character U+{code:04X}"))
        .help("write plain spaces")
        .fix("write plain spaces", edit(start, end, instead.clone()));
    Slip { start, end, instead, diagnostic }
}

/// The slips in what stands before the first word of each line, and between a key and its value.
fn of_indentation(text: &str, space: &str, width: usize) -> Vec<Slip> {
    let mut slips = Vec::new();
    // Lines indented deeper than this belong to a block scalar.
    let mut block: Option<usize> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let (at, content) = (start, line.trim_end_matches(['\n', '\r']));
        start += line.len();
        let trimmed = content.trim_start_matches(|c: char| matches!(c, ' ' | '\t') || is_odd_space(c));
        let indentation = &content[..content.len() - trimmed.len()];
        // Deep enough for any block, as the eye sees it.
        let columns: usize = indentation.chars().map(|c| if c == '\t' { 8 } else { 1 }).sum();
        if trimmed.is_empty() || trimmed.starts_with('#') || block.is_some_and(|level| columns > level) {
            continue;
        }
        block = None;
        let mut runs = odd_runs(indentation);
        let mut column = columns;
        let mut rest = trimmed;
        let mut offset = indentation.len();
        while let Some(item) =
            rest.strip_prefix('-').filter(|item| item.starts_with([' ', '\t']) || item.starts_with(is_odd_space))
        {
            let inner = item.trim_start_matches(|c: char| matches!(c, ' ' | '\t') || is_odd_space(c));
            let gap = &item[..item.len() - inner.len()];
            runs.extend(odd_runs(gap).into_iter().map(|(from, to)| (offset + 1 + from, offset + 1 + to)));
            column += 1 + gap.chars().count();
            offset += rest.len() - inner.len();
            rest = inner;
        }
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let key = rest.find(|c: char| !is_key(c)).unwrap_or(rest.len());
        if let Some(after) = rest[key..].strip_prefix(':').filter(|_| key > 0) {
            let value = after.trim_start_matches(|c: char| matches!(c, ' ' | '\t') || is_odd_space(c));
            let gap = &after[..after.len() - value.len()];
            // Behind a plain space the value has begun.
            if gap.starts_with(is_odd_space) {
                let behind = offset + key + 1;
                let first = odd_runs(gap).into_iter().take(1);
                runs.extend(first.map(|(from, to)| (behind + from, behind + to)));
            }
            if value.starts_with(['|', '>']) {
                block = Some(column);
            }
        } else if rest.starts_with(['|', '>']) {
            block = Some(columns);
        }
        for (from, to) in runs {
            let run = &content[from..to];
            slips.push(if run.starts_with('\t') {
                let instead = " ".repeat(width * run.len());
                let diagnostic = error(at + from, at + to, "a tab where YAML allows only spaces")
                    .help("indent with spaces")
                    .fix("indent with spaces", edit(at + from, at + to, instead.clone()));
                Slip { start: at + from, end: at + to, instead, diagnostic }
            } else {
                let in_gap = from >= indentation.len();
                odd_space(text, at + from, at + to, if in_gap { " " } else { space })
            });
        }
    }
    slips
}

/// The runs of tabs, and those of characters that only look like spaces.
fn odd_runs(text: &str) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        if character != ' ' {
            match runs.last_mut() {
                Some(run) if run.1 == at && (before == '\t') == (character == '\t') => run.1 += character.len_utf8(),
                _ => runs.push((at, at + character.len_utf8())),
            }
        }
        before = character;
    }
    runs
}

/// The slips of a text in braces; nothing when it is not in braces. What comes behind something that is no JSON at all is
/// left to who reads YAML.
fn of_json(text: &str) -> Option<Vec<Slip>> {
    let mut json = Json { text, at: 0, slips: Vec::new(), depth: 0 };
    if text.starts_with('\u{feff}') {
        json.at = '\u{feff}'.len_utf8();
    }
    json.blank();
    if json.peek()? != '{' {
        return None;
    }
    json.value();
    Some(json.slips)
}

/// Reads JSON as people write it.
struct Json<'a> {
    text: &'a str,
    at: usize,
    slips: Vec<Slip>,
    depth: usize,
}

const TYPOGRAPHIC: [char; 6] = ['“', '”', '„', '‘', '’', '‚'];

impl Json<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Whether a value or a key may start with the character.
    fn starts_value(character: char) -> bool {
        matches!(character, '"' | '\'' | '{' | '[' | '-' | '_')
            || character.is_alphanumeric()
            || TYPOGRAPHIC.contains(&character)
    }

    /// Passes over what separates, comments of other languages too.
    fn blank(&mut self) {
        while let Some(character) = self.peek() {
            let start = self.at;
            let rest = &self.text[start..];
            if matches!(character, ' ' | '\t' | '\n' | '\r') {
                self.at += 1;
            } else if character == '#' {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').map_or(rest.len(), |end| rest[..end].trim_end_matches('\r').len());
                let glue = if self.text[..start].ends_with([' ', '\t', '\n']) || start == 0 { "" } else { " " };
                let fix = format!("{glue}#{}", &self.text[start + 2..self.at]);
                self.comment(start, "//", Some(fix));
            } else if let Some(behind) = rest.strip_prefix("/*") {
                self.at += behind.find("*/").map_or(rest.len(), |end| end + 4);
                let line = self.text[self.at..].split('\n').next().unwrap_or_default();
                let inner = self.text[start + 2..self.at].trim_end_matches("*/").trim();
                // Behind a comment of YAML nothing else may stand on the line.
                let lines = inner.lines().map(|line| format!("# {}", line.trim().trim_start_matches('*').trim_start()));
                let fix = line.trim().is_empty().then(|| lines.collect::<Vec<_>>().join("\n"));
                self.comment(start, "/*", fix);
            } else if is_odd_space(character) {
                let end = rest.find(|c| !is_odd_space(c)).map_or(self.text.len(), |end| start + end);
                self.at = end;
                self.slips.push(odd_space(self.text, start, end, " "));
            } else {
                break;
            }
        }
    }

    fn comment(&mut self, start: usize, sign: &str, fix: Option<String>) {
        let diagnostic = error(start, self.at, format!("`{sign}` starts no comment in a tool file"))
            .help("write `#` before each line of it, or delete it");
        let diagnostic = match fix {
            Some(fix) => diagnostic.fix("write `#`", edit(start, self.at, fix)),
            None => diagnostic,
        };
        self.slips.push(Slip { start, end: self.at, instead: String::new(), diagnostic });
    }

    fn missing(&mut self, sign: char, at: usize) {
        let diagnostic = error(at, at, format!("a `{sign}` is missing here"))
            .fix(format!("add the `{sign}`"), edit(at, at, sign.to_string()));
        // What follows a colon must be apart from it.
        let instead = if sign == ':' { ": ".to_owned() } else { sign.to_string() };
        self.slips.push(Slip { start: at, end: at, instead, diagnostic });
    }

    /// Reads a value; nothing where it is none.
    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            open @ ('{' | '[') => {
                self.depth += 1;
                if self.depth > super::MAX_DEPTH {
                    return None;
                }
                self.at += 1;
                self.inside(if open == '{' { '}' } else { ']' })?;
                self.depth -= 1;
                Some(())
            }
            _ => self.scalar(false),
        }
    }

    /// Reads what stands in brackets, the closing one too.
    fn inside(&mut self, close: char) -> Option<()> {
        loop {
            self.blank();
            match self.peek()? {
                character if character == close => {
                    self.at += 1;
                    return Some(());
                }
                ',' => {
                    self.at += 1;
                    continue;
                }
                character if !Self::starts_value(character) => return None,
                _ => {}
            }
            if close == '}' {
                self.scalar(true)?;
                let end = self.at;
                self.blank();
                match self.peek()? {
                    ':' => self.at += 1,
                    character if Self::starts_value(character) => self.missing(':', end),
                    _ => return None,
                }
                self.blank();
            }
            self.value()?;
            let end = self.at;
            self.blank();
            match self.peek()? {
                ',' => self.at += 1,
                character if character == close => {}
                character if Self::starts_value(character) => self.missing(',', end),
                _ => return None,
            }
        }
    }

    /// Reads a text in quotes, or a word.
    fn scalar(&mut self, is_key: bool) -> Option<()> {
        let start = self.at;
        let rest = &self.text[start..];
        let first = rest.chars().next()?;
        if matches!(first, '"' | '\'') {
            let mut characters = rest.char_indices().skip(1);
            while let Some((offset, character)) = characters.next() {
                let is_doubled = first == '\'' && rest[offset..].starts_with("''");
                match character {
                    '\\' if first == '"' => drop(characters.next()),
                    '\'' if is_doubled => drop(characters.next()),
                    '\n' => return None,
                    character if character == first => {
                        self.at = start + offset + 1;
                        return Some(());
                    }
                    _ => {}
                }
            }
            return None;
        }
        if TYPOGRAPHIC.contains(&first) {
            let line = rest.split('\n').next().unwrap_or_default();
            let (offset, last) = line.char_indices().skip(1).find(|(_, character)| TYPOGRAPHIC.contains(character))?;
            for (at, quote) in [(start, first), (start + offset, last)] {
                let end = at + quote.len_utf8();
                let diagnostic =
                    error(at, end, format!("`{quote}` does not quote a text")).fix("write `\"`", edit(at, end, "\""));
                self.slips.push(Slip { start: at, end, instead: "\"".to_owned(), diagnostic });
            }
            self.at = start + offset + last.len_utf8();
            return Some(());
        }
        let ends = |c: char| {
            matches!(c, ',' | '{' | '}' | '[' | ']' | '\n' | '"' | '\'' | '#')
                || is_key && matches!(c, ':' | ' ' | '\t')
        };
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        // In a text of many words these are no comments.
        let head =
            [" //", " /*"].iter().filter_map(|sign| word.find(sign)).min().map_or(word, |at| &word[..at]).trim_end();
        let is_json = matches!(head, "true" | "false" | "null") || head.parse::<f64>().is_ok();
        let word = if is_json { head } else { word.trim_end() };
        self.at += word.len();
        (!word.is_empty()).then_some(())
    }
}

/// The most mistakes that are looked for behind the first.
const MOST: usize = 20;

/// What else is wrong in a text that cannot be read, found by leaving out one line after another; `found` is what is known.
pub(super) fn further(text: &str, found: &[Diagnostic]) -> Vec<Diagnostic> {
    further_in(text.to_owned(), text, found)
}

/// The same, in a copy of the text that has blanks where some of it stood.
fn further_in(mut copy: String, text: &str, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let is_syntax = |diagnostic: &&Diagnostic| diagnostic.code == Code::YamlSyntax;
    let place = |diagnostic: &Diagnostic| diagnostic.span().map(|span| span.start as usize);
    let mut more: Vec<Diagnostic> = Vec::new();
    let Some(mut at) = found.iter().filter(is_syntax).filter_map(place).max() else { return more };
    for _ in 0..MOST {
        leave_out(&mut copy, at);
        let Err(now) = read::read(&copy, &Places::same()) else { break };
        let next = now
            .into_iter()
            .filter(|diagnostic| diagnostic.code == Code::YamlSyntax)
            .find(|diagnostic| place(diagnostic) > Some(at));
        let Some(mut next) = next else { break };
        at = place(&next).unwrap_or(text.len());
        // A blank may stand for a part of a character.
        for label in &mut next.labels {
            label.span.start = text.floor_char_boundary(label.span.start as usize) as u32;
            label.span.end = text.ceil_char_boundary(label.span.end as usize) as u32;
        }
        more.push(next);
    }
    more
}

/// Puts blanks in the place of the value, or the line, in which reading had to stop; every other byte stays where it is.
fn leave_out(text: &mut String, at: usize) {
    let at = at.min(text.len());
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = |from: usize| text[from..].find('\n').map_or(text.len(), |offset| from + offset);
    let mut end = line_end(at);
    let line = &text[start..end];
    let content = line.trim_start_matches([' ', '-']);
    let column = line.len() - content.len();
    let is_item = line[..column].contains('-');
    let key = content.find(": ").or_else(|| content.ends_with(':').then(|| content.len() - 1));
    let value = key.filter(|&colon| start + column + colon < at.max(1)).map(|colon| column + colon + 1);
    let from = start + value.map_or(if is_item { column } else { 0 }, |value| (value + 1).min(line.len()));
    let opens = text[from..end].trim_start().starts_with(['[', '{']);
    let mut is_deeper = false;
    // A value in brackets goes on until its lines are as little indented as its key.
    while end < text.len() {
        let next_end = line_end(end + 1);
        let next = &text[end + 1..next_end];
        let inner = next.trim_start_matches(' ');
        let goes_on = inner.is_empty() || next.len() - inner.len() > column || opens && inner.starts_with([']', '}']);
        is_deeper |= !inner.is_empty() && next.len() - inner.len() > column;
        if !opens || !goes_on {
            break;
        }
        end = next_end;
    }
    let mut blank: String =
        text[from..end].chars().map(|c| if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) }).collect();
    let needs_value = (value.is_some() || is_item) && (opens || !is_deeper);
    if needs_value && blank.starts_with(' ') {
        blank.replace_range(..1, "~");
    }
    text.replace_range(from..end, &blank);
}

/// What is wrong with the text, were its commands quoted: they are left out.
pub(super) fn further_beside(text: &str, commands: &[Diagnostic], found: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut copy = text.to_owned();
    for span in commands.iter().filter_map(Diagnostic::span) {
        let (start, end) = (span.start as usize, span.end as usize);
        if end > start {
            copy.replace_range(start..end, &format!("~{}", " ".repeat(end - start - 1)));
        }
    }
    further_in(copy, text, found)
}
