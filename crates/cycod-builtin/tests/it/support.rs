//! A project in which the tools are called.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_builtin::Toolbox;
use cycod_engine::{
    Control, Engine, Given, Ignore, Layer, Nobody, Origin, Pattern, Plan, Rule, RunReport, Sink, Surface, Verdict,
    Workers, definition::Value, host,
};
use expect_test::Expect;
use serde_json::Value as Json;
use tempfile::TempDir;

/// A project directory with a home beside it.
pub(crate) struct Place {
    root: TempDir,
    /// The session: what handlers leave behind is there for the next call.
    workers: Arc<Workers>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        for directory in ["project/.cycod/tools", "home", "tmp", "global", "outside"] {
            fs::create_dir_all(root.path().join(directory)).expect("a directory in it");
        }
        Self { root, workers: Arc::default() }
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

    /// The names in the project, sorted, without ours.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.project())
            .expect("it exists")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|name| name != ".cycod")
            .collect();
        names.sort();
        names
    }

    fn engine(&self, directory: &Path) -> Engine {
        let root = self.root();
        let mut here = host::current().expect("a working directory");
        let path = here.environment.remove(std::ffi::OsStr::new("PATH")).expect("a PATH");
        here.environment.clear();
        here.environment.insert("PATH".into(), path);
        here.environment.insert("LANG".into(), "C.UTF-8".into());
        here.environment.insert("HOME".into(), root.join("home").into());
        here.environment.insert("CYCOD_GLOBAL_DIR".into(), root.join("global").into());
        here.environment.insert(cycod_engine::trust::TRUSTED_DIRECTORIES.into(), root.join("project").into());
        here.home = root.join("home");
        here.temp = root.join("tmp");
        here.working_directory = directory.to_owned();
        Engine::builder(here).built_ins(Arc::new(Toolbox)).workers(Arc::clone(&self.workers)).build()
    }

    /// What becomes of a model's call where these rules hold: its level, and the verdict.
    pub(crate) fn decided(&self, tool: &str, arguments: Json, rules: &[(Verdict, &str)]) -> String {
        let mut engine = self.engine(&self.project());
        let rule = |&(verdict, pattern): &(Verdict, &str)| {
            let pattern = Pattern::parse(pattern).expect("a pattern");
            Rule::new(verdict, pattern, Origin::new(Layer::User, "a test"))
        };
        engine.add_rules(rules.iter().map(rule).collect());
        let plan = plan(&engine, tool, arguments);
        format!("{}: {}", plan.level, engine.decide(&plan, Surface::Mcp).verdict)
    }

    /// What a call is steered by.
    pub(crate) fn control(&self) -> Control {
        self.engine(&self.project()).control().expect("descriptors")
    }

    /// Calls a tool with arguments as JSON.
    pub(crate) fn call(&self, tool: &str, arguments: Json) -> RunReport {
        self.call_in(&self.project(), tool, arguments, &mut Ignore, &self.control())
    }

    /// Calls a tool from a directory, followed and steered.
    pub(crate) fn call_in(
        &self,
        directory: &Path,
        tool: &str,
        arguments: Json,
        sink: &mut dyn Sink,
        control: &Control,
    ) -> RunReport {
        let engine = self.engine(directory);
        let plan = plan(&engine, tool, arguments);
        let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        engine.run(approved, control, sink)
    }

    /// What a call says, with the place of the project left out.
    pub(crate) fn said(&self, tool: &str, arguments: Json) -> String {
        self.shown(&self.call(tool, arguments))
    }

    pub(crate) fn shown(&self, report: &RunReport) -> String {
        let mut text = if report.success { String::new() } else { format!("exit {}\n", report.exit_code) };
        text.push_str(&String::from_utf8_lossy(&report.output));
        text.push_str(&String::from_utf8_lossy(&report.error));
        if let Some(refusal) = &report.refusal {
            text.push_str(&format!("refused[{}]: {}\n", refusal.code, refusal.why));
            if let Some(attempt) = &refusal.attempt {
                text.push_str(&format!("try: {attempt}\n"));
            }
        }
        text.replace(&self.root().display().to_string(), "ROOT")
    }

    #[track_caller]
    pub(crate) fn check(&self, tool: &str, arguments: Json, expect: &Expect) {
        expect.assert_eq(&self.said(tool, arguments));
    }
}

fn plan(engine: &Engine, tool: &str, arguments: Json) -> Plan {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    let given = arguments.into_iter().map(|(name, value)| (name, Given::Value(Value::from(value))));
    let tool = engine.tool(tool).expect("there is such a tool");
    engine.plan(&tool, given.collect(), None).unwrap_or_else(|error| panic!("{error:?}"))
}
