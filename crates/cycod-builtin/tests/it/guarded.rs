//! Files that are more than files: those that run or decide later, and those that open something.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value as Json, json};

use crate::support::Place;

fn write(path: &str) -> Json {
    json!({"filepath": path, "content": "x"})
}

/// Paths in the project whose change decides what runs later.
const DECIDING: [&str; 27] = [
    ".git/config",
    ".git/hooks/pre-commit",
    "sub/.git/config",
    "./x/../.git/config",
    ".GIT/config",
    "link/config",
    ".cycod/tools/new.yaml",
    ".cycod/policy.yaml",
    ".claude/settings.json",
    ".cursor/mcp.json",
    ".mcp.json",
    "mcp.json",
    "CLAUDE.md",
    ".vscode/tasks.json",
    "all.code-workspace",
    ".envrc",
    ".bashrc",
    ".husky/pre-commit",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    "lefthook.yml",
    "sub/lefthook-local.toml",
    "crush.json",
    "script.sh",
    "bare.git/config",
    "lib/python3/site-packages/x.pth",
];

fn place() -> Place {
    let place = Place::new();
    for file in [".git/hooks/pre-commit", ".git/config", "script.sh", "plain.txt", "bare.git/HEAD", "dir/script.sh"] {
        place.file(file, "old\n");
    }
    for directory in ["bare.git/objects", "bare.git/refs"] {
        fs::create_dir_all(place.project().join(directory)).expect("made");
    }
    for file in ["script.sh", "dir/script.sh"] {
        fs::set_permissions(place.project().join(file), fs::Permissions::from_mode(0o755)).expect("executable");
    }
    std::os::unix::fs::symlink(".git", place.project().join("link")).expect("a link");
    place
}

#[test]
fn a_write_that_decides_what_runs_later_is_run() {
    let place = place();
    let check = |tool: &str, arguments: Json, expect: &str| {
        assert_eq!(place.decided(tool, arguments.clone(), &[]), expect, "{tool} {arguments}");
    };
    for path in DECIDING {
        check("write_file", write(path), "run: ask");
        for operation in ["write", "edit", "delete"] {
            check("file_operations", json!({"operation": operation, "path": path, "content": "x"}), "run: ask");
        }
        check("file_operations", json!({"operation": "read", "path": path}), "read: allow");
    }
    check("write_file", json!({"filepath": "config", "working_dir": ".git", "content": "x"}), "run: ask");
    check("write_file", json!({"filepath": "hooks/x", "working_dir": "link", "content": "x"}), "run: ask");
    // A directory with something in it that decides.
    for path in [".git", "dir", "."] {
        check("file_operations", json!({"operation": "delete", "path": path}), "run: ask");
    }
    for path in ["plain.txt", "new/file.rs", ".gitignore", "sub/.gitkeep", "src/config", "Makefile"] {
        check("write_file", write(path), "write: ask");
        check("file_operations", json!({"operation": "delete", "path": path}), "write: ask");
    }
}

#[test]
fn what_may_write_may_not_write_what_decides() {
    let place = place();
    let rules = [(cycod_engine::Verdict::Allow, "write")];
    assert_eq!(place.decided("write_file", write("plain.txt"), &rules), "write: allow");
    assert_eq!(place.decided("write_file", write(".git/config"), &rules), "run: ask");
    assert_eq!(place.decided("write_file", write(".git/config"), &[(cycod_engine::Verdict::Deny, "run")]), "run: deny");
}

#[test]
fn a_tool_that_uses_one_has_the_level_of_what_it_writes() {
    let place = place();
    place.file(
        ".cycod/tools/save.yaml",
        "description: d\ntags: [write]\nparameters: {P: {type: string, description: p, required: true}}\n\
         steps:\n- {name: s, use-tool: write_file, with: {filepath: \"{P}\", content: x}}\n",
    );
    assert_eq!(place.decided("save", json!({"P": "plain.txt"}), &[]), "write: ask");
    assert_eq!(place.decided("save", json!({"P": ".git/config"}), &[]), "run: ask");
    // The path is known only when the first step has run.
    place.file(
        ".cycod/tools/later.yaml",
        "description: d\ntags: [write]\nsteps:\n- {name: a, use-tool: read_file, with: {filepath: plain.txt}}\n\
         - {name: s, use-tool: write_file, with: {filepath: \"{a.output}\", content: x}, wait-for: [a]}\n",
    );
    place.file("plain.txt", ".git/config");
    assert_eq!(place.decided("later", json!({}), &[]), "write: ask");
    let said = place.said("later", json!({}));
    assert!(said.contains("refused[level-exceeded]"), "{said}");
    assert_eq!(place.read(".git/config"), "old\n");
}

#[test]
fn a_stream_file_that_decides_is_run() {
    let place = place();
    place.file(
        ".cycod/tools/log.yaml",
        "description: d\ntags: [write]\nparameters: {P: {type: string, description: p, required: true}}\nsteps:\n\
         - {name: s, bash: echo evil, output: {mode: stream, stream-callback: file, stream-file: \"{P}\"}}\n",
    );
    for path in [".git/config", "link/config", "script.sh"] {
        assert_eq!(place.decided("log", json!({"P": path}), &[]), "run: ask", "{path}");
    }
    assert_eq!(place.decided("log", json!({"P": "log.txt"}), &[]), "write: ask");
    place.call("log", json!({"P": "log.txt"}));
    assert_eq!(place.read("log.txt"), "evil\n");
}

/// Files in the home that hold a secret, where the workspace encloses it.
const OPENING: [&str; 8] = [
    ".cycod/secrets.key",
    ".cycod/secrets.age",
    ".cycod/mcp/logins/x.json",
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".netrc",
    ".claude/.credentials.json",
];

#[test]
fn nothing_reads_what_opens_something() {
    let place = Place::new();
    let home = place.root().join("home");
    for name in OPENING {
        let path = home.join(name);
        fs::create_dir_all(path.parent().expect("in the home")).expect("made");
        fs::write(path, "hunter2\n").expect("written");
    }
    let said = |tool: &str, arguments: Json, directory: &std::path::Path| {
        let report = place.call_in(directory, tool, arguments, &mut cycod_engine::Ignore, &place.control());
        place.shown(&report)
    };
    for directory in [home.clone(), place.root()] {
        let from = |name: &str| if directory == home { name.to_owned() } else { format!("home/{name}") };
        for name in OPENING {
            for (tool, arguments) in [
                ("read_file", json!({"filepath": from(name)})),
                ("file_operations", json!({"operation": "read", "path": from(name)})),
                ("file_search", json!({"mode": "grep", "query": "hunter", "path": from(name), "all": true})),
            ] {
                let said = said(tool, arguments, &directory);
                assert!(!said.contains("hunter2") && said.contains("holds-a-secret"), "{tool} {name}: {said}");
            }
        }
        let all = json!({"mode": "grep", "query": "hunter", "path": ".", "all": true});
        let said = said("file_search", all, &directory);
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn a_workspace_that_begins_among_secrets_does_not_open_them() {
    let place = Place::new();
    let ssh = place.root().join("home/.ssh");
    fs::create_dir_all(&ssh).expect("made");
    for (name, mode) in [("id_ed25519", 0o600), ("work", 0o600), ("known_hosts", 0o644)] {
        fs::write(ssh.join(name), "hunter2\n").expect("written");
        fs::set_permissions(ssh.join(name), fs::Permissions::from_mode(mode)).expect("its mode");
    }
    let read = |name: &str| {
        let report =
            place.call_in(&ssh, "read_file", json!({"filepath": name}), &mut cycod_engine::Ignore, &place.control());
        place.shown(&report)
    };
    assert!(read("id_ed25519").contains("holds-a-secret"));
    assert!(read("work").contains("holds-a-secret"));
    assert_eq!(read("known_hosts"), "hunter2\n");
}

#[test]
fn a_tool_that_may_read_everything_reads_no_secret() {
    let place = Place::new();
    let home = place.root().join("home");
    fs::create_dir_all(home.join(".ssh")).expect("made");
    fs::write(home.join(".ssh/id_ed25519"), "hunter2\n").expect("written");
    fs::create_dir_all(home.join(".config/app")).expect("made");
    fs::write(home.join(".config/app/settings"), "plain\n").expect("written");
    let tool = |name: &str, permission: &str| {
        place.file(
            &format!(".cycod/tools/{name}.yaml"),
            format!(
                "description: d\ntags: [read]\nparameters: {{P: {{type: string, description: p, required: true}}}}\n\
                 use-tool: read_file\nwith: {{filepath: \"{{P}}\"}}\nsecurity: {{required-permissions: [\"{permission}\"]}}\n"
            ),
        );
    };
    tool("home", "filesystem:read:~");
    tool("any", "filesystem:read:{P}");
    tool("app", "filesystem:read:~/.config/app");
    let at = |name: &str| json!({"P": home.join(name).display().to_string()});
    for name in ["home", "any"] {
        for path in [".ssh/id_ed25519", ".config/app/settings"] {
            let said = place.said(name, at(path));
            assert!(said.contains("holds-a-secret"), "{name} {path}: {said}");
        }
    }
    // What its author spells out, it reads.
    assert_eq!(place.said("app", at(".config/app/settings")), "plain\n");
}
