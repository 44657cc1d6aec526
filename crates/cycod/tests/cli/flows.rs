//! Durable runs on workers, with real processes. The test stands in for Restate and the conductor; `tests/fleet` has the real ones.

use std::{
    collections::BTreeMap,
    io::{BufReader, Write as _},
    net::TcpListener,
    sync::mpsc,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_conductor::{
    FlowCommit, FlowHold, FlowOffer, FlowQuestion, FlowQueue as _, PersonAnswer, TaskAnswer, WorkResumed,
};
use cycod_flow::{FlowCourse, FlowHeard, FlowStart, FlowTimer, FlowTurn, FlowWork, LostPolicy, StepShape};
use cycod_hub::{Hub, HubStore as _, Restate, SqlRow, SqliteStore};
use cycod_team::{BlobDigest, FORMAT, TicketDocument, TicketFile};
use cycod_team_sync::{DeviceKey, EnrolmentProof, FleetTasks, TeamHub};
use jiff::Timestamp;
use serde_json::json;

use crate::{
    fleet::{Team, alive},
    support::until,
    team_hub::{done, fails, served},
};

/// What someone tells Restate, and a timer that is over.
enum Message {
    Request(String, String),
    Over(String, FlowTimer),
}

/// A run that is driven.
struct Driven {
    course: FlowCourse,
    number: i64,
}

/// Stands in for Restate and the conductor of a hub, in memory.
struct Conducting {
    hub: Hub,
    runs: BTreeMap<String, Driven>,
    /// The work of awakeables, with the run.
    waiting: BTreeMap<String, (String, FlowWork)>,
    tell: mpsc::Sender<Message>,
}

impl Conducting {
    fn start(hub: &Hub) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        hub.use_restate(Restate::at(listener.local_addr().expect("an address")).expect("an address of this machine"));
        let (tell, told) = mpsc::channel();
        let requests = tell.clone();
        let listen = move || {
            for stream in listener.incoming().flatten() {
                let Some((path, body)) = request(&mut BufReader::new(&stream)) else { continue };
                let done = requests.send(Message::Request(path, body)).is_ok();
                _ = (&stream).write_all(b"HTTP/1.1 202 x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                if !done {
                    return;
                }
            }
        };
        cycod_thread::Thread::named("restate").detach(listen).expect("a thread");
        let mut conducting = Self { hub: hub.clone(), runs: BTreeMap::new(), waiting: BTreeMap::new(), tell };
        let conduct = move || told.into_iter().for_each(|message| conducting.take(message));
        cycod_thread::Thread::named("conductor").detach(conduct).expect("a thread");
        // The one that tells Restate.
        _ = served(hub.clone());
    }

    fn take(&mut self, message: Message) {
        let (run, heard, task) = match message {
            Message::Over(run, timer) => (run, FlowHeard::Timer(timer), None),
            Message::Request(path, body) => match path.split('/').collect::<Vec<_>>()[..] {
                ["", "ToolRun", run, "run", "send"] => {
                    let start: FlowStart = serde_json::from_str(&body).expect("a start");
                    let (course, turn) = FlowCourse::begin(start).expect("a turn");
                    _ = self.runs.insert(run.to_owned(), Driven { course, number: 0 });
                    return self.carry_out(run, turn, None);
                }
                ["", "ToolRun", run, "cancel", "send"] => (run.to_owned(), FlowHeard::Cancel, None),
                ["", "restate", "awakeables", id, "resolve"] if id.ends_with(".ask") => {
                    let answer: PersonAnswer = serde_json::from_str(&body).expect("an answer");
                    let (run, _) = id.split_once('.').expect("a run");
                    let (heard, task) = answer.heard();
                    (run.to_owned(), heard, task)
                }
                ["", "restate", "awakeables", id, "resolve"] if id.ends_with(".hold") => {
                    let WorkResumed { work } = serde_json::from_str(&body).expect("an answer");
                    let (run, _) = id.split_once('.').expect("a run");
                    (run.to_owned(), FlowHeard::Resumed(work), None)
                }
                ["", "restate", "awakeables", id, "resolve"] => {
                    let TaskAnswer { task, answer, .. } = serde_json::from_str(&body).expect("an answer");
                    let Some((run, work)) = self.waiting.remove(id) else { return };
                    (run, FlowHeard::Answer(work, answer), Some(task))
                }
                _ => panic!("{path}"),
            },
        };
        let Some(driven) = self.runs.get_mut(&run) else { return };
        if let Some(turn) = driven.course.hear(heard).expect("it fits") {
            self.carry_out(&run, turn, task);
        }
    }

    fn carry_out(&mut self, run: &str, turn: FlowTurn, task: Option<String>) {
        let FlowTurn { event, timers, offers, asks, holds, stops, is_over } = turn;
        for (timer, after) in timers {
            let (tell, run) = (self.tell.clone(), run.to_owned());
            let wait = move || {
                std::thread::sleep(Duration::from_millis(after));
                drop(tell.send(Message::Over(run, timer)));
            };
            cycod_thread::Thread::named("timer").detach(wait).expect("a thread");
        }
        let driven = self.runs.get_mut(run).expect("it is driven");
        let number = driven.number;
        driven.number += 1;
        let offer = |(index, work)| {
            let awakeable = format!("{run}.{number}.{index}");
            FlowOffer { work, labels: driven.course.labels(work), awakeable }
        };
        let offers: Vec<FlowOffer> = offers.into_iter().enumerate().map(offer).collect();
        for offer in &offers {
            _ = self.waiting.insert(offer.awakeable.clone(), (run.to_owned(), offer.work));
        }
        let question = |about| FlowQuestion { about, awakeable: format!("{run}.{number}.ask") };
        let questions = asks.into_iter().map(question).collect();
        let hold = |(index, work)| FlowHold { work, awakeable: format!("{run}.{number}.{index}.hold") };
        let holds = holds.into_iter().enumerate().map(hold).collect();
        let commit = FlowCommit { run: run.to_owned(), number, event, task, offers, questions, holds, stops, is_over };
        if self.hub.commit(&commit).is_err() || is_over {
            _ = self.runs.remove(run);
        }
    }
}

/// A request: its path and body.
fn request(stream: &mut impl std::io::BufRead) -> Option<(String, String)> {
    let (mut line, mut path, mut length) = (String::new(), None, 0);
    while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
        path = path.or(line.strip_prefix("POST ").and_then(|rest| Some(rest.split_once(' ')?.0.to_owned())));
        if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = rest.trim().parse().ok()?;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((path?, String::from_utf8(body).ok()?))
}

fn durable_team() -> Team {
    durable(Team::new())
}

/// A team whose hub takes durable runs.
pub(crate) fn durable(team: Team) -> Team {
    Conducting::start(&team.hub);
    team
}

fn rows(team: &Team, select: &str) -> Vec<SqlRow> {
    let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
    let mut rows = Vec::new();
    let read = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
        rows = tx.rows(select, &[])?;
        Ok(())
    };
    database.transaction(read).expect("it reads");
    rows
}

const FOUR: &str = "description: Four steps\ndurable: true\ntags: [read]
parameters: {WHO: {type: string, description: Whom}}
steps:
  - {name: a, bash: 'sleep 0.5; echo A-{WHO}'}
  - {name: b, bash: 'sleep 0.5; echo B', parallel: true}
  - {name: c, bash: 'echo {a.output} and {b.output}', wait-for: [a, b]}
  - {name: d, bash: 'echo end {c.output}; exit 4', wait-for: [c], error-handling: {fallback: 'echo saved {c.output}'}}
";

#[test]
fn the_steps_of_a_durable_run_are_spread_and_its_journal_is_that_of_a_run_here() {
    let team = durable_team();
    team.ada.tool("four", FOUR);
    let _workers = [team.worker("build-1", &[]), team.worker("build-2", &[])];
    let (mut there, mut here) = (None, None);
    let mut lines_there = team.lines_of(|| there = Some(team.run(&["four", "WHO=$(reboot) 'ü'"])));
    let mut lines_here = team.lines_of(|| here = Some(team.ada.run(&["run", "four", "WHO=$(reboot) 'ü'"])));
    let (there, here) = (there.expect("it ran"), here.expect("it ran"));
    assert_eq!((there.code(), there.stdout()), (here.code(), here.stdout()), "{}", there.block());
    assert!(there.stdout().contains("saved A-$(reboot) 'ü' and B"), "{}", there.block());
    // Steps that run at once say things in another order.
    for lines in [&mut lines_there, &mut lines_here] {
        lines.iter_mut().filter_map(|line| line.as_object_mut()).for_each(|line| _ = line.remove("off"));
        lines.sort_by_key(ToString::to_string);
    }
    assert_eq!(lines_there, lines_here);
    let workers = rows(&team, "SELECT DISTINCT worker FROM flow_log WHERE worker <> '' ORDER BY worker");
    let workers: Vec<_> = workers.iter().map(|row| row.text(0).expect("a name")).collect();
    assert_eq!(workers, ["build-1", "build-2"]);
    assert_eq!(rows(&team, "SELECT task FROM task_files"), [], "the hub keeps no files of a run that is over");
}

#[test]
fn a_durable_run_goes_on_without_its_terminal_and_ends_when_it_is_cancelled() {
    let team = durable_team();
    team.ada.tool("four", FOUR);
    let mark = team.ada.path("mark");
    let waits = format!(
        "description: Waits\ndurable: true\ntags: [run]\nsecurity: {{isolation: none}}\nsteps:\n  - {{name: one, bash: 'echo $$ >> {0}; sleep 600'}}\n  - {{name: two, bash: echo never}}\nresources: {{cleanup: [{{final-command: 'echo cleaned >> {0}'}}]}}\n",
        mark.display()
    );
    team.ada.tool("waits", &waits);
    // Steps wait for a worker, which comes later.
    drop(team.worker("build-1", &[]));
    let began = team.run(&["four", "WHO=x", "--background"]);
    assert_eq!(began.code(), 0, "{}", began.block());
    let id = began.stdout().trim().to_owned();
    let _worker = team.worker("build-2", &[]);
    let said = done(&team.ada, &["runs", "follow", &id]);
    assert!(said.block().contains("saved A-x and B"), "{}", said.block());
    assert!(done(&team.ada, &["runs", "wait", &id]).block().contains("saved A-x and B"));

    let id = team.run(&["waits", "--background"]).stdout().trim().to_owned();
    let marked = || std::fs::read_to_string(&mark).unwrap_or_default();
    until("the step runs", || marked().ends_with('\n'));
    let pid = marked();
    assert!(alive(&pid), "it runs: {pid}");
    let began = Instant::now();
    _ = done(&team.ada, &["runs", "cancel", &id]);
    until("the process of the step ends", || !alive(&pid));
    assert!(began.elapsed() < Duration::from_secs(20));
    until("it is cleaned up", || marked().contains("cleaned"));
    assert!(done(&team.ada, &["runs", "list"]).stdout().contains("cancelled"));
}

#[test]
fn a_step_that_may_have_been_done_waits_until_someone_decides() {
    let team = durable_team();
    let mark = team.ada.path("mark");
    let writes = format!(
        "description: Writes\ndurable: true\ntags: [write]\nsecurity: {{isolation: none}}\nsteps:\n  - {{name: send, bash: 'echo half; echo send >> {0}; sleep 600'}}\n  - {{name: two, bash: 'echo two >> {0}'}}\n",
        mark.display()
    );
    team.ada.tool("writes", &writes);
    let marked = || std::fs::read_to_string(&mark).unwrap_or_default();
    let lost = |worker: &str, count: usize| {
        let worker = team.worker(worker, &[]);
        let id = team.run(&["writes", "--background"]).stdout().trim().to_owned();
        until("the step runs", || marked().lines().count() == count);
        // The hub has what the step wrote.
        until("its output arrives", || team.ada.run(&["runs", "show", &id]).stdout().contains("half"));
        drop(worker);
        let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
        let hurry =
            &mut |tx: &mut dyn cycod_hub::HubTransaction| tx.execute("UPDATE tasks SET lease_until = 1", &[]).map(drop);
        database.transaction(hurry).expect("a change");
        let mut name = String::new();
        until("the step waits", || {
            let list = done(&team.ada, &["approvals", "list"]).stdout();
            let row = list.lines().find(|line| line.contains("writes: step send"));
            name = row.and_then(|row| row.split(' ').next()).unwrap_or_default().to_owned();
            !name.is_empty()
        });
        (id, name)
    };
    let (id, name) = lost("build-1", 1);
    let shown = done(&team.ada, &["approvals", "show", &name]).stdout();
    for text in ["writes: step send was lost with its worker, and may have been done", "build-1", "echo half", " h\n"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    let json = done(&team.ada, &["approvals", "show", &name, "--format", "json"]).stdout();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!([&json["state"], &json["run"], &json["output"]], ["lost", id.as_str(), "half\n"]);
    fails(&team.ada.run(&["approvals", "approve", &name]), "there is no terminal to ask at");
    fails(&team.ada.run(&["approvals", "deny", &name, "--reason", "x"]), "--reason is for a request");
    let worker = team.worker("build-2", &[]);
    let said = done(&team.ada, &["approvals", "approve", &name, "--lost", "done"]);
    assert!(said.block().contains(&format!("`writes` continues: cycod runs follow {id}")), "{}", said.block());
    _ = done(&team.ada, &["runs", "wait", &id]);
    assert_eq!(marked(), "send\ntwo\n");
    let told = done(&team.ada, &["runs", "follow", &id]).block();
    assert!(told.contains("ada decided: `send` was done") && told.contains("cycod approvals list"), "{told}");
    fails(&team.ada.run(&["approvals", "approve", &name, "--lost", "again"]), "no request");
    drop(worker);

    let (id, name) = lost("build-3", 3);
    _ = done(&team.ada, &["approvals", "deny", &name]);
    let _worker = team.worker("build-4", &[]);
    assert_eq!(team.ada.run(&["runs", "wait", &id]).code(), 1);
    assert_eq!(marked(), "send\ntwo\nsend\n");
    let told = team.ada.run(&["runs", "follow", &id]).block();
    assert!(told.contains("ada decided: `send` has failed"), "{told}");
}

#[test]
fn a_result_that_came_late_counts_when_someone_decides_that_the_step_was_done() {
    let team = durable_team();
    let [mark, wait] = ["mark", "wait"].map(|name| team.ada.path(name));
    let tool = format!(
        "description: Writes\ndurable: true\ntags: [write]\nsecurity: {{isolation: none}}\nsteps:\n  - {{name: send, bash: 'echo sent; echo send >> {0}; while [ -e {1} ]; do sleep 0.1; done'}}\n  - {{name: two, bash: 'echo two after {{send.output}}'}}\n",
        mark.display(),
        wait.display()
    );
    team.ada.tool("writes", &tool);
    let first = team.worker("build-1", &[]);
    assert!(team.run(&["writes"]).stdout().contains("two after sent"));
    std::fs::write(&wait, "").expect("a file");
    let id = team.run(&["writes", "--background"]).stdout().trim().to_owned();
    let marked = || std::fs::read_to_string(&mark).unwrap_or_default();
    until("the step runs", || marked().lines().count() == 2);
    drop(first);
    let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
    // As if the worker had reported when it was lost what the same step came to before. The hub's own tests have how that comes.
    let late = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
        tx.execute("UPDATE tasks SET lease_until = 1", &[])?;
        let of_step = "work LIKE '{\"attempt%' AND work LIKE '%\"index\":0%'";
        let update = format!(
            "UPDATE tasks SET late = (SELECT result FROM tasks WHERE run <> $1 AND {of_step}), late_by = worker, late_at = 1 \
             WHERE run = $1 AND {of_step}"
        );
        tx.execute(&update, &[id.as_str().into()]).map(drop)
    };
    database.transaction(late).expect("a change");
    let mut name = String::new();
    until("the step waits", || {
        let list = done(&team.ada, &["approvals", "list"]).stdout();
        let row = list.lines().find(|line| line.contains("writes: step send"));
        name = row.and_then(|row| row.split(' ').next()).unwrap_or_default().to_owned();
        !name.is_empty()
    });
    let shown = done(&team.ada, &["approvals", "show", &name]).stdout();
    assert!(shown.contains("a result came late, and counts with `done`: cycod runs late"), "{shown}");
    let json = done(&team.ada, &["approvals", "show", &name, "--format", "json"]).stdout();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let task = json["late"].as_str().expect("a task");
    assert_eq!(done(&team.ada, &["runs", "late", task]).stdout(), "sent\n");
    let _second = team.worker("build-2", &[]);
    _ = done(&team.ada, &["approvals", "approve", &name, "--lost", "done"]);
    _ = done(&team.ada, &["runs", "wait", &id]);
    let told = done(&team.ada, &["runs", "follow", &id]).block();
    assert!(
        told.contains("two after sent") && told.contains("what came late from the worker `build-1` counts"),
        "{told}"
    );
    assert_eq!(marked(), "send\nsend\n", "it didn't start again");
    let verified = done(&team.ada, &["runs", "show", &id]).stdout();
    assert!(verified.contains("sent"), "{verified}");
}

#[test]
fn a_durable_run_waits_for_the_approval_of_a_worker_without_a_process() {
    let team = durable_team();
    let mark = team.ada.path("mark");
    let asks = format!(
        "description: Asks\ndurable: true\ntags: [write]\nsecurity: {{isolation: none}}\nsteps:\n  - {{name: one, bash: 'echo one {{DATE}} {{TIMESTAMP}} >> {0}'}}\n  - {{name: two, bash: 'echo two >> {0}', parallel: true}}\n  - {{name: three, bash: 'echo three >> {0}', wait-for: [one, two], run-condition: '{{one.exit-code}} == 0'}}\nresources: {{cleanup: [{{final-command: 'echo cleaned >> {0}'}}]}}\n",
        mark.display()
    );
    team.ada.tool("asks", &asks);
    let marked = || std::fs::read_to_string(&mark).unwrap_or_default();
    let worker = team.asking_worker("build-1", "asks", &team.device());
    let id = team.run(&["asks", "--background"]).stdout().trim().to_owned();
    let name = team.asked();
    until("both steps wait", || {
        let json = done(&team.ada, &["approvals", "show", &name, "--format", "json"]).stdout();
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!([&json["run"], &json["worker"], &json["state"]], [id.as_str(), "build-1", "waiting"]);
        json["steps"] == json!(["one", "two"])
    });
    assert!(
        done(&team.ada, &["runs", "list"]).stdout().contains("waits"),
        "{}",
        done(&team.ada, &["runs", "list"]).block()
    );
    // Nothing is leased, and no one has it.
    assert_eq!(rows(&team, "SELECT id FROM tasks WHERE state IN ('leased', 'waiting')"), []);
    assert_eq!(marked(), "");
    _ = done(&team.ada, &["approvals", "approve", &name, "--without-terminal"]);
    let waited = team.ada.run(&["runs", "wait", &id]);
    assert_eq!(waited.code(), 0, "{}", waited.block());
    let mut lines: Vec<String> =
        marked().lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect();
    lines[..2].sort();
    assert_eq!(lines, ["one", "two", "three", "cleaned"]);
    // The steps that followed did not ask again.
    assert_eq!(rows(&team, "SELECT question FROM consents").len(), 1);
    let told = done(&team.ada, &["runs", "follow", &id]).block();
    for text in ["`build-1` asks whether `one` may run, so the run waits: cycod approvals list", "ada approved `one`"] {
        assert!(told.contains(text), "{text}: {told}");
    }
    drop(worker);

    // Another worker has no rule about it, and asks no one; one that asks and is denied fails the step.
    _ = team.hub.remove_worker("build-1", Timestamp::now());
    let worker = team.asking_worker("build-2", "asks", &team.device());
    let id = team.run(&["asks", "--background"]).stdout().trim().to_owned();
    _ = done(&team.ada, &["approvals", "deny", &team.asked(), "--reason", "not today"]);
    assert_eq!(team.ada.run(&["runs", "wait", &id]).code(), 3);
    let shown = done(&team.ada, &["runs", "show", &id, "--format", "json"]).stdout();
    assert!(shown.contains("approval-declined") && shown.contains("because: not today"), "{shown}");
    assert!(!marked().contains("two\ntwo") && marked().matches("two").count() == 1, "{}", marked());

    // What is cancelled waits no longer.
    let id = team.run(&["asks", "--background"]).stdout().trim().to_owned();
    _ = team.asked();
    _ = done(&team.ada, &["runs", "cancel", &id]);
    _ = team.ada.run(&["runs", "wait", &id]);
    assert!(done(&team.ada, &["runs", "list"]).stdout().contains("cancelled"));
    assert!(done(&team.ada, &["approvals", "list"]).block().contains("nothing waits"));

    // No one answers in time.
    let id = team.run(&["asks", "--background"]).stdout().trim().to_owned();
    _ = team.asked();
    let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
    let late =
        &mut |tx: &mut dyn cycod_hub::HubTransaction| tx.execute("UPDATE consents SET expires = 1", &[]).map(drop);
    database.transaction(late).expect("a change");
    assert_eq!(team.ada.run(&["runs", "wait", &id]).code(), 3);
    let shown = done(&team.ada, &["runs", "show", &id, "--format", "json"]).stdout();
    assert!(shown.contains("not-approved"), "{shown}");
    let told = team.ada.run(&["runs", "follow", &id]).block();
    assert!(told.contains("no one approved `one` in time") && !told.contains("asks whether `the cleanup`"), "{told}");
    assert_eq!(marked().matches("two").count(), 1, "{}", marked());
    drop(worker);
}

#[test]
fn what_a_worker_reports_late_can_be_seen() {
    let team = durable_team();
    assert!(done(&team.ada, &["runs", "late"]).block().contains("no result came late"));
    team.ada.tool(
        "steps",
        "description: d\ndurable: true\ntags: [read]\nsteps:\n  - {name: send, bash: 'echo sent; echo aside >&2; exit 3'}\n",
    );
    team.ada.tool("whole", "description: d\ntags: [read]\nbash: echo all of it\n");
    let _worker = team.worker("build-1", &[]);
    let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
    for (tool, wrote) in [("steps", "sent\n"), ("whole", "all of it\n")] {
        _ = team.run(&[tool]);
        // As if the worker had reported it when it was lost. The hub's own tests have how that comes.
        let late = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
            let update = "UPDATE tasks SET late = result, late_by = worker, late_at = made / 1000 WHERE tool = $1 \
                          AND (work = '' OR work LIKE '{\"attempt%')";
            tx.execute(update, &[tool.into()]).map(drop)
        };
        database.transaction(late).expect("a change");
        let list = done(&team.ada, &["runs", "late"]).block();
        assert!(list.contains("build-1") && list.contains(tool), "{list}");
        let json = done(&team.ada, &["runs", "late", "--format", "json"]).stdout();
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let late = json.as_array().expect("a list").iter().find(|late| late["tool"] == tool).expect("it came late");
        let task = late["task"].as_str().expect("a name");
        assert_eq!(late["step"], if tool == "steps" { "send" } else { "" });
        let shown = done(&team.ada, &["runs", "late", task]);
        assert_eq!(shown.stdout(), wrote, "{}", shown.block());
        let code = if tool == "steps" { 3 } else { 0 };
        assert!(shown.stderr().contains(&format!("exit code {code}, from the worker build-1")), "{}", shown.block());
        assert_eq!(shown.stderr().contains("aside"), tool == "steps", "{}", shown.block());
        let json = done(&team.ada, &["runs", "late", task, "--format", "json"]).stdout();
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!((&json["output"], &json["exit_code"]), (&json!(wrote), &json!(code)));
    }
    fails(&team.ada.run(&["runs", "late", "x"]), "nothing came late of a task `x`");
}

#[test]
fn the_steps_of_a_run_stay_with_one_worker_if_the_tool_says_so() {
    let team = durable_team();
    let steps = "durable: true\non: fleet\ntags: [read]\nsteps:\n  - {name: one, bash: 'sleep 0.5; echo one'}\n  - {name: two, bash: 'sleep 0.5; echo two', parallel: true}\n";
    team.ada.tool("kept", &format!("description: d\nkeep-on: same-worker\n{steps}"));
    team.ada.tool("spread", &format!("description: d\n{steps}"));
    let _workers = ["build-1", "build-2"].map(|name| team.worker(name, &[]));
    for (tool, workers) in [("kept", 1), ("spread", 2)] {
        _ = done(&team.ada, &["run", tool]);
        let select = format!(
            "SELECT DISTINCT worker FROM tasks WHERE tool = '{tool}' AND work LIKE '{{\"attempt%' AND state = 'done'"
        );
        assert_eq!(rows(&team, &select).len(), workers, "{tool}");
    }
    let shown = done(&team.ada, &["info", "kept"]).stdout();
    assert!(shown.contains("a worker of your team's hub, the same for all steps"), "{shown}");
    let json = done(&team.ada, &["info", "kept", "--format", "json"]).stdout();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["keep_on"], "same-worker");
}

const LABELS: &str = "description: Steps for several machines\ndurable: true\non: fleet\nruns-on: ['os:linux']\ntags: [read]
steps:
  - {name: any, bash: echo any}
  - {name: each, for-each: [a, b, c, d], max-parallel: 4, bash: 'sleep 0.2; echo {ITEM}', runs-on: [gpu], parallel: true}
  - {name: inner, use-tool: inner, runs-on: [gpu], parallel: true}
  - {name: last, bash: 'echo {any.output} {each.output} {inner.output}', wait-for: [any, each, inner]}
";
const INNER: &str = "description: Is called\ntags: [read]\nsteps:
  - {name: one, bash: 'sleep 0.2; echo one'}
  - {name: two, bash: 'echo two {one.output}'}
resources: {cleanup: [{final-command: echo cleaned}]}
";

#[test]
fn a_step_goes_only_to_a_worker_that_has_its_labels() {
    let team = durable_team();
    team.ada.tool("labels", LABELS);
    team.ada.tool("inner", INNER);
    let plain = team.worker("plain-1", &[]);
    // No one would take these steps, so the run does not begin.
    fails(&team.ada.run(&["run", "labels"]), "no worker offers `gpu`: the nearest is `plain-1`");
    let gpu = team.worker("gpu-1", &["--label", "gpu"]);
    let ran = done(&team.ada, &["run", "labels"]);
    assert!(ran.stdout().contains("two one"), "{}", ran.block());
    let tasks = rows(&team, "SELECT labels, worker, work FROM tasks");
    let of = |label: &str| {
        let wanted =
            tasks.iter().filter(|row| row.text(0).is_ok_and(|labels| labels.contains("gpu")) == (label == "gpu"));
        wanted.map(|row| row.text(1).expect("a name")).collect::<Vec<_>>()
    };
    // The list and its items, and the call with its steps; each of the two has an end that cleans up.
    assert_eq!(of("gpu"), ["gpu-1"; 10], "{}", ran.block());
    assert!(of("").len() >= 2 && tasks.iter().all(|row| row.text(0).is_ok_and(|labels| labels.contains("os:linux"))));

    // A label of a step within a tool that is called.
    team.ada.tool("inner", &INNER.replace("name: two,", "name: two, runs-on: [tpu],"));
    fails(&team.ada.run(&["run", "labels"]), "no worker offers `tpu`: the nearest is `gpu-1`");
    // All of it on one worker needs all of it from that one.
    fails(&team.ada.run(&["run", "inner", "--on", "fleet"]), "no worker offers `tpu`");
    team.ada.tool("inner", INNER);

    // What someone changes at the hub, the worker refuses.
    gpu.pause();
    let id = team.ada.run(&["run", "labels", "--background"]).stdout().trim().to_owned();
    let database = SqliteStore::open(&team.ada.path("hub.db")).expect("a database");
    until("a step waits for the other worker", || {
        let mut changed = 0;
        let change = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
            changed =
                tx.execute("UPDATE tasks SET labels = '' WHERE state = 'waiting' AND labels LIKE '%gpu%'", &[])?;
            Ok(())
        };
        database.transaction(change).expect("a change");
        changed > 0
    });
    let ended = team.ada.run(&["runs", "wait", &id]);
    let shown = done(&team.ada, &["runs", "show", &id, "--format", "json"]).stdout();
    assert!(ended.code() != 0 && shown.contains("doesn't offer `gpu`, which the step needs"), "{shown}");
    drop(plain);
}

/// What someone does to a ticket, its files, and the flow of the run.
type Change<'a> = dyn Fn(&mut TicketDocument, &mut BTreeMap<String, Vec<u8>>, &mut serde_json::Value) + 'a;

/// A device of Ada's that signs whatever the test wants.
fn device(team: &Team) -> FleetTasks {
    let device = DeviceKey::generate().expect("a key");
    let (address, _) =
        cycod_team_sync::find_hub(&team.address.parse().expect("an address")).expect("an answer").expect("a hub");
    let hub = TeamHub::open(address.clone(), device.clone()).expect("a client");
    let token = team.hub.token("ada", 1, Timestamp::now()).expect("a token");
    _ = hub.enrol(&EnrolmentProof::Token(token)).expect("it is enrolled");
    FleetTasks::open(&address, device).expect("a client")
}

#[test]
fn a_worker_refuses_a_step_of_anything_else_than_what_was_signed() {
    let team = durable_team();
    team.ada.tool("four", FOUR);
    let _worker = team.worker("build-1", &[]);
    // What an honest device sends is taken.
    assert_eq!(team.run(&["four", "WHO=x"]).code(), 0);
    let honest = rows(&team, "SELECT ticket FROM flows")[0].text(0).expect("a ticket");
    let honest: TicketDocument = serde_json::from_str(&honest).expect("a ticket");
    let mut ada = device(&team);
    let text = team.ada.read(".cycod/tools/four.yaml");
    let mut check = |change: &Change<'_>, says: &str| {
        let mut files: BTreeMap<String, Vec<u8>> =
            honest.files.keys().map(|path| (path.clone(), text.clone().into_bytes())).collect();
        let mut ticket = TicketDocument {
            format: FORMAT,
            id: FleetTasks::new_id().expect("random numbers"),
            expires: Timestamp::now().as_second() + 600,
            ..honest.clone()
        };
        let step = |name: &str, after: &[usize], has_fallback| {
            let (name, after) = (name.to_owned(), after.to_vec());
            StepShape { name, after, has_fallback, on_lost: LostPolicy::Retry, ..StepShape::default() }
        };
        let steps = [step("a", &[], false), step("b", &[], false), step("c", &[0, 1], false), step("d", &[2], true)];
        let mut flow =
            json!({"version": cycod_flow::VERSION, "steps": steps, "at_once": 64, "timeout": ticket.timeout});
        change(&mut ticket, &mut files, &mut flow);
        for (path, bytes) in &files {
            let file = TicketFile { sha256: BlobDigest::of(bytes), executable: false };
            _ = ticket.files.insert(path.clone(), file);
        }
        _ = ada.give_flow(&ticket, &files, &flow, &[]).expect("the hub takes it");
        let mut result = String::new();
        until("a step ends", || {
            let select = format!(
                "SELECT result FROM tasks WHERE run = '{}' AND work LIKE '{{\"attempt%' AND state = 'done'",
                ticket.id
            );
            rows(&team, &select).first().is_some_and(|row| {
                result = row.text(0).expect("a result");
                true
            })
        });
        let result: serde_json::Value = serde_json::from_str(&result).expect("JSON");
        let entry = STANDARD.decode(result["entry"].as_str().expect("a text")).expect("Base64");
        let entry = String::from_utf8_lossy(&entry).into_owned();
        assert!(entry.contains(says), "{says}: {} {entry}", result["answer"]);
        let outcome = &result["answer"]["event"]["ended"]["outcome"];
        assert_eq!(outcome == "succeeded", says == "A-x", "{outcome}");
        ada.cancel(&ticket.id).expect("it ends");
    };
    // The same as an honest device, so that the others are refused for what they change.
    check(&|_, _, _| {}, "A-x");
    check(&|ticket, _, _| ticket.digest = "00".repeat(32), "would do something else here than what the member signed");
    let evil = || FOUR.replace("echo B", "echo evil").into_bytes();
    check(
        &|_, files, _| files.values_mut().for_each(|bytes| *bytes = evil()),
        "would do something else here than what the member signed",
    );
    check(&|ticket, _, _| ticket.arguments = "{\"WHO\": \"x\", \"MORE\": \"y\"}".to_owned(), "MORE");
    check(&|_, _, flow| flow["steps"][0]["on_lost"] = "fail".into(), "does not fit its plan");
    check(&|_, _, flow| flow["at_once"] = 1.into(), "does not fit its plan");
}
