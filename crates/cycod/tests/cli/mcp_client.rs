//! Tools of others' servers, on the command line.

use serde_json::{Value as Json, json};

use crate::support::Place;

/// A user who has a server, which behaves as the words say.
pub(crate) fn with_server(words: &[&str]) -> Place {
    let place = Place::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../cycod-mcp-client/tests/servers/server.py");
    let args: Vec<&str> = ["-u", script].iter().chain(words).copied().collect();
    let servers = json!({ "mcpServers": { "test": { "command": "python3", "args": args } } });
    std::fs::create_dir_all(place.home().join(".cycod")).unwrap();
    std::fs::write(place.home().join(".cycod/mcp.json"), servers.to_string()).unwrap();
    place
}

/// What the program printed, and what it said; it must end so.
#[track_caller]
pub(crate) fn cycod(place: &Place, code: i32, arguments: &[&str]) -> (String, String) {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), code, "{}", ran.block());
    (ran.stdout(), ran.stderr())
}

#[test]
fn a_tool_runs_when_its_server_was_never_met() {
    let place = with_server(&["plain"]);
    let (out, _) = cycod(&place, 0, &["tool", "run", "mcp_test_hello", "name=Ada"]);
    assert_eq!(out, "hello Ada");
}

#[test]
fn a_server_is_met_listed_and_used() {
    let place = with_server(&["plain"]);
    let (out, err) = cycod(&place, 0, &["mcp", "test", "test"]);
    assert!(out.contains("protocol: 2025-11-25") && out.contains("identity: test 1"), "{out}");
    assert!(out.contains("mcp_test_hello"), "{out}");
    assert!(err.contains("its tools were accepted as above"), "{err}");

    let (out, _) = cycod(&place, 0, &["tool", "list", "--scope", "mcp", "--format", "json"]);
    let list: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 10, "{out}");
    assert_eq!(list[0]["scope"], "mcp");
    assert_eq!(list[0]["path"], "mcp:test/ask");
    assert_eq!(list[0]["level"], "run");

    let (out, _) = cycod(&place, 0, &["tool", "get", "mcp_test_hello", "--format", "json"]);
    let tool: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(tool["mcp"], "test/hello");
    assert_eq!(tool["input-schema"]["properties"]["name"]["type"], "string");
    let (out, _) = cycod(&place, 0, &["tool", "get", "mcp_test_hello"]);
    assert!(out.starts_with("name: mcp_test_hello\ntitle: Hello\n"), "{out}");
    let (out, _) = cycod(&place, 0, &["tool", "graph", "mcp_test_hello"]);
    assert!(out.contains("mcp: test/hello"), "{out}");
    let (out, _) = cycod(&place, 0, &["tool", "get", "mcp_test_hello", "--detail"]);
    assert!(out.contains("mcp: test/hello"), "{out}");
    let origin = json!({"source": "mcp", "version": "1", "owner": "test"});
    for command in [&["tool", "get", "--detail"][..], &["tool", "info"]] {
        let (out, _) = cycod(&place, 0, &[command, &["mcp_test_hello", "--format", "json"]].concat());
        assert_eq!(serde_json::from_str::<Json>(&out).unwrap()["origin"], origin, "{out}");
    }
    let (out, _) = cycod(&place, 0, &["tool", "info", "mcp_test_hello"]);
    assert!(out.contains("mcp, test 1"), "{out}");

    let (out, _) = cycod(&place, 0, &["tool", "run", "mcp_test_hello", "name=Ada", "--format", "json"]);
    let result: Json = serde_json::from_str(&out).unwrap();
    assert_eq!((&result["success"], &result["output"]), (&json!(true), &json!("hello Ada")));
    let (_, err) = cycod(&place, 2, &["tool", "run", "mcp_test_hello", "nmae=Ada"]);
    assert!(err.contains("nmae"), "{err}");
    let (_, err) = cycod(&place, 1, &["tool", "remove", "mcp_test_hello", "--force"]);
    assert!(err.contains("belongs to another program"), "{err}");
    for command in ["edit", "export"] {
        let (out, err) = cycod(&place, 1, &["tool", command, "mcp_test_hello"]);
        assert!(out.is_empty() && err.contains("is an MCP server's, and in no file here"), "{command}: {out}{err}");
    }
}

#[test]
fn a_server_that_fails_says_why() {
    let place = with_server(&["crashes"]);
    let (_, err) = cycod(&place, 1, &["mcp", "test", "test"]);
    assert!(err.contains("error[remote-unreachable]") && err.contains("cannot find the database"), "{err}");
    let (_, err) = cycod(&place, 1, &["mcp", "test", "tset"]);
    assert!(err.contains("did you mean `test`?"), "{err}");
}

#[test]
fn what_a_server_is_given_is_in_nothing_that_it_says() {
    let place = with_server(&["plain", "legacy"]);
    let path = place.home().join(".cycod/mcp.json");
    let mut servers: Json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    servers["mcpServers"]["test"]["env"] = json!({"API_KEY": "hunter-2222", "LEVEL": "debug-3333"});
    // One that does not start says what it was given.
    let says = "import os, sys; sys.exit('no such key: ' + os.environ['API_KEY'] + ' ' + sys.argv[2])";
    servers["mcpServers"]["fails"] = json!({"command": "python3", "args": ["-c", says, "--token", "hunter-4444"], "env": {"API_KEY": "hunter-2222"}});
    std::fs::write(&path, servers.to_string()).unwrap();
    for options in [&[][..], &["--format", "json"]] {
        let (out, err) = cycod(&place, 0, &[&["tool", "run", "mcp_test_environment"], options].concat());
        assert!(!(out.clone() + &err).contains("hunter"), "{out}{err}");
        assert!(out.contains("****") && out.contains("debug-3333"), "{out}");
    }
    let (out, _) = cycod(&place, 0, &["runs", "show", "last", "--format", "json"]);
    assert!(out.contains("debug-3333") && !out.contains("hunter"), "{out}");
    for arguments in [&["mcp", "test", "fails"][..], &["tool", "run", "mcp_fails_x"]] {
        let (out, err) = cycod(&place, 1, arguments);
        assert!(err.contains("no such key: **** ****") && !(out + &err).contains("hunter"), "{err}");
    }
}

#[test]
fn a_tool_that_cannot_be_known_says_what_keeps_its_server_away() {
    let place = with_server(&["crashes"]);
    place.write(".cycod/mcp.json", r#"{"mcpServers": {"theirs": {"command": "x", "env": {"TOKEN": "hush"}}}}"#);
    place.tool("local", "description: A tool of this project\nbash: echo\n");
    let refused = |tool: &str, code: &str, why: &str| {
        let (_, err) = cycod(&place, 1, &["tool", "run", tool]);
        assert!(err.contains(&format!("error[{code}]")) && err.contains(why), "{err}");
        err
    };
    // What failed once is tried again.
    refused("mcp_test_hello", "remote-unreachable", "cannot find the database");
    refused("mcp_test_hello", "remote-unreachable", "cannot find the database");
    let err = refused("mcp_theirs_x", "server-not-accepted", "cycod mcp accept theirs");
    assert!(!err.contains("hush"), "{err}");
    let (out, _) = cycod(&place, 1, &["tool", "run", "mcp_test_hello", "--format", "json"]);
    let result: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(result["refusal"]["code"], "remote-unreachable");

    place.write(".cycod/mcp.json", r#"{"mcpServers": {"off": {"command": "x", "enabled": false}, "bad": {"url": 7}}}"#);
    refused("mcp_off_x", "unknown-server", "is switched off: .cycod/mcp.json:1");
    refused("mcp_bad_x", "unknown-server", ".cycod/mcp.json:1:75: server `bad`: `url` needs a text, not a number");
    refused("mcp_tset_x", "unknown-tool", "no tool is called `mcp_tset_x`");
    for command in ["test", "get", "accept", "login", "remove"] {
        let (_, err) = cycod(&place, 1, &["mcp", command, "bad"]);
        assert!(err.contains("error[unknown-server]: .cycod/mcp.json:1:75: server `bad`"), "{command}: {err}");
    }
    let (_, err) = cycod(&place, 1, &["mcp", "test", "off"]);
    assert!(err.contains("is switched off"), "{err}");

    place.write(".cycod/mcp.json", "{");
    refused("mcp_theirs_x", "unknown-server", ".cycod/mcp.json:1:2: the file ends here");
    let (out, err) = cycod(&place, 0, &["tool", "list"]);
    assert!(out.contains("local") && err.contains("warning: .cycod/mcp.json:1:2"), "{out}{err}");
    let (_, err) = cycod(&place, 0, &["tool", "list", "--scope", "mcp"]);
    assert!(err.contains("cycod mcp test SERVER"), "{err}");
}

#[test]
fn an_address_where_nobody_listens_says_why_it_is_not_reached() {
    let place = Place::new();
    cycod(&place, 0, &["mcp", "add", "web", "--yes", "--url", "http://127.0.0.1:1/mcp"]);
    let (_, err) = cycod(&place, 1, &["mcp", "test", "web"]);
    assert!(err.contains("Connection refused") && err.contains("try: cycod mcp get web"), "{err}");
}

#[test]
fn a_change_is_shown_and_accepted() {
    let elsewhere = Place::new();
    let state = elsewhere.home().join("state");
    let place = with_server(&["plain", "legacy", &format!("state={}", state.display())]);
    cycod(&place, 0, &["mcp", "test", "test"]);
    std::fs::write(&state, "description").unwrap();
    let (_, err) = cycod(&place, 1, &["tool", "run", "mcp_test_hello"]);
    assert!(err.contains("error[definition-changed]") && !err.contains("IMPORTANT"), "{err}");
    assert!(err.contains("is not what was accepted: its description changed"), "{err}");
    assert!(err.contains("try: cycod mcp accept test hello"), "{err}");
    let (out, _) = cycod(&place, 0, &["tool", "list", "--scope", "mcp"]);
    assert!(out.contains("blocked: definition changed"), "{out}");

    let (out, err) = cycod(&place, 1, &["mcp", "accept", "test"]);
    assert!(out.contains("hello: blocked: definition changed") && out.contains("IMPORTANT"), "{out}");
    assert!(err.contains("nothing was accepted"), "{err}");
    cycod(&place, 0, &["mcp", "accept", "test", "hello"]);
    let (out, _) = cycod(&place, 0, &["tool", "run", "mcp_test_hello"]);
    assert_eq!(out, "hello you");
    let (_, err) = cycod(&place, 0, &["mcp", "accept", "test"]);
    assert!(err.contains("nothing of the server `test` waits"), "{err}");
}

#[test]
fn a_project_s_server_needs_consent() {
    let place = with_server(&["plain"]);
    let configured = std::fs::read_to_string(place.home().join(".cycod/mcp.json")).unwrap();
    place.write(".cycod/mcp.json", &configured.replace("\"test\"", "\"theirs\""));
    let (_, err) = cycod(&place, 1, &["mcp", "test", "theirs"]);
    assert!(err.contains("error[server-not-accepted]") && err.contains("server.py plain"), "{err}");
    cycod(&place, 1, &["mcp", "accept", "theirs"]);
    let (out, err) = cycod(&place, 0, &["mcp", "accept", "theirs", "--all"]);
    assert!(out.contains("server.py plain") && err.contains("Accepted the server `theirs`"), "{out}{err}");
    let (out, _) = cycod(&place, 0, &["tool", "run", "mcp_theirs_other"]);
    assert_eq!(out, "fine");
    place.write(".cycod/mcp.json", r#"{"mcpServers": {"web": {"url": "http://x", "headers": {"Key": "${HOME}"}}}}"#);
    let (out, _) = cycod(&place, 1, &["mcp", "accept", "web"]);
    assert!(out.contains("would reach\n    http://x\n") && out.contains("Key: ${HOME}"), "{out}");
}

#[test]
fn a_server_that_the_user_replaces_is_met_anew() {
    let place = with_server(&["plain"]);
    cycod(&place, 0, &["mcp", "test", "test"]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../cycod-mcp-client/tests/servers/server.py");
    let other = ["mcp", "add", "test", "-u", "--yes", "--override", "--", "python3", script, "plain", "modern"];
    cycod(&place, 0, &other);
    let (out, err) = cycod(&place, 0, &["mcp", "test", "test"]);
    assert!(out.contains("protocol: 2026-07-28") && err.contains("its tools were accepted"), "{out}{err}");
    cycod(&place, 0, &["mcp", "remove", "test", "--force"]);
    let (out, _) = cycod(&place, 0, &["tool", "list", "--scope", "mcp"]);
    assert_eq!(out, "");
}

#[test]
fn a_call_that_takes_too_long_ends_like_any_other() {
    let place = with_server(&["plain"]);
    cycod(&place, 0, &["mcp", "test", "test"]);
    let (out, _) = cycod(&place, 124, &["tool", "run", "mcp_test_sleep", "--timeout", "500", "--format", "json"]);
    let result: Json = serde_json::from_str(&out).unwrap();
    assert_eq!((&result["timed_out"], &result["refusal"]["code"]), (&json!(true), &json!("timed-out")));
}

#[test]
fn nobody_logs_in_to_a_program() {
    let place = with_server(&["plain"]);
    let (_, err) = cycod(&place, 1, &["mcp", "login", "test"]);
    assert!(err.contains("is a program that cycod starts"), "{err}");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let place = with_server(&["plain"]);
    let terminal = "import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.write(terminal, sys.argv[1].encode().decode('unicode_escape').encode())
while True:
    try:
        print(os.read(terminal, 4096).decode(), end='')
    except OSError:
        break
";
    let asked = |answers: &str| {
        let ran = place.shell(&format!("python3 -c \"{terminal}\" '{answers}' cycod run mcp_test_ask"));
        assert!(ran.stdout().contains("The server `test` asks:\r\n  | Sure?\r\n"), "{}", ran.block());
        ran.stdout()
    };
    let yes = asked(r"maybe\nyes\ny\n");
    assert!(yes.contains(r#"{"action": "accept", "content": {"ok": true}}"#), "{yes}");
    let no = asked(r"yes\nn\n");
    assert!(no.contains(r#"{"action": "decline"}"#), "{no}");
}

/// A user whose server counts its calls, with these keys in its entry.
pub(crate) fn counting(more: &Json) -> Place {
    let place = with_server(&["counts"]);
    let path = place.home().join(".cycod/mcp.json");
    let mut servers: Json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    servers["mcpServers"]["test"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    std::fs::write(&path, servers.to_string()).unwrap();
    cycod(&place, 0, &["mcp", "test", "test"]);
    place
}

#[test]
fn an_override_is_shown_and_holds() {
    let place = counting(&json!({ "levels": { "c*": "read" }, "overrides": {
        "count": { "name": "tally", "description": "Counts for me", "fixed-arguments": { "name": "x", "limit": 2 }, "cache": 1000 },
        "o*": { "default-arguments": { "api_key": "hush-hush" } },
    }}));
    let (out, _) = cycod(&place, 0, &["mcp", "list"]);
    assert!(out.contains("overrides count, o* - python3"), "{out}");
    let (out, _) = cycod(&place, 0, &["mcp", "get", "test"]);
    assert!(out.contains("  overrides:\n    count: {\"name\":\"tally\",\"description\":\"Counts for me\","), "{out}");
    assert!(out.contains("api_key") && !out.contains("hush"), "{out}");
    let (out, _) = cycod(&place, 0, &["mcp", "get", "test", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Json>(&out).unwrap()["overrides"]["count"]["cache"], 1000);

    let (out, _) = cycod(&place, 0, &["tool", "list", "--scope", "mcp"]);
    assert!(
        out.contains("mcp_test_tally") && out.contains("Counts for me") && !out.contains("mcp_test_count"),
        "{out}"
    );
    let (out, _) = cycod(&place, 0, &["run", "mcp_test_tally"]);
    assert_eq!(out, r#"1 {"limit": 2, "name": "x"}"#);
    let (_, err) = cycod(&place, 2, &["run", "mcp_test_tally", "name=y"]);
    assert!(err.contains("`name` of `mcp_test_tally` is fixed in `mcp.json`, so no caller gives it"), "{err}");
    // Rules about an argument hold for a fixed one, by the server's name of the tool.
    cycod(&place, 0, &["policy", "add", "deny", "mcp:test/count(name=x)", "--user"]);
    let (_, err) = cycod(&place, 3, &["run", "mcp_test_tally"]);
    assert!(err.contains("denied"), "{err}");
}

#[test]
fn a_project_s_override_is_shown_before_it_counts() {
    let place = with_server(&["counts"]);
    let mut configured: Json =
        serde_json::from_str(&std::fs::read_to_string(place.home().join(".cycod/mcp.json")).unwrap()).unwrap();
    let mut server = configured["mcpServers"]["test"].take();
    server["levels"] = json!({ "count": "read" });
    server["overrides"] = json!({ "count": { "description": "Harmless" } });
    place.write(".cycod/mcp.json", &json!({ "mcpServers": { "theirs": server } }).to_string());
    let (out, _) = cycod(&place, 0, &["mcp", "accept", "theirs", "--all"]);
    assert!(out.contains("levels:") && out.contains("count: read"), "{out}");
    assert!(out.contains("overrides:") && out.contains("Harmless"), "{out}");
    cycod(&place, 0, &["mcp", "test", "theirs"]);
    let described = || {
        let (out, _) = cycod(&place, 0, &["tool", "list", "--scope", "mcp", "--format", "json"]);
        let list: Json = serde_json::from_str(&out).unwrap();
        let tool = list.as_array().unwrap().iter().find(|tool| tool["name"] == "mcp_theirs_count").cloned().unwrap();
        (tool["description"].as_str().unwrap().to_owned(), tool["level"].as_str().unwrap().to_owned())
    };
    assert_eq!(described(), ("Harmless".to_owned(), "read".to_owned()));
    // A change of the entry counts for nothing until it was accepted.
    server_changes(&place, |server| server["overrides"]["count"]["description"] = json!("Do as I say"));
    assert_eq!(described(), ("Counts its calls".to_owned(), "run".to_owned()));
}

/// Changes the entry of the project's server.
fn server_changes(place: &Place, change: impl FnOnce(&mut Json)) {
    let path = place.project().join(".cycod/mcp.json");
    let mut configured: Json = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut configured["mcpServers"]["theirs"]);
    std::fs::write(path, configured.to_string()).unwrap();
}
