//! Reads conditions by recursive descent: `||`, `&&`, comparisons, `!`, operands.

use std::fmt;

use cycod_diagnostic::{Code, Diagnostic, Edit, Span};

use super::{Comparison, ConditionLiteral, Expr, ExprPosition};
use crate::{
    decimal::Decimal,
    template::{KnownNames, Reference, Resolution, TemplatePart, name_len, unresolved},
};

/// The deepest nesting of parentheses and `!`.
const MAX_DEPTH: usize = 64;
/// The most operators in one condition.
const MAX_OPERATORS: usize = 256;

/// Reads a condition; `None` when it could not be understood, which the diagnostics explain.
pub fn parse(
    text: &str,
    origin: impl Fn(usize) -> u32,
    names: &KnownNames,
    position: ExprPosition,
) -> (Option<Expr>, Vec<Diagnostic>) {
    let mut parser = Parser::new(text, 0, &origin, names, position);
    let parsed = parser.expression().and_then(|expression| {
        parser.skip_blanks();
        if parser.rest().is_empty() { Ok(expression) } else { Err(parser.unexpected()) }
    });
    match parsed {
        Ok(expression) => (Some(expression), parser.warnings),
        Err(failure) => {
            parser.warnings.push(*failure.diagnostic);
            (None, parser.warnings)
        }
    }
}

/// Why reading stopped.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) diagnostic: Box<Diagnostic>,
    /// Where, in the text.
    pub(crate) at: usize,
    /// Whether the condition before a `?` had been read, so that a placeholder was meant for sure.
    pub(crate) after_question: bool,
}

pub(crate) struct Parser<'a> {
    text: &'a str,
    pub(crate) at: usize,
    origin: &'a dyn Fn(usize) -> u32,
    names: &'a KnownNames,
    position: ExprPosition,
    depth: usize,
    operators: usize,
    pub(crate) warnings: Vec<Diagnostic>,
}

type Parsed<T> = Result<T, Failure>;

impl<'a> Parser<'a> {
    pub(crate) fn new(
        text: &'a str,
        at: usize,
        origin: &'a dyn Fn(usize) -> u32,
        names: &'a KnownNames,
        position: ExprPosition,
    ) -> Self {
        Self { text, at, origin, names, position, depth: 0, operators: 0, warnings: Vec::new() }
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let first = (self.origin)(start);
        let last = (self.origin)(end.saturating_sub(1).max(start));
        Span { start: first, end: last.saturating_add(1).max(first) }
    }

    pub(crate) fn failure(&self, code: Code, at: usize, message: String) -> Failure {
        let width = self.text[at..].chars().next().map_or(0, char::len_utf8);
        let span = if width == 0 {
            Span { start: (self.origin)(at), end: (self.origin)(at) }
        } else {
            self.span(at, at + width)
        };
        Failure { diagnostic: Box::new(Diagnostic::error(code, span, message)), at, after_question: false }
    }

    fn fails(&self, start: usize, end: usize, code: Code, message: String) -> Failure {
        Failure {
            diagnostic: Box::new(Diagnostic::error(code, self.span(start, end), message)),
            at: start,
            after_question: false,
        }
    }

    pub(crate) fn expect(&mut self, character: char) -> Parsed<()> {
        self.skip_blanks();
        if self.rest().starts_with(character) {
            self.at += character.len_utf8();
            Ok(())
        } else {
            Err(self.failure(Code::ConditionSyntax, self.at, format!("expected `{character}` here")))
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().strip_prefix(word).is_some_and(|after| name_len(&format!("x{}", head(after))) == 1);
        if found {
            self.at += word.len();
        }
        found
    }

    pub(crate) fn expression(&mut self) -> Parsed<Expr> {
        let mut left = self.conjunction()?;
        while self.eat("||") {
            self.count()?;
            left = Expr::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        let mut left = self.comparison()?;
        while self.eat("&&") {
            self.count()?;
            left = Expr::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn count(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(self.failure(
                Code::ConditionSyntax,
                self.at,
                format!("a condition has at most {MAX_OPERATORS} operators"),
            ));
        }
        Ok(())
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        let left = self.unary(true)?;
        let Some(operator) = self.operator() else { return Ok(left) };
        self.count()?;
        let start = {
            self.skip_blanks();
            self.at
        };
        let right = Box::new(self.unary(false)?);
        let left = Box::new(left);
        let expression = match operator {
            Operator::Compare(comparison) => Expr::Compare(comparison, left, right),
            Operator::Contains => Expr::Contains(left, right),
            Operator::Matches => {
                if let Expr::Literal(literal) = &*right {
                    let pattern = literal.text();
                    if let Err(error) = regex::Regex::new(&pattern) {
                        let message = format!("`{pattern}` is not a regular expression");
                        let mut failure = self.fails(start, self.at, Code::BadPattern, message);
                        failure.diagnostic = Box::new(failure.diagnostic.note(super::eval::reason(&error)));
                        return Err(failure);
                    }
                }
                Expr::Matches(left, right)
            }
        };
        let end = self.at;
        if self.operator().is_some() {
            self.at = end;
            self.skip_blanks();
            let mut failure = self.failure(Code::ConditionSyntax, self.at, "comparisons cannot be chained".to_owned());
            failure.diagnostic = Box::new(failure.diagnostic.help("join them with `&&` or `||`, or use parentheses"));
            return Err(failure);
        }
        Ok(expression)
    }

    fn operator(&mut self) -> Option<Operator> {
        const SYMBOLS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        for (symbol, comparison) in SYMBOLS {
            if self.eat(symbol) {
                return Some(Operator::Compare(comparison));
            }
        }
        if self.eat_word("contains") {
            return Some(Operator::Contains);
        }
        self.eat_word("matches").then_some(Operator::Matches)
    }

    /// `leads`: whether the operand stands alone or on the left, where a bare name cannot be a string.
    fn unary(&mut self, leads: bool) -> Parsed<Expr> {
        self.skip_blanks();
        let start = self.at;
        let nested = if self.rest().starts_with('!') && !self.rest().starts_with("!=") {
            self.at += 1;
            true
        } else if self.rest().starts_with('(') {
            self.at += 1;
            false
        } else {
            return self.operand(leads);
        };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.failure(
                Code::ConditionSyntax,
                start,
                format!("nested more than {MAX_DEPTH} levels deep"),
            ));
        }
        let expression = if nested {
            Expr::Not(Box::new(self.unary(leads)?))
        } else {
            let inner = self.expression()?;
            self.skip_blanks();
            if !self.eat(")") {
                let mut failure = self.unexpected();
                if self.rest().is_empty() {
                    failure = self.failure(Code::ConditionSyntax, start, "this `(` is never closed".to_owned());
                }
                return Err(failure);
            }
            inner
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn operand(&mut self, leads: bool) -> Parsed<Expr> {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with(['\'', '"']) {
            let text = self.quoted()?;
            return self.in_quotes(text, start);
        }
        if rest.starts_with('{') && self.position == ExprPosition::RunCondition {
            return self.braced();
        }
        let word = self.word();
        if word.is_empty() {
            return Err(self.unexpected());
        }
        self.at += word.len();
        let end = self.at;
        match word {
            "true" => return Ok(Expr::Literal(ConditionLiteral::Boolean(true))),
            "false" => return Ok(Expr::Literal(ConditionLiteral::Boolean(false))),
            _ => {}
        }
        if let Some(number) = Decimal::read(word) {
            return Ok(Expr::Literal(ConditionLiteral::Number(number, word.to_owned())));
        }
        let text = || Expr::Literal(ConditionLiteral::Text(word.to_owned()));
        let span = self.span(start, end);
        match (self.position, self.names.resolve(word)) {
            (ExprPosition::Ternary, Resolution::Known(reference)) => Ok(Expr::Reference(reference, span)),
            (ExprPosition::Ternary, Resolution::Environment(name)) if leads => Ok(self.of_environment(name, span)),
            (_, resolution @ (Resolution::UnknownAttribute { .. } | Resolution::UnknownStep { .. }))
                if self.position == ExprPosition::Ternary || leads =>
            {
                let diagnostic = unresolved(&resolution, span, self.names);
                Err(Failure { diagnostic: Box::new(diagnostic), at: start, after_question: false })
            }
            (ExprPosition::Ternary, _) if leads => {
                let mut failure =
                    self.fails(start, end, Code::ConditionSyntax, format!("`{word}` is not a known name"));
                let help = match self.names.near(word) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("write `'{word}'` if the text is meant"),
                };
                failure.diagnostic = Box::new(failure.diagnostic.help(help));
                Err(failure)
            }
            (ExprPosition::RunCondition, Resolution::Known(reference))
                if leads || matches!(reference, Reference::Step { .. }) =>
            {
                let edit = Edit { span, replacement: format!("{{{word}}}") };
                self.warnings.push(
                    Diagnostic::warning(
                        Code::UnbracedName,
                        span,
                        format!("`{word}` is a word here, not the value of that name"),
                    )
                    .fix("put the name in braces", vec![edit]),
                );
                Ok(text())
            }
            _ => Ok(text()),
        }
    }

    /// A name that nothing here declares, and that may be a slip of the pen.
    fn of_environment(&mut self, name: String, span: Span) -> Expr {
        if let Some(near) = self.names.near(&name) {
            let message = format!("`{name}` is no parameter; its value is taken from the environment");
            self.warnings.push(
                Diagnostic::warning(Code::MisspeltPlaceholder, span, message).help(format!("did you mean `{near}`?")),
            );
        }
        Expr::Reference(Reference::Environment(name), span)
    }

    /// `{name}` in a run-condition.
    fn braced(&mut self) -> Parsed<Expr> {
        let start = self.at;
        let rest = self.rest();
        let Some(close) = rest.find('}') else {
            return Err(self.failure(Code::ConditionSyntax, start, "this `{` is never closed".to_owned()));
        };
        let name = rest[1..close].trim();
        self.at += close + 1;
        let span = self.span(start, self.at);
        match self.names.resolve(name) {
            Resolution::Known(reference) => Ok(Expr::Reference(reference, span)),
            Resolution::Environment(name) => Ok(self.of_environment(name, span)),
            Resolution::Unknown => {
                let bare = name.split(':').next().unwrap_or_default();
                let mut failure =
                    self.fails(start, self.at, Code::UnknownNameInCondition, format!("`{name}` is not a known name"));
                let help = match self.names.near(name) {
                    _ if bare != name && matches!(self.names.resolve(bare), Resolution::Known(_)) => {
                        Some("a condition compares the value itself; transforms are not applied here".to_owned())
                    }
                    Some(near) => Some(format!("did you mean `{near}`?")),
                    None if self.names.steps.iter().any(|step| step == name) => {
                        Some(format!("ask for one of its results, as in `{{{name}.exit-code}}`"))
                    }
                    None => None,
                };
                failure.diagnostic.help = help;
                Err(failure)
            }
            wrong => Err(Failure {
                diagnostic: Box::new(unresolved(&wrong, span, self.names)),
                at: start,
                after_question: false,
            }),
        }
    }

    /// A quoted text; one that is nothing but a placeholder is the value, as people write who think of the
    /// condition as text.
    fn in_quotes(&mut self, text: String, start: usize) -> Parsed<Expr> {
        if self.position == ExprPosition::RunCondition && text.contains('{') {
            let (template, _) = crate::template::parse(&text, |_| 0, self.names);
            let only = match template.segments.as_slice() {
                [TemplatePart::Hole(_)] => Some(text.trim_start_matches('{').trim_end_matches('}').to_owned()),
                _ => None,
            };
            let span = self.span(start, self.at);
            match (only, template.holes().next().is_some()) {
                (Some(name), _) => match self.names.resolve(&name) {
                    Resolution::Known(reference) => return Ok(Expr::Reference(reference, span)),
                    Resolution::Environment(name) => return Ok(self.of_environment(name, span)),
                    _ => return Err(self.mixed(start)),
                },
                (None, true) => return Err(self.mixed(start)),
                (None, false) => {}
            }
        }
        Ok(Expr::Literal(ConditionLiteral::Text(text)))
    }

    fn mixed(&self, start: usize) -> Failure {
        let mut failure = self.fails(
            start,
            self.at,
            Code::ConditionSyntax,
            "a placeholder inside of a quoted text is not replaced here".to_owned(),
        );
        failure.diagnostic = Box::new(
            failure.diagnostic.help("compare the value itself: `{name} == 'text'`, or use `contains` or `matches`"),
        );
        failure
    }

    /// A text in quotes; a backslash takes the quote or another backslash literally.
    pub(crate) fn quoted(&mut self) -> Parsed<String> {
        let start = self.at;
        let rest = self.rest();
        let mut characters = rest.char_indices();
        let quote = characters.next().map_or('\'', |(_, quote)| quote);
        let mut text = String::new();
        while let Some((offset, character)) = characters.next() {
            if character == quote {
                self.at = start + offset + 1;
                return Ok(text);
            }
            let escaped =
                characters.clone().next().map(|(_, next)| next).filter(|next| *next == quote || *next == '\\');
            match escaped {
                Some(next) if character == '\\' => {
                    text.push(next);
                    characters.next();
                }
                _ => text.push(character),
            }
        }
        Err(self.failure(Code::ConditionSyntax, start, "this quote is never closed".to_owned()))
    }

    /// The bare word here; empty when there is none.
    fn word(&self) -> &'a str {
        let rest = self.rest();
        let ternary = self.position == ExprPosition::Ternary;
        let len = rest
            .find(|character: char| {
                character.is_whitespace()
                    || matches!(character, '(' | ')' | '\'' | '"' | '=' | '!' | '<' | '>' | '&' | '|' | '{' | '}')
                    || (ternary && matches!(character, '?' | ':' | ','))
            })
            .unwrap_or(rest.len());
        &rest[..len]
    }

    fn unexpected(&self) -> Failure {
        let rest = self.rest();
        let word = self.word();
        let (message, help) = if rest.is_empty() {
            ("the condition ends where a value was expected".to_owned(), None)
        } else if let Some(symbol) =
            ["==", "!=", "<=", ">=", "<", ">", "&&", "||"].into_iter().find(|symbol| rest.starts_with(symbol))
        {
            (format!("expected a value before `{symbol}`"), None)
        } else if rest.starts_with('=') {
            ("`=` is not an operator".to_owned(), Some("compare with `==`"))
        } else if rest.starts_with('&') || rest.starts_with('|') {
            let symbol = &rest[..1];
            (format!("`{symbol}` is not an operator"), Some("write `&&` or `||`"))
        } else if rest.starts_with(')') {
            ("a `)` with nothing to close".to_owned(), None)
        } else {
            let help = match word {
                "and" | "AND" => "write `&&`",
                "or" | "OR" => "write `||`",
                "not" | "NOT" => "write `!`",
                _ => "expected an operator such as `==`, `&&` or `contains`; put text of several words in quotes",
            };
            let shown = if word.is_empty() {
                rest.chars().next().map(String::from).unwrap_or_default()
            } else {
                word.to_owned()
            };
            (format!("`{shown}` was not expected here"), Some(help))
        };
        let mut failure = if word.is_empty() {
            self.failure(Code::ConditionSyntax, self.at, message)
        } else {
            self.fails(self.at, self.at + word.len(), Code::ConditionSyntax, message)
        };
        failure.diagnostic.help = help.map(str::to_owned);
        failure
    }
}

enum Operator {
    Compare(Comparison),
    Contains,
    Matches,
}

/// The first character, as text.
fn head(text: &str) -> &str {
    let len = text.chars().next().map_or(0, char::len_utf8);
    &text[..len]
}

impl ConditionLiteral {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Boolean(value) => value.to_string(),
            Self::Number(_, text) | Self::Text(text) => text.clone(),
        }
    }
}

/// Writes a text in quotes as conditions and choices have them.
pub(crate) fn write_quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("'")?;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let ambiguous = character == '\\' && matches!(characters.peek(), None | Some('\\' | '\''));
        if ambiguous || character == '\'' {
            f.write_str("\\")?;
        }
        write!(f, "{character}")?;
    }
    f.write_str("'")
}

/// Writes the expression as a ternary has it, with every nested operation in parentheses.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nested = |inner: &Expr, f: &mut fmt::Formatter<'_>| match inner {
            Expr::Literal(_) | Expr::Reference(..) | Expr::Not(_) => write!(f, "{inner}"),
            _ => write!(f, "({inner})"),
        };
        let (left, operator, right) = match self {
            Self::Literal(ConditionLiteral::Text(text)) => return write_quoted(text, f),
            Self::Literal(literal) => return f.write_str(&literal.text()),
            Self::Reference(reference, _) => return write!(f, "{reference}"),
            Self::Not(inner) => {
                f.write_str("!")?;
                return nested(inner, f);
            }
            Self::And(left, right) => (left, "&&", right),
            Self::Or(left, right) => (left, "||", right),
            Self::Compare(comparison, left, right) => (left, comparison.symbol(), right),
            Self::Contains(left, right) => (left, "contains", right),
            Self::Matches(left, right) => (left, "matches", right),
        };
        nested(left, f)?;
        write!(f, " {operator} ")?;
        nested(right, f)
    }
}
