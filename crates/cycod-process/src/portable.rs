//! The mechanism for platforms without the warden: the standard library's `Command`, a thread per pipe and, on Unix, a
//! process group per program.
//!
//! Weaker than the warden, and it says so here: a child that leaves its process group survives, and so does everything
//! when we are killed without a chance to act. Windows ends only the program itself.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cycod_thread::Thread;

use crate::stop::Urgency;
use crate::{
    EndedProcess, Ending, Input, Leftovers, MemoryEnforcement, Spec, StartError, Stop, Stream, Streams, Terminal,
};

/// How often a run looks at what cannot wake it: the stop token and the program's end.
const TICK: Duration = Duration::from_millis(5);
/// How long background processes have between the request to stop and the kill when a session finishes.
const FINISH_GRACE: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Groups that outlived their program.
    left: Mutex<Vec<Group>>,
}

impl Session {
    pub(crate) fn run(
        &self,
        spec: &Spec,
        stop: &Stop,
        started: &mut dyn FnMut(),
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<EndedProcess, StartError> {
        if spec.limits.memory.is_some() {
            return Err(StartError::Unsupported { program: spec.program.path.clone(), what: "a memory limit" });
        }
        if let Some(what) = spec.beyond_plain() {
            return Err(StartError::Unsupported { program: spec.program.path.clone(), what });
        }
        let begun = Instant::now();
        let mut child = start(spec)?;
        started();
        let group = Group::of(&child, spec.terminal);
        let (send, receive) = sync_channel(4);
        let reading = Thread::named("cycod-pipe");
        let prepare = |source| {
            group.signal(Gesture::Kill);
            StartError::Prepare { program: spec.program.path.clone(), doing: "read its output", source }
        };
        if let (Input::Bytes(bytes), Some(mut stdin)) = (&spec.input, child.stdin.take()) {
            let bytes = Arc::clone(bytes);
            // A program that closes its input early is not at fault.
            reading.detach(move || drop(stdin.write_all(&bytes))).map_err(prepare)?;
        }
        if let Some(stdout) = child.stdout.take() {
            let send = send.clone();
            reading.detach(move || pump(stdout, Stream::Stdout, &send)).map_err(prepare)?;
        }
        if let Some(stderr) = child.stderr.take() {
            reading.detach(move || pump(stderr, Stream::Stderr, &send)).map_err(prepare)?;
        }
        let ended = Watch { spec, stop, group, begun, child, receive }.run(sink);
        if group.is_alive() {
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push(group);
        }
        Ok(ended)
    }

    pub(crate) fn finish(self) -> Leftovers {
        let left = self.take();
        let alive = |groups: &[Group]| groups.iter().filter(|group| group.is_alive()).count();
        let processes = alive(&left);
        left.iter().for_each(|group| group.signal(Gesture::Ask));
        within(FINISH_GRACE, || alive(&left) == 0);
        let killed = alive(&left);
        left.iter().for_each(|group| group.signal(Gesture::Kill));
        Leftovers { processes, killed, survived: 0 }
    }

    fn take(&self) -> Vec<Group> {
        std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.take().iter().for_each(|group| group.signal(Gesture::Kill));
    }
}

struct Watch<'a> {
    spec: &'a Spec,
    stop: &'a Stop,
    group: Group,
    begun: Instant,
    child: Child,
    receive: Receiver<(Stream, Vec<u8>)>,
}

/// Why and until when a tree is being ended.
struct Ending_ {
    timed_out: bool,
    killed: bool,
    kill_at: Instant,
}

impl Watch<'_> {
    fn run(mut self, sink: &mut dyn FnMut(Stream, &[u8])) -> EndedProcess {
        let mut stopping: Option<Ending_> = None;
        let mut exit = None;
        let mut open = true;
        let quiet = self.spec.quiet;
        let after = |at: Instant| quiet.map(|quiet| at + quiet);
        let mut quiet_at = after(self.begun);
        loop {
            let now = Instant::now();
            if quiet_at.is_some_and(|at| now >= at) {
                quiet_at = None;
                sink(Stream::Stdout, &[]);
            }
            if exit.is_none()
                && let Ok(Some(status)) = self.child.try_wait()
            {
                exit = Some((status, now));
            }
            if let Some((_, at)) = exit {
                let tree_gone = stopping.is_none() || !self.group.is_alive();
                if tree_gone && (!open || now >= at + self.spec.linger) {
                    break;
                }
            } else if stopping.is_none() {
                let timed_out = self.spec.deadline.is_some_and(|deadline| now >= deadline);
                if timed_out || self.stop.is_raised() {
                    self.end(Gesture::Ask);
                    stopping = Some(Ending_ { timed_out, killed: false, kill_at: now + self.spec.grace });
                }
            }
            if let Some(state) = &mut stopping
                && !state.killed
                && (now >= state.kill_at || self.stop.urgency() == Urgency::Kill)
            {
                self.end(Gesture::Kill);
                state.killed = true;
            }
            if open {
                match self.receive.recv_timeout(TICK) {
                    Ok((stream, bytes)) => {
                        sink(stream, &bytes);
                        quiet_at = after(Instant::now());
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => open = false,
                }
            } else {
                thread::sleep(Duration::from_millis(1));
            }
        }
        // What the program wrote before it ended is in the channel or in the pipe; take what is there.
        while open {
            match self.receive.recv_timeout(TICK) {
                Ok((stream, bytes)) => sink(stream, &bytes),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => open = false,
            }
            if exit.is_some_and(|(_, at)| at.elapsed() > self.spec.linger * 2) {
                break;
            }
        }
        let ending = match (stopping, exit) {
            (Some(state), _) if state.timed_out => Ending::TimedOut { killed: state.killed },
            (Some(state), _) => Ending::Stopped { killed: state.killed },
            (None, Some((status, _))) => ending_of(status),
            (None, None) => Ending::Exited(-1),
        };
        let duration = exit.map_or_else(|| self.begun.elapsed(), |(_, at)| at - self.begun);
        EndedProcess {
            ending,
            duration,
            cpu: Duration::ZERO,
            peak_memory: None,
            memory: MemoryEnforcement::Unlimited,
            pipe_held: open,
            confined: None,
        }
    }

    fn end(&mut self, gesture: Gesture) {
        if cfg!(unix) { self.group.signal(gesture) } else { drop(self.child.kill()) }
    }
}

/// A program that talks with somebody else; dropping it kills its group.
#[derive(Debug)]
pub(crate) struct Conversation {
    child: Child,
    group: Group,
}

impl Conversation {
    /// Starts the program; its input must be bytes, so that it gets a pipe.
    pub(crate) fn start(spec: &Spec) -> Result<(Conversation, Streams), StartError> {
        let mut child = start(spec)?;
        let group = Group::of(&child, spec.terminal);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let conversation = Conversation { child, group };
        match (stdin, stdout, stderr) {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                let streams = Streams {
                    stdin: Handle::from(stdin).into(),
                    stdout: Handle::from(stdout).into(),
                    stderr: Handle::from(stderr).into(),
                };
                Ok((conversation, streams))
            }
            _ => {
                let (program, source) = (spec.program.path.clone(), io::ErrorKind::InvalidInput.into());
                Err(StartError::Prepare { program, doing: "connect input and output", source })
            }
        }
    }

    pub(crate) fn wait(&mut self, longest: Duration) -> Option<Ending> {
        let child = &mut self.child;
        let mut ending = None;
        within(longest, || {
            ending = child.try_wait().ok().flatten().map(ending_of);
            ending.is_some()
        });
        ending
    }

    pub(crate) fn end(mut self, grace: Duration) -> Ending {
        let by_itself = self.wait(grace);
        self.group.signal(Gesture::Ask);
        let heard = within(grace, || {
            // A program that is not waited for counts as alive.
            drop(self.child.try_wait());
            !self.group.is_alive()
        });
        by_itself.unwrap_or(Ending::Stopped { killed: !heard })
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.group.signal(Gesture::Kill);
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Looks again and again until a state is reached, at most for `longest`; returns whether it was.
fn within(longest: Duration, mut state: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + longest;
    loop {
        if state() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(TICK);
    }
}

/// Reads one pipe to its end. When the run has stopped listening it still reads, so that a background process that
/// goes on writing neither blocks nor dies of a closed pipe.
fn pump(mut pipe: impl Read, stream: Stream, send: &SyncSender<(Stream, Vec<u8>)>) {
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => drop(send.send((stream, buffer[..length].to_vec()))),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the home of `Command`")]
fn start(spec: &Spec) -> Result<Child, StartError> {
    let program = &spec.program;
    let mut command = Command::new(&program.path);
    command
        .args(&program.args)
        .env_clear()
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&program.cwd);
    command.stdin(match spec.input {
        Input::Closed => Stdio::null(),
        Input::Bytes(_) => Stdio::piped(),
        Input::Inherit => Stdio::inherit(),
        #[cfg(unix)]
        Input::Descriptor(ref descriptor) => Stdio::from(descriptor.0.try_clone().map_err(|source| {
            let program = program.path.clone();
            StartError::Prepare { program, doing: "pass standard input on", source }
        })?),
    });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    adapt(&mut command, spec)?;
    command.spawn().map_err(|source| {
        let (path, cwd) = (program.path.clone(), program.cwd.clone());
        match cwd.metadata() {
            Ok(meta) if meta.is_dir() => StartError::execute(path, source),
            Ok(_) => StartError::Directory { program: path, cwd, source },
            Err(source) => StartError::Directory { program: path, cwd, source },
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gesture {
    Ask,
    Kill,
}

#[cfg(unix)]
use unix::{Group, Handle, adapt, ending_of};
#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{Seek, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    use super::*;

    pub(super) use std::os::fd::OwnedFd as Handle;

    /// The process group of one program.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Group {
        id: libc::pid_t,
        /// Whether the program shares our own group, so that only it can be addressed.
        shared: bool,
    }

    impl Group {
        pub(super) fn of(child: &Child, terminal: Terminal) -> Group {
            Group { id: child.id().cast_signed(), shared: terminal == Terminal::Inherit }
        }

        pub(super) fn is_alive(self) -> bool {
            // SAFETY: plain call without pointers; signal 0 only asks.
            !self.shared && unsafe { libc::killpg(self.id, 0) } == 0
        }

        pub(super) fn signal(self, gesture: Gesture) {
            let signals: &[libc::c_int] =
                if gesture == Gesture::Kill { &[libc::SIGKILL] } else { &[libc::SIGTERM, libc::SIGCONT] };
            for &signal in signals {
                // SAFETY: plain calls without pointers.
                unsafe { if self.shared { libc::kill(self.id, signal) } else { libc::killpg(self.id, signal) } };
            }
        }
    }

    pub(super) fn adapt(command: &mut Command, spec: &Spec) -> Result<(), StartError> {
        if let Some(arg0) = &spec.program.arg0 {
            command.arg0(arg0);
        }
        if spec.terminal == Terminal::Detached {
            command.process_group(0);
        }
        let limits = spec.limits.per_process();
        let is_marked = cfg!(target_os = "linux");
        if spec.script.is_none() && limits.is_empty() && !is_marked {
            return Ok(());
        }
        let script = spec.script.as_deref().map(script_file).transpose();
        let script = script.map_err(|source| StartError::Prepare {
            program: spec.program.path.clone(),
            doing: "store the script",
            source,
        })?;
        let prepare = move || {
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

    pub(super) fn ending_of(status: std::process::ExitStatus) -> Ending {
        match (status.code(), status.signal()) {
            (Some(code), _) => Ending::Exited(code),
            (None, Some(signal)) => Ending::Signaled(signal),
            (None, None) => Ending::Exited(-1),
        }
    }
}

#[cfg(not(unix))]
use other::{Group, Handle, adapt, ending_of};
#[cfg(not(unix))]
mod other {
    use super::*;

    pub(super) use std::os::windows::io::OwnedHandle as Handle;

    /// Nothing: only the program itself can be addressed here, through its handle.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Group;

    impl Group {
        pub(super) fn of(_: &Child, _: Terminal) -> Group {
            Group
        }

        pub(super) fn is_alive(self) -> bool {
            false
        }

        pub(super) fn signal(self, _: Gesture) {}
    }

    pub(super) fn adapt(_: &mut Command, spec: &Spec) -> Result<(), StartError> {
        let unsupported = |what| Err(StartError::Unsupported { program: spec.program.path.clone(), what });
        match spec {
            Spec { limits, .. } if *limits != crate::ProcessLimits::default() => unsupported("limits"),
            Spec { script: Some(_), .. } => unsupported("a script descriptor"),
            Spec { program, .. } if program.arg0.is_some() => unsupported("another name for itself"),
            _ => Ok(()),
        }
    }

    pub(super) fn ending_of(status: std::process::ExitStatus) -> Ending {
        Ending::Exited(status.code().unwrap_or(-1))
    }
}
