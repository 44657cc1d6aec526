//! A machine with a home, a project and nothing else.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use cycod_catalog::{Overrides, Scopes};
use cycod_definition::{Host, Platform};
use tempfile::TempDir;

/// A host of a platform with a home.
pub(crate) fn host(platform: Platform, home: &Path, project: &Path, environment: &[(&str, &str)]) -> Host {
    Host {
        platform,
        home: home.to_owned(),
        working_directory: project.to_owned(),
        workspace: project.to_owned(),
        temp: PathBuf::from("/tmp"),
        environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        now: SystemTime::UNIX_EPOCH,
        offered: cycod_definition::OfferedConfinement::nothing(),
    }
}

pub(crate) struct Place {
    root: TempDir,
    environment: Vec<(&'static str, &'static str)>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        for directory in ["home/.cycod", "project/.cycod", "project/.git", "global"] {
            fs::create_dir_all(root.path().join(directory)).expect("a directory in it");
        }
        Self { root, environment: Vec::new() }
    }

    pub(crate) fn set(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("its directory");
        fs::write(&path, text).expect("the file");
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("the file")
    }

    pub(crate) fn host(&self) -> Host {
        host(Platform::Linux, &self.path("home"), &self.path("project"), &self.environment)
    }

    pub(crate) fn scopes(&self) -> Scopes {
        let overrides = Overrides { user: None, added: None, global: Some(self.path("global")) };
        Scopes::discover(&self.host(), &overrides)
    }

    /// A text with the place's path as `[PLACE]`, and with the separators of Unix.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let real = self.root.path().canonicalize().expect("it is there");
        // On Windows JSON has two separators for one.
        let places = [real.as_path(), self.root.path()].map(|path| path.to_string_lossy().into_owned());
        let places = places.iter().flat_map(|path| [path.replace('\\', r"\\"), path.clone()]);
        let text = places.fold(text.to_owned(), |text, path| text.replace(&path, "[PLACE]"));
        if cfg!(windows) { text.replace(r"\\", "/").replace('\\', "/") } else { text }
    }
}

/// The permission bits of a file.
#[cfg(unix)]
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}
