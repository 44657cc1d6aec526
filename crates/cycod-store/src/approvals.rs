//! What people allow: the requests that wait for somebody's answer, and the answers that stand.
//!
//! ```text
//! approvals/
//!   lock                    held while anything below changes
//!   watch                   held, shared, by programs that answer requests as they come
//!   queue/ID.KEY.json       a request, never changed; KEY is the digest of what the answer is good for
//!         ID.wait           held by the process that waits for the answer; unheld, it died and the request with it
//!         ID.answer         the answer, until the process that asked, or the next same call, takes it
//!   standing/NAME.json      an answer that stands, named by the digest of what it is good for and of its session
//! ```
//!
//! All changes happen under one lock of the kernel's, which ends with its process, and every file comes to its name
//! whole. So whenever a process is killed, a request is there or not, and answered or not. Looking takes no lock.

mod queue;
mod standing;

use std::{
    fs::{self, File},
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
};

use cycod_file::{Durability, FileAccess};
use serde::{Serialize, de::DeserializeOwned};

use crate::{StoreError, private};

pub use queue::{Asked, PendingRequest, RequestId, WaitingRequest, Watching};
pub use standing::StandingAnswer;

/// The approvals of a user.
#[derive(Clone, Debug)]
pub struct Approvals {
    directory: PathBuf,
}

impl Approvals {
    /// Names the directory, which is made by the first change.
    pub fn open(directory: &Path) -> Approvals {
        Approvals { directory: directory.to_owned() }
    }

    /// Whether any answer stands: with none, nobody need know what one would be good for.
    pub fn has_standing(&self) -> bool {
        fs::read_dir(self.directory.join("standing")).is_ok_and(|mut files| files.next().is_some())
    }

    /// Waits until nobody else changes anything. The lock lasts as long as the file is open.
    fn lock(&self) -> Result<File, StoreError> {
        private::directory(&self.directory)?;
        let path = self.directory.join("lock");
        let file = private::open(private::options().write(true).create(true), &path)?;
        file.lock().map_err(StoreError::io("lock", &path))?;
        Ok(file)
    }
}

/// Puts a whole file in its place. Only the holder of the lock does.
fn write(path: &Path, row: &impl Serialize) -> Result<(), StoreError> {
    let json = serde_json::to_vec(row).map_err(|error| malformed(path, error.to_string()))?;
    cycod_file::replace(path, &json, FileAccess::Private, Durability::Power).map_err(StoreError::io("write", path))
}

/// Reads a file, if it is there; one that cannot be understood is an error.
fn read<R: DeserializeOwned>(path: &Path) -> Result<Option<R>, StoreError> {
    let mut file = match private::open(&private::options(), path) {
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(StoreError::io("read", path))?;
    serde_json::from_str(&text).map(Some).map_err(|error| malformed(path, error.to_string()))
}

/// The names in a directory; none when there is no directory.
fn names(directory: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(StoreError::io("list", directory))?,
    };
    // Names that are not Unicode are none of ours.
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().into_string()));
    let names: Result<Vec<_>, _> = names.filter_map(|name| name.map(Result::ok).transpose()).collect();
    names.map_err(StoreError::io("list", directory))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// How what has one spelling is written.
mod as_text {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

fn malformed(path: &Path, why: impl Into<String>) -> StoreError {
    StoreError::Malformed { path: path.to_owned(), expected: "an approval", why: why.into() }
}
