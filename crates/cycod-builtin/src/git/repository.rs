use std::{
    fs,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use cycod_diagnostic::{Code, Refusal};
use cycod_file::open_plain;
use cycod_run::ToolPlatform;

use super::ask;
use crate::failure::Failure;

/// The most bytes of a file of git's that names a place.
const MOST: u64 = 64 << 10;

/// A repository whose parts lie where they belong.
#[derive(Debug)]
pub(super) struct Repository {
    /// The directory with the files.
    top: PathBuf,
    /// Where git works.
    directory: PathBuf,
}

impl Repository {
    /// Finds the repository of the directory where the tool works.
    ///
    /// It may enclose the workspace. But a directory that says that its files, its history or its objects are elsewhere is
    /// believed only where the tool may read that place, or where that place says the same: as git's own worktrees do.
    pub(super) fn find(platform: &ToolPlatform<'_>) -> Result<Self, Failure> {
        let words =
            ["rev-parse", "--show-toplevel", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir"];
        let asked = ask(platform, &words)?;
        let said = String::from_utf8_lossy(&asked.stdout).into_owned();
        if asked.exit_code != 0 {
            let why = String::from_utf8_lossy(&asked.stderr);
            let why = why.trim().trim_start_matches("fatal: ");
            let hint = if why.contains("not a git repository") { ": make one with `git init`" } else { "" };
            return Err(Failure::new(format!(
                "git cannot be used in `{}`: {why}{hint}",
                platform.directory().display()
            )));
        }
        let paths: Option<Vec<PathBuf>> = said.lines().map(|line| Path::new(line).canonicalize().ok()).collect();
        let (Some([top, git, common]), Ok(directory)) = (paths.as_deref(), platform.directory().canonicalize()) else {
            return Err(Failure::new("git does not report where the repository is"));
        };
        let nearest = directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
        if nearest != Some(top.as_path()) {
            elsewhere(platform, "files", top)?;
        }
        let own = top.join(".git");
        let is_plain =
            fs::symlink_metadata(&own).is_ok_and(|metadata| metadata.is_dir()) && *git == own && git == common;
        if !is_plain && !is_worktree(&own, git, common) {
            elsewhere(platform, "history", git)?;
            elsewhere(platform, "history", common)?;
        }
        let objects = common.join("objects");
        if let Ok(real) = objects.canonicalize()
            && !real.starts_with(common)
        {
            elsewhere(platform, "objects", &real)?;
        }
        for other in small(&objects.join("info/alternates")).lines().filter(|line| !line.starts_with('#')) {
            let other = objects.join(other);
            let real = other.canonicalize().unwrap_or(other);
            if !real.starts_with(common) {
                elsewhere(platform, "objects", &real)?;
            }
        }
        Ok(Self { top: top.clone(), directory })
    }

    /// Whether its files may be keys and logins: it contains the home directory, or lies in a hidden place of it.
    pub(super) fn holds_keys(&self, platform: &ToolPlatform<'_>) -> bool {
        let home = &platform.host().home;
        let home = home.canonicalize().unwrap_or_else(|_| home.clone());
        home.starts_with(&self.top) || platform.guarded().opens(&self.top).is_some()
    }

    /// Refuses to show what is in its files.
    pub(super) fn shows_keys(&self, operation: &str) -> Failure {
        let top = self.top.display();
        let why =
            format!("`git {operation}` would show files of `{top}`, which holds keys and logins of your programs");
        Refusal::new(Code::HoldsASecret, why)
            .rule("tools that cycod carries out itself read no keys, logins and passwords".to_owned())
            .place(top.to_string())
            .attempt("run git by `bash_execution`, which needs approval")
            .into()
    }

    /// Refuses an argument that as a path would lead out of the repository: git reads any files when two are compared.
    pub(super) fn check_stays(&self, argument: &str) -> Result<(), Failure> {
        let mut path = PathBuf::new();
        for part in self.directory.join(argument).components() {
            match part {
                Component::ParentDir => drop(path.pop()),
                Component::CurDir => {}
                part => path.push(part),
            }
        }
        if path.starts_with(&self.top) {
            return Ok(());
        }
        let why = format!("`{argument}` lies outside the repository `{}`", self.top.display());
        Err(Refusal::new(Code::OutsideWorkspace, why)
            .place(argument)
            .attempt("name something in the repository")
            .into())
    }
}

/// Whether `git` is where git keeps a worktree's own state, and says that it belongs to the directory of `own`.
fn is_worktree(own: &Path, git: &Path, common: &Path) -> bool {
    let is_file = fs::symlink_metadata(own).is_ok_and(|metadata| metadata.is_file());
    let back = PathBuf::from(small(&git.join("gitdir")).trim_end());
    is_file
        && git.parent() == Some(&common.join("worktrees"))
        && back.canonicalize().is_ok_and(|back| own.canonicalize().is_ok_and(|own| own == back))
}

/// A small file, as far as there is one.
fn small(path: &Path) -> String {
    let mut text = Vec::new();
    let file = open_plain(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()));
    // One that cannot be read names no place, for git neither.
    _ = file.map(|file| file.take(MOST).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

fn elsewhere(platform: &ToolPlatform<'_>, what: &str, place: &Path) -> Result<(), Failure> {
    match platform.may_read(place) {
        Ok(_) => Ok(()),
        Err(refusal) => Err(Refusal {
            why: format!("the repository says that its {what} are in `{}`, which is out of reach", place.display()),
            ..refusal
        }
        .into()),
    }
}
