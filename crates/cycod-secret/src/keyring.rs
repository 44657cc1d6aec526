//! Secrets in the keyring of the system.

mod call;
mod keychain;
mod secret_service;

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use cycod_definition::EnvironmentVariables;
use cycod_process::{Ending, Input, Program, Session, Spec, Stop, Stream, find_program};
use zeroize::Zeroizing;

use crate::SecretError;
use call::{Call, Item};

/// How long the keyring may take: it may ask a person to unlock it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The keyring of the system, by its own program: `secret-tool` for the Secret Service, `security` for the Keychain.
///
/// Values go in and out by the program's standard streams, never by its arguments. They are kept as Base64, because not every
/// keyring gives back the bytes it was given.
#[derive(Debug)]
pub(crate) struct Keyring {
    system: System,
    environment: EnvironmentVariables,
    /// Whose secrets these are: several of our directories share one keyring.
    home: PathBuf,
}

impl Keyring {
    pub(crate) fn new(environment: &EnvironmentVariables, home: &Path) -> Self {
        let system = if cfg!(target_os = "macos") { System::Keychain } else { System::SecretService };
        Self { system, environment: environment.clone(), home: home.to_owned() }
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Zeroizing<String>>, SecretError> {
        let item = self.item(name);
        let call = match self.system {
            System::Keychain => keychain::get(&item),
            System::SecretService => secret_service::get(&item),
        };
        let Some(answer) = self.run(&call)? else { return Ok(None) };
        let bytes = BASE64_STANDARD.decode(answer.trim_ascii()).map(Zeroizing::new).ok();
        let value = bytes.and_then(|bytes| Some(Zeroizing::new(str::from_utf8(&bytes).ok()?.to_owned())));
        value.map(Some).ok_or_else(|| SecretError::Keyring(format!("what it has as `{name}` was not put there by us")))
    }

    pub(crate) fn set(&self, name: &str, value: &str) -> Result<(), SecretError> {
        let item = self.item(name);
        let encoded = Zeroizing::new(BASE64_STANDARD.encode(value));
        let call = match self.system {
            System::Keychain => keychain::set(&item, &encoded).map_err(SecretError::Keyring)?,
            System::SecretService => secret_service::set(&item, &encoded),
        };
        match self.run(&call)? {
            Some(_) if self.get(name)?.is_some_and(|kept| *kept == *value) => Ok(()),
            _ => Err(SecretError::Keyring(format!("it did not take `{name}`"))),
        }
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), SecretError> {
        let item = self.item(name);
        let call = match self.system {
            System::Keychain => keychain::remove(&item),
            System::SecretService => secret_service::remove(&item),
        };
        self.run(&call)?;
        match self.get(name)? {
            None => Ok(()),
            Some(_) => Err(SecretError::Keyring(format!("it did not remove `{name}`"))),
        }
    }

    fn item<'a>(&'a self, name: &'a str) -> Item<'a> {
        Item { home: &self.home, name }
    }

    /// Runs the system's program; nothing comes of one that reports failure without a word, which is how both say that there
    /// is no such item.
    fn run(&self, call: &Call) -> Result<Option<Zeroizing<Vec<u8>>>, SecretError> {
        let name = self.system.program();
        if self.system == System::SecretService && !self.has_bus() {
            return Err(SecretError::Keyring("there is no session bus (DBUS_SESSION_BUS_ADDRESS)".to_owned()));
        }
        let failed = |why: String| SecretError::Keyring(format!("`{name}` {why}"));
        let search = self.search();
        let path =
            find_program(OsStr::new(name), &search, &self.home).map_err(|_| failed("is not installed".into()))?;
        let mut program = Program::new(path, &self.home);
        program.args = call.arguments.iter().map(Into::into).collect();
        program.env = self.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut spec = Spec::new(program);
        spec.input = Input::Bytes(Arc::from(call.input.as_slice()));
        spec.deadline = Some(Instant::now() + PATIENCE);
        let (mut answer, mut said) = (Zeroizing::new(Vec::with_capacity(1 << 16)), Vec::new());
        let session = Session::new().map_err(|error| failed(format!("cannot be started: {error}")))?;
        let stop = Stop::new().map_err(|error| failed(format!("cannot be started: {error}")))?;
        let ended = session.run(&spec, &stop, &mut |stream, bytes| match stream {
            Stream::Stdout => answer.extend_from_slice(bytes),
            Stream::Stderr => said.extend_from_slice(bytes),
        });
        match ended.map_err(|error| failed(format!("cannot be started: {error}")))?.ending {
            Ending::Exited(0) => Ok(Some(answer)),
            Ending::Exited(code)
                if said.is_empty() || (self.system == System::Keychain && code == keychain::NO_ITEM) =>
            {
                Ok(None)
            }
            Ending::Exited(_) => Err(failed(format!("says: {}", String::from_utf8_lossy(&said).trim()))),
            Ending::TimedOut { .. } => Err(failed(format!("did not answer within {} seconds", PATIENCE.as_secs()))),
            _ => Err(failed("was ended".to_owned())),
        }
    }

    /// Where the system's program is searched for. That of macOS is a part of the system, and no other can take its place.
    fn search(&self) -> OsString {
        match self.system {
            #[cfg(not(test))]
            System::Keychain => keychain::DIRECTORY.into(),
            _ => self.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default(),
        }
    }

    /// Whether there is a bus to ask on; without one the program would try to start a bus, and wait.
    fn has_bus(&self) -> bool {
        let variable = |name: &str| self.environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        variable("DBUS_SESSION_BUS_ADDRESS").is_some()
            || variable("XDG_RUNTIME_DIR").is_some_and(|directory| Path::new(directory).join("bus").exists())
    }
}

/// Which keyring a system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Keychain,
    SecretService,
}

impl System {
    fn program(self) -> &'static str {
        match self {
            Self::Keychain => "security",
            Self::SecretService => "secret-tool",
        }
    }
}

#[cfg(test)]
mod tests;
