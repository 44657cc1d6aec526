//! One file for each command about MCP servers and hosts.

pub(crate) mod accept;
pub(crate) mod add;
mod as_user;
pub(crate) mod bundle;
pub(crate) mod confine;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod remove;
mod selection;
pub(crate) mod serve;
mod serve_http;
pub(crate) mod test;
pub(crate) mod uninstall;

use std::{path::Path, sync::Arc};

use cycod_app::unusable_server;
use cycod_engine::{
    Engine,
    catalog::{Scope, ScopeFilter, Scopes},
    definition::Host,
    diagnostic::closest,
};
use cycod_mcp_client::RemoteServers as Connections;
use cycod_settings::{FileError, McpHost, Server, Servers};

use self::as_user::AsUser;
use crate::{cli::Context, command_error::CommandError, person::Terminal, store::shown};

/// The one scope that something is written to.
fn written_scope(asked: Option<ScopeFilter>, by_default: Scope) -> Result<Scope, CommandError> {
    match asked {
        None => Ok(by_default),
        Some(ScopeFilter::Only(scope @ (Scope::Local | Scope::User | Scope::Global))) => Ok(scope),
        Some(_) => {
            Err(CommandError::usage("a server is written to one scope").hint("give --local, --user or --global"))
        }
    }
}

/// Forgets what was accepted of a server: its user has just written another into the file, or none.
fn forget(scopes: &Scopes, name: &str, path: &Path) -> Result<(), CommandError> {
    Ok(Connections::forget(scopes.user_directory(), name, path)?)
}

/// The server that a name leads to; one that is only in another scope, or is wrong, is told.
fn server<'a>(
    servers: &'a Servers,
    name: &str,
    filter: ScopeFilter,
    engine: &Engine,
) -> Result<&'a Server, CommandError> {
    let (scopes, host) = (engine.catalog().scopes(), engine.host());
    let of_name = |server: &&Server| server.name.eq_ignore_ascii_case(name);
    let mut asked = servers.servers.iter().filter(|server| scopes.admits(filter, server.origin.scope));
    if let Some(server) = asked.find(of_name) {
        return Ok(server);
    }
    if let (ScopeFilter::Only(scope), Some(other)) = (filter, servers.servers.iter().find(of_name)) {
        let path = shown(&other.origin.path, host);
        return Err(CommandError::failure(format!("the {scope} scope has no server `{name}`"))
            .hint(format!("the {} scope has one: {path}", other.origin.scope)));
    }
    Err(unusable_server(servers, name, host).into())
}

/// The servers that are switched on, one of which has the name, as a user reaches them.
fn usable(context: &Context, name: &str, user: &AsUser) -> Result<Arc<Connections>, CommandError> {
    let engine = &context.engine;
    let configured = Servers::load(engine.catalog().scopes());
    let is_on = configured.active().any(|server| server.name.eq_ignore_ascii_case(name));
    let servers = Connections::of(engine, Arc::new(Terminal)).filter(|_| is_on);
    let servers = servers.ok_or_else(|| CommandError::from(unusable_server(&configured, name, engine.host())))?;
    user.reach(servers, name)
}

/// The host of a name.
fn named_host(name: &str) -> Result<&'static McpHost, CommandError> {
    McpHost::named(name).ok_or_else(|| {
        let names = || cycod_settings::HOSTS.iter().map(|host| host.name);
        let error = CommandError::usage(format!("`{name}` is not a host that cycod knows"));
        match closest(name, names()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error
                .hint(format!("one of {}", names().collect::<Vec<_>>().join(", ")))
                .hint("for another host, copy the entry from: cycod mcp install claude-code --print"),
        }
    })
}

/// Why a file of settings could not be read or changed.
fn file_error(error: &FileError, host: &Host) -> CommandError {
    let path = error.path();
    let failed = CommandError::failure(error.to_string().replace(&path.display().to_string(), &shown(path, host)));
    match error {
        FileError::Wrong { .. } => failed.hint("the file is unchanged"),
        FileError::Changed { .. } => failed.hint("try again"),
        _ => failed,
    }
}
