//! Finding out what this machine offers, by a trial.

use std::fs;
use std::sync::Arc;

use super::landlock;
use crate::{
    Confinement, EndedProcess, Lack, Mechanism, Network, Offered, ProcessLimits, Program, Root, Session, Spec,
    StartError, Stop,
};

/// Programs that do nothing, of which a system has one.
const IDLE: [&str; 3] = ["/usr/bin/true", "/bin/true", "/run/current-system/sw/bin/true"];

/// See [`crate::offered`].
pub(crate) fn offered() -> Offered {
    let landlock = landlock::version();
    let mut lacks = Vec::new();
    if landlock.is_none() {
        lacks.push(Lack {
            mechanism: Mechanism::Landlock,
            why: "the kernel has no Landlock, or it is not among its security modules".to_owned(),
            fix: "boot Linux 5.13 or later with `lsm=landlock,…`; without it a program that shares our network cannot be confined"
                .to_owned(),
        });
    } else if landlock < Some(6) {
        lacks.push(Lack {
            mechanism: Mechanism::Landlock,
            why: "this version of Landlock cannot hold abstract sockets".to_owned(),
            fix: "boot Linux 6.12 or later; until then a program that shares our network cannot be confined".to_owned(),
        });
    }
    // Without a network of its own first: what fails there fails everywhere.
    let tried = trial(Network::None, ProcessLimits::default(), None).and_then(|_| {
        trial(Network::None, ProcessLimits { memory: Some(256 << 20), ..ProcessLimits::default() }, Some(64))
    });
    let limits = match tried {
        Ok(ended) => ended.confined.map(|confined| (ended.memory, confined.processes)),
        Err(error) => {
            lacks.push(lack(error));
            None
        }
    };
    Offered { key: key(), landlock, lacks, limits }
}

/// What the answer depends on.
fn key() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    // SAFETY: plain call without pointers.
    let user = unsafe { libc::geteuid() };
    format!("{} {} {user}", read("/proc/sys/kernel/random/boot_id"), read("/proc/sys/kernel/osrelease"))
}

/// Confines a program that does nothing.
fn trial(network: Network, limits: ProcessLimits, processes: Option<u32>) -> Result<EndedProcess, StartError> {
    let confinement = Confinement { network, processes, ..Confinement::new(Root::Minimal) };
    let path = IDLE.into_iter().find(|path| fs::exists(path).unwrap_or(false)).unwrap_or(IDLE[0]);
    let spec = Spec { confinement: Some(Arc::new(confinement)), limits, ..Spec::new(Program::new(path, "/")) };
    let prepare = |source| StartError::Prepare { program: path.into(), doing: "open a session", source };
    let session = Session::new().map_err(prepare)?;
    let stop = Stop::new().map_err(prepare)?;
    session.run(&spec, &stop, &mut |_, _| {})
}

fn lack(error: StartError) -> Lack {
    let StartError::Confine { mechanism, doing, source, .. } = error else {
        let why = format!("a trial did not start: {error}");
        return Lack { mechanism: Mechanism::UserNamespace, why, fix: "see that `/usr/bin/true` runs".to_owned() };
    };
    Lack { mechanism, why: format!("cannot {doing}: {source}"), fix: fix(mechanism).to_owned() }
}

fn fix(mechanism: Mechanism) -> &'static str {
    let is_set = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    match mechanism {
        Mechanism::Landlock => "boot a kernel with Landlock (5.13 or later, 6.12 for all of it), with `lsm=landlock,…`",
        Mechanism::Proc => {
            "in a container `/proc` is partly covered: start it with `--security-opt systempaths=unconfined`, or use its own isolation"
        }
        Mechanism::SystemCalls => "boot a kernel with CONFIG_SECCOMP_FILTER",
        Mechanism::Processes => {
            "run as an ordinary user, or where control groups for processes are delegated (`systemd-run --user --scope -p Delegate=yes`)"
        }
        _ if is_set("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") => {
            "AppArmor restricts user namespaces: set kernel.apparmor_restrict_unprivileged_userns=0, or give this program a profile that says `userns,`"
        }
        _ if is_set("/proc/sys/kernel/unprivileged_userns_clone", "0") => {
            "user namespaces are switched off: set kernel.unprivileged_userns_clone=1"
        }
        _ if is_set("/proc/sys/user/max_user_namespaces", "0") => {
            "user namespaces are switched off: set user.max_user_namespaces to some thousands"
        }
        _ if fs::exists("/.dockerenv").unwrap_or(false) || fs::exists("/run/.containerenv").unwrap_or(false) => {
            "this is a container that forbids namespaces: start it with `--security-opt seccomp=unconfined`, or use its own isolation"
        }
        _ => "this needs Linux 5.13 or later with user, mount, process and network namespaces for ordinary users",
    }
}
