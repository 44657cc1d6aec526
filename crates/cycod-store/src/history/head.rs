//! How far the rows once went: a file of one line, written after the row it names.

use std::{
    fs::{File, Metadata},
    path::Path,
    str::FromStr,
};

use crate::{Digest, StoreError, private};

/// A row, and with it all rows before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number; 0 before the first.
    pub seq: u64,
    /// Its digest.
    pub digest: Digest,
}

impl Default for Head {
    fn default() -> Self {
        Head { seq: 0, digest: Digest([0; 32]) }
    }
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.seq, self.digest)
    }
}

/// Reads `NUMBER:DIGEST`.
impl FromStr for Head {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Head, StoreError> {
        let bad = || StoreError::BadHead(text.to_owned());
        let (seq, digest) = text.split_once(':').ok_or_else(bad)?;
        Ok(Head { seq: seq.parse().map_err(|_| bad())?, digest: digest.parse()? })
    }
}

/// Opens the file, empty when it is new, and waits until nobody else changes it.
pub(super) fn lock(path: &Path) -> Result<(File, Metadata), StoreError> {
    let (file, metadata) = private::open_looked_at(private::options().write(true).create(true), path)?;
    file.lock().map_err(StoreError::io("lock", path))?;
    Ok((file, metadata))
}

/// Reads the head; nothing when there is no file, or an empty one.
pub(super) fn read(path: &Path) -> Result<Option<Head>, StoreError> {
    match private::open(&private::options(), path) {
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        file => {
            let file = file?;
            file.lock_shared().map_err(StoreError::io("lock", path))?;
            Ok(content(&file, path)?.map(|(head, _)| head))
        }
    }
}

/// Writes a head, and how long the tail is with it, into the file, which the caller has locked.
pub(super) fn put(file: &File, path: &Path, head: Head, tail: u64) -> Result<(), StoreError> {
    // Always as long, and written at once: there is never half of one.
    let line = format!("{:020}:{}:{tail:020}\n", head.seq, head.digest);
    write_at_start(file, line.as_bytes()).map_err(StoreError::io("write", path))
}

/// Reads the file, which the caller has locked: the head, and how long the tail is, where that is written.
pub(super) fn content(file: &File, path: &Path) -> Result<Option<(Head, Option<u64>)>, StoreError> {
    let mut bytes = [0; 200];
    let length = read_at_start(file, &mut bytes).map_err(StoreError::io("read", path))?;
    if length == 0 {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes[..length]);
    let text = text.trim_end();
    let (head, tail) = match text.rsplit_once(':') {
        Some((head, tail)) if head.contains(':') => (head, tail.parse().ok()),
        _ => (text, None),
    };
    head.parse().map(|head| Some((head, tail))).map_err(|_| StoreError::Malformed {
        path: path.to_owned(),
        expected: "the head of a history",
        why: "it does not hold a number and a digest".to_owned(),
    })
}

#[cfg(unix)]
fn read_at_start(file: &File, bytes: &mut [u8]) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn read_at_start(mut file: &File, bytes: &mut [u8]) -> std::io::Result<usize> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(0))?;
    file.read(bytes)
}

#[cfg(unix)]
fn write_at_start(file: &File, bytes: &[u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}
