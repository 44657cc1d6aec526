use std::cell::{Cell, RefCell};

use cycod_diagnostic::{Code, Diagnostic, Edit, SourceFile, Span};
use cycod_syntax::{
    template::{self, KnownNames, Template},
    yaml::Scalar,
};

use crate::CODES;

/// Collects what is wrong with a file, and gives the text back for fixes.
pub(crate) struct Sink<'a> {
    pub(crate) source: &'a SourceFile,
    found: RefCell<Vec<Diagnostic>>,
    /// How many suggestions are still looked for: nobody reads hundreds, and each takes its time.
    suggestions: Cell<u32>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(source: &'a SourceFile) -> Self {
        Self { source, found: RefCell::default(), suggestions: Cell::new(200) }
    }

    /// Adds a diagnostic of our own.
    pub(crate) fn report(&self, diagnostic: Diagnostic) {
        debug_assert!(CODES.contains(&diagnostic.code), "`{}` is not listed", diagnostic.code);
        self.found.borrow_mut().push(diagnostic);
    }

    /// Adds what others found.
    pub(crate) fn extend(&self, diagnostics: Vec<Diagnostic>) {
        self.found.borrow_mut().extend(diagnostics);
    }

    pub(crate) fn error(&self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(code, span, message));
    }

    pub(crate) fn warning(&self, code: Code, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::warning(code, span, message));
    }

    /// What was found, in source order; what concerns the whole file comes first.
    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut found = self.found.into_inner();
        found.sort_by_key(|diagnostic| diagnostic.span().map(|span| (span.start, span.end)));
        found.dedup();
        found
    }

    /// Returns "did you mean `x`?" for the candidate nearest to `word`, with that candidate.
    pub(crate) fn did_you_mean<'b>(
        &self,
        word: &str,
        candidates: impl IntoIterator<Item = &'b str>,
    ) -> Option<(&'b str, String)> {
        let left = self.suggestions.get().checked_sub(1)?;
        self.suggestions.set(left);
        let near = cycod_diagnostic::closest(word, candidates.into_iter().take(1000))?;
        Some((near, format!("did you mean `{near}`?")))
    }

    /// Replaces a key or text by another, quoted as the old one was so that JSON stays JSON.
    pub(crate) fn rewrite(&self, span: Span, text: &str) -> Vec<Edit> {
        let plain = |text: &str| {
            let word =
                text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/'));
            word && text.starts_with(|first: char| first.is_ascii_alphabetic())
                && !matches!(text.to_ascii_lowercase().as_str(), "true" | "false" | "null")
        };
        let written = match self.text(span).as_bytes().first() {
            Some(b'\'') => format!("'{}'", text.replace('\'', "''")),
            Some(b'"') => serde_json::Value::from(text).to_string(),
            _ if plain(text) => text.to_owned(),
            _ => serde_json::Value::from(text).to_string(),
        };
        replace(span, written)
    }

    /// The text of the line before `offset`.
    pub(crate) fn line_before(&self, offset: u32) -> &'a str {
        let before = self.source.text.get(..offset as usize).unwrap_or_default();
        &before[before.rfind('\n').map_or(0, |newline| newline + 1)..]
    }

    /// The text at `span`.
    pub(crate) fn text(&self, span: Span) -> &'a str {
        self.source.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// Reads a template and reports what is wrong with it.
    pub(crate) fn template(&self, scalar: &Scalar, names: &KnownNames) -> Template {
        let (template, diagnostics) = template::parse(&scalar.text, |offset| scalar.origin(offset), names);
        self.extend(diagnostics);
        template
    }
}

/// Replaces one span.
pub(crate) fn replace(span: Span, replacement: impl Into<String>) -> Vec<Edit> {
    vec![Edit { span, replacement: replacement.into() }]
}
