//! The MCP servers that are configured, and how they are.

use std::time::UNIX_EPOCH;

use cycod_engine::definition::Host;
use cycod_mcp_client::RemoteServers;
use cycod_settings::{Server, ServerSecurity, Transport, masked};
use serde::Serialize;
use serde_json::json;

use crate::{plain_value, shown_path};

/// A server as it is configured, and how it was when it was last met.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ServerView {
    pub name: String,
    pub scope: &'static str,
    pub path: String,
    pub line: usize,
    /// How it is started or reached, with secrets masked.
    pub how: String,
    /// What keeps it from that, or is unusual.
    pub notes: Vec<String>,
    /// Whether its tools are offered, as far as the configuration goes.
    pub in_use: bool,
    /// Whether the user wrote it or agreed to it.
    pub accepted: bool,
    /// When it was last met, in milliseconds from 1970.
    pub last_met: Option<u64>,
    /// Why it failed then.
    pub failure: Option<String>,
}

impl ServerView {
    /// Of a server.
    pub fn of(server: &Server, host: &Host, connections: Option<&RemoteServers>) -> Self {
        let mut notes = Vec::new();
        if let Some(path) = &server.shadowed_by {
            notes.push(format!("shadowed by {}", shown_path(path, host)));
        }
        if !server.entry.enabled {
            notes.push("switched off".to_owned());
        }
        if !server.is_ours {
            notes.push("not accepted".to_owned());
        }
        if !server.entry.overrides.is_empty() {
            let tools: Vec<&str> = server.entry.overrides.iter().map(|(tool, _)| tool.as_str()).collect();
            notes.push(format!("overrides {}", tools.join(", ")));
        }
        if server.entry.security.as_ref().is_some_and(ServerSecurity::confines) {
            notes.push("confined".to_owned());
        }
        let in_use = server.shadowed_by.is_none() && server.entry.enabled;
        let met = connections.filter(|_| in_use).and_then(|connections| connections.last_met(&server.name));
        let at = met.as_ref().and_then(|met| met.at.duration_since(UNIX_EPOCH).ok());
        Self {
            name: server.name.clone(),
            scope: server.origin.scope.name(),
            path: shown_path(&server.origin.path, host),
            line: server.origin.line,
            how: match masked(&server.entry).transport {
                Transport::Stdio { command, args, .. } => plain_value(&json!([vec![command], args].concat())),
                Transport::Http { url, .. } => url,
            },
            notes,
            in_use,
            accepted: server.is_ours,
            last_met: at.map(|at| u64::try_from(at.as_millis()).unwrap_or(u64::MAX)),
            failure: met.and_then(|met| met.failure),
        }
    }
}
