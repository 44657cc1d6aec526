//! What the user accepted of servers, and which tools are blocked because they are not that any more.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use cycod_diagnostic::{Code, Refusal};
use cycod_settings::{Server, masked};
use cycod_store::{Pin, PinKey, Pins, StoreError, diff, render};
use serde_json::{Value as Json, json};

use crate::{
    account::Account,
    failure::chain,
    offered::{Offered, origin},
    pinned::Pinned,
    text::line,
};

/// The kind of a pin that says that the tools of a server were accepted once.
const SERVER: &str = "server";

/// The kind of a pin that says what a tool is.
const TOOL: &str = "tool";

/// The parts of a definition, as a refusal calls them. The server chose every other word of it.
const PARTS: [(&str, &str); 9] = [
    ("title", "title"),
    ("description", "description"),
    ("inputSchema", "input schema"),
    ("outputSchema", "output schema"),
    ("arguments", "arguments"),
    ("annotations", "annotations"),
    ("icons", "icons"),
    ("instructions", "server's instructions"),
    ("server", "server's command or address"),
];

/// What the user accepted, a file for each server.
#[derive(Debug)]
pub(crate) struct Accepted {
    directory: PathBuf,
    /// What the names of this account's files end with.
    suffix: String,
}

/// Why a tool that a server offers may not be called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Blocked {
    /// It is not what was accepted; with what was.
    Changed(Json),
    /// It was not there when the server was accepted.
    New,
}

impl Accepted {
    pub(crate) fn new(directory: PathBuf, account: &Account) -> Self {
        Self { directory, suffix: account.suffix() }
    }

    fn pins(&self, name: &str) -> Pins {
        Pins::open(&self.directory.join(format!("{name}{}.json", self.suffix)))
    }

    /// What was accepted besides tools, which most commands have no need of.
    fn other_pins(&self, name: &str) -> Pins {
        Pins::open(&self.directory.join(format!("{name}{}.others.json", self.suffix)))
    }

    /// The same of the owner, whose word counts for every account; nothing for the owner.
    fn of_owner(&self) -> Option<Self> {
        (!self.suffix.is_empty()).then(|| Self::new(self.directory.clone(), &Account::Owner))
    }

    /// The same of every account that has accepted something of a server.
    fn of_others(&self, name: &str) -> Vec<Self> {
        let begins = format!("{name}@");
        let files = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let suffix = |file: std::fs::DirEntry| {
            let file = file.file_name().into_string().ok()?;
            let rest = file.strip_prefix(&begins)?.strip_suffix(".json")?;
            Some(format!("@{}", rest.strip_suffix(".others").unwrap_or(rest)))
        };
        files.filter_map(suffix).map(|suffix| Self { directory: self.directory.clone(), suffix }).collect()
    }

    /// Pins of a name that stands in two files are two pins: who writes one file must not speak for the other.
    fn key(server: &Server, kind: &str, name: &str) -> PinKey {
        PinKey::new(kind, &server.origin.path.to_string_lossy(), name)
    }

    /// Refuses a server that somebody else configured, until the user has seen how it is started.
    pub(crate) fn consents(&self, server: &Server) -> Result<(), Refusal> {
        if server.is_ours {
            return Ok(());
        }
        // Models and logs read this, too; the person who accepts it sees everything.
        let how = masked(&server.entry).transport.in_full();
        let (name, path) = (&server.name, server.origin.path.display());
        let why = format!("the server `{name}` was configured by someone else, in `{path}`, as: {how}");
        let refusal = Refusal::new(Code::ServerNotAccepted, why).place(&server.name);
        Err(refusal.attempt(format!("cycod mcp accept {}", server.name)))
    }

    /// Reads what was accepted of a server.
    pub(crate) fn of(&self, server: &Server) -> Result<AcceptedTools, Refusal> {
        let owner = self.of_owner().map(|owner| owner.pins(&server.name));
        Self::read(server, &self.pins(&server.name), owner.as_ref())
    }

    /// Reads what was accepted of a server besides tools.
    pub(crate) fn others_of(&self, server: &Server) -> Result<AcceptedTools, Refusal> {
        let owner = self.of_owner().map(|owner| owner.other_pins(&server.name));
        Self::read(server, &self.other_pins(&server.name), owner.as_ref())
    }

    fn read(server: &Server, pins: &Pins, of_owner: Option<&Pins>) -> Result<AcceptedTools, Refusal> {
        let all = |pins: &Pins| pins.all().map_err(|error| unreadable(&server.name, &error));
        let (pins, of_owner) = (all(pins)?, of_owner.map(all).transpose()?.unwrap_or_default());
        let is_in = |pins: &BTreeMap<PinKey, Pin>| pins.contains_key(&Self::key(server, SERVER, ""));
        Ok(AcceptedTools {
            origin: server.origin.path.to_string_lossy().into_owned(),
            is_known: is_in(&pins) || is_in(&of_owner),
            pins: [pins, of_owner],
        })
    }

    /// Forgets what was accepted of the server that a file calls `name`.
    pub(crate) fn forget(&self, name: &str, path: &Path) -> Result<(), Refusal> {
        let path = path.to_string_lossy();
        let others = self.of_others(name);
        for pins in std::iter::once(self).chain(&others).flat_map(|one| [one.pins(name), one.other_pins(name)]) {
            let forgotten = pins.all().and_then(|all| {
                // Most servers are new, and have no file yet that could be changed.
                if all.keys().all(|key| key.scope != path) {
                    return Ok(());
                }
                pins.update(|pins| pins.retain(|key, _| key.scope != path))
            });
            forgotten.map_err(|error| unreadable(name, &error))?;
        }
        Ok(())
    }

    /// Accepts tools as they are offered now.
    pub(crate) fn accept<'a>(
        &self,
        server: &Server,
        tools: impl IntoIterator<Item = &'a Offered>,
    ) -> Result<(), Refusal> {
        let update = self.pins(&server.name).update(|pins| {
            pins.entry(Self::key(server, SERVER, "")).or_insert_with(|| Pin::new(origin(server), now()));
            // One that cannot be used is not accepted either: of two with one name, the first counts.
            for tool in tools.into_iter().filter(|tool| tool.tool.is_ok()) {
                pins.insert(Self::key(server, TOOL, &tool.remote), Pin::new(tool.definition.clone(), now()));
            }
        });
        update.map_err(|error| unreadable(&server.name, &error))
    }

    /// Accepts what is offered besides tools as it is now.
    pub(crate) fn accept_others<'a>(
        &self,
        server: &Server,
        others: impl IntoIterator<Item = &'a Pinned>,
    ) -> Result<(), Refusal> {
        let update = self.other_pins(&server.name).update(|pins| {
            pins.entry(Self::key(server, SERVER, "")).or_insert_with(|| Pin::new(origin(server), now()));
            for other in others {
                pins.insert(Self::key(server, other.kind, &other.name), Pin::new(other.definition.clone(), now()));
            }
        });
        update.map_err(|error| unreadable(&server.name, &error))
    }
}

/// What was accepted of one server, as it was read.
#[derive(Debug)]
pub(crate) struct AcceptedTools {
    origin: String,
    /// Whether anything was.
    pub(crate) is_known: bool,
    /// Those of the account, and those of the owner.
    pins: [BTreeMap<PinKey, Pin>; 2],
}

impl AcceptedTools {
    /// Why a tool may not be called, if it may not.
    pub(crate) fn blocks(&self, tool: &Offered) -> Option<Blocked> {
        self.blocks_unless(&PinKey::new(TOOL, &self.origin, &tool.remote), |pin| pin.digest == tool.digest())
    }

    /// Why something besides tools is not what was accepted, if it is not.
    pub(crate) fn blocks_other(&self, other: &Pinned) -> Option<Blocked> {
        let key = PinKey::new(other.kind, &self.origin, &other.name);
        self.blocks_unless(&key, |pin| other.is_within(&pin.definition))
    }

    fn blocks_unless(&self, key: &PinKey, is_accepted: impl Fn(&Pin) -> bool) -> Option<Blocked> {
        let mut found = self.pins.iter().filter_map(|pins| pins.get(key)).peekable();
        let first = found.peek().map(|pin| pin.definition.clone());
        if found.any(is_accepted) {
            return None;
        }
        Some(first.map_or(Blocked::New, Blocked::Changed))
    }

    /// What was accepted by the one pin of a kind.
    pub(crate) fn definition(&self, kind: &str) -> Option<&Json> {
        let key = PinKey::new(kind, &self.origin, "");
        self.pins.iter().find_map(|pins| pins.get(&key)).map(|pin| &pin.definition)
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed(_) => "blocked: definition changed",
            Self::New => "blocked: new since the server was accepted",
        })
    }
}

impl Blocked {
    /// What a person has to judge.
    pub(crate) fn difference(&self, definition: &Json) -> String {
        match self {
            Self::Changed(before) => render(&diff(before, definition)),
            Self::New => render(&diff(&json!({}), definition)),
        }
    }

    /// The refusal of what is called `label` and defined so now.
    ///
    /// A model reads it, so it names what changed and says nothing of what is there now.
    pub(crate) fn refusal(&self, server: &Server, label: &str, definition: &Json) -> Refusal {
        let (name, tool) = (&server.name, line(label));
        let why = match self {
            Self::Changed(before) => {
                let mut parts: Vec<&str> = PARTS
                    .iter()
                    .filter(|(key, _)| before.get(key) != definition.get(key))
                    .map(|(_, part)| *part)
                    .collect();
                let last = parts.pop().unwrap_or("definition");
                let before = if parts.is_empty() { String::new() } else { format!("{} and ", parts.join(", ")) };
                format!("`{tool}` of the server `{name}` is not what was accepted: its {before}{last} changed")
            }
            Self::New => format!("`{tool}` was not there when the server `{name}` was accepted"),
        };
        let is_plain = tool.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
        let attempt =
            if is_plain { format!("cycod mcp accept {name} {tool}") } else { format!("cycod mcp accept {name}") };
        Refusal::new(Code::DefinitionChanged, why).place(name).attempt(attempt)
    }
}

fn unreadable(server: &str, error: &StoreError) -> Refusal {
    let why = format!("cannot determine what was accepted of the server `{server}`: {}", chain(error));
    Refusal::new(Code::ServerNotAccepted, why).place(server)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
