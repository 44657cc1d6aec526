//! Prepared shells: for each environment and directory that ran of late, one that waits for its command. A thread prepares the
//! next one when one was taken, and clears away what nobody wanted for a while.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cycod_thread::{StartedThread, Thread};

use super::launch::{Pipes, Warden};
use super::prepared::{Key, Prepared};
use super::{Session, lock};
use crate::PoolSize;

/// How often the shelves are looked through when no run ends.
const ROUND: Duration = Duration::from_secs(1);
/// How many shelves there are at the most: what is known of a key is small, but the key holds an environment.
const SHELVES: usize = 64;
/// After how many failures nothing more is prepared for a key: it is no shell, or the system forbids what we do.
const FAILURES: u32 = 4;

#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    thread: Option<StartedThread<()>>,
}

#[derive(Debug)]
struct Shared {
    session: Session,
    size: PoolSize,
    processors: usize,
    state: Mutex<State>,
    /// Rings when there may be something to do for the thread.
    bell: Condvar,
}

#[derive(Debug, Default)]
struct State {
    shelves: HashMap<Key, ReadyShells>,
    /// What nobody will take any more.
    outdated: Vec<Prepared>,
    /// Runs under way.
    visits: usize,
    /// Runs that got a prepared shell.
    served: u64,
    /// How often everything was forgotten.
    clearings: u64,
    closed: bool,
}

#[derive(Debug)]
struct ReadyShells {
    ready: VecDeque<Prepared>,
    wanted: usize,
    /// Whether one was seen waiting; its like will, and need not be looked at.
    is_proven: bool,
    /// What came to nothing since one was proven to wait.
    failures: u32,
    used: Instant,
}

/// A run under way. While there are many nothing is prepared, and when one is over there may be time for it: a shell that
/// is prepared beside a run takes what the run needs.
pub(super) struct Visit<'a>(&'a Shared);

impl Pool {
    pub(crate) fn new(size: PoolSize) -> io::Result<Pool> {
        let shared = Arc::new(Shared {
            session: Session::new()?,
            size,
            processors: thread::available_parallelism().map_or(1, usize::from),
            state: Mutex::default(),
            bell: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        let thread = Thread::named("cycod-pool").start(move || theirs.tend())?;
        Ok(Pool { shared, thread: Some(thread) })
    }

    pub(super) fn visit(&self) -> Visit<'_> {
        lock(&self.shared.state).visits += 1;
        Visit(&self.shared)
    }

    /// Takes a shell off its shelf and gives it its program; or learns that there should be one.
    pub(super) fn take(&self, key: Key, text: &OsStr) -> Option<(Warden, Pipes)> {
        let mut guard = lock(&self.shared.state);
        let state = &mut *guard;
        let Some(shelf) = state.shelves.get_mut(&key) else {
            state.add_shelf(key);
            return None;
        };
        shelf.used = Instant::now();
        let taken = shelf.take(&mut state.outdated);
        if taken.is_none() {
            shelf.wanted = (shelf.wanted * 2).clamp(1, self.shared.size.alike);
        }
        drop(guard);
        let released = taken?.release(&key, text);
        let mut state = lock(&self.shared.state);
        if released.is_some() {
            state.served += 1;
        } else if let Some(shelf) = state.shelves.get_mut(&key) {
            shelf.failures += 1;
        }
        released
    }

    pub(crate) fn clear(&self) {
        let mut state = lock(&self.shared.state);
        state.clearings += 1;
        state.forget_idle(Duration::ZERO);
        let old = std::mem::take(&mut state.outdated);
        drop(state);
        end_all(old);
    }

    pub(crate) fn ready(&self) -> usize {
        let state = lock(&self.shared.state);
        state.shelves.values().flat_map(|shelf| &shelf.ready).filter(|prepared| prepared.waits()).count()
    }

    pub(crate) fn served(&self) -> u64 {
        lock(&self.shared.state).served
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.state).closed = true;
        self.shared.bell.notify_one();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        self.clear();
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.visits -= 1;
        self.0.bell.notify_one();
    }
}

impl ReadyShells {
    /// Takes one that waits, as far as is known; those that have ended are put aside.
    fn take(&mut self, outdated: &mut Vec<Prepared>) -> Option<Prepared> {
        while let Some(first) = self.ready.pop_front() {
            if first.has_ended() {
                outdated.push(first);
                // One whose like has waited was killed.
                self.failures += u32::from(!self.is_proven);
            } else if self.is_proven || first.waits() {
                self.is_proven = true;
                self.failures = 0;
                return Some(first);
            } else {
                self.ready.push_front(first);
                break;
            }
        }
        None
    }
}

impl Shared {
    /// What the thread does: it fills the shelves and throws away what nobody takes.
    fn tend(&self) {
        let mut state = lock(&self.state);
        while !state.closed {
            state.forget_idle(self.size.idle);
            let next = state.next(self);
            let old = std::mem::take(&mut state.outdated);
            if old.is_empty() && next.is_none() {
                state = self.bell.wait_timeout(state, ROUND).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let clearings = state.clearings;
            drop(state);
            end_all(old);
            let made = next.map(|key| (Prepared::start(&self.session, &key), key));
            state = self.put(made, clearings);
        }
    }

    /// Puts what was made on its shelf, unless that is not there any more.
    fn put(&self, made: Option<(Option<Prepared>, Key)>, clearings: u64) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        let is_wanted = state.clearings == clearings && !state.closed;
        let Some((made, key)) = made else { return state };
        match (made, state.shelves.get_mut(&key).filter(|_| is_wanted)) {
            (Some(prepared), Some(shelf)) => shelf.ready.push_back(prepared),
            (Some(prepared), None) => state.outdated.push(prepared),
            (None, Some(shelf)) => {
                shelf.failures += 1;
                // The next run that misses one wants it again.
                shelf.wanted = 0;
            }
            (None, None) => {}
        }
        state
    }
}

impl State {
    /// Once is no habit: a key may hold what changes with every run. So the shelf is empty until it is asked again.
    fn add_shelf(&mut self, key: Key) {
        if self.shelves.len() >= SHELVES
            && let Some(last) = self.shelves.iter().min_by_key(|(_, shelf)| shelf.used).map(|(key, _)| key.clone())
        {
            self.outdated.extend(self.shelves.remove(&last).into_iter().flat_map(|shelf| shelf.ready));
        }
        let used = Instant::now();
        self.shelves
            .insert(key, ReadyShells { ready: VecDeque::new(), wanted: 0, is_proven: false, failures: 0, used });
    }

    /// Empties shelves that nobody has used for long.
    fn forget_idle(&mut self, idle: Duration) {
        let now = Instant::now();
        let unused = self.shelves.extract_if(|_, shelf| now.duration_since(shelf.used) >= idle);
        self.outdated.extend(unused.flat_map(|(_, shelf)| shelf.ready));
    }

    /// For what to prepare a shell: what was run last comes first, and what was run least lately makes room for it.
    fn next(&mut self, shared: &Shared) -> Option<Key> {
        if self.visits > shared.processors {
            return None;
        }
        let wanting =
            self.shelves.iter().filter(|(_, shelf)| shelf.failures < FAILURES && shelf.ready.len() < shelf.wanted);
        let (key, used) = wanting.max_by_key(|(_, shelf)| shelf.used).map(|(key, shelf)| (key.clone(), shelf.used))?;
        if self.shelves.values().map(|shelf| shelf.ready.len()).sum::<usize>() >= shared.size.total {
            let filled = self.shelves.values_mut().filter(|shelf| !shelf.ready.is_empty() && shelf.used < used);
            self.outdated.push(filled.min_by_key(|shelf| shelf.used)?.ready.pop_front()?);
        }
        Some(key)
    }
}

/// Ends shells that nobody needs, all at once.
fn end_all(shells: Vec<Prepared>) {
    shells.iter().for_each(Prepared::kill);
    drop(shells);
}
