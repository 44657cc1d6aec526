//! What fuzz targets share.

use cycod_diagnostic::{RenderStyle, SourceFile, SourceReport, apply_fixes, render_text};

/// A file loads or is reported: every place inside the file, and nothing in it speaks to the terminal.
pub fn judge(name: &str, text: &str) {
    let source = SourceFile::new(name, text);
    let loaded = cycod_definition::load(&source, Some("fuzz"));
    assert!(loaded.tool.is_some() || loaded.has_errors(), "a file that gives no tool says why");
    for label in loaded.diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
        assert!(label.span.start <= label.span.end && label.span.end as usize <= text.len());
    }
    let fixed = apply_fixes(&source, &loaded.diagnostics);
    let report = SourceReport { source, diagnostics: loaded.diagnostics };
    assert!(
        !render_text(&report, RenderStyle::Plain).as_str().contains('\u{1b}'),
        "a file cannot speak to the terminal"
    );
    drop(cycod_definition::load(&SourceFile::new(name, fixed), Some("fuzz")));
}
