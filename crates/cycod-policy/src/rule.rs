use std::fmt;

use crate::{Pattern, Surfaces, Verdict};

/// Where a rule comes from; a later layer is named before an earlier one, and never weakens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The rules that always hold.
    BuiltIn,
    /// The release of a team.
    Team,
    /// The machine's file.
    Global,
    /// The user's file.
    User,
    /// The project's file.
    Local,
    /// `CYCOD_AUTO_APPROVE` and `CYCOD_AUTO_DENY`.
    Environment,
    /// `--auto-approve` and `--auto-deny`.
    CommandLine,
}

impl Layer {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Team => "team",
            Self::Global => "global",
            Self::User => "user",
            Self::Local => "local",
            Self::Environment => "environment",
            Self::CommandLine => "command line",
        }
    }
}

/// Where a rule stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Which layer.
    pub layer: Layer,
    /// Where in it, for people: `.cycod/policy.yaml:4`, `CYCOD_AUTO_DENY`, `--auto-deny`.
    pub place: String,
    /// Whom to ask about it, if the user can't change it.
    pub ask: Option<String>,
}

impl Origin {
    /// A place in a layer.
    pub fn new(layer: Layer, place: impl Into<String>) -> Self {
        Self { layer, place: place.into(), ask: None }
    }

    /// Why something is there, and whom to ask about it, to follow in a sentence.
    pub(crate) fn reason(&self, why: Option<&str>) -> String {
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let ask = self.ask.as_ref().map(|whom| format!("; ask {whom}")).unwrap_or_default();
        format!("{why}{ask}")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

/// Something that somebody decided beforehand.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What becomes of the calls that it is about.
    pub verdict: Verdict,
    /// Which calls those are.
    pub pattern: Pattern,
    /// Why, in its author's words.
    pub why: Option<String>,
    /// Whose calls.
    pub surfaces: Surfaces,
    /// Where it stands.
    pub origin: Origin,
}

impl Rule {
    /// A rule for everybody.
    pub fn new(verdict: Verdict, pattern: Pattern, origin: Origin) -> Self {
        Self { verdict, pattern, why: None, surfaces: Surfaces::ALL, origin }
    }
}

impl fmt::Display for Rule {
    /// Writes the rule with everything that a person needs to find it and to understand it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.origin.reason(self.why.as_deref());
        write!(f, "`{} {}` ({}){reason}", self.verdict, self.pattern, self.origin)
    }
}
