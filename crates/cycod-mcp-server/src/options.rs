use std::{ffi::OsString, fmt, path::PathBuf, sync::Arc, time::Duration};

use cycod_engine::{
    Engine,
    catalog::{Entry, Scope},
    definition::{Host, Level},
};
use cycod_store::Retention;

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The place whose tools are offered.
    pub host: Host,
    /// Which of them.
    pub selection: Selection,
    /// Rules beside those of the files here.
    pub rules: Vec<cycod_engine::Rule>,
    /// How long a call waits for somebody's approval where the client cannot ask its user.
    pub wait_for_approval: Duration,
    /// The most of an output that is handed over at once, in tokens of about four characters. The rest is kept as a
    /// resource.
    pub reply_tokens: usize,
    /// Where outputs too large to hand over are kept.
    pub outputs: PathBuf,
    /// How long they are kept, and how much of one and of all.
    pub retention: Retention,
    /// The program, with its first arguments, that calls [`cycod_store::jq::work`] with the rest of its arguments.
    pub jq_worker: Vec<OsString>,
    /// What is done with every engine that the server opens.
    pub equip: Option<Equip>,
    /// Gets the names of the tools that are not offered because nobody has trusted them, each time the tools are looked at.
    pub waiting: Option<Waiting>,
    /// Directories beside those of the tools whose changes may change what is offered.
    pub watched: Vec<PathBuf>,
}

/// What is done with an engine before it is used, such as bringing in the tools of other programs.
#[derive(Clone)]
pub struct Equip(pub Arc<dyn Fn(&mut Engine) + Send + Sync>);

/// What gets the names of the tools that wait for trust.
#[derive(Clone)]
pub struct Waiting(pub Arc<TakeNames>);

type TakeNames = dyn Fn(&[&str]) + Send + Sync;

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiting")
    }
}

impl fmt::Debug for Equip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Equip")
    }
}

impl Options {
    /// The default of `reply_tokens`.
    pub const REPLY_TOKENS: usize = 8_000;
}

/// Which tools are offered; an empty list means all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// By name.
    pub names: Vec<String>,
    /// By tag: at least one of these.
    pub tags: Vec<String>,
    /// By group: one of these.
    pub groups: Vec<String>,
    /// The most dangerous level that is offered.
    pub level: Option<Level>,
    /// Whether the built-in tools are offered, too, and not only those that are named.
    pub built_in: bool,
}

impl Selection {
    /// Whether a tool is among them.
    pub(crate) fn admits(&self, entry: &Entry) -> bool {
        let among = |wanted: &[String], have: &str| wanted.iter().any(|one| one.eq_ignore_ascii_case(have));
        let is_named = among(&self.names, &entry.name);
        let summary = &entry.summary;
        // A host has hands of its own; whoever wants ours says so.
        (entry.scope != Scope::BuiltIn || self.built_in || is_named)
            && (self.names.is_empty() || is_named)
            && (self.tags.is_empty() || summary.tags.iter().any(|tag| among(&self.tags, tag)))
            && (self.groups.is_empty() || summary.group.as_ref().is_some_and(|group| among(&self.groups, group)))
            && self.level.is_none_or(|most| entry.level <= most)
    }
}
