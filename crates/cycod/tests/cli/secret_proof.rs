//! That a secret is nowhere but in the processes it is meant for: not in what we say, in no file, in no argument and in
//! no other process's environment, while a tool runs and afterwards.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use crate::support::Place;

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place in which secrets of each kind are, all of them of characters that need quoting somewhere.
struct Secrets {
    place: Place,
    /// Kept by `cycod secret set`.
    stored: String,
    /// An argument.
    pin: String,
    /// A variable of the caller whose name speaks.
    token: String,
}

/// What a tool says and does with what it knows, in every way that comes to mind.
const SAY: &str = r#"
  for value in "$STORED" {PIN} "$MY_TOKEN"; do
    printf '%s\n' "$value"
    printf 'error: %s\n' "$value" >&2
    printf %s "$value" | base64 -w0; echo
    printf 'user:%s' "$value" | base64 -w0; echo
    printf %s "$value" | python3 -c 'import json, sys, urllib.parse as u; s = sys.stdin.read(); print(json.dumps(s), u.quote(s, safe=""), u.quote_plus(s), repr(s.split("-", 1)[0]))'
    for letter in $(seq ${#value}); do printf %s "${value:letter-1:1}"; done; echo
  done
"#;

/// Lets the test look around.
const WAIT: &str = "\n  touch started; until [ -e go ]; do sleep 0.02; done\n";

const REST: &str = "tags: [read]\nparameters: {PIN: {type: string, description: p, sensitive: true, required: true}}\nenvironment: {secrets: [STORED]}\n";

impl Secrets {
    fn new() -> Self {
        let place = Place::new();
        let unique = place.project().to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let value = |kind: &str| format!("p\"w 'it\\{kind}-s3cr3t{unique}");
        let this = Self { stored: value("stored"), pin: value("pin"), token: value("token"), place };
        let ran = this.run(&["secret", "set", "STORED", "--yes"], &this.stored, false);
        assert_eq!(ran.0, 0, "{}", ran.1);
        this
    }

    fn all(&self) -> [&str; 3] {
        [&self.stored, &self.pin, &self.token]
    }

    /// Every spelling that is looked for: the plain middle of each value, and its Base64 wherever it begins.
    fn needles(&self) -> Vec<(String, String)> {
        let spell = |value: &str| {
            let middle = &value[value.find("s3cr3t").expect("each has one") - 4..];
            let encoded = (0..3).map(move |before| {
                let encoded = BASE64_STANDARD.encode(format!("{}{value}", "x".repeat(before)));
                encoded[8..encoded.len() - 4].to_owned()
            });
            let spellings: Vec<String> = encoded.chain([middle.to_owned()]).collect();
            spellings.into_iter().map(|spelling| (value.to_owned(), spelling)).collect::<Vec<_>>()
        };
        self.all().into_iter().flat_map(spell).collect()
    }

    #[track_caller]
    fn assert_clean(&self, what: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        for (value, needle) in self.needles() {
            assert!(!text.contains(&needle), "{what} holds {value} as {needle}:\n{text}");
        }
    }

    /// Runs the program with something on standard input; returns its exit code and everything it said. While a tool waits,
    /// the machine is searched.
    #[track_caller]
    fn run(&self, arguments: &[&str], input: &str, waits: bool) -> (i32, String) {
        let (code, said) = self.drive(arguments, input, waits, &[]);
        self.assert_clean(&arguments.join(" "), said.as_bytes());
        self.search(None);
        (code, said)
    }

    /// The same for a program that goes on until its input ends, which is when all of `until` was said.
    fn drive(&self, arguments: &[&str], input: &str, waits: bool, until: &[&str]) -> (i32, String) {
        for file in ["started", "go"] {
            let _ = fs::remove_file(self.place.project().join(file));
        }
        let mut command = self.place.command(arguments);
        command.env("MY_TOKEN", &self.token).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let said = Arc::new(Mutex::new(Vec::new()));
        let text = || String::from_utf8_lossy(&said.lock().expect("nobody panicked")).into_owned();
        let read = |mut pipe: Box<dyn Read + Send>| {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = pipe.read(&mut bytes) {
                    said.lock().expect("nobody panicked").extend_from_slice(&bytes[..read]);
                }
            })
        };
        let readers = [
            read(Box::new(child.stdout.take().expect("a pipe"))),
            read(Box::new(child.stderr.take().expect("a pipe"))),
        ];
        let mut pipe = child.stdin.take().expect("a pipe");
        pipe.write_all(input.as_bytes()).expect("it reads");
        let pipe = (!until.is_empty()).then_some(pipe);
        let wait = |is_there: &dyn Fn() -> bool| {
            let latest = Instant::now() + PATIENCE;
            while !is_there() {
                assert!(Instant::now() < latest, "it did not come so far: {}", text());
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        if waits {
            wait(&|| self.place.project().join("started").exists());
            self.search(Some(child.id()));
            fs::write(self.place.project().join("go"), "").expect("it can be written");
        }
        wait(&|| until.iter().all(|part| text().contains(part)));
        drop(pipe);
        let code = child.wait().expect("it ends").code().unwrap_or(-1);
        readers.into_iter().for_each(|reader| reader.join().expect("it is read"));
        (code, text())
    }

    /// Looks for values in every file of the place and, while the program `ours` runs, in every process of the machine.
    #[track_caller]
    fn search(&self, ours: Option<u32>) {
        let mut pending = vec![self.place.project(), self.place.home(), self.place.project().with_file_name("tmp")];
        let mut files = 0;
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let kind = entry.file_type().expect("it has one");
                if kind.is_dir() {
                    pending.push(entry.path());
                } else if kind.is_file() {
                    files += 1;
                    let content = fs::read(entry.path()).unwrap_or_default();
                    self.assert_clean(&entry.path().display().to_string(), &content);
                }
            }
        }
        assert!(files > 0);
        let Some(ours) = ours else { return };
        let parents = parents();
        let mut seen = 0;
        for pid in parents.keys() {
            let of = |what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
            self.assert_clean(&format!("the arguments of {pid}"), &of("cmdline"));
            let is_tool = *pid != ours && ancestors(&parents, *pid).contains(&ours);
            seen += usize::from(is_tool);
            let environment = String::from_utf8_lossy(&of("environ")).into_owned();
            let holds = |value: &str| environment.contains(value);
            assert!(is_tool || (!holds(&self.stored) && !holds(&self.pin)), "the environment of {pid}");
            let limits = String::from_utf8_lossy(&of("limits")).into_owned();
            let core = limits.lines().find(|line| line.starts_with("Max core file size"));
            if is_tool && environment.contains("STORED=") {
                assert_eq!(core.and_then(|line| line.split_whitespace().nth(4)), Some("0"), "{limits}");
            }
        }
        assert!(seen > 0, "the tool is there");
    }

    /// Runs the tool `t` in each way in which a person can.
    #[track_caller]
    fn check(&self, code: i32, tool: &str, masked: usize) {
        self.place.tool("t", tool);
        let arguments = json!({"PIN": self.pin}).to_string();
        let run = ["tool", "run", "t", "--params-json", "-"];
        for (options, waits) in
            [(&[][..], true), (&["--format", "json"], true), (&["--dry-run"], false), (&["--show-command"], false)]
        {
            let (ended, said) = self.run(&[&run, options].concat(), &arguments, waits);
            assert_eq!(ended, if waits { code } else { 0 }, "{options:?}: {said}");
            if waits {
                assert!(said.matches("****").count() >= masked, "the values came by: {said}");
            }
        }
    }
}

/// Every process with its parent.
fn parents() -> BTreeMap<u32, u32> {
    let parent = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?))
    };
    let entries = fs::read_dir("/proc").expect("it is there").flatten();
    entries.filter_map(|entry| parent(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn ancestors(parents: &BTreeMap<u32, u32>, pid: u32) -> Vec<u32> {
    std::iter::successors(Some(pid), |pid| parents.get(pid).copied().filter(|parent| parent != pid)).take(64).collect()
}

#[test]
fn of_a_command() {
    Secrets::new().check(0, &format!("description: d\nbash: |{SAY}{WAIT}{REST}"), 18);
}

#[test]
fn of_a_command_that_fails() {
    Secrets::new().check(3, &format!("description: d\nbash: |{SAY}{WAIT}  exit 3\n{REST}"), 18);
}

#[test]
fn of_a_workflow_with_results_that_travel_retries_and_cleanup() {
    let steps = "- name: a\n  bash: 'echo \"$STORED\"; echo {PIN}'\n- name: b\n  bash: 'echo {a.output}; [ -e tried ] || { touch tried; exit 1; }'\n  error-handling: {retry: {attempts: 1, delay: 1}}\n- name: c\n  use-tool: inner\n  with: {TEXT: '{a.output}'}\n";
    let cleanup = "resources: {cleanup: [{final-command: 'echo {a.output} >&2; exit 1'}]}\n";
    let secrets = Secrets::new();
    secrets.place.tool(
        "inner",
        &format!("description: d\nbash: |\n  echo {{TEXT}}{WAIT}tags: [read]\nparameters: {{TEXT: {{type: string, description: t}}}}\n"),
    );
    secrets.check(0, &format!("description: d\nsteps:\n{steps}{cleanup}{REST}"), 6);
}

#[test]
fn of_a_script() {
    let script = "description: d\npython: |\n  import json, os, time\n  values = [os.environ['STORED'], os.environ['CYCOD_PARAM_PIN'], json.load(open(os.environ['CYCOD_PARAMS']))['PIN']]\n  print(values, *values)\n  open('started', 'w')\n  while not os.path.exists('go'): time.sleep(0.02)\n";
    Secrets::new().check(0, &format!("{script}{REST}"), 3);
}

#[test]
fn of_a_stream_that_goes_into_a_file() {
    let tool = format!(
        "description: d\nsteps:\n- name: a\n  bash: |{}{}  output: {{mode: stream, stream-callback: file, stream-file: out.txt, masked-values: ['{{PIN}}']}}\n{REST}",
        SAY.replace("\n  ", "\n    "),
        WAIT.replace("\n  ", "\n    "),
    );
    let secrets = Secrets::new();
    secrets.check(0, &tool, 0);
    assert!(secrets.place.read("out.txt").matches("****").count() >= 9);
}

#[test]
fn of_refusals_and_tests() {
    let secrets = Secrets::new();
    let arguments = json!({"PIN": secrets.pin}).to_string();
    for tool in [
        "run: '{PIN} x'\n",
        "bash: pwd\nworking-directory: '/nowhere/{PIN}'\n",
        "steps:\n- {name: a, bash: ls, output: {mode: stream, stream-callback: file, stream-file: '/nowhere/{PIN}'}}\n",
        "bash: 'echo {PIN}; '\ninput: '{STORED}{NOT_SET}'\n",
        "run: 'echo {STORED}'\n",
        "python: 'print(\"{PIN}\")'\n",
    ] {
        secrets.place.tool("t", &format!("description: d\n{tool}{REST}"));
        let (code, said) = secrets.run(&["tool", "run", "t", "--params-json", "-"], &arguments, false);
        assert_ne!(code, 0, "{tool}: {said}");
        secrets.run(&["tool", "run", "t", "--params-json", "-", "--format", "json"], &arguments, false);
    }
    let tests = "tests:\n- {name: wrong, parameters: {PIN: abcdefgh}, expected: {output-contains: ['{PIN}x']}}\n";
    secrets.place.tool("t", &format!("description: d\nbash: 'echo \"$STORED\" {{PIN}}'\n{REST}{tests}"));
    for format in ["text", "json", "junit"] {
        let (code, said) = secrets.run(&["tool", "test", "t", "--format", format], "", false);
        assert!(
            code == 1 && said.contains("****") && !said.contains("abcdefgh ") && !said.contains(" abcdefgh"),
            "{said}"
        );
    }
    // A place that is in error tells nothing of what is kept.
    fs::write(secrets.place.home().join(".cycod/secrets.key"), "AGE-SECRET-KEY-1X\n").expect("it can be written");
    for command in [&["secret", "list"][..], &["tool", "run", "t", "PIN=abcdefgh"], &["secret", "remove", "STORED"]] {
        assert_eq!(secrets.run(command, "", false).0, 1, "{command:?}");
    }
}

#[test]
fn of_a_server() {
    let secrets = Secrets::new();
    let report =
        "  printf '%s\\n' \"{\\\"progress\\\": 1, \\\"message\\\": \\\"at $MY_TOKEN\\\"}\" >\"$CYCOD_REPORT\"\n";
    let big = "  for i in $(seq 20000); do printf '%s\\n' \"$STORED\"; done\n";
    secrets.place.tool("t", &format!("description: d\nreports: true\nbash: |{SAY}{report}{big}{WAIT}{REST}"));
    let data = "description: d\nbash: 'python3 -c \"import json, os; print(json.dumps({\\\"a\\\": os.environ[\\\"STORED\\\"]}))\"'\nreturns: {type: object}\ntags: [read]\nenvironment: {secrets: [STORED]}\n";
    secrets.place.tool("data", data);
    let files = "description: d\nbash: |\n  printf %s \"$STORED\" >\"{TEMP}/f.txt\"\n  printf '[{\"type\": \"resource\", \"uri\": \"x://f\", \"mimeType\": \"text/plain\", \"file\": \"%s\"}]' \"{TEMP}/f.txt\"\nproduces: content-blocks\ntags: [read]\nenvironment: {secrets: [STORED]}\n";
    secrets.place.tool("files", files);
    let page = "description: d\nbash: 'echo \"$STORED\"'\noffer: {resource: 'page://one'}\ntags: [read]\nenvironment: {secrets: [STORED]}\n";
    secrets.place.tool("page", page);
    let messages = [
        json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"method": "notifications/initialized"}),
        json!({"id": 2, "method": "logging/setLevel", "params": {"level": "debug"}}),
        json!({"id": 3, "method": "tools/call", "params": {"name": "t", "arguments": {"PIN": secrets.pin}, "_meta": {"progressToken": 1}}}),
        json!({"id": 4, "method": "tools/call", "params": {"name": "data", "arguments": {}}}),
        json!({"id": 5, "method": "tools/call", "params": {"name": "files", "arguments": {}}}),
        json!({"id": 6, "method": "resources/read", "params": {"uri": "page://one"}}),
        json!({"id": 7, "method": "tools/call", "params": {"name": "t", "arguments": {"PIN": 1, "OTHER": secrets.pin}}}),
    ];
    let lines = messages.map(|mut message| {
        message["jsonrpc"] = json!("2.0");
        format!("{message}\n")
    });
    let answers: Vec<String> = (1..=7).map(|id| format!("\"id\":{id},")).collect();
    let until: Vec<&str> = answers.iter().map(String::as_str).collect();
    let (code, said) = secrets.drive(&["mcp", "serve"], &lines.concat(), true, &until);
    secrets.assert_clean("the server", said.as_bytes());
    secrets.search(None);
    assert_eq!(code, 0, "{said}");
    let answers: BTreeMap<u64, serde_json::Value> = said
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| Some((message["id"].as_u64()?, message)))
        .collect();
    for id in 3..=6 {
        let result = answers[&id]["result"].to_string();
        assert!(result.contains("****") || result.contains(&BASE64_STANDARD.encode("***")), "{id}: {result}");
    }
}

#[test]
fn of_what_is_typed() {
    let secrets = Secrets::new();
    // What is looked at here is `script`, which writes down all that a terminal shows.
    let typed = format!("{}\n", secrets.stored);
    let program = PathBuf::from(env!("CARGO_BIN_EXE_cycod"));
    let shell = |line: &str| {
        let mut command = secrets.place.command(&[]);
        let variables: Vec<_> =
            command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        command = script(&format!("{} {line}", program.display()), &secrets.place.project());
        let mut child = command
            .env_clear()
            .envs(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut input = child.stdin.take().expect("a pipe");
        let mut output = child.stdout.take().expect("a pipe");
        let mut said = Vec::new();
        let until = Instant::now() + PATIENCE;
        while !String::from_utf8_lossy(&said).contains("not shown") {
            let mut byte = [0];
            let read = output.read(&mut byte).expect("it writes");
            assert!(read > 0 && Instant::now() < until, "{}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&byte);
        }
        // The question is written when typing is unseen already.
        input.write_all(typed.as_bytes()).expect("it reads");
        output.read_to_end(&mut said).expect("it writes");
        drop(input);
        (child.wait().expect("it ends").success(), String::from_utf8_lossy(&said).into_owned())
    };
    let (is_kept, said) = shell("secret set TYPED");
    assert!(is_kept && said.contains("Stored `TYPED`"), "{said}");
    secrets.assert_clean("the terminal", said.as_bytes());
    secrets.place.tool("t", "description: d\nbash: 'echo ${#TYPED}'\nenvironment: {secrets: [TYPED]}\n");
    let (_, said) = secrets.run(&["tool", "run", "t"], "", false);
    assert_eq!(said.lines().next(), Some(&*secrets.stored.len().to_string()));
}

/// A terminal around a command.
#[expect(clippy::disallowed_methods, reason = "a terminal to type on is another program")]
fn script(line: &str, directory: &Path) -> std::process::Command {
    let mut command = std::process::Command::new("script");
    command.args(["-qec", line, "/dev/null"]).current_dir(directory);
    command
}
