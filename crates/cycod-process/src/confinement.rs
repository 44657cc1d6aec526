//! What one program, and all it starts, may reach of the machine.

use std::any::Any;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::MemoryEnforcement;

/// What one program, and all it starts, may reach of the machine. What is not named here does not exist for it or cannot be
/// changed by it.
///
/// A start either holds a program to all of this or fails with [`StartError::Confine`](crate::StartError::Confine); on a
/// platform without the mechanism it fails with [`StartError::Unsupported`](crate::StartError::Unsupported).
/// [`offered`](crate::offered) tells beforehand what this machine can do.
///
/// Whatever the terms, the program has no capabilities and cannot gain privileges, sees no process but its own, and the
/// system calls that reach around its terms are refused. (macOS keeps it from most of the processes of others; see
/// `docs/reference/macos.md`.) It can make sockets with paths only where all that it sees beyond
/// the system is granted for writing: to read is not to speak with a service whose socket lies there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Confinement {
    /// What it sees of the file system to begin with.
    pub root: Root,
    /// What it sees or may do beyond that. Mounts of one target add up: what any of them allows is allowed.
    pub mounts: Vec<Mount>,
    /// Directories that shall exist, and that are empty and closed where nothing is mounted below them. The directory that
    /// the program starts in exists anyway.
    pub directories: Vec<PathBuf>,
    /// How many bytes it may keep in `/tmp`, which is its own, empty, and gone with it.
    pub temp_bytes: u64,
    /// Whom it may talk with.
    pub network: Network,
    /// How many processes and threads it may have at once, itself included.
    pub processes: Option<u32>,
}

impl Confinement {
    /// Returns the tightest terms on such a root: nothing mounted, no network, 64 MiB in `/tmp`.
    pub fn new(root: Root) -> Confinement {
        Confinement {
            root,
            mounts: Vec::new(),
            directories: Vec::new(),
            temp_bytes: 64 << 20,
            network: Network::None,
            processes: None,
        }
    }

    /// Adds a mount.
    #[must_use]
    pub fn mount(mut self, mount: Mount) -> Confinement {
        self.mounts.push(mount);
        self
    }

    /// Sets whom it may talk with.
    #[must_use]
    pub fn network(mut self, network: Network) -> Confinement {
        self.network = network;
        self
    }
}

/// What a confined program sees of the file system to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// The installed system, for reading and executing: `/usr`, the parts of `/etc` that every program needs, a few devices,
    /// and `/proc` with its own processes. Nothing else exists: no home, no `/var`, no `/run`.
    Minimal,
    /// The whole tree, for reading and executing, but for places where sockets of services and secrets of the machine are.
    ReadOnly,
}

/// A file or directory of the machine that a confined program sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mount {
    /// Where it is: an absolute path without symbolic links, `.` and `..`, since what a link leads to may change between the
    /// decision and the start. A start fails when there is a link on the way, or nothing at its end.
    pub source: PathBuf,
    /// Where the program sees it: an absolute path without `.` and `..`.
    pub target: PathBuf,
    /// What the program may do with it.
    pub access: MountAccess,
}

impl Mount {
    /// Returns a mount of what `path` leads to now, seen by the program under the same path.
    ///
    /// Resolves symbolic links; a caller that decides by path asks about [`source`](Mount::source), not about `path`.
    pub fn new(path: &Path, access: MountAccess) -> io::Result<Mount> {
        let source = std::fs::canonicalize(path)?;
        Ok(Mount { source, target: std::path::absolute(path)?, access })
    }
}

/// What a confined program may do with a [`Mount`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MountAccess {
    /// Read it. A program that may only read a directory makes no sockets with paths, since it could speak with those that lie
    /// there.
    Read,
    /// Read it and execute files of it, or load them as libraries.
    Execute,
    /// Read and change it. Nothing of it may be executed, unless another mount of the same target says so.
    Write,
}

/// Whom a confined program may talk with.
#[derive(Clone, Debug)]
pub enum Network {
    /// Everybody that we may talk with.
    Host,
    /// Nobody but itself, by loopback addresses of its own.
    None,
    /// Those that this gate lets it, which is reached by loopback addresses of the program's own.
    Through(Arc<dyn NetworkGate>),
}

/// Two gates are the same when they are one.
impl PartialEq for Network {
    fn eq(&self, other: &Network) -> bool {
        match (self, other) {
            (Network::Host, Network::Host) | (Network::None, Network::None) => true,
            (Network::Through(one), Network::Through(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Network {}

impl Hash for Network {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        if let Network::Through(gate) = self {
            Arc::as_ptr(gate).cast::<()>().hash(state);
        }
    }
}

/// What stands between a confined program and the network: a proxy that the caller runs.
pub trait NetworkGate: Debug + Send + Sync {
    /// The loopback addresses, with ports, on which the program finds the gate.
    fn addresses(&self) -> &[SocketAddr];

    /// What names lead to for the program, by its `/etc/hosts`. No other name resolves.
    fn names(&self) -> &[(String, IpAddr)];

    /// Serves the sockets, one for each of [`addresses`](Gate::addresses) in that order, that listen where the program is. What
    /// it returns is dropped when the run is over.
    fn serve(&self, listeners: Vec<TcpListener>) -> Box<dyn Any + Send>;
}

/// What held a program to its [`Confinement`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enforced {
    /// The version of Landlock, the second layer behind the mounts, if the kernel has it.
    pub landlock: Option<u32>,
    /// What stood between the program and the network.
    pub network: NetworkEnforcement,
    /// What held [`Confinement::processes`].
    pub processes: ProcessEnforcement,
}

/// What stood between a confined program and the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEnforcement {
    /// Nothing: it was allowed.
    Open,
    /// A network of its own, with nobody else in it.
    Namespace,
    /// A profile that allows none of it.
    Profile,
    /// A network of its own, and the caller's gate in it.
    Gate,
}

/// The mechanism behind a limit of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnforcement {
    /// A control group (version 2).
    CgroupV2,
    /// A control group (version 1).
    CgroupV1,
    /// The kernel's count of a user's processes (`RLIMIT_NPROC`) in the program's own user namespace.
    UserNamespace,
    /// No limit was asked for.
    Unlimited,
}

/// What confinement is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// Namespaces of an ordinary user, without which there is no other.
    UserNamespace,
    /// A file system of its own.
    Mounts,
    /// A `/proc` with its own processes only.
    Proc,
    /// A network of its own.
    Network,
    /// Rights on files that outlive every mount.
    Landlock,
    /// The filter of system calls.
    SystemCalls,
    /// Giving up capabilities and the way to new ones.
    Privileges,
    /// A limit of processes.
    Processes,
    /// The profiles of macOS.
    Seatbelt,
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mechanism::UserNamespace => "user namespaces",
            Mechanism::Mounts => "mounts",
            Mechanism::Proc => "a process file system",
            Mechanism::Network => "a network namespace",
            Mechanism::Landlock => "Landlock",
            Mechanism::SystemCalls => "a system call filter",
            Mechanism::Privileges => "giving up privileges",
            Mechanism::Processes => "a limit of processes",
            Mechanism::Seatbelt => "Seatbelt",
        })
    }
}

/// What this machine offers for confinement, found out by a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// What the answer depends on: another boot, kernel or user may have another. For callers that keep it.
    pub key: String,
    /// The version of Landlock, if the kernel has it.
    pub landlock: Option<u32>,
    /// What is missing. With nothing missing every [`Confinement`] can be had.
    pub lacks: Vec<Lack>,
    /// What stands behind limits of memory and of processes, where the trial got so far.
    pub limits: Option<(MemoryEnforcement, ProcessEnforcement)>,
}

/// A mechanism that this machine does not offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What is missing.
    pub mechanism: Mechanism,
    /// Why it is, as far as can be told.
    pub why: String,
    /// What would fix it.
    pub fix: String,
}

/// Finds out what this machine offers for confinement. Starts a process, so it costs as much as a run.
pub fn offered() -> Offered {
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    let offered = crate::warden::offered();
    #[cfg(target_os = "macos")]
    let offered = crate::macos::offer::offered();
    #[cfg(not(any(
        all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")),
        target_os = "macos"
    )))]
    let offered = Offered {
        key: std::env::consts::OS.to_owned(),
        landlock: None,
        lacks: vec![Lack {
            mechanism: Mechanism::UserNamespace,
            why: "this platform has none".to_owned(),
            fix: "run it on Linux, or in a container".to_owned(),
        }],
        limits: None,
    };
    offered
}
