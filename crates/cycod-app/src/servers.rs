//! Others' MCP servers: which there are, and why one cannot be used.

use std::sync::Arc;

use cycod_engine::{
    Engine, EngineBuilder,
    catalog::ScopeFilter,
    definition::Host,
    diagnostic::{Code, Refusal, closest},
};
use cycod_mcp_client::{NoPerson, Person, RemoteServers};
use cycod_settings::{ServerEntry, ServerProblem, Servers as Configured};
use cycod_shell::quoted_if_needed;
use serde_json::Value;

use crate::shown_path;

/// Gives an engine the tools of the servers that are configured for its place, and the reasons why others are not there.
///
/// Nothing is started, but for a server whose tools are not known: when one of `words`, which were typed, can only be one
/// of them, it is met now.
pub(crate) fn adopt(mut engine: EngineBuilder, words: &[String], person: Arc<dyn Person>) -> EngineBuilder {
    let host = Arc::clone(engine.place().host());
    let configured = Configured::load_in(engine.place().catalog().scopes(), &engine.place().look());
    let is_typed = |prefix: &str| words.iter().any(|word| word.to_ascii_lowercase().starts_with(prefix));
    let active: Vec<_> = configured.active().cloned().collect();
    if !active.is_empty() {
        let home = engine.place().catalog().scopes().user_directory();
        let servers = Arc::new(RemoteServers::new(active, Arc::clone(&host), home, person));
        for server in servers.iter().filter(|server| !servers.is_known(&server.name)) {
            let prefix = prefix(&server.name);
            if is_typed(&prefix)
                && let Err(refusal) = servers.visit(&server.name)
            {
                engine = engine.absent(prefix, refusal);
            }
        }
        engine = servers.adopt_into(engine);
    }
    let off = configured.servers.iter().filter(|server| !server.entry.enabled).map(|server| &server.name);
    for name in off.chain(configured.problems.iter().filter_map(|problem| problem.server.as_ref())) {
        if configured.active().all(|server| !server.name.eq_ignore_ascii_case(name)) {
            engine = engine.absent(prefix(name), unusable(&configured, name, &host));
        }
    }
    if let Some(problem) = file_problem(&configured) {
        let why = format!("no server is known that has this tool; {}", told(problem, &host));
        engine = engine.absent("mcp_".to_owned(), Refusal::new(Code::UnknownServer, why).attempt("fix the file"));
    }
    engine
}

/// How the names of a server's tools begin.
fn prefix(server: &str) -> String {
    format!("mcp_{server}_").to_ascii_lowercase()
}

/// What is wrong in a file of servers, and where.
pub fn told(problem: &ServerProblem, host: &Host) -> String {
    problem.to_string().replace(&problem.path.display().to_string(), &shown_path(&problem.path, host))
}

fn file_problem(configured: &Configured) -> Option<&ServerProblem> {
    configured.problems.iter().find(|problem| problem.server.is_none() && !problem.is_warning)
}

/// Why no server of a name can be used.
pub fn unusable(configured: &Configured, name: &str, host: &Host) -> Refusal {
    let refusal = |why: String| Refusal::new(Code::UnknownServer, why).place(name);
    if let Some(server) = configured.find(name, ScopeFilter::Any).filter(|server| !server.entry.enabled) {
        let path = shown_path(&server.origin.path, host);
        return refusal(format!("the server `{name}` is switched off: {path}:{}", server.origin.line))
            .attempt("take `enabled: false` out of its entry");
    }
    let is_of = |problem: &&ServerProblem| {
        !problem.is_warning && problem.server.as_ref().is_some_and(|server| server.eq_ignore_ascii_case(name))
    };
    if let Some(problem) = configured.problems.iter().find(is_of) {
        return refusal(told(problem, host)).attempt("fix its entry in the file");
    }
    let broken = configured.problems.iter().filter_map(|problem| problem.server.as_deref());
    if let Some(near) = closest(name, configured.servers.iter().map(|server| server.name.as_str()).chain(broken)) {
        return refusal(format!("no server is called `{name}`")).attempt(format!("did you mean `{near}`?"));
    }
    if let Some(problem) = file_problem(configured) {
        return refusal(format!("no server is called `{name}`; {}", told(problem, host))).attempt("fix the file");
    }
    refusal(format!("no server is called `{name}`")).attempt("cycod mcp list")
}

/// The servers of an engine's place, as they are configured now; nothing when there is none. None of them is contacted.
pub fn remote_servers(engine: &Engine) -> Option<Arc<RemoteServers>> {
    RemoteServers::of(engine, Arc::new(NoPerson))
}

/// The keys of an entry as people read them, without those that are shown otherwise.
pub fn entry_lines(entry: &ServerEntry, shown: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, value) in entry.to_json().as_object().into_iter().flatten() {
        match value {
            _ if shown.contains(&key.as_str()) => {}
            Value::Object(pairs) => {
                lines.push(format!("  {key}:"));
                lines.extend(pairs.iter().map(|(name, value)| format!("    {name}: {}", plain(value))));
            }
            value => lines.push(format!("  {key}: {}", plain(value))),
        }
    }
    lines
}

/// A value as people read it: a list of words as a command line.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let quoted = |item: &Value| {
                let text = plain(item);
                if text.contains("****") {
                    return text;
                }
                quoted_if_needed(&text)
            };
            items.iter().map(quoted).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
