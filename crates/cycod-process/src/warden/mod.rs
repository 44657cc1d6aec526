//! The mechanism of Linux: a *warden* for every started program.
//!
//! Three promises are hard to keep together. Nothing may survive a run: not a child that ignores SIGTERM, not one that
//! moves to a session of its own, not one whose parent died early, and not even when *we* are killed with SIGKILL and have
//! no say any more. Starting must stay cheap however large we are. And a background process must stay alive, if the tool's
//! author meant it to, until the run is over.
//!
//! A process group does not hold a child that calls `setsid`. A reaper that adopts orphans (`PR_SET_CHILD_SUBREAPER`) does,
//! but being one is a property of a whole process: we would inherit the orphans of whatever else our host runs, and nobody
//! would inherit them when we die. So each program gets a small process of its own above it:
//!
//! ```text
//!            our process                               warden's process                  program's process
//!   ┌──────────────────────────────┐  control   ┌─────────────────────────────┐
//!   │ Watch: one thread in poll    │◄──socket──►│ poll: control, SIGCHLD      │  clone   ┌──────────────────┐
//!   │  feeds stdin, drains output, │            │ adopts and reaps orphans    ├─────────►│ session, stdio,  │
//!   │  heeds deadline, stop, memory│            │ EOF or K on control:        │          │ directory, group,│
//!   └───────▲──────────────▲───────┘            │   stop all, kill all, again │          │ limits, execve   │
//!           │ stdout       │ stderr             └──────────▲──────────────────┘          └──┬────────────┬──┘
//!           └──────────────┴─────────────────────────────────────────────────── pipes ──────┘            │
//!                                                          │ orphans                                      ▼
//!                                                          └────────────────────────────────── anything it starts
//! ```
//!
//! **Cheap.** The warden is cloned with our memory (`CLONE_VM`), so no page table is copied: it costs the same at 2 MiB and
//! at 2 GiB. It is no thread: it has its own descriptors, signal actions and children, and it lives on when we die. The price
//! is a rule for the code it runs, [`body`]: system calls on memory prepared before, and nothing else, because locks,
//! allocator and thread-local storage belong to the thread that cloned it. It is cloned with all signals blocked, so none of
//! our handlers ever runs in it. The program is then cloned the same way, and the warden sleeps until it has executed.
//!
//! **Nothing survives.** Whatever the program starts is below the warden, and an orphan is handed to the nearest reaper above,
//! which is the warden. Our end of the control socket is closed by the kernel however we die; the warden then stops everything
//! below it (SIGSTOP: a stopped process cannot fork away from the walk), kills it, reaps it, and repeats until it has no child
//! left. Then it exits. The program itself also dies with its warden (`PR_SET_PDEATHSIG`).
//!
//! **Background processes.** When the program has ended and something else is left, the warden stays and the
//! [session](Session) keeps it. If the left ones still hold the output pipes, the warden reads and discards
//! what they write, for a closed or full pipe would end or block them. [`Session::finish`] asks, waits, kills and counts.
//!
//! **Until an instant.** We may have something for a time only, and be stopped when it is over. So every warden reads in our memory
//! until when it holds, and then ends all below it: see [`crate::expire_at`].
//!
//! **A stopped warden.** A program may stop its warden (SIGSTOP). Every limit is watched from our side, so it holds: we let the
//! warden go on before it has to do something, and when it still does not do it, because it is stopped again and again, our side
//! stops and kills what is below it. When we die, the kernel lets it go on (`PR_SET_PDEATHSIG`).
//!
//! **Asking** (SIGTERM, with a grace period) is done from our side in ordinary code: find everything below the warden, signal it.
//!
//! **Conversations.** A program that talks with us for long, as a server does on its standard streams, has a warden of its own,
//! and its streams belong to the caller: see [`Conversation`].
//!
//! **Prepared shells.** A [`Pool`] starts wardens and shells before they are needed: see [`prepared`].
//!
//! **Confinement.** A warden can be the first process of namespaces of its own, and its program be held to what it was
//! granted: see [`confine`]. **Observation.** Or we learn what it touches while it runs as ever: see [`observe`].
//!
//! What this does not do: a program that is not confined and may signal its warden can kill it. It dies too, and its run ends,
//! but what it had set loose before is nobody's then; the same goes for the kernel's out-of-memory killer picking our address
//! space, which is the warden's. A confined program cannot: the kernel keeps signals from the first process of a namespace, and
//! ends all the others with it. Processes that changed to another user can refuse our signals; the session reports them as
//! survivors.

mod area;
mod body;
mod calls;
mod cgroup;
mod computing;
mod confine;
mod conversation;
mod launch;
mod memory;
mod observe;
mod pool;
mod prepared;
mod processes;
mod sys;
mod tree;
mod watch;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::{EndedProcess, Leftovers, Spec, StartError, Stop, Stream};
use cgroup::Base;
pub(crate) use computing::compute_only;
pub(crate) use confine::offered;
pub(crate) use conversation::Conversation;
use launch::{Hold, Purpose, Warden};
pub(crate) use pool::Pool;
use prepared::Key;
use watch::{NotStarted, Watch};

/// When every warden ends what is below it, in nanoseconds of the clock that also counts while the machine sleeps; 0 for never.
/// Wardens read it in the memory that they share with us, so it holds when we are stopped.
static EXPIRY: AtomicI64 = AtomicI64::new(0);

/// See [`crate::expire_at`].
pub(crate) fn expire_at(at: Option<Instant>) {
    let nanos = at.map(|at| {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: it writes one time.
        unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut now) };
        let now = Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32);
        let left = at.saturating_duration_since(Instant::now());
        i64::try_from(now.saturating_add(left).as_nanos()).unwrap_or(i64::MAX)
    });
    EXPIRY.store(nanos.unwrap_or(0), Ordering::SeqCst);
}

/// How long background processes have between the request to stop and the kill when a session finishes.
const FINISH_GRACE: Duration = Duration::from_millis(500);
/// How long we wait for killed processes to be gone; only a process that hangs in the kernel, or that we may not signal, takes longer.
const GIVE_UP: Duration = Duration::from_secs(5);
/// How long a warden has to end a tree before we do it ourselves, and again.
const AGAIN: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Session {
    null: Arc<OwnedFd>,
    bases: OnceLock<Vec<Base>>,
    counting_bases: OnceLock<Vec<Base>>,
    /// Wardens of programs that ended before everything they started.
    left: Mutex<Vec<Warden>>,
}

/// The empty device, which sessions share that are there at once.
fn null() -> io::Result<Arc<OwnedFd>> {
    static NULL: Mutex<Weak<OwnedFd>> = Mutex::new(Weak::new());
    let mut shared = lock(&NULL);
    if let Some(null) = shared.upgrade() {
        return Ok(null);
    }
    let null = fs::File::options().read(true).write(true).open("/dev/null")?;
    let null = Arc::new(launch::above_stdio(null.into())?);
    *shared = Arc::downgrade(&null);
    Ok(null)
}

impl Session {
    pub(crate) fn new() -> io::Result<Session> {
        Ok(Session { null: null()?, bases: OnceLock::new(), counting_bases: OnceLock::new(), left: Mutex::default() })
    }

    /// Opens a session that may not use control groups.
    pub(crate) fn without_cgroups() -> io::Result<Session> {
        let session = Session::new()?;
        session.bases.get_or_init(Vec::new);
        session.counting_bases.get_or_init(Vec::new);
        Ok(session)
    }

    pub(crate) fn run(
        &self,
        pool: Option<&Pool>,
        spec: &Spec,
        stop: &Stop,
        started: &mut dyn FnMut(),
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<EndedProcess, StartError> {
        if spec.observer.is_some() && spec.confinement.is_some() {
            let what = "an observer and a confinement at once";
            return Err(StartError::Unsupported { program: spec.program.path.clone(), what });
        }
        self.forget_finished();
        let begun = Instant::now();
        let _visit = pool.map(Pool::visit);
        let prepared = pool.and_then(|pool| Key::of(spec).and_then(|(key, text)| pool.take(key, text)));
        if let Some((warden, pipes)) = prepared {
            started();
            let (result, warden) = Watch::new(spec, stop, warden, pipes, begun).run(sink);
            self.keep(warden);
            return result.map_err(|reason| reason.into_error(&spec.program));
        }
        let (bases, counting) = self.bases(spec);
        for rung in 0..=bases.len() {
            let hold = Hold::new(spec, &bases[rung..], counting)?;
            let begun = Instant::now();
            let (warden, pipes) = launch::start(self, spec, Purpose::Run, hold)?;
            started();
            let (result, warden) = Watch::new(spec, stop, warden, pipes, begun).run(sink);
            self.keep(warden);
            match result {
                Err(NotStarted::Cgroup) if rung < bases.len() => {}
                result => return result.map_err(|reason| reason.into_error(&spec.program)),
            }
        }
        unreachable!("the last rung uses no control group, so the loop returned")
    }

    /// Where control groups for this program can be made: for its memory, and for its number of processes.
    fn bases(&self, spec: &Spec) -> (&[Base], &[Base]) {
        let limits_processes = spec.confinement.as_ref().is_some_and(|confinement| confinement.processes.is_some());
        let memory = spec.limits.memory.map(|_| self.bases.get_or_init(|| cgroup::bases("memory")));
        let processes = limits_processes.then(|| self.counting_bases.get_or_init(|| cgroup::bases("pids")));
        (memory.map_or(&[], Vec::as_slice), processes.map_or(&[], Vec::as_slice))
    }

    /// What to hold a program to that is started once.
    fn hold(&self, spec: &Spec) -> Result<Hold, StartError> {
        let (memory, processes) = self.bases(spec);
        Hold::new(spec, memory, processes)
    }

    /// Takes back a warden: for its memory if it is gone, for later if something is left below it.
    fn keep(&self, mut warden: Warden) {
        match warden.take_area() {
            Some(area) => area.give_back(),
            None => lock(&self.left).push(warden),
        }
    }

    fn forget_finished(&self) {
        let mut left = lock(&self.left);
        if !left.is_empty() {
            left.retain_mut(|warden| !warden.is_gone_within(Duration::ZERO));
        }
    }

    pub(crate) fn finish(self) -> Leftovers {
        self.forget_finished();
        let mut left = std::mem::take(&mut *lock(&self.left));
        if left.is_empty() {
            return Leftovers::default();
        }
        let living = |left: &[Warden]| left.iter().map(|warden| living(&tree::descendants(warden.pid(), &[]))).sum();
        let processes = living(&left);
        for warden in &left {
            warden.wake();
            tree::descendants(warden.pid(), &[libc::SIGTERM, libc::SIGCONT]);
        }
        wait_all(&mut left, FINISH_GRACE);
        let killed = living(&left);
        end_all(&mut left);
        Leftovers { processes, killed, survived: living(&left) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut left = std::mem::take(&mut *lock(&self.left));
        end_all(&mut left);
    }
}

/// Ends wardens with everything below them, and keeps those that are not gone.
fn end_all(left: &mut Vec<Warden>) {
    left.iter().for_each(Warden::kill);
    let end = Instant::now() + GIVE_UP;
    left.retain_mut(|warden| !warden.ends_within(end.saturating_duration_since(Instant::now())));
}

/// Waits until wardens are gone, and keeps those that are not.
fn wait_all(left: &mut Vec<Warden>, patience: Duration) {
    let end = Instant::now() + patience;
    left.retain_mut(|warden| !warden.is_gone_within(end.saturating_duration_since(Instant::now())));
}

/// Counts the processes that have not ended.
fn living(pids: &[i32]) -> usize {
    let lives = |pid: &&i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The state follows the name, which may hold anything, parentheses too.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    pids.iter().filter(lives).count()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
