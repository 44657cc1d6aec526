//! The engine itself: what it holds, and what is in its place.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    sync::{Arc, Mutex, OnceLock},
};

use cycod_call::{ScriptFailed, TransformRunner};
use cycod_catalog::{Adopted, Catalog, Entry, Opened, Overrides, ScopeFilter, Scopes};
use cycod_definition::{Body, Host, Tool, Value};
use cycod_diagnostic::Refusal;
use cycod_file::Look;
use cycod_plan::{Library, NoSecrets, Secrets};
use cycod_process::Pool;
use cycod_run::{AllRemotes, BuiltIns, Models, Remotes, Workers};
use cycod_settings::config::Settings;
use cycod_store::{Digest, History};
use cycod_trace::{TraceSettingsError, Tracer};

use crate::{
    Beginning, Carrier, EngineError,
    moment::{Moments, Once},
    ourselves::Ourselves,
    rules::RulesHere,
    trust::{
        skill_file::KnownSkillFiles,
        trusted::{Known, Trusted},
    },
};

/// Makes the carrier of a call, by the labels that its caller adds to those of the tool.
pub type Carriers = fn(&Engine, &Tool, Vec<String>) -> Result<Arc<dyn Carrier>, Refusal>;

/// The tools of one place, and everything that can be done with them.
#[derive(Debug)]
pub struct Engine {
    host: Arc<Host>,
    catalog: Catalog,
    pub(crate) scripts: JavaScript,
    pub(crate) rules: RulesHere,
    /// Tools as they are that a person runs by hand.
    pub(crate) vouched: Mutex<BTreeSet<Digest>>,
    pub(crate) moments: Moments,
    looks: Once<Look>,
    pub(crate) configured: Once<Settings>,
    pub(crate) trusted: Once<Trusted>,
    pub(crate) fingerprints: Mutex<Vec<Known>>,
    pub(crate) skill_files: KnownSkillFiles,
    pub(crate) remotes: AllRemotes,
    pub(crate) models: Option<Arc<dyn Models>>,
    pub(crate) built_ins: Option<Arc<dyn BuiltIns>>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) absent: Vec<(String, Refusal)>,
    pub(crate) pool: Option<Arc<Pool>>,
    pub(crate) ourselves: Option<Ourselves>,
    pub(crate) carriers: Option<Carriers>,
    pub(crate) secrets: Arc<dyn Secrets + Send + Sync>,
    pub(crate) history: Option<Arc<History>>,
    /// What sends traces, once the environment was asked.
    pub(crate) tracer: OnceLock<Result<Option<Arc<Tracer>>, TraceSettingsError>>,
}

/// Transforms written in JavaScript, in an engine that is started when the first is met.
#[derive(Debug, Default)]
pub(crate) struct JavaScript(cycod_script::Evaluator);

impl TransformRunner for JavaScript {
    fn transform(&self, script: &str, value: &Value) -> Result<Value, ScriptFailed> {
        self.0.transform(script, value).map_err(|error| ScriptFailed(error.to_string()))
    }
}

impl Engine {
    /// An engine with nothing but the files and settings of its place.
    pub(crate) fn bare(mut host: Host) -> Self {
        let overrides = Overrides::from_environment(&host.environment);
        let look = Arc::new(Look::default());
        let scopes = Scopes::discover_in(&host, &overrides, &look);
        host.workspace = scopes.workspace().to_owned();
        let configured = Arc::new(Settings::load_in(&scopes, &host, &look));
        let mut catalog = Catalog::open_in(scopes, &host, &look);
        catalog.heed(configured.clone());
        Self {
            host: Arc::new(host),
            catalog,
            scripts: JavaScript::default(),
            rules: RulesHere::default(),
            vouched: Mutex::default(),
            moments: Moments::default(),
            looks: Once::holding(look),
            configured: Once::holding(configured),
            trusted: Once::default(),
            fingerprints: Mutex::default(),
            skill_files: KnownSkillFiles::default(),
            remotes: AllRemotes::default(),
            models: None,
            built_ins: None,
            workers: Arc::default(),
            absent: Vec::new(),
            pool: None,
            ourselves: None,
            carriers: None,
            secrets: Arc::new(NoSecrets),
            history: None,
            tracer: OnceLock::new(),
        }
    }

    /// Says that this program makes one call and ends: what was read when the place was opened holds until the call runs. An
    /// engine that lives on reads again for each call what may have changed.
    pub fn expect_one_call(&self) {
        self.moments.hold(true);
    }

    /// Reads again what a call or a list of tools rests on, because something took its time, such as a person who was asked.
    pub fn look_again(&self) {
        self.moments.renew();
    }

    /// What was found in the file system in this moment.
    pub fn look(&self) -> Arc<Look> {
        let Ok(look) = self.looks.get(&self.moments, |_| false, || Ok::<_, Infallible>(Look::default()));
        look
    }

    /// Adds the tools that other programs offer, and the way to call them.
    pub(crate) fn adopt(&mut self, remotes: Arc<dyn Remotes>, tools: impl IntoIterator<Item = Adopted>) {
        let is_new = |adopted: &Adopted| match &adopted.tool.body {
            Body::Remote(remote) => !self.remotes.serves(&remote.server),
            _ => true,
        };
        self.catalog.adopt(tools.into_iter().filter(is_new));
        self.remotes.add(remotes);
    }

    /// Adds tools that this program carries out itself.
    pub(crate) fn build_in(&mut self, built_ins: Arc<dyn BuiltIns>) {
        let tools = Arc::clone(&built_ins);
        self.catalog.build_in(built_ins.names(), move || tools.tools());
        self.built_ins = Some(built_ins);
    }

    /// The processes in which functions run.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// The values of the environment that are never shown, by the names of their variables.
    pub fn secrets_here(&self) -> Vec<String> {
        let secrets = self.host.environment.secrets().iter().filter(|value| value.chars().nth(3).is_some());
        secrets.filter(|value| !matches!(value.as_str(), "true" | "false")).cloned().collect()
    }

    /// The machine and the moment.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Everything there is, broken and shadowed tools included.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The entry that `name` leads to.
    ///
    /// # Errors
    /// When there is none, with the reason if it is known, else with the name that was probably meant.
    pub fn entry(&self, name: &str, filter: ScopeFilter) -> Result<Entry, EngineError> {
        self.catalog.find(name, filter).ok_or_else(|| {
            let begins =
                |prefix: &str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
            match self.absent.iter().find(|(prefix, _)| begins(prefix)) {
                Some((_, why)) => EngineError::Absent(Box::new(why.clone())),
                None => EngineError::Unknown { name: name.to_owned(), suggestion: self.catalog.suggest(name) },
            }
        })
    }

    /// Loads a tool with its source.
    ///
    /// # Errors
    /// When there is none of this name, or its file is wrong.
    pub fn open_tool(&self, name: &str, filter: ScopeFilter) -> Result<Opened, EngineError> {
        // Between the calls of an engine that lives on, what was found before no longer holds.
        let look = if self.moments.is_held() { self.look() } else { Arc::default() };
        Ok(self.entry(name, filter)?.load_in(&look)?)
    }

    /// Loads the tool that `name` leads to.
    ///
    /// # Errors
    /// When there is none of this name, or its file is wrong.
    pub fn tool(&self, name: &str) -> Result<Arc<Tool>, EngineError> {
        Ok(Arc::new(self.open_tool(name, ScopeFilter::Any)?.tool))
    }

    /// Collects the tools that `tool` reaches.
    ///
    /// # Errors
    /// When one is missing, or they reach themselves.
    pub fn library(&self, tool: &Tool) -> Result<Library, Refusal> {
        Library::collect(tool, &|name| self.tool(name).ok())
    }

    /// A call that begins when the engine was opened: the only one of a program that makes one.
    pub fn begin(&self) -> Beginning {
        Beginning::at(self.host().now)
    }

    /// The host as it is for a call.
    pub(crate) fn host_of(&self, beginning: &Beginning) -> Arc<Host> {
        let host = self.host();
        if host.now == beginning.moment {
            return Arc::clone(host);
        }
        Arc::new(Host { now: beginning.moment, ..Host::clone(host) })
    }
}
