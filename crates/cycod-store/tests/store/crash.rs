use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::Child,
    thread,
    time::Duration,
};

use cycod_store::{OutputId, Outputs, Pins, Retention};

use crate::{child, files, store};

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
    for round in 0..25 {
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
    let mut spool = store.outputs.spool(crate::id("stdout"), 0);
    spool.write(b"begun ").unwrap();
    Outputs::open(store.outputs.directory(), Retention { max_age: Duration::ZERO, max_bytes: 0 }).unwrap();
    assert_eq!(store.files().len(), 1);
    spool.write(b"and done").unwrap();
    let kept = spool.finish().unwrap();
    assert_eq!(crate::all(&store.outputs.get(kept.id()).unwrap().unwrap()), b"begun and done");
}

#[test]
fn a_spool_that_is_dropped_leaves_nothing() {
    let store = store();
    let mut spool = store.outputs.spool(crate::id("stdout"), 0);
    spool.write(b"begun").unwrap();
    assert_eq!(store.files().len(), 1);
    drop(spool);
    assert_eq!(store.files(), [""; 0]);
}

#[test]
fn pins_survive_a_kill_at_any_moment() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pins.json");
    for round in 0..25 {
        kill_at_work("pin forever", &path, Duration::from_micros(round * 900));
        Pins::open(&path).all().unwrap();
    }
    assert!(!Pins::open(&path).all().unwrap().is_empty());
    assert!(files(directory.path()).iter().all(|name| name == "pins.json" || name == "pins.json.new"));
}
