//! A file of any bytes loads or is reported: never a panic, never a hang, every place inside the file.
#![no_main]

use cycod_diagnostic::{Report, SourceFile, Style, apply_fixes, render_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let source = SourceFile::new("fuzz.yaml", text);
    let loaded = cycod_definition::load(&source, Some("fuzz"));
    assert!(loaded.tool.is_some() || loaded.has_errors(), "a file that gives no tool says why");
    for label in loaded.diagnostics.iter().flat_map(|diagnostic| &diagnostic.labels) {
        assert!(label.span.start <= label.span.end && label.span.end as usize <= text.len());
    }
    let fixed = apply_fixes(&source, &loaded.diagnostics);
    let report = Report { source, diagnostics: loaded.diagnostics };
    assert!(!render_text(&report, Style::Plain).contains('\u{1b}'), "a file cannot speak to the terminal");
    drop(cycod_definition::load(&SourceFile::new("fuzz.yaml", fixed), Some("fuzz")));
});
