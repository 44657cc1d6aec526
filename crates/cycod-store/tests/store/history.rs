//! The history: what is written is there, and what was changed shows.

use std::{fs, path::Path, thread, time::Duration};

use cycod_store::{
    Filter, History, HistoryFinding, Keep, NewRow, RowDurability, RowKind, RunId, State, StoreError, Wrong,
};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::Place;

/// Writes a call with its end, and returns its name.
pub(crate) fn write_run(history: &History, tool: &str) -> String {
    let run = begin(history, tool, "", &json!({"arguments": {"A": 1}}));
    end(history, &run, "ok");
    run
}

pub(crate) fn begin(history: &History, tool: &str, status: &str, body: &Value) -> String {
    let run = RunId::random().unwrap().to_string();
    let event = NewRow { kind: RowKind::Call, run: &run, tool, surface: "person", status, body };
    history.write(&event, RowDurability::Process).unwrap();
    run
}

fn end(history: &History, run: &str, status: &str) {
    let body = json!({"exit_code": 0});
    let event = NewRow { kind: RowKind::End, run, tool: "", surface: "", status, body: &body };
    history.write(&event, RowDurability::Power).unwrap();
}

/// Brings everything into the database's own file.
fn checkpoint(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

/// Every finding, with the row where it shows.
fn findings(history: &History) -> Vec<(u64, Wrong)> {
    let verified = history.verify(None).unwrap();
    verified.findings.into_iter().map(|HistoryFinding { seq, wrong, .. }| (seq, wrong)).collect()
}

/// Ten runs, and something that somebody does to the database behind our back.
fn tampered(sql: &str) -> (Place, Vec<(u64, Wrong)>) {
    let place = Place::new();
    let history = History::at(place.path());
    for _ in 0..10 {
        write_run(&history, "t");
    }
    assert_eq!(findings(&history), []);
    Connection::open(history.path()).unwrap().execute_batch(sql).unwrap();
    let found = findings(&history);
    (place, found)
}

#[test]
fn what_is_written_is_there() {
    let place = Place::new();
    let history = History::at(place.path());
    assert_eq!(history.runs(&Filter::default()).unwrap(), []);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "reading makes nothing");
    let first = write_run(&history, "first");
    let refused = begin(&history, "second", "refused", &json!({}));
    let running = begin(&history, "Third", "", &json!({}));
    let other = History::at(place.path());
    let told: Vec<_> =
        other.runs(&Filter::default()).unwrap().into_iter().map(|run| (run.id, run.tool, run.state)).collect();
    let expect = [
        (running.clone(), "Third".to_owned(), State::Running),
        (refused, "second".to_owned(), State::Refused),
        (first.clone(), "first".to_owned(), State::Ok),
    ];
    assert_eq!(told, expect);
    let found = other.find(&first).unwrap();
    assert_eq!(
        (&found[0].call, &found[0].end.as_ref().unwrap().1),
        (&json!({"arguments": {"A": 1}}), &json!({"exit_code": 0}))
    );
    assert_eq!(other.find(&first[..4]).unwrap().len(), 2, "a prefix of several");
    let only = |filter: Filter| other.runs(&filter).unwrap().into_iter().map(|run| run.tool).collect::<Vec<_>>();
    assert_eq!(only(Filter { tool: Some("third".into()), ..Filter::default() }), ["Third"]);
    assert_eq!(only(Filter { state: Some(State::Running), ..Filter::default() }), ["Third"]);
    assert_eq!(only(Filter { state: Some(State::Ok), ..Filter::default() }), ["first"]);
    assert_eq!(only(Filter { state: Some(State::Refused), ..Filter::default() }), ["second"]);
    assert_eq!(only(Filter { surface: Some("mcp".into()), ..Filter::default() }), [""; 0]);
    assert_eq!(only(Filter { since: Some(u64::try_from(i64::MAX).unwrap()), ..Filter::default() }), [""; 0]);
    assert_eq!(only(Filter { limit: 1, ..Filter::default() }), ["Third"]);
    // The process that ran it goes without a word.
    drop(history);
    assert_eq!(other.find(&running).unwrap()[0].state, State::Interrupted);
    let rows: Vec<_> = other.rows_after(1, 10).unwrap().into_iter().map(|row| (row.seq, row.kind)).collect();
    assert_eq!(rows, [(2, "end".into()), (3, "call".into()), (4, "call".into())]);
    assert_eq!(findings(&other), []);
}

/// A process writes the end of its run before it goes: a run that ends while the rows are read was not interrupted.
#[test]
fn what_ends_meanwhile_was_not_interrupted() {
    for state in [None, Some(State::Interrupted)] {
        let place = Place::new();
        let mut writer = Some(History::at(place.path()));
        let ending = begin(writer.as_ref().unwrap(), "ending", "", &json!({}));
        let lost = History::at(place.path());
        _ = begin(&lost, "lost", "", &json!({}));
        drop(lost);
        let mut told = Vec::new();
        let reader = History::at(place.path());
        let filter = Filter { state, ..Filter::default() };
        let mut take = |run: cycod_store::Run| {
            if let Some(writer) = writer.take() {
                end(&writer, &ending, "ok");
            }
            told.push((run.tool, run.state));
            true
        };
        reader.each_run(&filter, &mut take).unwrap();
        let mut expect = vec![("lost".to_owned(), State::Interrupted)];
        if state.is_none() {
            expect.push(("ending".to_owned(), State::Ok));
        }
        assert_eq!(told, expect);
    }
}

#[test]
fn what_somebody_did_to_the_rows_shows() {
    for (sql, expect) in [
        ("UPDATE events SET body = '{}' WHERE seq = 7", (7, Wrong::Changed)),
        ("UPDATE events SET status = 'failed' WHERE seq = 8", (8, Wrong::Changed)),
        ("UPDATE events SET at = at + 1 WHERE seq = 20", (20, Wrong::Changed)),
        ("UPDATE events SET digest = zeroblob(32) WHERE seq = 9", (9, Wrong::Misplaced)),
        ("DELETE FROM events WHERE seq IN (7, 8)", (9, Wrong::Removed(7))),
        ("DELETE FROM events WHERE seq < 3", (3, Wrong::Removed(1))),
        ("DELETE FROM events WHERE seq > 17", (17, Wrong::CutOff(20))),
        (
            "UPDATE events SET seq = -1 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 6;
             UPDATE events SET seq = 6 WHERE seq = -1",
            (5, Wrong::Misplaced),
        ),
        (
            "UPDATE events SET seq = seq + 1000 WHERE seq > 9; UPDATE events SET seq = seq - 999 WHERE seq > 1000;
             INSERT INTO events SELECT 10, at, kind, 'x', tool, surface, status, process, body, digest FROM events
             WHERE seq = 9",
            (10, Wrong::Misplaced),
        ),
        ("UPDATE events SET digest = zeroblob(32) WHERE seq = 20", (20, Wrong::Changed)),
    ] {
        let (_place, found) = tampered(sql);
        assert_eq!(found.first(), Some(&expect), "{sql}");
    }
    let (_place, found) = tampered(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'status)', 'kind)') WHERE name = 'by_run'",
    );
    assert!(matches!(found[..], [(20, Wrong::Damaged(_))]), "{found:?}");
}

#[test]
fn rows_that_are_lost_stay_told() {
    let (place, _) = tampered("DELETE FROM events WHERE seq > 17");
    let history = History::at(place.path());
    write_run(&history, "t");
    // A number is never given twice, and what happened stays known.
    assert_eq!(history.last_row().unwrap(), 23);
    assert_eq!(findings(&history), [(21, Wrong::Lost(18))]);
    let (place, _) = tampered("UPDATE events SET digest = zeroblob(32) WHERE seq = 20");
    let history = History::at(place.path());
    write_run(&history, "t");
    assert!(!findings(&history).is_empty());
}

/// What a process leaves that is killed between its first row and the head.
#[test]
fn a_first_row_without_its_head_is_no_damage() {
    let place = Place::new();
    let head = place.path().join("history.head");
    let history = History::at(place.path());
    begin(&history, "t", "", &json!({}));
    let first = history.head().unwrap().unwrap();
    fs::write(&head, format!("{:020}:{}\n", 0, cycod_store::Head::default().digest)).unwrap();
    assert_eq!(findings(&history), []);
    fs::write(&head, "").unwrap();
    assert_eq!(findings(&history), [(first.seq, Wrong::NoHead)]);
}

/// The newest rows are in the tail: whatever a crash leaves of it, rows that were told of are there, and others do no harm.
#[test]
fn the_tail_survives_whatever_a_crash_leaves() {
    let place = Place::new();
    let history = History::at(place.path());
    let (head, tail) = (place.path().join("history.head"), place.path().join("history.tail"));
    let count = || history.runs(&Filter::default()).unwrap().len();
    write_run(&history, "a");
    let (told, rows) = (fs::read(&head).unwrap(), fs::read(&tail).unwrap());
    write_run(&history, "b");
    let all = fs::read(&tail).unwrap();
    // Killed between the row and the head, and in the middle of a row.
    for cut in [all.len(), all.len() - 1, all.len() - 40, rows.len() + 1] {
        fs::write(&head, &told).unwrap();
        fs::write(&tail, &all[..cut]).unwrap();
        begin(&history, "c", "", &json!({}));
        assert_eq!(findings(&history), [], "{cut}");
        assert_eq!(fs::metadata(&tail).unwrap().len(), 0);
        assert!(count() >= 2);
    }
    // Killed after the rows came into the database, and before they left the tail.
    write_run(&history, "d");
    let (told, rows) = (fs::read(&head).unwrap(), fs::read(&tail).unwrap());
    let before = count();
    fs::write(&head, &told).unwrap();
    fs::write(&tail, &rows).unwrap();
    assert_eq!((count(), findings(&history)), (before, vec![]));
}

/// What somebody does to the tail shows.
#[test]
fn what_somebody_did_to_the_tail_shows() {
    type Edit = fn(&str) -> String;
    let cases: [(Edit, Wrong); 4] = [
        (|text| text.replacen("\"t\"", "\"u\"", 1), Wrong::Changed),
        (|text| text.lines().skip(2).map(|line| format!("{line}\n")).collect(), Wrong::Removed(3)),
        (|text| text.lines().take(6).map(|line| format!("{line}\n")).collect(), Wrong::CutOff(12)),
        (|_| String::new(), Wrong::CutOff(12)),
    ];
    for (edit, wrong) in cases {
        let place = Place::new();
        let history = History::at(place.path());
        write_run(&history, "t");
        assert_eq!(findings(&history), []);
        for _ in 0..5 {
            write_run(&history, "t");
        }
        let tail = place.path().join("history.tail");
        let text = fs::read_to_string(&tail).unwrap();
        fs::write(&tail, edit(&text)).unwrap();
        assert_eq!(findings(&history).first().map(|(_, wrong)| wrong), Some(&wrong));
    }
    // What cannot be read is put aside.
    let place = Place::new();
    let history = History::at(place.path());
    write_run(&history, "t");
    fs::write(place.path().join("history.tail"), vec![b'x'; 900]).unwrap();
    assert!(!findings(&history).is_empty());
    assert!(place.path().join("history.tail.damaged").exists());
}

/// A process that has brought its rows into the database adds the next one without opening it, unless another has written since.
#[test]
fn the_database_is_compared_again_when_others_have_written() {
    let folded = || {
        let place = Place::new();
        let history = History::at(place.path());
        let run = begin(&history, "t", "", &json!({"long": "x".repeat(2 << 20)}));
        assert_eq!(fs::metadata(place.path().join("history.tail")).unwrap().len(), 0, "it is in the database");
        (place, history, run)
    };
    // Elsewhere the files of a history are opened for each row.
    if cfg!(unix) {
        let (place, history, run) = folded();
        let aside = place.path().join("aside");
        fs::rename(history.path(), &aside).unwrap();
        end(&history, &run, "ok");
        fs::rename(&aside, history.path()).unwrap();
        assert_eq!(findings(&history), []);
    }

    let (place, history, run) = folded();
    let other = History::at(place.path());
    write_run(&other, "t");
    assert_eq!(findings(&other), []);
    Connection::open(history.path()).unwrap().execute_batch("DELETE FROM events WHERE seq > 1").unwrap();
    end(&history, &run, "ok");
    assert_eq!(findings(&history), [(4, Wrong::Lost(2))]);

    let (place, history, run) = folded();
    write_run(&History::at(place.path()), "t");
    fs::write(place.path().join("history.tail"), "").unwrap();
    end(&history, &run, "ok");
    assert_eq!(findings(&history), [(4, Wrong::Lost(2))]);
}

/// Who opens the database first reads the whole log, so it stays short; a reader keeps it for a while, and blocks nobody.
#[test]
fn the_log_of_the_database_stays_short() {
    let place = Place::new();
    let log = place.path().join("history.db-wal");
    let history = History::at(place.path());
    let long = json!({"long": "x".repeat(1 << 20)});
    begin(&history, "t", "", &long);
    assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    let reader = Connection::open(history.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
    begin(&history, "t", "", &long);
    assert!(fs::metadata(&log).unwrap().len() > 1 << 20);
    drop(reader);
    begin(&history, "t", "", &long);
    assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    assert_eq!(findings(&history), []);
}

#[test]
fn a_head_kept_elsewhere_shows_a_history_written_anew() {
    let place = Place::new();
    let history = History::at(place.path());
    write_run(&history, "t");
    let kept = history.head().unwrap().unwrap();
    assert_eq!(kept.to_string().parse::<cycod_store::Head>().unwrap(), kept);
    drop(history);
    for file in fs::read_dir(place.path()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            fs::remove_file(path).unwrap();
        }
    }
    let history = History::at(place.path());
    write_run(&history, "another");
    write_run(&history, "another");
    assert_eq!(findings(&history), []);
    let found = history.verify(Some(kept)).unwrap().findings;
    assert_eq!(found[0].wrong, Wrong::OtherHead);
    let beyond = cycod_store::Head { seq: 99, ..kept };
    assert_eq!(history.verify(Some(beyond)).unwrap().findings[0].wrong, Wrong::CutOff(99));
    for wrong in ["", "1", "x:y", "1:abc"] {
        assert!(wrong.parse::<cycod_store::Head>().is_err(), "{wrong:?}");
    }
}

#[test]
fn what_is_dropped_leaves_the_rest_to_be_verified() {
    let place = Place::new();
    let history = History::at(place.path());
    let runs: Vec<String> = (0..20).map(|_| write_run(&history, "t")).collect();
    let kept = history.head().unwrap().unwrap();
    let keep = Keep { runs: 5, ..Keep::default() };
    let pruned = history.prune(keep).unwrap();
    assert_eq!(pruned.rows, 29);
    let left: Vec<String> = history.runs(&Filter::default()).unwrap().into_iter().map(|run| run.id).rev().collect();
    assert_eq!(left, runs[15..]);
    assert_eq!(findings(&history), []);
    assert_eq!(history.keeps().unwrap(), keep);
    assert_eq!(history.verify(Some(kept)).unwrap().findings, []);
    // By itself from now on.
    for _ in 0..700 {
        write_run(&history, "t");
    }
    let count = history.runs(&Filter::default()).unwrap().len();
    assert!((5..540).contains(&count), "{count}");
    assert_eq!(findings(&history), []);
    assert!(history.prune(Keep { age: Duration::ZERO, ..keep }).unwrap().rows > 0);
    assert_eq!(findings(&history), []);
    // What somebody else drops is not what was said to be dropped.
    write_run(&history, "t");
    Connection::open(history.path())
        .unwrap()
        .execute_batch("DELETE FROM events WHERE seq = (SELECT min(seq) FROM events)")
        .unwrap();
    assert!(matches!(findings(&history)[..], [(_, Wrong::Removed(_))]));
}

#[test]
fn what_is_dropped_is_not_in_the_file() {
    let place = Place::new();
    let history = History::at(place.path());
    begin(&history, "t", "refused", &json!({"text": "a marker that goes"}));
    for _ in 0..600 {
        write_run(&history, "t");
    }
    history.prune(Keep { runs: 3, ..Keep::default() }).unwrap();
    checkpoint(&history.path());
    let bytes = fs::read(history.path()).unwrap();
    assert!(memchr::memmem::find(&bytes, b"a marker that goes").is_none());
    assert!(bytes.len() < 100_000, "{}", bytes.len());
}

#[test]
fn a_history_that_cannot_be_used_is_told() {
    let place = Place::new();
    let history = History::at(place.path());
    write_run(&history, "t");
    let path = history.path();
    // Until the database is opened again, rows are safe beside it.
    assert_eq!(history.runs(&Filter::default()).unwrap().len(), 1);
    drop(history);
    checkpoint(&path);
    let all = |place: &Path| History::at(place).runs(&Filter::default()).map(|_| ());
    let written = |place: &Path| {
        let (history, body) = (History::at(place), json!({}));
        let event = NewRow { kind: RowKind::Call, run: "r", tool: "t", surface: "person", status: "", body: &body };
        history.write(&event, RowDurability::Process).map(|_| ())
    };
    let malformed = |result: Result<(), StoreError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, StoreError::Malformed { .. }), "{error}");
        error.to_string()
    };
    let good = fs::read(&path).unwrap();
    // Torn, something else, emptied, gone: never a new one.
    let mut torn = good.clone();
    torn.iter_mut().skip(4096).for_each(|byte| *byte = 0x5a);
    for (content, why) in [
        (&b"not a database, but a text of some length that is no header of one"[..], "file is not a database"),
        (b"", "it is empty"),
        (&torn, "malformed"),
    ] {
        fs::write(&path, content).unwrap();
        let told = malformed(written(place.path()));
        assert!(told.contains(why), "{told}");
        if !content.is_empty() || why == "it is empty" {
            assert!(malformed(all(place.path())).contains(why));
        }
        assert_eq!(fs::read(&path).unwrap(), content, "it is left as it is");
        for name in ["history.db-wal", "history.db-shm"] {
            _ = fs::remove_file(place.path().join(name));
        }
    }
    fs::remove_file(&path).unwrap();
    assert!(malformed(all(place.path())).contains("it is gone"));
    assert!(malformed(written(place.path())).contains("it is gone"));
    // Put back, it goes on.
    super::hostile::write_private(&path, &good);
    written(place.path()).unwrap();
    assert_eq!(findings(&History::at(place.path())), []);
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(malformed(all(place.path())).contains("newer version"));
}

#[cfg(unix)]
#[test]
fn it_is_ours_alone() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let place = Place::new();
    let history = History::at(&place.path().join("new"));
    begin(&history, "t", "", &json!({}));
    let directory = place.path().join("new");
    assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
    let mut seen = Vec::new();
    for entry in fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        let expect = if entry.path().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(entry.metadata().unwrap().mode() & 0o777, expect, "{:?}", entry.path());
        seen.push(entry.file_name().into_string().unwrap());
    }
    seen.sort();
    let expect = ["history.db", "history.db-shm", "history.db-wal", "history.head", "history.live", "history.tail"];
    assert_eq!(seen, expect);
    drop(history);
    fs::set_permissions(directory.join("history.db"), fs::Permissions::from_mode(0o644)).unwrap();
    let refused = History::at(&directory).runs(&Filter::default());
    assert!(matches!(refused, Err(StoreError::NotPrivate { .. })));
}

#[test]
fn threads_and_processes_take_turns() {
    let place = Place::new();
    let children: Vec<_> = (0..3).map(|_| super::child::start("write runs", place.path())).collect();
    let history = History::at(place.path());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..50).for_each(|_| drop(write_run(&history, "t"))));
        }
    });
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(history.last_row().unwrap(), 6 * 50 * 2);
    assert_eq!(findings(&history), []);
}

/// Writes until no more can be written, and says what was.
pub(crate) fn fill(place: &Path) {
    let history = History::at(place);
    let text = "x".repeat(500);
    loop {
        let (run, body) = (RunId::random().unwrap().to_string(), json!({"text": text}));
        let event =
            NewRow { kind: RowKind::Call, run: &run, tool: "t", surface: "person", status: "refused", body: &body };
        match history.write(&event, RowDurability::Process) {
            Ok(_) => println!("written {run}"),
            Err(error) => break println!("full {error}"),
        }
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let place = Place::new();
    let said = super::child::run("fill the history", place.path());
    assert!(said.contains("full failed to "), "{said}");
    let written: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("written ")).collect();
    assert!(written.len() > 5, "{}", written.len());
    let history = History::at(place.path());
    let there: Vec<String> = history.runs(&Filter::default()).unwrap().into_iter().map(|run| run.id).collect();
    assert!(written.iter().all(|id| there.iter().any(|there| there == id)));
    assert_eq!(findings(&history), []);
    write_run(&history, "t");
    assert_eq!(findings(&history), []);
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_written_is_told() {
    // No user can make a file there, not even root.
    let history = History::at(Path::new("/proc/self/cycod"));
    let body = json!({});
    let event = NewRow { kind: RowKind::Call, run: "r", tool: "t", surface: "person", status: "", body: &body };
    let error = history.write(&event, RowDurability::Process).unwrap_err();
    assert!(error.to_string().contains("failed to make directory"), "{error}");
    assert_eq!(history.runs(&Filter::default()).unwrap(), []);
}
