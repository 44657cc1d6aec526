/// What a code means wherever it is answered with.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) exit: Exit,
    pub(crate) over_mcp: OverMcp,
    pub(crate) over_http: OverHttp,
    pub(crate) kind: Kind,
}

impl Row {
    /// What is only said of files. Where a call ends with it nevertheless, it fails plainly.
    pub(crate) const FILE: Self = Self {
        exit: Exit::Failure,
        over_mcp: OverMcp::ToolError,
        over_http: OverHttp::Unprocessable,
        kind: Kind::Decision,
    };
}

/// How a call ends that was refused: the command line, and the run in its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Something failed.
    Failure,
    /// What was given is wrong.
    Usage,
    /// Running was not approved.
    NotApproved,
    /// A limit of time ended it.
    TimedOut,
    /// A program could not be started.
    NotStarted,
    /// A program that we start is missing.
    ProgramMissing,
    /// A limit of memory ended it.
    OutOfMemory,
    /// It was stopped from outside.
    Stopped,
}

impl Exit {
    /// Returns the exit code of the process. From 124 on they are those that shells and `timeout` use.
    pub const fn number(self) -> u8 {
        match self {
            Self::Failure => 1,
            Self::Usage => 2,
            Self::NotApproved => 3,
            Self::TimedOut => 124,
            Self::NotStarted => 126,
            Self::ProgramMissing => 127,
            Self::OutOfMemory => 137,
            Self::Stopped => 143,
        }
    }

    /// Returns the exit code in a result. What ended at a limit of time has no code of its own: it is -1.
    pub const fn in_result(self) -> i32 {
        match self {
            Self::TimedOut => -1,
            other => other.number() as i32,
        }
    }
}

/// What a refusal is over the Model Context Protocol.
///
/// Who waits for a call is always answered with a result, so that a model can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverMcp {
    /// The result is an error of the tool; a task is completed with it.
    ToolError,
    /// As an error of the tool; a resource that was asked for is not there.
    NotFound,
    /// The run could not be carried out at all: a task has failed.
    InternalError,
}

/// The status of an HTTP response that is a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverHttp {
    /// The request is wrong.
    BadRequest,
    /// It was understood, and is not allowed.
    Forbidden,
    /// There is nothing of this name.
    NotFound,
    /// It does not go with how things are.
    Conflict,
    /// The tool, or a value for it, cannot be used as it is.
    Unprocessable,
    /// A limit of how much, or how often, was reached.
    TooManyRequests,
    /// The run broke off.
    InternalError,
    /// A server behind us did not do its part.
    BadGateway,
    /// Something is missing here.
    Unavailable,
    /// A limit of time was reached.
    GatewayTimeout,
}

impl OverHttp {
    /// Returns the number of the status.
    pub(crate) const fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::Unprocessable => 422,
            Self::TooManyRequests => 429,
            Self::InternalError => 500,
            Self::BadGateway => 502,
            Self::Unavailable => 503,
            Self::GatewayTimeout => 504,
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
