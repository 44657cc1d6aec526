//! The queue of workers: the same for each database.

use std::{collections::BTreeMap, sync::Arc};

use cycod_hub::{HubStore, SqlValue, SqliteStore};
use cycod_team::{BlobDigest, BytesInParts, FORMAT, TicketDocument, TicketFile, TicketWorkspace};
use cycod_team_sync::{FleetTasks, SyncError, TaskTaken, TeamSource, WorkerHub, WorkerMachine};
use serde_json::{Value as Json, json};

use crate::support::{Device, Team, address, ask, now, refused};

const TOOL: &[u8] = b"description: Deploy\nbash: echo deployed\n";

pub(crate) fn ticket(labels: &[&str], again: bool) -> TicketDocument {
    let file = TicketFile { sha256: BlobDigest::of(TOOL), executable: false };
    TicketDocument {
        format: FORMAT,
        team: "acme".to_owned(),
        id: FleetTasks::new_id().expect("random numbers"),
        tool: "deploy".to_owned(),
        digest: "00".to_owned(),
        files: BTreeMap::from([(".cycod/tools/deploy.yaml".to_owned(), file)]),
        arguments: "{}".to_owned(),
        timeout: 1000,
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        again,
        durable: false,
        keep_on: false,
        workspace: None,
        schedule: None,
        trace: None,
        expires: now().as_second() + 600,
    }
}

pub(crate) fn files() -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([(".cycod/tools/deploy.yaml".to_owned(), TOOL.to_owned())])
}

pub(crate) fn tasks(team: &Team, source: &TeamSource, name: &str) -> FleetTasks {
    let (_, device) = team.device(source, name);
    let TeamSource::Web(url) = source else { panic!("a hub") };
    FleetTasks::open(url, device).expect("a client")
}

fn join(source: &TeamSource, token: &str) -> Result<WorkerMachine, SyncError> {
    let TeamSource::Web(url) = source else { panic!("a hub") };
    WorkerMachine::join(url, token)
}

pub(crate) fn worker(team: &Team, source: &TeamSource, name: &str) -> (WorkerMachine, WorkerHub) {
    let token = team.hub.worker_token(name, 1, now()).expect("a token");
    let machine = join(source, &token).expect("it joins");
    let hub = machine.hub().expect("a client");
    (machine, hub)
}

pub(crate) fn labels(more: &[&str]) -> Vec<String> {
    more.iter().map(|&label| label.to_owned()).collect()
}

/// Changes the database by hand, as only someone who has taken over the hub can.
pub(crate) fn by_hand(team: &Team, statement: &str) {
    let work = &mut |tx: &mut dyn cycod_hub::HubTransaction| tx.execute(statement, &[]).map(drop);
    team.store.transaction(work).expect("a change");
}

/// Everything about workers, at a hub with this database.
pub(crate) fn queue(store: Arc<dyn HubStore>) {
    let team = Team::new(store);
    let source = team.served();
    let (mut ada, mut cem) = (tasks(&team, &source, "ada"), tasks(&team, &source, "cem"));
    let none = |why: &str| TaskTaken::NoWorker(why.to_owned());
    assert_eq!(ada.give(&ticket(&[], false), &files()), Ok(none("the hub has no workers")));

    // A token counts once, and names the hub's key.
    let token = team.hub.worker_token("one", 1, now()).expect("a token");
    let (secret, _) = token.split_once('.').expect("two parts");
    refused(join(&source, &format!("{secret}.00")), "another key");
    refused(join(&source, &token), "was used");
    let (one, mut at_one) = worker(&team, &source, "one");
    assert_eq!(ada.give(&ticket(&[], false), &files()), Ok(none("none of the 1 workers of the hub is running")));
    assert!(at_one.claim(&labels(&["gpu"]), 0).expect("an answer").is_none());
    let lacking = "no worker offers `tpu`: the nearest is `one`";
    assert_eq!(ada.give(&ticket(&["gpu", "tpu"], false), &files()), Ok(none(lacking)));

    // A ticket counts once, and its files are those that it names.
    let first = ticket(&["gpu"], false);
    let other = BTreeMap::from([(".cycod/tools/deploy.yaml".to_owned(), b"evil".to_vec())]);
    refused(ada.give(&first, &other), "is not the file of the ticket");
    assert_eq!(ada.give(&first, &files()), Ok(TaskTaken::Waits));
    refused(ada.give(&first, &files()), "was given before");
    refused(ada.give(&TicketDocument { team: "other".to_owned(), ..ticket(&[], false) }, &files()), "the team acme");
    refused(cem.watch(&first.id, ("", 0), 0), "there is no such task");
    refused(cem.cancel(&first.id), "there is no such task");

    // Only a worker that fits has it, and only one.
    let (two, mut at_two) = worker(&team, &source, "two");
    assert!(at_two.claim(&labels(&["cpu"]), 0).expect("an answer").is_none());
    let given = at_one.claim(&labels(&["gpu"]), 0).expect("an answer").expect("a task");
    assert!(at_two.claim(&labels(&["gpu"]), 0).expect("an answer").is_none());
    let verified = one.verified(&given, now().as_second()).expect("a ticket");
    assert_eq!((verified.document.clone(), verified.member.as_str()), (first.clone(), "ada"));
    refused(two.verified(&given, now().as_second()), "of another worker");
    let elsewhere = Team::new(Arc::new(SqliteStore::in_memory().expect("a database")));
    let (stranger, _) = worker(&elsewhere, &elsewhere.served(), "one");
    refused(stranger.verified(&given, now().as_second()), "the hub's key didn't sign the lease");
    refused(one.verified(&given, now().as_second() + 61), "has expired");

    // Pieces arrive once and in order.
    let lease = (first.id.as_str(), verified.fence);
    for _ in 0..2 {
        assert!(!at_one.report(lease, (1, &[json!({"e": "a"})]), None).expect("an answer").over);
    }
    refused(at_one.report(lease, (3, &[json!({"e": "c"})]), None), "follows piece 1");
    let seen = ada.watch(&first.id, ("leased", 0), 0).expect("a state");
    assert_eq!((seen.pieces.len(), seen.pieces[0].number, seen.worker.as_str()), (1, 1, "one"));
    assert!(ada.watch(&first.id, ("leased", 1), 0).expect("a state").pieces.is_empty());
    assert!(at_two.report(lease, (2, &[json!({"e": "b"})]), None).expect("an answer").over, "it isn't its lease");
    _ = at_one.report(lease, (2, &[json!({"e": "b"})]), Some(&json!({"success": true}))).expect("an answer");
    let seen = ada.watch(&first.id, ("leased", 1), 0).expect("a state");
    assert_eq!((seen.state.as_str(), seen.result), ("done", Some(json!({"success": true}))));
    assert!(at_one.report(lease, (0, &[]), Some(&json!({}))).expect("an answer").over, "it is done");

    carried(&team, (&mut ada, &mut cem), (&one, &mut at_one), &mut at_two);
    lost(&team, &mut ada, (&one, &mut at_one), &mut at_two);
    asked_again(&team, &source, &mut ada);
    forged(&team, &mut ada, (&one, &mut at_one));

    // A worker is no member, and a removed one is nothing.
    let keys = "DELETE FROM devices WHERE member = 'cem'";
    by_hand(&team, keys);
    refused(cem.watch(&first.id, ("", 0), 0), "doesn't know this device");
    team.hub.remove_worker("one", now()).expect("it is removed");
    refused(at_one.claim(&labels(&["gpu"]), 0), "doesn't know this worker");
}

/// The files of the project that travel with a task, and what changed.
fn carried(
    team: &Team,
    (ada, cem): (&mut FleetTasks, &mut FleetTasks),
    (one, at_one): (&WorkerMachine, &mut WorkerHub),
    at_two: &mut WorkerHub,
) {
    let bytes = b"the files of the project".to_vec();
    let parts = BytesInParts::of(&bytes);
    let with = || {
        let workspace = TicketWorkspace { files: parts.clone(), directory: String::new(), changes: true };
        TicketDocument { workspace: Some(workspace), ..ticket(&[], false) }
    };
    // They are there before the task is, and are those of the member.
    let missing = "doesn't have all files of the project";
    let taken = with();
    refused(ada.give(&taken, &files()), missing);
    cem.bring(&taken.id, &bytes).expect("it is brought");
    refused(ada.give(&taken, &files()), missing);
    let task = with();
    ada.bring(&task.id, &bytes).expect("it is brought");
    refused(at_one.fetch((&task.id, 1), &parts), "doesn't have the task");
    assert_eq!(ada.give(&task, &files()), Ok(TaskTaken::Waits));
    refused(ada.bring(&task.id, b"more"), "was given before");

    // Only the worker that has the task gets them, and brings what changed.
    let given = at_one.claim(&[], 0).expect("an answer").expect("a task");
    let fence = one.verified(&given, now().as_second()).expect("a ticket").fence;
    let lease = (task.id.as_str(), fence);
    assert_eq!(at_one.fetch(lease, &parts), Ok(bytes.clone()));
    refused(at_two.fetch(lease, &parts), "doesn't have the task");
    refused(at_one.fetch((&task.id, fence + 1), &parts), "doesn't have the task");
    refused(at_two.bring(lease, b"changes"), "doesn't have the task");
    let changes = at_one.bring(lease, b"changes").expect("it is brought");
    assert_eq!(ada.fetch(&task.id, &changes), Ok(b"changes".to_vec()));
    refused(cem.fetch(&task.id, &changes), "has no such part");
    refused(ada.fetch(&task.id, &parts), "has no such part");

    // The files are gone when the task ends, and the changes when it is forgotten.
    let of_project = || rows(team, "SELECT digest FROM task_parts WHERE from_worker = 0");
    assert_eq!(of_project(), 2);
    _ = at_one.report(lease, (0, &[]), Some(&json!({"success": true}))).expect("an answer");
    assert_eq!(of_project(), 1, "those that cem brought");
    refused(at_one.fetch(lease, &parts), "doesn't have the task");
    assert_eq!(ada.fetch(&task.id, &changes), Ok(b"changes".to_vec()));
    by_hand(team, "UPDATE task_parts SET made = 1");
    assert!(at_one.claim(&[], 0).expect("an answer").is_none());
    assert_eq!((of_project(), rows(team, "SELECT digest FROM task_parts")), (0, 1));
    by_hand(team, "UPDATE tasks SET ended = 1 WHERE state = 'done'");
    assert!(at_one.claim(&[], 0).expect("an answer").is_none());
    assert_eq!(rows(team, "SELECT digest FROM task_parts"), 0);
}

fn rows(team: &Team, select: &str) -> usize {
    let mut count = 0;
    let work = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
        count = tx.rows(select, &[])?.len();
        Ok(())
    };
    team.store.transaction(work).expect("a database");
    count
}

/// A worker that gets no answer asks again, and has the task that the hub gave it, however often.
fn asked_again(team: &Team, source: &TeamSource, ada: &mut FleetTasks) {
    let (device, token) = (Device::new(), team.hub.worker_token("three", 1, now()).expect("a token"));
    let ask = |path: &str, body: Json| {
        let (status, answer) = ask(address(source), &device.request("POST", path, body.to_string().as_bytes(), 0));
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str::<Json>(body).expect("JSON")
    };
    _ = ask("/v1/workers", json!({"token": token.split_once('.').expect("two parts").0}));
    let claim = |claim: &str| ask("/v1/workers/claim", json!({"labels": ["three"], "wait": 0, "claim": claim}));
    assert_eq!(claim("a"), json!({}));
    for _ in 0..2 {
        assert_eq!(ada.give(&ticket(&["three"], false), &files()), Ok(TaskTaken::Waits));
    }
    let (first, again, other) = (claim("a"), claim("a"), claim("b"));
    assert!(first["ticket"] == again["ticket"] && first["ticket"] != other["ticket"], "{first} {again} {other}");
    assert_eq!(first["files"], again["files"]);
    let fence = |given: &Json| {
        let lease = given["lease"]["document"].as_str().expect("a lease");
        serde_json::from_str::<Json>(lease).expect("JSON")["fence"].clone()
    };
    assert_eq!((fence(&first), fence(&again)), (json!(1), json!(1)));
    assert_eq!(claim("c"), json!({}));
    team.hub.remove_worker("three", now()).expect("it is removed");
}

/// What becomes of tasks whose worker doesn't report.
fn lost(team: &Team, ada: &mut FleetTasks, one: (&WorkerMachine, &mut WorkerHub), at_two: &mut WorkerHub) {
    let (one, at_one) = one;
    let away = || by_hand(team, "UPDATE tasks SET lease_until = 1 WHERE state = 'leased'");
    let once = ticket(&[], false);
    _ = ada.give(&once, &files()).expect("it waits");
    let given = at_one.claim(&[], 0).expect("an answer").expect("a task");
    let fence = one.verified(&given, now().as_second()).expect("a ticket").fence;
    away();
    let seen = ada.watch(&once.id, ("leased", 0), 0).expect("a state");
    assert_eq!((seen.state.as_str(), seen.lost), ("lost", labels(&["one"])));
    // What the worker reports later doesn't count, and is kept.
    let late = at_one.report((&once.id, fence), (0, &[]), Some(&json!({"success": "late"}))).expect("an answer");
    assert!(late.over);
    let mut kept = Vec::new();
    let select = "SELECT late FROM tasks WHERE id = $1";
    let work = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
        kept = tx.rows(select, &[SqlValue::from(once.id.as_str())])?;
        Ok(())
    };
    team.store.transaction(work).expect("it reads");
    assert_eq!(kept[0].text(0).expect("a text"), r#"{"success":"late"}"#);
    let late = ada.late(None).expect("an answer");
    assert_eq!((late.len(), &late[0].task, late[0].worker.as_str(), &late[0].result), (1, &once.id, "one", &None));
    let late = ada.late(Some(&once.id)).expect("an answer");
    assert_eq!(late[0].result, Some(json!({"success": "late"})));
    assert_eq!(ada.late(Some("00")), Ok(Vec::new()));

    // What only reads is given to others, three times in all.
    let again = ticket(&[], true);
    _ = ada.give(&again, &files()).expect("it waits");
    for expected in ["waiting", "waiting", "lost"] {
        assert!(at_two.claim(&[], 0).expect("an answer").is_some());
        away();
        assert_eq!(ada.watch(&again.id, ("leased", 0), 0).expect("a state").state, expected);
    }

    // What is cancelled ends at once, or with the worker's next report.
    let waiting = ticket(&[], true);
    _ = ada.give(&waiting, &files()).expect("it waits");
    ada.cancel(&waiting.id).expect("it is cancelled");
    assert_eq!(ada.watch(&waiting.id, ("waiting", 0), 0).expect("a state").state, "withdrawn");
    let running = ticket(&[], true);
    _ = ada.give(&running, &files()).expect("it waits");
    let given = at_one.claim(&[], 0).expect("an answer").expect("a task");
    let fence = one.verified(&given, now().as_second()).expect("a ticket").fence;
    ada.cancel(&running.id).expect("it is cancelled");
    assert!(at_one.report((&running.id, fence), (0, &[]), None).expect("an answer").stop);
    // A device that no longer asks ends its task as well.
    let unwatched = ticket(&[], true);
    _ = ada.give(&unwatched, &files()).expect("it waits");
    by_hand(team, "UPDATE tasks SET watched = 1 WHERE state = 'waiting'");
    assert!(at_two.claim(&[], 0).expect("an answer").is_none());
}

/// What a hub in other hands can't make a worker run.
fn forged(team: &Team, ada: &mut FleetTasks, (one, at_one): (&WorkerMachine, &mut WorkerHub)) {
    let mut check = |change: &str, says: &str| {
        let ticket = ticket(&[], false);
        _ = ada.give(&ticket, &files()).expect("it waits");
        by_hand(team, change);
        let given = at_one.claim(&[], 0).expect("an answer").expect("a task");
        refused(one.verified(&given, now().as_second()), says);
        assert_eq!(given.claimed().expect("an ID").0, ticket.id);
        by_hand(team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");
    };
    check(
        "UPDATE tasks SET ticket = REPLACE(ticket, '\"arguments\":\"{}\"', '\"arguments\":\"{ }\"') WHERE state = 'waiting'",
        "no device of ada signed the ticket",
    );
    check("UPDATE task_files SET bytes = signature FROM releases", "is another file than the ticket names");
}

/// One worker that has a run of Ada's, while another run waits.
pub(crate) fn a_run_waits(team: &Team, source: &TeamSource) {
    let (_, mut at_hub) = worker(team, source, "build-1");
    assert!(at_hub.claim(&labels(&["gpu"]), 0).expect("an answer").is_none());
    let mut ada = tasks(team, source, "ada");
    for _ in 0..2 {
        assert_eq!(ada.give(&ticket(&["gpu"], false), &files()), Ok(TaskTaken::Waits));
    }
    assert!(at_hub.claim(&labels(&["gpu"]), 0).expect("an answer").is_some());
}

#[test]
fn workers_at_a_hub_with_one_file() {
    let scratch = tempfile::tempdir().expect("a directory");
    queue(Arc::new(SqliteStore::open(&scratch.path().join("hub.db")).expect("a database")));
}

/// Of a program, a worker offers one version, and a run asks for the least.
#[test]
fn a_run_that_asks_for_a_version_goes_to_a_worker_that_has_it() {
    let team = Team::new(Arc::new(SqliteStore::in_memory().expect("a database")));
    let source = team.served();
    let mut ada = tasks(&team, &source, "ada");
    let none = |why: &str| TaskTaken::NoWorker(why.to_owned());
    let (_, mut at_one) = worker(&team, &source, "one");
    assert!(at_one.claim(&labels(&["gpu"]), 0).expect("an answer").is_none());
    let (_, mut at_old) = worker(&team, &source, "old");
    assert!(at_old.claim(&labels(&["gpu", "tool:git=2.9"]), 0).expect("an answer").is_none());
    let lacking = "no worker offers `tool:git>=2.40`: the nearest is `old`, which has git 2.9";
    assert_eq!(ada.give(&ticket(&["tool:git>=2.40"], false), &files()), Ok(none(lacking)));
    refused(at_old.claim(&labels(&["tool:git>=2.40"]), 0), "a label has at most");
    refused(ada.give(&ticket(&["tool:git=2.9"], false), &files()), "the ID or a label of the ticket is none");
    assert!(at_old.claim(&labels(&["tool:git=2.40.1"]), 0).expect("an answer").is_none());
    let versioned = ticket(&["tool:git>=2.40", "tool:git"], false);
    assert_eq!(ada.give(&versioned, &files()), Ok(TaskTaken::Waits));
    assert!(at_one.claim(&labels(&["tool:git=2.39.9"]), 0).expect("an answer").is_none());
    assert!(at_old.claim(&labels(&["tool:git=2.40.1"]), 0).expect("an answer").is_some());
    ada.cancel(&versioned.id).expect("it ends");
}

#[test]
fn many_workers_never_have_the_same_task() {
    let team = Team::new(Arc::new(SqliteStore::in_memory().expect("a database")));
    never_twice(&team, &[team.served(), team.served()]);
}

/// Many tasks and several workers at several hubs of one database: each task has one worker.
pub(crate) fn never_twice(team: &Team, hubs: &[TeamSource]) {
    let mut ada = tasks(team, &hubs[0], "ada");
    let mut workers: Vec<_> =
        (0..4).map(|index| worker(team, &hubs[index % hubs.len()], &format!("worker-{index}")).1).collect();
    for worker in &mut workers {
        assert!(worker.claim(&[], 0).expect("an answer").is_none());
    }
    for _ in 0..40 {
        _ = ada.give(&ticket(&[], false), &files()).expect("it waits");
    }
    let mut claimed: Vec<String> = std::thread::scope(|scope| {
        let take = |mut worker: WorkerHub| {
            let mut ids = Vec::new();
            while let Some(given) = worker.claim(&[], 0).expect("an answer") {
                ids.push(given.claimed().expect("an ID").0);
            }
            ids
        };
        let all: Vec<_> = workers.into_iter().map(|worker| scope.spawn(move || take(worker))).collect();
        all.into_iter().flat_map(|one| one.join().expect("no panic")).collect()
    });
    claimed.sort();
    let count = claimed.len();
    claimed.dedup();
    assert_eq!((claimed.len(), count), (40, 40));
}
