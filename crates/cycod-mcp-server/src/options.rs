use std::{ffi::OsString, path::PathBuf};

use cycod_engine::definition::{Host, Level};

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// The place whose tools are offered.
    pub host: Host,
    /// Which of them.
    pub selection: Selection,
    /// What every model may do without being asked about.
    pub grants: Vec<cycod_engine::Grant>,
    /// The most of an output that is handed over at once, in tokens of about four characters. The rest is kept as a
    /// resource.
    pub reply_tokens: usize,
    /// Where outputs too large to hand over are kept.
    pub outputs: PathBuf,
    /// The program, with its first arguments, that calls [`cycod_store::jq::work`] with the rest of its arguments.
    pub jq_worker: Vec<OsString>,
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
}

impl Selection {
    /// Whether a tool is among them.
    pub(crate) fn admits(&self, name: &str, tags: &[String], group: Option<&str>, level: Level) -> bool {
        let among = |wanted: &[String], have: &str| wanted.iter().any(|one| one.eq_ignore_ascii_case(have));
        (self.names.is_empty() || among(&self.names, name))
            && (self.tags.is_empty() || tags.iter().any(|tag| among(&self.tags, tag)))
            && (self.groups.is_empty() || group.is_some_and(|group| among(&self.groups, group)))
            && self.level.is_none_or(|most| level <= most)
    }
}
