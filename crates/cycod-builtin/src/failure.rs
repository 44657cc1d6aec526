use cycod_diagnostic::Refusal;

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be had: a lowercase sentence that says what is wrong and how to fix it, for the caller.
    Failed(String),
    /// It was not allowed, or it was stopped.
    Refused(Refusal),
}

impl Failure {
    /// Something that failed, and how to fix it.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
