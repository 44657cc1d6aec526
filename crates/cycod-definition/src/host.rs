//! The machine that a call is made for: its directories, its environment, and what it can hold a tool to.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    ops::{Deref, DerefMut},
    path::PathBuf,
    sync::{Arc, OnceLock},
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
    pub environment: EnvironmentVariables,
    /// The one instant of the run.
    pub now: SystemTime,
    /// What this program can hold a tool to here.
    pub offered: OfferedConfinement,
}

impl Host {
    /// The value of a variable of the environment; Windows takes no account of the case of its name.
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        let exact = self.environment.get(OsStr::new(name));
        if exact.is_some() || self.platform != Platform::Windows {
            return exact;
        }
        self.environment.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// The variables of an environment. Copies share them until one is changed.
#[derive(Clone, Default)]
pub struct EnvironmentVariables(Arc<Shared>);

#[derive(Clone, Default)]
struct Shared {
    all: BTreeMap<OsString, OsString>,
    /// Each call asks for them several times.
    secrets: OnceLock<Vec<String>>,
}

impl EnvironmentVariables {
    /// The values of the variables whose [names say](speaks_of_secret) that they are secrets. What isn't Unicode is left out.
    pub fn secrets(&self) -> &[String] {
        self.0.secrets.get_or_init(|| {
            let named = self.iter().filter(|(name, _)| name.to_str().is_some_and(speaks_of_secret));
            named.filter_map(|(_, value)| value.to_str().map(str::to_owned)).collect()
        })
    }
}

impl Deref for EnvironmentVariables {
    type Target = BTreeMap<OsString, OsString>;

    fn deref(&self) -> &Self::Target {
        &self.0.all
    }
}

impl DerefMut for EnvironmentVariables {
    fn deref_mut(&mut self) -> &mut Self::Target {
        let variables = Arc::make_mut(&mut self.0);
        variables.secrets = OnceLock::new();
        &mut variables.all
    }
}

impl From<BTreeMap<OsString, OsString>> for EnvironmentVariables {
    fn from(all: BTreeMap<OsString, OsString>) -> Self {
        Self(Arc::new(Shared { all, secrets: OnceLock::new() }))
    }
}

impl<const N: usize> From<[(OsString, OsString); N]> for EnvironmentVariables {
    fn from(all: [(OsString, OsString); N]) -> Self {
        BTreeMap::from(all).into()
    }
}

impl FromIterator<(OsString, OsString)> for EnvironmentVariables {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(variables: T) -> Self {
        variables.into_iter().collect::<BTreeMap<_, _>>().into()
    }
}

/// Shows no values: some are secrets.
impl fmt::Debug for EnvironmentVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

/// Whether a variable's name says that its value is a secret.
pub fn speaks_of_secret(name: &str) -> bool {
    const WORDS: [&[u8]; 4] = [b"TOKEN", b"KEY", b"SECRET", b"PASSWORD"];
    let name = name.as_bytes();
    WORDS.iter().any(|word| name.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word)))
}

/// What a machine can hold a tool to, found out when it is first asked: a trial of the kernel's mechanisms costs more than
/// planning a call that needs none of them.
#[derive(Clone)]
pub struct OfferedConfinement(Arc<Verdicts>);

/// Says why a demand cannot be met, if it cannot.
type Verdicts = dyn Fn(Demand) -> Result<(), Unmet> + Send + Sync;

/// Why a machine cannot hold a tool to what is demanded of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unmet {
    /// What is missing here, and how to get it where that is known.
    pub why: String,
}

impl Unmet {
    /// Says what is missing.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

impl OfferedConfinement {
    /// Asks `verdicts` each time; what costs something is remembered there.
    pub fn by(verdicts: impl Fn(Demand) -> Result<(), Unmet> + Send + Sync + 'static) -> Self {
        Self(Arc::new(verdicts))
    }

    /// A machine that can hold a tool to nothing, as where no mechanism is known.
    pub fn nothing() -> Self {
        Self::by(|_| Err(Unmet::new("there is no mechanism for it on this platform")))
    }

    /// Asks whether a demand can be met.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn meets(&self, demand: Demand) -> Result<(), Unmet> {
        (self.0)(demand)
    }
}

impl fmt::Debug for OfferedConfinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Offered")
    }
}
