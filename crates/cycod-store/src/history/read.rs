//! What can be asked of a history.

use rusqlite::{Connection, OptionalExtension, named_params, types::ValueRef};
use serde_json::Value;

use super::{History, live};
use crate::{Digest, StoreError};

/// A call with its end, as far as there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What it is called; names sort by time.
    pub id: String,
    /// The number of the row of its call.
    pub seq: u64,
    /// When, in milliseconds from 1970.
    pub at: u64,
    /// The tool.
    pub tool: String,
    /// The way the call came, such as `person`.
    pub surface: String,
    /// How far it is.
    pub state: State,
    /// What is known of the call.
    pub call: Value,
    /// When it ended, and what is known of that.
    pub end: Option<(u64, Value)>,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was refused, and nothing ran.
    Refused,
    /// It runs.
    Running,
    /// The process that ran it is gone, and wrote no end.
    Interrupted,
    /// It did what it was asked to.
    Ok,
    /// It ended badly.
    Failed,
    /// A limit of time ended it.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
}

impl State {
    /// Every state with its name.
    pub const NAMES: [(&str, State); 7] = [
        ("ok", State::Ok),
        ("failed", State::Failed),
        ("timed-out", State::TimedOut),
        ("cancelled", State::Cancelled),
        ("refused", State::Refused),
        ("running", State::Running),
        ("interrupted", State::Interrupted),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        State::NAMES.iter().find(|(_, state)| *state == self).expect("the table has all of them").0
    }

    /// The state of a name.
    pub fn named(name: &str) -> Option<State> {
        State::NAMES.iter().find(|(known, _)| *known == name).map(|(_, state)| *state)
    }
}

/// Which calls are wanted; the default is all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this tool, whatever its case.
    pub tool: Option<String>,
    /// Not before this, in milliseconds from 1970.
    pub since: Option<u64>,
    /// In this state.
    pub state: Option<State>,
    /// That came this way.
    pub surface: Option<String>,
    /// Only the newest of them; 0 for no limit.
    pub limit: usize,
}

/// A row as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its number.
    pub seq: u64,
    /// When, in milliseconds from 1970.
    pub at: u64,
    /// What it is about: a word that this version may not know.
    pub kind: String,
    /// The run.
    pub run: String,
    /// The tool, for a call.
    pub tool: String,
    /// The way a call came.
    pub surface: String,
    /// How a run ended, or `refused`.
    pub status: String,
    /// Everything else.
    pub body: Value,
    /// Its digest.
    pub digest: Digest,
}

const RUNS: &str = "
    SELECT c.run, c.seq, c.at, c.tool, c.surface, c.status,
        ifnull((SELECT r.process FROM events r WHERE r.run = c.run AND r.kind = 'resume' ORDER BY r.seq DESC LIMIT 1), c.process),
        c.body, e.status, e.at, e.body
    FROM events c LEFT JOIN events e ON e.run = c.run AND e.kind = 'end'
    WHERE c.kind = 'call'
";

impl History {
    /// Hands calls to `take`, the newest first, until it says that it has enough.
    pub fn each_run(&self, filter: &Filter, take: &mut dyn FnMut(Run) -> bool) -> Result<(), StoreError> {
        let Some(connection) = self.reading()? else { return Ok(()) };
        self.select(&connection, filter, take).map_err(|error| self.failed(error.into()))
    }

    /// Returns calls, the newest first.
    pub fn runs(&self, filter: &Filter) -> Result<Vec<Run>, StoreError> {
        let mut runs = Vec::new();
        self.each_run(filter, &mut |run| {
            runs.push(run);
            true
        })?;
        Ok(runs)
    }

    /// Returns the calls whose name begins with `id`, at most two: more than one is too many.
    pub fn find(&self, id: &str) -> Result<Vec<Run>, StoreError> {
        Ok(self.find_once(id)?.into_iter().map(|run| self.looked_at_again(run)).collect())
    }

    /// A process writes the end of its run before it goes. One that went after its rows were read looks interrupted, and has
    /// written the end by now.
    fn looked_at_again(&self, run: Run) -> Run {
        if run.state != State::Interrupted {
            return run;
        }
        let found = self.find_once(&run.id).unwrap_or_default();
        found.into_iter().find(|again| again.id == run.id).unwrap_or(run)
    }

    fn find_once(&self, id: &str) -> Result<Vec<Run>, StoreError> {
        let Some(connection) = self.reading()? else { return Ok(Vec::new()) };
        let found = || {
            let sql = format!("{RUNS} AND c.run >= :id AND c.run < :after ORDER BY c.run LIMIT 2");
            let mut statement = connection.prepare(&sql)?;
            // Names are hexadecimal, so what begins with one comes before one with a `g` behind it.
            let runs =
                statement.query_map(named_params! {":id": id, ":after": format!("{id}g")}, |row| self.run_of(row))?;
            runs.collect::<rusqlite::Result<Vec<_>>>()
        };
        found().map_err(|error| self.failed(error.into()))
    }

    /// Returns at most `limit` rows after the row `seq`.
    pub fn rows_after(&self, seq: u64, limit: usize) -> Result<Vec<Row>, StoreError> {
        let Some(connection) = self.reading()? else { return Ok(Vec::new()) };
        rows(&connection, seq, limit).map_err(|error| self.failed(error.into()))
    }

    /// Returns the number of the last row; 0 when there is none.
    pub fn last_row(&self) -> Result<u64, StoreError> {
        let Some(connection) = self.reading()? else { return Ok(0) };
        super::last(&connection).map(|head| head.seq).map_err(|error| self.failed(error.into()))
    }

    fn select(
        &self,
        connection: &Connection,
        filter: &Filter,
        take: &mut dyn FnMut(Run) -> bool,
    ) -> rusqlite::Result<()> {
        // Whether a run without an end goes on is not for the database to say.
        let (refused, ended) = match filter.state {
            None => (None, None),
            Some(State::Refused) => (Some("refused"), None),
            Some(State::Running | State::Interrupted) => (Some(""), Some("")),
            Some(state) => (Some(""), Some(state.name())),
        };
        let sql = format!(
            "{RUNS} AND (:tool IS NULL OR c.tool = :tool COLLATE NOCASE) AND c.at >= :since
             AND (:surface IS NULL OR c.surface = :surface) AND (:refused IS NULL OR c.status = :refused)
             AND (:ended IS NULL OR ifnull(e.status, '') = :ended)
             ORDER BY c.at DESC, c.seq DESC"
        );
        let mut statement = connection.prepare(&sql)?;
        let mut found = statement.query(named_params! {
            ":tool": filter.tool, ":since": filter.since.unwrap_or(0), ":surface": filter.surface,
            ":refused": refused, ":ended": ended,
        })?;
        let mut left = if filter.limit == 0 { usize::MAX } else { filter.limit };
        while let Some(row) = found.next()? {
            let run = self.looked_at_again(self.run_of(row)?);
            if filter.state.is_none_or(|state| state == run.state) {
                left -= 1;
                if !take(run) || left == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    fn run_of(&self, row: &rusqlite::Row<'_>) -> rusqlite::Result<Run> {
        let refused: String = row.get(5)?;
        let process: String = row.get(6)?;
        let ended: Option<String> = row.get(8)?;
        let end = match row.get(9)? {
            Some(at) => Some((at, json(row.get_ref(10)?))),
            None => None,
        };
        let state = match ended {
            Some(status) => State::named(&status).unwrap_or(State::Failed),
            None if !refused.is_empty() => State::Refused,
            None if live::is_there(&self.live_directory(), &process) => State::Running,
            None => State::Interrupted,
        };
        Ok(Run {
            id: row.get(0)?,
            seq: row.get(1)?,
            at: row.get(2)?,
            tool: row.get(3)?,
            surface: row.get(4)?,
            state,
            call: json(row.get_ref(7)?),
            end,
        })
    }
}

/// Rows in their order.
pub(super) fn rows(connection: &Connection, after: u64, limit: usize) -> rusqlite::Result<Vec<Row>> {
    let sql = "SELECT seq, at, kind, run, tool, surface, status, body, digest FROM events
               WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((after, limit), |row| {
        Ok(Row {
            seq: row.get(0)?,
            at: row.get(1)?,
            kind: row.get(2)?,
            run: row.get(3)?,
            tool: row.get(4)?,
            surface: row.get(5)?,
            status: row.get(6)?,
            body: json(row.get_ref(7)?),
            digest: Digest(row.get(8)?),
        })
    })?;
    rows.collect()
}

/// What a row says; what was changed to something that is no JSON is shown as it is.
fn json(text: ValueRef<'_>) -> Value {
    let text = String::from_utf8_lossy(text.as_bytes().unwrap_or_default()).into_owned();
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

/// The row that a number names.
pub(super) fn head_of(connection: &Connection, seq: u64) -> rusqlite::Result<Option<super::Head>> {
    connection
        .query_row("SELECT digest FROM events WHERE seq = ?1", [seq], |row| {
            Ok(super::Head { seq, digest: Digest(row.get(0)?) })
        })
        .optional()
}
