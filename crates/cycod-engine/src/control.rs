use std::sync::Arc;

use cycod_process::{Observer, Stop};

use crate::{Caller, Carrier, SpanContext};

/// Where a run is carried out.
#[derive(Clone, Debug, Default)]
pub enum RunPlace {
    /// Where its tool says.
    #[default]
    AsDefined,
    /// On this machine.
    Here,
    /// By others.
    Carried(Arc<dyn Carrier>),
}

impl RunPlace {
    /// What carries the run out, where others do.
    pub(crate) fn carrier(&self) -> Option<&Arc<dyn Carrier>> {
        if let Self::Carried(carrier) = self { Some(carrier) } else { None }
    }
}

/// How a run is steered from outside.
#[derive(Clone, Debug)]
pub struct Control {
    /// Ends the run.
    pub stop: Stop,
    /// Whether a person sits at this process's terminal and can answer an interactive tool.
    pub is_attended: bool,
    /// The most bytes of each stream of a step that the report holds, for callers that take the bytes from the events.
    pub keep: Option<u64>,
    /// Who learns what the programs touch. A tool that is confined is not observed: it would have to run unconfined.
    pub observer: Option<Arc<dyn Observer>>,
    /// Who asks for the run, for the history; without one, the person at this machine.
    pub caller: Option<Caller>,
    /// Whether the run can go on after a crash, also where the tool does not say so.
    pub durable: bool,
    /// Whether steps run although their results are stored; the new ones are stored instead.
    pub refreshes_cache: bool,
    /// The session of the caller: functions share their interpreters, and what those hold, within one.
    pub session: Option<String>,
    /// The span in which the caller works; without one, that of the environment.
    pub trace: Option<SpanContext>,
    /// Whether that is the span of this very run, and the caller writes those of its steps.
    pub is_traced_elsewhere: bool,
    /// Where the run is carried out.
    pub place: RunPlace,
}

impl Control {
    /// The control of a run that `stop` ends, that nobody attends, and of which nothing else is asked.
    pub fn new(stop: Stop) -> Self {
        Self {
            stop,
            is_attended: false,
            keep: None,
            observer: None,
            caller: None,
            durable: false,
            refreshes_cache: false,
            session: None,
            trace: None,
            is_traced_elsewhere: false,
            place: RunPlace::AsDefined,
        }
    }
}
