//! Others' MCP servers, for the commands that use their tools.

use std::sync::Arc;

use cycod_engine::{Engine, definition::Host};
use cycod_mcp_client::Servers;

use crate::person::Terminal;

/// Opens the place where `host` stands, with the tools of the servers that are configured there.
///
/// Nothing is started, but for a server that was never met: when one of `words`, which were typed, can only be one of its
/// tools, it is met now.
pub(crate) fn open(host: Host, words: &[String]) -> Engine {
    let mut engine = Engine::open(host);
    if let Some(servers) = Servers::of(&engine, Arc::new(Terminal)) {
        for server in servers.iter().filter(|server| servers.last_met(&server.name).is_none()) {
            let prefix = format!("mcp_{}_", server.name).to_ascii_lowercase();
            if words.iter().any(|word| word.to_ascii_lowercase().starts_with(&prefix)) {
                // Why it failed is said when the tool is not found.
                drop(servers.visit(&server.name));
            }
        }
        servers.adopt_into(&mut engine);
    }
    engine
}
