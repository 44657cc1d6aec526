//! Opening a file that was found by a path whose links were followed, so that it is still that file.

use std::{fs::File, io, path::Path};

/// Opens a file or directory for reading, whose links have been followed: one that was put into its path since is refused.
pub fn open_plain(path: &Path) -> io::Result<File> {
    imp::open(path, Mode::Read)
}

/// Opens a file for writing, empty.
pub fn create_plain(path: &Path) -> io::Result<File> {
    imp::open(path, Mode::Create)
}

/// Opens a file for writing after what is in it.
pub fn append_plain(path: &Path) -> io::Result<File> {
    imp::open(path, Mode::Append)
}

/// What a file is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Create,
    Append,
}

#[cfg(target_os = "linux")]
mod imp {
    use super::{File, Mode, Path, io};

    use rustix::fs::{CWD, Mode as Bits, OFlags, ResolveFlags, openat2};

    /// A program may put a link in the place of a directory after the path was looked at; the kernel then refuses.
    pub(super) fn open(path: &Path, mode: Mode) -> io::Result<File> {
        let how = match mode {
            Mode::Read => OFlags::RDONLY,
            Mode::Create => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
            Mode::Append => OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND,
        };
        // Not waiting for somebody at the other end, should it have become a pipe.
        let how = how | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let bits = if mode == Mode::Read { Bits::empty() } else { Bits::from(0o666) };
        Ok(openat2(CWD, path, how, bits, ResolveFlags::NO_SYMLINKS)?.into())
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::{File, Mode, Path, io};

    pub(super) fn open(path: &Path, mode: Mode) -> io::Result<File> {
        match mode {
            Mode::Read => File::open(path),
            Mode::Create => File::create(path),
            Mode::Append => File::options().append(true).create(true).open(path),
        }
    }
}
