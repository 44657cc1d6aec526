//! Where this process stands among the others: below a run, in a terminal's session.

use std::ffi::{OsStr, OsString};

/// Whether one of our runs has started this process, by however many others.
///
/// Everything that a run starts stays below its warden, which has a name of its own. So it is found by looking upwards.
/// A process that wants to be taken for one below a run can be; one that may write our memory, or another's, can hide.
/// Where there are no wardens, nothing is known.
pub fn is_below_a_run() -> bool {
    // A chain that goes in a circle, because processes ended while we looked, has an end too.
    let parents = std::iter::successors(system::parent("self"), |pid| system::parent(&pid.to_string()));
    parents.take_while(|pid| *pid > 0).take(1_000).any(system::is_warden)
}

/// What a variable of the environment was when the program above all runs was started, for a process below one of our runs: what
/// a tool sets for what it starts is not there. Nothing where it was not set, and where it cannot be told.
pub fn variable_above_runs(name: &OsStr) -> Option<OsString> {
    let mut above = std::iter::successors(system::parent("self"), |pid| system::parent(&pid.to_string()))
        .take_while(|pid| *pid > 0)
        .take(1_000)
        .collect::<Vec<_>>();
    let topmost = above.iter().rposition(|pid| system::is_warden(*pid))?;
    let starter = above.drain(topmost + 1..).next()?;
    system::variable(starter, name)
}

/// Names the terminal session of this process so that no other has the name: not a later one with the same number, nor
/// one after a restart. Nothing where the system does not tell.
pub fn terminal_session() -> Option<String> {
    system::session()
}

#[cfg(target_os = "linux")]
mod system {
    use std::{
        ffi::{OsStr, OsString},
        fs,
        os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    };

    /// The environment that a process was started with, as far as it is ours to read.
    pub(super) fn variable(pid: i32, name: &OsStr) -> Option<OsString> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let mut entries = environment.split(|byte| *byte == 0);
        let value = entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsString::from_vec(value.to_vec()))
    }

    /// What `/proc/PID/stat` says after the name: the state is the first of it.
    fn stat(pid: &str) -> Option<String> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold anything, a parenthesis too.
        Some(stat.rsplit_once(") ")?.1.to_owned())
    }

    pub(super) fn session() -> Option<String> {
        // SAFETY: it takes a number and returns one.
        let leader = unsafe { libc::getsid(0) };
        let began = stat(&leader.to_string())?.split(' ').nth(19)?.to_owned();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(format!("terminal {} {leader} {began}", boot.trim()))
    }

    pub(super) fn parent(pid: &str) -> Option<i32> {
        stat(pid)?.split(' ').nth(1)?.parse().ok()
    }

    pub(super) fn is_warden(pid: i32) -> bool {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == "cycod-warden")
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::ffi::{OsStr, OsString};

    pub(super) fn variable(_pid: i32, _name: &OsStr) -> Option<OsString> {
        None
    }

    pub(super) fn session() -> Option<String> {
        None
    }

    pub(super) fn parent(_pid: &str) -> Option<i32> {
        None
    }

    pub(super) fn is_warden(_pid: i32) -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_parent_and_a_session() {
        assert_eq!(system::parent("self"), i32::try_from(std::os::unix::process::parent_id()).ok());
        assert_eq!(terminal_session(), terminal_session());
        assert!(!system::is_warden(1));
    }
}
