use cycod_engine::{catalog::Entry, definition::Level};

/// A choice of tools for a kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Every tool.
    All,
    /// Whatever changes nothing.
    ReadOnly,
    /// Reads code and says something about it.
    CodeAnalysis,
    /// Reads data and computes with it.
    DataAnalysis,
    /// Writes code and tries it.
    CodeGeneration,
}

/// What is up to each preset: the groups of tools with the most dangerous level that is taken from each, and tools by name.
const CODE_ANALYSIS: [(&str, Level); 4] =
    [("files", Level::Read), ("context", Level::Read), ("vcs", Level::Read), ("code", Level::Read)];
const DATA_ANALYSIS: [(&str, Level); 4] =
    [("files", Level::Read), ("context", Level::Read), ("data", Level::Run), ("code", Level::Read)];
const CODE_GENERATION: [(&str, Level); 4] =
    [("files", Level::Run), ("context", Level::Run), ("vcs", Level::Run), ("code", Level::Run)];

impl Preset {
    /// Every preset with its name.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("all", Self::All),
        ("read_only", Self::ReadOnly),
        ("code_analysis", Self::CodeAnalysis),
        ("data_analysis", Self::DataAnalysis),
        ("code_generation", Self::CodeGeneration),
    ];

    /// The preset called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, preset)| preset)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, preset)| *preset == self).map_or("", |(name, _)| name)
    }

    /// Whether a tool belongs to it.
    pub(crate) fn admits(self, entry: &Entry) -> bool {
        let (groups, names): (&[(&str, Level)], &[&str]) = match self {
            Self::All => return true,
            Self::ReadOnly => return entry.level == Level::Read,
            Self::CodeAnalysis => (&CODE_ANALYSIS, &["cli_analyze_code"]),
            Self::DataAnalysis => (&DATA_ANALYSIS, &["execute_code"]),
            Self::CodeGeneration => (&CODE_GENERATION, &["cli_analyze_code", "cli_run_quick"]),
        };
        let group = entry.summary.group.as_deref().unwrap_or_default();
        groups.iter().any(|(name, most)| group.eq_ignore_ascii_case(name) && entry.level <= *most)
            || names.iter().any(|name| entry.name.eq_ignore_ascii_case(name))
    }
}
