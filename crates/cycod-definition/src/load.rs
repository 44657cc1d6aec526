use std::sync::Arc;

use cycod_diagnostic::{Diagnostic, Severity, SourceFile};

use crate::{
    Beside, Tool, ToolName, exact_json,
    form::{self, Read},
    lower::{self, Whose},
};

/// What a file says, with everything that is wrong with it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The tool; absent when a diagnostic is an error.
    pub tool: Option<Tool>,
    /// The tool as far as it could be read when there are errors, to be looked at and not to be run.
    pub refused: Option<Box<Tool>>,
    /// What the tool is called, as far as the file or its name tells, whether it loaded or not.
    pub name: Option<ToolName>,
    /// Everything that was found, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a definition, of whatever [`FileFormat`](crate::FileFormat) it is.
///
/// `stem` is the file's name without its ending: the tool's name when the file gives none. All problems are
/// reported in one go. No other file is looked at, so names of other tools are taken on trust.
pub fn load(source: &SourceFile, stem: Option<&str>) -> Loaded {
    load_as(source, stem, Whose::Authors, &Beside::default())
}

/// As [`load`], for a tool that has something beside it.
pub fn load_beside(source: &SourceFile, stem: Option<&str>, beside: &Beside) -> Loaded {
    load_as(source, stem, Whose::Authors, beside)
}

/// Reads the definition of a tool that this program carries out itself: like any other, but it does not define what to execute.
///
/// For our own texts alone. What a user wrote is read by [`load`].
pub fn load_built_in(source: &SourceFile) -> Loaded {
    load_as(source, None, Whose::Ours, &Beside::default())
}

fn load_as(source: &SourceFile, stem: Option<&str>, whose: Whose, beside: &Beside) -> Loaded {
    let Read { root, diagnostics } = form::read(source);
    let Some(root) = root else {
        return Loaded { tool: None, refused: None, name: stem.and_then(ToolName::new), diagnostics };
    };
    let mut loaded = lower::lower(source, &root, stem, whose, beside, diagnostics);
    if let Some(tool) = &mut loaded.tool {
        tool.origin.document = Arc::new(exact_json(&root));
    }
    loaded
}

impl Loaded {
    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}
