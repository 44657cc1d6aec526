//! Opening a file that was found by a path whose links were followed, so that it is still that file.

use std::{fs::File, io, path::Path};

/// Opens a file or directory for reading, whose links have been followed: one that was put into its path since is refused.
pub fn open(path: &Path) -> io::Result<File> {
    imp::open(path, false)
}

/// Opens a file for writing, empty.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    imp::open(path, true)
}

#[cfg(target_os = "linux")]
mod imp {
    use super::{File, Path, io};

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

    /// A program may put a link in the place of a directory after the path was looked at; the kernel then refuses.
    pub(super) fn open(path: &Path, writes: bool) -> io::Result<File> {
        let how = if writes { OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC } else { OFlags::RDONLY };
        // Not waiting for somebody at the other end, should it have become a pipe.
        let how = how | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(openat2(CWD, path, how, if writes { Mode::from(0o666) } else { Mode::empty() }, ResolveFlags::NO_SYMLINKS)?
            .into())
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::{File, Path, io};

    pub(super) fn open(path: &Path, writes: bool) -> io::Result<File> {
        if writes { File::create(path) } else { File::open(path) }
    }
}
