use serde::{Deserialize, Serialize};

use crate::ScopeId;

/// What a flow has to know of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepShape {
    /// What it is called, for those who are asked about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The steps of the same scope that it waits for, by index.
    pub after: Vec<usize>,
    /// Whether a condition decides if it runs.
    pub is_conditional: bool,
    /// Whether the scope goes on when it fails.
    pub continue_on_error: bool,
    /// Whether it runs only after another step has failed and stopped the others. It waits only for steps of this kind, and its own
    /// failure stops those.
    pub on_failure: bool,
    /// How many times a failed attempt is tried again.
    pub retries: u32,
    /// Whether there is something to do when all attempts failed.
    pub has_fallback: bool,
    /// What follows the loss of an attempt.
    pub on_lost: LostPolicy,
    /// The labels of the machines that may carry it out, in addition to those of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// What follows when the process that carried out an attempt is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostPolicy {
    /// The attempt starts again: doing it twice does no harm.
    Retry,
    /// The step has failed.
    Fail,
    /// A person decides.
    #[default]
    Ask,
}

/// A step of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepId {
    /// The scope it belongs to.
    pub scope: ScopeId,
    /// Its place among the steps of the scope.
    pub index: usize,
}

/// Which of a step's attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attempt {
    /// A regular one, counted from 1.
    Number(u32),
    /// What is done when all of those failed.
    Fallback,
}

/// One start of one attempt; no two starts in a flow have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FlowTask {
    /// Of which step.
    pub step: StepId,
    /// Which attempt.
    pub attempt: Attempt,
    /// How often this attempt was lost before.
    pub losses: u32,
}

/// What came of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionResult {
    /// The step runs.
    Run,
    /// The step is skipped.
    Skip,
    /// The condition has no value; the step has failed.
    Undecidable,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttemptOutcome {
    /// Well.
    Succeeded,
    /// Badly; another attempt may go better.
    Failed,
    /// It could not begin. Another attempt would end in the same way, a fallback may not.
    Refused,
    /// Somebody, or a rule, said no; what may not be done is not done in another way either.
    Forbidden,
}

/// What a step did not come to because its time was over or the run was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Its next attempt.
    Retry,
    /// Its fallback.
    Fallback,
}

/// The final result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Its last attempt ended so.
    Ended(AttemptOutcome),
    /// Its last attempt failed, and the run was over before the step could go on.
    CutShort(Before),
    /// Its condition was false.
    Skipped,
    /// Its condition has no value.
    Undecidable,
    /// An attempt was lost, and is not started again.
    Lost,
    /// An attempt was lost, and a person said that it was done.
    Done,
    /// The run ended before its turn.
    NotRun,
}

impl Settled {
    /// Whether the step ran, or should have, and ended badly.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Ended(outcome) => outcome != AttemptOutcome::Succeeded,
            Self::CutShort(_) | Self::Undecidable | Self::Lost => true,
            Self::Skipped | Self::Done | Self::NotRun => false,
        }
    }
}
