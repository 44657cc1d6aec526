//! The entry of an MCP server in a configuration, ours or that of another program.

use std::{collections::HashSet, mem::take, path::PathBuf, time::Duration};

use cycod_definition::Level;
use cycod_shell::quoted_if_needed;
use serde_json::{Map, Value, json};

use crate::{
    ServerSecurity, ToolOverride, overriding,
    tree::{Kind, Node, Wrong},
    variables,
};

/// What is said about one server: how to get to it, and how it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// How to get to it.
    pub transport: Transport,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// Whether it is used at all.
    pub enabled: bool,
    /// The tools that are taken from it, by name or pattern; all of them when nothing is said.
    pub tools: Option<Vec<String>>,
    /// Variables of our own environment that it gets beside the harmless ones.
    pub env_inherit: Vec<String>,
    /// Levels that the user gives to tools, by name or pattern; the others are of level run.
    pub levels: Vec<(String, Level)>,
    /// What the user changes about tools, by name or pattern.
    pub overrides: Vec<(String, ToolOverride)>,
    /// The version of the protocol to begin with; found out when nothing is said.
    pub protocol: Option<Protocol>,
    /// Whether it may ask the model of the client that calls it.
    pub sampling: bool,
    /// What a program is confined to.
    pub security: Option<ServerSecurity>,
    /// Whose credentials it gets; by what the entry holds when nothing is said.
    pub credentials: Option<Credentials>,
}

/// Whose credentials a server gets when another user than the owner of this machine calls its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// Those of the owner, for every user.
    Shared,
    /// Those of the user who calls, and no others.
    PerUser,
}

impl Credentials {
    /// Each with its name.
    const NAMES: [(&'static str, Self); 2] = [("shared", Self::Shared), ("per-user", Self::PerUser)];

    /// What it is called.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, credentials)| *credentials == self).map_or("", |(name, _)| name)
    }
}

/// Headers that hold a login, in lower case.
pub const LOGIN_HEADERS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// How a conversation with a server begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// With a handshake: the versions up to 2025-11-25.
    Handshake,
    /// Without: the version 2026-07-28.
    Stateless,
}

impl Protocol {
    /// Every version that can be named, with how it begins.
    const VERSIONS: [(&'static str, Self); 5] = [
        ("2025-11-25", Self::Handshake),
        ("2026-07-28", Self::Stateless),
        ("2025-06-18", Self::Handshake),
        ("2025-03-26", Self::Handshake),
        ("2024-11-05", Self::Handshake),
    ];

    /// The version by which it is named.
    pub fn name(self) -> &'static str {
        Self::VERSIONS.into_iter().find(|(_, protocol)| *protocol == self).map_or("", |(name, _)| name)
    }
}

/// How to get to a server. Texts may hold references such as `${TOKEN}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A program that is started and spoken to over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables for it.
        env: Vec<(String, String)>,
        /// Where it is started.
        cwd: Option<PathBuf>,
    },
    /// An address that is spoken to over streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// What goes along with each request.
        headers: Vec<(String, String)>,
    },
}

/// What cannot work about an entry, wherever it is from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// No program can be started with it.
    #[error("a command holds no NUL")]
    Nul,
    /// The name or the value of a variable.
    #[error("`{name}` cannot be a variable of the environment")]
    Variable {
        /// Its name.
        name: String,
    },
    /// The address.
    #[error("`{shown}` is no address that begins with https:// or http://")]
    Address {
        /// As it may be shown.
        shown: String,
    },
    /// The name or the value of a header.
    #[error("`{name}` cannot be a header")]
    Header {
        /// Its name.
        name: String,
    },
}

/// In which respects programs write the same things differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// How many milliseconds a `timeout` of 1 is.
    pub(crate) timeout_unit: u64,
    /// Whether keys of ours are known: in other programs' files they would mean something else.
    pub(crate) is_ours: bool,
    /// Whether `${` means nothing there, and so is to stand for itself.
    pub(crate) is_literal: bool,
}

/// Why servers of an older revision of the protocol are left out.
const SSE: &str = "it is reached over the old SSE transport, which cycod does not support; many servers have an address for \
                   streamable HTTP as well";

/// How we write.
pub(crate) const OURS: Dialect = Dialect { timeout_unit: 1, is_ours: true, is_literal: false };

impl ServerEntry {
    /// An entry that says nothing but how to get to the server.
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            timeout: None,
            enabled: true,
            tools: None,
            env_inherit: Vec::new(),
            levels: Vec::new(),
            overrides: Vec::new(),
            protocol: None,
            sampling: false,
            security: None,
            credentials: None,
        }
    }

    /// Whether every user has their own login at the server. By default that is so at an address, unless the entry itself holds
    /// a login.
    pub fn is_per_user(&self) -> bool {
        match self.credentials {
            Some(credentials) => credentials == Credentials::PerUser,
            None => matches!(self.transport, Transport::Http { .. }) && self.login_header().is_none(),
        }
    }

    /// The header of the entry that holds a login.
    fn login_header(&self) -> Option<&str> {
        let Transport::Http { headers, .. } = &self.transport else { return None };
        let is_login = |name: &&str| LOGIN_HEADERS.contains(&name.to_ascii_lowercase().as_str());
        headers.iter().map(|(name, _)| name.as_str()).find(is_login)
    }

    /// Reads an entry; what is not understood, or says nothing here, is added to `notes`.
    pub(crate) fn read(node: &Node, dialect: Dialect, notes: &mut Vec<Wrong>) -> Result<Self, Wrong> {
        let Kind::Table(members) = &node.kind else {
            return Err(Wrong::new(node.span.start, format!("a server needs a table, not {}", node.what())));
        };
        let mut parts = Parts::default();
        let mut seen = HashSet::new();
        for member in members {
            let key = folded(&member.key);
            if !seen.insert(key.clone()) {
                return Err(Wrong::new(member.key_span.start, format!("`{}` is there twice", member.key)));
            }
            if member.value.kind != Kind::Null {
                parts.take(&key, &member.key, &member.value, dialect).map_err(|problem| match problem {
                    Problem::Wrong(wrong) => wrong,
                    Problem::Type(at, what) => {
                        Wrong::new(at.span.start, format!("`{}` needs {what}, not {}", member.key, at.what()))
                    }
                })?;
            }
        }
        let at = |why: String| Wrong::new(node.span.start, why);
        let transport = parts.transport(node.span.start);
        notes.append(&mut parts.notes);
        let transport = transport.map_err(at)?;
        overriding::check_caches(&parts.overrides, &parts.levels)?;
        let mut entry = Self {
            transport,
            timeout: parts.timeout.map(Duration::from_millis),
            enabled: parts.enabled.unwrap_or(true),
            tools: parts.tools,
            env_inherit: parts.env_inherit,
            levels: parts.levels,
            overrides: parts.overrides.into_iter().map(|read| (read.tool, read.change)).collect(),
            protocol: parts.protocol,
            sampling: parts.sampling,
            security: parts.security,
            credentials: parts.credentials,
        };
        if entry.security.is_some() && matches!(entry.transport, Transport::Http { .. }) {
            return Err(at(
                "`security` confines a program that cycod starts, and this server is at an address".to_owned()
            ));
        }
        if let Some(credentials) = entry.credentials
            && matches!(entry.transport, Transport::Stdio { .. })
        {
            let why = "`credentials` is about logins at an address, and this server is a program that cycod starts";
            return Err(at(format!(
                "{why}: it has what its entry gives it, for every caller (`{}`)",
                credentials.name()
            )));
        }
        if dialect.is_literal {
            entry.texts_mut().for_each(|text| *text = text.replace("${", "$${"));
        }
        if let Transport::Http { headers, .. } = &mut entry.transport {
            headers.append(&mut parts.references);
        }
        if entry.credentials == Some(Credentials::PerUser)
            && let Some(header) = entry.login_header()
        {
            return Err(at(format!(
                "`credentials: per-user` and the header `{header}` exclude each other: every user would get the login in the header"
            )));
        }
        entry.check().map_err(|problem| at(problem.to_string()))?;
        Ok(entry)
    }

    /// Says what cannot work, wherever it is from.
    ///
    /// # Errors
    /// The first that was found.
    pub fn check(&self) -> Result<(), EntryProblem> {
        let has_nul = |text: &str| text.contains('\0');
        match &self.transport {
            Transport::Stdio { command, args, env, .. } => {
                if has_nul(command) || args.iter().any(|arg| has_nul(arg)) {
                    return Err(EntryProblem::Nul);
                }
                let bad =
                    env.iter().find(|(name, value)| name.is_empty() || name.contains(['=', '\0']) || has_nul(value));
                if let Some((name, _)) = bad {
                    return Err(EntryProblem::Variable { name: name.escape_debug().to_string() });
                }
            }
            Transport::Http { url, headers } => {
                let is_reference = url.starts_with("${");
                let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                if !is_reference && rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
                    let shown = crate::secret::text(url);
                    return Err(EntryProblem::Address { shown: shown.escape_debug().to_string() });
                }
                let is_bad = |name: &str| {
                    name.is_empty()
                        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
                };
                if let Some((name, _)) =
                    headers.iter().find(|(name, value)| is_bad(name) || value.contains(['\r', '\n', '\0']))
                {
                    return Err(EntryProblem::Header { name: name.escape_debug().to_string() });
                }
            }
        }
        Ok(())
    }

    /// The entry as it stands in `mcp.json`.
    pub fn to_json(&self) -> Value {
        let texts = |pairs: &[(String, String)]| {
            pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>()
        };
        let mut entry = Map::new();
        let mut set = |key: &str, value: Value| _ = entry.insert(key.to_owned(), value);
        match &self.transport {
            Transport::Stdio { command, args, env, cwd } => {
                set("command", json!(command));
                if !args.is_empty() {
                    set("args", json!(args));
                }
                if !env.is_empty() {
                    set("env", Value::Object(texts(env)));
                }
                if let Some(cwd) = cwd {
                    set("cwd", json!(cwd.to_string_lossy()));
                }
            }
            Transport::Http { url, headers } => {
                set("type", json!("http"));
                set("url", json!(url));
                if !headers.is_empty() {
                    set("headers", Value::Object(texts(headers)));
                }
            }
        }
        if let Some(timeout) = self.timeout {
            set("timeout", json!(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)));
        }
        if !self.enabled {
            set("enabled", json!(false));
        }
        if let Some(tools) = &self.tools {
            set("tools", json!(tools));
        }
        if !self.env_inherit.is_empty() {
            set("env-inherit", json!(self.env_inherit));
        }
        if !self.levels.is_empty() {
            let levels = self.levels.iter().map(|(tool, level)| (tool.clone(), json!(level.name())));
            set("levels", Value::Object(levels.collect()));
        }
        if !self.overrides.is_empty() {
            let overrides = self.overrides.iter().map(|(tool, change)| (tool.clone(), change.to_json()));
            set("overrides", Value::Object(overrides.collect()));
        }
        if let Some(protocol) = self.protocol {
            set("protocol", json!(protocol.name()));
        }
        if self.sampling {
            set("sampling", json!(true));
        }
        if let Some(security) = &self.security {
            set("security", security.to_json());
        }
        if let Some(credentials) = self.credentials {
            set("credentials", json!(credentials.name()));
        }
        Value::Object(entry)
    }

    /// Every text in which references count.
    pub(crate) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let (one, list, pairs) = match &mut self.transport {
            Transport::Stdio { command, args, env, .. } => (command, Some(args), env),
            Transport::Http { url, headers } => (url, None, headers),
        };
        std::iter::once(one).chain(list.into_iter().flatten()).chain(pairs.iter_mut().map(|(_, value)| value))
    }
}

/// A key as everybody writes it: `mcp_servers`, `mcpServers` and `MCPServers` are one.
pub(crate) fn folded(key: &str) -> String {
    key.chars().filter(|character| !matches!(character, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// What is found in an entry, key by key.
#[derive(Default)]
struct Parts {
    command: Option<Vec<String>>,
    args: Vec<String>,
    env: Vec<(String, String)>,
    cwd: Option<String>,
    kind: Option<String>,
    url: Option<String>,
    headers: Vec<(String, String)>,
    /// Headers whose values are variables by another way of saying so.
    references: Vec<(String, String)>,
    timeout: Option<u64>,
    enabled: Option<bool>,
    tools: Option<Vec<String>>,
    env_inherit: Vec<String>,
    levels: Vec<(String, Level)>,
    overrides: Vec<overriding::Read>,
    protocol: Option<Protocol>,
    sampling: bool,
    security: Option<ServerSecurity>,
    credentials: Option<Credentials>,
    notes: Vec<Wrong>,
}

/// What is wrong with the value of a key.
pub(crate) enum Problem<'a> {
    Wrong(Wrong),
    /// The value is of another type than is needed.
    Type(&'a Node, &'static str),
}

impl From<Wrong> for Problem<'_> {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl Parts {
    /// How to get to the server; what says nothing about that is noted.
    fn transport(&mut self, at: usize) -> Result<Transport, String> {
        let kind = self.kind.as_deref().map(folded);
        let is_started = match (kind.as_deref(), &self.command, &self.url) {
            (Some("stdio" | "local"), Some(_), _) | (None, Some(_), None) => true,
            (Some("http" | "streamablehttp" | "remote"), _, Some(_)) | (None, None, Some(_)) => false,
            (Some("stdio" | "local"), None, _) => return Err("`command` is missing".to_owned()),
            (Some("http" | "streamablehttp" | "remote"), _, None) => return Err("`url` is missing".to_owned()),
            (Some("sse"), ..) => return Err(SSE.to_owned()),
            (Some(_), ..) => {
                let kind = self.kind.as_deref().unwrap_or_default();
                return Err(format!("`{kind}` is no `type` that cycod supports: stdio or http"));
            }
            (None, Some(_), Some(_)) => {
                return Err("`command` and `url` exclude each other: is it started or reached?".to_owned());
            }
            (None, None, None) => return Err("neither `command` nor `url` defines how to reach it".to_owned()),
        };
        let stray = match is_started {
            true if !self.headers.is_empty() => Some("`headers` have no effect for a program"),
            false if !(self.env.is_empty() && self.args.is_empty()) => {
                Some("`env` and `args` have no effect for a server that cycod does not start")
            }
            _ => None,
        };
        self.notes.extend(stray.map(|stray| Wrong::new(at, stray)));
        if !is_started {
            let url = self.url.take().unwrap_or_default();
            return Ok(Transport::Http { url, headers: take(&mut self.headers) });
        }
        let mut words = self.command.take().into_iter().flatten().chain(take(&mut self.args));
        let command = words.next().filter(|command| !command.is_empty()).ok_or("`command` is empty")?;
        let cwd = self.cwd.take().map(PathBuf::from);
        Ok(Transport::Stdio { command, args: words.collect(), env: take(&mut self.env), cwd })
    }

    fn take<'a>(&mut self, key: &str, written: &str, node: &'a Node, dialect: Dialect) -> Result<(), Problem<'a>> {
        match key {
            "command" | "cmd" => match &node.kind {
                // Zed once wrote the whole command line here.
                Kind::Table(members) => {
                    for member in members {
                        match member.key.as_str() {
                            "path" => self.command = Some(vec![text(&member.value)?]),
                            key => self.take(key, &member.key, &member.value, dialect)?,
                        }
                    }
                }
                Kind::List(_) => self.command = Some(texts(node)?),
                _ => self.command = Some(vec![text(node)?]),
            },
            "args" | "arguments" => self.args = texts(node)?,
            "env" | "envs" | "environment" => self.env = pairs(node)?,
            "cwd" | "workingdirectory" => self.cwd = Some(text(node)?),
            "type" | "transport" => self.kind = Some(text(node)?),
            "url" | "uri" | "serverurl" | "httpurl" => self.url = Some(text(node)?),
            "headers" | "httpheaders" => self.headers.extend(pairs(node)?),
            "bearertokenenvvar" => {
                self.references.push(("Authorization".to_owned(), format!("Bearer ${{{}}}", text(node)?)));
            }
            "envhttpheaders" => {
                self.references
                    .extend(pairs(node)?.into_iter().map(|(name, variable)| (name, format!("${{{variable}}}"))));
            }
            "timeout" => self.timeout = Some(milliseconds(node, dialect.timeout_unit)?),
            "tooltimeoutsec" => self.timeout = Some(milliseconds(node, 1000)?),
            "enabled" => self.enabled = Some(boolean(node)?),
            "disabled" => self.enabled = Some(!boolean(node)?),
            // Codex has a table of approvals under this name.
            "tools" if !matches!(node.kind, Kind::Table(_)) => {
                let tools = texts(node)?;
                overriding::few_patterns(node.span.start, tools.iter().map(String::as_str))?;
                self.tools = Some(tools).filter(|tools| *tools != ["*"]);
            }
            "includetools" | "enabledtools" => self.tools = Some(texts(node)?),
            "envinherit" | "envvars" => self.env_inherit = names(node)?,
            "levels" if dialect.is_ours => {
                let level = |(tool, level): (String, String)| {
                    let found = Level::NAMES.into_iter().find(|(name, _)| *name == level);
                    let wrong = || {
                        Problem::Wrong(Wrong::new(
                            node.span.start,
                            format!("`{level}` is no level: read, write or run"),
                        ))
                    };
                    found.map(|(_, level)| (tool, level)).ok_or_else(wrong)
                };
                self.levels = pairs(node)?.into_iter().map(level).collect::<Result<_, _>>()?;
                overriding::few_patterns(node.span.start, self.levels.iter().map(|(tool, _)| tool.as_str()))?;
            }
            "overrides" if dialect.is_ours => self.overrides = overriding::read(node)?,
            "protocol" if dialect.is_ours => {
                let named = scalar(node)?;
                let known = Protocol::VERSIONS.into_iter().find(|(name, _)| *name == named);
                let wrong = || {
                    let names = Protocol::VERSIONS.map(|(name, _)| name).join(", ");
                    Problem::Wrong(Wrong::new(
                        node.span.start,
                        format!("`{named}` is no version of the protocol: {names}"),
                    ))
                };
                self.protocol = Some(known.ok_or_else(wrong)?.1);
            }
            "sampling" if dialect.is_ours => self.sampling = boolean(node)?,
            "credentials" if dialect.is_ours => {
                let named = scalar(node)?;
                let known = Credentials::NAMES.into_iter().find(|(name, _)| *name == named);
                let wrong =
                    || Wrong::new(node.span.start, format!("`{named}` is no kind of credentials: shared, per-user"));
                self.credentials = Some(known.ok_or_else(|| Problem::Wrong(wrong()))?.1);
            }
            "security" if dialect.is_ours => self.security = Some(ServerSecurity::read(node)?),
            // What zed says of an entry that it starts itself.
            "source" if node.scalar().as_deref() == Some("custom") => {}
            "source" if node.scalar().as_deref() == Some("extension") => {
                return Err(Problem::Wrong(Wrong::new(
                    node.span.start,
                    "an extension of the editor starts it: no command is known",
                )));
            }
            _ => {
                let what = match key {
                    "trust" | "alwaysallow" | "autoapprove" | "defaulttoolsapprovalmode" | "tools" => {
                        "approvals are given here, not taken over"
                    }
                    "excludetools" | "disabledtools" => "name the tools that are wanted in `tools` instead",
                    "envfile" => "put its variables into `env`",
                    _ => "it has no meaning here",
                };
                self.notes.push(Wrong::new(node.span.start, format!("`{written}` is ignored: {what}")));
            }
        }
        Ok(())
    }
}

pub(crate) fn text(node: &Node) -> Result<String, Problem<'_>> {
    match &node.kind {
        Kind::Text(text) => Ok(text.clone()),
        _ => Err(Problem::Type(node, "a text")),
    }
}

fn scalar(node: &Node) -> Result<String, Problem<'_>> {
    node.scalar().ok_or(Problem::Type(node, "a text"))
}

fn texts(node: &Node) -> Result<Vec<String>, Problem<'_>> {
    match &node.kind {
        Kind::List(items) => items.iter().map(scalar).collect(),
        _ => Err(Problem::Type(node, "a list of texts")),
    }
}

/// Names in a list; some are tables that say more.
fn names(node: &Node) -> Result<Vec<String>, Problem<'_>> {
    let name = |item: &Node| {
        item.members().iter().find(|member| member.key == "name").and_then(|member| member.value.scalar())
    };
    match &node.kind {
        Kind::List(items) => {
            items.iter().map(|item| item.scalar().or_else(|| name(item)).ok_or(Problem::Type(item, "names"))).collect()
        }
        _ => Err(Problem::Type(node, "a list of names")),
    }
}

fn pairs(node: &Node) -> Result<Vec<(String, String)>, Problem<'_>> {
    match &node.kind {
        Kind::Table(members) => members
            .iter()
            .filter(|member| member.value.kind != Kind::Null)
            .map(|member| Ok((member.key.clone(), scalar(&member.value)?)))
            .collect(),
        _ => Err(Problem::Type(node, "a table of texts")),
    }
}

fn boolean(node: &Node) -> Result<bool, Problem<'_>> {
    match node.kind {
        Kind::Bool(is) => Ok(is),
        _ => Err(Problem::Type(node, "true or false")),
    }
}

pub(crate) fn milliseconds(node: &Node, unit: u64) -> Result<u64, Problem<'_>> {
    let number = match &node.kind {
        Kind::Number(number) => number.parse::<f64>().ok(),
        _ => return Err(Problem::Type(node, "a number")),
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded just before"
    )]
    match number.map(|number| number * unit as f64).filter(|number| (1.0..=1e12).contains(number)) {
        Some(number) => Ok(number as u64),
        None => Err(Problem::Wrong(Wrong::new(node.span.start, "a time-out is positive, and shorter than a lifetime"))),
    }
}

impl Transport {
    /// The command line or the address, exactly and in full, with what a terminal would act on made visible.
    pub fn in_full(&self) -> String {
        let line = match self {
            Self::Stdio { command, args, env, .. } => {
                let variables = env.iter().map(|(name, value)| format!("{name}={}", quoted_if_needed(value)));
                let words = std::iter::once(command).chain(args).map(|word| quoted_if_needed(word));
                variables.chain(words).collect::<Vec<_>>().join(" ")
            }
            Self::Http { url, .. } => url.clone(),
        };
        cycod_diagnostic::visible(&line).into_owned()
    }

    /// The names of the variables it refers to.
    pub fn references(&self) -> Vec<String> {
        let mut copy = ServerEntry::new(self.clone());
        let mut names: Vec<String> = Vec::new();
        for text in copy.texts_mut() {
            for piece in variables::pieces(text) {
                if let variables::Piece::Reference(inner) = piece
                    && let Some((name, None)) = variables::reference(inner)
                    && !names.iter().any(|known| known == name)
                {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }
}
