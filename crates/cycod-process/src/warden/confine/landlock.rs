//! Landlock: what a program may do with files, by where they are, and with whom outside it may speak. It holds whatever
//! becomes of the mounts, for a descriptor that came in by another way too.

use std::path::Path;
use std::sync::OnceLock;

use super::super::calls::{Calls, Slot, add};
use crate::Mechanism;

/// Rights on files, as the kernel numbers them.
pub(super) mod right {
    pub(crate) const EXECUTE: u64 = 1;
    pub(crate) const WRITE_FILE: u64 = 1 << 1;
    pub(crate) const READ_FILE: u64 = 1 << 2;
    pub(crate) const READ_DIR: u64 = 1 << 3;
    pub(crate) const MAKE_CHAR: u64 = 1 << 6;
    pub(crate) const MAKE_BLOCK: u64 = 1 << 11;
    pub(crate) const TRUNCATE: u64 = 1 << 14;
    pub(crate) const IOCTL_DEV: u64 = 1 << 15;
    pub(crate) const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
    /// What can be done with a file, rather than in a directory.
    pub(crate) const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
}

/// The newest version that is used here.
const NEWEST: u32 = 7;

/// The version of the kernel's Landlock, if it has it.
pub(super) fn version() -> Option<u32> {
    static VERSION: OnceLock<Option<u32>> = OnceLock::new();
    *VERSION.get_or_init(|| {
        // SAFETY: asks for the version, which takes no attributes.
        let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, 1_u32) };
        u32::try_from(version).ok().filter(|&version| version > 0)
    })
}

/// The rights on files that a version knows.
fn known(version: u32) -> u64 {
    let count = match version {
        1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    (1 << count) - 1
}

/// A set of rules on its way.
pub(super) struct Rules {
    known: u64,
    set: Slot,
}

impl Rules {
    /// Makes an empty set: nothing is allowed.
    pub(super) fn new(calls: &mut Calls, version: u32, no_network: bool) -> Rules {
        let version = version.min(NEWEST);
        calls.toward(Mechanism::Landlock, "make a set of rules");
        let network = if no_network && version >= 4 { 0b11 } else { 0 };
        // Abstract sockets and signals.
        let scopes = if version >= 6 { 0b11 } else { 0 };
        let size: usize = match version {
            ..=3 => 8,
            4 | 5 => 16,
            _ => 24,
        };
        let attributes = calls.structure([known(version), network, scopes]);
        let set = calls.slot();
        add!(calls, libc::SYS_landlock_create_ruleset, attributes.cast_const(), size, 0).leave(set);
        Rules { known: known(version), set }
    }

    /// Allows these rights on all that is below `path`.
    pub(super) fn allow(&self, calls: &mut Calls, path: &Path, rights: u64) {
        // The rights, then the descriptor.
        let rule = calls.structure([rights & self.known, 0]);
        let place = Calls::slot_at(rule, 8);
        let path = calls.path("set the rights on", path);
        add!(calls, libc::SYS_openat, libc::AT_FDCWD, path, libc::O_PATH | libc::O_CLOEXEC).leave(place);
        add!(calls, libc::SYS_landlock_add_rule, self.set, 1, rule.cast_const(), 0);
        add!(calls, libc::SYS_close, place);
    }

    /// Holds the calling process to the rules.
    pub(super) fn enforce(&self, calls: &mut Calls) {
        calls.toward(Mechanism::Landlock, "enforce the rules");
        add!(calls, libc::SYS_landlock_restrict_self, self.set, 0);
        add!(calls, libc::SYS_close, self.set);
    }
}
