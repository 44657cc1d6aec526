use crate::{Diagnostic, Edit, SourceFile};

/// Returns the text of `source` with the fixes of `diagnostics` applied.
///
/// A fix is applied whole or not at all: when one of its edits touches bytes that an earlier fix already
/// changed, or does not fit the text, the fix is left out and a second round may apply it.
pub fn apply_fixes(source: &SourceFile, diagnostics: &[Diagnostic]) -> String {
    let mut accepted: Vec<&Edit> = Vec::new();
    for fix in diagnostics.iter().filter_map(|diagnostic| diagnostic.fix.as_ref()) {
        let fits = |edit: &&Edit| {
            let (start, end) = (edit.span.start as usize, edit.span.end as usize);
            source.text.get(start..end).is_some()
        };
        let clashes = |edit: &Edit, with: &Edit| {
            let (a, b) = (edit.span, with.span);
            (a.start < b.end && b.start < a.end) || a.start == b.start
        };
        let free = fix.edits.iter().all(|edit| !accepted.iter().any(|with| clashes(edit, with)));
        if free && fix.edits.iter().all(|edit| fits(&edit)) {
            accepted.extend(&fix.edits);
        }
    }
    accepted.sort_by_key(|edit| edit.span);
    let mut text = String::with_capacity(source.text.len());
    let mut position = 0;
    for edit in accepted {
        // A fix whose own edits overlap is malformed; its later edits are dropped rather than trusted.
        if let Some(kept) = source.text.get(position..edit.span.start as usize) {
            text.push_str(kept);
            text.push_str(&edit.replacement);
            position = edit.span.end as usize;
        }
    }
    text.push_str(source.text.get(position..).unwrap_or_default());
    text
}
