use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Instant,
};

use cycod_diagnostic::{Code, Refusal};
use cycod_run::ToolOutcome;
use cycod_settings::Server;
use rmcp::model::JsonObject;
use tokio::sync::Mutex as AsyncMutex;

use crate::{
    call::call,
    connection::{Connection, Surroundings, with_last_words},
    failure,
    health::Health,
    offered::{Offered, offered},
    outcome::outcome,
    pins::Accepted,
    snapshot::{Snapshot, Snapshots},
    watch::{Follow, lock},
};

/// A server with its connection, if there is one now.
pub(crate) struct Slot {
    pub(crate) server: Server,
    open: AsyncMutex<Option<Met>>,
    health: Mutex<Health>,
}

/// A server that was reached, and what it offers.
#[derive(Clone)]
pub(crate) struct Met {
    pub(crate) connection: Arc<Connection>,
    pub(crate) offered: Arc<[Offered]>,
    /// Those that are what was accepted, by the server's names for them.
    allowed: Arc<HashSet<String>>,
}

/// What all servers share.
pub(crate) struct Shared {
    pub(crate) around: Surroundings,
    pub(crate) accepted: Accepted,
    pub(crate) snapshots: Snapshots,
}

impl Slot {
    pub(crate) fn new(server: Server) -> Self {
        Self { server, open: AsyncMutex::new(None), health: Mutex::default() }
    }

    /// Reaches the server, unless it is reached already, and looks what it offers now.
    pub(crate) async fn meet(&self, shared: &Shared) -> Result<Met, Refusal> {
        shared.accepted.consents(&self.server)?;
        let mut open = self.open.lock().await;
        if let Some(met) = open.take_if(|met| met.connection.is_over()) {
            lock(&self.health).failed(Instant::now());
            drop(met);
        }
        let met = match &mut *open {
            Some(met) => {
                if met.connection.refresh().await? {
                    *met = self.learn(Arc::clone(&met.connection), shared)?;
                }
                met.clone()
            }
            None => {
                let pause = lock(&self.health).admit(&self.server.name, Instant::now())?;
                tokio::time::sleep(pause).await;
                let era = shared.snapshots.load(&self.server).map(|snapshot| snapshot.era);
                let opened = Connection::open(&self.server, &shared.around, era.as_deref()).await;
                let connection = Arc::new(opened.map_err(|refusal| {
                    let refusal = failure::of_header(&self.server, refusal);
                    lock(&self.health).failed(Instant::now());
                    shared.snapshots.failed(&self.server, &refusal);
                    refusal
                })?);
                open.insert(self.learn(connection, shared)?).clone()
            }
        };
        Ok(met)
    }

    /// Remembers what the server offers; the first time, the user is taken to have accepted it by adding the server.
    fn learn(&self, connection: Arc<Connection>, shared: &Shared) -> Result<Met, Refusal> {
        let snapshot = Snapshot::of(&connection);
        let offered = offered(&self.server, snapshot.instructions.as_deref(), &snapshot.listing);
        let mut accepted = shared.accepted.of(&self.server)?;
        if !accepted.is_known {
            shared.accepted.accept(&self.server, &offered)?;
            accepted = shared.accepted.of(&self.server)?;
        }
        shared.snapshots.save(&self.server, &snapshot);
        let allowed = offered.iter().filter(|one| accepted.blocks(one).is_none()).map(|one| one.remote.clone());
        Ok(Met { connection, allowed: Arc::new(allowed.collect()), offered: offered.into() })
    }

    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        shared: &Shared,
        tool: &str,
        arguments: JsonObject,
        follow: &Follow,
    ) -> Result<ToolOutcome, Refusal> {
        let Met { connection, offered, allowed } = self.meet(shared).await?;
        let server = &self.server;
        let Some(known) = offered.iter().find(|offered| offered.remote == tool) else {
            let why = format!("the server `{}` does not offer `{tool}` any more", server.name);
            return Err(Refusal::new(Code::UnknownTool, why).place(&server.name).attempt("cycod list --scope mcp"));
        };
        let adopted = known.tool.as_ref().map_err(|why| {
            failure::failed(&server.name, format!("`{tool}` of the server `{}` cannot be used: {why}", server.name))
        })?;
        // Another process may have accepted it in the meantime.
        if !allowed.contains(tool)
            && let Some(blocked) = shared.accepted.of(server)?.blocks(known)
        {
            return Err(blocked.refusal(server, known));
        }
        let result = call(&connection, tool, arguments, follow).await;
        match &result {
            Ok(_) => lock(&self.health).succeeded(),
            Err(refusal) if connection.is_over() => shared.snapshots.failed(server, refusal),
            Err(_) => {}
        }
        let result = result.map_err(|refusal| {
            if connection.is_over() { with_last_words(refusal, &connection.handler.watch) } else { refusal }
        })?;
        outcome(&server.name, tool, result, adopted.returns.as_ref())
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        // A server that is being started is ended by the end of the runtime.
        let Ok(mut open) = self.open.try_lock() else { return };
        if let Some(connection) = open.take().and_then(|met| Arc::into_inner(met.connection)) {
            connection.close().await;
        }
    }

    /// Forgets that the server failed: the user asks for it now.
    pub(crate) fn forgive(&self) {
        lock(&self.health).succeeded();
    }
}
