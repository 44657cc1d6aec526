//! One server: its connection, what it offers, and the calls of its tools.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::Instant,
};

use cycod_definition::RemoteTool;
use cycod_diagnostic::{Code, Refusal};
use cycod_run::{RemoteNews, ToolOutcome};
use cycod_settings::Server;
use rmcp::model::JsonObject;
use tokio::sync::Mutex as AsyncMutex;

use crate::{
    answers::{self, Answers},
    call::call,
    connection::{Connection, Refreshed, Surroundings, with_last_words},
    failure,
    health::Health,
    offered::{Offered, offered},
    outcome::outcome,
    overriding,
    pins::Accepted,
    snapshot::{Snapshot, Snapshots},
    watch::{Follow, lock},
};

/// A server with its connection, if there is one now.
pub(crate) struct Slot {
    pub(crate) server: Server,
    open: AsyncMutex<Option<Met>>,
    health: Mutex<Health>,
    answers: Mutex<Answers>,
}

/// A server that was reached, and what it offers.
#[derive(Clone)]
pub(crate) struct Met {
    pub(crate) connection: Arc<Connection>,
    pub(crate) offered: Arc<[Offered]>,
    /// The version that the server announces.
    version: Option<String>,
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
        Self { server, open: AsyncMutex::new(None), health: Mutex::default(), answers: Mutex::default() }
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
                let before = met.connection.listing();
                let refreshed = met.connection.refresh().await?;
                if refreshed == Refreshed::Announced || *before != *met.connection.listing() {
                    lock(&self.answers).clear();
                }
                if refreshed != Refreshed::No {
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
        // A server that was started again may have changed while it was away.
        if shared.snapshots.load(&self.server).is_some_and(|last| last.listing != snapshot.listing) {
            lock(&self.answers).clear();
        }
        let offered = offered(&self.server, snapshot.instructions.as_deref(), &snapshot.listing);
        let mut accepted = shared.accepted.of(&self.server)?;
        if !accepted.is_known {
            shared.accepted.accept(&self.server, &offered)?;
            accepted = shared.accepted.of(&self.server)?;
        }
        shared.snapshots.save(&self.server, &snapshot);
        let allowed = offered.iter().filter(|one| accepted.blocks(one).is_none()).map(|one| one.remote.clone());
        Ok(Met { connection, allowed: Arc::new(allowed.collect()), offered: offered.into(), version: snapshot.version })
    }

    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        shared: &Shared,
        asked: &RemoteTool,
        arguments: JsonObject,
        trace: &[(&'static str, String)],
        follow: &Follow,
    ) -> Result<ToolOutcome, Refusal> {
        let Met { connection, offered, version, allowed } = self.meet(shared).await?;
        let (server, tool) = (&self.server, asked.tool.as_str());
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
        let arguments = overriding::whole(&server.name, tool, &known.definition, arguments, &asked.fixed)?;
        let caching = known.cache.map(|time| (answers::key(tool, &arguments, version.as_deref()), time));
        let generation = {
            let answers = lock(&self.answers);
            if let Some((key, _)) = &caching
                && let Some((outcome, age)) = answers.get(key, Instant::now())
            {
                let news = RemoteNews::info(format!("answered from the cache: {} ms old", age.as_millis()));
                drop(follow.try_send(news));
                return Ok(outcome);
            }
            answers.generation
        };
        let result = call(&connection, tool, arguments, trace, follow).await;
        match &result {
            Ok(_) => lock(&self.health).succeeded(),
            Err(refusal) if connection.is_over() => shared.snapshots.failed(server, refusal),
            Err(_) => {}
        }
        let result = result.map_err(|refusal| {
            if connection.is_over() { with_last_words(refusal, &connection.handler.watch) } else { refusal }
        })?;
        let outcome = outcome(&server.name, tool, result, adopted.returns.as_ref())?;
        if let Some((key, time)) = caching.filter(|_| !outcome.is_error) {
            lock(&self.answers).keep(key, &outcome, time, Instant::now(), generation);
        }
        Ok(outcome)
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
