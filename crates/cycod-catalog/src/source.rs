use std::fmt;

use crate::Scope;

/// Where a tool comes from, in the words of those who ask what tools cost; an earlier one is listed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolSource {
    /// This program.
    BuiltIn,
    /// The team, or the administrator of this machine, shares it with every user here.
    Teams,
    /// Another program, over the Model Context Protocol.
    Mcp,
    /// The user, or the project.
    Custom,
}

impl ToolSource {
    /// Every source, the first listed first, with its name.
    pub const NAMES: [(&'static str, Self); 4] =
        [("built-in", Self::BuiltIn), ("teams", Self::Teams), ("mcp", Self::Mcp), ("custom", Self::Custom)];

    /// What it is called.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, source)| *source == self).map_or("", |(name, _)| name)
    }

    /// How a list marks it.
    pub fn badge(self) -> &'static str {
        match self {
            Self::BuiltIn => "[Built-in]",
            Self::Teams => "[Teams]",
            Self::Mcp => "[MCP]",
            Self::Custom => "[Custom]",
        }
    }
}

impl fmt::Display for ToolSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Scope {
    /// The source of the tools of this scope.
    pub fn source(self) -> ToolSource {
        match self {
            Self::Local | Self::User => ToolSource::Custom,
            Self::Global | Self::Team => ToolSource::Teams,
            Self::Mcp => ToolSource::Mcp,
            Self::BuiltIn => ToolSource::BuiltIn,
        }
    }
}
