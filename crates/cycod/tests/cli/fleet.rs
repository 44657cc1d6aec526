//! Tools on workers, with real processes: a hub, workers, and members who run tools on them.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use cycod_hub::{Hub, HubStore as _, SqliteStore};
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use scripted_provider::{Script, ScriptedProvider, Turn};
use serde_json::{Value, json};

use crate::{
    serve::Client,
    support::{Place, Ran, until},
    team_hub::{done, fails, hub, key},
    ui::Page,
};

/// A member of a team with a hub, in a project with tools.
pub(crate) struct Team {
    pub(crate) ada: Place,
    pub(crate) hub: Hub,
    pub(crate) address: String,
}

/// A worker that runs until this is dropped.
pub(crate) struct Worker {
    pub(crate) place: Place,
    pub(crate) child: Child,
}

impl Team {
    pub(crate) fn new() -> Self {
        let [ada, ben] = [(); 2].map(|()| Place::new());
        key(&ada, "ada");
        key(&ben, "ben");
        let (hub, address, root) = hub(&ada, &[(&ada, "ada", true), (&ben, "ben", false)]);
        _ = done(&ada, &["team", "join", &address, "--yes", "--root", &root, "--key", "ada"]);
        Self { ada, hub, address }
    }

    /// One whose project has no files but its tools.
    pub(crate) fn without_files() -> Self {
        let team = Self::new();
        for entry in fs::read_dir(team.ada.project()).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("it can be removed");
        }
        team
    }

    pub(crate) fn worker(&self, name: &str, more: &[&str]) -> Worker {
        self.worker_with(name, more, |_| {})
    }

    /// The key of Ada's device.
    pub(crate) fn device(&self) -> String {
        let shown = done(&self.ada, &["team", "show", "--format", "json"]).stdout();
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        shown["teams"][0]["device"].as_str().expect("a key").to_owned()
    }

    /// A worker whose own rules ask about a tool, and that takes the approval of this device.
    pub(crate) fn asking_worker(&self, name: &str, tool: &str, approver: &str) -> Worker {
        self.worker_with(name, &[], |place| {
            _ = done(place, &["policy", "add", "ask", tool, "--user"]);
            let listed = done(place, &["worker", "approvers", "--add", &format!("ada={approver}")]);
            assert!(listed.stdout().contains(approver), "{}", listed.block());
        })
    }

    /// The ID of the one request that waits to be approved.
    pub(crate) fn asked(&self) -> String {
        let mut id = String::new();
        until("a worker asks", || {
            let listed = done(&self.ada, &["approvals", "list", "--format", "json"]).stdout();
            let listed: Value = serde_json::from_str(&listed).expect("JSON");
            listed[0]["id"].as_str().unwrap_or_default().clone_into(&mut id);
            !id.is_empty()
        });
        id
    }

    /// A worker with another search path.
    fn worker_on(&self, name: &str, more: &[&str], path: &str) -> Worker {
        self.started(name, more, |_| {}, Some(path))
    }

    fn worker_with(&self, name: &str, more: &[&str], prepare: impl FnOnce(&Place)) -> Worker {
        self.started(name, more, prepare, None)
    }

    fn started(&self, name: &str, more: &[&str], prepare: impl FnOnce(&Place), path: Option<&str>) -> Worker {
        let place = Place::cloned();
        let token = self.hub.worker_token(name, 1, Timestamp::now()).expect("a token");
        let joined = done(&place, &["worker", "join", &self.address, "--token", &token]);
        assert!(joined.stderr().contains(&format!("is the worker {name} of acme")), "{}", joined.block());
        prepare(&place);
        let words: Vec<&str> = ["worker"].iter().chain(more).copied().collect();
        let mut command = place.command(&words);
        path.map(|path| command.env("PATH", path));
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        _ = said.read_line(&mut line).expect("a line");
        assert!(line.contains("takes tasks"), "{line}");
        // What it says later must not block it.
        drop(cycod_thread::Thread::named("said").detach(move || drop(said.read_to_end(&mut Vec::new()))));
        self.until_here(name);
        Worker { place, child }
    }

    fn until_here(&self, name: &str) {
        until("the worker asks for tasks", || {
            let workers = self.hub.workers(Timestamp::now()).expect("a database");
            workers.iter().any(|(worker, _, is_here)| worker == name && *is_here)
        });
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        let words: Vec<&str> = ["run"].iter().chain(words).chain(&["--on", "fleet"]).copied().collect();
        self.ada.run(&words)
    }

    /// Begins a run, and waits until it has written a line; returns the rest with how to read on.
    pub(crate) fn begin(&self, words: &[&str], line: &str) -> (Child, BufReader<std::process::ChildStdout>) {
        let words: Vec<&str> = ["run"].iter().chain(words).chain(&["--on", "fleet"]).copied().collect();
        let mut child =
            self.ada.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut read = String::new();
        _ = out.read_line(&mut read).expect("a line");
        assert_eq!(read.trim_end(), line);
        (child, out)
    }

    /// The journals of all runs so far, by file.
    fn journals(&self) -> BTreeMap<String, Vec<Value>> {
        let mut journals = BTreeMap::new();
        for entry in fs::read_dir(self.ada.home().join(".cycod/journals")).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".jsonl") {
                let text = fs::read_to_string(entry.path()).expect("a journal");
                journals.insert(name, text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect());
            }
        }
        journals
    }

    /// The lines that the run in `work` adds to the journals, without times, digests and identifiers.
    pub(crate) fn lines_of(&self, work: impl FnOnce()) -> Vec<Value> {
        let before = self.journals();
        work();
        let mut new = self.journals();
        new.retain(|name, _| !before.contains_key(name));
        let (_, mut lines) = new.pop_first().expect("a journal");
        for line in lines.iter_mut().filter_map(Value::as_object_mut) {
            line.retain(|name, _| !matches!(name.as_str(), "t" | "us" | "sha256" | "run" | "at"));
        }
        lines
    }
}

impl Worker {
    /// Keeps it from asking for more; it is still known.
    pub(crate) fn pause(&self) {
        signal(&self.child, Signal::STOP);
        // What it asked for before is over by then.
        std::thread::sleep(Duration::from_millis(1500));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
    kill_process(process, signal).expect("a signal");
}

/// Whether a process runs.
pub(crate) fn alive(pid: &str) -> bool {
    fs::metadata(format!("/proc/{}", pid.trim())).is_ok()
}

const GREET: &str = "description: Greet\nbash: echo \"Hello, {WHO}\"; echo aside >&2; pwd\ntags: [read]\n\
                     parameters:\n  WHO: {type: string, description: Whom}\n";

#[test]
fn a_tool_runs_on_a_worker_as_it_does_here() {
    let team = Team::new();
    team.ada.tool("greet", GREET);
    // Without a worker, the answer comes at once.
    let began = Instant::now();
    let none = team.run(&["greet", "WHO=x"]);
    assert!(none.code() == 1 && none.stderr().contains("error[no-worker]"), "{}", none.block());
    assert!(began.elapsed() < Duration::from_secs(10));
    let worker = team.worker("build-1", &["--label", "fast"]);
    fails(&team.run(&["greet", "WHO=x", "--label", "gpu"]), "no worker offers `gpu`: the nearest is `build-1`");

    let ran = team.run(&["greet", "WHO=$(reboot) 'ü'", "--label", "fast"]);
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(ran.stdout().starts_with("Hello, $(reboot) 'ü'\n"), "{}", ran.block());
    assert!(!ran.stdout().contains("[PLACE]"), "it ran elsewhere: {}", ran.block());
    assert!(ran.stderr().contains("aside"), "{}", ran.block());
    // What it unpacked is gone.
    let left = fs::read_dir(worker.place.path("tmp")).expect("a directory").count();
    assert_eq!(left, 0);

    // The history is that of a run here.
    team.ada.tool("steps", "description: Steps\ntags: [read]\nsteps:\n- name: one\n  bash: echo 1\n- name: two\n  bash: echo {one.output}2; exit 3\n");
    let (mut there, mut here) = (None, None);
    let lines_there = team.lines_of(|| there = Some(team.run(&["steps"])));
    let lines_here = team.lines_of(|| here = Some(team.ada.run(&["run", "steps"])));
    let (there, here) = (there.expect("it ran"), here.expect("it ran"));
    assert_eq!((there.code(), there.stdout()), (here.code(), here.stdout()), "{}", there.block());
    assert_eq!(here.code(), 3);
    assert_eq!(lines_there, lines_here);
    assert!(lines_here.iter().filter(|line| line["e"] == "end").count() == 2, "{lines_here:?}");
    // The worker remembers for whom.
    let worker_runs = done(&worker.place, &["runs", "list", "--all", "--format", "json"]).stdout();
    assert!(worker_runs.contains("ada@acme"), "{worker_runs}");
}

/// A tool that says where it runs, and where it ran.
const THERE: &str = "description: Say where\non: fleet\nruns-on: [fast]\nbash: echo \"Hello, {WHO}\"; pwd\ntags: [read]\n\
                     parameters:\n  WHO: {type: string, description: Whom, required: true}\n";

#[test]
fn the_example_runs_on_a_worker() {
    let team = Team::new();
    for name in ["worker-facts", "machine-facts"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).with_extension("yaml");
        team.ada.tool(name, &fs::read_to_string(file).expect("an example"));
    }
    fails(&team.ada.run(&["run", "worker-facts"]), "error[no-worker]");
    let worker = team.worker("build-1", &[]);
    let facts: Value = serde_json::from_str(&done(&team.ada, &["run", "worker-facts"]).stdout()).expect("JSON");
    assert_eq!(facts["system"], "Linux");
    let there = done(&worker.place, &["runs", "list", "--all", "--format", "json"]).stdout();
    assert!(there.contains("worker-facts"), "{there}");
}

/// A tool that waits on a worker, after it has said which process it is.
const STAYS: &str =
    "description: Stay\non: fleet\nbash: echo one; sleep 0.5; echo $$; sleep 600\ntimeout: 700000\ntags: [read]\n";

#[track_caller]
fn invalid(place: &Place, tool: &str, says: &str) {
    let ran = place.run(&["validate", tool]);
    assert!(ran.code() == 1 && ran.stdout().contains(says), "{}", ran.block());
}

#[test]
fn a_file_says_where_its_tool_runs() {
    let team = Team::new();
    team.ada.tool("where", THERE);
    let run = |words: &[&str]| team.ada.run(&[&["run", "where", "WHO=$(x) 'ü'"], words].concat());
    let is_elsewhere = |ran: &Ran| {
        assert_eq!(ran.code(), 0, "{}", ran.block());
        assert!(ran.stdout().starts_with("Hello, $(x) 'ü'\n"), "{}", ran.block());
        !ran.stdout().contains("[PLACE]/project")
    };
    // The labels of the file count, and the answer comes at once.
    let slow = team.worker("slow-1", &[]);
    let began = Instant::now();
    fails(&run(&[]), "no worker offers `fast`: the nearest is `slow-1`");
    assert!(began.elapsed() < Duration::from_secs(10));
    drop(slow);
    let _worker = team.worker("fast-1", &["--label", "fast", "--label", "gpu"]);
    assert!(is_elsewhere(&run(&[])));
    assert!(is_elsewhere(&run(&["--on", "fleet", "--label", "gpu"])));
    assert!(is_elsewhere(&run(&["--label", "gpu"])));
    fails(&run(&["--label", "tpu"]), "no worker offers `tpu`");
    fails(&run(&["--label", "no label"]), "`no label` can't be a label");
    assert!(!is_elsewhere(&run(&["--on", "here"])));
    fails(&run(&["--on", "here", "--label", "gpu"]), "`--label` is for a run on the fleet");
    assert!(is_elsewhere(&team.ada.run(&["tool", "run", "where", "WHO=$(x) 'ü'"])));
    // What would happen says so, and what the tool is.
    let on = "a worker of your team's hub that offers `fast`";
    assert!(run(&["--dry-run"]).stdout().contains(&format!("on {on}\n")), "{}", run(&["--dry-run"]).block());
    assert!(!run(&["--dry-run", "--on", "here"]).stdout().contains("on a worker"));
    let plan: Value = serde_json::from_str(&run(&["--dry-run", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!((&plan["on"], &plan["runs_on"]), (&"fleet".into(), &vec!["fast"].into()));
    assert!(done(&team.ada, &["info", "where"]).stdout().contains(on));
    let info: Value =
        serde_json::from_str(&done(&team.ada, &["info", "where", "--format", "json"]).stdout()).expect("JSON");
    assert_eq!((&info["on"], &info["runs_on"]), (&"fleet".into(), &vec!["fast"].into()));
    // Tests of a tool run where the user is.
    team.ada.tool(
        "tested",
        &format!("{THERE}tests: [{{name: t, parameters: {{WHO: x}}, expected: {{output-contains: [project]}}}}]\n"),
    );
    _ = done(&team.ada, &["test", "tested"]);

    // A run is on one side as a whole.
    let outer = "description: Use it\ntags: [read]\nsteps: [{name: a, use-tool: where, with: {WHO: x}}, {name: b, bash: 'pwd; echo {a.output}'}]\n";
    team.ada.tool("outer", outer);
    fails(&team.ada.run(&["run", "outer"]), "`where` runs on the fleet, and `outer`, which uses it, does not");
    invalid(&team.ada, "outer", "`where` runs on the fleet, and `outer`, which uses it, does not");
    assert!(done(&team.ada, &["run", "outer", "--on", "here"]).stdout().contains("[PLACE]/project"));
    team.ada.tool("outer", &format!("on: fleet\n{outer}"));
    let ran = done(&team.ada, &["run", "outer"]);
    assert!(ran.stdout().contains("Hello, x") && !ran.stdout().contains("[PLACE]/project"), "{}", ran.block());
    team.ada.tool("again", "description: Under another name\ntype: alias\nbase-tool: where\n");
    assert!(!done(&team.ada, &["run", "again", "WHO=x"]).stdout().contains("[PLACE]/project"));
}

#[test]
fn where_a_tool_runs_is_part_of_what_its_user_trusts() {
    let place = Place::cloned();
    let tool = "description: t\nbash: echo t\ntags: [read]\n";
    place.tool("t", &format!("{tool}on: here\nruns-on: [gpu]\n"));
    _ = done(&place, &["tool", "trust", "t", "--yes"]);
    assert_eq!(place.run(&["run", "t"]).code(), 0);
    let changed = ["on: fleet\nruns-on: [gpu]\n", "on: here\nruns-on: [tpu]\n"];
    for changed in changed.into_iter().chain(["on: here\nruns-on: [gpu]\nworkspace: snapshot\n"]) {
        place.tool("t", &format!("{tool}{changed}"));
        let ran = place.run(&["run", "t", "--on", "here"]);
        assert!(ran.code() == 3 && ran.stderr().contains("error[tool-changed]"), "{changed}: {}", ran.block());
    }
}

#[test]
fn a_user_without_a_hub_learns_how_to_get_one() {
    let place = Place::with_tool("where", THERE);
    let ran = place.run(&["run", "where", "WHO=x"]);
    fails(&ran, "error[no-hub]: `where` is to run on a worker, and you have joined no team");
    assert!(ran.stderr().contains("cycod team join HUB") && ran.stderr().contains("cycod run where --on here"));
    assert!(ran.stdout().is_empty(), "{}", ran.block());
    assert_eq!(place.run(&["run", "where", "WHO=x", "--on", "here"]).code(), 0);
    // Its paths mean files of a worker, so it can't run here.
    place.tool("shared", "description: d\non: fleet\nworkspace: {shared: data}\nbash: pwd\ntags: [read]\n");
    let ran = place.run(&["run", "shared"]);
    fails(&ran, "error[no-hub]: `shared` is to run on a worker, and you have joined no team");
    assert!(ran.stderr().contains("cycod team join HUB") && !ran.stderr().contains("--on here"), "{}", ran.block());
    place.tool("keeps", "description: d\non: fleet\nbash: touch a\nartifacts: [a]\ntags: [write]\n");
    invalid(&place, "keeps", "`artifacts` isn't possible with `on: fleet`");
    place.tool("label", "description: d\non: fleet\nruns-on: [gpu, 'a b']\nbash: pwd\ntags: [read]\n");
    invalid(&place, "label", "`a b` can't be the label of a worker");
}

#[test]
fn a_host_gets_progress_from_a_worker_and_ends_what_it_cancels() {
    let team = Team::new();
    team.ada.tool("where", THERE);
    team.ada.tool("stays", STAYS);
    let _workers = [team.worker("fast-1", &["--label", "fast"]), team.worker("other-1", &[])];
    let both = [Client::modern(&team.ada, &[], json!({})), Client::legacy(&team.ada, &[], json!({}))];
    for mut client in both {
        let answer = client.call("where", json!({"WHO": "$(x)"}));
        let text = answer["content"][0]["text"].as_str().expect("a text").to_owned();
        assert!(text.starts_with("Hello, $(x)\n") && !text.contains("/project"), "{answer}");
        let id = client.begin("tools/call", json!({"name": "stays", "arguments": {}, "_meta": {"progressToken": "p"}}));
        let progress = |client: &mut Client| {
            let told = client.wait(|message| message["params"]["progressToken"] == "p");
            told["params"]["message"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(progress(&mut client), "one");
        let pid = progress(&mut client);
        assert!(alive(&pid), "it runs: {pid}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
        until("the process on the worker ends", || !alive(&pid));
        assert!(client.ask("tools/list", json!({})).get("result").is_some(), "the server goes on");
    }
}

#[test]
fn a_model_runs_a_tool_on_a_worker() {
    let team = Team::new();
    team.ada.tool("where", THERE);
    let turns = || vec![Turn::calls([("where", json!({"WHO": "model"}))]), Turn::text("done")];
    let agent = || {
        let provider = ScriptedProvider::start(Script::of(turns()));
        let mut command =
            team.ada.command(&["agent", "Say", "--tools", "where", "--model", "openai/script-1", "--format", "json"]);
        command.env("OPENAI_API_KEY", "sk-of-the-test").env("OPENAI_BASE_URL", provider.url("openai"));
        let ran = team.ada.ran(command.output().expect("the program starts"));
        (ran, provider.asked().last().expect("a request").results.concat())
    };
    let (_, told) = agent();
    assert!(told.contains("no-worker"), "{told}");
    let _worker = team.worker("fast-1", &["--label", "fast"]);
    let (ran, told) = agent();
    assert_eq!(ran.code(), 0, "{}", ran.block());
    assert!(told.contains("Hello, model") && !told.contains("/project"), "{told}");
}

#[test]
fn the_page_runs_a_tool_on_a_worker() {
    let team = Team::new();
    team.ada.tool("where", THERE);
    let mark = team.ada.path("mark");
    let stays = format!("echo $$ > '{}'; sleep 600", mark.display());
    team.ada.tool("stays", &STAYS.replace("echo one; sleep 0.5; echo $$; sleep 600", &stays));
    let _workers = [team.worker("fast-1", &["--label", "fast"]), team.worker("other-1", &[])];
    let page = Page::open(&team.ada, &[]);
    let begin = |tool: &str, body: &str| {
        let started = page.post(&format!("/tool/{tool}/run"), body);
        let path = started.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("an address");
        path.trim_start_matches("/run/").to_owned()
    };
    let id = begin("where", "arg.WHO=page&run=1");
    let said = done(&team.ada, &["runs", "wait", &id]);
    assert!(said.stdout().contains("Hello, page") && !said.stdout().contains("[PLACE]/project"), "{}", said.block());
    let id = begin("stays", "run=1");
    let mut pid = String::new();
    until("it has begun", || {
        pid = fs::read_to_string(&mark).unwrap_or_default();
        pid.ends_with('\n')
    });
    assert!(alive(&pid), "it runs: {pid}");
    assert_eq!(page.post(&format!("/run/{id}/cancel"), "").status, 303);
    until("the process on the worker ends", || !alive(&pid));
}

#[test]
fn the_guide_is_as_printed() {
    let page = include_str!("../../../../docs/guide/fleet.md");
    let team = Team::new();
    crate::guides::prepare(&team.ada, page);
    let token = team.hub.worker_token("build-1", 1, Timestamp::now()).expect("a token");
    let real = |words: &str| {
        let words = words.replace("https://hub.example.com", &team.address);
        let words = words.replace("4f1c0f….9d2e77…", &token);
        shlex::split(&words).expect("words")[1..].to_vec()
    };
    let check = |place: &Place, begin: &str| {
        let (words, printed) = crate::guides::printed_below(page, begin);
        let words = real(&words);
        let ran = place.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let said = format!("{}{}", ran.stdout(), ran.stderr());
        assert!(crate::guides::is_printed(printed, &said), "{words:?}\n-- printed\n{printed}-- really\n{said}");
    };
    let place = Place::cloned();
    check(&place, "cycod worker join");
    let (words, printed) = crate::guides::printed_below(page, "cycod worker --label");
    let words = real(&words);
    let mut command = place.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    _ = BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let worker = Worker { place, child };
    let arch = format!("arch:{}", std::env::consts::ARCH);
    assert_eq!(line, printed.replace("arch:x86_64", &arch));
    team.until_here("build-1");
    check(&team.ada, "cycod run train DATA=small --on fleet --label gpu");
    check(&team.ada, "cycod run train DATA=small --on fleet --label tpu");
    check(&team.ada, "cycod run predict INPUT=x");
    check(&team.ada, "cycod run predict INPUT=x --on here");
    drop(worker);
}

#[test]
fn output_arrives_while_a_run_goes_on_and_ctrl_c_ends_it_there() {
    let team = Team::new();
    team.ada.tool("wait", "description: Wait\nbash: echo $$; sleep 600\ntags: [run]\n");
    let worker = team.worker("build-1", &[]);
    let words = ["run", "wait", "--on", "fleet"];
    let mut child = team.ada.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut pid = String::new();
    _ = BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut pid).expect("a line");
    assert!(alive(&pid), "it runs: {pid}");
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    until("the process on the worker ends", || !alive(&pid));
    drop(worker);
}

#[test]
fn a_worker_whose_result_no_hub_takes_ends_when_it_is_asked_to() {
    let team = Team::new();
    let ended = team.ada.path("ended");
    let text = format!(
        "description: Wait\nbash: echo begun; sleep 2; touch '{}'\ntags: [write]\nsecurity: {{isolation: none}}\n",
        ended.display()
    );
    team.ada.tool("wait", &text);
    let mut worker = team.worker("build-1", &[]);
    let (mut child, _out) = team.begin(&["wait"], "begun");
    team.hub.remove_worker("build-1", Timestamp::now()).expect("a database");
    until("the tool has ended", || ended.exists());
    signal(&worker.child, Signal::TERM);
    let asked = Instant::now();
    _ = worker.child.wait().expect("it ends");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    child.kill().and_then(|()| child.wait()).expect("it ends");
}

#[test]
fn a_killed_worker_is_lost_and_only_what_reads_starts_again() {
    let team = Team::new();
    team.ada.tool("change", "description: Change\nbash: echo begun; sleep 600\ntags: [write]\n");
    // It waits on the first worker that runs it, by a file of the machine.
    let mark = team.ada.path("mark");
    let look = format!(
        "description: Look\nbash: if mkdir '{}' 2>/dev/null; then echo first; sleep 600; fi; echo again\ntags: [read]\nsecurity: {{isolation: none}}\n",
        mark.display()
    );
    team.ada.tool("look", &look);
    let mut first = team.worker("build-1", &[]);
    let (child, _out) = team.begin(&["change"], "begun");
    first.child.kill().expect("it is killed");
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("error[worker-lost]"), "{said}");
    assert!(said.contains("the worker `build-1` was lost"), "{said}");
    drop(first);

    let mut second = team.worker("build-2", &[]);
    let (mut child, mut out) = team.begin(&["look"], "first");
    let third = team.worker("build-3", &[]);
    second.child.kill().expect("it is killed");
    let mut rest = String::new();
    _ = out.read_to_string(&mut rest).expect("text");
    let mut said = String::new();
    _ = child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("it ends").success() && rest == "again\n", "{rest}{said}");
    assert!(said.contains("the worker `build-2` was lost, and the run starts again"), "{said}");
    drop(third);
}

#[test]
fn a_worker_decides_by_its_own_rules_and_secrets_stay() {
    let team = Team::new();
    team.ada.tool("greet", GREET);
    team.ada.tool(
        "login",
        "description: Log in\nbash: echo {TOKEN}\ntags: [read]\nparameters:\n  TOKEN: {type: string, description: Key, sensitive: true}\n",
    );
    let denying = team.worker_with("strict", &["--label", "strict"], |place| {
        _ = done(place, &["policy", "add", "deny", "greet", "--user"]);
    });
    let denied = team.run(&["greet", "WHO=x", "--label", "strict"]);
    assert!(denied.code() == 3 && denied.stderr().contains("error[denied-by-policy]"), "{}", denied.block());
    let secret = team.run(&["login", "TOKEN=s3cr3t-value"]);
    assert!(secret.stderr().contains("error[not-for-fleet]"), "{}", secret.block());
    assert!(!secret.block().contains("s3cr3t-value"), "{}", secret.block());
    let bytes = ["hub.db", "hub.db-wal"].map(|file| fs::read(team.ada.path(file)).unwrap_or_default()).concat();
    assert!(!bytes.windows(12).any(|window| window == b"s3cr3t-value"), "the hub never gets it");
    fails(&team.run(&["read_file", "path=x"]), "error[not-for-fleet]");
    drop(denying);
}

#[test]
fn what_the_rules_of_a_worker_ask_about_is_approved_by_those_it_knows() {
    let team = Team::new();
    team.ada.tool("greet", GREET);
    // Without approvers, there is no one to ask.
    let alone = team.worker_with("alone", &[], |place| {
        _ = done(place, &["policy", "add", "ask", "greet", "--user"]);
    });
    let refused = team.run(&["greet", "WHO=x"]);
    assert!(refused.code() == 3 && refused.stderr().contains("error[not-approved]"), "{}", refused.block());
    assert!(refused.stderr().contains("at `alone`: cycod worker approvers --add NAME=KEY"), "{}", refused.block());
    drop(alone);
    _ = team.hub.remove_worker("alone", Timestamp::now());

    let worker = team.asking_worker("build-1", "greet", &team.device());
    let begin = |who: &str| {
        let words = ["run", "greet", who, "--on", "fleet"];
        team.ada.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let ended = |child: Child| {
        let ended = child.wait_with_output().expect("it ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ended.status.code(), text(&ended.stdout), text(&ended.stderr))
    };
    let child = begin("WHO=$(reboot)");
    let id = team.asked();
    let list = done(&team.ada, &["approvals", "list"]).stdout();
    assert!(list.contains("greet") && list.contains("waiting"), "{list}");
    let shown = done(&team.ada, &["approvals", "show", &id]).stdout();
    for text in [
        "May run:  greet",
        "for run ",
        "at the worker build-1",
        "echo \"Hello",
        "$(reboot)",
        "{WORKSPACE}",
        "approvers ada",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    fails(&team.ada.run(&["approvals", "approve", &id]), "a request must be shown before you approve it");
    fails(&team.ada.run(&["approvals", "approve", &id, "--always"]), "approved for its run alone");
    fails(&team.ada.run(&["approvals", "approve", &id, "--lost", "done"]), "--lost is for a step");
    let said = done(&team.ada, &["approvals", "approve", &id, "--without-terminal"]);
    assert!(said.block().contains("Approved `greet` for the run "), "{}", said.block());
    let (code, out, err) = ended(child);
    assert!(code == Some(0) && out.starts_with("Hello, $(reboot)\n"), "{out}{err}");
    assert!(err.contains("`build-1` asks whether the tool may run"), "{err}");

    // It counts for one run: the next one asks again, and what is denied says why.
    let child = begin("WHO=$(reboot)");
    let denied = team.asked();
    assert_ne!(id, denied);
    _ = done(&team.ada, &["approvals", "deny", &denied, "--reason", "not today"]);
    let (code, out, err) = ended(child);
    assert!(code == Some(3) && out.is_empty() && err.contains("error[approval-declined]"), "{out}{err}");
    assert!(err.contains("because: not today"), "{err}");

    // Someone who has taken over the hub gives the worker another answer: that of another run, and one with a changed word.
    let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
    let change = |statement: &str| {
        let mut changed = 0;
        let work = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
            changed = tx.execute(statement, &[])?;
            Ok(())
        };
        database.transaction(work).expect("a change");
        assert!(changed > 0, "{statement}");
    };
    let forged = [
        "UPDATE consents SET state = 'answered', answer = (SELECT answer FROM consents WHERE answer LIKE '%:true%') WHERE state = 'open'",
        "UPDATE consents SET state = 'answered', answer = (SELECT REPLACE(answer, ':false', ':true') FROM consents WHERE answer LIKE '%:false%') WHERE state = 'open'",
    ];
    for forged in forged {
        let child = begin("WHO=evil");
        _ = team.asked();
        change(forged);
        change("UPDATE tasks SET state = 'waiting' WHERE state = 'asked'");
        let (code, out, err) = ended(child);
        assert!(code == Some(3) && out.is_empty() && err.contains("error[not-approved]"), "{out}{err}");
    }
    drop(worker);
    _ = team.hub.remove_worker("build-1", Timestamp::now());

    // A device that the worker doesn't know can't approve.
    let _worker = team.asking_worker("build-2", "greet", &"0".repeat(64));
    let mut child = begin("WHO=x");
    let id = team.asked();
    let told = team.ada.run(&["approvals", "approve", &id, "--without-terminal"]);
    fails(&told, "the worker `build-2` takes the approval of `ada`, and not of this device");
    signal(&child, Signal::INT);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    until("nothing waits", || done(&team.ada, &["approvals", "list"]).block().contains("nothing waits"));
}

#[test]
fn a_worker_refuses_what_was_changed_at_the_hub() {
    let team = Team::new();
    team.ada.tool("greet", GREET);
    let worker = team.worker("build-1", &[]);
    // While it sleeps, someone at the hub changes what Ada signed.
    signal(&worker.child, Signal::STOP);
    std::thread::sleep(Duration::from_millis(1500));
    let words = ["run", "greet", "WHO=x", "--on", "fleet"];
    let child = team.ada.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
    until("the ticket is there", || {
        let change = "UPDATE tasks SET ticket = REPLACE(ticket, '\"x', '\"evil') WHERE state = 'waiting'";
        let mut changed = 0;
        database
            .transaction(&mut |tx| {
                changed = tx.execute(change, &[])?;
                Ok(())
            })
            .expect("a change");
        changed == 1
    });
    signal(&worker.child, Signal::CONT);
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(3) && said.contains("error[ticket-refused]"), "{said}");
    assert!(said.contains("no device of ada signed the ticket") && ended.stdout.is_empty(), "{said}");
}

#[test]
fn a_hub_that_is_gone_is_an_error() {
    let team = Team::new();
    team.ada.tool("greet", GREET);
    let member = team.ada.home().join(".cycod/team/member.json");
    let text = fs::read_to_string(&member).expect("a file").replace(&team.address, "http://127.0.0.1:1");
    fs::write(&member, text).expect("a file");
    fails(&team.run(&["greet", "WHO=x"]), "error[hub-failed]");
}

#[test]
fn a_run_asks_for_the_version_of_a_program_that_the_worker_declares() {
    let team = Team::new();
    let ask = |label: &str| {
        team.ada.tool(
            "versioned",
            &format!("description: x\non: fleet\nruns-on: ['{label}']\nbash: echo ran\ntags: [read]\n"),
        );
        team.ada.run(&["run", "versioned"])
    };
    let _plain = team.worker("plain-1", &[]);
    // What the worker doesn't declare, it neither offers nor starts.
    fails(&ask("tool:made"), "no worker offers `tool:made`: the nearest is `plain-1`");
    let programs = team.ada.path("programs");
    fs::create_dir(&programs).expect("a directory");
    let program = |name: &str, says: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let (file, started) = (programs.join(name), programs.join(format!("{name}.started")));
        let text = format!("#!/bin/sh\necho \"$@\" >> '{}'\n{says}\n", started.display());
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
    };
    let started = |name: &str| fs::read_to_string(programs.join(format!("{name}.started"))).unwrap_or_default();
    program("made", "echo made version 2.39.5");
    program("mute", "echo no version");
    program("other", "echo 1.0");
    let _worker = {
        let path = format!("{}:/usr/bin:/bin", programs.display());
        team.worker_on("made-1", &["--tool", "made", "--tool", "mute", "--tool", "other=7"], &path)
    };
    fails(
        &ask("tool:made>=2.40"),
        "no worker offers `tool:made>=2.40`: the nearest is `made-1`, which has made 2.39.5",
    );
    fails(&ask("tool:mute>=1"), "the nearest is `made-1`, which has mute without a version");
    for label in ["tool:made>=2.39", "tool:made", "tool:mute", "tool:other>=7"] {
        assert_eq!(ask(label).stdout(), "ran\n", "{label}");
    }
    // It was asked once, and what the user states is not asked.
    assert_eq!((started("made"), started("other")), ("--version\n".to_owned(), String::new()));
    // A newer one is noticed.
    program("made", "echo made version 2.40.0 is newer");
    until("it is noticed", || ask("tool:made>=2.40").stdout() == "ran\n");
    fs::remove_file(programs.join("made")).expect("a file");
    until("it is gone", || ask("tool:made").stderr().contains("no worker offers `tool:made`"));
    // What can't be declared.
    for (option, says) in [
        ("../made", "can't be offered"),
        ("no-such-program", "isn't on the search path"),
        ("made=x", "can't be offered"),
    ] {
        fails(&_worker.place.run(&["worker", "--tool", option]), says);
    }
    fails(&_worker.place.run(&["worker", "--label", "tool:made=3"]), "can't be a label");
    fails(&_worker.place.run(&["worker", "--label", "tool:made"]), "says that the worker has a program");
}
