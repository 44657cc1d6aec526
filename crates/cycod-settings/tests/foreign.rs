use cycod_settings::{McpHost, files_of, read_foreign};
use expect_test::{Expect, expect};

use crate::support::Place;

/// Reads a file as that of a host, and shows what there is.
fn check(name: &str, path: &str, text: &str, expect: &Expect) {
    let place = Place::new();
    let path = place.write(path, text);
    let of = McpHost::named(name);
    assert!(of.is_none_or(|of| files_of(of, &place.host()).contains(&path)), "{name} looks there");
    let mut shown = String::new();
    for found in read_foreign(&path, of, &place.host()).expect("it can be read") {
        let called = if found.called == found.name { String::new() } else { format!(" ({})", found.called) };
        shown += &match &found.entry {
            Ok(entry) => format!("{}:{} {}{called} {}\n", found.at.line, found.at.column, found.name, entry.to_json()),
            Err(why) => format!("{}:{} {}{called} left out: {why}\n", found.at.line, found.at.column, found.name),
        };
        found.notes.iter().for_each(|note| shown += &format!("  {note}\n"));
    }
    expect.assert_eq(&place.redacted(&shown));
}

#[test]
fn claude_code() {
    let place = Place::new();
    let project = place.path("project");
    let text = format!(
        r#"{{"numStartups": 3, "mcpServers": {{"a": {{"type": "stdio", "command": "npx", "args": ["${{X:-y}}"], "env": {{}}}}}},
        "projects": {{{:?}: {{"mcpServers": {{"here": {{"type": "http", "url": "https://h/${{T}}"}}}}}}, "/else": {{"mcpServers": {{"not": {{}}}}}}}}}}"#,
        project.to_string_lossy()
    );
    let path = place.write("home/.claude.json", text);
    let found = read_foreign(&path, McpHost::named("claude-code"), &place.host()).expect("it can be read");
    let shown: Vec<String> = found
        .iter()
        .map(|found| format!("{} {}", found.name, found.entry.as_ref().expect("it is right").to_json()))
        .collect();
    assert_eq!(shown, [r#"a {"command":"npx","args":["${X:-y}"]}"#, r#"here {"type":"http","url":"https://h/${T}"}"#]);
    check(
        "claude-code",
        "project/.mcp.json",
        r#"{"mcpServers": {"old": {"type": "sse", "url": "https://h/sse"}, "ours": {"command": "/x/cycod", "args": ["mcp", "serve"]}}}"#,
        &expect![[r#"
            1:17 old left out: it is reached over the old SSE transport, which cycod does not support; many servers have an address for streamable HTTP as well
            1:65 ours {"command":"/x/cycod","args":["mcp","serve"]}
        "#]],
    );
}

#[test]
fn claude_desktop_expands_nothing() {
    check(
        "claude-desktop",
        "home/.config/Claude/claude_desktop_config.json",
        "\u{feff}{\"mcpServers\": {\"My Files!\": {\"command\": \"npx\", \"args\": [\"${HOME}\"]}, \"My-Files\": {\"command\": \"x\"}}}",
        &expect![[r#"
            1:18 My-Files (My Files!) {"command":"npx","args":["$${HOME}"]}
            1:72 My-Files left out: another server of this file is called `My-Files` here
        "#]],
    );
}

#[test]
fn cursor_and_vscode_have_references_of_their_own() {
    check(
        "vscode",
        "project/.vscode/mcp.json",
        r#"{
  // comments
  "inputs": [{"type": "promptString", "id": "api-key", "password": true}],
  "servers": {
    "a": {"type": "stdio", "command": "${workspaceFolder}/x", "env": {"K": "${input:api-key}", "H": "${env:HOME}${userHome}"}, "envFile": ".env"},
    "b": {"type": "http", "url": "https://h", "headers": {"A": "${command:x.y}"}, "gallery": true,},
  },
}"#,
        &expect![[r#"
            5:5 a {"command":"[PLACE]/project/x","env":{"K":"${API_KEY}","H":"${HOME}[PLACE]/home"}}
              `envFile` is ignored: put its variables into `env`
              `${workspaceFolder}` became the directory of this project
              `${input:api-key}` is asked for there: set the variable API_KEY of the environment
            6:5 b {"type":"http","url":"https://h","headers":{"A":"${command:x.y}"}}
              `gallery` is ignored: it has no meaning here
              `${command:x.y}` means nothing here
        "#]],
    );
    check(
        "cursor",
        "home/.cursor/mcp.json",
        r#"{"mcpServers": {"a": {"url": "https://h", "headers": {"X": "${env:T}"}}, "off": {"command": "x", "disabled": true}}}"#,
        &expect![[r#"
            1:17 a {"type":"http","url":"https://h","headers":{"X":"${T}"}}
            1:74 off {"command":"x","enabled":false}
        "#]],
    );
}

#[test]
fn codex() {
    check(
        "codex",
        "home/.codex/config.toml",
        r#"model = "o"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env_vars = ["A", { name = "B", source = "remote" }]
tool_timeout_sec = 1.5
startup_timeout_sec = 20
enabled_tools = ["x"]
disabled_tools = ["y"]

[mcp_servers.docs.env]
K = "${literal}"

[mcp_servers.remote]
url = "https://h/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-A" = "1" }
env_http_headers = { "X-B" = "VAR" }
enabled = false

[mcp_servers.remote.tools.search]
approval_mode = "approve"
"#,
        &expect![[r#"
            2:14 docs {"command":"npx","args":["-y","docs"],"env":{"K":"$${literal}"},"timeout":1500,"tools":["x"],"env-inherit":["A","B"]}
              `startup_timeout_sec` is ignored: it has no meaning here
              `disabled_tools` is ignored: name the tools that are wanted in `tools` instead
            14:14 remote {"type":"http","url":"https://h/mcp","headers":{"X-A":"1","Authorization":"Bearer ${TOKEN}","X-B":"${VAR}"},"enabled":false}
              `tools` is ignored: approvals are given here, not taken over
        "#]],
    );
}

#[test]
fn gemini_zed_and_windsurf() {
    check(
        "gemini-cli",
        "home/.gemini/settings.json",
        r#"{"mcpServers": {
  "a": {"command": "x", "env": {"K": "$KEY and ${B} $1 $"}, "timeout": 600, "trust": true, "includeTools": ["t"], "excludeTools": ["u"]},
  "b": {"httpUrl": "https://h"}, "c": {"url": "https://h/sse"}}}"#,
        &expect![[r#"
            2:3 a {"command":"x","env":{"K":"${KEY} and ${B} $1 $"},"timeout":600,"tools":["t"]}
              `trust` is ignored: approvals are given here, not taken over
              `excludeTools` is ignored: name the tools that are wanted in `tools` instead
            3:3 b {"type":"http","url":"https://h"}
            3:34 c {"type":"http","url":"https://h/sse"}
              its `url` may be of the old SSE transport, which cycod does not support
        "#]],
    );
    check(
        "zed",
        "home/.config/zed/settings.json",
        r#"{"context_servers": {"a": {"source": "custom", "command": "x", "args": ["1"], "timeout": 30},
            "old": {"command": {"path": "y", "args": ["2"], "env": {"A": "1"}}, "settings": {}},
            "ext": {"source": "extension", "settings": {}}}}"#,
        &expect![[r#"
            1:22 a {"command":"x","args":["1"],"timeout":30000}
            2:13 old {"command":"y","args":["2"],"env":{"A":"1"}}
              `settings` is ignored: it has no meaning here
            3:13 ext left out: an extension of the editor starts it: no command is known
        "#]],
    );
    check(
        "windsurf",
        "home/.codeium/windsurf/mcp_config.json",
        r#"{"mcpServers": {"a": {"serverUrl": "https://h/${env:P}", "disabledTools": []}}}"#,
        &expect![[r#"
            1:17 a {"type":"http","url":"https://h/${P}"}
              `disabledTools` is ignored: name the tools that are wanted in `tools` instead
        "#]],
    );
}

#[test]
fn opencode_goose_and_junie() {
    check(
        "opencode",
        "home/.config/opencode/opencode.json",
        r#"{"model": "m", "mcp": {
  "a": {"type": "local", "command": ["x", "1"], "environment": {"K": "{env:KEY} and ${B} {env:"}, "enabled": true},
  "b": {"type": "remote", "url": "https://h", "headers": {"Authorization": "Bearer {env:T}"}, "oauth": false},
  "c": {"enabled": false}}}"#,
        &expect![[r#"
            2:3 a {"command":"x","args":["1"],"env":{"K":"${KEY} and $${B} {env:"}}
            3:3 b {"type":"http","url":"https://h","headers":{"Authorization":"Bearer ${T}"}}
              `oauth` is ignored: it has no meaning here
        "#]],
    );
    check(
        "goose",
        "home/.config/goose/config.yaml",
        "GOOSE_MODEL: m\nextensions:\n  developer: {enabled: true, name: developer, type: builtin, timeout: 300}\n  a:\n    \
         enabled: true\n    type: stdio\n    name: a\n    cmd: npx\n    args:\n    - -y\n    - x\n    envs: {K: $V}\n    env_keys: []\n    timeout: 30\n  \
         b: {type: streamable_http, uri: 'https://h', enabled: false}\n",
        &expect![[r#"
            4:3 a {"command":"npx","args":["-y","x"],"env":{"K":"$V"},"timeout":30000}
              `name` is ignored: it has no meaning here
              `env_keys` is ignored: it has no meaning here
            15:3 b {"type":"http","url":"https://h","enabled":false}
        "#]],
    );
    check(
        "junie",
        "home/.junie/mcp/mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "args": ["${A}"]}, "b": {"url": "https://h"}}}"#,
        &expect![[r#"
            1:17 a {"command":"x","args":["$${A}"]}
            1:58 b {"type":"http","url":"https://h"}
        "#]],
    );
}

#[test]
fn any_file_with_servers_in_it() {
    let usual = expect![[r#"
        1:17 a {"command":"x"}
    "#]];
    for key in ["mcpServers", "MCPServers", "mcpservers", "MCP-Server"] {
        if key == "MCP-Server" {
            check("", "some.json", &format!("{{\"{key}\": {{\"a\": {{\"command\": \"x\"}}}}}}"), &expect![""]);
        } else {
            check("", "some.json", &format!("{{\"{key}\": {{\"a\": {{\"command\": \"x\"}}}}}}"), &usual);
        }
    }
    check(
        "",
        "some.json",
        r#"{"a": {"command": "x"}, "b": {"url": "https://h"}}"#,
        &expect![[r#"
        1:2 a {"command":"x"}
        1:25 b {"type":"http","url":"https://h"}
    "#]],
    );
    check(
        "",
        "settings.json",
        r#"{"editor.x": 1, "mcp": {"servers": {"a": {"command": ["x", "-y"]}}}}"#,
        &expect![[r#"
        1:37 a {"command":"x","args":["-y"]}
    "#]],
    );
    check(
        "",
        "some.toml",
        "[mcp_servers.a]\ncommand = 'x'\n",
        &expect![[r#"
        1:14 a {"command":"x"}
    "#]],
    );
    check("", "empty.json", " \n", &expect![""]);
    let place = Place::new();
    assert!(read_foreign(&place.path("missing.json"), None, &place.host()).is_err());
}
