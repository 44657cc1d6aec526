use crate::{Diagnostic, Severity, SourceFile};

/// Whether rendered text carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// A source file with everything found in it.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file.
    pub source: SourceFile,
    /// What was found, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
}
