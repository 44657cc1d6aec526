use cycod_engine::{AnyOf, Selection, definition::Level};

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

    /// The tools that belong to it: those that one of these admits.
    pub(crate) fn selections(self) -> Vec<Selection> {
        let built_in = Selection { built_in: true, ..Selection::default() };
        let (groups, names): (&[(&str, Level)], &[&str]) = match self {
            Self::All => return vec![built_in],
            Self::ReadOnly => return vec![Selection { level: Some(Level::Read), ..built_in }],
            Self::CodeAnalysis => (&CODE_ANALYSIS, &["cli_analyze_code"]),
            Self::DataAnalysis => (&DATA_ANALYSIS, &["execute_code"]),
            Self::CodeGeneration => (&CODE_GENERATION, &["cli_analyze_code", "cli_run_quick"]),
        };
        let of_group = |(name, most): &(&str, Level)| Selection {
            groups: AnyOf::parse(name),
            level: Some(*most),
            ..built_in.clone()
        };
        let named = names.iter().map(|name| (*name).to_owned()).collect();
        groups.iter().map(of_group).chain([Selection { names: Some(named), ..Selection::default() }]).collect()
    }
}
