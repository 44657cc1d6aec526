//! What is to be said about source code: metrics, findings of rules of our own, and what other analysers found.
//!
//! ```text
//!  bytes ──► examine ──► Examined ─┐
//!                                  ├──► Analysis ──► JSON · SARIF · HTML · text
//!  Analyzer ──► Job … output ──► read ─┘
//! ```
//!
//! The caller opens the files and starts the analysers: this crate says which programs to start for which files, with
//! which arguments, and reads what they print. What it is given may have been written by somebody who means harm: files that
//! are hard to parse, paths that are markup, analysers that print nonsense. None of it ends the process or is passed on as it is.
//!
//! Invariant: this crate opens no file, starts no process and asks no clock.

mod analysis;
mod analyzers;
mod examine;
mod finding;
mod ignores;
mod language;
mod metrics;
mod report;
mod rules;
mod syntax;

pub use analysis::{Analysis, AnalyzerOutcome, Skipped};
pub use analyzers::{Analyzer, AnalyzerFailed, AnalyzerJob, Pass, SEMGREP_RULES};
pub use examine::{ExamineOptions, Examined, LARGEST, Unexamined, examine};
pub use finding::{Finding, FindingKind, FindingSeverity};
pub use language::Language;
pub use metrics::{FileMetrics, FunctionMetrics, Totals};
pub use report::{ReportExtent, ReportFormat, html, json, sarif, text};
pub use rules::{AnalysisRule, RULES};
