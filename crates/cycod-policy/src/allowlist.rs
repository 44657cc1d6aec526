use std::fmt;

use cycod_definition::StartedProgram;
use cycod_diagnostic::Code;

use crate::{Decision, Origin, Subject, Verdict, glob::Glob};

/// What a list of what is allowed is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllowedKind {
    /// Tools, by their names.
    Tools,
    /// Where tools come from: `built-in`, `teams`, `mcp`, `custom`.
    Sources,
    /// MCP servers, by their names.
    Servers,
    /// Language models, as `PROVIDER/NAME`.
    Models,
    /// Programs that tools start, by name or path, and servers as `mcp:NAME`.
    Commands,
}

impl AllowedKind {
    /// Each kind with its key in a file of rules.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("tools", Self::Tools),
        ("sources", Self::Sources),
        ("servers", Self::Servers),
        ("models", Self::Models),
        ("commands", Self::Commands),
    ];

    /// Its key in a file of rules.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// What alone is allowed: what it does not name is denied, whatever else allows it. An empty list allows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowlist {
    /// What it is about.
    pub kind: AllowedKind,
    /// Where it stands.
    pub origin: Origin,
    /// Why, in its author's words.
    pub why: Option<String>,
    names: Vec<Glob>,
}

impl Allowlist {
    /// A list of names, in which `*` stands for any characters.
    pub fn new<'a>(kind: AllowedKind, names: impl IntoIterator<Item = &'a str>, origin: Origin) -> Self {
        let name = if kind == AllowedKind::Commands { Glob::as_written } else { Glob::new };
        Self { kind, origin, why: None, names: names.into_iter().map(name).collect() }
    }

    /// Whether it names something.
    pub fn names(&self, name: &str) -> bool {
        self.names.iter().any(|known| match self.kind {
            AllowedKind::Commands => known.matches_program(name),
            _ => known.matches(name),
        })
    }

    /// What it names, as it was written but for case.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(Glob::as_str)
    }

    /// What of a tool it doesn't name; nothing when the tool may be used, as far as this list goes.
    fn lacks<'a>(&self, subject: &Subject<'a>) -> Option<&'a str> {
        let asked = match self.kind {
            AllowedKind::Tools => Some(subject.name),
            AllowedKind::Sources => Some(subject.source),
            AllowedKind::Servers => subject.remote.map(|(server, _)| server),
            AllowedKind::Models | AllowedKind::Commands => None,
        };
        asked.filter(|asked| !self.names(asked))
    }

    /// The decision about a tool; `through` is its name, when it is one that is reached.
    pub(crate) fn decide(&self, subject: &Subject<'_>, through: Option<&str>) -> Option<Decision> {
        if self.kind == AllowedKind::Commands {
            return self.program_not_named(subject).map(|what| self.denying(&what, ""));
        }
        Some(self.denied(self.lacks(subject)?, through))
    }

    /// Why a tool starts a program that may be one which the list doesn't name.
    fn program_not_named(&self, subject: &Subject<'_>) -> Option<String> {
        let tool = subject.name;
        if let Some((server, _)) = subject.remote {
            let server = format!("mcp:{server}");
            return (!self.names(&server)).then(|| format!("doesn't name `{server}`, which has the tool `{tool}`"));
        }
        let Some(programs) = &subject.programs else {
            return Some(format!("limits which programs run, and cycod can't tell which `{tool}` starts"));
        };
        programs.iter().find_map(|program| match program {
            StartedProgram::Named(name) if self.names(name) => None,
            StartedProgram::Named(name) => Some(format!("doesn't name `{name}`, which `{tool}` starts")),
            StartedProgram::Unknown(what) => {
                Some(format!("limits which programs run, and `{tool}` runs what cycod can't tell in advance: {what}"))
            }
        })
    }

    /// The decision about a model.
    pub(crate) fn decide_model(&self, model: &str) -> Option<Decision> {
        (self.kind == AllowedKind::Models && !self.names(model)).then(|| self.denied(model, None))
    }

    fn denied(&self, what: &str, through: Option<&str>) -> Decision {
        let through = through.map(|tool| format!("; it reaches `{tool}`")).unwrap_or_default();
        self.denying(&format!("doesn't name `{what}`"), &through)
    }

    fn denying(&self, what: &str, through: &str) -> Decision {
        Decision {
            rule: format!("{self} {what}{}{through}", self.origin.reason(self.why.as_deref())),
            origin: self.origin.clone(),
            why: self.why.clone(),
            ..Decision::built_in(Verdict::Deny, "", Code::DeniedByPolicy)
        }
    }
}

impl fmt::Display for Allowlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`allow-only: {}` ({})", self.kind.name(), self.origin)
    }
}
