//! Answers the requests of a host, whichever transport they come over.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use cycod_engine::{
    Given,
    definition::{Body, OfferedAs, TaskSupport, Tool as Definition},
    diagnostic::Refusal,
};
use cycod_thread::detach_task;
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities,
        CompleteRequestParams, CompleteResult, CreateTaskResult, DiscoverResult, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams,
        InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, LoggingLevel, PaginatedRequestParams, PromptMessage, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, Reference, Role, ServerCapabilities, ServerConfig,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
        UpdateTaskParams,
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
    client::{owner, principal},
    complete, finding,
    handles::{Handle, State},
    outputs, reply, roots,
    shared::Shared,
    shelf::{Difference, Lists, Shown, Stock},
    tasks::{self, Kind},
    wire,
};

use gateway::{Missing, Watched};

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
    log: Mutex<Option<LoggingLevel>>,
    watched: Mutex<BTreeMap<String, Option<Watched>>>,
    /// The tools that were found by searching, which are listed from then on.
    found: Mutex<BTreeSet<String>>,
    /// Whether the client was not heard yet about its roots, which decide what it is offered.
    is_unsettled: watch::Sender<bool>,
    /// Roots are asked for one after the other, so that the last answer counts.
    asking: AsyncMutex<()>,
}

/// Everything that a stock offers.
async fn listed(stock: &Arc<Stock>) -> Result<Arc<Lists>, ErrorData> {
    let stock = Arc::clone(stock);
    blocking(move || stock.lists()).await
}

/// A refusal in one text.
fn told(refusal: &Refusal) -> String {
    match &refusal.attempt {
        Some(attempt) => format!("{}; {attempt}", refusal.why),
        None => refusal.why.clone(),
    }
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
        self.stock_for(context.client_info().map(|client| client.name)).await
    }

    /// What is offered now to a client that announces this name.
    async fn stock_for(&self, client: Option<String>) -> Result<Arc<Stock>, ErrorData> {
        self.settle().await;
        let stock = match self.shared.shelf.ready() {
            Some(stock) => stock,
            None => {
                let shared = Arc::clone(&self.shared);
                blocking(move || shared.shelf.stock()).await?
            }
        };
        Ok(stock.of_client(client.as_deref()))
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
    async fn instructions(&self, client: Option<String>) -> Result<Option<String>, ErrorData> {
        let stock = self.stock_for(client).await?;
        blocking(move || Some(stock.instructions().to_owned())).await
    }

    /// Everything that is offered now to the client of a request.
    async fn lists(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Lists>, ErrorData> {
        let stock = self.stock(context).await?;
        blocking(move || stock.lists()).await
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
        retry: (Option<String>, Option<rmcp::model::InputResponses>),
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
            let Difference { tools, prompts, resources, updated } = &*difference;
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
        let capabilities = ServerCapabilities::builder()
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
            .build();
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
        result.instructions = self.instructions(Some(request.client_info.name.clone())).await?;
        if self.follows_roots(&context.peer) {
            self.session.is_unsettled.send_replace(true);
        }
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        let client = context.client_info().map(|client| client.name);
        info.instructions = self.instructions(client).await?;
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let changes = self.shared.changes.listen();
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
        let tools = self.lists(&context).await?.tools_for(is_modern(&context), &shown);
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(FRESH).with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let lists = self.shared.shelf.stock().lists();
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
            let client = context.client_info().map(|client| client.name);
            stock = match Box::pin(self.stock_with(stock, &request.name, client)).await {
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
        let outcome = match self.shared.options.relay.begin(&tool, &context) {
            Some(askable) => askable.during(&context, driving).await,
            None => driving.await,
        };
        Ok(match outcome {
            Outcome::Ended(ended) => {
                let mut result = reply::result(*ended, stock.offer.reply_tokens, &self.shared.outputs);
                Box::pin(self.link(&stock, &tool, &mut result)).await?;
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
        if let Some(response) = Box::pin(self.prompt_upstream(&stock, &request, &context)).await? {
            return Ok(response);
        }
        if stock.tool(&request.name).is_none() {
            let client = context.client_info().map(|client| client.name);
            stock = Box::pin(self.stock_with(stock, &request.name, client)).await?;
            if let Some(response) = Box::pin(self.prompt_upstream(&stock, &request, &context)).await? {
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
        if let Some(result) = Box::pin(self.complete_upstream(&stock, &request, &context)).await? {
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
            let contents = contents.map_err(|refusal| unread(&refusal, &uri))?;
            return Ok(fresh(ReadResourceResult::new(vec![contents])).into());
        }
        let stock = self.stock(&context).await?;
        let lists = listed(&stock).await?;
        let found = lists.source(&uri).and_then(|(source, values)| Some((stock.tool(&source.tool)?, values)));
        let Some((tool, values)) = found else {
            let retry = (request.request_state, request.input_responses);
            return Box::pin(self.read_upstream(&stock, &lists, &uri, retry, &context)).await;
        };
        let arguments = values.into_iter().map(|(name, value)| (name, Given::Text(value))).collect();
        let retry = (request.request_state, request.input_responses);
        match Box::pin(self.run(stock, Arc::clone(&tool), arguments, retry, &context)).await? {
            Outcome::Ended(ended) => {
                let contents = reply::resource(*ended, &tool, &uri, &self.shared.outputs)?;
                Ok(fresh(ReadResourceResult::new(vec![contents])).into())
            }
            Outcome::Refused(refusal) => Err(reply::refused_as_error(&refusal)),
            Outcome::InputRequired(required) => Ok(required.into()),
            Outcome::Protocol(error) => Err(error),
            Outcome::Ready(_) => Err(missing("there is no such resource", &uri)),
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.changes.listen();
        let sink = context.sink();
        let stock = self.stock(context.request_context()).await?;
        let mut watched = Vec::new();
        for uri in context.requested().resource_subscriptions.iter().flatten().take(MOST_WATCHED) {
            // A server that does not tell of one resource does of others.
            let watching = Box::pin(self.watch_upstream(&stock, uri, context.request_context()));
            watched.extend(watching.await.ok().flatten());
        }
        loop {
            let difference = tokio::select! {
                difference = changes.next() => difference,
                () = context.cancelled() => None,
            };
            let Some(difference) = difference else { return Ok(()) };
            let Difference { tools, prompts, resources, updated } = &*difference;
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
        let upstream = Box::pin(self.watch_upstream(&stock, &request.uri, &context)).await?;
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

/// The refusal of an output, with the address, as the protocol wants it.
fn unread(refusal: &Refusal, uri: &str) -> ErrorData {
    let mut error = reply::refused_as_error(refusal);
    if let Some(data) = &mut error.data {
        data["uri"] = uri.into();
    }
    error
}

fn missing(why: &str, uri: &str) -> ErrorData {
    ErrorData::resource_not_found(why.to_owned(), Some(serde_json::json!({ "uri": uri })))
}

fn fresh(result: ReadResourceResult) -> ReadResourceResult {
    result.with_ttl_ms(0).with_cache_scope(CacheScope::Private)
}

mod gateway {
    //! What is asked of other servers: it is judged, and stands in the history, as a call of a tool.

    use std::sync::Arc;

    use cycod_engine::{
        definition::{Body, Tool as Definition},
        diagnostic::Refusal,
    };
    use cycod_mcp_client::ResourceWatch;
    use cycod_thread::{DetachedTask, task};
    use rmcp::{
        ErrorData, RoleServer,
        model::{
            CallToolResult, CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock,
            GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult, InputResponses,
            JsonObject, ReadResourceResponse, ReadResourceResult, Reference,
        },
        service::RequestContext,
    };
    use serde::de::DeserializeOwned;
    use serde_json::json;

    use super::{Handler, fresh, listed, missing, unread};
    use crate::{
        blocking::blocking,
        call::{Call, Goal, Outcome, drive},
        client::{owner, principal},
        reply,
        shelf::{Difference, Lists, Stock},
        upstream::Receiver,
        wire,
    };

    /// What a client sends with its retry of a request: the state and the answers.
    pub(super) type Retry = (Option<String>, Option<InputResponses>);

    /// What another server was asked for.
    enum Answered<T> {
        Whole(T),
        /// Somebody has to answer first.
        InputRequired(InputRequiredResult),
    }

    /// A resource of another server that a client hears of.
    #[derive(Debug)]
    pub(super) struct Watched {
        _watch: ResourceWatch,
        telling: DetachedTask<()>,
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            self.telling.abort();
        }
    }

    /// Why a client does not get what it wants of another server.
    pub(super) enum Missing {
        Refused(Refusal),
        Protocol(ErrorData),
    }

    impl From<ErrorData> for Missing {
        fn from(error: ErrorData) -> Self {
            Self::Protocol(error)
        }
    }

    impl From<Missing> for ErrorData {
        fn from(missing: Missing) -> Self {
            match missing {
                Missing::Refused(refusal) => reply::refused_as_error(&refusal),
                Missing::Protocol(error) => error,
            }
        }
    }

    impl Handler {
        /// What is offered now, when a tool or a prompt of another server is missing from it. One whose definition was accepted since the last
        /// look is there now.
        pub(super) async fn stock_with(
            &self,
            stock: Arc<Stock>,
            name: &str,
            client: Option<String>,
        ) -> Result<Arc<Stock>, Missing> {
            let (asked, name) = (Arc::clone(&stock), name.to_owned());
            match blocking(move || asked.may_use(&name)).await? {
                None => Ok(stock),
                Some(Err(refusal)) => Err(Missing::Refused(refusal)),
                Some(Ok(())) => {
                    let shared = Arc::clone(&self.shared);
                    let difference = blocking(move || shared.shelf.reload()).await?;
                    self.shared.changes.publish(difference);
                    Ok(self.stock_for(client).await?)
                }
            }
        }

        /// Writes the links of another server's answer so that they can be read here.
        pub(super) async fn link(
            &self,
            stock: &Arc<Stock>,
            tool: &Definition,
            result: &mut CallToolResult,
        ) -> Result<(), ErrorData> {
            let Body::Remote(remote) = &tool.body else { return Ok(()) };
            let has_address =
                |block: &ContentBlock| matches!(block, ContentBlock::ResourceLink(_) | ContentBlock::Resource(_));
            if stock.upstream.is_some() && result.content.iter().any(has_address) {
                let lists = listed(stock).await?;
                lists.routes.link(&remote.server, result, &self.shared.links);
            }
            Ok(())
        }

        /// What is done with what another server answers.
        fn receiver<'a>(&'a self, stock: &Stock, lists: &'a Lists, server: &'a str, owner: &'a str) -> Receiver<'a> {
            let (routes, links) = (&lists.routes, &self.shared.links);
            Receiver { cap: stock.offer.reply_tokens, shelf: &self.shared.outputs, owner, server, routes, links }
        }

        /// Asks another server for something as `tool`, which is made for that. Without a `retry`, nobody is asked for approval.
        async fn ask_server<T: DeserializeOwned>(
            &self,
            stock: &Arc<Stock>,
            tool: Definition,
            arguments: JsonObject,
            retry: Option<Retry>,
            context: &RequestContext<RoleServer>,
        ) -> Result<Answered<T>, Missing> {
            let mut call = Call::new(&self.shared, Arc::clone(stock), Arc::new(tool), arguments, &principal(context));
            call.trace = wire::trace(context);
            call.asks = retry.is_some();
            let (state, answers) = retry.unwrap_or_default();
            call.resume(state.as_deref(), answers)?;
            let lost = || Missing::Protocol(ErrorData::internal_error("the answer of the server was lost", None));
            match Box::pin(drive(call, &self.caller(context), Goal::End)).await {
                Outcome::Ended(ended) => match (ended.report.refusal, ended.report.answer) {
                    (Some(refusal), _) => Err(Missing::Refused(refusal)),
                    (None, Some(answer)) => {
                        let whole = answer.structured.and_then(|whole| serde_json::from_value(whole).ok());
                        whole.map(Answered::Whole).ok_or_else(lost)
                    }
                    (None, None) => Err(lost()),
                },
                Outcome::Refused(refusal) => Err(Missing::Refused(refusal)),
                Outcome::InputRequired(required) => Ok(Answered::InputRequired(required)),
                Outcome::Protocol(error) => Err(Missing::Protocol(error)),
                Outcome::Ready(_) => Err(lost()),
            }
        }

        /// Reads a resource of another server.
        pub(super) async fn read_upstream(
            &self,
            stock: &Arc<Stock>,
            lists: &Lists,
            uri: &str,
            retry: Retry,
            context: &RequestContext<RoleServer>,
        ) -> Result<ReadResourceResponse, ErrorData> {
            let refused = |refusal: Refusal| unread(&refusal, uri);
            let Some(servers) = &stock.upstream else { return Err(missing("there is no such resource", uri)) };
            let route =
                lists.routes.route(uri, &self.shared.links).map_err(|refusal| missing(&super::told(&refusal), uri))?;
            let tool = servers.reading(&route.server, &route.uri).map_err(refused)?;
            let arguments = [("uri".to_owned(), json!(route.uri))].into_iter().collect();
            let result: ReadResourceResult = match self.ask_server(stock, tool, arguments, Some(retry), context).await {
                Ok(Answered::Whole(result)) => result,
                Ok(Answered::InputRequired(required)) => return Ok(required.into()),
                Err(Missing::Refused(refusal)) => return Err(refused(refusal)),
                Err(Missing::Protocol(error)) => return Err(error),
            };
            let (principal, meta) = (principal(context), result.meta);
            let receiver = self.receiver(stock, lists, &route.server, owner(&principal));
            let mut read = ReadResourceResult::new(receiver.contents(result.contents).map_err(refused)?);
            read.meta = meta;
            Ok(fresh(read).into())
        }

        /// Gets a prompt of another server; nothing when no server has one of this name.
        pub(super) async fn prompt_upstream(
            &self,
            stock: &Arc<Stock>,
            request: &GetPromptRequestParams,
            context: &RequestContext<RoleServer>,
        ) -> Result<Option<GetPromptResponse>, ErrorData> {
            let Some(servers) = &stock.upstream else { return Ok(None) };
            let lists = listed(stock).await?;
            let Some((server, name)) = lists.routes.prompt(&request.name) else { return Ok(None) };
            let refused = |refusal: Refusal| reply::refused_as_error(&refusal);
            let tool = servers.prompting(server, name).map_err(refused)?;
            let arguments = request.arguments.clone().unwrap_or_default();
            let retry = (request.request_state.clone(), request.input_responses.clone());
            let theirs: GetPromptResult = match self.ask_server(stock, tool, arguments, Some(retry), context).await? {
                Answered::Whole(result) => result,
                Answered::InputRequired(required) => return Ok(Some(required.into())),
            };
            let principal = principal(context);
            let receiver = self.receiver(stock, &lists, server, owner(&principal));
            // What their era leaves out, ours needs: the result is made again.
            let mut result = GetPromptResult::new(receiver.messages(theirs.messages).map_err(refused)?);
            (result.description, result.meta) = (theirs.description, theirs.meta);
            Ok(Some(result.into()))
        }

        /// Completes a value of something that another server offers; nothing when none does. Nobody is asked about what is typed.
        pub(super) async fn complete_upstream(
            &self,
            stock: &Arc<Stock>,
            request: &CompleteRequestParams,
            context: &RequestContext<RoleServer>,
        ) -> Result<Option<CompleteResult>, ErrorData> {
            let Some(servers) = &stock.upstream else { return Ok(None) };
            let lists = listed(stock).await?;
            let (server, reference) = match &request.r#ref {
                Reference::Prompt(prompt) => match lists.routes.prompt(&prompt.name) {
                    Some((server, name)) => (server.as_str(), Reference::for_prompt(name)),
                    None => return Ok(None),
                },
                Reference::Resource(resource) => match lists.routes.template(&resource.uri) {
                    Some((server, template)) => (server, Reference::for_resource(template)),
                    None => return Ok(None),
                },
                _ => return Ok(None),
            };
            let tool = servers.completing(server, &reference).map_err(|refusal| reply::refused_as_error(&refusal))?;
            let Some(tool) = tool else { return Ok(None) };
            let mut arguments = JsonObject::new();
            arguments.insert("argument".to_owned(), json!(request.argument.name));
            arguments.insert("value".to_owned(), json!(request.argument.value));
            if let Some(known) = &request.context {
                arguments.insert("context".to_owned(), json!(known));
            }
            match self.ask_server::<CompletionInfo>(stock, tool, arguments, None, context).await? {
                Answered::Whole(info) => Ok(Some(CompleteResult::new(info))),
                Answered::InputRequired(_) => Ok(None),
            }
        }

        /// Hears of a resource of another server; nothing when it is none of theirs. Who may not read it hears nothing of it, either.
        pub(super) async fn watch_upstream(
            &self,
            stock: &Arc<Stock>,
            uri: &str,
            context: &RequestContext<RoleServer>,
        ) -> Result<Option<Watched>, ErrorData> {
            let Some(servers) = &stock.upstream else { return Ok(None) };
            let lists = listed(stock).await?;
            if lists.source(uri).is_some() {
                return Ok(None);
            }
            let Ok(route) = lists.routes.route(uri, &self.shared.links) else { return Ok(None) };
            let refused = |refusal: Refusal| unread(&refusal, uri);
            let tool = servers.reading(&route.server, &route.uri).map_err(refused)?;
            let arguments = [("uri".to_owned(), json!(route.uri))].into_iter().collect();
            let call = Call::new(&self.shared, Arc::clone(stock), Arc::new(tool), arguments, &principal(context));
            blocking(move || call.permit()).await?.map_err(refused)?;
            let mut updates = servers.updates();
            let watch = servers.watch(&route.server, &route.uri).await.map_err(refused)?;
            let (changes, uri) = (self.shared.changes.clone(), uri.to_owned());
            let telling = task(async move {
                use tokio::sync::broadcast::error::RecvError;
                loop {
                    let is_meant = match updates.recv().await {
                        Ok(update) => update.server == route.server && update.uri == route.uri,
                        // It may have been among those that were missed.
                        Err(RecvError::Lagged(_)) => true,
                        Err(RecvError::Closed) => return,
                    };
                    if is_meant {
                        changes.publish(Difference { updated: vec![uri.clone()], ..Difference::default() });
                    }
                }
            });
            Ok(Some(Watched { _watch: watch, telling }))
        }
    }
}
