use cycod_thread::Broken;

use crate::Code;

/// Why a call was not carried out, or did not end by itself: everything that is not a plain exit.
///
/// The same value is shown to people, written to JSON and given to models, so applying [`Refusal::attempt`]
/// literally must help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which kind, with a page in `docs/errors/`.
    pub code: Code,
    /// The rule that decided, in words or as written in a configuration.
    pub rule: Option<String>,
    /// The parameter, step, path or host concerned.
    pub place: Option<String>,
    /// What is wrong: a lowercase fragment, names in backticks, no final period.
    pub why: String,
    /// What to do instead.
    pub attempt: Option<String>,
}

impl Refusal {
    /// Returns a refusal with its reason.
    pub fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, rule: None, place: None, why: why.into(), attempt: None }
    }

    /// Names the rule that decided.
    #[must_use]
    pub fn rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    /// Names the parameter, step, path or host concerned.
    #[must_use]
    pub fn place(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Says what to do instead.
    #[must_use]
    pub fn attempt(mut self, attempt: impl Into<String>) -> Self {
        self.attempt = Some(attempt.into());
        self
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refusal {}

/// Does some work. A panic in it is a mistake of this program: it ends that work, with `internal-error`, and nothing else.
///
/// # Errors
/// The refusal that says what the panic said.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Refusal> {
    cycod_thread::caught(work).map_err(Refusal::from)
}

impl From<Broken> for Refusal {
    fn from(broken: Broken) -> Self {
        Self::new(Code::InternalError, broken.to_string())
    }
}
