//! Resources that change, and those who want to know.
#![expect(deprecated, reason = "servers of the era with handshakes are asked for each resource")]

use std::{collections::HashMap, sync::Arc};

use cycod_thread::{DetachedTask, task, task_on};
use rmcp::model::{SubscribeRequestParams, UnsubscribeRequestParams};
use tokio::{runtime::Handle, sync::broadcast};

use crate::{
    connection::{Connection, listen_to},
    slot::{Shared, Slot},
    watch::lock,
};

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

/// A resource that somebody wants to hear of.
#[derive(Debug, Default)]
pub(crate) struct Subscribed {
    /// How many do.
    listeners: usize,
    /// What hears of it from a server of the era without handshakes.
    task: Option<DetachedTask<()>>,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// The resources of a server that somebody wants to hear of.
pub(crate) type Subscriptions = HashMap<String, Subscribed>;

/// Somebody who wants to hear of a resource; the server forgets it when the last of them is dropped.
#[derive(Debug)]
pub struct ResourceWatch {
    pub(crate) slot: Arc<Slot>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) runtime: Handle,
    pub(crate) uri: String,
}

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        {
            let mut subscriptions = lock(&self.slot.subscriptions);
            let Some(subscribed) = subscriptions.get_mut(&self.uri) else { return };
            subscribed.listeners -= 1;
            if subscribed.listeners > 0 {
                return;
            }
            subscriptions.remove(&self.uri);
        }
        let (slot, shared, uri) = (Arc::clone(&self.slot), Arc::clone(&self.shared), self.uri.clone());
        let ending = async move {
            let Some(connection) = slot.reached().await else { return };
            if is_legacy(&connection) {
                // A server that forgets nothing is not believed when it speaks of it.
                _ = connection.peer().unsubscribe(UnsubscribeRequestParams::new(uri)).await;
            }
            drop(shared);
        };
        task_on(&self.runtime, ending).detach();
    }
}

fn is_legacy(connection: &Connection) -> bool {
    connection.info().is_some_and(|info| info.protocol_version.has_initialize())
}

/// Whether a server tells of changed resources.
fn tells(connection: &Connection) -> bool {
    connection.info().is_some_and(|info| {
        let resources = info.capabilities.resources.as_ref();
        resources.is_some_and(|resources| resources.subscribe == Some(true))
    })
}

/// Counts one more who wants to hear of a resource, and asks the server for it if it is the first.
pub(crate) async fn subscribe(
    slot: &Slot,
    shared: &Shared,
    connection: &Arc<Connection>,
    uri: &str,
) -> Result<(), cycod_diagnostic::Refusal> {
    let is_first = {
        let mut subscriptions = lock(&slot.subscriptions);
        let subscribed = subscriptions.entry(uri.to_owned()).or_default();
        subscribed.listeners += 1;
        subscribed.listeners == 1
    };
    if is_first { ask(slot, shared, connection, uri).await } else { Ok(()) }
}

/// Asks a server to tell of a resource. One that does not tell of any is not asked.
async fn ask(
    slot: &Slot,
    shared: &Shared,
    connection: &Arc<Connection>,
    uri: &str,
) -> Result<(), cycod_diagnostic::Refusal> {
    if !tells(connection) {
        return Ok(());
    }
    if is_legacy(connection) {
        let asked = connection.peer().subscribe(SubscribeRequestParams::new(uri)).await;
        return asked.map_err(|error| connection.refusal(&error));
    }
    let (updates, server) = (shared.around.updates.clone(), slot.server.name.clone());
    let (connection, listened) = (Arc::clone(connection), uri.to_owned());
    let listening = task(async move {
        // That a stream ends is no failure: the next connection begins another.
        drop(listen_to(&connection, &listened, |uri| updates.tell(&server, uri)).await);
    });
    match lock(&slot.subscriptions).get_mut(uri) {
        Some(subscribed) => subscribed.task = Some(listening),
        None => listening.abort(),
    }
    Ok(())
}

/// Asks a server that was started again for everything that it was asked for before.
pub(crate) async fn subscribe_again(slot: &Slot, shared: &Shared, connection: &Arc<Connection>) {
    let uris: Vec<String> = lock(&slot.subscriptions).keys().cloned().collect();
    for uri in uris {
        // What it does not tell of any more, nobody is told of.
        drop(ask(slot, shared, connection, &uri).await);
    }
}
