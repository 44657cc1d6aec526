use std::{
    fs::{self, File, FileTimes},
    path::Path,
    time::{Duration, SystemTime},
};

use cycod_store::{Digest, Maker, OutputId, Outputs, Retention, RunId, StoreError};
use proptest::prelude::*;

use crate::{Place, all, child, id, store, store_with};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// However the bytes come in, and wherever they are kept, the output is the same.
    #[test]
    fn an_output_is_what_was_written(
        pieces in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..50),
            "[a-zé€😀\n]{0,30}".prop_map(String::into_bytes),
        ], 0..12),
        text_only: bool,
        split in 1usize..9,
        limit in prop_oneof![Just(0), Just(1 << 20), 0usize..200],
    ) {
        let mut bytes = pieces.concat();
        if text_only {
            bytes = String::from_utf8_lossy(&bytes).replace('\0', "").into_bytes();
        }
        let store = store();
        let mut spool = store.outputs.spool(id("stdout"), crate::maker(), limit);
        for piece in bytes.chunks(split) {
            spool.write(piece).unwrap();
        }
        let kept = spool.finish().unwrap();
        let newlines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let is_text = std::str::from_utf8(&bytes).is_ok() && !bytes.contains(&0);
        let lines = newlines + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
        let check = |kept: &cycod_store::StoredOutput| {
            assert_eq!(all(kept), bytes);
            assert_eq!((kept.bytes(), kept.lines(), kept.is_text()), (bytes.len() as u64, lines, is_text));
            assert_eq!(kept.sha256(), Digest::of(&bytes));
        };
        check(&kept);
        prop_assert_eq!(kept.is_stored(), bytes.len() > limit);
        if let Some(again) = store.outputs.get(kept.id()).unwrap() {
            check(&again);
        } else {
            prop_assert!(!kept.is_stored());
        }
    }
}

#[test]
fn what_is_in_memory_can_be_stored_later() {
    let store = store();
    let mut kept = store.keep(b"small", 100);
    assert!(store.outputs.get(kept.id()).unwrap().is_none());
    kept.store().unwrap();
    assert_eq!(all(&store.outputs.get(kept.id()).unwrap().unwrap()), b"small");
}

#[test]
fn a_name_is_used_once() {
    let store = store();
    let kept = store.keep(b"first", 0);
    let mut again = store.outputs.spool(kept.id().clone(), crate::maker(), 0);
    assert!(matches!(again.write(b"second"), Err(StoreError::Exists(_))));
    assert!(matches!(again.write(b"second"), Err(StoreError::Failed)));
    assert_eq!(all(&store.outputs.get(kept.id()).unwrap().unwrap()), b"first");
}

#[test]
fn ids_are_read_back_and_nothing_else_is() {
    let id = id("fetch-2_stderr");
    assert_eq!(id.to_string().parse::<OutputId>().unwrap(), id);
    assert_eq!(id.uri().parse::<OutputId>().unwrap(), id);
    assert!(id.uri().starts_with("cycod://runs/"));
    let run = RunId::random().unwrap();
    assert_ne!(run, RunId::random().unwrap());
    for name in ["", "..", "a/b", "a.part", "ä", &"x".repeat(81)] {
        assert!(OutputId::new(run, name).is_err(), "{name}");
    }
    for text in
        ["", "stdout", "0f/stdout", &format!("{}/stdout", run.to_string().to_uppercase()), &format!("{run}/../x")]
    {
        assert!(text.parse::<OutputId>().is_err(), "{text}");
    }
}

#[test]
fn old_outputs_go() {
    let store = store();
    let [old, fresh] = [store.keep(b"old", 0), store.keep(b"fresh", 0)];
    age(&store, old.id(), 100);
    let id = old.id().clone();
    // Wine removes a file when it is closed.
    let held = cfg!(unix).then_some(old);
    let retention = Retention { max_age: Duration::from_secs(50), ..Retention::default() };
    let outputs = Outputs::open(store.outputs.directory(), retention).unwrap();
    assert!(outputs.get(&id).unwrap().is_none());
    assert!(outputs.get(fresh.id()).unwrap().is_some());
    // Who holds one open goes on reading.
    assert!(held.is_none_or(|old| all(&old) == b"old"));
}

#[test]
fn the_oldest_go_when_there_are_too_many() {
    let store = store_with(Retention { max_bytes: 5000, ..Retention::default() });
    let kept: Vec<_> = (0..4).map(|_| store.keep(&[b'x'; 1000], 0).id().clone()).collect();
    for (index, seconds) in [30, 10, 40, 20].into_iter().enumerate() {
        age(&store, &kept[index], seconds);
    }
    store.keep(&[b'x'; 2000], 0);
    let left: Vec<bool> = kept.iter().map(|kept| store.outputs.get(kept).unwrap().is_some()).collect();
    assert_eq!(left, [false, true, false, true]);
    assert_eq!(store.files().len(), 3);
}

/// However it comes in, of what is too large the beginning and the end stay, in whole characters, with what is missing.
#[test]
fn the_middle_of_what_is_too_large_is_dropped() {
    let check = |text: &[u8], split: usize, in_memory: usize| {
        let store = store_with(Retention { max_one: 1000, ..Retention::default() });
        let mut spool = store.outputs.spool(id("stdout"), crate::maker(), in_memory);
        for piece in text.chunks(split) {
            spool.write(piece).unwrap();
        }
        assert_eq!(spool.bytes(), text.len() as u64);
        drop(spool.finish().unwrap());
        let files = store.files();
        assert_eq!(files.len(), 1, "nothing else is left: {files:?}");
        let kept = store.outputs.get(&files[0].replace('.', "/").parse().unwrap()).unwrap().unwrap();
        let bytes = all(&kept);
        assert_eq!(kept.sha256(), Digest::of(&bytes));
        (bytes, kept.dropped(), kept.is_text())
    };
    for split in [1, 7, 1000, 100_000] {
        for in_memory in [0, 100, 50_000] {
            let lines: String = (0..2000).map(|line| format!("line {line}\n")).collect();
            let (bytes, dropped, is_text) = check(lines.as_bytes(), split, in_memory);
            let text = String::from_utf8(bytes).unwrap();
            let note = format!("[… {dropped} bytes were not stored: the output is too large …]\n");
            let (head, tail) = text.split_once(&note).expect(&text);
            // The note begins a line.
            let head = if lines.starts_with(head) { head } else { &head[..head.len() - 1] };
            assert!(is_text && lines.starts_with(head) && lines.ends_with(tail));
            assert_eq!((head.len(), tail.len()), (750, 250));
            assert_eq!(dropped, lines.len() as u64 - 1000);

            let wide = "€".repeat(5000);
            let (bytes, dropped, is_text) = check(wide.as_bytes(), split, in_memory);
            let text = String::from_utf8(bytes).unwrap();
            assert!(is_text && text.starts_with(&"€".repeat(250)) && text.ends_with(&"€".repeat(83)), "{text}");
            assert_eq!(text.matches('€').count() as u64 * 3 + dropped, 15_000);

            let (bytes, dropped, is_text) = check(&[0x80; 5000], split, in_memory);
            assert!(!is_text && dropped > 3900 && bytes.len() < 1200, "{dropped} {}", bytes.len());

            for length in [750, 751, 753, 999, 1000] {
                let whole = [b'x'; 1000];
                let (bytes, dropped, _) = check(&whole[..length], split, 0);
                assert_eq!((bytes.len(), dropped), (length, 0), "what fits stays whole");
            }
        }
    }
}

/// Who writes much makes room by what is its own, also with many outputs and with some that are still being written.
#[test]
fn nobody_pushes_out_what_others_keep() {
    let store = store_with(Retention { max_bytes: 20_000, ..Retention::default() });
    let keep = |owner: &str, tool: &str| {
        let mut spool = store.outputs.spool(id("stdout"), Maker::new(owner, tool), 0);
        spool.write(&[b'x'; 1000]).unwrap();
        spool.finish().unwrap().id().clone()
    };
    let is_there = |kept: &OutputId| store.outputs.get(kept).unwrap().is_some();
    let (bobs, quiet) = ([keep("bob", "flood"), keep("bob", "flood")], keep("ann", "quiet"));
    for kept in bobs.iter().chain([&quiet]) {
        age(&store, kept, 1000);
    }
    let flood: Vec<_> = (0..50).map(|_| keep("ann", "flood")).collect();
    assert!(bobs.iter().chain([&quiet]).all(is_there));
    assert!(is_there(&flood[49]) && !is_there(&flood[0]));
    let left = flood.iter().filter(|kept| is_there(kept)).count();
    assert!((10..17).contains(&left), "{left}");

    let mut unfinished = store.outputs.spool(id("stdout"), Maker::new("ann", "flood"), 0);
    unfinished.write(&[b'x'; 19_000]).unwrap();
    keep("bob", "other");
    assert!(bobs.iter().chain([&quiet]).all(is_there));
    unfinished.finish().unwrap();
    assert!(bobs.iter().all(is_there));
}

#[test]
fn an_output_is_there_for_its_owner_only() {
    let store = store();
    let mut spool = store.outputs.spool(id("stdout"), Maker::new("ann", "hello"), 0);
    spool.write(b"of ann").unwrap();
    let kept = spool.finish().unwrap();
    let get = |owner: &str| store.outputs.get_for(kept.id(), owner).unwrap();
    assert_eq!(all(&get("ann").unwrap()), b"of ann");
    for other in ["bob", "", "anna", "Ann"] {
        assert!(get(other).is_none());
    }
}

#[test]
fn processes_that_make_room_leave_each_other_alone() {
    let directory = Place::new();
    let place = directory.path().join("outputs");
    let children: Vec<_> = (0..4).map(|_| child::start("spool and tidy", &place)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let outputs = Outputs::open(&place, Retention { max_bytes: 100_000, ..Retention::default() }).unwrap();
    let names = crate::files(&place);
    assert!((3..150).contains(&names.len()), "{names:?}");
    for name in names {
        let kept = outputs.get(&name.replace('.', "/").parse().unwrap()).unwrap().expect("it is complete");
        assert_eq!(kept.sha256(), Digest::of(&all(&kept)));
    }
}

/// A file whose end did not come to the disk: the system went down, not we.
#[test]
fn a_damaged_output_is_removed() {
    let store = store();
    let kept = store.keep(&[b'x'; 1000], 0).id().clone();
    let path = store.outputs.directory().join(&store.files()[0]);
    for length in [1050, 900, 0] {
        File::options().write(true).open(&path).and_then(|file| file.set_len(length)).unwrap();
        let copy = fs::read(&path).unwrap();
        assert!(store.outputs.get(&kept).unwrap().is_none());
        assert_eq!(store.files(), [""; 0]);
        crate::hostile::write_private(&path, &copy);
    }
}

/// A limit on the size of files fails a write as a full disk does.
#[test]
#[cfg(unix)]
fn a_full_disk_loses_only_the_spool() {
    let store = store();
    let kept = store.keep(b"safe", 0);
    child::run("fill the disk", store.outputs.directory());
    assert_eq!(store.files().len(), 2);
    assert_eq!(all(&store.outputs.get(kept.id()).unwrap().unwrap()), b"safe");
}

pub(crate) fn fill_the_disk(place: &Path) {
    let outputs = Outputs::open(place, Retention::default()).unwrap();
    let mut spool = outputs.spool(id("stdout"), crate::maker(), 1000);
    let failed = (0..).find_map(|_| spool.write(&[b'x'; 10_000]).err()).unwrap();
    assert!(matches!(failed, StoreError::Io { doing: "write", .. }), "{failed}");
    assert!(matches!(spool.write(b""), Err(StoreError::Failed)));
    assert!(matches!(spool.finish(), Err(StoreError::Failed)));
    let mut small = outputs.spool(id("stdout"), crate::maker(), 0);
    small.write(b"fits").unwrap();
    assert!(small.finish().unwrap().is_stored());
}

fn age(store: &crate::Store, id: &OutputId, seconds: u64) {
    let path = store.outputs.directory().join(id.to_string().replace('/', "."));
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.set_times(FileTimes::new().set_modified(then)))
        .unwrap();
}
