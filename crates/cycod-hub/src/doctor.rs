//! `cycod-hub doctor`: finds each part of a hub with durable runs, or names it, and says what is wrong with it.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use cycod_hub::{HubError, HubRefusal, Restate, RestateKey, exposed};
use hyper::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};
use toml_edit::DocumentMut;

use crate::{Place, parts};

/// How long each part has to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// How far clocks may differ.
const DRIFT: SignedDuration = SignedDuration::from_secs(60);

/// How one part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Ok,
    /// It may be wrong, or lacks something that not every hub needs.
    Warning,
    Problem,
}

/// What was found of one part.
struct Finding {
    name: &'static str,
    health: Health,
    message: String,
    /// What to do about it.
    fix: String,
}

/// What to examine.
pub(crate) struct Examined {
    /// The directory of the hub.
    pub(crate) data: Option<PathBuf>,
    /// The configuration of Restate; `restate.toml` of the hub's directory if nothing is said.
    pub(crate) config: Option<PathBuf>,
    /// Where Restate takes requests; what its configuration says if nothing is said.
    pub(crate) ingress: Option<SocketAddr>,
    /// Where Restate is administered, likewise.
    pub(crate) admin: Option<SocketAddr>,
}

/// What was found of all parts.
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    /// Whether nothing is wrong.
    pub(crate) fn are_well(&self) -> bool {
        self.0.iter().all(|found| found.health != Health::Problem)
    }

    /// For people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |found: &Finding| {
            let word = match found.health {
                Health::Ok => "ok     ",
                Health::Warning => "warning",
                Health::Problem => "problem",
            };
            let first = format!("{word}  {}: {}", found.name, found.message);
            let fix = (!found.fix.is_empty()).then(|| format!("         try: {}", found.fix));
            [Some(first), fix].into_iter().flatten()
        };
        self.0.iter().flat_map(line).collect()
    }

    /// For programs, as `cycod doctor` writes it.
    pub(crate) fn json(&self) -> Json {
        let check = |found: &Finding| {
            let status = match found.health {
                Health::Ok => "ok",
                Health::Warning => "warning",
                Health::Problem => "failed",
            };
            let passed = found.health != Health::Problem;
            json!({"name": found.name, "passed": passed, "status": status, "message": found.message, "fix": found.fix})
        };
        json!({"all_passed": self.are_well(), "checks": self.0.iter().map(check).collect::<Vec<_>>()})
    }

    fn ok(&mut self, name: &'static str, message: impl Into<String>) {
        self.0.push(Finding { name, health: Health::Ok, message: message.into(), fix: String::new() });
    }

    fn warning(&mut self, name: &'static str, message: impl Into<String>, fix: &str) {
        self.0.push(Finding { name, health: Health::Warning, message: message.into(), fix: fix.to_owned() });
    }

    fn problem(&mut self, name: &'static str, message: impl Into<String>, fix: &str) {
        self.0.push(Finding { name, health: Health::Problem, message: message.into(), fix: fix.to_owned() });
    }
}

/// Examines every part.
pub(crate) fn examine(what: &Examined) -> Result<Findings, HubError> {
    let mut found = Findings(Vec::new());
    programs(&mut found);
    if let Some(data) = &what.data {
        hub(&mut found, data);
        identity_key(&mut found, data);
    }
    let config = configuration(&mut found, what).unwrap_or_default();
    let ingress = what.ingress.unwrap_or_else(|| address(&config, "ingress", 8080));
    let admin = what.admin.unwrap_or_else(|| address(&config, "admin", 9070));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| HubError::new(HubRefusal::Failed, format!("cannot begin: {error}")))?;
    runtime.block_on(restate(&mut found, ingress, admin));
    Ok(found)
}

fn programs(found: &mut Findings) {
    let environment = parts::environment();
    #[expect(clippy::disallowed_methods, reason = "the one place where this program asks where it is")]
    let from = std::env::current_dir().unwrap_or_default();
    match parts::on_path("cycod", &environment, &from) {
        Some(path) => found.ok("cycod", path.display().to_string()),
        None => found.warning(
            "cycod",
            "it isn't on the search path: workers and `cycod-hub dev` need it",
            "install cycod on each machine that is a worker",
        ),
    }
    match parts::restate(&environment, &from) {
        Some(path) => match parts::version(&path, &environment) {
            Some(version) => found.ok("restate-server", format!("{}, {version}", path.display())),
            None => {
                found.problem(
                    "restate-server",
                    format!("{} doesn't say its version", path.display()),
                    "install it again",
                );
            }
        },
        None => found.problem(
            "restate-server",
            "neither on the search path nor in `node_modules`, and durable runs need it",
            &format!("npm i {}", parts::package()),
        ),
    }
}

/// The hub's directory, its database, its clock and its workers.
fn hub(found: &mut Findings, data: &Path) {
    let place = Place { data: data.to_owned() };
    if !place.key().exists() {
        found.problem("hub", format!("there is none in {}", data.display()), "cycod-hub init --data DIR");
        return;
    }
    let kind = if place.address().exists() { "PostgreSQL" } else { "SQLite" };
    let hub = match place.hub() {
        Ok(hub) => hub,
        Err(error) => return found.problem("database", format!("{kind}: {}", error.message), ""),
    };
    match hub.team() {
        Ok(team) => found.ok("hub", format!("{team}, in {}", data.display())),
        Err(error) => found.problem("hub", error.message, "cycod-hub root --data DIR OUT"),
    }
    found.ok("database", kind);
    clock(found, &hub);
    let now = Timestamp::now();
    match hub.workers(now) {
        Ok(workers) if workers.is_empty() => {
            found.warning("workers", "there are none", "cycod-hub worker token --data DIR NAME");
        }
        Ok(workers) => {
            for (name, labels, is_here) in workers {
                match is_here {
                    true => found.ok("worker", format!("{name} runs, and offers {}", labels.join(" "))),
                    false => found.warning("worker", format!("{name} doesn't run"), "start it there: cycod worker"),
                }
            }
        }
        Err(error) => found.problem("workers", error.message, ""),
    }
}

/// Whether the clocks of this machine, of the database and of the record of changes agree.
fn clock(found: &mut Findings, hub: &cycod_hub::Hub) {
    let now = Timestamp::now();
    let last = hub.last_change().ok().flatten();
    let database = hub.database_clock();
    let fix = "set the clock: timedatectl set-ntp true";
    match (last, database) {
        (_, Err(error)) => found.problem("clock", error.message, ""),
        (_, Ok(Some(there))) if there.duration_since(now).abs() > DRIFT => {
            found.problem("clock", format!("it is {now} here, and {there} at the database"), fix);
        }
        (Some(last), _) if last.duration_since(now) > DRIFT => {
            found.problem("clock", format!("it is {now} here, and the hub's record has a row of {last}"), fix);
        }
        _ => found.ok("clock", now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()),
    }
}

/// The key by which the conductor knows its Restate.
fn identity_key(found: &mut Findings, data: &Path) {
    let path = data.join("restate.pem");
    if !path.exists() {
        let message = format!("{} isn't there yet: the conductor makes it", path.display());
        return found.problem("identity key", message, "cycod-hub conductor --data DIR");
    }
    #[cfg(unix)]
    if let Ok(about) = fs::metadata(&path)
        && std::os::unix::fs::MetadataExt::mode(&about) & 0o007 != 0
    {
        let message = format!("everyone on this machine can read {}", path.display());
        return found.problem("identity key", message, "chmod o= restate.pem");
    }
    match RestateKey::of(data) {
        Ok(key) => found.ok("identity key", key.public()),
        Err(error) => found.problem("identity key", error.message, "remove it, and start the conductor again"),
    }
}

/// How Restate is configured: it tells nobody that it runs, and signs its requests with the hub's key. Returns the
/// configuration that can be read.
fn configuration(found: &mut Findings, what: &Examined) -> Option<DocumentMut> {
    let own = what.data.as_ref().map(|data| data.join("restate.toml"));
    let path = what.config.clone().or(own)?;
    let name = "restate.toml";
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("{}: {error}, so it isn't known what Restate sends to others", path.display());
            found.warning(name, message, "name the file: --config FILE");
            return None;
        }
    };
    let config: DocumentMut = match text.parse() {
        Ok(config) => config,
        Err(error) => {
            found.problem(name, format!("{}: {error}", path.display()), "");
            return None;
        }
    };
    match config.get("disable-telemetry").and_then(toml_edit::Item::as_bool) {
        Some(true) => found.ok("telemetry", "off"),
        _ => found.problem("telemetry", "Restate reports to its makers that it runs", "disable-telemetry = true"),
    }
    let signing = "request-identity-private-key-pem-file";
    let key = config.get("worker").and_then(|worker| worker.get("invoker")).and_then(|invoker| invoker.get(signing));
    match key.and_then(toml_edit::Item::as_str) {
        Some(key) if key.ends_with("restate.pem") => found.ok(name, path.display().to_string()),
        _ => found.problem(
            name,
            "Restate doesn't sign its requests, so the conductor refuses them",
            "[worker.invoker] request-identity-private-key-pem-file = \"…/restate.pem\"",
        ),
    }
    Some(config)
}

/// Where a part of Restate answers on this machine: at the port of its configuration, or at its usual one.
fn address(config: &DocumentMut, part: &str, usual: u16) -> SocketAddr {
    let bound = config.get(part).and_then(|part| part.get("bind-address")).and_then(toml_edit::Item::as_str);
    let port = bound.and_then(|bound| bound.parse().ok()).map_or(usual, |bound: SocketAddr| bound.port());
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Whether Restate answers here and nowhere else, and knows the conductor.
async fn restate(found: &mut Findings, ingress: SocketAddr, admin: SocketAddr) {
    let mut answers = Vec::new();
    for (name, address, path) in
        [("Restate's ingress", ingress, "/restate/health"), ("Restate's admin", admin, "/version")]
    {
        if let Some(open) = exposed(address.port()) {
            let message = format!("it answers at {open}, where other machines reach it, and asks no one who they are");
            found.problem(name, message, &format!("bind-address = \"127.0.0.1:{}\"", address.port()));
            answers.push(None);
            continue;
        }
        let answer = match Restate::at(address) {
            Ok(restate) => asked(restate, path).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => {
                let version = answer["version"].as_str().map(|version| format!(", version {version}"));
                found.ok(name, format!("{address}, on this machine only{}", version.unwrap_or_default()));
                answers.push(Some(answer));
            }
            Err(error) => {
                found.problem(name, error.message, "restate-server --config-file restate.toml");
                answers.push(None);
            }
        }
    }
    if let (Some(Some(_)), Ok(admin)) = (answers.pop(), Restate::at(admin)) {
        conductor(found, admin).await;
    }
}

/// The conductor, as Restate knows it.
async fn conductor(found: &mut Findings, admin: Restate) {
    let fix = "cycod-hub conductor --data DIR";
    let Ok(service) = asked(admin, "/services/ToolRun").await else {
        return found.problem("conductor", "Restate doesn't know one", fix);
    };
    let id = service["deployment_id"].as_str().unwrap_or_default().to_owned();
    let deployment = asked(admin, &format!("/deployments/{id}")).await.unwrap_or_default();
    let address = deployment["uri"].as_str().unwrap_or_default();
    let address = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let version = service["metadata"]["flow-version"].as_str();
    let Ok(listens) = address.parse::<SocketAddr>() else {
        return found.problem("conductor", format!("Restate knows it at `{address}`, which is no address"), fix);
    };
    if tokio::time::timeout(PATIENCE, tokio::net::TcpStream::connect(listens)).await.is_ok_and(|answer| answer.is_ok())
    {
        match version == Some(&*cycod_flow::VERSION.to_string()) {
            true => found.ok("conductor", format!("{address}, with flows of version {}", cycod_flow::VERSION)),
            false => {
                let version = version.unwrap_or("unknown");
                let message = format!("{address} has flows of version {version}, and this hub {}", cycod_flow::VERSION);
                found.problem("conductor", message, "start the conductor of this version");
            }
        }
    } else {
        found.problem("conductor", format!("Restate knows it at {address}, and nothing answers there"), fix);
    }
}

/// What Restate answers.
async fn asked(restate: Restate, path: &str) -> Result<Json, HubError> {
    let failed = |why: String| HubError::new(HubRefusal::Failed, why);
    let address = restate.address();
    let answer = tokio::time::timeout(PATIENCE, restate.send(Method::GET, path, ("", String::new()))).await;
    let (status, body) = answer.map_err(|_| failed(format!("nothing answers at {address}")))??;
    match (status, serde_json::from_slice(&body)) {
        (200, Ok(answer)) => Ok(answer),
        (status, _) => Err(failed(format!("{address} answers {status}, so it isn't Restate"))),
    }
}
