//! Files are replaced whole, by one way, with the terms that were asked for.

use std::{
    fs,
    io::Write as _,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use cycod_file::{Durability, EntryKind, FileAccess, Folder, PendingFile, Replaced, replace, sweep};
use proptest::prelude::*;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_reader_sees_the_old_content_or_the_new() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let content = |round: u8| vec![round; 100_000 + usize::from(round)];
    replace(&path, &content(0), FileAccess::Private, Durability::Process).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..2 {
            let (path, is_over) = (&path, &is_over);
            scope.spawn(move || {
                for round in 0..100 {
                    replace(path, &content(round * 2 + writer), FileAccess::Private, Durability::Process).unwrap();
                }
                is_over.store(true, Ordering::Relaxed);
            });
        }
        while !is_over.load(Ordering::Relaxed) {
            let read = fs::read(&path).unwrap();
            assert_eq!(read, content(read[0]));
            if cfg!(windows) {
                // Wine replaces no file while it is open.
                thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    });
    assert_eq!(names(place.path()), ["file"]);
}

#[cfg(unix)]
#[test]
fn the_mode_is_the_one_that_was_asked_for() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    replace(&path, b"1", FileAccess::Usual, Durability::Power).unwrap();
    let usual = mode();
    assert_ne!(usual & 0o400, 0);
    replace(&path, b"2", FileAccess::Private, Durability::Power).unwrap();
    assert_eq!(mode(), 0o600);
    for wanted in [0o640, 0o755, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
        replace(&path, b"3", FileAccess::Like(&fs::metadata(&path).unwrap()), Durability::Power).unwrap();
        assert_eq!(mode(), wanted);
    }
}

#[test]
fn what_is_not_placed_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    fs::write(&path, "old").unwrap();
    let mut pending = PendingFile::beside(&path, FileAccess::Usual).unwrap();
    pending.write_all(b"new").unwrap();
    assert_eq!(names(place.path()).len(), 2);
    drop(pending);
    assert_eq!((names(place.path()), fs::read_to_string(&path).unwrap()), (vec!["file".to_owned()], "old".to_owned()));
    // A directory in its place.
    let directory = place.path().join("directory");
    fs::create_dir(&directory).unwrap();
    assert!(replace(&directory, b"new", FileAccess::Usual, Durability::Power).is_err());
    assert!(replace(&place.path().join("none/file"), b"new", FileAccess::Usual, Durability::Power).is_err());
    assert!(replace(Path::new("/"), b"new", FileAccess::Usual, Durability::Power).is_err());
    assert_eq!(names(place.path()), ["directory", "file"]);
}

#[test]
fn a_new_file_takes_nobodys_name() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let pending = PendingFile::beside(&path, FileAccess::Usual).unwrap();
    fs::write(&path, "another's").unwrap();
    let error = pending.place_new("file".as_ref(), Durability::Power).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(
        (names(place.path()), fs::read_to_string(&path).unwrap().as_str()),
        (vec!["file".to_owned()], "another's")
    );
}

#[test]
fn what_killed_processes_left_goes_after_an_hour() {
    let place = tempfile::tempdir().unwrap();
    let hour = std::time::Duration::from_secs(3700);
    for (name, age) in [(".cycod-1-0.tmp", hour), (".cycod-2-0.tmp", hour / 4), ("mine.tmp", hour), (".cycod-x", hour)]
    {
        let file = fs::File::create(place.path().join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
    }
    sweep(place.path());
    assert_eq!(names(place.path()), [".cycod-2-0.tmp", ".cycod-x", "mine.tmp"]);
}

#[cfg(unix)]
#[test]
fn a_folder_stays_where_it_was_opened() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("inside")).unwrap();
    fs::create_dir(at("outside")).unwrap();
    let folder = Folder::open(&at("inside")).unwrap();
    fs::rename(at("inside"), at("moved")).unwrap();
    std::os::unix::fs::symlink(at("outside"), at("inside")).unwrap();
    folder.replace("file".as_ref(), b"1", Replaced::Nothing).unwrap();
    folder.put("file".as_ref(), b"2").unwrap();
    assert_eq!(fs::read_to_string(at("moved/file")).unwrap(), "2");
    assert_eq!(names(&at("outside")), Vec::<String>::new());
    assert!(Folder::open(&at("inside")).is_err(), "a link is not followed");
    fs::write(at("outside/secret"), "x").unwrap();
    std::os::unix::fs::symlink(at("outside/secret"), at("moved/link")).unwrap();
    assert!(folder.metadata("link".as_ref()).unwrap().is_symlink());
    assert!(matches!(folder.kind("link".as_ref()).unwrap(), EntryKind::Link(_)));
    assert!(folder.put("link".as_ref(), b"3").is_err());
    assert!(folder.file("link".as_ref()).is_err());
}

proptest! {
    /// Whatever was there, and whatever is written in whichever order, the last content is there and nothing else.
    #[test]
    fn the_last_content_stays(contents in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..5000), any::<bool>()), 1..8)) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("file");
        for (content, is_private) in &contents {
            let access = if *is_private { FileAccess::Private } else { FileAccess::Usual };
            replace(&path, content, access, Durability::Process).unwrap();
            prop_assert_eq!(&fs::read(&path).unwrap(), content);
        }
        prop_assert_eq!(names(place.path()), ["file"]);
    }
}
