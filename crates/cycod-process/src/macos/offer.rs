//! Finding out whether Seatbelt holds here, by a trial.

use std::ffi::CStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::{
    Confinement, Ending, Lack, Mechanism, MemoryEnforcement, Offered, ProcessEnforcement, Program, Root, Session, Spec,
    StartError, Stop,
};

/// See [`crate::offered`].
pub(crate) fn offered() -> Offered {
    let lack = |why: String, fix: &str| Lack { mechanism: Mechanism::Seatbelt, why, fix: fix.to_owned() };
    let lacks = match trial() {
        Ok(()) => Vec::new(),
        Err(why) => vec![lack(why, "run it as an ordinary user outside of any other sandbox, or on Linux")],
    };
    let limits = lacks.is_empty().then_some((MemoryEnforcement::Unlimited, ProcessEnforcement::Unlimited));
    Offered { key: key(), landlock: None, lacks, limits }
}

/// Confines a program that does nothing, which must succeed, and one that reads a file of ours, which must fail.
fn trial() -> Result<(), String> {
    let file = std::env::temp_dir().join(format!("cycod-trial-{}", std::process::id()));
    let made = fs::write(&file, "read").and_then(|()| file.canonicalize());
    let result = made.map_err(|error| format!("a file for the trial cannot be made: {error}")).and_then(|path| {
        match ending("/usr/bin/true", None)? {
            Ending::Exited(0) => {}
            other => return Err(format!("a program that does nothing ended with {other:?}")),
        }
        match ending("/bin/cat", Some(&path))? {
            Ending::Exited(0) => Err("a confined program could read what it was not granted".to_owned()),
            _ => Ok(()),
        }
    });
    drop(fs::remove_file(&file));
    result
}

fn ending(program: &str, argument: Option<&Path>) -> Result<Ending, String> {
    let failed = |error: StartError| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        format!("{error}{source}")
    };
    let confinement = Some(Arc::new(Confinement::new(Root::Minimal)));
    let mut program = Program::new(program, "/");
    program.args.extend(argument.map(|path| path.as_os_str().to_owned()));
    let spec = Spec { confinement, ..Spec::new(program) };
    let opened = Session::new().and_then(|session| Ok((session, Stop::new()?)));
    let (session, stop) = opened.map_err(|error| error.to_string())?;
    session.run(&spec, &stop, &mut |_, _| {}).map(|ended| ended.ending).map_err(failed)
}

/// What the answer depends on.
fn key() -> String {
    // SAFETY: all-zero is a valid `utsname`.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills in texts that end with NUL, and the structure begins with such.
    let release = unsafe {
        libc::uname(&raw mut names);
        CStr::from_ptr(names.release.as_ptr())
    };
    format!("macos {}", release.to_string_lossy())
}
