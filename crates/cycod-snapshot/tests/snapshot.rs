//! What can be packed, what is refused when it is unpacked, and how changes are applied.
#![cfg(unix)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use cycod_snapshot::{
    Changes, MOST_BYTES, MOST_FILES, NotApplied, ProjectEntry, ProjectPath, Snapshot, SnapshotError, listed,
};
use cycod_team::BlobDigest;
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A directory that a test may not leave: next to it is a file that stays as it is.
struct Yard(TempDir);

impl Yard {
    fn new() -> Self {
        let yard = Self(tempfile::tempdir().expect("a directory"));
        fs::create_dir(yard.root()).expect("a directory");
        fs::write(yard.outside(), "outside").expect("a file");
        yard
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.0.path()).expect("a path").join("root")
    }

    fn outside(&self) -> PathBuf {
        self.0.path().join("outside")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_else(|error| format!("{error}"))
    }

    fn snapshot(&self) -> Result<Snapshot, SnapshotError> {
        Snapshot::of(&self.root(), &listed(&self.root())?)
    }

    /// Every path in it, links not followed.
    fn all(&self) -> Vec<String> {
        let (mut found, mut open) = (Vec::new(), vec![self.root()]);
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).expect("a directory") {
                let entry = entry.expect("an entry");
                found.push(entry.path().strip_prefix(self.root()).expect("below").to_string_lossy().into_owned());
                if entry.file_type().expect("a kind").is_dir() {
                    open.push(entry.path());
                }
            }
        }
        found.sort();
        found
    }
}

/// Packs by hand what no snapshot has.
fn packed(head: &Value, contents: &[u8]) -> Vec<u8> {
    let head = head.to_string();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"cycod\0s1").expect("memory");
    encoder.write_all(&u32::try_from(head.len()).expect("short").to_le_bytes()).expect("memory");
    encoder.write_all(head.as_bytes()).expect("memory");
    encoder.write_all(contents).expect("memory");
    encoder.finish().expect("memory")
}

fn file(bytes: &[u8]) -> Value {
    json!({"kind": "file", "size": bytes.len(), "sha256": BlobDigest::of(bytes)})
}

fn path(text: &str) -> ProjectPath {
    ProjectPath::try_from(text.to_owned()).expect("a path")
}

#[test]
fn a_snapshot_arrives_as_it_was() {
    let (here, there) = (Yard::new(), Yard::new());
    here.write("a/b.txt", "b");
    here.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(here.root().join("run.sh"), fs::Permissions::from_mode(0o755)).expect("a mode");
    fs::create_dir(here.root().join("empty")).expect("a directory");
    symlink("a/b.txt", here.root().join("link")).expect("a link");
    here.write(".git/config", "x");
    here.write("sub/.cycod/tools/x.yaml", "x");
    let snapshot = here.snapshot().expect("a snapshot");
    let packed = snapshot.pack().expect("it is small");
    let arrived = Snapshot::unpack(&packed).expect("it is one");
    assert_eq!(arrived, snapshot);
    arrived.write(&there.root()).expect("it is written");
    assert_eq!(there.all(), ["a", "a/b.txt", "empty", "link", "run.sh"]);
    let mode = |name: &str| fs::metadata(there.root().join(name)).expect("a file").permissions().mode() & 0o111;
    assert_eq!((there.read("link"), mode("run.sh") != 0, mode("a/b.txt")), ("b".to_owned(), true, 0));
    assert!(Changes::since(arrived.entries(), &there.root()).expect("it is read").is_empty());
}

#[test]
fn ignore_files_count_where_they_are() {
    let yard = Yard::new();
    yard.write(".gitignore", "*.log\n/out\n!keep.log\n");
    yard.write("sub/.gitignore", "!*.log\n*.tmp\n");
    for path in ["a.log", "keep.log", "out/x", "sub/b.log", "sub/c.tmp", "sub/out/d", "e.tmp"] {
        yard.write(path, "");
    }
    let found = listed(&yard.root()).expect("a list");
    let found: Vec<&str> = found.iter().filter_map(|path| path.to_str()).collect();
    assert_eq!(found, [".gitignore", "e.tmp", "keep.log", "sub/.gitignore", "sub/b.log", "sub/out/d"]);
    // A pipe of that name is none, and nothing waits for it.
    let piped = Yard::new();
    piped.write("a", "");
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        piped.root().join(".gitignore"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o600),
        0,
    );
    made.expect("a pipe");
    assert_eq!(listed(&piped.root()).expect("a list"), BTreeSet::from([PathBuf::from("a")]));
}

/// Everything that an archive could do to the one who unpacks it.
#[test]
fn nothing_is_written_outside() {
    let one = |path: &str, entry: Value| json!({"entries": [[path, entry]]});
    let link = |to: &str| json!({"kind": "link", "to": to});
    let x = file(b"x");
    let two = |first: Value, second: Value| json!({"entries": [first, second]});
    let attacks: Vec<(&str, Value, &[u8])> = vec![
        ("up", one("../outside", x.clone()), b"x"),
        ("up inside", one("a/../../outside", x.clone()), b"x"),
        ("absolute", one("/tmp/cycod-attack", x.clone()), b"x"),
        ("history", one(".git/hooks/post-checkout", x.clone()), b"x"),
        ("tools", one("a/.CYCOD/tools/x.yaml", x.clone()), b"x"),
        ("nothing", one("", x.clone()), b"x"),
        ("dot", one("./a", x.clone()), b"x"),
        ("control", one("a\u{1b}[2J", x.clone()), b"x"),
        ("link out", one("a", link("../outside")), b""),
        ("link absolute", one("a", link("/etc")), b""),
        ("link over a link", two(json!(["a/b", link("..")]), json!(["a/c", link("b/../outside")])), b""),
        ("through a link", two(json!(["a", link("b")]), json!(["a/x", x.clone()])), b"x"),
        ("through a file", two(json!(["a", x.clone()]), json!(["a/x", x.clone()])), b"xx"),
        ("twice", two(json!(["a", x.clone()]), json!(["a", x.clone()])), b"xx"),
        ("twice, link first", two(json!(["a", link("b")]), json!(["a", x.clone()])), b"x"),
        ("hard link", one("a", json!({"kind": "hardlink", "to": "../outside"})), b""),
        ("device", one("a", json!({"kind": "device", "major": 1, "minor": 3})), b""),
        (
            "more than is known",
            one("a", json!({"kind": "file", "size": 1, "sha256": BlobDigest::of(b"x"), "mode": 0o4777})),
            b"x",
        ),
        ("other bytes", one("a", file(b"y")), b"x"),
        ("too few bytes", one("a", file(b"xy")), b"x"),
        ("too many bytes", one("a", x.clone()), b"xx"),
    ];
    for (what, head, contents) in attacks {
        let yard = Yard::new();
        let tried = Snapshot::unpack(&packed(&head, contents)).and_then(|snapshot| snapshot.write(&yard.root()));
        assert!(tried.is_err(), "{what} was written: {:?}", yard.all());
        assert_eq!(fs::read_to_string(yard.outside()).expect("a file"), "outside", "{what}");
        assert_eq!(fs::read_dir(yard.0.path()).expect("a directory").count(), 2, "{what}");
    }
    // What is there already is not written through, either.
    let yard = Yard::new();
    symlink("..", yard.root().join("a")).expect("a link");
    let snapshot = Snapshot::unpack(&packed(&one("a/outside", x), b"x")).expect("a snapshot");
    assert!(snapshot.write(&yard.root()).is_err());
    assert_eq!(fs::read_to_string(yard.outside()).expect("a file"), "outside");
}

#[test]
fn a_bomb_does_not_go_off() {
    // A megabyte of zeros for each kilobyte, and more than is listed.
    let zeros = vec![0; 16 << 20];
    let bomb = packed(&json!({"entries": [["a", file(b"x")]]}), &zeros);
    assert!(bomb.len() < 1 << 20);
    assert!(Snapshot::unpack(&bomb).is_err());
    let large = json!({"kind": "file", "size": MOST_BYTES + 1, "sha256": BlobDigest::of(b"")});
    let too_much = |head: &Value| {
        let error = Snapshot::unpack(&packed(head, b"")).expect_err("it is too much").to_string();
        assert!(error.contains("there is too much"), "{error}");
    };
    too_much(&json!({"entries": [["a", large]]}));
    let half = json!({"kind": "file", "size": u64::MAX / 2 + 1, "sha256": BlobDigest::of(b"")});
    too_much(&json!({"entries": [["a", half], ["b", half]]}));
    let many: Vec<Value> = (0..=MOST_FILES).map(|number| json!([format!("{number:06}"), file(b"")])).collect();
    too_much(&json!({"entries": many}));
    for broken in [b"".to_vec(), b"PK\x03\x04".to_vec(), packed(&json!({"entries": []}), b"")[..20].to_vec()] {
        assert!(Snapshot::unpack(&broken).is_err());
    }
}

#[test]
fn what_can_not_travel_is_named() {
    let yard = Yard::new();
    yard.write("small", "x");
    for (name, size) in [("large", 200_u64 << 20), ("larger", 201 << 20)] {
        fs::File::create(yard.root().join(name)).expect("a file").set_len(size).expect("a hole");
    }
    let error = yard.snapshot().expect_err("too large").to_string();
    assert!(
        error.contains("the biggest are `larger` (210763776 bytes), `large` (209715200 bytes), `small`"),
        "{error}"
    );
    let many = Yard::new();
    for number in 0..=MOST_FILES {
        many.write(&number.to_string(), "");
    }
    assert!(listed(&many.root()).is_err());
    assert!(many.snapshot().expect_err("too many").to_string().contains("more than 20000 files"));
}

/// A project, a copy of it as a worker has it, and what it had before.
fn both(files: &[(&str, &str)]) -> (Yard, Yard, BTreeMap<ProjectPath, ProjectEntry>) {
    let (here, there) = (Yard::new(), Yard::new());
    for (path, text) in files {
        here.write(path, text);
    }
    let snapshot = here.snapshot().expect("a snapshot");
    snapshot.write(&there.root()).expect("it is written");
    (here, there, snapshot.entries().clone())
}

fn arrived(before: &BTreeMap<ProjectPath, ProjectEntry>, there: &Yard) -> Changes {
    let changes = Changes::since(before, &there.root()).expect("changes");
    assert!(changes.is_of(before));
    let arrived = Changes::unpack(&changes.pack().expect("they are small")).expect("changes");
    assert_eq!(arrived, changes);
    arrived
}

#[test]
fn changes_are_applied_as_they_were_made() {
    let (here, there, before) =
        both(&[("a", "a"), ("d/b", "b"), ("d/e/c", "c"), ("f", "f"), ("g/h", "h"), ("run", "x")]);
    fs::set_permissions(here.root().join("a"), fs::Permissions::from_mode(0o640)).expect("a mode");
    there.write("a", "A");
    fs::remove_dir_all(there.root().join("d/e")).expect("a directory");
    fs::set_permissions(there.root().join("run"), fs::Permissions::from_mode(0o755)).expect("a mode");
    // A file becomes a directory, and a directory a file and a link.
    fs::remove_file(there.root().join("f")).expect("a file");
    there.write("f/new", "new");
    fs::remove_dir_all(there.root().join("g")).expect("a directory");
    symlink("a", there.root().join("g")).expect("a link");
    there.write("x/y/z", "z");
    arrived(&before, &there).apply(&here.root()).expect("nothing is in the way");
    assert_eq!(here.all(), ["a", "d", "d/b", "f", "f/new", "g", "run", "x", "x/y", "x/y/z"]);
    let mode = |name: &str| fs::metadata(here.root().join(name)).expect("a file").permissions().mode() & 0o777;
    // The mode of a file stays as the user has it.
    assert_eq!(
        (here.read("a"), here.read("g"), mode("a"), mode("run") & 0o100),
        ("A".into(), "A".into(), 0o640, 0o100)
    );
}

#[test]
fn a_conflict_leaves_everything_as_it_is() {
    type Change = fn(&Yard);
    let cases: [(&str, Change, Change); 9] = [
        ("changed", |there| there.write("b", "B"), |here| here.write("b", "mine")),
        (
            "changed and removed",
            |there| there.write("b", "B"),
            |here| fs::remove_file(here.root().join("b")).expect("a file"),
        ),
        (
            "removed and changed",
            |there| fs::remove_file(there.root().join("b")).expect("a file"),
            |here| here.write("b", "mine"),
        ),
        ("added twice", |there| there.write("new", "N"), |here| here.write("new", "N")),
        ("added below a file", |there| there.write("new/x", "N"), |here| here.write("new", "mine")),
        ("added where a directory is", |there| there.write("new", "N"), |here| here.write("new/mine", "mine")),
        (
            "a link now",
            |there| there.write("b", "B"),
            |here| {
                fs::remove_file(here.root().join("b")).expect("a file");
                symlink("a", here.root().join("b")).expect("a link");
            },
        ),
        (
            "below a link now",
            |there| there.write("d/c", "C"),
            |here| {
                fs::rename(here.root().join("d"), here.0.path().join("d")).expect("a directory");
                symlink("../d", here.root().join("d")).expect("a link");
            },
        ),
        (
            "the mode",
            |there| there.write("b", "B"),
            |here| {
                fs::set_permissions(here.root().join("b"), fs::Permissions::from_mode(0o755)).expect("a mode");
            },
        ),
    ];
    for (what, on_worker, here_too) in cases {
        let (here, there, before) = both(&[("a", "a"), ("b", "b"), ("d/c", "c"), ("gone/x", "x")]);
        // What is not in the way is not applied, either.
        there.write("a", "A");
        there.write("z", "Z");
        fs::remove_dir_all(there.root().join("gone")).expect("a directory");
        on_worker(&there);
        here_too(&here);
        let (were, read) = (here.all(), ["a", "b", "d/c", "new", "gone/x"].map(|path| here.read(path)));
        let applied = arrived(&before, &there).apply(&here.root());
        assert!(matches!(&applied, Err(NotApplied::Conflicts(all)) if all.len() == 1), "{what}: {applied:?}");
        assert_eq!(
            (here.all(), ["a", "b", "d/c", "new", "gone/x"].map(|path| here.read(path))),
            (were, read),
            "{what}"
        );
    }
}

#[test]
fn changes_that_no_worker_makes_are_refused() {
    let change =
        |path: &str, before: Value, after: Value| json!({"changes": [[path, {"before": before, "after": after}]]});
    let x = || file(b"x");
    let attacks: Vec<(Value, &[u8])> = vec![
        (change("../outside", json!(null), x()), b"x"),
        (change(".git/hooks/pre-commit", json!(null), x()), b"x"),
        (change("a", json!(null), json!({"kind": "link", "to": "../outside"})), b""),
        (change("a", json!(null), json!({"kind": "directory"})), b""),
        (change("a", json!(null), json!(null)), b""),
        (change("a", x(), x()), b"x"),
        (json!({"changes": [["a", {"before": null, "after": x()}], ["a", {"before": null, "after": x()}]]}), b"xx"),
    ];
    for (head, contents) in attacks {
        assert!(Changes::unpack(&packed(&head, contents)).is_err(), "{head}");
    }
    // Those of another snapshot are told from it.
    let (_, there, before) = both(&[("a", "a")]);
    there.write("a", "A");
    let changes = Changes::since(&before, &there.root()).expect("changes");
    assert!(changes.is_of(&before) && !changes.is_of(&BTreeMap::new()));
    let other = BTreeMap::from([(path("a"), ProjectEntry::file(b"other", false))]);
    assert!(!changes.is_of(&other));
    // Nothing is written through a link that is here.
    let yard = Yard::new();
    symlink("..", yard.root().join("up")).expect("a link");
    let through = Changes::unpack(&packed(&change("up/new", json!(null), x()), b"x")).expect("changes");
    assert!(matches!(through.apply(&yard.root()), Err(NotApplied::Conflicts(_))));
    assert_eq!(fs::read_dir(yard.0.path()).expect("a directory").count(), 2);
    assert!(Path::new(&yard.root()).join("up").is_symlink());
}

/// What a worker has after the changes of those before it.
fn with(before: &Snapshot, changes: &[&Changes]) -> Yard {
    let yard = Yard::new();
    before.write(&yard.root()).expect("it is written");
    let mut entries = before.entries().clone();
    for changes in changes {
        changes.apply(&yard.root()).expect("they fit");
        entries = changes.entries_after(entries);
    }
    // What is there is what it says there is.
    assert!(Changes::since(&entries, &yard.root()).expect("changes").is_empty());
    yard
}

#[test]
fn changes_follow_each_other_and_are_one_in_the_end() {
    let here = Yard::new();
    for (path, text) in [("a", "a"), ("d/b", "b"), ("f", "f"), ("g/h", "h"), ("same", "s")] {
        here.write(path, text);
    }
    fs::create_dir(here.root().join("empty")).expect("a directory");
    let before = here.snapshot().expect("a snapshot");
    let one = with(&before, &[]);
    one.write("a", "A");
    one.write("same", "other");
    one.write("empty/x", "x");
    one.write("new", "n");
    fs::remove_file(one.root().join("f")).expect("a file");
    one.write("f/deep", "deep");
    fs::remove_dir_all(one.root().join("g")).expect("a directory");
    let first = arrived(before.entries(), &one);

    let two = with(&before, &[&first]);
    assert_eq!((two.read("a"), two.read("f/deep"), two.read("empty/x")), ("A".into(), "deep".into(), "x".into()));
    let between = two.snapshot().expect("a snapshot");
    two.write("a", "AA");
    two.write("same", "s");
    fs::remove_file(two.root().join("new")).expect("a file");
    symlink("a", two.root().join("g")).expect("a link");
    let second = arrived(between.entries(), &two);
    // The other way round, they are changes of other files.
    assert!(!second.is_of(before.entries()));
    let mut wrong = second.clone();
    assert!(wrong.add(first.clone()).is_err());

    let mut all = first;
    all.add(second).expect("they fit");
    assert!(all.is_of(before.entries()));
    let names: Vec<&str> = all.by_path().keys().map(ProjectPath::as_str).collect();
    assert_eq!(names, ["a", "empty/x", "f", "f/deep", "g", "g/h"], "what is as it was is no change");
    assert_eq!(Changes::unpack(&all.pack().expect("small")).expect("changes"), all);
    all.apply(&here.root()).expect("nothing is in the way");
    assert_eq!(here.all(), two.all());
    assert_eq!((here.read("a"), here.read("g"), here.read("same")), ("AA".into(), "AA".into(), "s".into()));
}

#[test]
fn changes_that_were_made_at_once_fit_only_where_they_are_of_other_files() {
    let files = [("a", "a"), ("b", "b"), ("d/c", "c")];
    type Make = fn(&Yard);
    let made = |make: Make| {
        let (_here, there, before) = both(&files);
        make(&there);
        arrived(&before, &there)
    };
    let cases: [(&str, Make, Make, &[&str], usize); 8] = [
        ("other files", |one| one.write("a", "A"), |two| two.write("b", "B"), &[], 1),
        ("the same", |one| one.write("a", "A"), |two| two.write("a", "A"), &[], 0),
        ("another text", |one| one.write("a", "A"), |two| two.write("a", "B"), &["a"], 1),
        ("removed", |one| fs::remove_file(one.root().join("a")).expect("a file"), |two| two.write("a", "B"), &["a"], 1),
        ("a file for a directory", |one| one.write("new", "1"), |two| two.write("new/x", "2"), &["new/x"], 1),
        ("a directory for a file", |one| one.write("new/x", "1"), |two| two.write("new", "2"), &["new"], 1),
        (
            "in a directory that lost a file",
            |one| fs::remove_file(one.root().join("d/c")).expect("a file"),
            |two| two.write("d/new", "2"),
            &[],
            1,
        ),
        ("in one directory", |one| one.write("new/x", "1"), |two| two.write("new/y", "2"), &[], 1),
    ];
    for (what, first, later, conflicts, left) in cases {
        let (first, mut later) = (made(first), made(later));
        let met = later.after(&first);
        assert_eq!(met.iter().map(ProjectPath::as_str).collect::<Vec<_>>(), conflicts, "{what}");
        assert_eq!(later.by_path().len(), left, "{what}");
        if conflicts.is_empty() {
            let (here, _there, _before) = both(&files);
            let mut all = first;
            all.add(later).expect("they fit");
            all.apply(&here.root()).expect("nothing is in the way");
        }
    }
}
