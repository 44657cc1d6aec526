//! Why something did not start, and the exit code that stands for it.

use cycod_diagnostic::{Code, Exit, Refusal};
use cycod_process::{ProgramNotFound, StartError};

use crate::confine::unconfinable;

/// The exit code of a step that ended with a refusal.
pub(crate) fn exit_code(refusal: &Refusal) -> i32 {
    match refusal.code.exit() {
        // What a step gives to a tool is not what the caller gave.
        Exit::Usage => Exit::Failure.in_result(),
        exit => exit.in_result(),
    }
}

/// Why a program did not start, and the exit code that stands for it.
pub(crate) struct Failure {
    pub(crate) refusal: Box<Refusal>,
    pub(crate) exit_code: i32,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { exit_code: exit_code(&refusal), refusal: Box::new(refusal) }
    }
}

pub(crate) fn not_found(error: &ProgramNotFound) -> Failure {
    let (refusal, exit_code) = match error {
        ProgramNotFound::Missing { name } => {
            let name = name.display();
            let refusal = Refusal::new(Code::ProgramMissing, format!("`{name}` is not installed, or not on the PATH"))
                .place(name.to_string())
                .attempt(format!("install `{name}`"));
            (refusal, 127)
        }
        ProgramNotFound::NotExecutable { path } => {
            let path = path.display();
            let (why, attempt) = if cfg!(windows) {
                let why = format!("`{path}` is a batch file, and cmd.exe would read the arguments for it as code");
                (why, "start it with `cmd:`".to_owned())
            } else {
                (format!("`{path}` is not executable"), format!("chmod +x {path}"))
            };
            (Refusal::new(Code::ProgramMissing, why).place(path.to_string()).attempt(attempt), 126)
        }
    };
    Failure { refusal: Box::new(refusal), exit_code }
}

pub(crate) fn not_started(error: &StartError) -> Failure {
    if let Some(refusal) = unconfinable(error) {
        return refusal.into();
    }
    let why = match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    let exit_code = if error.is_program_missing() { 127 } else { 126 };
    Failure { refusal: Box::new(Refusal::new(Code::NotStarted, why)), exit_code }
}
