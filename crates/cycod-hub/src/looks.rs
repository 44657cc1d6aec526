//! What requests wait for that stay open until a task has news, or until there is one to run.
//!
//! One look at the database for all of them finds out whom a change concerns. If each asked for itself, a hub with many runs would
//! do little else: whatever any run writes would be a reason for all others to ask.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use cycod_thread::blocking;
use tokio::sync::watch;

use crate::{Hub, HubError, HubTransaction, SqlRow, flows};

/// How often the database is looked at, which another hub may have changed.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How long changes are collected for each request that waits, and at most.
const SETTLE: Duration = Duration::from_micros(100);
const SETTLE_AT_MOST: Duration = Duration::from_millis(10);

/// What a request waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// A task that a worker can run.
    Work,
    /// News of a task.
    Task(String),
}

/// What was seen at one time.
#[derive(Debug, Default)]
struct Look {
    /// How many there were before it.
    number: u64,
    /// Whether a task waits for a worker.
    has_work: bool,
    /// What changes with each news of the tasks that requests wait for.
    tasks: HashMap<String, String>,
}

/// The last look, and whom it is for.
#[derive(Debug)]
pub(crate) struct Looks {
    last: watch::Sender<Look>,
    /// How many requests wait for each task.
    awaited: Mutex<HashMap<String, usize>>,
}

impl Default for Looks {
    fn default() -> Self {
        Self { last: watch::Sender::new(Look::default()), awaited: Mutex::default() }
    }
}

/// One request that waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    hub: Hub,
    what: Awaited,
    looks: watch::Receiver<Look>,
}

impl Waiting {
    /// Begins to wait: what changes from now on ends that.
    pub(crate) fn new(hub: Hub, what: Awaited) -> Self {
        if let Awaited::Task(task) = &what {
            *hub.looks().awaited().entry(task.clone()).or_default() += 1;
        }
        let looks = hub.looks().last.subscribe();
        Self { hub, what, looks }
    }

    /// What the last look says.
    pub(crate) fn mark(&mut self) -> Option<String> {
        let look = self.looks.borrow_and_update();
        match &self.what {
            // As long as there is work, each look is a reason to ask: it may be for this worker now.
            Awaited::Work => look.has_work.then(|| look.number.to_string()),
            Awaited::Task(task) => look.tasks.get(task).cloned(),
        }
    }

    /// Waits until a look says something else.
    pub(crate) async fn moved(&mut self, mark: &Option<String>) {
        while self.looks.changed().await.is_ok() {
            let new = self.mark();
            if new != *mark && (new.is_some() || self.what != Awaited::Work) {
                return;
            }
        }
        // Nobody looks any more.
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Awaited::Task(task) = &self.what else { return };
        let mut awaited = self.hub.looks().awaited();
        if let Some(count) = awaited.get_mut(task) {
            *count -= 1;
            if *count == 0 {
                awaited.remove(task);
            }
        }
    }
}

impl Looks {
    fn awaited(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks whenever something changes, for ever. A failure is one of the database, which the requests themselves find.
pub(crate) async fn look(hub: &Hub) {
    loop {
        let mut changed = std::pin::pin!(hub.fleet_changes().notified());
        changed.as_mut().enable();
        if hub.looks().last.receiver_count() > 0 {
            let names: Vec<String> = hub.looks().awaited().keys().cloned().collect();
            let settle = SETTLE.saturating_mul(u32::try_from(names.len()).unwrap_or(u32::MAX)).min(SETTLE_AT_MOST);
            let door = hub.clone();
            if let Ok(Ok((has_work, tasks))) = blocking(move || door.look(&names)).await {
                hub.looks().last.send_if_modified(|look| {
                    let is_news = has_work || look.has_work || look.tasks != tasks;
                    *look = Look { number: look.number + 1, has_work, tasks };
                    is_news
                });
            }
            tokio::time::sleep(settle).await;
        }
        _ = tokio::time::timeout(LOOK_AGAIN, changed).await;
    }
}

impl Hub {
    fn look(&self, names: &[String]) -> Result<(bool, HashMap<String, String>), HubError> {
        self.run(|tx| {
            let waiting = tx.row("SELECT id FROM tasks WHERE state = 'waiting' LIMIT 1", &[])?;
            let mut tasks = HashMap::new();
            for name in names {
                tasks.extend(marked(tx, name)?.map(|mark| (name.clone(), mark)));
            }
            Ok((waiting.is_some(), tasks))
        })
    }
}

/// What changes whenever there is news of a task.
fn marked(tx: &mut dyn HubTransaction, name: &str) -> Result<Option<String>, HubError> {
    if let Some(mark) = flows::mark(tx, name)? {
        return Ok(Some(mark));
    }
    let row = tx.row("SELECT state, pieces, worker, lost FROM tasks WHERE id = $1", &[name.into()])?;
    let mark = |row: SqlRow| Ok(format!("{} {} {} {}", row.text(0)?, row.number(1)?, row.text(2)?, row.text(3)?));
    row.map(mark).transpose()
}
