//! How macOS confines a program: `sandbox-exec`, the program of the system for Seatbelt, is given a profile and becomes the
//! program.
//!
//! Nothing here has ever run on macOS. What is known of the language of profiles comes from profiles that others have
//! published, and from the Scheme that it is made of.

#[cfg(target_os = "macos")]
mod computing;
mod profile;

use std::io;
use std::path::{Path, PathBuf};

use crate::{Confinement, Mechanism, Program, StartError};
#[cfg(target_os = "macos")]
pub(crate) use computing::compute_only;
pub(crate) use profile::Profile;

/// A part of the system, which users can't change. Another one of its name, earlier on the search path, would confine nothing.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// The program that starts `program` under these terms.
pub(crate) fn confined(program: &Program, terms: &Confinement) -> Result<Program, StartError> {
    let refused = |doing: String, source| StartError::Confine {
        program: program.path.clone(),
        mechanism: Mechanism::Seatbelt,
        doing,
        source,
    };
    let (terms, names) = by_real_paths(terms)
        .map_err(|(target, source)| refused(format!("find out where `{}` leads", target.display()), source))?;
    let profile =
        Profile::of(&terms, &names).map_err(|unheld| refused(unheld.to_string(), io::ErrorKind::Unsupported.into()))?;
    let mut args = profile.arguments();
    args.push("--".into());
    args.push(program.path.clone().into());
    args.extend(program.args.iter().cloned());
    Ok(Program { args, env: program.env.clone(), ..Program::new(SANDBOX_EXEC, &program.cwd) })
}

/// The terms with each mount where it is, and the names by which the program finds what is called otherwise.
///
/// Seatbelt knows files by their real paths, and moves nothing. A name that leads to the source by links needs no more than
/// that the links can be followed; any other is left as it is, for the profile to refuse.
fn by_real_paths(terms: &Confinement) -> Result<(Confinement, Vec<PathBuf>), (PathBuf, io::Error)> {
    let mut terms = terms.clone();
    let mut names = Vec::new();
    for mount in &mut terms.mounts {
        let real = |path: &Path| path.canonicalize().map_err(|error| (path.to_owned(), error));
        // What lies behind a link that came meanwhile is not what was granted.
        if real(&mount.source)? != mount.source {
            return Err((mount.source.clone(), io::ErrorKind::InvalidInput.into()));
        }
        if mount.target != mount.source && mount.target.canonicalize().is_ok_and(|path| path == mount.source) {
            names.push(std::mem::replace(&mut mount.target, mount.source.clone()));
        }
    }
    Ok((terms, names))
}

#[cfg(target_os = "macos")]
pub(crate) mod offer;

#[cfg(test)]
mod tests;
