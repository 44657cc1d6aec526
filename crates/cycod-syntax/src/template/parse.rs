//! Finds the placeholders of a template.
//!
//! Every `{` is looked at once. What it opens is either a complete placeholder with a known name, or text;
//! there is no third thing, so a shell function, a jq filter or a JSON object costs one glance and stays as
//! it is. Only where a *declared* name stands in something that is almost a placeholder do we speak up.

use cycod_diagnostic::{Code, Diagnostic, Span, closest};

use super::{
    HoleValue, KnownNames, Placeholder, Reference, Resolution, StepAttribute, Template, TemplatePart, TernaryBranch,
    is_name_start, name_len,
};
use crate::{
    condition::{Expr, ExprPosition, Failure, Parser},
    decimal::Decimal,
};

/// How far a placeholder may reach; what is longer was not meant as one, and looking further from every
/// brace would take quadratic time.
const MAX_TOKEN: usize = 4096;

/// How many steps an unknown name is compared with, and how many of them are listed.
const MOST_COMPARED: usize = 100;
const MOST_NAMED: usize = 20;

/// Reads a template.
///
/// `origin` tells where in the file a byte of `text` was written, so that spans are right inside quoted and
/// block scalars.
pub fn parse(text: &str, origin: impl Fn(usize) -> u32, names: &KnownNames) -> (Template, Vec<Diagnostic>) {
    let scanner = Scanner { text, names, origin: &origin };
    let mut segments = Vec::new();
    let mut diagnostics = Vec::new();
    let mut pending = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'{', &text.as_bytes()[at..]).map(|offset| at + offset) {
        at = open + 1;
        match scanner.token(open) {
            Token::Text => {}
            Token::Wrong(end, found) => {
                diagnostics.push(found);
                at = end;
            }
            Token::Warned(found) => diagnostics.push(found),
            Token::Escaped(end) => {
                pending.push_str(&text[copied..open - 1]);
                copied = open;
                at = end;
            }
            Token::Hole(hole, end, warning) => {
                pending.push_str(&text[copied..open]);
                if !pending.is_empty() {
                    segments.push(TemplatePart::Text(std::mem::take(&mut pending)));
                }
                segments.push(TemplatePart::Hole(hole));
                diagnostics.extend(warning);
                at = end;
                copied = end;
            }
        }
    }
    let written = (copied > 0).then(|| text.into());
    pending.push_str(&text[copied..]);
    if !pending.is_empty() {
        segments.push(TemplatePart::Text(pending));
    }
    (Template { segments, written }, diagnostics)
}

/// Returns `text` so that no brace is taken for a placeholder.
///
/// What a brace opens depends on all that follows on its line, so the whole text is read, and not each part by itself. A backslash that
/// stands before such a brace already is its escape, so it is lost: there is no way to write it.
pub(super) fn escape(text: &str, names: &KnownNames) -> String {
    let scanner = Scanner { text, names, origin: &|_| 0 };
    let mut escaped = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(open) = memchr::memchr(b'{', &text.as_bytes()[at..]).map(|offset| at + offset) {
        at = open + 1;
        match scanner.token(open) {
            Token::Hole(_, end, _) | Token::Wrong(end, _) => {
                escaped.push_str(&text[copied..open]);
                escaped.push('\\');
                copied = open;
                at = end;
            }
            Token::Escaped(end) => at = end,
            Token::Text | Token::Warned(_) => {}
        }
    }
    escaped.push_str(&text[copied..]);
    escaped
}

/// What a `{` opens.
enum Token {
    Text,
    /// `\{NAME}`, with its end.
    Escaped(usize),
    /// An error; what is before the end stays text.
    Wrong(usize, Diagnostic),
    /// Text that its author may have meant otherwise.
    Warned(Diagnostic),
    Hole(Placeholder, usize, Option<Diagnostic>),
}

struct Scanner<'a> {
    text: &'a str,
    names: &'a KnownNames,
    origin: &'a dyn Fn(usize) -> u32,
}

impl Scanner<'_> {
    fn span(&self, start: usize, end: usize) -> Span {
        let first = (self.origin)(start);
        let last = (self.origin)(end.saturating_sub(1).max(start));
        Span { start: first, end: last.saturating_add(1).max(first) }
    }

    /// Where a placeholder that opens at `open` must have ended: on its line and within reach.
    fn limit(&self, open: usize) -> usize {
        let mut limit = self.text.len().min(open + MAX_TOKEN);
        while !self.text.is_char_boundary(limit) {
            limit -= 1;
        }
        memchr::memchr(b'\n', &self.text.as_bytes()[open..limit]).map_or(limit, |offset| open + offset)
    }

    fn token(&self, open: usize) -> Token {
        let rest = &self.text[open + 1..];
        if !rest.starts_with(|first| is_name_start(first) || matches!(first, '!' | '(')) {
            return Token::Text;
        }
        let before = &self.text.as_bytes()[..open];
        let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 1 {
            return match self.placeholder(open) {
                Token::Hole(_, end, _) | Token::Wrong(end, _) => Token::Escaped(end),
                _ => Token::Text,
            };
        }
        if let Some(sigil) = before.last().filter(|byte| matches!(byte, b'$' | b'@' | b'%')) {
            return self.foreign(open, char::from(*sigil));
        }
        if before.ends_with(b"$#") {
            return Token::Text;
        }
        if self.names.is_code && is_subscript(&self.text[..open]) {
            return Token::Text;
        }
        let token = self.placeholder(open);
        if let Token::Hole(_, end, _) | Token::Wrong(end, _) = &token
            && before.ends_with(b"{")
            && self.text[*end..].starts_with('}')
        {
            return Token::Text;
        }
        token
    }

    /// `${X}`, `@{X}` and `%{X}` belong to shells, git and curl, whatever `X` is.
    fn foreign(&self, open: usize, sigil: char) -> Token {
        let rest = &self.text[open + 1..];
        let len = name_len(rest);
        let name = &rest[..len];
        // In a shell `${FILE}` is ordinary; after the other two a declared name is probably meant.
        if sigil == '$'
            || self.names.is_code
            || !rest[len..].starts_with('}')
            || !self.names.parameters.iter().any(|known| known == name)
        {
            return Token::Text;
        }
        let span = self.span(open - 1, open + len + 2);
        Token::Warned(
            Diagnostic::warning(
                Code::NotAPlaceholder,
                span,
                format!("`{sigil}{{{name}}}` is text, not the value of `{name}`"),
            )
            .note(format!("`{sigil}{{` belongs to other programs and never starts a placeholder"))
            .help(format!("write `{sigil}\"{{{name}}}\"` if the value is meant")),
        )
    }

    fn placeholder(&self, open: usize) -> Token {
        let rest = &self.text[open + 1..self.limit(open)];
        let len = name_len(rest);
        let (name, after) = rest.split_at(len);
        match after.chars().next() {
            Some('}') => self.reference(open, open + 1, name, false, Vec::new(), None, open + len + 2),
            Some(':') if !name.is_empty() => self.transformed(open, name, after),
            Some(_) => self.choice(open, name),
            None => Token::Text,
        }
    }

    /// `{name:transform:format(…)}` or `{RAW:name…}`; `after` starts at the first colon.
    fn transformed(&self, open: usize, name: &str, after: &str) -> Token {
        let rest = &after[1..];
        if name == "RAW" {
            let len = name_len(rest);
            let (inner, tail) = rest.split_at(len);
            let known = self.names.resolve(inner) != Resolution::Unknown;
            let is_parameter = self.names.parameters.iter().any(|parameter| parameter == "RAW");
            if len > 0 && tail.starts_with([':', '}']) && (known || !is_parameter) {
                let start = open + 1 + name.len() + 1;
                let end = start + len;
                return match suffix(tail) {
                    Some((transforms, format, tail_len)) if known => {
                        self.reference(open, start, inner, true, transforms, format, end + tail_len)
                    }
                    Some((_, _, tail_len)) => {
                        let mut wrong = Diagnostic::error(
                            Code::PlaceholderSyntax,
                            self.span(start, end),
                            format!("`RAW` wants a known name, which `{inner}` is not"),
                        );
                        if let Some(near) = self.names.near(inner) {
                            wrong = wrong.help(format!("did you mean `{near}`?"));
                        }
                        Token::Wrong(end + tail_len, wrong)
                    }
                    None => self.misfit(open, inner),
                };
            }
        }
        match suffix(after) {
            Some((transforms, format, tail_len)) => {
                self.reference(open, open + 1, name, false, transforms, format, open + 1 + name.len() + tail_len)
            }
            None => self.misfit(open, name),
        }
    }

    /// A known name followed by something that is almost a list of transforms.
    fn misfit(&self, open: usize, name: &str) -> Token {
        let rest = &self.text[open + 1..self.limit(open)];
        let line = rest.split('}').next().unwrap_or_default();
        let close = open + 1 + line.len();
        let tail = line.split_once(':').map_or("", |(_, tail)| tail);
        let meant = matches!(self.names.resolve(name), Resolution::Known(_))
            && tail.starts_with(|first: char| first.is_ascii_alphabetic())
            && self.text[close..].starts_with('}');
        if !meant {
            return Token::Text;
        }
        let span = self.span(open, close + 1);
        Token::Warned(
            Diagnostic::warning(
                Code::NotAPlaceholder,
                span,
                format!("`{{{line}}}` is text, not the value of `{name}`"),
            )
            .help("transforms are written `{name:transform}` and formats `{name:format(0.00)}`"),
        )
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one token, used in one place each")]
    fn reference(
        &self,
        open: usize,
        name_start: usize,
        name: &str,
        raw: bool,
        transforms: Vec<String>,
        format: Option<String>,
        end: usize,
    ) -> Token {
        let span = self.span(open, end);
        let name_span = self.span(name_start, name_start + name.len());
        let hole = |of| Placeholder { span, raw, value: HoleValue::Reference { of, transforms, format } };
        match self.names.resolve(name) {
            Resolution::Known(of) => Token::Hole(hole(of), end, None),
            Resolution::Environment(name) => {
                let warning = self.names.near(&name).map(|near| {
                    let message = format!("`{name}` is no parameter; its value is taken from the environment");
                    Diagnostic::warning(Code::MisspeltPlaceholder, name_span, message)
                        .help(format!("did you mean `{near}`?"))
                });
                Token::Hole(hole(Reference::Environment(name)), end, warning)
            }
            // With a transform it may as well be jq's `{a:b}`.
            Resolution::Unknown if end > open + name.len() + 2 => Token::Text,
            Resolution::Unknown => match self.names.in_another_case(name) {
                Some(known) => Token::Warned(
                    Diagnostic::warning(
                        Code::MisspeltPlaceholder,
                        name_span,
                        format!("`{{{name}}}` is text, because no parameter has this name"),
                    )
                    .note("names are case-sensitive in templates")
                    .help(format!("did you mean `{known}`?")),
                ),
                None => Token::Text,
            },
            wrong => Token::Wrong(end, unresolved(&wrong, name_span, self.names)),
        }
    }

    /// `{condition ? 'a' : 'b'}`.
    fn choice(&self, open: usize, head: &str) -> Token {
        let line_end = self.limit(open);
        // Cheap, and true of nearly every brace that is not ours.
        if memchr::memchr(b'?', &self.text.as_bytes()[open..line_end]).is_none() {
            return Token::Text;
        }
        let mut parser = Parser::new(&self.text[..line_end], open + 1, self.origin, self.names, ExprPosition::Ternary);
        let declared =
            !head.is_empty() && !matches!(self.names.resolve(head), Resolution::Unknown | Resolution::Environment(_));
        match self.try_choice(&mut parser) {
            Ok((condition, then, otherwise, end)) if declared || !condition.references().is_empty() => {
                let value = HoleValue::Choice { condition, then, otherwise };
                Token::Hole(Placeholder { span: self.span(open, end), raw: false, value }, end, parser.warnings.pop())
            }
            Err(failure) if declared && failure.after_question => {
                let end = self.text[failure.at..line_end].find('}').map_or(line_end, |offset| failure.at + offset + 1);
                Token::Wrong(end, *failure.diagnostic)
            }
            Err(failure) if declared && failure.diagnostic.code != Code::ConditionSyntax => {
                Token::Wrong(failure.at.max(open + 1), *failure.diagnostic)
            }
            _ => Token::Text,
        }
    }

    fn try_choice(&self, parser: &mut Parser<'_>) -> Result<(Expr, TernaryBranch, TernaryBranch, usize), Failure> {
        let condition = parser.expression()?;
        parser.expect('?')?;
        let in_branches = |mut failure: Failure| {
            failure.after_question = true;
            failure
        };
        let wants = |parser: &Parser<'_>, what: &str| {
            let message = format!("expected {what} here");
            let help = "a choice is written `{condition ? 'a' : 'b'}`";
            let mut failure = parser.failure(Code::PlaceholderSyntax, parser.at, message);
            failure.diagnostic = Box::new(failure.diagnostic.help(help));
            in_branches(failure)
        };
        let then = self.branch(parser).map_err(in_branches)?;
        parser.expect(':').map_err(|_| wants(parser, "`:`"))?;
        let otherwise = self.branch(parser).map_err(in_branches)?;
        parser.expect('}').map_err(|_| wants(parser, "`}`"))?;
        Ok((condition, then, otherwise, parser.at))
    }

    fn branch(&self, parser: &mut Parser<'_>) -> Result<TernaryBranch, Failure> {
        parser.skip_blanks();
        let start = parser.at;
        let rest = parser.rest();
        if rest.starts_with(['\'', '"']) {
            return parser.quoted().map(TernaryBranch::Text);
        }
        let word_len = rest.find([' ', '\t', ':', '}', '\'', '"', '?', '{']).unwrap_or(rest.len());
        let word = &rest[..word_len];
        if word.starts_with(|first: char| first.is_ascii_digit() || first == '-') && Decimal::read(word).is_some() {
            parser.at += word_len;
            return Ok(TernaryBranch::Text(word.to_owned()));
        }
        let resolution = self.names.resolve(word);
        let span = self.span(start, start + word_len);
        match resolution {
            Resolution::Known(reference) => {
                parser.at += word_len;
                Ok(TernaryBranch::Reference(reference))
            }
            Resolution::Environment(name) => {
                parser.at += word_len;
                Ok(TernaryBranch::Reference(Reference::Environment(name)))
            }
            Resolution::Unknown => {
                let message = format!("expected a quoted text, a number or a known name, found `{word}`");
                let mut failure = parser.failure(Code::PlaceholderSyntax, start, message);
                if word_len > 0 {
                    failure.diagnostic.labels[0].span = span;
                }
                failure.diagnostic =
                    Box::new(failure.diagnostic.help(format!("write `'{word}'` if the text is meant")));
                Err(failure)
            }
            wrong => {
                let mut failure = parser.failure(Code::PlaceholderSyntax, start, String::new());
                failure.diagnostic = Box::new(unresolved(&wrong, span, self.names));
                Err(failure)
            }
        }
    }
}

/// Returns the error for a name that looks like `step.attribute` and is not.
pub(crate) fn unresolved(resolution: &Resolution, span: Span, names: &KnownNames) -> Diagnostic {
    match resolution {
        Resolution::UnknownAttribute { step, attribute } => {
            let known = StepAttribute::NAMES.map(|(name, _)| name);
            let error = Diagnostic::error(
                Code::UnknownStepAttribute,
                span,
                format!("a step has no `{attribute}`, which is asked of `{step}`"),
            );
            match closest(attribute, known) {
                Some(near) => error.help(format!("did you mean `{step}.{near}`?")),
                None => error.note(format!("a step has {}", known.map(|name| format!("`{name}`")).join(", "))),
            }
        }
        Resolution::UnknownStep { step } => {
            let error =
                Diagnostic::error(Code::UnknownStepReference, span, format!("`{step}` is not a step of this tool"));
            match closest(step, names.steps.iter().map(String::as_str).take(MOST_COMPARED)) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => {
                    let mut known: Vec<String> =
                        names.steps.iter().take(MOST_NAMED).map(|name| format!("`{name}`")).collect();
                    known.extend((names.steps.len() > MOST_NAMED).then(|| "…".to_owned()));
                    error.note(format!("the steps are {}", known.join(", ")))
                }
            }
        }
        _ => Diagnostic::error(Code::PlaceholderSyntax, span, "this name is not known"),
    }
}

/// Whether a brace after this text opens the subscript of a variable: `$name{`, `$name->{`, `$name{a}{`, `$name[0]{`.
fn is_subscript(before: &str) -> bool {
    /// How many subscripts may stand behind one another.
    const MOST: usize = 16;
    let line = before.rsplit('\n').next().unwrap_or_default();
    let mut before = &line[line.ceil_char_boundary(line.len().saturating_sub(MAX_TOKEN))..];
    for _ in 0..MOST {
        if before.ends_with("->") {
            return true;
        }
        let Some(close) = before.chars().next_back().filter(|last| matches!(last, '}' | ']')) else { break };
        // The subscript before this one says whether it is one.
        let open = if close == '}' { '{' } else { '[' };
        let mut depth = 0;
        let start = before.char_indices().rev().find(|&(_, character)| {
            depth += usize::from(character == close);
            depth -= usize::from(character == open);
            depth == 0
        });
        let Some((start, _)) = start else { return false };
        before = &before[..start];
    }
    let name = before.trim_end_matches(|character: char| character.is_alphanumeric() || matches!(character, '_' | ':'));
    name.len() < before.len() && name.ends_with(['$', '@', '%'])
}

/// Reads `:transform:format(…)}` and returns the parts and the length; nothing when it does not fit.
fn suffix(text: &str) -> Option<(Vec<String>, Option<String>, usize)> {
    let mut transforms = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if rest.starts_with('}') {
            return Some((transforms, None, at + 1));
        }
        let rest = rest.strip_prefix(':')?;
        if let Some(pattern) = rest.strip_prefix("format(") {
            let close = pattern.find(")}")?;
            let pattern = &pattern[..close];
            return Some((transforms, Some(pattern.to_owned()), at + 1 + "format(".len() + close + 2));
        }
        let len = rest
            .find(|character: char| !(character.is_ascii_alphanumeric() || matches!(character, '_' | '-')))
            .unwrap_or(rest.len());
        if !rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            return None;
        }
        transforms.push(rest[..len].to_owned());
        at += 1 + len;
    }
}
