//! `cli_workflow_run` as it is called: decided, shown and recorded as the workflow itself.

use std::{fs, path::PathBuf, sync::Arc};

use cycod_cli_tools::CliTools;
use cycod_diagnostic::Code;
use cycod_engine::{
    Asker, Engine, Given, Ignore, Layer, Nobody, Origin, Pattern, Plan, Rule, Surface, ToolAnswer, Verdict,
    definition::Value, host, trust,
};
use cycod_store::{Filter, History};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const TOOLS: [(&str, &str); 10] = [
    (
        "two",
        "description: d\ntags: [run]\nparameters: {WHO: {type: string, required: true, description: d}}\nsteps:\n- {name: a, bash: 'echo a'}\n- {name: b, bash: 'echo \"hello {WHO}\"'}\n",
    ),
    ("look", "description: d\ntags: [read]\nsteps:\n- {name: a, bash: 'true'}\n"),
    (
        "counted",
        "description: d\ntags: [read]\nreturns: {type: object}\nsteps:\n- {name: a, bash: \"echo '{\\\"files\\\": 42}'\"}\n",
    ),
    (
        "breaks",
        "description: d\ntags: [read]\nsteps:\n- {name: fine, bash: 'true'}\n- {name: broken, bash: 'echo why >&2; exit 7'}\n- {name: never, bash: 'true'}\n",
    ),
    ("inner", "description: d\ntags: [read]\nsteps:\n- {name: calls, use-tool: breaks}\n"),
    ("slow", "description: d\ntags: [read]\nsteps:\n- {name: sleeps, bash: 'sleep 60'}\n"),
    ("single", "description: d\ntags: [read]\nbash: 'true'\n"),
    (
        "itself",
        "description: d\ntags: [read]\nsteps:\n- {name: again, use-tool: cli_workflow_run, with: {workflow_name: itself}}\n",
    ),
    (
        "root",
        "description: d\ntags: [read]\nsecurity: {execution-privilege: elevated}\nsteps:\n- {name: a, bash: 'true'}\n",
    ),
    (
        "secretive",
        "description: d\ntags: [run]\nparameters: {KEY: {type: string, required: true, sensitive: true, description: d}, N: {type: integer, description: d}}\nsteps:\n- {name: a, bash: 'echo {KEY}'}\n",
    ),
];

struct Place {
    root: TempDir,
    trusted: bool,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        for directory in ["project/.cycod/tools", "home", "tmp", "global"] {
            fs::create_dir_all(root.path().join(directory)).expect("a directory in it");
        }
        for (name, text) in TOOLS {
            fs::write(root.path().join(format!("project/.cycod/tools/{name}.yaml")), text).expect("written");
        }
        Self { root, trusted: true }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("it exists").join(name)
    }

    fn engine(&self) -> Engine {
        let mut here = host::current().expect("a working directory");
        let path = here.environment.remove(std::ffi::OsStr::new("PATH")).expect("a PATH");
        here.environment.clear();
        here.environment.insert("PATH".into(), path);
        here.environment.insert("CYCOD_GLOBAL_DIR".into(), self.path("global").into());
        if self.trusted {
            here.environment.insert(trust::TRUSTED_DIRECTORIES.into(), self.path("project").into());
        }
        here.home = self.path("home");
        here.temp = self.path("tmp");
        here.working_directory = self.path("project");
        let tools = Arc::new(CliTools::new(Arc::new(Engine::open)));
        Engine::builder(here).built_ins(tools).history(Arc::new(self.history())).build()
    }

    fn history(&self) -> History {
        History::at(&self.path("home/.cycod"))
    }

    /// Runs a call for a person and returns what every surface gets.
    fn call(&self, arguments: &Json) -> Json {
        let engine = self.engine();
        let plan = plan(&engine, "cli_workflow_run", arguments.clone());
        let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
        let definition = Arc::clone(&approved.subject().call.tool);
        let report = engine.run(approved, &engine.control().expect("descriptors"), &mut Ignore);
        let answer = ToolAnswer::of(&definition, &report);
        let value = answer.structured.expect("every answer is a value");
        let outer = engine.tool("cli_workflow_run").expect("it is there");
        let violations = outer.returns.as_ref().expect("a schema").violations(&value).expect("it can be applied");
        assert!(violations.is_empty(), "{arguments}: {value}: {violations:?}");
        assert_eq!(answer.is_error, value["success"] == false, "{value}");
        value
    }

    /// The same for a workflow without parameters.
    fn run(&self, name: &str) -> Json {
        self.call(&json!({"workflow_name": name}))
    }
}

fn plan(engine: &Engine, tool: &str, arguments: Json) -> Plan {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    let given = arguments.into_iter().map(|(name, value)| (name, Given::Value(Value::from(value))));
    let tool = engine.tool(tool).expect("there is such a tool");
    engine.plan(&tool, given.collect(), None).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_workflow_runs_by_its_name() {
    let place = Place::new();
    let said = place.call(&json!({"workflow_name": "two", "params": {"WHO": "$(reboot)"}, "timeout": 60}));
    assert_eq!(said["result"], json!({"output": "hello $(reboot)\n"}));
    assert_eq!(
        (&said["success"], &said["status"], &said["steps_completed"]),
        (&json!(true), &json!("completed"), &json!(2))
    );
    let run = place.history().runs(&Filter::default()).expect("a history").remove(0);
    assert_eq!((&*run.tool, said["workflow_id"].as_str()), ("two", Some(&*run.id)));
    assert_eq!(run.call["through"]["tool"], "cli_workflow_run");
    assert_eq!(run.call["through"]["arguments"]["workflow_name"], "two");
    assert_eq!(place.run("counted")["result"], json!({"files": 42}));
    assert_eq!(place.run("TWO")["error_type"], "WorkflowExecutionError", "an argument is missing");
}

#[test]
fn what_goes_wrong_is_an_answer() {
    let place = Place::new();
    let check = |arguments: Json, kind: &str, error: &str| {
        let said = place.call(&arguments);
        assert_eq!(said["error_type"], kind, "{said}");
        let told = said["error"].as_str().expect("a text").to_owned();
        assert!(told.contains(error), "{arguments}: {told}");
        said
    };
    let named = |name: &str| json!({"workflow_name": name});
    check(named("brakes"), "WorkflowNotFoundError", "no workflow is called `brakes`; did you mean `breaks`?");
    check(
        named("single"),
        "WorkflowNotFoundError",
        "`single` has no steps, so it is no workflow; call `single` by its own",
    );
    check(named("cli_workflow_run"), "WorkflowNotFoundError", "has no steps");
    for hostile in ["../two", &"x".repeat(100_000), "a b", "--help", "{WORKSPACE}"] {
        check(named(hostile), "WorkflowNotFoundError", "no workflow is called");
    }
    check(named("two"), "WorkflowExecutionError", "WHO");
    check(json!({"workflow_name": "two", "params": {"WHO": "x", "WHAT": 1}}), "WorkflowExecutionError", "WHAT");
    let failed = check(named("breaks"), "WorkflowExecutionError", "step `broken` ended with exit code 7: why");
    assert_eq!((&failed["failed_step"], &failed["status"]), (&json!("broken"), &json!("failed")));
    assert_eq!(failed["steps_completed"], 1);
    assert_eq!(place.run("inner")["failed_step"], "calls/broken");
    let slow = check(json!({"workflow_name": "slow", "timeout": 1}), "WorkflowTimeoutError", "Workflow timed out");
    assert_eq!((&slow["failed_step"], &slow["status"]), (&json!("sleeps"), &json!("timed_out")));
    check(named("itself"), "WorkflowExecutionError", "runs nothing for another tool; name the workflow itself");
}

#[test]
fn the_call_is_decided_as_that_of_the_workflow() {
    let mut place = Place::new();
    let decided = |engine: &Engine, tool: &str, arguments: Json| {
        let plan = plan(engine, tool, arguments);
        [Surface::Person, Surface::Mcp, Surface::Agent].map(|surface| {
            let decision = engine.decide_for(&plan, &Asker::from(surface));
            (plan.level, decision.verdict, decision.code, decision.rule)
        })
    };
    let rules: [&[(Verdict, &str)]; 8] = [
        &[],
        &[(Verdict::Deny, "two")],
        &[(Verdict::Deny, "write")],
        &[(Verdict::Allow, "two")],
        &[(Verdict::Allow, "*")],
        &[(Verdict::Ask, "look"), (Verdict::Deny, "tool:two(WHO=x)")],
        &[(Verdict::Deny, "breaks")],
        &[(Verdict::Allow, "cli_workflow_run")],
    ];
    for trusted in [true, false] {
        place.trusted = trusted;
        for rules in rules {
            let mut engine = place.engine();
            let rule = |&(verdict, pattern): &(Verdict, &str)| {
                let pattern = Pattern::parse(pattern).expect("a pattern");
                Rule::new(verdict, pattern, Origin::new(Layer::User, "a test"))
            };
            engine.add_rules(rules.iter().map(rule).collect());
            for (name, params) in [
                ("two", json!({"WHO": "x"})),
                ("look", json!({})),
                ("inner", json!({})),
                ("root", json!({})),
                ("itself", json!({})),
            ] {
                let through = json!({"workflow_name": name, "params": params});
                let direct = decided(&engine, name, params);
                assert_eq!(decided(&engine, "cli_workflow_run", through), direct, "{name} {rules:?} {trusted}");
            }
        }
    }
    // Of the name itself only what is stricter counts.
    place.trusted = true;
    let mut engine = place.engine();
    let pattern = Pattern::parse("cli_workflow_run(workflow_name=look)").expect("a pattern");
    engine.add_rules(vec![Rule::new(Verdict::Deny, pattern, Origin::new(Layer::User, "a test"))]);
    let verdicts = |arguments| decided(&engine, "cli_workflow_run", arguments).map(|(_, verdict, ..)| verdict);
    assert_eq!(verdicts(json!({"workflow_name": "look"})), [Verdict::Deny; 3]);
    assert_eq!(verdicts(json!({"workflow_name": "counted"})), [Verdict::Allow; 3]);
    // Where nothing runs, nobody need be asked.
    assert_eq!(verdicts(json!({"workflow_name": "nothing"})), [Verdict::Allow; 3]);
}

#[test]
fn what_somebody_agrees_to_is_what_the_workflow_does() {
    let place = Place::new();
    let request = |params: Json, detached: bool| {
        let engine = place.engine();
        let arguments = json!({"workflow_name": "two", "params": params, "async_execution": detached});
        let plan = plan(&engine, "cli_workflow_run", arguments);
        let asker = Asker::from(Surface::Mcp);
        engine.request(&plan, &engine.decide_for(&plan, &asker), &asker, None)
    };
    let first = request(json!({"WHO": "x"}), false);
    assert_eq!(first.tool, "two");
    assert!(first.commands.iter().any(|command| command.contains("hello")), "{:?}", first.commands);
    assert!(
        first.warnings.iter().any(|warning| warning.contains("`cli_workflow_run` runs it")),
        "{:?}",
        first.warnings
    );
    assert_eq!(first.call, request(json!({"WHO": "x"}), false).call);
    assert_ne!(first.call, request(json!({"WHO": "y"}), false).call);
    assert_ne!(first.call, request(json!({"WHO": "x"}), true).call, "in the background it is another call");
    let file = place.path("project/.cycod/tools/two.yaml");
    fs::write(&file, TOOLS[0].1.replace("echo a", "echo b")).expect("written");
    assert_ne!(first.call, request(json!({"WHO": "x"}), false).call);
}

#[test]
fn a_dry_run_shows_the_steps() {
    let place = Place::new();
    let engine = place.engine();
    let preview = engine.preview(&plan(&engine, "cli_workflow_run", json!({"workflow_name": "breaks"})));
    let names: Vec<&str> = preview.steps.iter().map(|step| &*step.name).collect();
    assert_eq!((&*preview.tool, &*names), ("breaks", &["fine", "broken", "never"][..]));
    let preview = engine.preview(&plan(&engine, "cli_workflow_run", json!({"workflow_name": "brakes"})));
    assert_eq!(preview.refusal().map(|refusal| refusal.code), Some(Code::UnknownWorkflow));
}

#[test]
fn secrets_of_a_workflow_are_secret_here() {
    const SECRET: &str = "correct-horse-battery";
    let place = Place::new();
    let secretive = |params: Json| json!({"workflow_name": "secretive", "params": params});
    let said = place.call(&secretive(json!({"KEY": SECRET})));
    assert_eq!(said["result"]["output"], "****\n");
    place.call(&secretive(json!({"KEY": SECRET, "N": "many"})));
    let engine = place.engine();
    let plan = plan(&engine, "cli_workflow_run", secretive(json!({"KEY": SECRET})));
    let asker = Asker::from(Surface::Mcp);
    let request = engine.request(
        &plan,
        &engine.decide_for(&plan, &asker),
        &asker,
        Some(&[("params".to_owned(), Given::Value(Value::from(json!({"KEY": SECRET}))))]),
    );
    assert!(!format!("{request:?}").contains(SECRET), "{request:?}");
    let history = place.history();
    let rows = history.rows_after(0, 100).expect("a history");
    assert_eq!(rows.len(), 4, "two calls with their ends");
    assert!(!format!("{rows:?}").contains(SECRET), "{rows:#?}");
}
