//! What is told: the value that a tool returns, and reports as JSON, SARIF, HTML and text.

mod html;
mod json;
mod sarif;
mod text;

pub use html::html;
pub use json::json;
pub use sarif::sarif;
pub use text::text;

use crate::{Analysis, Finding, FindingKind, FindingSeverity};

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// Lines for people.
    Text,
    /// The value that the tool returns, with everything in it.
    Json,
    /// The Static Analysis Results Interchange Format, 2.1.0.
    Sarif,
    /// A page that needs nothing beside itself.
    Html,
}

/// What a report is about, and how much of it is shown.
#[derive(Clone, Copy, Debug)]
pub struct ReportExtent<'a> {
    /// The place, as the caller named it.
    pub place: &'a str,
    /// Where files lie for the reader of the report: put before their names.
    pub prefix: &'a str,
    /// How many entries of a list are shown.
    pub most: usize,
    /// Whether metrics are shown.
    pub metrics: bool,
    /// Whether findings on security are shown.
    pub security: bool,
}

impl ReportFormat {
    /// The format of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "json" => Some(Self::Json),
            "sarif" => Some(Self::Sarif),
            "html" => Some(Self::Html),
            _ => None,
        }
    }

    /// What the report's file is called.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Text => "analysis.txt",
            Self::Json => "analysis.json",
            Self::Sarif => "analysis.sarif",
            Self::Html => "analysis.html",
        }
    }
}

impl ReportExtent<'_> {
    /// A file's name for the reader of the report.
    fn path(&self, file: &str) -> String {
        format!("{}{file}", self.prefix)
    }
}

/// The findings of a kind, the worst first.
fn of_kind(analysis: &Analysis, kind: FindingKind) -> Vec<&Finding> {
    let mut found: Vec<&Finding> = analysis.findings.iter().filter(|finding| finding.kind == kind).collect();
    found.sort_by_key(|finding| finding.severity);
    found
}

/// How many findings of each severity there are.
fn counts(findings: &[&Finding]) -> [usize; 3] {
    FindingSeverity::ALL.map(|severity| findings.iter().filter(|finding| finding.severity == severity).count())
}

/// `1 error`, `2 errors`
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
