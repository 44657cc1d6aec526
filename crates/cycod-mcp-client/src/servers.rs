//! The servers of the user, and the way to them. Nothing is started before a tool is called.

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, OnceLock, mpsc::RecvTimeoutError},
    time::{Duration, Instant},
};

use cycod_catalog::{Adopted, ToolOrigin, ToolSource};
use cycod_definition::{Host, RemoteRequest, RemoteTool, Tool, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_engine::{Engine, EngineBuilder};
use cycod_process::{Observer, Stop};
use cycod_run::{ObservedProgram, RemoteCall, RemoteNews, Remotes, ToolOutcome};
use cycod_settings::{Server, Transport};
use rmcp::model::{JsonObject, Reference};

use crate::{
    LastMet, ResourceUpdate, ResourceWatch, ServerOffers, ToolProposal, Visit,
    connection::Surroundings,
    failure, given,
    oauth::{Browse, Identity, Logins},
    offered::{Offered, local_name, offered, prefix},
    others,
    person::Person,
    pinned::{PROMPT, Pinned},
    pins::Accepted,
    proposal::Proposed,
    requests,
    runtime::Runtime,
    slot::{Met, Shared, Slot},
    snapshot::{Snapshot, Snapshots},
    subscriptions,
    updates::Updates,
    visit,
};

/// Where it is written down what the user accepted of servers, below their own directory.
const ACCEPTED: &str = "mcp/accepted";

/// How often a waiting call looks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);

/// How many things that a server says about a call may wait for somebody to read them.
const LINES: usize = 256;

/// How long servers have to end when we do.
const CLOSING: Duration = Duration::from_secs(2);

/// The servers of the user, and the way to them. Nothing is started before a tool is called.
pub struct RemoteServers {
    slots: BTreeMap<String, Arc<Slot>>,
    shared: Arc<Shared>,
    runtime: OnceLock<std::io::Result<Runtime>>,
}

impl fmt::Debug for RemoteServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.slots.keys()).finish()
    }
}

impl RemoteServers {
    /// Takes the servers that are configured; what is known of them lies below `home`, the user's own directory.
    pub fn new(servers: Vec<Server>, host: Arc<Host>, home: &Path, person: Arc<dyn Person>) -> Self {
        Self::with(servers, host, home, person, None)
    }

    /// Takes one server, which is confined to nothing and watched.
    ///
    /// # Errors
    /// When it cannot be given a temporary directory.
    pub fn observing(
        server: Server,
        host: Arc<Host>,
        home: &Path,
        person: Arc<dyn Person>,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, Refusal> {
        let observed = ObservedProgram::new(observer, &host)?;
        Ok(Self::with(vec![server], host, home, person, Some(observed)))
    }

    /// The temporary directory of a server that is watched.
    pub fn observed_temp(&self) -> Option<&Path> {
        self.shared.around.observed.as_ref().map(ObservedProgram::temp)
    }

    fn with(
        servers: Vec<Server>,
        host: Arc<Host>,
        home: &Path,
        person: Arc<dyn Person>,
        observed: Option<ObservedProgram>,
    ) -> Self {
        let shared = Shared {
            around: Surroundings {
                host,
                person,
                logins: Logins::new(home.join("mcp/logins")),
                updates: Updates::default(),
                observed,
            },
            accepted: Accepted::new(home.join("mcp/accepted")),
            snapshots: Snapshots { directory: home.join("cache/mcp") },
        };
        let slots = servers.into_iter().map(|server| (server.name.clone(), Arc::new(Slot::new(server)))).collect();
        Self { slots, shared: Arc::new(shared), runtime: OnceLock::new() }
    }

    /// Reads which servers are configured for the place of an engine; nothing when there is none.
    pub fn of(engine: &Engine, person: Arc<dyn Person>) -> Option<Arc<Self>> {
        let scopes = engine.catalog().scopes();
        let servers: Vec<Server> = cycod_settings::Servers::load_in(scopes, &engine.look()).active().cloned().collect();
        if servers.is_empty() {
            return None;
        }
        Some(Arc::new(Self::new(servers, Arc::clone(engine.host()), scopes.user_directory(), person)))
    }

    /// The servers, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Server> {
        self.slots.values().map(|slot| &slot.server)
    }

    /// Gives the tools of all servers to an engine, as they were when each server was last met, and the way to call them.
    pub fn adopt_into(self: &Arc<Self>, engine: EngineBuilder) -> EngineBuilder {
        engine.remotes(Arc::clone(self) as Arc<dyn Remotes>, self.adopted())
    }

    /// The tools of all servers, as they were when each server was last met.
    fn adopted(&self) -> Vec<Adopted> {
        let mut adopted = Vec::new();
        for slot in self.slots.values() {
            let Some(snapshot) = self.shared.snapshots.load(&slot.server) else { continue };
            let accepted = self.shared.accepted.of(&slot.server);
            let owner = Some(slot.server.name.clone());
            let origin = Arc::new(ToolOrigin { source: ToolSource::Mcp, version: snapshot.version.clone(), owner });
            for one in offered(&slot.server, snapshot.instructions.as_deref(), &snapshot.listing) {
                let withheld = match &accepted {
                    Ok(accepted) => accepted.blocks(&one).map(|blocked| format!("is {blocked}")),
                    Err(refusal) => Some(format!("is blocked: {}", refusal.why)),
                };
                if let Ok(tool) = one.tool {
                    adopted.push(Adopted { tool, origin: Arc::clone(&origin), withheld });
                }
            }
        }
        adopted
    }

    /// How the last meeting with a server went; nothing when there was none.
    pub fn last_met(&self, name: &str) -> Option<LastMet> {
        self.shared.snapshots.last_met(&self.slots.get(name)?.server)
    }

    /// Whether a server was ever met as it is configured now, so that its tools are known.
    pub fn is_known(&self, name: &str) -> bool {
        self.slots.get(name).is_some_and(|slot| self.shared.snapshots.load(&slot.server).is_some())
    }

    /// Meets a server and tells what it is and offers.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub fn visit(&self, name: &str) -> Result<Visit, Refusal> {
        let slot = self.slot(name)?;
        slot.forgive();
        let (met, shared) = (Arc::clone(slot), Arc::clone(&self.shared));
        let mut visit = self.block(async move { visit::visit(&met, &shared).await })?;
        for tool in visit.tools.iter_mut().filter(|tool| tool.problem.is_none()) {
            let first = tool.name.as_deref().and_then(|name| self.first_with(name));
            if let Some(first) = first.filter(|first| *first != slot.server.name) {
                tool.problem =
                    Some(format!("the server `{first}` has a tool that is called so as well, and comes first"));
            }
        }
        Ok(visit)
    }

    /// The server to whose tool a name leads.
    fn first_with(&self, name: &str) -> Option<String> {
        let name = name.to_ascii_lowercase();
        let begins = |server: &str| name.starts_with(&prefix(server).to_ascii_lowercase());
        let may_have: Vec<_> = self.slots.values().filter(|slot| begins(&slot.server.name)).collect();
        let [_, _, ..] = may_have[..] else { return None };
        let has = |slot: &&Arc<Slot>| {
            let Some(snapshot) = self.shared.snapshots.load(&slot.server) else { return false };
            let tools = offered(&slot.server, None, &snapshot.listing);
            tools.iter().any(|one| one.tool.as_ref().is_ok_and(|tool| tool.name.key() == name))
        };
        may_have.into_iter().find(has).map(|slot| slot.server.name.clone())
    }

    /// Forgets what was accepted of the server that the file at `path` called `name`: the user wrote another there, or none.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn forget(home: &Path, name: &str, path: &Path) -> Result<(), Refusal> {
        Accepted::new(home.join(ACCEPTED)).forget(name, path)
    }

    /// Calls a tool as a run does, without a run around it.
    ///
    /// # Errors
    /// When there is no result.
    pub fn call_tool(
        &self,
        tool: &RemoteTool,
        arguments: &[(String, Value)],
        stop: &Stop,
        longest: Duration,
    ) -> Result<ToolOutcome, Refusal> {
        let call = RemoteCall { tool, arguments, stop, deadline: Instant::now() + longest, trace: &[] };
        self.call(&call, &mut |_| {})
    }

    /// Meets a server and tells what of it waits to be accepted.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub fn proposals(&self, name: &str) -> Result<Vec<ToolProposal>, Refusal> {
        let (slot, shared) = (Arc::clone(self.slot(name)?), Arc::clone(&self.shared));
        slot.forgive();
        self.block(async move {
            let Met { offered, others, .. } = slot.meet(&shared).await?;
            waiting(&shared, &slot.server, &offered, &others)
        })
    }

    /// Tells what waited to be accepted of a server when it was last met, without meeting it.
    ///
    /// # Errors
    /// When there is no such server, or it cannot be told what was accepted.
    pub fn known_proposals(&self, name: &str) -> Result<Vec<ToolProposal>, Refusal> {
        let server = &self.slot(name)?.server;
        let Some(Snapshot { instructions, listing, .. }) = self.shared.snapshots.load(server) else {
            return Ok(Vec::new());
        };
        let offered = offered(server, instructions.as_deref(), &listing);
        let lists = self.shared.snapshots.load_others(server);
        let others = others::pins(server, instructions.as_deref(), &listing, &lists);
        waiting(&self.shared, server, &offered, &others)
    }

    /// Accepts tools exactly as they were proposed.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn accept<'a>(&self, name: &str, proposals: impl IntoIterator<Item = &'a ToolProposal>) -> Result<(), Refusal> {
        let server = &self.slot(name)?.server;
        let (mut tools, mut others) = (Vec::new(), Vec::new());
        for proposal in proposals {
            match &proposal.proposed {
                Proposed::Tool(tool) => tools.push(&**tool),
                Proposed::Other(other) => others.push(other),
            }
        }
        if !others.is_empty() {
            self.shared.accepted.accept_others(server, others)?;
        }
        self.shared.accepted.accept(server, tools)
    }

    /// What all servers offer besides tools, as it was when each was last met. Nothing is started for it.
    pub fn offers(&self) -> Vec<ServerOffers> {
        let Shared { accepted, snapshots, .. } = &*self.shared;
        let of = |slot: &Arc<Slot>| {
            let server = &slot.server;
            accepted.consents(server).ok()?;
            let (Snapshot { instructions, listing, .. }, lists) =
                (snapshots.load(server)?, snapshots.load_others(server));
            let (of_tools, of_others) = (accepted.of(server).ok()?, accepted.others_of(server).ok()?);
            let tools = offered(server, instructions.as_deref(), &listing);
            let has_tools = tools.iter().any(|one| one.tool.is_ok() && of_tools.blocks(one).is_none());
            let instructions = instructions.as_deref();
            // A visit tells what is wrong.
            let problems = &mut Vec::new();
            Some(others::offers(server, instructions, &listing, &lists, &of_others, has_tools, problems))
        };
        self.slots.values().filter_map(of).collect()
    }

    /// Whether a tool or a prompt of a server may be used, by its name here; nothing when no server is known to have it.
    ///
    /// # Errors
    /// What has to be accepted before.
    pub fn may_use(&self, name: &str) -> Option<Result<(), Refusal>> {
        self.slots.values().find_map(|slot| self.may_use_of(&slot.server, name))
    }

    fn may_use_of(&self, server: &Server, name: &str) -> Option<Result<(), Refusal>> {
        let Shared { accepted, snapshots, .. } = &*self.shared;
        let prefix = prefix(&server.name);
        if !name.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(&prefix)) {
            return None;
        }
        let Snapshot { instructions, listing, .. } = snapshots.load(server)?;
        let instructions = instructions.as_deref();
        let tools = offered(server, instructions, &listing);
        let is_meant =
            |one: &&Offered| one.tool.as_ref().is_ok_and(|tool| tool.name.as_str().eq_ignore_ascii_case(name));
        if let Some(tool) = tools.iter().find(is_meant) {
            let blocked = accepted.of(server).map(|known| known.blocks(tool));
            return Some(blocked.and_then(|blocked| match blocked {
                Some(blocked) => Err(blocked.refusal(server, &tool.remote, &tool.definition)),
                None => Ok(()),
            }));
        }
        let others = others::pins(server, instructions, &listing, &snapshots.load_others(server));
        let is_meant = |one: &&Pinned| one.kind == PROMPT && local_name(server, &one.name).eq_ignore_ascii_case(name);
        let prompt = others.iter().find(is_meant)?;
        let blocked = accepted.others_of(server).map(|known| known.blocks_other(prompt));
        Some(blocked.and_then(|blocked| match blocked {
            Some(blocked) => Err(blocked.refusal(server, &prompt.label(), &prompt.definition)),
            None => Ok(()),
        }))
    }

    /// The reading of a resource, by the address that the server gives it, as a tool with the argument `uri`. A run of it has the
    /// result of the protocol as its structured content.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn reading(&self, server: &str, uri: &str) -> Result<Tool, Refusal> {
        Ok(requests::reading(&self.slot(server)?.server, uri))
    }

    /// The same for a prompt, by the name that the server gives it. It takes the arguments of the prompt.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn prompting(&self, server: &str, prompt: &str) -> Result<Tool, Refusal> {
        Ok(requests::prompting(&self.slot(server)?.server, prompt))
    }

    /// The same for the completion of a value, by what the server calls the prompt or the template. It takes the name of the
    /// argument as `argument`, what was typed as `value`, and perhaps a `context`; the completion is the structured content, and
    /// empty for a server that completes nothing. Nothing for a reference that is none.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn completing(&self, server: &str, reference: &Reference) -> Result<Option<Tool>, Refusal> {
        Ok(requests::completing(&self.slot(server)?.server, reference))
    }

    /// Hears of a resource of a server from now on, by [`Self::updates`]. A server that tells of no changes is not asked.
    ///
    /// # Errors
    /// Why the server does not tell of it.
    pub async fn watch(&self, server: &str, uri: &str) -> Result<ResourceWatch, Refusal> {
        let (slot, runtime) = (self.slot(server)?, self.runtime()?.handle());
        let watch = ResourceWatch { slot: Arc::clone(slot), runtime, uri: uri.to_owned() };
        let uri = uri.to_owned();
        let subscribing = self.at(server, async move |slot, shared| {
            let connection = slot.meet(&shared).await?.connection;
            subscriptions::subscribe(&slot.subscriptions, &shared.around.updates, &connection, &uri).await
        });
        subscribing.await.map(|()| watch)
    }

    /// The resources that change, of those that are watched.
    pub fn updates(&self) -> tokio::sync::broadcast::Receiver<ResourceUpdate> {
        self.shared.around.updates.listen()
    }

    /// Does something with a server, within the time that a call of it may take.
    async fn at<T: Send + 'static, F>(
        &self,
        server: &str,
        work: impl FnOnce(Arc<Slot>, Arc<Shared>) -> F,
    ) -> Result<T, Refusal>
    where
        F: Future<Output = Result<T, Refusal>> + Send + 'static,
    {
        let slot = Arc::clone(self.slot(server)?);
        let longest = slot.server.entry.timeout.unwrap_or(Tool::DEFAULT_TIMEOUT);
        let name = slot.server.name.clone();
        let working = work(slot, Arc::clone(&self.shared));
        let working = async move { tokio::time::timeout(longest, working).await };
        match self.runtime()?.run(working).await.ok_or_else(gone)?? {
            Ok(done) => done,
            Err(_) => {
                let why = format!("the server `{name}` did not answer within {} ms", longest.as_millis());
                Err(Refusal::new(Code::TimedOut, why).place(&name).attempt("raise `timeout` in its entry"))
            }
        }
    }

    /// Logs in to a server at an address. `browse` shows a person where.
    ///
    /// # Errors
    /// Why that failed, or that nobody logs in to a program that we start.
    pub fn login(&self, name: &str, identity: Identity, browse: Arc<Browse>) -> Result<(), Refusal> {
        let slot = Arc::clone(self.slot(name)?);
        let shared = Arc::clone(&self.shared);
        slot.forgive();
        self.block(async move {
            let name = &slot.server.name;
            let Transport::Http { url, .. } = slot.server.resolve(&shared.around.host)? else {
                let why = format!("the server `{name}` is a program that cycod starts: it has no login");
                return Err(Refusal::new(Code::LoginNeeded, why).place(name).attempt(format!("cycod mcp test {name}")));
            };
            let mut challenge = shared.around.logins.challenge(name, &url);
            if challenge.is_none() {
                // What it wants is in its refusal; one that refuses nothing may still have more for those who log in.
                drop(slot.meet(&shared).await);
                challenge = shared.around.logins.challenge(name, &url);
            }
            shared.around.logins.login(name, &url, challenge.as_deref(), identity, browse).await?;
            slot.close().await;
            slot.forgive();
            Ok(())
        })
    }

    /// Forgets the login of a server; returns whether there was one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn logout(&self, name: &str) -> Result<bool, Refusal> {
        let server = &self.slot(name)?.server;
        let Transport::Http { url, .. } = server.resolve(&self.shared.around.host)? else { return Ok(false) };
        self.shared.around.logins.logout(&url).map_err(|error| {
            Refusal::new(Code::LoginNeeded, format!("the login of the server `{name}` cannot be removed: {error}"))
                .place(name)
        })
    }

    fn slot(&self, name: &str) -> Result<&Arc<Slot>, Refusal> {
        let found = self.slots.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, slot)| slot).ok_or_else(|| {
            let near = cycod_diagnostic::closest(name, self.slots.keys().map(String::as_str));
            let refusal = Refusal::new(Code::UnknownServer, format!("no server is called `{name}`")).place(name);
            match near {
                Some(near) => refusal.attempt(format!("did you mean `{near}`?")),
                None => refusal.attempt("cycod mcp list"),
            }
        })
    }

    fn runtime(&self) -> Result<&Runtime, Refusal> {
        let started = self.runtime.get_or_init(Runtime::start);
        started.as_ref().map_err(|error| Refusal::new(Code::NotStarted, format!("cannot start a thread: {error}")))
    }

    /// Carries out `future` where the connections live, and waits for it.
    pub(crate) fn block<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        match self.runtime()?.spawn(future).wait(Duration::MAX) {
            Ok(done) => done?,
            Err(_) => Err(gone()),
        }
    }
}

/// What of a server waits to be accepted.
fn waiting(
    shared: &Shared,
    server: &Server,
    offered: &[Offered],
    others: &[Pinned],
) -> Result<Vec<ToolProposal>, Refusal> {
    let accepted = shared.accepted.of(server)?;
    let usable = offered.iter().filter(|one| one.tool.is_ok());
    let blocked = usable.filter_map(|one| Some((one, accepted.blocks(one)?)));
    let tools = blocked.map(|(one, blocked)| ToolProposal::new(one, &blocked));
    let known = shared.accepted.others_of(server)?;
    let others = others.iter().filter_map(|other| Some(ToolProposal::other(other, &known.blocks_other(other)?)));
    Ok(tools.chain(others).collect())
}

fn gone() -> Refusal {
    Refusal::new(Code::RemoteUnreachable, "the thread of the connections ended, which is a mistake of this program")
}

impl Remotes for RemoteServers {
    fn serves(&self, server: &str) -> bool {
        self.slots.contains_key(server)
    }

    fn secrets(&self, server: &str) -> Vec<String> {
        let transport = self.slots.get(server).and_then(|slot| slot.server.resolve(&self.shared.around.host).ok());
        transport.map(|transport| given::secrets(&transport)).unwrap_or_default()
    }

    fn call(&self, call: &RemoteCall<'_>, follow: &mut dyn FnMut(RemoteNews)) -> Result<ToolOutcome, Refusal> {
        let slot = self.slot(&call.tool.server)?;
        let (sender, lines) = std::sync::mpsc::sync_channel(LINES);
        let spawned = {
            let (slot, shared) = (Arc::clone(slot), Arc::clone(&self.shared));
            let (tool, arguments) = (call.tool.clone(), arguments(call));
            let trace = call.trace.to_vec();
            self.runtime()?.spawn(async move {
                match tool.request {
                    RemoteRequest::Tool => slot.call(&shared, &tool, arguments, &trace, &sender).await,
                    _ => requests::carry_out(&slot, &shared, &tool, arguments).await,
                }
            })
        };
        loop {
            let outcome = spawned.wait(LOOK.min(call.deadline.saturating_duration_since(Instant::now())));
            lines.try_iter().for_each(&mut *follow);
            let ended = |code, why| Err(failure::ended(&call.tool.server, &call.tool.tool, code, why));
            match outcome {
                Ok(outcome) => return outcome?,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                Err(RecvTimeoutError::Timeout) if call.stop.is_raised() => {
                    return ended(Code::Cancelled, "was stopped from outside");
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= call.deadline => {
                    let late = ended(Code::TimedOut, "was ended when the time of the run was over");
                    return late.map_err(|refusal| refusal.attempt("raise `timeout`, or pass --timeout MS"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn arguments(call: &RemoteCall<'_>) -> JsonObject {
    call.arguments.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()
}

impl Drop for RemoteServers {
    fn drop(&mut self) {
        let Some(Ok(runtime)) = self.runtime.get() else { return };
        let closing: Vec<_> = self
            .slots
            .values()
            .map(|slot| {
                let slot = Arc::clone(slot);
                runtime.spawn(async move { slot.close().await })
            })
            .collect();
        let until = Instant::now() + CLOSING;
        for closed in closing {
            _ = closed.wait(until.saturating_duration_since(Instant::now()));
        }
    }
}
