//! Journals: what was added is there, whatever became of the process that added it.

use std::{fs, io::Write};

use cycod_store::{Journal, StoreError};
use serde_json::json;

use crate::Place;

#[test]
fn what_was_added_is_there_and_a_begun_line_is_not() {
    let place = Place::new();
    let path = place.path().join("agents/one.jsonl");
    let mut journal = Journal::create(&path).unwrap();
    journal.add(&json!({"said": "a\nb"})).unwrap();
    drop(journal);
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"said\": \"c").unwrap();
    assert_eq!(Journal::read(&path).unwrap(), [json!({"said": "a\nb"})]);
    let (mut journal, values) = Journal::open(&path).unwrap();
    assert_eq!(values.len(), 1);
    journal.add(&json!(2)).unwrap();
    drop(journal);
    assert_eq!(Journal::read(&path).unwrap(), [json!({"said": "a\nb"}), json!(2)]);
    assert_eq!(Journal::list(path.parent().unwrap()).unwrap(), ["one"]);
}

#[test]
fn one_process_at_a_time_adds() {
    let place = Place::new();
    let path = place.path().join("one.jsonl");
    let journal = Journal::create(&path).unwrap();
    assert!(matches!(Journal::open(&path), Err(StoreError::InUse { .. })));
    drop(journal);
    assert!(Journal::open(&path).is_ok());
    assert!(matches!(Journal::create(&path), Err(StoreError::Io { .. })));
}

#[test]
fn what_is_no_journal_is_left_alone() {
    let place = Place::new();
    let path = place.path().join("one.jsonl");
    drop(Journal::create(&path).unwrap());
    fs::write(&path, "not json\n{}\n").unwrap();
    assert!(matches!(Journal::open(&path), Err(StoreError::Malformed { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "not json\n{}\n");
}
