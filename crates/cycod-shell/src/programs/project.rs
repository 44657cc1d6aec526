//! What a project has that no table can know: the programs that it builds, and the scripts that its commands read.

use std::{fmt, sync::Arc};

/// Reads the scripts of a project.
pub trait Scripts: fmt::Debug + Send + Sync {
    /// The text of a script in the project; nothing when there is none that can be read.
    fn text(&self, path: &ScriptPath) -> Option<Arc<str>>;
}

/// Where a script lies that a command reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScriptPath {
    /// From the directory in which commands work when their tool names none.
    Usual(String),
    /// From the directory of the project.
    OfProject(String),
}

/// The directory in which a command works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Directory {
    /// The one in which commands work when their tool names none.
    #[default]
    Usual,
    /// That of the project.
    OfProject,
    /// Another one.
    Other,
}

/// A program that a project builds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Built {
    /// The name by which commands call it.
    pub name: String,
    /// The file of the project that says so, by its path from the project's directory.
    pub manifest: String,
}

/// What is known of the project of a tool.
///
/// It counts behind everything that is said about programs, and behind the tables: a program that any of them knows is that program.
#[derive(Debug, Clone, Default)]
pub struct Project {
    built: Arc<[Built]>,
    scripts: Option<Arc<dyn Scripts>>,
    directory: Directory,
}

impl Project {
    /// A project that builds these programs, and whose scripts can be read.
    pub fn new(built: impl Into<Arc<[Built]>>, scripts: Option<Arc<dyn Scripts>>) -> Self {
        Self { built: built.into(), scripts, directory: Directory::default() }
    }

    /// The same for a command that works in `directory`.
    #[must_use]
    pub fn in_directory(&self, directory: Directory) -> Self {
        Self { directory, ..self.clone() }
    }

    /// The programs that it builds.
    pub fn built(&self) -> &[Built] {
        &self.built
    }

    /// The path of a script that a command names relative to where it works.
    pub(super) fn beside(&self, path: &str) -> Option<ScriptPath> {
        match self.directory {
            Directory::Usual => Some(ScriptPath::Usual(path.to_owned())),
            Directory::OfProject => Some(ScriptPath::OfProject(path.to_owned())),
            Directory::Other => None,
        }
    }

    pub(super) fn script(&self, path: &ScriptPath) -> Option<Arc<str>> {
        self.scripts.as_ref()?.text(path)
    }

    /// Whether any script can be read.
    pub(super) fn has_scripts(&self) -> bool {
        self.scripts.is_some()
    }
}

impl PartialEq for Project {
    fn eq(&self, other: &Self) -> bool {
        let same_scripts = match (&self.scripts, &other.scripts) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        same_scripts && self.built == other.built && self.directory == other.directory
    }
}

impl Eq for Project {}
