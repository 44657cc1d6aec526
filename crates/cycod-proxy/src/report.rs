//! What was reached and what was not.

use std::{
    collections::BTreeMap,
    fmt, io,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::{host::HostName, limits::REPORTED};

/// A connection that was not made, or was ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denied {
    /// The host that was asked for.
    pub host: HostName,
    /// Its port.
    pub port: u16,
    /// Why.
    pub kind: DenialKind,
    /// The permission that would let it through, when one can.
    pub permission: Option<String>,
    /// How often.
    pub times: u64,
}

/// Why something was denied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DenialKind {
    /// No permission names the host and port.
    Undeclared,
    /// The name leads to this address, which it is not allowed to lead to.
    Address(IpAddr),
    /// Inside the connection, in `Host` or in TLS, this other host was asked for.
    OtherName(HostName),
    /// The TLS client does not say, or hides, which host it wants, and only a pattern was declared.
    NoName,
    /// Neither TLS nor HTTP came, at a port that was not declared for anything else.
    Protocol,
    /// TLS whose beginning could not be followed, or that asked for another host in a second try.
    Unreadable,
    /// More bytes than the run may move.
    Volume,
}

impl Denied {
    pub(crate) fn new(host: &HostName, port: u16, kind: DenialKind) -> Self {
        let external = |host: &HostName, port: u16| match host {
            host if host.is_loopback() => Some(format!("network:loopback:{host}:{port}")),
            // What cannot be declared is not proposed.
            host => {
                crate::HostRule::external(&host.to_string()).is_ok().then(|| format!("network:external:{host}:{port}"))
            }
        };
        let permission = match &kind {
            DenialKind::Undeclared | DenialKind::NoName | DenialKind::Protocol => external(host, port),
            DenialKind::Address(address) => external(&HostName::Address(*address), port)
                .filter(|permission| permission.starts_with("network:external:")),
            DenialKind::OtherName(other) => external(other, port),
            DenialKind::Unreadable | DenialKind::Volume => None,
        };
        Self { host: host.clone(), port, kind, permission, times: 1 }
    }
}

/// What happened, without the count.
impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, kind, .. } = self;
        match kind {
            DenialKind::Undeclared => write!(f, "{host}:{port} is not declared"),
            DenialKind::Address(address) => {
                write!(f, "{host}:{port} leads to {address}, which a name that was declared does not permit")
            }
            DenialKind::OtherName(other) => write!(f, "a connection to {host}:{port} asked for {other}"),
            DenialKind::NoName => {
                write!(
                    f,
                    "a TLS connection to {host}:{port} does not say which host it wants, and only a pattern is declared"
                )
            }
            DenialKind::Protocol => write!(f, "a connection to {host}:{port} speaks neither TLS nor HTTP"),
            DenialKind::Unreadable => write!(f, "the beginning of TLS with {host}:{port} could not be followed"),
            DenialKind::Volume => write!(f, "more bytes than allowed went to and from {host}:{port} and others"),
        }
    }
}

/// A host that was connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachedHost {
    /// The host as it was asked for.
    pub host: HostName,
    /// Its port.
    pub port: u16,
    /// Connections made to it.
    pub connections: u64,
    /// Bytes that went to it.
    pub sent: u64,
    /// Bytes that came from it.
    pub received: u64,
}

/// Everything that one run did and was kept from doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyReport {
    /// What was denied; what was denied last stands last.
    pub denied: Vec<Denied>,
    /// What was reached.
    pub reached: Vec<ReachedHost>,
    /// Denials and connections beyond the number of hosts that is kept apart.
    pub unlisted: u64,
}

/// The records of one run. They can be asked while it runs, and after.
#[derive(Clone, Debug)]
pub struct Records(Arc<Ledger>);

#[derive(Debug)]
struct Ledger {
    denied: Mutex<Vec<Denied>>,
    reached: Mutex<BTreeMap<(HostName, u16), Arc<Traffic>>>,
    unlisted: AtomicU64,
    moved: AtomicU64,
    most: Option<u64>,
}

#[derive(Debug, Default)]
struct Traffic {
    connections: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Records {
    pub(crate) fn new(most: Option<u64>) -> Self {
        Self(Arc::new(Ledger {
            denied: Mutex::default(),
            reached: Mutex::default(),
            unlisted: AtomicU64::new(0),
            moved: AtomicU64::new(0),
            most,
        }))
    }

    /// Returns what happened so far.
    pub fn report(&self) -> ProxyReport {
        let reached = lock(&self.0.reached)
            .iter()
            .map(|((host, port), traffic)| ReachedHost {
                host: host.clone(),
                port: *port,
                connections: traffic.connections.load(Relaxed),
                sent: traffic.sent.load(Relaxed),
                received: traffic.received.load(Relaxed),
            })
            .collect();
        ProxyReport { denied: lock(&self.0.denied).clone(), reached, unlisted: self.0.unlisted.load(Relaxed) }
    }

    pub(crate) fn deny(&self, denied: Denied) -> Denied {
        let mut all = lock(&self.0.denied);
        let same = |one: &Denied| (&one.host, one.port, &one.kind) == (&denied.host, denied.port, &denied.kind);
        if let Some(known) = all.iter().position(same) {
            all[known].times += 1;
            all[known..].rotate_left(1);
        } else if all.len() < REPORTED {
            all.push(denied.clone());
        } else {
            self.0.unlisted.fetch_add(1, Relaxed);
        }
        denied
    }

    /// Notes a connection; what it moves is to be told to the meter.
    pub(crate) fn reached(&self, host: &HostName, port: u16) -> Meter {
        let key = (host.clone(), port);
        let mut all = lock(&self.0.reached);
        let traffic = if all.len() < REPORTED || all.contains_key(&key) {
            Arc::clone(all.entry(key.clone()).or_default())
        } else {
            self.0.unlisted.fetch_add(1, Relaxed);
            Arc::default()
        };
        traffic.connections.fetch_add(1, Relaxed);
        Meter { records: self.clone(), key, traffic }
    }
}

/// Counts the bytes of one connection.
#[derive(Debug)]
pub(crate) struct Meter {
    records: Records,
    key: (HostName, u16),
    traffic: Arc<Traffic>,
}

impl Meter {
    pub(crate) fn sent(&self, bytes: usize) -> io::Result<()> {
        self.traffic.sent.fetch_add(bytes as u64, Relaxed);
        self.moved(bytes as u64)
    }

    pub(crate) fn received(&self, bytes: usize) -> io::Result<()> {
        self.traffic.received.fetch_add(bytes as u64, Relaxed);
        self.moved(bytes as u64)
    }

    fn moved(&self, bytes: u64) -> io::Result<()> {
        let Ledger { moved, most, .. } = &*self.records.0;
        let sum = moved.fetch_add(bytes, Relaxed).saturating_add(bytes);
        if most.is_none_or(|most| sum <= most) {
            return Ok(());
        }
        let denied = self.records.deny(Denied::new(&self.key.0, self.key.1, DenialKind::Volume));
        Err(io::Error::new(io::ErrorKind::QuotaExceeded, denied.to_string()))
    }
}

/// Nothing that is locked here is ever left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
