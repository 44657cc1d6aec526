use std::time::{Duration, Instant};

use cycod_process::Stop;

/// Waits for `pause`, or until somebody asks to stop or `deadline` has come.
pub(crate) fn pause(pause: Duration, deadline: Instant, stop: &Stop) {
    stop.wait(pause.min(deadline.saturating_duration_since(Instant::now())));
}
