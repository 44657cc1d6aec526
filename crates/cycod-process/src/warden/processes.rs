//! The limit of processes: the count of a user's processes in the program's own user namespace, which costs nothing, and for
//! root, whom the kernel does not count, a control group.

use std::io;
use std::os::fd::OwnedFd;

use super::cgroup::{Base, Cgroup, Version};
use super::memory::Memory;
use crate::ProcessEnforcement;

/// What holds one program's tree to its number of processes.
#[derive(Debug)]
pub(super) enum Processes {
    Unlimited,
    /// The group that holds its memory, too.
    WithMemory,
    Group(Cgroup),
    /// Counted by the kernel for its user, whose other processes are in another namespace.
    OfUser(u32),
}

impl Processes {
    /// Takes the best mechanism that works; none may.
    pub(super) fn new(limit: Option<u32>, bases: &[Base], memory: &Memory) -> io::Result<(Processes, Option<OwnedFd>)> {
        let Some(limit) = limit else { return Ok((Processes::Unlimited, None)) };
        // SAFETY: plain call without pointers.
        if unsafe { libc::geteuid() } != 0 {
            return Ok((Processes::OfUser(limit), None));
        }
        if memory.unified_group().is_some_and(|group| group.limit_processes(limit).is_ok()) {
            return Ok((Processes::WithMemory, None));
        }
        let group = |base: &Base| -> io::Result<(Cgroup, OwnedFd)> {
            let group = Cgroup::new(base)?;
            group.limit_processes(limit)?;
            let door = group.door()?;
            Ok((group, door))
        };
        let free = bases.iter().filter(|base| base.version == Version::V1 || memory.unified_group().is_none());
        if let Some((group, door)) = free.filter_map(|base| group(base).ok()).next() {
            return Ok((Processes::Group(group), Some(door)));
        }
        let why = "the kernel does not count the processes of root, and no control group can be made";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    pub(super) fn enforcement(&self) -> ProcessEnforcement {
        match self {
            Processes::Unlimited => ProcessEnforcement::Unlimited,
            Processes::WithMemory => ProcessEnforcement::CgroupV2,
            Processes::Group(group) => match group.version() {
                Version::V1 => ProcessEnforcement::CgroupV1,
                Version::V2 => ProcessEnforcement::CgroupV2,
            },
            Processes::OfUser(_) => ProcessEnforcement::UserNamespace,
        }
    }

    /// The limit that the program sets for its user: its warden counts.
    pub(super) fn per_user(&self) -> Option<u64> {
        if let Processes::OfUser(limit) = self { Some(u64::from(*limit) + 1) } else { None }
    }
}
