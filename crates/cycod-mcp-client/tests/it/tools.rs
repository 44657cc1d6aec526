//! Tools of servers among ours.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_definition::{Level, RemoteTool};
use cycod_diagnostic::Code;
use cycod_engine::{
    Event, Given, Nobody, PlanError, Sink, Surface,
    catalog::{Scope, ScopeFilter, State},
};
use cycod_mcp_client::{Person, ServerQuestion, ServerReply};
use cycod_process::Stop;
use cycod_run::{RemoteCall, Remotes};
use serde_json::{Value as Json, json};

use crate::place::{Place, assert_cancelled, call, call_within, entry, text};

/// What was said while a tool ran.
#[derive(Default)]
struct Said(Vec<String>);

impl Sink for Said {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Log { level, message, .. } => self.0.push(format!("{level}: {message}")),
            Event::Progress { done, total, .. } => self.0.push(format!("{done} of {total:?}")),
            _ => {}
        }
    }
}

#[test]
fn a_tool_of_a_server_runs_like_any_other() {
    let place = Place::with(&["plain"]);
    let servers = place.servers();
    servers.visit("test").unwrap();
    let engine = servers.adopt_into(place.builder()).build();

    let entry = engine.entry("mcp_test_hello", ScopeFilter::Any).unwrap();
    assert_eq!((entry.scope, entry.level, &entry.state), (Scope::Mcp, Level::Run, &State::Active));
    let tool = engine.tool("MCP_test_Hello").unwrap();
    assert_eq!(tool.title.as_deref(), Some("Hello"));
    assert_eq!(tool.hints.read_only, Some(true));

    let plan = engine.plan(&tool, vec![("name".into(), Given::Text("Ada".into()))], None).unwrap();
    let approved = engine.approve(plan, Surface::Person, &Nobody).unwrap();
    let mut said = Said::default();
    let report = engine.run(approved, &engine.control().unwrap(), &mut said);
    assert_eq!(report.output, b"hello Ada");
    assert_eq!(report.answer.as_ref().unwrap().structured, Some(json!({ "said": "hello Ada" })));
    assert_eq!(said.0, ["1 of Some(2.0)", "2 of Some(2.0)"]);

    let plan = engine.plan(&tool, vec![("nmae".into(), Given::Text("Ada".into()))], None);
    assert!(matches!(plan, Err(PlanError::Arguments(_))), "{plan:?}");
}

#[test]
fn secrets_are_hidden_in_names_and_numbers_of_what_it_answers() {
    let place = Place::with(&["secrets"]);
    let servers = place.servers();
    servers.visit("test").unwrap();
    let engine = servers.adopt_into(place.builder()).build();
    let tool = engine.tool("mcp_test_hello").unwrap();
    let plan = engine.plan(&tool, vec![("name".into(), Given::Text("Ada".into()))], None).unwrap();
    let approved = engine.approve(plan, Surface::Person, &Nobody).unwrap();
    let report = engine.run(approved, &engine.control().unwrap(), &mut cycod_engine::Ignore);
    let expect = json!({ "said": "****", "****": 1, "deep": ["****", { "****": "****" }] });
    let answer = report.answer.expect("it answers");
    assert_eq!(answer.structured.as_ref(), Some(&expect));
    // The text says the same, and is still JSON.
    let parsed = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).expect("it is JSON");
    assert_eq!(parsed(&report.output), expect);
    assert_eq!(parsed(answer.blocks.expect("blocks")[0]["text"].as_str().expect("a text").as_bytes()), expect);
}

#[test]
fn only_the_user_lowers_a_level() {
    let mut server = entry(&["plain"]);
    server["levels"] = json!({ "other": "read" });
    let place = Place::configured(&json!({ "test": server }));
    let servers = place.servers();
    servers.visit("test").unwrap();
    let engine = servers.adopt_into(place.builder()).build();
    let level = |name: &str| engine.entry(name, ScopeFilter::Any).unwrap().level;
    // It says itself that it only reads.
    assert_eq!(level("mcp_test_hello"), Level::Run);
    assert_eq!(level("mcp_test_other"), Level::Read);
}

#[test]
fn a_file_of_the_same_name_comes_first() {
    let place = Place::with(&["plain"]);
    let servers = place.servers();
    servers.visit("test").unwrap();
    std::fs::create_dir_all(place.path("home/tools")).unwrap();
    std::fs::write(place.path("home/tools/mcp_test_other.yaml"), "description: Mine\nbash: echo mine\n").unwrap();
    let engine = servers.adopt_into(place.builder()).build();
    assert_eq!(engine.entry("mcp_test_other", ScopeFilter::Any).unwrap().scope, Scope::User);
    let behind = engine.entry("mcp_test_other", ScopeFilter::Only(Scope::Mcp)).unwrap();
    assert!(matches!(behind.state, State::Shadowed { .. }), "{:?}", behind.state);
}

#[test]
fn steps_use_them() {
    let place = Place::with(&["plain"]);
    let servers = place.servers();
    servers.visit("test").unwrap();
    std::fs::create_dir_all(place.path("home/tools")).unwrap();
    let text = "description: Greet\nsteps:\n- {name: ask, use-tool: mcp_test_hello, with: {name: Bob}}\n- {name: tell, bash: 'echo got {step.ask.output}'}\n";
    std::fs::write(place.path("home/tools/greet.yaml"), text.replace("{step.ask.output}", "{ask.output}")).unwrap();
    let engine = servers.adopt_into(place.builder()).build();
    let tool = engine.tool("greet").unwrap();
    let plan = engine.plan(&tool, Vec::new(), None).unwrap();
    assert_eq!(plan.level, Level::Run);
    let approved = engine.approve(plan, Surface::Person, &Nobody).unwrap();
    let report = engine.run(approved, &engine.control().unwrap(), &mut cycod_engine::Ignore);
    assert_eq!(String::from_utf8_lossy(&report.output), "got hello Bob\n", "{:?}", report.refusal);
}

#[test]
fn both_eras_are_spoken() {
    for (era, version) in [("legacy", "2025-11-25"), ("modern", "2026-07-28")] {
        let place = Place::with(&["plain", era]);
        assert_eq!(place.servers().visit("test").unwrap().era, version);
        // The second time the era is known.
        let servers = place.servers();
        assert_eq!(servers.visit("test").unwrap().era, version);
        assert_eq!(text(&call(&servers, "hello").unwrap()), "hello Ada");
    }
}

#[test]
fn a_server_sees_only_what_is_meant_for_it() {
    let mut server = entry(&["plain"]);
    server["env"] = json!({ "OWN": "${SECRET_TOKEN}-for-it", "LANG": "C.UTF-8" });
    let place = Place::configured(&json!({ "test": server }));
    let outcome = call(&place.servers(), "environment").unwrap();
    let environment: Json = serde_json::from_slice(&outcome.output).unwrap();
    assert_eq!(environment["OWN"], "hunter2-for-it");
    assert_eq!(environment["LANG"], "C.UTF-8");
    assert!(environment["PATH"].is_string());
    assert!(environment["SECRET_TOKEN"].is_null() && environment["CYCOD_HOME"].is_null(), "{environment}");
}

#[test]
fn only_the_tools_that_were_asked_for_are_taken() {
    let mut server = entry(&["plain"]);
    server["tools"] = json!(["other", "gone"]);
    let place = Place::configured(&json!({ "test": server }));
    let visit = place.servers().visit("test").unwrap();
    assert_eq!(visit.tools.iter().map(|tool| tool.remote.as_str()).collect::<Vec<_>>(), ["other"]);
    assert_eq!(visit.problems, ["it does not offer `gone`, which `tools` of its entry names"]);
}

/// Says yes, or nonsense.
#[derive(Debug)]
struct Someone(Json);

impl Person for Someone {
    fn is_there(&self) -> bool {
        true
    }

    fn answer(&self, question: &ServerQuestion) -> ServerReply {
        assert_eq!((question.server.as_str(), question.message.as_str()), ("test", "Sure?"));
        ServerReply::Accept(self.0.clone())
    }
}

#[test]
fn questions_reach_the_person_and_nobody_else() {
    for era in ["legacy", "modern"] {
        let place = Place::with(&["plain", era]);
        let answer = |person: Arc<dyn Person>| text(&call(&place.servers_with(person), "ask").unwrap());
        let yes: Json = serde_json::from_str(&answer(Arc::new(Someone(json!({ "ok": true }))))).unwrap();
        assert_eq!(yes, json!({ "action": "accept", "content": { "ok": true } }), "{era}");
        let nonsense: Json = serde_json::from_str(&answer(Arc::new(Someone(json!({ "ok": "maybe" }))))).unwrap();
        assert_eq!(nonsense["action"], "cancel", "{era}");
        let nobody: Json = serde_json::from_str(&answer(Arc::new(cycod_mcp_client::NoPerson))).unwrap();
        assert_eq!(nobody["action"], "decline", "{era}");
    }
}

#[test]
fn a_task_is_waited_for_and_asks_its_questions() {
    let place = Place::with(&["plain", "modern"]);
    let servers = place.servers_with(Arc::new(Someone(json!({ "ok": true }))));
    let tool = RemoteTool::new("test", "task");
    let stop = Stop::new().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut said = Vec::new();
    let call = RemoteCall { tool: &tool, arguments: &[], stop: &stop, deadline, trace: &[], principal: "local" };
    let outcome = servers.call(&call, &mut |news| said.push(news.to_string())).unwrap();
    assert_eq!(text(&outcome), r#"{"action": "accept", "content": {"ok": true}}"#);
    assert_eq!(said, ["half done"]);
}

#[test]
fn a_task_that_nobody_waits_for_is_cancelled() {
    let place = Place::with(&["endless", "modern"]);
    let servers = place.servers();
    servers.visit("test").unwrap();
    let stop = Stop::new().unwrap();
    let late = call_within(&servers, "test", "task", Duration::from_secs(3), &stop).unwrap_err();
    assert_eq!(late.code, Code::TimedOut);
    // When the time is up in the middle of a look at the task, that request is cancelled as well.
    assert_cancelled(&servers, "cancelled_tasks", "1");
}
