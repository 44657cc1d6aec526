//! Command templates: author text with `{placeholders}`.
//!
//! A template is parsed exactly once, and a value is never scanned for placeholders again. Which brace
//! tokens are placeholders depends on the names known where the template stands, because jq, awk, JSON and
//! the shells use braces too.

use cycod_diagnostic::Span;

use crate::condition::Expr;

mod names;
pub mod number_format;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use names::{Resolution, is_name_start, name_len};
pub(crate) use parse::unresolved;

/// Text with placeholders, in order.
#[derive(Clone, Default, PartialEq)]
pub struct Template {
    /// The parts; adjacent texts are joined.
    pub segments: Vec<TemplatePart>,
    /// The text that was read, where the parts don't have all of it. They can't tell where it needs escapes: an escape reaches as far as
    /// the placeholder it prevents, and that decides what the braces inside and behind it mean.
    written: Option<Box<str>>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum TemplatePart {
    /// What the author wrote, with `\{NAME}` already reduced to `{NAME}`.
    Text(String),
    /// A place for a value.
    Hole(Placeholder),
}

/// A placeholder such as `{NAME:uppercase}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Placeholder {
    /// The whole token with its braces, in the file.
    pub span: Span,
    /// `{RAW:name}`: the author asks for the value as program text.
    pub raw: bool,
    /// What is put here.
    pub value: HoleValue,
}

/// What a placeholder stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum HoleValue {
    /// `{name:transform:…:format(…)}`.
    Reference {
        /// Whose value.
        of: Reference,
        /// Inline transforms, left to right.
        transforms: Vec<String>,
        /// The inline `format(…)` pattern, applied last.
        format: Option<String>,
    },
    /// `{condition ? 'a' : 'b'}`.
    Choice {
        /// Decides.
        condition: Expr,
        /// When true.
        then: TernaryBranch,
        /// When false.
        otherwise: TernaryBranch,
    },
}

/// One side of a ternary.
#[derive(Clone, Debug, PartialEq)]
pub enum TernaryBranch {
    /// A quoted string or a number: author text.
    Text(String),
    /// The value of a name.
    Reference(Reference),
}

/// A name that a template or condition refers to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reference {
    /// A declared parameter (or `value` inside a parameter's `format`).
    Parameter(String),
    /// A predefined variable such as `WORKSPACE`.
    Predefined(Predefined),
    /// `step.attribute`.
    Step {
        /// The step's name.
        step: String,
        /// Which of its results.
        attribute: StepAttribute,
    },
    /// `ITEM` in a step with `for-each`: the item that it runs for.
    Item,
    /// An unresolved upper-case name: the environment, else an error that names it.
    Environment(String),
}

/// The name of the item in a step with `for-each`.
pub const ITEM: &str = "ITEM";

/// The variables every template may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is named in `NAMES` and documented in the reference")]
pub enum Predefined {
    ToolName,
    Workspace,
    Temp,
    Home,
    Os,
    Date,
    Time,
    Timestamp,
}

impl Predefined {
    /// Every variable with the name it has in a template.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("TOOL_NAME", Self::ToolName),
        ("WORKSPACE", Self::Workspace),
        ("TEMP", Self::Temp),
        ("HOME", Self::Home),
        ("OS", Self::Os),
        ("DATE", Self::Date),
        ("TIME", Self::Time),
        ("TIMESTAMP", Self::Timestamp),
    ];
}

/// What can be asked of a finished step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is named in `NAMES` and documented in the reference")]
pub enum StepAttribute {
    Output,
    Error,
    ExitCode,
    Duration,
    StartTime,
    EndTime,
    Skipped,
    Attempts,
    TimedOut,
    Status,
}

impl StepAttribute {
    /// Every attribute with the name it has after the dot.
    pub const NAMES: [(&'static str, Self); 10] = [
        ("output", Self::Output),
        ("error", Self::Error),
        ("exit-code", Self::ExitCode),
        ("duration", Self::Duration),
        ("start-time", Self::StartTime),
        ("end-time", Self::EndTime),
        ("skipped", Self::Skipped),
        ("attempts", Self::Attempts),
        ("timed-out", Self::TimedOut),
        ("status", Self::Status),
    ];
}

/// The names known where a template or condition stands.
#[derive(Clone, Debug, Default)]
pub struct KnownNames {
    /// Declared parameters; they win over predefined variables.
    pub parameters: Vec<String>,
    /// Steps of the tool; empty for a tool without steps.
    pub steps: Vec<String>,
    /// Whether the text is in a step with `for-each`, where `ITEM` is the item.
    pub has_item: bool,
    /// Whether the text is code of a language whose grammar nobody here knows. Braces are its own there, so a predefined variable
    /// or one of the environment is no placeholder, and neither is what looks like the subscript of a variable: `$ENV{HOME}`.
    pub is_code: bool,
}

pub use parse::parse;

impl Template {
    /// Returns a template of `text` alone, in which no brace means anything.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { segments: if text.is_empty() { Vec::new() } else { vec![TemplatePart::Text(text)] }, written: None }
    }

    /// Returns a template of one part.
    pub fn of(part: TemplatePart) -> Self {
        match part {
            TemplatePart::Text(text) => Self::text(text),
            TemplatePart::Hole(hole) => {
                let written = Some(hole.to_string().into());
                Self { segments: vec![TemplatePart::Hole(hole)], written }
            }
        }
    }

    /// Returns the text when there is no placeholder in it.
    pub fn as_text(&self) -> Option<&str> {
        match self.segments.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The placeholders, in order.
    pub fn holes(&self) -> impl Iterator<Item = &Placeholder> {
        self.segments.iter().filter_map(|segment| match segment {
            TemplatePart::Hole(hole) => Some(hole),
            TemplatePart::Text(_) => None,
        })
    }

    /// Every name the template refers to, with its place, in order and with repetitions.
    pub fn references(&self) -> impl Iterator<Item = (&Reference, Span)> {
        self.holes().flat_map(|hole| match &hole.value {
            HoleValue::Reference { of, .. } => vec![(of, hole.span)],
            HoleValue::Choice { condition, then, otherwise } => {
                let branches = [then, otherwise].into_iter().filter_map(|branch| match branch {
                    TernaryBranch::Reference(of) => Some((of, hole.span)),
                    TernaryBranch::Text(_) => None,
                });
                condition.references().into_iter().chain(branches).collect()
            }
        })
    }

    /// Returns a text that reads back as this template under the same names: the text that was read, or a text with the escapes it needs.
    pub fn source(&self, names: &KnownNames) -> String {
        match &self.written {
            Some(written) => written.to_string(),
            None => parse::escape(self.as_text().unwrap_or_default(), names),
        }
    }
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Template").field("segments", &self.segments).finish()
    }
}

impl std::fmt::Display for Placeholder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.raw { "{RAW:" } else { "{" })?;
        match &self.value {
            HoleValue::Reference { of, transforms, format } => {
                write!(f, "{of}")?;
                for transform in transforms {
                    write!(f, ":{transform}")?;
                }
                if let Some(format) = format {
                    write!(f, ":format({format})")?;
                }
            }
            HoleValue::Choice { condition, then, otherwise } => write!(f, "{condition} ? {then} : {otherwise}")?,
        }
        f.write_str("}")
    }
}

impl std::fmt::Display for TernaryBranch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => crate::condition::write_quoted(text, f),
            Self::Reference(reference) => write!(f, "{reference}"),
        }
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Parameter(name) | Self::Environment(name) => f.write_str(name),
            Self::Predefined(variable) => f.write_str(variable.name()),
            Self::Item => f.write_str(ITEM),
            Self::Step { step, attribute } => write!(f, "{step}.{}", attribute.name()),
        }
    }
}

impl Predefined {
    /// Returns the name the variable has in a template.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, variable)| *variable == self).map_or("", |(name, _)| name)
    }
}

impl StepAttribute {
    /// Returns the name the attribute has after the dot.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, attribute)| *attribute == self).map_or("", |(name, _)| name)
    }
}
