//! What is offered: tools, prompts and resources, as of the last look at the files.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
    thread,
    time::SystemTime,
};

use cycod_engine::{
    Engine, NotOffered, Selected, Selection, Standing, WhyNot,
    catalog::{Availability, Entry, EntryLoader, Scope, ScopeFilter, State},
    definition::{Body, Host, JsonSchema, OfferedAs, Tool, ToolPage},
    diagnostic::{Refusal, closest, counted, visible},
    group_of, host,
    outputs::LOOK,
    settings::{ClientProfile, ClientProfiles, HoldingProfiles},
};
use cycod_mcp_client::{Account, RemoteServers, ServerOffers};
use cycod_process::{Pool, PoolSize};
use cycod_search::Index;
use rmcp::model::{self, CallToolResult, JsonObject};

use crate::{
    Equip, NotOfferedSink, ServerOptions, builtin,
    client::Guest,
    finding, pages, reply,
    upstream::{self, Routes},
    uri::UriTemplate,
    wire::{self, Listed},
};

/// How many files make it worth while to read them in a thread of their own.
const WORTH_A_THREAD: usize = 100;

/// How many clients with different profiles are remembered; beyond that their lists are made again.
const MOST_VIEWS: usize = 16;

/// How many accounts' stocks are kept; beyond that they are opened again.
const MOST_ACCOUNTS: usize = 64;

/// How many loaded tools are kept; beyond that they are read again.
const KEPT: usize = 256;

/// The most characters of an unknown name that are shown.
const LONGEST_SHOWN: usize = 100;

/// How much a model is told of what it does not get, in lines.
const MOST_TOLD: usize = 20;

/// What is offered, always as the files are.
#[derive(Debug)]
pub(crate) struct Shelf {
    options: RwLock<Arc<ServerOptions>>,
    pool: Option<Arc<Pool>>,
    /// Nothing before somebody first asks.
    current: RwLock<Option<Arc<Stock>>>,
}

/// One look at the files.
#[derive(Debug)]
pub(crate) struct Stock {
    /// The tools of this place.
    pub(crate) engine: Arc<Engine>,
    /// Which of them are offered, and how much of their outputs.
    pub(crate) offer: Offer,
    /// The tools that may be offered. Kept until the lists are made, as they are large.
    selected: Mutex<Option<Arc<[Selected]>>>,
    /// Made when somebody first asks.
    lists: Mutex<Option<Arc<Lists>>>,
    instructions: OnceLock<String>,
    loaded: Mutex<HashMap<String, Loaded>>,
    /// Made at the first search.
    index: OnceLock<Index>,
    options: Arc<ServerOptions>,
    /// The other servers of this place, and what they offer besides tools.
    pub(crate) upstream: Option<Arc<RemoteServers>>,
    /// The same for accounts that reach servers in ways of their own, the one that was used last at the end.
    accounts: Mutex<Vec<(Account, Arc<Stock>)>>,
    /// The servers that this account could not meet, with the reason.
    unmet: Arc<[(String, Refusal)]>,
    /// What was known then of its servers.
    known_state: Vec<(String, Option<SystemTime>)>,
    offers: OnceLock<Vec<ServerOffers>>,
    /// The profiles as they were then.
    profiles: ClientProfiles,
    /// The same for clients with profiles, by what the profiles are.
    views: Mutex<Vec<View>>,
}

/// What clients are offered for whom the same profiles hold.
#[derive(Debug)]
struct View {
    parts: Vec<ClientProfile>,
    is_barred: bool,
    stock: Arc<Stock>,
}

/// What a client is offered.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    selection: Selection,
    /// Whether it is nothing at all.
    pub(crate) is_barred: bool,
    /// The most of an output that is handed over at once, in tokens.
    pub(crate) reply_tokens: usize,
    /// The longest list of tools, in tokens.
    list_tokens: usize,
}

impl Offer {
    /// What every client is offered.
    fn of(options: &ServerOptions) -> Self {
        Self {
            selection: options.selection.clone(),
            is_barred: false,
            reply_tokens: options.reply_tokens,
            list_tokens: options.list_tokens,
        }
    }

    /// Nothing.
    fn barred(self) -> Self {
        let nothing = Selection { names: Some(Vec::new()), ..Selection::default() };
        Self { selection: self.selection.narrowed(nothing), is_barred: true, ..self }
    }

    /// What is left of it under a part of a profile, which can only take away.
    fn under(self, profile: &ClientProfile) -> Self {
        let least = |tokens: usize, most: Option<u32>| {
            most.and_then(|most| usize::try_from(most).ok()).map_or(tokens, |most| most.min(tokens))
        };
        Self {
            selection: self.selection.narrowed(Selection::of_profile(profile)),
            is_barred: self.is_barred,
            reply_tokens: least(self.reply_tokens, profile.reply_tokens),
            list_tokens: least(self.list_tokens, profile.list_tokens),
        }
    }
}

/// A tool with the state of its files when it was read.
#[derive(Clone, Debug)]
struct Loaded {
    /// The tool's own file, and the one that speaks about programs for it.
    files: Vec<(PathBuf, Option<Stamp>)>,
    tool: Arc<Tool>,
}

impl Loaded {
    /// Whether its files are what they were.
    fn is_current(&self) -> bool {
        self.files.iter().all(|(path, known)| stamp(path) == *known)
    }
}

/// What tells that a file is another: when it was written, how long it is.
type Stamp = (SystemTime, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Everything that is offered, as it goes over the wire, sorted by name.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lists {
    pub(crate) tools: Vec<model::Tool>,
    /// What tools return, where clients of the era with handshakes are shown something else.
    older_outputs: BTreeMap<String, Arc<JsonObject>>,
    pub(crate) prompts: Vec<model::Prompt>,
    pub(crate) resources: Vec<model::Resource>,
    pub(crate) templates: Vec<model::ResourceTemplate>,
    /// The address of each resource and template, with the tool behind it and what its file holds.
    pub(crate) sources: Vec<Source>,
    /// To which servers those lead that other servers offer.
    pub(crate) routes: Routes,
    /// The group of each tool.
    groups: BTreeMap<String, String>,
    /// The pages of tools, for clients that show them.
    pages: BTreeMap<String, ToolPage>,
    /// The tools that are found by searching, because the whole list would cost a model too much.
    left_out: BTreeSet<String>,
    /// Whether any tool may take long, so that it is worth starting it without waiting for it.
    pub(crate) has_long_ones: bool,
}

/// A resource with the tool that makes its content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    pub(crate) address: UriTemplate,
    pub(crate) tool: String,
    digest: String,
}

/// Which of the tools that are found by searching a client is shown.
#[derive(Debug)]
pub(crate) enum Shown {
    /// All: it searches long lists itself.
    All,
    /// Those that it has found.
    Found(BTreeSet<String>),
}

/// Which lists differ between two looks, and which resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    /// The addresses of resources whose tool is another now.
    pub(crate) updated: Vec<String>,
    /// Whom it concerns, if not everybody.
    pub(crate) of: Option<Account>,
}

impl Shelf {
    pub(crate) fn new(options: Arc<ServerOptions>) -> Self {
        // Without a pool every shell is started when it is needed.
        let pool = Pool::new(PoolSize::default()).map(Arc::new).ok();
        Self { options: RwLock::new(options), pool, current: RwLock::new(None) }
    }

    /// What is offered to an account now, when somebody has looked already.
    pub(crate) fn ready(&self, account: &Account) -> Option<Arc<Stock>> {
        let stock = self.current.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        if !stock.differs_for(account) {
            return Some(stock);
        }
        let mut accounts = stock.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let found = accounts.iter().position(|(known, _)| known == account).map(|at| accounts.remove(at))?;
        accounts.push(found.clone());
        Some(found.1)
    }

    /// What is offered to an account now. The first look waits for the disk, and for servers that the account meets first.
    pub(crate) fn stock(&self, account: &Account) -> Arc<Stock> {
        if let Some(stock) = self.ready(account) {
            return stock;
        }
        let stock = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(current.get_or_insert_with(|| Arc::new(self.look(&Account::Owner))))
        };
        if !stock.differs_for(account) {
            return stock;
        }
        // What they offer is known before it is listed.
        let servers = stock.upstream.as_ref().map(|servers| servers.of_account(account));
        let unmet = servers.map(|servers| servers.meet_first()).unwrap_or_default();
        let opened = Arc::new(Stock { unmet: unmet.into(), ..self.look(account) });
        let mut accounts = stock.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        accounts.retain(|(known, _)| known != account);
        if accounts.len() >= MOST_ACCOUNTS {
            accounts.remove(0);
        }
        accounts.push((account.clone(), Arc::clone(&opened)));
        opened
    }

    fn look(&self, account: &Account) -> Stock {
        Stock::open(self.options(), self.pool.as_ref(), account)
    }

    /// How the server is set up, in the place where it is now.
    pub(crate) fn options(&self) -> Arc<ServerOptions> {
        Arc::clone(&self.options.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Goes to another directory and tells what is different there; nothing when it is there already.
    pub(crate) fn move_to(&self, directory: &Path) -> Option<Vec<Difference>> {
        {
            let mut options = self.options.write().unwrap_or_else(PoisonError::into_inner);
            if options.host.working_directory == directory {
                return None;
            }
            let host = host_in(&options.host, directory);
            *options = Arc::new(ServerOptions { host, ..ServerOptions::clone(&options) });
        }
        Some(self.reload())
    }

    /// Looks at the files again and tells what has changed: for everybody, and for accounts.
    pub(crate) fn reload(&self) -> Vec<Difference> {
        let old = self.stock(&Account::Owner);
        let new = Arc::new(self.look(&Account::Owner));
        // What nobody has asked for, nobody is told about.
        let known = old.lists.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut difference = known.map(|known| known.difference(&new.lists())).unwrap_or_default();
        if old.profiles != new.profiles {
            // Which clients that concerns, their next requests tell.
            difference = Difference { tools: true, prompts: true, resources: true, ..difference };
        }
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(new);
        let accounts = old.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let has_changed =
            |stock: &Stock| stock.upstream.as_ref().is_some_and(|servers| servers.known_state() != stock.known_state);
        let changed = accounts.iter().filter(|(_, stock)| has_changed(stock)).map(|(account, _)| Difference {
            tools: true,
            prompts: true,
            resources: true,
            of: Some(account.clone()),
            updated: Vec::new(),
        });
        std::iter::once(difference).chain(changed).collect()
    }
}

impl Lists {
    /// Both lists, one after the other.
    fn join(mut self, mut other: Self) -> Self {
        self.tools.append(&mut other.tools);
        self.older_outputs.append(&mut other.older_outputs);
        self.prompts.append(&mut other.prompts);
        self.resources.append(&mut other.resources);
        self.templates.append(&mut other.templates);
        self.sources.append(&mut other.sources);
        self.groups.append(&mut other.groups);
        self.pages.append(&mut other.pages);
        self.has_long_ones |= other.has_long_ones;
        self
    }

    fn add_tool(&mut self, listed: Listed, group: &str) {
        self.groups.insert(listed.tool.name.to_string(), group.to_owned());
        self.older_outputs.extend(listed.older_output.map(|output| (listed.tool.name.to_string(), output)));
        self.tools.push(listed.tool);
    }

    /// How many tools of each group are found by searching; nothing when all are listed.
    fn searched_groups(&self) -> Option<BTreeMap<&str, usize>> {
        let mut groups = BTreeMap::new();
        for group in self.left_out.iter().filter_map(|name| self.groups.get(name)) {
            *groups.entry(group.as_str()).or_default() += 1;
        }
        (!groups.is_empty()).then_some(groups)
    }

    /// Adds the server's own tools, but for names that are taken.
    fn add_own_tools(&mut self) {
        let own: Vec<model::Tool> = builtin::tools(self.has_long_ones, self.searched_groups().as_ref()).collect();
        for own in own {
            if self.tools.iter().all(|tool| tool.name != own.name) {
                self.tools.push(own);
            }
        }
        self.tools.sort_by(|one, other| one.name.cmp(&other.name));
    }

    /// The tool with this page, as it is listed.
    pub(crate) fn with_page(&self, page: ToolPage, name: &str) -> Option<&model::Tool> {
        let is_its = self.pages.get(name) == Some(&page);
        self.tools.iter().find(|tool| is_its && tool.name == name)
    }

    /// The tools as clients of an era are shown them, with their pages for those that show pages.
    pub(crate) fn tools_for(&self, is_modern: bool, shown: &Shown, shows_pages: bool) -> Vec<model::Tool> {
        let is_shown = |tool: &&model::Tool| match shown {
            // A tool of the user's may have one of these names.
            Shown::All => {
                self.groups.contains_key(&*tool.name) || ![finding::SEARCH, finding::CALL].contains(&&*tool.name)
            }
            Shown::Found(found) => !self.left_out.contains(&*tool.name) || found.contains(&*tool.name),
        };
        let mut tools: Vec<model::Tool> = self.tools.iter().filter(is_shown).cloned().collect();
        if shows_pages {
            for tool in &mut tools {
                if let Some(page) = self.pages.get(&*tool.name) {
                    let meta = tool.meta.get_or_insert_default();
                    meta.0.insert("ui".to_owned(), pages::meta(&tool.name, *page));
                }
            }
        }
        if !is_modern {
            for tool in tools.iter_mut().filter(|tool| tool.output_schema.is_some()) {
                if let Some(older) = self.older_outputs.get(&*tool.name) {
                    tool.output_schema = Some(Arc::clone(older));
                }
            }
        }
        tools
    }

    fn difference(&self, new: &Self) -> Difference {
        let updated = self
            .sources
            .iter()
            .filter(|old| new.sources.iter().any(|new| new.address == old.address && new.digest != old.digest));
        Difference {
            tools: self.tools != new.tools || self.pages != new.pages,
            prompts: self.prompts != new.prompts,
            resources: self.resources != new.resources || self.templates != new.templates,
            updated: updated.map(|source| source.address.to_string()).collect(),
            of: None,
        }
    }

    /// The resource at an address, and what the address says about the parameters of its tool.
    pub(crate) fn source(&self, uri: &str) -> Option<(&Source, Vec<(String, String)>)> {
        self.sources.iter().find_map(|source| Some((source, source.address.matches(uri)?)))
    }
}

impl Stock {
    fn open(options: Arc<ServerOptions>, pool: Option<&Arc<Pool>>, account: &Account) -> Self {
        let mut engine = Engine::builder(options.host.clone()).rules(options.rules.clone());
        if let Some(pool) = pool {
            engine = engine.shells(Arc::clone(pool));
        }
        if let Some(Equip(equip)) = &options.equip {
            engine = equip(engine, account);
        }
        let engine = Arc::new(engine.build());
        let profiles = engine.settings_now().profiles();
        let upstream = options.upstreams.as_ref().and_then(|upstreams| (upstreams.0)(&engine, account));
        let known_state = upstream.as_ref().map(|servers| servers.known_state()).unwrap_or_default();
        Self { profiles, upstream, known_state, ..Self::with(engine, Offer::of(&options), options) }
    }

    fn with(engine: Arc<Engine>, offer: Offer, options: Arc<ServerOptions>) -> Self {
        Self {
            engine,
            offer,
            profiles: ClientProfiles::default(),
            selected: Mutex::default(),
            lists: Mutex::default(),
            instructions: OnceLock::new(),
            loaded: Mutex::default(),
            index: OnceLock::new(),
            options,
            upstream: None,
            accounts: Mutex::default(),
            unmet: Arc::default(),
            known_state: Vec::new(),
            offers: OnceLock::new(),
            views: Mutex::default(),
        }
    }

    /// Whether an account is offered something else than the owner of this machine.
    fn differs_for(&self, account: &Account) -> bool {
        *account != Account::Owner && self.upstream.as_ref().is_some_and(|servers| servers.has_accounts())
    }

    /// What a guest is offered.
    pub(crate) fn of_guest(self: &Arc<Self>, guest: &Guest) -> Arc<Self> {
        let HoldingProfiles { parts, is_barred } = self.profiles.holding(guest.choice(self.options.profile.as_deref()));
        if parts.is_empty() && !is_barred {
            return Arc::clone(self);
        }
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |view: &&View| view.is_barred == is_barred && view.parts.iter().eq(parts.iter().copied());
        if let Some(view) = views.iter().find(is_same) {
            return Arc::clone(&view.stock);
        }
        let mut offer = parts.iter().fold(Offer::of(&self.options), |offer, part| offer.under(part));
        if is_barred {
            offer = offer.barred();
        }
        let stock = Self::with(Arc::clone(&self.engine), offer, Arc::clone(&self.options));
        let stock = Arc::new(Self { upstream: self.upstream.clone(), unmet: Arc::clone(&self.unmet), ..stock });
        if views.len() >= MOST_VIEWS {
            views.clear();
        }
        let parts = parts.into_iter().cloned().collect();
        views.push(View { parts, is_barred, stock: Arc::clone(&stock) });
        stock
    }

    /// Everything that is offered.
    pub(crate) fn lists(&self) -> Arc<Lists> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lists.get_or_insert_with(|| {
            let made = Arc::new(self.list());
            self.instructions();
            // Nobody needs them any more.
            self.selected.lock().unwrap_or_else(PoisonError::into_inner).take();
            made
        }))
    }

    fn selected(&self) -> Arc<[Selected]> {
        let mut selected = self.selected.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(selected.get_or_insert_with(|| self.engine.selected(&self.offer.selection).into()))
    }

    /// Finds tools by what they do. Returns what the model is told, and the names of the tools.
    ///
    /// # Errors
    /// When the arguments are wrong.
    pub(crate) fn search(&self, arguments: JsonObject) -> Result<(CallToolResult, Vec<String>), Refusal> {
        let lists = self.lists();
        let index = self.index.get_or_init(|| finding::index(&lists.tools, &lists.groups));
        finding::search(&lists.tools, index, arguments)
    }

    fn list(&self) -> Lists {
        let selected = self.selected();
        // They may have been selected some time ago.
        self.engine.look_again();
        // What a tool says of itself is read by a model, so nobody is told of one that nobody trusts. A call of it is
        // refused with the reason.
        if let Some(NotOfferedSink(tell)) = &self.options.waiting {
            let missing = selected.iter().filter_map(NotOffered::of);
            tell(&missing.chain(self.engine.skills_not_offered()).collect::<Vec<_>>());
        }
        // One that has changed stays in the list as it was trusted: who is asked at its first call is shown the change.
        let is_known = |one: &&Selected| one.standing != Some(Standing::Untrusted);
        let offered: Vec<&Selected> = selected.iter().filter(|one| self.offers(&one.entry)).filter(is_known).collect();
        let workers = thread::available_parallelism().map_or(1, usize::from).min(offered.len() / WORTH_A_THREAD + 1);
        let share = offered.len().div_ceil(workers).max(1);
        let loader = EntryLoader::default();
        let list_of = |entries| self.list_of(entries, &loader);
        let mut lists = thread::scope(|scope| {
            let parts: Vec<_> = offered.chunks(share).map(|entries| scope.spawn(move || list_of(entries))).collect();
            let parts = parts.into_iter().map(|part| part.join().unwrap_or_default());
            parts.fold(Lists::default(), Lists::join)
        });
        let Lists { tools, prompts, resources, templates, sources, .. } = &mut lists;
        let is_ours = |uri: &str| sources.iter().any(|source| source.address.matches(uri).is_some());
        let listed = upstream::Listed { tools, prompts, resources, templates };
        lists.routes = upstream::add(listed, &is_ours, self.of_servers().to_vec(), &self.offer.selection);
        lists.left_out = finding::left_out(&lists.tools, &self.engine, self.offer.list_tokens);
        lists.add_own_tools();
        lists
    }

    /// What other servers offer besides tools.
    fn of_servers(&self) -> &[ServerOffers] {
        self.offers.get_or_init(|| self.upstream.as_ref().map(|servers| servers.offers()).unwrap_or_default())
    }

    fn list_of(&self, selected: &[&Selected], loader: &EntryLoader) -> Lists {
        let mut lists = Lists::default();
        for Selected { entry, standing } in selected {
            let is_changed = *standing == Some(Standing::Changed);
            let Ok(opened) = loader.load(entry) else { continue };
            // An alias is listed with the parameters of its base.
            let tool = self.engine.told_to_models(opened.tool);
            match &tool.offer {
                OfferedAs::Tool if is_changed => lists.add_tool(wire::tool(&tool, entry.level), group_of(entry)),
                // What they give is read by a model before anybody is asked.
                _ if is_changed => {}
                OfferedAs::Tool => {
                    lists.pages.extend(tool.page.map(|page| (tool.name.to_string(), page)));
                    lists.add_tool(wire::tool(&tool, entry.level), group_of(entry));
                    if matches!(tool.body, Body::Steps(_)) {
                        lists.prompts.push(wire::prompt(&tool));
                    }
                    lists.has_long_ones |= is_long(&tool);
                }
                OfferedAs::Prompt => lists.prompts.push(wire::prompt(&tool)),
                OfferedAs::Resource { uri } => {
                    let address = UriTemplate::new(uri);
                    if address.is_fixed() {
                        lists.resources.push(wire::resource(&tool, uri));
                    } else {
                        lists.templates.push(wire::template(&tool, uri));
                    }
                    let digest = cycod_engine::definition::digest(&opened.source.text);
                    lists.sources.push(Source { address, tool: tool.name.to_string(), digest });
                }
            }
        }
        lists
    }

    /// The tool that a caller means, as its file defines it; nothing when it is not offered.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        let known = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(loaded) = known.filter(Loaded::is_current) {
            return Some(loaded.tool);
        }
        let entry = self.engine.entry(name, ScopeFilter::Any).ok().filter(|entry| self.would_offer(entry))?;
        let files = std::iter::once(&entry.path).chain(&entry.places.programs);
        let files = files.map(|path| (path.clone(), stamp(path))).collect();
        let tool = Arc::new(entry.load().ok()?.tool);
        if !tool.stated.built.is_empty() || !tool.stated.scripts.is_empty() {
            // More files than these decide what it is.
            return Some(tool);
        }
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.len() >= KEPT {
            loaded.clear();
        }
        loaded.insert(name.to_owned(), Loaded { files, tool: Arc::clone(&tool) });
        Some(tool)
    }

    /// What a tool returns, as it is listed: an alias as its base.
    pub(crate) fn returned_by(&self, tool: &Arc<Tool>) -> Option<JsonSchema> {
        match tool.body {
            Body::Alias { .. } => self.engine.told_to_models(Tool::clone(tool)).returns,
            _ => tool.returns.clone(),
        }
    }

    /// Whether a tool or a prompt may be used that is not offered now. One that was found wrong may have been put right since the
    /// last look. The definition of one of another server may wait to be accepted, or may have been accepted since. Nothing when it
    /// is none of these, or was not selected.
    ///
    /// # Errors
    /// What has to be accepted before.
    pub(crate) fn may_use(&self, name: &str) -> Option<Result<(), Refusal>> {
        let entry = self.engine.entry(name, ScopeFilter::Any).ok();
        if entry.as_ref().is_some_and(|entry| self.was_wrong(entry)) {
            return Some(Ok(()));
        }
        let servers = self.upstream.as_ref()?;
        let is_selected = match entry {
            Some(entry) => self.offer.selection.admits(&entry),
            None => !self.offer.is_barred,
        };
        let unmet = || {
            let unmet = self.unmet.iter().find(|(server, _)| self.leads_to(name, server))?;
            Some(Err(unmet.1.clone()))
        };
        servers.may_use(name).or_else(unmet).filter(|_| is_selected)
    }

    /// Whether a selected tool that can't be loaded was found wrong at this look, or became so since.
    fn was_wrong(&self, entry: &Entry) -> bool {
        match entry.state {
            State::Broken { .. } | State::Duplicate { .. } => self.offer.selection.admits(entry),
            State::Active => self.would_offer(entry),
            State::Shadowed { .. } => false,
        }
    }

    /// Whether a name is one of a tool or a prompt of a server that is offered.
    fn leads_to(&self, name: &str, server: &str) -> bool {
        let prefix = format!("mcp_{server}_");
        name.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(&prefix))
            && self.offer.selection.admits_of_server(server, Some(name))
    }

    /// Why a name that is called leads to no tool.
    pub(crate) fn unknown_tool(&self, name: &str) -> String {
        let shown: String = visible(name).chars().take(LONGEST_SHOWN).collect();
        let lists = self.lists();
        match closest(name, lists.tools.iter().map(|tool| &*tool.name)) {
            Some(near) => format!("there is no tool `{shown}`; did you mean `{near}`?"),
            None => format!("there is no tool `{shown}`"),
        }
    }

    /// What a model is told of this server as a whole.
    pub(crate) fn instructions(&self) -> &str {
        self.instructions.get_or_init(|| self.instructions_for(&self.selected()))
    }

    fn instructions_for(&self, selected: &[Selected]) -> String {
        let entries = selected.iter().map(|one| &one.entry);
        let (remote, own): (Vec<&Entry>, Vec<&Entry>) =
            entries.filter(|entry| self.offers(entry)).partition(|entry| entry.scope == Scope::Mcp);
        let offered = match (own.len(), remote.len()) {
            (own, 0) => format!("{} of the user and the project", tools(own)),
            (0, remote) => format!("{} of other MCP servers", tools(remote)),
            (own, remote) => {
                format!("{} of the user and the project, and {} of other MCP servers", tools(own), tools(remote))
            }
        };
        let mut told = vec![format!("This server offers {offered}.")];
        told.push(
            "The user may have to approve a call that changes something. If a call is refused, its `refusal` says why, \
             and `try` says what to do next."
                .to_owned(),
        );
        told.push(format!(
            "If an output is too large, you get the beginning and the end. Read the rest with `{LOOK}`."
        ));
        told.extend(told_of_missing(selected));
        let of_unmet = self.unmet.iter().filter(|(server, _)| self.offer.selection.admits_of_server(server, None));
        told.extend(of_unmet.map(|(server, refusal)| {
            format!("The tools of the server `{server}` are not listed: {}.", reply::told(refusal))
        }));
        let has_tools = |server: &str| {
            remote.iter().any(|entry| entry.origin.owner.as_deref() == Some(server))
                || self.offer.selection.admits_of_server(server, None)
        };
        told.extend(upstream::instructions(self.of_servers().iter().filter(|offers| has_tools(&offers.server))));
        told.join("\n")
    }

    fn offers(&self, entry: &Entry) -> bool {
        entry.availability.turned_off().is_none() && self.would_offer(entry)
    }

    /// Whether a tool is offered when it is on. Who calls one that is off is refused with the reason.
    fn would_offer(&self, entry: &Entry) -> bool {
        entry.is_active() && entry.availability.if_on() == Availability::Available && self.offer.selection.admits(entry)
    }
}

/// What a model learns about the tools that it doesn't get; nothing if it gets all.
///
/// What nobody has trusted is counted, and not named: its author chose the name.
fn told_of_missing(selected: &[Selected]) -> Option<String> {
    let missing: Vec<NotOffered> = selected.iter().filter_map(NotOffered::of).collect();
    let count = |is_meant: &dyn Fn(&WhyNot) -> bool| missing.iter().filter(|one| is_meant(&one.why)).count();
    let mut told = Vec::new();
    let untrusted = count(&|why| *why == WhyNot::Untrusted);
    if untrusted > 0 {
        told.push(format!(
            "{} of this project can't be called, because the user hasn't trusted them yet. To review and trust them, the user runs: cycod trust --all",
            tools(untrusted)
        ));
    }
    let broken = count(&|why| matches!(why, WhyNot::Broken(_)));
    if broken > 0 {
        told.push(format!(
            "{} can't be called, because of errors in their files. To see them, the user runs: cycod tool validate",
            tools(broken)
        ));
    }
    for one in &missing {
        if let WhyNot::Unavailable(why) = &one.why {
            told.push(format!("The tool `{}` can't be called: {}.", one.name, visible(why)));
        }
    }
    let more = told.len().saturating_sub(MOST_TOLD);
    told.truncate(MOST_TOLD);
    told.extend((more > 0).then(|| format!("{more} more tools can't be called.")));
    (!told.is_empty()).then(|| told.join("\n"))
}

/// The same machine and user, in another directory.
fn host_in(here: &Host, directory: &Path) -> Host {
    let mut there = here.clone();
    there.offered = host::offered(&there.environment, directory);
    there.workspace = directory.to_owned();
    there.working_directory = directory.to_owned();
    there
}

fn tools(count: usize) -> String {
    counted(count, "tool")
}

/// Whether a call is likely to outlast the patience of a client.
pub(crate) fn is_long(tool: &Tool) -> bool {
    matches!(tool.body, Body::Steps(_)) || tool.timeout.is_some_and(|limit| limit > Tool::DEFAULT_TIMEOUT)
}
