use serde_json::{Value, json};

use crate::render::LineStarts;
use crate::{Diagnostic, Severity, SourceReport};

/// Returns the diagnostics of a report as a JSON array, in source order.
///
/// Lines and columns count from 1, columns in characters; the offsets of a fix count bytes. A diagnostic
/// about the whole file has no place.
pub fn to_json(report: &SourceReport) -> Value {
    let lines = LineStarts::of(&report.source.text);
    report.in_order().map(|diagnostic| object(report, diagnostic, &lines)).collect()
}

fn object(report: &SourceReport, diagnostic: &Diagnostic, lines: &LineStarts<'_>) -> Value {
    let place = |span: crate::Span| {
        let (start, end) = (lines.position(span.start), lines.position(span.end));
        json!({ "line": start.line, "column": start.column, "end-line": end.line, "end-column": end.column })
    };
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "hint",
    };
    let mut value = json!({
        "code": diagnostic.code.name(),
        "severity": severity,
        "message": diagnostic.message,
        "file": report.source.name,
    });
    if let (Some(object), Some(span)) = (value.as_object_mut(), diagnostic.span())
        && let Value::Object(place) = place(span)
    {
        object.extend(place);
    }
    let labels = diagnostic.labels.iter().map(|label| {
        let mut object = place(label.span);
        object["text"] = label.text.as_str().into();
        object
    });
    value["labels"] = labels.collect();
    value["notes"] = diagnostic.notes.clone().into();
    value["help"] = diagnostic.help.clone().into();
    value["fix"] = diagnostic.fix.as_ref().map_or(Value::Null, |fix| {
        let edits = fix
            .edits
            .iter()
            .map(|edit| json!({ "start": edit.span.start, "end": edit.span.end, "replacement": edit.replacement }));
        json!({ "title": fix.title, "edits": edits.collect::<Value>() })
    });
    value
}
