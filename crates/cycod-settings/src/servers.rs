//! The servers that are configured here, layer by layer.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
};

use cycod_catalog::{DirectoryStyle, Scope, ScopeFilter, Scopes};
use cycod_definition::Host;
use cycod_diagnostic::{Code, LineColumn, LineStarts, MOST_REPORTED, Refusal};
use cycod_file::Look;
use serde_json::Value;

use crate::{
    FileError, ServerEntry, ToolSettings, Transport,
    consent::Consents,
    edit,
    entry::OURS,
    file::{self, Change, Privacy, Target},
    jsonc,
    tree::{Kind, Member, Node, Wrong},
    variables,
};

/// The key below which servers stand.
const TABLE: &str = "mcpServers";

/// One server as it is configured.
#[derive(Clone, Debug)]
pub struct Server {
    /// What it is called.
    pub name: String,
    /// Where that is written.
    pub origin: ServerOrigin,
    /// What is said about it.
    pub entry: ServerEntry,
    /// Whether its user wrote it: it came with no repository, or through our commands, and is unchanged since.
    ///
    /// What is not ours is started only when its user has seen [`Transport::in_full`] and agreed.
    pub is_ours: bool,
    /// Where the entry of the same name is that comes before it.
    pub shadowed_by: Option<PathBuf>,
    /// What consent is bound to: the file, the name and the text of the entry.
    pub(crate) digest: String,
}

/// Where an entry stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOrigin {
    /// The scope of the file.
    pub scope: Scope,
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

/// Something in a file of servers that is not right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerProblem {
    /// The scope of the file.
    pub scope: Scope,
    /// The file.
    pub path: PathBuf,
    /// Where in it; nowhere when it could not be read.
    pub at: Option<LineColumn>,
    /// The entry, when it is about one.
    pub server: Option<String>,
    /// Whether the entry can be used nevertheless.
    pub is_warning: bool,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ServerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = self.at {
            write!(f, "{}:{}:{}: ", self.path.display(), at.line, at.column)?;
        }
        if let Some(server) = &self.server {
            write!(f, "server `{server}`: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Every configured server, and what is wrong with the files they stand in.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    /// The servers; of one name, the first wins.
    pub servers: Vec<Server>,
    /// What could not be read. It hides nothing else.
    pub problems: Vec<ServerProblem>,
}

/// Whether a name can be a server's: letters, digits, `_` and `-`, at most 32, a letter or digit first.
pub fn is_server_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    name.len() <= 32 && name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.bytes().all(is_inner)
}

/// The file of a scope into which servers are written.
pub fn servers_file(scopes: &Scopes, scope: Scope) -> PathBuf {
    scopes.written(scope).with_file_name("mcp.json")
}

impl Servers {
    /// Reads the files of every scope.
    pub fn load(scopes: &Scopes) -> Self {
        Self::load_in(scopes, &Look::default())
    }

    /// The same, as part of a look at more.
    pub fn load_in(scopes: &Scopes, look: &Look) -> Self {
        let mut all = Self::default();
        let mut consents = None;
        let mut directories: Vec<_> =
            scopes.with_rules().filter(|directory| directory.style == DirectoryStyle::Cycod).collect();
        // Nothing hides a server of the machine or of a team.
        directories.sort_by_key(|directory| !directory.scope.binds());
        for directory in directories {
            let path = directory.path.with_file_name("mcp.json");
            if !look.may_be_there(&path) {
                continue;
            }
            all.read(directory.scope, &path, &mut || consents.get_or_insert_with(|| Consents::open(scopes)).clone());
        }
        let mut first: HashMap<String, PathBuf> = HashMap::new();
        for server in &mut all.servers {
            match first.get(&server.name.to_ascii_lowercase()) {
                Some(path) => server.shadowed_by = Some(path.clone()),
                None => drop(first.insert(server.name.to_ascii_lowercase(), server.origin.path.clone())),
            }
        }
        all
    }

    /// The servers that win and are switched on.
    pub fn active(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().filter(|server| server.shadowed_by.is_none() && server.entry.enabled)
    }

    /// The first server of a name among the scopes asked for.
    pub fn find(&self, name: &str, filter: ScopeFilter) -> Option<&Server> {
        let is_asked =
            |server: &&Server| filter == ScopeFilter::Any || filter == ScopeFilter::Only(server.origin.scope);
        self.servers.iter().filter(is_asked).find(|server| server.name.eq_ignore_ascii_case(name))
    }

    fn read(&mut self, scope: Scope, path: &Path, consents: &mut dyn FnMut() -> Consents) {
        let problem = |at, server: Option<&str>, is_warning, message| ServerProblem {
            scope,
            path: path.to_owned(),
            at,
            server: server.map(str::to_owned),
            is_warning,
            message,
        };
        let text = match file::read(path) {
            Ok(None) => return,
            Ok(Some(text)) if jsonc::is_blank(&text) => return,
            Ok(Some(text)) => text,
            Err(FileError::Wrong { at, message, .. }) => {
                return self.problems.push(problem(Some(at), None, false, message));
            }
            Err(error) => return self.problems.push(problem(None, None, false, error.to_string())),
        };
        let lines = LineStarts::of(&text);
        let position = |at: usize| Some(lines.position(u32::try_from(at).unwrap_or(u32::MAX)));
        let root = match jsonc::parse(&text).and_then(|root| Ok((table(&root)?.cloned(), foreign(&root)))) {
            Ok((Some(table), _)) => table,
            Ok((None, foreign)) => {
                return self
                    .problems
                    .extend(foreign.map(|wrong| problem(position(wrong.at), None, false, wrong.message)));
            }
            Err(wrong) => return self.problems.push(problem(position(wrong.at), None, false, wrong.message)),
        };
        let consents = if scope == Scope::Local { consents() } else { Consents::default() };
        let mut named: HashMap<String, usize> = HashMap::new();
        for member in root.members() {
            *named.entry(member.key.to_ascii_lowercase()).or_default() += 1;
        }
        let reported = self.problems.len();
        for member in root.members() {
            let name = member.key.as_str();
            let mut notes = Vec::new();
            let read = if named[&name.to_ascii_lowercase()] > 1 {
                Err(Wrong::new(member.key_span.start, "the name is there twice"))
            } else if is_server_name(name) {
                ServerEntry::read(&member.value, OURS, &mut notes)
            } else {
                Err(Wrong::new(member.key_span.start, NAME_HELP))
            };
            let warnings = notes.into_iter().map(|note| problem(position(note.at), Some(name), true, note.message));
            self.problems.extend(warnings);
            match read {
                Ok(entry) => {
                    let digest = digest(path, name, &text[member.value.span.clone()]);
                    let is_ours = scope != Scope::Local || consents.has(&digest);
                    let line = position(member.key_span.start).map_or(1, |at| at.line);
                    let origin = ServerOrigin { scope, path: path.to_owned(), line };
                    self.servers.push(Server {
                        name: name.to_owned(),
                        origin,
                        entry,
                        is_ours,
                        shadowed_by: None,
                        digest,
                    });
                }
                Err(wrong) => self.problems.push(problem(position(wrong.at), Some(name), false, wrong.message)),
            }
            if self.problems.len() - reported > MOST_REPORTED {
                self.problems.truncate(reported + MOST_REPORTED);
                let message =
                    format!("there are more than {MOST_REPORTED} problems; no server behind this one is read");
                self.problems.push(problem(position(member.key_span.start), None, false, message));
                return;
            }
        }
    }
}

/// How a server may be called.
pub(crate) const NAME_HELP: &str =
    "a name starts with a letter or digit and holds letters, digits, `_` and `-`, at most 32";

/// A table of servers as another program calls it, which would go unseen.
fn foreign(root: &Node) -> Option<Wrong> {
    let keys = root.members().iter().find(|member| matches!(&*member.key, "servers" | "context_servers"));
    keys.map(|member| {
        let why = format!("`{}` is another program's key; servers are in `mcpServers` here", member.key);
        Wrong::new(member.key_span.start, why)
    })
}

/// The table of servers; a file may write its key as others do.
fn table(root: &Node) -> Result<Option<&Node>, Wrong> {
    let Kind::Table(members) = &root.kind else {
        return Err(Wrong::new(root.span.start, format!("{} is here, where a table is expected", root.what())));
    };
    let mut tables = members.iter().filter(|member| crate::entry::folded(&member.key) == "mcpservers");
    match (tables.next(), tables.next()) {
        (_, Some(again)) => Err(Wrong::new(again.key_span.start, format!("`{}` is there twice", again.key))),
        (Some(table), None) => match table.value.kind {
            Kind::Table(_) => Ok(Some(&table.value)),
            _ => Err(Wrong::new(
                table.value.span.start,
                format!("`{}` needs a table, not {}", table.key, table.value.what()),
            )),
        },
        (None, None) => Ok(None),
    }
}

fn digest(path: &Path, name: &str, text: &str) -> String {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    cycod_definition::digest(&format!("{}\0{name}\0{text}", path.display()))
}

impl Server {
    /// What its entry says about its tools. A file that came with a repository grants itself nothing.
    pub fn tools(&self) -> ToolSettings<'_> {
        ToolSettings::of(&self.entry, self.is_ours)
    }

    /// How to get to it, with the values of the environment in place of references and a whole path to start in.
    ///
    /// # Errors
    /// When a variable is not set that has no default.
    pub fn resolve(&self, host: &Host) -> Result<Transport, Refusal> {
        let expand = |place: &str, text: &str| {
            variables::expand(text, &host.environment).map_err(|name| {
                let why = format!(
                    "server `{}`: {place} refers to `${{{name}}}`, which is not set in the environment",
                    self.name
                );
                Refusal::new(Code::UnsetVariable, why)
                    .place(place.replace('`', ""))
                    .attempt(format!("set {name}, or write `${{{name}:-…}}` in {}", self.origin.path.display()))
            })
        };
        let pairs = |what: &str, pairs: &[(String, String)]| -> Result<Vec<_>, Refusal> {
            pairs.iter().map(|(name, value)| Ok((name.clone(), expand(&format!("{what} `{name}`"), value)?))).collect()
        };
        Ok(match &self.entry.transport {
            Transport::Stdio { command, args, env, cwd } => {
                let cwd = cwd.as_ref().map(|cwd| expand("`cwd`", &cwd.to_string_lossy())).transpose()?;
                Transport::Stdio {
                    command: expand("`command`", command)?,
                    args: args.iter().map(|arg| expand("`args`", arg)).collect::<Result<_, _>>()?,
                    env: pairs("the variable", env)?,
                    cwd: Some(self.base(host).join(cwd.unwrap_or_default())),
                }
            }
            Transport::Http { url, headers } => {
                Transport::Http { url: expand("`url`", url)?, headers: pairs("the header", headers)? }
            }
        })
    }

    /// The directory that relative paths start from: the project's, else the one that is worked in.
    fn base<'a>(&'a self, host: &'a Host) -> &'a Path {
        let project = self.origin.path.parent().and_then(Path::parent).filter(|_| self.origin.scope == Scope::Local);
        project.unwrap_or(&host.workspace)
    }
}

/// Writes a server into the file of a scope, whose other bytes stay, and remembers that its user did.
///
/// The answer is the file, and whether an entry was replaced; nothing when there is one and it may not be.
///
/// # Errors
/// When the file cannot be read or written.
pub fn add(
    scopes: &Scopes,
    scope: Scope,
    name: &str,
    entry: &ServerEntry,
    replace: bool,
) -> Result<Option<(PathBuf, bool)>, FileError> {
    let path = servers_file(scopes, scope);
    let wrong = |text: &str| {
        let path = path.clone();
        let text = text.to_owned();
        move |wrong: Wrong| FileError::wrong(&path, &text, &wrong)
    };
    let added = file::change(target(scopes, scope, &path), |text| {
        let text = text.unwrap_or_default();
        let (table, old) = spelling(text, name).map_err(wrong(text))?;
        if old.is_some() && !replace {
            return Ok((Change::Nothing, None));
        }
        let key = old.as_deref().unwrap_or(name);
        let after = edit::set(text, &[&table, key], &entry.to_json()).map_err(wrong(text))?;
        let privacy = privacy(scope, &after);
        Ok((Change::Write(after, privacy), Some(old.is_some())))
    })?;
    let Some(replaced) = added else { return Ok(None) };
    if scope == Scope::Local
        && let Some(server) = Servers::load(scopes).find(name, ScopeFilter::Only(Scope::Local))
    {
        Consents::open(scopes).give(server)?;
    }
    Ok(Some((path, replaced)))
}

/// Takes a server out of the file it stands in, whose other bytes stay.
///
/// # Errors
/// When the file cannot be read or written, or no longer holds it.
pub fn remove(scopes: &Scopes, server: &Server) -> Result<(), FileError> {
    let path = &server.origin.path;
    file::change(target(scopes, server.origin.scope, path), |text| {
        let text = text.unwrap_or_default();
        let wrong = |wrong: Wrong| FileError::wrong(path, text, &wrong);
        let (table, _) = spelling(text, &server.name).map_err(wrong)?;
        let after = edit::remove(text, &table, &server.name).map_err(wrong)?;
        let write = |after: String| {
            let privacy = privacy(server.origin.scope, &after);
            Change::Write(after, privacy)
        };
        Ok((after.map_or(Change::Remove, write), ()))
    })?;
    Consents::open(scopes).withdraw(server)
}

/// The keys of a file for the table of servers and for one of them, as they are written there.
fn spelling(text: &str, name: &str) -> Result<(String, Option<String>), Wrong> {
    if jsonc::is_blank(text) {
        return Ok((TABLE.to_owned(), None));
    }
    let root = jsonc::parse(text)?;
    let Some(table) = table(&root)? else { return Ok((TABLE.to_owned(), None)) };
    let key = root
        .members()
        .iter()
        .find(|member| std::ptr::eq(&raw const member.value, table))
        .map(|member| member.key.clone());
    let old =
        table.members().iter().find(|member| member.key.eq_ignore_ascii_case(name)).map(|member| member.key.clone());
    Ok((key.unwrap_or_else(|| TABLE.to_owned()), old))
}

fn target<'a>(scopes: &'a Scopes, scope: Scope, path: &'a Path) -> Target<'a> {
    Target { path, within: (scope == Scope::Local).then(|| scopes.workspace()) }
}

/// Who may read a file of this text: only its owner, when a server has variables or headers. Which of them are
/// secrets is nothing to guess about; but the file of all users is of no use when only one can read it.
fn privacy(scope: Scope, text: &str) -> Privacy {
    let holds_values = |member: &Member| {
        ["env", "headers"].iter().any(|key| member.value.member(key).is_ok_and(|found| found.is_some()))
    };
    let root = jsonc::parse(text);
    let table = root.as_ref().ok().and_then(|root| table(root).ok().flatten());
    let is_secret = table.is_some_and(|table| table.members().iter().any(holds_values));
    if is_secret && scope != Scope::Global { Privacy::Always } else { Privacy::Usual }
}

/// Shows a server for programs, secrets hidden.
pub fn to_json(server: &Server) -> Value {
    let mut value = masked(&server.entry).to_json();
    let mut whole = serde_json::Map::new();
    whole.insert("name".to_owned(), server.name.clone().into());
    whole.insert("scope".to_owned(), server.origin.scope.name().into());
    whole.insert("path".to_owned(), server.origin.path.to_string_lossy().into());
    whole.insert("line".to_owned(), server.origin.line.into());
    whole.insert(
        "transport".to_owned(),
        if matches!(server.entry.transport, Transport::Stdio { .. }) { "stdio" } else { "http" }.into(),
    );
    whole.insert("enabled".to_owned(), server.entry.enabled.into());
    whole.insert("trusted".to_owned(), server.is_ours.into());
    if let Some(path) = &server.shadowed_by {
        whole.insert("shadowed_by".to_owned(), path.to_string_lossy().into());
    }
    if let Some(entry) = value.as_object_mut() {
        entry.shift_remove("enabled");
        entry.shift_remove("type");
        whole.append(entry);
    }
    Value::Object(whole)
}

/// The entry with what may be secret hidden.
pub fn masked(entry: &ServerEntry) -> ServerEntry {
    let mut entry = entry.clone();
    let mask = |pairs: &mut Vec<(String, String)>| {
        for (name, value) in pairs {
            *value = crate::secret::value(name, value).into_owned();
        }
    };
    match &mut entry.transport {
        Transport::Stdio { args, env, .. } => {
            *args = crate::secret::arguments(args).into_iter().map(std::borrow::Cow::into_owned).collect();
            mask(env);
        }
        Transport::Http { url, headers } => {
            *url = crate::secret::text(url).into_owned();
            mask(headers);
        }
    }
    for (_, change) in &mut entry.overrides {
        *change = change.masked();
    }
    entry
}
