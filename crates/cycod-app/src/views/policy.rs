//! The rules of what may run, what they say about a call, and what a change of them would have changed.

use cycod_engine::{
    Allowlist, Decision, Floor, FloorKind, Layer, Rule, Surface, Surfaces, Verdict,
    definition::{Body, Tool},
    diagnostic::Code,
};
use cycod_settings::policy::Rules;
use cycod_shell::quoted_if_needed;
use serde::Serialize;

/// What makes what a project allows count.
pub const POLICY_ACCEPT: &str = "it came with the project; accept it with: cycod policy accept";

/// A rule, a list of what alone is allowed, or a floor.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub struct RuleView {
    /// The verdict, `allow-only`, `floor` or `min-version`.
    pub rule: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Whose calls it is about.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub surfaces: Option<Vec<&'static str>>,
    /// What a list is about, and what it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<String>>,
    pub layer: &'static str,
    pub place: String,
    pub why: Option<String>,
    pub in_force: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored_because: Option<&'static str>,
}

impl RuleView {
    /// Of a rule that is in force.
    pub fn of(rule: &Rule) -> Self {
        debug_assert!(rule.origin.layer != Layer::BuiltIn, "what always holds is not written down");
        Self {
            rule: rule.verdict.name(),
            pattern: Some(rule.pattern.to_string()),
            surfaces: Some(rule.surfaces.names()),
            kind: None,
            entries: None,
            layer: rule.origin.layer.name(),
            place: rule.origin.place.clone(),
            why: rule.why.clone(),
            in_force: true,
            ignored_because: None,
        }
    }

    /// Of a list.
    pub fn of_list(list: &Allowlist) -> Self {
        Self {
            rule: "allow-only",
            pattern: None,
            surfaces: None,
            kind: Some(list.kind.name()),
            entries: Some(list.entries().map(str::to_owned).collect()),
            layer: list.origin.layer.name(),
            place: list.origin.place.clone(),
            why: list.why.clone(),
            in_force: true,
            ignored_because: None,
        }
    }

    /// Of a floor.
    pub fn of_floor(floor: &Floor) -> Self {
        let (key, value) = floor.words();
        let is_version = matches!(floor.kind, FloorKind::Version { .. });
        Self {
            rule: if is_version { key } else { "floor" },
            pattern: is_version.then(|| value.to_owned()),
            surfaces: None,
            kind: (!is_version).then_some(key),
            entries: (!is_version).then(|| vec![value.to_owned()]),
            layer: floor.origin.layer.name(),
            place: floor.origin.place.clone(),
            why: floor.why.clone(),
            in_force: true,
            ignored_because: None,
        }
    }

    /// All of a place: those in force with the one first that outweighs the others, the lists and floors, then those that don't count.
    pub fn all(rules: &Rules) -> Vec<Self> {
        let policy = rules.policy(&[]);
        let ignored = rules.waiting().map(|(_, rule)| Self {
            in_force: false,
            ignored_because: Some(POLICY_ACCEPT),
            ..Self::of(&rule.rule)
        });
        let in_force = policy.rules().iter().map(Self::of);
        let limits = policy.lists().iter().map(Self::of_list).chain(policy.floors().iter().map(Self::of_floor));
        in_force.chain(limits).chain(ignored).collect()
    }

    /// The rule in words: `deny git-push`, `allow-only tools: git-*`.
    pub fn in_words(&self) -> String {
        match (&self.pattern, self.kind) {
            (Some(pattern), _) => format!("{} {pattern}", self.rule),
            (None, kind) => {
                let entries = self.entries.as_deref().unwrap_or_default().join(" ");
                format!("{} {}: {entries}", self.rule, kind.unwrap_or_default())
            }
        }
    }

    /// Whose calls it is about, in words.
    pub fn whose(&self) -> String {
        match &self.surfaces {
            Some(names) if names.len() < Surface::NAMES.len() => names.join(", "),
            _ => "all".to_owned(),
        }
    }
}

/// A verdict and the rule that speaks for it.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DecisionView {
    pub verdict: &'static str,
    pub rule: String,
    pub pattern: Option<String>,
    pub layer: &'static str,
    pub place: String,
    pub why: Option<String>,
}

impl DecisionView {
    /// Of a decision.
    pub fn of(decision: &Decision) -> Self {
        Self {
            verdict: decision.verdict.name(),
            rule: decision.rule.clone(),
            pattern: decision.pattern.clone(),
            layer: decision.origin.layer.name(),
            place: decision.origin.place.clone(),
            why: decision.why.clone(),
        }
    }
}

/// What would become of a call that comes one way, and why.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub struct WhyView {
    pub surface: &'static str,
    #[serde(flatten)]
    pub decision: DecisionView,
    /// The rules that apply as well, but are outweighed.
    pub overruled: Vec<DecisionView>,
    /// The commands that would change it.
    pub to_change_it: Vec<String>,
}

impl WhyView {
    /// Of everything that applies to a call of `tool`, by weight.
    pub fn of(surface: Surface, all: &[Decision], tool: &Tool) -> Option<Self> {
        let (decision, others) = all.split_first()?;
        // What only holds where nobody decided anything is no news beside what somebody decided.
        let overruled = || others.iter().filter(|other| !other.yields);
        let same = overruled().filter(|other| other.verdict == decision.verdict && decision.verdict != Verdict::Allow);
        let changes = std::iter::once(decision).chain(same).flat_map(|decision| change(decision, surface, tool));
        Some(Self {
            surface: surface.name(),
            decision: DecisionView::of(decision),
            overruled: overruled().map(DecisionView::of).collect(),
            to_change_it: changes.collect(),
        })
    }
}

/// The commands that take a decision away, or, where nobody decided anything, make another.
fn change(decision: &Decision, surface: Surface, tool: &Tool) -> Vec<String> {
    let name = match &tool.body {
        Body::Remote(remote) => format!("mcp:{}/{}", remote.server, remote.tool),
        _ => tool.name.to_string(),
    };
    let pattern = decision.pattern.as_deref();
    let scoped =
        |scope: &str| format!("cycod policy remove {} --{scope}", quoted_if_needed(pattern.unwrap_or_default()));
    let add = |verdict: &str| format!("cycod policy add {verdict} {} --user --for {surface}", quoted_if_needed(&name));
    match (decision.origin.layer, decision.verdict) {
        (Layer::Team, _) => vec!["ask the team, whose next release can change it: cycod team show".to_owned()],
        (Layer::Global | Layer::User | Layer::Local, _) if pattern.is_none() => {
            vec![format!("add it to the list in {}", decision.origin)]
        }
        (Layer::Global, _) => vec![scoped("global")],
        (Layer::User, _) => vec![scoped("user")],
        (Layer::Local, _) => vec![scoped("local")],
        (Layer::Environment, _) => vec![format!("take {} out of {}", pattern.unwrap_or_default(), decision.origin)],
        (Layer::CommandLine, _) => vec![format!("leave out {} {}", decision.origin, pattern.unwrap_or_default())],
        (Layer::BuiltIn, _) if decision.code == Code::PolicyBroken => vec!["cycod policy check".to_owned()],
        (Layer::BuiltIn, Verdict::Ask) if decision.yields => vec![add("allow")],
        (Layer::BuiltIn, Verdict::Allow) => vec![add("deny")],
        (Layer::BuiltIn, _) => Vec::new(),
    }
}

/// The command that adds a rule to the user's file.
pub fn policy_add(rule: &Rule) -> String {
    let whose = if rule.surfaces == Surfaces::ALL {
        String::new()
    } else {
        format!(" --for {}", rule.surfaces.names().join(","))
    };
    format!("cycod policy add {} {} --user{whose}", rule.verdict, quoted_if_needed(&rule.pattern.to_string()))
}
