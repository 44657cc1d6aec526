use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use super::ReportExtent;
use crate::{Analysis, AnalyzerOutcome, Finding, FindingKind, FindingSeverity, RULES};

/// Where the schema of the format is.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A log in the Static Analysis Results Interchange Format, 2.1.0: one run for each that looked.
pub fn sarif(analysis: &Analysis, shown: &ReportExtent<'_>) -> Json {
    let of = |name: &str| analysis.findings.iter().filter(|finding| finding.analyzer == name).collect::<Vec<_>>();
    let mut runs = vec![run("cycod", &of("cycod"), None, shown)];
    for (analyzer, outcome) in analysis.analyzers() {
        if matches!(outcome, AnalyzerOutcome::Ran { .. } | AnalyzerOutcome::Failed(_)) {
            runs.push(run(analyzer.name(), &of(analyzer.name()), Some(outcome), shown));
        }
    }
    json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": runs })
}

fn run(name: &str, findings: &[&Finding], outcome: Option<&AnalyzerOutcome>, shown: &ReportExtent<'_>) -> Json {
    let rules: BTreeMap<&str, &Finding> =
        findings.iter().rev().map(|finding| (finding.rule.as_str(), *finding)).collect();
    let index = |rule: &str| rules.keys().position(|known| *known == rule);
    let results: Vec<Json> =
        findings.iter().map(|finding| result(finding, index(&finding.rule).unwrap_or_default(), shown)).collect();
    let notification = |text: &str, level: &str| json!({ "level": level, "message": { "text": text } });
    let notifications: Vec<Json> = match outcome {
        Some(AnalyzerOutcome::Failed(why)) => vec![notification(why, "error")],
        Some(AnalyzerOutcome::Ran { notes, .. }) => notes.iter().map(|note| notification(note, "warning")).collect(),
        _ => Vec::new(),
    };
    json!({
        "tool": { "driver": { "name": name, "rules": rules.values().map(|finding| rule(finding)).collect::<Vec<_>>() } },
        "invocations": [{
            "executionSuccessful": !matches!(outcome, Some(AnalyzerOutcome::Failed(_))),
            "toolExecutionNotifications": notifications,
        }],
        "columnKind": "unicodeCodePoints",
        "results": results,
    })
}

fn rule(finding: &Finding) -> Json {
    let mut tags = Vec::new();
    if finding.kind == FindingKind::Security {
        tags.push("security".to_owned());
    }
    tags.extend(finding.cwe.map(|cwe| format!("external/cwe/cwe-{cwe:03}")));
    let mut value = json!({ "id": finding.rule, "properties": { "tags": tags } });
    if let Some(ours) = RULES.iter().find(|ours| finding.analyzer == "cycod" && ours.id == finding.rule) {
        value["shortDescription"] = json!({ "text": ours.looks_for });
        value["help"] = json!({ "text": ours.help });
    }
    if finding.kind == FindingKind::Security {
        // What GitHub sorts by: a number from 0 to 10.
        let severity = match finding.severity {
            FindingSeverity::Error => "8.5",
            FindingSeverity::Warning => "5.5",
            FindingSeverity::Info => "2.0",
        };
        value["properties"]["security-severity"] = severity.into();
    }
    value
}

fn result(finding: &Finding, index: usize, shown: &ReportExtent<'_>) -> Json {
    let level = match finding.severity {
        FindingSeverity::Error => "error",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Info => "note",
    };
    let mut region = json!({ "startLine": finding.line });
    if let Some(column) = finding.column {
        region["startColumn"] = column.into();
    }
    json!({
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": level,
        "message": { "text": finding.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&shown.path(&finding.file)) },
            "region": region,
        } }],
    })
}

/// A path as a relative reference: what has a meaning in a URI is escaped.
fn uri(path: &str) -> String {
    utf8_percent_encode(path.strip_prefix("./").unwrap_or(path), PATH).to_string()
}

/// What is escaped in the path of a URI (RFC 3986).
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');
