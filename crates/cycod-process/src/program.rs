//! One program with everything it is given, and how it is found on the search path.

use std::ffi::{OsStr, OsString};
use std::io;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Command;

/// One program with everything it is given: nothing is taken from our own environment behind the caller's back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// The file to execute; absolute, see [`find_program`].
    pub path: PathBuf,
    /// What the program sees as its own name, when that differs from `path`.
    pub arg0: Option<OsString>,
    /// The arguments after the name.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The directory it starts in.
    pub cwd: PathBuf,
}

impl Program {
    /// Returns a program without arguments and with an empty environment.
    pub fn new(path: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Program {
        Program { path: path.into(), arg0: None, args: Vec::new(), env: Vec::new(), cwd: cwd.into() }
    }

    /// Appends one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Program {
        self.args.push(arg.into());
        self
    }

    /// Sets one variable; a later value for the same name wins.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Program {
        let name = name.into();
        self.env.retain(|(known, _)| *known != name);
        self.env.push((name, value.into()));
        self
    }

    /// Refuses a program of which a part holds a NUL byte.
    pub(crate) fn without_nul(&self) -> io::Result<()> {
        let Some(what) = self.nul() else { return Ok(()) };
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{what} holds a NUL byte")))
    }

    /// The program with its arguments, its environment and its directory, and nothing of ours.
    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "the home of `Command`: directory and environment are explicit")]
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.cwd);
        if let Some(arg0) = &self.arg0 {
            command.arg0(arg0);
        }
        command
    }

    /// Returns which part holds a NUL byte, if one does.
    pub(crate) fn nul(&self) -> Option<&'static str> {
        let nul = |text: &OsStr| text.as_encoded_bytes().contains(&0);
        [
            ("the path", nul(self.path.as_os_str())),
            ("the directory", nul(self.cwd.as_os_str())),
            ("the name", self.arg0.as_deref().is_some_and(nul)),
            ("an argument", self.args.iter().any(|arg| nul(arg))),
            ("the environment", self.env.iter().any(|(name, value)| nul(name) || nul(value))),
        ]
        .into_iter()
        .find_map(|(what, found)| found.then_some(what))
    }
}

/// Why a name on the search path led to no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramNotFound {
    /// No directory of the search path holds the name.
    #[error("cannot find program `{}` in the search path", name.display())]
    Missing {
        /// The name as it was asked for.
        name: OsString,
    },
    /// A file of that name is there, and none of them may be executed.
    #[error("found `{}`, but it is not an executable file", path.display())]
    NotExecutable {
        /// The first such file.
        path: PathBuf,
    },
}

/// Finds the file that `execvp` would run for `name`, and returns it as an absolute path.
///
/// A name with a separator in it is a path from `cwd`. Otherwise the directories of `path_var` are tried in order, an
/// empty one standing for `cwd`; a file that may not be executed does not end the search, but it is remembered, because
/// "not executable" helps more than "not found".
pub fn find_program(name: &OsStr, path_var: &OsStr, cwd: &Path) -> Result<PathBuf, ProgramNotFound> {
    let missing = || ProgramNotFound::Missing { name: name.to_owned() };
    if name.is_empty() {
        return Err(missing());
    }
    let mut refused = None;
    let mut consider = |directory: &Path| {
        for candidate in candidates(&cwd.join(directory).join(name)) {
            match probe(&candidate) {
                Probe::Executable => return Some(candidate),
                Probe::Refused if refused.is_none() => refused = Some(candidate),
                Probe::Refused | Probe::Absent => {}
            }
        }
        None
    };
    let is_path = Path::new(name).components().count() != 1
        || name.as_encoded_bytes().iter().any(|&b| std::path::is_separator(b.into()));
    let found = if is_path {
        consider(Path::new(""))
    } else {
        std::env::split_paths(path_var).find_map(|directory| consider(&directory))
    };
    match (found, refused) {
        (Some(path), _) => Ok(path),
        (None, Some(path)) => Err(ProgramNotFound::NotExecutable { path }),
        (None, None) => Err(missing()),
    }
}

enum Probe {
    Executable,
    Refused,
    Absent,
}

#[cfg(unix)]
fn candidates(path: &Path) -> [PathBuf; 1] {
    [path.to_owned()]
}

#[cfg(unix)]
fn probe(path: &Path) -> Probe {
    use std::os::unix::ffi::OsStrExt;
    match path.metadata() {
        Ok(meta) if meta.is_file() => {
            let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return Probe::Absent };
            // SAFETY: `path` is a NUL-terminated string that lives across the call.
            let allowed = unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::X_OK, libc::AT_EACCESS) } == 0;
            if allowed { Probe::Executable } else { Probe::Refused }
        }
        Ok(_) => Probe::Refused,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Probe::Refused,
        Err(_) => Probe::Absent,
    }
}

/// Windows runs a bare name by trying the extensions of programs. A batch file is none, but it is what is there.
#[cfg(not(unix))]
fn candidates(path: &Path) -> Vec<PathBuf> {
    let with = |extension: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(extension);
        PathBuf::from(name)
    };
    let named = path.extension().map(|_| path.to_owned());
    named.into_iter().chain([".exe", ".com", ".cmd", ".bat"].map(with)).collect()
}

/// A batch file is run by `cmd.exe`, which reads the arguments of a program as code. So it is not started as one.
#[cfg(not(unix))]
fn probe(path: &Path) -> Probe {
    let is_batch =
        path.extension().is_some_and(|extension| ["cmd", "bat"].iter().any(|one| extension.eq_ignore_ascii_case(one)));
    match path.metadata() {
        Ok(meta) if meta.is_file() && is_batch => Probe::Refused,
        Ok(meta) if meta.is_file() => Probe::Executable,
        Ok(_) => Probe::Refused,
        Err(_) => Probe::Absent,
    }
}
