use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use cycod_process::Stop;

/// How long a tool that was asked to stop has until it is killed: everything must be gone within two seconds.
const GRACE: Duration = Duration::from_millis(1_200);

/// Every run of the server, so that all of them can be ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<Runs>>);

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
}

impl Running {
    /// Notes a new run.
    ///
    /// # Errors
    /// When the server is closing, or the system has no descriptors left.
    pub(crate) fn start(&self) -> io::Result<Run> {
        let stop = Stop::new()?;
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.closed {
            return Err(io::Error::other("the server is closing"));
        }
        let key = runs.next;
        runs.next += 1;
        runs.stops.insert(key, stop.clone());
        Ok(Run { running: self.clone(), key, stop })
    }

    /// How many runs there are.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stops.len()
    }

    /// Ends everything, lets nothing more start, and returns when all is gone or the time is over.
    pub(crate) fn close(&self) {
        let stops: Vec<Stop> = {
            let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

impl Run {
    /// What ends it.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.running.0.lock().unwrap_or_else(PoisonError::into_inner).stops.remove(&self.key);
    }
}

/// Ends a run whose caller has gone away: asks, and kills when its time is over.
pub(crate) async fn end(stop: &Stop) {
    stop.ask();
    tokio::time::sleep(GRACE).await;
    stop.kill();
}
