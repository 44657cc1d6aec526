//! A program in a container of an image, by way of podman or docker.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cycod_diagnostic::{Code, Refusal, visible};
use cycod_plan::{ContainerNetwork, ContainerPlan, PlannedConfinement};
use cycod_process::{Ending, Program, Session, Spec, Stop, Stream, find_program};

use crate::{
    keep::Keep,
    reach::{Allowed, Place},
};

/// The programs that start containers; the first that is there does.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// How many processes a container may have.
const PROCESSES: u32 = 1024;

/// Why no container can be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoContainers {
    /// There is no program that could.
    #[error("neither podman nor docker is installed")]
    NoEngine,
    /// The one that the user chose is not there.
    #[error("`{name}`, which CYCOD_CONTAINER_ENGINE names, is not installed")]
    NamedIsMissing {
        /// What the variable holds.
        name: String,
    },
    /// It cannot be asked.
    #[error("`{name}` is there and does not start: {why}")]
    NotStarted {
        /// The program.
        name: String,
        /// What the system said.
        why: String,
    },
    /// It can be asked, and says no.
    #[error("`{name}` is there, and its service does not answer: {how}")]
    NoService {
        /// The program.
        name: String,
        /// How it ended, or the first line that it wrote.
        how: String,
    },
}

/// Finds the program that starts containers: `CYCOD_CONTAINER_ENGINE`, else the first of podman and docker.
///
/// # Errors
/// Why there is none.
pub fn container_engine(environment: &BTreeMap<OsString, OsString>, directory: &Path) -> Result<PathBuf, NoContainers> {
    let search = environment.get(OsStr::new("PATH")).map_or(OsStr::new(""), OsString::as_os_str);
    let find = |name: &OsStr| find_program(name, search, directory).ok();
    if let Some(named) = environment.get(OsStr::new("CYCOD_CONTAINER_ENGINE")).filter(|name| !name.is_empty()) {
        return find(named).ok_or_else(|| NoContainers::NamedIsMissing { name: named.display().to_string() });
    }
    let found = ENGINES.iter().find_map(|name| find(OsStr::new(name)));
    found.ok_or(NoContainers::NoEngine)
}

/// How long an engine may take to say whether its service answers.
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds the program that starts containers, as [`container_engine`], and asks it whether the service behind it answers.
///
/// # Errors
/// Why no container can be started.
pub fn container_service(
    environment: &BTreeMap<OsString, OsString>,
    directory: &Path,
) -> Result<PathBuf, NoContainers> {
    let engine = container_engine(environment, directory)?;
    let name = engine.file_name().unwrap_or_default().display().to_string();
    let failed =
        |error: &dyn std::fmt::Display| NoContainers::NotStarted { name: name.clone(), why: error.to_string() };
    let program = Program {
        args: vec!["version".into()],
        env: environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        ..Program::new(engine.clone(), directory)
    };
    let spec = Spec { deadline: Some(Instant::now() + PATIENCE), ..Spec::new(program) };
    let (session, stop) =
        Session::new().and_then(|session| Ok((session, Stop::new()?))).map_err(|error| failed(&error))?;
    let mut said = Keep::new(4096);
    let mut take = |stream, bytes: &[u8]| {
        if stream == Stream::Stderr {
            said.push(bytes);
        }
    };
    let ended = session.run(&spec, &stop, &mut take).map_err(|error| failed(&error))?;
    let how = match ended.ending {
        Ending::Exited(0) => return Ok(engine),
        Ending::TimedOut { .. } => format!("no answer within {} s", PATIENCE.as_secs()),
        Ending::Exited(code) => {
            let said = said.into_bytes();
            let said = String::from_utf8_lossy(&said);
            let first = said.lines().map(str::trim).find(|line| !line.is_empty());
            first.map_or_else(|| format!("exit code {code}"), |line| visible(line).into_owned())
        }
        _ => "it was ended".to_owned(),
    };
    Err(NoContainers::NoService { name, how })
}

/// A program as it would run here, with what a container needs to know of it.
pub(crate) struct Inside<'a> {
    /// Its name and arguments.
    pub(crate) words: Vec<OsString>,
    /// The variables that the tool sets, by name; of the caller's it sees none.
    pub(crate) variables: Vec<&'a OsStr>,
    pub(crate) directory: &'a Path,
    /// What its container mounts.
    pub(crate) mounts: Vec<Place>,
    /// The run's temporary directory, if it has one.
    pub(crate) temp: Option<&'a Path>,
    pub(crate) is_fed: bool,
    pub(crate) memory: Option<u64>,
    /// What to call the container, so that it can be removed.
    pub(crate) name: &'a str,
}

/// The command line of `engine` that runs a program in a container.
pub(crate) fn contained(
    engine: &Path,
    image: &str,
    plan: &ContainerPlan,
    allowed: Option<&Allowed>,
    inside: &Inside<'_>,
) -> Result<Vec<OsString>, Refusal> {
    let mut line: Vec<OsString> =
        ["run", "--rm", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"].map(OsString::from).to_vec();
    let mut add = |words: &[&OsStr]| line.extend(words.iter().map(|&word| word.to_owned()));
    let option = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
    add(&[&option("name", inside.name), &option("pids-limit", &PROCESSES.to_string())]);
    add(&[&option("network", network(plan, allowed)?)]);
    // What is not raised needs no right to raise it.
    for (name, limit) in limits() {
        add(&[&option("ulimit", &format!("{name}={limit}:{limit}"))]);
    }
    if let Some(user) = user(engine) {
        add(&[&user]);
    }
    if inside.is_fed {
        add(&[OsStr::new("--interactive")]);
    }
    if let Some(bytes) = inside.memory {
        add(&[&option("memory", &format!("{bytes}b"))]);
    }
    for name in &inside.variables {
        add(&[OsStr::new("--env"), name]);
    }
    let mut is_seen = false;
    let mut mount = |source: &Path, target: &Path, is_writable: bool| {
        is_seen |= inside.directory.starts_with(target);
        let mut volume = OsString::from("--volume=");
        volume.push(source);
        volume.push(":");
        volume.push(target);
        volume.push(if is_writable { ":rw" } else { ":ro" });
        add(&[&volume]);
    };
    for place in inside.mounts.iter().chain(allowed.iter().flat_map(|allowed| &allowed.places)) {
        mount(&place.path, &place.name, place.rights.write);
    }
    if let Some(temp) = inside.temp {
        mount(temp, temp, true);
    }
    if is_seen {
        let mut directory = OsString::from("--workdir=");
        directory.push(inside.directory);
        line.push(directory);
    }
    line.push(image.into());
    line.extend(inside.words.iter().cloned());
    Ok(line)
}

/// The network of a container: what permissions allow it, as far as a container can be held to that.
fn network<'a>(plan: &'a ContainerPlan, allowed: Option<&Allowed>) -> Result<&'a str, Refusal> {
    let asked = match &plan.network {
        ContainerNetwork::None => "none",
        ContainerNetwork::Host => "host",
        ContainerNetwork::Named(name) => name,
    };
    match allowed.map(|allowed| (allowed.hosts.is_empty(), allowed.every_host())) {
        None | Some((_, true)) => Ok(asked),
        Some((true, _)) => Ok("none"),
        Some((false, false)) => Err(Refusal::new(
            Code::ConfinementUnavailable,
            "a container of an image cannot be restricted to single hosts",
        )
        .place("required-permissions")
        .attempt("leave `image` out, so that the programs of this machine run in a root of their own")),
    }
}

/// The most files and processes, within our own limits: to raise one takes a right that an engine need not have.
fn limits() -> Vec<(&'static str, String)> {
    let text = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let hard = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    [("nofile", "Max open files", 1024), ("nproc", "Max processes", u64::from(PROCESSES))]
        .map(|(option, name, most)| (option, hard(name).map_or(most, |hard| hard.min(most)).to_string()))
        .to_vec()
}

/// How the program gets our user, so that what it writes belongs to us.
#[cfg(unix)]
fn user(engine: &Path) -> Option<OsString> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    match engine.file_name()?.to_str()? {
        _ if user.is_root() => None,
        "podman" => Some("--userns=keep-id".into()),
        _ => Some(format!("--user={}:{}", user.as_raw(), group.as_raw()).into()),
    }
}

#[cfg(not(unix))]
fn user(_: &Path) -> Option<OsString> {
    None
}

/// The command that ends and removes a container which its program did not end by itself.
pub(crate) fn removal(program: &Program, name: &str) -> Program {
    let is_podman = program.path.file_name() == Some(OsStr::new("podman"));
    // Podman would ask first, and wait; docker does not.
    let patience = is_podman.then_some("--time=0");
    let args = ["rm", "--force"].into_iter().chain(patience).chain([name]).map(OsString::from).collect();
    Program { args, ..program.clone() }
}

/// The exit code of an engine that could not start a container.
const ENGINE_FAILED: i32 = 125;

/// Why a container did not start, told from how its engine ended.
pub(crate) fn failure(exit_code: i32, said: &[u8]) -> Option<Refusal> {
    let said = String::from_utf8_lossy(said);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    (exit_code == ENGINE_FAILED).then(|| Refusal::new(Code::NotStarted, format!("the container did not start: {last}")))
}

/// The image to run in, with its container.
pub(crate) fn image(confinement: &PlannedConfinement) -> Option<(&str, &ContainerPlan)> {
    let container = confinement.container.as_ref()?;
    Some((container.image.as_deref()?, container))
}
