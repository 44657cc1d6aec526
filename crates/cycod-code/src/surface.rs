/// What a code means wherever it is answered with.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) exit: Exit,
    pub(crate) over_mcp: OverMcp,
    pub(crate) kind: Kind,
}

impl Row {
    /// What is only said of files. Where a call ends with it nevertheless, it fails plainly.
    pub(crate) const FILE: Self = Self { exit: Exit::Failure, over_mcp: OverMcp::ToolError, kind: Kind::Decision };
}

/// How the command line ends that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Something failed.
    Failure,
    /// What was given is wrong.
    Usage,
    /// Running was not approved.
    NotApproved,
}

impl Exit {
    /// Returns the exit code of the process.
    pub const fn number(self) -> u8 {
        match self {
            Self::Failure => 1,
            Self::Usage => 2,
            Self::NotApproved => 3,
        }
    }
}

/// How a task of the Model Context Protocol ends whose run ended with a refusal.
///
/// Who waits for a call is always answered with a result, so that a model can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverMcp {
    /// The task is completed, and its result is an error of the tool.
    ToolError,
    /// The task has failed with JSON-RPC's internal error: the run could not be carried out at all.
    InternalError,
}

impl OverMcp {
    /// Returns the number of the JSON-RPC error, where it is one.
    pub const fn error(self) -> Option<i32> {
        match self {
            Self::ToolError => None,
            Self::InternalError => Some(-32603),
        }
    }
}

/// Whether somebody said no.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A permission, a guard or a rule said no, or the call asked for what cannot be.
    Decision,
    /// What was asked for was allowed and did not work out.
    Mishap,
}
