use std::{fmt, str::FromStr};

use crate::{
    Code, Exit,
    surface::{Kind, OverMcp},
};

/// The numbers of JSON-RPC's errors, and that of the Model Context Protocol.
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;
const RESOURCE_NOT_FOUND: i32 = -32002;

impl Code {
    /// Returns how a call ends that is refused with it.
    pub const fn exit(self) -> Exit {
        self.row().exit
    }

    /// Returns the number of the JSON-RPC error with which a task of the Model Context Protocol fails that it ended. Nothing
    /// means that the task is completed, and its result is an error of the tool.
    pub const fn failure_of_task(self) -> Option<i32> {
        match self.row().over_mcp {
            OverMcp::ToolError | OverMcp::NotFound => None,
            OverMcp::InternalError => Some(INTERNAL_ERROR),
        }
    }

    /// Returns the number of the JSON-RPC error of a request over the Model Context Protocol that has no other way to say what
    /// is wrong, as for a prompt or a resource.
    pub fn error_over_mcp(self) -> i32 {
        match self.row().over_mcp {
            OverMcp::NotFound => RESOURCE_NOT_FOUND,
            OverMcp::ToolError if !self.is_mishap() => INVALID_PARAMS,
            OverMcp::ToolError | OverMcp::InternalError => INTERNAL_ERROR,
        }
    }

    /// Returns the status of an HTTP response that is refused with it.
    pub const fn http_status(self) -> u16 {
        self.row().over_http.status()
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
