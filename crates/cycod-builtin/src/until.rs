use std::time::{Duration, Instant};

use cycod_diagnostic::{Code, Refusal};
use cycod_process::Stop;

use crate::failure::Failure;

/// How long a call may go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until<'a> {
    /// Ends it from outside.
    pub(crate) stop: &'a Stop,
    /// When it must have ended.
    pub(crate) deadline: Instant,
}

impl Until<'_> {
    /// Ends the call when it has been stopped or its time is over. Cheap enough to be asked for every entry of a directory.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.check_stop()?;
        if self.left().is_zero() {
            let late = Refusal::new(Code::TimedOut, "the time of the call was over before its work was done");
            return Err(late.attempt("narrow what is asked for, or raise the timeout").into());
        }
        Ok(())
    }

    /// Ends the call when it has been stopped. What a program said until its time was over is worth more than that it was.
    pub(crate) fn check_stop(&self) -> Result<(), Failure> {
        if self.stop.is_raised() {
            return Err(Refusal::new(Code::Cancelled, "the call was cancelled").into());
        }
        Ok(())
    }

    /// How much time is left.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}
