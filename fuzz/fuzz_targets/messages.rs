//! Whatever a client says to the server, it is answered in messages of the protocol, and the server is there for the next one.
#![no_main]

use std::{path::PathBuf, sync::LazyLock, time::Duration};

use cycod_engine::{Layer, Origin, Pattern, Rule, Verdict, host};
use cycod_mcp_server::{
    Selection, ServerOptions,
    parsers::{InProcessServer, begins_session},
};
use cycod_store::Retention;
use libfuzzer_sys::fuzz_target;
use serde_json::Value as Json;

const TOOLS: [(&str, &str); 4] = [
    (
        "greet",
        "description: Greets\ntags: [read]\nparameters:\n  NAME: {type: string}\n  LIST: {type: array}\n  DATA: {type: object}\n  COUNT: {type: integer}\nrun: echo {NAME}\n",
    ),
    (
        "flow",
        "description: Steps\nparameters:\n  A: {type: string}\nsteps:\n- {name: a, run: 'echo {A}'}\n- {name: b, run: 'echo {a.output}'}\n",
    ),
    ("prompt", "description: A prompt\noffer: prompt\nparameters:\n  A: {type: string}\nrun: echo {A}\n"),
    (
        "resource",
        "description: A resource\noffer: {resource: 'test://{id}'}\nparameters:\n  id: {type: string}\nrun: echo {id}\n",
    ),
];

/// What a handshake takes, so that what follows it is looked at.
const HANDSHAKE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

static SERVER: LazyLock<(InProcessServer, tempfile::TempDir)> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let home: PathBuf = directory.path().to_owned();
    let tools = home.join(".cycod/tools");
    std::fs::create_dir_all(&tools).unwrap();
    for (name, text) in TOOLS {
        std::fs::write(tools.join(format!("{name}.yaml")), text).unwrap();
    }
    let mut host = host::current().unwrap();
    host.environment.retain(|name, _| name == "PATH");
    host.working_directory.clone_from(&home);
    host.workspace.clone_from(&home);
    host.home.clone_from(&home);
    let server = InProcessServer::new(ServerOptions {
        outputs: home.join("outputs"),
        retention: Retention::default(),
        host,
        follows_roots: false,
        selection: Selection::default(),
        profile: None,
        // Calls are planned and decided about, and none is carried out.
        rules: vec![Rule::new(Verdict::Deny, Pattern::parse("*").unwrap(), Origin::new(Layer::CommandLine, "fuzz"))],
        wait_for_approval: Duration::ZERO,
        upstreams: None,
        relay: Default::default(),
        reply_tokens: ServerOptions::REPLY_TOKENS,
        list_tokens: ServerOptions::LIST_TOKENS,
        jq_worker: Vec::new(),
        equip: None,
        waiting: None,
        watched: Vec::new(),
    });
    (server.unwrap(), directory)
});

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else { return };
    let shakes_hands = first % 2 == 1;
    if let Some(begins) = begins_session(bytes)
        && let Ok(message) = serde_json::from_slice::<Json>(bytes)
    {
        assert_eq!(begins, message["method"] == "initialize", "what begins a session is counted as one");
    }
    let mut said = if shakes_hands { HANDSHAKE.as_bytes().to_vec() } else { Vec::new() };
    said.extend_from_slice(bytes);
    let answers = SERVER.0.answer(&said).expect("it comes to an end");
    for line in answers.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let answer: Json = serde_json::from_slice(line).expect("an answer is JSON");
        assert_eq!(answer["jsonrpc"], "2.0");
    }
});
