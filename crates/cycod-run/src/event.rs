//! What a run reports while it runs.

use std::{
    borrow::{Borrow, Cow},
    fmt,
    sync::Arc,
    time::Duration,
};

use cycod_process::Stream;

use crate::Status;

/// Where a step stands: its name, after the names of the steps whose tools it runs in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepPath(Arc<str>);

/// A path is looked up by its text.
impl Borrow<str> for StepPath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl StepPath {
    /// The path of a step of the outermost tool.
    pub fn root(step: &str) -> Self {
        Self(step.into())
    }

    /// The path of a step of the tool that this step runs.
    #[must_use]
    pub fn child(&self, step: &str) -> Self {
        Self(format!("{}/{step}", self.0).into())
    }

    /// The path that [`as_str`](Self::as_str) gave.
    pub fn named(path: &str) -> Self {
        Self(path.into())
    }

    /// How many tools it lies in.
    pub fn depth(&self) -> usize {
        self.0.matches('/').count()
    }

    /// The names, joined by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// After how long a command counts as quiet.
pub const QUIET: Duration = Duration::from_millis(20);

/// Something that happened in a run. Secrets are masked.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// An attempt at a step began.
    StepStarted {
        /// Which step.
        step: StepPath,
        /// 1 for the first.
        attempt: u32,
        /// What is executed, or the tool that is called.
        command: String,
    },
    /// A step wrote something.
    Output {
        /// Which step.
        step: StepPath,
        /// Where to.
        stream: Stream,
        /// What.
        bytes: Cow<'a, [u8]>,
        /// Whether its author asked for it to be passed on as it comes.
        live: bool,
    },
    /// A step says how far it is.
    Progress {
        /// Which step.
        step: StepPath,
        /// How much is done; it only grows.
        done: f64,
        /// How much there is to do.
        total: Option<f64>,
        /// What is being done.
        message: Option<String>,
    },
    /// A step says something for the record, beside its output.
    Log {
        /// Which step.
        step: StepPath,
        /// How urgent it is, as syslog names it (RFC 5424): `debug`, `info`, `notice`, `warning`, `error`, `critical`,
        /// `alert`, `emergency`.
        level: String,
        /// What it says.
        message: String,
    },
    /// An attempt failed and another follows.
    Retrying {
        /// Which step.
        step: StepPath,
        /// How the attempt ended.
        exit_code: i32,
        /// How long until the next.
        pause: Duration,
    },
    /// All attempts failed and the fallback runs.
    FallingBack {
        /// Which step.
        step: StepPath,
    },
    /// A step does not run: its result is that of an earlier run.
    Cached {
        /// Which step.
        step: StepPath,
        /// The run in which it ran.
        run: String,
    },
    /// A step ended, or will not run.
    StepEnded {
        /// Which step.
        step: StepPath,
        /// How.
        status: Status,
        /// With which code.
        exit_code: i32,
        /// After how long.
        duration: Duration,
    },
    /// A command that runs has not said anything for [`QUIET`]: once at its start, and after each time that it said something.
    Quiet,
    /// Something that a person should know.
    Warning(String),
}

impl Event<'_> {
    /// The event with its own copy of what it holds, so that it can be kept.
    pub fn into_owned(self) -> Event<'static> {
        match self {
            Self::StepStarted { step, attempt, command } => Event::StepStarted { step, attempt, command },
            Self::Output { step, stream, bytes, live } => {
                Event::Output { step, stream, bytes: Cow::Owned(bytes.into_owned()), live }
            }
            Self::Progress { step, done, total, message } => Event::Progress { step, done, total, message },
            Self::Log { step, level, message } => Event::Log { step, level, message },
            Self::Retrying { step, exit_code, pause } => Event::Retrying { step, exit_code, pause },
            Self::FallingBack { step } => Event::FallingBack { step },
            Self::Cached { step, run } => Event::Cached { step, run },
            Self::StepEnded { step, status, exit_code, duration } => {
                Event::StepEnded { step, status, exit_code, duration }
            }
            Self::Quiet => Event::Quiet,
            Self::Warning(warning) => Event::Warning(warning),
        }
    }
}

/// Somebody who follows a run.
pub trait Sink {
    /// Takes note of an event. While it does not return, the run's output waits.
    fn event(&mut self, event: &Event<'_>);
}

/// A sink for runs that nobody follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl Sink for Ignore {
    fn event(&mut self, _event: &Event<'_>) {}
}
