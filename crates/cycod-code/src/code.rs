use std::{fmt, str::FromStr};

use crate::{
    Code, Exit, OverMcp,
    surface::{Kind, Row},
};

impl Code {
    /// Returns the exit code of a command that is refused with it.
    pub const fn exit(self) -> Exit {
        let Row { exit, .. } = self.row();
        exit
    }

    /// Returns how a task of the Model Context Protocol ends that it ended.
    pub const fn over_mcp(self) -> OverMcp {
        let Row { over_mcp, .. } = self.row();
        over_mcp
    }

    /// Whether what was asked for was allowed and did not work out, so that trying it again, or in another way, may help.
    ///
    /// Everything else is a decision: a permission, a guard or a rule said no.
    pub fn is_mishap(self) -> bool {
        self.row().kind == Kind::Mishap
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text is not the name of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode;

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no code has this name")
    }
}

impl std::error::Error for UnknownCode {}

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(name: &str) -> Result<Self, UnknownCode> {
        let at = Self::ALL.binary_search_by_key(&name, |code| code.name()).map_err(|_| UnknownCode)?;
        Ok(Self::ALL[at])
    }
}
