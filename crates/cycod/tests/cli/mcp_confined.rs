//! Servers under the confinement that their entries ask for: what a hostile one tries is refused.

use std::{net::TcpListener, time::Instant};

use serde_json::{Value as Json, json};

use crate::{
    mcp_client::cycod,
    support::{Place, until},
};

/// A server whose tools try what they are asked to.
const SERVER: &str = r#"
import json, os, signal, socket, sys, time

def read(path): return open(path).read()
def write(path):
    open(path, 'w').write('x')
    return 'written'
def connect(port):
    socket.create_connection(('127.0.0.1', port), 5).close()
    return 'connected'
def linger(word):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2): os.dup2(null, fd)
            os.execvp('sleep', [word, '600'])
        os._exit(0)
    os.wait()
    return 'left'

signal.signal(signal.SIGTERM, signal.SIG_IGN)
tools = {'read': 'path', 'write': 'path', 'connect': 'port', 'linger': 'word'}
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get('method'), message.get('params', {})
    if 'id' not in message: continue
    reply = {'jsonrpc': '2.0', 'id': message['id']}
    if method == 'initialize':
        reply['result'] = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'hostile', 'version': '1'}}
    elif method == 'tools/list':
        schema = lambda name: {'type': 'object', 'properties': {name: {'type': 'integer' if name == 'port' else 'string'}}}
        reply['result'] = {'tools': [{'name': tool, 'description': tool, 'inputSchema': schema(name)} for tool, name in tools.items()]}
    elif method == 'tools/call':
        try: text, failed = globals()[params['name']](**params['arguments']), False
        except Exception as error: text, failed = type(error).__name__ + ': ' + str(error), True
        reply['result'] = {'content': [{'type': 'text', 'text': text}], 'isError': failed}
    else: reply['error'] = {'code': -32601, 'message': 'unknown'}
    print(json.dumps(reply), flush=True)
if len(sys.argv) > 1: time.sleep(600)
"#;

/// A user with the hostile server, under this `security`.
fn with_server(security: Option<Json>) -> Place {
    let place = Place::new();
    place.write("server.py", SERVER);
    place.write("data/notes.txt", "notes");
    std::fs::create_dir_all(place.home().join(".ssh")).unwrap();
    std::fs::write(place.home().join(".ssh/id"), "secret key").unwrap();
    // The interpreter of the system: others lie in homes.
    let mut server = json!({"command": "/usr/bin/python3", "args": ["server.py"]});
    if let Some(security) = security {
        server["security"] = security;
    }
    configure(&place, &server);
    place
}

fn configure(place: &Place, server: &Json) {
    std::fs::create_dir_all(place.home().join(".cycod")).unwrap();
    let servers = json!({ "mcpServers": { "test": server } });
    std::fs::write(place.home().join(".cycod/mcp.json"), servers.to_string()).unwrap();
}

fn confined() -> Json {
    json!({"required-permissions": ["filesystem:read:.", "filesystem:write:data"]})
}

#[test]
fn a_hostile_server_reaches_only_what_its_entry_names() {
    let place = with_server(Some(confined()));
    let call =
        |code, tool: &str, argument: &str| cycod(&place, code, &["run", &format!("mcp_test_{tool}"), argument]).0;
    assert_eq!(call(0, "read", "path=data/notes.txt"), "notes");
    assert_eq!(call(0, "write", "path=data/new"), "written");
    let key = format!("path={}", place.home().join(".ssh/id").display());
    assert!(call(1, "read", &key).contains("FileNotFoundError"));
    assert!(call(1, "write", "path=server.py").contains("OSError"), "it is read-only");
    // Below `/tmp` it writes into a directory of its own.
    let outside = place.path("outside");
    let _ = place.run(&["run", "mcp_test_write", &format!("path={}", outside.display())]);
    assert!(!outside.exists());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("port={}", listener.local_addr().unwrap().port());
    assert!(call(1, "connect", &port).contains("Error"));

    // Without a confinement it reaches all of that, so that the refusals mean something.
    configure(&place, &json!({"command": "/usr/bin/python3", "args": ["server.py"]}));
    assert_eq!(call(0, "read", &key), "secret key");
    assert_eq!(call(0, "connect", &port), "connected");
}

#[test]
fn an_empty_list_leaves_a_server_nothing() {
    let place = with_server(Some(json!({"required-permissions": []})));
    let err = cycod(&place, 1, &["mcp", "test", "test"]).1;
    assert!(err.contains("error[remote-unreachable]") && err.contains("it is confined"), "{err}");
    assert!(err.contains("add \"filesystem:read:"), "the permission is named: {err}");
    assert!(err.contains("cycod mcp confine test"), "{err}");
}

#[test]
fn a_server_that_cannot_be_confined_as_asked_is_not_started() {
    let place = with_server(Some(json!({"required-permissions": ["filesystem:read:no-such-place"]})));
    let err = cycod(&place, 1, &["mcp", "test", "test"]).1;
    assert!(err.contains("the server `test` cannot be confined") && err.contains("no-such-place"), "{err}");
}

#[test]
fn words_that_would_restrict_are_never_ignored() {
    let place = with_server(None);
    let wrong = |server: Json, why: &str| {
        configure(&place, &server);
        let err = cycod(&place, 1, &["mcp", "test", "test"]).1;
        assert!(err.contains(why), "{why}: {err}");
    };
    let with = |security: Json| json!({"command": "/usr/bin/python3", "args": ["server.py"], "security": security});
    wrong(with(json!({"required-permission": []})), "did you mean `required-permissions`?");
    wrong(with(json!({"required-permissions": "filesystem:read:."})), "needs a list of texts");
    wrong(with(json!({"required-permissions": ["filesystm:read:."]})), "`filesystm:read:.` is not a permission");
    wrong(with(json!({"required-permissions": ["network:external:https://x"]})), "is not a host");
    wrong(with(json!({"required-permissions": ["model:complete:*"]})), "no server access to a model");
    wrong(with(json!({"execution-privilege": "elevated"})), "is `reduced` or `same-as-user`");
    wrong(with(json!({"isolation": "container"})), "no key of a server's `security`");
    wrong(json!({"url": "https://127.0.0.1/mcp", "security": confined()}), "this server is at an address");
}

#[test]
fn what_a_confined_server_leaves_behind_ends_with_us() {
    for security in [None, Some(confined())] {
        let place = with_server(security.clone());
        let word = format!("lingers-{}-{:?}", std::process::id(), Instant::now());
        cycod(&place, 0, &["run", "mcp_test_linger", &format!("word={word}")]);
        let began = Instant::now();
        until("everything that the server started is gone", || !is_running(&word));
        assert!(began.elapsed().as_secs() < 3, "{security:?}: it survived for {:?}", began.elapsed());
    }
}

#[test]
fn a_reduced_server_reads_everything_and_writes_to_the_workspace() {
    let place = with_server(Some(json!({"execution-privilege": "reduced"})));
    cycod(&place, 0, &["run", "mcp_test_write", "path=data/new"]);
    let outside = place.home().join("new");
    let _ = place.run(&["run", "mcp_test_write", &format!("path={}", outside.display())]);
    assert!(!outside.exists());
    // What lies below `/tmp` it does not see; this does not.
    let own = concat!("path=", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert!(cycod(&place, 0, &["run", "mcp_test_read", own]).0.contains("[package]"));
}

#[test]
fn the_permissions_of_a_server_are_proposed_written_and_shown() {
    let place = with_server(None);
    cycod(&place, 0, &["mcp", "test", "test"]);
    let call = "read={\"path\": \"data/notes.txt\"}";
    let ran = cycod(
        &place,
        0,
        &["mcp", "confine", "test", "--call", call, "--call", "write={\"path\": \"data/new\"}", "--write"],
    );
    let (out, err) = ran;
    assert!(out.contains("\"filesystem:write:data\"") && out.contains("\"filesystem:read:."), "{out}{err}");
    assert!(err.contains("the server starts under these permissions"), "{out}{err}");
    assert!(cycod(&place, 0, &["mcp", "get", "test"]).0.contains("filesystem:write:data"));
    assert!(cycod(&place, 0, &["mcp", "list"]).0.contains("confined"));
    // It is not asked for what it is called with now.
    assert_eq!(cycod(&place, 0, &["run", "mcp_test_read", "path=data/notes.txt"]).0, "notes");
    let key = format!("path={}", place.home().join(".ssh/id").display());
    cycod(&place, 1, &["run", "mcp_test_read", &key]);
    // To be watched again it would have to run without.
    let err = cycod(&place, 1, &["mcp", "confine", "test"]).1;
    assert!(err.contains("--unconfined"), "{err}");
    let ran = cycod(&place, 0, &["mcp", "confine", "test", "--unconfined", "--format", "json"]);
    let proposed: Json = serde_json::from_str(&ran.0).unwrap();
    assert_eq!(proposed["holds"], true, "{proposed}");
    assert!(proposed["security"]["required-permissions"].is_array(), "{proposed}");
}

#[test]
fn a_server_can_be_added_confined() {
    let place = with_server(None);
    let add =
        ["mcp", "add", "mine", "--yes", "--permission", "filesystem:read:.", "--", "/usr/bin/python3", "server.py"];
    cycod(&place, 0, &add);
    assert!(place.read(".cycod/mcp.json").contains("filesystem:read:."));
    let key = format!("path={}", place.home().join(".ssh/id").display());
    assert!(cycod(&place, 1, &["run", "mcp_mine_read", &key]).0.contains("FileNotFoundError"));
    let wrong = ["mcp", "add", "other", "--yes", "--permission", "files:read:.", "--", "/usr/bin/python3", "server.py"];
    assert!(cycod(&place, 2, &wrong).1.contains("is not a permission"));
}

#[test]
fn the_list_says_which_server_failed() {
    let place = with_server(Some(json!({"required-permissions": []})));
    cycod(&place, 1, &["mcp", "test", "test"]);
    let out = cycod(&place, 0, &["mcp", "list"]).0;
    assert!(out.contains("confined") && out.contains("failed when it was last used"), "{out}");
}

/// Whether a process has this word on its command line.
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| String::from_utf8_lossy(&line).starts_with(word))
}
