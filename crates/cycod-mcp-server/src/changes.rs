//! What has changed of what is offered, and those who want to know.

use std::sync::Arc;

use cycod_mcp_client::Account;
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
    /// Listens from now on, for somebody of an account.
    pub(crate) fn listen(&self, account: Account) -> Listener {
        Listener { changes: self.0.subscribe(), account }
    }

    /// Tells of a difference every listener whom it concerns.
    pub(crate) fn publish(&self, difference: Difference) {
        // Nobody may be listening.
        let _ = self.0.send(Arc::new(difference));
    }
}

/// Somebody who wants to know.
#[derive(Debug)]
pub(crate) struct Listener {
    changes: broadcast::Receiver<Arc<Difference>>,
    account: Account,
}

impl Listener {
    /// Waits for the next difference; nothing when there will be none.
    pub(crate) async fn next(&mut self) -> Option<Arc<Difference>> {
        loop {
            return match self.changes.recv().await {
                Ok(difference) if difference.of.as_ref().is_some_and(|of| *of != self.account) => continue,
                Ok(difference) => Some(difference),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    let all = Difference { tools: true, prompts: true, resources: true, ..Difference::default() };
                    Some(Arc::new(all))
                }
                Err(broadcast::error::RecvError::Closed) => None,
            };
        }
    }
}
