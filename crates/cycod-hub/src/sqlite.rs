//! The database of a hub in one file.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params_from_iter, types::ValueRef};

use crate::{HubError, HubStore, HubTransaction, HubWatch, SqlRow, SqlValue, migrations::migrate};

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the number is read that changes with the file.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The database in one file.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Mutex<Connection>,
    /// Nothing for one in memory.
    path: Option<PathBuf>,
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
        Ok(Self { connection: Mutex::new(Connection::open_in_memory().map_err(failed)?), path: None })
    }

    fn new(connection: Connection) -> Result<Self, HubError> {
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;").map_err(failed)?;
        let store = Self { connection: Mutex::new(connection), path: None };
        store.transaction(&mut |transaction| migrate(transaction))?;
        Ok(store)
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
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let mut change = Change(transaction);
        work(&mut change)?;
        change.0.commit().map_err(failed)
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

struct Change<'c>(Transaction<'c>);

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
        let mut statement = self.0.prepare_cached(statement).map_err(failed)?;
        let changed = statement.execute(params_from_iter(values)).map_err(failed)?;
        Ok(changed as u64)
    }

    fn rows(&mut self, statement: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HubError> {
        let mut statement = self.0.prepare_cached(statement).map_err(failed)?;
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
