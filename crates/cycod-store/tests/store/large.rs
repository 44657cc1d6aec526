use std::{fs, path::Path, time::Duration};

use cycod_store::{OutputPosition, Outputs, Retention, Search};

use crate::{child, id, store};

const PIECE: usize = 64 * 1024;
const PIECES: u64 = 4800;

/// A process that keeps 300 MB and asks about it, and stays as small as it was.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_output() {
    let store = store();
    let said = child::run("large", store.outputs.directory());
    assert!(said.contains("grew"), "{said}");
}

/// Reads from `/proc` the most memory that this process ever had.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

pub(crate) fn measure(place: &Path) {
    let outputs = Outputs::open(place, Retention { max_one: u64::MAX, ..Retention::default() }).unwrap();
    let mut piece = vec![b'-'; PIECE];
    for line in piece.chunks_mut(128) {
        *line.last_mut().unwrap() = b'\n';
    }
    let before = peak();
    let mut spool = outputs.spool(id("stdout"), crate::maker(), 32 * 1024);
    for _ in 0..PIECES {
        spool.write(&piece).unwrap();
    }
    spool.write(b"the needle\n").unwrap();
    let mut kept = spool.finish().unwrap();
    let lines = PIECES * 512;
    assert_eq!((kept.bytes(), kept.lines()), (PIECES * PIECE as u64 + 11, lines + 1));
    let excerpt = kept.excerpt(1000).unwrap();
    assert!(excerpt.text.ends_with("the needle\n"));
    let slice = kept.slice(OutputPosition::Line(lines), 2, 1000).unwrap();
    assert_eq!((slice.bytes.len(), slice.line, slice.next), (128 + 11, lines, None));
    let search =
        Search { pattern: "n[e]+dle", from: 0, max_matches: 5, context: 1, cap: 1000, time: Duration::from_secs(300) };
    let found = kept.search(&search).unwrap();
    assert_eq!((found.matches, found.lines[1].number), (1, lines + 1));
    let around = kept.search(&Search { context: usize::MAX, ..search }).unwrap();
    assert_eq!((around.matches, around.lines[0].number), (1, lines + 1));
    let grew = peak() - before;
    assert!(grew < 10 << 20, "memory grew by {grew} bytes");
    println!("grew by {grew} bytes");
}
