//! From terms to a profile of Seatbelt. Pure: it looks at nothing of the machine.
//!
//! A profile is a program in a small Scheme. It begins with `(deny default)`, and all that follows allows: where several
//! rules meet one request, the last of them counts, so the only other denials come right after the one rule that allows the
//! whole tree. No path is part of the text. Paths are parameters, which the program asks for by names of our own: that Scheme
//! reads a string that is too long as false, and what follows it as code, and its buffer is shorter than a path can be.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use crate::{Confinement, Mount, MountAccess, Network, Root};

/// A profile, with the paths that it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) text: String,
    /// The first is `P0`, the second `P1`, and so on.
    pub(crate) paths: Vec<PathBuf>,
}

/// What Seatbelt cannot hold a program to, as the end of a sentence that begins with "cannot".
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unheld {
    /// A file or directory that is to be seen under another path.
    Elsewhere { source: PathBuf, target: PathBuf },
    /// A path that the kernel does not have in this form.
    Relative(PathBuf),
    /// Some hosts and no others.
    Hosts,
    /// A number of processes.
    Processes,
}

impl fmt::Display for Unheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unheld::Elsewhere { source, target } => {
                write!(f, "show `{}` as `{}`", source.display(), target.display())
            }
            Unheld::Relative(path) => write!(f, "grant `{}`, which is no absolute path", path.display()),
            Unheld::Hosts => f.write_str("allow some hosts and no others"),
            Unheld::Processes => f.write_str("limit the number of processes"),
        }
    }
}

/// Reading, of what lies there and about it.
const READ: &[&str] = &["file-read*"];
const EXECUTE: &[&str] = &["file-read*", "process-exec", "file-map-executable"];
const WRITE: &[&str] = &["file-read*", "file-write*"];
const LOOK: &[&str] = &["file-read-metadata"];

/// The installed system. `/System/Volumes` is not part of it: the homes of users are there once more.
const PROGRAMS: [&str; 8] = [
    "/bin",
    "/sbin",
    "/usr",
    "/Library/Apple",
    "/Library/Developer/CommandLineTools",
    "/System/Cryptexes",
    "/System/Library",
    "/System/Volumes/Preboot/Cryptexes",
];
/// What every program may need of its settings: those of all users, time zones, the cache of the loader, which shell is `sh`.
const SETTINGS: [&str; 5] =
    ["/private/etc", "/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select", "/dev/fd"];
/// The loader looks at the root itself.
const LOADER: [&str; 1] = ["/"];
const SOURCES: [&str; 2] = ["/dev/random", "/dev/urandom"];
const SINKS: [&str; 2] = ["/dev/null", "/dev/zero"];
/// Links at the root, and what is on the way to the system. Devices can be looked at, too: some are links to descriptors.
const WAYS: [&str; 9] = [
    "/etc",
    "/Library",
    "/Library/Developer",
    "/private",
    "/private/var",
    "/private/var/db",
    "/System",
    "/tmp",
    "/var",
];

/// What is hidden where the whole tree can be read: devices, sockets and secrets of the machine, files of all users.
const HIDDEN: [&str; 8] = [
    "/dev",
    "/Library/Keychains",
    "/private/tmp",
    "/private/var/db",
    "/private/var/folders",
    "/private/var/root",
    "/private/var/run",
    "/private/var/tmp",
];

/// What it may ask of the kernel: what the machine is, never which other programs run (`kern.proc`).
const SYSCTLS: [&str; 14] = [
    "kern.argmax",
    "kern.hostname",
    "kern.maxfilesperproc",
    "kern.maxproc",
    "kern.ngroups",
    "kern.osproductversion",
    "kern.osrelease",
    "kern.ostype",
    "kern.osvariant_status",
    "kern.osversion",
    "kern.secure_kernel",
    "kern.usrstack64",
    "kern.version",
    "vm.loadavg",
];
const SYSCTL_FAMILIES: [&str; 2] = ["hw.", "machdep.cpu."];

/// The services that the C library asks: names of users, notices such as that of another time zone. No other service of the
/// user can be reached, among them those that start programs and those that give secrets.
const SERVICES: [&str; 2] = ["com.apple.system.notification_center", "com.apple.system.opendirectoryd.libinfo"];
/// Those that are asked by programs with a network: how to find hosts, which certificates to trust.
const SERVICES_OF_NETWORK: [&str; 5] = [
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.SystemConfiguration.configd",
    "com.apple.networkd",
    "com.apple.trustd",
    "com.apple.trustd.agent",
];
const RESOLVER: [&str; 1] = ["/private/var/run/mDNSResponder"];

impl Profile {
    /// The profile that holds a program to these terms, and lets it look at `names`, which lead to what was granted.
    ///
    /// It has no `/tmp` of its own, and may keep nothing there.
    pub(crate) fn of(terms: &Confinement, names: &[PathBuf]) -> Result<Profile, Unheld> {
        let Confinement { root, mounts, directories, temp_bytes: _, network, processes } = terms;
        if processes.is_some() {
            return Err(Unheld::Processes);
        }
        let mut rules = Rules::default();
        rules.text.push_str("(version 1)\n(deny default)\n");
        match root {
            Root::Minimal => {}
            Root::ReadOnly => {
                rules.fixed("allow", EXECUTE, "subpath", &["/"]);
                rules.fixed("deny", EXECUTE, "subpath", &HIDDEN);
            }
        }
        rules.system();
        for Mount { source, target, access } in mounts {
            if source != target {
                return Err(Unheld::Elsewhere { source: source.clone(), target: target.clone() });
            }
            let operations = match access {
                MountAccess::Read => READ,
                MountAccess::Execute => EXECUTE,
                MountAccess::Write => WRITE,
            };
            rules.path(operations, "subpath", source)?;
        }
        let seen = mounts.iter().map(|mount| &mount.source).chain(directories).chain(names);
        let ways: BTreeSet<&Path> =
            seen.flat_map(|path| path.ancestors()).filter(|path| path.parent().is_some()).collect();
        for way in ways {
            rules.path(LOOK, "literal", way)?;
        }
        match network {
            Network::None => {}
            Network::Host => rules.network(),
            Network::Through(_) => return Err(Unheld::Hosts),
        }
        Ok(Profile { text: rules.text, paths: rules.paths })
    }

    /// The arguments by which `sandbox-exec` gets it.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["-p".into(), (&self.text).into()];
        for (index, path) in self.paths.iter().enumerate() {
            let mut definition = OsString::from(format!("P{index}="));
            definition.push(path);
            arguments.extend(["-D".into(), definition]);
        }
        arguments
    }
}

/// A profile in the making.
#[derive(Default)]
struct Rules {
    text: String,
    paths: Vec<PathBuf>,
}

impl Rules {
    /// What every program may do.
    fn system(&mut self) {
        self.plain(&["process-fork"], "");
        self.plain(&["signal"], " (target same-sandbox)");
        self.plain(&["process-info*"], " (target same-sandbox)");
        self.fixed("allow", &["sysctl-read"], "sysctl-name", &SYSCTLS);
        self.fixed("allow", &["sysctl-read"], "sysctl-name-prefix", &SYSCTL_FAMILIES);
        self.fixed("allow", &["mach-lookup"], "global-name", &SERVICES);
        self.fixed("allow", &["ipc-posix-shm-read*"], "ipc-posix-name", &["apple.shm.notification_center"]);
        self.fixed("allow", EXECUTE, "subpath", &PROGRAMS);
        self.fixed("allow", READ, "subpath", &SETTINGS);
        self.fixed("allow", READ, "literal", &LOADER);
        self.fixed("allow", READ, "literal", &SOURCES);
        self.fixed("allow", &["file-read*", "file-write-data", "file-ioctl"], "literal", &SINKS);
        self.fixed("allow", &["file-write-data"], "subpath", &["/dev/fd"]);
        self.fixed("allow", LOOK, "literal", &WAYS);
        self.fixed("allow", LOOK, "subpath", &["/dev"]);
    }

    /// Every host that we may reach, this machine too. Sockets with paths are none of it, but for that of the resolver.
    fn network(&mut self) {
        self.plain(&["network-outbound"], " (remote ip \"*:*\")");
        self.plain(&["network-bind", "network-inbound"], " (local ip \"*:*\")");
        self.plain(&["system-socket"], " (socket-domain AF_ROUTE)");
        self.fixed("allow", &["network-outbound"], "literal", &RESOLVER);
        self.fixed("allow", &["mach-lookup"], "global-name", &SERVICES_OF_NETWORK);
        self.fixed("allow", &["sysctl-read"], "sysctl-name-prefix", &["net.routetable."]);
    }

    fn plain(&mut self, operations: &[&str], filter: &str) {
        _ = writeln!(self.text, "(allow {}{filter})", operations.join(" "));
    }

    fn fixed(&mut self, action: &str, operations: &[&str], filter: &str, values: &[&str]) {
        _ = write!(self.text, "({action} {}", operations.join(" "));
        for value in values {
            _ = write!(self.text, "\n  ({filter} \"{value}\")");
        }
        self.text.push_str(")\n");
    }

    /// A rule about a path of the terms.
    fn path(&mut self, operations: &[&str], filter: &str, path: &Path) -> Result<(), Unheld> {
        let is_plain = path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
        if !path.is_absolute() || !is_plain || path.components().any(|part| part == Component::ParentDir) {
            return Err(Unheld::Relative(path.to_owned()));
        }
        let index = self.paths.iter().position(|known| known == path).unwrap_or_else(|| {
            self.paths.push(path.to_owned());
            self.paths.len() - 1
        });
        _ = writeln!(self.text, "(allow {} ({filter} (param \"P{index}\")))", operations.join(" "));
        Ok(())
    }
}
