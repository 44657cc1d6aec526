use std::fmt;

/// How dangerous a tool is; each level includes those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Only looks.
    Read,
    /// Changes files or data.
    Write,
    /// Executes whatever it likes; also the level of a tool that does not say.
    Run,
}

impl Level {
    /// Every level with the tag that declares it.
    pub const NAMES: [(&'static str, Self); 3] = [("read", Self::Read), ("write", Self::Write), ("run", Self::Run)];

    /// The tag that declares it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Run => "run",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
