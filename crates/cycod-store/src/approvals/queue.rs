//! Requests that wait for an answer, and what the answer is for.

use std::{fmt, fs::File, path::PathBuf, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Approvals, as_text, malformed, names, read, remove, write};
use crate::{Digest, StoreError, id::random, private};

/// How long a request waits for its answer, and an answer for the call that takes it, in seconds.
const LIFETIME: u64 = 600;

/// How many requests may be there at once.
const MOST: usize = 1_000;

/// The largest request, in bytes: a person could not read more.
const LARGEST: usize = 1 << 20;

/// The letters of names, none of which looks like another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnopqrstuvwxyz2345678";

/// How many letters a name has.
const LENGTH: usize = 8;

/// Names a request, such as `k3mzq7ap`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(String);

impl RequestId {
    fn random() -> Result<RequestId, StoreError> {
        Ok(RequestId::from(random::<LENGTH>()?))
    }

    /// The name of something that is always asked under the same one.
    pub fn of(digest: &Digest) -> RequestId {
        RequestId::from(std::array::from_fn::<u8, LENGTH, _>(|place| digest.0[place]))
    }
}

impl From<[u8; LENGTH]> for RequestId {
    fn from(bytes: [u8; LENGTH]) -> RequestId {
        RequestId(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RequestId {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<RequestId, StoreError> {
        let is_name = text.len() == LENGTH && text.bytes().all(|byte| LETTERS.contains(&byte));
        is_name.then(|| RequestId(text.to_owned())).ok_or_else(|| StoreError::BadRequestId(text.to_owned()))
    }
}

/// A request in the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingRequest {
    /// Its name.
    pub id: RequestId,
    /// What the answer is good for.
    pub key: Digest,
    /// When it was asked, in seconds from 1970.
    pub asked: u64,
    /// From when on it is worth nothing.
    pub expires: u64,
    /// Whether a process waits for the answer; otherwise the next call of the key takes it.
    pub is_awaited: bool,
    /// What was answered, unless it is still open.
    pub answer: Option<Value>,
    /// What is asked.
    pub about: Value,
}

/// A request as it is written.
#[derive(Serialize, Deserialize)]
struct RequestRow {
    version: u64,
    asked: u64,
    expires: u64,
    about: Value,
}

/// An answer as it is written.
#[derive(Serialize, Deserialize)]
struct AnswerRow {
    #[serde(with = "as_text")]
    key: Digest,
    given: u64,
    expires: u64,
    answer: Value,
}

/// What became of a request.
#[derive(Debug)]
pub enum Asked {
    /// The same was asked before, and answered since. The answer is used up.
    Answered(Value),
    /// It waits in the queue for the next call of its key.
    Parked(RequestId),
    /// It waits in the queue, and we for it.
    Awaited(WaitingRequest),
}

/// A request whose answer is waited for. Dropped, or with its process killed, it is withdrawn.
#[derive(Debug)]
pub struct WaitingRequest {
    approvals: Approvals,
    id: RequestId,
    key: Digest,
    /// Holds the lock that says that we are there.
    _alive: File,
    is_over: bool,
}

/// Says, as long as it is there, that somebody answers requests as they come.
#[derive(Debug)]
pub struct Watching(#[expect(dead_code, reason = "it holds a lock")] File);

impl Approvals {
    /// Asks, unless the same was asked before: takes the answer to that, or waits for it.
    ///
    /// With `waits`, the answer is for this process; without, for the next that asks the same.
    pub fn ask(&self, key: &Digest, about: &Value, waits: bool, now: u64) -> Result<Asked, StoreError> {
        let _lock = self.lock()?;
        private::directory(&self.queue())?;
        let mut all = self.sweep(now)?;
        // What another process waits for is answered to that process.
        let same = all.iter().position(|one| one.key == *key && !one.is_awaited);
        let known = match same.map(|at| all.swap_remove(at)) {
            Some(PendingRequest { id, answer: Some(answer), .. }) => {
                self.remove_request(&id, key)?;
                return Ok(Asked::Answered(answer));
            }
            open => open.map(|open| open.id),
        };
        if known.is_none() && all.len() >= MOST {
            return Err(StoreError::QueueFull { most: MOST });
        }
        let request = RequestRow { version: 1, asked: now, expires: now + LIFETIME, about: about.clone() };
        if serde_json::to_vec(&request).is_ok_and(|bytes| bytes.len() > LARGEST) {
            return Err(StoreError::RequestTooLarge { most: LARGEST });
        }
        let is_known = known.is_some();
        let id = known.map_or_else(RequestId::random, Ok)?;
        // Before the request itself: one that is awaited must not outlive us, whenever we are killed.
        let alive = waits.then(|| self.alive(&id)).transpose()?;
        if !is_known {
            write(&self.request_path(&id, key), &request)?;
        }
        Ok(match alive {
            None => Asked::Parked(id),
            Some(alive) => {
                Asked::Awaited(WaitingRequest { approvals: self.clone(), id, key: *key, _alive: alive, is_over: false })
            }
        })
    }

    /// Says that this process waits for a request.
    fn alive(&self, id: &RequestId) -> Result<File, StoreError> {
        let path = self.queue().join(format!("{id}.wait"));
        let file = private::open(private::options().write(true).create_new(true), &path)?;
        file.lock().map_err(StoreError::io("lock", &path))?;
        Ok(file)
    }

    /// Answers a request.
    ///
    /// # Errors
    /// When it is not there any more, or was answered: of several who answer, one does.
    pub fn answer(&self, id: &RequestId, answer: &Value, now: u64) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        match self.sweep(now)?.into_iter().find(|one| one.id == *id) {
            None => Err(StoreError::NotWaiting(id.to_string())),
            Some(PendingRequest { answer: Some(_), .. }) => Err(StoreError::AlreadyAnswered(id.to_string())),
            Some(PendingRequest { key, .. }) => {
                let answer = AnswerRow { key, given: now, expires: now + LIFETIME, answer: answer.clone() };
                write(&self.queue().join(format!("{id}.answer")), &answer)
            }
        }
    }

    /// Returns every request, answered ones too, the oldest first.
    pub fn pending(&self, now: u64) -> Result<Vec<PendingRequest>, StoreError> {
        if names(&self.queue())?.is_empty() {
            return Ok(Vec::new());
        }
        let _lock = self.lock()?;
        let mut all = self.sweep(now)?;
        all.sort_by(|one, other| (one.asked, &one.id).cmp(&(other.asked, &other.id)));
        Ok(all)
    }

    /// Says that requests are answered as they come.
    pub fn watch(&self) -> Result<Watching, StoreError> {
        private::directory(&self.directory)?;
        let path = self.directory.join("watch");
        let file = private::open(private::options().write(true).create(true), &path)?;
        file.lock_shared().map_err(StoreError::io("lock", &path))?;
        Ok(Watching(file))
    }

    /// Whether somebody answers requests as they come.
    pub fn is_watched(&self) -> bool {
        let file = private::open(private::options().write(true), &self.directory.join("watch"));
        file.is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
    }

    fn queue(&self) -> PathBuf {
        self.directory.join("queue")
    }

    fn request_path(&self, id: &RequestId, key: &Digest) -> PathBuf {
        self.queue().join(format!("{id}.{key}.json"))
    }

    /// Returns every request, and removes what is over. Only the holder of the lock does.
    fn sweep(&self, now: u64) -> Result<Vec<PendingRequest>, StoreError> {
        let queue = self.queue();
        let names = names(&queue)?;
        let mut all = Vec::new();
        for (id, key) in names.iter().filter_map(|name| request_name(name)) {
            let path = self.request_path(&id, &key);
            let Some(RequestRow { asked, expires, about, .. }) = read(&path)? else { continue };
            let answer = self.read_answer(&id, &key)?;
            let expires = answer.as_ref().map_or(expires, |answer| answer.expires);
            let awaited = self.is_awaited(&id)?;
            // A clock that was set back must not make a request last.
            let is_over = now >= expires || expires > now + 2 * LIFETIME || awaited == Some(false);
            if is_over {
                self.remove_request(&id, &key)?;
                continue;
            }
            all.push(PendingRequest {
                id,
                key,
                asked,
                expires,
                is_awaited: awaited.is_some(),
                answer: answer.map(|answer| answer.answer),
                about,
            });
        }
        // What was left by processes that were killed on the way.
        let is_known = |name: &str| {
            request_name(name).is_some()
                || all.iter().any(|one| name.strip_prefix(&one.id.0).is_some_and(|rest| rest.starts_with('.')))
        };
        for left in names.iter().filter(|name| !is_known(name) || name.ends_with(".new")) {
            remove(&queue.join(left))?;
        }
        Ok(all)
    }

    /// Whether the process that waits for a request is alive; nothing when none waits.
    fn is_awaited(&self, id: &RequestId) -> Result<Option<bool>, StoreError> {
        let path = self.queue().join(format!("{id}.wait"));
        match private::open(&private::options(), &path) {
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            file => match file?.try_lock_shared() {
                Ok(()) => Ok(Some(false)),
                Err(std::fs::TryLockError::WouldBlock) => Ok(Some(true)),
                Err(std::fs::TryLockError::Error(error)) => Err(StoreError::io("lock", &path)(error)),
            },
        }
    }

    fn read_answer(&self, id: &RequestId, key: &Digest) -> Result<Option<AnswerRow>, StoreError> {
        let path = self.queue().join(format!("{id}.answer"));
        let answer: Option<AnswerRow> = read(&path)?;
        match &answer {
            Some(answer) if answer.key != *key => Err(malformed(&path, "it answers another request")),
            _ => Ok(answer),
        }
    }

    /// The request goes first: an answer without one is nothing.
    fn remove_request(&self, id: &RequestId, key: &Digest) -> Result<(), StoreError> {
        remove(&self.request_path(id, key))?;
        remove(&self.queue().join(format!("{id}.answer")))?;
        remove(&self.queue().join(format!("{id}.wait")))
    }
}

fn request_name(name: &str) -> Option<(RequestId, Digest)> {
    let (id, key) = name.strip_suffix(".json")?.split_once('.')?;
    Some((id.parse().ok()?, key.parse().ok()?))
}

impl WaitingRequest {
    /// The time between two looks for an answer.
    pub const PAUSE: Duration = Duration::from_millis(50);

    /// Its name.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// Takes the answer, if there is one.
    pub fn take(&mut self) -> Result<Option<Value>, StoreError> {
        if self.approvals.read_answer(&self.id, &self.key)?.is_none() {
            return Ok(None);
        }
        let _lock = self.approvals.lock()?;
        self.take_locked()
    }

    /// Waits no more, and leaves the request to the next call of its key; unless it was answered by now.
    pub fn park(mut self) -> Result<Option<Value>, StoreError> {
        let _lock = self.approvals.lock()?;
        let answer = self.take_locked()?;
        if answer.is_none() {
            remove(&self.approvals.queue().join(format!("{}.wait", self.id)))?;
            self.is_over = true;
        }
        Ok(answer)
    }

    fn take_locked(&mut self) -> Result<Option<Value>, StoreError> {
        let answer = self.approvals.read_answer(&self.id, &self.key)?;
        if answer.is_some() {
            self.approvals.remove_request(&self.id, &self.key)?;
            self.is_over = true;
        }
        Ok(answer.map(|answer| answer.answer))
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        if !self.is_over
            && let Ok(_lock) = self.approvals.lock()
        {
            // What is not removed now is when somebody next looks: nobody holds its lock.
            let _ = self.approvals.remove_request(&self.id, &self.key);
        }
    }
}
