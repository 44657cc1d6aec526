//! Files that somebody wrote: settings, rules, MCP servers.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::Path,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use cycod_diagnostic::{Refusal, Severity, caught};
use cycod_engine::{Engine, diagnostic::SourceReport};
use cycod_mcp_client::{NoPerson, RemoteServers};
use cycod_model::{Configured as Models, Limits};
use cycod_secret::{Store, VaultKey};
use cycod_settings::{Servers as Configured, policy::Rules};
use cycod_thread::Thread;

use super::{
    Check, Environment,
    check::{count, named},
};
use crate::place::{shown, without_home};

const GROUP: &str = "configuration";

/// How long servers may take to be met, all of them together.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn checks(engine: &Engine) -> Vec<Check> {
    let (scopes, host) = (engine.catalog().scopes(), engine.host());
    let settings = engine.settings();
    let rules = Rules::load(scopes, host);
    let mut checks = vec![
        files(
            "settings",
            "no tool runs while they cannot be read",
            settings.flaws().iter().map(|flaw| format!("{}: {}", flaw.place, flaw.message)),
            settings.files.iter().map(|file| (&*file.path, &file.report)),
            engine,
        ),
        files(
            "policy",
            "nothing runs while the rules cannot be read",
            rules.flaws().iter().map(|flaw| format!("{}: {}", flaw.place, flaw.message)),
            rules.files.iter().map(|file| (&*file.path, &file.report)),
            engine,
        ),
    ];
    let waiting = rules.waiting().count();
    if waiting > 0 {
        let message = format!(
            "{} of this project do not count, because you did not agree to them",
            count(waiting, "rule", "rules")
        );
        checks.push(Check::warning(GROUP, "policy_consent", message).fix("cycod policy accept"));
    }
    checks.push(models(engine));
    checks
}

/// Which providers of language models have their keys. No key is looked at, only whether it is there.
fn models(engine: &Engine) -> Check {
    const NAME: &str = "models";
    let host = engine.host();
    let said = engine.settings().models();
    let variable = |name: &str| host.environment.get(OsStr::new(name))?.to_str().map(str::to_owned);
    let known = Models::new(None, Vec::new(), Vec::new(), Limits::default(), &variable).endpoints;
    let mut keys: BTreeMap<String, Vec<String>> =
        known.into_iter().filter(|known| !known.is_open).map(|known| (known.name, known.keys)).collect();
    for provider in said.providers.iter().rev().map(|said| &said.value) {
        match &provider.key {
            Some(key) => _ = keys.insert(provider.name.clone(), vec![key.clone()]),
            None => _ = keys.entry(provider.name.clone()).or_default(),
        }
    }
    let store = Store::open(
        engine.catalog().scopes().user_directory(),
        VaultKey::from_environment(&host.environment),
        &host.environment,
    );
    // Whether the secrets can be read is a check of its own.
    let secrets = if store.path().exists() { store.list().unwrap_or_default() } else { Vec::new() };
    let has = |key: &String| {
        variable(key).is_some_and(|value| !value.trim().is_empty()) || secrets.iter().any(|kept| kept.name == *key)
    };
    let ready: Vec<String> =
        keys.iter().filter(|(_, keys)| keys.iter().any(has)).map(|(name, _)| name.clone()).collect();
    let default = said.default.as_ref().map(|said| (said.value.as_str(), said.place.as_str()));
    let lacking = default.and_then(|(model, place)| {
        let provider = model.split('/').next()?;
        let wanted = keys.get(provider)?.first().filter(|_| !ready.iter().any(|name| name == provider))?;
        Some((model, place, wanted.clone()))
    });
    let check = match lacking {
        Some((model, place, key)) => {
            Check::warning(GROUP, NAME, format!("`{model}`, which {place} names, cannot be asked: `{key}` is not set"))
                .fix(format!("cycod secret set {key} --for-tool cycod:models"))
        }
        None if ready.is_empty() => {
            Check::absent(GROUP, NAME, "no provider of language models has a key; you need one only to use a model")
                .fix("cycod models list")
        }
        None => Check::ok(GROUP, NAME, format!("keys are there for {}", named(&ready))),
    };
    check.detail("ready", ready).detail("default", default.map(|(model, _)| model))
}

/// What is wrong with the files of one kind.
fn files<'a>(
    name: &'static str,
    consequence: &str,
    flaws: impl Iterator<Item = String>,
    files: impl Iterator<Item = (&'a Path, &'a SourceReport)>,
    engine: &Engine,
) -> Check {
    let host = engine.host();
    let flaws: Vec<String> = flaws.collect();
    let files: Vec<(&Path, &SourceReport)> = files.collect();
    let paths: Vec<String> = files.iter().map(|(path, _)| shown(path, host)).collect();
    let warnings: Vec<String> = files.iter().flat_map(|(_, report)| warnings(report)).collect();
    let check = match (flaws.first(), warnings.first()) {
        (Some(first), _) => {
            let more = if flaws.len() > 1 { format!(" (and {} more)", flaws.len() - 1) } else { String::new() };
            let fix = format!("edit {}", first.split(": ").next().unwrap_or("the file"));
            Check::failed(GROUP, name, format!("{first}{more}; {consequence}")).fix(fix)
        }
        (None, Some(first)) => {
            let more = if warnings.len() > 1 { format!(" (and {} more)", warnings.len() - 1) } else { String::new() };
            Check::warning(GROUP, name, format!("{first}{more}"))
                .fix(format!("edit {}", first.split(": ").next().unwrap_or("the file")))
        }
        _ if files.is_empty() => Check::ok(GROUP, name, "there is no file, and none is needed"),
        _ => Check::ok(GROUP, name, format!("{} read: {}", count(files.len(), "file", "files"), named(&paths))),
    };
    check.detail("files", paths).detail("errors", flaws).detail("warnings", warnings)
}

/// The warnings about a file, each with its place.
fn warnings(report: &SourceReport) -> impl Iterator<Item = String> {
    let wanted = report.diagnostics.iter().filter(|found| found.severity != Severity::Error);
    wanted.map(|found| {
        let at = report.source.position(found.span().unwrap_or_default().start);
        format!("{}:{}:{}: {}", report.source.name, at.line, at.column, found.message)
    })
}

/// The MCP servers that are configured: whether their files can be read, and whether they answer.
pub(crate) fn servers(environment: &Environment<'_>) -> Vec<Check> {
    let engine = environment.engine;
    let host = engine.host();
    let configured = Configured::load(engine.catalog().scopes());
    let told = |wanted: bool| {
        let problems = configured.problems.iter().filter(move |problem| problem.is_warning == wanted);
        problems.map(|problem| without_home(&problem.to_string(), host)).collect::<Vec<_>>()
    };
    let (errors, warnings) = (told(false), told(true));
    let names: Vec<String> = configured.active().map(|server| server.name.clone()).collect();
    let first = |problems: &[String]| match problems {
        [only] => only.clone(),
        [first, more @ ..] => format!("{first} (and {} more)", more.len()),
        [] => String::new(),
    };
    let fix = |problems: &[String]| format!("edit {}", problems[0].split(": ").next().unwrap_or("the file"));
    let check = if !errors.is_empty() {
        Check::failed(GROUP, "mcp_configuration", first(&errors)).fix(fix(&errors))
    } else if !warnings.is_empty() {
        Check::warning(GROUP, "mcp_configuration", first(&warnings)).fix(fix(&warnings))
    } else if names.is_empty() {
        Check::ok(GROUP, "mcp_configuration", "no MCP servers are configured")
    } else {
        let message = format!("{}: {}", count(names.len(), "MCP server", "MCP servers"), named(&names));
        Check::ok(GROUP, "mcp_configuration", message)
    };
    let mut checks = vec![check.detail("errors", errors).detail("warnings", warnings).detail("servers", names)];
    let active: Vec<_> = configured.active().cloned().collect();
    if active.is_empty() {
        return checks;
    }
    let home = engine.catalog().scopes().user_directory();
    let servers = Arc::new(RemoteServers::new(active, Arc::clone(host), home, Arc::new(NoPerson)));
    checks.extend(if environment.meets_servers { met(&servers) } else { remembered(&servers) });
    checks
}

/// How servers were when they were last met.
fn remembered(servers: &RemoteServers) -> Vec<Check> {
    servers.iter().map(|server| remembered_one(servers, &server.name)).collect()
}

fn remembered_one(servers: &RemoteServers, name: &str) -> Check {
    let fix = format!("cycod mcp test {name}");
    match servers.last_met(name).map(|met| met.failure) {
        Some(Some(failure)) => {
            Check::warning(GROUP, format!("mcp_{name}"), format!("could not be used last time: {failure}")).fix(fix)
        }
        Some(None) if servers.is_known(name) => {
            Check::ok(GROUP, format!("mcp_{name}"), "answered at the last connection")
        }
        _ => {
            let message = "was never contacted with its current configuration, so its tools are not known";
            Check::warning(GROUP, format!("mcp_{name}"), message).fix(fix)
        }
    }
}

/// Meets the servers that were met before: meeting one for the first time accepts its tools, which is not ours to do.
fn met(servers: &Arc<RemoteServers>) -> Vec<Check> {
    let (sender, receiver) = mpsc::channel::<(String, Result<Duration, Refusal>)>();
    let known: Vec<String> =
        servers.iter().map(|server| server.name.clone()).filter(|name| servers.is_known(name)).collect();
    for name in &known {
        let (servers, sender, name) = (Arc::clone(servers), sender.clone(), name.clone());
        // One that does not answer is left to its own limits; nobody waits for it here.
        let visiting = Thread::named("server-check").detach(move || {
            let visited = caught(|| servers.visit(&name)).flatten().map(|visit| visit.took);
            _ = sender.send((name, visited));
        });
        if visiting.is_err() {
            break;
        }
    }
    drop(sender);
    let deadline = Instant::now() + PATIENCE;
    let mut answers = Vec::new();
    while let Ok(answer) = receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        answers.push(answer);
    }
    let check = |name: &String| {
        let called = format!("mcp_{name}");
        let fix = format!("cycod mcp test {name}");
        match answers.iter().find(|(answered, _)| answered == name) {
            Some((_, Ok(took))) => Check::ok(GROUP, called, format!("answered in {} ms", took.as_millis())),
            Some((_, Err(refusal))) => {
                let fix = refusal.attempt.clone().unwrap_or(fix);
                Check::warning(GROUP, called, refusal.why.clone()).fix(fix)
            }
            None if known.contains(name) => {
                Check::warning(GROUP, called, format!("no answer within {} s", PATIENCE.as_secs())).fix(fix)
            }
            None => remembered_one(servers, name),
        }
    };
    servers.iter().map(|server| check(&server.name)).collect()
}
