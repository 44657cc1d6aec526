use std::{sync::Arc, time::SystemTime};

use cycod_definition::Host;

use crate::{Engine, engine::run_id};

/// When a call began, and what its run is called: the same whenever the call is planned again, so that what somebody was
/// shown is what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The moment.
    pub moment: SystemTime,
    /// The name, which no other run has.
    pub run_id: String,
}

impl Beginning {
    /// A call that begins at this moment.
    pub fn at(moment: SystemTime) -> Self {
        Self { moment, run_id: run_id() }
    }
}

impl Engine {
    /// A call that begins when the engine was opened: the only one of a program that makes one.
    pub fn begin(&self) -> Beginning {
        Beginning::at(self.host().now)
    }

    /// The host as it is for a call.
    pub(crate) fn host_of(&self, beginning: &Beginning) -> Arc<Host> {
        let host = self.host();
        if host.now == beginning.moment {
            return Arc::clone(host);
        }
        Arc::new(Host { now: beginning.moment, ..Host::clone(host) })
    }
}
