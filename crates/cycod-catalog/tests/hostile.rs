//! Whatever lies in a directory: it is reported, nothing blocks, and the other tools are there. (On Linux, whose
//! words are in the messages.)

use std::{
    fs,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use cycod_catalog::ScopeFilter;
use expect_test::expect;

use crate::place::{Place, tool};

const TOOLS: &str = "home/.cycod/tools";

/// Fails instead of hanging.
fn within<T: Send>(limit: Duration, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        scope.spawn(move || sender.send(work()));
        match receiver.recv_timeout(limit) {
            Ok(result) => result,
            Err(_) => {
                // The thread that hangs cannot be stopped, and a panic would wait for it.
                std::process::abort();
            }
        }
    })
}

#[test]
fn odd_things_are_reported_and_nothing_waits_for_them() {
    use std::os::unix::{fs::symlink, net::UnixListener};

    let place = Place::new();
    place.write(&format!("{TOOLS}/fine.yaml"), tool("fine"));
    place.directory(&format!("{TOOLS}/dir.yaml"));
    place.write(&format!("{TOOLS}/latin1.yaml"), b"description: caf\xe9\nbash: ls\n");
    place.write(&format!("{TOOLS}/nul.yaml"), "description: a\0b\nbash: ls\n");
    place.write(&format!("{TOOLS}/empty.yaml"), "");
    let tools = place.path(TOOLS);
    rustix::fs::mkfifoat(rustix::fs::CWD, tools.join("pipe.yaml"), rustix::fs::Mode::RWXU).expect("a pipe");
    let _listener = UnixListener::bind(tools.join("socket.yaml")).expect("a socket");
    symlink("loop2.yaml", tools.join("loop1.yaml")).expect("a link");
    symlink("loop1.yaml", tools.join("loop2.yaml")).expect("a link");
    symlink("nowhere", tools.join("dangling.yaml")).expect("a link");
    symlink("/dev/zero", tools.join("zero.yaml")).expect("a link");
    symlink("pipe.yaml", tools.join("to-pipe.yaml")).expect("a link");
    let huge = fs::File::create(tools.join("huge.yaml")).expect("a file");
    huge.set_len(100 << 20).expect("100 MB");
    // Neither is a tool, and nothing is said about it.
    place.write(&format!("{TOOLS}/README.md"), "# About these tools\n").write(&format!("{TOOLS}/notes.txt"), "x");
    place.write(&format!("{TOOLS}/.hidden.yaml"), "x").write(&format!("{TOOLS}/fine.yaml~"), "x");
    place.write(&format!("{TOOLS}/.yaml"), "x").write(&format!("{TOOLS}/.lock"), "");
    // A directory takes no name away.
    place.write(&format!("{TOOLS}/dir.yml"), tool("has the name of a directory"));

    let start = Instant::now();
    let list = within(Duration::from_secs(20), || place.list());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let of_us: Vec<&str> =
        list.lines().filter(|line| !line.starts_with("nul ") && !line.starts_with("empty ")).collect();
    expect![[r#"
        dangling (user, run) home/.cycod/tools/dangling.yaml: broken [unreadable-file] cannot read the file: No such file or directory (os error 2)
        dir (user, read) home/.cycod/tools/dir.yml: active
        dir (user, run) home/.cycod/tools/dir.yaml: broken [not-a-file] this is a directory, not a file
        fine (user, read) home/.cycod/tools/fine.yaml: active
        huge (user, run) home/.cycod/tools/huge.yaml: broken [file-too-large] the file is larger than 4 MB, the most a tool may have
        latin1 (user, run) home/.cycod/tools/latin1.yaml: broken [not-utf8] byte 17 is not UTF-8
        loop1 (user, run) home/.cycod/tools/loop1.yaml: broken [unreadable-file] cannot read the file: Too many levels of symbolic links (os error 40)
        loop2 (user, run) home/.cycod/tools/loop2.yaml: broken [unreadable-file] cannot read the file: Too many levels of symbolic links (os error 40)
        pipe (user, run) home/.cycod/tools/pipe.yaml: broken [not-a-file] this is a pipe, socket or device, not a file
        socket (user, run) home/.cycod/tools/socket.yaml: broken [unreadable-file] cannot read the file: No such device or address (os error 6)
        to-pipe (user, run) home/.cycod/tools/to-pipe.yaml: broken [not-a-file] this is a pipe, socket or device, not a file
        zero (user, run) home/.cycod/tools/zero.yaml: broken [not-a-file] this is a pipe, socket or device, not a file"#]]
    .assert_eq(&of_us.join("\n"));
    for name in ["nul ", "empty "] {
        assert!(list.lines().any(|line| line.starts_with(name) && line.contains(": broken [")), "{name} in {list}");
    }
    for name in ["pipe", "zero", "huge", "loop1"] {
        let entry = place.open().find(name, ScopeFilter::Any).expect("it is listed");
        let loaded = within(Duration::from_secs(20), move || entry.load());
        assert!(loaded.is_err(), "{name}");
    }
    assert_eq!(list, place.list(), "the second time, with an index");
}

#[test]
fn a_file_name_need_not_be_text() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let place = Place::new();
    place.directory(TOOLS);
    let name = OsStr::from_bytes(b"caf\xe9.yaml");
    fs::write(place.path(TOOLS).join(name), "name: cafe\ndescription: d\nbash: ls\n").expect("a file");
    fs::write(place.path(TOOLS).join(OsStr::from_bytes(b"\xff.yaml")), "description: d\nbash: ls\n").expect("a file");
    let found = place.open().find("cafe", ScopeFilter::Any).expect("it has a name inside");
    assert!(found.is_active() && found.load().is_ok(), "{:?}", found.state);
    assert_eq!(place.open().entries().len(), 2);
}

#[test]
fn what_cannot_be_read_is_said() {
    use std::os::unix::fs::PermissionsExt as _;
    if rustix::fs::access("/proc/1/environ", rustix::fs::Access::READ_OK).is_ok() {
        // Nothing is unreadable for root; then a file in the place of the directory must do.
        let place = Place::new();
        place.write(TOOLS, "a file");
        let catalog = place.open();
        let problems: Vec<_> = catalog.problems().map(|(path, _)| place.shown(path)).collect();
        assert_eq!(problems, [TOOLS]);
        return;
    }
    let place = Place::new();
    place.write(&format!("{TOOLS}/secret.yaml"), tool("secret"));
    fs::set_permissions(place.path(TOOLS).join("secret.yaml"), fs::Permissions::from_mode(0o000)).expect("a mode");
    assert!(place.list().contains("broken [unreadable-file]"));
    fs::set_permissions(place.path(TOOLS), fs::Permissions::from_mode(0o000)).expect("a mode");
    assert_eq!(place.open().problems().count(), 1);
    fs::set_permissions(place.path(TOOLS), fs::Permissions::from_mode(0o755)).expect("a mode");
}
