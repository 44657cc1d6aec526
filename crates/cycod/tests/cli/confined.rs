//! What a file asks to be held to, its programs are held to. Each tool is run twice: with its `security`, and without, where
//! it must reach what it is after.

use std::{
    fs,
    io::Read,
    net::TcpListener,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::support::{Place, Ran};

const SECRET: &str = "the-word-that-must-not-get-out";

/// A project with things inside and outside of it.
struct Yard {
    place: Place,
    /// The machine's own service, and whether somebody came.
    service: Arc<AtomicBool>,
    port: u16,
}

impl Yard {
    fn new() -> Self {
        let place = Place::new();
        for (file, text) in [
            ("data/file", "inside"),
            ("data/more/file", "deeper"),
            ("data/other", "beside"),
            ("out/file", "old"),
            ("../outside/secret", SECRET),
            ("../outside/victim", "untouched"),
            ("../home/notes/file", "a note"),
            ("../home/.ssh/key", SECRET),
        ] {
            place.write(file, text);
        }
        let outside = place.project().join("../outside").canonicalize().expect("it was made");
        symlink(&outside, place.project().join("data/way")).expect("a link");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is left");
        let port = listener.local_addr().expect("it has one").port();
        let service = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&service);
        std::thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                let mut word = String::new();
                let _ = caller.take(64).read_to_string(&mut word);
                heard.store(word.contains(SECRET), Ordering::SeqCst);
            }
        });
        Self { place, service, port }
    }

    fn tool(&self, name: &str, security: &str, body: &str) {
        let body = body.replace("PORT", &self.port.to_string()).replace("SECRET", SECRET);
        self.place.tool(name, &format!("description: Tries something\ntags: [read]\n{security}{body}\n"));
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.place.run(&[&["tool", "run", "tried"], arguments].concat())
    }

    fn outside(&self, file: &str) -> PathBuf {
        self.place.project().join("../outside").join(file)
    }

    /// Whether anything of the outside was read, changed or called.
    fn escaped(&self, ran: &Ran) -> bool {
        ran.stdout().contains(SECRET)
            || ran.stderr().contains(SECRET)
            || self.service.load(Ordering::SeqCst)
            || fs::read_to_string(self.outside("victim")).ok().as_deref() != Some("untouched")
            || self.outside("new").exists()
            || self.place.home().join("new").exists()
    }
}

/// Whether this machine can hold a program to anything; where it cannot, running is refused, which another test shows.
#[expect(clippy::print_stderr, reason = "the tests say what was not shown")]
pub(crate) fn is_offered() -> bool {
    let lacks = cycod_process::offered().lacks;
    for lack in &lacks {
        eprintln!("not run: this machine does not offer {}: {}", lack.mechanism, lack.why);
    }
    lacks.is_empty()
}

/// Permissions, as they stand in a file.
fn permits(permissions: &[&str]) -> String {
    let list: Vec<String> = permissions.iter().map(|permission| format!("    - \"{permission}\"\n")).collect();
    format!("security:\n  justification: It is tried\n  required-permissions:\n{}", list.concat())
}

const REDUCED: &str = "security: {execution-privilege: reduced, justification: It is tried}\n";
const CONTAINER: &str = "security: {isolation: container, justification: It is tried}\n";

/// The tool gets out unless it is held to its `security`. It begins in both cases, which its output shows.
#[track_caller]
fn held_with(security: &str, body: &str, arguments: &[&str], prepare: impl Fn(&Yard)) {
    let yard = Yard::new();
    prepare(&yard);
    yard.tool("tried", "", body);
    let ran = yard.run(arguments);
    assert!(yard.escaped(&ran), "it does not work without `security`:\n{}", ran.block());
    if !is_offered() {
        return;
    }
    let yard = Yard::new();
    prepare(&yard);
    yard.tool("tried", security, body);
    let ran = yard.run(arguments);
    assert!(ran.block().contains("begun"), "it never began:\n{}", ran.block());
    assert!(!yard.escaped(&ran), "IT ESCAPED:\n{}", ran.block());
}

#[track_caller]
fn held(security: &str, body: &str) {
    held_with(security, body, &[], |_| {});
}

/// The tool does its work, and says `done`, with its `security` and without.
#[track_caller]
fn allowed_with(security: &str, body: &str, arguments: &[&str], prepare: impl Fn(&Yard)) {
    for security in ["", security] {
        if !security.is_empty() && !is_offered() {
            return;
        }
        let yard = Yard::new();
        prepare(&yard);
        yard.tool("tried", security, body);
        let ran = yard.run(arguments);
        assert!(ran.code() == 0 && ran.stdout().contains("done"), "{security}\n{}", ran.block());
    }
}

#[track_caller]
fn allowed(security: &str, body: &str) {
    allowed_with(security, body, &[], |_| {});
}

/// The tool does not start, and is refused with this code.
#[track_caller]
fn refused(security: &str, code: &str, prepare: impl Fn(&Yard)) {
    let yard = Yard::new();
    prepare(&yard);
    yard.tool("tried", security, "bash: echo be''gun");
    let ran = yard.run(&[]);
    assert_ne!(ran.code(), 0, "{}", ran.block());
    assert!(ran.stderr().contains(code) && !ran.stdout().contains("begun"), "{}", ran.block());
}

const READ_SECRET: &str = "bash: echo be''gun; cat ../outside/secret";
const WRITE_VICTIM: &str = "bash: echo be''gun; echo struck > ../outside/victim";

// What is permitted, in every way in which it can be written.

#[test]
fn a_directory_with_all_below_it() {
    let security = permits(&["filesystem:read:data"]);
    allowed(&security, "bash: cat data/file data/more/file && echo done");
    held(&security, READ_SECRET);
    held(&security, WRITE_VICTIM);
}

#[test]
fn a_path_written_with_dots_and_slashes() {
    for path in ["./data/", "data//", "out/../data", "data/**"] {
        let security = permits(&[&format!("filesystem:read:{path}")]);
        allowed(&security, "bash: cat data/file && echo done");
        held(&security, READ_SECRET);
    }
}

#[test]
fn one_file() {
    let security = permits(&["filesystem:read:data/file"]);
    allowed(&security, "bash: cat data/file && echo done");
    held_with(&security, "bash: echo be''gun; cat data/other", &[], |yard| yard.place.write("data/other", SECRET));
}

#[test]
fn the_home_by_its_sign() {
    let security = permits(&["filesystem:read:~/notes"]);
    allowed(&security, "bash: cat ~/notes/file && echo done");
    held(&security, "bash: echo be''gun; cat ~/.ssh/key");
}

#[test]
fn a_value_of_the_call() {
    let security = permits(&["filesystem:read:{DIR}"]);
    let of = |command: &str| {
        format!("bash: {command}\nparameters:\n  DIR: {{type: string, description: Where, required: true}}")
    };
    allowed_with(&security, &of("cat data/file && echo done"), &["DIR=data"], |_| {});
    held_with(&security, &of("echo be''gun; cat ../outside/secret"), &["DIR=data"], |_| {});
    // A value with other permissions in it is still one path.
    held_with(&security, &of("echo be''gun; mkdir -p 'data:x' && cat ../outside/secret"), &["DIR=data/more"], |_| {});
}

#[test]
fn writing_within_what_is_read() {
    let security = permits(&["filesystem:read:.", "filesystem:write:out"]);
    allowed(&security, "bash: cat data/file && echo new > out/new && mv out/new out/newer && echo done");
    held_with(&security, "bash: echo be''gun; cat data/file > data/copied; cat data/copied", &[], |yard| {
        yard.place.write("data/file", SECRET);
    });
    held(&security, WRITE_VICTIM);
}

#[test]
fn reading_within_what_is_written() {
    // The narrower permission takes nothing away: what any of them allows is allowed.
    allowed(&permits(&["filesystem:write:.", "filesystem:read:data"]), "bash: echo x > data/new && echo done");
}

#[test]
fn what_is_written_is_made() {
    let security = permits(&["filesystem:write:made", "filesystem:write:made.txt"]);
    allowed_with(&security, "bash: mkdir -p made; echo x > made/file && echo y > made.txt && echo done", &[], |_| {});
}

#[test]
fn executing_is_not_writing() {
    let body = "bash: |\n  echo be''gun\n  printf '#!/bin/sh\\ncat %s' data/other > out/program\n  chmod +x out/program\n  ./out/program";
    let secret = |yard: &Yard| yard.place.write("data/other", SECRET);
    held_with(&permits(&["filesystem:read:data", "filesystem:write:out"]), body, &[], secret);
    let both = permits(&["filesystem:read:data", "filesystem:write:out", "filesystem:execute:out"]);
    allowed(&both, "bash: |\n  printf '#!/bin/sh\\necho done' > out/program; chmod +x out/program; ./out/program");
}

#[test]
fn what_is_not_there_cannot_be_read() {
    if !is_offered() {
        return;
    }
    refused(&permits(&["filesystem:read:missing"]), "permission-target", |_| {});
}

#[test]
fn a_pattern_is_no_path() {
    refused(&permits(&["filesystem:read:data/*.txt"]), "unknown-permission", |_| {});
}

// Links.

#[test]
fn a_workspace_behind_a_link() {
    if !is_offered() {
        return;
    }
    let yard = Yard::new();
    yard.tool("tried", &permits(&["filesystem:read:data"]), "bash: cat data/file && echo done; cat ../outside/secret");
    let linked = yard.place.home().join("linked");
    symlink(yard.place.project(), &linked).expect("a link");
    let ran = yard.place.command(&["tool", "run", "tried"]).current_dir(&linked).output().expect("it starts");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.contains("done") && !said.contains(SECRET), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_link_that_leads_out() {
    held(&permits(&["filesystem:read:data"]), "bash: echo be''gun; cat data/way/secret");
    held(&permits(&["filesystem:write:data"]), "bash: echo be''gun; echo struck > data/way/victim");
    held(&permits(&["filesystem:write:out"]), "bash: echo be''gun; ln -s ../../outside out/l; cat out/l/secret");
}

#[test]
fn a_permission_that_is_a_link() {
    // It came with the repository, and says `data/way`.
    if is_offered() {
        refused(&permits(&["filesystem:read:data/way"]), "permission-target", |_| {});
        refused(&permits(&["filesystem:write:data/way"]), "permission-target", |_| {});
        refused(&permits(&["filesystem:read:keys"]), "permission-target", |yard| {
            symlink(yard.place.home().join(".ssh"), yard.place.project().join("keys")).expect("a link");
        });
    }
}

#[test]
fn a_hard_link_that_leads_out() {
    held(&permits(&["filesystem:write:out"]), "bash: echo be''gun; ln ../outside/victim out/v && echo struck > out/v");
}

#[test]
fn a_swap_while_it_runs() {
    held(&permits(&["filesystem:write:out"]), "bash: echo be''gun; mv out gone; ln -s ../outside out; cat out/secret");
}

// Other roads.

#[test]
fn the_network_of_the_machine() {
    let call = "bash: echo be''gun; exec 3<>/dev/tcp/127.0.0.1/PORT && printf SECRET >&3; exec 3>&-; sleep 0.2";
    held(&permits(&["filesystem:read:data"]), call);
    held(CONTAINER, call);
}

#[test]
fn processes_of_the_machine() {
    // The parent of the tool's program is ours, or the keeper that we started.
    let body = "bash: |\n  echo be''gun\n  cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep '^HIDDEN='";
    if !is_offered() {
        return;
    }
    for (security, finds) in [("", true), (&permits(&["filesystem:read:data"]), false), (REDUCED, false)] {
        let yard = Yard::new();
        yard.tool("tried", security, &format!("{body}\nenvironment: {{inherit: false}}"));
        let ran = yard.place.command(&["tool", "run", "tried"]).env("HIDDEN", SECRET).output().expect("it starts");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.contains("begun"), "{security}{said}{}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(said.contains("HIDDEN="), finds, "{security}{said}");
    }
}

#[test]
fn what_opens_more_in_the_environment() {
    for (security, finds) in [("", true), (&*permits(&["filesystem:read:data"]), false), (REDUCED, false)] {
        if !security.is_empty() && !is_offered() {
            return;
        }
        let yard = Yard::new();
        // Its length, because its value would be masked.
        yard.tool("tried", security, "bash: echo ${#SSH_AUTH_SOCK} ${#CLOUD_TOKEN} ${#HARMLESS}");
        let mut command = yard.place.command(&["tool", "run", "tried"]);
        command.env("SSH_AUTH_SOCK", "/run/agent").env("CLOUD_TOKEN", SECRET).env("HARMLESS", "yes");
        let ran = command.output().expect("it starts");
        let expected = if finds { format!("10 {} 3\n", SECRET.len()) } else { "0 0 3\n".to_owned() };
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn what_stays_behind() {
    // It would write after the run.
    held(
        &permits(&["filesystem:write:out"]),
        "bash: |\n  echo be''gun; cat ../outside/secret\n  (trap '' TERM; setsid sh -c 'sleep 1; echo x > ../outside/new' &)",
    );
}

#[test]
fn another_interpreter() {
    let python = "shell: python3\nscript: |\n  print('begun', flush=True)\n  print(open('../outside/secret').read())";
    held(&permits(&["filesystem:read:data"]), python);
    let begun = |yard: &Yard| yard.place.write("data/file", "begun");
    held_with(&permits(&["filesystem:read:data"]), "run: cat data/file ../outside/secret", &[], begun);
}

// More than one program.

#[test]
fn every_step_and_what_comes_after() {
    let body = "steps:\n  - {name: one, bash: echo be''gun}\n  - name: two\n    bash: exit 3\n    continue-on-error: true\n    error-handling: {fallback: cat ../outside/secret}\n  - {name: three, bash: cat ../outside/secret, parallel: true, continue-on-error: true}\n  - {name: four, bash: cat ../outside/secret}";
    held(&permits(&["filesystem:read:data"]), body);
}

#[test]
fn a_step_that_stores_its_output() {
    let body = "steps:\n  - {name: one, bash: echo be''gun}\n  - name: two\n    bash: echo struck\n    output: {mode: stream, stream-callback: file, stream-file: ../outside/victim}";
    held(&permits(&["filesystem:read:data"]), body);
}

#[test]
fn a_link_that_waits_for_our_own_hand() {
    // What one step planted, we must not follow when we write the output of the next.
    let body = "steps:\n  - {name: one, bash: echo be''gun; rm out/file; ln -s ../../outside/victim out/file}\n  - name: two\n    bash: echo struck\n    output: {mode: stream, stream-callback: file, stream-file: out/file}";
    held(&permits(&["filesystem:write:out"]), body);
    held(REDUCED, body);
}

#[test]
fn an_unconfined_tool_that_a_confined_one_uses() {
    let prepare = |yard: &Yard| yard.tool("inner", "", READ_SECRET);
    held_with(&permits(&["filesystem:read:data"]), "steps:\n  - {name: one, use-tool: inner}", &[], prepare);
}

#[test]
fn a_wider_tool_that_a_confined_one_uses() {
    if !is_offered() {
        return;
    }
    let wide = permits(&["filesystem:read:../outside", "filesystem:read:data"]);
    let prepare = |yard: &Yard| yard.tool("inner", &wide, READ_SECRET);
    held_with(&permits(&["filesystem:read:data"]), "steps:\n  - {name: one, use-tool: inner}", &[], prepare);
}

#[test]
fn a_confined_tool_that_an_unconfined_one_uses() {
    if !is_offered() {
        return;
    }
    let yard = Yard::new();
    yard.tool("inner", &permits(&["filesystem:read:data"]), READ_SECRET);
    yard.tool("tried", "", "steps:\n  - {name: one, use-tool: inner}\n");
    let ran = yard.run(&[]);
    assert!(ran.stdout().contains("begun") && !yard.escaped(&ran), "{}", ran.block());
}

#[test]
fn an_alias_of_a_confined_tool() {
    if !is_offered() {
        return;
    }
    let yard = Yard::new();
    yard.tool("inner", &permits(&["filesystem:read:data"]), READ_SECRET);
    yard.place.tool("tried", "description: The same\ntype: alias\nbase-tool: inner\n");
    let ran = yard.run(&[]);
    assert!(ran.stdout().contains("begun") && !yard.escaped(&ran), "{}", ran.block());
}

#[test]
fn the_tests_of_a_tool() {
    if !is_offered() {
        return;
    }
    let tests = "tests:\n  - {name: reads, expected: {exit-code: 0}}";
    for (security, code) in [("", 0), (&*permits(&["filesystem:read:data"]), 1)] {
        let yard = Yard::new();
        yard.tool("tried", security, &format!("{READ_SECRET}\n{tests}"));
        let ran = yard.place.run(&["tool", "test", "tried"]);
        assert_eq!(ran.code(), code, "{}", ran.block());
    }
}

// Reduced rights.

#[test]
fn reduced_rights_write_to_the_workspace_only() {
    allowed(REDUCED, "bash: echo x > out/new && echo y > /tmp/y && cat data/file /tmp/y && echo done");
    held(REDUCED, WRITE_VICTIM);
    held(REDUCED, "bash: echo be''gun; echo x > ~/new");
    held(REDUCED, "bash: echo be''gun; ln ../outside/victim out/v; chmod 600 out/v; echo struck > out/v");
}

#[test]
fn reduced_rights_gain_none() {
    let body = "bash: |\n  echo be''gun\n  unshare -Ur cat ../outside/secret";
    held_with(REDUCED, body, &[], |yard| yard.place.write("../outside/secret", SECRET));
}

// Containers without an image.

#[test]
fn a_container_sees_what_it_mounts() {
    let mounts = "security:\n  isolation: container\n  justification: It is tried\n  container: {mounts: [\"data:/data:ro\", \"out:/out\"]}\n";
    if !is_offered() {
        return;
    }
    let yard = Yard::new();
    yard.tool(
        "tried",
        mounts,
        "bash: cat /data/file && echo x > /out/new && echo done; echo y > /data/no; cat /data/no",
    );
    let ran = yard.run(&[]);
    assert!(ran.stdout().contains("done") && !ran.stdout().contains("y\n"), "{}", ran.block());
    assert!(yard.place.project().join("out/new").exists());
    held(mounts, "bash: echo be''gun; cat ../outside/secret; cat ~/.ssh/key");
    held(CONTAINER, "bash: echo be''gun; cat ../outside/secret; echo struck > ../outside/victim");
}

// What is told.

#[test]
fn a_denial_names_the_permission() {
    if !is_offered() {
        return;
    }
    let yard = Yard::new();
    yard.tool("tried", &permits(&["filesystem:read:data"]), "bash: cat ../outside/secret");
    let ran = yard.run(&[]);
    assert!(ran.code() != 0 && ran.stderr().contains("filesystem:read:"), "{}", ran.block());
    assert!(ran.stderr().contains("outside/secret"), "{}", ran.block());
}

#[test]
fn only_what_a_tool_may_read_is_an_artifact() {
    if !is_offered() {
        return;
    }
    let yard = Yard::new();
    let write = |path: &str| permits(&[&format!("filesystem:write:{path}")]);
    yard.tool("tried", &write("out"), "bash: echo made > out/new\nartifacts: [out/new, data/other, data/file]");
    let ran = yard.run(&["--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout()).unwrap_or_else(|_| panic!("{}", ran.block()));
    assert_eq!(said["refusal"]["code"], "artifact-refused", "{said}");
    let kept: Vec<&serde_json::Value> =
        said["artifacts"].as_array().into_iter().flatten().map(|one| &one["path"]).collect();
    assert_eq!(kept, ["out/new"], "{said}");
    // Places that could be written are made for programs; looking for artifacts leaves none behind.
    yard.tool("tried", &write("never"), "bash: exit 1\nartifacts: [never/file, 'never/*']");
    assert_eq!(yard.run(&[]).code(), 1);
    assert!(!yard.place.project().join("never").exists());
}
