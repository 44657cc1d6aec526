//! The servers of the user, and the way to them. Nothing is started before a tool is called.

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, OnceLock, mpsc::RecvTimeoutError},
    time::{Duration, Instant, SystemTime},
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
    Account, LastMet, NoPerson, ResourceUpdate, ResourceWatch, ServerOffers, ToolProposal, Visit,
    browser::Browse,
    connection::Surroundings,
    failure, given,
    oauth::{Identity, Logins},
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
    watch::lock,
};

/// Where it is written down what the user accepted of servers, below their own directory.
const ACCEPTED: &str = "mcp/accepted";

/// How long a server that refused an account is not tried again before that account calls.
const MEETING_AGAIN: Duration = Duration::from_secs(60);

/// Where the logins are, and what servers said when they were last met.
const LOGINS: &str = "mcp/logins";
const SNAPSHOTS: &str = "cache/mcp";

/// How often a waiting call looks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);

/// How many things that a server says about a call may wait for somebody to read them.
const LINES: usize = 256;

/// How long servers have to end when we do.
const CLOSING: Duration = Duration::from_secs(2);

/// The servers of the user, and the way to them. Nothing is started before a tool is called.
pub struct RemoteServers {
    account: Account,
    slots: BTreeMap<String, Reached>,
    runtime: Arc<OnceLock<std::io::Result<Runtime>>>,
    /// The ways of other accounts than the owner's, the one that was used last at the end.
    others: Mutex<Vec<Arc<RemoteServers>>>,
}

/// A server, with what belongs to everybody who gets to it in the same way.
#[derive(Clone)]
struct Reached {
    slot: Arc<Slot>,
    shared: Arc<Shared>,
    /// Whether it is reached for this account alone, or is the owner's.
    is_own: bool,
}

/// How many accounts have ways of their own at once. The one that was used longest ago loses its connections.
const MOST_ACCOUNTS: usize = 64;

/// How long a server may take that an account meets first, before its other tools are listed.
const FIRST_MEETING: Duration = Duration::from_secs(5);

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
        let mut shared = self.slots.values().map(|reached| &reached.shared);
        shared.find_map(|shared| shared.around.observed.as_ref()).map(ObservedProgram::temp)
    }

    fn with(
        servers: Vec<Server>,
        host: Arc<Host>,
        home: &Path,
        person: Arc<dyn Person>,
        observed: Option<ObservedProgram>,
    ) -> Self {
        let of = |host: Arc<Host>, person: Arc<dyn Person>, observed| Shared {
            account: Account::Owner,
            home: home.to_owned(),
            around: Surroundings {
                host,
                person,
                logins: Logins::new(home.join(LOGINS), Account::Owner),
                updates: Updates::default(),
                observed,
            },
            accepted: Accepted::new(home.join(ACCEPTED), &Account::Owner),
            snapshots: Snapshots::new(home.join(SNAPSHOTS), &Account::Owner),
        };
        // Of what a server asks over the owner's connection, nobody else hears.
        let own = person.of_account(&Account::Owner).map(|person| Arc::new(of(Arc::clone(&host), person, None)));
        let all = Arc::new(of(host, person, observed));
        let slots = servers.into_iter().map(|server| {
            let own = own.as_ref().filter(|_| server.entry.is_per_user());
            let shared = Arc::clone(own.unwrap_or(&all));
            (server.name.clone(), Reached { slot: Arc::new(Slot::new(server)), shared, is_own: true })
        });
        Self { account: Account::Owner, slots: slots.collect(), runtime: Arc::default(), others: Mutex::default() }
    }

    /// The way of an account to the same servers: its own to those whose credentials are per user, and ours to the others.
    pub fn of_account(self: &Arc<Self>, account: &Account) -> Arc<Self> {
        if *account == self.account || !self.has_accounts() {
            return Arc::clone(self);
        }
        let (found, _forgotten) = self.find_account(account);
        found
    }

    fn find_account(&self, account: &Account) -> (Arc<Self>, Option<Arc<Self>>) {
        let mut others = lock(&self.others);
        let known = others.iter().position(|other| other.account == *account).map(|at| others.remove(at));
        let found = known.unwrap_or_else(|| {
            let slots = self.slots.iter().map(|(name, reached)| (name.clone(), reached.of_account(account)));
            Arc::new(Self {
                account: account.clone(),
                slots: slots.collect(),
                runtime: Arc::clone(&self.runtime),
                others: Mutex::default(),
            })
        });
        others.push(Arc::clone(&found));
        // Its calls that are under way still end as they do.
        let forgotten = (others.len() > MOST_ACCOUNTS).then(|| others.remove(0));
        (found, forgotten)
    }

    /// Whether any server is reached in another way for each account.
    pub fn has_accounts(&self) -> bool {
        self.slots.values().any(|reached| reached.slot.server.entry.is_per_user())
    }

    /// For whom servers are reached.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Whether a server is reached for this account alone, and not in the same way for everybody.
    pub fn is_per_user(&self, server: &str) -> bool {
        self.reached(server).is_ok_and(|reached| reached.slot.server.entry.is_per_user())
    }

    /// Meets the servers that this account has not met yet, at most for some seconds, and tells why some were not met.
    pub fn meet_first(&self) -> Vec<(String, Refusal)> {
        let is_new =
            |reached: &&Reached| reached.is_own && reached.shared.snapshots.load(&reached.slot.server).is_none();
        let (mut refused, mut meetings) = (Vec::new(), Vec::new());
        for reached in self.slots.values().filter(is_new) {
            if let Some(refusal) = reached.lately_refused() {
                refused.push((reached.slot.server.name.clone(), refusal));
            } else if let Ok(runtime) = self.runtime() {
                let (slot, shared) = (Arc::clone(&reached.slot), Arc::clone(&reached.shared));
                meetings.push((reached, runtime.spawn(async move { slot.meet(&shared).await.map(drop) })));
            }
        }
        let until = Instant::now() + FIRST_MEETING;
        for (reached, meeting) in meetings {
            let name = &reached.slot.server.name;
            let refusal = match meeting.wait(until.saturating_duration_since(Instant::now())) {
                Ok(Ok(Ok(()))) => continue,
                Ok(Ok(Err(refusal))) => refusal,
                Ok(Err(broken)) => broken.into(),
                Err(_) => failure::unreachable(name, format!("it did not answer within {} s", FIRST_MEETING.as_secs())),
            };
            let refusal = self.account.told(name, refusal);
            let login = reached.shared.around.logins.current(name);
            *lock(&reached.slot.refused) = Some((login, Instant::now(), refusal.clone()));
            refused.push((name.clone(), refusal));
        }
        refused
    }

    /// What is known of what this account is offered; another one after its next meeting with a server.
    pub fn known_state(&self) -> Vec<(String, Option<SystemTime>)> {
        let own = self.slots.iter().filter(|(_, reached)| reached.is_own);
        own.map(|(name, reached)| (name.clone(), reached.shared.snapshots.last_changed(&reached.slot.server))).collect()
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
        self.slots.values().map(|reached| &reached.slot.server)
    }

    /// Gives the tools of all servers to an engine, as they were when each server was last met, and the way to call them.
    pub fn adopt_into(self: &Arc<Self>, engine: EngineBuilder) -> EngineBuilder {
        engine.remotes(Arc::clone(self) as Arc<dyn Remotes>, self.adopted())
    }

    /// The tools of all servers, as they were when each server was last met.
    fn adopted(&self) -> Vec<Adopted> {
        let mut adopted = Vec::new();
        for Reached { slot, shared, .. } in self.slots.values() {
            let Some(snapshot) = shared.snapshots.load(&slot.server) else { continue };
            let accepted = shared.accepted.of(&slot.server);
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
        let Reached { slot, shared, .. } = self.slots.get(name)?;
        shared.snapshots.last_met(&slot.server)
    }

    /// Whether a server was ever met as it is configured now, so that its tools are known.
    pub fn is_known(&self, name: &str) -> bool {
        self.slots.get(name).is_some_and(|reached| reached.shared.snapshots.load(&reached.slot.server).is_some())
    }

    /// Meets a server and tells what it is and offers.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub fn visit(&self, name: &str) -> Result<Visit, Refusal> {
        let Reached { slot, shared, .. } = self.reached(name)?;
        slot.forgive();
        let (met, shared) = (Arc::clone(slot), Arc::clone(shared));
        let mut visit = self.block(name, async move { visit::visit(&met, &shared).await })?;
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
        let may_have: Vec<_> = self.slots.values().filter(|reached| begins(&reached.slot.server.name)).collect();
        let [_, _, ..] = may_have[..] else { return None };
        let has = |Reached { slot, shared, .. }: &&Reached| {
            let Some(snapshot) = shared.snapshots.load(&slot.server) else { return false };
            let tools = offered(&slot.server, None, &snapshot.listing);
            tools.iter().any(|one| one.tool.as_ref().is_ok_and(|tool| tool.name.key() == name))
        };
        may_have.into_iter().find(has).map(|reached| reached.slot.server.name.clone())
    }

    /// Forgets what was accepted of the server that the file at `path` called `name`: the user wrote another there, or none.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn forget(home: &Path, name: &str, path: &Path) -> Result<(), Refusal> {
        Accepted::new(home.join(ACCEPTED), &Account::Owner).forget(name, path)
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
        let (deadline, principal) = (Instant::now() + longest, self.account.principal());
        let call = RemoteCall { tool, arguments, stop, deadline, trace: &[], principal };
        self.call(&call, &mut |_| {})
    }

    /// Meets a server and tells what of it waits to be accepted.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub fn proposals(&self, name: &str) -> Result<Vec<ToolProposal>, Refusal> {
        let Reached { slot, shared, .. } = self.reached(name)?.clone();
        slot.forgive();
        self.block(name, async move {
            let Met { offered, others, .. } = slot.meet(&shared).await?;
            waiting(&shared, &slot.server, &offered, &others)
        })
    }

    /// Tells what waited to be accepted of a server when it was last met, without meeting it.
    ///
    /// # Errors
    /// When there is no such server, or it cannot be told what was accepted.
    pub fn known_proposals(&self, name: &str) -> Result<Vec<ToolProposal>, Refusal> {
        let Reached { slot, shared, .. } = self.reached(name)?;
        let server = &slot.server;
        let Some(Snapshot { instructions, listing, .. }) = shared.snapshots.load(server) else {
            return Ok(Vec::new());
        };
        let offered = offered(server, instructions.as_deref(), &listing);
        let lists = shared.snapshots.load_others(server);
        let others = others::pins(server, instructions.as_deref(), &listing, &lists);
        waiting(shared, server, &offered, &others)
    }

    /// Accepts tools exactly as they were proposed.
    ///
    /// # Errors
    /// When that cannot be written down.
    pub fn accept<'a>(&self, name: &str, proposals: impl IntoIterator<Item = &'a ToolProposal>) -> Result<(), Refusal> {
        let Reached { slot, shared, .. } = self.reached(name)?;
        let server = &slot.server;
        let (mut tools, mut others) = (Vec::new(), Vec::new());
        for proposal in proposals {
            match &proposal.proposed {
                Proposed::Tool(tool) => tools.push(&**tool),
                Proposed::Other(other) => others.push(other),
            }
        }
        if !others.is_empty() {
            shared.accepted.accept_others(server, others)?;
        }
        shared.accepted.accept(server, tools)
    }

    /// What all servers offer besides tools, as it was when each was last met. Nothing is started for it.
    pub fn offers(&self) -> Vec<ServerOffers> {
        let of = |Reached { slot, shared, .. }: &Reached| {
            let Shared { accepted, snapshots, .. } = &**shared;
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
        self.slots.values().find_map(|reached| self.may_use_of(reached, name))
    }

    fn may_use_of(&self, reached: &Reached, name: &str) -> Option<Result<(), Refusal>> {
        let Shared { accepted, snapshots, .. } = &*reached.shared;
        let server = &reached.slot.server;
        let told = |refusal| reached.shared.account.told(&server.name, refusal);
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
                Some(blocked) => Err(told(blocked.refusal(server, &tool.remote, &tool.definition))),
                None => Ok(()),
            }));
        }
        let others = others::pins(server, instructions, &listing, &snapshots.load_others(server));
        let is_meant = |one: &&Pinned| one.kind == PROMPT && local_name(server, &one.name).eq_ignore_ascii_case(name);
        let prompt = others.iter().find(is_meant)?;
        let blocked = accepted.others_of(server).map(|known| known.blocks_other(prompt));
        Some(blocked.and_then(|blocked| match blocked {
            Some(blocked) => Err(told(blocked.refusal(server, &prompt.label(), &prompt.definition))),
            None => Ok(()),
        }))
    }

    /// The reading of a resource, by the address that the server gives it, as a tool with the argument `uri`. A run of it has the
    /// result of the protocol as its structured content.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn reading(&self, server: &str, uri: &str) -> Result<Tool, Refusal> {
        Ok(requests::reading(&self.reached(server)?.slot.server, uri))
    }

    /// The same for a prompt, by the name that the server gives it. It takes the arguments of the prompt.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn prompting(&self, server: &str, prompt: &str) -> Result<Tool, Refusal> {
        Ok(requests::prompting(&self.reached(server)?.slot.server, prompt))
    }

    /// The same for the completion of a value, by what the server calls the prompt or the template. It takes the name of the
    /// argument as `argument`, what was typed as `value`, and perhaps a `context`; the completion is the structured content, and
    /// empty for a server that completes nothing. Nothing for a reference that is none.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn completing(&self, server: &str, reference: &Reference) -> Result<Option<Tool>, Refusal> {
        Ok(requests::completing(&self.reached(server)?.slot.server, reference))
    }

    /// Hears of a resource of a server from now on, by [`Self::updates`]. A server that tells of no changes is not asked.
    ///
    /// # Errors
    /// Why the server does not tell of it.
    pub async fn watch(&self, server: &str, uri: &str) -> Result<ResourceWatch, Refusal> {
        let (reached, runtime) = (self.reached(server)?, self.runtime()?.handle());
        let watch = ResourceWatch { slot: Arc::clone(&reached.slot), runtime, uri: uri.to_owned() };
        let uri = uri.to_owned();
        let subscribing = self.at(server, async move |slot, shared| {
            let connection = slot.meet(&shared).await?.connection;
            subscriptions::subscribe(&slot.subscriptions, &shared.around.updates, &connection, &uri).await
        });
        subscribing.await.map(|()| watch)
    }

    /// The resources that change of those that are watched, of this server and perhaps of others.
    ///
    /// # Errors
    /// When there is no such server.
    pub fn updates(&self, server: &str) -> Result<tokio::sync::broadcast::Receiver<ResourceUpdate>, Refusal> {
        Ok(self.reached(server)?.shared.around.updates.listen())
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
        let Reached { slot, shared, .. } = self.reached(server)?.clone();
        let longest = slot.server.entry.timeout.unwrap_or(Tool::DEFAULT_TIMEOUT);
        let (name, account) = (slot.server.name.clone(), shared.account.clone());
        let working = work(slot, shared);
        let working = async move { tokio::time::timeout(longest, working).await };
        match self.runtime()?.run(working).await.ok_or_else(gone)?? {
            Ok(done) => done.map_err(|refusal| account.told(&name, refusal)),
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
        let Reached { slot, shared, .. } = self.reached(name)?.clone();
        slot.forgive();
        self.block(name, async move {
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
        let Reached { slot, shared, .. } = self.reached(name)?;
        let Transport::Http { url, .. } = slot.server.resolve(&shared.around.host)? else { return Ok(false) };
        shared.around.logins.logout(&url).map_err(|error| {
            Refusal::new(Code::LoginNeeded, format!("the login of the server `{name}` cannot be removed: {error}"))
                .place(name)
        })
    }

    fn reached(&self, name: &str) -> Result<&Reached, Refusal> {
        let found = self.slots.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, reached)| reached).ok_or_else(|| {
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
        server: &str,
        future: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let account = &self.reached(server)?.shared.account;
        match self.runtime()?.spawn(future).wait(Duration::MAX) {
            Ok(done) => done?.map_err(|refusal| account.told(server, refusal)),
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
        let resolved = |Reached { slot, shared, .. }: &Reached| slot.server.resolve(&shared.around.host).ok();
        let transport = self.slots.get(server).and_then(resolved);
        transport.map(|transport| given::secrets(&transport)).unwrap_or_default()
    }

    fn call(&self, call: &RemoteCall<'_>, follow: &mut dyn FnMut(RemoteNews)) -> Result<ToolOutcome, Refusal> {
        let account = Account::of_principal(call.principal);
        if self.is_per_user(&call.tool.server) && account != self.account {
            return self.call_as(&account, call, follow);
        }
        let Reached { slot, shared, .. } = self.reached(&call.tool.server)?;
        let (sender, lines) = std::sync::mpsc::sync_channel(LINES);
        let spawned = {
            let (slot, shared) = (Arc::clone(slot), Arc::clone(shared));
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
                Ok(outcome) => return outcome?.map_err(|refusal| shared.account.told(&call.tool.server, refusal)),
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

impl RemoteServers {
    /// Calls a tool for another account than this one, as a run of it in another process does.
    fn call_as(
        &self,
        account: &Account,
        call: &RemoteCall<'_>,
        follow: &mut dyn FnMut(RemoteNews),
    ) -> Result<ToolOutcome, Refusal> {
        if self.account != Account::Owner {
            let server = &call.tool.server;
            let why = format!("the way of {} to the server `{server}` is not that of {account}", self.account);
            return Err(Refusal::new(Code::InternalError, why).place(server));
        }
        let (servers, _forgotten) = self.find_account(account);
        servers.call(call, follow)
    }
}

impl Reached {
    /// Why it was not met when that was tried last, if nothing speaks for another try yet.
    fn lately_refused(&self) -> Option<Refusal> {
        let refused = lock(&self.slot.refused);
        let (login, at, refusal) = refused.as_ref()?;
        let is_same = *login == self.shared.around.logins.current(&self.slot.server.name);
        (is_same && at.elapsed() < MEETING_AGAIN).then(|| refusal.clone())
    }

    /// The same server for an account.
    fn of_account(&self, account: &Account) -> Self {
        if !self.slot.server.entry.is_per_user() {
            return Self { is_own: false, ..self.clone() };
        }
        let Shared { around, home, .. } = &*self.shared;
        let person = around.person.of_account(account);
        let shared = Shared {
            account: account.clone(),
            home: home.clone(),
            around: Surroundings {
                host: Arc::clone(&around.host),
                person: person.unwrap_or_else(|| Arc::new(NoPerson)),
                logins: Logins::new(home.join(LOGINS), account.clone()),
                updates: Updates::default(),
                observed: None,
            },
            accepted: Accepted::new(home.join(ACCEPTED), account),
            snapshots: Snapshots::new(home.join(SNAPSHOTS), account),
        };
        Self { slot: Arc::new(Slot::new(self.slot.server.clone())), shared: Arc::new(shared), is_own: true }
    }
}

impl Drop for RemoteServers {
    fn drop(&mut self) {
        lock(&self.others).clear();
        let Some(Ok(runtime)) = self.runtime.get() else { return };
        let closing: Vec<_> = self
            .slots
            .values()
            .filter(|reached| reached.is_own)
            .map(|reached| {
                let slot = Arc::clone(&reached.slot);
                runtime.spawn(async move { slot.close().await })
            })
            .collect();
        let until = Instant::now() + CLOSING;
        for closed in closing {
            _ = closed.wait(until.saturating_duration_since(Instant::now()));
        }
    }
}
