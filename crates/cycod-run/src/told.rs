//! Runs whose steps other machines carry out: what is written down of one, and what follows it.
//!
//! ```text
//!            facts 1, 2, 3 …                     facts 1, 2, 3 …, events
//!  a worker ◄──────────────── the conductor ───────────────────────────► the machine that began the run
//!   one step   ── a fact ───►  the flow                                   (the same journal and report as here)
//! ```
//!
//! The facts are the events of the flow, in the order in which its driver told them. Each machine plans the call itself and
//! tells its own flow the same facts, so all know how far the run is, and a machine does only what its own flow asks for.

use cycod_diagnostic::Refusal;
use cycod_flow::{FlowEvent, FlowWork, WorkAnswer};
use cycod_process::Stop;

use crate::Event;

/// One thing that happened in such a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFact {
    /// What the flow is told.
    pub event: FlowEvent,
    /// What is known of the step that ended; empty for anything else.
    pub entry: Vec<u8>,
}

impl FlowFact {
    /// Writes it down.
    pub fn to_bytes(&self) -> Vec<u8> {
        // No event can fail to be written.
        let head = serde_json::to_vec(&self.event).unwrap_or_default();
        let mut bytes = u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(&self.entry);
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) wrote; nothing for anything else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (head, entry) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Self { event: serde_json::from_slice(head).ok()?, entry: entry.to_vec() })
    }
}

/// What is new of a run that other machines carry out.
#[derive(Debug)]
pub enum FlowNews {
    /// A step said something.
    Event(Event<'static>),
    /// The flow was told something.
    Fact(FlowFact),
}

/// Where news of a run come from.
pub trait FlowSource {
    /// Waits for what is new. When `stop` is raised, it asks for the end of the run, and goes on until that comes.
    ///
    /// # Errors
    /// When nothing more can come.
    fn next(&mut self, stop: &Stop) -> Result<FlowNews, Refusal>;
}

/// What one machine is to do of a run.
#[derive(Clone, Debug)]
pub struct StepOrder {
    /// Which work.
    pub work: FlowWork,
    /// What happened before.
    pub past: Vec<FlowFact>,
    /// How long ago the run began.
    pub elapsed: std::time::Duration,
    /// The labels of this machine.
    pub labels: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDone {
    /// For the conductor.
    pub answer: WorkAnswer,
    /// What is known of the step; empty for what is no end of one.
    pub entry: Vec<u8>,
}
