use std::{collections::BTreeSet, time::Duration};

use cycod_syntax::template::{Reference, Template};

use crate::{Command, Platform};

/// `environment`.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Variables to set, in order.
    pub variables: Vec<(String, Template)>,
    /// Whether the rest of our own environment is passed on.
    pub inherit: bool,
    /// What is masked, and what is kept elsewhere.
    pub secrets: Vec<Secret>,
}

/// An entry of `environment.secrets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The variable or parameter whose value is masked.
    pub name: String,
    /// The name under which its value is kept, when no parameter and no variable gives it.
    pub kept_as: String,
    /// The hosts on the way to which the value takes the place of what the tool sees instead. Without any, the tool sees
    /// the value.
    pub hosts: Vec<String>,
}

impl Environment {
    /// Whether the value of `name` is secret.
    pub fn is_secret(&self, name: &str) -> bool {
        self.secrets.iter().any(|secret| secret.name == name)
    }

    /// Whether `secret` is given by a variable. One that holds only its own name stands for what is kept.
    pub(crate) fn sets(&self, secret: &Secret) -> bool {
        let is_itself = |(reference, _): (&Reference, _)| *reference == Reference::Environment(secret.name.clone());
        self.variables.iter().any(|(name, value)| *name == secret.name && !value.references().any(is_itself))
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self { variables: Vec::new(), inherit: true, secrets: Vec::new() }
    }
}

/// `metadata`.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the names of the schema")]
pub struct Metadata {
    pub category: Option<String>,
    pub subcategory: Option<String>,
    pub tags: Vec<String>,
    pub search_keywords: Vec<String>,
}

/// `resources`.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Bytes the whole process tree may use.
    pub max_memory: Option<u64>,
    /// What is done when the run ends, however it ends.
    pub cleanup: Vec<Cleanup>,
}

/// An action of `resources.cleanup`.
#[derive(Clone, Debug)]
pub enum Cleanup {
    /// Removes the run's own temporary directory (also done without it).
    DeleteTempFiles,
    /// Runs a command.
    Command(Command),
}

/// `interactive: true` with its options.
#[derive(Clone, Debug)]
pub struct Interactive {
    /// How long to wait for a person.
    pub timeout: Option<Duration>,
    /// What to answer when nobody can.
    pub default_response: Option<Template>,
}

/// `requires`.
#[derive(Clone, Debug, Default)]
pub struct Requires {
    /// Programs on the `PATH`.
    pub commands: Vec<String>,
    /// Environment variables.
    pub env: Vec<String>,
    /// Platforms.
    pub platforms: BTreeSet<Platform>,
}

/// `deprecated` with its message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deprecation {
    /// What to do instead.
    pub message: Option<String>,
    /// The parameter to use instead.
    pub alternative: Option<String>,
}

/// An entry of `changelog`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the schema")]
pub struct ChangelogEntry {
    pub version: String,
    pub changes: String,
}

/// `security.container`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the schema")]
pub struct Container {
    pub image: Option<String>,
    pub network: Option<String>,
    pub mounts: Vec<String>,
}

/// `function-calling.schema-generation`.
#[derive(Clone, Debug)]
pub struct FunctionCalling {
    /// Our type names and the JSON Schema types to write for them.
    pub parameter_mapping: Vec<(String, String)>,
    /// Whether descriptions of parameters are written.
    pub include_descriptions: bool,
    /// Whether defaults are written.
    pub include_defaults: bool,
    /// Whether examples are written.
    pub example_generation: bool,
    /// Whether keywords that a dialect does not know are left out.
    pub sanitize_schemas: bool,
}

impl Default for FunctionCalling {
    fn default() -> Self {
        Self {
            parameter_mapping: Vec::new(),
            include_descriptions: true,
            include_defaults: true,
            example_generation: false,
            sanitize_schemas: true,
        }
    }
}
