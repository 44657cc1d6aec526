use std::io;
use std::path::PathBuf;

use crate::Mechanism;

/// Why a program did not start. Whatever the reason, nothing of it is left running.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A NUL byte, which no argument, variable or path can carry.
    #[error("{what} of `{}` holds a NUL byte", program.display())]
    Nul {
        /// The program that was to be started.
        program: PathBuf,
        /// Which part holds the byte.
        what: &'static str,
    },
    /// The system did not give what a start needs (descriptors, memory, processes).
    #[error("cannot {doing} to start `{}`", program.display())]
    Prepare {
        /// The program that was to be started.
        program: PathBuf,
        /// What we were doing.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The directory to start in is missing or closed to us.
    #[error("cannot enter directory `{}` to start `{}`", cwd.display(), program.display())]
    Directory {
        /// The program that was to be started.
        program: PathBuf,
        /// The directory.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program is a script whose `#!` line names an interpreter that cannot be executed.
    #[error("cannot start `{}`: its interpreter `{}` cannot be executed", program.display(), interpreter.display())]
    Interpreter {
        /// The script that was to be started.
        program: PathBuf,
        /// What its first line names.
        interpreter: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused to execute the file.
    #[error("cannot execute `{}`", program.display())]
    Execute {
        /// The program that was to be started.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What the program was to be confined with does not work, so it was not started without it.
    #[error("cannot confine `{}` by {mechanism}: cannot {doing}", program.display())]
    Confine {
        /// The program that was to be started.
        program: PathBuf,
        /// What failed.
        mechanism: Mechanism,
        /// What we were doing, and to what.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// This platform cannot give what the terms ask for, so the program was not started without it.
    #[error("cannot start `{}` with {what} on this platform", program.display())]
    Unsupported {
        /// The program that was to be started.
        program: PathBuf,
        /// What was asked for.
        what: &'static str,
    },
}

impl StartError {
    /// Returns whether the program itself is missing: not its directory, not its interpreter.
    pub fn is_program_missing(&self) -> bool {
        matches!(self, StartError::Execute { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Tells which of its parts made an execution fail.
    #[cfg(unix)]
    pub(crate) fn execute(program: PathBuf, source: io::Error) -> StartError {
        let script = matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
        match script.then(|| interpreter(&program)).flatten() {
            Some(interpreter) => StartError::Interpreter { program, interpreter, source },
            None => StartError::Execute { program, source },
        }
    }
}

/// Reads the interpreter out of an executable script's first line.
#[cfg(unix)]
pub(crate) fn interpreter(program: &std::path::Path) -> Option<PathBuf> {
    use std::ffi::OsStr;
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    let mut file = std::fs::File::open(program).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
        return None;
    }
    let mut head = [0; 256];
    let length = file.read(&mut head).ok()?;
    let line = head[..length].strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
    let name = line.trim_ascii().split(|b| b.is_ascii_whitespace()).next()?;
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name)))
}
