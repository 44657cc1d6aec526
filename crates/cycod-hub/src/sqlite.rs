//! The database of a hub in one file.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig, params_from_iter, types::ValueRef};

use crate::{HubError, HubStore, HubTransaction, HubWatch, SqlRow, SqlValue, migrations::migrate};

/// How long to wait for another process that writes, and how long until it is asked again.
const PATIENCE: Duration = Duration::from_secs(10);
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// How often the number is read that changes with the file.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How many statements are kept that were read before: about all that there are.
const STATEMENTS: usize = 256;

/// How many changes are written together at most.
const MOST_TOGETHER: usize = 64;

/// The database in one file.
///
/// Each change that is written waits for the disk. Changes that are made at the same time therefore go into one transaction of
/// SQLite: a thread that finds others waiting leaves it open for them, and the last one writes it. A change that fails is taken back
/// alone; one that can't be written fails all of them.
#[derive(Debug)]
pub struct SqliteStore {
    open: Mutex<Open>,
    /// How many threads wait for the connection.
    waiting: AtomicUsize,
    /// Nothing for one in memory.
    path: Option<PathBuf>,
}

/// The connection, and the transaction that is open.
#[derive(Debug)]
struct Open {
    connection: Connection,
    together: Option<Together>,
}

/// Changes that are written together.
#[derive(Debug, Default)]
struct Together {
    count: usize,
    has_changed: bool,
    end: Arc<End>,
}

/// How writing them ended.
#[derive(Debug, Default)]
struct End {
    result: Mutex<Option<Result<(), HubError>>>,
    is_there: Condvar,
}

impl End {
    fn set(&self, result: Result<(), HubError>) {
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.is_there.notify_all();
    }

    fn wait(&self) -> Result<(), HubError> {
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.is_there.wait_while(result, |result| result.is_none());
        result.unwrap_or_else(PoisonError::into_inner).clone().unwrap_or(Ok(()))
    }
}

impl SqliteStore {
    /// Opens a file, or creates it.
    ///
    /// # Errors
    /// When it can't be opened, or is of a newer version.
    pub fn open(path: &Path) -> Result<Self, HubError> {
        let store = Self::new(Connection::open(path).map_err(failed)?)?;
        Ok(Self { path: Some(path.to_owned()), ..store })
    }

    /// A database that is gone with the process.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn in_memory() -> Result<Self, HubError> {
        Self::new(Connection::open_in_memory().map_err(failed)?)
    }

    /// A database without tables.
    #[cfg(test)]
    pub(crate) fn bare() -> Result<Self, HubError> {
        Ok(Self::over(Connection::open_in_memory().map_err(failed)?))
    }

    fn new(mut connection: Connection) -> Result<Self, HubError> {
        connection.busy_handler(Some(is_worth_waiting)).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // A statement is read once, and not for each value again.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").map_err(failed)?;
        let store = Self::over(connection);
        store.transaction(&mut |transaction| migrate(transaction))?;
        Ok(store)
    }

    fn over(connection: Connection) -> Self {
        Self { open: Mutex::new(Open { connection, together: None }), waiting: AtomicUsize::new(0), path: None }
    }

    fn enter(&self) -> MutexGuard<'_, Open> {
        self.waiting.fetch_add(1, SeqCst);
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, SeqCst);
        open
    }
}

/// Whether another process that writes is waited for again. SQLite's own pauses grow to a tenth of a second.
fn is_worth_waiting(times: i32) -> bool {
    std::thread::sleep(ASK_AGAIN);
    ASK_AGAIN * times.unsigned_abs() < PATIENCE
}

impl Open {
    /// Does some work within the transaction that is open, or begins one. What it changed is gone when it fails.
    fn change(
        &mut self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), HubError>,
    ) -> std::thread::Result<Result<(), HubError>> {
        let begun = if self.together.is_none() { "BEGIN IMMEDIATE; SAVEPOINT work" } else { "SAVEPOINT work" };
        if let Err(error) = self.connection.execute_batch(begun) {
            return Ok(Err(failed(error)));
        }
        let together = self.together.get_or_insert_default();
        together.count += 1;
        let mut change = Change { connection: &self.connection, has_changed: false };
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut change)));
        let is_done = matches!(result, Ok(Ok(())));
        together.has_changed |= change.has_changed && is_done;
        let ending = if is_done { "RELEASE work" } else { "ROLLBACK TO work; RELEASE work" };
        let result = match self.connection.execute_batch(ending) {
            Err(error) if is_done => Ok(Err(failed(error))),
            _ => result,
        };
        // After some errors, such as a full disk, SQLite has taken everything back.
        if self.connection.is_autocommit()
            && let Some(together) = self.together.take()
        {
            let why = HubError::failed("the database", "a change that was to be written with this one failed");
            together.end.set(Err(why));
        }
        result
    }

    /// Writes what the transaction has, and tells everyone who waits for that.
    fn write(&mut self) {
        let Some(together) = self.together.take() else { return };
        let written = self.connection.execute_batch("COMMIT").map_err(failed);
        if written.is_err() {
            // Some errors have done this.
            _ = self.connection.execute_batch("ROLLBACK");
        }
        together.end.set(written);
    }
}

fn failed(error: rusqlite::Error) -> HubError {
    HubError::failed("the database", error)
}

impl HubStore for SqliteStore {
    fn transaction(
        &self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), HubError>,
    ) -> Result<(), HubError> {
        let mut open = self.enter();
        let result = open.change(work);
        let Some(together) = &open.together else { return result.unwrap_or_else(|panic| resume_unwind(panic)) };
        let (end, has_changed) = (Arc::clone(&together.end), together.has_changed);
        if self.waiting.load(SeqCst) == 0 || together.count >= MOST_TOGETHER {
            open.write();
        }
        drop(open);
        result.unwrap_or_else(|panic| resume_unwind(panic))?;
        // What was read may be of a change that is not written yet.
        if has_changed { end.wait() } else { Ok(()) }
    }

    fn watch(&self) -> Result<Option<Box<dyn HubWatch>>, HubError> {
        let Some(path) = &self.path else { return Ok(None) };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        let version = version(&connection)?;
        Ok(Some(Box::new(Watch { connection, version })))
    }
}

/// A connection of its own: its number changes with what others write.
struct Watch {
    connection: Connection,
    version: i64,
}

fn version(connection: &Connection) -> Result<i64, HubError> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0)).map_err(failed)
}

impl HubWatch for Watch {
    fn wait(&mut self, longest: Duration) -> Result<bool, HubError> {
        let until = Instant::now() + longest;
        loop {
            let version = version(&self.connection)?;
            if std::mem::replace(&mut self.version, version) != version {
                return Ok(true);
            }
            if Instant::now() >= until {
                return Ok(false);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

struct Change<'c> {
    connection: &'c Connection,
    has_changed: bool,
}

impl rusqlite::ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        let value = match self {
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        };
        Ok(rusqlite::types::ToSqlOutput::Borrowed(value))
    }
}

impl HubTransaction for Change<'_> {
    fn execute(&mut self, statement: &str, values: &[SqlValue]) -> Result<u64, HubError> {
        let mut statement = self.connection.prepare_cached(statement).map_err(failed)?;
        self.has_changed = true;
        let changed = statement.execute(params_from_iter(values)).map_err(failed)?;
        Ok(changed as u64)
    }

    fn rows(&mut self, statement: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HubError> {
        let mut statement = self.connection.prepare_cached(statement).map_err(failed)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        let mut answer = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let value = |column| match row.get_ref(column).map_err(failed)? {
                ValueRef::Text(text) => Ok(SqlValue::Text(String::from_utf8_lossy(text).into_owned())),
                ValueRef::Integer(number) => Ok(SqlValue::Number(number)),
                ValueRef::Blob(bytes) => Ok(SqlValue::Bytes(bytes.to_vec())),
                other => Err(HubError::failed("the database", format!("a value of type {}", other.data_type()))),
            };
            answer.push(SqlRow((0..columns).map(value).collect::<Result<_, _>>()?));
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::{atomic::Ordering::SeqCst, mpsc},
        thread,
        time::Duration,
    };

    use rusqlite::Connection;

    use super::SqliteStore;
    use crate::{HubError, HubRefusal, HubStore, HubTransaction};

    type Work<'w> = &'w (dyn Fn(&mut dyn HubTransaction) -> Result<(), HubError> + Sync);

    /// Does each work while the next one waits; tells how each ended.
    fn together(store: &SqliteStore, works: &[Work<'_>]) -> Vec<thread::Result<Result<(), HubError>>> {
        let (inside, begun) = mpsc::channel();
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (at, work) in works.iter().enumerate() {
                let inside = inside.clone();
                threads.push(scope.spawn(move || {
                    let mut work = |tx: &mut dyn HubTransaction| {
                        inside.send(()).expect("someone waits");
                        while at + 1 < works.len() && store.waiting.load(SeqCst) == 0 {
                            thread::sleep(Duration::from_millis(1));
                        }
                        work(tx)
                    };
                    catch_unwind(AssertUnwindSafe(|| store.transaction(&mut work)))
                }));
                begun.recv().expect("it begins");
            }
            threads.into_iter().map(|thread| thread.join().expect("no other panic")).collect()
        })
    }

    fn note(tx: &mut dyn HubTransaction, text: &str) -> Result<(), HubError> {
        tx.execute("INSERT OR ROLLBACK INTO notes (text) VALUES ($1)", &[text.into()]).map(drop)
    }

    fn notes(connection: &Connection) -> Vec<String> {
        let mut all = connection.prepare("SELECT text FROM notes ORDER BY text").expect("a table");
        let all = all.query_map([], |row| row.get(0)).expect("rows");
        all.collect::<Result<_, _>>().expect("texts")
    }

    fn refuse(tx: &mut dyn HubTransaction) -> Result<(), HubError> {
        note(tx, "refused")?;
        Err(HubError::new(HubRefusal::Invalid, "no"))
    }

    fn panics(tx: &mut dyn HubTransaction) -> Result<(), HubError> {
        note(tx, "panicked")?;
        panic!("it was to be");
    }

    /// A database in a file, with another connection that sees what is written.
    fn opened() -> (tempfile::TempDir, SqliteStore, Connection) {
        let scratch = tempfile::tempdir().expect("a directory");
        let path = scratch.path().join("hub.db");
        let store = SqliteStore::open(&path).expect("a database");
        store.transaction(&mut |tx| tx.execute("CREATE TABLE notes (text TEXT UNIQUE)", &[]).map(drop)).expect("made");
        (scratch, store, Connection::open(&path).expect("a database"))
    }

    #[test]
    fn changes_that_are_made_at_the_same_time_are_written_together() {
        let (_scratch, store, other) = opened();
        let other = std::sync::Mutex::new(other);
        let last = |tx: &mut dyn HubTransaction| {
            assert!(notes(&other.lock().expect("no panic")).is_empty());
            note(tx, "last")
        };
        let ends = together(&store, &[&|tx| note(tx, "first"), &refuse, &panics, &last]);
        assert!(matches!(ends[..], [Ok(Ok(())), Ok(Err(_)), Err(_), Ok(Ok(()))]), "{ends:?}");
        assert_eq!(notes(&other.lock().expect("no panic")), ["first", "last"]);
        // The one who writes is refused itself, or panics.
        for writes in [refuse, panics] {
            let name = format!("{writes:p}");
            let ends = together(&store, &[&|tx| note(tx, &name), &writes]);
            assert!(matches!(ends[0], Ok(Ok(()))), "{ends:?}");
            assert!(notes(&other.lock().expect("no panic")).contains(&name));
        }
    }

    #[test]
    fn a_change_that_is_taken_back_with_another_one_has_failed() {
        let (_scratch, store, other) = opened();
        together(&store, &[&|tx| note(tx, "known")]);
        // As SQLite does itself when the disk is full, this takes the whole transaction back.
        let again: Work<'_> = &|tx| note(tx, "known");
        let first: Work<'_> = &|tx| note(tx, "first");
        let ends = together(&store, &[first, again]);
        assert!(matches!(ends[..], [Ok(Err(_)), Ok(Err(_))]), "{ends:?}");
        assert_eq!(notes(&other), ["known"]);
        // What begins after that is not part of it.
        let ends = together(&store, &[again, first]);
        assert!(matches!(ends[..], [Ok(Err(_)), Ok(Ok(()))]), "{ends:?}");
        assert_eq!(notes(&other), ["first", "known"]);
    }
}
