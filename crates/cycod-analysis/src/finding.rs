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
    pub severity: Severity,
    /// What it is about.
    pub kind: Kind,
    /// Who found it: `cycod` or an analyser.
    pub analyzer: &'static str,
    /// Which of their rules it breaks.
    pub rule: String,
    /// What was found. A secret is never part of it.
    pub message: String,
    /// The weakness by its number in the Common Weakness Enumeration.
    pub cwe: Option<u32>,
    /// What to do.
    pub help: Option<String>,
}

/// How bad a finding is; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Fix it.
    Error,
    /// Look at it.
    Warning,
    /// Worth knowing.
    Info,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Whether the code is right and can be read.
    Quality,
    /// Whether somebody can misuse it.
    Security,
}

impl Severity {
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

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Finding {
    /// What findings are sorted by, so that the same code always gives the same report.
    pub(crate) fn order(&self) -> impl Ord + '_ {
        (&self.file, self.line, self.column, self.severity, self.analyzer, &self.rule, &self.message)
    }
}
