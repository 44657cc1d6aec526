//! Watching over one program from our side: one thread, one `poll`, one place that knows the state.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use super::body::{Report, stage};
use super::confine::Refused;
use super::launch::{Pipes, Warden};
use super::{AGAIN, GIVE_UP, sys, tree};
use crate::stop::Urgency;
use crate::{EndedProcess, Ending, Input, Program, Spec, StartError, Stop, Stream};

const BUFFER: usize = 128 * 1024;
/// What a busy pipe is widened to. A wider one is slower: what is in it no longer fits the processor's cache.
const WIDE: libc::c_int = 128 * 1024;
/// How often a stream is read before we look at anything else. Reading on until nothing is there, rather than being
/// woken for each piece, doubles the throughput.
const BURST: usize = 64;
/// A program that has filled a pipe of the usual size is busy.
const BUSY: usize = 64 * 1024;
/// How soon to ask again a program whose process does not exist yet.
const UNBORN: Duration = Duration::from_millis(1);

/// Why a program did not start.
pub(super) enum NotStarted {
    /// The control group did not take it; without one it may start.
    Cgroup,
    At {
        stage: i32,
        source: io::Error,
    },
    /// What was to confine it does not work.
    Refused(Refused),
}

impl NotStarted {
    pub(super) fn into_error(self, program: &Program) -> StartError {
        let path = program.path.clone();
        let (stage, source) = match self {
            NotStarted::Cgroup => (stage::CGROUP, io::Error::from(io::ErrorKind::Unsupported)),
            NotStarted::At { stage, source } => (stage, source),
            NotStarted::Refused(refused) => return refused.into_error(program),
        };
        let doing = match stage {
            stage::DIRECTORY => return StartError::Directory { program: path, cwd: program.cwd.clone(), source },
            stage::EXECUTE => return StartError::execute(path, source),
            stage::WARDEN => "watch for its end",
            stage::CLONE => "create a process",
            stage::SESSION => "leave the terminal",
            stage::STDIO => "connect input and output",
            stage::CGROUP | stage::PROCESSES => "join a control group",
            stage::LIMITS => "set limits",
            stage::HALT => "halt it",
            _ => "prepare",
        };
        StartError::Prepare { program: path, doing, source }
    }
}

thread_local! {
    /// What a thread reads into, run after run: large enough that the allocator would give it back to the system each time.
    static READ_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Why a tree is being ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Deadline,
    Stop,
    Memory,
}

#[derive(Clone, Copy)]
enum Phase {
    Running,
    /// Asked to stop, or to be asked as soon as there is somebody.
    Asked {
        told: bool,
        kill_at: Instant,
    },
    Killing {
        again_at: Instant,
        give_up_at: Instant,
    },
}

struct Exit {
    report: Report,
    at: Instant,
}

pub(super) struct Watch<'a> {
    spec: &'a Spec,
    stop: &'a Stop,
    warden: Warden,
    stdin: Option<OwnedFd>,
    fed: usize,
    outputs: [Option<Output>; 2],
    begun: Instant,
    phase: Phase,
    cause: Option<Cause>,
    /// Who was asked to stop: once, for a second request may cut a clean-up short.
    told: Vec<i32>,
    killed: bool,
    look_at: Option<Instant>,
    /// When nothing has come for long enough.
    quiet_at: Option<Instant>,
    exit: Option<Exit>,
    /// When the warden ended.
    gone: Option<Instant>,
}

struct Output {
    pipe: OwnedFd,
    stream: Stream,
    wide: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(spec: &'a Spec, stop: &'a Stop, warden: Warden, pipes: Pipes, begun: Instant) -> Watch<'a> {
        let output = |pipe, stream| Some(Output { pipe, stream, wide: false });
        Watch {
            spec,
            stop,
            look_at: warden.memory.next_look(begun),
            quiet_at: spec.quiet.map(|quiet| begun + quiet),
            warden,
            stdin: pipes.stdin,
            fed: 0,
            outputs: [output(pipes.stdout, Stream::Stdout), output(pipes.stderr, Stream::Stderr)],
            begun,
            phase: Phase::Running,
            cause: None,
            told: Vec::new(),
            killed: false,
            exit: None,
            gone: None,
        }
    }

    /// Watches until the program has ended and its output is read, and gives back the warden: gone, or with something left.
    pub(super) fn run(self, sink: &mut dyn FnMut(Stream, &[u8])) -> (Result<EndedProcess, NotStarted>, Warden) {
        let mut buffer = READ_BUFFER.take();
        buffer.clear();
        buffer.reserve_exact(BUFFER);
        let outcome = self.run_with(&mut buffer, sink);
        READ_BUFFER.set(buffer);
        outcome
    }

    fn run_with(
        mut self,
        buffer: &mut Vec<u8>,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> (Result<EndedProcess, NotStarted>, Warden) {
        loop {
            let now = Instant::now();
            self.advance(now);
            if self.is_over(now) {
                break;
            }
            if self.quiet_at.is_some_and(|at| now >= at) {
                self.quiet_at = None;
                sink(Stream::Stdout, &[]);
            }
            if let Some(reason) = self.wait(now, buffer, sink) {
                self.warden.ends_within(GIVE_UP);
                return (Err(reason), self.warden);
            }
        }
        let (ended, warden) = self.conclude(buffer, sink);
        (Ok(ended), warden)
    }

    /// Does what is due.
    fn advance(&mut self, now: Instant) {
        let urgency = self.stop.urgency();
        match self.phase {
            Phase::Running if self.exit.is_some() => {}
            Phase::Running => {
                if self.look_at.is_some_and(|at| now >= at) {
                    if self.warden.memory.look(self.warden.pid()) {
                        return self.kill(Cause::Memory, now);
                    }
                    self.look_at = self.warden.memory.next_look(now);
                }
                match urgency {
                    Urgency::Kill => self.kill(Cause::Stop, now),
                    Urgency::Ask => self.ask(Cause::Stop, now),
                    Urgency::None if self.spec.deadline.is_some_and(|deadline| now >= deadline) => {
                        self.ask(Cause::Deadline, now);
                    }
                    Urgency::None => {}
                }
            }
            Phase::Asked { told, kill_at } => {
                if self.gone.is_some() {
                    return;
                }
                if urgency == Urgency::Kill || now >= kill_at {
                    self.kill(self.cause.unwrap_or(Cause::Stop), now);
                } else if !told {
                    self.tell(kill_at);
                }
            }
            Phase::Killing { again_at, give_up_at } => {
                if now >= again_at && self.gone.is_none() {
                    self.warden.end_from_here();
                    self.phase = Phase::Killing { again_at: Instant::now() + AGAIN, give_up_at };
                }
            }
        }
    }

    fn ask(&mut self, cause: Cause, now: Instant) {
        self.cause = Some(cause);
        self.tell(now + self.spec.grace);
    }

    fn tell(&mut self, kill_at: Instant) {
        let told = self.warden.program().is_some();
        if told {
            self.tell_all();
        }
        self.phase = Phase::Asked { told, kill_at };
    }

    fn tell_all(&mut self) {
        // It has to tell what ended, and may have been stopped.
        self.warden.wake();
        let mut pids = tree::descendants(self.warden.pid(), &[]);
        pids.retain(|pid| !self.told.contains(pid));
        // A stopped process would not hear the request.
        pids.iter()
            .for_each(|&pid| [libc::SIGTERM, libc::SIGCONT].into_iter().for_each(|signal| sys::kill(pid, signal)));
        self.told.extend(pids);
    }

    fn kill(&mut self, cause: Cause, now: Instant) {
        self.cause = Some(cause);
        self.killed = true;
        self.warden.kill();
        self.phase = Phase::Killing { again_at: now + AGAIN, give_up_at: now + GIVE_UP };
    }

    /// When reading on is not worth while any more, if that is known yet.
    fn read_until(&self) -> Option<Instant> {
        match (self.phase, &self.exit) {
            (Phase::Running, Some(exit)) => {
                let linger = exit.at + self.spec.linger;
                Some(self.spec.deadline.map_or(linger, |deadline| linger.min(deadline)))
            }
            _ => self.gone.map(|gone| gone + self.spec.linger),
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        let all_read = self.outputs.iter().all(Option::is_none)
            || self.read_until().is_some_and(|until| now >= until)
            || self.stop.is_raised();
        match self.phase {
            Phase::Running => self.exit.is_some() && all_read,
            Phase::Asked { .. } => self.gone.is_some() && all_read,
            Phase::Killing { give_up_at, .. } => (self.gone.is_some() && all_read) || now >= give_up_at,
        }
    }

    fn wake_at(&self, now: Instant) -> Option<Instant> {
        let by_phase = match self.phase {
            Phase::Running if self.exit.is_none() => self.spec.deadline,
            Phase::Running => None,
            Phase::Asked { told: false, .. } => Some(now + UNBORN),
            Phase::Asked { kill_at, .. } => self.gone.is_none().then_some(kill_at),
            Phase::Killing { again_at, give_up_at } => {
                Some(if self.gone.is_none() { again_at.min(give_up_at) } else { give_up_at })
            }
        };
        let look_at = self.look_at.filter(|_| self.exit.is_none() && matches!(self.phase, Phase::Running));
        [by_phase, look_at, self.quiet_at, self.read_until()].into_iter().flatten().min()
    }

    /// Waits for something to happen and takes it in.
    fn wait(&mut self, now: Instant, buffer: &mut Vec<u8>, sink: &mut dyn FnMut(Stream, &[u8])) -> Option<NotStarted> {
        let fd = |fd: Option<i32>, events| libc::pollfd { fd: fd.unwrap_or(-1), events, revents: 0 };
        let bell = self.stop.0.beyond(if matches!(self.phase, Phase::Running) { Urgency::None } else { Urgency::Ask });
        let bell = bell.filter(|_| match self.phase {
            Phase::Running => self.exit.is_none(),
            // The program may have ended while something it started has not.
            Phase::Asked { .. } => self.gone.is_none(),
            Phase::Killing { .. } => false,
        });
        let [stdout, stderr] = [0, 1].map(|index| self.outputs[index].as_ref().map(|output| output.pipe.as_raw_fd()));
        let mut polled = [
            fd(self.gone.is_none().then(|| self.warden.control()), libc::POLLIN),
            fd(stdout, libc::POLLIN),
            fd(stderr, libc::POLLIN),
            fd(self.stdin.as_ref().map(AsRawFd::as_raw_fd), libc::POLLOUT),
            fd(bell, libc::POLLIN),
        ];
        let timeout = self.wake_at(now).map(|at| timespec(at.saturating_duration_since(now)));
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: five descriptors and a timeout that live across the call.
        let ready = unsafe { libc::ppoll(polled.as_mut_ptr(), 5, timeout, std::ptr::null()) };
        if ready <= 0 {
            return None;
        }
        let mut failure = None;
        if polled[0].revents != 0 {
            failure = self.hear();
        }
        for (index, polled) in polled[1..3].iter().enumerate() {
            if polled.revents != 0 {
                (0..BURST).any(|_| self.read(index, BUFFER, buffer, sink) == 0);
            }
        }
        if polled[3].revents != 0 {
            self.feed();
        }
        failure
    }

    fn hear(&mut self) -> Option<NotStarted> {
        match self.warden.receive()? {
            Some(report) if report.failed != stage::NONE => return Some(self.warden.not_started(&report)),
            Some(report) => {
                let at = Instant::now();
                self.exit = Some(Exit { report, at });
                if report.left != 0 && matches!(self.phase, Phase::Asked { .. }) {
                    // What it started between our look and its end has not been asked; what it started to clean up is done.
                    self.tell_all();
                }
                if matches!(self.phase, Phase::Running) && self.warden.memory.was_exceeded() {
                    // The kernel killed one process for the limit; the rest of the tree goes with it.
                    self.cause = Some(Cause::Memory);
                    if report.left != 0 {
                        self.kill(Cause::Memory, at);
                    }
                }
            }
            None => {
                self.gone = Some(Instant::now());
                if self.exit.is_none() {
                    // Somebody killed the warden, and the program died with it.
                    let report = Report { status: libc::SIGKILL, ..Report::default() };
                    self.exit = Some(Exit { report, at: Instant::now() });
                }
            }
        }
        None
    }

    /// Reads once without waiting, and returns how much. The end of the stream closes it.
    fn read(&mut self, index: usize, most: usize, buffer: &mut Vec<u8>, sink: &mut dyn FnMut(Stream, &[u8])) -> usize {
        let Some(output) = &mut self.outputs[index] else { return 0 };
        buffer.clear();
        // SAFETY: `buffer` has room for `BUFFER` bytes.
        let length = unsafe { libc::read(output.pipe.as_raw_fd(), buffer.as_mut_ptr().cast(), most.min(BUFFER)) };
        match usize::try_from(length) {
            Ok(0) => self.outputs[index] = None,
            Ok(length) => {
                // SAFETY: `read` filled this many.
                unsafe { buffer.set_len(length) };
                if length >= BUSY && !output.wide {
                    output.wide = true;
                    // SAFETY: plain call; where it is refused the pipe stays as it is.
                    unsafe { libc::fcntl(output.pipe.as_raw_fd(), libc::F_SETPIPE_SZ, WIDE) };
                }
                sink(output.stream, buffer);
                self.quiet_at = self.spec.quiet.map(|quiet| Instant::now() + quiet);
                return length;
            }
            Err(_) => {
                if !matches!(io::Error::last_os_error().kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
                {
                    self.outputs[index] = None;
                }
            }
        }
        0
    }

    /// Writes as much input as the pipe takes.
    fn feed(&mut self) {
        let (Some(pipe), Input::Bytes(bytes)) = (&self.stdin, &self.spec.input) else { return };
        match write_quietly(pipe, &bytes[self.fed..]) {
            Ok(length) => {
                self.fed += length;
                if self.fed == bytes.len() {
                    self.stdin = None;
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            // A program that closes its input early is not at fault.
            Err(_) => self.stdin = None,
        }
    }

    fn conclude(mut self, buffer: &mut Vec<u8>, sink: &mut dyn FnMut(Stream, &[u8])) -> (EndedProcess, Warden) {
        // What the program wrote is in the pipes before anything that others may add while we read.
        for index in 0..2 {
            let mut waiting = self.outputs[index].as_ref().map_or(0, |output| bytes_waiting(&output.pipe));
            while waiting > 0 {
                match self.read(index, waiting, buffer, sink) {
                    0 => break,
                    length => waiting -= length,
                }
            }
        }
        let mut pipe_held = self.outputs.iter().any(Option::is_some);
        let left = self.exit.as_ref().is_some_and(|exit| exit.report.left != 0) || self.exit.is_none();
        let gave_up = matches!(self.phase, Phase::Killing { .. }) && self.gone.is_none();
        let patience = if gave_up || (left && matches!(self.phase, Phase::Running)) { Duration::ZERO } else { GIVE_UP };
        if !self.warden.is_gone_within(patience) {
            self.warden.drain();
        } else if pipe_held {
            // Everything below the warden is gone; only an end of file is left to read, unless a stranger holds the pipe.
            pipe_held = self.outputs.iter().flatten().any(|output| !is_closed(&output.pipe));
        }
        let report = self.exit.as_ref().map_or_else(Report::default, |exit| exit.report);
        let ending = match self.cause {
            Some(Cause::Deadline) => Ending::TimedOut { killed: self.killed },
            Some(Cause::Stop) => Ending::Stopped { killed: self.killed },
            Some(Cause::Memory) => Ending::MemoryExceeded,
            None => ending_of(report.status),
        };
        let ended = EndedProcess {
            ending,
            duration: self.exit.as_ref().map_or_else(|| self.begun.elapsed(), |exit| exit.at - self.begun),
            cpu: Duration::from_micros(report.cpu_us.try_into().unwrap_or(0)),
            peak_memory: self.warden.memory.peak().or_else(|| own_peak(report.peak_kib)),
            memory: self.warden.memory.enforcement(),
            pipe_held,
            confined: self.warden.enforced(),
        };
        (ended, self.warden)
    }
}

/// How a program ended that nobody ended, as `wait` has it.
pub(super) fn ending_of(status: i32) -> Ending {
    if libc::WIFSIGNALED(status) {
        Ending::Signaled(libc::WTERMSIG(status))
    } else {
        Ending::Exited(libc::WEXITSTATUS(status))
    }
}

/// The peak of a process counts what it had before it executed its program: our own memory, which it shared. So a number that
/// is not above our own says nothing.
fn own_peak(kib: i64) -> Option<u64> {
    // SAFETY: all-zero is a valid `rusage`, and the call fills it.
    let own = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage.ru_maxrss
    };
    if kib > own { u64::try_from(kib).ok().map(|kib| kib * 1024) } else { None }
}

pub(super) fn timespec(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

pub(super) fn bytes_waiting(pipe: &OwnedFd) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one `int`.
    unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    bytes.try_into().unwrap_or(0)
}

fn is_closed(pipe: &OwnedFd) -> bool {
    let mut hangup = libc::pollfd { fd: pipe.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one descriptor on this stack.
    unsafe { libc::poll(&raw mut hangup, 1, 0) == 1 }
}

/// Writes to a pipe without being killed when nobody reads it, whatever the host has decided about SIGPIPE.
pub(super) fn write_quietly(pipe: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: sets on this stack; a pending SIGPIPE is taken only if this write raised it.
    unsafe {
        let (mut sigpipe, mut before, mut pending) = std::mem::zeroed();
        libc::sigemptyset(&raw mut sigpipe);
        libc::sigaddset(&raw mut sigpipe, libc::SIGPIPE);
        libc::sigpending(&raw mut pending);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const sigpipe, &raw mut before);
        let length = libc::write(pipe.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
        let result = usize::try_from(length).map_err(|_| io::Error::last_os_error());
        if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
            && libc::sigismember(&raw const pending, libc::SIGPIPE) == 0
        {
            let now = timespec(Duration::ZERO);
            libc::sigtimedwait(&raw const sigpipe, std::ptr::null_mut(), &raw const now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}
