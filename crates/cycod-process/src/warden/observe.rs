//! Watching what a program touches while it runs as ever.
//!
//! A filter of system calls makes the kernel ask us before each call that opens, changes, executes or connects. We read what it
//! is about out of the memory of the process, tell the [`Observer`], and let it go on. So the program does what it does, later;
//! nothing is decided by what we read, which another thread of it may have changed since. The filter is inherited by all that
//! the program starts, and lets nobody gain privileges.

use std::collections::HashSet;
use std::ffi::{OsStr, c_long};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cycod_thread::Thread;

use super::confine::filter::{self, Step};
use crate::{ObservedPlace, ObservedTouch, Observer, Touched};

/// What the kernel asks: which question, who, and which call.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Question {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    at: u64,
    args: [u64; 6],
}

#[repr(C)]
struct Answer {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

const RECEIVE: u64 = 0xC050_2100;
const SEND: u64 = 0xC018_2101;
const GO_ON: u32 = 1;
/// The longest path, and the longest of everything else that is read.
const LONGEST: usize = 4096;

/// What an argument of a call is about: the directory it is relative to, if an argument says so, and the path.
#[derive(Clone, Copy)]
enum About {
    /// Opens the path in this argument, with the flags in the next.
    Open(Option<usize>, usize),
    Path(ObservedTouch, Option<usize>, usize),
    /// Makes the path; one that is there already is not touched by that.
    Make(Option<usize>, usize),
    /// Two paths, each with what is done.
    Paths([(ObservedTouch, Option<usize>, usize); 2]),
    /// An address in this argument, its length in the next.
    Address(usize),
    /// Messages, which may be questions to a name server.
    Messages,
}

use About::{Address, Make, Messages, Open, Path as OnePath, Paths};
use ObservedTouch::{Enter, Execute, Read, Write};

/// The calls that we are asked about.
#[rustfmt::skip]
const CALLS: &[(c_long, About)] = &[
    (libc::SYS_openat, Open(Some(0), 1)), (libc::SYS_openat2, Open(Some(0), 1)),
    (libc::SYS_execve, OnePath(Execute, None, 0)), (libc::SYS_execveat, OnePath(Execute, Some(0), 1)),
    (libc::SYS_truncate, OnePath(Write, None, 0)), (libc::SYS_unlinkat, OnePath(Write, Some(0), 1)),
    (libc::SYS_mkdirat, Make(Some(0), 1)), (libc::SYS_mknodat, Make(Some(0), 1)),
    (libc::SYS_fchmodat, OnePath(Write, Some(0), 1)), (libc::SYS_fchownat, OnePath(Write, Some(0), 1)),
    (libc::SYS_utimensat, OnePath(Write, Some(0), 1)), (libc::SYS_symlinkat, Make(Some(1), 2)),
    (libc::SYS_chdir, OnePath(Enter, None, 0)),
    (libc::SYS_linkat, Paths([(Read, Some(0), 1), (Write, Some(2), 3)])),
    (libc::SYS_renameat2, Paths([(Write, Some(0), 1), (Write, Some(2), 3)])),
    (libc::SYS_renameat, Paths([(Write, Some(0), 1), (Write, Some(2), 3)])),
    (libc::SYS_connect, Address(1)), (libc::SYS_sendto, Address(4)), (libc::SYS_sendmmsg, Messages),
];

#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLD_CALLS: &[(c_long, About)] = &[
    (libc::SYS_open, Open(None, 0)), (libc::SYS_creat, OnePath(Write, None, 0)),
    (libc::SYS_unlink, OnePath(Write, None, 0)), (libc::SYS_rmdir, OnePath(Write, None, 0)),
    (libc::SYS_mkdir, Make(None, 0)), (libc::SYS_mknod, Make(None, 0)),
    (libc::SYS_chmod, OnePath(Write, None, 0)), (libc::SYS_chown, OnePath(Write, None, 0)),
    (libc::SYS_lchown, OnePath(Write, None, 0)), (libc::SYS_utime, OnePath(Write, None, 0)),
    (libc::SYS_utimes, OnePath(Write, None, 0)), (libc::SYS_symlink, Make(None, 1)),
    (libc::SYS_link, Paths([(Read, None, 0), (Write, None, 1)])),
    (libc::SYS_rename, Paths([(Write, None, 0), (Write, None, 1)])),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: &[(c_long, About)] = &[];

fn calls() -> impl Iterator<Item = &'static (c_long, About)> {
    CALLS.iter().chain(OLD_CALLS)
}

/// The filter that asks us, made once.
pub(super) fn filter() -> &'static [Step] {
    static FILTER: OnceLock<Vec<Step>> = OnceLock::new();
    FILTER.get_or_init(|| filter::asking(calls().map(|&(call, _)| call), libc::SYS_sendto, 4))
}

/// Answers questions until nobody is left who could ask, in a thread of its own.
pub(super) fn answer(questions: OwnedFd, observer: Arc<dyn Observer>) {
    let work = move || {
        let mut known = HashSet::new();
        while let Some(question) = next(&questions) {
            for touched in touched(&question) {
                if known.insert(touched.clone()) {
                    observer.touched(&touched);
                }
            }
            let answer = Answer { id: question.id, value: 0, error: 0, flags: GO_ON };
            // SAFETY: an answer of the size that the number says. Who asked may be gone.
            unsafe { libc::ioctl(questions.as_raw_fd(), SEND as _, &raw const answer) };
        }
    };
    // Without a thread the questions are closed, and every call that asks fails: nothing runs unobserved.
    // So it is when the observer panics.
    drop(Thread::named("cycod-observer").detach(work));
}

/// Waits for a question; none comes any more when all processes have ended.
fn next(questions: &OwnedFd) -> Option<Question> {
    loop {
        let mut poll = libc::pollfd { fd: questions.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor that lives across the call.
        let ready = unsafe { libc::poll(&raw mut poll, 1, -1) };
        if ready > 0 && poll.revents & libc::POLLIN == 0 {
            return None;
        }
        let mut question = Question::default();
        // SAFETY: room of the size that the number says; every bit pattern is a question. Who asked may have been killed.
        if ready > 0 && unsafe { libc::ioctl(questions.as_raw_fd(), RECEIVE as _, &raw mut question) } == 0 {
            return Some(question);
        }
    }
}

/// What a call is about to touch. What cannot be read, since the process is gone or gave a bad address, is nothing.
fn touched(question: &Question) -> Vec<Touched> {
    let Some((_, about)) = calls().find(|(call, _)| *call == c_long::from(question.number)) else { return Vec::new() };
    let args = question.args;
    match *about {
        Open(directory, path) => {
            let flags = match c_long::from(question.number) {
                libc::SYS_openat2 => {
                    let how = read(question.pid, args[2], 8);
                    how.first_chunk().map_or(0, |flags| u64::from_ne_bytes(*flags)) as i32
                }
                _ => args[path + 1] as i32,
            };
            let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
            on_path(question, if writes { Write } else { Read }, directory, path).into_iter().collect()
        }
        OnePath(touch, directory, path) => {
            let first = on_path(question, touch, directory, path);
            let interpreter = first.as_ref().filter(|_| touch == Execute).and_then(|first| match &first.place {
                ObservedPlace::Path(path) => crate::error::interpreter(path),
                ObservedPlace::Address(_) | ObservedPlace::Name(_) => None,
            });
            let second = interpreter.map(|path| file(Execute, path));
            first.into_iter().chain(second).collect()
        }
        Make(directory, path) => {
            on_path(question, Write, directory, path).into_iter().filter(|made| !made.is_there).collect()
        }
        Paths(paths) => {
            paths.iter().filter_map(|&(touch, directory, path)| on_path(question, touch, directory, path)).collect()
        }
        Address(index) => {
            let bytes = read(question.pid, args[index], (args[index + 1] as usize).min(128));
            address(question.pid, &bytes).into_iter().collect()
        }
        Messages => messages(question),
    }
}

fn on_path(question: &Question, touch: ObservedTouch, directory: Option<usize>, path: usize) -> Option<Touched> {
    let bytes = read(question.pid, question.args[path], LONGEST);
    let path = Path::new(OsStr::from_bytes(bytes.split(|&byte| byte == 0).next()?));
    let base = match directory.map(|index| question.args[index] as i32) {
        _ if path.is_absolute() => PathBuf::from("/"),
        None | Some(libc::AT_FDCWD) => std::fs::read_link(format!("/proc/{}/cwd", question.pid)).ok()?,
        Some(fd) => std::fs::read_link(format!("/proc/{}/fd/{fd}", question.pid)).ok()?,
    };
    Some(file(touch, plain(&base.join(path))))
}

fn file(touch: ObservedTouch, path: PathBuf) -> Touched {
    let is_there = path.symlink_metadata().is_ok();
    Touched { touch, place: ObservedPlace::Path(path), is_there }
}

/// A path without `.` and `..`, by its words alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    plain
}

fn address(pid: u32, bytes: &[u8]) -> Option<Touched> {
    let connect = |place, is_there| Some(Touched { touch: ObservedTouch::Connect, place, is_there });
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk()?));
    let port = || Some(u16::from_be_bytes(*bytes.get(2..4)?.first_chunk()?));
    match family {
        libc::AF_INET => {
            let ip: [u8; 4] = *bytes.get(4..8)?.first_chunk()?;
            connect(ObservedPlace::Address(SocketAddr::new(IpAddr::from(ip), port()?)), true)
        }
        libc::AF_INET6 => {
            let ip: [u8; 16] = *bytes.get(8..24)?.first_chunk()?;
            connect(ObservedPlace::Address(SocketAddr::new(IpAddr::from(ip).to_canonical(), port()?)), true)
        }
        libc::AF_UNIX => {
            let name = bytes.get(2..)?.split(|&byte| byte == 0).next().filter(|name| !name.is_empty())?;
            let base = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
            Some(file(ObservedTouch::Connect, plain(&base.join(OsStr::from_bytes(name)))))
        }
        _ => None,
    }
}

/// The names that messages ask a name server for.
fn messages(question: &Question) -> Vec<Touched> {
    let word = |bytes: &[u8], at: usize| bytes.get(at..at + 8)?.first_chunk().map(|word| u64::from_ne_bytes(*word));
    let [_, first, count, ..] = question.args;
    let name = |index: u64| {
        // A header of 56 bytes and a length; the pieces are at its third word.
        let header = read(question.pid, first.checked_add(index * 64)?, 56);
        let piece = read(question.pid, word(&header, 16)?, 16);
        let bytes = read(question.pid, word(&piece, 0)?, (word(&piece, 8)? as usize).min(512));
        asked_name(&bytes)
    };
    let names = (0..count.min(4)).filter_map(name);
    names
        .map(|name| Touched { touch: ObservedTouch::Connect, place: ObservedPlace::Name(name), is_there: true })
        .collect()
}

/// The name in a question to a name server, if it is one.
fn asked_name(bytes: &[u8]) -> Option<String> {
    // A question, and only one; then labels, each behind its length, up to an empty one.
    let is_question = bytes.get(2)? & 0xF8 == 0 && bytes.get(4..6)? == [0, 1];
    let (mut name, mut rest) = (String::new(), bytes.get(12..).filter(|_| is_question)?);
    loop {
        let (&length, after) = rest.split_first()?;
        if length == 0 {
            return Some(name).filter(|name| !name.is_empty());
        }
        let label = std::str::from_utf8(after.get(..usize::from(length)).filter(|_| length < 64)?).ok()?;
        if !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(label);
        rest = &after[usize::from(length)..];
    }
}

/// Reads memory of a process, as much as there is; a page at a time, for behind a text there may be nothing.
fn read(pid: u32, from: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; length];
    let mut done = 0;
    while done < length {
        let at = from.wrapping_add(done as u64);
        let piece = (length - done).min(4096 - (at % 4096) as usize);
        let ours = libc::iovec { iov_base: bytes[done..].as_mut_ptr().cast(), iov_len: piece };
        let theirs = libc::iovec { iov_base: at as *mut libc::c_void, iov_len: piece };
        // SAFETY: our side is as long as it says; the other side is the kernel's to check.
        let moved = unsafe { libc::process_vm_readv(pid.cast_signed(), &raw const ours, 1, &raw const theirs, 1, 0) };
        match usize::try_from(moved) {
            Ok(moved) if moved > 0 => done += moved,
            _ => break,
        }
    }
    bytes.truncate(done);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_name_in_a_question() {
        let mut question =
            b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x03org\x00\x00\x01\x00\x01".to_vec();
        assert_eq!(asked_name(&question).as_deref(), Some("www.example.org"));
        assert_eq!(asked_name(&question[..20]), None);
        question[2] |= 0x80;
        assert_eq!(asked_name(&question), None);
        assert_eq!(asked_name(b"GET / HTTP/1.1\r\nHost: example.org\r\n"), None);
    }

    #[test]
    fn plain_paths_have_no_dots() {
        assert_eq!(plain(Path::new("/a/./b/../../../c")), Path::new("/c"));
    }
}
