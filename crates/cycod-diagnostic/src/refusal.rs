/// Why a call was not carried out, or did not end by itself: everything that is not a plain exit.
///
/// The same value is shown to people, written to JSON and given to models, so applying [`Refusal::attempt`]
/// literally must help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A code with a page in `docs/errors/`.
    pub code: &'static str,
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
    pub fn new(code: &'static str, why: impl Into<String>) -> Self {
        Self { code, rule: None, place: None, why: why.into(), attempt: None }
    }

    /// Whether somebody, or a rule, said no: what was refused so is not tried in another way.
    pub fn is_of_permission(&self) -> bool {
        const CODES: [&str; 30] = [
            "approval-by-a-tool",
            "approval-declined",
            "approval-needs-terminal",
            "budget-spent",
            "confinement-unavailable",
            "definition-changed",
            "denied-by-policy",
            "git-option",
            "holds-a-secret",
            "level-exceeded",
            "login-needed",
            "model-budget",
            "not-approved",
            "not-on-allowlist",
            "outside-workspace",
            "permission-missing",
            "permission-target",
            "policy-broken",
            "policy-not-accepted",
            "question-declined",
            "secret-in-argument",
            "secret-not-for-tool",
            "secret-without-permission",
            "server-not-accepted",
            "settings-broken",
            "tool-changed",
            "tool-disabled",
            "tool-enforced",
            "unknown-permission",
            "untrusted-tool",
        ];
        CODES.contains(&self.code)
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
