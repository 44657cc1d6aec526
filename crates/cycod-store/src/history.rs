//! What was run and what was decided, in rows that follow from each other.
//!
//! ```text
//!   row 41 ──► digest 41 ─┐
//!   row 42 ──────────────►├─► digest 42 ─┐
//!   row 43 ──────────────────────────────┴─► digest 43 = head
//! ```
//!
//! The digest of a row is taken over the digest before it and everything in the row, so a row cannot be changed, removed,
//! moved or put in without every digest after it. Nothing is ever updated: that a run ended is a row of its own. The
//! [head](head), a file beside the database, says how far the rows once went, so that the last ones cannot go unnoticed
//! either. What retention removes it names in a row, with the digest from which the rest follows.
//!
//! A user who can write both files can write another history. Against that helps a head that is kept elsewhere.

mod head;
mod live;
mod prune;
mod read;
mod tail;
mod verify;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, config::DbConfig, params};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{Digest, StoreError, canonical, private, run_journal};

pub use head::Head;
use live::Live;
pub use prune::{Keep, Pruned};
pub use read::{Filter, Row, Run, State};
use tail::{Kept, Turn};
pub use verify::{HistoryFinding, Verification, Wrong};

/// The database as each version of ours left it: the number of a step is the version it leads to.
const MIGRATIONS: [&str; 1] = ["
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    BEGIN IMMEDIATE;
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        run TEXT NOT NULL,
        tool TEXT NOT NULL,
        surface TEXT NOT NULL,
        status TEXT NOT NULL,
        process TEXT NOT NULL,
        body TEXT NOT NULL,
        digest BLOB NOT NULL
    ) STRICT;
    CREATE INDEX by_time ON events (kind, at, seq, tool, surface, status, run);
    CREATE INDEX by_run ON events (run, kind, status);
    PRAGMA user_version = 1;
    COMMIT;
"];

/// How long a writer waits for others.
const PATIENCE: Duration = Duration::from_secs(10);

/// After how many pages the log is brought into the database. Who opens it reads the log, so it must stay small.
const LOG_PAGES: u32 = 512;

/// After how many rows it is looked whether there are too many. A look reads the names of all journals.
const LOOK_EVERY: u64 = 1024;

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A call: its run begins, or it was refused.
    Call,
    /// An interrupted run goes on.
    Resume,
    /// The end of a run.
    End,
    /// Rows that were dropped because they were too many or too old.
    Pruned,
    /// Rows that had been written and are gone: what the head says and the database does not.
    Gap,
}

impl RowKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Resume => "resume",
            Self::End => "end",
            Self::Pruned => "pruned",
            Self::Gap => "gap",
        }
    }
}

/// A row to be written. Nothing in it may be secret: it is written as it is.
#[derive(Clone, Copy, Debug)]
pub struct NewRow<'a> {
    /// What it is about.
    pub kind: RowKind,
    /// The run.
    pub run: &'a str,
    /// The tool, for a call.
    pub tool: &'a str,
    /// The way a call came, such as `person`.
    pub surface: &'a str,
    /// How a run ended, or `refused`; nothing for a run that begins.
    pub status: &'a str,
    /// Everything else.
    pub body: &'a Value,
}

/// Whether a row must outlast a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowDurability {
    /// It outlasts the process, whatever ends it.
    Process,
    /// It is on the disk before anything else happens.
    Power,
}

/// The history of one user. Any number of processes write and read it at once.
///
/// Nothing is opened before it is needed. A history that cannot be read is an error, never an empty one.
#[derive(Debug)]
pub struct History {
    directory: PathBuf,
    /// What shows others that this process is there; held from its first run on.
    live: Mutex<Option<Live>>,
    /// The files of the last row, for the next.
    kept: Mutex<Option<Kept>>,
}

impl History {
    /// Names the history in a directory; the first row makes it.
    pub fn at(directory: &Path) -> History {
        History { directory: directory.to_owned(), live: Mutex::new(None), kept: Mutex::new(None) }
    }

    /// Returns where the database is.
    pub fn path(&self) -> PathBuf {
        self.directory.join("history.db")
    }

    /// Writes a row; when it returns, the row outlasts this process.
    ///
    /// A call that is not refused is shown as running until its end is written, or as interrupted once this process is
    /// gone.
    pub fn write(&self, event: &NewRow<'_>, durability: RowDurability) -> Result<Head, StoreError> {
        let is_begin = event.kind == RowKind::Call && event.status.is_empty() || event.kind == RowKind::Resume;
        let process = if is_begin { self.process()? } else { String::new() };
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut turn = match Turn::take(self.head_path(), kept) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                private::parent(&self.path())?;
                Turn::take(self.head_path(), None)?
            }
            turn => turn?,
        };
        if !turn.is_settled() || is_begin && !self.path().exists() {
            self.settled(&mut turn)?;
        }
        let written = turn.add(event, &process, durability == RowDurability::Power)?;
        let is_due = written.seq.is_multiple_of(LOOK_EVERY);
        if is_due {
            live::sweep(&self.live_directory());
            run_journal::sweep(&self.journals());
        }
        if is_due || turn.is_long() {
            // The row is written; what cannot be done now is done the next time.
            _ = self.settled(&mut turn).map(|mut connection| self.tidy(&mut turn, &mut connection));
        }
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = turn.release();
        Ok(written)
    }

    /// The name under which this process shows that it is there.
    fn process(&self) -> Result<String, StoreError> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let live = match &mut *live {
            Some(live) => live,
            none => none.insert(Live::new(&self.live_directory())?),
        };
        Ok(live.name().to_owned())
    }

    /// Brings every row into the database, and puts a row for those that are lost.
    fn settled(&self, turn: &mut Turn) -> Result<Connection, StoreError> {
        let path = self.path();
        if !path.exists() {
            self.must_be_new(turn.head(), "is gone")?;
        }
        // SQLite would make it readable by everybody, and gives its other files the permissions of this one.
        private::open(private::options().write(true).create(true), &path)?;
        let mut connection = self.current(turn)?;
        self.fold(turn, &mut connection).map_err(|error| self.failed(error))?;
        Ok(connection)
    }

    fn fold(&self, turn: &mut Turn, connection: &mut Connection) -> Result<(), Failure> {
        turn.fold(connection)?;
        let last = last(connection)?;
        let noted = turn.head().unwrap_or_default();
        let is_lost = noted.seq > last.seq || (noted.seq == last.seq && noted.digest != last.digest);
        let head = if is_lost {
            let body = json!({"after": last.seq, "seq": noted.seq, "digest": noted.digest.to_string()});
            let gap = NewRow { kind: RowKind::Gap, run: "", tool: "", surface: "", status: "", body: &body };
            insert(connection, last, noted.seq + 1, &gap, "")?
        } else {
            last
        };
        if turn.head() != Some(head) {
            turn.note(head)?;
        }
        turn.compared();
        Ok(())
    }

    /// Opens the database for reading, with every row in it; nothing when there is none, and never was.
    fn reading(&self) -> Result<Option<Connection>, StoreError> {
        // First the head: the database is made before it names a row.
        let head = self.head()?;
        match private::open(&private::options(), &self.path()) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return self.must_be_new(head, "is gone").map(|()| None);
            }
            file => file?,
        };
        let mut connection = self.connect()?;
        if tail::is_waiting(&self.head_path()) || self.version(&connection)? != MIGRATIONS.len() {
            let mut turn = Turn::take(self.head_path(), None)?;
            self.migrate(&mut turn, &mut connection)?;
            turn.fold(&mut connection).map_err(|error| self.failed(error))?;
        }
        Ok(Some(connection))
    }

    /// Connects to the database that is there, and brings it to the form of this version.
    fn current(&self, turn: &mut Turn) -> Result<Connection, StoreError> {
        let mut connection = self.connect()?;
        self.migrate(turn, &mut connection)?;
        Ok(connection)
    }

    fn connect(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let prepare = |connection: &Connection| {
            connection.busy_timeout(PATIENCE)?;
            // A statement is read once, and not for each value again.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            // The last process to end would wait for the disk; the next to open finds everything in the log.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)
        };
        private::beside(&self.path())?;
        let connection = Connection::open_with_flags(self.path(), flags);
        connection
            .and_then(|connection| prepare(&connection).map(|()| connection))
            .map_err(|error| self.failed(error.into()))
    }

    /// Brings the database to the form of this version.
    fn migrate(&self, turn: &mut Turn, connection: &mut Connection) -> Result<(), StoreError> {
        let version = self.version(connection)?;
        if version > MIGRATIONS.len() {
            return Err(self.malformed(format!("a newer version of cycod made it (its form is {version})")));
        }
        if version == 0 {
            self.must_be_new(turn.head(), "is empty")?;
            // Before any row: a process that is killed between its first row and the head leaves a head behind.
            turn.note(Head::default())?;
        }
        for step in &MIGRATIONS[version..] {
            connection.execute_batch(step).map_err(|error| self.failed(error.into()))?;
        }
        Ok(())
    }

    fn version(&self, connection: &Connection) -> Result<usize, StoreError> {
        let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0));
        version.map_err(|error| self.failed(error.into()))
    }

    /// A database without rows is no new one when the head knows of some.
    fn must_be_new(&self, head: Option<Head>, is_so: &str) -> Result<(), StoreError> {
        let Some(head) = head.filter(|head| head.seq > 0) else { return Ok(()) };
        let path = self.head_path();
        let why = format!(
            "it {is_so}, and `{}` says that it had {} rows; put it back, or move that file away too",
            path.display(),
            head.seq
        );
        Err(self.malformed(why))
    }

    /// Returns how far the rows once went: row 0 before the first, nothing when there is no history.
    pub fn head(&self) -> Result<Option<Head>, StoreError> {
        head::read(&self.head_path())
    }

    fn head_path(&self) -> PathBuf {
        self.directory.join("history.head")
    }

    /// Returns where the journals of runs are.
    pub fn journals(&self) -> PathBuf {
        self.directory.join("journals")
    }

    /// Returns where the files are that runs keep; they go with the rows of their runs.
    pub fn artifacts(&self) -> PathBuf {
        self.directory.join("artifacts")
    }

    fn live_directory(&self) -> PathBuf {
        self.directory.join("history.live")
    }

    fn malformed(&self, why: String) -> StoreError {
        StoreError::Malformed { path: self.path(), expected: "a history", why }
    }

    /// Says what the database said in the words of the store.
    fn failed(&self, failure: Failure) -> StoreError {
        let error = match failure {
            Failure::Store(error) => return error,
            Failure::Database(error) => error,
        };
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => return self.malformed(error.to_string()),
            Some(ErrorCode::DiskFull) => io::ErrorKind::StorageFull,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                io::ErrorKind::PermissionDenied
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::Other,
        };
        StoreError::Io { doing: "use", path: self.path(), source: io::Error::new(kind, error) }
    }
}

/// What can go wrong between two rows.
#[derive(Debug)]
enum Failure {
    Store(StoreError),
    Database(rusqlite::Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

/// The last row; before the first, zeros.
fn last(connection: &Connection) -> rusqlite::Result<Head> {
    let mut statement = connection.prepare_cached("SELECT seq, digest FROM events ORDER BY seq DESC LIMIT 1")?;
    let row = statement.query_row([], |row| Ok(Head { seq: row.get(0)?, digest: Digest(row.get(1)?) }));
    Ok(row.optional()?.unwrap_or_default())
}

/// Puts a row behind the one `before`.
fn insert(
    connection: &Connection,
    before: Head,
    seq: u64,
    event: &NewRow<'_>,
    process: &str,
) -> rusqlite::Result<Head> {
    let at = moment();
    let body = canonical(event.body);
    let texts = [event.kind.name(), event.run, event.tool, event.surface, event.status, process, &body];
    let digest = chained(before.digest, seq, at, texts);
    let mut statement =
        connection.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    let [kind, run, tool, surface, status, process, body] = texts;
    statement.execute(params![seq, at, kind, run, tool, surface, status, process, body, digest.0])?;
    Ok(Head { seq, digest })
}

/// Now, in milliseconds from 1970.
fn moment() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    i64::try_from(now).unwrap_or(i64::MAX)
}

/// The digest of a row: over the one before, and all it holds, each text behind its length.
fn chained(before: Digest, seq: u64, at: i64, texts: [&str; 7]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(before.0);
    hash.update(seq.to_le_bytes());
    hash.update(at.to_le_bytes());
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    Digest(hash.finalize().into())
}
