//! Stands in for the lowering until it is there.
use cycod_definition::{Level, Tool};
use cycod_diagnostic::{Code, Diagnostic, SourceFile, Span};

pub(crate) struct Loaded {
    pub tool: Option<Tool>,
    pub diagnostics: Vec<Diagnostic>,
}

pub(crate) fn load(_: &SourceFile, _: Option<&str>) -> Loaded {
    Loaded { tool: None, diagnostics: vec![Diagnostic::error(Code("unsupported-format"), Span::default(), "no lowering yet")] }
}

pub(crate) fn level(_: &Tool, _: &dyn Fn(&str) -> Option<Level>) -> Level {
    Level::Run
}
