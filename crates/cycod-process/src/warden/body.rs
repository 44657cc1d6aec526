//! What runs in the warden's process, and in the program's before it executes: see the rule in [`super::sys`].

use super::calls::{Call, make};
use super::sys::{call, clone, close_and_exit, errno, kill, sys};
use super::tree::{Room, walk};
use crate::ancestry::system::MARK;

/// Told to the warden: end everything.
pub(super) const KILL: u8 = b'K';
/// Told to the warden: nobody reads the output any more; read it and throw it away.
pub(super) const DRAIN: u8 = b'D';

/// Told to the warden: let go of a program that was halted.
pub(super) const RESUME: u8 = b'R';

/// How far a start came.
pub(super) mod stage {
    pub(crate) const NONE: i32 = 0;
    pub(crate) const WARDEN: i32 = 1;
    pub(crate) const CLONE: i32 = 2;
    pub(crate) const SESSION: i32 = 3;
    pub(crate) const STDIO: i32 = 4;
    pub(crate) const DIRECTORY: i32 = 5;
    pub(crate) const CGROUP: i32 = 6;
    pub(crate) const LIMITS: i32 = 7;
    pub(crate) const EXECUTE: i32 = 8;
    pub(crate) const HALT: i32 = 9;
    /// Not a failure: the program has been executed.
    pub(crate) const STARTED: i32 = 10;
    /// One of the calls that confine; which one is in [`super::Report::status`].
    pub(crate) const CONFINE: i32 = 11;
    /// Not a failure: sockets come with the report.
    pub(crate) const LISTENING: i32 = 12;
    pub(crate) const PROCESSES: i32 = 13;
}

/// The lists of calls that confine, in the order in which their calls are numbered.
pub(super) mod list {
    /// The warden's first: it becomes root in its namespaces.
    pub(crate) const ENTER: usize = 0;
    /// A helper's, beside the warden: making a network takes the kernel as long as all the rest.
    pub(crate) const NETWORK: usize = 1;
    /// The warden's: the file system.
    pub(crate) const BUILD: usize = 2;
    /// The warden's, when the helper is done.
    pub(crate) const JOIN: usize = 3;
    /// The program's.
    pub(crate) const PROGRAM: usize = 4;
    pub(crate) const COUNT: usize = 5;
}

/// Everything a warden needs, prepared in our process. The pointers and descriptors belong to the owner of this value.
#[repr(C)]
pub(super) struct Launch {
    pub(super) path: *const libc::c_char,
    pub(super) argv: *const *const libc::c_char,
    pub(super) envp: *const *const libc::c_char,
    pub(super) cwd: *const libc::c_char,
    /// What becomes the program's descriptors 0, 1 and 2.
    pub(super) stdio: [i32; 3],
    /// What becomes the program's descriptor 3, or -1.
    pub(super) script: i32,
    /// The open lists of processes of the control groups to join, or -1.
    pub(super) cgroups: [i32; 2],
    /// What confines, by [`list`]; nothing when there is no confinement.
    pub(super) confine: [(*const Call, usize); list::COUNT],
    /// Whether the program gets a process group of its own and no terminal.
    pub(super) detached: bool,
    /// The process group that a program on our terminal joins.
    pub(super) group: i32,
    pub(super) limits: [(i32, u64); 6],
    pub(super) limit_count: usize,
    pub(super) child_stack: *mut u8,
    /// The warden's end of the line to us.
    pub(super) control: i32,
    /// Our ends of the output, for draining, or -1.
    pub(super) output: [i32; 2],
    /// Whether the warden says that the program has started.
    pub(super) announces: bool,
    /// Whether the program is halted on its way, see [`halt`].
    pub(super) halts: bool,
    /// All descriptors above, in ascending order; every other one is closed.
    pub(super) keep: [i32; 9],
    pub(super) keep_count: usize,
    pub(super) room: Room,
    /// Written by the kernel when the warden is cloned.
    pub(super) warden: i32,
    /// Written by the kernel when the program is cloned.
    pub(super) program: i32,
    /// Written by the program when its start fails.
    pub(super) failed: i32,
    pub(super) failed_errno: i32,
    pub(super) failed_call: i32,
    /// Written by the kernel when the network's helper is cloned.
    pub(super) helper: i32,
    /// Set by the warden when nothing is left below it and it is about to exit.
    pub(super) done: i32,
}

impl Launch {
    /// Whether the warden is the first of its own process namespace. No panic, no call: the warden asks.
    #[inline(always)]
    fn is_confined(&self) -> bool {
        self.confine[list::ENTER].1 != 0
    }
}

/// What a warden reports about its program: once at its end, and once before if it announces the start.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Report {
    /// One of [`stage`]: where the start failed.
    pub(super) failed: i32,
    pub(super) failed_errno: i32,
    /// As `wait` has it.
    pub(super) status: i32,
    /// Whether something else is still running below the warden.
    pub(super) left: i32,
    pub(super) cpu_us: i64,
    pub(super) peak_kib: i64,
}

impl Report {
    /// What comes with listening sockets.
    pub(super) fn listening() -> Report {
        Report { failed: stage::LISTENING, ..Report::default() }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        // SAFETY: all of its bytes are initialised: the type has no padding.
        unsafe { std::slice::from_raw_parts((&raw const *self).cast(), size_of::<Report>()) }
    }
}

static NAME: &[u8; 13] = b"cycod-warden\0";
/// The default action, whatever the architecture puts after the handler.
static DEFAULT_ACTION: [u64; 4] = [0; 4];
const SIGCHLD_SET: u64 = 1 << (libc::SIGCHLD - 1);
const SECOND_NS: i64 = 1_000_000_000;
/// How long a warden waits for killed processes to be gone before it looks for others.
const ROUND_NS: i64 = 5_000_000;
/// How often a program is stopped before we give up hope of halting it; a start takes some hundred calls.
const MOST_STOPS: u32 = 4096;
/// The kind of stop at the entry of a system call.
const ENTRY: u64 = 1;
/// How often a tree is looked through until it holds still.
pub(super) const STILL_ROUNDS: u32 = 16;

#[inline(always)]
unsafe fn exit(code: i32) -> ! {
    // SAFETY: plain call without pointers.
    unsafe { sys!(libc::SYS_exit_group, code) };
    loop {
        std::hint::spin_loop();
    }
}

/// The time of the clock of [`super::EXPIRY`].
#[inline(always)]
unsafe fn now() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes no more than a time.
    unsafe { sys!(libc::SYS_clock_gettime, libc::CLOCK_BOOTTIME, &raw mut now) };
    now.tv_sec.wrapping_mul(SECOND_NS).wrapping_add(now.tv_nsec)
}

/// The warden's life.
///
/// # Safety
/// To be started by [`clone`] alone, all signals blocked, on a launch that outlives it.
pub(super) unsafe extern "C" fn warden(launch: *mut Launch) -> ! {
    // SAFETY: `launch` is ours while we live; every call gets pointers into it or into this stack.
    unsafe {
        // Out of the reach of signals to our group. A session of its own would cost as much as the rest of the warden,
        // where the kernel schedules by sessions.
        // A confined program on our terminal stays in our group, which it cannot name, by its warden's being in it.
        if (*launch).detached || !(*launch).is_confined() {
            sys!(libc::SYS_setpgid, 0, 0);
        }
        sys!(libc::SYS_prctl, libc::PR_SET_CHILD_SUBREAPER, 1);
        // Somebody may have stopped us when our host dies: the kernel then lets us go on, so that we see it. While we run, the
        // signal does nothing, also when only the thread that cloned us has ended.
        sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGCONT);
        sys!(libc::SYS_prctl, libc::PR_SET_NAME, NAME.as_ptr());
        close_others(launch);
        // A host that ignores SIGCHLD would have its children reaped behind the warden's back.
        sys!(libc::SYS_rt_sigaction, libc::SIGCHLD, DEFAULT_ACTION.as_ptr(), 0, 8);
        let set = SIGCHLD_SET;
        let signals = sys!(libc::SYS_signalfd4, -1_isize, &raw const set, 8, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        let mut report = Report::default();
        if let Some(errno) = errno(signals) {
            fail(launch, &raw mut report, stage::WARDEN, errno);
        }
        if (*launch).is_confined() && !confine(launch) {
            report.status = (*launch).failed_call;
            fail(launch, &raw mut report, (*launch).failed, (*launch).failed_errno);
        }
        let flags = libc::CLONE_VFORK | libc::SIGCHLD;
        let started = clone(flags, (*launch).child_stack, program, launch, &raw mut (*launch).program);
        if let Some(errno) = errno(started) {
            fail(launch, &raw mut report, stage::CLONE, errno);
        }
        let program = started as i32;
        if (&raw const (*launch).failed).read_volatile() != stage::NONE {
            sys!(libc::SYS_wait4, program, 0, libc::__WALL, 0);
            report.status = (*launch).failed_call;
            fail(launch, &raw mut report, (*launch).failed, (*launch).failed_errno);
        }
        for fd in [
            (*launch).stdio[0],
            (*launch).stdio[1],
            (*launch).stdio[2],
            (*launch).script,
            (*launch).cgroups[0],
            (*launch).cgroups[1],
        ] {
            if fd >= 0 {
                sys!(libc::SYS_close, fd);
            }
        }
        if (*launch).halts && !halt(program) {
            fail(launch, &raw mut report, stage::HALT, libc::ENOEXEC);
        }
        if (*launch).announces {
            report.failed = stage::STARTED;
            send((*launch).control, &raw const report);
            report.failed = stage::NONE;
        }
        watch(launch, program, signals as i32, &raw mut report)
    }
}

/// Does the warden's part of a confinement; returns whether all of it succeeded.
#[inline(never)]
unsafe fn confine(launch: *mut Launch) -> bool {
    // SAFETY: as `warden`. The helper shares our descriptors, and works on the program's stack, which nobody uses yet.
    unsafe {
        if !perform(launch, list::ENTER) {
            return false;
        }
        let mut helper = 0;
        if (*launch).confine[list::NETWORK].1 != 0 {
            helper = clone(libc::CLONE_FILES, (*launch).child_stack, network, launch, &raw mut (*launch).helper);
            if let Some(errno) = errno(helper) {
                (*launch).failed_errno = errno;
                (&raw mut (*launch).failed).write_volatile(stage::CLONE);
                return false;
            }
        }
        let built = perform(launch, list::BUILD);
        if helper != 0 {
            sys!(libc::SYS_wait4, helper, 0, libc::__WALL, 0);
        }
        built && (&raw const (*launch).failed).read_volatile() == stage::NONE && perform(launch, list::JOIN)
    }
}

/// The helper's process.
///
/// # Safety
/// To be started by a warden alone, which waits for it.
unsafe extern "C" fn network(launch: *mut Launch) -> ! {
    // SAFETY: as `warden`.
    unsafe { exit(i32::from(!perform(launch, list::NETWORK))) }
}

/// Makes the calls of one list; returns whether all succeeded, or leaves which one did not.
#[inline(never)]
unsafe fn perform(launch: *mut Launch, list: usize) -> bool {
    // SAFETY: as `warden`; there is such a list.
    unsafe {
        let lists = (&raw const (*launch).confine).cast::<(*const Call, usize)>();
        let Some((mut number, errno)) = make((*lists.add(list)).0, (*lists.add(list)).1) else { return true };
        let mut before = 0_usize;
        while before < list {
            number = number.wrapping_add((*lists.add(before)).1 as i32);
            before = before.wrapping_add(1);
        }
        (*launch).failed_call = number;
        (*launch).failed_errno = errno;
        (&raw mut (*launch).failed).write_volatile(stage::CONFINE);
        false
    }
}

/// Lets a program that we trace run until it asks who its parent is, as a shell does when most of its start is done; returns
/// whether it did.
#[inline(never)]
unsafe fn halt(program: i32) -> bool {
    let mut stops = 0;
    // SAFETY: as `warden`; the kernel writes no more than the size says.
    unsafe {
        while stops < MOST_STOPS {
            let mut status = 0_i32;
            if sys!(libc::SYS_wait4, program, &raw mut status, libc::__WALL, 0) != program as isize
                || status & 0xFF != 0x7F
            {
                return false;
            }
            if stops == 0 {
                let options = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD;
                sys!(libc::SYS_ptrace, libc::PTRACE_SETOPTIONS, program, 0, options);
            }
            // The kind of stop in the first byte, the number of the call behind three words.
            let mut stop = [0_u64; 12];
            sys!(libc::SYS_ptrace, libc::PTRACE_GET_SYSCALL_INFO, program, size_of_val(&stop), stop.as_mut_ptr());
            let [kind, _, _, call, ..] = stop;
            if kind & 0xFF == ENTRY && call == libc::SYS_getppid.cast_unsigned() {
                return true;
            }
            sys!(libc::SYS_ptrace, libc::PTRACE_SYSCALL, program, 0, 0);
            stops = stops.wrapping_add(1);
        }
    }
    false
}

/// Waits until the program and everything it left behind are gone, or ends them when told to or when we are gone.
#[inline(always)]
unsafe fn watch(launch: *mut Launch, program: i32, signals: i32, report: *mut Report) -> ! {
    // SAFETY: as `warden`.
    unsafe {
        let control = (*launch).control;
        let mut polled = [
            libc::pollfd { fd: control, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: signals, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 },
            libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 },
        ];
        let mut running = true;
        let mut killing = false;
        let expiry = super::EXPIRY.as_ptr();
        loop {
            let mut ended = false;
            let left = loop {
                let mut status = 0_i32;
                let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
                let reaped =
                    sys!(libc::SYS_wait4, -1_isize, &raw mut status, libc::WNOHANG | libc::__WALL, usage.as_mut_ptr());
                if reaped <= 0 {
                    break reaped == 0;
                }
                if reaped as i32 == program && running {
                    running = false;
                    ended = true;
                    let usage = usage.as_ptr();
                    let (user, system) = ((*usage).ru_utime, (*usage).ru_stime);
                    (*report).status = status;
                    (*report).cpu_us = user
                        .tv_sec
                        .wrapping_add(system.tv_sec)
                        .wrapping_mul(1_000_000)
                        .wrapping_add(user.tv_usec)
                        .wrapping_add(system.tv_usec);
                    (*report).peak_kib = (*usage).ru_maxrss;
                }
            };
            if ended {
                (*report).left = i32::from(left);
                send(control, report);
            }
            if !left {
                (&raw mut (*launch).done).write_volatile(1);
                // Its end is seen by this being closed, and in a namespace that would come after all else is taken down.
                close_and_exit(control);
            }
            let mut patience = libc::timespec { tv_sec: 0, tv_nsec: ROUND_NS };
            let mut timeout = &raw mut patience;
            if !killing {
                let at = expiry.read_volatile();
                let left = at.wrapping_sub(now());
                if at == 0 {
                    timeout = std::ptr::null_mut();
                } else if left > 0 {
                    // It may be moved until then.
                    (*timeout).tv_sec = left.wrapping_div(SECOND_NS);
                    (*timeout).tv_nsec = left.wrapping_rem(SECOND_NS);
                } else {
                    killing = true;
                    (*polled.as_mut_ptr()).fd = -1;
                }
            }
            if killing {
                end_tree(launch, if running { program } else { 0 });
            }
            sys!(libc::SYS_ppoll, polled.as_mut_ptr(), 4, timeout, 0, 8);
            let scratch = (*launch).room.scratch;
            let poll = polled.as_mut_ptr();
            if (*poll.add(1)).revents != 0 {
                sys!(libc::SYS_read, signals, scratch, super::tree::SCRATCH);
            }
            if (*poll).revents != 0 {
                let length = sys!(libc::SYS_recvfrom, control, scratch, 1, libc::MSG_DONTWAIT, 0, 0);
                if length == 1 && *scratch == DRAIN {
                    (*poll.add(2)).fd = (*launch).output[0];
                    (*poll.add(3)).fd = (*launch).output[1];
                } else if length == 1 && *scratch == RESUME {
                    sys!(libc::SYS_ptrace, libc::PTRACE_DETACH, program, 0, 0);
                } else if errno(length) != Some(libc::EINTR) && errno(length) != Some(libc::EAGAIN) {
                    killing = true;
                    (*poll).fd = -1;
                }
            }
            let mut stream = 2;
            while stream < 4 {
                let poll = poll.add(stream);
                stream = stream.wrapping_add(1);
                if (*poll).revents != 0
                    && (*poll).fd >= 0
                    && sys!(libc::SYS_read, (*poll).fd, scratch, super::tree::SCRATCH) <= 0
                {
                    (*poll).fd = -1;
                }
            }
        }
    }
}

/// Stops everything below us until nothing new appears, then kills it. What was below the killed comes to us when they are
/// gone, so the caller repeats this until nobody is left.
#[inline(never)]
unsafe fn end_tree(launch: *mut Launch, group: i32) {
    // SAFETY: as `warden`; `room` is not in use by anyone else.
    unsafe {
        if (*launch).is_confined() {
            // The kernel does it at once: nothing else is in our namespace, and what is there can hide nowhere.
            kill(-1, libc::SIGKILL);
            return;
        }
        // The kernel delivers to a group at once, between two forks: most trees, and most fork bombs, end here. The group's
        // number is ours for certain only while its leader has not been reaped.
        if group > 0 && (*launch).detached {
            kill(group.wrapping_neg(), libc::SIGKILL);
        }
        let own = (*launch).warden;
        let room = (*launch).room;
        let mut before = (0, 0_i64);
        let mut round = 0;
        while round < STILL_ROUNDS {
            let found = walk(own, libc::SIGSTOP, room);
            let mut sum = 0_i64;
            let mut at = 0;
            while at < found {
                let pid = i64::from(*room.pids.add(at));
                sum = sum.wrapping_add(pid.wrapping_mul(pid));
                at = at.wrapping_add(1);
            }
            if (found, sum) == before {
                break;
            }
            before = (found, sum);
            round = round.wrapping_add(1);
        }
        walk(own, libc::SIGKILL, room);
    }
}

#[inline(never)]
unsafe fn fail(launch: *mut Launch, report: *mut Report, stage: i32, errno: i32) -> ! {
    // SAFETY: as `warden`.
    unsafe {
        (*report).failed = stage;
        (*report).failed_errno = errno;
        send((*launch).control, report);
        exit(1)
    }
}

#[inline(always)]
unsafe fn send(control: i32, report: *const Report) {
    // SAFETY: the report's own bytes, all of them initialised: the type has no padding.
    unsafe { sys!(libc::SYS_sendto, control, report, size_of::<Report>(), libc::MSG_NOSIGNAL, 0, 0) };
}

/// Closes every descriptor that is not on the list, so that no warden holds another run's pipes.
#[inline(never)]
unsafe fn close_others(launch: *const Launch) {
    // SAFETY: as `warden`; the list is as long as it says.
    unsafe {
        let keep = (*launch).keep.as_ptr();
        let mut first = 0_u32;
        let mut at = 0;
        while at <= (*launch).keep_count {
            let end = if at == (*launch).keep_count { u32::MAX } else { (*keep.add(at)).cast_unsigned() };
            if end > first {
                let last = if end == u32::MAX { end } else { end.wrapping_sub(1) };
                if call(libc::SYS_close_range, [first as usize, last as usize, 0, 0, 0, 0]) != 0 {
                    // A kernel before 5.9.
                    let mut fd = first;
                    while fd <= last && fd < 65_536 {
                        sys!(libc::SYS_close, fd);
                        fd = fd.wrapping_add(1);
                    }
                }
            }
            first = end.wrapping_add(1);
            at = at.wrapping_add(1);
        }
    }
}

/// The program's process, up to the moment it executes the program.
///
/// # Safety
/// To be started by a warden alone, which sleeps meanwhile.
unsafe extern "C" fn program(launch: *mut Launch) -> ! {
    // SAFETY: as `warden`.
    unsafe {
        macro_rules! or_fail {
            ($stage:expr, $result:expr) => {
                if let Some(errno) = errno($result) {
                    (*launch).failed_errno = errno;
                    (&raw mut (*launch).failed).write_volatile($stage);
                    exit(127)
                }
            };
        }
        // If somebody kills the warden, the program shall not outlive it.
        sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if (*launch).detached {
            or_fail!(stage::SESSION, sys!(libc::SYS_setpgid, 0, 0));
            // Not a session of its own: where the kernel shares out the processors by sessions, many programs at once would
            // leave us and their wardens, in one session, next to nothing. Who is no leader gives up the terminal alone.
            let terminal =
                sys!(libc::SYS_openat, libc::AT_FDCWD, c"/dev/tty".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC, 0);
            if errno(terminal).is_none() {
                or_fail!(stage::SESSION, sys!(libc::SYS_ioctl, terminal, libc::TIOCNOTTY, 0));
                sys!(libc::SYS_close, terminal);
            }
        } else if !(*launch).is_confined() {
            or_fail!(stage::SESSION, sys!(libc::SYS_setpgid, 0, (*launch).group));
        }
        // The sources of 0, 1 and 2 are above 2 or already in place, so none is overwritten before it is used.
        let sources = [(*launch).stdio[0], (*launch).stdio[1], (*launch).stdio[2], (*launch).script];
        let mut target = 0;
        while target < 4 {
            let source = *sources.as_ptr().add(target);
            if source == target as i32 {
                or_fail!(stage::STDIO, sys!(libc::SYS_fcntl, source, libc::F_SETFD, 0));
            } else if source >= 0 {
                or_fail!(stage::STDIO, sys!(libc::SYS_dup3, source, target, 0));
            }
            target = target.wrapping_add(1);
        }
        or_fail!(stage::DIRECTORY, sys!(libc::SYS_chdir, (*launch).cwd));
        if (*launch).cgroups[0] >= 0 {
            or_fail!(stage::CGROUP, sys!(libc::SYS_write, (*launch).cgroups[0], b"0".as_ptr(), 1));
        }
        if (*launch).cgroups[1] >= 0 {
            or_fail!(stage::PROCESSES, sys!(libc::SYS_write, (*launch).cgroups[1], b"0".as_ptr(), 1));
        }
        let mut at = 0;
        while at < (*launch).limit_count {
            let (resource, value) = *(*launch).limits.as_ptr().add(at);
            // Limits are only ever lowered: where we are held to less ourselves, that stays.
            let mut limit = [value, value];
            or_fail!(stage::LIMITS, sys!(libc::SYS_prlimit64, 0, resource, 0, limit.as_mut_ptr()));
            if value < limit[1] {
                limit = [value, value];
            } else {
                limit[0] = limit[1];
            }
            or_fail!(stage::LIMITS, sys!(libc::SYS_prlimit64, 0, resource, limit.as_ptr(), 0));
            at = at.wrapping_add(1);
        }
        let (mark, value) = MARK;
        let limit = [value, value];
        sys!(libc::SYS_prlimit64, 0, mark, limit.as_ptr(), 0);
        // Dispositions first: with signals open, a handler of the host would run here, in its memory.
        let mut signal = 1_i32;
        while signal <= 64 {
            sys!(libc::SYS_rt_sigaction, signal, DEFAULT_ACTION.as_ptr(), 0, 8);
            signal = signal.wrapping_add(1);
        }
        let none = 0_u64;
        sys!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const none, 0, 8);
        if (*launch).halts {
            or_fail!(stage::HALT, sys!(libc::SYS_ptrace, libc::PTRACE_TRACEME, 0, 0, 0));
        }
        // Last, for it takes away what the rest needs.
        if !perform(launch, list::PROGRAM) {
            exit(127)
        }
        or_fail!(stage::EXECUTE, sys!(libc::SYS_execve, (*launch).path, (*launch).argv, (*launch).envp));
        exit(127)
    }
}
