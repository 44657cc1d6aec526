//! The same suite at PostgreSQL, and what is particular to it.

use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use cycod_hub::{HubStore as _, HubTransaction, PostgresStore};
use serde_json::json;

use crate::{
    channels::channels,
    events::events,
    fleet::{never_twice, queue, tasks},
    flows::durable_runs,
    oauth, parallel, schedules,
    scratch::Postgres,
    support::{Device, Team, address, ask, refused, served_with},
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
    let [first, second] = thread::scope(|scope| {
        let second = scope.spawn(open);
        [open(), second.join().expect("no panic")]
    });
    parallel::two_hubs(Arc::new(first), Arc::new(second));
}

#[test]
fn two_changes_that_wait_for_each_other_are_both_made() {
    let server = Postgres::start();
    let store = PostgresStore::open(&server.url()).expect("a database");
    let add = |tx: &mut dyn HubTransaction, id: &str| {
        tx.execute("UPDATE hubs SET seen = seen + 1 WHERE id = $1", &[id.into()]).map(drop)
    };
    let begin = "INSERT INTO hubs (id, seen) VALUES ('one', 0), ('two', 0)";
    store.transaction(&mut |tx| tx.execute(begin, &[]).map(drop)).expect("two rows");
    let both_have_one = Barrier::new(2);
    let tries = AtomicUsize::new(0);
    thread::scope(|scope| {
        for [first, second] in [["one", "two"], ["two", "one"]] {
            let (store, both_have_one, tries) = (&store, &both_have_one, &tries);
            scope.spawn(move || {
                let mut is_first = true;
                let changed = store.transaction(&mut |tx| {
                    tries.fetch_add(1, Ordering::SeqCst);
                    add(tx, first)?;
                    if std::mem::take(&mut is_first) {
                        both_have_one.wait();
                    }
                    add(tx, second)
                });
                assert_eq!(changed, Ok(()));
            });
        }
    });
    assert_eq!(tries.into_inner(), 3, "the database ended one of them, once");
    let mut seen = Vec::new();
    let read = |tx: &mut dyn HubTransaction| {
        seen = tx.rows("SELECT seen FROM hubs", &[])?.iter().map(|row| row.number(0)).collect::<Result<_, _>>()?;
        Ok(())
    };
    store.transaction(&mut { read }).expect("they are there");
    assert_eq!(seen, [2, 2]);
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
fn schedules_at_hubs_with_postgresql() {
    let server = Postgres::start();
    let open = || Arc::new(PostgresStore::open(&server.url()).expect("a database"));
    schedules::schedules(open(), open());
}

#[test]
fn many_workers_at_two_hubs_never_have_the_same_task() {
    let server = Postgres::start();
    let team = Team::new(Arc::new(PostgresStore::open(&server.url()).expect("a database")));
    never_twice(&team, &[team.served(), team.served()]);
}

#[test]
fn a_hub_whose_database_is_away_says_nothing_about_a_run() {
    let server = Postgres::start();
    let team = Team::new(Arc::new(PostgresStore::open(&server.url()).expect("a database")));
    let source = served_with(team.other(), |_| ());
    let mut ada = tasks(&team, &source, "ada");
    let device = Device::enrolled(&team, address(&source), "ada");
    let run = "00".repeat(16);
    assert_eq!(ada.watch_flow(&run, 0, 0), Ok(None));
    drop(server);
    refused(ada.watch_flow(&run, 0, 0), "the database");
    let body = json!({"task": run, "after": 0, "state": "running", "wait": 0}).to_string();
    let (status, answer) = ask(address(&source), &device.request("POST", "/v1/tasks/watch", body.as_bytes(), 0));
    assert!(status == 503 && answer.contains("retry-after: 1"), "{answer}");
}

#[test]
fn a_hub_may_end_where_a_runtime_is() {
    let server = Postgres::start();
    let store = PostgresStore::open(&server.url()).expect("a database");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async { drop(store) });
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
