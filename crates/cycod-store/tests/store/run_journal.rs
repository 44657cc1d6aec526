//! Journals of runs: what is read is a prefix of what was told, at any moment and after any end.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use cycod_store::{RunId, RunJournal, RunReader, StoreError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::Place;

fn read(directory: &Path, run: &str) -> Vec<Value> {
    let mut reader = RunReader::open(directory, run).unwrap().expect("a journal");
    let mut events = Vec::new();
    loop {
        let more = reader.more().unwrap();
        if more.is_empty() {
            return events;
        }
        events.extend(more);
    }
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["e"].as_str().unwrap_or("head")).collect()
}

#[test]
fn a_journal_tells_what_it_was_told() {
    let place = Place::new();
    let directory = place.path().join("journals");
    let run = RunId::random().unwrap().to_string();
    let journal = RunJournal::begin(&directory, &run, json!({"tool": "t"}));
    journal.add("start", Some("a"), json!({"try": 1}));
    journal.output("a", 1, b"one\n");
    journal.output("a", 1, b"two\n");
    journal.output("a", 2, b"oh\xff\n");
    journal.add("end", Some("a"), json!({"status": "ok"}));
    let finished = journal.finish(json!({"status": "ok"}), true);
    assert_eq!((finished.is_written, &finished.failure), (true, &None));

    let events = read(&directory, &run);
    assert_eq!(kinds(&events), ["head", "start", "out", "out", "end", "done"]);
    assert_eq!((&events[0]["v"], &events[0]["run"], &events[0]["tool"]), (&json!(1), &json!(run), &json!("t")));
    let mut reader = RunReader::open(&directory, &run).unwrap().unwrap();
    assert_eq!(reader.output(&events[2]).unwrap(), b"one\ntwo\n");
    assert_eq!(reader.output(&events[3]).unwrap(), b"oh\xff\n");
    assert_eq!(reader.verify().unwrap(), Some(finished.digest));

    // A changed line is noticed.
    let path = directory.join(format!("{run}.jsonl"));
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"try\":1", "\"try\":2")).unwrap();
    assert_eq!(RunReader::open(&directory, &run).unwrap().unwrap().verify().unwrap(), None);
    // Ranges that are not there are not read.
    let far = json!({"at": u64::MAX - 1, "n": u64::MAX});
    assert!(reader.output(&far).unwrap().is_empty());
    // Without the bytes the events are still there. Wine removes a file when it is closed.
    drop(reader);
    fs::remove_file(path.with_extension("out")).unwrap();
    let mut reader = RunReader::open(&directory, &run).unwrap().unwrap();
    assert!(reader.output(&events[2]).unwrap().is_empty());
}

#[test]
fn what_is_over_at_once_needs_no_file() {
    let place = Place::new();
    let run = RunId::random().unwrap().to_string();
    let journal = RunJournal::begin(place.path(), &run, json!({}));
    journal.output("a", 1, b"one\n");
    assert!(!journal.finish(json!({}), false).is_written);
    assert!(RunReader::open(place.path(), &run).unwrap().is_none());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn what_goes_on_can_be_read_soon() {
    let place = Place::new();
    let run = RunId::random().unwrap().to_string();
    let journal = RunJournal::begin(place.path(), &run, json!({}));
    journal.output("a", 1, b"one\n");
    let until = |count: usize| {
        let began = Instant::now();
        loop {
            let events =
                if RunReader::open(place.path(), &run).unwrap().is_some() { read(place.path(), &run) } else { vec![] };
            if events.len() >= count {
                return events;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{events:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    // Nothing more happens, and yet it comes.
    assert_eq!(kinds(&until(2)), ["head", "out"]);
    journal.add("log", Some("a"), json!({}));
    assert_eq!(kinds(&until(3)), ["head", "out", "log"]);
    drop(journal);
    assert_eq!(kinds(&read(place.path(), &run)), ["head", "out", "log"], "a run that broke off has no end");
}

#[test]
fn a_journal_that_cannot_be_written_says_so_at_the_end() {
    let place = Place::new();
    let file = place.path().join("journals");
    fs::write(&file, "no directory").unwrap();
    let run = RunId::random().unwrap().to_string();
    let journal = RunJournal::begin(&file, &run, json!({}));
    journal.output("a", 1, &vec![b'x'; 1 << 20]);
    journal.output("a", 1, &vec![b'x'; 1 << 20]);
    let finished = journal.finish(json!({}), true);
    assert!(finished.failure.expect("why").contains("journals"));
}

#[test]
fn names_lead_nowhere_else() {
    let place = Place::new();
    assert!(matches!(RunReader::open(place.path(), "../x"), Err(StoreError::BadId(_))));
}

#[derive(Clone, Debug)]
enum Told {
    Event(String),
    Output(String, u8, Vec<u8>),
    Wait,
}

fn told() -> impl Strategy<Value = Told> {
    let step = "[a-c]|[a-c]/[a-c]";
    prop_oneof![
        ".{0,20}".prop_map(Told::Event),
        (step, 1_u8..3, prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(step, stream, bytes)| { Told::Output(step, stream, bytes) }),
        Just(Told::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn anything_told_comes_back_and_any_cut_is_a_prefix(all in prop::collection::vec(told(), 0..20), cut in 0.0..1.0_f64) {
        let place = Place::new();
        let run = RunId::random().unwrap().to_string();
        let journal = RunJournal::begin(place.path(), &run, json!({}));
        let mut wrote: Vec<(String, u8, u8)> = Vec::new();
        for one in &all {
            match one {
                Told::Event(text) => journal.add("log", Some("a"), json!({"message": text})),
                Told::Output(step, stream, bytes) => {
                    journal.output(step, *stream, bytes);
                    wrote.extend(bytes.iter().map(|byte| (step.clone(), *stream, *byte)));
                }
                Told::Wait => std::thread::sleep(Duration::from_millis(3)),
            }
        }
        let digest = journal.finish(json!({}), true).digest;
        let events = read(place.path(), &run);
        let mut reader = RunReader::open(place.path(), &run).unwrap().unwrap();
        prop_assert_eq!(reader.verify().unwrap(), Some(digest));
        let messages: Vec<&str> = events.iter().filter_map(|event| event["message"].as_str()).collect();
        let expected: Vec<&str> =
            all.iter().filter_map(|one| if let Told::Event(text) = one { Some(text.as_str()) } else { None }).collect();
        prop_assert_eq!(messages, expected);
        let mut came = Vec::new();
        for event in events.iter().filter(|event| event["e"] == "out") {
            let (step, stream) = (event["step"].as_str().unwrap().to_owned(), event["s"].as_u64().unwrap() as u8);
            came.extend(reader.output(event).unwrap().into_iter().map(|byte| (step.clone(), stream, byte)));
        }
        prop_assert_eq!(came, wrote);
        let times: Vec<u64> = events.iter().filter_map(|event| event["t"].as_u64()).collect();
        prop_assert!(times.is_sorted(), "{:?}", times);

        let path = place.path().join(format!("{run}.jsonl"));
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..(text.len() as f64 * cut) as usize]).unwrap();
        let part = read(place.path(), &run);
        prop_assert_eq!(&events[..part.len()], &part[..]);
    }
}
