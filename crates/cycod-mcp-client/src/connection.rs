//! A server that was reached: how it is started or called, what it offers, and how it is ended.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use cycod_definition::Host;
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_process::{Conversation, ProcessLimits, Program, Streams, find_program};
use cycod_run::{ConfinedProgram, ObservedProgram, Terms};
use cycod_settings::{Protocol, Server, ServerSecurity, Transport};
use cycod_thread::detach_task;
use rmcp::{
    ClientLifecycleMode, ClientServiceExt, Peer, RoleClient, ServiceError,
    model::{
        ErrorCode, GetPromptRequestParams, GetPromptResult, JsonObject, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResult, ServerNotification, ServerPeerInfo, SubscriptionFilter,
    },
    service::{ClientCacheConfig, RunningService},
    transport::{
        AuthClient, StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::sync::Semaphore;

use crate::{
    failure, given,
    handler::{Handler, MOST_QUESTIONS},
    http,
    lines::Lines,
    listing::{ListKind, Listing, list},
    oauth::Logins,
    others::OtherLists,
    person::Person,
    updates::Updates,
    watch::Watch,
};

/// The most bytes of one message.
pub(crate) const MESSAGE_LIMIT: usize = 16 << 20;

/// How long a listing counts. Not every server tells that its tools have changed.
const LISTING_AGE: Duration = Duration::from_secs(30);

/// How long a server may take to list what it offers besides tools. Its tools don't wait any longer for that.
const OTHERS_LIMIT: Duration = Duration::from_secs(10);

/// How many lines of a server's standard error are shown: of one that does not start, also the first.
const FIRST_WORDS: usize = 2;
const LAST_WORDS: usize = 5;

/// How long a server has to start and to say what it offers. Some fetch themselves first.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(60);

/// The variables that a server gets from our environment, beside those that its entry names.
const INHERITED: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    ]
} else {
    &["PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "SHELL", "SYSTEMROOT"]
};

/// A server that was reached.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    pub(crate) handler: Handler,
    listing: RwLock<(Instant, Arc<Listing>)>,
    others: RwLock<Arc<OtherLists>>,
    logins: Logins,
    /// Which login it was opened with.
    login: Option<String>,
}

/// What a connection needs beside the server's entry.
pub(crate) struct Surroundings {
    pub(crate) host: Arc<Host>,
    pub(crate) person: Arc<dyn Person>,
    pub(crate) logins: Logins,
    /// Where servers say that a resource has changed.
    pub(crate) updates: Updates,
    /// Who watches what servers touch; they are confined to nothing then.
    pub(crate) observed: Option<ObservedProgram>,
}

/// Whether the tools were listed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refreshed {
    /// They were not.
    No,
    /// They were, because some time had passed.
    Aged,
    /// They were, because the server announced that they have changed.
    Announced,
}

/// Why a server was not reached.
struct Failed {
    refusal: Refusal,
    /// Whether it ended or closed the connection at the first message.
    is_closed: bool,
}

impl Connection {
    /// Reaches a server and lists its tools. `era` is the version it spoke when it was last met.
    pub(crate) async fn open(server: &Server, around: &Surroundings, era: Option<&str>) -> Result<Self, Refusal> {
        if let Some(protocol) = server.entry.protocol {
            return Self::attempt(server, around, protocol == Protocol::Handshake)
                .await
                .map_err(|failed| failed.refusal);
        }
        // Asking a server of the old era for the new one costs a round trip, or ten seconds when it does not answer at all.
        let was_legacy = era.is_some_and(|era| era < ProtocolVersion::NO_INITIALIZE.as_str());
        match Self::attempt(server, around, was_legacy).await {
            // It may speak another era by now. And some of the old one answer what they do not know with nothing, or end.
            Err(Failed { refusal, is_closed }) if is_closed || failure::is_failed(&refusal) => {
                Self::attempt(server, around, !was_legacy).await.map_err(|_| refusal)
            }
            outcome => outcome.map_err(|failed| failed.refusal),
        }
    }

    async fn attempt(server: &Server, around: &Surroundings, legacy: bool) -> Result<Self, Failed> {
        let watch = Arc::new(Watch::default());
        let handler = Handler {
            server: server.name.as_str().into(),
            person: Arc::clone(&around.person),
            watch: Arc::clone(&watch),
            updates: around.updates.clone(),
            may_sample: server.entry.sampling,
            questions: Arc::new(Semaphore::new(MOST_QUESTIONS)),
        };
        let mode = if legacy {
            ClientLifecycleMode::Initialize
        } else {
            ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            }
        };
        let mut is_closed = false;
        let mut login = None;
        let mut confined = None;
        let starting = async {
            let service = match server.resolve(&around.host)? {
                Transport::Stdio { command, args, env, cwd } => {
                    confined = confinement(server, around, cwd.as_deref())?.map(Arc::new);
                    let given = Start { command: &command, args: &args, env, cwd };
                    let (program, streams) = start(server, around, given, confined.as_deref())?;
                    let lines = Lines::new(program, streams, MESSAGE_LIMIT, &watch, confined.clone())
                        .map_err(|error| failure::unreachable(&server.name, error))?;
                    handler.clone().serve_with_lifecycle(lines, mode).await
                }
                Transport::Http { url, headers } => {
                    let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                        .custom_headers(http::headers(&server.name, &headers)?)
                        .max_sse_event_size(MESSAGE_LIMIT);
                    let client = http::client().map_err(|error| failure::unreachable(&server.name, error))?;
                    let client = AuthClient::new(client, around.logins.manager(&server.name, &url).await?);
                    login = around.logins.current(&server.name);
                    let transport = StreamableHttpClientTransport::with_client(client, config);
                    handler.clone().serve_with_lifecycle(transport, mode).await
                }
            };
            let service = service.map_err(|error| {
                around.logins.refused(&server.name, error.auth_challenge());
                is_closed = failure::is_closed(&error);
                failure::of_start(&server.name, &error)
            })?;
            // What is pinned must be what the server says now.
            service.peer().set_response_cache_config(ClientCacheConfig::disabled()).await;
            let connection = Self {
                service,
                handler: handler.clone(),
                listing: RwLock::new((Instant::now(), Arc::default())),
                others: RwLock::default(),
                logins: around.logins.clone(),
                login,
            };
            connection.list().await?;
            listen(connection.peer().clone(), &watch);
            Ok(connection)
        };
        let outcome = match tokio::time::timeout(START_LIMIT, starting).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let why = format!("it did not answer within {} s", START_LIMIT.as_secs());
                Err(failure::unreachable(&server.name, why))
            }
        };
        // A server that does not start often says which key it was given.
        outcome.map_err(|refusal| {
            let refusal = match &confined {
                Some(confined) => of_confined(&server.name, refusal, confined, &watch),
                None => refusal,
            };
            let refusal = with_words(refusal, &watch.words(FIRST_WORDS, LAST_WORDS));
            let secrets = server.resolve(&around.host).map(|transport| given::secrets(&transport)).unwrap_or_default();
            Failed {
                refusal: Refusal { why: Masks::new(secrets).apply(&refusal.why).into_owned(), ..refusal },
                is_closed,
            }
        })
    }

    /// The way to send requests.
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// What the server says of itself.
    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.service.peer().peer_info()
    }

    /// What the server offered when it was last asked.
    pub(crate) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.listing.read().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Whether there was a login, or an end of one, since it was opened.
    pub(crate) fn has_other_login(&self) -> bool {
        self.logins.current(&self.handler.server) != self.login
    }

    /// Whether the server ended or closed its streams.
    pub(crate) fn is_over(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// Lists the tools again if they may have changed.
    pub(crate) async fn refresh(&self) -> Result<Refreshed, Refusal> {
        let is_old = self.listing.read().unwrap_or_else(PoisonError::into_inner).0.elapsed() > LISTING_AGE;
        let is_announced = self.handler.watch.take_stale();
        if !is_announced && !is_old {
            return Ok(Refreshed::No);
        }
        let listed = tokio::time::timeout(START_LIMIT, self.list()).await.unwrap_or_else(|_| {
            let why = format!("it did not list its tools within {} s", START_LIMIT.as_secs());
            Err(failure::unreachable(&self.handler.server, why))
        });
        listed.inspect_err(|_| self.handler.watch.set_stale())?;
        Ok(if is_announced { Refreshed::Announced } else { Refreshed::Aged })
    }

    /// What it lists besides tools, as of the same time.
    pub(crate) fn others(&self) -> Arc<OtherLists> {
        Arc::clone(&self.others.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn list(&self) -> Result<(), Refusal> {
        let mut problems = Vec::new();
        let (tools, others) = tokio::join!(list(self.peer(), ListKind::Tools, &mut problems), self.list_others());
        let tools = tools.map_err(|error| self.refusal(&error))?;
        let listing = Listing { tools, problems };
        *self.listing.write().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), Arc::new(listing));
        *self.others.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(others);
        Ok(())
    }

    /// Lists what the server says it has besides tools. What fails is a problem of that list alone.
    async fn list_others(&self) -> OtherLists {
        let mut others = OtherLists::default();
        let Some(info) = self.info() else { return others };
        let (has_prompts, has_resources) = (info.capabilities.prompts.is_some(), info.capabilities.resources.is_some());
        let peer = self.peer();
        let listed = |kind: ListKind, is_there: bool| async move {
            let mut problems = Vec::new();
            if !is_there {
                return (Vec::new(), problems);
            }
            let noun = kind.noun();
            let listing = tokio::time::timeout(OTHERS_LIMIT, list(peer, kind, &mut problems)).await;
            let members = match listing {
                Ok(Ok(members)) => members,
                // Many servers have resources and no templates, and say so with an error.
                Ok(Err(ServiceError::McpError(error)))
                    if kind == ListKind::Templates && error.code == ErrorCode::METHOD_NOT_FOUND =>
                {
                    Vec::new()
                }
                Ok(Err(error)) => {
                    let why = failure::of_service(&self.handler.server, &error).why;
                    problems.push(format!("its list of {noun} cannot be read: {why}"));
                    Vec::new()
                }
                Err(_) => {
                    problems.push(format!("it did not list its {noun} within {} s", OTHERS_LIMIT.as_secs()));
                    Vec::new()
                }
            };
            (members, problems)
        };
        let (prompts, resources, templates) = tokio::join!(
            listed(ListKind::Prompts, has_prompts),
            listed(ListKind::Resources, has_resources),
            listed(ListKind::Templates, has_resources),
        );
        others.problems = [prompts.1, resources.1, templates.1].concat();
        (others.prompts, others.resources, others.templates) = (prompts.0, resources.0, templates.0);
        others
    }

    /// Reads a resource. What the server asks on the way is answered as during a call.
    pub(crate) async fn read(&self, uri: &str) -> Result<ReadResourceResult, Refusal> {
        let params = ReadResourceRequestParams::new(uri);
        self.service.read_resource(params).await.map_err(|error| self.refusal(&error))
    }

    /// Gets a prompt, as [`Self::read`] reads a resource.
    pub(crate) async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<GetPromptResult, Refusal> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        self.service.get_prompt(params).await.map_err(|error| self.refusal(&error))
    }

    /// Why a request has no result; what the server wants of a login is remembered.
    pub(crate) fn refusal(&self, error: &ServiceError) -> Refusal {
        self.logins.refused(&self.handler.server, failure::challenge(error).as_deref());
        failure::of_service(&self.handler.server, error)
    }

    /// Ends the connection, and the server if we started it.
    pub(crate) async fn close(mut self) {
        drop(self.service.close_with_timeout(Duration::from_secs(2)).await);
    }
}

/// Adds the end of a server's standard error: it often says what no message does.
pub(crate) fn with_last_words(refusal: Refusal, watch: &Watch) -> Refusal {
    with_words(refusal, &watch.last_words(LAST_WORDS))
}

fn with_words(refusal: Refusal, words: &str) -> Refusal {
    if words.is_empty() {
        return refusal;
    }
    Refusal { why: format!("{}; it said: {words}", refusal.why), ..refusal }
}

/// Which permission a confined server that does not start seems to lack, and how to find all that it needs.
fn of_confined(server: &str, refusal: Refusal, confined: &ConfinedProgram, watch: &Watch) -> Refusal {
    if refusal.code != Code::RemoteUnreachable {
        return refusal;
    }
    let why = match confined.denial(&watch.last_words(20)) {
        Some(lack) => {
            let fix = lack.attempt.map(|fix| format!(" ({fix})")).unwrap_or_default();
            format!("{}; it is confined: {}{fix}", refusal.why, lack.why)
        }
        None => format!("{}; it is confined, and may lack a permission", refusal.why),
    };
    Refusal { why, ..refusal }.attempt(format!("cycod mcp confine {server}"))
}

/// What a server is confined to here, if its entry says so.
fn confinement(server: &Server, around: &Surroundings, cwd: Option<&Path>) -> Result<Option<ConfinedProgram>, Refusal> {
    let host = &around.host;
    if around.observed.is_some() {
        return Ok(None);
    }
    let Some(security) = server.entry.security.as_ref().filter(|security| ServerSecurity::confines(security)) else {
        return Ok(None);
    };
    let of_server = |refusal: Refusal| Refusal {
        why: format!("the server `{}` cannot be confined: {}", server.name, refusal.why),
        ..refusal
    };
    let tool =
        security.as_tool().map_err(|problem| of_server(Refusal::new(Code::UnknownPermission, problem.to_string())))?;
    let terms =
        Terms { tool, noun: "server", name: &server.name, directory: cwd.unwrap_or_else(|| host.workspace.as_path()) };
    ConfinedProgram::new(&terms, host).map(Some).map_err(of_server)
}

/// What a server is started with.
struct Start<'a> {
    command: &'a str,
    args: &'a [String],
    env: Vec<(String, String)>,
    cwd: Option<PathBuf>,
}

/// Starts a server with the environment it may have.
fn start(
    server: &Server,
    around: &Surroundings,
    given: Start<'_>,
    confined: Option<&ConfinedProgram>,
) -> Result<(Conversation, Streams), Refusal> {
    let Start { command, args, env, cwd } = given;
    let host = &around.host;
    let cwd = cwd.unwrap_or_else(|| host.workspace.clone());
    let environment = environment(server, host, env);
    let words = || std::iter::once(command).chain(args.iter().map(String::as_str)).map(OsString::from).collect();
    if let Some(confined) = confined {
        return confined.start(words(), environment);
    }
    if let Some(observed) = &around.observed {
        return observed.start(words(), environment, &cwd);
    }
    let search = environment.iter().find(|(name, _)| name == "PATH");
    let search = search.map_or_else(|| OsStr::new("/usr/local/bin:/usr/bin:/bin"), |(_, value)| value.as_os_str());
    let unreachable =
        |error: &(dyn std::error::Error + 'static)| failure::unreachable(&server.name, failure::chain(error));
    let path = find_program(OsStr::new(command), search, &cwd).map_err(|error| unreachable(&error))?;
    let arg0 = (path.as_os_str() != OsStr::new(command)).then(|| command.into());
    let program = Program { path, arg0, args: args.iter().map(OsString::from).collect(), env: environment, cwd };
    Conversation::start(program, ProcessLimits::default()).map_err(|error| unreachable(&error))
}

/// The variables of a server: what is harmless of ours, what its entry asks for of ours, and its own.
fn environment(server: &Server, host: &Host, own: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    let asked = &server.entry.env_inherit;
    let may_have = |name: &OsStr| {
        name.to_str().is_some_and(|name| {
            INHERITED.contains(&name) || name.starts_with("LC_") || asked.iter().any(|asked| asked == name)
        })
    };
    let inherited = host.environment.iter().filter(|(name, _)| may_have(name));
    let mut environment: Vec<(OsString, OsString)> =
        inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    environment.retain(|(name, _)| own.iter().all(|(own, _)| name != OsStr::new(own)));
    environment.extend(own.into_iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

/// Hears about changed lists from a server of the new era, which speaks of them only to those who listen.
fn listen(peer: Peer<RoleClient>, watch: &Arc<Watch>) {
    let Some(info) = peer.peer_info().filter(|info| !info.protocol_version.has_initialize()) else { return };
    let capabilities = &info.capabilities;
    let mut filter = SubscriptionFilter::default();
    let tells = |is_telling: bool| is_telling.then_some(true);
    filter.tools_list_changed =
        tells(capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true)));
    filter.prompts_list_changed =
        tells(capabilities.prompts.as_ref().is_some_and(|prompts| prompts.list_changed == Some(true)));
    filter.resources_list_changed =
        tells(capabilities.resources.as_ref().is_some_and(|resources| resources.list_changed == Some(true)));
    if filter == SubscriptionFilter::default() {
        return;
    }
    let watch = Arc::downgrade(watch);
    detach_task(async move {
        let Ok(mut subscription) = peer.listen(filter).await else { return };
        drop(peer);
        while let Ok(Some(_)) = subscription.next().await {
            let Some(watch) = watch.upgrade() else { return };
            watch.set_stale();
        }
        // A client that no longer hears of changes has to look.
        if let Some(watch) = watch.upgrade() {
            watch.set_stale();
        }
    });
}

/// Hears about a resource from a server, until it is dropped; `told` is called with each address that has changed.
pub(crate) async fn listen_to(connection: &Connection, uri: &str, told: impl Fn(&str)) -> Result<(), Refusal> {
    let refused = |error: ServiceError| connection.refusal(&error);
    let filter = SubscriptionFilter::builder().resource_subscriptions([uri]).build();
    let mut subscription = connection.peer().listen(filter).await.map_err(refused)?;
    while let Some(notification) = subscription.next().await.map_err(refused)? {
        if let ServerNotification::ResourceUpdatedNotification(updated) = notification {
            told(&updated.params.uri);
        }
    }
    Ok(())
}
