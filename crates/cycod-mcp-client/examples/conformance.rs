//! Stands where a user would, for the official conformance suite: it is given the address of a server, meets it, logs in
//! when the server wants that, and calls its tools. Everything else is the library's.

#![expect(clippy::print_stdout, reason = "the suite keeps what its drivers print")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_definition::{Body, Tool, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_engine::{Engine, catalog::Scope, host};
use cycod_mcp_client::{Identity, Person, RemoteServers, ServerQuestion, ServerReply};
use cycod_process::Stop;
use cycod_run::{RemoteCall, Remotes, ToolOutcome};
use serde_json::{Map, Value as Json, json};

type Failure = Box<dyn std::error::Error>;

/// How often the same request is worth a login.
const LOGINS: usize = 3;

/// Fills in every form with its defaults, and with samples where it has none.
#[derive(Debug)]
struct Agreeable;

impl Person for Agreeable {
    fn is_there(&self) -> bool {
        true
    }

    fn answer(&self, question: &ServerQuestion) -> ServerReply {
        ServerReply::Accept(sample(&question.form))
    }
}

fn main() -> Result<(), Failure> {
    let address = std::env::args().next_back().ok_or("the address of a server is missing")?;
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("mcp.json"), json!({ "mcpServers": { "it": { "url": address } } }).to_string())?;
    let mut here = host::current()?;
    here.working_directory = home.path().to_owned();
    let context = here.environment.get(std::ffi::OsStr::new("MCP_CONFORMANCE_CONTEXT")).and_then(|text| text.to_str());
    let context: Json = context.map_or(Ok(Json::Null), serde_json::from_str)?;
    here.environment.insert("CYCOD_HOME".into(), home.path().into());
    let engine = Engine::builder(here);
    let servers = RemoteServers::of(engine.place(), Arc::new(Agreeable)).ok_or("no server is configured")?;

    with_logins(&servers, &context, || servers.visit("it"))?;
    let engine = servers.adopt_into(engine).build();
    let entries = engine.catalog().entries().into_iter().filter(|entry| entry.scope == Scope::Mcp);
    let tools: Vec<Tool> = entries.map(|entry| entry.load().map(|opened| opened.tool)).collect::<Result<_, _>>()?;
    let wanted = context["toolCalls"].as_array().or(context["tool_calls"].as_array());
    match wanted {
        Some(calls) => {
            for wanted in calls {
                let Some(tool) = tools.iter().find(|tool| remote(tool) == wanted["name"]) else { continue };
                report(tool, with_logins(&servers, &context, || call(&servers, tool, &wanted["arguments"])));
            }
        }
        None => {
            let focal = tools.first().and_then(|tool| tool.input_schema.as_ref());
            for tool in &tools {
                let schema = tool.input_schema.as_ref().map_or(&Json::Null, |schema| schema.json());
                let arguments = match remote(tool) {
                    // It wants to see what we made of the schema of the tool before it.
                    "json_schema_echo" => json!({ "schema": focal.map_or(&Json::Null, |schema| schema.json()) }),
                    _ => sample(schema),
                };
                report(tool, with_logins(&servers, &context, || call(&servers, tool, &arguments)));
            }
        }
    }
    if context["clients"].is_null() {
        // A server may change its mind about who may log in; it is asked again.
        for _ in 0..3 {
            with_logins(&servers, &context, || servers.visit("it"))?;
        }
    }
    Ok(())
}

fn remote(tool: &Tool) -> &str {
    match &tool.body {
        Body::Remote(remote) => &remote.tool,
        _ => "",
    }
}

fn report(tool: &Tool, outcome: Result<ToolOutcome, Refusal>) {
    match outcome {
        Ok(outcome) => println!("{}: {}", tool.name, String::from_utf8_lossy(&outcome.output)),
        Err(refusal) => println!("{}: {refusal}", tool.name),
    }
}

/// Does something, and logs in as often as that is asked for and makes sense.
fn with_logins<T>(
    servers: &RemoteServers,
    context: &Json,
    mut attempt: impl FnMut() -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let text = |key: &str| context[key].as_str().map(str::to_owned);
    for _ in 0..LOGINS {
        match attempt() {
            Err(refusal) if refusal.code == Code::LoginNeeded => {
                println!("logging in: {refusal}");
                let identity = Identity {
                    client_id: text("client_id"),
                    client_secret: text("client_secret"),
                    metadata_url: Some("https://conformance-test.local/client-metadata.json".to_owned()),
                    scopes: Vec::new(),
                };
                servers.login("it", identity, Arc::new(browse))?;
            }
            outcome => return outcome,
        }
    }
    attempt()
}

/// Looks at the page as a browser would whose user always agrees: the page sends it back to where we listen.
fn browse(address: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    _ = runtime.block_on(async {
        let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().ok()?;
        let page = browser.get(address).send().await.ok()?;
        browser.get(page.headers().get("location")?.to_str().ok()?).send().await.ok()
    });
    None
}

fn call(servers: &RemoteServers, tool: &Tool, arguments: &Json) -> Result<ToolOutcome, Refusal> {
    let Body::Remote(remote) = &tool.body else { unreachable!("only tools of servers are called") };
    let arguments: Vec<(String, Value)> = arguments
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), Value::from(value.clone())))
        .collect();
    let stop = Stop::new().map_err(|error| Refusal::new(Code::NotStarted, error.to_string()))?;
    let deadline = Instant::now() + Duration::from_secs(20);
    let call =
        RemoteCall { tool: remote, arguments: &arguments, stop: &stop, deadline, trace: &[], principal: "local" };
    servers.call(&call, &mut |line| println!("  {line}"))
}

/// A value that a schema takes, more often than not.
fn sample(schema: &Json) -> Json {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    if let Some(first) = schema["enum"].as_array().and_then(|choices| choices.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Json::Object(fields.map(|(name, field)| (name.clone(), sample(field))).collect::<Map<_, _>>())
        }
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        _ => json!("test"),
    }
}
