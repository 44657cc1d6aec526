use std::fmt;

/// Something that deserves a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, as it is called below the place that is analysed, with `/` between its parts.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, where it is known.
    pub column: Option<u32>,
    /// How bad it is.
    pub severity: FindingSeverity,
    /// What it is about.
    pub kind: FindingKind,
    /// Who found it: `cycod` or an analyser.
    pub analyzer: &'static str,
    /// Which of their rules it breaks.
    pub rule: String,
    /// The other analysers that found it, each with the name of its rule.
    pub also: Vec<(&'static str, String)>,
    /// What was found. A secret is never part of it.
    pub message: String,
    /// The weakness by its number in the Common Weakness Enumeration.
    pub cwe: Option<u32>,
    /// What to do.
    pub help: Option<String>,
}

/// How bad a finding is; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingSeverity {
    /// Fix it.
    Error,
    /// Look at it.
    Warning,
    /// Worth knowing.
    Info,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Whether the code is right and can be read.
    Quality,
    /// Whether somebody can misuse it.
    Security,
}

impl FindingSeverity {
    /// Every severity, the worst first.
    pub const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for FindingSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Weaknesses that analysers number differently: of one group, all are the same at the same place.
const SAME: [&[u32]; 8] = [
    // Commands and code.
    &[77, 78, 88, 94, 95, 96, 116],
    // Secrets.
    &[259, 312, 321, 522, 798],
    // Weak cryptography.
    &[326, 327, 328, 916],
    // Trust in other servers.
    &[295, 297, 599],
    &[79, 80],
    &[89, 564, 943],
    &[377, 378, 379],
    &[120, 121, 122, 787],
];

impl Finding {
    /// Whether another analyser says the same.
    pub(crate) fn says_same(&self, other: &Self) -> bool {
        let weakness = |cwe: u32| SAME.iter().position(|group| group.contains(&cwe)).ok_or(cwe);
        let same_weakness = match (self.cwe, other.cwe) {
            (Some(one), Some(other)) => weakness(one) == weakness(other),
            // Some analysers have no numbers, and take the rules of others over with theirs.
            _ => number(&self.rule).is_some() && number(&self.rule) == number(&other.rule),
        };
        (self.kind, &self.file, self.line) == (other.kind, &other.file, other.line) && same_weakness
    }

    /// Takes in what another analyser says of the same, unless this analyser is among those that say it already.
    pub(crate) fn take_in(&mut self, other: &Self) -> bool {
        let is_known = self.analyzer == other.analyzer || self.also.iter().any(|(name, _)| *name == other.analyzer);
        if is_known || !self.says_same(other) {
            return false;
        }
        self.also.push((other.analyzer, other.rule.clone()));
        self.severity = self.severity.min(other.severity);
        self.cwe = self.cwe.or(other.cwe);
        true
    }

    /// The analysers that found it, each with its rule: `cycod/dangerous-eval, bandit/B307`.
    pub(crate) fn found_by(&self) -> String {
        let also = self.also.iter().map(|(analyzer, rule)| format!(", {analyzer}/{rule}"));
        format!("{}/{}{}", self.analyzer, self.rule, also.collect::<String>())
    }

    /// Whether it is about an assertion in a test, where assertions are the point.
    pub(crate) fn is_of_test(&self) -> bool {
        matches!((self.analyzer, self.rule.as_str()), ("bandit", "B101") | ("ruff", "S101")) && is_test(&self.file)
    }

    /// What findings are sorted by, so that the same code always gives the same report.
    pub(crate) fn order(&self) -> impl Ord + '_ {
        (&self.file, self.line, self.column, self.severity, self.analyzer, &self.rule, &self.message)
    }
}

/// The number of a rule of Bandit, by its own name or by the one that Ruff gives it: `B307` and `S307`.
fn number(rule: &str) -> Option<&str> {
    rule.strip_prefix(['B', 'S']).filter(|number| number.len() == 3 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a file holds tests, by its name or by a directory above it.
fn is_test(file: &str) -> bool {
    let (above, name) = file.rsplit_once('/').unwrap_or(("", file));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    above.split('/').any(|directory| matches!(directory, "test" | "tests" | "__tests__" | "spec"))
        || stem == "conftest"
        || stem.starts_with("test_")
        || [".test", ".spec", "_test", "_spec"].iter().any(|end| stem.ends_with(end))
}
