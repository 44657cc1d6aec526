//! When everything ends that this process has started, whatever has become of the process itself.

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

static EXPIRY: Mutex<Option<Instant>> = Mutex::new(None);

/// Ends every program at an instant, also if this process is stopped or gets no time then.
///
/// It counts for programs that start afterward, and may be moved as long as it isn't over: a process that has something for a time
/// only moves it each time that it has it for longer. After it, no program starts. Where there is no warden, only that holds.
pub fn expire_at(at: Option<Instant>) {
    *EXPIRY.lock().unwrap_or_else(PoisonError::into_inner) = at;
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    crate::warden::expire_at(at);
}

/// Returns whether the instant is over.
pub(crate) fn has_expired() -> bool {
    EXPIRY.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| Instant::now() >= at)
}
