//! The complete wiring of a program that opens tools.

use std::{
    fmt,
    path::Path,
    sync::{Arc, OnceLock},
};

use cycod_builtin::Toolbox;
use cycod_cli_tools::CliTools;
use cycod_engine::{BuiltIns, Engine, Together, Workers, definition::Host};
use cycod_mcp_client::{NoPerson, Person, Servers};
use cycod_model::Models;
use cycod_secret::{Ask, Store};
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
    passphrase: Option<Ask>,
}

impl Default for App {
    fn default() -> Self {
        Self { person: Arc::new(NoPerson), passphrase: None }
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
    pub fn passphrase(self, ask: Ask) -> Self {
        Self { passphrase: Some(ask), ..self }
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
        let mut engine = Engine::open(host);
        let history = Arc::new(History::at(engine.catalog().scopes().user_directory()));
        self.equip(&mut engine, &worker::script_workers(), &history);
        adopt(&mut engine, words, Arc::clone(&self.person));
        engine
    }

    /// What outlasts an engine, for a program that makes the engine of a place again whenever its files change. `home` is the
    /// user's own directory there.
    pub fn lasting(&self, home: &Path) -> Lasting {
        Lasting {
            app: self.clone(),
            workers: worker::script_workers(),
            history: Arc::new(History::at(home)),
            servers: OnceLock::new(),
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
    fn equip(&self, engine: &mut Engine, workers: &Arc<Workers>, history: &Arc<History>) {
        engine.use_workers(Arc::clone(workers));
        engine.build_in(self.built_ins());
        // Without it nothing goes on by itself, which is said when somebody wants it.
        if let Some((program, arguments)) = worker::background_run() {
            engine.go_on_by(program, arguments);
        }
        let settings = engine.settings_now();
        let models = ModelsHere::of(engine, &settings, self.secrets(engine));
        engine.use_models(Arc::new(ModelsForTools::of(models, &settings)));
        engine.keep_secrets(Arc::new(self.secrets(engine)));
        engine.keep_history(Arc::clone(history));
    }

    /// The tools that this program carries out itself.
    fn built_ins(&self) -> Arc<dyn BuiltIns> {
        let app = self.clone();
        let open = move |host| app.open(host);
        let app = self.clone();
        let models = move |here: &Engine| -> Arc<dyn Models> { Arc::new(app.models(here)) };
        let cli_tools = CliTools::new(Arc::new(open)).asking(Arc::new(models));
        Arc::new(Together(vec![Arc::new(Toolbox), Arc::new(cli_tools)]))
    }
}

/// What outlasts the engines of a place, each of which shows one state of its files: the processes in which functions run, the
/// history, and the connections to the MCP servers that were configured when the first was made.
#[derive(Debug)]
pub struct Lasting {
    app: App,
    workers: Arc<Workers>,
    history: Arc<History>,
    servers: OnceLock<Option<Arc<Servers>>>,
}

impl Lasting {
    /// Gives an engine that was just opened everything that a tool there may need.
    pub fn equip(&self, engine: &mut Engine) {
        self.app.equip(engine, &self.workers, &self.history);
        if let Some(servers) = self.servers.get_or_init(|| Servers::of(engine, Arc::clone(&self.app.person))) {
            servers.adopt_into(engine);
        }
    }
}
