use std::io;
use std::sync::Mutex;

use super::body::Launch;
use super::lock;
use super::tree::{MOST, Room, SCRATCH};

const GUARD: usize = 16 * 1024;
const WARDEN_STACK: usize = 32 * 1024;
const PROGRAM_STACK: usize = 32 * 1024;
const LAUNCH: usize = 4 * 1024;
const SIZE: usize = GUARD + WARDEN_STACK + PROGRAM_STACK + LAUNCH + SCRATCH + MOST * size_of::<i32>();

/// The memory that one warden works in: two stacks above a guard, its [`Launch`], and room to walk a tree.
///
/// Mapped by itself rather than taken from the allocator, which must not see it: it is in use by another process.
#[derive(Debug)]
pub(super) struct Area(*mut u8);

// SAFETY: plain memory, used through `&mut` or by one warden at a time.
unsafe impl Send for Area {}

/// Areas that no warden uses. Mapping one anew, and above all giving one back, costs every processor that runs one of us.
static IDLE: Mutex<Vec<Area>> = Mutex::new(Vec::new());

/// How many idle areas are kept.
const MOST_IDLE: usize = 64;

impl Area {
    /// Takes an idle area, or maps a new one.
    pub(super) fn take() -> io::Result<Area> {
        lock(&IDLE).pop().map_or_else(Area::new, Ok)
    }

    /// Keeps an area for the next warden.
    pub(super) fn give_back(self) {
        let mut idle = lock(&IDLE);
        if idle.len() < MOST_IDLE {
            idle.push(self);
        }
    }

    fn new() -> io::Result<Area> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a new mapping, wherever the kernel likes.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let area = Area(base.cast());
        // SAFETY: the first pages of our own mapping.
        if unsafe { libc::mprotect(base, GUARD, libc::PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(area)
    }

    fn at(&self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }

    pub(super) fn warden_stack(&self) -> *mut u8 {
        self.at(GUARD + WARDEN_STACK)
    }

    pub(super) fn program_stack(&self) -> *mut u8 {
        self.at(GUARD + WARDEN_STACK + PROGRAM_STACK)
    }

    /// Where the launch stands; uninitialised in a new area.
    pub(super) fn launch(&self) -> *mut Launch {
        const { assert!(size_of::<Launch>() <= LAUNCH) };
        self.at(GUARD + WARDEN_STACK + PROGRAM_STACK).cast()
    }

    pub(super) fn room(&self) -> Room {
        let scratch = GUARD + WARDEN_STACK + PROGRAM_STACK + LAUNCH;
        Room { scratch: self.at(scratch), pids: self.at(scratch + SCRATCH).cast() }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and no warden uses it any more: an area whose warden lives is never dropped.
        unsafe { libc::munmap(self.0.cast(), SIZE) };
    }
}
