use std::fmt;

use cycod_diagnostic::Code;

use crate::{Layer, Origin, Rule};

/// What may be done; the strictest of several wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Go on when somebody says so.
    Ask,
    /// Do not go on.
    Deny,
}

impl Verdict {
    /// Every verdict with its name in a file of rules.
    pub const NAMES: [(&'static str, Self); 3] = [("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];

    /// Its name in a file of rules.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A verdict with the rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What may be done.
    pub verdict: Verdict,
    /// The rule that decided, in words, with where it stands and why it is there.
    pub rule: String,
    /// The code of the refusal this leads to when nobody allows it.
    pub code: Code,
    /// Where the rule stands.
    pub origin: Origin,
    /// The pattern of a rule that somebody wrote.
    pub pattern: Option<String>,
    /// Why the rule is there, in its author's words.
    pub why: Option<String>,
    /// Whether a rule that allows would change it.
    pub yields: bool,
}

impl Decision {
    /// A decision by a rule that always holds.
    pub fn built_in(verdict: Verdict, rule: impl Into<String>, code: Code) -> Self {
        let origin = Origin::new(Layer::BuiltIn, Layer::BuiltIn.name());
        Self { verdict, rule: rule.into(), code, origin, pattern: None, why: None, yields: false }
    }

    /// A decision by a rule that somebody wrote; `through` is the tool it is about, when it is one that is reached.
    pub(crate) fn by(rule: &Rule, through: Option<&str>) -> Self {
        let through = through.map(|tool| format!("; it reaches `{tool}`")).unwrap_or_default();
        Self {
            verdict: rule.verdict,
            rule: format!("{rule}{through}"),
            code: if rule.verdict == Verdict::Deny { Code::DeniedByPolicy } else { Code::NotApproved },
            origin: rule.origin.clone(),
            pattern: Some(rule.pattern.to_string()),
            why: rule.why.clone(),
            yields: false,
        }
    }
}
