//! What the user changes about tools of servers.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_definition::{Body, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_engine::{Engine, Given, Nobody, PlanError, Surface, catalog::ScopeFilter};
use cycod_mcp_client::RemoteServers;
use cycod_process::Stop;
use cycod_run::{RemoteCall, Remotes, ToolOutcome};
use serde_json::{Value as Json, json};

use crate::place::{Place, entry, text};

/// A user with a server that counts calls of its tool `count`, with these keys in its entry.
fn place(more: &Json) -> (Place, Arc<RemoteServers>) {
    let place = Place::configured(&json!({}));
    let servers = configure(&place, more);
    (place, servers)
}

fn configure(place: &Place, more: &Json) -> Arc<RemoteServers> {
    let state = format!("state={}", place.path("state").display());
    let mut server = entry(&["counts", "legacy", &state]);
    server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    std::fs::write(place.path("home/mcp.json"), json!({ "mcpServers": { "test": server } }).to_string()).unwrap();
    place.servers()
}

fn engine(place: &Place, servers: &Arc<RemoteServers>) -> Engine {
    servers.visit("test").unwrap();
    servers.adopt_into(place.builder()).build()
}

fn call(servers: &RemoteServers, tool: &str, arguments: &Json) -> Result<ToolOutcome, Refusal> {
    let tool = cycod_definition::RemoteTool::new("test", tool);
    let arguments: Vec<(String, Value)> =
        arguments.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let stop = Stop::new().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    servers.call(
        &RemoteCall { tool: &tool, arguments: &arguments, stop: &stop, deadline, trace: &[], principal: "local" },
        &mut |_| {},
    )
}

fn said(servers: &RemoteServers, tool: &str, arguments: &Json) -> String {
    text(&call(servers, tool, arguments).unwrap())
}

#[test]
fn a_tool_has_another_name_description_and_schema() {
    let (place, servers) = place(&json!({ "overrides": {
        "count": { "name": "tally", "description": "Counts\u{1b} for me", "default-arguments": { "limit": 3 }, "fixed-arguments": { "name": "x" } },
        "o*": { "output-tokens": 100 },
    }}));
    let engine = engine(&place, &servers);
    assert!(engine.tool("mcp_test_count").is_err());
    let tool = engine.tool("mcp_test_tally").unwrap();
    assert_eq!(tool.description.as_deref(), Some("Counts\\u{1b} for me"));
    let schema = tool.input_schema.as_ref().unwrap().json();
    assert_eq!(schema["properties"], json!({ "limit": { "type": "integer", "default": 3 } }));
    assert!(schema.get("required").is_none(), "{schema}");
    let Body::Remote(remote) = &engine.tool("mcp_test_other").unwrap().body else { panic!("it is a server's") };
    assert_eq!((remote.tool.as_str(), remote.output_tokens), ("other", Some(100)));

    let run = |arguments: Vec<(String, Given)>| {
        let plan = engine.plan(&tool, arguments, None)?;
        let shown = engine.preview(&plan).everything();
        assert_eq!(shown, [r#"mcp: test/count, always with {"name":"x"}"#]);
        let approved = engine.approve(plan, Surface::Person, &Nobody).unwrap();
        let report = engine.run(approved, &engine.control().unwrap(), &mut cycod_engine::Ignore);
        Ok::<_, PlanError>(String::from_utf8(report.output).unwrap())
    };
    assert_eq!(run(Vec::new()).unwrap(), r#"1 {"limit": 3, "name": "x"}"#);
    assert_eq!(run(vec![("limit".into(), Given::Text("5".into()))]).unwrap(), r#"2 {"limit": 5, "name": "x"}"#);
    for name in ["name", "Name"] {
        let Err(PlanError::Arguments(problems)) = run(vec![(name.into(), Given::Text("y".into()))]) else {
            panic!("`{name}` is fixed");
        };
        assert_eq!(
            problems[0].message,
            format!("`{name}` of `mcp_test_tally` is fixed in `mcp.json`, so no caller gives it")
        );
        assert_eq!(problems[0].help.as_deref(), Some("leave it out"));
    }
}

#[test]
fn a_changed_override_or_confinement_is_another_tool_for_an_approval() {
    let (place, servers) = place(&json!({}));
    let of = |servers: &Arc<RemoteServers>| {
        let engine = engine(&place, servers);
        let tool = engine.tool("mcp_test_count").unwrap();
        engine.fingerprint(&tool).digest()
    };
    let mut seen = vec![of(&servers)];
    for change in [
        json!({ "description": "d" }),
        json!({ "description": "e" }),
        json!({ "default-arguments": { "limit": 1 } }),
        json!({ "default-arguments": { "limit": 2 } }),
        json!({ "fixed-arguments": { "limit": 2 } }),
        json!({ "fixed-arguments": { "limit": 3 } }),
        json!({ "output-tokens": 100 }),
    ] {
        seen.push(of(&configure(&place, &json!({ "overrides": { "count": change } }))));
    }
    for below in ["", "/tests"] {
        let permission = format!("filesystem:read:{}{below}", env!("CARGO_MANIFEST_DIR"));
        let security = json!({ "security": { "required-permissions": [permission] } });
        seen.push(of(&configure(&place, &security)));
    }
    let different: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!(different.len(), seen.len());
    // What the server itself offers was accepted, and stays so.
    let servers = configure(&place, &json!({}));
    assert_eq!(of(&servers), seen[0]);
    assert!(servers.proposals("test").unwrap().is_empty());
}

#[test]
fn what_does_not_fit_the_tool_is_told() {
    let problems = |overrides: &Json| {
        let (_place, servers) = place(&json!({ "overrides": overrides, "levels": { "cuont": "read" } }));
        let visit = servers.visit("test").unwrap();
        let tools = visit.tools.into_iter().filter_map(|tool| Some(format!("{}: {}", tool.remote, tool.problem?)));
        tools.chain(visit.problems).collect::<Vec<_>>()
    };
    let misspelt = "it does not offer `cuont`, which `levels` of its entry names";
    assert_eq!(
        problems(&json!({ "count": { "fixed-arguments": { "nmae": 1 } }, "x*": {} })),
        [
            "count: `nmae` in `fixed-arguments` of its entry is not a parameter of it",
            misspelt,
            "it does not offer `x*`, which `overrides` of its entry names"
        ]
    );
    let wrong = problems(&json!({ "count": { "default-arguments": { "limit": "many" } } }));
    assert!(wrong[0].starts_with("count: the value of `limit` in its override is wrong: "), "{wrong:?}");
    let taken = problems(&json!({ "other": { "name": "count" } }));
    assert_eq!(
        taken,
        ["other: `count`, which the server offers before it, is called `mcp_test_count` as well", misspelt]
    );
}

#[test]
fn a_fixed_value_that_the_schema_refuses_is_not_sent() {
    let (place, servers) = place(&json!({ "overrides": { "count": { "fixed-arguments": { "limit": "many" } } } }));
    let engine = engine(&place, &servers);
    let tool = engine.tool("mcp_test_count").unwrap();
    let plan = engine.plan(&tool, vec![("name".into(), Given::Text("x".into()))], None).unwrap();
    let approved = engine.approve(plan, Surface::Person, &Nobody).unwrap();
    let report = engine.run(approved, &engine.control().unwrap(), &mut cycod_engine::Ignore);
    let refusal = report.refusal.expect("it is refused");
    assert_eq!(refusal.code, Code::InvalidArgument);
    assert!(refusal.why.contains("the call of `count` doesn't match its schema: `limit`"), "{}", refusal.why);
}

#[test]
fn an_answer_of_a_read_counts_for_a_while() {
    let cached = json!({ "levels": { "count": "read" }, "overrides": { "count": { "cache": 60_000 } } });
    let (place, servers) = place(&cached);
    let one = json!({ "name": "a", "limit": 1 });
    assert_eq!(said(&servers, "count", &one), r#"1 {"limit": 1, "name": "a"}"#);
    assert_eq!(said(&servers, "count", &json!({ "limit": 1, "name": "a" })), r#"1 {"limit": 1, "name": "a"}"#);
    assert_eq!(said(&servers, "count", &json!({ "name": "b" })), r#"2 {"name": "b"}"#);
    // An error is no answer that counts.
    assert!(call(&servers, "count", &json!({ "name": "wrong" })).unwrap().is_error);
    assert_eq!(text(&call(&servers, "count", &json!({ "name": "wrong" })).unwrap()), r#"4 {"name": "wrong"}"#);
    // When the server announces a change, it is asked again.
    said(&servers, "announce", &json!({}));
    assert_eq!(said(&servers, "count", &one), r#"5 {"limit": 1, "name": "a"}"#);
    // A server that starts again and is the same has the same answers; one that offers something else has not.
    said(&servers, "restart", &json!({}));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(said(&servers, "count", &one), r#"5 {"limit": 1, "name": "a"}"#);
    said(&servers, "restart", &json!({}));
    std::thread::sleep(Duration::from_millis(300));
    place.change("other");
    assert_eq!(said(&servers, "count", &one), r#"1 {"limit": 1, "name": "a"}"#);
}

#[test]
fn only_reads_are_kept_and_only_for_their_time() {
    let pattern = json!({ "overrides": { "c*": { "cache": 60_000 } } });
    let (_place, servers) = place(&pattern);
    assert_eq!(["1", "2"].map(|_| said(&servers, "count", &json!({ "name": "a" })).len()), [15, 15]);
    assert!(said(&servers, "count", &json!({ "name": "a" })).starts_with('3'));
    let short = json!({ "levels": { "*": "read" }, "overrides": { "c*": { "cache": 200 } } });
    let (_place, servers) = self::place(&short);
    assert!(said(&servers, "count", &json!({ "name": "a" })).starts_with('1'));
    std::thread::sleep(Duration::from_millis(250));
    assert!(said(&servers, "count", &json!({ "name": "a" })).starts_with('2'));
}

#[test]
fn patterns_choose_tools_and_give_levels() {
    let (place, servers) = place(&json!({ "tools": ["co*", "other"], "levels": { "*": "write", "c*t": "read" } }));
    let engine = engine(&place, &servers);
    let level = |name: &str| engine.entry(name, ScopeFilter::Any).ok().map(|entry| entry.level.name());
    assert_eq!(
        ["mcp_test_count", "mcp_test_other", "mcp_test_announce"].map(level),
        [Some("read"), Some("write"), None]
    );
}
