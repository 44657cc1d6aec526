use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::PathBuf,
    time::SystemTime,
};

use crate::{Demand, Platform};

/// The machine and the moment a call is made for: read once, at the rim, and passed on as a value.
#[derive(Clone, Debug)]
pub struct Host {
    /// The operating system.
    pub platform: Platform,
    /// The user's home directory.
    pub home: PathBuf,
    /// The directory the caller stands in.
    pub working_directory: PathBuf,
    /// The directory that owns the active local scope, else the working directory.
    pub workspace: PathBuf,
    /// The system's directory for temporary files.
    pub temp: PathBuf,
    /// The environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// The one instant of the run.
    pub now: SystemTime,
    /// What this program can hold a tool to here.
    pub offered: BTreeSet<Demand>,
}
