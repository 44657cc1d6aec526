use std::time::SystemTime;

use cycod_store::RunId;

/// When a call began, and what its run is called: the same whenever the call is planned again, so that what somebody was
/// shown is what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The moment.
    pub moment: SystemTime,
    /// The name, which no other run has.
    pub run_id: String,
}

impl Beginning {
    /// A call that begins at this moment.
    pub fn at(moment: SystemTime) -> Self {
        Self { moment, run_id: run_id() }
    }
}

/// A name for a run that no other run has: random, or time, process and a count where the system gives no random bytes.
pub(crate) fn run_id() -> String {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        time::UNIX_EPOCH,
    };
    static COUNT: AtomicU32 = AtomicU32::new(0);
    RunId::random().map_or_else(
        |_| {
            let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            format!("{:x}-{:x}-{count:x}", nanos & 0xffff_ffff_ffff, std::process::id())
        },
        |id| id.to_string(),
    )
}
