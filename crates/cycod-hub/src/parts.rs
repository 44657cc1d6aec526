//! The other programs of durable runs: where they are, and how Restate is configured.

use std::{
    ffi::OsString,
    io::Read as _,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use cycod_file::{Durability, FileAccess};
use cycod_hub::{HubError, HubRefusal, RestateKey};
use cycod_process::{Conversation, Ending, ProcessLimits, Program, find_program};

/// How long a program has to report its version.
const PATIENCE: Duration = Duration::from_secs(5);

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

/// The version that a program reports; nothing if it doesn't within some seconds.
pub(crate) fn version(program: &Path, environment: &[(OsString, OsString)]) -> Option<String> {
    let mut asked = Program::new(program, Path::new("/"));
    asked.env = environment.to_vec();
    asked.args = vec!["--version".into()];
    let (mut conversation, streams) = Conversation::start(asked, ProcessLimits::default()).ok()?;
    let reading = thread::scope(|scope| {
        let mut stdout = streams.stdout;
        let reading = scope.spawn(move || {
            let mut said = String::new();
            stdout.by_ref().take(200).read_to_string(&mut said).ok().map(|_| said)
        });
        if conversation.wait(PATIENCE) != Some(Ending::Exited(0)) {
            _ = conversation.end(Duration::ZERO);
        }
        reading.join().ok().flatten()
    });
    let said = reading?;
    let version = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some(version.to_owned())
}
