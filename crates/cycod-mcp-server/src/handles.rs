//! Runs that nobody waits for: tasks of the protocol's extension, and the handles of the `run_…` tools.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use cycod_engine::diagnostic::{Code, Refusal};
use rmcp::{
    ErrorData,
    model::{CallToolResult, DetailedTask, InputRequests, InputResponses, JsonObject, Task, TaskPayload, TaskStatus},
};
use tokio::sync::watch;

/// How long a run that has ended is remembered.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(3600);

/// How often it makes sense to ask, in milliseconds.
pub(crate) const POLL: u64 = 500;

/// How many runs of one owner may be under way, and how many of everybody are remembered.
const MOST_WORKING: usize = 64;
const MOST: usize = 512;

/// Every run that nobody waits for.
#[derive(Debug, Default)]
pub(crate) struct Handles(Mutex<HashMap<String, Arc<Handle>>>);

/// One of them.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// Who started it; nobody else can see it.
    owner: String,
    created: jiff::Timestamp,
    state: Mutex<Inner>,
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct Inner {
    state: State,
    updated: jiff::Timestamp,
    ended: Option<Instant>,
    /// Answers that have come in and nobody has read yet.
    answers: InputResponses,
}

/// How far it is.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// It runs; the last thing it said.
    Working(Option<String>),
    /// It waits for answers.
    Asking(InputRequests),
    /// It has ended, well or badly.
    Completed(CallToolResult),
    /// It could not be carried out.
    Failed(ErrorData),
    /// Somebody ended it.
    Cancelled,
}

impl Handles {
    /// Notes a new run, whose name nobody else can guess.
    ///
    /// # Errors
    /// When too many are under way.
    pub(crate) fn open(&self, id: &str, tool: &str, owner: &str) -> Result<Arc<Handle>, Refusal> {
        let mut handles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        handles.retain(|_, handle| handle.ended().is_none_or(|ended| ended.elapsed() < REMEMBERED));
        let is_working = |handle: &&Arc<Handle>| handle.owner == owner && handle.ended().is_none();
        if handles.values().filter(is_working).count() >= MOST_WORKING {
            let why = format!("{MOST_WORKING} runs are under way; wait for one, or cancel one");
            return Err(Refusal::new(Code::TooManyRuns, why));
        }
        if handles.len() >= MOST {
            let oldest = handles.values().filter_map(|handle| Some((handle.ended()?, handle.id.clone()))).min();
            oldest.map(|(_, id)| handles.remove(&id));
        }
        let now = jiff::Timestamp::now();
        let state = Inner { state: State::Working(None), updated: now, ended: None, answers: InputResponses::new() };
        let handle = Arc::new(Handle {
            id: id.to_owned(),
            tool: tool.to_owned(),
            owner: owner.to_owned(),
            created: now,
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
        });
        handles.insert(id.to_owned(), Arc::clone(&handle));
        Ok(handle)
    }

    /// A run that `owner` started.
    pub(crate) fn get(&self, id: &str, owner: &str) -> Option<Arc<Handle>> {
        let handles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        handles.get(id).filter(|handle| handle.owner == owner).cloned()
    }
}

impl Handle {
    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> Option<Instant> {
        self.inner().ended
    }

    /// How far it is.
    pub(crate) fn state(&self) -> State {
        self.inner().state.clone()
    }

    /// Goes on to another state; one that has ended stays as it is.
    pub(crate) fn set(&self, state: State) {
        let mut inner = self.inner();
        if inner.ended.is_some() {
            return;
        }
        if state.is_over() {
            inner.ended = Some(Instant::now());
        }
        inner.state = state;
        inner.updated = jiff::Timestamp::now();
        drop(inner);
        self.changed.send_modify(|count| *count += 1);
    }

    /// Takes answers; those that nobody asked for are ignored.
    pub(crate) fn answer(&self, answers: InputResponses) {
        let mut inner = self.inner();
        let Inner { state: State::Asking(requests), answers: waiting, .. } = &mut *inner else { return };
        for (key, answer) in answers {
            if requests.remove(&key).is_some() {
                waiting.insert(key, answer);
            }
        }
        drop(inner);
        self.changed.send_modify(|count| *count += 1);
    }

    /// Asks, and waits until everything is answered; nothing when it is cancelled meanwhile.
    pub(crate) async fn ask(&self, requests: InputRequests) -> Option<InputResponses> {
        let mut changed = self.changed.subscribe();
        self.set(State::Asking(requests));
        loop {
            {
                let mut inner = self.inner();
                match &inner.state {
                    State::Asking(left) if left.is_empty() => {
                        let answers = std::mem::take(&mut inner.answers);
                        drop(inner);
                        self.set(State::Working(None));
                        return Some(answers);
                    }
                    State::Asking(_) => {}
                    _ => return None,
                }
            }
            changed.changed().await.ok()?;
        }
    }

    /// Waits until it is over or asks something, at most for `longest`.
    pub(crate) async fn wait(&self, longest: Duration) {
        let mut changed = self.changed.subscribe();
        let settled = async {
            while matches!(self.state(), State::Working(_)) {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        };
        // That the time is over is an answer too.
        let _ = tokio::time::timeout(longest, settled).await;
    }

    /// Waits until somebody cancels it.
    pub(crate) async fn cancelled(&self) {
        let mut changed = self.changed.subscribe();
        while !matches!(self.state(), State::Cancelled) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// The task in the words of the protocol.
    pub(crate) fn task(&self) -> Task {
        let inner = self.inner();
        let status = inner.state.status();
        let mut task = Task::new(&self.id, status, self.created.to_string(), inner.updated.to_string())
            .with_ttl_ms(u64::try_from(REMEMBERED.as_millis()).unwrap_or(u64::MAX))
            .with_poll_interval_ms(POLL);
        if let State::Working(Some(message)) = &inner.state {
            task = task.with_status_message(message);
        }
        task
    }

    /// The task with what it has to say.
    pub(crate) fn detailed(&self) -> DetailedTask {
        let payload = match self.state() {
            State::Working(_) => TaskPayload::Working,
            State::Asking(input_requests) => TaskPayload::InputRequired { input_requests },
            State::Completed(result) => TaskPayload::Completed { result: object(&result) },
            State::Failed(error) => TaskPayload::Failed { error: object(&error) },
            State::Cancelled => TaskPayload::Cancelled,
        };
        DetailedTask::new(self.task(), payload)
    }
}

impl State {
    fn is_over(&self) -> bool {
        matches!(self, Self::Completed(_) | Self::Failed(_) | Self::Cancelled)
    }

    fn status(&self) -> TaskStatus {
        match self {
            Self::Working(_) => TaskStatus::Working,
            Self::Asking(_) => TaskStatus::InputRequired,
            Self::Completed(_) => TaskStatus::Completed,
            Self::Failed(_) => TaskStatus::Failed,
            Self::Cancelled => TaskStatus::Cancelled,
        }
    }

    /// The state in one word, for the `run_…` tools.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Working(_) => "working",
            Self::Asking(_) => "asking",
            Self::Completed(result) if result.is_error == Some(true) => "failed",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

fn object(value: &impl serde::Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_places_of_others() {
        let handles = Handles::default();
        let open = |id: usize, owner| handles.open(&id.to_string(), "t", owner);
        let first = open(0, "ada").expect("there is room");
        (1..MOST_WORKING).for_each(|id| drop(open(id, "ada").expect("there is room")));
        assert!(open(1_000, "ada").is_err());
        let other = open(1_001, "eve").expect("there is room for others");
        assert!(handles.get(&other.id, "ada").is_none() && handles.get(&other.id, "eve").is_some());
        first.set(State::Cancelled);
        assert!(open(1_002, "ada").is_ok());
    }
}
