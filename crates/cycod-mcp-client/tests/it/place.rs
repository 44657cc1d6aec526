use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use cycod_definition::{RemoteTool, Value};
use cycod_diagnostic::Refusal;
use cycod_engine::{Engine, EngineBuilder, host};
use cycod_mcp_client::{NoPerson, Person, RemoteServers};
use cycod_process::Stop;
use cycod_run::{RemoteCall, Remotes, ToolOutcome};
use serde_json::{Value as Json, json};

/// A user with servers of their own, and nothing else.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    /// A user with one server, `test`, that behaves as the words say.
    pub(crate) fn with(words: &[&str]) -> Self {
        Self::configured(&json!({ "test": entry(words) }))
    }

    pub(crate) fn configured(servers: &Json) -> Self {
        let place = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        std::fs::create_dir_all(place.path("home")).unwrap();
        place.configure(servers);
        place
    }

    /// A user whose server changes what the file `state` says.
    pub(crate) fn with_changing(era: &str) -> Self {
        let place = Self::configured(&json!({}));
        let state = format!("state={}", place.path("state").display());
        place.configure(&json!({ "test": entry(&["plain", era, &state]) }));
        place
    }

    /// Changes what the server of [`Place::with_changing`] offers.
    pub(crate) fn change(&self, what: &str) {
        std::fs::write(self.path("state"), what).unwrap();
    }

    fn configure(&self, servers: &Json) {
        std::fs::write(self.path("home/mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn builder(&self) -> EngineBuilder {
        let mut host = host::current().expect("there is a working directory");
        host.working_directory = self.directory.path().to_owned();
        host.environment.insert("CYCOD_HOME".into(), self.path("home").into());
        host.environment.insert("CYCOD_GLOBAL_DIR".into(), self.path("global").into());
        host.environment.insert("SECRET_TOKEN".into(), "hunter2".into());
        host.environment.insert("PARTITION_KEY".into(), "20481024".into());
        Engine::builder(host)
    }

    pub(crate) fn servers(&self) -> Arc<RemoteServers> {
        self.servers_with(Arc::new(NoPerson))
    }

    pub(crate) fn servers_with(&self, person: Arc<dyn Person>) -> Arc<RemoteServers> {
        RemoteServers::of(self.builder().place(), person).expect("a server is configured")
    }
}

/// The entry of a server that behaves as the words say.
pub(crate) fn entry(words: &[&str]) -> Json {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/server.py");
    let args: Vec<&str> = ["-u", script].iter().chain(words).copied().collect();
    json!({ "command": "python3", "args": args })
}

/// Calls a tool of the server `test`.
pub(crate) fn call(servers: &RemoteServers, tool: &str) -> Result<ToolOutcome, Refusal> {
    call_within(servers, "test", tool, Duration::from_secs(20), &Stop::new().unwrap())
}

pub(crate) fn call_within(
    servers: &RemoteServers,
    server: &str,
    tool: &str,
    time: Duration,
    stop: &Stop,
) -> Result<ToolOutcome, Refusal> {
    let tool = RemoteTool::new(server, tool);
    let arguments = match tool.tool.as_str() {
        "hello" | "hallo" => vec![("name".to_owned(), Value::Text("Ada".to_owned()))],
        _ => Vec::new(),
    };
    let call = RemoteCall {
        tool: &tool,
        arguments: &arguments,
        stop,
        deadline: Instant::now() + time,
        trace: &[],
        principal: "local",
    };
    servers.call(&call, &mut |_| {})
}

/// Waits until the server `test` has received this many cancellations: `counter` is its tool that counts those of
/// requests or of tasks. They are sent beside other calls, so that the next call may reach the server first.
pub(crate) fn assert_cancelled(servers: &RemoteServers, counter: &str, number: &str) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let told = text(&call(servers, counter).unwrap());
        if told == number || Instant::now() > end {
            assert_eq!(told, number);
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a call said.
pub(crate) fn text(outcome: &ToolOutcome) -> String {
    String::from_utf8(outcome.output.clone()).expect("text is UTF-8")
}
