//! The newest rows: a line each, in a file beside the database.
//!
//! ```text
//!   write ──► history.tail ──(before a read, or when it is long)──► history.db
//! ```
//!
//! A row is added by one write, under the lock of the head, and the head then says how long the tail is. So a tail that is as
//! long as the head says is whole, and nothing else has to be opened to add to it. One that is longer holds rows of a process
//! that was killed before it wrote the head; one that is shorter has lost some. In both cases, and while it is empty, the
//! database is opened and compared with the head before a row is added. A process that has just brought the tail into the
//! database has compared them, and does not do so again for its next row.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, TransactionBehavior, params};

use super::{Failure, Head, NewRow, PATIENCE, chained, head, last, moment};
use crate::{Digest, StoreError, canonical, private};

/// How long the tail may become before it is brought into the database. To open the database costs as much as a hundred rows.
const LONGEST: u64 = 1 << 20;

/// How large the log of the database may be when rows have come into it. Who opens the database first reads all of it.
const LARGEST_LOG: u64 = 256 << 10;

/// The turn of one writer: nobody else writes while it has the head.
#[derive(Debug)]
pub(super) struct Turn {
    file: File,
    path: PathBuf,
    /// How far the rows went, and how long the tail was then.
    noted: Option<(Head, Option<u64>)>,
    tail: File,
    tail_path: PathBuf,
    length: u64,
    /// What the files are, where that is known.
    are: Option<[private::Identity; 2]>,
    /// The head with which this process has compared the database, every row being in it.
    compared: Option<Head>,
}

/// The files of an earlier turn.
#[derive(Debug)]
pub(super) struct Kept {
    head: File,
    tail: File,
    are: [private::Identity; 2],
    compared: Option<Head>,
}

impl Kept {
    /// Waits until nobody else writes; nothing when other files are in the places of these.
    fn take(self, path: &Path) -> Result<Option<Turn>, StoreError> {
        self.head.lock().map_err(StoreError::io("lock", path))?;
        let tail_path = path.with_extension("tail");
        let (head, tail) = (private::at(path), private::at(&tail_path));
        let Some(((head, _), (tail, length))) =
            head.zip(tail).filter(|((head, _), (tail, _))| [*head, *tail] == self.are)
        else {
            return Ok(None);
        };
        let noted = head::content(&self.head, path)?;
        let (path, are) = (path.to_owned(), Some([head, tail]));
        let Self { head: file, tail, compared, .. } = self;
        Ok(Some(Turn { file, path, noted, tail, tail_path, length, are, compared }))
    }
}

impl Turn {
    /// Waits until nobody else writes. `kept` are the files of an earlier turn.
    pub(super) fn take(path: PathBuf, kept: Option<Kept>) -> Result<Self, StoreError> {
        match kept.map(|kept| kept.take(&path)).transpose()?.flatten() {
            Some(turn) => Ok(turn),
            None => Self::open(path),
        }
    }

    fn open(path: PathBuf) -> Result<Self, StoreError> {
        let (file, head) = head::lock(&path)?;
        let noted = head::content(&file, &path)?;
        let tail_path = path.with_extension("tail");
        let (tail, metadata) = private::open_looked_at(private::options().append(true).create(true), &tail_path)?;
        let are = private::identity(&head).zip(private::identity(&metadata)).map(|(head, tail)| [head, tail]);
        let length = metadata.len();
        Ok(Self { file, path, noted, tail, tail_path, length, are, compared: None })
    }

    /// Lets others write, and keeps the files open for the next turn.
    pub(super) fn release(self) -> Option<Kept> {
        let are = self.are?;
        private::unlock(&self.file).ok()?;
        Some(Kept { head: self.file, tail: self.tail, are, compared: self.compared })
    }

    /// How far the rows went.
    pub(super) fn head(&self) -> Option<Head> {
        self.noted.map(|(head, _)| head)
    }

    /// Whether a row can be added without a look at the database.
    pub(super) fn is_settled(&self) -> bool {
        let is_compared = |head: Head| self.length > 0 || self.compared == Some(head);
        self.noted.is_some_and(|(head, length)| length == Some(self.length) && is_compared(head))
    }

    /// Remembers that the database has every row, up to the head.
    pub(super) fn compared(&mut self) {
        self.compared = self.head();
    }

    /// Adds a row.
    pub(super) fn add(&mut self, event: &NewRow<'_>, process: &str, must_last: bool) -> Result<Head, StoreError> {
        let before = self.head().unwrap_or_default();
        let (seq, at, body) = (before.seq + 1, moment(), canonical(event.body));
        let texts = [event.kind.name(), event.run, event.tool, event.surface, event.status, process, &body];
        let digest = chained(before.digest, seq, at, texts);
        let mut line = serde_json::to_vec(&(seq, at, texts, digest.to_string())).map_err(|_| StoreError::Failed)?;
        line.push(b'\n');
        let written = self.tail.write_all(&line);
        let written = if must_last { written.and_then(|()| self.tail.sync_data()) } else { written };
        written.map_err(|error| {
            // What cannot be taken away now is, before the next row is added.
            drop(private::shorten(&self.tail, &self.tail_path, self.length));
            StoreError::io("write", &self.tail_path)(error)
        })?;
        self.length += line.len() as u64;
        let head = Head { seq, digest };
        self.note(head)?;
        Ok(head)
    }

    /// Whether it is time to bring the rows into the database.
    pub(super) fn is_long(&self) -> bool {
        self.length >= LONGEST
    }

    /// Writes how far the rows go now.
    pub(super) fn note(&mut self, to: Head) -> Result<(), StoreError> {
        self.noted = Some((to, Some(self.length)));
        head::put(&self.file, &self.path, to, self.length)
    }

    /// Brings the rows into the database, where they outlast a power failure before they leave the tail.
    pub(super) fn fold(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        if self.length == 0 {
            return Ok(());
        }
        let mut text = Vec::new();
        let read =
            self.tail.seek(SeekFrom::Start(0)).and_then(|_| (&self.tail).take(self.length).read_to_end(&mut text));
        read.map_err(StoreError::io("read", &self.tail_path))?;
        let noted = self.noted.and_then(|(_, length)| length).unwrap_or_default();
        connection.pragma_update(None, "synchronous", "FULL")?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut before = last(&transaction)?;
        let (mut end, mut is_unreadable) = (0, false);
        {
            let mut insert =
                transaction.prepare("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                let start = end;
                end += line.len() as u64;
                let row = serde_json::from_slice::<(u64, i64, [String; 7], String)>(line).ok();
                let row =
                    row.and_then(|(seq, at, texts, digest)| Some((seq, at, texts, digest.parse::<Digest>().ok()?)));
                let Some((seq, at, texts, digest)) = row else {
                    // A row that was only begun when its process was killed was never told of.
                    is_unreadable |= start < noted;
                    continue;
                };
                // It was brought in before its process was killed, and is only still here.
                if seq <= before.seq {
                    continue;
                }
                let follows = || {
                    seq == before.seq + 1
                        && chained(before.digest, seq, at, texts.each_ref().map(String::as_str)) == digest
                };
                // No head speaks for it, so it has to follow from the others.
                if end > noted && !follows() {
                    break;
                }
                let [kind, run, tool, surface, status, process, body] = &texts;
                insert.execute(params![seq, at, kind, run, tool, surface, status, process, body, digest.0])?;
                before = Head { seq, digest };
            }
        }
        transaction.commit()?;
        if is_unreadable {
            let aside = self.tail_path.with_extension("tail.damaged");
            std::fs::copy(&self.tail_path, &aside).map_err(StoreError::io("write", &aside))?;
        }
        private::shorten(&self.tail, &self.tail_path, 0)?;
        self.length = 0;
        let head = self.head().filter(|head| head.seq >= before.seq).unwrap_or(before);
        self.note(head)?;
        Ok(self.shorten_log(connection)?)
    }

    /// Empties a long log into the database, unless somebody reads it just now.
    fn shorten_log(&self, connection: &Connection) -> rusqlite::Result<()> {
        let log = self.path.with_extension("db-wal");
        if log.metadata().is_ok_and(|log| log.len() > LARGEST_LOG) {
            connection.busy_timeout(Duration::ZERO)?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            connection.busy_timeout(PATIENCE)?;
        }
        Ok(())
    }
}

/// Whether rows wait to be brought into the database.
pub(super) fn is_waiting(head: &Path) -> bool {
    std::fs::symlink_metadata(head.with_extension("tail")).is_ok_and(|tail| tail.len() > 0)
}
