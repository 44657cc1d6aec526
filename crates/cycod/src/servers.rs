//! Others' MCP servers, for the commands that use their tools.

use std::sync::Arc;

use cycod_builtin::Toolbox;
use cycod_cli_tools::CliTools;
use cycod_engine::{
    BuiltIns, Engine, Together, Workers,
    catalog::ScopeFilter,
    definition::Host,
    diagnostic::{Code, Refusal, closest},
};
use cycod_mcp_client::Servers;
use cycod_model::Models;
use cycod_settings::{Problem, Servers as Configured};
use cycod_store::History;

use crate::{
    models::{ModelsForTools, ModelsHere},
    person::Terminal,
    printer::Printer,
    secrets::{self, SecretsOf},
    standing::shown_path,
};

/// The processes in which functions run: our own program carries out scripts.
pub(crate) fn workers() -> Arc<Workers> {
    let ours = std::env::current_exe().ok();
    Arc::new(Workers::new(ours.map(|program| (program, vec![crate::cli::SCRIPT_WORKER.into()]))))
}

/// How this program is started to ask a jq program: see [`crate::cli::main`].
pub(crate) fn jq_worker() -> Vec<std::ffi::OsString> {
    let program = std::env::current_exe().map(std::path::PathBuf::into_os_string);
    program.map_or_else(|_| Vec::new(), |program| vec![program, crate::cli::JQ_WORKER.into()])
}

/// The tools that this program carries out itself.
fn built_ins(secrets: SecretsOf) -> Arc<dyn BuiltIns> {
    let open = move |host| opened(host, &[], secrets);
    let models = move |here: &Engine| -> Arc<dyn Models> { Arc::new(ModelsHere::of(here, secrets)) };
    let cli_tools = CliTools::new(Arc::new(open)).asking(Arc::new(models));
    Arc::new(Together(vec![Arc::new(Toolbox), Arc::new(cli_tools)]))
}

/// Gives an engine what every engine of this program has, but for the tools of servers.
pub(crate) fn equip(engine: &mut Engine, workers: Arc<Workers>, history: Arc<History>, secrets: SecretsOf) {
    engine.use_workers(workers);
    engine.build_in(built_ins(secrets));
    // Without it nothing goes on by itself, which is said when somebody wants it.
    if let Ok(ours) = std::env::current_exe() {
        engine.go_on_by(ours, vec![crate::cli::BACKGROUND_RUN.into()]);
    }
    engine.use_models(Arc::new(ModelsForTools::of(engine, secrets)));
    engine.keep_secrets(Arc::new(secrets(engine)));
    engine.keep_history(history);
}

/// Opens the place where `host` stands, with the tools of the servers that are configured there.
///
/// Nothing is started, but for a server whose tools are not known: when one of `words`, which were typed, can only be one
/// of them, it is met now.
pub(crate) fn open(host: Host, words: &[String]) -> Engine {
    opened(host, words, secrets::store)
}

fn opened(host: Host, words: &[String], secrets: SecretsOf) -> Engine {
    let mut engine = Engine::open(host);
    let history = Arc::new(History::at(engine.catalog().scopes().user_directory()));
    equip(&mut engine, workers(), history, secrets);
    let configured = Configured::load(engine.catalog().scopes());
    let is_typed = |prefix: &str| words.iter().any(|word| word.to_ascii_lowercase().starts_with(prefix));
    let active: Vec<_> = configured.active().cloned().collect();
    if !active.is_empty() {
        let home = engine.catalog().scopes().user_directory();
        let servers = Arc::new(Servers::new(active, Arc::clone(engine.host()), home, Arc::new(Terminal)));
        for server in servers.iter().filter(|server| !servers.is_known(&server.name)) {
            let prefix = prefix(&server.name);
            if is_typed(&prefix)
                && let Err(refusal) = servers.visit(&server.name)
            {
                engine.absent(prefix, refusal);
            }
        }
        servers.adopt_into(&mut engine);
    }
    let off = configured.servers.iter().filter(|server| !server.entry.enabled).map(|server| &server.name);
    for name in off.chain(configured.problems.iter().filter_map(|problem| problem.server.as_ref())) {
        if configured.active().all(|server| !server.name.eq_ignore_ascii_case(name)) {
            engine.absent(prefix(name), unusable(&configured, name, engine.host()));
        }
    }
    if let Some(problem) = file_problem(&configured) {
        let why = format!("no server is known that has this tool; {}", told(problem, engine.host()));
        engine.absent("mcp_".to_owned(), Refusal::new(Code::UnknownServer, why).attempt("fix the file"));
    }
    engine
}

/// How the names of a server's tools begin.
fn prefix(server: &str) -> String {
    format!("mcp_{server}_").to_ascii_lowercase()
}

/// Warns of what keeps configured servers from being used.
pub(crate) fn warn_of_mistakes(configured: &Configured, host: &Host, printer: &mut Printer) {
    for problem in configured.problems.iter().filter(|problem| !problem.is_warning) {
        printer.warn(&told(problem, host));
    }
}

/// What is wrong in a file of servers, and where.
pub(crate) fn told(problem: &Problem, host: &Host) -> String {
    problem.to_string().replace(&problem.path.display().to_string(), &shown_path(&problem.path, host))
}

fn file_problem(configured: &Configured) -> Option<&Problem> {
    configured.problems.iter().find(|problem| problem.server.is_none() && !problem.is_warning)
}

/// Why no server of a name can be used.
pub(crate) fn unusable(configured: &Configured, name: &str, host: &Host) -> Refusal {
    let refusal = |why: String| Refusal::new(Code::UnknownServer, why).place(name);
    if let Some(server) = configured.find(name, ScopeFilter::Any).filter(|server| !server.entry.enabled) {
        let path = shown_path(&server.origin.path, host);
        return refusal(format!("the server `{name}` is switched off: {path}:{}", server.origin.line))
            .attempt("take `enabled: false` out of its entry");
    }
    let is_of = |problem: &&Problem| {
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
