//! What has changed of what is offered, and those who want to know.

use std::sync::Arc;

use tokio::sync::broadcast;

use crate::shelf::Difference;

/// How many differences may wait for a listener; one that lags is told that everything changed.
const BACKLOG: usize = 16;

/// Where differences are told.
#[derive(Clone, Debug)]
pub(crate) struct Changes(broadcast::Sender<Arc<Difference>>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }
}

impl Changes {
    /// Listens from now on.
    pub(crate) fn listen(&self) -> Listener {
        Listener(self.0.subscribe())
    }

    /// Tells every listener of a difference.
    pub(crate) fn publish(&self, difference: Difference) {
        // Nobody may be listening.
        let _ = self.0.send(Arc::new(difference));
    }
}

/// Somebody who wants to know.
#[derive(Debug)]
pub(crate) struct Listener(broadcast::Receiver<Arc<Difference>>);

impl Listener {
    /// Waits for the next difference; nothing when there will be none.
    pub(crate) async fn next(&mut self) -> Option<Arc<Difference>> {
        match self.0.recv().await {
            Ok(difference) => Some(difference),
            Err(broadcast::error::RecvError::Lagged(_)) => {
                Some(Arc::new(Difference { tools: true, prompts: true, resources: true, updated: Vec::new() }))
            }
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
