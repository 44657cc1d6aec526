//! Preparing a warden and holding on to it.

use std::ffi::OsStr;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::area::Area;
use super::body::{self, Launch, Report, STILL_ROUNDS, list, stage};
use super::cgroup::Base;
use super::confine::{MOST_LISTENERS, Plan};
use super::memory::Memory;
use super::processes::Processes;
use super::watch::{NotStarted, timespec};
use super::{AGAIN, GIVE_UP, Session, lock, sys, tree};
use crate::{Enforced, Input, Mechanism, Program, Spec, StartError, Terminal};

/// One start at a time: a warden is born with a copy of every descriptor that is open in our process, and closes what is not
/// its own when it first gets a processor. With the ends of another start's pipes among them, that other program would
/// seem to go on writing until then, which on a busy machine is long after its end.
static TURN: Mutex<()> = Mutex::new(());

/// Wardens that have nothing left to do but to be waited for.
static LEAVING: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// Waits for those who have left.
fn bid_farewell() {
    // SAFETY: no status is asked for.
    lock(&LEAVING)
        .retain(|&pid| unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) } == 0);
}

/// A warden that has been started, and everything that it uses.
#[derive(Debug)]
pub(super) struct Warden {
    pid: i32,
    control: OwnedFd,
    /// Not to be unmapped, nor the strings freed, while the warden lives.
    area: Option<ManuallyDrop<Area>>,
    strings: ManuallyDrop<Strings>,
    plan: ManuallyDrop<Option<Box<Plan>>>,
    pub(super) memory: Memory,
    /// Removes a control group when it is dropped.
    _processes: Processes,
    gone: bool,
}

/// What a tree is held to, and the ways into its control groups.
#[derive(Debug)]
pub(super) struct Hold {
    memory: Memory,
    processes: Processes,
    doors: [Option<OwnedFd>; 2],
}

impl Hold {
    /// Takes the best mechanisms that work, of places for memory and for processes.
    pub(super) fn new(spec: &Spec, memory: &[Base], processes: &[Base]) -> Result<Hold, StartError> {
        let (memory, memory_door) = Memory::new(spec.limits.memory, memory);
        let limit = spec.confinement.as_ref().and_then(|confinement| confinement.processes);
        let (processes, door) = Processes::new(limit, processes, &memory).map_err(|source| StartError::Confine {
            program: spec.program.path.clone(),
            mechanism: Mechanism::Processes,
            doing: "limit processes".to_owned(),
            source,
        })?;
        Ok(Hold { memory, processes, doors: [memory_door, door] })
    }
}

/// What a program is started for. The warden says that one which is not watched from the beginning has started.
pub(super) enum Purpose {
    /// To be watched to its end.
    Run,
    /// To be talked with by somebody else, who may wait for it.
    Converse,
    /// To wait until it is needed: by itself, with this as its descriptor 3, or halted.
    Prepare(Option<OwnedFd>),
}

/// Our ends of a program's standard streams.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// A pipe for the standard input of a program that gets bytes: the end that is read and ours.
fn stdin_of(spec: &Spec, converses: bool) -> io::Result<(Option<OwnedFd>, Option<OwnedFd>)> {
    match spec.input {
        Input::Bytes(_) => {
            let (read, write) = pipe()?;
            if !converses {
                never_wait(&write);
            }
            Ok((Some(read), Some(write)))
        }
        Input::Closed | Input::Inherit | Input::Descriptor(_) => Ok((None, None)),
    }
}

/// What a program reads.
fn input_of(pipe: Option<&OwnedFd>, spec: &Spec, session: &Session) -> RawFd {
    match (pipe, &spec.input) {
        (Some(read), _) => read.as_raw_fd(),
        (None, Input::Inherit) => libc::STDIN_FILENO,
        (None, Input::Descriptor(descriptor)) => descriptor.0.as_raw_fd(),
        (None, _) => session.null.as_raw_fd(),
    }
}

/// The system calls that confine or observe a program, if one of these is wanted.
fn plan_of(spec: &Spec, control: RawFd, processes: &Processes) -> Result<Option<Box<Plan>>, StartError> {
    let program = &spec.program;
    match (spec.confinement.as_deref(), &spec.observer) {
        (Some(confinement), _) => Plan::new(confinement, program, spec.terminal, control, processes.enforcement())
            .map(|plan| Some(Box::new(plan)))
            .map_err(|refused| refused.into_error(program)),
        (None, Some(observer)) => Ok(Some(Box::new(Plan::observe(observer, control)))),
        (None, None) => Ok(None),
    }
}

/// The descriptors that stay open, in order, and how many there are.
fn kept<const N: usize>(mut descriptors: [RawFd; N]) -> ([RawFd; N], usize) {
    descriptors.sort_unstable();
    let absent = descriptors.iter().take_while(|&&fd| fd < 0).count();
    descriptors.rotate_left(absent);
    (descriptors, N - absent)
}

/// Starts a warden that starts the program. Its first report tells if that failed.
pub(super) fn start(
    session: &Session,
    spec: &Spec,
    purpose: Purpose,
    hold: Hold,
) -> Result<(Warden, Pipes), StartError> {
    bid_farewell();
    let program = &spec.program;
    let prepare = |doing| move |source| StartError::Prepare { program: program.path.clone(), doing, source };
    let strings = Strings::new(program);
    // Dropped after the pipes' other ends.
    let _turn = TURN.lock();
    let (ours, theirs) = socket_pair().map_err(prepare("open a control line"))?;
    // An observed program sends something, when its own descriptors are in their places.
    let theirs = above(libc::STDERR_FILENO + 1, theirs).map_err(prepare("open a control line"))?;
    let (stdout, stdout_write) = pipe().map_err(prepare("open a pipe"))?;
    let (stderr, stderr_write) = pipe().map_err(prepare("open a pipe"))?;
    let announces = !matches!(purpose, Purpose::Run);
    let converses = matches!(purpose, Purpose::Converse);
    let halts = matches!(purpose, Purpose::Prepare(None));
    if !converses {
        [&stdout, &stderr].into_iter().for_each(never_wait);
    }
    let (stdin_read, stdin) = stdin_of(spec, converses).map_err(prepare("open a pipe"))?;
    let script = match purpose {
        Purpose::Prepare(gate) => gate,
        _ => spec.script.as_deref().map(sealed).transpose().map_err(prepare("store the script"))?,
    };
    let input = input_of(stdin_read.as_ref(), spec, session);
    let Hold { memory, processes, doors } = hold;
    let plan = plan_of(spec, theirs.as_raw_fd(), &processes)?;
    let area = Area::take().map_err(prepare("reserve memory"))?;

    let raw = |fd: Option<&OwnedFd>| fd.map_or(-1, AsRawFd::as_raw_fd);
    // A program whose output nobody reads any more shall notice, so a conversation is never drained.
    let output = [&stdout, &stderr].map(|fd| if converses { -1 } else { fd.as_raw_fd() });
    let (keep, keep_count) = kept([
        input,
        stdout_write.as_raw_fd(),
        stderr_write.as_raw_fd(),
        raw(script.as_ref()),
        raw(doors[0].as_ref()),
        raw(doors[1].as_ref()),
        theirs.as_raw_fd(),
        output[0],
        output[1],
    ]);
    let (limits, limit_count) = limits(spec, &memory, &processes);
    let launch = Launch {
        path: strings.path(),
        argv: strings.argv(),
        envp: strings.envp(),
        cwd: strings.cwd(),
        stdio: [input, stdout_write.as_raw_fd(), stderr_write.as_raw_fd()],
        script: raw(script.as_ref()),
        cgroups: [raw(doors[0].as_ref()), raw(doors[1].as_ref())],
        confine: plan.as_ref().map_or([(std::ptr::null(), 0); list::COUNT], |plan| {
            plan.lists.each_ref().map(|calls| (calls.first(), calls.count()))
        }),
        detached: spec.terminal == Terminal::Detached,
        // SAFETY: plain call without pointers.
        group: unsafe { libc::getpgrp() },
        limits,
        limit_count,
        child_stack: area.program_stack(),
        control: theirs.as_raw_fd(),
        output,
        announces,
        halts,
        keep,
        keep_count,
        room: area.room(),
        warden: 0,
        program: 0,
        failed: stage::NONE,
        failed_errno: 0,
        failed_call: 0,
        helper: 0,
        done: 0,
    };
    let namespaces = plan.as_ref().map_or(0, |plan| plan.namespaces);
    let place = area.launch();
    let signals = sys::block_signals();
    // SAFETY: `place` and the stack are in an area that nobody else uses and that the warden's owner keeps while it lives;
    // so are the strings. Signals are blocked. Descriptors are copied by the call, so ours may be closed after it.
    let cloned = unsafe {
        place.write(launch);
        sys::clone(namespaces, area.warden_stack(), body::warden, place, &raw mut (*place).warden)
    };
    sys::set_signals(signals);
    if let Some(errno) = sys::errno(cloned) {
        return Err(match &plan {
            Some(plan) => plan.explain(-1, errno).into_error(program),
            None => prepare("create a process")(io::Error::from_raw_os_error(errno)),
        });
    }
    let pid = i32::try_from(cloned).expect("process ids are small");
    let warden = Warden {
        pid,
        control: ours,
        area: Some(ManuallyDrop::new(area)),
        strings: ManuallyDrop::new(strings),
        plan: ManuallyDrop::new(plan),
        memory,
        _processes: processes,
        gone: false,
    };
    Ok((warden, Pipes { stdin, stdout, stderr }))
}

impl Warden {
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn control(&self) -> RawFd {
        self.control.as_raw_fd()
    }

    /// The program's process, if it exists or has existed, so that signals reach it.
    pub(super) fn program(&self) -> Option<i32> {
        let area = self.area.as_ref()?;
        // SAFETY: the launch was written by `start`; the kernel writes this one number.
        let program = Some(unsafe { (&raw const (*area.launch()).program).read_volatile() });
        let program = program.filter(|&program| program != 0)?;
        // In a namespace of its own it has a number that means nothing here; it is the warden's first child.
        if !self.is_confined() { Some(program) } else { tree::descendants(self.pid, &[]).first().copied() }
    }

    fn is_confined(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.namespaces != 0)
    }

    /// What holds the program, if it is confined.
    pub(super) fn enforced(&self) -> Option<Enforced> {
        self.plan.as_ref().and_then(|plan| plan.enforced.clone())
    }

    /// What a report of a failed start means.
    pub(super) fn not_started(&self, report: &Report) -> NotStarted {
        match (report.failed, self.plan.as_deref()) {
            (stage::CGROUP, _) => NotStarted::Cgroup,
            (stage::CONFINE, Some(plan)) => NotStarted::Refused(plan.explain(report.status, report.failed_errno)),
            (stage, _) => NotStarted::At { stage, source: io::Error::from_raw_os_error(report.failed_errno) },
        }
    }

    /// Waits until the warden has told whether the program started, for a purpose for which it tells.
    pub(super) fn started(&self, longest: Option<Duration>) -> Result<(), NotStarted> {
        loop {
            self.listen(longest);
            let failed = match self.receive() {
                None if longest.is_none() => continue,
                None => NotStarted::At { stage: stage::EXECUTE, source: io::ErrorKind::TimedOut.into() },
                Some(Some(Report { failed: stage::STARTED, .. })) => return Ok(()),
                Some(Some(report)) => self.not_started(&report),
                Some(None) => NotStarted::At { stage: stage::WARDEN, source: io::ErrorKind::UnexpectedEof.into() },
            };
            return Err(failed);
        }
    }

    /// Tells the warden to end everything.
    pub(super) fn kill(&self) {
        self.tell(body::KILL);
        self.wake();
    }

    /// Lets a warden go on that somebody has stopped.
    pub(super) fn wake(&self) {
        if !self.gone {
            // Nobody else waits for it, so its number is its own until then.
            sys::kill(self.pid, libc::SIGCONT);
        }
    }

    /// Does from our side what a warden was told to do that does not come to it, because somebody stops it again and again:
    /// ends everything below it, among which is the process that does that from within. One that is stopped from elsewhere is ended,
    /// too; nothing is left below it then.
    pub(super) fn end_from_here(&self) {
        if self.gone {
            return;
        }
        // A process that is stopped starts no other, so these become all there are.
        let mut found = tree::descendants(self.pid, &[libc::SIGSTOP]);
        for _ in 0..STILL_ROUNDS {
            let before = std::mem::replace(&mut found, tree::descendants(self.pid, &[libc::SIGSTOP]));
            if found == before {
                break;
            }
        }
        if tree::descendants(self.pid, &[libc::SIGKILL]).is_empty() && tree::is_stopped(self.pid) {
            sys::kill(self.pid, libc::SIGKILL);
        }
        self.wake();
    }

    /// Tells the warden to read the output from now on.
    pub(super) fn drain(&self) {
        self.tell(body::DRAIN);
    }

    /// Tells the warden to let go of a halted program.
    pub(super) fn resume(&self) {
        self.tell(body::RESUME);
    }

    fn tell(&self, order: u8) {
        // SAFETY: one readable byte. A failure means that nobody is left to tell.
        unsafe { libc::send(self.control(), (&raw const order).cast(), 1, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) };
    }

    /// Waits until the warden has something to say, at most for `longest` if there is such a thing.
    pub(super) fn listen(&self, longest: Option<Duration>) {
        let mut poll = libc::pollfd { fd: self.control(), events: libc::POLLIN, revents: 0 };
        let longest = longest.map(timespec);
        let longest = longest.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: one descriptor and a timeout that live across the call.
        unsafe { libc::ppoll(&raw mut poll, 1, longest, std::ptr::null()) };
    }

    /// Receives what the warden has to say: `Some(None)` is its death. Sockets that it sends go to the gate.
    #[expect(clippy::option_option, reason = "nothing yet, and nothing ever, differ")]
    pub(super) fn receive(&self) -> Option<Option<Report>> {
        let mut report = Report::default();
        let (received, sockets) = receive_with(&self.control, &mut report);
        match received {
            Ok(length) if length == size_of::<Report>() && report.failed == stage::LISTENING => {
                if let Some(plan) = self.plan.as_deref() {
                    plan.hand_over(sockets);
                }
                None
            }
            Ok(length) => Some((length == size_of::<Report>()).then_some(report)),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => None,
                _ => Some(None),
            },
        }
    }

    /// Waits until a warden that was told to end everything has ended.
    ///
    /// What does not end of itself is ended from here.
    pub(super) fn ends_within(&mut self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while !self.is_gone_within(AGAIN.min(end.saturating_duration_since(Instant::now()))) {
            if Instant::now() >= end {
                return false;
            }
            self.end_from_here();
        }
        true
    }

    /// Waits until the warden has ended, and with it everything below it.
    pub(super) fn is_gone_within(&mut self, patience: Duration) -> bool {
        if self.gone {
            return true;
        }
        let mut hangup = libc::pollfd { fd: self.control(), events: 0, revents: 0 };
        let end = Instant::now() + patience;
        loop {
            let left = timespec(end.saturating_duration_since(Instant::now()));
            // SAFETY: one descriptor and a timeout on this stack.
            match unsafe { libc::ppoll(&raw mut hangup, 1, &raw const left, std::ptr::null()) } {
                0 => return false,
                1.. => break,
                _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return false,
            }
        }
        // Its descriptors are closed, so it is about to be waitable. The kernel may have namespaces to take down first, which
        // nobody needs to wait for when nothing is left in them: it touches our memory no more.
        if self.is_confined() && self.is_done() {
            lock(&LEAVING).push(self.pid);
            self.gone = true;
            return true;
        }
        // SAFETY: no status is asked for. A process without an exit signal is waited for with `__WALL`.
        while unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), libc::__WALL) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        self.gone = true;
        true
    }

    /// Whether the warden found nothing left below it, by its own word.
    fn is_done(&self) -> bool {
        // SAFETY: the launch was written by `start`; the warden writes this one number.
        self.area.as_ref().is_some_and(|area| unsafe { (&raw const (*area.launch()).done).read_volatile() } != 0)
    }

    /// Gives up the memory of a warden that is gone.
    pub(super) fn take_area(&mut self) -> Option<Area> {
        let area = if self.gone { self.area.take() } else { None };
        area.map(ManuallyDrop::into_inner)
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        if !self.gone {
            self.kill();
        }
        if self.ends_within(GIVE_UP) {
            if let Some(area) = self.take_area() {
                area.give_back();
            }
            // SAFETY: the warden is gone, and this is the only drop.
            unsafe {
                ManuallyDrop::drop(&mut self.strings);
                ManuallyDrop::drop(&mut self.plan);
            }
        }
    }
}

/// The texts of a program as the kernel wants them.
#[derive(Debug)]
struct Strings {
    /// Path, directory, arguments, environment; each ends with NUL.
    _text: Vec<u8>,
    /// Path, directory, arguments, null, environment, null.
    pointers: Vec<*const libc::c_char>,
    envp: usize,
}

// SAFETY: the pointers lead into `_text`, which moves with them and is never changed.
unsafe impl Send for Strings {}

impl Strings {
    /// `program` holds no NUL byte, or its texts end early.
    fn new(program: &Program) -> Strings {
        let mut text = Vec::new();
        let mut starts = Vec::with_capacity(program.args.len() + program.env.len() + 5);
        let mut add = |parts: &[&[u8]]| {
            starts.push(Some(text.len()));
            parts.iter().for_each(|part| text.extend_from_slice(part));
            text.push(0);
        };
        add(&[program.path.as_os_str().as_bytes()]);
        add(&[program.cwd.as_os_str().as_bytes()]);
        let arg0: &OsStr = program.arg0.as_deref().unwrap_or(program.path.as_os_str());
        add(&[arg0.as_bytes()]);
        program.args.iter().for_each(|arg| add(&[arg.as_bytes()]));
        program.env.iter().for_each(|(name, value)| add(&[name.as_bytes(), b"=", value.as_bytes()]));
        let envp = 2 + 1 + program.args.len() + 1;
        starts.insert(envp - 1, None);
        starts.push(None);
        let pointers = starts
            .into_iter()
            .map(|start| start.map_or(std::ptr::null(), |start| text[start..].as_ptr().cast()))
            .collect();
        Strings { _text: text, pointers, envp }
    }

    fn path(&self) -> *const libc::c_char {
        self.pointers[0]
    }

    fn cwd(&self) -> *const libc::c_char {
        self.pointers[1]
    }

    fn argv(&self) -> *const *const libc::c_char {
        self.pointers[2..].as_ptr()
    }

    fn envp(&self) -> *const *const libc::c_char {
        self.pointers[self.envp..].as_ptr()
    }
}

/// The limits that the program sets for itself, as many as there are.
fn limits(spec: &Spec, memory: &Memory, processes: &Processes) -> ([(i32, u64); 6], usize) {
    let mut limits = [(0, 0); 6];
    let memory = memory.per_process().map(|bytes| (libc::RLIMIT_DATA, bytes));
    let processes = processes.per_user().map(|count| (libc::RLIMIT_NPROC, count));
    // What a confined program remembers is not for a file that somebody else is given.
    let core = spec.confinement.as_ref().map(|_| (libc::RLIMIT_CORE, 0));
    let more = [memory, processes, core].into_iter().flatten();
    let wanted = spec.limits.per_process().into_iter().chain(more.map(|(limit, value)| (limit.cast_signed(), value)));
    let count = limits.iter_mut().zip(wanted).map(|(place, limit)| *place = limit).count();
    (limits, count)
}

/// Receives without waiting: bytes of a report, and descriptors.
fn receive_with(control: &OwnedFd, report: &mut Report) -> (io::Result<usize>, Vec<OwnedFd>) {
    // A header of sixteen bytes and room for as many as a message carries.
    let mut room = [0_u64; 2 + MOST_LISTENERS / 2];
    let mut piece = libc::iovec { iov_base: (&raw mut *report).cast(), iov_len: size_of::<Report>() };
    // SAFETY: all-zero is a valid header; what it points to lives across the call, and every bit pattern is a report. A
    // control message starts with its length, and its descriptors are nobody's but ours.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut piece;
        header.msg_iovlen = 1;
        header.msg_control = room.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&room) as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        let received = libc::recvmsg(control.as_raw_fd(), &raw mut header, flags);
        let Ok(received) = usize::try_from(received) else { return (Err(io::Error::last_os_error()), Vec::new()) };
        let is_rights = header.msg_controllen as usize >= 16 && {
            let first = &*room.as_ptr().cast::<libc::cmsghdr>();
            (first.cmsg_level, first.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS)
        };
        let count = if is_rights { (room[0] as usize).saturating_sub(16) / size_of::<RawFd>() } else { 0 };
        let fds = room.as_ptr().add(2).cast::<RawFd>();
        let fds = (0..count.min(MOST_LISTENERS)).map(|index| OwnedFd::from_raw_fd(*fds.add(index))).collect();
        (Ok(received), fds)
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Moves a descriptor out of the range that a program's own are placed in.
pub(super) fn above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    above(libc::STDERR_FILENO, fd)
}

fn above(last: RawFd, fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > last {
        return Ok(fd);
    }
    // SAFETY: duplicates a descriptor we own; the new one is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, last + 1))?)) }
}

fn pair(fds: [libc::c_int; 2]) -> io::Result<(OwnedFd, OwnedFd)> {
    // SAFETY: two descriptors just opened that nobody else owns.
    let (a, b) = unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) };
    Ok((above_stdio(a)?, above_stdio(b)?))
}

pub(super) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: room for two descriptors.
    check(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })?;
    pair(fds)
}

/// Makes our end of a pipe report that it would wait; the other end stays as it is.
fn never_wait(end: &OwnedFd) {
    // SAFETY: plain call on a descriptor we own, whose description nobody else shares.
    unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
}

fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: room for two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) })?;
    pair(fds)
}

/// Makes a file without a name that nobody can change any more, at its beginning.
fn sealed(text: &[u8]) -> io::Result<OwnedFd> {
    use std::io::{Seek, Write};
    // SAFETY: a NUL-terminated name.
    let fd =
        check(unsafe { libc::memfd_create(c"cycod-script".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) })?;
    // SAFETY: just opened, and nobody else owns it.
    let mut file = std::fs::File::from(above_stdio(unsafe { OwnedFd::from_raw_fd(fd) })?);
    file.write_all(text)?;
    file.rewind()?;
    let seals = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;
    // SAFETY: plain call on our descriptor.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) })?;
    Ok(file.into())
}
