use std::fmt;

use cycod_diagnostic::{Code, Diagnostic, Severity, SourceFile};

/// Why a file is not a tool that can be used: the first error, short enough for a line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which kind, as in the page `docs/errors/<code>.md`.
    pub code: Code,
    /// What is wrong: a lowercase fragment.
    pub message: String,
    /// The line it is on, from 1; absent when the whole file is meant.
    pub line: Option<u32>,
    /// A fact that helps to fix it.
    pub note: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), line: None, note: None }
    }

    /// The first error among `diagnostics`.
    pub(crate) fn first(source: &SourceFile, diagnostics: &[Diagnostic]) -> Option<Self> {
        let error = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error)?;
        let line = error.span().map(|span| source.position(span.start).line);
        Some(Self {
            code: error.code,
            message: error.message.clone(),
            line: line.and_then(|line| u32::try_from(line).ok()),
            note: None,
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)
    }
}
