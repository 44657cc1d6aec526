//! What a tool of the project needs to run elsewhere, and what stands in the way of that.
//!
//! It is what trust in the tool rests on: its file, those of the tools that it uses, and the files of the project that any of
//! them starts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{Body, Host, Tool};
use cycod_diagnostic::Refusal;
use cycod_run::Guarded;

use super::{git::Git, programs::is_executable, reached, real};
use crate::Engine;

/// The largest file that is carried.
const LARGEST: u64 = 64 << 20;

/// A file of the project, as it is carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortableFile {
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Whether it may be executed.
    pub is_executable: bool,
}

/// Tools of the project with all that they need.
#[derive(Debug, Default)]
pub struct Portable {
    /// The files by their paths from the project, `/` between names.
    pub files: BTreeMap<String, PortableFile>,
    /// What stands in the way.
    pub obstacles: BTreeSet<Obstacle>,
    /// Programs and variables that every machine must have.
    pub needs: BTreeSet<String>,
    /// What the tools start that cannot be told before they run, each a phrase for people.
    pub unpinned: BTreeSet<String>,
}

/// Why a tool, or a file that it needs, cannot be carried elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// A tool uses another one that is not part of the project.
    ToolElsewhere {
        /// The one that uses it.
        tool: String,
        /// The other one.
        used: String,
        /// Where that is.
        place: String,
    },
    /// A tool starts more than can be watched.
    TooMuch(String, String),
    /// A tool starts a file of the project that is not there.
    Absent(String, String),
    /// A tool starts a file of the home directory.
    InHome(String, PathBuf),
    /// A file has a path in it that only this machine has.
    OwnPath(String, PathBuf),
    /// A file is not part of the project, or leads out of it.
    LeadsOut(String),
    /// A file is not under version control.
    Untracked(String),
    /// A file holds keys or logins.
    Secret(String, &'static str),
    /// A file has a name that other systems cannot have.
    Name(String),
    /// A file is larger than those that are carried.
    TooLarge(String),
    /// A file cannot be read.
    Unreadable(String, String),
    /// Git cannot be asked what is under version control.
    NoGit,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToolElsewhere { tool, used, place } => write!(f, "`{tool}` uses `{used}`, which is {place}"),
            Self::TooMuch(tool, why) => write!(f, "`{tool}`: {why}"),
            Self::Absent(tool, path) => write!(f, "`{tool}` starts `{path}`, which does not exist"),
            Self::InHome(tool, path) => {
                write!(
                    f,
                    "`{tool}` starts `{}`, which is outside the project: copy it into the project",
                    path.display()
                )
            }
            Self::OwnPath(file, path) => write!(
                f,
                "`{file}` contains the path `{}`, which only this machine has: write a path relative to the project",
                path.display()
            ),
            Self::LeadsOut(file) => write!(f, "`{file}` is outside the project, or a link that leads out of it"),
            Self::Untracked(file) => write!(f, "`{file}` is not under version control: git add {file}"),
            Self::Secret(file, why) => write!(f, "`{file}` is never packed: {why}"),
            Self::Name(file) => write!(f, "`{file}` has a name that not every system can have"),
            Self::TooLarge(file) => write!(f, "`{file}` is larger than {} MiB", LARGEST >> 20),
            Self::Unreadable(file, why) => write!(f, "`{file}` cannot be read: {why}"),
            Self::NoGit => write!(f, "git cannot be asked which files are under version control"),
        }
    }
}

impl Engine {
    /// Collects tools of the project with all that they need to run elsewhere, and further files of the project by their paths
    /// from it.
    ///
    /// In a repository, only files under version control are carried.
    ///
    /// # Errors
    /// When a tool cannot be loaded.
    pub fn portable<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        further: impl IntoIterator<Item = &'a str>,
    ) -> Result<Portable, Refusal> {
        let mut portable = Portable::default();
        let mut paths: BTreeSet<String> = further.into_iter().map(str::to_owned).collect();
        for name in names {
            let tool = self.tool(name).map_err(crate::EngineError::into_refusal)?;
            self.needed(&tool, &mut paths, &mut portable);
        }
        let root = real(&self.host().workspace);
        let tracked = self.tracked(&root);
        if tracked.is_err() {
            portable.obstacles.insert(Obstacle::NoGit);
        }
        let guarded = Guarded::new(self.host());
        for path in paths {
            let tracked = tracked.as_ref().ok().and_then(Option::as_ref);
            match self.carried(&root, &path, tracked, &guarded) {
                Ok(file) => _ = portable.files.insert(path, file),
                Err(obstacle) => _ = portable.obstacles.insert(obstacle),
            }
        }
        Ok(portable)
    }

    /// Adds what a tool needs.
    fn needed(&self, tool: &Arc<Tool>, paths: &mut BTreeSet<String>, portable: &mut Portable) {
        let host = self.host();
        let name = || tool.name.as_str().to_owned();
        let used = reached(tool, &|name| self.tool(name).ok());
        let fingerprint = self.fingerprint_in(tool, &used, &host.workspace, Arc::default());
        if let Some(refusal) = fingerprint.incomplete() {
            portable.obstacles.insert(Obstacle::TooMuch(name(), refusal.why));
        }
        for (used, found) in &used {
            let place = match found {
                None => "not here".to_owned(),
                Some(found) if matches!(found.body, Body::BuiltIn(_)) => continue,
                Some(found) => match (&found.body, &found.origin.file) {
                    (Body::Remote(remote), _) => format!("a tool of the MCP server `{}`", remote.server),
                    (_, Some(file)) if self.local_directory(found).is_none() => {
                        format!("outside the project: {}", file.display())
                    }
                    _ => continue,
                },
            };
            portable.obstacles.insert(Obstacle::ToolElsewhere { tool: name(), used: used.clone(), place });
        }
        for tool in std::iter::once(tool).chain(used.values().flatten()) {
            if self.local_directory(tool).is_some()
                && let Some(file) = &tool.origin.file
            {
                paths.insert(self.path_in_project(file));
            }
            if let Some(file) = tool.stated.file.as_ref().filter(|_| !tool.stated.natures.is_empty()) {
                paths.insert(self.path_in_project(Path::new(&file.source.name)));
            }
            portable.needs.extend(tool.required_commands().map(str::to_owned));
            portable.needs.extend(tool.kept_secrets().map(|secret| format!("the secret {}", secret.name)));
            portable.needs.extend(tool.required_variables().map(|variable| format!("the variable {variable}")));
        }
        paths.extend(fingerprint.programs().map(|(path, _)| path.to_owned()));
        portable.obstacles.extend(fingerprint.absent().iter().map(|path| Obstacle::Absent(name(), path.clone())));
        for path in fingerprint.outside() {
            if path.starts_with(&host.home) {
                portable.obstacles.insert(Obstacle::InHome(name(), path.clone()));
            } else {
                portable.needs.insert(path.display().to_string());
            }
        }
        portable.unpinned.extend(fingerprint.unpinned().iter().cloned());
    }

    /// A path as the project has it; one that leads elsewhere stays as it is.
    fn path_in_project(&self, path: &Path) -> String {
        let path = self.host().workspace.join(path);
        let inside = path.strip_prefix(&self.host().workspace).unwrap_or(&path);
        inside.to_string_lossy().replace('\\', "/")
    }

    /// The files of the project that are under version control; nothing for a project without a repository.
    fn tracked(&self, root: &Path) -> Result<Option<BTreeSet<String>>, ()> {
        if !is_versioned(root) {
            return Ok(None);
        }
        Git::open(self.host(), root.to_owned()).and_then(|git| git.tracked()).map(Some).ok_or(())
    }

    /// A file as it is carried.
    fn carried(
        &self,
        root: &Path,
        path: &str,
        tracked: Option<&BTreeSet<String>>,
        guarded: &Guarded,
    ) -> Result<PortableFile, Obstacle> {
        let named = || path.to_owned();
        let unreadable = |error: io::Error| Obstacle::Unreadable(path.to_owned(), error.to_string());
        if path.contains(['\\', ':']) || path.chars().any(char::is_control) {
            return Err(Obstacle::Name(named()));
        }
        let file = fs::canonicalize(root.join(path)).map_err(unreadable)?;
        if Path::new(path).components().any(|part| !matches!(part, std::path::Component::Normal(_)))
            || !file.starts_with(root)
        {
            return Err(Obstacle::LeadsOut(named()));
        }
        if let Some(why) = guarded.opens(&file) {
            return Err(Obstacle::Secret(named(), why));
        }
        if tracked.is_some_and(|tracked| !tracked.contains(path)) {
            return Err(Obstacle::Untracked(named()));
        }
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.len() > LARGEST {
            return Err(Obstacle::TooLarge(named()));
        }
        let bytes = fs::read(&file).map_err(unreadable)?;
        let own = [root, &self.host().home].into_iter().filter(|own| own.parent().is_some());
        if let Some(own) = own.into_iter().find(|own| has_path(&bytes, own)) {
            return Err(Obstacle::OwnPath(named(), own.to_owned()));
        }
        Ok(PortableFile { bytes, is_executable: is_executable(&metadata) })
    }
}

/// The files of the project that git knows or would take, by their paths from there; nothing for a project without a repository. A
/// repository in the project is listed as a directory.
///
/// # Errors
/// When git can't be asked.
pub fn files_of_git(host: &Host) -> Result<Option<BTreeSet<PathBuf>>, Obstacle> {
    let root = real(&host.workspace);
    if !is_versioned(&root) {
        return Ok(None);
    }
    Git::open(host, root).and_then(|git| git.known()).map(Some).ok_or(Obstacle::NoGit)
}

/// Takes files out that hold keys or logins, and returns them. Paths are from the project.
pub fn take_keys(host: &Host, files: &mut BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let root = real(&host.workspace);
    let guarded = Guarded::new(host);
    files.extract_if(.., |file| guarded.opens(&root.join(file)).is_some()).collect()
}

fn is_versioned(root: &Path) -> bool {
    root.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok())
}

/// Whether a text has the path of a directory in it, alone or with what is below.
fn has_path(text: &[u8], directory: &Path) -> bool {
    let directory = directory.as_os_str().as_encoded_bytes();
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    text.windows(directory.len()).enumerate().any(|(at, window)| {
        window == directory
            && !text.get(at + directory.len()).is_some_and(|&next| goes_on(next))
            && !at.checked_sub(1).is_some_and(|before| goes_on(text[before]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_as_a_whole() {
        let found = |text: &str| has_path(text.as_bytes(), Path::new("/home/ada"));
        assert!(found("cat /home/ada/x") && found("cd /home/ada") && found("\"/home/ada\""));
        assert!(!found("/home/ada2/x") && !found("/mnt/home/adam") && !found("x/home/ada/y") && !found("home/ada"));
    }
}
