//! What it takes to go on with a run after a crash: entries in a file that only this user on this machine can read.
//!
//! ```text
//!   journals/<run>.state   length ─ nonce ─ sealed entry │ length ─ nonce ─ sealed entry │ …
//! ```
//!
//! Entries hold what the journal must not: arguments and results as they are, secrets included. Each is sealed with
//! ChaCha20-Poly1305 under a key for this run, made of one that stays on this machine. It is bound to the run and to its
//! place, so no entry can be changed, moved or left out. An entry that was only begun when the process died is cut off.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::Sha256;

use crate::{RunId, StoreError, id::random, private, secret_key};

/// The length of an entry and its nonce.
const HEAD: usize = 4 + NONCE_LEN;

/// What a run can be continued from. One process at a time holds it.
#[derive(Debug)]
pub struct RunState {
    file: File,
    path: PathBuf,
    key: LessSafeKey,
    run: String,
    /// How many entries there are.
    count: u64,
}

impl RunState {
    /// Begins the state of a run.
    ///
    /// # Errors
    /// When it is there already or cannot be made.
    pub fn create(directory: &Path, run: &str) -> Result<Self, StoreError> {
        let path = path(directory, run)?;
        private::parent(&path)?;
        let file = private::open(private::options().append(true).create_new(true), &path)?;
        // The name must outlast a power failure as its content does.
        cycod_file::sync_name(&file, directory).map_err(StoreError::io("sync", directory))?;
        private::lock_alone(&file, &path)?;
        Self::of(file, path, directory, run)
    }

    /// Takes over the state of a run, with its entries in their order; nothing where there is none.
    ///
    /// # Errors
    /// When another process holds it, or it is not what was written.
    #[expect(clippy::type_complexity, reason = "the state, and what it held")]
    pub fn open(directory: &Path, run: &str) -> Result<Option<(Self, Vec<Vec<u8>>)>, StoreError> {
        let path = path(directory, run)?;
        let file = match private::open(private::options().append(true), &path) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        private::lock_alone(&file, &path)?;
        let mut state = Self::of(file, path, directory, run)?;
        let (entries, whole) = state.entries()?;
        private::shorten(&state.file, &state.path, whole)?;
        Ok(Some((state, entries)))
    }

    /// Reads the entries of a run and leaves them to the process that holds or will take them; nothing where there are none.
    ///
    /// # Errors
    /// When they cannot be read, or are not what was written.
    pub fn peek(directory: &Path, run: &str) -> Result<Option<Vec<Vec<u8>>>, StoreError> {
        let path = path(directory, run)?;
        match private::open(&private::options(), &path) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            file => Ok(Some(Self::of(file?, path, directory, run)?.entries()?.0)),
        }
    }

    /// Reads all entries, and says where the last one ends.
    fn entries(&mut self) -> Result<(Vec<Vec<u8>>, u64), StoreError> {
        let mut bytes = Vec::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut bytes));
        read.map_err(StoreError::io("read", &self.path))?;
        let (mut entries, mut at) = (Vec::new(), 0);
        while let Some((sealed, after)) = entry(&bytes, at) {
            match self.unsealed(sealed) {
                Some(opened) => entries.push(opened),
                // The last one may have lost its end with the power.
                None if after == bytes.len() => break,
                None => {
                    return Err(StoreError::Malformed {
                        path: self.path.clone(),
                        expected: "what a run left",
                        why: format!("entry {} was changed, or is of another machine", self.count + 1),
                    });
                }
            }
            self.count += 1;
            at = after;
        }
        Ok((entries, at as u64))
    }

    /// Lists the runs that have a state, the oldest first.
    ///
    /// # Errors
    /// When the directory cannot be read; one that is not there is empty.
    pub fn list(directory: &Path) -> Result<Vec<String>, StoreError> {
        private::names(directory, ".state")
    }

    /// Adds an entry. With `must_last` it is on the disk before this returns.
    ///
    /// # Errors
    /// When it cannot be written; the state is then as it was before.
    pub fn add(&mut self, entry: &[u8], must_last: bool) -> Result<(), StoreError> {
        let nonce = random::<NONCE_LEN>()?;
        let mut sealed = entry.to_vec();
        let aad = Aad::from(bound_to(&self.run, self.count));
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .map_err(|_| StoreError::Failed)?;
        let length = u32::try_from(sealed.len()).map_err(|_| StoreError::Failed)?;
        let before = self.file.metadata().map_err(StoreError::io("look at", &self.path))?.len();
        let bytes = [&length.to_le_bytes()[..], &nonce, &sealed].concat();
        let written = self.file.write_all(&bytes);
        let written = if must_last { written.and_then(|()| self.file.sync_data()) } else { written };
        written.map_err(|error| {
            // What cannot be taken away now is, when it is opened again.
            drop(private::shorten(&self.file, &self.path, before));
            StoreError::io("write", &self.path)(error)
        })?;
        self.count += 1;
        Ok(())
    }

    /// Removes it: the run has ended.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn remove(self) -> Result<(), StoreError> {
        fs::remove_file(&self.path).map_err(StoreError::io("remove", &self.path))
    }

    fn of(file: File, path: PathBuf, directory: &Path, run: &str) -> Result<Self, StoreError> {
        let machine = secret_key(&directory.join("key"))?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&machine).map_err(|_| StoreError::Failed)?;
        mac.update(run.as_bytes());
        let key = UnboundKey::new(&CHACHA20_POLY1305, &mac.finalize().into_bytes()).map_err(|_| StoreError::Failed)?;
        Ok(Self { file, path, key: LessSafeKey::new(key), run: run.to_owned(), count: 0 })
    }

    fn unsealed(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut bytes = sealed.to_vec();
        let aad = Aad::from(bound_to(&self.run, self.count));
        let length = self.key.open_in_place(nonce, aad, &mut bytes).ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }
}

fn path(directory: &Path, run: &str) -> Result<PathBuf, StoreError> {
    let run: RunId = run.parse()?;
    Ok(directory.join(format!("{run}.state")))
}

/// The entry at `at`, nonce and all, and where the next one begins; nothing where none is whole.
fn entry(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let length: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    let end = at.checked_add(HEAD)?.checked_add(u32::from_le_bytes(length) as usize)?;
    Some((bytes.get(at + 4..end)?, end))
}

/// What an entry is bound to: its run and its place.
fn bound_to(run: &str, number: u64) -> Vec<u8> {
    [run.as_bytes(), &number.to_le_bytes()].concat()
}
