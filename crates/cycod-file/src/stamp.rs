//! What tells one state of a file from another.
//!
//! A program can give a file any modification time it likes, so that a file of the same size looks unchanged. The change
//! time is the kernel's alone. Its clock is coarse, however: two changes in one tick carry the same time. So a stamp tells all
//! later changes only if the file had been left alone for at least [`SETTLING`] when it was taken.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::Look;

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
    /// Whether every change after `reading_began` must show.
    pub fn is_settled(&self, reading_began: i64, settling: Duration) -> bool {
        self.changed <= reading_began.saturating_sub(i64::try_from(settling.as_nanos()).unwrap_or(i64::MAX))
    }
}

#[cfg(unix)]
impl Stamp {
    /// The state of an open file.
    pub fn of(file: impl std::os::fd::AsFd) -> Option<Self> {
        rustix::fs::fstat(file).ok().as_ref().map(Self::from)
    }

    /// The state of the file at a path whose links are followed; nothing when there is none.
    pub fn at(path: &Path) -> Option<Self> {
        rustix::fs::stat(path).ok().as_ref().map(Self::from)
    }
}

#[cfg(unix)]
impl From<&rustix::fs::Stat> for Stamp {
    #[expect(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    fn from(stat: &rustix::fs::Stat) -> Self {
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

/// The standard library knows no change time here, and a program can set the modification time. So no change is sure to
/// show, and everything is read again.
#[cfg(not(unix))]
impl Stamp {
    /// The state of an open file.
    pub fn of(file: &std::fs::File) -> Option<Self> {
        Self::from_metadata(&file.metadata().ok()?)
    }

    /// The state of the file at a path whose links are followed; nothing when there is none.
    pub fn at(path: &Path) -> Option<Self> {
        Self::from_metadata(&std::fs::metadata(path).ok()?)
    }

    fn from_metadata(metadata: &std::fs::Metadata) -> Option<Self> {
        let modified = nanoseconds(metadata.modified().ok()?);
        Some(Self { device: 0, inode: 0, size: metadata.len(), modified, changed: i64::MAX })
    }
}

/// What was at a path before it was read, to tell later whether it has to be read again.
#[derive(Clone, Debug)]
pub struct Seen {
    path: PathBuf,
    stamp: Option<Stamp>,
    /// Whether every later change shows in the stamp.
    is_settled: bool,
}

impl Seen {
    /// Looks at a path. To be called before it is read.
    pub fn at(path: PathBuf) -> Self {
        let began = now();
        let stamp = Stamp::at(&path);
        let is_settled = stamp.is_none_or(|stamp| stamp.is_settled(began, SETTLING));
        Self { path, stamp, is_settled }
    }

    /// What a look found that began then.
    pub(crate) fn found(path: PathBuf, stamp: Stamp, began: i64) -> Self {
        Self { path, stamp: Some(stamp), is_settled: stamp.is_settled(began, SETTLING) }
    }

    /// What was there, for a memory that outlasts the process; nothing when a later change might not show.
    pub fn settled(&self) -> Option<Option<Stamp>> {
        self.is_settled.then_some(self.stamp)
    }

    /// What was there when [`Seen::settled`] said so.
    pub fn restored(path: PathBuf, stamp: Option<Stamp>) -> Self {
        Self { path, stamp, is_settled: true }
    }

    /// Where that was.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether something was there.
    pub fn is_there(&self) -> bool {
        self.stamp.is_some()
    }

    /// Whether nothing has certainly changed since the other look. A file that had just been changed then is never sure.
    pub fn is_as(&self, before: &Self) -> bool {
        before.is_settled && self.stamp == before.stamp
    }

    /// Whether what was read is certainly what is there now. A file that had just been changed is never sure to be.
    pub fn is_current(&self) -> bool {
        self.is_settled && Stamp::at(&self.path) == self.stamp
    }

    /// The same, as far as a look tells.
    pub fn is_current_in(&self, look: &Look) -> bool {
        self.is_settled && look.stamp(&self.path) == self.stamp
    }
}

/// The time in nanoseconds since 1970.
pub fn now() -> i64 {
    nanoseconds(SystemTime::now())
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Whether a name cannot come into the directory at this path without a change of its [`Stamp`].
pub fn keeps_names(directory: &Path) -> bool {
    #[cfg(unix)]
    return std::fs::File::open(directory)
        .is_ok_and(|directory| keeps_change_times(std::os::fd::AsFd::as_fd(&directory)));
    #[cfg(not(unix))]
    {
        _ = directory;
        false
    }
}

/// Whether the file system of `directory` keeps change times that a program cannot set.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn keeps_change_times(directory: std::os::fd::BorrowedFd<'_>) -> bool {
    const HONEST: [u64; 8] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // XFS
        0x9123_683e, // Btrfs
        0x0102_1994, // tmpfs
        0xf2f5_2010, // F2FS
        0x2fc1_2fc1, // ZFS
        0xca45_1a4e, // bcachefs
        0x794c_7630, // overlayfs, whose changed files live on one of the above
    ];
    rustix::fs::fstatfs(directory).is_ok_and(|system| HONEST.contains(&(system.f_type as u64 & 0xffff_ffff)))
}

/// Whether the file system of `directory` keeps change times that a program cannot set.
#[cfg(target_vendor = "apple")]
pub fn keeps_change_times(directory: std::os::fd::BorrowedFd<'_>) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|system| {
        let name: Vec<u8> = system.f_fstypename.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
        name == b"apfs" || name == b"hfs"
    })
}

/// Elsewhere none is known to.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android", target_vendor = "apple"))))]
pub fn keeps_change_times(_: std::os::fd::BorrowedFd<'_>) -> bool {
    false
}
