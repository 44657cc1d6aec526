//! MCP servers: how they are, what they offer, and what of them waits to be accepted.

use std::sync::Arc;

use cycod_app::{
    RemoteServers, ToolProposal, Visit, remote_servers, server_entry_lines, server_problem, unusable_server,
    views::{ProposalView, ServerView, ago},
};
use cycod_engine::{Engine, Registered, catalog::ScopeFilter, diagnostic::Refusal, tokens::Measure};
use cycod_settings::{Server, Servers, Transport};
use cycod_store::{Digest, History};

use super::{CARDS, Paged, ToolRow, tool_row};
use crate::form::Form;

/// The page of all servers.
pub(crate) struct ServersPage {
    pub(crate) rows: Paged<ServerRow>,
    /// What is wrong with their files.
    pub(crate) problems: Vec<String>,
}

/// A server in the list.
pub(crate) struct ServerRow {
    pub(crate) view: ServerView,
    pub(crate) met: Option<String>,
    /// How many tools it offers, and what models pay for them.
    pub(crate) tools: usize,
    pub(crate) tokens: usize,
    /// How many of its tools wait to be accepted.
    pub(crate) waiting: usize,
}

/// The page of a server.
pub(crate) struct ServerPage {
    pub(crate) row: ServerRow,
    pub(crate) tools: Paged<ToolRow>,
    /// The first that wait to be accepted.
    pub(crate) proposals: Vec<ProposalCard>,
    /// The server itself, if it waits.
    pub(crate) consent: Option<ConsentCard>,
    /// What came of meeting it now.
    pub(crate) visit: Option<Result<Visit, Refusal>>,
}

/// A tool that waits to be accepted.
pub(crate) struct ProposalCard {
    pub(crate) tool: String,
    pub(crate) why: String,
    pub(crate) difference: String,
    pub(crate) digest: String,
}

/// A server that somebody else configured.
pub(crate) struct ConsentCard {
    /// Whether it is started, and not reached.
    pub(crate) is_started: bool,
    pub(crate) how: String,
    /// Everything else that its entry says.
    pub(crate) lines: Vec<String>,
    pub(crate) digest: String,
}

impl ServersPage {
    /// All servers of the engine's place. None is contacted.
    pub(crate) fn of(engine: &Engine, query: &Form) -> Self {
        let configured = Servers::load(engine.catalog().scopes());
        let connections = remote_servers(engine);
        let registry = engine.registry(Measure::ESTIMATE);
        let row = |server: &Server| ServerRow::of(engine, server, connections.as_deref(), &registry.tools);
        Self {
            rows: Paged::of(&configured.servers, query.number("page"), row),
            problems: configured.problems.iter().map(|problem| server_problem(problem, engine.host())).collect(),
        }
    }
}

impl ServerRow {
    fn of(engine: &Engine, server: &Server, connections: Option<&RemoteServers>, tools: &[Registered]) -> Self {
        let view = ServerView::of(server, engine.host(), connections);
        let its: Vec<&Registered> = if view.in_use { offered(tools, &view.name).collect() } else { Vec::new() };
        let proposals = connections.filter(|_| view.in_use).and_then(|known| known.known_proposals(&view.name).ok());
        Self {
            met: view.last_met.map(ago),
            tools: its.len(),
            tokens: its.iter().filter_map(|tool| tool.tokens).sum(),
            waiting: proposals.map_or(0, |proposals| proposals.len()),
            view,
        }
    }
}

/// The tools of a server.
fn offered<'a>(tools: &'a [Registered], server: &'a str) -> impl Iterator<Item = &'a Registered> {
    tools.iter().filter(move |tool| tool.entry.adopted.is_some() && tool.entry.origin.owner.as_deref() == Some(server))
}

impl ServerPage {
    /// Of the server of a name, and of what came of meeting it, if it was met.
    ///
    /// # Errors
    /// When no server is called so.
    pub(crate) fn of(
        engine: &Engine,
        history: &History,
        name: &str,
        query: &Form,
        visit: Option<Result<Visit, Refusal>>,
    ) -> Result<Self, Refusal> {
        let server = configured(engine, name)?;
        let connections = remote_servers(engine);
        let registry = engine.registry(Measure::ESTIMATE);
        let row = ServerRow::of(engine, &server, connections.as_deref(), &registry.tools);
        let last = super::tools::last_runs(history);
        let offered: Vec<&Registered> = offered(&registry.tools, &row.view.name).collect();
        let tools = Paged::of(&offered, query.number("page"), |tool| tool_row(engine, tool, &last));
        let proposals = connections.and_then(|known| known.known_proposals(&row.view.name).ok()).unwrap_or_default();
        let consent = (!server.is_ours && server.entry.enabled).then(|| ConsentCard::of(&server));
        Ok(Self { row, tools, proposals: proposals.iter().take(CARDS).map(ProposalCard::of).collect(), consent, visit })
    }
}

impl ProposalCard {
    fn of(proposal: &ToolProposal) -> Self {
        let ProposalView { tool, why, difference } = ProposalView::of(proposal);
        Self {
            tool: tool.to_owned(),
            why: why.to_owned(),
            difference: difference.to_owned(),
            digest: proposal.digest(),
        }
    }
}

impl ConsentCard {
    pub(crate) fn of(server: &Server) -> Self {
        Self {
            is_started: matches!(server.entry.transport, Transport::Stdio { .. }),
            how: server.entry.transport.in_full(),
            lines: server_entry_lines(&server.entry, &["type", "command", "args", "env", "url"]),
            digest: entry_digest(server),
        }
    }
}

/// The digest of everything that a server's entry says, and of where it stands.
fn entry_digest(server: &Server) -> String {
    let all = format!("{}\0{}\0{}", server.origin.path.display(), server.name, server.entry.to_json());
    Digest::of(all.as_bytes()).to_string()
}

/// The server of a name that comes first.
///
/// # Errors
/// Why there is none.
pub(crate) fn configured(engine: &Engine, name: &str) -> Result<Server, Refusal> {
    let all = Servers::load(engine.catalog().scopes());
    all.find(name, ScopeFilter::Any).cloned().ok_or_else(|| unusable_server(&all, name, engine.host()))
}

/// The connections, if a server can be used.
///
/// # Errors
/// Why it can't be.
pub(crate) fn usable(engine: &Engine, name: &str) -> Result<Arc<RemoteServers>, Refusal> {
    let all = Servers::load(engine.catalog().scopes());
    let is_on = all.active().any(|server| server.name.eq_ignore_ascii_case(name));
    remote_servers(engine).filter(|_| is_on).ok_or_else(|| unusable_server(&all, name, engine.host()))
}
