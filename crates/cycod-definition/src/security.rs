use std::{collections::BTreeSet, fmt};

use cycod_syntax::template::Template;

use crate::Container;

/// `security`.
#[derive(Clone, Debug, Default)]
pub struct Security {
    /// With whose rights.
    pub privilege: Privilege,
    /// How far from us.
    pub isolation: Isolation,
    /// What it may reach; when any is given, nothing else.
    pub permissions: Vec<Permission>,
    /// Whether needs approval each time a model wants to run it.
    pub approval: Approval,
    /// Why, for the person who is asked.
    pub justification: Option<String>,
    /// The container to use with `isolation: container`.
    pub container: Option<Container>,
}

/// Whether somebody is asked each time a model wants to run a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Approval {
    /// As the rules say.
    #[default]
    ByRules,
    /// Each time, unless a rule of the user's own allows the tool by its name.
    UnlessNamed,
    /// Each time, whatever rules allow it.
    Always,
}

impl Approval {
    /// What a file can ask for, by the words for it.
    pub const NAMES: [(&'static str, Self); 2] = [("always", Self::Always), ("unless-named", Self::UnlessNamed)];
}

/// Something that a tool asks to be held to, and that not every machine can give.
///
/// A tool never runs with less than it asks for: where a demand cannot be met, running is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Demand {
    /// `required-permissions`, and nothing else.
    Permissions,
    /// `execution-privilege: reduced`.
    Reduced,
    /// `execution-privilege: elevated`.
    Elevated,
    /// `isolation: container`.
    Container,
    /// The `image` of `security.container`.
    Image,
}

impl Demand {
    /// Every demand.
    pub const ALL: [Self; 5] = [Self::Permissions, Self::Reduced, Self::Elevated, Self::Container, Self::Image];
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permissions => "`required-permissions`",
            Self::Reduced => "`execution-privilege: reduced`",
            Self::Elevated => "`execution-privilege: elevated`",
            Self::Container => "`isolation: container`",
            Self::Image => "the `image` of a container",
        })
    }
}

impl Security {
    /// What the tool asks to be held to.
    pub fn demands(&self) -> BTreeSet<Demand> {
        let image = self.container.as_ref().and_then(|container| container.image.as_ref());
        let is_container = self.isolation == Isolation::Container;
        let asked = [
            (!self.permissions.is_empty(), Demand::Permissions),
            (self.privilege == Privilege::Reduced, Demand::Reduced),
            (self.privilege == Privilege::Elevated, Demand::Elevated),
            (is_container && image.is_none(), Demand::Container),
            (is_container && image.is_some(), Demand::Image),
        ];
        asked.into_iter().filter_map(|(is_asked, demand)| is_asked.then_some(demand)).collect()
    }
}

/// `execution-privilege`; the later, the more rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of the schema")]
pub enum Privilege {
    Reduced,
    #[default]
    SameAsUser,
    Elevated,
}

/// `isolation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the schema")]
pub enum Isolation {
    None,
    #[default]
    Process,
    Container,
}

/// One of `required-permissions`.
#[derive(Clone, Debug)]
pub struct Permission {
    /// What kind of reach.
    pub access: AccessKind,
    /// The path, or `host[:port]`, or `PROVIDER/NAME`, or `*`.
    pub target: Template,
    /// As written.
    pub source: String,
}

/// The kinds of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the schema")]
pub enum AccessKind {
    FilesystemRead,
    FilesystemWrite,
    FilesystemExecute,
    NetworkExternal,
    NetworkLoopback,
    ModelComplete,
}
