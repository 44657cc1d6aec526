//! Whose turn it is to read the source.
//!
//! Every command wants to know whether the last sync is long ago, and whether it failed. One look at the file `tried` tells
//! both: it was changed when a sync last began, and is empty unless the sync failed in a way that a member must know about.
//! Of several commands that come at once, the one that changes this time has the turn. It holds the lock of the place meanwhile,
//! as a sync does all the time.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    time::{Duration, SystemTime},
};

use cycod_catalog::TeamPlace;

/// How long after one sync a command starts the next.
pub const SYNC_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// The file.
pub(crate) const TRIED: &str = "tried";

/// The file that is locked while anything is written.
pub(crate) const LOCK: &str = "lock";

/// What one look tells about the last sync of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastSync {
    /// How long it takes until the next one is due.
    pub due_in: Duration,
    /// Whether it failed, for another reason than that the source is away.
    pub has_failed: bool,
}

impl LastSync {
    /// Looks at a place where a team was joined.
    pub fn of(place: &TeamPlace, now: SystemTime) -> Self {
        match fs::metadata(place.directory.join(TRIED)) {
            Ok(metadata) => Self { due_in: due_in(metadata.modified(), now), has_failed: metadata.len() > 0 },
            Err(_) => Self { due_in: Duration::ZERO, has_failed: false },
        }
    }
}

/// Takes the turn to sync. There is none while another process syncs or has just begun to, or if only other users can write
/// here.
pub fn take_turn(place: &TeamPlace, now: SystemTime) -> bool {
    let Ok(lock) = File::options().write(true).open(place.directory.join(LOCK)) else { return false };
    lock.try_lock().is_ok() && LastSync::of(place, now).due_in.is_zero() && begin(place, now).is_ok()
}

/// Takes the turn to sync for something that happened at `at`, unless another process has begun since.
pub fn take_turn_after(place: &TeamPlace, at: SystemTime, now: SystemTime) -> bool {
    let Ok(lock) = File::options().write(true).open(place.directory.join(LOCK)) else { return false };
    let tried = |place: &TeamPlace| fs::metadata(place.directory.join(TRIED)).and_then(|metadata| metadata.modified());
    lock.try_lock().is_ok() && tried(place).is_ok_and(|tried| tried <= at) && begin(place, now).is_ok()
}

/// Notes that a sync begins now.
pub(crate) fn begin(place: &TeamPlace, now: SystemTime) -> io::Result<()> {
    let file = File::options().create(true).truncate(false).write(true).open(place.directory.join(TRIED))?;
    file.set_modified(now)
}

/// Notes how the sync ended that began at `now`.
pub(crate) fn end(place: &TeamPlace, has_failed: bool, now: SystemTime) -> io::Result<()> {
    let mut file = File::create(place.directory.join(TRIED))?;
    if has_failed {
        file.write_all(b"failed, see state.json\n")?;
    }
    file.set_modified(now)
}

/// A time in the future is of a clock that was wrong, and so as good as none.
fn due_in(modified: io::Result<SystemTime>, now: SystemTime) -> Duration {
    match modified.map(|at| now.duration_since(at)) {
        Ok(Ok(age)) => SYNC_INTERVAL.saturating_sub(age),
        Ok(Err(ahead)) if ahead.duration() < SYNC_INTERVAL => SYNC_INTERVAL,
        _ => Duration::ZERO,
    }
}
