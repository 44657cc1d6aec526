//! The ladder of memory limits: control group, else a limit per process and a sampler over the tree.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use std::{fs, io};

use super::cgroup::{Base, Cgroup, Version};
use super::tree::descendants;
use crate::MemoryEnforcement;

/// How often the memory of a tree is looked at.
const TICK: Duration = Duration::from_millis(50);
/// A process between `vfork` and `execve` counts its parent's memory as its own; it is gone this much later.
const SECOND_LOOK: Duration = Duration::from_millis(5);

/// What holds one program's tree to its memory limit.
#[derive(Debug)]
pub(super) enum Memory {
    Unlimited,
    Group(Cgroup),
    Sampled { limit: u64, suspected: bool },
}

impl Memory {
    /// Takes the best mechanism that works; `bases` may be cut short to force a weaker one.
    pub(super) fn new(limit: Option<u64>, bases: &[Base]) -> (Memory, Option<OwnedFd>) {
        let Some(limit) = limit else { return (Memory::Unlimited, None) };
        let group = |base: &Base| -> io::Result<(Cgroup, OwnedFd)> {
            let group = Cgroup::new(base)?;
            group.limit_memory(limit)?;
            let door = group.door()?;
            Ok((group, door))
        };
        match bases.iter().find_map(|base| group(base).ok()) {
            Some((group, door)) => (Memory::Group(group), Some(door)),
            None => (Memory::Sampled { limit, suspected: false }, None),
        }
    }

    pub(super) fn enforcement(&self) -> MemoryEnforcement {
        match self {
            Memory::Unlimited => MemoryEnforcement::Unlimited,
            Memory::Group(group) => match group.version() {
                Version::V1 => MemoryEnforcement::CgroupV1,
                Version::V2 => MemoryEnforcement::CgroupV2,
            },
            Memory::Sampled { .. } => MemoryEnforcement::Sampled,
        }
    }

    /// The control group of version 2 that the program will be in, for it can be in no other.
    pub(super) fn unified_group(&self) -> Option<&Cgroup> {
        if let Memory::Group(group) = self { Some(group).filter(|group| group.version() == Version::V2) } else { None }
    }

    /// The limit that each process gets by itself.
    pub(super) fn per_process(&self) -> Option<u64> {
        if let Memory::Sampled { limit, .. } = self { Some(*limit) } else { None }
    }

    /// When to look next.
    pub(super) fn next_look(&self, now: Instant) -> Option<Instant> {
        match self {
            Memory::Unlimited => None,
            Memory::Sampled { suspected: true, .. } => Some(now + SECOND_LOOK),
            Memory::Group(_) | Memory::Sampled { .. } => Some(now + TICK),
        }
    }

    /// Looks whether the tree below `warden` is over its limit.
    pub(super) fn look(&mut self, warden: i32) -> bool {
        match self {
            Memory::Unlimited => false,
            Memory::Group(group) => group.exceeded(),
            Memory::Sampled { limit, suspected } => {
                let over = in_use(warden, &descendants(warden, &[])) > *limit;
                let sure = over && *suspected;
                *suspected = over;
                sure
            }
        }
    }

    /// Looks whether a tree that has ended was over its limit.
    pub(super) fn was_exceeded(&self) -> bool {
        matches!(self, Memory::Group(group) if group.exceeded())
    }

    pub(super) fn peak(&self) -> Option<u64> {
        if let Memory::Group(group) = self { group.peak() } else { None }
    }
}

/// Adds up the memory that these processes below `warden` do not share with files, and files in memory without a name where
/// they are open.
fn in_use(warden: i32, pids: &[i32]) -> u64 {
    let nameless: BTreeMap<(u64, u64), u64> = pids.iter().flat_map(|&pid| nameless_files(pid)).collect();
    nameless.values().sum::<u64>() + anonymous(warden, pids)
}

/// The files in memory that a process has open and that have no name: which, and their bytes.
fn nameless_files(pid: i32) -> Vec<((u64, u64), u64)> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let nameless = open.filter(|entry| {
        fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"))
    });
    let sizes = nameless.filter_map(|entry| fs::metadata(entry.path()).ok());
    sizes.map(|meta| ((meta.dev(), meta.ino()), meta.blocks() * 512)).collect()
}

/// An address space that a process shares with its parent is counted once, and not at all when it is the warden's, which is our
/// own.
fn anonymous(warden: i32, pids: &[i32]) -> u64 {
    pids.iter()
        .filter_map(|&pid| {
            let (parent, bytes) = parse_status(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)?;
            let related = bytes > 0 && (parent == warden || pids.contains(&parent));
            // SAFETY: plain call without pointers.
            let shared = related && unsafe { libc::syscall(libc::SYS_kcmp, pid, parent, KCMP_VM, 0, 0) } == 0;
            (!shared).then_some(bytes)
        })
        .sum()
}

const KCMP_VM: libc::c_int = 1;

/// Reads the parent and the anonymous memory in bytes.
fn parse_status(status: &str) -> Option<(i32, u64)> {
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)).and_then(|rest| rest.split_whitespace().next())
    };
    let parent = field("PPid:")?.parse().ok()?;
    // Absent for a process that has ended.
    let kib = field("RssAnon:").and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0);
    Some((parent, kib.saturating_mul(1024)))
}

#[cfg(test)]
mod tests {
    use super::parse_status;

    #[test]
    fn reads_status() {
        assert_eq!(parse_status("Name:\tx\nPPid:\t17\nVmRSS:\t 900 kB\nRssAnon:\t     84 kB\n"), Some((17, 84 * 1024)));
        assert_eq!(parse_status("Name:\tx\nState:\tZ (zombie)\nPPid:\t1\n"), Some((1, 0)));
        assert_eq!(parse_status(""), None);
    }
}
