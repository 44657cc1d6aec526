//! A home and a project of its own for each test.

use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use cycod_catalog::{Catalog, Entry, Overrides, Scopes, State};
use cycod_definition::{Host, Platform};
use tempfile::TempDir;

/// `home/` with `home/project/` in it, and `global/`.
pub(crate) struct Place {
    pub(crate) root: TempDir,
    pub(crate) host: Host,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let home = root.path().join("home");
        let project = home.join("project");
        fs::create_dir_all(&project).expect("a directory");
        let host = Host {
            platform: Platform::Linux,
            home,
            working_directory: project.clone(),
            workspace: project,
            temp: root.path().join("temp"),
            environment: [(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))].into(),
            now: SystemTime::UNIX_EPOCH,
            offered: cycod_definition::OfferedConfinement::nothing(),
        };
        Self { root, host }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Writes a file below the root, with its directories.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
        self
    }

    pub(crate) fn directory(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).expect("directories");
        self
    }

    pub(crate) fn stand_in(&mut self, path: &str) -> &Self {
        self.directory(path);
        self.host.working_directory = self.path(path);
        self
    }

    pub(crate) fn scopes(&self) -> Scopes {
        let overrides = Overrides { user: None, added: None, global: Some(self.path("global")) };
        Scopes::discover(&self.host, &overrides)
    }

    pub(crate) fn open(&self) -> Catalog {
        Catalog::open(self.scopes(), &self.host)
    }

    /// A path as the tests write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        self.relative(&path.display().to_string())
    }

    /// A text whose paths are below the root, with the separators of Unix.
    pub(crate) fn relative(&self, text: &str) -> String {
        let unix = |text: &str| if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() };
        unix(text).replace(&format!("{}/", unix(&self.root.path().to_string_lossy())), "")
    }

    /// Every entry on a line.
    pub(crate) fn list(&self) -> String {
        let mut list = String::new();
        for Entry { name, path, scope, state, level, .. } in self.open().entries() {
            let state = match state {
                State::Active => "active".to_owned(),
                State::Shadowed { by } => format!("shadowed by {}", self.shown(&by)),
                State::Duplicate { with } => {
                    let others: Vec<String> = with.iter().map(|other| self.shown(other)).collect();
                    format!("duplicate with {}", others.join(", "))
                }
                State::Broken { problem } => format!("broken [{}] {problem}", problem.code),
            };
            let path = self.shown(&path);
            _ = writeln!(list, "{name} ({scope}, {level}) {path}: {state}");
        }
        list
    }
}

/// A tool that only looks.
pub(crate) fn tool(description: &str) -> String {
    format!("description: {description}\nbash: ls\ntags: [read]\n")
}

/// A tool with a name of its own.
pub(crate) fn named(name: &str) -> String {
    format!("name: {name}\n{}", tool("named"))
}
