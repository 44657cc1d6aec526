//! What servers said when they were last met.

use std::{fs, path::PathBuf, time::SystemTime};

use cycod_diagnostic::Refusal;
use cycod_file::{Durability, FileAccess};
use cycod_settings::Server;
use serde_json::{Value as Json, json};

use crate::{account::Account, connection::Connection, listing::Listing, offered::origin, others::OtherLists};

/// What a server said of itself when it was last met, so that its tools can be listed without meeting it again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// The version of the protocol it spoke.
    pub(crate) era: String,
    /// Its name and version, as it gives them.
    pub(crate) identity: String,
    /// Its version, as it gives it.
    pub(crate) version: Option<String>,
    /// How it wants to be used.
    pub(crate) instructions: Option<String>,
    /// What it offers.
    pub(crate) listing: Listing,
}

impl Snapshot {
    /// What a server that was just reached says.
    pub(crate) fn of(connection: &Connection) -> Self {
        let info = connection.info();
        let identity = info.as_ref().and_then(|info| info.server_info.as_ref());
        Self {
            era: info.as_ref().map(|info| info.protocol_version.as_str().to_owned()).unwrap_or_default(),
            identity: identity.map(|server| format!("{} {}", server.name, server.version)).unwrap_or_default(),
            version: identity.map(|server| server.version.clone()).filter(|version| !version.is_empty()),
            instructions: info.as_ref().and_then(|info| info.instructions.clone()),
            listing: (*connection.listing()).clone(),
        }
    }
}

/// When a server was last used, and how that went.
#[derive(Clone, Debug, PartialEq)]
pub struct LastMet {
    /// When.
    pub at: SystemTime,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// The snapshots of all servers: a cache, which anybody may delete.
#[derive(Debug)]
pub(crate) struct Snapshots {
    directory: PathBuf,
    /// What the names of this account's files end with.
    suffix: String,
}

impl Snapshots {
    pub(crate) fn new(directory: PathBuf, account: &Account) -> Self {
        Self { directory, suffix: account.suffix() }
    }

    fn path(&self, server: &Server) -> PathBuf {
        self.directory.join(format!("{}{}.json", server.name, self.suffix))
    }

    /// The snapshot of a server; nothing when it was never contacted, or was another one then.
    pub(crate) fn load(&self, server: &Server) -> Option<Snapshot> {
        let json: Json = serde_json::from_slice(&fs::read(self.path(server)).ok()?).ok()?;
        if json["server"] != origin(server) || json["origin"] != server.origin.path.to_string_lossy().as_ref() {
            return None;
        }
        let text = |key: &str| json[key].as_str().map(str::to_owned);
        let problems = json["problems"].as_array().into_iter().flatten();
        Some(Snapshot {
            era: text("era")?,
            identity: text("identity")?,
            version: text("version"),
            instructions: text("instructions"),
            listing: Listing {
                tools: json["tools"].as_array()?.clone(),
                problems: problems.filter_map(Json::as_str).map(str::to_owned).collect(),
            },
        })
    }

    /// What a server listed besides tools when it was last met.
    pub(crate) fn load_others(&self, server: &Server) -> OtherLists {
        let read = || -> Option<Json> { serde_json::from_slice(&fs::read(self.others_path(server)).ok()?).ok() };
        let Some(mut json) = read().filter(|json| json["server"] == origin(server)) else {
            return OtherLists::default();
        };
        let mut list = |key: &str| match json[key].take() {
            Json::Array(members) => members,
            _ => Vec::new(),
        };
        let (prompts, resources, templates) = (list("prompts"), list("resources"), list("templates"));
        OtherLists { prompts, resources, templates, problems: Vec::new() }
    }

    /// Keeps it, if there is any.
    pub(crate) fn save_others(&self, server: &Server, lists: &OtherLists) {
        let path = self.others_path(server);
        let OtherLists { prompts, resources, templates, problems: _ } = lists;
        if prompts.is_empty() && resources.is_empty() && templates.is_empty() && !path.exists() {
            return;
        }
        let json = json!({
            "server": origin(server),
            "prompts": prompts,
            "resources": resources,
            "templates": templates,
        });
        self.write(&path, json.to_string().as_bytes());
    }

    /// When what is known of a server was last written.
    pub(crate) fn last_changed(&self, server: &Server) -> Option<SystemTime> {
        let written = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
        written(self.path(server)).max(written(self.others_path(server)))
    }

    fn others_path(&self, server: &Server) -> PathBuf {
        self.directory.join(format!("{}{}.others.json", server.name, self.suffix))
    }

    /// How the last meeting with a server went.
    pub(crate) fn last_met(&self, server: &Server) -> Option<LastMet> {
        let met = |path: PathBuf| fs::metadata(path).ok()?.modified().ok();
        let failed = self.path(server).with_extension("failed");
        match (met(self.path(server)), met(failed.clone())) {
            (at, Some(failed_at)) if at.is_none_or(|at| at < failed_at) => {
                Some(LastMet { at: failed_at, failure: Some(fs::read_to_string(failed).unwrap_or_default()) })
            }
            (at, _) => Some(LastMet { at: at?, failure: None }),
        }
    }

    /// Keeps a snapshot. That it cannot be kept costs only the next list.
    pub(crate) fn save(&self, server: &Server, snapshot: &Snapshot) {
        let json = json!({
            "origin": server.origin.path.to_string_lossy(),
            "server": origin(server),
            "era": snapshot.era,
            "identity": snapshot.identity,
            "version": snapshot.version,
            "instructions": snapshot.instructions,
            "problems": snapshot.listing.problems,
            "tools": snapshot.listing.tools,
        });
        self.write(&self.path(server), json.to_string().as_bytes());
    }

    /// Keeps why a server failed.
    pub(crate) fn failed(&self, server: &Server, refusal: &Refusal) {
        self.write(&self.path(server).with_extension("failed"), refusal.why.as_bytes());
    }

    fn write(&self, path: &std::path::Path, bytes: &[u8]) {
        let made = fs::create_dir_all(&self.directory);
        // It saves time at the next list; without it, that list asks the server.
        drop(made.and_then(|()| cycod_file::replace(path, bytes, FileAccess::Private, Durability::Process)));
    }
}
