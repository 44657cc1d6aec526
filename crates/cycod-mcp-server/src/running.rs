//! The calls that are under way: how many may be, and how each is ended.

use std::{
    collections::HashMap,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cycod_process::Stop;
use cycod_thread::{Broken, blocking};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long a tool that was asked to stop has until it is killed: everything must be gone within two seconds.
const GRACE: Duration = Duration::from_millis(700);

/// How many calls may be under way at once; each holds a few descriptors and a thread.
const MOST: usize = 256;

/// How many more may wait for their turn.
const MOST_WAITING: usize = 4_096;

/// How many calls may begin at once for each processor. More would only take the processors from each other.
const BEGINNING: usize = 4;

/// How long a call may count as beginning; most have ended by then.
const BEGUN: Duration = Duration::from_millis(20);

/// Every run of the server, so that all of them can be ended.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    beginning: Arc<Semaphore>,
    runs: Arc<Mutex<Runs>>,
    turns: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Default for Running {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            beginning: Arc::new(Semaphore::new(BEGINNING * processors)),
            runs: Arc::default(),
            turns: Arc::new(Semaphore::new(MOST)),
            waiting: Arc::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Runs {
    next: u64,
    stops: HashMap<u64, Stop>,
    /// Once closed, nothing more may start.
    closed: bool,
}

/// A run that is under way. Dropped, it is ended.
#[derive(Debug)]
pub(crate) struct Run {
    running: Running,
    key: u64,
    stop: Stop,
    _turn: OwnedSemaphorePermit,
}

impl Running {
    /// Waits for a turn and notes a new run.
    ///
    /// # Errors
    /// When too many wait already, the server is closing, or the system has no descriptors left.
    pub(crate) async fn start(&self) -> io::Result<Run> {
        let turn = self.turn().await?;
        let stop = Stop::new()?;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.closed {
            return Err(io::Error::other("the server is closing"));
        }
        let key = runs.next;
        runs.next += 1;
        runs.stops.insert(key, stop.clone());
        Ok(Run { running: self.clone(), key, stop, _turn: turn })
    }

    /// Does work on a thread that may wait, and begins it in the order in which it came. Work that takes long lets the next
    /// begin, so that it holds nobody up.
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Broken> {
        // It is never closed.
        let beginning = self.beginning.acquire().await.ok();
        let work = blocking(work);
        tokio::pin!(work);
        if let Ok(done) = tokio::time::timeout(BEGUN, &mut work).await {
            return done;
        }
        drop(beginning);
        work.await
    }

    async fn turn(&self) -> io::Result<OwnedSemaphorePermit> {
        if let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned() {
            return Ok(turn);
        }
        let _place = Place::take(&self.waiting)
            .ok_or_else(|| io::Error::other("too many calls wait already; call again in a moment"))?;
        Arc::clone(&self.turns).acquire_owned().await.map_err(io::Error::other)
    }

    /// How many runs there are.
    pub(crate) fn count(&self) -> usize {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).stops.len()
    }

    /// Ends everything, lets nothing more start, and returns when all is gone or the time is over.
    pub(crate) fn close(&self) {
        let stops: Vec<Stop> = {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.closed = true;
            runs.stops.values().cloned().collect()
        };
        for stop in &stops {
            stop.ask();
        }
        let step = Duration::from_millis(10);
        let mut waited = Duration::ZERO;
        while self.count() > 0 && waited < GRACE {
            std::thread::sleep(step);
            waited += step;
        }
        for stop in &stops {
            stop.kill();
        }
        while self.count() > 0 && waited < GRACE + Duration::from_millis(500) {
            std::thread::sleep(step);
            waited += step;
        }
    }
}

/// A place in the queue.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Option<Self> {
        let place = Place(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < MOST_WAITING).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Run {
    /// What ends it.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.running.runs.lock().unwrap_or_else(PoisonError::into_inner).stops.remove(&self.key);
    }
}

/// Ends a run whose caller has gone away: asks, and kills when its time is over.
pub(crate) async fn end(stop: &Stop) {
    stop.ask();
    tokio::time::sleep(GRACE).await;
    stop.kill();
}
