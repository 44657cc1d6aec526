//! Somebody who wants to hear of a resource.
#![expect(deprecated, reason = "servers of the era with handshakes are asked for each resource")]

use std::sync::Arc;

use cycod_thread::task_on;
use rmcp::model::UnsubscribeRequestParams;
use tokio::runtime::Handle;

use crate::{slot::Slot, subscriptions::is_legacy, watch::lock};

/// Somebody who wants to hear of a resource; the server forgets it when the last of them is dropped.
#[derive(Debug)]
pub struct ResourceWatch {
    pub(crate) slot: Arc<Slot>,
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
        let (slot, uri) = (Arc::clone(&self.slot), self.uri.clone());
        let ending = async move {
            let Some(connection) = slot.reached().await else { return };
            if is_legacy(&connection) {
                // A server that forgets nothing is not believed when it speaks of it.
                _ = connection.peer().unsubscribe(UnsubscribeRequestParams::new(uri)).await;
            }
        };
        task_on(&self.runtime, ending).detach();
    }
}
