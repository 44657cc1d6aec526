//! An index must never say anything else than the files do.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use cycod_definition::Beside;
use cycod_file::SETTLING;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{Cache, Shelf};
use crate::{
    DirectoryStyle, NeighborPlaces, Scope, ToolDirectory,
    index::Index,
    read::{Outcome, Reading},
};

/// Longer than the tick of any kernel: what tests wait for instead of two seconds.
const TICK: Duration = Duration::from_millis(25);

struct Place {
    root: TempDir,
    cache: Cache,
}

impl Place {
    fn new(settling: Duration) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(root.path().join("tools")).expect("a directory");
        let cache = Cache { directory: root.path().join("cache"), settling };
        Self { root, cache }
    }

    /// A directory of eight tools that an index knows by heart.
    fn settled() -> Self {
        let place = Self::new(TICK);
        for number in 0..8 {
            place.write(&format!("t{number}.yaml"), &text("first"));
        }
        place.settle();
        place
    }

    fn settle(&self) {
        thread::sleep(TICK * 2);
        self.open();
        let shelf = self.open();
        let unread: Vec<&OsString> = shelf.fresh.iter().map(|item| &item.file_name).collect();
        assert!(unread.is_empty(), "settled files are known: {unread:?}");
        assert!(shelf.known.is_some(), "there is an index");
    }

    fn tools(&self) -> PathBuf {
        self.root.path().join("tools")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.tools().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn directory(&self) -> ToolDirectory {
        ToolDirectory {
            path: self.tools(),
            scope: Scope::Local,
            style: DirectoryStyle::Cycod,
            places: Arc::default(),
            is_added: false,
            team: None,
        }
    }

    fn open(&self) -> Shelf {
        Shelf::open(self.directory(), Beside::default, Some(&self.cache))
    }

    fn index(&self) -> PathBuf {
        Index::path(&self.cache.directory, &self.tools())
    }

    /// Compares what the index makes of the directory with what is in it, as a list and name by name.
    #[track_caller]
    fn check(&self) {
        let fresh = all(&Shelf::open(self.directory(), Beside::default, None));
        let shelf = self.open();
        assert_eq!(all(&shelf), fresh, "the list");
        for (file_name, reading) in &fresh {
            if reading.outcome == Outcome::Prose {
                continue;
            }
            let found = shelf.with_key(&reading.name.to_ascii_lowercase());
            let found = found.iter().find(|item| item.file_name == *file_name);
            assert_eq!(found.map(|item| &item.reading), Some(reading), "{file_name:?} by its name");
        }
    }
}

fn all(shelf: &Shelf) -> BTreeMap<OsString, Reading> {
    shelf.items().into_iter().map(|item| (item.file_name, item.reading)).collect()
}

fn text(description: &str) -> String {
    format!("description: {description}\nbash: ls\n")
}

fn named(name: &str) -> String {
    format!("name: {name}\ndescription: renamed\nbash: ls\n")
}

fn description(place: &Place, name: &str) -> Option<String> {
    match place.open().with_key(name).into_iter().next()?.reading.outcome {
        Outcome::Tool(summary) => summary.description.clone(),
        _ => None,
    }
}

/// Makes a change to a known directory and demands that it shows.
#[track_caller]
fn check_change(change: impl Fn(&Place)) {
    let place = Place::settled();
    let before = all(&place.open());
    change(&place);
    assert_ne!(all(&Shelf::open(place.directory(), Beside::default, None)), before, "the change is one");
    place.check();
    thread::sleep(TICK * 2);
    place.check();
    place.check();
}

#[test]
fn an_edit_of_the_same_size_and_time_shows() {
    check_change(|place| {
        let path = place.path("t3.yaml");
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
        place.write("t3.yaml", &text("other"));
        let file = File::options().write(true).open(&path).expect("the file");
        file.set_modified(modified).expect("time set back");
        assert_eq!(fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time"), modified);
    });
}

#[test]
fn a_rename_over_a_file_shows() {
    check_change(|place| {
        let path = place.path("t3.yaml");
        let modified = fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
        let other = place.root.path().join("other");
        fs::write(&other, text("other")).expect("a file");
        File::options().write(true).open(&other).and_then(|file| file.set_modified(modified)).expect("time set");
        fs::rename(&other, &path).expect("a rename");
    });
}

#[test]
fn two_files_that_change_places_show() {
    let place = Place::settled();
    place.write("t1.yaml", &text("wrote"));
    place.settle();
    let between = place.root.path().join("between");
    for (from, to) in [
        (place.path("t1.yaml"), between.clone()),
        (place.path("t2.yaml"), place.path("t1.yaml")),
        (between, place.path("t2.yaml")),
    ] {
        fs::rename(from, to).expect("a rename");
    }
    place.check();
    assert_eq!(description(&place, "t2").as_deref(), Some("wrote"));
}

#[test]
fn files_that_come_and_go_show() {
    check_change(|place| place.write("t9.yaml", &text("new")));
    check_change(|place| fs::remove_file(place.path("t0.yaml")).expect("removed"));
    check_change(|place| fs::rename(place.path("t0.yaml"), place.path("u0.yaml")).expect("renamed"));
    check_change(|place| fs::hard_link(place.path("t0.yaml"), place.path("a0.yaml")).expect("linked"));
    check_change(|place| fs::create_dir(place.path("d.yaml")).expect("a directory"));
    check_change(|place| {
        fs::remove_dir_all(place.tools()).expect("removed");
        fs::create_dir(place.tools()).expect("a directory");
        place.write("t0.yaml", &text("again"));
    });
}

#[test]
fn a_new_name_inside_a_file_shows() {
    check_change(|place| place.write("t0.yaml", &named("elsewhere")));
    let place = Place::settled();
    place.write("t0.yaml", &named("elsewhere"));
    assert!(place.open().with_key("t0").is_empty());
    assert_eq!(place.open().with_key("elsewhere").len(), 1);
}

#[test]
fn a_link_that_is_pointed_elsewhere_shows() {
    use std::os::unix::fs::symlink;
    let place = Place::settled();
    for name in ["one", "two"] {
        fs::write(place.root.path().join(name), text(name)).expect("a file");
    }
    symlink(place.root.path().join("one"), place.path("link.yaml")).expect("a link");
    place.settle();
    assert_eq!(description(&place, "link").as_deref(), Some("one"));
    fs::write(place.root.path().join("one"), text("uno")).expect("a file");
    assert_eq!(description(&place, "link").as_deref(), Some("uno"), "the target was edited");
    fs::remove_file(place.path("link.yaml")).expect("removed");
    symlink(place.root.path().join("two"), place.path("link.yaml")).expect("a link");
    assert_eq!(description(&place, "link").as_deref(), Some("two"), "the link was changed");
    fs::remove_file(place.root.path().join("two")).expect("removed");
    place.check();
}

/// A thousand edits of one size, as fast as the disk allows, each seen at once.
#[test]
fn no_edit_within_a_tick_is_missed() {
    for settling in [TICK, SETTLING] {
        let place = Place::settled();
        let place = Place { cache: Cache { settling, ..place.cache.clone() }, ..place };
        for round in 0..1_000 {
            let wrote = format!("round {round:04}");
            place.write("t5.yaml", &text(&wrote));
            assert_eq!(description(&place, "t5"), Some(wrote));
        }
        place.check();
    }
}

/// The rule that keeps racing edits out: a file is known only once its change time is of the past.
#[test]
fn a_file_just_written_is_read_each_time() {
    let place = Place::new(SETTLING);
    for number in 0..8 {
        place.write(&format!("t{number}.yaml"), &text("first"));
    }
    for _ in 0..3 {
        assert_eq!(place.open().fresh.len(), 8);
    }
}

#[test]
fn a_file_dated_ahead_is_known_by_its_change_time() {
    let place = Place::settled();
    let ahead = SystemTime::now() + Duration::from_secs(1 << 30);
    let file = File::options().write(true).open(place.path("t1.yaml")).expect("the file");
    file.set_modified(ahead).expect("time set");
    place.settle();
    place.write("t1.yaml", &text("other"));
    file.set_modified(ahead).expect("time set");
    place.check();
    assert_eq!(description(&place, "t1").as_deref(), Some("other"));
}

/// Writes an index of its own making over the real one.
fn forge(place: &Place, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(place.index()).expect("an index");
    change(&mut bytes);
    let head = usize::try_from(u64::from_le_bytes(*bytes[32..].first_chunk().expect("a length"))).expect("small");
    let sum = crate::hash::hash(&bytes[32..head]);
    bytes[24..32].copy_from_slice(&sum.to_le_bytes());
    fs::write(place.index(), bytes).expect("an index");
}

#[test]
fn an_index_from_the_future_is_void() {
    let place = Place::settled();
    forge(&place, |_| {});
    assert!(
        Index::open(&place.cache.directory, &place.tools(), 0).is_some(),
        "a forged index is taken when it is right"
    );
    let later = cycod_file::now() + 3_600_000_000_000;
    forge(&place, |bytes| bytes[40..48].copy_from_slice(&later.to_le_bytes()));
    assert!(Index::open(&place.cache.directory, &place.tools(), 0).is_none(), "the clock went back");
    place.check();
    assert!(Index::open(&place.cache.directory, &place.tools(), 0).is_some(), "and there is a new one");
}

#[test]
fn an_index_of_another_program_or_directory_is_void() {
    for (at, what) in [(0, "magic"), (16, "fingerprint"), (97, "path")] {
        let place = Place::settled();
        forge(&place, |bytes| bytes[at] ^= 1);
        assert!(Index::open(&place.cache.directory, &place.tools(), 0).is_none(), "{what}");
        place.check();
    }
}

#[test]
fn damage_anywhere_is_noticed() {
    let place = Place::settled();
    place.write("broken.yaml", "bash: [\n");
    place.write("README.md", "# no tool\n");
    place.settle();
    let whole = fs::read(place.index()).expect("an index");
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        fs::write(place.index(), bytes).expect("an index");
        place.check();
    }
    for length in (0..whole.len()).step_by(11) {
        fs::write(place.index(), &whole[..length]).expect("an index");
        place.check();
    }
    for huge in [u64::MAX, 1 << 40, 97] {
        forge_length(&place, &whole, huge);
        place.check();
    }
}

fn forge_length(place: &Place, whole: &[u8], length: u64) {
    let mut bytes = whole.to_vec();
    bytes[32..40].copy_from_slice(&length.to_le_bytes());
    fs::write(place.index(), bytes).expect("an index");
}

/// Nothing may depend on where the cache is, or on its being there.
#[test]
fn an_index_that_cannot_be_written_is_no_loss() {
    let place = Place::new(TICK);
    for number in 0..8 {
        place.write(&format!("t{number}.yaml"), &text("first"));
    }
    fs::write(&place.cache.directory, "a file is in the way").expect("a file");
    thread::sleep(TICK * 2);
    place.check();
    place.check();
}

#[test]
fn writers_of_one_index_do_not_hurt_each_other() {
    let place = Place::settled();
    thread::scope(|scope| {
        for thread in 0..4 {
            let place = &place;
            scope.spawn(move || {
                for round in 0..100 {
                    let name = format!("own{thread}");
                    let wrote = format!("{thread} in {round}");
                    place.write(&format!("{name}.yaml"), &text(&wrote));
                    assert_eq!(description(place, &name), Some(wrote));
                    if round % 25 == 0 {
                        thread::sleep(TICK * 2);
                    }
                }
            });
        }
    });
    place.check();
    let strays = fs::read_dir(&place.cache.directory).expect("the cache").count();
    assert_eq!(strays, 1, "temporary files are gone");
}

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, usize),
    WriteAndSetBack(usize, usize),
    Replace(usize, usize),
    Rename(usize, usize),
    Remove(usize),
    Link(usize, usize),
    Wait,
    Look,
    Damage(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let file = 0..10_usize;
    let content = 0..CONTENTS.len();
    prop_oneof![
        3 => (file.clone(), content.clone()).prop_map(|(file, content)| Edit::Write(file, content)),
        3 => (file.clone(), content.clone()).prop_map(|(file, content)| Edit::WriteAndSetBack(file, content)),
        2 => (file.clone(), content).prop_map(|(file, content)| Edit::Replace(file, content)),
        2 => (file.clone(), file.clone()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (file.clone(), file.clone()).prop_map(|(from, to)| Edit::Link(from, to)),
        1 => file.prop_map(Edit::Remove),
        3 => Just(Edit::Wait),
        3 => Just(Edit::Look),
        1 => (0..4_000_usize).prop_map(Edit::Damage),
    ]
}

/// Most are of one length, so that the size tells nothing.
const CONTENTS: [&str; 8] = [
    "description: aaaa\nbash: ls -a\n",
    "description: bbbb\nbash: ls -b\n",
    "name: cc\ndescription: c\nrun: l\n",
    "name: dd\ndescription: d\nrun: l\n",
    "description: eeee\nbash: [1, 2]\n",
    "description: ffff\nrun: ls\ntags: [read]\n",
    "\u{feff}description: gggg\nbash: ls\n",
    "",
];

const NAMES: [&str; 10] =
    ["a.yaml", "b.yaml", "c.yml", "d.json", "e.md", "F.YAML", "cc.yaml", "g h.yaml", "i.yaml", "j.yaml"];

fn apply(place: &Place, edit: &Edit) {
    let path = |file: usize| place.path(NAMES[file]);
    match *edit {
        Edit::Write(file, content) => place.write(NAMES[file], CONTENTS[content]),
        Edit::WriteAndSetBack(file, content) => {
            let modified = fs::metadata(path(file)).and_then(|metadata| metadata.modified());
            place.write(NAMES[file], CONTENTS[content]);
            if let Ok(modified) = modified {
                let opened = File::options().write(true).open(path(file));
                opened.and_then(|file| file.set_modified(modified)).expect("time set back");
            }
        }
        Edit::Replace(file, content) => {
            let other = place.root.path().join("other");
            fs::write(&other, CONTENTS[content]).expect("a file");
            fs::rename(other, path(file)).expect("a rename");
        }
        Edit::Rename(from, to) => _ = fs::rename(path(from), path(to)),
        Edit::Remove(file) => _ = fs::remove_file(path(file)),
        Edit::Link(from, to) => _ = fs::hard_link(path(from), path(to)),
        Edit::Wait => thread::sleep(TICK + TICK / 4),
        Edit::Look => _ = place.open(),
        Edit::Damage(at) => damage(&place.index(), at),
    }
}

fn damage(index: &Path, at: usize) {
    if let Ok(mut bytes) = fs::read(index)
        && !bytes.is_empty()
    {
        let at = at % bytes.len();
        bytes[at] ^= 1;
        fs::write(index, bytes).expect("an index");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 64, ..ProptestConfig::default() })]

    #[test]
    fn an_index_says_what_the_files_say(edits in prop::collection::vec(edit(), 1..40)) {
        let place = Place::new(TICK);
        for (file, name) in NAMES.iter().enumerate() {
            place.write(name, CONTENTS[file % CONTENTS.len()]);
        }
        place.open();
        thread::sleep(TICK + TICK / 4);
        place.open();
        for edit in &edits {
            apply(&place, edit);
            place.check();
        }
    }
}

#[test]
fn what_is_said_about_programs_counts_at_once() {
    let place = Place::new(TICK);
    let tool = "description: d\nbash: fossa {X}\nparameters: {X: {type: string, description: d, required: true}}\n";
    (0..8).for_each(|number| place.write(&format!("t{number}.yaml"), tool));
    let file = place.root.path().join("programs.yaml");
    let open = || {
        Shelf::open(
            place.directory(),
            || NeighborPlaces { programs: Some(file.clone()), home: None }.read(),
            Some(&place.cache),
        )
    };
    let check = |is_usable: bool, what: &str| {
        for _ in 0..3 {
            let readings = all(&open());
            assert_eq!(readings.len(), 8, "{what}");
            for (name, reading) in readings {
                assert_eq!(matches!(reading.outcome, Outcome::Tool(_)), is_usable, "{what}: {}", name.display());
            }
            thread::sleep(TICK * 2);
        }
        let shelf = open();
        assert!(shelf.known.is_some() && shelf.fresh.is_empty(), "{what}: an unchanged file is parsed once");
    };
    check(false, "no file");
    for (text, is_usable) in [
        ("fossa: text\n", true),
        ("fossa: code\n", false),
        ("fossa: text # again\n", true),
        ("fossa: [\n", false),
        ("fossa: text\nfossa: text\n", false),
        ("", false),
        ("fossa: plain\n", true),
        ("other: text\n", false),
    ] {
        fs::write(&file, text).expect("a file");
        check(is_usable, text);
    }
    fs::write(&file, "fossa: text\n").expect("a file");
    check(true, "back");
    fs::remove_file(&file).expect("it is there");
    check(false, "gone");
    fs::create_dir(&file).expect("a directory");
    check(false, "a directory");
}
