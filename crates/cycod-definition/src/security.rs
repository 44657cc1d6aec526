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
    /// Why, for the person who is asked.
    pub justification: Option<String>,
    /// The container to use with `isolation: container`.
    pub container: Option<Container>,
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
}

impl Demand {
    /// Every demand.
    pub const ALL: [Self; 4] = [Self::Permissions, Self::Reduced, Self::Elevated, Self::Container];
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Permissions => "`required-permissions`",
            Self::Reduced => "`execution-privilege: reduced`",
            Self::Elevated => "`execution-privilege: elevated`",
            Self::Container => "`isolation: container`",
        })
    }
}

impl Security {
    /// What the tool asks to be held to.
    pub fn demands(&self) -> BTreeSet<Demand> {
        let asked = [
            (!self.permissions.is_empty(), Demand::Permissions),
            (self.privilege == Privilege::Reduced, Demand::Reduced),
            (self.privilege == Privilege::Elevated, Demand::Elevated),
            (self.isolation == Isolation::Container, Demand::Container),
        ];
        asked.into_iter().filter_map(|(is_asked, demand)| is_asked.then_some(demand)).collect()
    }
}

/// `execution-privilege`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the schema")]
pub enum Privilege {
    #[default]
    SameAsUser,
    Reduced,
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
    pub access: Access,
    /// The path, or `host[:port]`, or `*`.
    pub target: Template,
    /// As written.
    pub source: String,
}

/// The kinds of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the schema")]
pub enum Access {
    FilesystemRead,
    FilesystemWrite,
    FilesystemExecute,
    NetworkExternal,
    NetworkLoopback,
}
