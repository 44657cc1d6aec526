//! Definitions as people write them, held against what is said about them.

#![expect(clippy::needless_pass_by_value, reason = "an expectation reads best as a literal")]

mod across;
mod cases;
mod editor_schema;
mod function_schema;
mod generated;
mod hostile;
mod markdown;
mod meaning;
mod mimir;
mod pages;
mod round_trip;
mod spec;

use std::fmt::Write as _;

use cycod_definition::{Loaded, load};
use cycod_diagnostic::{Severity, SourceFile};

/// Loads `yaml` and lists what is wrong with it, one line for each diagnostic.
fn report(yaml: &str, stem: Option<&str>) -> (Loaded, String) {
    report_of(&SourceFile::new("tool.yaml", yaml), stem)
}

/// Loads a file and lists what is wrong with it.
fn report_of(source: &SourceFile, stem: Option<&str>) -> (Loaded, String) {
    let loaded = load(source, stem);
    let mut lines = String::new();
    for diagnostic in &loaded.diagnostics {
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "hint",
        };
        let place = diagnostic.span().map_or_else(
            || "whole file".to_owned(),
            |span| {
                let (start, end) = (source.position(span.start), source.position(span.end));
                format!("{}:{}-{}:{}", start.line, start.column, end.line, end.column)
            },
        );
        writeln!(lines, "{place} {severity}[{}]: {}", diagnostic.code, diagnostic.message).expect("a string takes it");
        for label in diagnostic.labels.iter().skip(1) {
            let start = source.position(label.span.start);
            writeln!(lines, "  also {}:{}: {}", start.line, start.column, label.text).expect("a string takes it");
        }
        if let Some(help) = &diagnostic.help {
            writeln!(lines, "  help: {}", help.replace('\n', "\n        ")).expect("a string takes it");
        }
        if let Some(fix) = &diagnostic.fix {
            writeln!(lines, "  fix: {}", fix.title).expect("a string takes it");
        }
    }
    let broken = loaded.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_eq!(broken, loaded.tool.is_none(), "a tool loads exactly when there is no error:\n{lines}");
    (loaded, lines)
}
