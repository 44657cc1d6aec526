//! Whether a tool can run on this machine, and why not.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fmt, fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use cycod_definition::{Demand, Host, OfferedConfinement, Platform};

use crate::Summary;

/// Whether a tool can run on this machine. One that cannot is still listed, and never run with less than it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// Nothing speaks against it.
    Available,
    /// What speaks against it, everything at once.
    Unavailable(Vec<UnavailableReason>),
}

impl Availability {
    /// Adds a reason why not.
    pub(crate) fn and_not(self, reason: UnavailableReason) -> Self {
        match self {
            Self::Available => Self::Unavailable(vec![reason]),
            Self::Unavailable(mut reasons) => {
                reasons.push(reason);
                Self::Unavailable(reasons)
            }
        }
    }

    /// Who turned the tool off, if somebody did.
    pub fn turned_off(&self) -> Option<&str> {
        let Self::Unavailable(reasons) = self else { return None };
        reasons
            .iter()
            .find_map(|reason| if let UnavailableReason::TurnedOff(place) = reason { Some(&**place) } else { None })
    }

    /// Adds what speaks against the tool that an alias stands for.
    pub(crate) fn and_of(self, base: Self) -> Self {
        match base {
            Self::Available => self,
            Self::Unavailable(reasons) => reasons.into_iter().fold(self, |sum, reason| match &sum {
                Self::Unavailable(known) if known.contains(&reason) => sum,
                _ => sum.and_not(reason),
            }),
        }
    }

    /// The same, had nobody turned the tool off.
    #[must_use]
    pub fn if_on(&self) -> Self {
        match self {
            Self::Available => Self::Available,
            Self::Unavailable(reasons) => {
                let mut reasons = reasons.clone();
                reasons.retain(|reason| !matches!(reason, UnavailableReason::TurnedOff(_)));
                if reasons.is_empty() { Self::Available } else { Self::Unavailable(reasons) }
            }
        }
    }
}

/// Why a tool cannot run on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnavailableReason {
    /// It says that it works elsewhere.
    OtherPlatforms(Vec<Platform>),
    /// One of its commands has no text for this platform.
    NoCommand(Platform),
    /// A program that reads its commands is not on the `PATH`.
    MissingInterpreter(String),
    /// A program that it requires is not on the `PATH`.
    MissingCommand(String),
    /// A variable that it requires is not set.
    MissingVariable(String),
    /// It needs a newer version of this program.
    NewerVersion(semver::Version),
    /// It asks to be held to something that cannot be enforced, and why not.
    NotEnforced(Demand, String),
    /// The program that offers it is not trusted with it.
    Withheld(String),
    /// Somebody turned it off, there.
    TurnedOff(String),
}

impl fmt::Display for UnavailableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherPlatforms(platforms) => {
                let names: Vec<&str> = platforms.iter().map(|platform| platform.name()).collect();
                write!(f, "runs only on {}", names.join(", "))
            }
            Self::NoCommand(platform) => write!(f, "has no command for {platform}"),
            Self::MissingInterpreter(program) => write!(f, "`{program}`, which runs its commands, is not on the PATH"),
            Self::MissingCommand(program) => {
                write!(f, "requires `{program}`, which is not on the PATH")
            }
            Self::MissingVariable(name) => write!(f, "requires the environment variable `{name}`"),
            Self::NewerVersion(version) => write!(f, "requires cycod {version} or newer"),
            Self::NotEnforced(demand, why) => write!(f, "asks for {demand}, which cannot be enforced here: {why}"),
            Self::Withheld(why) => f.write_str(why),
            Self::TurnedOff(place) => write!(f, "is turned off by {place}"),
        }
    }
}

/// What of a host decides about availability, with the answers so far: many tools ask for one program.
#[derive(Debug)]
pub(crate) struct Machine {
    platform: Platform,
    search: Vec<PathBuf>,
    extensions: Vec<OsString>,
    variables: Vec<OsString>,
    programs: Mutex<HashMap<String, bool>>,
    offered: OfferedConfinement,
}

impl Machine {
    pub(crate) fn of(host: &Host) -> Self {
        let variable = |wanted: &str| {
            let same = |name: &OsString| {
                if host.platform.is_unix() { name == wanted } else { name.eq_ignore_ascii_case(wanted) }
            };
            host.environment.iter().find(|(name, _)| same(name)).map(|(_, value)| value.as_os_str())
        };
        let search = variable("PATH").map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
        let extensions = if host.platform.is_unix() {
            vec![OsString::new()]
        } else {
            let listed = variable("PATHEXT").and_then(OsStr::to_str).unwrap_or(".COM;.EXE;.BAT;.CMD");
            std::iter::once("").chain(listed.split(';')).map(OsString::from).collect()
        };
        let variables = host.environment.keys().cloned().collect();
        let offered = host.offered.clone();
        Self { platform: host.platform, search, extensions, variables, programs: Mutex::default(), offered }
    }

    pub(crate) fn availability(&self, summary: &Summary) -> Availability {
        let mut reasons = Vec::new();
        if !summary.platforms.is_empty() && !summary.platforms.contains(&self.platform) {
            reasons.push(UnavailableReason::OtherPlatforms(summary.platforms.iter().copied().collect()));
        } else if summary.speechless.contains(&self.platform) {
            reasons.push(UnavailableReason::NoCommand(self.platform));
        }
        let needed = summary.programs.iter().filter(|program| program.platforms.contains(&self.platform));
        for program in needed.filter(|program| !self.has_program(&program.name)) {
            reasons.push(UnavailableReason::MissingInterpreter(program.name.clone()));
        }
        let commands = summary.required_commands.iter().map(String::as_str);
        reasons.extend(self.lacking(commands, summary.required_variables.iter().map(String::as_str)));
        if let Some(version) = summary.min_cycod_version.as_ref().filter(|version| **version > our_version()) {
            reasons.push(UnavailableReason::NewerVersion(version.clone()));
        }
        let unmet =
            |&demand: &Demand| Some(UnavailableReason::NotEnforced(demand, self.offered.meets(demand).err()?.why));
        reasons.extend(summary.demands.iter().filter_map(unmet));
        if reasons.is_empty() { Availability::Available } else { Availability::Unavailable(reasons) }
    }

    /// What is not there of the programs and variables that a tool requires.
    pub(crate) fn lacking<'r>(
        &self,
        commands: impl Iterator<Item = &'r str>,
        variables: impl Iterator<Item = &'r str>,
    ) -> Vec<UnavailableReason> {
        let commands = commands.filter(|command| !self.has_program(command));
        let variables = variables.filter(|name| !self.has_variable(name));
        let commands = commands.map(|command| UnavailableReason::MissingCommand(command.to_owned()));
        commands.chain(variables.map(|name| UnavailableReason::MissingVariable(name.to_owned()))).collect()
    }

    fn has_variable(&self, wanted: &str) -> bool {
        let same = |name: &OsString| {
            if self.platform.is_unix() { name == wanted } else { name.eq_ignore_ascii_case(wanted) }
        };
        self.variables.iter().any(same)
    }

    fn has_program(&self, name: &str) -> bool {
        // A relative path is found from wherever the tool will run, which only a call decides.
        if name.contains('/') || (!self.platform.is_unix() && name.contains('\\')) {
            return !Path::new(name).is_absolute() || self.is_program(Path::new(name));
        }
        let mut known = self.programs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(&is_there) = known.get(name) {
            return is_there;
        }
        let is_there = self.search.iter().any(|directory| self.is_program(&directory.join(name)));
        known.insert(name.to_owned(), is_there);
        is_there
    }

    fn is_program(&self, path: &Path) -> bool {
        self.extensions.iter().any(|extension| {
            let mut candidate = path.as_os_str().to_owned();
            candidate.push(extension);
            fs::metadata(&candidate).is_ok_and(|metadata| metadata.is_file() && may_be_run(&metadata))
        })
    }
}

/// The version that `min-cycod-version` is compared with.
fn our_version() -> semver::Version {
    semver::Version::parse(env!("CARGO_PKG_VERSION")).expect("cargo accepts only versions that parse")
}

#[cfg(unix)]
fn may_be_run(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn may_be_run(_: &fs::Metadata) -> bool {
    true
}
