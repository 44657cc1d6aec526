//! A file that has changed never counts as what was read.

#![cfg(unix)]

use std::{fs, thread, time::Duration};

use cycod_file::{SETTLING, Seen, Stamp};

#[test]
fn a_program_cannot_hide_a_change() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    fs::write(&path, "before").unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    thread::sleep(SETTLING + Duration::from_millis(50));
    let seen = Seen::at(path.clone());
    assert!(seen.is_there() && seen.is_current());
    // The same size, the same inode and the same modification time.
    fs::write(&path, "after!").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert!(!seen.is_current());
}

#[test]
fn a_file_that_was_just_written_is_read_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    fs::write(&path, "1").unwrap();
    let seen = Seen::at(path.clone());
    // A second change in the same tick of the clock would not show.
    assert_eq!(Stamp::at(&path), Stamp::of(fs::File::open(&path).unwrap()));
    assert!(!seen.is_current());
}

#[test]
fn a_file_that_comes_or_goes_shows() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let seen = Seen::at(path.clone());
    assert!(!seen.is_there() && seen.is_current());
    fs::write(&path, "1").unwrap();
    assert!(!seen.is_current());
    let seen = Seen::at(path.clone());
    fs::remove_file(&path).unwrap();
    assert!(!seen.is_current());
}
