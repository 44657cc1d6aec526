//! What a client costs that asks again and again whether anything has changed.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use cycod_hub::{HubError, HubStore, HubTransaction, SqlRow, SqlValue, SqliteStore};
use cycod_team::{BlobDigest, ReviewVerdict, release_tag};
use cycod_team_sync::{ReviewDesk as _, TaskTaken};
use serde_json::json;

use crate::{
    fleet::{files, tasks, ticket, worker},
    support::{Device, Sent, Team, address, ask, now, proposal, review, stable},
};

const POLLS: usize = 1000;

/// A database that counts what is asked of it.
#[derive(Default)]
struct Counts {
    statements: AtomicUsize,
    rows: AtomicUsize,
    bytes: AtomicUsize,
    changes: AtomicUsize,
}

struct Counted {
    store: SqliteStore,
    counts: Arc<Counts>,
}

struct CountedChange<'c>(&'c mut dyn HubTransaction, &'c Counts);

impl HubStore for Counted {
    fn transaction(
        &self,
        work: &mut dyn FnMut(&mut dyn HubTransaction) -> Result<(), HubError>,
    ) -> Result<(), HubError> {
        self.store.transaction(&mut |tx| work(&mut CountedChange(tx, &self.counts)))
    }
}

impl HubTransaction for CountedChange<'_> {
    fn execute(&mut self, statement: &str, values: &[SqlValue]) -> Result<u64, HubError> {
        self.1.changes.fetch_add(1, Ordering::SeqCst);
        self.0.execute(statement, values)
    }

    fn rows(&mut self, statement: &str, values: &[SqlValue]) -> Result<Vec<SqlRow>, HubError> {
        let rows = self.0.rows(statement, values)?;
        self.1.statements.fetch_add(1, Ordering::SeqCst);
        self.1.rows.fetch_add(rows.len(), Ordering::SeqCst);
        let size = |value: &SqlValue| match value {
            SqlValue::Text(text) => text.len(),
            SqlValue::Number(_) => 8,
            SqlValue::Bytes(bytes) => bytes.len(),
        };
        let bytes: usize = rows.iter().flat_map(|row| &row.0).map(size).sum();
        self.1.bytes.fetch_add(bytes, Ordering::SeqCst);
        Ok(rows)
    }
}

/// Asks whether anything has changed.
fn send(stream: &mut TcpStream, device: &Device, tag: &str) {
    let Sent { head, .. } = device.request("GET", "/v1/latest.json", b"", 0);
    let head = head.replace("connection: close", &format!("if-none-match: {tag}"));
    stream.write_all(head.as_bytes()).expect("it reads");
}

/// Reads that nothing has; returns the bytes of the answer.
fn receive(stream: &mut TcpStream) -> usize {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut some = [0; 1024];
        let count = stream.read(&mut some).expect("it answers");
        assert!(count > 0, "an answer: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&some[..count]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 304 "), "{}", String::from_utf8_lossy(&answer));
    answer.len()
}

/// Sends requests over one connection; returns the bytes of all answers.
fn poll(address: SocketAddr, device: &Device, tag: &str) -> usize {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let mut one = || {
        send(&mut stream, device, tag);
        receive(&mut stream)
    };
    (0..POLLS).map(|_| one()).sum()
}

/// What a client that has the newest release says.
pub(crate) fn newest_tag(hub: SocketAddr, device: &Device) -> String {
    let (_, answer) = ask(hub, &device.request("GET", "/v1/release.json", b"", 0));
    let document = answer.split("\r\n\r\n").nth(1).expect("a body");
    release_tag(BlobDigest::of(document.as_bytes()), 1)
}

#[test]
fn a_poll_of_an_unchanged_team_reads_a_few_rows_and_writes_nothing() {
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().join("hub.db");
    let counts = Arc::new(Counts::default());
    let store = SqliteStore::open(&path).expect("a database");
    let team = Team::new(Arc::new(Counted { store, counts: Arc::clone(&counts) }));
    let source = team.served();
    let hub = address(&source);
    let [ada, ben, dana] = ["ada", "ben", "dana"].map(|name| team.device(&source, name).0);
    let device = Device::enrolled(&team, hub, "cem");

    // However large the team is that hasn't changed.
    for number in [2, 3] {
        let tool = format!("description: Large\nbash: echo {}\n", "x".repeat(500_000 * (number - 1)));
        let before = (number > 2).then(|| format!("description: Large\nbash: echo {}\n", "x".repeat(500_000)));
        let large = proposal("ada", before.as_deref().map(str::as_bytes), tool.as_bytes());
        ada.propose(&large, &[tool.as_bytes()]).expect("a proposal");
        ben.review(large.digest(), &review("ben", large.digest(), ReviewVerdict::Approve)).expect("a review");
        assert_eq!(dana.release(&stable(), number as u64 - 1).expect("a release").number, number as u64);
        let tag = newest_tag(hub, &device);

        let take = |count: &AtomicUsize| count.swap(0, Ordering::SeqCst);
        let all = [&counts.statements, &counts.rows, &counts.bytes, &counts.changes];
        _ = all.map(take);
        let wal = || fs::metadata(scratch.path().join("hub.db-wal")).map(|wal| wal.len()).unwrap_or_default();
        let before = wal();
        let sent = poll(hub, &device, &tag);
        let [statements, rows, bytes, changes] = all.map(take);
        assert_eq!(changes, 0, "nothing is written for a poll");
        assert_eq!(wal(), before);
        assert!(statements <= 4 * POLLS && rows <= 4 * POLLS, "{statements} statements, {rows} rows");
        assert!(bytes <= 1024 * POLLS, "{bytes} bytes are read from the database");
        assert!(sent <= 512 * POLLS, "{sent} bytes are sent");
    }
}

#[test]
fn a_thousand_clients_are_answered_at_the_same_time() {
    let store = SqliteStore::in_memory().expect("a database");
    let team = Team::new(Arc::new(store));
    let hub = address(&team.served());
    let devices: Vec<Device> = (0..1000).map(|_| Device::enrolled(&team, hub, "cem")).collect();
    let tag = newest_tag(hub, &devices[0]);
    // The hub hangs up on a client that says nothing for long, so all connect when all are ready.
    let connect = |device| (device, TcpStream::connect(hub).expect("it listens"));
    let mut clients: Vec<(Device, TcpStream)> = devices.into_iter().map(connect).collect();
    for _ in 0..2 {
        clients.iter_mut().for_each(|(device, stream)| send(stream, device, &tag));
        clients.iter_mut().for_each(|(_, stream)| _ = receive(stream));
    }
}

#[test]
fn what_waits_for_news_of_one_task_writes_nothing_when_there_is_some_of_another() {
    const WAITING: usize = 20;
    const REPORTS: usize = 30;
    let counts = Arc::new(Counts::default());
    let store = SqliteStore::in_memory().expect("a database");
    let team = Team::new(Arc::new(Counted { store, counts: Arc::clone(&counts) }));
    let source = team.served();
    let (one, mut at_one) = worker(&team, &source, "one");
    assert!(at_one.claim(&[], 0).expect("an answer").is_none());
    let mut ada = tasks(&team, &source, "ada");
    let given: Vec<_> = (0..=WAITING).map(|_| ticket(&[], false)).collect();
    given.iter().for_each(|ticket| assert_eq!(ada.give(ticket, &files()), Ok(TaskTaken::Waits)));
    let claimed = at_one.claim(&[], 0).expect("an answer").expect("a task");
    let fence = one.verified(&claimed, now().as_second()).expect("a ticket").fence;
    std::thread::scope(|scope| {
        for ticket in &given[1..] {
            let mut waiting = tasks(&team, &source, "ada");
            scope.spawn(move || {
                let seen = waiting.watch(&ticket.id, ("waiting", 0), 3_000).expect("a state");
                assert_eq!((seen.state.as_str(), seen.pieces.len()), ("waiting", 0));
            });
        }
        // All of them have asked.
        std::thread::sleep(std::time::Duration::from_millis(700));
        _ = counts.changes.swap(0, Ordering::SeqCst);
        for piece in 1..=REPORTS {
            let lease = (given[0].id.as_str(), fence);
            assert!(!at_one.report(lease, (piece as i64, &[json!({"e": "a"})]), None).expect("an answer").over);
        }
        let changes = counts.changes.swap(0, Ordering::SeqCst);
        // Those of the reports themselves; and once a second each request looks for what time brings.
        assert!(changes <= 12 * (REPORTS + 2 * WAITING), "{changes} changes");
    });
}
