use serde_json::{Map, Value as Json, json};

use super::{ReportExtent, counts, of_kind};
use crate::{Analysis, AnalyzerOutcome, FileMetrics, Finding, FindingKind, FindingSeverity, FunctionMetrics, Totals};

/// How many of the functions that are hardest to follow are named.
const WORST: usize = 20;

/// The value that a tool returns; lists are as long as is shown, with how much was left off.
pub fn json(analysis: &Analysis, shown: &ReportExtent<'_>) -> Json {
    let issues = of_kind(analysis, FindingKind::Quality);
    let security = of_kind(analysis, FindingKind::Security);
    let mut left_off = Map::new();
    let mut cut = |name: &str, list: Vec<Json>, all: usize| {
        if list.len() < all {
            left_off.insert(name.to_owned(), (all - list.len()).into());
        }
        Json::Array(list)
    };
    let findings =
        |found: &[&Finding]| found.iter().take(shown.most).map(|found| finding(found, shown)).collect::<Vec<_>>();
    let skipped = analysis.skipped.iter().take(shown.most);
    let skipped = skipped.map(|skipped| json!({ "file": shown.path(&skipped.file), "reason": skipped.why.name() }));
    let mut value = json!({
        "success": true,
        "files_analyzed": analysis.files.len(),
        // The worst comes first, so that a shortened answer still has it.
        "summary": { "issues": summary(&issues), "security_findings": summary(&security), "ignored": analysis.ignored },
        "security_findings": cut("security_findings", findings(&security), security.len()),
        "issues": cut("issues", findings(&issues), issues.len()),
        "metrics": if shown.metrics { metrics(analysis, shown, &mut cut) } else { json!({}) },
        "analyzers": analysis.analyzers().map(|(analyzer, outcome)| outcome_of(analyzer.name(), outcome)).collect::<Vec<_>>(),
        "skipped": cut("skipped", skipped.collect(), analysis.skipped.len()),
    });
    if !left_off.is_empty() {
        value["left_off"] = left_off.into();
    }
    value
}

fn finding(found: &Finding, shown: &ReportExtent<'_>) -> Json {
    let mut value = json!({
        "severity": found.severity.name(),
        "file": shown.path(&found.file),
        "line": found.line,
        "message": found.message,
        "rule": found.rule,
        "analyzer": found.analyzer,
    });
    let also = found.also.iter().map(|(analyzer, rule)| json!({ "analyzer": analyzer, "rule": rule }));
    let also: Vec<Json> = also.collect();
    let optional = [
        ("also", (!also.is_empty()).then(|| also.into())),
        ("column", found.column.map(Json::from)),
        ("cwe", found.cwe.map(|cwe| format!("CWE-{cwe}").into())),
        ("help", found.help.as_deref().map(Json::from)),
    ];
    for (name, field) in optional {
        if let Some(field) = field {
            value[name] = field;
        }
    }
    value
}

fn summary(found: &[&Finding]) -> Json {
    let counts = FindingSeverity::ALL.into_iter().zip(counts(found));
    counts.map(|(severity, count)| (severity.name().to_owned(), count.into())).collect::<Map<_, _>>().into()
}

fn outcome_of(name: &str, outcome: &AnalyzerOutcome) -> Json {
    let mut value = json!({ "name": name, "status": outcome.name() });
    match outcome {
        AnalyzerOutcome::Ran { files, findings, notes } => {
            value["files"] = (*files).into();
            value["findings"] = (*findings).into();
            if !notes.is_empty() {
                value["notes"] = notes.clone().into();
            }
        }
        AnalyzerOutcome::Failed(why) => value["reason"] = why.as_str().into(),
        AnalyzerOutcome::Missing | AnalyzerOutcome::NothingToDo => {}
    }
    value
}

fn metrics(analysis: &Analysis, shown: &ReportExtent<'_>, cut: &mut dyn FnMut(&str, Vec<Json>, usize) -> Json) -> Json {
    let measured: Vec<(&String, &FileMetrics)> =
        analysis.files.iter().filter_map(|(file, metrics)| Some((file, metrics.as_ref()?))).collect();
    let (all, languages) = Totals::of(measured.iter().map(|(_, metrics)| *metrics));
    let languages: Map<String, Json> =
        languages.iter().map(|(name, sums)| ((*name).to_owned(), totals(sums))).collect();
    let worst = analysis.worst(WORST);
    let files = measured.iter().take(shown.most).map(|(file, metrics)| {
        let mut value = json!({ "file": shown.path(file), "language": metrics.language.name() });
        let sums = totals(&metrics.totals);
        for (name, sum) in sums.as_object().into_iter().flatten().filter(|(name, _)| *name != "files") {
            value[name] = sum.clone();
        }
        value["maintainability"] = metrics.maintainability.map_or(Json::Null, Json::from);
        if !metrics.is_sound {
            value["parsed_in_part"] = true.into();
        }
        value
    });
    json!({
        "totals": totals(&all),
        "languages": languages,
        "worst_functions": worst.into_iter().map(|(file, metrics)| function(&shown.path(file), metrics)).collect::<Vec<_>>(),
        "files": cut("metrics.files", files.collect(), measured.len()),
    })
}

fn totals(sums: &Totals) -> Json {
    let Totals { files, lines, code, comments, blank, functions, cyclomatic, cognitive } = sums;
    json!({
        "files": files, "lines": lines, "code": code, "comments": comments, "blank": blank,
        "functions": functions, "cyclomatic": cyclomatic, "cognitive": cognitive,
    })
}

fn function(file: &str, metrics: &FunctionMetrics) -> Json {
    let FunctionMetrics { name, line, lines, arguments, cyclomatic, cognitive } = metrics;
    json!({
        "name": name, "file": file, "line": line, "lines": lines,
        "arguments": arguments, "cyclomatic": cyclomatic, "cognitive": cognitive,
    })
}
