//! A place with tools, and runs written down so that they can be compared.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use cycod_engine::{
    Control, Engine, EngineBuilder, Event, Given, Ignore, Nobody, Plan, RunReport, Sink, StepReport, Surface,
    definition::Value, host,
};
use cycod_store::History;
use tempfile::TempDir;

/// A project directory with a home beside it, and nothing else of this machine but its programs.
pub(crate) struct Place {
    root: TempDir,
    variables: Vec<(&'static str, &'static str)>,
}

impl Place {
    /// A project with one tool called `t`.
    pub(crate) fn new(tool: &str) -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = Self { root, variables: Vec::new() };
        for directory in ["project/.cycod/tools", "home", "tmp", "global"] {
            fs::create_dir_all(place.root.path().join(directory)).expect("a directory in it");
        }
        place.tool("t", tool)
    }

    /// Adds a tool.
    pub(crate) fn tool(self, name: &str, text: &str) -> Self {
        fs::write(self.project().join(format!(".cycod/tools/{name}.yaml")), text).expect("the tool's file");
        self
    }

    /// Adds an environment variable.
    pub(crate) fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().canonicalize().expect("it exists").join("project")
    }

    /// What is left in the directory for temporary files.
    pub(crate) fn left_over(&self) -> usize {
        fs::read_dir(self.root.path().join("tmp")).expect("it exists").count()
    }

    pub(crate) fn engine(&self) -> Engine {
        self.builder().build()
    }

    pub(crate) fn builder(&self) -> EngineBuilder {
        let root = self.root.path().canonicalize().expect("it exists");
        let mut here = host::current().expect("a working directory");
        let mut everything = here.environment.clone();
        everything.extend(self.variables.iter().map(|(name, value)| (name.into(), value.into())));
        here.offered = host::offered(&everything, &self.project());
        let path = here.environment.remove(std::ffi::OsStr::new("PATH")).expect("a PATH");
        here.environment.clear();
        here.environment.insert("PATH".into(), path);
        here.environment.insert("LANG".into(), "C.UTF-8".into());
        here.environment.insert("CYCOD_GLOBAL_DIR".into(), root.join("global").into());
        here.environment.insert(cycod_engine::trust::TRUSTED_DIRECTORIES.into(), root.join("project").into());
        here.environment.extend(self.variables.iter().map(|(name, value)| (name.into(), value.into())));
        here.home = root.join("home");
        here.temp = root.join("tmp");
        here.working_directory = self.project();
        Engine::builder(here)
    }

    /// Plans a call of `t`.
    pub(crate) fn plan(&self, engine: &Engine, arguments: &[(&str, &str)]) -> Plan {
        let arguments =
            arguments.iter().map(|(name, value)| ((*name).to_owned(), Given::Value(Value::Text((*value).to_owned()))));
        let tool = match engine.tool("t") {
            Ok(tool) => tool,
            Err(error) => panic!(
                "{error}\n{:?}",
                engine.entry("t", cycod_engine::catalog::ScopeFilter::Any).map(|entry| entry.diagnostics().1)
            ),
        };
        engine.plan(&tool, arguments.collect(), None).expect("the call can be planned")
    }

    /// Runs `t` to its end.
    pub(crate) fn run(&self, arguments: &[(&str, &str)]) -> RunReport {
        self.run_with(arguments, &mut Ignore, |_| {})
    }

    /// Runs `t`, followed and steered.
    pub(crate) fn run_with(
        &self,
        arguments: &[(&str, &str)],
        sink: &mut dyn Sink,
        steer: impl FnOnce(Arc<Control>),
    ) -> RunReport {
        let engine = self.engine();
        let plan = self.plan(&engine, arguments);
        let control = Arc::new(engine.control().expect("descriptors"));
        steer(Arc::clone(&control));
        let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        engine.run(approved, &control, sink)
    }
}

impl Place {
    /// Runs `t` so that it could be continued after a crash.
    pub(crate) fn run_durably(&self) -> RunReport {
        let history = History::at(&self.root.path().canonicalize().expect("it exists").join("home/.cycod"));
        let engine = self.builder().history(Arc::new(history)).build();
        let approved = engine.approve(self.plan(&engine, &[]), Surface::Person, &Nobody).expect("a person may");
        let control = Control { durable: true, ..engine.control().expect("descriptors") };
        let report = engine.run(approved, &control, &mut Ignore);
        assert!(report.warnings.iter().all(|warning| !warning.contains("history")), "{report:?}");
        report
    }
}

/// Writes a report in short: one line for the run, one for each step.
pub(crate) fn story(report: &RunReport) -> String {
    let mut text = format!("exit {} output {:?}", report.exit_code, String::from_utf8_lossy(&report.output));
    if !report.error.is_empty() {
        text.push_str(&format!(" error {:?}", String::from_utf8_lossy(&report.error)));
    }
    for (flag, name) in
        [(report.timed_out, "timed-out"), (report.cancelled, "cancelled"), (report.truncated, "truncated")]
    {
        if flag {
            text.push_str(&format!(" {name}"));
        }
    }
    if let Some(refusal) = &report.refusal {
        text.push_str(&format!(" refused[{}]", refusal.code));
    }
    text.push('\n');
    write_steps(&mut text, &report.steps, 1);
    for warning in &report.warnings {
        text.push_str(&format!("warning: {warning}\n"));
    }
    text
}

fn write_steps(text: &mut String, steps: &[StepReport], depth: usize) {
    for step in steps {
        text.push_str(&format!("{}{} {} {}", "  ".repeat(depth), step.name, step.status.name(), step.exit_code));
        if step.attempts > 1 {
            text.push_str(&format!(" attempts {}", step.attempts));
        }
        if step.used_fallback {
            text.push_str(" fallback");
        }
        if !step.output.is_empty() {
            text.push_str(&format!(" {:?}", String::from_utf8_lossy(&step.output)));
        }
        text.push('\n');
        write_steps(text, &step.steps, depth + 1);
    }
}

/// Collects events.
#[derive(Default)]
pub(crate) struct Collected(pub(crate) Vec<Event<'static>>);

impl Sink for Collected {
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(event.clone().into_owned());
    }
}

/// Waits until something holds, for at most ten seconds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(std::time::Instant::now() < until, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
