use std::fmt::Write as _;

use super::{ReportExtent, counted, counts, of_kind};
use crate::{Analysis, AnalyzerOutcome, Finding, FindingKind, Totals, Unexamined};

/// How many of the functions that are hardest to follow are named.
const WORST: usize = 10;

/// Lines for people.
pub fn text(analysis: &Analysis, shown: &ReportExtent<'_>) -> String {
    let mut out = format!("{}: {}\n", shown.place, counted(analysis.files.len(), "file", "files"));
    for (title, kind) in [("Security", FindingKind::Security), ("Issues", FindingKind::Quality)] {
        if kind == FindingKind::Security && !shown.security {
            continue;
        }
        let found = of_kind(analysis, kind);
        let [errors, warnings, notes] = counts(&found);
        _ = writeln!(
            out,
            "\n{title}: {}, {}, {notes} info",
            counted(errors, "error", "errors"),
            counted(warnings, "warning", "warnings")
        );
        for finding in found.iter().take(shown.most) {
            out.push_str(&line(finding, shown));
        }
        if found.len() > shown.most {
            _ = writeln!(out, "  and {} more", found.len() - shown.most);
        }
    }
    if shown.metrics {
        metrics(analysis, shown, &mut out);
    }
    if !analysis.analyzers.is_empty() {
        out.push_str("\nAnalysers\n");
    }
    for (analyzer, outcome) in analysis.analyzers() {
        let said = match outcome {
            AnalyzerOutcome::Ran { files, findings, .. } => {
                format!("{}, {}", counted(*files, "file", "files"), counted(*findings, "finding", "findings"))
            }
            AnalyzerOutcome::NothingToDo => "no files for it".to_owned(),
            AnalyzerOutcome::Missing => "not installed".to_owned(),
            AnalyzerOutcome::Failed(why) => format!("failed: {why}"),
        };
        _ = writeln!(out, "  {:<10} {said}", analyzer.name());
    }
    if analysis.ignored > 0 || !analysis.skipped.is_empty() {
        out.push('\n');
    }
    if analysis.ignored > 0 {
        _ = writeln!(out, "{} left alone by comments", counted(analysis.ignored, "finding", "findings"));
    }
    for why in Unexamined::ALL {
        let count = analysis.skipped.iter().filter(|skipped| skipped.why == why).count();
        if count > 0 {
            _ = writeln!(out, "passed over, {}: {}", why.name(), counted(count, "file", "files"));
        }
    }
    out
}

fn line(finding: &Finding, shown: &ReportExtent<'_>) -> String {
    let column = finding.column.map(|column| format!(":{column}")).unwrap_or_default();
    let Finding { severity, message, line, .. } = finding;
    let by = finding.found_by();
    let place = plain(&shown.path(&finding.file));
    format!("  {place}:{line}{column}: {severity}[{by}]: {}\n", plain(message))
}

fn metrics(analysis: &Analysis, shown: &ReportExtent<'_>, out: &mut String) {
    let (all, languages) = Totals::of(analysis.files.values().flatten());
    let head = ["", "files", "code", "comments", "blank", "functions", "cyclomatic", "cognitive"];
    let row = |name: &str, sums: &Totals| {
        let Totals { files, code, comments, blank, functions, cyclomatic, cognitive, .. } = sums;
        let numbers = [files, code, comments, blank, functions, cyclomatic, cognitive];
        numbers.iter().fold(format!("  {name:<12}"), |row, number| format!("{row} {number:>10}")) + "\n"
    };
    out.push_str("\nMetrics\n");
    out.push_str(&head[1..].iter().fold(format!("  {:<12}", head[0]), |row, name| format!("{row} {name:>10}")));
    out.push('\n');
    languages.iter().for_each(|(name, sums)| out.push_str(&row(name, sums)));
    out.push_str(&row("all", &all));
    let worst = analysis.worst(WORST);
    if !worst.is_empty() {
        out.push_str("\nHardest to follow\n");
    }
    for (file, function) in worst {
        let name = plain(function.name.as_deref().unwrap_or("(anonymous)"));
        _ = writeln!(
            out,
            "  {}:{}: {name}: cognitive {}, cyclomatic {}, {}",
            plain(&shown.path(file)),
            function.line,
            function.cognitive,
            function.cyclomatic,
            counted(function.lines as usize, "line", "lines")
        );
    }
}

/// A text that does nothing to a terminal.
fn plain(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}
