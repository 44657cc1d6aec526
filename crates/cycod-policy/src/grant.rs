use cycod_definition::Level;

/// Something that was allowed beforehand, such as by `--auto-approve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Tools of this level and below.
    Level(Level),
    /// One tool, by name.
    Tool(String),
}

impl Grant {
    /// Reads a grant: `read`, `write`, `run`, `*` for everything, or a tool's name, also as `tool:NAME`.
    ///
    /// `tool:read`, `tool:write` and `tool:run` are the levels, as the bare words are.
    ///
    /// # Errors
    /// When the text is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        let word = text.strip_prefix("tool:").unwrap_or(text).trim();
        Ok(match word {
            "read" => Self::Level(Level::Read),
            "write" => Self::Level(Level::Write),
            "run" | "*" => Self::Level(Level::Run),
            name if cycod_definition::ToolName::new(name).is_some() => Self::Tool(name.to_owned()),
            _ => return Err(format!("`{text}` is neither a level (read, write, run), nor `*`, nor a tool's name")),
        })
    }

    /// Whether it allows a tool of this name and level.
    pub fn covers(&self, tool: &str, level: Level) -> bool {
        match self {
            Self::Level(granted) => level <= *granted,
            Self::Tool(name) => name.eq_ignore_ascii_case(tool),
        }
    }
}

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Level(level) => level.fmt(f),
            Self::Tool(name) => f.write_str(name),
        }
    }
}
