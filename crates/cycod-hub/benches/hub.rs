//! What a hub costs: polls of a team that hasn't changed, and proposals and tasks of workers with each of the databases.
//!
//!     cargo bench -p cycod-hub          needs PostgreSQL

#![expect(clippy::print_stdout, reason = "a benchmark tells what it measured")]

#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/hub/fleet.rs"]
mod fleet;
#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/hub/scratch.rs"]
mod scratch;
#[expect(dead_code, reason = "the tests use the rest")]
#[path = "../tests/hub/support.rs"]
mod support;

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use cycod_hub::{HubStore, HubTransaction, PostgresStore, SqliteStore};
use cycod_team::{ReviewVerdict, SignedText};
use cycod_team_sync::{ReviewDesk as _, TeamHub};

use scratch::Postgres;
use support::{Device, TOOL, Team, address, ask, proposal, proposal_of, review, stable};

const CLIENTS: u32 = 4;
const POLLS_PER_SECOND: u32 = 1000;
const SECONDS: u32 = 10;

/// The processor time that this process has used.
fn of_process() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("it is there");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().expect("ticks")).sum();
    // A hundredth of a second each, on every Linux.
    Duration::from_millis(ticks * 10)
}

/// The processor time that this thread has used.
fn of_thread() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("it is there");
    Duration::from_nanos(stat.split(' ').next().and_then(|time| time.parse().ok()).expect("a time"))
}

/// Polls at a pace over one connection; returns the processor time of this client.
fn poll(hub: SocketAddr, device: &Device, tag: &str) -> Duration {
    let (began, before) = (Instant::now(), of_thread());
    let mut stream = TcpStream::connect(hub).expect("it listens");
    stream.set_nodelay(true).expect("an option");
    for number in 0..POLLS_PER_SECOND * SECONDS / CLIENTS {
        let due = Duration::from_secs(1) * number * CLIENTS / POLLS_PER_SECOND;
        thread::sleep(due.saturating_sub(began.elapsed()));
        let head = device.request("GET", "/v1/latest.json", b"", 0).head;
        let head = head.replace("connection: close", &format!("if-none-match: {tag}"));
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = [0; 1024];
        let count = stream.read(&mut answer).expect("it answers");
        assert!(answer[..count].starts_with(b"HTTP/1.1 304 "), "{}", String::from_utf8_lossy(&answer[..count]));
    }
    of_thread() - before
}

fn polls() {
    let scratch = tempfile::tempdir().expect("a directory");
    let team = Team::new(Arc::new(SqliteStore::open(&scratch.path().join("hub.db")).expect("a database")));
    let source = team.served();
    let hub = address(&source);
    let [ada, ben, dana] = ["ada", "ben", "dana"].map(|name| team.device(&source, name).0);
    let first = proposal("ada", None, TOOL);
    ada.propose(&first, &[TOOL]).expect("a proposal");
    ben.review(first.digest(), &review("ben", first.digest(), ReviewVerdict::Approve)).expect("a review");
    _ = dana.release(&stable(), 1).expect("a release");
    let devices: Vec<Device> = (0..CLIENTS).map(|_| Device::enrolled(&team, hub, "cem")).collect();
    let (_, answer) = ask(hub, &devices[0].request("GET", "/v1/latest.json", b"", 0));
    let tag = answer.lines().find_map(|line| line.strip_prefix("etag: ")).expect("an entity tag").to_owned();

    let (began, before) = (Instant::now(), of_process());
    let clients: Duration = thread::scope(|scope| {
        let polling = devices.iter().map(|device| scope.spawn(|| poll(hub, device, &tag)));
        let polling: Vec<_> = polling.collect();
        polling.into_iter().map(|client| client.join().expect("no panic")).sum()
    });
    let share = (of_process() - before).saturating_sub(clients).as_secs_f64() / began.elapsed().as_secs_f64();
    let rate = f64::from(POLLS_PER_SECOND * SECONDS) / began.elapsed().as_secs_f64();
    println!("{rate:.0} polls a second take {:.1} % of one core   (goal 30 at 1,000)", share * 100.0);
}

const BATCHES: usize = 9;
const PROPOSALS: usize = 40;

/// A hub with two members who propose.
struct Proposing {
    team: Team,
    members: Vec<TeamHub>,
}

impl Proposing {
    fn at(store: Arc<dyn HubStore>) -> Self {
        let team = Team::new(store);
        let source = team.served();
        let members = (0..2).map(|_| team.device(&source, "ada").0).collect();
        Self { team, members }
    }

    /// Sends proposals from all members at the same time; returns how many there are in a second.
    fn propose(&mut self, batch: usize) -> f64 {
        let made = |member: usize| -> Vec<(SignedText, String)> {
            let one = |number| {
                let tool = format!("description: Tool {batch} {member} {number}\nbash: echo {:?}\n", self.team.root);
                let path = format!("tools/tool-{batch}-{member}-{number}.yaml");
                (proposal_of("ada", &path, None, tool.as_bytes()), tool)
            };
            (0..PROPOSALS).map(one).collect()
        };
        let made: Vec<_> = (0..self.members.len()).map(made).collect();
        let began = Instant::now();
        thread::scope(|scope| {
            for (hub, made) in self.members.iter_mut().zip(&made) {
                scope.spawn(move || {
                    for (proposal, tool) in made {
                        hub.propose(proposal, &[tool.as_bytes()]).expect("a proposal");
                    }
                });
            }
        });
        let rate = (made.len() * PROPOSALS) as f64 / began.elapsed().as_secs_f64();
        // A hundred may wait, so they are closed as a release closes them.
        let close = |tx: &mut dyn HubTransaction| tx.execute("UPDATE proposals SET closed = 1", &[]).map(drop);
        self.team.store.transaction(&mut { close }).expect("they are closed");
        rate
    }
}

fn proposals() {
    let scratch = tempfile::tempdir().expect("a directory");
    let server = Postgres::start_with("");
    let mut sqlite = Proposing::at(Arc::new(SqliteStore::open(&scratch.path().join("hub.db")).expect("a database")));
    let mut postgres = Proposing::at(Arc::new(PostgresStore::open(&server.url()).expect("a database")));
    let median = |mut rates: Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let (one, other): (Vec<f64>, Vec<f64>) =
        (0..BATCHES).map(|batch| (sqlite.propose(batch), postgres.propose(batch))).unzip();
    let (one, other) = (median(one), median(other));
    println!("proposals a second: SQLite {one:.0} / PostgreSQL {other:.0} = {:.2}   (goal 0.5)", one / other);
}

const TASKS: usize = 60;

/// Members give tasks, then workers claim them, several at the same time; returns how many of each there are in a second.
fn tasks(team: &Team, batch: usize) -> (f64, f64) {
    let source = team.served();
    let mut members: Vec<_> = (0..CLIENTS).map(|_| fleet::tasks(team, &source, "ada")).collect();
    let worker = |number| fleet::worker(team, &source, &format!("worker-{batch}-{number}")).1;
    let mut workers: Vec<_> = (0..CLIENTS).map(worker).collect();
    for worker in &mut workers {
        assert!(worker.claim(&[], 0).expect("an answer").is_none());
    }
    let rate = |began: Instant| (TASKS * CLIENTS as usize) as f64 / began.elapsed().as_secs_f64();
    let began = Instant::now();
    thread::scope(|scope| {
        for member in &mut members {
            scope.spawn(|| {
                for _ in 0..TASKS {
                    _ = member.give(&fleet::ticket(&[], true), &fleet::files()).expect("it waits");
                }
            });
        }
    });
    let given = rate(began);
    let began = Instant::now();
    thread::scope(|scope| {
        for worker in &mut workers {
            scope.spawn(|| while worker.claim(&[], 0).expect("an answer").is_some() {});
        }
    });
    let claimed = rate(began);
    let forget = |tx: &mut dyn HubTransaction| {
        tx.execute("DELETE FROM tasks", &[])?;
        tx.execute("DELETE FROM task_files", &[]).map(drop)
    };
    team.store.transaction(&mut { forget }).expect("they are gone");
    (given, claimed)
}

fn queue() {
    let scratch = tempfile::tempdir().expect("a directory");
    let server = Postgres::start_with("");
    let stores: [(&str, Arc<dyn HubStore>); 2] = [
        ("SQLite", Arc::new(SqliteStore::open(&scratch.path().join("hub.db")).expect("a database"))),
        ("PostgreSQL", Arc::new(PostgresStore::open(&server.url()).expect("a database"))),
    ];
    for (name, store) in stores {
        let team = Team::new(store);
        let mut rates: Vec<_> = (0..5).map(|batch| tasks(&team, batch)).collect();
        rates.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
        let (given, claimed) = rates[rates.len() / 2];
        println!(
            "tasks a second, {name}: claimed {claimed:.0} / given {given:.0} = {:.2}   (goal 0.7)",
            claimed / given
        );
    }
}

fn main() {
    polls();
    proposals();
    queue();
}
