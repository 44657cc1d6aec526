use std::{fs, io::Write as _, process::Stdio};

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::Place;

#[test]
fn a_server_is_added_shown_and_removed() {
    let place = Place::new();
    let ran = place.shell(
        r#"cycod mcp list
cycod mcp add files --yes --cwd . --timeout 3000 --tools read,list -- npx -y some-server --token abc .
cycod mcp add tracker --yes --user --url https://tracker.example/mcp --header 'Authorization: Bearer ${TRACKER_TOKEN}'
cycod mcp list
cycod mcp list --user --format simple
cycod mcp get files
TRACKER_TOKEN=t cycod mcp get TRACKER
cycod mcp remove files --force
cycod mcp list --local"#,
    );
    expect![[r#"
        exit: 0
        --- stdout
        NAME     SCOPE  HOW
        files    local  npx -y some-server --token **** .
        tracker  user   https://tracker.example/mcp
        tracker
        files (local scope, .cycod/mcp.json:3)
          command: npx
          args: -y some-server --token **** .
          cwd: .
          timeout: 3000
          tools: read list
        tracker (user scope, ~/.cycod/mcp.json:3)
          type: http
          url: https://tracker.example/mcp
          headers:
            Authorization: Bearer ${TRACKER_TOKEN}
        --- stderr
        no MCP servers here yet; add one with `cycod mcp add`, or see what other programs know: cycod mcp import
        Added local server `files`: .cycod/mcp.json
          try it: cycod mcp test files
        warning: a secret is written down in .cycod/mcp.json, which may be shared; '${NAME}' in its place takes it from the environment
        Added user server `tracker`: ~/.cycod/mcp.json
          before it can be used, set TRACKER_TOKEN
          try it: cycod mcp test tracker
        Removed local server `files`: .cycod/mcp.json
        no MCP servers in this scope yet; add one with `cycod mcp add`, or see what other programs know: cycod mcp import
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn for_programs() {
    let place = Place::new();
    place
        .write(".cycod/mcp.json", r#"{"mcpServers": {"a": {"command": "x", "env": {"API_KEY": "hunter2"}}, "b": {}}}"#);
    let ran = place.run(&["mcp", "list", "--format", "json"]);
    expect![[r#"
        exit: 0
        --- stdout
        [
          {
            "name": "a",
            "scope": "local",
            "path": "[PLACE]/project/.cycod/mcp.json",
            "line": 1,
            "transport": "stdio",
            "enabled": true,
            "trusted": false,
            "command": "x",
            "env": {
              "API_KEY": "****"
            }
          },
          {
            "name": "b",
            "scope": "local",
            "path": "[PLACE]/project/.cycod/mcp.json",
            "line": 1,
            "problem": "neither `command` nor `url` defines how to reach it"
          }
        ]
        --- stderr
        warning: .cycod/mcp.json:1:76: server `b`: neither `command` nor `url` defines how to reach it
    "#]]
    .assert_eq(&ran.block());
    let one = place.run(&["mcp", "get", "a", "--format", "json"]).stdout();
    let one: serde_json::Value = serde_json::from_str(&one).expect("JSON");
    assert_eq!((&one["name"], &one["env"]["API_KEY"]), (&"a".into(), &"****".into()));
}

#[test]
fn what_came_with_a_project_is_told_from_what_its_user_added() {
    let place = Place::new();
    place.write(
        ".cycod/mcp.json",
        "{\"mcpServers\": {\n  \"theirs\": {\"command\": \"curl\", \"args\": [\"x\\u001b[2K\"]}\n}}\n",
    );
    let ran = place.shell("cycod mcp add mine --yes -- ls; cycod mcp list; cycod mcp get theirs");
    expect![[r#"
        exit: 0
        --- stdout
        NAME    SCOPE  HOW
        theirs  local  not accepted - curl 'x\u{1b}[2K'
        mine    local  ls
        theirs (local scope, .cycod/mcp.json:2)
          command: curl
          args: 'x\u{1b}[2K'
          came with the project and does not start until you accept it: cycod mcp accept theirs
        --- stderr
        Added local server `mine`: .cycod/mcp.json
          try it: cycod mcp test mine
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn mistakes() {
    let place = Place::new();
    let ran = place.shell(
        r#"cycod mcp add 'a b' -- ls
cycod mcp add a
cycod mcp add a --url https://h -- ls
cycod mcp add a --url ftp://h
cycod mcp add a --url https://h --env A=1
cycod mcp add a --env A -- ls
cycod mcp add a --header A:1 -- ls
cycod mcp add a --any -- ls
cycod mcp add a --timeout 0 -- ls
cycod mcp add a --tools '' -- ls
cycod mcp add a npx -y b
cycod mcp add a --yes -- ls
cycod mcp add A --yes -- ls
cycod mcp get b
cycod mcp get a --user
cycod mcp remove a
cycod mcp lisst
cycod mcp
cycod mcp install emacs
cycod mcp install cursr
cycod mcp install windsurf --scope project
cycod mcp install cursor --scope global
cycod mcp uninstall cursor
cycod mcp import nothing
cycod mcp import nothing.json
cycod mcp import zed"#,
    );
    expect![[r#"
        error: `a b` cannot name a server
          names start with a letter or digit and hold letters, digits, `_` and `-`, at most 32
        error: neither a command nor --url is given
          cycod mcp add NAME -- COMMAND [ARGUMENT...]
          cycod mcp add NAME --url URL
        error: `--url` cannot be used with `COMMAND`
          see: cycod help mcp add
        error: `ftp://h` is no address that begins with https:// or http://
        error: `--env` is for a server that is a program
        error: `--env A` is not of the form NAME=VALUE
        error: `--header` is for a server with `--url`
        error: a server is written to one scope
          give --local, --user or --global
        error: `0` is not a value of `--timeout`
          see: cycod help mcp add
        error: `--tools` needs a value
          see: cycod help mcp add
        error: `npx` is one argument too many for `cycod mcp add`
          a program and its arguments come after `--`
          see: cycod help mcp add
        Added local server `a`: .cycod/mcp.json
          try it: cycod mcp test a
        error: server `A` is already there: .cycod/mcp.json
          give --override to replace it
        error[unknown-server]: no server is called `b`
          did you mean `a`?
          more: cycod explain unknown-server
        error: the user scope has no server `a`
          the local scope has one: .cycod/mcp.json
        error: removing the local server `a`: .cycod/mcp.json needs confirmation, and there is no terminal to ask at
          give --force
        error: `cycod mcp lisst` is not a command
          did you mean `list`?
          see: cycod help mcp
        error: a command is missing after `cycod mcp`
          one of list, get, add, remove, import, test, accept, confine, login, serve, install, uninstall, bundle
          see: cycod help mcp
        error: `emacs` is not a host that cycod knows
          one of claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, zed, windsurf, kiro, copilot-cli, cline, opencode, goose, junie
          for another host, copy the entry from: cycod mcp install claude-code --print
        error: `cursr` is not a host that cycod knows
          did you mean `cursor`?
        error: Windsurf keeps no servers in projects
        error: a host is set up for a user or a project
          give --scope user or --scope project
        error: Cursor has no entry `cycod`: ~/.cursor/mcp.json
        error: `nothing` is not a host that cycod knows
          one of claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, zed, windsurf, kiro, copilot-cli, cline, opencode, goose, junie
          for another host, copy the entry from: cycod mcp install claude-code --print
        error: there is no file `nothing.json`
        error: Zed has no file of servers here
          searched .zed/settings.json and ~/.config/zed/settings.json
    "#]]
    .assert_eq(&ran.stderr());
}

#[test]
fn what_is_wrong_is_told_to_whoever_serves_and_in_whose_words_it_is() {
    let place = Place::new();
    place.write(".cycod/mcp.json", "{\"servers\": {\"a\": {\"command\": \"x\"}}}");
    let ran = place.shell("cycod mcp serve < /dev/null; cycod mcp list; cycod mcp add b --yes -- y; cycod mcp list");
    expect![[r#"
        exit: 0
        --- stdout
        NAME  SCOPE  HOW
        b     local  y
        --- stderr
        warning: .cycod/mcp.json:1:2: `servers` is another program's key; servers are in `mcpServers` here
        warning: .cycod/mcp.json:1:2: `servers` is another program's key; servers are in `mcpServers` here
        Added local server `b`: .cycod/mcp.json
          try it: cycod mcp test b
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn a_broken_file_is_told_and_left_alone() {
    let place = Place::new();
    place.write(".cycod/mcp.json", "{\"mcpServers\": {\n  oops\n}}\n");
    let ran = place
        .shell("cycod mcp add a --user --yes -- ls; cycod mcp list; cycod mcp add b --yes -- ls; cat .cycod/mcp.json");
    expect![[r#"
        exit: 0
        --- stdout
        NAME  SCOPE  HOW
        a     user   ls
        {"mcpServers": {
          oops
        }}
        --- stderr
        Added user server `a`: ~/.cycod/mcp.json
          try it: cycod mcp test a
        warning: .cycod/mcp.json:2:3: `o` stands here, where a key in quotes or `}` is expected
        error: .cycod/mcp.json:2:3: `o` stands here, where a key in quotes or `}` is expected
          the file is unchanged
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn servers_of_other_programs_are_found_and_imported() {
    let place = Place::new();
    place.write(
        ".mcp.json",
        r#"{"mcpServers": {"docs": {"type": "http", "url": "https://docs.example/mcp"}, "old": {"type": "sse", "url": "https://h/sse"}}}"#,
    );
    place.write(
        "../home/.cursor/mcp.json",
        r#"{"mcpServers": {"My Files": {"command": "npx", "env": {"K": "${env:FILES_KEY}"}, "autoApprove": ["x"]}}}"#,
    );
    place.write(
        "../home/.codex/config.toml",
        "[mcp_servers.docs]\ncommand = 'docs'\n[mcp_servers.cycod]\ncommand = 'cycod'\nargs = ['mcp', 'serve']\n",
    );
    let ran = place.shell(
        r"cycod mcp import
cycod mcp import cursor codex --dry-run
cycod mcp import claude-code cursor --user --yes; echo $?
cycod mcp import codex --user --yes; echo $?
cycod mcp import ~/.codex/config.toml --user --override --yes; echo $?
cycod mcp list",
    );
    expect![[r#"
        exit: 0
        --- stdout
        HOST         FILE                  SERVERS
        claude-code  .mcp.json             docs, old
        cursor       ~/.cursor/mcp.json    My Files
        codex        ~/.codex/config.toml  docs, cycod
        {
          "mcpServers": {
            "My-Files": {
              "command": "npx",
              "env": {
                "K": "${FILES_KEY}"
              }
            },
            "docs": {
              "command": "docs"
            }
          }
        }
        1
        1
        0
        NAME      SCOPE  HOW
        docs      user   docs
        My-Files  user   npx
        --- stderr
        import them with: cycod mcp import HOST
        Would import `My-Files` from ~/.cursor/mcp.json:1, there called `My Files`
          K='${FILES_KEY}' npx
          `autoApprove` is ignored: approvals are given here, not taken over
        Would import `docs` from ~/.codex/config.toml:1
          docs
        Left out `cycod` (~/.codex/config.toml:3): it offers the tools here
        Imported user server `docs` from .mcp.json:1: ~/.cycod/mcp.json
          https://docs.example/mcp
        Left out `old` (.mcp.json:1): it is reached over the old SSE transport, which cycod does not support; many servers have an address for streamable HTTP as well
        Imported user server `My-Files` from ~/.cursor/mcp.json:1, there called `My Files`: ~/.cycod/mcp.json
          K='${FILES_KEY}' npx
          `autoApprove` is ignored: approvals are given here, not taken over
        Left out `docs` (~/.codex/config.toml:1): it is already there: ~/.cycod/mcp.json; give --override to replace it
        Left out `cycod` (~/.codex/config.toml:3): it offers the tools here
        Replaced user server `docs` from ~/.codex/config.toml:1: ~/.cycod/mcp.json
          docs
        Left out `cycod` (~/.codex/config.toml:3): it offers the tools here
    "#]].assert_eq(&ran.block());
}

#[test]
fn our_entry_is_put_into_a_host_and_taken_out() {
    let place = Place::new();
    let before = "{\n  // mine\n  \"mcpServers\": {\"a\": {\"url\": \"https://h\"}},\n  \"theme\": 1\n}\n";
    place.write("../home/.cursor/mcp.json", before);
    let ran = place.shell(
        r#"cycod mcp install cursor --print --level read --tag git | sed "s#$(command -v cycod)#[CYCOD]#"
cycod mcp install cursor
cycod mcp install cursor
cycod mcp install cursor --tools a,b --level write
grep -c "$(command -v cycod)" ~/.cursor/mcp.json
cycod mcp install vscode --scope project --name tools
cat .vscode/mcp.json | sed "s#$(command -v cycod)#[CYCOD]#"
cycod mcp uninstall vscode --scope project --name tools
ls .vscode
cycod mcp uninstall cursor"#,
    );
    expect![[r#"
        exit: 0
        --- stdout
        {
          "mcpServers": {
            "cycod": {
              "command": "[CYCOD]",
              "args": ["mcp", "serve", "--tag", "git", "--level", "read"]
            }
          }
        }
        1
        {
          "servers": {
            "tools": {
              "type": "stdio",
              "command": "cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        --- stderr
        belongs in ~/.cursor/mcp.json
        Added `cycod` in Cursor: ~/.cursor/mcp.json
          Cursor sees it when it is started again
          undo it: cycod mcp uninstall cursor
        Cursor has the entry `cycod` already: ~/.cursor/mcp.json
        Updated `cycod` in Cursor: ~/.cursor/mcp.json
          Cursor sees it when it is started again
          undo it: cycod mcp uninstall cursor
        Added `tools` in VS Code: .vscode/mcp.json
          VS Code sees it when it is started again
          undo it: cycod mcp uninstall vscode --scope project --name tools
        Removed `tools` from VS Code: .vscode/mcp.json
        Removed `cycod` from Cursor: ~/.cursor/mcp.json
    "#]]
    .assert_eq(&ran.block());
    assert_eq!(fs::read_to_string(place.home().join(".cursor/mcp.json")).expect("it is there"), before);
}

#[test]
fn what_is_written_starts_the_server() {
    let place = Place::with_tool("hello", "description: Hi\nbash: echo hi\ntags: [read]\n");
    let installed = place.run(&["mcp", "install", "claude-code", "--level", "read"]);
    assert_eq!(installed.code(), 0, "{}", installed.block());
    let text = fs::read_to_string(place.home().join(".claude.json")).expect("it is written");
    let whole: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let entry = &whole["mcpServers"]["cycod"];
    let args: Vec<&str> = entry["args"].as_array().into_iter().flatten().filter_map(|arg| arg.as_str()).collect();
    let mut command = place.command(&args);
    let this = fs::canonicalize(command.get_program()).expect("the program is there");
    assert_eq!(fs::canonicalize(entry["command"].as_str().unwrap_or_default()).ok(), Some(this));
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
    writeln!(server.stdin.take().expect("it is piped"), "{hello}").expect("it reads");
    let output = server.wait_with_output().expect("it ends with its input");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one answer");
    assert_eq!(answer["result"]["serverInfo"]["name"], "cycod");
}

#[test]
fn an_entry_of_somebody_else_is_not_touched() {
    let place = Place::new();
    place.write("../home/.codex/config.toml", "[mcp_servers.cycod]\ncommand = 'other'\n");
    let ran = place.shell(
        "cycod mcp install codex; echo $?; cycod mcp uninstall codex; echo $?; cat ~/.codex/config.toml; cycod mcp uninstall codex --force; cat ~/.codex/config.toml",
    );
    expect![[r#"
        exit: 0
        --- stdout
        1
        1
        [mcp_servers.cycod]
        command = 'other'
        --- stderr
        error: Codex has another server called `cycod`: ~/.codex/config.toml
          give --name NAME to call this one otherwise, or --override to replace that one
        error: the entry `cycod` of Codex starts something else: ~/.codex/config.toml
          give --force to remove it nevertheless
        Removed `cycod` from Codex: ~/.codex/config.toml
    "#]]
    .assert_eq(&ran.block());
}

#[test]
fn an_entry_can_name_a_directory_and_what_is_allowed() {
    let place = Place::with_tool("greet", "description: Greets\nrun: echo hi\ntags: [read]\n");
    let here = place.project().canonicalize().expect("it is there");
    // Where the host starts us, this project is not.
    let told = place.run(&["mcp", "install", "claude-desktop"]).stderr();
    assert!(told.contains("in a directory of its own choice") && told.contains("--directory"), "{told}");
    let told = place.run(&["mcp", "install", "claude-code"]).stderr();
    assert!(!told.contains("in a directory of its own choice"), "{told}");
    let options = [
        "--directory",
        ".",
        "--auto-approve",
        "write",
        "--wait-for-approval",
        "30",
        "--reply-tokens",
        "900",
        "--list-tokens",
        "500",
    ];
    let ran = place.run(&[&["mcp", "install", "claude-desktop"], &options[..]].concat());
    assert!(!ran.stderr().contains("in a directory of its own choice"), "{}", ran.block());
    let file = place.home().join(".config/Claude/claude_desktop_config.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(file).expect("it is there")).expect("JSON");
    let here = here.to_str().expect("text");
    assert_eq!(
        file["mcpServers"]["cycod"]["args"],
        json!([
            "mcp",
            "serve",
            "--auto-approve",
            "write",
            "--wait-for-approval",
            "30",
            "--reply-tokens",
            "900",
            "--list-tokens",
            "500",
            "--directory",
            here,
        ])
    );
    // The server finds the tools from anywhere.
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }}});
    place.write("request", &format!("{request}\n"));
    let listed = place.shell(&format!("(cat request; sleep 2) | (cd / && cycod mcp serve --directory '{here}')"));
    assert!(listed.stdout().contains("\"greet\""), "{}", listed.block());
    let wrong = place.run(&["mcp", "serve", "--directory", "nowhere"]);
    assert!(wrong.code() == 2 && wrong.stderr().contains("--directory nowhere"), "{}", wrong.block());
}

#[test]
fn installing_says_which_tools_wait_for_trust() {
    let place = Place::cloned();
    let ran = place.run(&["mcp", "install", "claude-code"]);
    assert!(!ran.stderr().contains("trust"), "{}", ran.block());
    place.tool("one", "description: One\nbash: echo one\ntags: [read]\n");
    place.tool("two", "description: Two\nbash: echo two\ntags: [read]\n");
    let ran = place.run(&["mcp", "install", "claude-code", "--name", "again"]);
    let expect = "2 tools wait for your trust and are not offered until then: one, two; review";
    assert!(ran.stderr().contains(expect), "{}", ran.block());
}

/// What is not offered, and why, stands at the end of the installation, in the server's log and in what it tells the model.
#[test]
fn what_is_not_offered_is_told_with_the_reason() {
    let place = Place::cloned();
    place.tool("lonely", "description: One\nbash: echo one\ntags: [read]\n");
    place.tool("wrong", "description: Two\nbsh: echo two\n");
    let needs = "description: Three\nbash: echo three\ntags: [read]\nrequires: {commands: [no-such-program]}\n";
    place.tool("needs", needs);
    let reasons = [
        "1 tool waits for your trust and is not offered until then: lonely; review and trust them: cycod trust --all",
        "`wrong` is not offered, because its file is wrong: a tool has no key `bsh`; see: cycod validate",
        "`needs` is not offered: it requires `no-such-program`, which is not on the PATH",
    ];
    let installed = place.run(&["mcp", "install", "claude-code"]).stderr();
    reasons.iter().for_each(|reason| assert!(installed.contains(reason), "{reason}: {installed}"));
    // Only what is selected is missing.
    let selected = place.run(&["mcp", "install", "claude-code", "--name", "other", "--tools", "needs,x"]).stderr();
    assert!(selected.contains("no-such-program") && !selected.contains("lonely"), "{selected}");
    let ask = |method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        place.write("request", &format!("{request}\n"));
        let ran = place.shell("(cat request; sleep 2) | cycod mcp serve");
        let answer: Value = serde_json::from_str(ran.stdout().lines().next().expect("an answer")).expect("JSON");
        (answer["result"].clone(), ran.stderr())
    };
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (greeted, _) = ask("initialize", hello);
    let told = greeted["instructions"].as_str().expect("instructions");
    assert!(told.contains("1 tool of this project can't be called, because the user hasn't trusted"), "{told}");
    assert!(told.contains("1 tool can't be called, because of errors in their files"), "{told}");
    assert!(told.contains("The tool `needs` can't be called: it requires `no-such-program`"), "{told}");
    assert!(
        !told.contains("lonely") && !told.contains("wrong"),
        "names of what nobody trusts are not for models: {told}"
    );
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }});
    assert_eq!(ask("server/discover", meta.clone()).0["instructions"], greeted["instructions"]);
    let (_, log) = ask("tools/list", meta);
    reasons.iter().for_each(|reason| assert!(log.contains(reason), "{reason}: {log}"));
}

#[test]
fn an_entry_says_whose_credentials_a_server_gets() {
    let place = Place::new();
    let with = |entry: serde_json::Value| {
        place.write("../home/.cycod/mcp.json", &serde_json::json!({"mcpServers": {"tracker": entry}}).to_string());
        place.run(&["mcp", "get", "tracker"])
    };
    let url = "https://127.0.0.1:9/mcp";
    let shared = with(serde_json::json!({"url": url, "credentials": "shared"}));
    assert!(shared.stdout().contains("credentials: shared"), "{}", shared.block());
    for (entry, expected) in [
        (serde_json::json!({"url": url, "credentials": "mine"}), "`mine` is no kind of credentials: shared, per-user"),
        (
            serde_json::json!({"url": url, "credentials": "per-user", "headers": {"authorization": "Bearer ${T}"}}),
            "`credentials: per-user` and the header `authorization` exclude each other",
        ),
        (serde_json::json!({"command": "x", "credentials": "per-user"}), "this server is a program that cycod starts"),
    ] {
        let ran = with(entry.clone());
        assert!(ran.code() != 0 && ran.stderr().contains(expected), "{entry}: {}", ran.block());
    }
    // Whose login it is has to be somebody's, and of use.
    let _ = with(serde_json::json!({"url": url}));
    let ran = place.run(&["mcp", "login", "tracker", "--as", "ada"]);
    assert_eq!(ran.code(), 2, "{}", ran.block());
    assert!(ran.stderr().contains("--as ada: this is not a user"), "{}", ran.block());
    let user = "https://login.example#ada";
    let ran = place.run(&["mcp", "login", "tracker", "--as", user, "--forget"]);
    assert_eq!(ran.stderr(), "there was no login of the server `tracker`\n", "{}", ran.block());
    for entry in [
        serde_json::json!({"url": url, "credentials": "shared"}),
        serde_json::json!({"url": url, "headers": {"Cookie": "a=b"}}),
    ] {
        let _ = with(entry);
        for command in ["login", "test", "accept"] {
            let ran = place.run(&["mcp", command, "tracker", "--as", user]);
            assert_eq!(ran.code(), 2, "{}", ran.block());
            assert!(
                ran.stderr().contains("all users share the credentials of the server `tracker`"),
                "{}",
                ran.block()
            );
        }
    }
}
