use std::fmt;

use cycod_definition::{Level, Privilege};
use cycod_diagnostic::Code;

use crate::{Decision, Origin, Question, Verdict};

/// The least that is asked of every call, whatever allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Floor {
    /// What is asked.
    pub kind: FloorKind,
    /// Where it stands.
    pub origin: Origin,
    /// Why, in its author's words.
    pub why: Option<String>,
}

/// What a floor asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FloorKind {
    /// `privilege: reduced`: programs are confined.
    Reduced,
    /// `isolation: container`.
    Container,
    /// `network: declared`: programs reach no hosts but those that their tool declares.
    DeclaredNetwork,
    /// `network: none`.
    NoNetwork,
    /// `approval: LEVEL`: a model's call of this level or above is asked about each time.
    Approval(Level),
    /// `min-version: VERSION` of cycod.
    Version {
        /// The version.
        wanted: String,
        /// Whether this is it, or a newer one.
        is_met: bool,
    },
}

/// What the programs that a tool starts are held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramTerms<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// With whose rights they run.
    pub privilege: Privilege,
    /// Whether they reach less than the user does.
    pub is_confined: bool,
    /// Whether they run in a container.
    pub is_contained: bool,
    /// What they see of the network.
    pub network: NetworkReach,
}

/// What programs see of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkReach {
    /// Nothing.
    None,
    /// What their tool declares.
    Declared,
    /// Everything.
    Any,
}

impl Floor {
    /// Its key in a file of rules, and its value there.
    pub fn words(&self) -> (&'static str, &str) {
        match &self.kind {
            FloorKind::Reduced => ("privilege", "reduced"),
            FloorKind::Container => ("isolation", "container"),
            FloorKind::DeclaredNetwork => ("network", "declared"),
            FloorKind::NoNetwork => ("network", "none"),
            FloorKind::Approval(level) => ("approval", level.name()),
            FloorKind::Version { wanted, .. } => ("min-version", wanted),
        }
    }

    /// The decision about a call that is below it.
    pub(crate) fn decide(&self, question: &Question<'_>) -> Option<Decision> {
        let below = |is_below: fn(&ProgramTerms<'_>) -> bool| question.programs.iter().find(|terms| is_below(terms));
        let (verdict, code, what) = match &self.kind {
            FloorKind::Approval(level) => {
                let is_below = question.surface.is_model() && question.tool.level >= *level;
                let what = format!("a model needs approval each time for a tool of level {}", question.tool.level);
                (is_below.then_some(Verdict::Ask)?, Code::NotApproved, what)
            }
            FloorKind::Version { .. } => return self.outdated(),
            kind => {
                let (terms, what) = match kind {
                    FloorKind::Reduced => (
                        below(|terms| terms.privilege == Privilege::Elevated || !terms.is_confined)?,
                        "starts programs that aren't confined",
                    ),
                    FloorKind::Container => {
                        (below(|terms| !terms.is_contained)?, "starts programs outside a container")
                    }
                    FloorKind::DeclaredNetwork => (
                        below(|terms| terms.network > NetworkReach::Declared)?,
                        "can reach hosts that it doesn't declare",
                    ),
                    _ => (below(|terms| terms.network > NetworkReach::None)?, "can reach the network"),
                };
                (Verdict::Deny, Code::DeniedByPolicy, format!("`{}` {what}", terms.tool))
            }
        };
        Some(self.decided(verdict, code, &what))
    }

    /// The decision about everything, if this program is too old.
    pub(crate) fn outdated(&self) -> Option<Decision> {
        match &self.kind {
            FloorKind::Version { is_met: false, .. } => {
                let what = concat!("this is cycod ", env!("CARGO_PKG_VERSION"));
                Some(self.decided(Verdict::Deny, Code::NewerVersionNeeded, what))
            }
            _ => None,
        }
    }

    fn decided(&self, verdict: Verdict, code: Code, what: &str) -> Decision {
        Decision {
            rule: format!("{self}: {what}{}", self.origin.reason(self.why.as_deref())),
            origin: self.origin.clone(),
            why: self.why.clone(),
            ..Decision::built_in(verdict, "", code)
        }
    }
}

impl fmt::Display for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, value) = self.words();
        let below = if matches!(self.kind, FloorKind::Version { .. }) { "" } else { "floor: " };
        write!(f, "`{below}{key}: {value}` ({})", self.origin)
    }
}
