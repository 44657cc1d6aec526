//! A project in which the tools are called.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use cycod_cli_tools::CliTools;
use cycod_engine::{
    BuiltIns as _, Control, Engine, Given, Ignore, Nobody, RunReport, Sink, Surface, ToolAnswer,
    definition::{Host, Tool, Value},
    host,
};
use cycod_model::{Configured, Key, KeyOrigin, Keys, Limits, ModelError, ModelSource, Provider};
use serde_json::Value as Json;
use tempfile::TempDir;

/// A project directory with a home beside it.
pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        for directory in ["project/.cycod/tools", "home", "tmp", "global", "outside", "bin"] {
            fs::create_dir_all(root.path().join(directory)).expect("a directory in it");
        }
        Self { root }
    }

    /// Everything: the project, and what is beside it.
    pub(crate) fn root(&self) -> PathBuf {
        self.root.path().canonicalize().expect("it exists")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Writes a file in the project.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("it is in the project")).expect("a directory");
        fs::write(path, content).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).expect("it is there")
    }

    /// The names in a directory, sorted, without ours.
    pub(crate) fn names(&self, directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("it exists");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name != ".cycod");
        names.sort();
        names
    }

    fn host(&self, variables: &[(&str, &str)]) -> Host {
        let root = self.root();
        let mut here = host::current().expect("a working directory");
        // The tests' own cargo, not one that stands for it.
        if let Some(bin) = here.environment.get(OsStr::new("CARGO")).and_then(|cargo| Path::new(cargo).parent()) {
            let path = here.environment.get(OsStr::new("PATH")).map(std::env::split_paths).into_iter().flatten();
            // Stand-ins of a test come last, for what is not installed.
            let paths = [bin.to_owned()].into_iter().chain(path).chain([root.join("bin")]);
            let path = std::env::join_paths(paths).expect("paths of a PATH");
            here.environment.insert("PATH".into(), path);
        }
        here.environment.retain(|name, _| name == OsStr::new("PATH"));
        let ours = [("HOME", root.join("home")), ("CYCOD_GLOBAL_DIR", root.join("global"))];
        ours.into_iter().for_each(|(name, path)| drop(here.environment.insert(name.into(), path.into())));
        here.environment.insert("LANG".into(), "C.UTF-8".into());
        here.environment.insert(cycod_engine::trust::TRUSTED_DIRECTORIES.into(), self.project().into());
        variables.iter().for_each(|(name, value)| drop(here.environment.insert(name.into(), value.into())));
        here.home = root.join("home");
        here.temp = root.join("tmp");
        here.working_directory = self.project();
        here
    }

    pub(crate) fn engine(&self, variables: &[(&str, &str)]) -> Engine {
        open(self.host(variables))
    }

    /// What a call is steered by.
    pub(crate) fn control(&self) -> Control {
        self.engine(&[]).control().expect("descriptors")
    }

    /// Calls a tool.
    pub(crate) fn run(&self, tool: &str, arguments: Json) -> RunReport {
        self.run_with(tool, arguments, &[], &mut Ignore, &self.control()).expect("the arguments fit")
    }

    /// Calls a tool with variables in its environment, followed and steered; or says why the arguments do not fit.
    pub(crate) fn run_with(
        &self,
        tool: &str,
        arguments: Json,
        variables: &[(&str, &str)],
        sink: &mut dyn Sink,
        control: &Control,
    ) -> Result<RunReport, String> {
        let engine = self.engine(variables);
        let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
        let given = arguments.into_iter().map(|(name, value)| (name, Given::Value(Value::from(value))));
        let tool = engine.tool(tool).expect("there is such a tool");
        let plan = engine.plan(&tool, given.collect(), None).map_err(|error| error.to_string())?;
        let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        Ok(engine.run(approved, control, sink))
    }

    /// What the caller of a tool is told, whatever the arguments are.
    pub(crate) fn told(&self, tool: &Tool, arguments: Vec<(String, Json)>, variables: &[(&str, &str)]) -> ToolAnswer {
        let engine = self.engine(variables);
        let given = arguments.into_iter().map(|(name, value)| (name, Given::Value(Value::from(value))));
        let tool = Arc::new(tool.clone());
        let plan = match engine.plan(&tool, given.collect(), Some(Duration::from_secs(20))) {
            Ok(plan) => plan,
            Err(error) => return ToolAnswer::refused_by(&tool, error.into_refusal(tool.name.as_str())),
        };
        match engine.approve(plan, Surface::Person, &Nobody) {
            Ok(approved) => ToolAnswer::of(&tool, &engine.run(approved, &self.control(), &mut Ignore)),
            Err(refusal) => ToolAnswer::refused_by(&tool, refusal),
        }
    }

    /// What a call answers, which is what the tool promises.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Json) -> Json {
        answer(tool, &self.run(tool, arguments))
    }

    /// What a call says without an answer: the code of the refusal, and why.
    #[track_caller]
    pub(crate) fn refusal(&self, tool: &str, arguments: Json) -> String {
        let report = self.run(tool, arguments);
        let refusal = report.refusal.expect("a refusal");
        format!("{}: {}", refusal.code, refusal.why).replace(&self.root().display().to_string(), "ROOT")
    }
}

/// The answer in a report, checked against what the tool promises.
#[track_caller]
pub(crate) fn answer(tool: &str, report: &RunReport) -> Json {
    let answer = report.answer.as_ref().unwrap_or_else(|| panic!("no answer: {:?}", report.refusal));
    let value = answer.structured.clone().expect("data");
    assert_eq!(value["success"] == true, report.success, "{value:#}");
    let tools = CliTools::new(Arc::new(open)).tools();
    let tool = tools.iter().find(|known| known.name.as_str() == tool).expect("there is such a tool");
    let violations = tool.returns.as_ref().expect("a promise").violations(&value).expect("it is a schema");
    assert!(violations.is_empty(), "{violations:?}: {value:#}");
    value
}

fn open(host: Host) -> Engine {
    let tools = CliTools::new(Arc::new(open)).asking(Arc::new(|engine| Arc::new(Asked::of(engine))));
    Engine::builder(host).built_ins(Arc::new(tools)).build()
}

/// The models of a place whose environment says everything.
#[derive(Debug)]
struct Asked(Configured, Arc<Host>);

impl Asked {
    fn of(engine: &Engine) -> Self {
        let host = Arc::clone(engine.host());
        let variable = |name: &str| host.environment.get(OsStr::new(name))?.to_str().map(str::to_owned);
        let limits = Limits { attempts: 1, ..Limits::default() };
        Self(Configured::new(None, Vec::new(), Vec::new(), limits, &variable), host)
    }
}

impl ModelSource for Asked {
    fn has_default(&self) -> bool {
        self.0.default.is_some()
    }

    fn provider(&self, model: Option<&str>) -> Result<Arc<dyn Provider>, ModelError> {
        Ok(Arc::new(self.0.resolve(model, self)?))
    }
}

impl Keys for Asked {
    fn key(&self, name: &str) -> Result<Option<(Key, KeyOrigin)>, ModelError> {
        let value = self.1.environment.get(OsStr::new(name)).and_then(|value| value.to_str());
        Ok(value.and_then(Key::new).map(|key| (key, KeyOrigin::Environment)))
    }
}
