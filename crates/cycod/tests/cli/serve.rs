//! `cycod mcp serve` on standard input and output, as a client that writes and reads lines of JSON meets it.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::Place;

/// Long enough for any answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long anything may outlive its request, connection or server.
const GONE: Duration = Duration::from_secs(2);

/// A client that knows nothing but the wire.
pub(crate) struct Client {
    server: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Messages that came while something else was waited for.
    kept: VecDeque<Value>,
    next: u64,
    capabilities: Value,
    /// What it calls itself.
    name: &'static str,
    pub(crate) is_modern: bool,
}

impl Client {
    /// A client of the era without handshakes.
    pub(crate) fn modern(place: &Place, arguments: &[&str], capabilities: Value) -> Self {
        Self::of(place.command(&[&["mcp", "serve"], arguments].concat()), capabilities)
    }

    /// A client of a server that finds programs in this directory first.
    pub(crate) fn in_path(place: &Place, directory: &str, arguments: &[&str]) -> Self {
        let mut command = place.command(&[&["mcp", "serve"], arguments].concat());
        let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
        let path = format!("{directory}:{}", path.unwrap_or_default().to_string_lossy());
        command.env("PATH", path);
        Self::of(command, json!({}))
    }

    fn of(mut command: Command, capabilities: Value) -> Self {
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let output = BufReader::new(server.stdout.take().expect("piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = server.stdin.take();
        Self { server, input, lines, kept: VecDeque::new(), next: 0, capabilities, name: "test", is_modern: true }
    }

    /// A client of the era with handshakes.
    pub(crate) fn legacy(place: &Place, arguments: &[&str], capabilities: Value) -> Self {
        Self::modern(place, arguments, capabilities).greeted("test")
    }

    /// The same client after a handshake in which it announces this name.
    fn greeted(self, name: &'static str) -> Self {
        let mut client = self;
        client.name = name;
        client.is_modern = false;
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": client.capabilities,
            "clientInfo": {"name": name, "version": "1"},
        });
        let answer = client.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{message}").and_then(|()| input.flush()).expect("the server reads");
    }

    /// Sends a request and returns its id.
    pub(crate) fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if self.is_modern {
            let meta = params.as_object_mut().expect("an object").entry("_meta").or_insert_with(|| json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": self.name, "version": "1"});
        }
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for a message that fits; others are kept.
    pub(crate) fn wait(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at).expect("it is there");
        }
        let until = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) if fits(&message) => return message,
                Ok(message) => self.kept.push_back(message),
                Err(RecvTimeoutError::Timeout) => panic!("nothing came; only {:?}", self.kept),
                Err(RecvTimeoutError::Disconnected) => panic!("the server is gone; it said {:?}", self.kept),
            }
        }
    }

    /// Whether a message came that fits.
    pub(crate) fn has(&mut self, fits: impl Fn(&Value) -> bool) -> bool {
        self.kept.extend(self.lines.try_iter());
        self.kept.iter().any(fits)
    }

    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        match answer["result"].take() {
            // What a test looks for isn't there, and it shows why.
            Value::Null => answer,
            result => result,
        }
    }

    /// Ends the input and waits for the end of the server.
    fn finish(mut self) -> i32 {
        drop(self.input.take());
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.server.try_wait().expect("a child") {
                return status.code().unwrap_or(-1);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the server did not end");
    }
}

impl Client {
    /// Ends the server as nothing else does: it cannot know of it.
    pub(crate) fn kill(mut self) {
        self.server.kill().expect("it is ours");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        // It may have ended already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

fn both(place: &Place, check: impl Fn(&mut Client)) {
    check(&mut Client::legacy(place, &[], json!({})));
    check(&mut Client::modern(place, &[], json!({})));
}

const GREET: &str = "description: Greets\nbash: echo \"hello {NAME}\"\ntags: [read]\nparameters:\n  NAME: {type: string, description: Whom, required: true}\n";

#[test]
fn lists_and_calls_in_both_eras() {
    let place = Place::with_tool("greet", GREET);
    both(&place, |client| {
        let list = client.ask("tools/list", json!({}));
        let greet = &list["result"]["tools"][0];
        assert_eq!(greet["name"], "greet");
        assert_eq!(greet["annotations"], json!({"readOnlyHint": true}));
        assert_eq!(greet["inputSchema"]["required"], json!(["NAME"]));
        assert!(list["result"].get("nextCursor").is_none());

        let hostile = "$(touch hurt); `id` '\"\n--x";
        let result = client.call("greet", json!({"NAME": hostile}));
        assert_eq!(result["isError"], false);
        assert_eq!(text(&result), format!("hello {hostile}\n"));
        assert!(!place.project().join("hurt").exists());

        let unknown = client.ask("tools/call", json!({"name": "nobody"}));
        assert_eq!(unknown["error"]["code"], -32602);
    });
}

#[test]
fn what_a_model_is_told_of_wrong_arguments_works_word_for_word() {
    let place = Place::with_tool(
        "weather",
        "description: Weather\ntags: [read]\nbash: echo \"{CITY} {UNIT} {DAYS} {TAGS}\"\nparameters:\n  CITY: {description: The city, required: true, examples: [\"Rio d'Ouro\"]}\n  UNIT: {description: The unit, validation: {enum: [metric, imperial]}}\n  DAYS: {type: integer, description: How many, default: 3, validation: {maximum: 9}}\n  TAGS: {type: array, description: Tags, required: true, validation: {items: {type: integer}}}\n",
    );
    let mut client = Client::legacy(&place, &[], json!({}));
    for wrong in [
        json!({}),
        json!({"CITY": "Köln"}),
        json!({"CTY": "Köln", "UNIT": "metrik"}),
        json!({"CITY": "Köln", "DAYS": "many", "TAGS": [1]}),
        json!({"CITY": "Köln", "DAYS": 99, "TAGS": ["x"], "NOPE": 1}),
    ] {
        let answer = client.call("weather", wrong.clone());
        assert_eq!(answer["isError"], true, "{wrong}");
        let told: Value = serde_json::from_str(answer["content"][0]["text"].as_str().expect("a text")).expect("JSON");
        let told = told["refusal"]["try"].as_str().expect("what to try").to_owned();
        let (_, again) = told.split_once("call again with ").unwrap_or_else(|| panic!("{told}"));
        let again: Value = serde_json::from_str(again).unwrap_or_else(|error| panic!("{error}: {told}"));
        let answer = client.call("weather", again.clone());
        assert_eq!(answer["isError"], false, "{wrong}: {again}: {answer}");
    }
}

#[test]
fn wrong_arguments_are_told_to_the_model() {
    let place = Place::with_tool("greet", GREET);
    both(&place, |client| {
        let result = client.call("greet", json!({"NAEM": "x"}));
        assert_eq!(result["isError"], true);
        let told: Value = serde_json::from_str(text(&result)).expect("a refusal");
        assert_eq!(told["refusal"]["code"], "unknown-argument");
        assert!(told["refusal"]["try"].as_str().expect("a way out").contains("NAME"), "{told}");
    });
}

#[test]
fn a_failing_tool_says_how() {
    let place = Place::with_tool("fails", "description: Fails\nbash: echo out; echo err >&2; exit 7\ntags: [read]\n");
    both(&place, |client| {
        let result = client.call("fails", json!({}));
        assert_eq!(result["isError"], true);
        let all = result["content"].to_string();
        for part in ["out\\n", "err\\n", "exit code 7"] {
            assert!(all.contains(part), "{part} is not in {all}");
        }
    });
}

#[test]
fn what_is_offered_can_be_chosen() {
    let place = Place::with_tool("greet", GREET);
    place.tool("wipe", "description: Wipes\nbash: echo gone\ntags: [write, disk]\ngroup: files\n");
    let names = |arguments: &[&str]| {
        let list = Client::modern(&place, arguments, json!({})).ask("tools/list", json!({}));
        let tools = list["result"]["tools"].as_array().expect("a list").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["greet", "run_output", "wipe"]);
    assert_eq!(names(&["--tools", "WIPE"]), ["run_output", "wipe"]);
    assert_eq!(names(&["--tag", "disk"]), ["run_output", "wipe"]);
    assert_eq!(names(&["--tag", "disk,read"]), ["greet", "run_output", "wipe"]);
    assert_eq!(names(&["--tag", "disk", "--tag", "read"]), ["run_output"]);
    assert_eq!(names(&["--group", "files"]), ["run_output", "wipe"]);
    assert_eq!(names(&["--group", "custom"]), ["greet", "run_output"]);
    assert_eq!(names(&["--level", "read"]), ["greet", "run_output"]);
    // What is not offered cannot be called.
    let mut client = Client::modern(&place, &["--level", "read"], json!({}));
    assert_eq!(client.ask("tools/call", json!({"name": "wipe"}))["error"]["code"], -32602);
}

#[test]
fn lines_come_as_progress_before_the_result() {
    let slow = "description: Slow\nbash: echo one; sleep 0.3; echo two; sleep 0.3; echo three\ntags: [read]\n";
    let place = Place::with_tool("slow", slow);
    both(&place, |client| {
        let id = client.begin("tools/call", json!({"name": "slow", "_meta": {"progressToken": "p"}}));
        client.answer(id);
        let told: Vec<Value> =
            client.kept.drain(..).filter(|message| message["params"]["progressToken"] == "p").collect();
        let texts: Vec<&str> = told.iter().filter_map(|message| message["params"]["message"].as_str()).collect();
        // What is said last is in the answer, and told before only when the end takes its time.
        assert!(texts.starts_with(&["one", "two"]), "{texts:?}");
        assert!(told[0]["params"]["progress"].as_f64() < told[1]["params"]["progress"].as_f64());
    });
}

/// A tool that writes its process ids and ignores being asked to end, as its child in a session of its own does.
const STUBBORN: &str = "description: Stays\ntags: [read]\nbash: |\n  trap '' TERM\n  setsid bash -c 'trap \"\" TERM; echo $$ > pid2; while :; do sleep 0.1; done' &\n  echo $$ > pid1\n  while :; do sleep 0.1; done\n";

fn pids(project: &Path) -> [u32; 2] {
    let until = Instant::now() + PATIENCE;
    let read = |name: &str| {
        let path = project.join(name);
        loop {
            if let Ok(pid) = std::fs::read_to_string(&path).unwrap_or_default().trim().parse() {
                return pid;
            }
            assert!(Instant::now() < until, "the tool did not start");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let found = [read("pid1"), read("pid2")];
    for name in ["pid1", "pid2"] {
        std::fs::remove_file(project.join(name)).expect("it was there");
    }
    found
}

fn assert_gone(pids: [u32; 2], since: Instant) {
    let lives = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    while pids.into_iter().any(lives) {
        // A busy machine gets a little more, but not so much that a grace period of two seconds would do.
        assert!(since.elapsed() < GONE + Duration::from_millis(700), "{pids:?} live after {:?}", since.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn cancelling_ends_the_whole_tree() {
    let place = Place::with_tool("stays", STUBBORN);
    both(&place, |client| {
        let id = client.begin("tools/call", json!({"name": "stays"}));
        let pids = pids(&place.project());
        let since = Instant::now();
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
        assert_gone(pids, since);
        // The server goes on.
        assert!(client.ask("tools/list", json!({})).get("result").is_some());
    });
}

#[test]
fn the_end_of_the_input_ends_everything() {
    let place = Place::with_tool("stays", STUBBORN);
    for is_modern in [false, true] {
        let start = if is_modern { Client::modern } else { Client::legacy };
        let mut client = start(&place, &[], json!({}));
        client.begin("tools/call", json!({"name": "stays"}));
        let pids = pids(&place.project());
        let since = Instant::now();
        assert_eq!(client.finish(), 0);
        assert_gone(pids, since);
    }
}

#[test]
fn our_death_ends_everything() {
    let place = Place::with_tool("stays", STUBBORN);
    let mut client = Client::modern(&place, &[], json!({}));
    client.begin("tools/call", json!({"name": "stays"}));
    let pids = pids(&place.project());
    let since = Instant::now();
    client.server.kill().expect("it lives");
    assert_gone(pids, since);
}

#[test]
fn a_call_that_is_under_way_is_answered_after_the_end_of_the_input() {
    let bash = "touch began; until [ -e closed ]; do sleep 0.01; done; echo done";
    let place = Place::with_tool("ends", &format!("description: Ends\ntags: [read]\nbash: {bash:?}\n"));
    let mut client = Client::modern(&place, &[], json!({}));
    let id = client.begin("tools/call", json!({"name": "ends"}));
    // What it takes to start the tool, on a busy machine too, is no part of the time that is left for its answer.
    let until = Instant::now() + PATIENCE;
    while !place.project().join("began").exists() {
        assert!(Instant::now() < until, "the tool does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(client.input.take());
    std::fs::write(place.project().join("closed"), "").expect("the project takes a file");
    assert_eq!(text(&client.answer(id)["result"]), "done\n");
}

const WIPE: &str = "description: Wipes\nbash: touch {FILE}\ntags: [write]\nparameters:\n  FILE: {type: string, description: What, required: true}\n";

fn approval(yes: bool) -> Value {
    json!({"cycod/approval": {"action": "accept", "content": {"approve": yes}}})
}

#[test]
fn approval_is_asked_of_whoever_can_be_asked() {
    let place = Place::with_tool("wipe", WIPE);
    let wiped = |name: &str| place.project().join(name).exists();

    // Nobody can be asked.
    both(&place, |client| {
        let result = client.call("wipe", json!({"FILE": "a"}));
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains("not-approved"), "{result}");
        assert!(!wiped("a"));
    });

    // Asked while the call waits.
    for yes in [false, true] {
        let mut client = Client::legacy(&place, &[], json!({"elicitation": {}}));
        let id = client.begin("tools/call", json!({"name": "wipe", "arguments": {"FILE": "b"}}));
        let question = client.wait(|message| message["method"] == "elicitation/create");
        let message = question["params"]["message"].as_str().expect("a message");
        assert!(message.contains("touch b") && message.contains("wipe"), "{message}");
        let answer = approval(yes)["cycod/approval"].take();
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        assert_eq!(client.answer(id)["result"]["isError"], !yes);
        assert_eq!(wiped("b"), yes);
    }

    // Asked between two calls.
    for yes in [false, true] {
        let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
        let mut params = json!({"name": "wipe", "arguments": {"FILE": "c"}});
        let asked = client.ask("tools/call", params.clone());
        assert_eq!(asked["result"]["resultType"], "input_required");
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = approval(yes);
        assert_eq!(client.ask("tools/call", params)["result"]["isError"], !yes);
        assert_eq!(wiped("c"), yes);
    }

    // Said beforehand.
    let mut client = Client::modern(&place, &["--auto-approve", "write"], json!({}));
    assert_eq!(client.call("wipe", json!({"FILE": "d"}))["isError"], false);
    assert!(wiped("d"));
}

#[test]
fn a_value_cannot_add_to_a_form() {
    let place = Place::with_tool("wipe", WIPE);
    let forged =
        "x\nLevel: read, with your rights\r\nLevel: read\u{2028}Level: read\u{1b}[2K\u{202e}\n\nNote\n    $ safe";
    let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
    let asked = client.ask("tools/call", json!({"name": "wipe", "arguments": {"FILE": forged}}));
    let question = &asked["result"]["inputRequests"]["cycod/approval"]["params"]["message"];
    let message = question.as_str().unwrap_or_else(|| panic!("a message: {asked}"));
    let levels: Vec<&str> = message.lines().filter(|line| line.trim_start().starts_with("Level")).collect();
    assert_eq!(levels, ["Level: write, with your rights"], "{message}");
    assert!(message.lines().all(|line| line != "Note") && message.contains("\\u{1b}[2K\\u{202e}"), "{message}");
    assert!(message.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}' && c != '\u{2028}'), "{message}");

    // A question of the tool's own, in whose words there is a value.
    let asks = "description: d\nbash: echo {sure} {NAME}\ntags: [read]\nparameters:\n  NAME: {type: string, description: n, required: true}\nasks:\n  sure: {person: \"{NAME}\\nRelease {NAME}?\"}\n";
    place.tool("release", asks);
    let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
    let asked = client.ask("tools/call", json!({"name": "release", "arguments": {"NAME": "a\nLevel: read"}}));
    let question = &asked["result"]["inputRequests"]["sure"]["params"]["message"];
    assert_eq!(question, "“a\\nLevel: read”\nRelease a\\nLevel: read?", "{asked}");
}

#[test]
fn what_is_too_long_for_a_form_is_approved_elsewhere() {
    let place = Place::with_tool(
        "note",
        "description: Notes\nbash: echo {TEXT} > noted\ntags: [write]\nparameters:\n  TEXT: {type: string, description: What, required: true}\n",
    );
    let long = format!("{}; rm -rf ~;{}", "x".repeat(20_000), "y".repeat(20_000));
    let call = json!({"name": "note", "arguments": {"TEXT": long}});
    let mut modern = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
    let mut legacy = Client::legacy(&place, &[], json!({"elicitation": {}}));
    for client in [&mut modern, &mut legacy] {
        let result = client.ask("tools/call", call.clone())["result"].take();
        let said = text(&result);
        assert!(result["isError"] == true && said.contains("too long for a form"), "{said}");
        assert!(said.contains("cycod approvals approve "), "{said}");
    }
    assert!(!place.project().join("noted").exists());
    // Somebody who saw all of it says yes.
    let list: Value =
        serde_json::from_str(&place.run(&["approvals", "list", "--format", "json"]).stdout()).expect("JSON");
    for one in list.as_array().expect("a list") {
        let id = one["id"].as_str().expect("an id");
        assert_eq!(place.run(&["approvals", "approve", id, "--without-terminal"]).code(), 0);
    }
    assert_eq!(modern.ask("tools/call", call)["result"]["isError"], false);
    assert_eq!(place.read("noted").trim_end(), long);
}

#[test]
fn an_approval_is_good_for_one_call() {
    let place = Place::with_tool("wipe", WIPE);
    let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
    let call = |client: &mut Client, file: &str, state: &Value, responses: &Value| {
        let mut params = json!({"name": "wipe", "arguments": {"FILE": file}});
        if !state.is_null() {
            params["requestState"] = state.clone();
        }
        params["inputResponses"] = responses.clone();
        client.ask("tools/call", params)
    };
    let asked = |client: &mut Client, file: &str| {
        let answer = client.ask("tools/call", json!({"name": "wipe", "arguments": {"FILE": file}}));
        answer["result"]["requestState"].clone()
    };
    let yes = approval(true);

    // Nobody is asked beforehand: an answer without its question counts for nothing.
    assert_eq!(call(&mut client, "a", &Value::Null, &yes)["result"]["resultType"], "input_required");

    let state = asked(&mut client, "a");
    assert_eq!(call(&mut client, "b", &state, &yes)["error"]["code"], -32602, "other arguments");

    let state = asked(&mut client, "a");
    let tampered = json!(state.as_str().expect("a state").chars().rev().collect::<String>());
    assert_eq!(call(&mut client, "a", &tampered, &yes)["error"]["code"], -32602, "tampered with");
    assert_eq!(call(&mut client, "a", &state, &yes)["result"]["isError"], false);
    assert_eq!(call(&mut client, "a", &state, &yes)["error"]["code"], -32602, "used before");

    // The definition changed after the question.
    let state = asked(&mut client, "c");
    place.tool("wipe", &WIPE.replace("touch {FILE}", "touch {FILE} {FILE}2"));
    std::thread::sleep(Duration::from_millis(600));
    let answer = call(&mut client, "c", &state, &yes);
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert!(!place.project().join("b").exists() && !place.project().join("c").exists());
}

#[test]
fn an_approval_does_not_outlive_what_was_approved() {
    let place = Place::with_tool("wipe", WIPE);
    let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
    let mut params = json!({"name": "wipe", "arguments": {"FILE": "a"}});
    params["requestState"] = client.ask("tools/call", params.clone())["result"]["requestState"].take();
    params["inputResponses"] = approval(true);
    place.tool("wipe", &WIPE.replace("touch {FILE}", "touch {FILE} {FILE}2"));
    std::thread::sleep(Duration::from_millis(600));
    let mut asked = client.ask("tools/call", params.clone());
    params["inputResponses"].take();
    for _ in 0..2 {
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        params["requestState"] = asked["result"]["requestState"].take();
        asked = client.ask("tools/call", params.clone());
    }
    assert!(!place.project().join("a").exists());
}

#[test]
fn an_answer_is_good_for_its_question_only() {
    let place = Place::with_tool(
        "greet",
        "description: Greets\nbash: echo {name} {approval}\ntags: [read]\nasks:\n  who: {person: Who?, fields: {name: {required: true}}}\n  approval: {person: 'Greet {name}?'}\n",
    );
    let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let mut params = json!({"name": "greet", "arguments": {}});

    // A form may be filled in before it is shown; nobody agrees to what was not shown.
    params["inputResponses"] = json!({"who": accept(json!({"name": "ada"})), "approval": accept(json!({}))});
    let mut asked = client.ask("tools/call", params.clone());
    assert_eq!(asked["result"]["inputRequests"]["approval"]["params"]["message"], "Greet ada?", "{asked}");

    // What was answered is not changed by the answer to what follows from it.
    params["requestState"] = asked["result"]["requestState"].take();
    params["inputResponses"] = json!({"who": accept(json!({"name": "eve"})), "approval": accept(json!({}))});
    let greeted = client.ask("tools/call", params);
    assert_eq!(text(&greeted["result"]), "ada true\n", "{greeted}");
}

#[test]
fn an_approval_shows_no_secret_and_holds_in_a_directory_of_the_run() {
    let place = Place::with_tool(
        "keep",
        "description: Keeps\nbash: 'echo \"$KEY\" > {TEMP}/key; touch {NAME}'\ntags: [write]\nresources: {cleanup: [{final-command: rm -f spare}]}\nenvironment: {variables: {KEY: '{KEY}'}}\nparameters:\n  KEY: {description: A key, required: true, sensitive: true}\n  NAME: {description: A name, required: true}\n",
    );
    let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
    let mut params = json!({"name": "keep", "arguments": {"KEY": "say \"hunter2\"\\\n", "NAME": "kept"}});
    let mut asked = client.ask("tools/call", params.clone())["result"].take();
    let message = asked["inputRequests"]["cycod/approval"]["params"]["message"].as_str().expect("a message");
    assert!(!message.contains("hunter2") && message.contains("kept") && message.contains("rm -f spare"), "{message}");
    params["requestState"] = asked["requestState"].take();
    params["inputResponses"] = approval(true);
    assert_eq!(client.ask("tools/call", params)["result"]["isError"], false);
    assert!(place.project().join("kept").exists());
}

#[test]
fn a_call_has_one_moment_in_all_its_rounds() {
    let text_of = "description: Tells\nbash: echo {TIMESTAMP}\ntags: [run]\nparameters: {}\n";
    let place = Place::with_tool("tell", text_of);
    let mut client = Client::modern(&place, &[], json!({"elicitation": {"form": {}}}));
    let mut told = Vec::new();
    for _ in 0..2 {
        let mut params = json!({"name": "tell", "arguments": {}});
        let mut asked = client.ask("tools/call", params.clone())["result"].take();
        std::thread::sleep(Duration::from_millis(1_100));
        params["requestState"] = asked["requestState"].take();
        params["inputResponses"] = approval(true);
        let answer = client.ask("tools/call", params);
        let moment = text(&answer["result"]).trim().to_owned();
        let message = asked["inputRequests"]["cycod/approval"]["params"]["message"].as_str().expect("a message");
        assert!(message.contains(&moment), "{moment} in {message}");
        told.push(moment);
    }
    assert_ne!(told[0], told[1], "each call has its own");
}

#[test]
fn artifacts_are_linked_and_read() {
    let text = "description: D\nbash: echo made; echo page > {TEMP}/page.html\nartifacts: ['{TEMP}/page.html']\ntags: [read]\n";
    let place = Place::with_tool("make-page", text);
    both(&place, |client| {
        let result = client.call("make-page", json!({}));
        let link = &result["content"][1];
        assert_eq!((&link["type"], &link["name"]), (&json!("resource_link"), &json!("page.html")), "{result}");
        let read = client.ask("resources/read", json!({"uri": link["uri"]}));
        assert_eq!(read["result"]["contents"][0]["text"], "page\n", "{read}");
    });
}

#[test]
fn a_step_whose_result_was_stored_is_named() {
    let text = "description: D\nsteps: [{name: make, bash: echo ran >> runs.log; echo made, cache: {inputs: []}}]\ntags: [read]\n";
    let place = Place::with_tool("make", text);
    assert_eq!(place.run(&["run", "make"]).code(), 0);
    both(&place, |client| {
        let result = client.call("make", json!({}));
        assert_eq!(result["_meta"]["cycod/run"]["cached"], json!(["make"]), "{result}");
    });
    assert_eq!(place.read("runs.log"), "ran\n");
}

#[test]
fn large_outputs_are_kept_whole() {
    let place = Place::with_tool(
        "much",
        "description: Much\nbash: seq 1 {N}\ntags: [read]\nparameters:\n  N: {type: integer, description: How many, required: true}\n",
    );
    both(&place, |client| {
        let result = client.call("much", json!({"N": 200_000}));
        let shown = text(&result);
        assert!(shown.len() < 40_000, "{} bytes", shown.len());
        assert!(shown.starts_with("1\n2\n") && shown.ends_with("\n200000\n") && shown.contains("left out"));
        let link = &result["content"][1];
        assert_eq!(link["type"], "resource_link");
        assert_eq!(link["size"], 1_288_895);
        let uri = link["uri"].as_str().expect("an address");

        let whole = client.ask("resources/read", json!({"uri": uri}));
        let whole = whole["result"]["contents"][0]["text"].as_str().expect("text").to_owned();
        assert_eq!(whole, (1..=200_000).map(|n| format!("{n}\n")).collect::<String>());

        let mut look = |mut view: Value| {
            view["output"] = json!(uri);
            text(&client.call("run_output", view)).to_owned()
        };
        assert!(look(json!({"line": 1000, "count": 2})).starts_with("1000\n1001\n"));
        assert!(look(json!({"search": "^19999.$", "count": 2})).contains("199991"));
        assert_eq!(look(json!({"jq": "select(. % 100000 == 0)"})), "100000\n200000\n");
        assert!(look(json!({"jq": "while(true; .)"})).contains("continue with offset="));
        assert!(look(json!({"jq": "("})).contains("failed"));

        let part = client.ask("resources/read", json!({"uri": format!("{uri}?line=5&count=1")}));
        assert!(part["result"]["contents"][0]["text"].as_str().expect("text").starts_with("5\n"));
        let gone = client.ask("resources/read", json!({"uri": "cycod://runs/00000000000000000000000000000000/stdout"}));
        // The era without handshakes knows no number of its own for it.
        let not_found = if client.is_modern { -32602 } else { -32002 };
        assert_eq!(
            (&gone["error"]["code"], &gone["error"]["data"]["code"]),
            (&json!(not_found), &json!("unknown-output"))
        );
        let wrong = client.ask("resources/read", json!({"uri": format!("{uri}?line=five")}));
        assert_eq!(
            (&wrong["error"]["code"], &wrong["error"]["data"]["uri"]),
            (&json!(-32602), &json!(format!("{uri}?line=five")))
        );
    });
}

#[test]
fn memory_does_not_grow_with_the_output() {
    let place =
        Place::with_tool("much", "description: Much\nbash: head -c 60000000 /dev/zero | tr '\\0' x\ntags: [read]\n");
    let mut client = Client::modern(&place, &[], json!({}));
    client.ask("tools/list", json!({}));
    let peak = |client: &Client| -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", client.server.id())).expect("it lives");
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
        line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
    };
    let before = peak(&client);
    let result = client.call("much", json!({}));
    assert_eq!(result["content"][1]["size"], 60_000_000);
    let grown = peak(&client) - before;
    assert!(grown < 20_000, "grew by {grown} KiB");
}

#[test]
fn a_run_that_nobody_waits_for() {
    let place = Place::with_tool(
        "flow",
        "description: Two steps\ntags: [read]\nsteps:\n  - {name: a, bash: sleep 0.2; echo first}\n  - {name: b, bash: echo second}\n",
    );
    place.tool("stays", &STUBBORN.replace("tags: [read]", "tags: [read]\ntimeout: 100000"));
    both(&place, |client| {
        let started = client.call("run_start", json!({"tool": "flow"}));
        let run = started["structuredContent"]["run"].clone();
        assert!(["started", "working"].contains(&started["structuredContent"]["status"].as_str().expect("a status")));
        let ended = client.call("run_wait", json!({"run": run}));
        assert!(ended["content"].to_string().contains("second"), "{ended}");
        assert_eq!(client.call("run_status", json!({"run": run}))["isError"], false);

        let started = client.call("run_start", json!({"tool": "stays"}));
        let run = started["structuredContent"]["run"].clone();
        let pids = pids(&place.project());
        assert_eq!(
            client.call("run_wait", json!({"run": run, "timeout_ms": 50}))["structuredContent"]["status"],
            "working"
        );
        let since = Instant::now();
        assert_eq!(client.call("run_cancel", json!({"run": run}))["structuredContent"]["status"], "cancelled");
        assert_gone(pids, since);

        assert!(text(&client.call("run_status", json!({"run": "x"}))).contains("unknown-run"));
        assert!(text(&client.call("run_start", json!({"tool": "nobody"}))).contains("unknown-tool"));
    });
}

#[test]
fn workflows_are_prompts_and_arguments_complete() {
    let place = Place::with_tool(
        "deploy",
        "description: Deploys\ntags: [read]\nparameters:\n  TO: {type: string, description: Where, required: true, validation: {enum: [staging, production]}}\nsteps:\n  - {name: build, bash: echo building}\n  - {name: ship, bash: 'echo to {TO}'}\n",
    );
    both(&place, |client| {
        let prompts = client.ask("prompts/list", json!({}));
        assert_eq!(prompts["result"]["prompts"][0]["arguments"][0]["name"], "TO");
        let prompt = client.ask("prompts/get", json!({"name": "deploy", "arguments": {"TO": "staging"}}));
        let message = prompt["result"]["messages"][0]["content"]["text"].as_str().expect("text");
        assert!(message.contains("`deploy`") && message.contains("echo to staging"), "{message}");
        let wrong = client.ask("prompts/get", json!({"name": "deploy", "arguments": {"TO": "mars"}}));
        assert_eq!(wrong["error"]["code"], -32602);
        let completion = client.ask(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "deploy"}, "argument": {"name": "TO", "value": "st"}}),
        );
        assert_eq!(completion["result"]["completion"]["values"], json!(["staging"]));
    });
}

#[test]
fn a_workflow_that_asks_is_a_prompt_too() {
    let place = Place::with_tool(
        "ship",
        "description: Ships\ntags: [read]\nsteps:\n  - {name: ship, bash: 'echo shipped {sure}'}\nasks: {sure: {person: Sure?}}\n",
    );
    both(&place, |client| {
        let prompt = client.ask("prompts/get", json!({"name": "ship"}));
        let message = prompt["result"]["messages"][0]["content"]["text"].as_str();
        assert!(message.is_some_and(|message| message.contains("echo shipped")), "{prompt}");
    });
}

#[test]
fn a_question_that_a_client_cannot_ask_is_not_taken_for_declined() {
    let place =
        Place::with_tool("ship", "description: Ships\ntags: [read]\nbash: echo\nasks: {sure: {person: Sure?}}\n");
    let result = Client::legacy(&place, &[], json!({})).call("ship", json!({}));
    assert!(text(&result).contains("nobody-to-answer") && result["isError"] == true, "{result}");
}

#[test]
fn resources_are_what_their_tools_print() {
    let place =
        Place::with_tool("note", "description: A note\nbash: echo hi\ntags: [read]\noffer: {resource: 'note://hi'}\n");
    place.tool(
        "page",
        "description: A page\nbash: echo page {id}\ntags: [read]\noffer: {resource: 'note://{id}/page'}\nparameters:\n  id: {type: string, description: Which, required: true}\n",
    );
    for (name, produces, said) in [("plan", "application/yaml", "a: 1"), ("broken", "application/json", "{half")] {
        let text = "description: x\ntags: [read]\n";
        place.tool(
            name,
            &format!("{text}produces: {produces}\nbash: 'echo \"{said}\"'\noffer: {{resource: 'note://{name}'}}\n"),
        );
    }
    both(&place, |client| {
        assert_eq!(client.ask("resources/list", json!({}))["result"]["resources"][1]["uri"], "note://hi");
        let templates = client.ask("resources/templates/list", json!({}));
        assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "note://{id}/page");
        let read = |client: &mut Client, uri: &str| client.ask("resources/read", json!({"uri": uri}));
        assert_eq!(read(client, "note://hi")["result"]["contents"][0]["text"], "hi\n");
        assert_eq!(read(client, "note://a%3Bb/page")["result"]["contents"][0]["text"], "page a;b\n");
        assert_eq!(
            read(client, "note://plan")["result"]["contents"][0]["text"],
            "a: 1\n",
            "{}",
            read(client, "note://plan")
        );
        let broken = read(client, "note://broken");
        assert!(broken["error"]["message"].as_str().is_some_and(|why| why.contains("wrong-output")), "{broken}");
        assert!(read(client, "note://nothing").get("error").is_some());
        if !client.is_modern {
            let subscribe = |client: &mut Client, uri: &str| client.ask("resources/subscribe", json!({"uri": uri}));
            assert!(subscribe(client, "note://hi").get("result").is_some());
            let long = subscribe(client, &format!("note://{}", "x".repeat(5_000)));
            assert_eq!(long["error"]["code"], -32602, "what is not watched is not promised");
        }
        assert_eq!(client.ask("tools/call", json!({"name": "note"}))["error"]["code"], -32602, "no tool");
    });
}

#[test]
fn what_a_tool_returns_is_held_to_its_promise() {
    let place = Place::with_tool(
        "point",
        "description: A point\nbash: printf '{\"x\":%s}' {X}\ntags: [read]\nreturns: {type: object, properties: {x: {type: number}}, required: [x]}\nparameters:\n  X: {type: string, description: Its x, required: true}\n",
    );
    both(&place, |client| {
        let list = client.ask("tools/list", json!({}));
        assert_eq!(list["result"]["tools"][0]["outputSchema"]["required"], json!(["x"]));
        let result = client.call("point", json!({"X": "4.5"}));
        assert_eq!(result["structuredContent"], json!({"x": 4.5}));
        let result = client.call("point", json!({"X": "true"}));
        assert_eq!(result["isError"], true);
        assert!(result["content"].to_string().contains("wrong-output"), "{result}");
    });
}

#[test]
fn a_changed_file_changes_the_list() {
    let place = Place::with_tool("greet", GREET);
    let mut client = Client::legacy(&place, &[], json!({}));
    client.ask("tools/list", json!({}));
    place.tool("extra", "description: More\nbash: echo more\ntags: [read]\n");
    client.wait(|message| message["method"] == "notifications/tools/list_changed");
    assert!(client.ask("tools/list", json!({})).to_string().contains("\"extra\""));
    assert_eq!(text(&client.call("extra", json!({}))), "more\n");

    let mut client = Client::modern(&place, &[], json!({}));
    client.ask("tools/list", json!({}));
    client.begin("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    client.wait(|message| message["method"] == "notifications/subscriptions/acknowledged");
    std::fs::remove_file(place.project().join(".cycod/tools/extra.yaml")).expect("it is there");
    client.wait(|message| message["method"] == "notifications/tools/list_changed");
    assert!(!client.ask("tools/list", json!({})).to_string().contains("\"extra\""));
}

#[test]
fn garbage_is_survived() {
    let place = Place::with_tool("greet", GREET);
    let mut client = Client::legacy(&place, &[], json!({}));
    let input = client.input.as_mut().expect("open");
    input.write_all(b"this is not JSON\n[]\n{\"jsonrpc\":\"2.0\"}\n\xff\xfe\n\n").expect("written");
    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    input.write_all(deep.as_bytes()).expect("written");
    assert_eq!(text(&client.call("greet", json!({"NAME": "x"}))), "hello x\n");
}

#[test]
fn an_output_that_cannot_be_kept_is_handed_over() {
    let place = Place::with_tool(
        "much",
        "description: Much\nbash: seq 1 {N}; echo talk >&2\ntags: [read]\nparameters:\n  N: {type: integer, description: How many, required: true}\n",
    );
    place.tool("flow", "description: Two steps\ntags: [read]\nsteps:\n  - {name: a, bash: echo first}\n");
    // Nothing can be written where outputs are kept.
    std::fs::create_dir_all(place.home().join(".cycod")).expect("a directory");
    std::fs::write(place.home().join(".cycod/outputs"), "not a directory").expect("a file");
    both(&place, |client| {
        let small = client.call("much", json!({"N": 3}));
        assert_eq!((text(&small), &small["isError"]), ("1\n2\n3\n", &json!(false)));
        assert!(small["_meta"].to_string().contains("could not be stored"), "{small}");

        let large = client.call("much", json!({"N": 200_000}));
        assert!(
            text(&large).starts_with("1\n2\n") && text(&large).contains("the rest is lost"),
            "{}",
            text(&large).len()
        );
        assert!(text(&large).len() < 40_000);

        assert!(text(&client.call("flow", json!({}))).contains("first"));
    });
}

#[test]
fn what_a_client_asks_for_is_in_the_history() {
    let place = Place::with_tool(
        "look",
        "description: L\nbash: echo \"$X\"; seq {N}\ntags: [read]\nparameters:\n  N: {type: integer, description: d, default: 1}\n  X: {type: string, description: d, sensitive: true, default: none}\n",
    );
    place.tool("clean", "description: C\nbash: echo cleaned\ntags: [write]\n");
    let list =
        || -> Value { serde_json::from_str(&place.run(&["runs", "list", "--format", "json"]).stdout()).expect("JSON") };
    let mut client = Client::modern(&place, &[], json!({}));
    client.call("look", json!({"X": "swordfish"}));
    assert_eq!(client.call("clean", json!({}))["isError"], true);
    client.call("look", json!({"N": 50_000}));
    let started = client.call("run_start", json!({"tool": "look", "arguments": {"N": 2}}));
    let id = started["structuredContent"]["run"].as_str().expect("a name").to_owned();
    client.call("run_wait", json!({"run": id}));
    let runs = list();
    let told: Vec<_> =
        runs.as_array().expect("a list").iter().rev().map(|run| [&run["tool"], &run["status"]]).collect();
    assert_eq!(told, [["look", "ok"], ["clean", "refused"], ["look", "ok"], ["look", "ok"]]);
    assert_eq!(runs[0]["id"], id.as_str(), "one name for a run");
    for run in runs.as_array().expect("a list") {
        assert_eq!((&run["surface"], &run["host"]), (&"mcp".into(), &"test 1".into()));
    }
    assert_eq!(runs[2]["refusal"]["code"], "not-approved");
    assert_eq!(runs[3]["withheld"], json!({"X": {"why": "secret"}}));
    // What was too large to hand over is kept once.
    let large = &runs[1]["outputs"]["stdout"];
    assert_eq!(large["id"], format!("{}/stdout", runs[1]["id"].as_str().expect("a name")));
    let name = runs[1]["id"].as_str().expect("a name");
    assert_eq!(place.run(&["runs", "show", name, "--output"]).stdout().lines().count(), 50_001);
    assert_eq!(std::fs::read_dir(place.home().join(".cycod/outputs")).expect("outputs").count(), 1);
    assert_eq!(client.finish(), 0);
    assert_eq!(place.run(&["runs", "verify"]).code(), 0);
}

#[test]
fn without_a_history_nothing_runs_for_a_client() {
    let place = Place::with_tool("look", "description: L\nbash: touch ran\ntags: [read]\n");
    place.write("../home/.cycod/history.db", "this is none");
    let mut client = Client::modern(&place, &[], json!({}));
    let answer = client.call("look", json!({})).to_string();
    assert!(answer.contains("history-unwritable"), "{answer}");
    assert!(!place.project().join("ran").exists());
    assert_eq!(client.finish(), 0);
}

/// A client that asks for a run, a prompt or a resource that could not be carried out gets the same code.
#[test]
fn whatever_starts_a_program_that_is_missing_has_failed() {
    let missing = "description: Start what is missing\nrun: no-such-program-anywhere\ntags: [read]\n";
    let place = Place::with_tool("gone", &format!("{missing}task: offered\n"));
    place.tool("prompting", &format!("{missing}offer: prompt\n"));
    place.tool("reading", &format!("{missing}offer: {{resource: 'note://gone'}}\n"));
    both(&place, |client| {
        let started = client.call("run_start", json!({"tool": "gone"}));
        let ended = client.call("run_wait", json!({"run": started["structuredContent"]["run"]}));
        let told = &ended["structuredContent"];
        assert_eq!((&ended["isError"], &told["status"]), (&json!(true), &json!("failed")), "{ended}");
        assert_eq!(told["refusal"]["code"], "program-missing", "{ended}");
        for error in [
            client.ask("prompts/get", json!({"name": "prompting"})),
            client.ask("resources/read", json!({"uri": "note://gone"})),
        ] {
            let error = &error["error"];
            assert_eq!(
                (&error["code"], &error["data"]["code"]),
                (&json!(-32603), &json!("program-missing")),
                "{error}"
            );
        }
    });
}

#[test]
fn a_task_whose_program_is_missing_has_failed() {
    let place = Place::with_tool(
        "gone",
        "description: Start what is missing\nrun: no-such-program-anywhere\ntags: [read]\ntask: required\n",
    );
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut client = Client::modern(&place, &[], capabilities);
    let begun = client.call("gone", json!({}));
    let id = begun["taskId"].as_str().unwrap_or_else(|| panic!("no task: {begun}")).to_owned();
    let until = Instant::now() + PATIENCE;
    let ended = loop {
        let asked = client.ask("tasks/get", json!({"taskId": id}))["result"].take();
        if asked["status"] != "working" || Instant::now() > until {
            break asked;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(ended["status"], "failed", "{ended}");
    assert_eq!(ended["error"]["data"]["code"], "program-missing", "{ended}");
}

#[test]
fn the_log_names_the_tools_that_wait_for_trust() {
    let place = Place::cloned();
    place.tool("one", "description: One\nbash: echo one\ntags: [read]\n");
    place.tool("two", "description: Two\nbash: echo two\ntags: [read]\n");
    let mut child = place
        .command(&["mcp", "serve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut input = child.stdin.take().expect("piped");
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ] {
        writeln!(input, "{message}").expect("the server reads");
    }
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    log.read_line(&mut line).expect("it writes");
    let words = "2 tools wait for your trust and are not offered until then: one, two; review and trust them: cycod trust --all";
    assert!(line.contains(words), "{line}");
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

/// Four characters are a token, and a resource link and a few notes come on top.
fn weight(answer: &Value) -> usize {
    let blocks = answer["content"].as_array().expect("blocks").iter();
    let of_blocks: usize = blocks.map(|block| block.to_string().len()).sum();
    of_blocks.max(answer["structuredContent"].to_string().len())
}

/// Prints a picture of 2100 × 2100 dots, of which none is like another, in 13 MB.
const NOISE: &str = r"
import random, struct, sys, zlib
side = 2100
random.seed(1)
rows = b''.join(b'\0' + random.randbytes(side * 3) for _ in range(side))
def part(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
head = struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0)
sys.stdout.buffer.write(b'\x89PNG\r\n\x1a\n' + part(b'IHDR', head) + part(b'IDAT', zlib.compress(rows, 0)) + part(b'IEND', b''))
";

#[test]
fn a_picture_that_is_too_large_is_shown_in_fewer_dots_and_kept_as_it_was() {
    let place = Place::with_tool("noise", "description: N\ntags: [read]\nproduces: image/png\nrun: python3 noise.py\n");
    place.write("noise.py", NOISE);
    let mut client = Client::legacy(&place, &[], json!({}));
    let answer = client.call("noise", json!({}));
    let [shown, original] = answer["content"].as_array().expect("blocks").as_slice() else { panic!("{answer}") };
    assert_eq!(shown["type"], "image");
    let data = shown["data"].as_str().expect("Base64");
    assert!((100_000..=1 << 20).contains(&data.len()), "{}", data.len());
    assert_eq!((&original["type"], &original["mimeType"]), (&json!("resource_link"), &json!("image/png")));
    let told = original["description"].as_str().expect("what it is");
    assert!(told.contains("2100 × 2100 dots in 13"), "{told}");
    let part = client.call("run_output", json!({"output": original["uri"], "offset": 0, "count": 8}));
    assert!(text(&part).starts_with("base64:iVBORw0KGgo"), "{part}");
}

#[test]
fn an_answer_keeps_to_its_budget_whatever_it_is() {
    let place = Place::with_tool(
        "rows",
        "description: R\ntags: [read]\nrun: cat rows.json\nreturns:\n  type: object\n  properties:\n    rows: {type: array, items: {type: object, properties: {n: {type: integer}}, required: [n]}}\n    log: {type: string}\n  required: [rows]\n",
    );
    place.tool("picture", "description: P\ntags: [read]\nproduces: image/png\nrun: cat picture.png\n");
    place.tool("blocks", "description: B\ntags: [read]\nproduces: content-blocks\nrun: cat blocks.json\n");
    let log: String = (1..60_000).map(|n| format!("line {n} ")).collect();
    let rows: Vec<Value> = (1..=60_000).map(|n| json!({"n": n})).collect();
    place.write("rows.json", &json!({"rows": rows, "log": log}).to_string());
    let blocks = json!([{"type": "text", "text": log}, {"type": "text", "text": "short"}]);
    place.write("blocks.json", &blocks.to_string());
    let picture = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 3_000_000]].concat();
    std::fs::write(place.project().join("picture.png"), &picture).expect("written");
    let options = ["--reply-tokens", "1000"];
    for mut client in [Client::legacy(&place, &options, json!({})), Client::modern(&place, &options, json!({}))] {
        let budget = 1_000 * 4 + 2_000;
        let rows = client.call("rows", json!({}));
        assert!(weight(&rows) < budget, "{}", weight(&rows));
        let shown = rows["structuredContent"]["rows"].as_array().expect("it keeps its shape");
        assert!(shown.len() > 10 && shown[0] == json!({"n": 1}), "{}", shown.len());
        let told = rows["content"][1]["text"].as_str().expect("what is missing");
        assert!(told.contains(&format!("`/rows` shows {} of 60000 elements", shown.len())), "{told}");
        let whole = rows["content"].as_array().expect("blocks").last().expect("one")["uri"].clone();
        let asked = client.call("run_output", json!({"output": whole, "jq": ".rows | length"}));
        assert_eq!(text(&asked).trim(), "60000");

        let picture = client.call("picture", json!({}));
        assert!(weight(&picture) < budget, "{}", weight(&picture));
        let link = &picture["content"][0];
        assert_eq!((&link["type"], &link["mimeType"]), (&json!("resource_link"), &json!("image/png")));
        let read = client.ask("resources/read", json!({"uri": link["uri"]}));
        assert_eq!(
            read["result"]["contents"][0]["blob"].as_str().expect("the original").len(),
            4 * 3_000_008_usize.div_ceil(3)
        );

        let blocks = client.call("blocks", json!({}));
        assert!(weight(&blocks) < budget, "{}", weight(&blocks));
        let texts = blocks["content"].to_string();
        assert!(texts.contains("left out") && texts.contains("short"), "{texts}");
    }
}

#[test]
fn what_a_tool_prints_cannot_mislead_a_model() {
    let place = Place::with_tool("sly", "description: S\ntags: [read]\nrun: cat sly\n");
    place.tool("sly-json", "description: S\ntags: [read]\nproduces: application/json\nrun: cat sly.json\n");
    place.write("sly", "a\u{1b}[2Jb\u{e0041}c\u{202e}d \u{1f469}\n");
    place.write("sly.json", "{\"a\": \"\u{e0041}\"}\n");
    both(&place, |client| {
        assert_eq!(text(&client.call("sly", json!({}))), "a\\u{1b}[2Jb\\u{e0041}c\\u{202e}d \u{1f469}\n");
        let answer = client.call("sly-json", json!({}));
        assert!(!text(&answer).contains('\u{e0041}'), "{answer}");
        let read: Value = serde_json::from_str(text(&answer)).expect("it is still JSON");
        assert_eq!(read, json!({"a": "\u{e0041}"}));
    });
}

#[test]
fn progress_of_another_server_keeps_its_numbers_and_its_total() {
    let place = crate::mcp_client::with_server(&["plain"]);
    let _ = place.run(&["mcp", "test", "test"]);
    let mut client = Client::legacy(&place, &["--auto-approve", "*"], json!({}));
    let id = client.begin(
        "tools/call",
        json!({"name": "mcp_test_hello", "arguments": {"name": "Ada"}, "_meta": {"progressToken": "p"}}),
    );
    let answer = client.answer(id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let told: Vec<Value> =
        client.kept.iter().filter(|one| one["method"] == "notifications/progress").cloned().collect();
    let numbers: Vec<_> = told.iter().map(|one| (&one["params"]["progress"], &one["params"]["total"])).collect();
    assert_eq!(numbers, [(&json!(1.0), &json!(2.0)), (&json!(2.0), &json!(2.0))], "{told:?}");
}

#[test]
fn progress_costs_no_pause_and_does_not_repeat_the_answer() {
    let place = Place::with_tool("quick", "description: Q\ntags: [read]\nrun: echo the answer\n");
    place.tool("slow", "description: S\ntags: [read]\nbash: for n in 1 2 3; do echo line $n; sleep 0.4; done\n");
    both(&place, |client| {
        let told = |client: &mut Client, tool: &str| {
            let id =
                client.begin("tools/call", json!({"name": tool, "arguments": {}, "_meta": {"progressToken": tool}}));
            let answer = client.answer(id);
            let is_progress = |message: &Value| message["method"] == "notifications/progress";
            let told: Vec<Value> = client.kept.iter().filter(|one| is_progress(one)).cloned().collect();
            client.kept.retain(|one| !is_progress(one));
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            told
        };
        told(client, "quick");
        let began = Instant::now();
        // On a busy machine, the end of a call may take its time.
        let repeated = (0..10).filter(|_| !told(client, "quick").is_empty()).count();
        assert!(repeated < 3, "the answer follows at once, and was told before {repeated} times");
        let plain = Instant::now();
        let with_token = plain - began;
        for _ in 0..10 {
            client.call("quick", json!({}));
        }
        let without = plain.elapsed();
        assert!(with_token < without * 2 + Duration::from_millis(300), "{with_token:?} instead of {without:?}");
        let slow = told(client, "slow");
        let messages: Vec<&str> = slow.iter().filter_map(|one| one["params"]["message"].as_str()).collect();
        assert_eq!(messages, ["line 1", "line 2", "line 3"]);
        let grows = slow.iter().filter_map(|one| one["params"]["progress"].as_f64()).collect::<Vec<_>>();
        assert!(grows.is_sorted_by(|one, next| one < next), "{grows:?}");
    });
}

#[test]
fn a_model_is_told_what_is_here_and_what_it_probably_meant() {
    let place = Place::with_tool("greet", GREET);
    let mut client = Client::modern(&place, &[], json!({}));
    let told = client.ask("server/discover", json!({}))["result"]["instructions"].take();
    let told = told.as_str().expect("instructions");
    assert!(told.contains("This server offers 1 tool of the user and the project."), "{told}");
    assert!(told.contains("approve") && told.contains("run_output"), "{told}");
    let error = client.ask("tools/call", json!({"name": "gret", "arguments": {}}))["error"].take();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32602), &json!("there is no tool `gret`; did you mean `greet`?"))
    );
    let listed = client.ask("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().expect("tools") {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
}

/// Forty tools, whose list costs more than the budget of the tests that use them.
fn many() -> Place {
    let place = Place::with_tool("greet", GREET);
    for n in 0..40 {
        let text = format!(
            "description: Water plant number {n} in the garden\ngroup: garden\nbash: echo plant {n}\ntags: [read]\nparameters:\n  LITRES: {{type: integer, description: How much, default: 1}}\n"
        );
        place.tool(&format!("water-{n}"), &text);
    }
    place.tool(
        "erase-log",
        "description: Remove the old log of the shop\ngroup: shop\nbash: echo erased\ntags: [write]\n",
    );
    place
}

fn names(client: &mut Client) -> Vec<String> {
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools").iter();
    tools.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn a_long_list_is_searched() {
    let options = ["--list-tokens", "1000"];
    for is_modern in [false, true] {
        // What was called before would be listed.
        let place = many();
        let open = if is_modern { Client::modern } else { Client::legacy };
        let mut client = open(&place, &options, json!({}));
        let listed = client.ask("tools/list", json!({}));
        let search = listed["result"]["tools"].as_array().expect("tools").iter();
        let search = search.clone().find(|tool| tool["name"] == "tools_search").expect("it is listed");
        let told = search["description"].as_str().expect("text");
        assert!(told.contains("42 tools are not listed: custom (1), garden (40), shop (1)"), "{told}");
        let before = names(&mut client);
        assert!(before.iter().all(|name| !name.starts_with("water")), "{before:?}");
        // The words of the question are not those of the tool.
        let found = client.call("tools_search", json!({"query": "delete the logs of the store", "limit": 3}));
        let first = &found["structuredContent"]["tools"][0];
        assert_eq!((&first["name"], &first["inputSchema"]["type"]), (&json!("erase-log"), &json!("object")), "{found}");
        if is_modern {
            assert_eq!(names(&mut client), before);
        } else {
            client.wait(|message| message["method"] == "notifications/tools/list_changed");
            assert!(names(&mut client).contains(&"erase-log".to_owned()));
        }
        // By its name, whether it is listed or not, and by the tool for hosts that only call what is listed.
        assert_eq!(text(&client.call("water-7", json!({}))), "plant 7\n");
        let call = json!({"tool": "greet", "arguments": {"NAME": "you"}});
        assert_eq!(text(&client.call("tools_call", call)), "hello you\n");
        // What needs approval by its name needs it this way, too.
        let refused = client.call("tools_call", json!({"tool": "erase-log"}));
        assert!(text(&refused).contains("\"code\":\"not-approved\""), "{refused}");
        for (arguments, code) in [
            (json!({"tool": "tools_call", "arguments": {"tool": "greet"}}), None),
            (json!({"tool": "nothing"}), None),
            (json!({}), Some("invalid-argument")),
            (json!({"tool": "greet", "arguments": {}}), Some("missing-argument")),
        ] {
            let answer = client.ask("tools/call", json!({"name": "tools_call", "arguments": arguments}));
            match code {
                None => assert_eq!(answer["error"]["code"], -32602, "{answer}"),
                Some(code) => {
                    assert!(text(&answer["result"]).contains(&format!("\"code\":\"{code}\"")), "{answer}");
                }
            }
        }
        for wrong in [json!({}), json!({"query": " "}), json!({"query": "x", "limit": 0}), json!({"query": 1})] {
            assert_eq!(client.call("tools_search", wrong.clone())["isError"], true, "{wrong}");
        }
        let nothing = client.call("tools_search", json!({"query": "zzzz"}));
        assert_eq!(nothing["structuredContent"]["tools"], json!([]), "{nothing}");
        let used = names(&mut Client::modern(&place, &options, json!({})));
        assert!(used.contains(&"greet".to_owned()), "{used:?}");
    }
}

/// What people write: a sentence about the tool, and one about each of its parameters.
#[cfg(feature = "exact-tokens")]
#[test]
fn what_500_tools_cost_a_model() {
    let place = Place::new();
    for n in 0..500 {
        let text = format!(
            "description: Restart service {n} of the shop and wait until it answers again\nbash: echo \"shop-{n} in {{ZONE}}, {{WAIT}} s\"\ntags: [write]\nparameters:\n  ZONE: {{description: The zone in which it runs, enum: [north, south]}}\n  WAIT: {{type: integer, description: How many seconds to wait at most, default: 30}}\n"
        );
        place.tool(&format!("restart-{n}"), &text);
    }
    let tokens = cycod_tokens::Counter::exact().expect("this build has the vocabulary");
    let cost = |options: &[&str]| {
        let mut client = Client::modern(&place, options, json!({}));
        let listed = client.ask("tools/list", json!({}))["result"]["tools"].take();
        let tools = listed.as_array().expect("tools").len();
        (tools, tokens.count(&listed.to_string()))
    };
    let (tools, plain) = cost(&["--list-tokens", "1000000"]);
    assert!(tools >= 500 && plain <= 90 * tools, "{tools} tools cost {plain} tokens");
    let (tools, searched) = cost(&["--list-tokens", "1000"]);
    assert!(tools < 20 && searched <= 1500, "{tools} tools cost {searched} tokens");
}

#[test]
fn a_list_within_the_budget_is_whole_and_so_is_one_for_who_searches_it() {
    let place = many();
    let all = names(&mut Client::modern(&place, &[], json!({})));
    assert!(all.len() >= 42 && !all.contains(&"tools_search".to_owned()), "{all:?}");
    let mut client = Client::modern(&place, &["--list-tokens", "1000"], json!({}));
    client.name = "claude-code";
    assert_eq!(names(&mut client), all);
    // A tool of the user's comes before ours of the same name.
    place.tool("tools_search", "description: Mine\nrun: echo mine\ntags: [read]\n");
    let mut client = Client::modern(&place, &["--list-tokens", "1000"], json!({}));
    assert_eq!(text(&client.call("tools_search", json!({}))), "mine\n");
}

/// What a client of this name is offered, in both eras.
fn offered_to(place: &Place, arguments: &[&str], name: &'static str) -> Vec<String> {
    let mut modern = Client::modern(place, arguments, json!({}));
    modern.name = name;
    let offered = names(&mut modern);
    let mut legacy = Client::modern(place, arguments, json!({})).greeted(name);
    assert_eq!(names(&mut legacy), offered);
    offered
}

#[test]
fn a_profile_narrows_what_a_client_is_offered() {
    let place = Place::with_tool("greet", GREET);
    place.tool("wipe", "description: Wipes\nbash: echo gone\ntags: [write, disk]\ngroup: files\n");
    place.tool("long", "description: Long\nbash: seq 1 5000\ntags: [read]\n");
    let config = "profiles:\n  reader: {clients: [\"Claude*\", other], level: read, replyTokens: 100}\n  greeting: {tools: [\"gr*\", bash_execution]}\n  none: {tools: []}\n";
    std::fs::create_dir_all(place.home().join(".cycod")).unwrap();
    std::fs::write(place.home().join(".cycod/config.yaml"), config).unwrap();
    assert_eq!(offered_to(&place, &[], "test"), ["greet", "long", "run_output", "wipe"]);
    assert_eq!(offered_to(&place, &[], "claude-code"), ["greet", "long", "run_output"]);
    assert_eq!(offered_to(&place, &["--profile", "Greeting"], "test"), ["greet", "run_output"]);
    assert_eq!(offered_to(&place, &["--profile", "none"], "test"), ["run_output"]);
    // What is chosen otherwise is narrowed, and what a profile names is not added.
    assert_eq!(offered_to(&place, &["--profile", "greeting", "--level", "read"], "other"), ["greet", "run_output"]);
    assert_eq!(offered_to(&place, &["--tools", "wipe,long"], "other"), ["long", "run_output"]);
    assert!(offered_to(&place, &["--profile", "greeting", "--built-in"], "x").contains(&"bash_execution".to_owned()));
    // A project can take away, and never give.
    place.write(".cycod/config.yaml", "profiles:\n  reader: {level: run, tools: [long, wipe], replyTokens: 9000}\n");
    assert_eq!(offered_to(&place, &[], "claude-code"), ["long", "run_output"]);

    // What is not offered is not called either, and less of an output is handed over.
    let mut client = Client::modern(&place, &[], json!({})).greeted("claude-code");
    let refused = client.ask("tools/call", json!({"name": "greet", "arguments": {"NAME": "x"}}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let cut = client.call("long", json!({}));
    assert!(weight(&cut) < 1_000, "{}", weight(&cut));
    let mut all = Client::legacy(&place, &[], json!({}));
    assert!(weight(&all.call("long", json!({}))) > 5_000);
    assert_eq!(all.call("greet", json!({"NAME": "x"}))["isError"], false);

    // A client hears of a profile that changes, and gets no other one that is gone.
    std::fs::write(
        place.home().join(".cycod/config.yaml"),
        "profiles:\n  reader: {clients: [\"claude*\"], tools: [wipe]}\n",
    )
    .unwrap();
    client.wait(|message| message["method"] == "notifications/tools/list_changed");
    assert_eq!(names(&mut client), ["run_output", "wipe"]);

    let ran = place.run(&["mcp", "serve", "--profile", "raeder"]);
    assert_eq!(ran.code(), 2, "{}", ran.block());
    assert!(ran.stderr().contains("--profile raeder: the settings have no profile of this name"), "{}", ran.stderr());
    assert!(ran.stderr().contains("did you mean `reader`?"), "{}", ran.stderr());
    // Only a token gets a profile that names subjects.
    std::fs::write(place.home().join(".cycod/config.yaml"), "profiles:\n  reader: {}\n  ada: {subjects: [ada]}\n")
        .unwrap();
    for command in [&["mcp", "serve"][..], &["mcp", "install", "cursor", "--print"]] {
        let ran = place.run(&[command, &["--profile", "ada"]].concat());
        assert_eq!(ran.code(), 2, "{}", ran.block());
        assert!(
            ran.stderr().contains("--profile ada: this profile has `subjects`, so only a token chooses it"),
            "{}",
            ran.block()
        );
    }
    assert_eq!(offered_to(&place, &["--profile", "reader"], "x"), ["long", "run_output", "wipe"]);
    let ran = place.run(&["mcp", "install", "cursor", "--print", "--profile", "reader"]);
    assert!(ran.stdout().contains("\"--profile\"") && ran.stdout().contains("\"reader\""), "{}", ran.block());
}

#[test]
fn a_profile_chooses_the_servers_whose_tools_are_offered() {
    let place = crate::mcp_client::counting(&json!({"overrides": {"count": {"name": "tally"}}}));
    place.tool("greet", GREET);
    std::fs::write(
        place.home().join(".cycod/config.yaml"),
        "profiles:\n  with: {servers: [TEST], tools: [greet, \"*_tally\"]}\n  without: {servers: []}\n",
    )
    .unwrap();
    assert_eq!(offered_to(&place, &["--profile", "with"], "x"), ["greet", "mcp_test_tally", "run_output"]);
    assert_eq!(offered_to(&place, &["--profile", "without"], "x"), ["greet", "run_output"]);
}

#[test]
fn what_is_fixed_is_not_in_the_schema_of_a_client() {
    let place = crate::mcp_client::counting(&json!({
        "levels": {"count": "read"},
        "overrides": {"count": {"fixed-arguments": {"name": "x"}, "default-arguments": {"limit": 7}, "output-tokens": 100, "cache": 60_000}},
    }));
    both(&place, |client| {
        let list = client.ask("tools/list", json!({}));
        let tools = list["result"]["tools"].as_array().expect("a list");
        let count = tools.iter().find(|tool| tool["name"] == "mcp_test_count").expect("it is offered");
        assert_eq!(count["inputSchema"]["properties"], json!({"limit": {"type": "integer", "default": 7}}));
        let once = client.call("mcp_test_count", json!({}));
        assert_eq!(text(&once), r#"1 {"limit": 7, "name": "x"}"#);
        assert_eq!(client.call("mcp_test_count", json!({"limit": 7})), once);
        let refused = client.call("mcp_test_count", json!({"name": "y"}));
        assert_eq!(refused["isError"], true);
        assert!(text(&refused).contains("is fixed in `mcp.json`, so no caller gives it"), "{refused}");
    });
}

/// A client that works in a directory, of a server that was started elsewhere.
fn working_in(place: &Place, started_in: &Path, arguments: &[&str], roots: &[String]) -> Client {
    let mut command = place.command(&[&["mcp", "serve"], arguments].concat());
    command.current_dir(started_in);
    let mut client = Client::of(command, json!({"roots": {"listChanged": true}})).greeted("test");
    client.roots_are(roots);
    client
}

impl Client {
    /// Answers which roots it has.
    fn roots_are(&mut self, roots: &[String]) {
        let asked = self.wait(|message| message["method"] == "roots/list");
        let roots: Vec<Value> = roots.iter().map(|uri| json!({"uri": uri, "name": "root"})).collect();
        self.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}}));
    }
}

#[test]
fn a_server_outside_any_project_works_where_its_client_does() {
    let place = Place::with_tool("greet", GREET);
    place.tool("where", "description: Where\nbash: pwd\ntags: [read]\n");
    let elsewhere = place.home().join("elsewhere");
    let other = place.home().join("other place");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::create_dir_all(other.join(".cycod")).unwrap();
    let project = place.project().canonicalize().unwrap();
    let root = format!("file://{}", project.display());
    let roots = ["https://a.example/".to_owned(), format!("{root}/none"), root];

    let mut client = working_in(&place, &elsewhere, &[], &roots);
    // The first list waits for the roots.
    assert_eq!(names(&mut client), ["greet", "run_output", "where"]);
    assert_eq!(text(&client.call("where", json!({}))).trim_end(), project.display().to_string());
    // It goes along, and watches what is there.
    place.tool("third", "description: Third\nbash: echo 3\ntags: [read]\n");
    let changed = |message: &Value| message["method"] == "notifications/tools/list_changed";
    while !names(&mut client).contains(&"third".to_owned()) {
        client.wait(changed);
    }
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    client.roots_are(&[format!("file://{}", other.display()).replace(' ', "%20")]);
    while names(&mut client) != ["run_output"] {
        client.wait(changed);
    }

    // A directory that was named, or a project, is not left; and a client without roots is not asked.
    let mut named = Client::of(
        {
            let mut command = place.command(&["mcp", "serve", "--directory", &other.to_string_lossy()]);
            command.current_dir(&elsewhere);
            command
        },
        json!({"roots": {}}),
    )
    .greeted("test");
    assert_eq!(names(&mut named), ["run_output"]);
    let mut inside = Client::modern(&place, &[], json!({"roots": {}})).greeted("test");
    assert_eq!(names(&mut inside), ["greet", "run_output", "third", "where"]);
    assert!(named.kept.is_empty() && inside.kept.is_empty(), "{:?} {:?}", named.kept, inside.kept);
}

#[test]
fn a_client_that_never_tells_its_roots_is_served_nevertheless() {
    let place = Place::with_tool("greet", GREET);
    let elsewhere = place.home().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let mut command = place.command(&["mcp", "serve"]);
    command.current_dir(&elsewhere);
    let mut client = Client::of(command, json!({"roots": {}})).greeted("test");
    assert_eq!(names(&mut client), ["run_output"]);
}

/// The skills of a project are text that a model follows, so they wait for trust.
#[test]
fn skills_are_offered_once_they_are_trusted() {
    let place = Place::cloned();
    place.write(".cycod/tools/hello.yaml", "description: x\nbash: echo\ntags: [read]\n");
    place.write(".cycod/skills/notes/SKILL.md", "---\nname: notes\ndescription: How\n---\nDo it\u{202e}.\n");
    place.write(".cycod/skills/notes/more.txt", "more\n");
    let listed = |place: &Place| {
        let mut client = Client::modern(place, &[], json!({}));
        let answer = client.ask("skills/list", json!({}));
        answer["result"]["skills"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    };
    assert_eq!(listed(&place), Vec::<Value>::new());
    let trusted = place.run(&["trust", "--all", "--yes"]);
    let said = trusted.stderr();
    assert!(said.contains("| Do it\\u{202e}.") && said.contains("Trusted the skill `notes`"), "{}", trusted.block());
    let skills = listed(&place);
    assert_eq!((skills.len(), &skills[0]["uri"]), (1, &json!("skill://notes/SKILL.md")));
    let mut client = Client::modern(&place, &[], json!({}));
    let below = client.ask("resources/directory/read", json!({"uri": "skill://notes"}));
    assert_eq!(
        below["result"]["resources"],
        json!([
            {"uri": "skill://notes/SKILL.md", "name": "SKILL.md", "mimeType": "text/markdown", "size": 47},
            {"uri": "skill://notes/more.txt", "name": "more.txt", "size": 5},
        ]),
        "{below}"
    );
    drop(client);
    // Any file of it counts.
    place.write(".cycod/skills/notes/more.txt", "other\n");
    assert_eq!(listed(&place), Vec::<Value>::new());
    place.write(".cycod/skills/notes/more.txt", "more\n");
    assert_eq!(listed(&place).len(), 1);
    assert!(place.run(&["tool", "untrust", "--all"]).stderr().contains("notes"));
    assert_eq!(listed(&place), Vec::<Value>::new());
}

/// What is no skill, or could lead out of one, is not offered, and the reason is told.
#[cfg(unix)]
#[test]
fn a_skill_that_is_wrong_is_not_offered() {
    let place = Place::new();
    let head = |name: &str| format!("---\nname: {name}\ndescription: How\n---\n");
    for (path, text) in [
        ("other/SKILL.md", head("another")),
        ("Upper/SKILL.md", head("Upper")),
        ("bare/SKILL.md", "no front matter\n".to_owned()),
        ("half/SKILL.md", "---\nname: half\n---\n".to_owned()),
        ("leak/SKILL.md", head("leak")),
        ("keys/SKILL.md", head("keys")),
        ("keys/id_ed25519", "secret\n".to_owned()),
        ("many/SKILL.md", head("many")),
        ("good/SKILL.md", head("good")),
    ] {
        place.write(&format!(".cycod/skills/{path}"), &text);
    }
    for n in 0..512 {
        place.write(&format!(".cycod/skills/many/{n}.txt"), "x");
    }
    let linked = place.shell("ln -s /etc/passwd .cycod/skills/leak/p; ln -s .. .cycod/skills/good/.up");
    assert_eq!(linked.code(), 0, "{}", linked.block());
    let mut client = Client::modern(&place, &[], json!({}));
    let skills = client.ask("skills/list", json!({}));
    let uris: Vec<&Value> =
        skills["result"]["skills"].as_array().expect("a list").iter().map(|one| &one["uri"]).collect();
    assert_eq!(uris, ["skill://good/SKILL.md"]);
    for uri in ["skill://leak/p", "skill://keys/id_ed25519", "skill://good/.up/leak/SKILL.md", "skill://good/../../x"] {
        let read = client.ask("resources/read", json!({"uri": uri}));
        assert_eq!(read["error"]["code"], -32602, "{uri}: {read}");
    }
}
