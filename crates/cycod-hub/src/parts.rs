//! The other programs of durable runs: where they are, how Restate is configured, and whether it is safe as it is.

use std::{
    ffi::OsString,
    fs,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use cycod_file::{Durability, FileAccess};
use cycod_hub::{HubError, HubRefusal, RestateKey, exposed};
use cycod_process::{Program, find_program};

/// How long a port has to answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// The environment of this program, without what says where the user's own files of cycod are.
#[expect(clippy::disallowed_methods, reason = "the one place where this program reads its environment")]
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name != "CYCOD_HOME").collect()
}

/// Finds a program on the search path.
pub(crate) fn on_path(name: &str, environment: &[(OsString, OsString)], from: &Path) -> Option<PathBuf> {
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    find_program(name.as_ref(), &path.unwrap_or_default(), from).ok()
}

/// The package of npm that has Restate for this machine.
pub(crate) fn package() -> String {
    let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    format!("@restatedev/restate-server-{os}-{arch}")
}

/// Finds Restate: on the search path, or in the packages of npm above a directory.
pub(crate) fn restate(environment: &[(OsString, OsString)], from: &Path) -> Option<PathBuf> {
    let in_packages = |above: &Path| {
        let program = above.join("node_modules").join(package()).join("bin/restate-server");
        program.is_file().then_some(program)
    };
    on_path("restate-server", environment, from).or_else(|| from.ancestors().find_map(in_packages))
}

/// The ports of everything of a hub for trying, behind the hub's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) ingress: SocketAddr,
    pub(crate) admin: SocketAddr,
    node: SocketAddr,
    pub(crate) conductor: SocketAddr,
}

impl Ports {
    pub(crate) fn behind(hub: SocketAddr) -> Self {
        let port = |more: u16| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), hub.port().wrapping_add(more).max(1024));
        Self { ingress: port(1), admin: port(2), node: port(3), conductor: port(4) }
    }
}

/// A Restate for trying, which only this machine reaches, and which tells nobody that it runs.
pub(crate) fn restate_program(
    program: &Path,
    data: &Path,
    ports: Ports,
    environment: &[(OsString, OsString)],
) -> Result<Program, HubError> {
    let key = RestateKey::of(data)?;
    let failed = |error: &dyn std::fmt::Display| {
        HubError::new(HubRefusal::Failed, format!("the configuration of Restate: {error}"))
    };
    let text = serde_json::to_string(&key.path().to_string_lossy()).map_err(|error| failed(&error))?;
    let config = format!(
        "disable-telemetry = true\nbind-ip = \"127.0.0.1\"\nlisten-mode = \"tcp\"\nlog-filter = \"off\"\n\
         rocksdb-total-memory-size = \"256 MiB\"\n\n[ingress]\nbind-address = \"{}\"\n\n[admin]\nbind-address = \"{}\"\n\n\
         [worker.invoker]\nrequest-identity-private-key-pem-file = {text}\n",
        ports.ingress, ports.admin
    );
    let file = data.join("restate.toml");
    cycod_file::replace(&file, config.as_bytes(), FileAccess::Private, Durability::Process)
        .map_err(|error| failed(&error))?;
    let mut run = Program::new(program, data);
    run.env = environment.to_vec();
    let words =
        ["--config-file", "restate.toml", "--base-dir", "restate", "--node-name", "dev", "--no-logo", "--bind-port"];
    run.args = words.iter().map(OsString::from).collect();
    run.args.push(ports.node.port().to_string().into());
    Ok(run)
}

/// What `cycod-hub doctor` says, and whether nothing is wrong.
pub(crate) fn examine(data: Option<&Path>, restate_at: SocketAddr, admin: SocketAddr) -> (Vec<String>, bool) {
    let environment = environment();
    #[expect(clippy::disallowed_methods, reason = "the one place where this program asks where it is")]
    let from = std::env::current_dir().unwrap_or_default();
    let (mut lines, mut is_well) = (Vec::new(), true);
    let mut say = |is_good: bool, line: String| {
        is_well &= is_good;
        lines.push(format!("{}  {line}", if is_good { "ok     " } else { "problem" }));
    };
    match on_path("cycod", &environment, &from) {
        Some(path) => say(true, format!("cycod: {}", path.display())),
        None => say(false, "cycod: it isn't on the search path, and workers are processes of it".to_owned()),
    }
    match restate(&environment, &from) {
        Some(path) => say(true, format!("restate-server: {}", path.display())),
        None => say(false, format!("restate-server: not found. Durable runs need it: npm i {}", package())),
    }
    if let Some(data) = data {
        match fs::metadata(data.join("release.key")) {
            Ok(_) => say(true, format!("hub: {}", data.display())),
            Err(_) => say(false, format!("hub: none in {}. Create one: cycod-hub init --data DIR", data.display())),
        }
    }
    for (name, address) in [("ingress", restate_at), ("admin", admin)] {
        match exposed(address.port()) {
            Some(open) => say(
                false,
                format!(
                    "Restate's {name}: it answers at {open}, where other machines reach it, and asks no one who they are"
                ),
            ),
            None if TcpStream::connect_timeout(&address, PATIENCE).is_ok() => {
                say(true, format!("Restate's {name}: {address}, on this machine only"));
            }
            None => say(false, format!("Restate's {name}: nothing answers at {address}")),
        }
    }
    (lines, is_well)
}
