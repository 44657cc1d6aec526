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

/// Returns every diagnostic of a report as text for a terminal, in source order.
pub fn render_text(report: &Report, _style: Style) -> String {
    let mut text = String::new();
    for diagnostic in &report.diagnostics {
        text.push_str(&diagnostic.message);
        text.push('\n');
    }
    text
}
