//! Limits by control group: a group of our own below the one we are in, for one program's whole tree.

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A place where we may make control groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) directory: PathBuf,
    pub(super) version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// Returns the places to try for a controller, best first.
pub(super) fn bases(controller: &str) -> Vec<Base> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let file = |file: &Path| fs::read_to_string(file).ok();
    let bases = bases_in(controller, &read("/proc/self/cgroup"), &read("/proc/self/mountinfo"), file);
    bases.iter().for_each(|base| sweep(&base.directory));
    bases
}

/// Version 2 allows groups with limits only beside or above us, in a group that hands control down and that was
/// delegated to us; our own group must be unlimited then, for a group beside it would escape its limit. Version 1
/// allows them directly below our own group, whose limit goes on holding.
fn bases_in(controller: &str, membership: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Vec<Base> {
    let mut bases = Vec::new();
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next()) else { continue };
        if controllers.is_empty() {
            let Some(own) = mounted(mounts, "cgroup2", None, group) else { continue };
            let hands_down = |directory: &Path| {
                read(&directory.join("cgroup.subtree_control"))
                    .is_some_and(|controls| controls.split_whitespace().any(|c| c == controller))
            };
            let unlimited = read(&own.join(format!("{controller}.max"))).is_none_or(|limit| limit.trim() == "max");
            let directory = if hands_down(&own) {
                Some(own)
            } else {
                own.parent().filter(|above| unlimited && hands_down(above)).map(Path::to_owned)
            };
            if let Some(directory) = directory {
                bases.insert(0, Base { directory, version: Version::V2 });
            }
        } else if controllers.split(',').any(|c| c == controller)
            && let Some(directory) = mounted(mounts, "cgroup", Some(controller), group)
        {
            bases.push(Base { directory, version: Version::V1 });
        }
    }
    bases
}

/// Returns the directory of `group` in the hierarchy of this type (and controller).
fn mounted(mounts: &str, kind: &str, controller: Option<&str>, group: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, super_block) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut super_block = super_block.split(' ');
        let found = super_block.next()? == kind
            && controller
                .is_none_or(|name| super_block.nth(1).is_some_and(|options| options.split(',').any(|o| o == name)));
        // In a container the hierarchy may be mounted from the middle.
        let below = if root == "/" { group } else { group.strip_prefix(root)? };
        found.then(|| Path::new(point).join(below.trim_start_matches('/')))
    })
}

const PREFIX: &str = "cycod-";

/// Removes the groups of processes that were killed before they could.
fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split('-').next());
        let Some(owner) = owner.and_then(|owner| owner.parse::<u32>().ok()) else { continue };
        if !Path::new("/proc").join(owner.to_string()).exists() {
            // Refused, rightly, while anything is in it.
            drop(fs::remove_dir(entry.path()));
        }
    }
}

/// A control group; dropping it removes it.
#[derive(Debug)]
pub(super) struct Cgroup {
    directory: PathBuf,
    version: Version,
}

impl Cgroup {
    /// Makes a group without limits.
    pub(super) fn new(base: &Base) -> io::Result<Cgroup> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("{PREFIX}{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = base.directory.join(name);
        fs::create_dir(&directory)?;
        Ok(Cgroup { directory, version: base.version })
    }

    /// Sets a limit of memory in bytes.
    pub(super) fn limit_memory(&self, limit: u64) -> io::Result<()> {
        match self.version {
            Version::V1 => {
                self.write("memory.limit_in_bytes", &limit.to_string())?;
                // Absent where swap is not accounted.
                drop(self.write("memory.memsw.limit_in_bytes", &limit.to_string()));
            }
            Version::V2 => {
                self.write("memory.max", &limit.to_string())?;
                drop(self.write("memory.swap.max", "0"));
                drop(self.write("memory.oom.group", "1"));
            }
        }
        Ok(())
    }

    /// Sets a limit of processes and threads.
    pub(super) fn limit_processes(&self, limit: u32) -> io::Result<()> {
        self.write("pids.max", &limit.to_string())
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::File::options().write(true).open(self.directory.join(file))?.write_all(text.as_bytes())
    }

    /// Opens the list that a process joins by writing `0`.
    pub(super) fn door(&self) -> io::Result<OwnedFd> {
        Ok(fs::File::options().write(true).open(self.directory.join("cgroup.procs"))?.into())
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    /// Returns whether the kernel had to kill something to hold the limit.
    pub(super) fn exceeded(&self) -> bool {
        let file = match self.version {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        let text = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
        oom_kills(&text) > 0
    }

    /// Returns the most memory that was in use at once.
    pub(super) fn peak(&self) -> Option<u64> {
        let file = match self.version {
            Version::V1 => "memory.max_usage_in_bytes",
            Version::V2 => "memory.peak",
        };
        fs::read_to_string(self.directory.join(file)).ok()?.trim().parse().ok()
    }
}

fn oom_kills(text: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.strip_prefix("oom_kill "))
        .filter_map(|count| count.trim().parse().ok())
        .next()
        .unwrap_or(0)
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The last process may be gone for us and not yet for its group.
        for _ in 0..20 {
            match fs::remove_dir(&self.directory) {
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(Duration::from_millis(1)),
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
34 25 0:29 / /sys/fs/cgroup rw - tmpfs tmpfs rw
35 34 0:30 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
36 34 0:31 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn check(membership: &str, mounts: &str, files: &[(&str, &str)], expect: &[(&str, Version)]) {
        let read =
            |path: &Path| files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned());
        let expect: Vec<Base> =
            expect.iter().map(|&(directory, version)| Base { directory: directory.into(), version }).collect();
        assert_eq!(bases_in("memory", membership, mounts, read), expect);
    }

    #[test]
    fn finds_places_for_groups() {
        check("4:memory:/a/b\n0::/\n", HYBRID, &[], &[("/sys/fs/cgroup/memory/a/b", Version::V1)]);
        let user = "0::/user.slice/app.slice/term.scope\n";
        let above = ("/sys/fs/cgroup/user.slice/app.slice/cgroup.subtree_control", "cpu memory pids\n");
        let own = "/sys/fs/cgroup/user.slice/app.slice/term.scope/memory.max";
        check(user, UNIFIED, &[above, (own, "max\n")], &[("/sys/fs/cgroup/user.slice/app.slice", Version::V2)]);
        check(user, UNIFIED, &[above, (own, "1048576\n")], &[]);
        check(user, UNIFIED, &[(above.0, "cpu\n")], &[]);
        check("", "", &[], &[]);
        check(
            "4:memory:/docker/x/y\n",
            "35 34 0:30 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            &[],
            &[("/sys/fs/cgroup/memory/y", Version::V1)],
        );
    }

    #[test]
    fn counts_kills_in_both_formats() {
        assert_eq!(oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3);
        assert_eq!(oom_kills("low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\noom_group_kill 1\n"), 1);
        assert_eq!(oom_kills("oom_kill_disable 0\nunder_oom 1\n"), 0);
    }
}
