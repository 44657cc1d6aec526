use cycod_diagnostic::Refusal;
use serde_json::{Map, Value as Json};

/// What a tool gives back: the fields that its document lists, `success` among them, and a text for people where the
/// caller asked for one.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The value.
    pub(crate) value: Json,
    /// What people read instead of the value.
    pub(crate) text: Option<String>,
}

impl From<Json> for Answer {
    fn from(value: Json) -> Self {
        Self { value, text: None }
    }
}

/// Why a tool has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for failed: `{"success": false, "error": …, "error_type": …}` and what else is worth knowing.
    Failed {
        /// The name that the document gives the failure, such as `TargetNotFoundError`.
        kind: &'static str,
        /// What went wrong and how to fix it.
        error: String,
        /// Fields beside those.
        more: Map<String, Json>,
    },
    /// It was not allowed, or it was stopped.
    Refused(Refusal),
}

impl Failure {
    /// A failure without more to say about it.
    pub(crate) fn new(kind: &'static str, error: impl Into<String>) -> Self {
        Self::Failed { kind, error: error.into(), more: Map::new() }
    }

    /// Adds a field.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        if let Self::Failed { more, .. } = &mut self {
            more.insert(name.to_owned(), value.into());
        }
        self
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
