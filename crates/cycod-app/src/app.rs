//! The complete wiring of a program that opens tools.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use cycod_builtin::Toolbox;
use cycod_cli_tools::CliTools;
use cycod_engine::{BuiltIns, Carriers, Engine, EngineBuilder, Together, Workers, definition::Host};
use cycod_mcp_client::{Account, NoPerson, Person, RemoteServers};
use cycod_model::ModelSource;
use cycod_secret::{PassphrasePrompt, Store};
use cycod_store::History;

use crate::{
    models::{ModelsForTools, ModelsHere},
    secrets,
    servers::adopt,
    worker,
};

/// A program that opens tools, with the ways in which it asks its user.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use cycod_app::App;
/// use cycod_engine::host;
///
/// # let place = tempfile::tempdir()?;
/// let mut here = host::current()?;
/// # here.working_directory = place.path().to_owned();
/// # here.environment.insert("CYCOD_HOME".into(), place.path().join("home").into());
/// let engine = App::new().open(here);
/// assert!(engine.tool("read_file").is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct App {
    person: Arc<dyn Person>,
    passphrase: Option<PassphrasePrompt>,
    carriers: Option<Carriers>,
}

impl Default for App {
    fn default() -> Self {
        Self { person: Arc::new(NoPerson), passphrase: None, carriers: None }
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("passphrase", &self.passphrase).finish_non_exhaustive()
    }
}

impl App {
    /// A program that asks nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says who answers what MCP servers ask during a call.
    #[must_use]
    pub fn person(self, person: Arc<dyn Person>) -> Self {
        Self { person, ..self }
    }

    /// Says who is asked for the passphrase of the user's secrets.
    #[must_use]
    pub fn passphrase(self, ask: PassphrasePrompt) -> Self {
        Self { passphrase: Some(ask), ..self }
    }

    /// Says how runs are carried out on other machines.
    #[must_use]
    pub fn carriers(self, carriers: Carriers) -> Self {
        Self { carriers: Some(carriers), ..self }
    }

    /// Opens the place where `host` stands, with everything that a tool there may need.
    ///
    /// Nothing is started, and no MCP server is contacted, before a tool is called.
    pub fn open(&self, host: Host) -> Engine {
        self.open_for(host, &[])
    }

    /// As [`App::open`], for somebody who typed `words`. A server whose tools are not known yet is contacted at once when one of
    /// the words can only be the name of one of them.
    pub fn open_for(&self, host: Host, words: &[String]) -> Engine {
        let engine = Engine::builder(host);
        let history = Arc::new(History::at(engine.place().catalog().scopes().user_directory()));
        let engine = self.equip(engine, &worker::script_workers(), &history);
        adopt(engine, words, Arc::clone(&self.person)).build()
    }

    /// What outlasts an engine, for a program that makes the engine of a place again whenever its files change. `home` is the
    /// user's own directory there.
    pub fn lasting(&self, home: &Path) -> Lasting {
        Lasting {
            app: self.clone(),
            workers: worker::script_workers(),
            history: Arc::new(History::at(home)),
            servers: Mutex::default(),
        }
    }

    /// The secrets of the user of an engine's place.
    pub fn secrets(&self, engine: &Engine) -> Store {
        secrets::store(engine, self.passphrase.clone())
    }

    /// The language models of an engine's place.
    pub fn models(&self, engine: &Engine) -> ModelsHere {
        ModelsHere::of(engine, &engine.settings(), self.secrets(engine))
    }

    /// Gives an engine what every engine of this program has, but for the tools of servers.
    fn equip(&self, engine: EngineBuilder, workers: &Arc<Workers>, history: &Arc<History>) -> EngineBuilder {
        let place = engine.place();
        let settings = place.settings_now();
        let models = ModelsHere::of(place, &settings, self.secrets(place));
        let secrets = Arc::new(self.secrets(place));
        let engine = engine
            .workers(Arc::clone(workers))
            .built_ins(self.built_ins())
            .models(Arc::new(ModelsForTools::of(models, &settings)))
            .secrets(secrets)
            .history(Arc::clone(history));
        let engine = match self.carriers {
            Some(carriers) => engine.carriers(carriers),
            None => engine,
        };
        // Without it, a call that wants to run in the background is refused with the reason.
        match worker::background_run() {
            Some((program, arguments)) => engine.background(program, arguments),
            None => engine,
        }
    }

    /// The tools that this program carries out itself.
    fn built_ins(&self) -> Arc<dyn BuiltIns> {
        let app = self.clone();
        let open = move |host| app.open(host);
        let app = self.clone();
        let models = move |here: &Engine| -> Arc<dyn ModelSource> { Arc::new(app.models(here)) };
        let cli_tools = CliTools::new(Arc::new(open)).asking(Arc::new(models));
        Arc::new(Together(vec![Arc::new(Toolbox), Arc::new(cli_tools)]))
    }
}

/// What outlasts the engines of a place, each of which shows one state of its files: the processes in which functions run, the
/// history, and the connections to the MCP servers that were configured when the first in its directory was made.
#[derive(Debug)]
pub struct Lasting {
    app: App,
    workers: Arc<Workers>,
    history: Arc<History>,
    /// With the directory for which they were configured.
    servers: Mutex<Option<(PathBuf, Option<Arc<RemoteServers>>)>>,
}

impl Lasting {
    /// Gives an engine everything that a tool in its place may need, for whom it runs.
    pub fn equip(&self, engine: EngineBuilder, account: &Account) -> EngineBuilder {
        let servers = self.servers(engine.place(), account);
        let engine = self.app.equip(engine, &self.workers, &self.history);
        match servers {
            Some(servers) => servers.adopt_into(engine),
            None => engine,
        }
    }

    /// The servers that were configured for this place when it was first opened, as an account reaches them. Another place has
    /// others.
    pub fn servers(&self, place: &Engine, account: &Account) -> Option<Arc<RemoteServers>> {
        Some(self.servers_of_owner(place)?.of_account(account))
    }

    fn servers_of_owner(&self, place: &Engine) -> Option<Arc<RemoteServers>> {
        let workspace = place.catalog().scopes().workspace();
        let mut known = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, servers)) if of == workspace => servers.clone(),
            _ => {
                let servers = RemoteServers::of(place, Arc::clone(&self.app.person));
                *known = Some((workspace.to_owned(), servers.clone()));
                servers
            }
        }
    }
}
