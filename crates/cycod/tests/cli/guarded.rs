//! What scripts may change and read: files that are more than files are not theirs by their level, or at all.
#![cfg(target_os = "linux")]

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use crate::support::{Place, Ran};

/// Makes a tool in TypeScript with these tags, whose function has this body.
fn script(directory: &Path, name: &str, tags: &str, body: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: A tool\ntags: [{tags}]\nparameters:\n  path: {{type: string, description: P, required: true}}\n---\n\n\
         ```typescript\nexport async function execute({{ path }}, {{ platform: {{ fs }} }}) {{\n  {body}\n}}\n```\n"
    );
    fs::create_dir_all(directory.join(".cycod/tools")).expect("made");
    fs::write(directory.join(format!(".cycod/tools/{name}.md")), text).expect("written");
}

fn run(place: &Place, directory: &Path, name: &str, path: &str) -> Ran {
    let mut command = place.command(&["tool", "run", name, "--param", &format!("path={path}")]);
    place.ran(command.current_dir(directory).output().expect("the program starts"))
}

fn place() -> Place {
    let place = Place::new();
    for file in [".git/config", "script.sh", "plain.txt", "dir/script.sh"] {
        place.write(file, "old\n");
    }
    for file in ["script.sh", "dir/script.sh"] {
        fs::set_permissions(place.project().join(file), fs::Permissions::from_mode(0o755)).expect("executable");
    }
    std::os::unix::fs::symlink(".git", place.project().join("link")).expect("a link");
    place
}

/// A script that was to do what its level does not have.
#[track_caller]
fn assert_refused(place: &Place, name: &str, path: &str, code: &str) {
    let ran = run(place, &place.project(), name, path);
    assert!(ran.code() != 0 && ran.stderr().contains(code), "{name} {path}: {}", ran.block());
}

const BEYOND: &str = "has level";

#[test]
fn a_script_changes_nothing_that_decides_unless_it_is_run() {
    let place = place();
    for (name, body) in [
        ("writes", "await fs.writeFile(path, 'x')"),
        ("appends", "await fs.appendFile(path, 'x')"),
        ("makes", "await fs.mkdir(path)"),
        ("ensures", "await fs.ensureDir(path)"),
        ("copies", "await fs.copyFile('plain.txt', path)"),
        ("renames", "await fs.rename('plain.txt', path)"),
        ("moves", "await fs.rename(path, 'plain2.txt')"),
        ("removes", "await fs.rm(path, { recursive: true })"),
        ("clears", "await fs.remove(fs.join('.', path))"),
    ] {
        script(&place.project(), name, "write", body);
        for path in [".git/config", "link/config", ".cycod/tools/x.yaml", ".mcp.json", "script.sh", "dir/script.sh"] {
            assert_refused(&place, name, path, BEYOND);
        }
    }
    script(&place.project(), "sweeps", "write", "await fs.rm(path, { recursive: true })");
    script(&place.project(), "shifts", "write", "await fs.rename(path, 'elsewhere')");
    for name in ["sweeps", "shifts"] {
        assert_refused(&place, name, "dir", BEYOND);
    }
    assert_eq!(place.read(".git/config"), "old\n");
    assert_eq!(place.read("dir/script.sh"), "old\n");
    script(&place.project(), "may", "run", "await fs.writeFile(path, 'new'); return 'done'");
    let ran = run(&place, &place.project(), "may", ".git/config");
    assert_eq!(ran.stdout(), "done", "{}", ran.block());
    assert_eq!(place.read(".git/config"), "new");
}

#[test]
fn a_script_that_reads_changes_nothing() {
    let place = place();
    script(&place.project(), "writes", "read", "await fs.writeFile(path, 'x')");
    assert_refused(&place, "writes", "plain.txt", BEYOND);
    assert_eq!(place.read("plain.txt"), "old\n");
}

#[test]
fn a_script_reads_no_keys() {
    let place = Place::new();
    let home = place.home();
    for name in [".cycod/secrets.key", ".ssh/id_ed25519", ".config/gh/hosts.yml"] {
        let path = home.join(name);
        fs::create_dir_all(path.parent().expect("in the home")).expect("made");
        fs::write(path, "hunter2\n").expect("written");
    }
    script(&home, "reads", "read", "return await fs.readFile(path)");
    script(&home, "copies", "write", "await fs.copyFile(path, 'stolen'); return await fs.readFile('stolen')");
    script(&home, "moves", "run", "await fs.rename(path, 'stolen'); return await fs.readFile('stolen')");
    for tool in ["reads", "copies", "moves"] {
        for name in [".cycod/secrets.key", ".ssh/id_ed25519", ".config/gh/hosts.yml"] {
            let ran = run(&place, &home, tool, name);
            assert!(!ran.stdout().contains("hunter2"), "{tool} {name}: {}", ran.block());
            assert!(ran.stderr().contains("was to read"), "{tool} {name}: {}", ran.block());
        }
    }
    for name in [".ssh", ".config"] {
        let ran = run(&place, &home, "moves", name);
        assert!(ran.code() != 0 && !home.join("stolen").exists(), "{name}: {}", ran.block());
    }
}

/// A key is a key under each of its names, and wherever the workspace begins.
#[test]
fn another_name_of_a_key_is_not_read() {
    let place = Place::new();
    let (home, project) = (place.home(), place.project());
    let keys =
        [(".cycod/secrets.key", 0o600), (".ssh/id_ed25519", 0o600), (".config/gh/hosts.yml", 0o600), (".npmrc", 0o644)];
    for (name, mode) in keys {
        let path = home.join(name);
        fs::create_dir_all(path.parent().expect("in the home")).expect("made");
        fs::write(&path, "hunter2\n").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
    }
    // What a package manager links into a project from its store is the project's.
    let store = home.join(".cache/store/v1/files/00/a");
    fs::create_dir_all(store.parent().expect("in the store")).expect("made");
    fs::write(&store, "a package\n").expect("written");
    fs::hard_link(&store, project.join("package.js")).expect("linked");
    for (at, (name, _)) in keys.iter().enumerate() {
        fs::hard_link(home.join(name), project.join(format!("hard{at}.txt"))).expect("linked");
        std::os::unix::fs::symlink(home.join(name), project.join(format!("soft{at}.txt"))).expect("linked");
    }
    std::os::unix::fs::symlink(&home, project.join("far")).expect("linked");
    for (name, text) in [("reads", "return await fs.readFile(path)"), ("sees", "return (await fs.stat(path)).size")] {
        script(&project, name, "read", text);
        script(&home, name, "read", text);
    }
    let built_in = |directory: &Path, tool: &str, arguments: &str| {
        let mut command = place.command(&["tool", "run", tool, "--params-json", arguments]);
        place.ran(command.current_dir(directory).output().expect("the program starts"))
    };
    let ours = std::process::id();
    let absolute = |name: &str| home.join(name).display().to_string();
    for (at, (name, _)) in keys.iter().enumerate() {
        let in_project = [
            format!("hard{at}.txt"),
            format!("soft{at}.txt"),
            format!("far/{name}"),
            format!("./far/../soft{at}.txt"),
            absolute(name),
            format!("/proc/self/root{}", absolute(name)),
            format!("/proc/{ours}/root{}", absolute(name)),
        ];
        let in_home = [(*name).to_owned(), format!("./{name}"), format!("/proc/self/cwd/{name}"), absolute(name)];
        let cases = in_project.iter().map(|path| (&project, path)).chain(in_home.iter().map(|path| (&home, path)));
        for (directory, path) in cases {
            let quoted = format!("{{\"filepath\": \"{path}\"}}");
            for ran in [
                run(&place, directory, "reads", path),
                run(&place, directory, "sees", path),
                built_in(directory, "read_file", &quoted),
            ] {
                assert!(ran.code() != 0 && !ran.stdout().contains("hunter2"), "{path}: {}", ran.block());
            }
        }
    }
    for directory in [&project, &home] {
        for below in [".", ".cycod", ".ssh", ".config"] {
            let arguments = format!("{{\"pattern\": \"hunter2\", \"directory\": \"{below}\"}}");
            let ran = built_in(directory, "search_files", &arguments);
            assert!(!ran.stdout().contains("hunter2\n"), "{} {below}: {}", directory.display(), ran.block());
        }
    }
    let linked = run(&place, &project, "reads", "package.js");
    assert_eq!(linked.stdout(), "a package\n", "{}", linked.block());
}

/// Makes a tool in TypeScript with this front matter, whose function has this body.
fn starter(place: &Place, name: &str, front: &str, body: &str) {
    place.write(
        &format!(".mimir/tools/{name}.yml"),
        &format!(
            "name: {name}\ndescription: A tool\nschema: {{type: object, properties: {{}}}}\n{front}code: |\n  \
             export async function execute(args, {{ platform }}) {{\n    const start = o => platform.executor.execute(o);\n    {body}\n  }}\n"
        ),
    );
}

fn start(place: &Place, name: &str) -> Ran {
    place.run(&["tool", "run", name])
}

#[test]
fn a_script_that_may_start_anything_is_run() {
    let place = Place::new();
    let id = "return (await start({ command: 'id' })).stdout;";
    let level = |name: &str| {
        let list = place.run(&["tool", "list"]).stdout();
        let line = list.lines().find(|line| line.starts_with(&format!("{name} "))).expect("it is listed").to_owned();
        line.split_whitespace().nth(2).expect("a level").to_owned()
    };
    starter(&place, "any", "tags: [read]\n", id);
    starter(&place, "whatever", "tags: [read]\npermissions: {allowlist: [\"*\"]}\n", id);
    starter(&place, "listed", "tags: [read]\npermissions: {allowlist: [\"id\"]}\n", id);
    starter(&place, "confined", "tags: [read]\nsecurity: {required-permissions: [\"filesystem:read:.\"]}\n", id);
    place.write(
        ".mimir/tools/pure.yml",
        "name: pure\ndescription: A tool\ntags: [read]\nschema: {type: object, properties: {}}\ncode: |\n  \
         export const execute = () => 'x';\n",
    );
    for (name, expect) in
        [("any", "run"), ("whatever", "run"), ("listed", "read"), ("confined", "read"), ("pure", "read")]
    {
        assert_eq!(level(name), expect, "{name}");
    }
    for name in ["any", "listed", "confined"] {
        assert!(start(&place, name).stdout().contains("uid="), "{}", start(&place, name).block());
    }
    // What does not say that it starts programs starts none.
    place.write(
        ".mimir/tools/hides.yml",
        "name: hides\ndescription: A tool\ntags: [read]\nschema: {type: object, properties: {}}\ncode: |\n  \
         export async function execute(args, { platform }) {\n    \
         return (await platform['exec' + 'utor'].execute({ command: 'id' })).stdout;\n  }\n",
    );
    assert_eq!(level("hides"), "read");
    let ran = start(&place, "hides");
    assert!(ran.code() != 0 && ran.stderr().contains("has level read, and was to start `id`"), "{}", ran.block());
}

#[test]
fn a_list_decides_what_is_started_and_how_it_is_found() {
    let place = Place::new();
    let git = "permissions: {allowlist: [\"git *\", \"LANG=* env\", \"./here\"]}\n";
    place.write("evil/git", "#!/bin/sh\necho evil\n");
    place.write("evil/here", "#!/bin/sh\necho evil\n");
    place.write("here", "#!/bin/sh\necho here\n");
    let ran = place.shell("chmod +x evil/git evil/here here && git init -q . && git config core.fsmonitor false");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    for (name, call) in [
        ("path", "{ command: 'git', args: ['status'], env: { PATH: 'evil' } }"),
        (
            "config",
            "{ command: 'git', args: ['status'], env: { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.fsmonitor', GIT_CONFIG_VALUE_0: 'echo evil' } }",
        ),
        ("preload", "{ command: 'git', args: ['status'], env: { LD_PRELOAD: './x.so' } }"),
        ("option", "{ command: 'git', args: ['status', '--porcelain'] }"),
        ("other", "{ command: './evil/git', args: ['status'] }"),
        ("elsewhere", "{ command: './here', cwd: 'evil' }"),
        ("variable", "{ command: 'env', env: { LANG: 'C', EVIL: 'evil' } }"),
    ] {
        starter(&place, name, git, &format!("return (await start({call})).stdout;"));
        let ran = start(&place, name);
        assert!(ran.code() != 0 && !ran.stdout().contains("evil"), "{name}: {}", ran.block());
        assert!(
            ran.stderr().contains("may not start") || ran.stderr().contains("elsewhere"),
            "{name}: {}",
            ran.block()
        );
    }
    starter(
        &place,
        "allowed",
        git,
        "return (await start({ command: 'git', args: ['rev-parse', 'a b'] })).stdout + 'ran';",
    );
    starter(&place, "set", git, "return (await start({ command: 'env', env: { LANG: 'xx' } })).stdout;");
    starter(&place, "local", git, "return (await start({ command: './here' })).stdout;");
    assert!(start(&place, "allowed").stdout().ends_with("ran"), "{}", start(&place, "allowed").block());
    assert!(start(&place, "set").stdout().contains("LANG=xx"), "{}", start(&place, "set").block());
    assert_eq!(start(&place, "local").stdout(), "here\n");
    // A relative directory of the search path would be another one elsewhere.
    starter(&place, "searched", git, "return (await start({ command: 'git', args: ['status'] })).stdout;");
    let ran = place.shell("PATH=evil:$PATH cycod run searched");
    assert!(ran.code() != 0 && !ran.stdout().contains("evil"), "{}", ran.block());
}

#[test]
fn the_example_of_the_guide_writes_nothing_elsewhere() {
    let place = Place::new();
    let guide = include_str!("../../../../docs/guide/typescript-tools.md");
    let example = guide.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    place.write(".mimir/tools/changed.yml", &format!("name: changed\n{example}"));
    let ran = place.shell("git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x");
    assert_eq!(ran.code(), 0, "{}", ran.block());
    let run = |branch: &str| place.run(&["tool", "run", "changed", "--param", &format!("branch={branch}")]);
    assert_eq!(run("main").code(), 0, "{}", run("main").block());
    let ran = run(&format!("--output={}/stolen", place.home().display()));
    assert!(ran.code() != 0 && !place.home().join("stolen").exists(), "{}", ran.block());
}
