//! Answers the requests of a host, whichever transport they come over.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use cycod_engine::{
    Given,
    definition::{Body, OfferedAs, TaskSupport, Tool as Definition},
    diagnostic::Refusal,
    trust::ScopedSkill,
};
use cycod_mcp_client::Account;
use cycod_thread::detach_task;
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities,
        CompleteRequestParams, CompleteResult, CreateTaskResult, DiscoverResult, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult,
        Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult, LoggingLevel,
        PaginatedRequestParams, PromptMessage, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
        ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, ResourceContents, Role,
        ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value as Json;
use tokio::sync::{Mutex as AsyncMutex, watch};

use crate::{
    blocking::blocking,
    builtin::{self, Builtin},
    call::{Call, Goal, Outcome, drive},
    caller::{Caller, is_modern},
    changes::Listener,
    client::{Guest, owner, principal},
    complete, finding,
    gateway::{Gateway, Missing, Retry, Watched, listed},
    handles::{Handle, State},
    outputs, pages, reply, roots,
    shared::Shared,
    shelf::{Difference, Lists, Shown, Stock},
    skills,
    tasks::{self, Kind},
    wire,
};

/// How long a host may take a list for true, in milliseconds.
const FRESH: u64 = 1_000;

/// How many resources a session of the era with handshakes may subscribe to, and how long their addresses may be.
const MOST_WATCHED: usize = 1_000;
const LONGEST_WATCHED: usize = 4_096;

/// Answers one client, or every client of an endpoint without sessions.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub(crate) shared: Arc<Shared>,
    session: Arc<Session>,
}

/// What a session of the era with handshakes remembers.
#[derive(Debug, Default)]
struct Session {
    /// The name that the client announced in its handshake.
    client: OnceLock<String>,
    log: Mutex<Option<LoggingLevel>>,
    watched: Mutex<BTreeMap<String, Option<Watched>>>,
    /// The tools that were found by searching, which are listed from then on.
    found: Mutex<BTreeSet<String>>,
    /// Whether the client was not heard yet about its roots, which decide what it is offered.
    is_unsettled: watch::Sender<bool>,
    /// Roots are asked for one after the other, so that the last answer counts.
    asking: AsyncMutex<()>,
}

impl Handler {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, session: Arc::default() }
    }

    fn caller<'a>(&self, context: &'a RequestContext<RoleServer>) -> Caller<'a> {
        let log = if is_modern(context) {
            context.meta.log_level()
        } else {
            *self.session.log.lock().unwrap_or_else(PoisonError::into_inner)
        };
        Caller::Request { context, log }
    }

    /// What is offered now to the client of a request.
    async fn stock(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Stock>, ErrorData> {
        self.stock_for(&self.guest(context)).await
    }

    /// Who sent a request. A session keeps the name with which it began.
    fn guest(&self, context: &RequestContext<RoleServer>) -> Guest {
        let of_request = || context.client_info().map(|client| client.name);
        Guest::of(self.session.client.get().cloned().or_else(of_request), &context.extensions)
    }

    /// What is offered now to a guest.
    async fn stock_for(&self, guest: &Guest) -> Result<Arc<Stock>, ErrorData> {
        self.settle().await;
        let stock = match self.shared.shelf.ready(&guest.account) {
            Some(stock) => stock,
            None => {
                let (shared, account) = (Arc::clone(&self.shared), guest.account.clone());
                blocking(move || shared.shelf.stock(&account)).await?
            }
        };
        Ok(stock.of_guest(guest))
    }

    /// What is offered now, when a tool or a prompt is missing from it. One that was put right since the last look is there now,
    /// and so is one of another server whose definition was accepted since.
    async fn stock_with(&self, stock: Arc<Stock>, name: &str, guest: &Guest) -> Result<Arc<Stock>, Missing> {
        let (asked, name) = (Arc::clone(&stock), name.to_owned());
        match blocking(move || asked.may_use(&name)).await? {
            None => Ok(stock),
            Some(Err(refusal)) => Err(Missing::Refused(refusal)),
            Some(Ok(())) => {
                let shared = Arc::clone(&self.shared);
                for difference in blocking(move || shared.shelf.reload()).await? {
                    self.shared.changes.publish(difference);
                }
                Ok(self.stock_for(guest).await?)
            }
        }
    }

    /// What other servers are asked for with a request.
    fn gateway<'a>(&'a self, stock: &'a Arc<Stock>, context: &'a RequestContext<RoleServer>) -> Gateway<'a> {
        Gateway { shared: &self.shared, stock, caller: self.caller(context), context }
    }

    /// Waits until the client was heard about its roots, or takes too long.
    async fn settle(&self) {
        let settled = &self.session.is_unsettled;
        if *settled.borrow() {
            let mut waiting = settled.subscribe();
            let waiting = waiting.wait_for(|is_unsettled| !is_unsettled);
            if tokio::time::timeout(roots::PATIENCE, waiting).await.is_err() {
                settled.send_replace(false);
            }
        }
    }

    /// Whether the roots of this client decide where the server works.
    fn follows_roots(&self, peer: &Peer<RoleServer>) -> bool {
        self.shared.options.follows_roots && peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some())
    }

    /// Asks for the roots and goes there, aside from everything else.
    fn follow_roots(&self, context: &NotificationContext<RoleServer>) {
        if !self.follows_roots(&context.peer) {
            return;
        }
        let (handler, peer) = (self.clone(), context.peer.clone());
        detach_task(async move {
            {
                let _turn = handler.session.asking.lock().await;
                roots::follow(&handler.shared, &peer).await;
            }
            handler.session.is_unsettled.send_replace(false);
        });
    }

    /// What a model is told that it could not see from the lists.
    async fn instructions(&self, context: &RequestContext<RoleServer>) -> Result<Option<String>, ErrorData> {
        let stock = self.stock(context).await?;
        blocking(move || Some(stock.instructions().to_owned())).await
    }

    /// Everything that is offered now to the client of a request.
    async fn lists(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Lists>, ErrorData> {
        let stock = self.stock(context).await?;
        blocking(move || stock.lists()).await
    }

    /// The skills that are offered now.
    async fn skills(&self, stock: &Arc<Stock>) -> Result<Vec<ScopedSkill>, ErrorData> {
        if stock.offer.is_barred {
            return Ok(Vec::new());
        }
        let stock = Arc::clone(stock);
        let found = blocking(move || skills::offered(&stock.engine)).await?;
        found.map_err(|refusal| reply::refused_as_error(&refusal))
    }

    /// The file at an address of a skill; nothing when another server may have it.
    async fn skill_file(&self, stock: &Arc<Stock>, uri: &str) -> Result<Option<ResourceContents>, ErrorData> {
        let skills = self.skills(stock).await?;
        if stock.upstream.is_some() && !skills.iter().any(|skill| skills::has(skill, uri)) {
            return Ok(None);
        }
        let uri = uri.to_owned();
        blocking(move || skills::read(&skills, &uri)).await?.map(Some)
    }

    /// Finds tools, and lists those that were found from then on.
    async fn search(
        &self,
        stock: Arc<Stock>,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match blocking(move || stock.search(arguments)).await? {
            // A request of the era without handshakes stands for itself.
            Ok((result, _)) if is_modern(context) => result,
            Ok((result, names)) => {
                let is_new = {
                    let mut found = self.session.found.lock().unwrap_or_else(PoisonError::into_inner);
                    let before = found.len();
                    found.extend(names);
                    found.len() > before
                };
                if is_new {
                    // A client that does not listen calls them by another tool.
                    _ = context.peer.notify_tool_list_changed().await;
                }
                result
            }
            Err(refusal) => reply::refused(&refusal),
        };
        Ok(wire::for_era(result, None, is_modern(context)).into())
    }

    /// Runs the tool behind a prompt or a resource.
    async fn run(
        &self,
        stock: Arc<Stock>,
        tool: Arc<Definition>,
        arguments: Vec<(String, Given)>,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorData> {
        let mut call = Call::with(&self.shared, stock, tool, arguments, &principal(context));
        call.trace = wire::trace(context);
        call.resume(retry.0.as_deref(), retry.1)?;
        Ok(Box::pin(drive(call, &self.caller(context), Goal::End)).await)
    }

    /// Refuses more subscriptions than a session may have.
    fn may_watch(&self, uri: &str) -> Result<(), ErrorData> {
        let watched = self.session.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if uri.len() > LONGEST_WATCHED || watched.len() >= MOST_WATCHED && !watched.contains_key(uri) {
            let why = format!("{MOST_WATCHED} addresses of at most {LONGEST_WATCHED} bytes can be subscribed to");
            return Err(ErrorData::invalid_params(why, None));
        }
        Ok(())
    }

    fn handle(&self, id: &str, context: &RequestContext<RoleServer>) -> Result<Arc<Handle>, ErrorData> {
        let found = self.shared.handles.get(id, &principal(context));
        found.ok_or_else(|| ErrorData::invalid_params(format!("there is no task `{id}`"), None))
    }

    /// Tells a client of the era with handshakes what changes, for as long as it is there.
    async fn follow(self, mut changes: Listener, context: NotificationContext<RoleServer>) {
        let peer = context.peer;
        loop {
            let difference = tokio::select! {
                difference = changes.next() => difference,
                // An abandoned session is let go even when nothing changes.
                () = tokio::time::sleep(std::time::Duration::from_secs(30)) => Some(Arc::default()),
            };
            let Some(difference) = difference.filter(|_| !peer.is_transport_closed()) else { return };
            let Difference { tools, prompts, resources, updated, of: _ } = &*difference;
            let watched: BTreeSet<String> =
                self.session.watched.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
            let told = async {
                if *tools {
                    peer.notify_tool_list_changed().await?;
                }
                if *prompts {
                    peer.notify_prompt_list_changed().await?;
                }
                if *resources {
                    peer.notify_resource_list_changed().await?;
                }
                for uri in updated.iter().filter(|uri| watched.contains(*uri)) {
                    let param = rmcp::model::ResourceUpdatedNotificationParam::new(uri);
                    peer.notify_resource_updated(param).await?;
                }
                Ok::<(), rmcp::ServiceError>(())
            };
            if told.await.is_err() {
                return;
            }
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .enable_skills_with_directory_read()
            .build();
        capabilities.extensions.get_or_insert_default().insert(pages::EXTENSION.to_owned(), JsonObject::new());
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("cycod", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // A second handshake of a session doesn't make it another client's.
        _ = self.session.client.set(request.client_info.name);
        result.instructions = self.instructions(&context).await?;
        if self.follows_roots(&context.peer) {
            self.session.is_unsettled.send_replace(true);
        }
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        info.instructions = self.instructions(&context).await?;
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let account = Guest::of(None, &context.extensions).account;
        let changes = self.shared.changes.listen(account);
        self.follow_roots(&context);
        detach_task(self.clone().follow(changes, context));
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.follow_roots(&context);
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.session.log.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
        Ok(())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let shown = match context.client_info() {
            Some(client) if finding::searches_itself(&client.name) => Shown::All,
            _ => Shown::Found(self.session.found.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        };
        let shows_pages = pages::are_shown_by(context.client_capabilities().as_ref());
        let tools = self.lists(&context).await?.tools_for(is_modern(&context), &shown, shows_pages);
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        // It is asked without a client. What only some accounts have is checked when it is called.
        let lists = self.shared.shelf.stock(&Account::Owner).lists();
        let at = lists.tools.binary_search_by(|tool| (*tool.name).cmp(name)).ok()?;
        lists.tools.get(at).cloned()
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut stock = self.stock(&context).await?;
        let (caller, principal) = (self.caller(&context), principal(&context));
        let named = |stock: &Stock, name: &str| stock.tool(name).filter(|tool| tool.offer == OfferedAs::Tool);
        let mut tool = named(&stock, &request.name);
        if tool.is_none() && request.name == finding::CALL {
            request = match finding::inner(request) {
                Ok(inner) => inner,
                Err(refusal) => return Ok(reply::refused(&refusal).into()),
            };
            tool = named(&stock, &request.name);
        }
        if tool.is_none() {
            stock = match Box::pin(self.stock_with(stock, &request.name, &self.guest(&context))).await {
                Ok(stock) => stock,
                Err(Missing::Refused(refusal)) => {
                    return Ok(wire::for_era(reply::refused(&refusal), None, is_modern(&context)).into());
                }
                Err(Missing::Protocol(error)) => return Err(error),
            };
            tool = named(&stock, &request.name);
        }
        let Some(tool) = tool else {
            return match Builtin::named(&request.name).filter(|builtin| *builtin != Builtin::Call) {
                Some(Builtin::Search) => self.search(stock, request.arguments.unwrap_or_default(), &context).await,
                Some(builtin) => {
                    let answer = builtin::call::run(builtin, &self.shared, stock, request, &caller, &principal).await?;
                    Ok(match answer {
                        CallToolResponse::Complete(result) => wire::for_era(result, None, is_modern(&context)).into(),
                        answer => answer,
                    })
                }
                None => {
                    let why = blocking(move || stock.unknown_tool(&request.name)).await?;
                    Err(ErrorData::invalid_params(why, None))
                }
            };
        };
        let knows_tasks = context.client_capabilities().is_some_and(|client| client.supports_tasks());
        let as_task = match tool.task {
            TaskSupport::Never => false,
            TaskSupport::Offered => knows_tasks,
            TaskSupport::Required if knows_tasks => true,
            TaskSupport::Required => {
                let needs = ClientCapabilities::builder().enable_tasks().build();
                return Err(ErrorData::missing_required_client_capability(needs));
            }
        };
        let arguments = request.arguments.unwrap_or_default();
        let mut call = Call::new(&self.shared, stock, Arc::clone(&tool), arguments, &principal);
        call.trace = wire::trace(&context);
        call.resume(request.request_state.as_deref(), request.input_responses)?;
        let goal = if as_task { Goal::Task } else { Goal::End };
        let stock = Arc::clone(&call.stock);
        let for_era = |result| wire::for_era(result, stock.returned_by(&tool).as_ref(), is_modern(&context)).into();
        // On the heap: a thread's stack also holds what wraps the handling of a request.
        let driving = Box::pin(drive(call, &caller, goal));
        let outcome = match self.shared.options.relay.begin(&tool, &context, self.guest(&context).account) {
            Some(askable) => askable.during(&context, driving).await,
            None => driving.await,
        };
        Ok(match outcome {
            Outcome::Ended(ended) => {
                let mut result = reply::result(*ended, stock.offer.reply_tokens, &self.shared.outputs);
                Box::pin(self.gateway(&stock, &context).link(&tool, &mut result)).await?;
                for_era(result)
            }
            Outcome::Refused(refusal) => for_era(reply::refused_by(&tool, refusal)),
            Outcome::InputRequired(required) => required.into(),
            Outcome::Protocol(error) => return Err(error),
            Outcome::Ready(call) => match tasks::spawn(*call, Kind::Task { is_modern: is_modern(&context) }) {
                Ok(handle) => CallToolResponse::Task(CreateTaskResult::new(handle.task())),
                Err(refusal) => for_era(reply::refused_by(&tool, refusal)),
            },
        })
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = self.lists(&context).await?.prompts.clone();
        Ok(ListPromptsResult::with_all_items(prompts).with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut stock = self.stock(&context).await?;
        if let Some(response) = Box::pin(self.gateway(&stock, &context).prompt(&request)).await? {
            return Ok(response);
        }
        if stock.tool(&request.name).is_none() {
            stock = Box::pin(self.stock_with(stock, &request.name, &self.guest(&context))).await?;
            if let Some(response) = Box::pin(self.gateway(&stock, &context).prompt(&request)).await? {
                return Ok(response);
            }
        }
        let unknown = || ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None);
        let tool = stock.tool(&request.name).ok_or_else(unknown)?;
        let arguments = texts(request.arguments.unwrap_or_default());
        let cap = stock.offer.reply_tokens;
        let mut result = match (&tool.offer, &tool.body) {
            (OfferedAs::Prompt, _) => {
                let retry = (request.request_state, request.input_responses);
                match Box::pin(self.run(stock, Arc::clone(&tool), arguments, retry, &context)).await? {
                    Outcome::Ended(ended) => {
                        let messages = reply::messages(*ended, cap, &self.shared.outputs);
                        GetPromptResult::new(messages?)
                    }
                    Outcome::Refused(refusal) => return Err(reply::refused_as_error(&refusal)),
                    Outcome::InputRequired(required) => return Ok(required.into()),
                    Outcome::Protocol(error) => return Err(error),
                    Outcome::Ready(_) => return Err(unknown()),
                }
            }
            (OfferedAs::Tool, Body::Steps(_)) => {
                let of = Arc::clone(&tool);
                let text = blocking(move || explained(&stock, &of, arguments)).await?;
                let text = text.map_err(|refusal| reply::refused_as_error(&refusal))?;
                GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
            }
            _ => return Err(unknown()),
        };
        result.description.clone_from(&tool.description);
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let stock = self.stock(&context).await?;
        if let Some(result) = Box::pin(self.gateway(&stock, &context).complete(&request)).await? {
            return Ok(result);
        }
        blocking(move || {
            let name = match &request.r#ref {
                Reference::Prompt(prompt) => Some(prompt.name.clone()),
                Reference::Resource(resource) => {
                    let lists = stock.lists();
                    let source = lists.sources.iter().find(|source| source.address.to_string() == resource.uri);
                    source.map(|source| source.tool.clone())
                }
                _ => None,
            };
            let tool = name.and_then(|name| stock.tool(&name));
            tool.map(|tool| complete::values(&tool, &request.argument.name, &request.argument.value))
        })
        .await?
        .ok_or_else(|| ErrorData::invalid_params("there is nothing of this name to complete", None))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.lists(&context).await?.resources.clone();
        Ok(ListResourcesResult::with_all_items(resources).with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = self.lists(&context).await?.templates.clone();
        Ok(ListResourceTemplatesResult::with_all_items(templates)
            .with_ttl_ms(FRESH)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        if uri.starts_with(cycod_store::OutputId::SCHEME) {
            let cap = self.stock(&context).await?.offer.reply_tokens;
            let (shared, asked) = (Arc::clone(&self.shared), uri.clone());
            let owner = owner(&principal(&context)).to_owned();
            let contents = blocking(move || outputs::read(&shared.outputs, &asked, &owner, cap)).await?;
            let contents = contents.map_err(|refusal| reply::unread(&refusal, &uri))?;
            return Ok(reply::fresh(ReadResourceResult::new(vec![contents])).into());
        }
        let stock = self.stock(&context).await?;
        if uri.starts_with(skills::SCHEME)
            && let Some(contents) = self.skill_file(&stock, &uri).await?
        {
            return Ok(reply::fresh(ReadResourceResult::new(vec![contents])).into());
        }
        let lists = listed(&stock).await?;
        if let Some((page, name)) = pages::asked(&uri)
            && let Some(listed) = lists.with_page(page, name)
            && let Some(tool) = stock.tool(name)
        {
            let contents = pages::contents(uri.clone(), page, &tool, listed);
            return Ok(reply::fresh(ReadResourceResult::new(vec![contents])).into());
        }
        let found = lists.source(&uri).and_then(|(source, values)| Some((stock.tool(&source.tool)?, values)));
        let Some((tool, values)) = found else {
            let retry = (request.request_state, request.input_responses);
            return Box::pin(self.gateway(&stock, &context).read(&lists, &uri, retry)).await;
        };
        let arguments = values.into_iter().map(|(name, value)| (name, Given::Text(value))).collect();
        let retry = (request.request_state, request.input_responses);
        match Box::pin(self.run(stock, Arc::clone(&tool), arguments, retry, &context)).await? {
            Outcome::Ended(ended) => {
                let contents = reply::resource(*ended, &tool, &uri, &self.shared.outputs)?;
                Ok(reply::fresh(ReadResourceResult::new(vec![contents])).into())
            }
            Outcome::Refused(refusal) => Err(reply::refused_as_error(&refusal)),
            Outcome::InputRequired(required) => Ok(required.into()),
            Outcome::Protocol(error) => Err(error),
            Outcome::Ready(_) => Err(reply::missing("there is no such resource", &uri)),
        }
    }

    async fn list_skills(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let skills = self.skills(&self.stock(&context).await?).await?;
        let entries = skills.iter().filter_map(skills::entry).collect();
        Ok(ListSkillsResult::with_all_items(entries).with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let skills = self.skills(&self.stock(&context).await?).await?;
        let entry = skills.iter().find(|skill| skills::is_at(skill, &request.uri)).and_then(skills::entry);
        let entry = entry.ok_or_else(|| ErrorData::invalid_params(format!("no skill is at {}", request.uri), None))?;
        Ok(GetSkillResult::new(entry).with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        let skills = self.skills(&self.stock(&context).await?).await?;
        let children = skills::children(&skills, &request.uri);
        let missing = || ErrorData::invalid_params(format!("no directory of skills is at {}", request.uri), None);
        let result = ReadResourceDirectoryResult::with_all_items(children.ok_or_else(missing)?);
        Ok(result.with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let account = self.guest(context.request_context()).account;
        let mut changes = self.shared.changes.listen(account);
        let sink = context.sink();
        let stock = self.stock(context.request_context()).await?;
        let mut watched = Vec::new();
        for uri in context.requested().resource_subscriptions.iter().flatten().take(MOST_WATCHED) {
            // A server that does not tell of one resource does of others.
            let gateway = self.gateway(&stock, context.request_context());
            watched.extend(Box::pin(gateway.watch(uri)).await.ok().flatten());
        }
        loop {
            let difference = tokio::select! {
                difference = changes.next() => difference,
                () = context.cancelled() => None,
            };
            let Some(difference) = difference else { return Ok(()) };
            let Difference { tools, prompts, resources, updated, of: _ } = &*difference;
            let told = async {
                if *tools {
                    sink.notify_tool_list_changed().await.ok()?;
                }
                if *prompts {
                    sink.notify_prompt_list_changed().await.ok()?;
                }
                if *resources {
                    sink.notify_resource_list_changed().await.ok()?;
                }
                for uri in updated {
                    sink.notify_resource_updated(uri).await.ok()?;
                }
                Some(())
            };
            if told.await.is_none() {
                return Ok(());
            }
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.may_watch(&request.uri)?;
        let stock = self.stock(&context).await?;
        let upstream = Box::pin(self.gateway(&stock, &context).watch(&request.uri)).await?;
        let mut watched = self.session.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.insert(request.uri, upstream);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.uri);
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.handle(&request.task_id, &context)?.detailed()))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.handle(&request.task_id, &context)?.answer(request.input_responses);
        Ok(())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.handle(&request.task_id, &context)?.set(State::Cancelled);
        Ok(())
    }
}

/// Arguments of a prompt: text, as people type it, but other values are understood.
fn texts(arguments: JsonObject) -> Vec<(String, Given)> {
    let given = arguments.into_iter().map(|(name, value)| match value {
        Json::String(text) => (name, Given::Text(text)),
        other => (name, Given::Value(other.into())),
    });
    given.collect()
}

/// What a workflow would do with these arguments, as a message that asks for it.
fn explained(stock: &Stock, tool: &Arc<Definition>, arguments: Vec<(String, Given)>) -> Result<String, Refusal> {
    use std::fmt::Write as _;
    let engine = &stock.engine;
    let plan = engine.plan_unasked(tool, arguments, None).map_err(|error| error.into_refusal(tool.name.as_str()))?;
    let preview = engine.preview(&plan);
    let given = plan.masks().apply(&plan.call.arguments_json()).into_owned();
    let mut text = format!("Call the tool `{}` with these arguments:\n\n{given}\n", tool.name);
    if let Some(description) = &tool.description {
        let _ = write!(text, "\n{description}\n");
    }
    text.push_str("\nIt does, in this order:\n");
    for (index, step) in preview.steps.iter().enumerate() {
        let command = step.command.as_ref().map_or_else(|refusal| refusal.why.clone(), Clone::clone);
        let _ = writeln!(text, "{}. {}: {}", index + 1, step.name, command.lines().next().unwrap_or_default());
    }
    Ok(text)
}
