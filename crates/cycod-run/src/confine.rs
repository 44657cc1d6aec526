//! From what a plan may reach to the terms under which one of its programs starts.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{Host, Privilege};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{ContainerNetwork, ContainerPlan, Plan, PlannedConfinement, Swap};
use cycod_process::{Confinement, Mount, MountAccess, Network, Root, StartError};

use crate::{
    denied::{Lack, lack, lack_of_network},
    gate::Gateway,
    guarded::resolved,
    own_files::private_directory,
    reach::{Allowed, Place, Rights, stays},
};

/// What a program in a root of its own sees of the system; it may execute all of it.
#[cfg(not(target_os = "macos"))]
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];
#[cfg(target_os = "macos")]
const SYSTEM: [&str; 8] = [
    "/usr",
    "/bin",
    "/sbin",
    "/System/Library",
    "/System/Cryptexes",
    "/Library/Apple",
    "/Library/Developer/CommandLineTools",
    "/private/etc",
];

/// How many processes a confined program may have. The kernel of Linux does not count those of root, and a control group costs
/// more than the rest of a start; that of macOS counts all of a user's.
const PROCESSES: u32 = 1024;

/// Whether a confined program has a `/tmp` of its own. Where it has none, it keeps temporary files in the directory of its run.
const HAS_TMP: bool = !cfg!(target_os = "macos");

/// How many bytes it may keep in `/tmp`.
const TEMPORARY: u64 = 1 << 30;

/// What it may do in its own directories.
const OWN: Rights = Rights { write: true, execute: true };

/// The terms of one program that is held to something.
pub(crate) struct Held {
    pub(crate) terms: Arc<Confinement>,
    /// Variables by which it finds what it may reach.
    pub(crate) environment: Vec<(OsString, OsString)>,
    allowed: Option<Allowed>,
    gateway: Option<Arc<Gateway>>,
    /// Where it may look, beside the system.
    places: Vec<Place>,
    root: Root,
    /// What is confined, and its name in quotes.
    subject: (&'static str, String),
}

/// What is to be confined.
pub(crate) struct Subject<'a> {
    pub(crate) confinement: &'a PlannedConfinement,
    pub(crate) host: &'a Host,
    /// The directory for what goes when it ends.
    pub(crate) temp: &'a Path,
    /// `tool` or `server`.
    pub(crate) noun: &'static str,
    pub(crate) name: &'a str,
}

/// What a plan adds to its permissions for one program.
pub(crate) struct Around<'a> {
    /// Where it starts.
    pub(crate) directory: &'a Path,
    /// The run's temporary directory, if it is there.
    pub(crate) temp: Option<&'a Path>,
    /// The secrets that it does not hold itself.
    pub(crate) swaps: &'a [Swap],
    /// What its interpreter needs to start: files and directories that it may read and execute.
    pub(crate) interpreter: &'a [PathBuf],
}

impl Held {
    /// The terms of a program of this plan; nothing when it is held to nothing, or runs in a container of an image.
    pub(crate) fn to(plan: &Plan, around: &Around<'_>) -> Result<Option<Self>, Refusal> {
        let subject = Subject {
            confinement: &plan.confinement,
            host: plan.host(),
            temp: &plan.temp_directory,
            noun: "tool",
            name: plan.tool().name.as_str(),
        };
        Self::of(&subject, around)
    }

    /// The same for whatever is to be confined.
    pub(crate) fn of(subject: &Subject<'_>, around: &Around<'_>) -> Result<Option<Self>, Refusal> {
        let Subject { confinement, host, .. } = *subject;
        let container = confinement.container.as_ref();
        if !confinement.is_confined() || container.is_some_and(|container| container.image.is_some()) {
            return Ok(None);
        }
        let allowed = Allowed::by(confinement, host)?;
        let root = if allowed.is_none() && container.is_none() { Root::ReadOnly } else { Root::Minimal };
        let mut places = places(confinement, allowed.as_ref(), host)?;
        if root == Root::Minimal {
            places
                .extend(around.interpreter.iter().filter_map(|name| of_interpreter(name, &places)).collect::<Vec<_>>());
        }
        let temp = around.temp.or((!HAS_TMP).then_some(subject.temp));
        if let Some(temp) = temp {
            if !HAS_TMP {
                private_directory(temp).map_err(|error| {
                    Refusal::new(Code::TempDirectory, format!("cannot make `{}`: {error}", temp.display()))
                })?;
            }
            places.push(Place { name: temp.to_owned(), path: existing(temp)?, rights: OWN });
        }
        let gateway = match (&allowed, container) {
            (Some(allowed), _) if around.swaps.is_empty() && (allowed.hosts.is_empty() || allowed.every_host()) => None,
            (Some(allowed), _) => {
                Some(Arc::new(Gateway::to(&allowed.hosts, around.swaps, around.temp.unwrap_or(subject.temp))?))
            }
            (None, _) => None,
        };
        let network = match (&gateway, &allowed, container) {
            (Some(gateway), ..) => Network::Through(Arc::clone(gateway) as _),
            (None, Some(allowed), _) if allowed.every_host() => Network::Host,
            (None, None, Some(container)) if container.network == ContainerNetwork::Host => Network::Host,
            (None, None, None) => Network::Host,
            _ => Network::None,
        };
        let mut environment = gateway.as_ref().map(|gateway| gateway.environment()).unwrap_or_default();
        match temp {
            Some(temp) if !HAS_TMP => environment.push(("TMPDIR".into(), temp.into())),
            _ if root == Root::Minimal => environment.push(("TMPDIR".into(), "/tmp".into())),
            _ => {}
        }
        let terms = Confinement {
            mounts: places.iter().flat_map(mounts).collect(),
            directories: vec![around.directory.to_owned(), host.home.clone()],
            temp_bytes: TEMPORARY,
            network,
            processes: (!is_root() && !cfg!(target_os = "macos")).then_some(PROCESSES),
            ..Confinement::new(root)
        };
        Ok(Some(Self {
            terms: Arc::new(terms),
            environment,
            allowed,
            gateway,
            places,
            root,
            subject: (subject.noun, format!("`{}`", subject.name)),
        }))
    }

    /// The directories of a search path in which it sees anything.
    pub(crate) fn search(&self, path: &OsStr) -> OsString {
        let seen = |directory: &PathBuf| directory.canonicalize().is_ok_and(|path| self.rights(&path).is_some());
        std::env::join_paths(std::env::split_paths(path).filter(seen)).unwrap_or_default()
    }

    /// What it may do with a path whose links were followed.
    pub(crate) fn rights(&self, path: &Path) -> Option<Rights> {
        let places = self.places.iter().filter(|place| path.starts_with(&place.path)).map(|place| place.rights);
        let is_system = self.root == Root::ReadOnly || SYSTEM.iter().any(|system| path.starts_with(system));
        let system = is_system.then_some(Rights { write: false, execute: true });
        places.chain(system).reduce(Rights::or)
    }

    /// The refusal of a program that is there and that it cannot see.
    pub(crate) fn hidden_program(&self, path: &Path) -> Refusal {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // A program is seldom alone: what it loads lies beside `bin`.
        let above = real.parent().map(|parent| match parent.file_name() {
            Some(name) if name == "bin" || name == "shims" => parent.parent().unwrap_or(parent),
            _ => real.as_path(),
        });
        let lack = Lack {
            permission: format!("filesystem:execute:{}", above.unwrap_or(&real).display()),
            why: format!("it tried to execute `{}`, which it is not allowed to", path.display()),
        };
        self.refusal(&lack)
    }

    /// Whether it may write a path whose links were followed.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.rights(path).is_some_and(|rights| rights.write)
    }

    /// Whether it may change something in a directory whose links were followed, or the directory itself.
    pub(crate) fn may_change(&self, directory: &Path) -> bool {
        may_change(&self.places, directory)
    }

    /// Refuses a program that it may not execute.
    pub(crate) fn may_execute(&self, path: &Path) -> Result<(), Refusal> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match self.rights(&real) {
            Some(Rights { execute: true, .. }) => Ok(()),
            _ => Err(self.hidden_program(path)),
        }
    }

    /// Where a file is that we write in its place; refused where it must not write itself.
    pub(crate) fn may_write(&self, path: &Path) -> Result<PathBuf, Refusal> {
        let real = || match path.canonicalize() {
            Ok(real) => Some(real),
            Err(_) => Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)),
        };
        if let Some(real) = real()
            && self.rights(&real).is_some_and(|rights| rights.write)
        {
            return Ok(real);
        }
        let lack = Lack {
            permission: format!("filesystem:write:{}", path.display()),
            why: format!("its output goes to `{}`, which it is not allowed to change", path.display()),
        };
        Err(self.refusal(&lack))
    }

    /// The refusal of a path that we were to read or write in its place.
    pub(crate) fn out_of_reach(&self, path: &Path, what: &str) -> Refusal {
        let lack = Lack {
            permission: format!("filesystem:{what}:{}", path.display()),
            why: format!("it tried to {what} `{}`, which it is not allowed to", path.display()),
        };
        self.refusal(&lack)
    }

    /// Which permission a program that failed lacked, as far as can be told from what it said.
    pub(crate) fn denial(&self, said: &[u8], directory: &Path) -> Option<Refusal> {
        let said = String::from_utf8_lossy(said);
        let refused = self.gateway.as_ref().and_then(|gateway| gateway.refused());
        let network = || (self.terms.network == Network::None).then(|| lack_of_network(&said)).flatten();
        let lack = refused.or_else(network).or_else(|| lack(&said, directory, &|path| self.rights(path)))?;
        Some(self.refusal(&lack))
    }

    /// What the gate refused a program that succeeded nevertheless.
    pub(crate) fn refused(&self) -> Option<Lack> {
        self.gateway.as_ref()?.refused()
    }

    fn refusal(&self, lack: &Lack) -> Refusal {
        let (noun, name) = &self.subject;
        let rule = match (&self.allowed, self.root) {
            (Some(_), _) => format!("a {noun} that declares permissions is confined to them"),
            (None, Root::ReadOnly) => {
                "`execution-privilege: reduced` writes to the workspace and temporary files only".to_owned()
            }
            (None, Root::Minimal) => "`isolation: container` sees what it mounts".to_owned(),
        };
        let fix = match (&self.allowed, self.root) {
            (Some(_), _) => {
                format!("add \"{}\" to `security.required-permissions` of {name}", lack.permission)
            }
            (None, Root::ReadOnly) => {
                "run it in the workspace that holds the file, or leave `execution-privilege: reduced` out".to_owned()
            }
            (None, Root::Minimal) => "add it to `security.container.mounts`, or set its `network`".to_owned(),
        };
        Refusal::new(Code::PermissionMissing, lack.why.clone()).rule(rule).attempt(fix)
    }

    /// Takes away what was made for a program that failed.
    pub(crate) fn tidy(&self) {
        if let Some(allowed) = &self.allowed {
            allowed.tidy();
        }
    }
}

/// Whether what confines a tool lets it change something in a directory. An unconfined tool can do what its user can.
pub(crate) fn may_change_directory(plan: &Plan, directory: &Path) -> bool {
    let (confinement, host) = (&plan.confinement, plan.host());
    if !confinement.is_confined() {
        return false;
    }
    let directory = resolved(directory).unwrap_or_else(|_| directory.to_owned());
    let allowed = Allowed::by(confinement, host).ok().flatten();
    // Where they can't be told, the tool does not run.
    let places = places(confinement, allowed.as_ref(), host).unwrap_or_default();
    allowed.iter().for_each(Allowed::tidy);
    may_change(&places, &directory)
}

/// Where a confined program may look, except for its temporary files.
fn places(confinement: &PlannedConfinement, allowed: Option<&Allowed>, host: &Host) -> Result<Vec<Place>, Refusal> {
    let mut places: Vec<Place> = allowed.iter().flat_map(|allowed| allowed.places.clone()).collect();
    if let Some(container) = &confinement.container {
        places.extend(mounted(container, allowed, host)?);
    } else if allowed.is_none() && confinement.privilege == Privilege::Reduced {
        let workspace = &host.workspace;
        places.push(Place { name: workspace.clone(), path: existing(workspace)?, rights: OWN });
    }
    Ok(places)
}

/// A file or a directory of an interpreter, as far as it is there. What may be written around it stays so.
fn of_interpreter(name: &Path, places: &[Place]) -> Option<Place> {
    let path = name.canonicalize().ok()?;
    let around = places.iter().filter(|place| path.starts_with(&place.path)).map(|place| place.rights);
    let rights = around.fold(Rights { write: false, execute: true }, Rights::or);
    Some(Place { name: name.to_owned(), path, rights })
}

/// Whether one of these places lets a directory, or something in it, be written.
pub(crate) fn may_change(places: &[Place], directory: &Path) -> bool {
    let meets = |place: &Place| directory.starts_with(&place.path) || place.path.starts_with(directory);
    places.iter().any(|place| place.rights.write && meets(place))
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

/// What a container mounts, which must not be more than permissions allow.
pub(crate) fn mounted(
    container: &ContainerPlan,
    allowed: Option<&Allowed>,
    host: &Host,
) -> Result<Vec<Place>, Refusal> {
    let place = |mount: &cycod_plan::ContainerMount| {
        let path = existing(&mount.source)?;
        stays(&mount.source.display().to_string(), &mount.source, &path, host)?;
        let rights = Rights { write: mount.is_writable, execute: true };
        if let Some(allowed) = allowed
            && allowed.rights(&path).is_none_or(|given| rights.write && !given.write)
        {
            let why = format!("the container mounts `{}`, which no permission allows", mount.source.display());
            return Err(Refusal::new(Code::ConfinementUnavailable, why).place("mounts"));
        }
        Ok(Place { name: mount.target.clone(), path, rights })
    };
    container.mounts.iter().map(place).collect()
}

/// What a tool may read, looked up once and without leaving anything behind.
pub(crate) struct Readable {
    /// The run's own directory and what a container sees of this machine, links followed.
    own: Vec<PathBuf>,
    allowed: Option<Allowed>,
    /// Whether nothing confines the tool.
    is_open: bool,
}

impl Readable {
    pub(crate) fn of(plan: &Plan) -> Self {
        let confinement = &plan.confinement;
        let mounts = confinement.container.iter().flat_map(|container| &container.mounts);
        let mounts = mounts.filter_map(|mount| mount.source.canonicalize().ok());
        let own = mounts.chain(plan.temp_directory.canonicalize().ok()).collect();
        let allowed = Allowed::by(confinement, plan.host());
        if let Ok(Some(allowed)) = &allowed {
            // Places that may be written are made when they are missing, which is for programs that start.
            allowed.tidy();
        }
        let is_open = matches!(allowed, Ok(None)) && confinement.container.is_none();
        Self { own, allowed: allowed.ok().flatten(), is_open }
    }

    /// Whether a path, links followed, is among it.
    pub(crate) fn includes(&self, path: &Path) -> bool {
        self.is_open
            || self.own.iter().any(|place| path.starts_with(place))
            || self.allowed.as_ref().is_some_and(|allowed| allowed.rights(path).is_some())
    }
}

/// A place under its own name and under the name by which it is called, with what may be done.
fn mounts(place: &Place) -> Vec<Mount> {
    let mut all = Vec::new();
    let mut targets = vec![&place.name];
    // What a link leads to is called by both names; what a container mounts is called as it says.
    if place.path != place.name && place.name.canonicalize().is_ok_and(|path| path == place.path) {
        targets.push(&place.path);
    }
    for target in targets {
        let mut mount = |access| all.push(Mount { source: place.path.clone(), target: target.clone(), access });
        match place.rights {
            Rights { write: false, execute: false } => mount(MountAccess::Read),
            Rights { write, execute } => {
                if write {
                    mount(MountAccess::Write);
                }
                if execute {
                    mount(MountAccess::Execute);
                }
            }
        }
    }
    all
}

fn existing(path: &Path) -> Result<PathBuf, Refusal> {
    path.canonicalize().map_err(|error| {
        Refusal::new(Code::PermissionTarget, format!("`{}` cannot be given: {error}", path.display()))
            .attempt(format!("mkdir -p {}", path.display()))
    })
}

/// Why a program could not be confined, when that is why it did not start.
pub(crate) fn unconfinable(error: &StartError) -> Option<Refusal> {
    let StartError::Confine { source, .. } = error else { return None };
    Some(
        Refusal::new(Code::ConfinementUnavailable, format!("{error}: {source}"))
            .rule("nothing runs with less confinement than it asks for".to_owned())
            .attempt("`cycod tool why` shows what this machine supports"),
    )
}
