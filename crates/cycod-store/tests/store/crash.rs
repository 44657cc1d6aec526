use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::Child,
    thread,
    time::{Duration, SystemTime},
};

use cycod_store::{History, OutputId, Outputs, Pins, Retention, State};

use crate::{Place, child, files, store};

/// How often a process is killed at least, and at most where a machine is so slow that nothing gets done before.
const ROUNDS: std::ops::Range<u64> = 25..1_000;

/// Starts a process, lets it work for a moment, and kills it.
fn kill_at_work(part: &str, place: &Path, after: Duration) {
    let mut child: Child = child::start(part, place);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("ready")).expect("it begins").unwrap();
    thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_killed_process_wrote_is_complete_or_gone() {
    let store = store();
    let directory = store.outputs.directory().to_owned();
    let (mut complete, mut partial) = (0, 0);
    for round in 0..ROUNDS.end {
        if round >= ROUNDS.start && complete > 0 && partial > 0 {
            break;
        }
        kill_at_work("spool forever", &directory, Duration::from_micros(round * 700));
        partial += files(&directory).iter().filter(|name| name.ends_with(".part")).count();
        let outputs = Outputs::open(&directory, Retention::default()).unwrap();
        for name in files(&directory) {
            let id: OutputId = name.replace('.', "/").parse().expect("no partial file is left");
            let bytes = crate::all(&outputs.get(&id).unwrap().expect("it is complete"));
            assert!(bytes.len().is_multiple_of(3000) && !bytes.is_empty());
            assert!(bytes.iter().all(|byte| *byte == bytes[0]));
            complete += 1;
        }
    }
    assert!(complete > 0, "no process came to keep an output");
    assert!(partial > 0, "no process was killed within an output");
}

#[test]
fn opening_leaves_alone_what_is_being_written() {
    let store = store();
    let mut spool = store.outputs.spool(crate::id("stdout"), crate::maker(), 0);
    spool.write(b"begun ").unwrap();
    Outputs::open(store.outputs.directory(), Retention { max_age: Duration::ZERO, max_bytes: 0, max_one: u64::MAX })
        .unwrap();
    assert_eq!(store.files().len(), 1);
    spool.write(b"and done").unwrap();
    let kept = spool.finish().unwrap();
    assert_eq!(crate::all(&store.outputs.get(kept.id()).unwrap().unwrap()), b"begun and done");
}

#[test]
fn a_spool_that_is_dropped_leaves_nothing() {
    let store = store();
    let mut spool = store.outputs.spool(crate::id("stdout"), crate::maker(), 0);
    spool.write(b"begun").unwrap();
    assert_eq!(store.files().len(), 1);
    drop(spool);
    assert_eq!(store.files(), [""; 0]);
}

#[test]
fn pins_survive_a_kill_at_any_moment() {
    let directory = Place::new();
    let path = directory.path().join("pins.json");
    for round in 0..ROUNDS.end {
        kill_at_work("pin forever", &path, Duration::from_micros(round * 900));
        if !Pins::open(&path).all().unwrap().is_empty() && round >= ROUNDS.start {
            break;
        }
    }
    assert!(!Pins::open(&path).all().unwrap().is_empty());
    // What a killed process left goes at a later change, when nobody can be at work on it any more.
    let is_pending = |name: &String| name.starts_with(".cycod-") && name.ends_with(".tmp");
    let left: Vec<String> = files(directory.path()).into_iter().filter(is_pending).collect();
    for name in &left {
        let file = fs::File::options().write(true).open(directory.path().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
    }
    Pins::open(&path).update(|_| ()).unwrap();
    assert_eq!(files(directory.path()), ["pins.json"]);
}

/// Collects what a process says it has written, until it is gone.
fn acknowledged(writer: &mut Child) -> thread::JoinHandle<Vec<String>> {
    let mut stdout = writer.stdout.take().unwrap();
    thread::spawn(move || {
        let mut said = String::new();
        stdout.read_to_string(&mut said).unwrap();
        // A line without its end is no word yet.
        let lines = said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        lines.filter_map(|line| Some(line.strip_prefix("written ")?.to_owned())).collect()
    })
}

#[test]
fn no_run_that_was_written_is_lost_to_a_kill() {
    let place = Place::new();
    let (mut written, mut killed, mut round) = (Vec::new(), 0, 0);
    // Several at once, so that one is killed while it waits for another, holds a lock, or brings the log in.
    while written.len() < 1_000 {
        let mut writers: Vec<Child> = (0..4).map(|_| child::start("write runs forever", place.path())).collect();
        let reading: Vec<_> = writers.iter_mut().map(acknowledged).collect();
        for (at, writer) in writers.iter_mut().enumerate() {
            thread::sleep(Duration::from_micros(60_000 + (round * 7 + at as u64) * 1_013 % 20_000));
            writer.kill().unwrap();
            writer.wait().unwrap();
            killed += 1;
        }
        written.extend(reading.into_iter().flat_map(|reading| reading.join().unwrap()));
        round += 1;
    }
    let history = History::at(place.path());
    let verified = history.verify(None).unwrap();
    assert_eq!(verified.findings, []);
    for id in &written {
        let found = history.find(id).unwrap();
        assert!(found.len() == 1 && found[0].state == State::Ok, "{id}: {found:?}");
    }
    assert!(killed >= 4 && verified.rows >= 2_000);
    let running = cycod_store::Filter { state: Some(State::Running), ..Default::default() };
    assert_eq!(history.runs(&running).unwrap(), []);
}

#[test]
fn rows_are_dropped_whole_or_not_at_all() {
    let place = Place::new();
    for round in 0..25 {
        kill_at_work("write and drop runs forever", place.path(), Duration::from_micros(round * 900));
        assert_eq!(History::at(place.path()).verify(None).unwrap().findings, []);
    }
}
