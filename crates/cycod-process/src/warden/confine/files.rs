//! The file system that a confined program sees.
//!
//! All of it hangs on one small file system in memory, which holds the directories to mount on and the program's `/tmp`.
//! With a minimal root it covers the whole tree of the machine, in a copy that nobody else sees, and the system is mounted on
//! it. With a read-only root it covers parts of that tree.
//!
//! What is to be mounted is taken hold of first, as the tree of the machine still shows it, without following a single
//! link; then everything that is shown becomes read-only in one go; then the rest is put in its place.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::super::calls::{Arg, Calls, Slot, add};
use super::{Refused, system};
use crate::{Confinement, Mechanism, MountAccess, Network, Root, Terminal};

/// What came of it, for the rules on files.
#[derive(Debug)]
pub(super) struct Files {
    /// What the program may change, as it sees it, and whether it is a directory.
    pub(super) writable: Vec<(PathBuf, bool)>,
    /// Whether a directory is shown that the program may not change. Sockets may lie in it, and a program that sees a socket may speak with it.
    pub(super) shows_sockets: bool,
}

const RDONLY: u64 = 1;
const NOSUID: u64 = 2;
const NODEV: u64 = 4;
const NOEXEC: u64 = 8;

const AT_EMPTY_PATH: i32 = libc::AT_EMPTY_PATH;
const AT_RECURSIVE: i32 = 0x8000;
const OPEN_TREE_CLONE: i32 = 1;
const MOVE_FROM_EMPTY: i32 = 0x4;
const MOVE_TO_LINKED: i32 = 0x10;
const MOVE_TO_EMPTY: i32 = 0x40;
const CLOEXEC: i32 = 1;
const SET_STRING: i32 = 1;
const CREATE: i32 = 6;
const MS_PRIVATE: u64 = 1 << 18;
const NO_LINKS: u64 = 0x04 | 0x02;
const BENEATH: u64 = 0x08;

const CLOSED: &CStr = c"var/closed";

/// The devices that programs take for granted: where they are, and where they go.
const DEVICES: [[&CStr; 2]; 4] = [
    [c"/dev/null", c"dev/null"],
    [c"/dev/zero", c"dev/zero"],
    [c"/dev/full", c"dev/full"],
    [c"/dev/urandom", c"dev/urandom"],
];
const TTY: [&CStr; 2] = [c"/dev/tty", c"dev/tty"];
const LINKS: [(&str, &str); 7] = [
    ("dev/random", "urandom"),
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
    ("dev/shm", "/tmp"),
];

fn devices(terminal: Terminal) -> impl Iterator<Item = [&'static CStr; 2]> {
    DEVICES.into_iter().chain((terminal == Terminal::Inherit).then_some(TTY))
}

/// Blocks and files that the scaffold itself needs beside what the program keeps in `/tmp`.
const SCAFFOLD: u64 = 64 * 1024;
const LEAST_FILES: u64 = 4096;

/// What is mounted on one target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    source: PathBuf,
    is_directory: bool,
    write: bool,
    execute: bool,
    /// Whether it belongs to what every program sees.
    is_system: bool,
}

impl Grant {
    fn flags(&self) -> u64 {
        let device = if self.source.starts_with("/dev") { 0 } else { NODEV };
        NOSUID | device | if self.write { 0 } else { RDONLY } | if self.execute { 0 } else { NOEXEC }
    }
}

/// Something to be made in the file system in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Thing {
    Directory,
    /// A directory that everybody may write to.
    Temporary,
    /// An empty file to mount on.
    File,
    /// An empty file that opens for nobody, to cover others with.
    Closed,
    Link(PathBuf),
}

/// Writes down how the file system is built.
pub(super) fn build(
    calls: &mut Calls,
    confinement: &Confinement,
    cwd: &Path,
    terminal: Terminal,
) -> Result<Files, Refused> {
    let minimal = confinement.root == Root::Minimal;
    let grants = grants(confinement)?;
    let scaffold = scaffold(confinement, &grants, cwd, terminal)?;

    calls.toward(Mechanism::Mounts, "cut the tree off from the machine's");
    set_flags(calls, Arg::HERE, c"/", AT_RECURSIVE, 0);
    let proc = take_proc(calls);
    let memory = take_memory(calls, confinement.temp_bytes);
    let granted: Vec<_> = grants.iter().filter(|(_, grant)| !grant.is_system).collect();
    let held: Vec<_> = granted.iter().map(|(_, grant)| take(calls, &grant.source, grant.flags())).collect();
    if !minimal {
        calls.toward(Mechanism::Mounts, "make the tree read-only");
        set_flags(calls, Arg::HERE, c"/", AT_RECURSIVE, RDONLY | NOSUID | NODEV);
    }

    // A minimal root becomes the root; the other stands where `/proc` will cover it. From here on, "here" is inside.
    calls.toward(Mechanism::Mounts, "mount a file system in memory");
    let place = if minimal { c"/" } else { c"/proc" };
    add!(calls, libc::SYS_move_mount, memory, c"", libc::AT_FDCWD, place, MOVE_FROM_EMPTY);
    add!(calls, libc::SYS_fchdir, memory);
    add!(calls, libc::SYS_close, memory);
    make(calls, &scaffold);
    let hosts = match &confinement.network {
        Network::Through(gate) => Some(take_hosts(calls, gate.names())),
        Network::Host | Network::None => None,
    };
    calls.toward(Mechanism::Mounts, "mount its own /tmp");
    let temporary = take_here(calls, c"tmp", 0);
    let base = if minimal { Path::new("") } else { Path::new("/") };
    if minimal {
        show_system(calls, &grants);
    }
    hide(calls, base, &confinement.network);
    if minimal {
        calls.toward(Mechanism::Mounts, "make the root read-only");
        set_flags(calls, Arg::HERE, c".", AT_RECURSIVE, RDONLY | NOSUID | NODEV);
    }
    show_devices(calls, terminal);
    if minimal {
        put(calls, temporary, "tmp");
    } else {
        cover(calls, temporary);
    }
    if let Some(hosts) = hosts {
        put(calls, hosts, base.join("etc/hosts"));
        // What is mounted needs no name.
        add!(calls, libc::SYS_unlinkat, libc::AT_FDCWD, c"tmp/hosts", 0);
    }
    for ((target, _), held) in granted.iter().zip(held) {
        put_granted(calls, held, target, minimal);
    }
    put(calls, proc, base.join("proc"));
    calls.toward(Mechanism::Proc, "");
    for path in system::kernel() {
        let target = calls.path("cover", &base.join(relative(path)));
        add!(calls, libc::SYS_mount, CLOSED, target, 0, libc::MS_BIND as usize, 0).or(libc::ENOENT);
    }
    calls.toward(Mechanism::Mounts, "enter its root");
    if minimal {
        // It covers the root of the machine's tree, as everything else is covered that is not shown. Letting go of that tree
        // would take the kernel a tenth of the whole start, and no program inside can uncover anything: one that could, could
        // mount as well.
        add!(calls, libc::SYS_chroot, c".");
    }
    add!(calls, libc::SYS_chdir, c"/");

    let mut writable = vec![(PathBuf::from("/tmp"), true)];
    let changed = granted.iter().filter(|(_, grant)| grant.write);
    writable.extend(changed.map(|(target, grant)| ((*target).clone(), grant.is_directory)));
    let shows_sockets = granted.iter().any(|(_, grant)| grant.is_directory && !grant.write);
    Ok(Files { writable, shows_sockets })
}

/// What is mounted where: the system and what was granted, each with what the grants above it allow too.
fn grants(confinement: &Confinement) -> Result<BTreeMap<PathBuf, Grant>, Refused> {
    let minimal = confinement.root == Root::Minimal;
    let mut grants: BTreeMap<PathBuf, Grant> = BTreeMap::new();
    let system = |source: &Path, is_directory| Grant {
        source: source.to_owned(),
        is_directory,
        write: false,
        execute: true,
        is_system: true,
    };
    if minimal {
        for piece in system::pieces() {
            if let system::Piece::Directory(path) = piece {
                grants.insert(path.to_path_buf(), system(path, true));
            }
        }
    } else {
        grants.insert(PathBuf::from("/"), system(Path::new("/"), true));
    }
    if confinement.network == Network::Host
        && let Some(path) = system::resolver()
    {
        grants.insert(path.clone(), Grant { is_system: false, ..system(&path, false) });
    }
    for mount in &confinement.mounts {
        let refused = |source| Refused::new(Mechanism::Mounts, format!("mount `{}`", mount.source.display()), source);
        let invalid = |why: &str| refused(io::Error::new(io::ErrorKind::InvalidInput, why));
        if !is_plain(&mount.source) || !is_plain(&mount.target) {
            return Err(invalid("its path is not absolute, or holds `.` or `..`"));
        }
        if [&mount.source, &mount.target].into_iter().any(|path| path.starts_with("/proc")) {
            return Err(invalid("processes of the machine are not shown"));
        }
        if mount.target == Path::new("/") {
            return Err(invalid("nothing is mounted on the root; there is one that shows the whole tree"));
        }
        let meta = mount.source.symlink_metadata().map_err(refused)?;
        if meta.is_symlink() {
            return Err(refused(io::Error::from_raw_os_error(libc::ELOOP)));
        }
        let grant = grants.entry(mount.target.clone()).or_insert_with(|| Grant {
            source: mount.source.clone(),
            is_directory: meta.is_dir(),
            write: false,
            execute: false,
            is_system: false,
        });
        if grant.source != mount.source {
            return Err(invalid("something else is mounted on the same target"));
        }
        match mount.access {
            MountAccess::Read => {}
            MountAccess::Execute => grant.execute = true,
            MountAccess::Write => {
                grant.write = true;
                grant.is_system = false;
            }
        }
    }
    // Parents come first, so they have what is above them already.
    let mut whole: BTreeMap<PathBuf, Grant> = BTreeMap::new();
    for (target, mut grant) in grants {
        let above = target.ancestors().skip(1).find_map(|path| whole.get_key_value(path));
        if let Some((path, above)) = above
            && target.strip_prefix(path).is_ok_and(|rest| above.source.join(rest) == grant.source)
        {
            grant.write |= above.write;
            // What a program may change it may execute only if somebody said so.
            grant.execute |= above.execute && !(above.is_system && grant.write);
            if (grant.write, grant.execute) == (above.write, above.execute) && !is_covered(confinement.root, &target) {
                continue;
            }
        }
        whole.insert(target, grant);
    }
    Ok(whole)
}

/// Whether a path is absolute and says where it leads.
fn is_plain(path: &Path) -> bool {
    path.is_absolute() && path.components().skip(1).all(|component| matches!(component, Component::Normal(_)))
}

/// Places that a read-only root covers.
fn is_covered(root: Root, path: &Path) -> bool {
    root == Root::ReadOnly && ["/tmp", "/var/tmp", "/run", "/dev"].into_iter().any(|place| path.starts_with(place))
}

/// What is made in the file system in memory, by its path in it.
fn scaffold(
    confinement: &Confinement,
    grants: &BTreeMap<PathBuf, Grant>,
    cwd: &Path,
    terminal: Terminal,
) -> Result<BTreeMap<PathBuf, Thing>, Refused> {
    let minimal = confinement.root == Root::Minimal;
    let mut things = BTreeMap::new();
    for directory in ["dev", "dev/pts", "var", "var/empty"] {
        things.insert(PathBuf::from(directory), Thing::Directory);
    }
    if !minimal {
        things.insert(PathBuf::from("run"), Thing::Directory);
    }
    things.insert(PathBuf::from("tmp"), Thing::Temporary);
    things.insert(PathBuf::from("var/closed"), Thing::Closed);
    for [_, target] in devices(terminal) {
        things.insert(PathBuf::from(OsStr::from_bytes(target.to_bytes())), Thing::File);
    }
    for (link, to) in LINKS {
        things.insert(PathBuf::from(link), Thing::Link(PathBuf::from(to)));
    }
    if minimal {
        things.insert(PathBuf::from("proc"), Thing::Directory);
        things.insert(PathBuf::from("var/tmp"), Thing::Link(PathBuf::from("/tmp")));
        for piece in system::pieces() {
            if let system::Piece::Link(path, to) = piece {
                things.insert(relative(path), Thing::Link(to.clone()));
            }
        }
    }
    let mut place = |path: &Path, thing: Thing| {
        let is_shown = path.ancestors().skip(1).any(|above| grants.contains_key(above) && above != Path::new("/"));
        if is_shown || !(minimal || is_covered(confinement.root, path)) {
            return;
        }
        let mut parents: Vec<_> = path.ancestors().skip(1).collect();
        parents.reverse();
        for parent in parents.into_iter().filter(|parent| *parent != Path::new("/")) {
            things.entry(relative(parent)).or_insert(Thing::Directory);
        }
        things.entry(relative(path)).or_insert(thing);
    };
    for (target, grant) in grants.iter().filter(|(target, _)| *target != Path::new("/")) {
        place(target, if grant.is_directory { Thing::Directory } else { Thing::File });
    }
    for directory in confinement.directories.iter().map(PathBuf::as_path).chain([cwd]) {
        if !is_plain(directory) {
            let why = io::Error::new(io::ErrorKind::InvalidInput, "its path is not absolute, or holds `.` or `..`");
            return Err(Refused::new(Mechanism::Mounts, format!("make `{}`", directory.display()), why));
        }
        if directory != Path::new("/") && !grants.contains_key(directory) {
            place(directory, Thing::Directory);
        }
    }
    // What leads elsewhere has nothing below it.
    let links: Vec<_> =
        things.iter().filter(|(_, thing)| matches!(thing, Thing::Link(_))).map(|(path, _)| path.clone()).collect();
    things.retain(|path, _| !links.iter().any(|link| path != link && path.starts_with(link)));
    Ok(things)
}

fn relative(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

fn make(calls: &mut Calls, scaffold: &BTreeMap<PathBuf, Thing>) {
    for (path, thing) in scaffold {
        let path = calls.path("make", path);
        match thing {
            Thing::Directory => {
                add!(calls, libc::SYS_mkdirat, libc::AT_FDCWD, path, 0o755);
            }
            Thing::Temporary => {
                add!(calls, libc::SYS_mkdirat, libc::AT_FDCWD, path, 0o755);
                add!(calls, libc::SYS_fchmodat, libc::AT_FDCWD, path, 0o1777);
            }
            Thing::File => {
                add!(calls, libc::SYS_mknodat, libc::AT_FDCWD, path, libc::S_IFREG | 0o444, 0);
            }
            Thing::Closed => {
                add!(calls, libc::SYS_mknodat, libc::AT_FDCWD, path, libc::S_IFREG, 0);
            }
            Thing::Link(to) => {
                let to = calls.text(to.as_os_str());
                add!(calls, libc::SYS_symlinkat, to, libc::AT_FDCWD, path);
            }
        }
    }
}

/// Sets flags of a mount and cuts it off from the mounts of others.
fn set_flags(calls: &mut Calls, at: Arg, path: &'static CStr, how: i32, flags: u64) {
    let attributes = calls.structure([flags, 0, MS_PRIVATE, 0]);
    add!(calls, libc::SYS_mount_setattr, at, path, how, attributes.cast_const(), 32);
}

/// A process file system of the new namespace, showing only what the program may look into: not its warden.
fn take_proc(calls: &mut Calls) -> Slot {
    calls.toward(Mechanism::Proc, "mount the processes");
    let (open, mount) = (calls.slot(), calls.slot());
    add!(calls, libc::SYS_fsopen, c"proc", CLOEXEC).leave(open);
    add!(calls, libc::SYS_fsconfig, open, SET_STRING, c"hidepid", c"ptraceable", 0);
    add!(calls, libc::SYS_fsconfig, open, CREATE, 0, 0, 0);
    add!(calls, libc::SYS_fsmount, open, CLOEXEC, RDONLY as u32 | NOSUID as u32 | NODEV as u32 | NOEXEC as u32)
        .leave(mount);
    add!(calls, libc::SYS_close, open);
    mount
}

fn take_memory(calls: &mut Calls, bytes: u64) -> Slot {
    calls.toward(Mechanism::Mounts, "make a file system in memory");
    let (open, mount) = (calls.slot(), calls.slot());
    let size = calls.text((bytes.saturating_add(SCAFFOLD)).to_string().as_ref());
    let files = calls.text((bytes / 4096 + LEAST_FILES).to_string().as_ref());
    add!(calls, libc::SYS_fsopen, c"tmpfs", CLOEXEC).leave(open);
    add!(calls, libc::SYS_fsconfig, open, SET_STRING, c"size", size, 0);
    add!(calls, libc::SYS_fsconfig, open, SET_STRING, c"nr_inodes", files, 0);
    add!(calls, libc::SYS_fsconfig, open, SET_STRING, c"mode", c"0755", 0);
    add!(calls, libc::SYS_fsconfig, open, CREATE, 0, 0, 0);
    add!(calls, libc::SYS_fsmount, open, CLOEXEC, NOSUID as u32 | NODEV as u32).leave(mount);
    add!(calls, libc::SYS_close, open);
    mount
}

/// Takes hold of what is at a path now, with everything mounted below; a link on the way is an error.
fn take(calls: &mut Calls, path: &Path, flags: u64) -> Slot {
    calls.toward(Mechanism::Mounts, "");
    let path = calls.path("mount", path);
    let (found, mount) = (calls.slot(), calls.slot());
    let how = calls.structure([(libc::O_PATH | libc::O_CLOEXEC) as u64, 0, NO_LINKS]);
    let copy = AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | libc::O_CLOEXEC;
    add!(calls, libc::SYS_openat2, libc::AT_FDCWD, path, how.cast_const(), 24).leave(found);
    add!(calls, libc::SYS_open_tree, found, c"", copy).leave(mount);
    add!(calls, libc::SYS_close, found);
    set_flags(calls, Arg::Left(mount), c"", AT_EMPTY_PATH | AT_RECURSIVE, flags);
    mount
}

/// Takes hold of a part of our own.
fn take_here(calls: &mut Calls, path: &'static CStr, flags: u64) -> Slot {
    let mount = calls.slot();
    let copy = AT_RECURSIVE | OPEN_TREE_CLONE | libc::O_CLOEXEC;
    add!(calls, libc::SYS_open_tree, libc::AT_FDCWD, path, copy).leave(mount);
    if flags != 0 {
        set_flags(calls, Arg::Left(mount), c"", AT_EMPTY_PATH | AT_RECURSIVE, flags);
    }
    mount
}

/// A list of host names that holds the gate's and no other.
fn take_hosts(calls: &mut Calls, names: &[(String, std::net::IpAddr)]) -> Slot {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    // A name with blanks in it would add another.
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
    for (name, address) in names.iter().filter(|(name, _)| is_name(name)) {
        text.push_str(&format!("{address} {name}\n"));
    }
    calls.toward(Mechanism::Mounts, "write down the names of hosts");
    let file = calls.slot();
    let length = text.len();
    let text = calls.text(text.as_ref());
    let making = libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC;
    add!(calls, libc::SYS_openat, libc::AT_FDCWD, c"tmp/hosts", making, 0o444).leave(file);
    add!(calls, libc::SYS_write, file, text, length);
    add!(calls, libc::SYS_close, file);
    take_here(calls, c"tmp/hosts", RDONLY | NOSUID | NODEV | NOEXEC)
}

/// Mounts something on a path of our own or of the system.
fn put(calls: &mut Calls, mount: Slot, target: impl AsRef<Path>) {
    calls.toward(Mechanism::Mounts, "");
    let target = calls.path("mount on", target.as_ref());
    let how = MOVE_FROM_EMPTY | MOVE_TO_LINKED;
    add!(calls, libc::SYS_move_mount, mount, c"", libc::AT_FDCWD, target, how);
    add!(calls, libc::SYS_close, mount);
}

/// Mounts something where it was granted; the way there leads through what was mounted before, and must hold no link.
fn put_granted(calls: &mut Calls, mount: Slot, target: &Path, minimal: bool) {
    calls.toward(Mechanism::Mounts, "");
    let (place, resolve) = if minimal { (relative(target), NO_LINKS | BENEATH) } else { (target.to_owned(), NO_LINKS) };
    let target = calls.path("mount on", &place);
    let found = calls.slot();
    let how = calls.structure([(libc::O_PATH | libc::O_CLOEXEC) as u64, 0, resolve]);
    add!(calls, libc::SYS_openat2, libc::AT_FDCWD, target, how.cast_const(), 24).leave(found);
    add!(calls, libc::SYS_move_mount, mount, c"", found, c"", MOVE_FROM_EMPTY | MOVE_TO_EMPTY);
    add!(calls, libc::SYS_close, found);
    add!(calls, libc::SYS_close, mount);
}

/// Mounts the system on the minimal root. It becomes read-only with it.
fn show_system(calls: &mut Calls, grants: &BTreeMap<PathBuf, Grant>) {
    calls.toward(Mechanism::Mounts, "");
    for (target, _) in grants.iter().filter(|(_, grant)| grant.is_system) {
        let source = calls.path("mount", target);
        let target = calls.text(relative(target).as_os_str());
        add!(calls, libc::SYS_mount, source, target, 0, libc::MS_BIND as usize | libc::MS_REC as usize, 0);
    }
}

/// Covers what is nobody's business. What is not there any more need not be covered.
fn hide(calls: &mut Calls, base: &Path, network: &Network) {
    calls.toward(Mechanism::Mounts, "");
    let names = (*network != Network::Host).then(|| (PathBuf::from("/etc/resolv.conf"), false));
    for (path, is_directory) in system::secrets().into_iter().chain(names) {
        let path = base.join(relative(&path));
        if is_directory {
            let empty = take_here(calls, c"var/empty", RDONLY | NOSUID | NODEV);
            put(calls, empty, path);
            continue;
        }
        let target = calls.path("cover", &path);
        add!(calls, libc::SYS_mount, CLOSED, target, 0, libc::MS_BIND as usize, 0).or(libc::ENOENT);
    }
}

fn show_devices(calls: &mut Calls, terminal: Terminal) {
    calls.toward(Mechanism::Mounts, "mount devices");
    for [source, target] in devices(terminal) {
        add!(calls, libc::SYS_mount, source, target, 0, libc::MS_BIND as usize, 0);
    }
    let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    add!(calls, libc::SYS_mount, c"devpts", c"dev/pts", c"devpts", flags as usize, options);
}

/// Covers, in a read-only root, the places of temporary files, of services' sockets and of devices.
fn cover(calls: &mut Calls, temporary: Slot) {
    calls.toward(Mechanism::Mounts, "cover devices and sockets");
    let dev = take_here(calls, c"dev", 0);
    // They were taken from a tree that was closed for devices by then.
    let attributes = calls.structure([RDONLY, NODEV, MS_PRIVATE, 0]);
    let how = AT_EMPTY_PATH | AT_RECURSIVE;
    add!(calls, libc::SYS_mount_setattr, dev, c"", how, attributes.cast_const(), 32);
    put(calls, dev, "/dev");
    if is_directory(Path::new("/run")) {
        let run = take_here(calls, c"run", RDONLY | NOSUID | NODEV);
        put(calls, run, "/run");
    }
    put(calls, temporary, "/tmp");
    if is_directory(Path::new("/var/tmp")) {
        let again = take_here(calls, c"tmp", 0);
        put(calls, again, "/var/tmp");
    }
    for path in system::hidden() {
        let empty = take_here(calls, c"var/empty", RDONLY | NOSUID | NODEV);
        put(calls, empty, path);
    }
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}
