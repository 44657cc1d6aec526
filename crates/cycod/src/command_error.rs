use cycod_engine::{EngineError, diagnostic::Refusal};

/// Why a command did not do what it was asked to, for the one place that shows it.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// The exit code.
    pub(crate) exit: u8,
    /// What is wrong: a lowercase fragment.
    pub(crate) message: String,
    /// The code of a page in `docs/errors/`, where there is one.
    pub(crate) code: Option<&'static str>,
    /// How to go on, one line each.
    pub(crate) hints: Vec<String>,
}

/// Exit codes that do not come from a tool.
pub(crate) mod exit {
    /// Something failed.
    pub(crate) const FAILURE: u8 = 1;
    /// The command line is wrong.
    pub(crate) const USAGE: u8 = 2;
    /// Running was not approved.
    pub(crate) const NOT_APPROVED: u8 = 3;
    /// A limit of time ended the run.
    pub(crate) const TIMED_OUT: u8 = 124;
}

impl CommandError {
    /// A failure.
    pub(crate) fn failure(message: impl Into<String>) -> Self {
        Self { exit: exit::FAILURE, message: message.into(), code: None, hints: Vec::new() }
    }

    /// A wrong command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: exit::USAGE, ..Self::failure(message) }
    }

    /// Says how to go on.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        let exit = match refusal.code {
            "not-approved" | "confinement-unavailable" => exit::NOT_APPROVED,
            code if code.ends_with("-argument") || code.ends_with("-argument-type") => exit::USAGE,
            _ => exit::FAILURE,
        };
        let mut hints = Vec::new();
        hints.extend(refusal.rule.map(|rule| format!("rule: {rule}")));
        hints.extend(refusal.attempt.map(|attempt| format!("try: {attempt}")));
        Self { exit, message: refusal.why, code: Some(refusal.code), hints }
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        error.into_refusal().into()
    }
}
