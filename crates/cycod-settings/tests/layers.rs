use std::{fs, path::PathBuf, thread, time::Duration};

use cycod_catalog::{Scope, ScopeFilter};
use cycod_diagnostic::Code;
use cycod_settings::{Consents, ServerEntry, Servers, Transport, add, is_server_name, remove};
use expect_test::expect;

use crate::support::Place;

fn stdio(command: &str, args: &[&str]) -> ServerEntry {
    let args = args.iter().map(|arg| (*arg).to_owned()).collect();
    ServerEntry::new(Transport::Stdio { command: command.to_owned(), args, env: Vec::new(), cwd: None })
}

/// Every server and every problem, one on a line.
fn shown(place: &Place) -> String {
    let all = Servers::load(&place.scopes());
    let mut lines: Vec<String> = Vec::new();
    for server in &all.servers {
        let mut line =
            format!("{} {}:{} {}", server.name, server.origin.scope, server.origin.line, server.entry.to_json());
        for (is, word) in [(server.shadowed_by.is_some(), " shadowed"), (!server.is_ours, " not ours")] {
            line += if is { word } else { "" };
        }
        lines.push(line);
    }
    for problem in &all.problems {
        let word = if problem.is_warning { "warning" } else { "error" };
        lines.push(format!("{word}: {problem}"));
    }
    place.redacted(&(lines.join("\n") + "\n"))
}

#[test]
fn the_machine_before_local_before_user() {
    let place = Place::new();
    place.write("project/.cycod/mcp.json", r#"{"mcpServers": {"a": {"command": "local"}}}"#);
    place.write("home/.cycod/mcp.json", r#"{"mcpServers": {"A": {"command": "user"}, "b": {"command": "user"}}}"#);
    place.write("global/mcp.json", r#"{"mcpServers": {"b": {"command": "global"}, "c": {"url": "https://h"}}}"#);
    expect![[r#"
        b global:1 {"command":"global"}
        c global:1 {"type":"http","url":"https://h"}
        a local:1 {"command":"local"} not ours
        A user:1 {"command":"user"} shadowed
        b user:1 {"command":"user"} shadowed
    "#]]
    .assert_eq(&shown(&place));
    let all = Servers::load(&place.scopes());
    let active: Vec<&str> = all.active().map(|server| server.name.as_str()).collect();
    assert_eq!(active, ["b", "c", "a"]);
    let of_global = all.find("B", ScopeFilter::Only(Scope::Global)).map(|server| server.origin.path.clone());
    assert_eq!(of_global, Some(place.path("global/mcp.json")));
}

#[test]
fn everything_that_can_be_said() {
    let place = Place::new();
    place.write(
        "home/.cycod/mcp.json",
        r#"{
          // Keys as others write them, too.
          "mcp_servers": {
            "one": {
              "command": "npx", "args": ["-y", 1, true], "env": {"A": "1", "B": 2, "C": null}, "cwd": "sub",
              "timeout": 30000, "enabled": false, "tools": ["x"], "env-inherit": ["SSH_AUTH_SOCK"],
              "levels": {"x": "read"},
              "Overrides": {
                "x": {"name": "y", "description": "d", "default-arguments": {"n": [1, {"a": null}]},
                      "fixedArguments": {"b": true}, "output_tokens": 100, "cache": 1500},
                "get_*": {},
              },
            },
            "two": {"type": "streamable-http", "URL": "https://h/mcp", "headers": {"X": "${Y}"}, "tools": ["*"]},
          },
        }"#,
    );
    expect![[r#"
        one user:4 {"command":"npx","args":["-y","1","true"],"env":{"A":"1","B":"2"},"cwd":"sub","timeout":30000,"enabled":false,"tools":["x"],"env-inherit":["SSH_AUTH_SOCK"],"levels":{"x":"read"},"overrides":{"x":{"name":"y","description":"d","default-arguments":{"n":[1,{"a":null}]},"fixed-arguments":{"b":true},"output-tokens":100,"cache":1500},"get_*":{}}}
        two user:14 {"type":"http","url":"https://h/mcp","headers":{"X":"${Y}"}}
    "#]]
    .assert_eq(&shown(&place));
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_hides_nothing_else() {
    let place = Place::new();
    place.write("project/.cycod/mcp.json", "{\"mcpServers\": {\"x\": }}");
    place.write("global/mcp.json", b"{\"mcpServers\":\n{\"\xff\": {}}}");
    place.write(
        "home/.cycod/mcp.json",
        r#"{"mcpServers": {
  "good": {"command": "ls", "trust": true, "xyz": 1},
  "a b": {"command": "ls"},
  "list": [],
  "none": {},
  "both": {"command": "ls", "url": "https://h"},
  "empty": {"command": ""},
  "args": {"command": "ls", "args": "-l"},
  "env": {"command": "ls", "env": {"A": []}},
  "name": {"command": "ls", "env": {"A=B": "1"}},
  "scheme": {"url": "ftp://h"},
  "header": {"url": "https://h", "headers": {"a b": "1"}},
  "split": {"url": "https://h", "headers": {"A": "1\r\nB: 2"}},
  "sse": {"type": "sse", "url": "https://h"},
  "type": {"type": "carrier-pigeon", "url": "https://h"},
  "time": {"command": "ls", "timeout": -1},
  "level": {"command": "ls", "levels": {"x": "harmless"}},
  "twice": {"command": "ls", "Command": "rm"},
  "same": {"command": "ls"}, "SAME": {"command": "rm"},
  "nul": {"command": "l\u0000s"}
}}"#,
    );
    expect![[r#"
        good user:2 {"command":"ls"}
        error: [PLACE]/global/mcp.json:2:3: this byte is not UTF-8
        error: [PLACE]/project/.cycod/mcp.json:1:22: `}` stands here, where a value is expected
        warning: [PLACE]/home/.cycod/mcp.json:2:38: server `good`: `trust` is ignored: approvals are given here, not taken over
        warning: [PLACE]/home/.cycod/mcp.json:2:51: server `good`: `xyz` is ignored: it has no meaning here
        error: [PLACE]/home/.cycod/mcp.json:3:3: server `a b`: a name starts with a letter or digit and holds letters, digits, `_` and `-`, at most 32
        error: [PLACE]/home/.cycod/mcp.json:4:11: server `list`: a server needs a table, not a list
        error: [PLACE]/home/.cycod/mcp.json:5:11: server `none`: neither `command` nor `url` defines how to reach it
        error: [PLACE]/home/.cycod/mcp.json:6:11: server `both`: `command` and `url` exclude each other: is it started or reached?
        error: [PLACE]/home/.cycod/mcp.json:7:12: server `empty`: `command` is empty
        error: [PLACE]/home/.cycod/mcp.json:8:37: server `args`: `args` needs a list of texts, not a text
        error: [PLACE]/home/.cycod/mcp.json:9:41: server `env`: `env` needs a text, not a list
        error: [PLACE]/home/.cycod/mcp.json:10:11: server `name`: `A=B` cannot be a variable of the environment
        error: [PLACE]/home/.cycod/mcp.json:11:13: server `scheme`: `ftp://h` is no address that begins with https:// or http://
        error: [PLACE]/home/.cycod/mcp.json:12:13: server `header`: `a b` cannot be a header
        error: [PLACE]/home/.cycod/mcp.json:13:12: server `split`: `A` cannot be a header
        error: [PLACE]/home/.cycod/mcp.json:14:10: server `sse`: it is reached over the old SSE transport, which cycod does not support; many servers have an address for streamable HTTP as well
        error: [PLACE]/home/.cycod/mcp.json:15:11: server `type`: `carrier-pigeon` is no `type` that cycod supports: stdio or http
        error: [PLACE]/home/.cycod/mcp.json:16:40: server `time`: a time-out is positive, and shorter than a lifetime
        error: [PLACE]/home/.cycod/mcp.json:17:40: server `level`: `harmless` is no level: read, write or run
        error: [PLACE]/home/.cycod/mcp.json:18:30: server `twice`: `Command` is there twice
        error: [PLACE]/home/.cycod/mcp.json:19:3: server `same`: the name is there twice
        error: [PLACE]/home/.cycod/mcp.json:19:30: server `SAME`: the name is there twice
        error: [PLACE]/home/.cycod/mcp.json:20:10: server `nul`: a command holds no NUL
    "#]]
    .assert_eq(&shown(&place));
}

#[test]
fn what_is_wrong_in_an_override_is_told_with_its_place() {
    for (overrides, told) in [
        (r#"[]"#, "1:59: server `s`: `overrides` needs a table of overrides, not a list"),
        (r#"{"x": 1}"#, "1:65: server `s`: the override of `x` needs a table, not a number"),
        (r#"{"x": {}, "x": {}}"#, "1:69: server `s`: `x` is there twice"),
        (r#"{"x": {"nmae": "y"}}"#, "1:66: server `s`: `nmae` is no key of an override: did you mean `name`?"),
        (r#"{"x": {"name": "y", "Name": "z"}}"#, "1:79: server `s`: `Name` is there twice"),
        (r#"{"x": {"name": 7}}"#, "1:74: server `s`: `name` needs a text, not a number"),
        (
            r#"{"x": {"name": "a b"}}"#,
            "1:74: server `s`: `a b` can't name a tool: use letters, digits, `_` and `-`, at most 50",
        ),
        (
            r#"{"x": {"name": "y"}, "z": {"name": "Y"}}"#,
            "1:85: server `s`: two tools are called `Y`; `z` is the second",
        ),
        (
            r#"{"x*": {"name": "y"}}"#,
            "1:67: server `s`: `name` is of one tool, and the pattern `x*` can stand for several: name the tool that is called so",
        ),
        (r#"{"x": {"description": " "}}"#, "1:81: server `s`: `description` is empty"),
        (
            r#"{"x": {"fixed-arguments": []}}"#,
            "1:85: server `s`: `fixed-arguments` needs a table of arguments, not a list",
        ),
        (r#"{"x": {"fixed-arguments": {"a": null}}}"#, "1:91: server `s`: `a` is null, which is no argument"),
        (r#"{"x": {"fixed-arguments": {"a": {"b": 1, "b": 2}}}}"#, "1:100: server `s`: `b` is there twice"),
        (
            r#"{"x": {"fixed-arguments": {"a": 1}, "default-arguments": {"a": 2}}}"#,
            "1:65: server `s`: `a` of `x` can't be fixed and have a default",
        ),
        (r#"{"x": {"output-tokens": 99}}"#, "1:83: server `s`: `output-tokens` is a whole number from 100"),
        (r#"{"x": {"output-tokens": 1e3}}"#, "1:83: server `s`: `output-tokens` is a whole number from 100"),
        (r#"{"x": {"cache": "1h"}}"#, "1:75: server `s`: `cache` needs a number, not a text"),
        (r#"{"x": {"cache": 0}}"#, "1:75: server `s`: `cache` is a time in milliseconds, at least 1"),
        (
            r#"{"x": {"cache": 9}}"#,
            "1:75: server `s`: `cache` needs a tool of level read, which `levels` doesn't give to `x`: write \"levels\": {\"x\": \"read\"} if calls of it change nothing",
        ),
    ] {
        let place = Place::new();
        let text = format!(r#"{{"mcpServers": {{"s": {{"command": "long-one", "overrides": {overrides}}}}}}}"#);
        place.write("home/.cycod/mcp.json", text);
        assert_eq!(shown(&place), format!("error: [PLACE]/home/.cycod/mcp.json:{told}\n"), "{overrides}");
    }
    let many: String = (0..101).map(|number| format!("\"a*{number}\": {{}},")).collect();
    let place = Place::new();
    place.write(
        "home/.cycod/mcp.json",
        format!(r#"{{"mcpServers": {{"s": {{"command": "a", "overrides": {{{many}}}}}}}}}"#),
    );
    assert!(shown(&place).contains("there are more than 100 patterns"), "{}", shown(&place));
}

#[test]
fn names_come_before_patterns() {
    let place = Place::new();
    place.write(
        "home/.cycod/mcp.json",
        r#"{"mcpServers": {"s": {
          "command": "a", "tools": ["get_*", "x"],
          "levels": {"*": "write", "get_*": "read", "get_all": "run"},
          "overrides": {
            "*": {"output-tokens": 500, "fixed-arguments": {"a": 1, "b": 1}},
            "get_*": {"cache": 1000, "default-arguments": {"b": 2}},
            "get_one": {"description": "d", "output-tokens": 200}
          }
        }}}"#,
    );
    let server = Servers::load(&place.scopes()).servers.remove(0);
    let tools = server.tools();
    assert_eq!(
        ["get_", "get_one", "x", "xx", "Get_one"].map(|tool| tools.wants(tool)),
        [true, true, true, false, false]
    );
    let level = |tool: &str| tools.level(tool).expect("a level").name();
    assert_eq!(["get_one", "get_all", "other"].map(level), ["read", "run", "write"]);
    assert_eq!(
        tools.changes("get_one").to_json().to_string(),
        r#"{"description":"d","default-arguments":{"b":2},"fixed-arguments":{"a":1},"output-tokens":200,"cache":1000}"#
    );
    assert_eq!(tools.idle(&["get_one"]), [("tools", "x"), ("levels", "get_all")]);
}

#[test]
fn hostile_files() {
    let check = |text: String, problem: &str| {
        let place = Place::new();
        place.write("project/.cycod/mcp.json", text);
        let said = shown(&place);
        assert!(said.lines().count() == 1 && said.contains(problem), "{said}");
    };
    check("[".repeat(100_000), "nested deeper than 128");
    check(format!("{{\"mcpServers\": {}", "{\"a\":".repeat(100_000)), "nested deeper than 128");
    check("{\"mcpServers\": {}, \"MCPServers\": {}}".to_owned(), "`MCPServers` is there twice");
    check("[]".to_owned(), "a list is here, where a table is expected");
    check("{\"mcpServers\": []}".to_owned(), "`mcpServers` needs a table, not a list");
    let place = Place::new();
    fs::create_dir(place.path("project/.cycod/mcp.json")).expect("a directory");
    assert_eq!(shown(&place), "error: `[PLACE]/project/.cycod/mcp.json` is not a plain file\n");
    #[cfg(unix)]
    for (target, problem) in [("/dev/zero", "is not a plain file"), ("missing", "is not a plain file")] {
        let place = Place::new();
        std::os::unix::fs::symlink(target, place.path("project/.cycod/mcp.json")).expect("a link");
        assert!(shown(&place).contains(problem), "{}", shown(&place));
    }
}

#[test]
fn a_project_grants_itself_nothing() {
    let place = Place::new();
    let text = r#"{"mcpServers": {"a": {"command": "rm", "args": ["-rf", "x\u001b[2K"], "levels": {"t": "read"}, "overrides": {"t": {"description": "d"}}}}}"#;
    place.write("project/.cycod/mcp.json", text);
    let load = || Servers::load(&place.scopes()).servers.remove(0);
    let server = load();
    assert!(!server.is_ours && server.tools().level("t").is_none() && server.tools().changes("t").is_empty());
    assert_eq!(server.entry.transport.in_full(), "rm -rf 'x\\u{1b}[2K'");
    Consents::open(&place.scopes()).give(&server).expect("it is written");
    let server = load();
    assert!(server.is_ours && server.tools().level("t").is_some() && !server.tools().changes("t").is_empty());
    // Any change asks again, and so does the same entry elsewhere.
    place.write("project/.cycod/mcp.json", text.replace("-rf", "-r"));
    assert!(!load().is_ours);
    place.write("project/.cycod/mcp.json", text.replace("\"a\"", "\"b\""));
    assert!(!load().is_ours);
    place.write("project/.cycod/mcp.json", text);
    Consents::open(&place.scopes()).withdraw(&load()).expect("it is written");
    assert!(!load().is_ours);
    #[cfg(unix)]
    assert_eq!(crate::support::mode(&place.path("home/.cycod/mcp-consent.json")), 0o600);
}

#[test]
fn a_spoilt_record_of_consent_agrees_to_nothing() {
    let place = Place::new();
    place.write("home/.cycod/mcp-consent.json", "{");
    let error = add(&place.scopes(), Scope::Local, "a", &stdio("ls", &[]), false).expect_err("it cannot be remembered");
    assert_eq!(
        place.redacted(&error.to_string()),
        "[PLACE]/home/.cycod/mcp-consent.json:1:1: this is not what `cycod` writes: remove the file to start again"
    );
    assert!(!Servers::load(&place.scopes()).servers[0].is_ours);
}

#[test]
fn what_its_user_adds_is_ours_and_the_rest_of_the_file_stays() {
    let place = Place::new();
    let before = "{\n  // mine\n  \"theme\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"} // a\n  }\n}\n";
    let path = place.write("project/.cycod/mcp.json", before);
    let scopes = place.scopes();
    let mut entry = stdio("npx", &["-y", "b"]);
    entry.timeout = Some(Duration::from_secs(1));
    assert_eq!(add(&scopes, Scope::Local, "b", &entry, false).expect("it is added"), Some((path.clone(), false)));
    expect![[r#"
        {
          // mine
          "theme": 1,
          "mcpServers": {
            "a": {"command": "x"}, // a
            "b": {
              "command": "npx",
              "args": ["-y", "b"],
              "timeout": 1000
            }
          }
        }
    "#]]
    .assert_eq(&place.read("project/.cycod/mcp.json"));
    expect![[r#"
        a local:5 {"command":"x"} not ours
        b local:6 {"command":"npx","args":["-y","b"],"timeout":1000}
    "#]]
    .assert_eq(&shown(&place));
    assert_eq!(add(&scopes, Scope::Local, "B", &entry, false).expect("it is looked at"), None);
    assert_eq!(add(&scopes, Scope::Local, "B", &stdio("y", &[]), true).expect("it is replaced"), Some((path, true)));
    let all = Servers::load(&scopes);
    let server = all.find("b", ScopeFilter::Any).expect("it keeps its name");
    assert!(server.is_ours);
    remove(&scopes, server).expect("it is removed");
    assert_eq!(place.read("project/.cycod/mcp.json"), before);
}

#[cfg(unix)]
#[test]
fn files_with_values_are_their_owners() {
    use crate::support::mode;
    let place = Place::new();
    let scopes = place.scopes();
    add(&scopes, Scope::User, "a", &stdio("ls", &[]), false).expect("it is added");
    let path = place.path("home/.cycod/mcp.json");
    assert_eq!(mode(&path) & 0o600, 0o600);
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("it is ours");
    let headers = vec![("Authorization".to_owned(), "Bearer x".to_owned())];
    let entry = ServerEntry::new(Transport::Http { url: "https://h".to_owned(), headers });
    add(&scopes, Scope::User, "b", &entry, false).expect("it is added");
    assert_eq!(mode(&path), 0o600);
}

#[cfg(unix)]
#[test]
fn a_link_does_not_lead_out_of_a_project() {
    let place = Place::new();
    let outside = place.write("home/.claude.json", "{}\n");
    std::os::unix::fs::symlink(&outside, place.path("project/.cycod/mcp.json")).expect("a link");
    let error = add(&place.scopes(), Scope::Local, "a", &stdio("ls", &[]), false).expect_err("it is refused");
    assert!(error.to_string().ends_with("which is not in the project"), "{error}");
    assert_eq!(place.read("home/.claude.json"), "{}\n");
}

#[test]
fn processes_do_not_lose_each_others_servers() {
    let place = Place::new();
    let scopes = place.scopes();
    thread::scope(|threads| {
        for index in 0..16 {
            let scopes = &scopes;
            threads.spawn(move || {
                add(scopes, Scope::Local, &format!("s{index}"), &stdio("ls", &[]), false).expect("it is added");
            });
        }
    });
    let all = Servers::load(&scopes);
    assert_eq!((all.servers.len(), all.servers.iter().filter(|server| server.is_ours).count()), (16, 16));
}

#[test]
fn references_are_resolved_when_a_server_is_used() {
    let place = Place::new().set("BIN", "/opt").set("TOKEN", "t");
    place.write(
        "home/.cycod/mcp.json",
        r#"{"mcpServers": {
            "a": {"command": "${BIN}/x", "args": ["${N:-d}", "$${N}"], "env": {"E": "${TOKEN}"}, "cwd": "${N:-sub}"},
            "b": {"url": "https://${N:-h}/", "headers": {"A": "Bearer ${MISSING}"}}
        }}"#,
    );
    let all = Servers::load(&place.scopes());
    let host = place.host();
    let resolved = all.servers[0].resolve(&host).expect("everything is set");
    assert_eq!(
        resolved,
        Transport::Stdio {
            command: "/opt/x".to_owned(),
            args: vec!["d".to_owned(), "${N}".to_owned()],
            env: vec![("E".to_owned(), "t".to_owned())],
            cwd: Some(place.path("project/sub")),
        }
    );
    let refusal = all.servers[1].resolve(&host).expect_err("a variable is missing");
    assert_eq!(
        (refusal.code, refusal.why.as_str()),
        (Code::UnsetVariable, "server `b`: the header `A` refers to `${MISSING}`, which is not set in the environment")
    );
    assert_eq!(all.servers[1].entry.transport.references(), ["MISSING"]);
}

#[test]
fn names() {
    let long = "a".repeat(32);
    for name in ["a", "0", "git-hub_2", long.as_str()] {
        assert!(is_server_name(name), "{name}");
    }
    for name in ["", "-a", "_a", "a b", "a.b", "é", "a/b", &format!("{long}a")] {
        assert!(!is_server_name(name), "{name}");
    }
}

#[test]
fn nothing_is_made_by_looking() {
    let place = Place::new();
    assert!(Servers::load(&place.scopes()).servers.is_empty());
    let left: Vec<PathBuf> =
        fs::read_dir(place.path("home/.cycod")).expect("it is there").flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}
