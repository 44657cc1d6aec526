//! What the programs of a plan are held to, as far as it can be told without looking at the machine.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use cycod_call::{Call, NoSteps};
use cycod_definition::{AccessKind, Isolation, Permission, Privilege, Tool};
use cycod_diagnostic::{Code, Refusal};
use cycod_syntax::template::{Reference, Template};

use crate::plan::{resolve_directory, resolve_path};

/// What the programs of a plan are held to.
///
/// A tool that declares permissions reaches those, the system read-only and a temporary directory of its own. What it
/// calls is held to its permissions and to their own, so each adds a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedConfinement {
    /// With whose rights.
    pub privilege: Privilege,
    /// What may be reached: everything that each of these allows; with none, what the user may.
    pub layers: Vec<Vec<Reach>>,
    /// The container to run in.
    pub container: Option<ContainerPlan>,
}

/// One thing that may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The kind.
    pub access: AccessKind,
    /// What.
    pub target: ReachTarget,
    /// Whether the author spells it out, so that no value of a caller stands in it.
    pub is_spelled: bool,
}

/// What is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReachTarget {
    /// A directory with all below it, or a file: an absolute path.
    Path(PathBuf),
    /// `host[:port]` or `*`.
    Host(String),
    /// `PROVIDER/NAME`, `PROVIDER/*` or `*`.
    Model(String),
}

/// A container to run in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerPlan {
    /// Its image; without one, the programs of this machine in a root of their own.
    pub image: Option<String>,
    /// What it sees of the network.
    pub network: ContainerNetwork,
    /// What of this machine it sees.
    pub mounts: Vec<ContainerMount>,
}

/// What a container sees of the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ContainerNetwork {
    /// Nothing.
    #[default]
    None,
    /// What this machine sees.
    Host,
    /// A network that the container engine knows by this name.
    Named(String),
}

/// A directory or file of this machine that a container sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerMount {
    /// Where it is here.
    pub source: PathBuf,
    /// Where it is there.
    pub target: PathBuf,
    /// Whether it may be changed there.
    pub is_writable: bool,
}

impl PlannedConfinement {
    /// What `call` asks to be held to by itself; relative paths start at `working_directory`.
    ///
    /// # Errors
    /// When a permission cannot be resolved, or names nothing that can be given.
    pub fn of(call: &Call, working_directory: &Path) -> Result<Self, Refusal> {
        let security = &call.tool.security;
        let reach = |permission: &Permission| {
            let target = match permission.access {
                AccessKind::NetworkExternal | AccessKind::NetworkLoopback => {
                    let host = call.text(&permission.target, &NoSteps).map_err(|error| refused(permission, error))?;
                    ReachTarget::Host(host.trim().to_ascii_lowercase())
                }
                AccessKind::ModelComplete => {
                    let model = call.text(&permission.target, &NoSteps).map_err(|error| refused(permission, error))?;
                    ReachTarget::Model(model.trim().to_owned())
                }
                _ => ReachTarget::Path(path(call, permission, working_directory)?),
            };
            let directory = call.tool.file_paths.working_directory.as_ref();
            let is_spelled = is_spelled_out(&permission.target) && directory.is_none_or(is_spelled_out);
            Ok(Reach { access: permission.access, target, is_spelled })
        };
        let layer = security.permissions.iter().map(reach).collect::<Result<Vec<_>, Refusal>>()?;
        let container = (security.isolation == Isolation::Container).then(|| container(call, working_directory));
        Ok(Self {
            privilege: security.privilege,
            layers: if layer.is_empty() { Vec::new() } else { vec![layer] },
            container: container.transpose()?,
        })
    }

    /// Holds it to what `outer` is held to as well.
    pub(crate) fn within(mut self, outer: &Self, tool: &Tool) -> Result<Self, Refusal> {
        let conflict = |what: &str| {
            Err(Refusal::new(Code::ConfinementUnavailable, format!("`{}` {what}", tool.name))
                .place(&*tool.name.to_string()))
        };
        if self.privilege == Privilege::Elevated && (outer.is_confined()) {
            return conflict("needs elevated rights, and is used by a tool that is confined");
        }
        if outer.privilege == Privilege::Reduced {
            self.privilege = Privilege::Reduced;
        }
        self.container = match (self.container, &outer.container) {
            (Some(own), Some(outer)) if own != *outer => {
                return conflict("asks for another container than the tool that uses it");
            }
            (own, outer) => own.or_else(|| outer.clone()),
        };
        self.layers.splice(0..0, outer.layers.iter().cloned());
        Ok(self)
    }

    /// Whether its programs are held to anything that the user is not.
    pub fn is_confined(&self) -> bool {
        self.privilege == Privilege::Reduced || !self.layers.is_empty() || self.container.is_some()
    }

    /// Whether a language model may be asked, by its full name. Nobody may who does not say so.
    pub fn may_ask(&self, model: &str) -> bool {
        let allows = |reach: &Reach| match &reach.target {
            ReachTarget::Model(allowed) => match allowed.strip_suffix('*') {
                Some(start) => model.starts_with(start),
                None => model == allowed,
            },
            ReachTarget::Path(_) | ReachTarget::Host(_) => false,
        };
        !self.layers.is_empty() && self.layers.iter().all(|layer| layer.iter().any(allows))
    }

    /// What can be reached, a line each, for the one who decides.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        match self.privilege {
            Privilege::Elevated => lines.push("runs with the rights of the administrator".to_owned()),
            Privilege::Reduced => {
                lines.push("gains no rights, and writes to the workspace and temporary files only".to_owned());
            }
            Privilege::SameAsUser if !self.is_confined() => {
                lines.push("reaches everything that you can reach".to_owned());
            }
            Privilege::SameAsUser => {}
        }
        for (depth, layer) in self.layers.iter().enumerate() {
            let within = if depth > 0 { "of that " } else { "" };
            lines.extend(layer.iter().map(|reach| format!("{within}{reach}")));
        }
        if let Some(container) = &self.container {
            lines.push(match &container.image {
                Some(image) => format!("runs in a container of the image {image}"),
                None => "runs in a root of its own, with the programs of this machine".to_owned(),
            });
            lines.push(match &container.network {
                ContainerNetwork::None => "network: none".to_owned(),
                ContainerNetwork::Host => "network: this machine's".to_owned(),
                ContainerNetwork::Named(name) => format!("network: {name}"),
            });
            lines.extend(container.mounts.iter().map(|mount| {
                let verb = if mount.is_writable { "changes" } else { "reads" };
                format!("{verb} {} as {}", mount.source.display(), mount.target.display())
            }));
        } else if !self.layers.is_empty() && !self.layers.iter().flatten().any(Reach::is_network) {
            lines.push("network: none".to_owned());
        }
        lines
    }
}

impl Reach {
    /// Whether it is about the network.
    pub fn is_network(&self) -> bool {
        matches!(self.access, AccessKind::NetworkExternal | AccessKind::NetworkLoopback)
    }

    /// The permission that allows this, as it stands in a file.
    pub fn permission(&self) -> String {
        let kind = match self.access {
            AccessKind::FilesystemRead => "filesystem:read",
            AccessKind::FilesystemWrite => "filesystem:write",
            AccessKind::FilesystemExecute => "filesystem:execute",
            AccessKind::NetworkExternal => "network:external",
            AccessKind::NetworkLoopback => "network:loopback",
            AccessKind::ModelComplete => "model:complete",
        };
        match &self.target {
            ReachTarget::Path(path) => format!("{kind}:{}", path.display()),
            ReachTarget::Host(name) | ReachTarget::Model(name) => format!("{kind}:{name}"),
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.access {
            AccessKind::FilesystemRead => "reads",
            AccessKind::FilesystemWrite => "reads and changes",
            AccessKind::FilesystemExecute => "reads and executes",
            AccessKind::NetworkExternal => "connects to",
            AccessKind::NetworkLoopback => "connects to this machine's",
            AccessKind::ModelComplete => "sends text to",
        };
        match &self.target {
            ReachTarget::Path(path) => write!(f, "{verb} {}", path.display()),
            ReachTarget::Host(host) if host == "*" => match self.access {
                AccessKind::NetworkLoopback => write!(f, "{verb} services, any of them"),
                _ => write!(f, "{verb} any host outside"),
            },
            ReachTarget::Host(host) => write!(f, "{verb} {host}"),
            ReachTarget::Model(model) if model == "*" => write!(f, "{verb} any language model"),
            ReachTarget::Model(model) => write!(f, "{verb} the language model {model}"),
        }
    }
}

fn refused(permission: &Permission, error: impl fmt::Display) -> Refusal {
    Refusal::new(Code::UnknownPermission, format!("`{}` cannot be resolved: {error}", permission.source))
        .place("required-permissions")
}

/// Whether a template holds nothing but its author's text and what is known of the machine.
fn is_spelled_out(template: &Template) -> bool {
    template.references().all(|(reference, _)| matches!(reference, Reference::Predefined(_)))
}

/// The path that a permission names, from the tool's working directory.
fn path(call: &Call, permission: &Permission, working_directory: &Path) -> Result<PathBuf, Refusal> {
    let text = resolve_path(call, &permission.target, &NoSteps).map_err(|error| refused(permission, error))?;
    // Everything below a directory is meant with it.
    let text = text.strip_suffix("/**").or_else(|| text.strip_suffix("/*")).unwrap_or(&text);
    let text = if text.is_empty() { "/" } else { text };
    if text.contains(['*', '?', '[']) {
        let why = format!("`{}` holds a pattern, and a permission names a directory or a file", permission.source);
        return Err(Refusal::new(Code::UnknownPermission, why)
            .place("required-permissions")
            .attempt("name the directory that holds them"));
    }
    Ok(without_dots(&from(call, text, working_directory)))
}

/// A path as it is written: `~/` from the home, a relative one from the working directory.
fn from(call: &Call, text: &str, working_directory: &Path) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(below_home) => call.host.home.join(below_home),
        None if text == "~" => call.host.home.clone(),
        None => working_directory.join(text),
    }
}

/// Returns the same path without `.` and `..`. What symbolic links make of it is for the machine to say.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            component => plain.push(component),
        }
    }
    plain
}

fn container(call: &Call, working_directory: &Path) -> Result<ContainerPlan, Refusal> {
    let asked = call.tool.security.container.clone().unwrap_or_default();
    let refuse =
        |why: String, attempt: &str| Refusal::new(Code::UnknownContainer, why).place("container").attempt(attempt);
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let network = match asked.network.as_deref() {
        None | Some("none") => ContainerNetwork::None,
        Some("host") => ContainerNetwork::Host,
        Some(name) if is_name(name) && asked.image.is_some() => ContainerNetwork::Named(name.to_owned()),
        Some(name) => {
            let why = format!(
                "`{name}` is no network of a container{}",
                if asked.image.is_some() { "" } else { " without an image" }
            );
            return Err(refuse(why, "use `none` or `host`"));
        }
    };
    if let Some(image) = &asked.image
        && (image.starts_with('-') || image.is_empty() || image.contains(|c: char| c.is_whitespace() || c.is_control()))
    {
        return Err(refuse(format!("`{image}` is no image"), "write NAME[:TAG]"));
    }
    let mount = |text: &String| {
        let wrong =
            || refuse(format!("`{text}` is no mount"), "write SOURCE:TARGET or SOURCE:TARGET:ro, the target absolute");
        let mut parts = text.split(':');
        let (source, target, mode, rest) = (parts.next(), parts.next(), parts.next(), parts.next());
        let is_writable = match (mode, rest) {
            (None | Some("rw"), None) => true,
            (Some("ro"), None) => false,
            _ => return Err(wrong()),
        };
        let source = source.filter(|source| !source.is_empty()).ok_or_else(wrong)?;
        let source = without_dots(&from(call, source, working_directory));
        let target = target.map_or_else(|| source.clone(), |target| without_dots(Path::new(target)));
        if !target.is_absolute()
            || target.parent().is_none()
            || [&source, &target].iter().any(|path| path.to_string_lossy().contains([',', ':']))
        {
            return Err(wrong());
        }
        Ok(ContainerMount { source, target, is_writable })
    };
    Ok(ContainerPlan { image: asked.image, network, mounts: asked.mounts.iter().map(mount).collect::<Result<_, _>>()? })
}

/// Resolves the directory in which a plan's commands run.
pub(crate) fn working_directory(call: &Call) -> Result<PathBuf, Refusal> {
    resolve_directory(call, call.tool.file_paths.working_directory.as_ref(), &NoSteps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_plain() {
        let check = |path: &str, expect: &str| assert_eq!(without_dots(Path::new(path)), Path::new(expect));
        check("/a/./b/../c", "/a/c");
        check("/../..", "/");
        check("/a/b/", "/a/b");
    }

    #[test]
    fn what_is_used_is_held_to_both() {
        let reach = |path: &str| Reach {
            access: AccessKind::FilesystemRead,
            target: ReachTarget::Path(path.into()),
            is_spelled: true,
        };
        let outer = PlannedConfinement { layers: vec![vec![reach("/a")]], ..PlannedConfinement::default() };
        assert!(outer.is_confined() && !PlannedConfinement::default().is_confined());
        assert_eq!(outer.lines(), ["reads /a", "network: none"]);
        assert_eq!(PlannedConfinement::default().lines(), ["reaches everything that you can reach"]);
    }
}
