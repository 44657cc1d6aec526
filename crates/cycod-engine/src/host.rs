//! The rim: the one place that reads the environment and the clock.

use std::{io, path::PathBuf, time::SystemTime};

use cycod_definition::{Host, Platform};

use crate::machine;

/// Describes this machine, this process's environment and this moment.
///
/// # Errors
/// When the working directory cannot be told, because it was removed.
#[expect(clippy::disallowed_methods, reason = "this is the rim: everything else gets the host as a value")]
pub fn current() -> io::Result<Host> {
    let environment: std::collections::BTreeMap<_, _> = std::env::vars_os().collect();
    let working_directory = std::env::current_dir()?;
    let variable = |name: &str| environment.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty());
    let home = variable("HOME").or_else(|| variable("USERPROFILE")).map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let offered = machine::offered(&environment, &working_directory);
    Ok(Host {
        platform: PLATFORM,
        home,
        workspace: working_directory.clone(),
        working_directory,
        temp: std::env::temp_dir(),
        environment,
        now: SystemTime::now(),
        offered,
    })
}

const PLATFORM: Platform = if cfg!(windows) {
    Platform::Windows
} else if cfg!(target_os = "macos") {
    Platform::Macos
} else {
    Platform::Linux
};
