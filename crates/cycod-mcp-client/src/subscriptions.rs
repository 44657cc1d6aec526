//! The resources of a server that somebody wants to hear of.
#![expect(deprecated, reason = "servers of the era with handshakes are asked for each resource")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cycod_diagnostic::Refusal;
use cycod_thread::{DetachedTask, task};
use rmcp::model::SubscribeRequestParams;

use crate::{
    connection::{Connection, listen_to},
    updates::Updates,
    watch::lock,
};

/// A resource that somebody wants to hear of.
#[derive(Debug, Default)]
pub(crate) struct Subscribed {
    /// How many do.
    pub(crate) listeners: usize,
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

pub(crate) fn is_legacy(connection: &Connection) -> bool {
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
    subscriptions: &Mutex<Subscriptions>,
    updates: &Updates,
    connection: &Arc<Connection>,
    uri: &str,
) -> Result<(), Refusal> {
    let is_first = {
        let mut known = lock(subscriptions);
        let subscribed = known.entry(uri.to_owned()).or_default();
        subscribed.listeners += 1;
        subscribed.listeners == 1
    };
    if is_first { ask(subscriptions, updates, connection, uri).await } else { Ok(()) }
}

/// Asks a server to tell of a resource. One that does not tell of any is not asked.
async fn ask(
    subscriptions: &Mutex<Subscriptions>,
    updates: &Updates,
    connection: &Arc<Connection>,
    uri: &str,
) -> Result<(), Refusal> {
    if !tells(connection) {
        return Ok(());
    }
    if is_legacy(connection) {
        let asked = connection.peer().subscribe(SubscribeRequestParams::new(uri)).await;
        return asked.map_err(|error| connection.refusal(&error));
    }
    let (updates, server) = (updates.clone(), Arc::clone(&connection.handler.server));
    let (connection, listened) = (Arc::clone(connection), uri.to_owned());
    let listening = task(async move {
        // That a stream ends is no failure: the next connection begins another.
        drop(listen_to(&connection, &listened, |uri| updates.tell(&server, uri)).await);
    });
    match lock(subscriptions).get_mut(uri) {
        Some(subscribed) => subscribed.task = Some(listening),
        None => listening.abort(),
    }
    Ok(())
}

/// Asks a server that was started again for everything that it was asked for before.
pub(crate) async fn subscribe_again(
    subscriptions: &Mutex<Subscriptions>,
    updates: &Updates,
    connection: &Arc<Connection>,
) {
    let uris: Vec<String> = lock(subscriptions).keys().cloned().collect();
    for uri in uris {
        // Nobody gets news of what it does not tell of any more.
        drop(ask(subscriptions, updates, connection, &uri).await);
    }
}
