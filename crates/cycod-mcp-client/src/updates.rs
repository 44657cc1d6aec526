//! Resources that change, and those who want to know.

use tokio::sync::broadcast;

/// How many changes may wait for a listener; one that lags misses the oldest.
const BACKLOG: usize = 256;

/// A resource of a server that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUpdate {
    /// The server.
    pub server: String,
    /// The address that the server gives it.
    pub uri: String,
}

/// Where servers say that a resource has changed.
#[derive(Clone, Debug)]
pub(crate) struct Updates(broadcast::Sender<ResourceUpdate>);

impl Default for Updates {
    fn default() -> Self {
        Self(broadcast::channel(BACKLOG).0)
    }
}

impl Updates {
    pub(crate) fn tell(&self, server: &str, uri: &str) {
        // Nobody may be listening.
        _ = self.0.send(ResourceUpdate { server: server.to_owned(), uri: uri.to_owned() });
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<ResourceUpdate> {
        self.0.subscribe()
    }
}
