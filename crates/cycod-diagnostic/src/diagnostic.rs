use crate::{Code, Span};

/// How bad a problem is: an error stops the tool from loading, the others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The tool is right, and could be better.
    Hint,
    /// The tool loads, but says something its author probably did not mean.
    Warning,
    /// The tool cannot be used until this is fixed.
    Error,
}

/// A place in the source with an optional remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The bytes pointed at.
    pub span: Span,
    /// What to say there; empty for a bare underline.
    pub text: String,
}

/// A replacement of some bytes of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace; empty for an insertion.
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

/// A fix that can be applied mechanically by `validate --fix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What applying it does, as an imperative fragment.
    pub title: String,
    /// Edits, in source order, not overlapping.
    pub edits: Vec<Edit>,
}

/// How many places one diagnostic points at.
const MOST_LABELS: usize = 16;

/// One problem in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind of problem.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: a lowercase fragment, names in backticks, no final period.
    pub message: String,
    /// Where; the first label is the primary one. Empty when the whole file is meant.
    pub labels: Vec<Label>,
    /// Facts that help to understand (what is allowed, which other file).
    pub notes: Vec<String>,
    /// How to go on ("did you mean `fetch`?").
    pub help: Option<String>,
    /// A mechanical fix, where there is one.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Returns an error at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message.into())
    }

    /// Returns a warning at `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message.into())
    }

    /// Returns a hint at `span`.
    pub fn hint(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Hint, code, span, message.into())
    }

    fn new(severity: Severity, code: Code, span: Span, message: String) -> Self {
        let labels = vec![Label { span, text: String::new() }];
        Self { code, severity, message, labels, notes: Vec::new(), help: None, fix: None }
    }

    /// Puts `text` beside the primary underline.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(primary) = self.labels.first_mut() {
            primary.text = text.into();
        }
        self
    }

    /// Points at one more place; a diagnostic points at 16 places at most.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        if self.labels.len() < MOST_LABELS {
            self.labels.push(Label { span, text: text.into() });
        }
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Says how to go on.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Offers a mechanical fix.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix { title: title.into(), edits });
        self
    }

    /// The place to name in `file:line:column`.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }
}
