//! Confining a program: what its warden and it itself have to do before it is executed, written as lists of calls.
//!
//! The warden is cloned into namespaces of its own: users, mounts, processes and, unless the program may use ours, the
//! network. It is the first process there, the one that adopts orphans anyway; when it ends, however it ends, the kernel ends
//! all the others. It is root there, so it can build the file system that the program shall see ([`files`]); the program gives
//! all of that up, puts rules on itself ([`landlock`], [`filter`]) and is executed.
//!
//! ```text
//!   our process                     warden, the first of its namespaces              program
//!   Plan: lists ─────── clone ───►  own user id, terminal ─────► helper
//!                                   mounts, /proc, root            network, loopback
//!                                     ┌─────────────────────────── listening sockets
//!   Gate::serve ◄──── control ────────┘                            its end
//!                                   joins the network                        clone
//!                                   poll …                                 ────────►  streams, directory, limits
//!                                                                                     no new privileges, Landlock
//!                                                                                     capabilities, filter, execve
//! ```
//!
//! Making a network takes the kernel about as long as all the rest of a start, so a helper does it at the same time.

mod files;
pub(super) mod filter;
mod landlock;
mod offered;
mod system;

use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_int;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::body::{Report, list};
use super::calls::{Arg, Calls, Slot, add};
use super::observe;
use crate::{
    Confinement, Enforced, Mechanism, Network, NetworkEnforcement, NetworkGate, Observer, ProcessEnforcement, Program,
    Root, StartError, Terminal,
};
use landlock::right;
pub(crate) use offered::offered;

/// The most sockets that a gate listens on: what one message carries.
pub(super) const MOST_LISTENERS: usize = 64;

/// All that a confined start needs beyond a plain one.
#[derive(Debug)]
pub(super) struct Plan {
    /// What is to be done, by [`list`].
    pub(super) lists: [Calls; list::COUNT],
    /// The namespaces that the warden is born into.
    pub(super) namespaces: c_int,
    pub(super) enforced: Option<Enforced>,
    /// Who gets the descriptors that come with a report.
    receiver: Receiver,
    /// Ends what serves the gate's sockets.
    pub(super) guard: RefCell<Guard>,
}

/// Who gets the descriptors that come with a report.
#[derive(Debug)]
enum Receiver {
    Nobody,
    Gate(Arc<dyn NetworkGate>),
    Observer(Arc<dyn Observer>),
}

/// What the caller's gate gave us to keep.
#[derive(Default)]
pub(super) struct Guard(Option<Box<dyn Any + Send>>);

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.0.is_some()).finish()
    }
}

/// Why a confinement cannot be planned.
pub(super) struct Refused {
    pub(super) mechanism: Mechanism,
    pub(super) doing: String,
    pub(super) source: io::Error,
}

impl Refused {
    fn new(mechanism: Mechanism, doing: impl Into<String>, source: impl Into<io::Error>) -> Refused {
        Refused { mechanism, doing: doing.into(), source: source.into() }
    }

    pub(super) fn into_error(self, program: &Program) -> StartError {
        let Refused { mechanism, doing, source } = self;
        StartError::Confine { program: program.path.clone(), mechanism, doing, source }
    }
}

impl Plan {
    /// Plans a start. `control` is the warden's line to us; `processes` is what holds their number, if there is a limit.
    pub(super) fn new(
        confinement: &Confinement,
        program: &Program,
        terminal: Terminal,
        control: c_int,
        processes: ProcessEnforcement,
    ) -> Result<Plan, Refused> {
        let landlock = landlock::version();
        let open = confinement.network == Network::Host;
        if open && landlock.is_none_or(|version| version < 6) {
            return Err(Refused::new(
                Mechanism::Landlock,
                "keep it from the abstract sockets of a shared network, which takes Linux 6.12 with Landlock",
                io::ErrorKind::Unsupported,
            ));
        }
        let mut enter = Calls::new(Mechanism::UserNamespace);
        become_root(&mut enter);
        if terminal == Terminal::Detached {
            leave_terminal(&mut enter);
        }
        let (mut helper, mut join) = (Calls::new(Mechanism::Network), Calls::new(Mechanism::Network));
        let mut receiver = Receiver::Nobody;
        if !open {
            let network = make_network(&mut enter, &mut helper, &mut join);
            if let Network::Through(through) = &confinement.network {
                listen(&mut helper, through.addresses(), control)?;
                receiver = Receiver::Gate(Arc::clone(through));
            }
            keep_network(&mut helper, &network);
        }
        let mut build = Calls::new(Mechanism::Mounts);
        let files = files::build(&mut build, confinement, &program.cwd, terminal)?;
        let mut own = Calls::new(Mechanism::Privileges);
        restrict(&mut own, confinement, &files, landlock);
        let network = match confinement.network {
            Network::Host => NetworkEnforcement::Open,
            Network::None => NetworkEnforcement::Namespace,
            Network::Through(_) => NetworkEnforcement::Gate,
        };
        let enforced = Some(Enforced { landlock, network, processes });
        let namespaces = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;
        let lists = [enter, helper, build, join, own];
        Ok(Plan { lists, namespaces, enforced, receiver, guard: RefCell::default() })
    }

    /// Plans a start that is observed, and not confined.
    pub(super) fn observe(observer: &Arc<dyn Observer>, control: c_int) -> Plan {
        let mut program = Calls::new(Mechanism::SystemCalls);
        program.toward(Mechanism::SystemCalls, "set the filter of an observer");
        let message = Message::new(&mut program, 1);
        let filter = observe::filter();
        let filter = program.structure([filter.len() as u64, filter.as_ptr() as u64]);
        add!(program, libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        add!(program, libc::SYS_seccomp, 1, NEW_LISTENER, filter.cast_const()).leave(message.place(0));
        message.send(&mut program, control);
        let none = || Calls::new(Mechanism::SystemCalls);
        Plan {
            lists: [none(), none(), none(), none(), program],
            namespaces: 0,
            enforced: None,
            receiver: Receiver::Observer(Arc::clone(observer)),
            guard: RefCell::default(),
        }
    }

    /// Hands the descriptors that came with a report to whom they are for.
    pub(super) fn hand_over(&self, descriptors: Vec<OwnedFd>) {
        match &self.receiver {
            Receiver::Nobody => {}
            Receiver::Gate(gate) => {
                let listeners = descriptors.into_iter().map(TcpListener::from).collect();
                *self.guard.borrow_mut() = Guard(Some(gate.serve(listeners)));
            }
            Receiver::Observer(observer) => {
                descriptors.into_iter().for_each(|questions| observe::answer(questions, Arc::clone(observer)));
            }
        }
    }

    /// What failed, by the number of the call: those of one list follow those of the one before.
    pub(super) fn explain(&self, number: i32, errno: i32) -> Refused {
        let mut number = number;
        let mut found = None;
        for calls in &self.lists {
            found = found.or_else(|| calls.explain(number));
            number -= i32::try_from(calls.count()).unwrap_or(i32::MAX);
        }
        let (mechanism, doing) =
            found.unwrap_or_else(|| (Mechanism::UserNamespace, "enter namespaces of its own".to_owned()));
        Refused { mechanism, doing, source: io::Error::from_raw_os_error(errno) }
    }
}

/// Maps our own user and group to themselves, and nobody else.
fn become_root(calls: &mut Calls) {
    // SAFETY: plain calls without pointers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let mut write = |doing, path: &'static std::ffi::CStr, text: String| {
        calls.toward(Mechanism::UserNamespace, doing);
        let (slot, length) = (calls.slot(), text.len());
        let text = calls.text(text.as_ref());
        add!(calls, libc::SYS_openat, libc::AT_FDCWD, path, libc::O_WRONLY | libc::O_CLOEXEC).leave(slot);
        add!(calls, libc::SYS_write, slot, text, length);
        add!(calls, libc::SYS_close, slot);
    };
    write("map its user", c"/proc/self/uid_map", format!("{user} {user} 1\n"));
    write("give up changing groups", c"/proc/self/setgroups", "deny".to_owned());
    write("map its group", c"/proc/self/gid_map", format!("{group} {group} 1\n"));
}

/// Gives up the terminal while it can be named. A process that is no leader gives it up alone.
fn leave_terminal(calls: &mut Calls) {
    calls.toward(Mechanism::Mounts, "leave the terminal");
    let slot = calls.slot();
    add!(calls, libc::SYS_openat, libc::AT_FDCWD, c"/dev/tty", libc::O_RDWR | libc::O_CLOEXEC).leave(slot).or_not();
    add!(calls, libc::SYS_ioctl, slot, libc::TIOCNOTTY as usize, 0).or_not();
    add!(calls, libc::SYS_close, slot).or_not();
}

/// A network on its way from the helper that makes it to the warden.
struct OwnNetwork {
    /// The machine's `/proc`, which is covered when the helper needs it.
    processes: Slot,
    network: *mut u64,
}

/// Makes a network, with its only interface up, in a helper, and joins it when that is done.
fn make_network(enter: &mut Calls, helper: &mut Calls, join: &mut Calls) -> OwnNetwork {
    enter.toward(Mechanism::Network, "see the processes");
    let own = OwnNetwork { processes: enter.slot(), network: enter.structure([0]) };
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    add!(enter, libc::SYS_openat, libc::AT_FDCWD, c"/proc", flags).leave(own.processes);
    helper.toward(Mechanism::Network, "make a network");
    add!(helper, libc::SYS_unshare, libc::CLONE_NEWNET);
    raise_loopback(helper);
    join.toward(Mechanism::Network, "join the network");
    add!(join, libc::SYS_setns, own.place(), libc::CLONE_NEWNET);
    add!(join, libc::SYS_close, own.place());
    add!(join, libc::SYS_close, own.processes);
    own
}

impl OwnNetwork {
    fn place(&self) -> Slot {
        Calls::slot_at(self.network, 0)
    }
}

/// Leaves the helper's network to the warden, whose descriptors it shares.
fn keep_network(helper: &mut Calls, own: &OwnNetwork) {
    helper.toward(Mechanism::Network, "keep the network");
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    add!(helper, libc::SYS_openat, own.processes, c"self/ns/net", flags).leave(own.place());
}

/// Sets the only interface of a new network up.
fn raise_loopback(calls: &mut Calls) {
    calls.toward(Mechanism::Network, "set the loopback interface up");
    let slot = calls.slot();
    // The name in sixteen bytes, then the flags.
    let mut request = [0_u64; 5];
    request[0] = u64::from_ne_bytes(*b"lo\0\0\0\0\0\0");
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as u16;
    let mut second = [0; 8];
    second[..2].copy_from_slice(&flags.to_ne_bytes());
    request[2] = u64::from_ne_bytes(second);
    let request = calls.structure(request);
    add!(calls, libc::SYS_socket, libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).leave(slot);
    add!(calls, libc::SYS_ioctl, slot, libc::SIOCSIFFLAGS as usize, request.cast_const());
    add!(calls, libc::SYS_close, slot);
}

/// Listens on these addresses and sends us the sockets, in one message.
fn listen(calls: &mut Calls, addresses: &[SocketAddr], control: c_int) -> Result<(), Refused> {
    let refused = |address: &SocketAddr, why| {
        Refused::new(
            Mechanism::Network,
            format!("listen on {address}"),
            io::Error::new(io::ErrorKind::InvalidInput, why),
        )
    };
    let most = if addresses.len() > MOST_LISTENERS { addresses.last() } else { None };
    if let Some(address) = most {
        return Err(refused(address, "too many addresses"));
    }
    let message = Message::new(calls, addresses.len());
    let sockets: Vec<_> = (0..addresses.len()).map(|index| message.place(index)).collect();
    for (address, &socket) in addresses.iter().zip(&sockets) {
        if !address.ip().is_loopback() {
            return Err(refused(address, "it is no loopback address"));
        }
        calls.path("listen on", std::path::Path::new(&address.to_string()));
        let (family, bytes) = raw_address(address);
        let size = bytes.len();
        let bytes = calls.structure(to_words(&bytes));
        let one = calls.structure([1]);
        add!(calls, libc::SYS_socket, family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0).leave(socket);
        add!(calls, libc::SYS_setsockopt, socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, one.cast_const(), 4);
        add!(calls, libc::SYS_bind, socket, bytes.cast_const(), size);
        add!(calls, libc::SYS_listen, socket, 128);
    }
    calls.toward(Mechanism::Network, "hand over the sockets");
    message.send(calls, control);
    Ok(())
}

/// A report with descriptors, as it is sent.
struct Message {
    /// A header of sixteen bytes, and the descriptors.
    rights: *mut u64,
    count: usize,
}

impl Message {
    fn new(calls: &mut Calls, count: usize) -> Message {
        let length = Message::length(count);
        let mut words = vec![0; length.div_ceil(8)];
        words[0] = length as u64;
        words[1] = pair(libc::SOL_SOCKET, libc::SCM_RIGHTS);
        Message { rights: calls.structure(words), count }
    }

    fn length(count: usize) -> usize {
        16 + size_of::<c_int>() * count
    }

    /// Where a descriptor goes.
    fn place(&self, index: usize) -> Slot {
        Calls::slot_at(self.rights, Message::length(index))
    }

    /// Sends the descriptors, and closes them.
    fn send(&self, calls: &mut Calls, control: c_int) {
        let report = calls.structure(to_words(Report::listening().as_bytes()));
        let piece = calls.structure([report as u64, size_of::<Report>() as u64]);
        let length = Message::length(self.count) as u64;
        let whole = calls.structure([0, 0, piece as u64, 1, self.rights as u64, length, 0]);
        add!(calls, libc::SYS_sendmsg, control, whole.cast_const(), libc::MSG_NOSIGNAL);
        for index in 0..self.count {
            add!(calls, libc::SYS_close, self.place(index));
        }
    }
}

fn pair(first: i32, second: i32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

fn to_words(bytes: &[u8]) -> Vec<u64> {
    let word = |piece: &[u8]| {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// An address as the kernel wants it.
fn raw_address(address: &SocketAddr) -> (c_int, Vec<u8>) {
    let family = |family: c_int| (family as u16).to_ne_bytes();
    let port = address.port().to_be_bytes();
    match address {
        SocketAddr::V4(v4) => (libc::AF_INET, [&family(libc::AF_INET)[..], &port, &v4.ip().octets(), &[0; 8]].concat()),
        SocketAddr::V6(v6) => {
            (libc::AF_INET6, [&family(libc::AF_INET6)[..], &port, &[0; 4], &v6.ip().octets(), &[0; 4]].concat())
        }
    }
}

/// Asks for the descriptor that the kernel's questions come through.
const NEW_LISTENER: u32 = 8;
const SECUREBITS: usize = 0b1110_1111;
const LAST_CAPABILITY: usize = 63;

/// What the program does to itself: from here on its privileges only ever shrink.
fn restrict(calls: &mut Calls, confinement: &Confinement, files: &files::Files, landlock: Option<u32>) {
    calls.toward(Mechanism::Privileges, "forbid new privileges");
    add!(calls, libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if let Some(version) = landlock {
        let rules = landlock::Rules::new(calls, version, confinement.network == Network::None);
        rules.allow(calls, "/".as_ref(), right::READ);
        let devices = right::READ_FILE | right::READ_DIR | right::WRITE_FILE | right::TRUNCATE | right::IOCTL_DEV;
        rules.allow(calls, "/dev".as_ref(), devices);
        for (path, is_directory) in &files.writable {
            let rights = if *is_directory { !(right::MAKE_CHAR | right::MAKE_BLOCK) } else { right::OF_FILES };
            rules.allow(calls, path, rights);
        }
        rules.enforce(calls);
    }
    calls.toward(Mechanism::Privileges, "give up capabilities");
    // A user of number zero gets none back by executing a program; all of it locked.
    add!(calls, libc::SYS_prctl, libc::PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0);
    add!(calls, libc::SYS_prctl, libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for capability in 0..=last_capability() {
        add!(calls, libc::SYS_prctl, libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
    // Version 3, this process; effective, permitted and inheritable sets, twice.
    let header = calls.structure([0x2008_0522]);
    let sets = calls.structure([0; 3]);
    add!(calls, libc::SYS_capset, header.cast_const(), sets.cast_const());
    calls.toward(Mechanism::SystemCalls, "set the filter");
    // A socket with a path is reached wherever it is seen, also by who may only read there.
    let filter = filter::filter(confinement.root == Root::Minimal && !files.shows_sockets);
    let program = calls.structure([filter.len() as u64, filter.as_ptr() as u64]);
    add!(calls, libc::SYS_seccomp, 1, 0, program.cast_const());
}

/// The highest capability that the kernel knows.
fn last_capability() -> usize {
    static LAST: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    let is_known = |capability: &usize| {
        // SAFETY: plain call without pointers.
        unsafe { libc::prctl(libc::PR_CAPBSET_READ, *capability, 0, 0, 0) >= 0 }
    };
    *LAST.get_or_init(|| (0..=LAST_CAPABILITY).take_while(is_known).last().unwrap_or(0))
}

impl Arg {
    pub(super) const HERE: Arg = Arg::Value(libc::AT_FDCWD as isize as usize);
}
