//! Servers at an address.

use std::{io::Read, os::unix::fs::PermissionsExt, sync::Arc, time::Duration};

use cycod_diagnostic::Code;
use cycod_mcp_client::{Identity, RemoteServers};
use cycod_process::{Conversation, ProcessLimits, Program, Stop, find_program};
use serde_json::{Value as Json, json};

use crate::place::{Place, call, call_within, text};

/// A server over HTTP, and a user who has it.
struct Remote {
    place: Place,
    port: u16,
    _program: Conversation,
}

impl Remote {
    fn new(mode: &str, headers: &Json) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/remote.py");
        let directory = tempfile::tempdir().unwrap();
        let path = cycod_engine::host::current().unwrap().environment["PATH".as_ref() as &std::ffi::OsStr].clone();
        let python = find_program("python3".as_ref(), &path, directory.path()).unwrap();
        let program = Program::new(python, "/").env("PATH", path).arg("-u").arg(script).arg(mode);
        let (program, streams) = Conversation::start(program, ProcessLimits::default()).unwrap();
        let mut port = Vec::new();
        for byte in std::io::BufReader::new(streams.stdout).bytes() {
            match byte.unwrap() {
                b'\n' => break,
                byte => port.push(byte),
            }
        }
        let port = String::from_utf8(port).unwrap().parse().unwrap();
        let url = format!("http://127.0.0.1:{port}/mcp");
        let place = Place::configured(&json!({ "test": { "url": url, "headers": headers } }));
        Self { place, port, _program: program }
    }

    fn servers(&self) -> Arc<RemoteServers> {
        self.place.servers()
    }

    /// Does what a browser does whose user agrees.
    fn login(&self, servers: &RemoteServers) {
        servers.login("test", Identity::default(), Arc::new(browse)).unwrap();
    }
}

fn browse(address: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    _ = runtime.block_on(async { reqwest::Client::new().get(address).send().await.unwrap() });
    None
}

#[test]
fn headers_go_along_and_secrets_stay_out_of_sight() {
    let remote = Remote::new("plain", &json!({ "authorization": "Bearer ${SECRET_TOKEN}" }));
    let servers = remote.servers();
    let seen: Json = serde_json::from_slice(&call(&servers, "headers").unwrap().output).unwrap();
    assert_eq!(seen["authorization"], "Bearer hunter2");
    assert_eq!(seen["mcp-protocol-version"], "2026-07-28");
    assert!(!format!("{servers:?}").contains("hunter2"));
}

#[test]
fn a_token_that_is_not_taken_is_told_from_a_login_that_is_missing() {
    let refusal =
        call(&Remote::new("login", &json!({ "Authorization": "Bearer old" })).servers(), "headers").unwrap_err();
    assert_eq!((refusal.code, refusal.attempt.as_deref()), (Code::LoginNeeded, Some("cycod mcp get test")));
    assert!(refusal.why.contains("does not take the `Authorization`"), "{refusal}");
}

#[test]
fn nobody_is_sent_elsewhere() {
    let refusal = call(&Remote::new("redirect", &json!({})).servers(), "headers").unwrap_err();
    assert!(refusal.why.contains("307"), "{refusal}");
}

#[test]
fn what_is_wrong_over_http_is_told() {
    let refusal = call(&Remote::new("big", &json!({})).servers(), "headers").unwrap_err();
    assert!(refusal.why.contains("16777216"), "{refusal}");
    let refusal = call(&Remote::new("broken", &json!({})).servers(), "headers").unwrap_err();
    assert!(refusal.why.contains("500"), "{refusal}");
    let stop = Stop::new().unwrap();
    let mute = Remote::new("mute", &json!({}));
    let late = call_within(&mute.servers(), "test", "headers", Duration::from_millis(500), &stop).unwrap_err();
    assert_eq!(late.code, Code::TimedOut);
}

#[test]
fn a_login_lasts_is_renewed_and_is_private() {
    let remote = Remote::new("login", &json!({}));
    let servers = remote.servers();
    let refusal = call(&servers, "headers").unwrap_err();
    assert_eq!((refusal.code, refusal.attempt.as_deref()), (Code::LoginNeeded, Some("cycod mcp login test")));

    remote.login(&servers);
    let token = |servers: &RemoteServers| {
        let seen: Json = serde_json::from_str(&text(&call(servers, "headers").unwrap())).unwrap();
        seen["authorization"].as_str().unwrap().to_owned()
    };
    assert_eq!(token(&servers), "Bearer sesame-1");
    let logins: Vec<_> = std::fs::read_dir(remote.place.path("home/mcp/logins")).unwrap().flatten().collect();
    assert_eq!(logins.len(), 1);
    assert_eq!(logins[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);

    // Another process of the same user, later.
    assert_eq!(token(&remote.servers()), "Bearer sesame-1");
    // The server forgets the token: it is renewed, and nobody is asked.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let revoke = format!("http://127.0.0.1:{}/revoke", remote.port);
    runtime.block_on(async { reqwest::Client::new().get(revoke).send().await.unwrap() });
    assert_eq!(token(&servers), "Bearer sesame-2");

    assert_eq!(servers.logout("test"), Ok(true));
    assert_eq!(servers.logout("test"), Ok(false));
    assert_eq!(call(&remote.servers(), "headers").unwrap_err().code, Code::LoginNeeded);
}

/// The answer of a page of this machine.
fn get(address: reqwest::Url) -> reqwest::StatusCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { reqwest::Client::new().get(address).send().await.unwrap().status() })
}

#[test]
fn who_turns_a_login_down_reads_that_and_nobody_else_can() {
    let remote = Remote::new("login", &json!({}));
    let turned_down = |address: &str| {
        let asked = reqwest::Url::parse(address).unwrap();
        let of = |name| asked.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
        let back = |state: &str| {
            let fields = [("error", "access_denied"), ("error_description", "turned\ndown"), ("state", state)];
            reqwest::Url::parse_with_params(&of("redirect_uri"), fields).unwrap()
        };
        assert_eq!(get(back("guessed")), 404, "it isn't the browser of this login");
        assert_eq!(get(back(&of("state"))), 200);
        None
    };
    let refusal = remote.servers().login("test", Identity::default(), Arc::new(turned_down)).unwrap_err();
    assert_eq!(refusal.code, Code::LoginNeeded);
    assert!(refusal.why.contains("the authorization server says access_denied: turned down"), "{refusal}");
}

#[test]
fn a_scope_that_is_missing_is_named_and_asked_for_by_a_later_command() {
    let remote = Remote::new("step-up", &json!({}));
    remote.login(&remote.servers());
    let refusal = call(&remote.servers(), "write").unwrap_err();
    assert_eq!((refusal.code, refusal.attempt.as_deref()), (Code::LoginNeeded, Some("cycod mcp login test")));
    assert!(refusal.why.contains("the scope `files:write`"), "{refusal}");

    // Another command, which knows nothing but what was written down.
    remote.login(&remote.servers());
    let asked = text(&call(&remote.servers(), "write").unwrap());
    let mut asked: Vec<&str> = asked.split(' ').collect();
    asked.sort_unstable();
    assert_eq!(asked, ["files:read", "files:write"], "what was granted before is asked for as well");
}
