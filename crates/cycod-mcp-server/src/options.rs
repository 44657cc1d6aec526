use std::{ffi::OsString, fmt, path::PathBuf, sync::Arc, time::Duration};

use cycod_engine::{Engine, EngineBuilder, NotOffered, Selection, definition::Host};
use cycod_mcp_client::{Account, RemoteServers};
use cycod_store::Retention;

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The place whose tools are offered.
    pub host: Host,
    /// Whether the first root of a client that has roots is the place instead.
    pub follows_roots: bool,
    /// Which of them. A host has tools of its own, so the built-in ones are offered only on request.
    pub selection: Selection,
    /// The profile that was named; those of the client's own name hold as well.
    pub profile: Option<String>,
    /// Rules beside those of the files here.
    pub rules: Vec<cycod_engine::Rule>,
    /// How long a call waits for somebody's approval where the client cannot ask its user.
    pub wait_for_approval: Duration,
    /// The most of an output that is handed over at once, in tokens of about four characters. The rest is kept as a
    /// resource.
    pub reply_tokens: usize,
    /// The most that a list of tools may cost a model, in tokens of about four characters. A longer list holds the tools that are
    /// used most, and a tool that finds the others.
    pub list_tokens: usize,
    /// Where outputs too large to hand over are kept.
    pub outputs: PathBuf,
    /// How long they are kept, and how much of one and of all.
    pub retention: Retention,
    /// The program, with its first arguments, that calls [`cycod_store::jq::work`] with the rest of its arguments.
    pub jq_worker: Vec<OsString>,
    /// What is done with every engine that the server opens.
    pub equip: Option<Equip>,
    /// The servers of a place, whose prompts and resources are offered with their tools.
    pub upstreams: Option<Upstreams>,
    /// The way from these servers to the clients that call their tools.
    pub relay: crate::Relay,
    /// Gets the tools that are selected and not offered, each time the tools are looked at.
    pub waiting: Option<NotOfferedSink>,
    /// Directories beside those of the tools whose changes may change what is offered.
    pub watched: Vec<PathBuf>,
}

/// What is done with an engine before it is used, such as bringing in the tools of other programs for an account.
#[derive(Clone)]
pub struct Equip(pub Arc<EquipFor>);

type EquipFor = dyn Fn(EngineBuilder, &Account) -> EngineBuilder + Send + Sync;

/// What gets the tools that are not offered.
#[derive(Clone)]
pub struct NotOfferedSink(pub Arc<TakeNames>);

/// Finds the servers of a place, as an account reaches them.
#[derive(Clone)]
pub struct Upstreams(pub Arc<FindServers>);

type FindServers = dyn Fn(&Engine, &Account) -> Option<Arc<RemoteServers>> + Send + Sync;

impl fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upstreams")
    }
}

type TakeNames = dyn Fn(&[NotOffered]) + Send + Sync;

impl fmt::Debug for NotOfferedSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiting")
    }
}

impl fmt::Debug for Equip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Equip")
    }
}

impl ServerOptions {
    /// The default of `reply_tokens`.
    pub const REPLY_TOKENS: usize = 8_000;
    /// The default of `list_tokens`.
    pub const LIST_TOKENS: usize = 10_000;
}
