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
