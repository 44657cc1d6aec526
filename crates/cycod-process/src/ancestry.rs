//! Where this process stands among the others: below a run, in a terminal's session.

use std::ffi::{OsStr, OsString};

/// By what a process is known to be below one of our runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// One of its ancestors is the warden of a run.
    Warden,
    /// It has the limit that every program of a run gets, and no warden is seen above it.
    Limit,
    /// It is in a job of Windows in which every program of a run is.
    Job,
}

/// Whether one of our runs has started this process, by however many others, and by what that is known.
///
/// Everything that a run starts stays below its warden, which has a name of its own. So it is found by looking upwards.
/// Where that fails, because the process sees no others or was left behind by a warden that was killed, it has a limit that
/// is inherited and that nothing without the rights of the system's administrator raises. A process that wants to be taken
/// for one below a run can be; one that may write our memory, or another's, can hide. On Windows, a job tells it, which no
/// process leaves. On other systems nothing is known.
pub fn below_a_run() -> Option<Below> {
    if system::ancestors().any(|ancestor| ancestor.is_warden) {
        return Some(Below::Warden);
    }
    system::is_marked().then_some(if cfg!(windows) { Below::Job } else { Below::Limit })
}

/// Whether one of our runs has started this process, see [`below_a_run`].
pub fn is_below_a_run() -> bool {
    below_a_run().is_some()
}

/// What a variable of the environment was when the program above all runs was started, for a process below one of our runs: what
/// a tool sets for what it starts is not there. Nothing where it was not set, and where it cannot be told.
pub fn variable_above_runs(name: &OsStr) -> Option<OsString> {
    let above: Vec<_> = system::ancestors().collect();
    let topmost = above.iter().rposition(|ancestor| ancestor.is_warden)?;
    system::variable(above.get(topmost + 1)?.pid, name)
}

/// Names the terminal session of this process so that no other has the name: not a later one with the same number, nor
/// one after a restart. Nothing where the system does not tell.
pub fn terminal_session() -> Option<String> {
    system::session()
}

#[cfg(target_os = "linux")]
pub(crate) mod system {
    use std::{
        ffi::{OsStr, OsString},
        fs,
        io::Read as _,
        os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    };

    /// The limit by which a program of a run is known, and its value.
    ///
    /// The kernel has not counted locks for this limit since Linux 2.4, and it is unlimited unless an administrator says
    /// otherwise. A process inherits it whatever it does: fork, execute, leave its session, enter namespaces. Lowering it
    /// needs no rights, raising it those of the first user namespace. Zero is the lowest, so nothing passes below it.
    ///
    /// Some imitations of Linux do not let it be lowered. A run goes on without it there.
    pub(crate) const MARK: (i32, u64) = (libc::RLIMIT_LOCKS as i32, 0);

    /// Whether this process has the limit of a run's programs.
    pub(super) fn is_marked() -> bool {
        // What cannot be read, or is not written although the call succeeds, counts as set.
        let mut limit = libc::rlimit { rlim_cur: MARK.1, rlim_max: MARK.1 };
        // SAFETY: the kernel writes the limit into a structure of its type.
        unsafe { libc::getrlimit(MARK.0 as _, &raw mut limit) };
        limit.rlim_max <= MARK.1
    }

    /// The environment that a process was started with, as far as it is ours to read.
    pub(super) fn variable(pid: i32, name: &OsStr) -> Option<OsString> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut entries = environment.split(|byte| *byte == 0);
        let value = entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsString::from_vec(value.to_vec()))
    }

    /// A process that is above this one.
    pub(super) struct Ancestor {
        pub(super) pid: i32,
        pub(super) is_warden: bool,
    }

    /// The parent of this process, its parent, and so on.
    ///
    /// A chain that goes in a circle, because processes ended while we looked, has an end too.
    pub(super) fn ancestors() -> impl Iterator<Item = Ancestor> {
        let mut next = Some(std::os::unix::process::parent_id().cast_signed());
        std::iter::from_fn(move || {
            let pid = next.filter(|pid| *pid > 0)?;
            let stat = Stat::of(pid);
            next = stat.as_ref().and_then(|stat| stat.field(1)?.parse().ok());
            Some(Ancestor { pid, is_warden: stat.is_some_and(|stat| stat.name == "cycod-warden") })
        })
        .take(1_000)
    }

    /// What `/proc/PID/stat` says.
    struct Stat {
        name: String,
        /// What follows the name: the state is the first of it.
        rest: String,
    }

    impl Stat {
        fn of(pid: i32) -> Option<Self> {
            let text = read(&format!("/proc/{pid}/stat"))?;
            // The name may hold anything, a parenthesis too.
            let (head, rest) = text.rsplit_once(") ")?;
            Some(Self { name: head.split_once('(')?.1.to_owned(), rest: rest.to_owned() })
        }

        fn field(&self, number: usize) -> Option<&str> {
            self.rest.split(' ').nth(number)
        }
    }

    /// What a short file of the kernel says: such a file is written whole into the first read.
    pub(crate) fn read(path: &str) -> Option<String> {
        let mut bytes = [0; 1024];
        let length = fs::File::open(path).ok()?.read(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    pub(super) fn session() -> Option<String> {
        // SAFETY: it takes a number and returns one.
        let leader = unsafe { libc::getsid(0) };
        let stat = Stat::of(leader)?;
        let boot = read("/proc/sys/kernel/random/boot_id")?;
        Some(format!("terminal {} {leader} {}", boot.trim(), stat.field(19)?))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::ffi::{OsStr, OsString};

    pub(super) fn is_marked() -> bool {
        #[cfg(windows)]
        return crate::windows::is_marked();
        #[cfg(not(windows))]
        false
    }

    pub(super) fn variable(_pid: i32, _name: &OsStr) -> Option<OsString> {
        None
    }

    pub(super) fn session() -> Option<String> {
        None
    }

    pub(super) struct Ancestor {
        pub(super) pid: i32,
        pub(super) is_warden: bool,
    }

    pub(super) fn ancestors() -> impl Iterator<Item = Ancestor> {
        std::iter::empty()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_parent_and_a_session() {
        let above: Vec<_> = system::ancestors().collect();
        assert_eq!(above[0].pid, std::os::unix::process::parent_id().cast_signed());
        assert!(above.iter().all(|ancestor| ancestor.pid > 0));
        assert_eq!(terminal_session(), terminal_session());
        assert!(!above.last().expect("there is a first process").is_warden);
    }
}
