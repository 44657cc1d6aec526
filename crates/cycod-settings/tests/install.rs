use std::fs;

use cycod_settings::{Done, HOSTS, HostEntry, HostFile, McpHost, uninstall};
use expect_test::expect;

use crate::support::Place;

fn offer(options: &[&str]) -> HostEntry {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    HostEntry { name: "cycod".to_owned(), program: "/opt/bin/cycod".to_owned(), options }
}

fn of(name: &str) -> &'static McpHost {
    McpHost::named(name).expect("it is known")
}

fn user_file(place: &Place, host: &McpHost) -> HostFile {
    HostFile { path: host.user_file(&place.host()), project: None }
}

#[test]
fn every_host_gets_what_it_reads_and_loses_it_again() {
    let mut texts = Vec::new();
    for host in HOSTS {
        let place = Place::new();
        let file = user_file(&place, host);
        assert_eq!(offer(&[]).install(host, &file, false).expect(host.name), Done::Added);
        let text = fs::read_to_string(&file.path).expect("it is written");
        assert_eq!(text, offer(&[]).snippet(host));
        #[cfg(unix)]
        assert_eq!(crate::support::mode(&file.path), 0o600);
        assert_eq!(offer(&[]).install(host, &file, false).expect(host.name), Done::Unchanged);
        assert_eq!(offer(&["--level", "read"]).install(host, &file, false).expect(host.name), Done::Updated);
        assert_eq!(uninstall(host, &file, "cycod", false).expect(host.name), Done::Removed);
        assert!(!file.path.exists(), "{} was made by us", file.path.display());
        assert_eq!(uninstall(host, &file, "cycod", false).expect(host.name), Done::Missing);
        texts.push(format!("{}\n{text}", host.name));
    }
    expect![[r#"
        claude-code
        {
          "mcpServers": {
            "cycod": {
              "type": "stdio",
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        claude-desktop
        {
          "mcpServers": {
            "cycod": {
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        cursor
        {
          "mcpServers": {
            "cycod": {
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        vscode
        {
          "servers": {
            "cycod": {
              "type": "stdio",
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        codex
        [mcp_servers.cycod]
        command = "/opt/bin/cycod"
        args = ["mcp", "serve"]
        gemini-cli
        {
          "mcpServers": {
            "cycod": {
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        zed
        {
          "context_servers": {
            "cycod": {
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        windsurf
        {
          "mcpServers": {
            "cycod": {
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        kiro
        {
          "mcpServers": {
            "cycod": {
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        copilot-cli
        {
          "mcpServers": {
            "cycod": {
              "type": "stdio",
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"],
              "tools": ["*"]
            }
          }
        }
        cline
        {
          "mcpServers": {
            "cycod": {
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
        opencode
        {
          "mcp": {
            "cycod": {
              "type": "local",
              "command": ["/opt/bin/cycod", "mcp", "serve"],
              "enabled": true
            }
          }
        }
        goose
        extensions:
          cycod:
            enabled: true
            type: "stdio"
            name: "cycod"
            cmd: "/opt/bin/cycod"
            args: ["mcp", "serve"]
        junie
        {
          "mcpServers": {
            "cycod": {
              "command": "/opt/bin/cycod",
              "args": ["mcp", "serve"]
            }
          }
        }
    "#]]
    .assert_eq(&texts.concat());
}

#[test]
fn what_is_there_stays() {
    let zed = "// Zed settings\n{\n\t\"theme\": \"One\", // dark\n\t\"context_servers\": {\n\t\t\"a\": {\"command\": \"x\", \"args\": []},\n\t},\n}\n";
    let codex = "model = \"o\"\r\n\r\n[mcp_servers.a] # a\r\ncommand = 'x'\r\n";
    for (name, before) in
        [("zed", zed), ("codex", codex), ("claude-code", "{\"mcpServers\": {}, \"numStartups\": 1e2}")]
    {
        let place = Place::new();
        let file = user_file(&place, of(name));
        fs::create_dir_all(file.path.parent().expect("a directory")).expect("it is made");
        fs::write(&file.path, before).expect("it is written");
        assert_eq!(offer(&[]).install(of(name), &file, false).expect(name), Done::Added);
        let after = fs::read_to_string(&file.path).expect("it is there");
        // Every byte that was there is there, in order.
        let mut bytes = after.bytes();
        assert!(before.bytes().all(|byte| bytes.any(|other| other == byte)), "{after}");
        assert_eq!(uninstall(of(name), &file, "cycod", false).expect(name), Done::Removed);
        assert_eq!(fs::read_to_string(&file.path).expect("it is there"), before);
    }
}

#[test]
fn an_entry_of_ours_is_brought_up_to_date_and_keeps_what_its_user_added() {
    let place = Place::new();
    let path = place.write(
        "home/.claude.json",
        "{\"mcpServers\": {\"cycod\": {\"command\": \"/old/cycod\", \"args\": [\"mcp\", \"serve\"], /* mine */ \"env\": {\"A\": \"1\"}}}}",
    );
    let file = HostFile { path, project: None };
    assert_eq!(offer(&["--tag", "x"]).install(of("claude-code"), &file, false).expect("it is ours"), Done::Updated);
    assert_eq!(
        place.read("home/.claude.json"),
        "{\"mcpServers\": {\"cycod\": {\"command\": \"/opt/bin/cycod\", \"args\": [\"mcp\", \"serve\", \"--tag\", \"x\"], /* mine */ \"env\": {\"A\": \"1\"}, \"type\": \"stdio\"}}}"
    );
    let path = place
        .write("home/.codex/config.toml", "[mcp_servers.cycod]\ncommand = 'cycod' # mine\nargs = ['mcp', 'serve']\n");
    let file = HostFile { path, project: None };
    assert_eq!(offer(&[]).install(of("codex"), &file, false).expect("it is ours"), Done::Updated);
    assert_eq!(
        place.read("home/.codex/config.toml"),
        "[mcp_servers.cycod]\ncommand = \"/opt/bin/cycod\" # mine\nargs = ['mcp', 'serve']\n"
    );
}

#[test]
fn an_entry_of_somebody_else_is_left_alone_unless_told() {
    for (name, path, text) in [
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": {\"cycod\": {\"command\": \"other\"}}}"),
        ("codex", "home/.codex/config.toml", "[mcp_servers.cycod]\ncommand = 'other'\n"),
    ] {
        let place = Place::new();
        let file = HostFile { path: place.write(path, text), project: None };
        assert_eq!(offer(&[]).install(of(name), &file, false).expect(name), Done::Foreign);
        assert_eq!(uninstall(of(name), &file, "cycod", false).expect(name), Done::Foreign);
        assert_eq!(place.read(path), text);
        assert_eq!(offer(&[]).install(of(name), &file, true).expect(name), Done::Replaced);
        assert!(place.read(path).contains("/opt/bin/cycod") && !place.read(path).contains("other"));
    }
}

#[test]
fn a_file_that_cannot_be_understood_is_left_alone() {
    let check = |name: &str, path: &str, text: &[u8], expected: &str| {
        let place = Place::new();
        let file = HostFile { path: place.write(path, text), project: None };
        for result in [offer(&[]).install(of(name), &file, true), uninstall(of(name), &file, "cycod", true)] {
            assert_eq!(place.redacted(&result.expect_err(name).to_string()), expected);
        }
        assert_eq!(fs::read(&file.path).expect("it is there"), text);
    };
    check(
        "cursor",
        "m.json",
        b"{\"mcpServers\": {},\n \"a\" 1}",
        "[PLACE]/m.json:2:6: `1` stands here, where `:` is expected",
    );
    check("cursor", "m.json", b"{\"a\": \"\xff\"}", "[PLACE]/m.json:1:8: this byte is not UTF-8");
    check(
        "cursor",
        "m.json",
        b"{\"mcpServers\": {\"cycod\": 1, \"cycod\": 2}}",
        "[PLACE]/m.json:1:29: `cycod` is there twice",
    );
    check("codex", "c.toml", b"a = 1\na = 2\n", "[PLACE]/c.toml:2:1: duplicate key");
    check("codex", "c.toml", b"mcp_servers = [\n", "[PLACE]/c.toml:1:16: unclosed array, expected `]`");
    let deep = "[".repeat(100_000);
    check("cursor", "m.json", deep.as_bytes(), "[PLACE]/m.json:1:130: values are nested deeper than 128");
}

#[cfg(unix)]
#[test]
fn links_are_followed_at_home_and_not_out_of_a_project() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let kept = place.write("home/dotfiles/claude.json", "{\"a\": 1}");
    symlink("dotfiles/claude.json", place.path("home/.claude.json")).expect("a link");
    let file = user_file(&place, of("claude-code"));
    assert_eq!(offer(&[]).install(of("claude-code"), &file, false).expect("it is followed"), Done::Added);
    assert!(fs::symlink_metadata(&file.path).expect("it is there").is_symlink());
    assert!(fs::read_to_string(&kept).expect("it is there").contains("cycod"));

    for link in ["project/.mcp.json", "project/.cursor"] {
        let target = if link.ends_with("json") { "../home/dotfiles/claude.json" } else { "../home/dotfiles" };
        symlink(target, place.path(link)).expect("a link");
    }
    let before = fs::read_to_string(&kept).expect("it is there");
    for name in ["claude-code", "cursor"] {
        let project = place.path("project");
        let file = HostFile { path: of(name).project_file(&project).expect("it has one"), project: Some(project) };
        let error = offer(&[]).install(of(name), &file, true).expect_err("it is refused");
        assert!(error.to_string().ends_with("which is not in the project"), "{error}");
    }
    assert_eq!(fs::read_to_string(&kept).expect("it is there"), before);
    assert!(!place.path("home/dotfiles/mcp.json").exists());
}

#[cfg(unix)]
#[test]
fn what_is_protected_stays() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let path = place.write("home/.cursor/mcp.json", "{}");
    let file = HostFile { path: path.clone(), project: None };
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("it is ours");
    let error = offer(&[]).install(of("cursor"), &file, false).expect_err("it is read-only");
    assert!(error.to_string().ends_with("is read-only"), "{error}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("it is ours");
    let directory = place.path("home/.cursor");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o555)).expect("it is ours");
    // Root may write anyway.
    if fs::write(directory.join("probe"), "").is_err() {
        let error = offer(&[]).install(of("cursor"), &file, false).expect_err("the directory is read-only");
        assert!(error.to_string().starts_with("cannot write into"), "{error}");
        assert_eq!(place.read("home/.cursor/mcp.json"), "{}");
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).expect("it is ours");
    assert_eq!(offer(&[]).install(of("cursor"), &file, false).expect("it can be written"), Done::Added);
    assert_eq!(crate::support::mode(&path), 0o640, "a file keeps its mode");
    // A file where a directory is needed.
    place.write("home/.codex", "");
    let error = offer(&[]).install(of("codex"), &user_file(&place, of("codex")), false).expect_err("it cannot be made");
    assert!(error.to_string().starts_with("cannot"), "{error}");
}
