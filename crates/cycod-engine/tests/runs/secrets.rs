use std::sync::Arc;

use cycod_engine::{Given, Ignore, Nobody, RunReport, Secrets, Surface, definition::Value, diagnostic::Refusal};

use crate::support::Place;

/// What a program keeps, for tests.
#[derive(Debug)]
struct Kept(&'static [(&'static str, &'static str)]);

impl Secrets for Kept {
    fn values(&self, names: &[&str], _: &str) -> Result<Vec<Option<String>>, Refusal> {
        let kept = |name: &&str| self.0.iter().find(|(known, _)| known == name).map(|(_, value)| (*value).to_owned());
        Ok(names.iter().map(kept).collect())
    }

    fn placeholder(&self) -> Result<String, Refusal> {
        Ok("in-its-place".to_owned())
    }
}

const KEPT: Kept = Kept(&[("API_KEY", "hunter-two"), ("github.token", "octocat-pass")]);

fn run(place: &Place, arguments: &[(&str, &str)]) -> RunReport {
    let mut engine = place.engine();
    engine.keep_secrets(Arc::new(KEPT));
    let arguments =
        arguments.iter().map(|(name, value)| ((*name).to_owned(), Given::Value(Value::Text((*value).to_owned()))));
    let plan = engine.plan(&engine.tool("t").expect("a tool"), arguments.collect(), None).expect("a plan");
    let preview = format!("{:?}", engine.preview(&plan));
    for (_, value) in KEPT.0 {
        assert!(!preview.contains(value), "{preview}");
    }
    let approved = engine.approve(plan, Surface::Person, &Nobody).expect("a person may");
    engine.run(approved, &engine.control().expect("descriptors"), &mut Ignore)
}

/// What comes out of a tool with these lines.
#[track_caller]
fn check(tool: &str, output: &str) {
    let report = run(&Place::new(&format!("description: d\n{tool}\n")), &[]);
    assert_eq!((report.refusal.map(|refusal| refusal.code), &*report.output), (None, output.as_bytes()));
}

#[track_caller]
fn refused(tool: &str, code: &str) -> Refusal {
    let report = run(&Place::new(&format!("description: d\n{tool}\n")), &[]);
    let refusal = report.refusal.expect("it is refused");
    assert_eq!(refusal.code, code, "{refusal:?}");
    refusal
}

#[test]
fn a_kept_secret_is_in_the_environment_and_masked() {
    check("bash: 'echo $API_KEY; echo ${#API_KEY}'\nenvironment: {secrets: [API_KEY]}", "****\n10\n");
    // As the specification writes it.
    check(
        "bash: 'echo $API_KEY; echo ${#API_KEY}'\nenvironment: {variables: {API_KEY: '{API_KEY}'}, secrets: [API_KEY]}",
        "****\n10\n",
    );
    check("bash: 'echo ${#API_KEY}'\nenvironment: {inherit: false, secrets: API_KEY}", "10\n");
    check("bash: 'echo ${#API_KEY}'", "0\n");
    check("bash: 'printf %s {API_KEY} | wc -c'\nenvironment: {secrets: [API_KEY]}", "10\n");
    check("bash: 'wc -c'\ninput: '{API_KEY}'\nenvironment: {secrets: [API_KEY]}", "10\n");
    check("bash: 'echo ${#T}'\nenvironment: {secrets: [{name: T, secret: github.token}]}", "12\n");
    check("bash: 'echo $A'\nenvironment: {variables: {A: 'Bearer {API_KEY}'}, secrets: [API_KEY]}", "Bearer ****\n");
}

#[test]
fn a_variable_of_the_tools_own_needs_nothing_kept() {
    check("bash: 'echo ${#OTHER}'\nenvironment: {variables: {OTHER: abcdef}, secrets: [OTHER]}", "6\n");
}

#[test]
fn what_is_not_kept_is_the_callers() {
    let tool = "description: d\nbash: echo $OTHER\nenvironment: {secrets: [OTHER]}\n";
    let report = run(&Place::new(tool).variable("OTHER", "from-outside"), &[]);
    assert_eq!(report.output, b"****\n");
    let refusal = refused("bash: echo $OTHER\nenvironment: {secrets: [OTHER]}", "secret-missing");
    assert_eq!(refusal.attempt.as_deref(), Some("cycod secret set OTHER"));
}

#[test]
fn a_step_has_secrets_of_its_own() {
    check(
        "steps:\n- {name: a, bash: 'echo ${#API_KEY}', environment: {secrets: [API_KEY]}}\n- {name: b, bash: 'echo ${#API_KEY}'}",
        "0\n",
    );
}

#[test]
fn a_tool_that_is_called_gets_its_own_and_no_others() {
    let place = Place::new("description: d\nsteps:\n- {name: a, use-tool: inner}\nenvironment: {secrets: [API_KEY]}\n")
        .tool("inner", "description: d\nbash: 'echo ${#API_KEY} ${#T}'\nenvironment: {secrets: [{name: T, secret: github.token}]}\n");
    let engine = place.engine();
    let plan = engine.plan(&engine.tool("t").expect("a tool"), Vec::new(), None).expect("a plan");
    assert_eq!(plan.secret_names().into_iter().collect::<Vec<_>>(), ["API_KEY", "github.token"]);
    let given = ["is given the secret `API_KEY`", "is given the secret `github.token`"];
    assert_eq!(plan.reach()[1..], given.map(str::to_owned), "whoever must allow it is told");
    assert_eq!(run(&place, &[]).output, b"0 12\n");
}

#[test]
fn a_secret_is_not_put_where_others_can_look() {
    let tool = |rest: &str| format!("{rest}\nenvironment: {{secrets: [API_KEY]}}");
    refused(&tool("run: 'echo {API_KEY}'"), "secret-in-argument");
    refused(&tool("python: 'print(\"{API_KEY}\")'"), "secret-in-argument");
    // What an earlier step said holds one: the shell gets its program by descriptor.
    let steps = "steps:\n- {name: a, bash: 'echo $API_KEY'}\n- {name: b, bash: 'x=\"{a.output}\"; tr \"\\0\" \" \" </proc/$$/cmdline | grep -c hunter'}";
    let report = run(&Place::new(&format!("description: d\n{}\n", tool(steps))), &[]);
    assert_eq!(String::from_utf8_lossy(&report.output), "0\n");
    refused(
        &tool("steps:\n- {name: a, bash: 'echo $API_KEY'}\n- {name: b, run: 'echo {a.output}'}"),
        "secret-in-argument",
    );
}

#[test]
fn secret_arguments_of_a_script_are_in_no_file() {
    let place = Place::new(
        "description: d\npython: |\n  import json, os\n  path = os.environ['CYCOD_PARAMS']\n  print(len(json.load(open(path))['PIN']), os.listdir('{TEMP}'))\nparameters:\n  PIN: {type: string, description: p, sensitive: true}\n",
    );
    assert_eq!(String::from_utf8_lossy(&run(&place, &[("PIN", "hunter-two")]).output), "10 ['t.py']\n");
}

#[test]
fn a_tool_sees_a_placeholder_of_a_secret_for_a_host() {
    let tool = "description: d\nbash: 'echo $T {T}'\nenvironment: {secrets: [{name: T, secret: github.token, for: api.github.com}]}\nsecurity: {required-permissions: ['network:external:api.github.com']}\n";
    let place = Place::new(tool);
    let engine = place.engine();
    let plan = engine.plan(&engine.tool("t").expect("a tool"), Vec::new(), None).expect("a plan");
    let plan = plan.with_secrets(&KEPT).expect("it is kept");
    let step = &plan.steps[0];
    let cycod_plan::PlannedAction::Command(command) = &step.action else { panic!("a command") };
    let prepared = plan.prepare(step, command, &cycod_call::NoSteps).expect("it can be prepared");
    let seen = prepared.environment.iter().find(|(name, _)| name == "T").map(|(_, value)| value.to_str());
    assert_eq!(seen, Some(Some("in-its-place")));
    let [swap] = &*prepared.swaps else { panic!("{:?}", prepared.swaps) };
    assert_eq!((&*swap.placeholder, &*swap.value), ("in-its-place", "octocat-pass"));
    assert_eq!(swap.hosts, ["api.github.com"]);
    assert!(prepared.secrets.iter().any(|secret| secret == "octocat-pass"));
    assert!(!format!("{plan:?}").contains("octocat-pass"), "{plan:?}");
}
