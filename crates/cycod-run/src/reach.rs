//! What a plan's programs reach on this machine: its permissions, with the links in their paths followed.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

use cycod_definition::{AccessKind, Host};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{Plan, PlannedConfinement, Reach, ReachTarget};

/// What may be done with a path, beside reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    pub(crate) write: bool,
    pub(crate) execute: bool,
}

impl Rights {
    fn of(access: AccessKind) -> Self {
        Self { write: access == AccessKind::FilesystemWrite, execute: access == AccessKind::FilesystemExecute }
    }

    fn and(self, other: Self) -> Self {
        Self { write: self.write && other.write, execute: self.execute && other.execute }
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self { write: self.write || other.write, execute: self.execute || other.execute }
    }
}

/// A path that may be reached, and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where the plan has it, which is where programs look for it.
    pub(crate) name: PathBuf,
    /// Where it is, links followed.
    pub(crate) path: PathBuf,
    pub(crate) rights: Rights,
}

/// A host that may be reached, as `network:external` and `network:loopback` name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) is_loopback: bool,
    /// `*`, `*.NAME` or a name or address.
    pub(crate) name: String,
    pub(crate) port: Option<u16>,
}

/// What all layers of a confinement allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    pub(crate) places: Vec<Place>,
    pub(crate) hosts: Vec<Peer>,
    /// What was made so that it can be reached, to be taken away when the run leaves it empty.
    pub(crate) made: Vec<PathBuf>,
}

impl Allowed {
    /// Whether the tool of a plan declares a way to any host.
    pub(crate) fn has_hosts(plan: &Plan) -> Result<bool, Refusal> {
        let allowed = Self::by(&plan.confinement, plan.host())?;
        Ok(allowed.is_some_and(|allowed| !allowed.hosts.is_empty()))
    }

    /// Looks up what the layers name; nothing when there are none.
    ///
    /// A path that may be written is made when it is missing, with the directories above it: a file if its name has an
    /// extension, else a directory. A link out of the place where the tool works is not followed: it may have come with the
    /// place.
    pub(crate) fn by(confinement: &PlannedConfinement, host: &Host) -> Result<Option<Self>, Refusal> {
        let mut all: Option<Self> = None;
        let mut made = Vec::new();
        for layer in &confinement.layers {
            let layer = match Self::of_layer(layer, host, &mut made) {
                Ok(layer) => layer,
                Err(refusal) => {
                    Self { made, ..Self::default() }.tidy();
                    return Err(refusal);
                }
            };
            all = Some(match all {
                None => layer,
                Some(outer) => outer.meet(&layer),
            });
        }
        Ok(all.map(|all| Self { made, ..all }))
    }

    fn of_layer(layer: &[Reach], host: &Host, made: &mut Vec<PathBuf>) -> Result<Self, Refusal> {
        let mut allowed = Self::default();
        for reach in layer {
            match &reach.target {
                ReachTarget::Path(name) => {
                    let path = found(reach, name, host, made)?;
                    stays(&reach.permission(), name, &path, host)?;
                    let rights = Rights::of(reach.access);
                    match allowed.places.iter_mut().find(|place| place.path == path && place.name == *name) {
                        Some(place) => place.rights = place.rights.or(rights),
                        None => allowed.places.push(Place { name: name.clone(), path, rights }),
                    }
                }
                ReachTarget::Host(text) => allowed.hosts.push(Peer::parse(text, reach)?),
                // Asked by us, in its place.
                ReachTarget::Model(_) => {}
            }
        }
        Ok(allowed)
    }

    /// What both allow.
    fn meet(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for a in &self.places {
            for b in &other.places {
                let deeper = if b.path.starts_with(&a.path) {
                    b
                } else if a.path.starts_with(&b.path) {
                    a
                } else {
                    continue;
                };
                both.places.push(Place { rights: a.rights.and(b.rights), ..deeper.clone() });
            }
        }
        for a in &self.hosts {
            both.hosts.extend(other.hosts.iter().filter_map(|b| a.meet(b)));
        }
        both
    }

    /// What may be done with a path whose links were followed; nothing when it is out of reach.
    pub(crate) fn rights(&self, path: &Path) -> Option<Rights> {
        let places = self.places.iter().filter(|place| path.starts_with(&place.path));
        places.map(|place| place.rights).reduce(Rights::or)
    }

    /// Whether every host may be reached, this machine too.
    pub(crate) fn every_host(&self) -> bool {
        let every = |is_loopback| {
            self.hosts.iter().any(|host| host.is_loopback == is_loopback && host.name == "*" && host.port.is_none())
        };
        every(true) && every(false)
    }

    /// Takes away what was made for a program that failed and left it empty.
    pub(crate) fn tidy(&self) {
        for path in self.made.iter().rev() {
            match fs::symlink_metadata(path) {
                Ok(metadata) if metadata.is_file() && metadata.len() == 0 => drop(fs::remove_file(path)),
                // Refused where something is in it.
                Ok(metadata) if metadata.is_dir() => drop(fs::remove_dir(path)),
                _ => {}
            }
        }
    }
}

impl Peer {
    fn parse(text: &str, reach: &Reach) -> Result<Self, Refusal> {
        let wrong = || {
            Refusal::new(Code::UnknownPermission, format!("`{}` names no host", reach.permission()))
                .place("required-permissions")
                .attempt("write `host`, `host:port`, `[address]:port` or `*`")
        };
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (name, port) = match (bracketed, text.rsplit_once(':')) {
            (Some((name, rest)), _) => (name, rest.strip_prefix(':').or(rest.is_empty().then_some("*"))),
            (None, Some((name, port))) if !name.contains(':') => (name, Some(port)),
            (None, Some(_)) => (text, Some("*")),
            (None, None) => (text, Some("*")),
        };
        let port = match port.ok_or_else(wrong)? {
            "*" => None,
            port => Some(port.parse::<u16>().ok().filter(|&port| port > 0).ok_or_else(wrong)?),
        };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || ".-_*:".contains(c));
        if !is_name || (name.contains('*') && name != "*" && !name.starts_with("*.")) {
            return Err(wrong());
        }
        let name = name.trim_end_matches('.').to_owned();
        Ok(Self { is_loopback: reach.access == AccessKind::NetworkLoopback, name, port })
    }

    /// The permission that names it.
    pub(crate) fn permission(&self) -> String {
        let kind = if self.is_loopback { "loopback" } else { "external" };
        let name = if self.name.contains(':') { format!("[{}]", self.name) } else { self.name.clone() };
        match self.port {
            Some(port) => format!("network:{kind}:{name}:{port}"),
            None => format!("network:{kind}:{name}"),
        }
    }

    /// What both name.
    fn meet(&self, other: &Self) -> Option<Self> {
        let covers = |wide: &str, narrow: &str| {
            wide == "*"
                || wide == narrow
                || wide.strip_prefix('*').is_some_and(|suffix| narrow.ends_with(suffix) && narrow != suffix)
        };
        let name = if covers(&self.name, &other.name) {
            &other.name
        } else if covers(&other.name, &self.name) {
            &self.name
        } else {
            return None;
        };
        let port = match (self.port, other.port) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.or(b),
        };
        (self.is_loopback == other.is_loopback).then(|| Self {
            is_loopback: self.is_loopback,
            name: name.clone(),
            port,
        })
    }
}

/// Refuses a path that lies where the tool works, by its name, and leads out of it by a link.
pub(crate) fn stays(what: &str, name: &Path, path: &Path, host: &Host) -> Result<(), Refusal> {
    let leads_out =
        |base: &PathBuf| name.starts_with(base) && base.canonicalize().is_ok_and(|base| !path.starts_with(base));
    if ![&host.workspace, &host.working_directory, &host.temp].into_iter().any(leads_out) {
        return Ok(());
    }
    let why = format!("`{what}` cannot be given: `{}` is a link to `{}`", name.display(), path.display());
    Err(Refusal::new(Code::PermissionTarget, why)
        .place("required-permissions")
        .attempt(format!("name `{}` itself, if that is what is meant", path.display())))
}

/// Where the path of a permission leads. One that may be written is made when it is missing, with the directories above it.
fn found(reach: &Reach, name: &Path, host: &Host, made: &mut Vec<PathBuf>) -> Result<PathBuf, Refusal> {
    let missing = match name.canonicalize() {
        Ok(path) => return Ok(path),
        Err(error) => error,
    };
    let refuse = |why: String| {
        Refusal::new(Code::PermissionTarget, format!("`{}` cannot be given: {why}", reach.permission()))
            .place("required-permissions")
    };
    if missing.kind() != io::ErrorKind::NotFound {
        return Err(refuse(missing.to_string()));
    }
    if reach.access != AccessKind::FilesystemWrite {
        return Err(
            refuse(format!("`{}` does not exist", name.display())).attempt("create it, or remove the permission")
        );
    }
    let Some((above, absent)) = first_missing(name) else {
        return Err(refuse(format!("`{}` does not exist, and cannot be made", name.display()))
            .attempt("create it, or name another place"));
    };
    // Nothing is made where the permission may not lead.
    stays(&reach.permission(), name, &absent.iter().fold(above.clone(), |path, part| path.join(part)), host)?;
    let mut path = above;
    for (index, part) in absent.iter().enumerate() {
        path.push(part);
        let is_file = index + 1 == absent.len() && Path::new(part).extension().is_some();
        let new = if is_file {
            fs::File::options().write(true).create_new(true).open(&path).map(drop)
        } else {
            fs::create_dir(&path)
        };
        match new {
            Ok(()) => made.push(path.clone()),
            // Another step may need the same directory.
            Err(_) if fs::symlink_metadata(&path).is_ok_and(|there| there.is_dir() && !is_file) => {}
            Err(error) => return Err(refuse(format!("`{}` cannot be made: {error}", path.display()))),
        }
    }
    // What came between while it was made must not lead elsewhere.
    let now = name.canonicalize().map_err(|error| refuse(error.to_string()))?;
    if now == path { Ok(path) } else { Err(refuse(format!("`{}` changed while it was made", name.display()))) }
}

/// The last directory above a missing path that is there, links followed, and the names that are missing below it.
///
/// Nothing where the path leads through a link to nowhere, which would be followed to who knows where when it is made, or
/// upwards from what is missing.
fn first_missing(name: &Path) -> Option<(PathBuf, Vec<&OsStr>)> {
    let mut absent = Vec::new();
    let mut at = name;
    loop {
        if fs::symlink_metadata(at).is_ok() {
            let above = at.canonicalize().ok().filter(|above| above.is_dir())?;
            absent.reverse();
            return Some((above, absent));
        }
        absent.push(at.file_name()?);
        at = at.parent()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(access: AccessKind, path: &Path) -> Reach {
        Reach { access, target: ReachTarget::Path(path.to_owned()), is_spelled: true }
    }

    fn host(text: &str) -> Reach {
        Reach { access: AccessKind::NetworkExternal, target: ReachTarget::Host(text.to_owned()), is_spelled: true }
    }

    fn machine() -> Host {
        Host {
            platform: cycod_definition::Platform::Linux,
            home: "/home/ada".into(),
            working_directory: "/work".into(),
            workspace: "/work".into(),
            temp: "/nowhere".into(),
            environment: Default::default(),
            now: std::time::SystemTime::UNIX_EPOCH,
            offered: cycod_definition::OfferedConfinement::nothing(),
        }
    }

    fn allowed(layers: &[&[Reach]]) -> Allowed {
        let layers = layers.iter().map(|layer| layer.to_vec()).collect();
        Allowed::by(&PlannedConfinement { layers, ..PlannedConfinement::default() }, &machine())
            .expect("all of it is there")
            .expect("layers")
    }

    #[test]
    fn what_two_layers_allow_is_what_both_allow() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("it exists");
        let [a, b] = ["a", "a/b"].map(|name| root.join(name));
        fs::create_dir_all(&b).expect("made");
        fs::create_dir(root.join("c")).expect("made");
        let outer = [path(AccessKind::FilesystemWrite, &a)];
        let inner = [path(AccessKind::FilesystemRead, &root), path(AccessKind::FilesystemExecute, &root.join("c"))];
        let both = allowed(&[&outer, &inner]);
        assert_eq!(both.rights(&b), Some(Rights::default()));
        assert_eq!(both.rights(&root.join("c")), None);
        assert_eq!(allowed(&[&outer]).rights(&b), Some(Rights { write: true, execute: false }));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_leads_no_further_than_where_it_leads() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("it exists");
        let inside = root.join("inside");
        fs::create_dir(&inside).expect("made");
        std::os::unix::fs::symlink("/etc", inside.join("link")).expect("made");
        let outer = [path(AccessKind::FilesystemWrite, &inside)];
        let inner = [path(AccessKind::FilesystemWrite, &inside.join("link"))];
        assert_eq!(allowed(&[&outer, &inner]).places, []);
        let confinement = PlannedConfinement { layers: vec![inner.to_vec()], ..PlannedConfinement::default() };
        let here = Host { workspace: root, working_directory: inside, ..machine() };
        let refusal = Allowed::by(&confinement, &here).expect_err("the link came with the workspace");
        assert_eq!((refusal.code, refusal.why.ends_with("is a link to `/etc`")), (Code::PermissionTarget, true));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_made_where_a_link_leads() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().canonicalize().expect("it exists");
        let [here, there] = ["here", "there"].map(|name| root.join(name));
        for directory in [&here, &there] {
            fs::create_dir(directory).expect("made");
        }
        for (link, to) in
            [("out", there.as_path()), ("nowhere", Path::new("missing")), ("beside", Path::new("../there"))]
        {
            std::os::unix::fs::symlink(to, here.join(link)).expect("made");
        }
        let host = Host { workspace: here.clone(), working_directory: here.clone(), ..machine() };
        for target in ["out/new", "out/new/deeper", "nowhere/new", "nowhere", "beside/a/b", "new/../../there/x"] {
            let layers = vec![vec![path(AccessKind::FilesystemWrite, &here.join(target))]];
            let refusal =
                Allowed::by(&PlannedConfinement { layers, ..PlannedConfinement::default() }, &host).expect_err(target);
            assert_eq!(refusal.code, Code::PermissionTarget, "{target}");
            assert_eq!(fs::read_dir(&there).expect("it exists").count(), 0, "{target}");
            assert_eq!(fs::read_dir(&here).expect("it exists").count(), 3, "{target}");
        }
    }

    #[test]
    fn hosts_meet() {
        let check = |a: &str, b: &str, expect: Option<(&str, Option<u16>)>| {
            let met = allowed(&[&[host(a)], &[host(b)]]).hosts;
            let met: Vec<_> = met.iter().map(|host| (host.name.as_str(), host.port)).collect();
            assert_eq!(met, expect.into_iter().collect::<Vec<_>>(), "{a} and {b}");
        };
        check("*", "example.com", Some(("example.com", None)));
        check("*:443", "example.com", Some(("example.com", Some(443))));
        check("*.example.com", "api.example.com:80", Some(("api.example.com", Some(80))));
        check("*.example.com", "example.com", None);
        check("*.example.com", "notexample.com", None);
        check("example.com:80", "example.com:443", None);
    }

    #[test]
    fn what_is_written_is_made_and_taken_away_again() {
        let place = tempfile::tempdir().expect("a directory");
        let [directory, file] = ["out", "out.txt"].map(|name| place.path().join(name));
        let layer = [path(AccessKind::FilesystemWrite, &directory), path(AccessKind::FilesystemWrite, &file)];
        let both = allowed(&[&layer]);
        assert!(directory.is_dir() && file.is_file());
        fs::write(&file, "kept").expect("written");
        both.tidy();
        assert!(!directory.exists() && file.is_file());
        let deep = [path(AccessKind::FilesystemWrite, &place.path().join("a/b/c"))];
        let made = allowed(&[&deep]);
        assert!(place.path().join("a/b/c").is_dir());
        made.tidy();
        assert!(!place.path().join("a").exists());
        let missing = PlannedConfinement {
            layers: vec![vec![path(AccessKind::FilesystemRead, &directory)]],
            ..PlannedConfinement::default()
        };
        assert_eq!(Allowed::by(&missing, &machine()).expect_err("it is not there").code, Code::PermissionTarget);
    }
}
