//! What all connections of a server have in common.

use std::sync::Arc;

use cycod_engine::outputs::Shelf as Outputs;
use cycod_store::{RunId, StoreError, Tickets};
use tokio::sync::Notify;

use crate::{
    ServerOptions, changes::Changes, handles::Handles, running::Running, shelf::Shelf, upstream::AccountLinks,
};

/// How many questions may be out at once.
const TICKETS: usize = 4_096;

/// What all connections of a server have in common.
pub(crate) struct Shared {
    pub(crate) options: Arc<ServerOptions>,
    pub(crate) shelf: Shelf,
    pub(crate) running: Running,
    pub(crate) changes: Changes,
    /// Told when the server works in another directory.
    pub(crate) moved: Arc<Notify>,
    pub(crate) handles: Handles,
    pub(crate) outputs: Outputs,
    pub(crate) tickets: Tickets,
    /// Where links in the answers of other servers lead.
    pub(crate) links: AccountLinks,
    /// What no other server is called.
    pub(crate) session: RunId,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Shared {
    /// Opens the place.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub(crate) fn new(options: ServerOptions) -> Result<Arc<Self>, StoreError> {
        let options = Arc::new(options);
        let outputs = Outputs::new(options.outputs.clone(), options.retention, options.jq_worker.clone());
        Ok(Arc::new(Self {
            shelf: Shelf::new(Arc::clone(&options)),
            options,
            running: Running::default(),
            changes: Changes::default(),
            moved: Arc::default(),
            handles: Handles::default(),
            outputs,
            links: AccountLinks::default(),
            tickets: Tickets::of_this_process("mcp request state", TICKETS)?,
            session: RunId::random()?,
        }))
    }
}
