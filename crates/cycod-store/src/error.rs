use std::{io, path::PathBuf};

/// How a user closes a file to others.
const CLOSE: &str = if cfg!(windows) { "take the others from its access list with `icacls`" } else { "`chmod go=`" };

/// Why something could not be stored or read back.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused.
    #[error("failed to {doing} `{}`", path.display())]
    Io {
        /// What we were doing, such as `write`.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system has no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// A file that must be only ours is not.
    #[error("`{}` {why}, and contains what only you may read: check it, then remove it or {CLOSE}", path.display())]
    NotPrivate {
        /// The file or directory.
        path: PathBuf,
        /// Such as `can be read by others`.
        why: &'static str,
    },
    /// A file is not what its name says.
    #[error("`{}` is not {expected}: {why}; move it away to start again", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Such as `a key of 32 bytes`.
        expected: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A file to which one process at a time may add, and another does.
    #[error("another process is at work with `{}`", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// An output of this run and name exists.
    #[error("output `{0}` exists")]
    Exists(String),
    /// A text that names no output.
    #[error("`{0}` names no output: expected 32 hexadecimal digits, `/`, and up to 80 of `A-Z a-z 0-9 _ -`")]
    BadId(String),
    /// A text that is no digest.
    #[error("`{0}` is not a digest: expected 64 lower-case hexadecimal digits")]
    BadDigest(String),
    /// A text that is no head of a history.
    #[error("`{0}` names no row of a history: expected `NUMBER:DIGEST`, as `cycod runs head` prints it")]
    BadHead(String),
    /// A text that names no request for an approval.
    #[error("`{0}` names no request: expected 8 of `a-z 2-8` without `l`")]
    BadRequestId(String),
    /// A request for an approval that is not there any more.
    #[error("no request `{0}` waits: it was answered and used, it was withdrawn, or its time is over")]
    NotWaiting(String),
    /// A request for an approval that somebody else answered.
    #[error("the request `{0}` was answered already")]
    AlreadyAnswered(String),
    /// So many requests for approvals wait that no more are taken.
    #[error("{most} requests for approvals wait already")]
    QueueFull {
        /// How many there may be.
        most: usize,
    },
    /// A request for an approval that nobody could read.
    #[error("the request for an approval is larger than {most} bytes")]
    RequestTooLarge {
        /// How many bytes it may have.
        most: usize,
    },
    /// A result of a step that takes too much room.
    #[error("the result of the step is larger than {most} bytes")]
    TooLarge {
        /// How many bytes it may have.
        most: u64,
    },
    /// The spool failed before; its output is lost.
    #[error("an earlier write of this output failed")]
    Failed,
    /// A pattern that does not compile, or only to something too large.
    #[error("the pattern cannot be used: {0}")]
    Pattern(#[source] Box<regex::Error>),
    /// An output that a jq program cannot read.
    #[error(
        "jq reads JSON text up to {} bytes, this output {why}; use `search` or `slice` to take a part",
        crate::jq::LARGEST
    )]
    NotForJq {
        /// Such as `has 70,000,000`.
        why: String,
    },
    /// A jq program that did not come to its end.
    #[error(
        "the jq program was stopped: it may use {} seconds, {} GiB of memory and limited recursion; narrow it",
        crate::jq::TIME.as_secs(), crate::jq::MEMORY >> 30
    )]
    JqStopped,
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.into();
        move |source| StoreError::Io { doing, path, source }
    }
}
