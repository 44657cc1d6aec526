//! The rim: the one place that reads the environment and the clock.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use cycod_definition::{EnvironmentVariables, Host, OfferedConfinement, Platform};
use cycod_process::{is_below_a_run, variable_above_runs};

use crate::{
    machine,
    trust::trusted::{TRUST_FILE, TRUSTED_DIRECTORIES},
};

/// Variables by which a person grants something, or says where it stands what they granted.
const GRANTS: [&str; 4] = [TRUSTED_DIRECTORIES, TRUST_FILE, "CYCOD_AUTO_APPROVE", "CYCOD_HOME"];

/// Describes this machine, this process's environment and this moment.
///
/// # Errors
/// When the working directory cannot be told, because it was removed.
#[expect(clippy::disallowed_methods, reason = "this is the rim: everything else gets the host as a value")]
pub fn current() -> io::Result<Host> {
    let mut environment: EnvironmentVariables =
        std::env::vars_os().map(|(name, value)| (one_case(name), value)).collect();
    let is_below_a_run = is_below_a_run();
    if is_below_a_run {
        // What a tool sets for a program of ours that it starts is not what the person said.
        for name in
            GRANTS.map(OsStr::new).into_iter().filter(|name| environment.contains_key(*name)).collect::<Vec<_>>()
        {
            match variable_above_runs(name) {
                Some(value) => environment.insert(name.to_owned(), value),
                None => environment.remove(name),
            };
        }
    }
    let working_directory = std::env::current_dir()?;
    let variable = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
    // The home holds what was trusted and allowed. A tool may show another one to what it starts, but not move that.
    let above = |name: &str| {
        let value = is_below_a_run.then(|| variable_above_runs(OsStr::new(name))).flatten();
        value.filter(|value| !value.is_empty())
    };
    let named = |name: &str| above(name).or_else(|| variable(name).cloned());
    let home = named("HOME").or_else(|| named("USERPROFILE")).map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let offered = offered(&environment, &working_directory);
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

/// The name of a variable as it is looked up: Windows knows `Path` and `PATH` for one.
fn one_case(name: OsString) -> OsString {
    if cfg!(windows) { name.to_ascii_uppercase() } else { name }
}

/// What this machine can hold a tool to, for a host with another environment than this process.
pub fn offered(environment: &EnvironmentVariables, directory: &Path) -> OfferedConfinement {
    machine::offered(environment, directory)
}

const PLATFORM: Platform = if cfg!(windows) {
    Platform::Windows
} else if cfg!(target_os = "macos") {
    Platform::Macos
} else {
    Platform::Linux
};
