//! The results of steps that are used again: what they wrote, and the files that they made.
//!
//! They are outputs in a directory of their own, with the same care for processes that are killed, full disks and room. The
//! name of each is the digest of everything that decides it, under a key that only its user can read, and each is
//! authenticated under that key together with what decides it. So one that another user or a confined program put there is
//! none, nor is one that was moved to the name of another; both are removed.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::{Maker, OutputId, Outputs, Retention, RunId, StoreError, StoredOutput, private, secret_key};

/// The first bytes of every result.
const MAGIC: &[u8; 8] = b"cycodsc1";

/// How many bytes the authentication at the end has.
const MAC: usize = 32;

/// The most bytes of one result.
const LARGEST: usize = (64 << 20) + (2 << 20);

/// The most bytes of the beginning, which has the names.
const LARGEST_HEAD: usize = 1 << 20;

/// What every result is called among the outputs.
const NAME: &str = "step";

/// The results of the steps of one user. Any number of processes may use them at once.
#[derive(Clone, Debug)]
pub struct CachedSteps {
    directory: PathBuf,
    retention: Retention,
}

/// The result of a step that ended well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CachedStep {
    /// The run in which it ran.
    pub run: String,
    /// The tool and the step.
    pub name: String,
    /// What it wrote to standard output.
    pub output: Vec<u8>,
    /// What it wrote to standard error.
    pub error: Vec<u8>,
    /// The files that it made.
    pub files: Vec<CachedFile>,
}

/// A file that a step made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedFile {
    /// Whether its path begins in the directory of a run for temporary files.
    pub is_temporary: bool,
    /// Its path.
    pub path: String,
    /// Whether it is a program.
    pub is_executable: bool,
    /// How many bytes of the content are its own.
    length: usize,
    /// What it holds.
    #[serde(skip)]
    pub content: Vec<u8>,
}

impl CachedFile {
    /// A file with its content.
    pub fn new(path: String, is_temporary: bool, is_executable: bool, content: Vec<u8>) -> Self {
        Self { is_temporary, path, is_executable, length: content.len(), content }
    }
}

/// What is stored, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedEntry {
    /// The tool and the step.
    pub name: String,
    /// The run in which it ran.
    pub run: String,
    /// How many files come back with it.
    pub files: usize,
    /// How many bytes it has.
    pub bytes: u64,
    /// When it was used last, or stored.
    pub used: SystemTime,
}

/// The beginning of a result; the bytes follow in the order of the lengths.
#[derive(Serialize, Deserialize)]
struct Head {
    run: String,
    name: String,
    output: usize,
    error: usize,
    files: Vec<CachedFile>,
}

impl CachedSteps {
    /// The most bytes of all results, where the user says nothing else.
    pub const MOST_BYTES: u64 = 2 << 30;

    /// Names the results below the directory of a user; the first one makes the place.
    pub fn below(user_directory: &Path, most_bytes: u64) -> Self {
        let retention = Retention { max_age: Duration::MAX, max_bytes: most_bytes, max_one: most_bytes.max(1) };
        Self { directory: user_directory.join("cache").join("steps"), retention }
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the result for what decides it; nothing when there is none, or none that was stored by this user. Uses of one
    /// keep it from being the next to go.
    ///
    /// # Errors
    /// When the place is open to others, or can't be read.
    pub fn get(&self, key: &[u8], maker: Maker) -> Result<Option<CachedStep>, StoreError> {
        if fs::symlink_metadata(&self.directory).is_err() {
            return Ok(None);
        }
        private::directory(&self.directory)?;
        let secret = self.secret()?;
        let outputs = Outputs::existing(self.directory.clone(), self.retention);
        let id = name(&secret, key)?;
        let Some(stored) = outputs.get(&id)? else { return Ok(None) };
        let bytes = if stored.bytes() > LARGEST as u64 { None } else { Some(all_of(&stored)?) };
        let whole = bytes.filter(|_| *stored.maker() == maker).and_then(|bytes| {
            let (bytes, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC)?)?;
            authentication(&secret, key, bytes).verify_slice(mac).ok()?;
            parse(bytes)
        });
        match &whole {
            // The time says when it was used last.
            Some(_) => outputs.touch(&id),
            None => outputs.remove_run(id.run()),
        }
        Ok(whole)
    }

    /// Stores a result in the place of an earlier one.
    ///
    /// # Errors
    /// When it is too large, or can't be written.
    pub fn put(&self, key: &[u8], maker: Maker, step: &CachedStep) -> Result<(), StoreError> {
        let head = Head {
            run: step.run.clone(),
            name: step.name.clone(),
            output: step.output.len(),
            error: step.error.len(),
            files: step.files.clone(),
        };
        // None of the types can fail to be written.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let contents = [&step.output, &step.error].into_iter().chain(step.files.iter().map(|file| &file.content));
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&head);
        contents.for_each(|content| bytes.extend_from_slice(content));
        let most = LARGEST.min(usize::try_from(self.retention.max_bytes / 4).unwrap_or(usize::MAX));
        if bytes.len() + MAC > most || head.len() > LARGEST_HEAD {
            return Err(StoreError::TooLarge { most: most as u64 });
        }
        private::directory(&self.directory)?;
        let secret = self.secret()?;
        let mac = authentication(&secret, key, &bytes).finalize().into_bytes();
        let id = name(&secret, key)?;
        let outputs = Outputs::open(&self.directory, self.retention)?;
        outputs.remove_run(id.run());
        let mut spool = outputs.spool(id, maker, 0);
        spool.write(&bytes)?;
        spool.write(&mac)?;
        match spool.finish() {
            // Another process has just stored the same.
            Err(StoreError::Exists(_)) => Ok(()),
            finished => finished.map(drop),
        }
    }

    /// Lists what is stored, the latest use first.
    ///
    /// # Errors
    /// When the place is open to others, or can't be read.
    pub fn entries(&self) -> Result<Vec<CachedEntry>, StoreError> {
        if fs::symlink_metadata(&self.directory).is_err() {
            return Ok(Vec::new());
        }
        let outputs = Outputs::open(&self.directory, self.retention)?;
        let mut entries = Vec::new();
        for (id, used) in outputs.names()? {
            let Some(stored) = outputs.get(&id)? else { continue };
            let Some(head) = head_of(&stored)? else { continue };
            entries.push(CachedEntry {
                name: head.name,
                run: head.run,
                files: head.files.len(),
                bytes: stored.bytes(),
                used,
            });
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
        Ok(entries)
    }

    /// Removes every result, and the key with which they are authenticated; returns how many there were.
    ///
    /// # Errors
    /// When the place is open to others, or can't be changed.
    pub fn clear(&self) -> Result<usize, StoreError> {
        if fs::symlink_metadata(&self.directory).is_err() {
            return Ok(0);
        }
        let outputs = Outputs::open(&self.directory, self.retention)?;
        let names = outputs.names()?;
        names.iter().for_each(|(id, _)| outputs.remove_run(id.run()));
        let key = self.directory.join(KEY);
        match fs::remove_file(&key) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io("remove", &key)(error)),
            _ => Ok(names.len()),
        }
    }

    /// The digest of everything that can be read.
    ///
    /// # Errors
    /// As reading fails.
    pub fn digest(content: &mut dyn Read) -> std::io::Result<[u8; 32]> {
        use sha2::Digest as _;
        let mut digest = Sha256::new();
        let mut block = vec![0; 64 * 1024];
        loop {
            match content.read(&mut block) {
                Ok(0) => return Ok(digest.finalize().into()),
                Ok(length) => digest.update(&block[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn secret(&self) -> Result<[u8; 32], StoreError> {
        secret_key(&self.directory.join(KEY))
    }
}

/// The file with the key.
const KEY: &str = "key";

/// What a result is called: nobody without the key can tell which name a result will have.
fn name(secret: &[u8; 32], key: &[u8]) -> Result<OutputId, StoreError> {
    let digest = keyed(secret, b"name\0", key).finalize().into_bytes();
    let (run, _) = digest.split_first_chunk().expect("32 bytes begin with 16");
    OutputId::new(RunId::from_bytes(*run), NAME)
}

/// What authenticates a result: what decides it, and everything in it.
fn authentication(secret: &[u8; 32], key: &[u8], bytes: &[u8]) -> Hmac<Sha256> {
    let mut mac = keyed(secret, b"step\0", key);
    mac.update(bytes);
    mac
}

fn keyed(secret: &[u8; 32], purpose: &[u8], key: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(purpose);
    mac.update(&(key.len() as u64).to_le_bytes());
    mac.update(key);
    mac
}

fn all_of(stored: &StoredOutput) -> Result<Vec<u8>, StoreError> {
    let mut bytes = vec![0; usize::try_from(stored.bytes()).unwrap_or(LARGEST).min(LARGEST)];
    let mut at = 0;
    while at < bytes.len() {
        match stored.read_at(at as u64, &mut bytes[at..])? {
            0 => break,
            length => at += length,
        }
    }
    bytes.truncate(at);
    Ok(bytes)
}

/// What is known of a result without its bytes; nothing for what is none.
fn head_of(stored: &StoredOutput) -> Result<Option<Head>, StoreError> {
    let mut bytes = vec![0; usize::try_from(stored.bytes()).unwrap_or(usize::MAX).min(LARGEST_HEAD + 12)];
    let length = stored.read_at(0, &mut bytes)?;
    bytes.truncate(length);
    let read = || {
        let (length, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
        serde_json::from_slice(rest.get(..u32::from_le_bytes(*length) as usize)?).ok()
    };
    Ok(read())
}

fn parse(bytes: &[u8]) -> Option<CachedStep> {
    let (length, rest) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
    let (head, mut rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let head: Head = serde_json::from_slice(head).ok()?;
    let mut take = |length: usize| {
        let (taken, left) = rest.split_at_checked(length)?;
        rest = left;
        Some(taken.to_vec())
    };
    let (output, error) = (take(head.output)?, take(head.error)?);
    let files = head.files.into_iter().map(|file| Some(CachedFile { content: take(file.length)?, ..file }));
    let files = files.collect::<Option<Vec<_>>>()?;
    Some(CachedStep { run: head.run, name: head.name, output, error, files })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(output: &str) -> CachedStep {
        let files = vec![CachedFile::new("dist/a".to_owned(), false, true, b"program".to_vec())];
        CachedStep { run: "r1".to_owned(), name: "t/s".to_owned(), output: output.into(), error: b"e".to_vec(), files }
    }

    fn maker() -> Maker {
        Maker::new("ada", "")
    }

    #[test]
    fn what_was_stored_comes_back_for_the_same_key_alone() {
        let place = tempfile::tempdir().expect("a directory");
        let cache = CachedSteps::below(place.path(), 1 << 20);
        assert_eq!(cache.get(b"k", maker()).expect("none"), None);
        assert!(!place.path().join("cache").exists(), "looking makes nothing");
        cache.put(b"k", maker(), &step("one")).expect("stored");
        assert_eq!(cache.get(b"k", maker()).expect("read"), Some(step("one")));
        assert_eq!(cache.get(b"k2", maker()).expect("read"), None);
        cache.put(b"k", maker(), &step("two")).expect("stored");
        assert_eq!(cache.get(b"k", maker()).expect("read"), Some(step("two")));
        let entries = cache.entries().expect("read");
        assert_eq!(entries.iter().map(|entry| (&*entry.name, entry.files)).collect::<Vec<_>>(), [("t/s", 1)]);
        assert_eq!(cache.clear().expect("removed"), 1);
        assert_eq!(cache.get(b"k", maker()).expect("read"), None);
    }

    #[test]
    fn what_another_put_there_is_none() {
        let place = tempfile::tempdir().expect("a directory");
        let cache = CachedSteps::below(place.path(), 1 << 20);
        cache.put(b"good", maker(), &step("one")).expect("stored");
        cache.put(b"bad", maker(), &step("evil")).expect("stored");
        let files = || {
            let all = fs::read_dir(cache.directory()).expect("a directory").flatten().map(|entry| entry.path());
            all.filter(|path| path.extension().is_some_and(|end| end == NAME)).collect::<Vec<_>>()
        };
        let secret = cache.secret().expect("a key");
        let at = |key: &[u8]| cache.directory().join(name(&secret, key).expect("a name").file_name());
        // One result under the name of another.
        fs::copy(at(b"bad"), at(b"good")).expect("copied");
        assert_eq!(cache.get(b"good", maker()).expect("read"), None);
        assert_eq!(files(), [at(b"bad")], "it is removed");
        // A changed byte.
        let mut bytes = fs::read(at(b"bad")).expect("read");
        let evil = bytes.windows(4).position(|four| four == b"evil").expect("its output");
        bytes[evil] = b'E';
        fs::write(at(b"bad"), bytes).expect("written");
        assert_eq!(cache.get(b"bad", maker()).expect("read"), None);
        // One that was made for another user of a server.
        cache.put(b"mine", maker(), &step("one")).expect("stored");
        assert_eq!(cache.get(b"mine", Maker::new("eve", "")).expect("read"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_place_that_is_open_to_others_is_none() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("a directory");
        let cache = CachedSteps::below(place.path(), 1 << 20);
        cache.put(b"k", maker(), &step("one")).expect("stored");
        fs::set_permissions(cache.directory(), fs::Permissions::from_mode(0o777)).expect("changed");
        assert!(matches!(cache.get(b"k", maker()), Err(StoreError::NotPrivate { .. })));
    }

    #[test]
    fn the_least_used_go_when_there_is_no_room() {
        let place = tempfile::tempdir().expect("a directory");
        let cache = CachedSteps::below(place.path(), 64 << 10);
        let large = |number: u8| step(&char::from(b'a' + number).to_string().repeat(12 << 10));
        for number in 0..4 {
            cache.put(&[number], maker(), &large(number)).expect("stored");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(cache.get(&[0], maker()).expect("read").is_some());
        std::thread::sleep(Duration::from_millis(5));
        cache.put(&[4], maker(), &large(4)).expect("stored");
        cache.put(&[5], maker(), &large(5)).expect("stored");
        let there: Vec<bool> = (0..6).map(|number| cache.get(&[number], maker()).expect("read").is_some()).collect();
        assert_eq!(there, [true, false, true, true, true, true], "the one that was used stays");
        assert!(matches!(cache.put(b"x", maker(), &step(&"x".repeat(32 << 10))), Err(StoreError::TooLarge { .. })));
    }
}
