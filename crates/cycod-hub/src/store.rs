//! What a hub asks of a database, and the values that go in and out of it.

use std::time::Duration;

use jiff::Timestamp;

use crate::HubError;

/// A value of a column. Both databases have these three kinds, and no column is ever empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlValue {
    /// A text.
    Text(String),
    /// A number.
    Number(i64),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl From<&str> for SqlValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for SqlValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for SqlValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&[u8]> for SqlValue {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

/// A row of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlRow(pub Vec<SqlValue>);

impl SqlRow {
    /// The text of a column.
    ///
    /// # Errors
    /// When it has none.
    pub fn text(&self, column: usize) -> Result<String, HubError> {
        match self.0.get(column) {
            Some(SqlValue::Text(text)) => Ok(text.clone()),
            _ => Err(HubError::failed("the database", format!("column {column} has no text"))),
        }
    }

    /// The number of a column.
    ///
    /// # Errors
    /// When it has none.
    pub fn number(&self, column: usize) -> Result<i64, HubError> {
        match self.0.get(column) {
            Some(SqlValue::Number(number)) => Ok(*number),
            _ => Err(HubError::failed("the database", format!("column {column} has no number"))),
        }
    }

    /// The bytes of a column.
    ///
    /// # Errors
    /// When it has none.
    pub fn bytes(&self, column: usize) -> Result<Vec<u8>, HubError> {
        match self.0.get(column) {
            Some(SqlValue::Bytes(bytes)) => Ok(bytes.clone()),
            _ => Err(HubError::failed("the database", format!("column {column} has no bytes"))),
        }
    }
}

/// A database. The statements are the same for each: the values of `$1`, `$2` … are given in the order in which these first
/// appear.
pub trait HubStore: Send + Sync {
    /// Does some work as one change, or none of it when it fails. The work may be done several times, of which only the last
    /// one counts: a database ends one of two changes that wait for each other.
    ///
    /// # Errors
    /// When the work fails, or the database.
    fn transaction(
        &self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), HubError>,
    ) -> Result<(), HubError>;

    /// Opens something that notices what other processes change; nothing if no other process can.
    ///
    /// # Errors
    /// When the database fails.
    fn watch(&self) -> Result<Option<Box<dyn HubWatch>>, HubError> {
        Ok(None)
    }

    /// The time at the database; nothing if it has no clock of its own.
    ///
    /// # Errors
    /// When the database fails.
    fn clock(&self) -> Result<Option<Timestamp>, HubError> {
        Ok(None)
    }
}

/// Notices what other processes change in a database.
pub trait HubWatch: Send {
    /// Waits until something changes, at most for `longest`; returns whether something did.
    ///
    /// # Errors
    /// When the database fails; then this is of no use any more.
    fn wait(&mut self, longest: Duration) -> Result<bool, HubError>;
}

/// A change that is being made.
pub trait HubTransaction {
    /// Changes rows; returns how many.
    ///
    /// # Errors
    /// When the database fails.
    fn execute(&mut self, statement: &str, values: &[SqlValue]) -> Result<u64, HubError>;

    /// Reads rows.
    ///
    /// # Errors
    /// When the database fails.
    fn rows(&mut self, statement: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HubError>;

    /// Tells other processes of this change, when it is made.
    ///
    /// # Errors
    /// When the database fails.
    fn announce(&mut self) -> Result<(), HubError> {
        Ok(())
    }
}

impl dyn HubStore {
    /// Does some work as one change, and returns what it returns.
    pub(crate) fn run<T>(&self, work: impl Fn(&mut dyn HubTransaction) -> Result<T, HubError>) -> Result<T, HubError> {
        let mut result = None;
        self.transaction(&mut |transaction| {
            result = Some(work(transaction)?);
            Ok(())
        })?;
        result.ok_or_else(|| HubError::failed("the database", "it did nothing"))
    }
}

impl dyn HubTransaction + '_ {
    /// The only row of an answer, if there is one.
    pub(crate) fn row(&mut self, statement: &str, values: &[SqlValue]) -> Result<Option<SqlRow>, HubError> {
        Ok(self.rows(statement, values)?.into_iter().next())
    }
}

/// The number that a statement asks for; 0 when there is no row.
pub(crate) fn count(tx: &mut dyn HubTransaction, statement: &str) -> Result<i64, HubError> {
    tx.row(statement, &[])?.map_or(Ok(0), |row| row.number(0))
}
