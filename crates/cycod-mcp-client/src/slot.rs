//! One server: its connection, what it offers, and the calls of its tools.

use std::{
    collections::HashSet,
    fmt,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};

use cycod_definition::RemoteTool;
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_run::{RemoteNews, ToolOutcome};
use cycod_settings::Server;
use cycod_thread::detach_task;
use rmcp::model::{CompleteRequestParams, CompletionInfo, GetPromptResult, JsonObject, ReadResourceResult};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;
use tokio::sync::Mutex as AsyncMutex;

use crate::{
    account::Account,
    answers::{self, Answers},
    call::call,
    connection::{Connection, Refreshed, Surroundings, with_last_words},
    failure, given,
    health::Health,
    offered::{Offered, offered},
    others,
    outcome::{clean_content, outcome},
    overriding,
    pinned::{PROMPT, Pinned},
    pins::Accepted,
    snapshot::{Snapshot, Snapshots},
    subscriptions::{Subscriptions, subscribe_again},
    text::{line, paragraph},
    watch::{Follow, lock},
};

/// How often to look whether a connection that says nothing is still there.
const LOOK: Duration = Duration::from_secs(30);

/// How long to wait for more changes of a server's lists after one.
const SETTLE: Duration = Duration::from_millis(100);

/// A server with its connection, if there is one now.
pub(crate) struct Slot {
    pub(crate) server: Server,
    open: AsyncMutex<Option<Met>>,
    health: Mutex<Health>,
    answers: Mutex<Answers>,
    /// Why it was not met for its tools, when, and with which login.
    pub(crate) refused: Mutex<Option<(Option<String>, Instant, Refusal)>>,
    /// The resources that somebody wants to hear of.
    pub(crate) subscriptions: Mutex<Subscriptions>,
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
    /// What is offered besides tools, and pinned.
    pub(crate) others: Arc<[Pinned]>,
}

/// What all servers share.
pub(crate) struct Shared {
    /// For whom servers are reached.
    pub(crate) account: Account,
    /// The user's own directory.
    pub(crate) home: PathBuf,
    pub(crate) around: Surroundings,
    pub(crate) accepted: Accepted,
    pub(crate) snapshots: Snapshots,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("server", &self.server.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Slot {
    pub(crate) fn new(server: Server) -> Self {
        Self {
            server,
            open: AsyncMutex::new(None),
            health: Mutex::default(),
            answers: Mutex::default(),
            refused: Mutex::default(),
            subscriptions: Mutex::default(),
        }
    }

    /// Reaches the server, unless it is reached already, and looks what it offers now.
    pub(crate) async fn meet(self: &Arc<Self>, shared: &Arc<Shared>) -> Result<Met, Refusal> {
        shared.accepted.consents(&self.server)?;
        let mut open = self.open.lock().await;
        if let Some(met) = open.take_if(|met| met.connection.is_over()) {
            lock(&self.health).failed(Instant::now());
            drop(met);
        }
        // Another process may have logged in, or out.
        if let Some(met) = open.take_if(|met| met.connection.has_other_login()) {
            lock(&self.answers).clear();
            met.connection.handler.watch.changed.notify_one();
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
                    // One that wants a login is there.
                    if refusal.code != Code::LoginNeeded {
                        lock(&self.health).failed(Instant::now());
                    }
                    shared.snapshots.failed(&self.server, &refusal);
                    refusal
                })?);
                detach_task(follow(Arc::downgrade(self), Arc::downgrade(shared), Arc::clone(&connection)));
                subscribe_again(&self.subscriptions, &shared.around.updates, &connection).await;
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
        let lists = connection.others();
        shared.snapshots.save_others(&self.server, &lists);
        let others = others::pins(&self.server, snapshot.instructions.as_deref(), &snapshot.listing, &lists);
        if !shared.accepted.others_of(&self.server)?.is_known {
            shared.accepted.accept_others(&self.server, &others)?;
        }
        let allowed = offered.iter().filter(|one| accepted.blocks(one).is_none()).map(|one| one.remote.clone());
        let allowed = Arc::new(allowed.collect());
        Ok(Met { connection, allowed, offered: offered.into(), version: snapshot.version, others: others.into() })
    }

    /// Calls a tool.
    pub(crate) async fn call(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        asked: &RemoteTool,
        arguments: JsonObject,
        trace: &[(&'static str, String)],
        follow: &Follow,
    ) -> Result<ToolOutcome, Refusal> {
        let Met { connection, offered, version, allowed, .. } = self.meet(shared).await?;
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
            return Err(blocked.refusal(server, &known.remote, &known.definition));
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

    /// Reads a resource.
    pub(crate) async fn read(self: &Arc<Self>, shared: &Arc<Shared>, uri: &str) -> Result<ReadResourceResult, Refusal> {
        let connection = self.meet(shared).await?.connection;
        let result = connection.read(uri).await?;
        self.without_secrets(shared, result, &["/contents"])
    }

    /// Gets a prompt, if it is what was accepted.
    pub(crate) async fn prompt(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        name: &str,
        arguments: JsonObject,
    ) -> Result<GetPromptResult, Refusal> {
        let Met { connection, others, .. } = self.meet(shared).await?;
        let server = &self.server;
        let Some(known) = others.iter().find(|other| other.kind == PROMPT && other.name == name) else {
            let why = format!("the server `{}` does not offer the prompt `{}` any more", server.name, line(name));
            return Err(Refusal::new(Code::UnknownTool, why).place(&server.name));
        };
        if let Some(blocked) = shared.accepted.others_of(server)?.blocks_other(known) {
            return Err(blocked.refusal(server, &known.label(), &known.definition));
        }
        let result = connection.prompt(name, arguments).await?;
        self.without_secrets(shared, result, &["/messages"])
    }

    /// Completes a value of a prompt or a template.
    pub(crate) async fn complete(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        params: CompleteRequestParams,
    ) -> Result<CompletionInfo, Refusal> {
        let connection = self.meet(shared).await?.connection;
        if connection.info().is_none_or(|info| info.capabilities.completions.is_none()) {
            return Ok(CompletionInfo::default());
        }
        let result = connection.peer().complete(params).await.map_err(|error| connection.refusal(&error))?;
        let mut info = self.without_secrets(shared, result, &[])?.completion;
        info.values.truncate(CompletionInfo::MAX_VALUES);
        info.values.iter_mut().for_each(|value| *value = line(value));
        Ok(info)
    }

    /// A result without what the server was given by its entry, and with nothing hidden in its texts.
    fn without_secrets<T: Serialize + DeserializeOwned>(
        &self,
        shared: &Shared,
        result: T,
        blocks: &[&str],
    ) -> Result<T, Refusal> {
        let broken = |error: serde_json::Error| failure::broken(&self.server.name, error);
        let mut json = serde_json::to_value(result).map_err(broken)?;
        let secrets = self.server.resolve(&shared.around.host).map(|to| given::secrets(&to)).unwrap_or_default();
        if !secrets.is_empty() {
            json = Masks::new(secrets).json(json);
        }
        for pointer in blocks {
            json.pointer_mut(pointer).and_then(Json::as_array_mut).into_iter().flatten().for_each(clean_content);
        }
        if let Some(Json::String(description)) = json.get_mut("description") {
            *description = paragraph(description);
        }
        if let Some(meta) = json.get_mut("_meta") {
            others::cleaned(meta);
        }
        serde_json::from_value(json).map_err(broken)
    }

    /// The connection, if there is one.
    pub(crate) async fn reached(&self) -> Option<Arc<Connection>> {
        self.open.lock().await.as_ref().map(|met| Arc::clone(&met.connection))
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        // A server that is being started is ended by the end of the runtime.
        let Ok(mut open) = self.open.try_lock() else { return };
        lock(&self.subscriptions).clear();
        let Some(met) = open.take() else { return };
        met.connection.handler.watch.changed.notify_one();
        if let Some(connection) = Arc::into_inner(met.connection) {
            connection.close().await;
        }
    }

    /// Forgets that the server failed: the user asks for it now.
    pub(crate) fn forgive(&self) {
        lock(&self.health).succeeded();
    }
}

/// Lists again what a server says has changed, so that everybody hears of it at once.
fn follow(
    slot: Weak<Slot>,
    shared: Weak<Shared>,
    connection: Arc<Connection>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(followed(slot, shared, connection))
}

async fn followed(slot: Weak<Slot>, shared: Weak<Shared>, connection: Arc<Connection>) {
    let watch = Arc::clone(&connection.handler.watch);
    let connection = {
        let weak = Arc::downgrade(&connection);
        drop(connection);
        weak
    };
    loop {
        let is_told = tokio::time::timeout(LOOK, watch.changed.notified()).await.is_ok();
        if connection.upgrade().is_none_or(|connection| connection.is_over()) {
            return;
        }
        if !is_told {
            continue;
        }
        // A server that changes much tells of each change.
        tokio::time::sleep(SETTLE).await;
        let (Some(slot), Some(shared)) = (slot.upgrade(), shared.upgrade()) else { return };
        // The next caller reads what is wrong.
        drop(slot.meet(&shared).await);
    }
}
