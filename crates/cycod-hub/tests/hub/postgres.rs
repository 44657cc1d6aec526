//! The same suite at PostgreSQL, and what is particular to it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use cycod_hub::PostgresStore;

use crate::{
    channels::channels,
    events::events,
    fleet::{never_twice, queue},
    flows::durable_runs,
    oauth, parallel,
    support::Team,
    whole::whole,
};

#[test]
fn a_team_at_a_hub_with_postgresql() {
    let server = Postgres::start();
    drop(PostgresStore::open(&server.url()).expect("a database"));
    whole(Arc::new(PostgresStore::open(&server.url()).expect("the same database")));
}

#[test]
fn logins_at_a_hub_with_postgresql() {
    let server = Postgres::start();
    oauth::whole(Arc::new(PostgresStore::open(&server.url()).expect("a database")));
}

#[test]
fn channels_at_a_hub_with_postgresql() {
    let server = Postgres::start();
    channels(Arc::new(PostgresStore::open(&server.url()).expect("a database")));
}

#[test]
fn two_hubs_share_one_postgresql() {
    let server = Postgres::start();
    // Both begin at once, with an empty database.
    let open = || PostgresStore::open(&server.url()).expect("a database");
    let [first, second] = std::thread::scope(|scope| {
        let second = scope.spawn(open);
        [open(), second.join().expect("no panic")]
    });
    parallel::two_hubs(Arc::new(first), Arc::new(second));
}

#[test]
fn two_hubs_with_postgresql_tell_each_others_changes() {
    let server = Postgres::start();
    let open = || Arc::new(PostgresStore::open(&server.url()).expect("a database"));
    events(open(), open());
}

#[test]
fn workers_at_hubs_with_postgresql() {
    let server = Postgres::start();
    queue(Arc::new(PostgresStore::open(&server.url()).expect("a database")));
}

#[test]
fn durable_runs_at_a_hub_with_postgresql() {
    let server = Postgres::start();
    durable_runs(Arc::new(PostgresStore::open(&server.url()).expect("a database")));
}

#[test]
fn many_workers_at_two_hubs_never_have_the_same_task() {
    let server = Postgres::start();
    let team = Team::new(Arc::new(PostgresStore::open(&server.url()).expect("a database")));
    never_twice(&team, &[team.served(), team.served()]);
}

#[test]
fn an_address_that_asks_for_encryption_is_refused() {
    for url in [
        "postgres://hub@127.0.0.1/hub?sslmode=require",
        "host=/run/postgresql user=hub sslmode=require",
        "postgres://hub@db.example.com/hub",
        "postgres://hub@db.example.com/hub?sslmode=prefer",
        "postgres://hub@localhost,db.example.com/hub",
        "host=localhost hostaddr=192.0.2.1 user=hub",
    ] {
        let error = PostgresStore::open(url).expect_err(url);
        assert!(error.message.contains("can't encrypt the connection"), "{url}: {error}");
    }
    for url in
        ["postgres://hub@127.0.0.1:1/hub", "postgres://hub@127.0.0.1:1/hub?sslmode=disable", "host=/nowhere user=hub"]
    {
        let error = PostgresStore::open(url).expect_err(url);
        assert!(!error.message.contains("encrypt"), "{url}: {error}");
    }
    let error = PostgresStore::open("postgres://hub@127.0.0.1/hub?sslmode=verify-full").expect_err("unknown");
    assert!(error.message.contains("the address of the database"), "{error}");
}

/// A server of PostgreSQL in a scratch directory, which ends with the test.
pub(crate) struct Postgres {
    directory: tempfile::TempDir,
    programs: PathBuf,
}

impl Postgres {
    pub(crate) fn start() -> Self {
        let newest = fs::read_dir("/usr/lib/postgresql").expect("install postgresql").filter_map(Result::ok);
        let newest = newest.map(|entry| entry.path().join("bin")).filter(|path| path.join("initdb").exists()).max();
        let directory = tempfile::Builder::new().prefix("hub-").tempdir_in("/tmp").expect("a directory");
        let server = Self { directory, programs: newest.expect("install postgresql") };
        if is_root() {
            let path = server.directory.path().to_str().expect("a path").to_owned();
            assert!(run("chown", &["postgres", &path]), "the directory is the server's");
        }
        let data = server.data();
        assert!(server.run("initdb", &["-D", &data, "-A", "trust", "-U", "hub", "--no-sync"]), "initdb");
        let options = format!("-k {} -c listen_addresses='' -c fsync=off", server.directory.path().display());
        let log = server.directory.path().join("log");
        let log = log.to_str().expect("a path");
        let started = server.run("pg_ctl", &["-D", &data, "-l", log, "-o", &options, "-w", "-t", "300", "start"]);
        assert!(started, "{}", fs::read_to_string(log).unwrap_or_default());
        server
    }

    fn data(&self) -> String {
        self.directory.path().join("data").to_str().expect("a path").to_owned()
    }

    pub(crate) fn url(&self) -> String {
        format!("host={} user=hub dbname=postgres", self.directory.path().display())
    }

    /// Runs a program of the server, which refuses to run as root.
    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let program = self.programs.join(program);
        let program = program.to_str().expect("a path");
        match is_root() {
            true => {
                let mut words = vec!["-u", "postgres", "--", program];
                words.extend(arguments);
                run("runuser", &words)
            }
            false => run(program, arguments),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        _ = self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "stop"]);
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").expect("it is there").uid() == 0
}

#[expect(clippy::disallowed_methods, reason = "the tests start the server of the database")]
fn run(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(Path::new("/tmp")).stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
