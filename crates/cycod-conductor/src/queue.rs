//! What the conductor needs of a hub.

use cycod_flow::{FlowEvent, FlowHeard, FlowTask, FlowWork, LostAnswer, WorkAnswer};
use serde::{Deserialize, Serialize};

/// Work that is to be done, and where Restate waits for what comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowOffer {
    /// The work.
    pub work: FlowWork,
    /// The labels of the workers that may do it, in addition to those of the run.
    pub labels: Vec<String>,
    /// The ID of the awakeable.
    pub awakeable: String,
}

/// A question to a person: what follows for an attempt that was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowQuestion {
    /// The attempt.
    pub about: FlowTask,
    /// The ID of the awakeable.
    pub awakeable: String,
}

/// Something that a worker does only with the consent of a person, who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowHold {
    /// What it is.
    pub work: FlowWork,
    /// The ID of the awakeable.
    pub awakeable: String,
}

/// That a person was asked about it, as Restate passes it on. What came of that is for the worker alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkResumed {
    /// What it is.
    pub work: FlowWork,
}

/// What a person says, as Restate passes it on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonAnswer {
    /// The attempt.
    pub about: FlowTask,
    /// What follows.
    pub answer: LostAnswer,
    /// The result that came late, if the attempt was done and there is one. It counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<TaskAnswer>,
}

impl PersonAnswer {
    /// What the run hears, with the task of which it came.
    pub fn heard(self) -> (FlowHeard, Option<String>) {
        match self.late {
            Some(TaskAnswer { task, answer, .. }) => (FlowHeard::Late(self.about, answer), Some(task)),
            None => (FlowHeard::Said(self.about, self.answer), None),
        }
    }
}

/// One thing that happened in a run, with what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowCommit {
    /// The run.
    pub run: String,
    /// How many things happened before.
    pub number: i64,
    /// What happened.
    pub event: FlowEvent,
    /// The task of which it came.
    pub task: Option<String>,
    /// What starts.
    pub offers: Vec<FlowOffer>,
    /// What a person is asked.
    pub questions: Vec<FlowQuestion>,
    /// What needs a person's consent.
    pub holds: Vec<FlowHold>,
    /// What has to stop.
    pub stops: Vec<FlowWork>,
    /// Whether nothing more happens.
    pub is_over: bool,
}

/// What came of a task, as Restate passes it on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskAnswer {
    /// The task.
    pub task: String,
    /// What came of it.
    pub answer: WorkAnswer,
    /// Whether the run had been cancelled before, which Restate may pass on later than this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cancelled: bool,
}

/// Why something that happened was not written down.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// Nobody waits for the run any more.
    #[error("the run is over")]
    Gone,
    /// It may work later.
    #[error("{0}")]
    Failed(String),
}

/// Where work waits for workers.
pub trait FlowQueue: Send + Sync + 'static {
    /// Writes down what happened and puts what starts into the queue, as one change. The same once more changes nothing.
    ///
    /// # Errors
    /// When the run is over, or the database fails.
    fn commit(&self, commit: &FlowCommit) -> Result<(), CommitError>;

    /// Ends a run that can't go on.
    ///
    /// # Errors
    /// When the database fails.
    fn give_up(&self, run: &str, why: &str) -> Result<(), CommitError>;
}
