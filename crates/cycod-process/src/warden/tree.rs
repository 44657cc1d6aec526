//! The processes below one process, read from `/proc`.
//!
//! One walk serves two worlds: our own code, which asks a tree to stop and adds up its memory, and the warden, which ends
//! one and may only make system calls. So it is written for the poorer of the two.

use super::sys::{errno, kill, sys};

/// Room for one block of directory entries and one of process ids.
pub(super) const SCRATCH: usize = 16 * 1024;
/// The most processes that one walk finds. There is no harm in finding a part: the end of a tree walks again.
pub(super) const MOST: usize = 32 * 1024;

/// Where a walk puts what it finds.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) pids: *mut i32,
    /// [`SCRATCH`] bytes.
    pub(super) scratch: *mut u8,
}

/// Finds every process below `root`, parents first, and sends each one `signal` (0: none) the moment it is found, because a
/// process that is stopped cannot fork any more. Returns how many there are.
///
/// # Safety
/// `room` is writable, [`MOST`] ids and [`SCRATCH`] bytes, and nobody else's.
pub(super) unsafe fn walk(root: i32, signal: i32, room: Room) -> usize {
    let mut found = 0;
    let mut done = 0;
    let mut pid = root;
    loop {
        // SAFETY: the caller's promise.
        found = unsafe { children(pid, signal, room, found) };
        if done >= found {
            return found;
        }
        // SAFETY: `done < found <= MOST`.
        pid = unsafe { *room.pids.add(done) };
        done = done.wrapping_add(1);
    }
}

/// Appends the children of every thread of `pid` and returns the new length.
///
/// # Safety
/// As [`walk`].
#[inline(never)]
unsafe fn children(pid: i32, signal: i32, room: Room, mut found: usize) -> usize {
    let mut path = Path::new();
    path.text(b"/proc/");
    path.number(pid.cast_unsigned());
    path.text(b"/task");
    // SAFETY: the path ends with NUL; buffers are as long as their lengths say; entries are read as the kernel writes them.
    unsafe {
        let task = sys!(
            libc::SYS_openat,
            libc::AT_FDCWD as isize,
            path.as_ptr(),
            libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC
        );
        if errno(task).is_some() {
            return found;
        }
        let half = SCRATCH / 2;
        loop {
            let length = sys!(libc::SYS_getdents64, task, room.scratch, half);
            if length <= 0 {
                break;
            }
            let mut at = 0_usize;
            while at < length as usize {
                let entry = room.scratch.add(at);
                at = at.wrapping_add(usize::from(entry.add(16).cast::<u16>().read_unaligned()));
                let mut path = Path::new();
                let mut name = entry.add(19);
                while (*name).is_ascii_digit() {
                    path.text(&[*name]);
                    name = name.add(1);
                }
                if *name != 0 || path.length == 0 {
                    continue;
                }
                path.text(b"/children");
                let list = sys!(libc::SYS_openat, task, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
                if errno(list).is_none() {
                    found = read_list(list, signal, room, found);
                    sys!(libc::SYS_close, list);
                }
            }
        }
        sys!(libc::SYS_close, task);
    }
    found
}

/// Appends the ids in one `children` file and returns the new length.
///
/// # Safety
/// As [`walk`].
#[inline(never)]
unsafe fn read_list(list: isize, signal: i32, room: Room, mut found: usize) -> usize {
    let half = SCRATCH / 2;
    let mut pid = 0_i32;
    // SAFETY: reads into the second half of the scratch room; `found` stays below `MOST`.
    unsafe {
        let text = room.scratch.add(half);
        loop {
            let length = sys!(libc::SYS_read, list, text, half);
            if length <= 0 {
                return found;
            }
            let mut at = 0_usize;
            while at < length as usize {
                let byte = *text.add(at);
                at = at.wrapping_add(1);
                if byte.is_ascii_digit() {
                    pid = pid.wrapping_mul(10).wrapping_add(i32::from(byte.wrapping_sub(b'0')));
                    continue;
                }
                if pid > 0 && found < MOST {
                    if signal != 0 {
                        kill(pid, signal);
                    }
                    *room.pids.add(found) = pid;
                    found = found.wrapping_add(1);
                }
                pid = 0;
            }
        }
    }
}

/// A short path, built without allocation. What does not fit is cut, and then opens nothing.
struct Path {
    bytes: [u8; 48],
    length: usize,
}

impl Path {
    #[inline(always)]
    fn new() -> Path {
        Path { bytes: [0; 48], length: 0 }
    }

    fn text(&mut self, text: &[u8]) {
        for &byte in text {
            if self.length < 47 {
                // SAFETY: `length < 47`, within the array, and the last byte stays NUL.
                unsafe { *self.bytes.as_mut_ptr().add(self.length) = byte };
                self.length = self.length.wrapping_add(1);
            }
        }
    }

    fn number(&mut self, number: u32) {
        let mut power = 1_000_000_000_u32;
        while power > 1 && number < power {
            power /= 10;
        }
        while power > 0 {
            self.text(&[b'0'.wrapping_add((number / power % 10) as u8)]);
            power /= 10;
        }
    }

    #[inline(always)]
    fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }
}

/// The processes below `root`, each sent `signals` in turn. For our own code.
/// Whether a process is stopped.
pub(super) fn is_stopped(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may hold anything, parentheses too.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

pub(super) fn descendants(root: i32, signals: &[i32]) -> Vec<i32> {
    let mut pids = Vec::with_capacity(MOST);
    let mut scratch = vec![0_u8; SCRATCH];
    let room = Room { pids: pids.as_mut_ptr(), scratch: scratch.as_mut_ptr() };
    // SAFETY: both have the room that a walk needs, and `walk` wrote what it says it found.
    unsafe {
        let found = walk(root, 0, room);
        pids.set_len(found);
    }
    for &pid in &pids {
        signals.iter().for_each(|&signal| kill(pid, signal));
    }
    pids
}
