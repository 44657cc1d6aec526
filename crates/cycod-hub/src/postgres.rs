//! A database of PostgreSQL. Its connections are not encrypted, so that an address that asks for it is refused.

use std::{
    fmt,
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use cycod_thread::Thread;
use jiff::Timestamp;
use postgres::{
    Client, Config, NoTls,
    config::{Host, SslMode},
    fallible_iterator::FallibleIterator as _,
    types::{ToSql, Type},
};

use crate::{HubError, HubRefusal, HubStore, HubTransaction, HubWatch, SqlRow, SqlValue, migrations::migrate};

/// The most connections of one hub.
const MOST: usize = 8;

/// How long to wait for one of them, and for the server.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often work is tried that collided with that of another connection.
const ATTEMPTS: u32 = 5;

/// How long to wait after the first collision; after the second one, twice as long, and so on.
const AFTER_COLLISION: Duration = Duration::from_millis(20);

/// Held while the tables are changed, so that of two hubs that begin at once one waits: "cycodhub" as a number.
const MIGRATING: i64 = 0x6379_636f_6468_7562;

/// A database of PostgreSQL, which several hubs can use.
pub struct PostgresStore {
    config: Config,
    pool: Mutex<Pool>,
    returned: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Client>,
    open: usize,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresStore")
    }
}

impl PostgresStore {
    /// Connects to a database, as in `postgres://hub@localhost/hub` or `host=/run/postgresql dbname=hub user=hub`.
    ///
    /// # Errors
    /// When that is no address, asks for encryption, the database can't be reached, or it is of a newer version.
    pub fn open(url: &str) -> Result<Self, HubError> {
        let mut config: Config = url.parse().map_err(|error| HubError::failed("the address of the database", error))?;
        check_clear(&config, url)?;
        config.ssl_mode(SslMode::Disable);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        let store = Self { config, pool: Mutex::default(), returned: Condvar::new() };
        store.transaction(&mut |tx| {
            tx.execute("SELECT pg_advisory_xact_lock($1)", &[MIGRATING.into()])?;
            migrate(tx)
        })?;
        Ok(store)
    }

    /// A connection that no one uses, or a new one.
    fn lease(&self) -> Result<Lease<'_>, HubError> {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |pool: &mut Pool| pool.idle.is_empty() && pool.open >= MOST;
        let waited = self.returned.wait_timeout_while(pool, PATIENCE, is_full);
        let (mut pool, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_full(&mut pool) {
            return Err(HubError::new(HubRefusal::Busy, "every connection to the database is in use"));
        }
        let mut lease = Lease { store: self, client: None };
        while let Some(client) = pool.idle.pop() {
            if !client.is_closed() {
                lease.client = Some(client);
                return Ok(lease);
            }
            pool.open = pool.open.saturating_sub(1);
        }
        pool.open += 1;
        drop(pool);
        lease.client = Some(self.config.connect(NoTls).map_err(failed)?);
        Ok(lease)
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        let pool = std::mem::take(self.pool.get_mut().unwrap_or_else(PoisonError::into_inner));
        // A client waits for its end by a runtime of its own, which isn't possible where another one runs.
        if let Ok(closing) = Thread::named("hub-database").start(move || drop(pool)) {
            _ = closing.join();
        }
    }
}

/// A connection in use, which goes back when this ends; without one, the room for it.
struct Lease<'s> {
    store: &'s PostgresStore,
    client: Option<Client>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut pool = self.store.pool.lock().unwrap_or_else(PoisonError::into_inner);
        match self.client.take() {
            Some(client) => pool.idle.push(client),
            None => pool.open = pool.open.saturating_sub(1),
        }
        self.store.returned.notify_one();
    }
}

/// Refuses an address that asks for encryption, and one of another machine that doesn't say that it goes without.
fn check_clear(config: &Config, url: &str) -> Result<(), HubError> {
    if config.get_ssl_mode() == SslMode::Require {
        let message = "cycod-hub can't encrypt the connection to PostgreSQL, so it doesn't connect with sslmode=require: \
                       use a socket, the same machine or a tunnel";
        return Err(HubError::invalid(message));
    }
    let is_here = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        _ => true,
    };
    let addresses_are_here = config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback);
    let is_said = config.get_ssl_mode() == SslMode::Disable && url.contains("sslmode");
    if is_said || config.get_hosts().iter().all(is_here) && addresses_are_here {
        return Ok(());
    }
    let message = "cycod-hub can't encrypt the connection to PostgreSQL on another machine: use a tunnel, or add \
                   sslmode=disable if no one can read that network";
    Err(HubError::invalid(message))
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn failed(error: postgres::Error) -> HubError {
    let detail = error.as_db_error().map(|error| error.message().to_owned());
    let message = format!("the database: {}", detail.unwrap_or_else(|| error.to_string()));
    let is_of = |classes: &[&str]| error.code().is_some_and(|code| classes.contains(&&code.code()[..2]));
    // The classes of a server that is away, starts or stops, and of other things that pass: conflicts and resources.
    let refusal = match error.code() {
        None => HubRefusal::Away,
        Some(_) if is_of(&["08", "57"]) => HubRefusal::Away,
        Some(_) if is_of(&["40", "53"]) => HubRefusal::Busy,
        Some(_) => HubRefusal::Failed,
    };
    HubError::new(refusal, message)
}

impl HubStore for PostgresStore {
    fn transaction(
        &self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), HubError>,
    ) -> Result<(), HubError> {
        let mut lease = self.lease()?;
        let client = lease.client.as_mut().ok_or_else(|| HubError::failed("the database", "no connection"))?;
        let mut attempt = 1;
        loop {
            let mut change = Change { transaction: client.transaction().map_err(failed)?, has_collided: false };
            // When the work fails, the transaction is dropped, which undoes it.
            let (done, has_collided) = match work(&mut change) {
                Ok(()) => change.commit(),
                Err(error) => (Err(error), change.has_collided),
            };
            if !has_collided || attempt == ATTEMPTS {
                return done;
            }
            thread::sleep(AFTER_COLLISION * attempt);
            attempt += 1;
        }
    }

    fn watch(&self) -> Result<Option<Box<dyn HubWatch>>, HubError> {
        let mut client = self.config.connect(NoTls).map_err(failed)?;
        client.batch_execute("LISTEN cycod_hub").map_err(failed)?;
        Ok(Some(Box::new(Watch(client))))
    }

    fn clock(&self) -> Result<Option<Timestamp>, HubError> {
        let mut seconds = 0;
        self.transaction(&mut |tx| {
            let rows = tx.rows("SELECT CAST(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) AS BIGINT)", &[])?;
            seconds = rows.first().map_or(Ok(0), |row| row.number(0))?;
            Ok(())
        })?;
        Timestamp::from_second(seconds).map(Some).map_err(|error| HubError::failed("the clock of the database", error))
    }
}

/// A connection that hears of the changes of every hub.
struct Watch(Client);

impl HubWatch for Watch {
    fn wait(&mut self, longest: Duration) -> Result<bool, HubError> {
        let mut notifications = self.0.notifications();
        let first = notifications.timeout_iter(longest).next().map_err(failed)?;
        while notifications.iter().next().map_err(failed)?.is_some() {}
        drop(notifications);
        if self.0.is_closed() {
            return Err(HubError::failed("the database", "the connection that hears of changes was closed"));
        }
        Ok(first.is_some())
    }
}

struct Change<'c> {
    transaction: postgres::Transaction<'c>,
    /// Whether the database ended it, because it and that of another connection waited for each other.
    has_collided: bool,
}

impl Change<'_> {
    fn failed(&mut self, error: postgres::Error) -> HubError {
        self.has_collided |= has_collided(&error);
        failed(error)
    }

    /// Makes the change; returns as well whether it collided with another one.
    fn commit(self) -> (Result<(), HubError>, bool) {
        match self.transaction.commit() {
            Ok(()) => (Ok(()), false),
            Err(error) => {
                let has_collided = has_collided(&error);
                (Err(failed(error)), has_collided)
            }
        }
    }
}

/// Whether a statement failed because of what another connection did at the same time, so that it can succeed later.
fn has_collided(error: &postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code().starts_with("40"))
}

fn parameter(value: &SqlValue) -> &(dyn ToSql + Sync) {
    match value {
        SqlValue::Text(text) => text,
        SqlValue::Number(number) => number,
        SqlValue::Bytes(bytes) => bytes,
    }
}

impl HubTransaction for Change<'_> {
    fn execute(&mut self, statement: &str, values: &[SqlValue]) -> Result<u64, HubError> {
        let values: Vec<_> = values.iter().map(parameter).collect();
        self.transaction.execute(statement, &values).map_err(|error| self.failed(error))
    }

    fn rows(&mut self, statement: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HubError> {
        let values: Vec<_> = values.iter().map(parameter).collect();
        let rows = self.transaction.query(statement, &values).map_err(|error| self.failed(error))?;
        let row = |row: &postgres::Row| {
            let value = |column: usize| match *row.columns()[column].type_() {
                Type::TEXT => row.try_get(column).map(SqlValue::Text).map_err(failed),
                Type::INT8 => row.try_get(column).map(SqlValue::Number).map_err(failed),
                Type::BYTEA => row.try_get(column).map(SqlValue::Bytes).map_err(failed),
                ref other => Err(HubError::failed("the database", format!("a value of type {other}"))),
            };
            Ok(SqlRow((0..row.len()).map(value).collect::<Result<_, HubError>>()?))
        };
        rows.iter().map(row).collect()
    }

    fn announce(&mut self) -> Result<(), HubError> {
        self.transaction.batch_execute("NOTIFY cycod_hub").map_err(|error| self.failed(error))
    }
}
