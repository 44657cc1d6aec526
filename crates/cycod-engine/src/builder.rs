//! What a host gives to an engine. The parts come in any order; [`EngineBuilder::build`] puts them together in the only one
//! that is right.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use cycod_catalog::Adopted;
use cycod_definition::Host;
use cycod_diagnostic::Refusal;
use cycod_plan::Secrets;
use cycod_policy::Rule;
use cycod_process::Pool;
use cycod_run::{BuiltIns, Models, Remotes, Workers};
use cycod_store::History;

use crate::{Carriers, Engine, ourselves::Ourselves};

/// Makes an engine.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use cycod_engine::{Engine, Workers, host};
///
/// # let place = tempfile::tempdir()?;
/// let mut here = host::current()?;
/// # here.working_directory = place.path().to_owned();
/// let engine = Engine::builder(here).workers(std::sync::Arc::new(Workers::default())).build();
/// # assert!(engine.history().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an engine is made by `build`"]
pub struct EngineBuilder {
    engine: Engine,
    built_ins: Option<Arc<dyn BuiltIns>>,
    remotes: Vec<(Arc<dyn Remotes>, Vec<Adopted>)>,
}

impl EngineBuilder {
    /// Opens the place where `host` stands.
    fn new(host: Host) -> Self {
        Self { engine: Engine::bare(host), built_ins: None, remotes: Vec::new() }
    }

    /// The place with nothing but its own files and settings, for parts that depend on it.
    pub fn place(&self) -> &Engine {
        &self.engine
    }

    /// Adds tools that this program carries out itself. Files and servers can't take their names.
    pub fn built_ins(self, built_ins: Arc<dyn BuiltIns>) -> Self {
        Self { built_ins: Some(built_ins), ..self }
    }

    /// Adds the tools that other programs offer, and the way to call them. A server that was added before under the same name
    /// keeps it, with all of its tools.
    pub fn remotes(mut self, remotes: Arc<dyn Remotes>, tools: impl IntoIterator<Item = Adopted>) -> Self {
        self.remotes.push((remotes, tools.into_iter().collect()));
        self
    }

    /// Says why no tool whose name begins with `prefix` is here. The first reason counts.
    pub fn absent(mut self, prefix: String, why: Refusal) -> Self {
        self.engine.absent.push((prefix, why));
        self
    }

    /// Connects the language models that scripts may ask. Without it, they can ask none.
    pub fn models(mut self, models: Arc<dyn Models>) -> Self {
        self.engine.models = Some(models);
        self
    }

    /// Says where functions in a language run. Without it they have processes of this engine's own, and there is no engine
    /// for scripts.
    pub fn workers(mut self, workers: Arc<Workers>) -> Self {
        self.engine.workers = workers;
        self
    }

    /// Starts shells ahead, for a program that runs many tools.
    pub fn shells(mut self, pool: Arc<Pool>) -> Self {
        self.engine.pool = Some(pool);
        self
    }

    /// Says where the values of secrets come from. Without it they come from the caller's environment alone.
    pub fn secrets(mut self, secrets: Arc<dyn Secrets + Send + Sync>) -> Self {
        self.engine.secrets = secrets;
        self
    }

    /// Keeps a history of every run and every refusal.
    ///
    /// What models ask for, and what runs with elevated rights, then runs only when the history can be written.
    pub fn history(mut self, history: Arc<History>) -> Self {
        self.engine.history = Some(history);
        self
    }

    /// Adds rules to those of the files.
    pub fn rules(mut self, rules: Vec<Rule>) -> Self {
        self.engine.add_rules(rules);
        self
    }

    /// Says how this program is started again to carry on a workflow in the background: it must then call
    /// [`carry_on`](crate::carry_on). Without it, no workflow runs in the background.
    pub fn background(mut self, program: PathBuf, arguments: Vec<OsString>) -> Self {
        self.engine.ourselves = Some(Ourselves { program, arguments });
        self
    }

    /// Says how runs are carried out on other machines. Without it, none is.
    pub fn carriers(mut self, carriers: Carriers) -> Self {
        self.engine.carriers = Some(carriers);
        self
    }

    /// The engine.
    pub fn build(self) -> Engine {
        let Self { mut engine, built_ins, remotes } = self;
        // The names of built-in tools are taken before a server could claim one.
        if let Some(built_ins) = built_ins {
            engine.build_in(built_ins);
        }
        for (remotes, tools) in remotes {
            engine.adopt(remotes, tools);
        }
        engine
    }
}

impl Engine {
    /// Opens the place where `host` stands: finds its scopes and looks what is in them. What more there is comes from
    /// [`Engine::builder`].
    pub fn open(host: Host) -> Self {
        Self::builder(host).build()
    }

    /// Opens the place where `host` stands, for a host that adds to what an engine has by itself.
    pub fn builder(host: Host) -> EngineBuilder {
        EngineBuilder::new(host)
    }
}
