//! A process group per program, started by the standard library's `Command`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Seek, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

use cycod_thread::Thread;

use crate::{
    Ending, Enforced, Input, MemoryEnforcement, Network, NetworkEnforcement, ProcessEnforcement, Spec, StartError,
    Stop, Terminal, Urgency,
};

pub(super) use std::os::fd::OwnedFd as Handle;
pub(super) use std::process::Child;

/// A program can be asked to stop before it is killed.
pub(super) const ASKS: bool = true;

/// What is behind a limit of memory: `start` refuses one.
pub(super) const MEMORY: MemoryEnforcement = MemoryEnforcement::Unlimited;

/// What held a program to its confinement.
pub(super) fn enforced(spec: &Spec) -> Option<Enforced> {
    let network = match spec.confinement.as_ref()?.network {
        Network::Host => NetworkEnforcement::Open,
        Network::None | Network::Through(_) => NetworkEnforcement::Profile,
    };
    Some(Enforced { landlock: None, network, processes: ProcessEnforcement::Unlimited })
}

#[cfg(target_os = "macos")]
mod seatbelt {
    use std::io;

    use crate::{Confinement, Mechanism, Program, StartError, macos};

    pub(super) fn confined(program: &Program, terms: &Confinement) -> Result<Program, StartError> {
        // SAFETY: plain call without pointers.
        if unsafe { libc::geteuid() } == 0 {
            return Err(StartError::Confine {
                program: program.path.clone(),
                mechanism: Mechanism::Seatbelt,
                doing: "take the rights of the administrator away; run cycod as an ordinary user".to_owned(),
                source: io::ErrorKind::Unsupported.into(),
            });
        }
        macos::confined(program, terms)
    }
}

#[cfg(not(target_os = "macos"))]
mod seatbelt {
    use crate::{Confinement, Program, StartError};

    pub(super) fn confined(program: &Program, _: &Confinement) -> Result<Program, StartError> {
        Err(StartError::Unsupported { program: program.path.clone(), what: "a confinement" })
    }
}

/// The process group of one program.
#[derive(Debug)]
pub(super) struct Group {
    id: libc::pid_t,
    /// Whether the program shares our own group, so that only it can be addressed.
    shared: bool,
}

impl Group {
    fn of(child: &Child, terminal: Terminal) -> Group {
        Group { id: child.id().cast_signed(), shared: terminal == Terminal::Inherit }
    }

    pub(super) fn is_alive(&self) -> bool {
        // SAFETY: plain call without pointers; signal 0 only asks.
        !self.shared && unsafe { libc::killpg(self.id, 0) } == 0
    }

    pub(super) fn ask(&self) {
        // One that was paused hears it too.
        self.signal(&[libc::SIGTERM, libc::SIGCONT]);
    }

    pub(super) fn kill(&self) {
        self.signal(&[libc::SIGKILL]);
    }

    /// Nothing watches the memory of a group: `start` refuses a limit.
    pub(super) fn exceeds_memory(&self) -> bool {
        false
    }

    /// Nothing counts it.
    pub(super) fn peak_memory(&self) -> Option<u64> {
        None
    }

    fn signal(&self, signals: &[libc::c_int]) {
        for &signal in signals {
            // SAFETY: plain calls without pointers.
            unsafe { if self.shared { libc::kill(self.id, signal) } else { libc::killpg(self.id, signal) } };
        }
    }
}

/// Starts the program in a group of its own, or in ours where it shares our terminal.
pub(super) fn start(spec: &Spec) -> Result<(Child, Group), StartError> {
    let program = &spec.program;
    let unsupported = |what| StartError::Unsupported { program: program.path.clone(), what };
    if spec.observer.is_some() {
        return Err(unsupported("an observer"));
    }
    if spec.limits.memory.is_some() {
        return Err(unsupported("a memory limit"));
    }
    let program = match &spec.confinement {
        None => Cow::Borrowed(program),
        Some(terms) => Cow::Owned(seatbelt::confined(program, terms)?),
    };
    let mut command = program.command();
    command.stdin(match spec.input {
        Input::Closed => Stdio::null(),
        Input::Bytes(_) => Stdio::piped(),
        Input::Inherit => Stdio::inherit(),
        Input::Descriptor(ref descriptor) => Stdio::from(descriptor.0.try_clone().map_err(|source| {
            let program = program.path.clone();
            StartError::Prepare { program, doing: "pass standard input on", source }
        })?),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    adapt(&mut command, spec)?;
    let child = command.spawn().map_err(|source| {
        let (path, cwd) = (program.path.clone(), program.cwd.clone());
        match cwd.metadata() {
            Ok(meta) if meta.is_dir() => StartError::execute(path, source),
            Ok(_) => StartError::Directory { program: path, cwd, source },
            Err(source) => StartError::Directory { program: path, cwd, source },
        }
    })?;
    let group = Group::of(&child, spec.terminal);
    Ok((child, group))
}

fn adapt(command: &mut Command, spec: &Spec) -> Result<(), StartError> {
    let is_detached = spec.terminal == Terminal::Detached;
    let limits = spec.limits.per_process();
    let script = spec.script.as_deref().map(script_file).transpose();
    let script = script.map_err(|source| StartError::Prepare {
        program: spec.program.path.clone(),
        doing: "store the script",
        source,
    })?;
    let prepare = move || {
        keep_to_ourselves();
        // A session of its own has a group of its own, and no terminal.
        // SAFETY: async-signal-safe call without pointers.
        if is_detached && unsafe { libc::setsid() } < 0 {
            return Err(io::Error::last_os_error());
        }
        for &(resource, value) in &limits {
            set_limit(resource, value)?;
        }
        // A system that does not let it be lowered has no mark.
        #[cfg(target_os = "linux")]
        drop(set_limit(crate::ancestry::system::MARK.0, crate::ancestry::system::MARK.1));
        let Some(fd) = script.as_ref().map(AsRawFd::as_raw_fd) else { return Ok(()) };
        // SAFETY: async-signal-safe calls on a descriptor that the closure owns.
        let placed = unsafe { if fd == 3 { libc::fcntl(fd, libc::F_SETFD, 0) } else { libc::dup2(fd, 3) } };
        if placed < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure only makes async-signal-safe calls and does not allocate.
    unsafe { command.pre_exec(prepare) };
    Ok(())
}

/// How many descriptors are looked at that a program might inherit.
const DESCRIPTORS: RawFd = 1 << 16;

/// Has every descriptor but the standard streams closed when a program is executed.
///
/// Not every Unix makes pipes and sockets that are closed so from the start; another thread may have just made one.
fn keep_to_ourselves() {
    // SAFETY: async-signal-safe calls without pointers; a number that is no descriptor is refused.
    unsafe {
        for fd in 3..libc::getdtablesize().min(DESCRIPTORS) {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// Lowers a limit of this process; where it is held to less already, that stays.
fn set_limit(resource: i32, value: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: async-signal-safe calls on a value on this stack.
    let set = unsafe {
        libc::getrlimit(resource as _, &raw mut limit) == 0 && {
            limit.rlim_max = value.min(limit.rlim_max);
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(resource as _, &raw const limit) == 0
        }
    };
    if set { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A file without a name, at its beginning.
fn script_file(script: &[u8]) -> io::Result<File> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("cycod-script-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let mut file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    file.write_all(script)?;
    file.rewind()?;
    Ok(file)
}

/// Calls `awake` when the program has ended and whenever the urgency of `stop` rises before, until `awake` returns false; tells
/// whether this system can.
pub(super) fn wake(child: &Child, stop: &Stop, mut awake: impl FnMut() -> bool + Send + 'static) -> bool {
    let Ok(end) = end::of(child) else { return false };
    let stop = stop.clone();
    let wait = move || {
        // The run has looked at the stop before we wait, or looks at it after.
        let mut seen = Urgency::None;
        loop {
            let asked = stop.0.beyond(seen);
            let [ended, _] = readable([end.as_raw_fd(), asked.unwrap_or(NONE)], None);
            seen = stop.urgency();
            if !awake() || ended {
                return;
            }
        }
    };
    Thread::named("cycod-wake").detach(wait).is_ok()
}

/// Our end of a pipe that a program writes to, for the thread that reads it.
#[derive(Debug)]
pub(super) struct OutputPipe {
    pipe: File,
    /// At its end when the run asks; none once the thread knows.
    asked: Option<PipeReader>,
}

/// The run's request to the thread that reads a pipe: to bring what is in there now.
#[derive(Debug)]
pub(super) struct Drain(Option<PipeWriter>);

impl Drain {
    pub(super) fn ask(&mut self) {
        self.0 = None;
    }
}

impl OutputPipe {
    pub(super) fn new(pipe: Handle) -> io::Result<(OutputPipe, Drain)> {
        let (asked, ask) = io::pipe()?;
        Ok((OutputPipe { pipe: pipe.into(), asked: Some(asked) }, Drain(Some(ask))))
    }

    /// Reads as `Read` does, or returns none when the run asks, once.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(asked) = &self.asked {
            match readable([self.pipe.as_raw_fd(), asked.as_raw_fd()], None) {
                [_, true] => {
                    self.asked = None;
                    return Ok(None);
                }
                [true, false] => {}
                [false, false] => return Err(io::ErrorKind::Interrupted.into()),
            }
        }
        self.pipe.read(buffer).map(Some)
    }

    /// Whether the pipe is empty and nobody can write to it anymore.
    pub(super) fn is_at_end(&self) -> bool {
        let mut pipe = libc::pollfd { fd: self.pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry for the length of the call.
        unsafe { libc::poll(&raw mut pipe, 1, 0) };
        pipe.revents & libc::POLLHUP != 0 && self.available() == 0
    }

    /// How many bytes are in the pipe.
    pub(super) fn available(&self) -> usize {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the descriptor is open, and the number outlives the call.
        unsafe { libc::ioctl(self.pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        usize::try_from(bytes).unwrap_or(0)
    }
}

/// Waits until the program has ended, at most for `longest`; tells whether this system can.
pub(super) fn wait_for_end(child: &Child, longest: Duration) -> bool {
    let Ok(end) = end::of(child) else { return false };
    readable([end.as_raw_fd(), NONE], Some(longest));
    true
}

/// No descriptor: `poll` passes over it.
const NONE: RawFd = -1;

/// Waits until one of two descriptors is readable, at most for `longest`, and tells which are.
fn readable(descriptors: [RawFd; 2], longest: Option<Duration>) -> [bool; 2] {
    let mut ready = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up, so that the last fraction of a millisecond is not cut off.
    let milliseconds = longest.map_or(-1, |longest| i32::try_from(longest.as_millis() + 1).unwrap_or(i32::MAX));
    // SAFETY: two valid entries for the length of the call.
    unsafe { libc::poll(ready.as_mut_ptr(), 2, milliseconds) };
    ready.map(|one| one.revents != 0)
}

/// A descriptor that turns readable when a program of ours ends, and stays so. As long as we have not taken its status, no other
/// process has its number.
#[cfg(target_os = "linux")]
mod end {
    use std::io;
    use std::os::fd::{FromRawFd, OwnedFd, RawFd};
    use std::process::Child;

    pub(super) fn of(child: &Child) -> io::Result<OwnedFd> {
        // SAFETY: plain call without pointers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
        match RawFd::try_from(fd) {
            // SAFETY: `fd` was just opened, and only this owns it. The kernel closes it when a program is executed.
            Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(target_vendor = "apple")]
mod end {
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::process::Child;
    use std::ptr;

    /// A queue of the kernel with one event, the end of the program. It is itself a descriptor that can be polled. It is no
    /// child's: `fork` does not copy it.
    pub(super) fn of(child: &Child) -> io::Result<OwnedFd> {
        // SAFETY: plain call without pointers.
        let fd = unsafe { libc::kqueue() };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened, and only this owns it.
        let queue = unsafe { OwnedFd::from_raw_fd(fd) };
        let end = libc::kevent {
            ident: child.id() as libc::uintptr_t,
            filter: libc::EVFILT_PROC,
            flags: libc::EV_ADD,
            fflags: libc::NOTE_EXIT,
            data: 0,
            udata: ptr::null_mut(),
        };
        // SAFETY: one change that is read, no event that is written, no time-out.
        let added = unsafe { libc::kevent(queue.as_raw_fd(), &raw const end, 1, ptr::null_mut(), 0, ptr::null()) };
        if added == 0 {
            return Ok(queue);
        }
        let error = io::Error::last_os_error();
        // It has ended already, and the kernel gives no event for that: one that is always there takes its place.
        if error.raw_os_error() == Some(libc::ESRCH) { ended() } else { Err(error) }
    }

    /// A descriptor that is readable: the end of a pipe without a writer.
    fn ended() -> io::Result<OwnedFd> {
        let (read, _) = io::pipe()?;
        Ok(read.into())
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod end {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::process::Child;

    pub(super) fn of(_: &Child) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(super) fn ending_of(status: std::process::ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signaled(signal),
        (None, None) => Ending::Exited(-1),
    }
}
