/// The ways in which arguments can be wrong, each with a page `docs/errors/<slug>.md`.
pub mod code {
    /// The tool has no parameter of this name.
    pub const UNKNOWN: &str = "unknown-argument";
    /// One parameter is given more than once and is not a list.
    pub const REPEATED: &str = "repeated-argument";
    /// A required parameter has no value.
    pub const MISSING: &str = "missing-argument";
    /// A caller gives what only the answer to a question can be.
    pub const ASKED: &str = "asked-parameter";
    /// A question was not answered.
    pub const UNANSWERED: &str = "question-unanswered";
    /// The value is not of the parameter's type and cannot be read as it.
    pub const WRONG_TYPE: &str = "wrong-argument-type";
    /// The value breaks a rule of the parameter's `validation`.
    pub const INVALID: &str = "invalid-argument";
    /// A transform cannot be applied to the value.
    pub const TRANSFORM: &str = "transform-failed";
    /// A number format cannot be applied to the value.
    pub const FORMAT: &str = "format-failed";
    /// A template refers to an environment variable that is not set.
    pub const UNSET: &str = "unset-variable";
    /// The value holds a NUL character, which no command line can carry.
    pub const NUL: &str = "nul-in-value";
    /// A step said bytes that are not UTF-8, and only text can stand where they would.
    pub const NOT_TEXT: &str = "not-text";
    /// Defaults refer to each other in a circle.
    pub const CYCLE: &str = "default-cycle";
    /// A condition has no answer for these values.
    pub const CONDITION: &str = "undecidable-condition";
    /// A template refers to a result that a step does not have.
    pub const NO_RESULT: &str = "missing-step-result";
}

/// One thing that is wrong with the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentProblem {
    /// The parameter it is about, or the name as given when there is no such parameter.
    pub parameter: Option<String>,
    /// A slug of [`code`].
    pub code: &'static str,
    /// What is wrong: a lowercase fragment without a final period.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
}

impl ArgumentProblem {
    pub(crate) fn new(parameter: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self { parameter: Some(parameter.to_owned()), code, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
