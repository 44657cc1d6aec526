//! Programs that others talk with, such as servers: under the confinement of tools, or observed as tools are.

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_call::{Call, RunContext};
use cycod_definition::{Host, Tool};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::PlannedConfinement;
use cycod_process::{Conversation, Observer, ProcessLimits, Streams};
use tempfile::TempDir;

use crate::{
    confine::{Around, Held, Subject},
    failure::not_started,
    launch::found,
};

/// What a program that others talk with is to be confined to.
#[derive(Clone, Debug)]
pub struct Terms<'a> {
    /// A tool that asks for the same confinement.
    pub tool: Arc<Tool>,
    /// What the program is, in messages: `server`.
    pub noun: &'static str,
    /// What it is called.
    pub name: &'a str,
    /// Where it starts, and where relative paths start.
    pub directory: &'a Path,
}

/// A program that is confined, and that somebody else talks with. Its way to hosts and its temporary directory are there
/// until this is dropped.
pub struct ConfinedProgram {
    held: Held,
    directory: PathBuf,
    _temp: TempDir,
}

impl fmt::Debug for ConfinedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfinedProgram").field("terms", &self.held.terms).finish_non_exhaustive()
    }
}

impl ConfinedProgram {
    /// Finds out what the terms mean on this machine.
    ///
    /// # Errors
    /// When something that it may reach is not there, or leads elsewhere than it says.
    pub fn new(terms: &Terms<'_>, host: &Arc<Host>) -> Result<Self, Refusal> {
        let temp = own_directory(host)?;
        let run = RunContext { temp: temp.path().to_owned(), tool_name: terms.name.to_owned() };
        let call = Call::without_arguments(Arc::clone(&terms.tool), Arc::clone(host), run);
        let confinement = PlannedConfinement::of(&call, terms.directory)?;
        let subject =
            Subject { confinement: &confinement, host, temp: temp.path(), noun: terms.noun, name: terms.name };
        let around = Around { directory: terms.directory, temp: Some(temp.path()), swaps: &[], interpreter: &[] };
        let held = Held::of(&subject, &around)?.ok_or_else(|| {
            let why = format!("the {} `{}` asks for a confinement to nothing", terms.noun, terms.name);
            Refusal::new(Code::ConfinementUnavailable, why)
        })?;
        Ok(Self { held, directory: terms.directory.to_owned(), _temp: temp })
    }

    /// Starts it: the first word is found where it may be executed.
    ///
    /// # Errors
    /// When it is not there, may not be executed, or cannot be confined.
    pub fn start(
        &self,
        words: Vec<OsString>,
        mut environment: Vec<(OsString, OsString)>,
    ) -> Result<(Conversation, Streams), Refusal> {
        for (name, value) in &self.held.environment {
            environment.retain(|(known, _)| known != name);
            environment.push((name.clone(), value.clone()));
        }
        let program = found(words, environment, &self.directory, Some(&self.held)).map_err(|failed| *failed.refusal)?;
        Conversation::start_under(program, ProcessLimits::default(), Some(Arc::clone(&self.held.terms)))
            .map_err(|error| *not_started(&error).refusal)
    }

    /// Which permission it lacked, as far as can be told from what it said.
    pub fn denial(&self, said: &str) -> Option<Refusal> {
        self.held.denial(said.as_bytes(), &self.directory)
    }
}

/// A program that is confined to nothing, and that somebody watches.
#[derive(Debug)]
pub struct ObservedProgram {
    observer: Arc<dyn Observer>,
    temp: TempDir,
}

impl ObservedProgram {
    /// A program that gets a temporary directory of its own, so that what it does there is known to be its own affair.
    ///
    /// # Errors
    /// When the directory cannot be created.
    pub fn new(observer: Arc<dyn Observer>, host: &Host) -> Result<Self, Refusal> {
        Ok(Self { observer, temp: own_directory(host)? })
    }

    /// The temporary directory.
    pub fn temp(&self) -> &Path {
        self.temp.path()
    }

    /// Starts it.
    ///
    /// # Errors
    /// When it is not there, or cannot be observed.
    pub fn start(
        &self,
        words: Vec<OsString>,
        mut environment: Vec<(OsString, OsString)>,
        directory: &Path,
    ) -> Result<(Conversation, Streams), Refusal> {
        environment.retain(|(known, _)| known != "TMPDIR");
        environment.push(("TMPDIR".into(), self.temp.path().into()));
        let program = found(words, environment, directory, None).map_err(|failed| *failed.refusal)?;
        Conversation::start_observed(program, ProcessLimits::default(), Arc::clone(&self.observer))
            .map_err(|error| *not_started(&error).refusal)
    }
}

fn own_directory(host: &Host) -> Result<TempDir, Refusal> {
    tempfile::Builder::new().prefix("cycod-").tempdir_in(&host.temp).map_err(|error| {
        let why = format!("cannot create a temporary directory in `{}`: {error}", host.temp.display());
        Refusal::new(Code::TempDirectory, why)
    })
}
