//! What tells one state of a file from another; see [`index`](crate::index) for why that is enough.

use std::{
    os::fd::AsFd,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::{Stat, fstat};

/// How long a file must have been left alone before its change time tells all later changes apart: the coarsest
/// clock of a file system in use (FAT and ext3 keep whole seconds, two at worst).
pub const SETTLING: Duration = Duration::from_secs(2);

/// What identifies a state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
    /// How many bytes it has.
    pub size: u64,
    /// When it was last written, in nanoseconds from 1970, as programs can say.
    pub modified: i64,
    /// When it was last changed, as nobody can say.
    pub changed: i64,
}

impl Stamp {
    /// The state of an open file.
    pub fn of(file: impl AsFd) -> Option<Self> {
        fstat(file).ok().map(|stat| Self::from(&stat))
    }

    /// Whether every change after `reading_began` must show.
    pub fn is_settled(&self, reading_began: i64, settling: Duration) -> bool {
        self.changed <= reading_began.saturating_sub(i64::try_from(settling.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl From<&Stat> for Stamp {
    #[expect(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    fn from(stat: &Stat) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

/// The time in nanoseconds since 1970.
pub fn now() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(_) => 0,
    }
}
