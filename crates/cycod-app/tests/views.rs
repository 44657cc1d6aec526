//! What faces show, and what they check and fix, made by a program that has no terminal and parses no arguments.
#![cfg(unix)]

use std::fs;

use cycod_app::{
    App,
    validate::{ValidationSubject, ValidationView, Validator},
    views::{Beyond, CostsView, Rerun, RunView, SubjectView, ToolInfo, ToolView, step_times},
};
use cycod_engine::{
    Engine, Given, Ignore, Nobody, Surface, catalog::ScopeFilter, definition::Value, host, tokens::Measure,
};
use cycod_store::{Filter, History};
use serde_json::{json, to_value};
use tempfile::TempDir;

const GREET: &str = "description: Greet somebody\nbash: echo \"Hello, {WHO} {KEY}\"\ntags: [read]\nparameters:\n  WHO: {type: string, description: Whom, required: true}\n  KEY: {type: string, description: A key, sensitive: true, default: none}\n";

/// Opens a project with these tools and a home beside it; `is_trusted` is whether it is the user's own.
fn open(place: &TempDir, tools: &[(&str, &str)], is_trusted: bool) -> Engine {
    let root = place.path().canonicalize().expect("it exists");
    let project = root.join("project");
    fs::create_dir_all(project.join(".cycod/tools")).expect("a directory");
    for (name, text) in tools {
        fs::write(project.join(format!(".cycod/tools/{name}.yaml")), text).expect("a file");
    }
    let mut here = host::current().expect("a working directory");
    here.environment.retain(|name, _| name == "PATH");
    here.environment.insert("CYCOD_GLOBAL_DIR".into(), root.join("global").into());
    if is_trusted {
        here.environment.insert("CYCOD_TRUSTED_DIRECTORIES".into(), project.clone().into());
    }
    (here.home, here.working_directory) = (root.join("home"), project);
    App::new().open(here)
}

fn place() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn a_tool_is_shown_with_how_it_stands() {
    let place = place();
    let engine = open(&place, &[("greet", GREET), ("broken", "bash: ls\n")], true);
    let view = |name: &str| {
        let entry = engine.entry(name, ScopeFilter::Any).expect("it is there");
        to_value(ToolView::of(&entry, &Beyond::of(&engine, &entry))).expect("it serialises")
    };
    let greet = view("greet");
    assert_eq!(
        (&greet["state"], &greet["available"], &greet["trust"], &greet["parameters"]),
        (&json!("active"), &json!(true), &json!("trusted"), &json!(2))
    );
    assert_eq!(greet.get("state-reason"), None);
    let broken = view("broken");
    assert_eq!((&broken["state"], &broken["state-reason"]["code"]), (&json!("broken"), &json!("no-description")));
    assert_eq!(broken.get("available"), None);

    let entry = engine.entry("greet", ScopeFilter::Any).expect("it is there");
    let tool = engine.tool("greet").expect("it loads");
    let info = to_value(ToolInfo::of(&engine, &entry, Some(&tool))).expect("it serialises");
    assert_eq!(info["parameters"]["required"], json!(["WHO"]));
    assert_eq!(info["examples"], json!(["cycod run greet WHO=..."]));
}

#[test]
fn files_are_checked_and_fixed() {
    let place = place();
    let engine = open(&place, &[("greet", &format!("{GREET}timout: 5000\n"))], true);
    let subject = ValidationSubject::Entry(Box::new(engine.entry("greet", ScopeFilter::Any).expect("it is there")));
    let validation = Validator::new(&engine, false);
    let found = validation.check(&subject);
    let view = to_value(ValidationView::of(std::slice::from_ref(&found), &[], true)).expect("it serialises");
    assert_eq!((&view["valid"], &view["warnings"]), (&json!(true), &json!(1)));
    assert_eq!(view["tools"][0]["diagnostics"][0]["code"], "unknown-key");
    assert_eq!(view["tools"][0]["placeholders"][0]["placeholder"], "{WHO}");
    let fixed = validation.fix(&subject, found).expect("it can be written");
    let view = to_value(ValidationView::of(&[fixed], &[], false)).expect("it serialises");
    assert_eq!((&view["warnings"], view["tools"][0]["fixed"].as_array().map(Vec::len)), (&json!(0), Some(1)));
    assert_eq!(view["tools"][0].get("placeholders"), None);
}

#[test]
fn a_run_is_shown_and_can_be_run_again() {
    let place = place();
    let engine = open(&place, &[("greet", GREET)], true);
    let tool = engine.tool("greet").expect("it loads");
    let given = |name: &str, text: &str| (name.to_owned(), Given::Text(text.to_owned()));
    let arguments = vec![given("WHO", "Ada"), given("KEY", "k-1234")];
    let plan = engine.plan(&tool, arguments, None).expect("it can be planned");
    let approved = engine.approve(plan, Surface::Agent, &Nobody).expect("tools that only read run");
    assert!(engine.run(approved, &engine.control().expect("descriptors"), &mut Ignore).success);

    let history = History::at(engine.catalog().scopes().user_directory());
    let runs = history.runs(&Filter { limit: 1, ..Filter::default() }).expect("it can be read");
    let [run] = runs.as_slice() else { panic!("one run: {runs:?}") };
    let (steps, _) = step_times(&history, run).expect("it can be read");
    let view = to_value(RunView::of(run).with_timeline(&steps)).expect("it serialises");
    assert_eq!((&view["tool"], &view["status"], &view["exit_code"]), (&json!("greet"), &json!("ok"), &json!(0)));
    assert!(view["ended"].is_string() && view.get("timeline").is_none(), "{view}");

    let rerun = Rerun::of(run);
    assert_eq!(
        to_value(&rerun).expect("it serialises"),
        json!({
            "tool": "greet",
            "directory": engine.host().working_directory,
            "arguments": {"WHO": "Ada"},
            "withheld": [{"name": "KEY", "why": "secret"}],
        })
    );
    assert_eq!(rerun.with(Vec::new()).expect_err("the key is missing")[0].name, "KEY");
    let again = rerun.with(vec![given("key", "k-5678"), given("who", "Grace")]).expect("all is there");
    let again: Vec<&str> = again.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(again, ["key", "who"]);
    let again = rerun.with(vec![given("KEY", "k-5678")]).expect("all is there");
    assert!(matches!(&again[0], (name, Given::Value(Value::Text(text))) if name == "WHO" && text == "Ada"));
    assert!(!rerun.is_changed(&engine, &tool));
    let engine = open(&place, &[("greet", &GREET.replace("Hello", "Bye"))], true);
    assert!(rerun.is_changed(&engine, &engine.tool("greet").expect("it loads")));
}

#[test]
fn what_is_to_be_trusted_is_shown() {
    let place = place();
    let engine = open(&place, &[("greet", GREET)], false);
    let subjects = engine.project_tools().expect("it can be told");
    let views: Vec<SubjectView<'_>> = subjects.iter().map(SubjectView::of).collect();
    assert_eq!((views[0].name, views[0].trust, views.len()), ("greet", "untrusted", 1));
    let tools = engine.registry(Measure::ESTIMATE);
    let costs = to_value(CostsView::of(&tools, &engine.settings())).expect("it serialises");
    let greet = costs["tools"].as_array().expect("a list").iter().find(|tool| tool["name"] == "greet");
    assert_eq!(greet.expect("it is there")["offered"], false, "it is not offered to models");
}
