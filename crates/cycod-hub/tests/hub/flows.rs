//! Durable runs, whose steps are tasks: the same for each database. The test is the conductor, and stands in for Restate.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_conductor::{CommitError, FlowCommit, FlowHold, FlowOffer, FlowQuestion, FlowQueue as _};
use cycod_flow::{
    Attempt, AttemptOutcome, FlowEvent, FlowStart, FlowTask, FlowWork, LostAnswer, ScopeId, StepId, StepShape, VERSION,
    WorkAnswer,
};
use cycod_hub::{Hub, HubRefusal, HubStore, Restate, SqlValue, SqliteStore};
use cycod_team::{BytesInParts, StepChanges, TicketWorkspace};
use cycod_team_sync::{
    FleetTasks, GivenTicket, SyncError, TaskTaken, TeamConsent, TeamQuestion, VerifiedTicket, WorkerHub, WorkerMachine,
};
use serde_json::{Value as Json, json};

use crate::{
    fleet::{by_hand, files, labels, tasks, ticket, worker},
    support::{Team, now, refused, served_with},
};

/// What a Restate was told: paths with bodies.
type Heard = Arc<Mutex<Vec<(String, Json)>>>;

/// A server in the place of Restate, which answers with a status.
pub(crate) struct StandIn {
    pub(crate) address: SocketAddr,
    heard: Heard,
    status: Arc<AtomicU16>,
}

impl StandIn {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let address = listener.local_addr().expect("an address");
        let (heard, status) = (Heard::default(), Arc::new(AtomicU16::new(202)));
        let (hears, answers) = (Arc::clone(&heard), Arc::clone(&status));
        let serve = move || {
            for stream in listener.incoming().flatten() {
                let mut stream = BufReader::new(stream);
                let (mut line, mut path, mut length) = (String::new(), String::new(), 0);
                while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                    if let Some(rest) = line.strip_prefix("POST ") {
                        rest.split(' ').next().unwrap_or_default().clone_into(&mut path);
                    }
                    if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                        length = rest.trim().parse().expect("a number");
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                if path.is_empty() || stream.read_exact(&mut body).is_err() {
                    continue;
                }
                let status = answers.load(Ordering::SeqCst);
                if status == 202 {
                    let body = serde_json::from_slice(&body).unwrap_or_default();
                    hears.lock().expect("no panic").push((path, body));
                }
                let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                _ = stream.get_mut().write_all(answer.as_bytes());
            }
        };
        cycod_thread::Thread::named("restate").detach(serve).expect("a thread");
        Self { address, heard, status }
    }

    /// What it was told by a path that ends so, once that many such requests came.
    #[track_caller]
    pub(crate) fn heard(&self, path: &str, count: usize) -> Vec<Json> {
        let mut found = Vec::new();
        for _ in 0..500 {
            let heard = self.heard.lock().expect("no panic");
            found = heard.iter().filter(|(at, _)| at.contains(path)).map(|(_, body)| body.clone()).collect();
            drop(heard);
            if found.len() >= count {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(found.len(), count, "{path}");
        found
    }

    /// Whether it is told exactly this within some seconds.
    fn is_told(&self, path: &str, body: &Json) -> bool {
        (0..500).any(|_| {
            let is_told =
                self.heard.lock().expect("no panic").iter().any(|(at, said)| at.contains(path) && said == body);
            if !is_told {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            is_told
        })
    }
}

/// Steps that wait for nothing.
pub(crate) fn start(steps: usize) -> FlowStart {
    let step = StepShape { name: "deploy".to_owned(), ..StepShape::default() };
    FlowStart { version: VERSION, steps: vec![step; steps], at_once: 64, timeout: 1000 }
}

fn task(index: usize) -> FlowTask {
    FlowTask { step: StepId { scope: ScopeId(0), index }, attempt: Attempt::Number(1), losses: 0 }
}

fn ended(index: usize, outcome: AttemptOutcome) -> FlowEvent {
    FlowEvent::Ended { task: task(index), outcome }
}

fn result(event: FlowEvent, entry: &[u8]) -> Json {
    json!({"answer": WorkAnswer::new(event), "entry": STANDARD.encode(entry)})
}

/// A durable run of Ada's, and a conductor that tells the hub what happens in it.
struct Conducted<'a> {
    hub: &'a Hub,
    run: String,
    number: i64,
}

impl Conducted<'_> {
    fn event(&self, event: FlowEvent, task: Option<&str>, offers: &[FlowWork]) -> FlowCommit {
        let offer = |work: &FlowWork| FlowOffer {
            work: *work,
            labels: Vec::new(),
            awakeable: format!("{work:?}").replace(['{', '}', ' '], ""),
        };
        FlowCommit {
            run: self.run.clone(),
            number: self.number,
            event,
            task: task.map(str::to_owned),
            offers: offers.iter().map(offer).collect(),
            questions: Vec::new(),
            holds: Vec::new(),
            stops: Vec::new(),
            is_over: false,
        }
    }

    /// Tells what happened, twice, as after a crash.
    #[track_caller]
    fn tell(&mut self, commit: &FlowCommit) {
        for _ in 0..2 {
            assert_eq!(self.hub.commit(commit), Ok(()));
        }
        self.number += 1;
    }

    /// Tells that the run began, with an attempt of each step.
    fn begin(&mut self, steps: usize) {
        let offers: Vec<FlowWork> = (0..steps).map(|index| FlowWork::Attempt(task(index))).collect();
        let opened = FlowEvent::Opened { by: None, steps: start(steps).steps, at_once: 64 };
        self.tell(&self.event(opened, None, &offers));
    }
}

/// Everything that a test of durable runs has.
struct Fleet<'a> {
    team: &'a Team,
    hub: &'a Hub,
    ada: FleetTasks,
    one: (WorkerMachine, WorkerHub),
    two: (WorkerMachine, WorkerHub),
    restate: &'a StandIn,
}

impl<'a> Fleet<'a> {
    fn give(&mut self, steps: usize) -> Conducted<'a> {
        self.give_as(&durable(&[]), steps)
    }

    fn give_as(&mut self, ticket: &cycod_team::TicketDocument, steps: usize) -> Conducted<'a> {
        assert_eq!(self.ada.give_flow(ticket, &files(), &json!(start(steps)), &[]), Ok(TaskTaken::Waits));
        let mut conducted = Conducted { hub: self.hub, run: ticket.id.clone(), number: 0 };
        conducted.begin(steps);
        conducted
    }

    /// The states of the tasks of a run.
    fn states(&self, run: &str) -> Vec<String> {
        let mut states = Vec::new();
        let read = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
            let select = "SELECT state FROM tasks WHERE run = $1 ORDER BY id";
            states =
                tx.rows(select, &[SqlValue::from(run)])?.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
            Ok(())
        };
        self.team.store.transaction(read).expect("it reads");
        states
    }
}

fn durable(labels: &[&str]) -> cycod_team::TicketDocument {
    let expires = now().as_second() + 5 * 24 * 3600;
    cycod_team::TicketDocument { durable: true, expires, ..ticket(labels, false) }
}

#[track_caller]
fn claimed((machine, at_hub): &mut (WorkerMachine, WorkerHub)) -> VerifiedTicket {
    let given = at_hub.claim(&[], 0).expect("an answer").expect("a task");
    machine.verified(&given, now().as_second()).expect("a ticket")
}

fn nothing((_, at_hub): &mut (WorkerMachine, WorkerHub)) {
    assert!(at_hub.claim(&[], 0).expect("an answer").is_none());
}

fn report(
    (_, at_hub): &mut (WorkerMachine, WorkerHub),
    of: &VerifiedTicket,
    result: &Json,
) -> Result<cycod_team_sync::ReportAnswer, SyncError> {
    at_hub.report((of.task(), of.fence), (0, &[]), Some(result))
}

/// Everything about durable runs, at a hub with this database.
pub(crate) fn durable_runs(store: Arc<dyn HubStore>) {
    let team = Team::new(store);
    let without = team.served();
    let mut ada = tasks(&team, &without, "ada");
    let why = "durable runs need Restate, and the hub was started without it".to_owned();
    assert_eq!(ada.give_flow(&durable(&[]), &files(), &json!(start(1)), &[]), Ok(TaskTaken::NoFlows(why)));

    let restate = StandIn::start();
    let hub = team.other();
    hub.use_restate(Restate::at(restate.address).expect("an address of this machine"));
    let source = served_with(hub.clone(), |error| assert!(error.message.contains("(503)"), "{error}"));
    let [ada, mut cem, mut dana] = ["ada", "cem", "dana"].map(|name| tasks(&team, &source, name));
    let [mut one, mut two] = ["one", "two"].map(|name| worker(&team, &source, name));
    nothing(&mut one);
    nothing(&mut two);
    let mut fleet = Fleet { team: &team, hub: &hub, ada, one, two, restate: &restate };
    given(&mut fleet, &mut cem);
    told_in_order(&mut fleet);
    claimed_in_order(&mut fleet);
    whole(&mut fleet);
    lost(&mut fleet);
    kept(&mut fleet);
    asked(&mut fleet, [&mut cem, &mut dana]);
    consented(&mut fleet, [&mut cem, &mut dana]);
    stopped(&mut fleet);
    changed(&mut fleet);
    forged(&mut fleet);
    too_much(&mut fleet);
    over(&mut fleet);
}

/// What a worker does only with consent waits for an answer that a device signed which the worker knows.
fn consented(fleet: &mut Fleet<'_>, [cem, dana]: [&mut FleetTasks; 2]) {
    let attempt = FlowWork::Attempt(task(0));
    fleet.one.0.approvers = [("cem".to_owned(), cem.device())].into();
    let mut run = fleet.give(1);
    let held = claimed(&mut fleet.one);
    let question = fleet.one.0.question(&held, json!({"rule": "a rule", "level": "run"})).expect("a question");
    let asks = result(FlowEvent::Asked(attempt), question.as_bytes());
    refused(report(&mut fleet.one, &held, &result(FlowEvent::Asked(attempt), b"what?")), "can't be read");
    refused(
        report(&mut fleet.one, &held, &result(FlowEvent::Asked(FlowWork::Attempt(task(1))), question.as_bytes())),
        "of another step",
    );
    assert!(!report(&mut fleet.one, &held, &asks).expect("it is taken").over);
    let asked = WorkAnswer::new(FlowEvent::Asked(attempt));
    assert!(fleet.restate.is_told("Attempt", &json!({"task": held.task(), "answer": asked})));
    let awakeable = format!("held-{}", run.run);
    let holds = vec![FlowHold { work: attempt, awakeable: awakeable.clone() }];
    run.tell(&FlowCommit { holds, ..run.event(FlowEvent::Asked(attempt), Some(held.task()), &[]) });
    // The conductor can't say what no one did.
    let early = run.event(FlowEvent::Resumed(attempt), None, &[attempt]);
    assert_eq!(fleet.hub.commit(&early), Err(CommitError::Failed("the question is still open".to_owned())));
    nothing(&mut fleet.one);

    let seen = cem.consents().expect("an answer");
    let [consent] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((&consent.run, consent.worker.as_str()), (&run.run, "one"));
    assert_eq!((&consent.steps[..], &consent.document), (&["deploy".to_owned()][..], &question));
    assert_eq!(consent.expires - consent.asked, 3 * 24 * 3600);
    // Its member and an administrator see it, but the worker knows only Cem.
    assert_eq!([fleet.ada.consents(), dana.consents()], [Ok(seen.clone()), Ok(seen.clone())]);
    refused(fleet.ada.consent(consent, true, None), "`one` takes no approval from this device");
    refused(dana.consent(consent, false, None), "`one` takes no approval from this device");
    // Another text than the worker wrote is another question.
    let other = TeamConsent { document: consent.document.replace("a rule", "a lie"), ..consent.clone() };
    refused(cem.consent(&other, true, None), "there is no such question");
    cem.consent(consent, true, None).expect("it is taken");
    refused(cem.consent(consent, false, None), "`cem` has answered already");
    let body = json!({"work": attempt});
    assert_eq!(fleet.restate.heard(&format!("/restate/awakeables/{awakeable}/resolve"), 1), [body]);
    run.tell(&run.event(FlowEvent::Resumed(attempt), None, &[attempt]));
    let seen = fleet.ada.watch_flow(&run.run, 0, 0).expect("a state").expect("it is hers");
    let entries: Vec<Json> = seen
        .pieces
        .iter()
        .filter_map(|piece| piece.fact.as_ref()?.entry())
        .filter(|entry| !entry.is_empty())
        .map(|entry| serde_json::from_slice(&entry).expect("JSON"))
        .collect();
    assert_eq!(
        entries,
        [
            json!({"step": "deploy", "worker": "one", "rule": "a rule", "approvers": ["cem"]}),
            json!({"step": "deploy", "by": "cem", "approved": true, "reason": null}),
        ]
    );
    // The worker has the answer; one that knows someone else has none.
    let again = claimed(&mut fleet.one);
    let again_asked = fleet.one.0.question(&again, json!({"rule": "a rule", "level": "run"})).expect("a question");
    assert_eq!(again_asked, question, "it asks the same");
    assert_eq!(again.answer_to(&question).map(|answer| answer.approved), Some(true));
    assert!(!again.is_closed(&question));
    assert_eq!(again.answer_to(&question.replace("a rule", "another")), None);
    // It asks the same once more: nothing can come of that.
    _ = report(&mut fleet.one, &again, &asks).expect("it is taken");
    let holds = vec![FlowHold { work: attempt, awakeable: format!("{awakeable}-2") }];
    run.tell(&FlowCommit { holds, ..run.event(FlowEvent::Asked(attempt), Some(again.task()), &[]) });
    _ = fleet.restate.heard(&format!("/restate/awakeables/{awakeable}-2/resolve"), 1);
    run.tell(&run.event(FlowEvent::Resumed(attempt), None, &[attempt]));
    let last = claimed(&mut fleet.one);
    assert!(last.is_closed(&question));
    // Someone at the hub gives it the answer of another device.
    by_hand(
        fleet.team,
        &format!("UPDATE consents SET answer = REPLACE(answer, '{}', '{}')", cem.device(), fleet.ada.device()),
    );
    by_hand(fleet.team, "UPDATE tasks SET state = 'waiting' WHERE state = 'leased'");
    assert_eq!(claimed(&mut fleet.one).answers, []);
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");
    by_hand(fleet.team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");
    fleet.one.0.approvers.clear();
}

/// Only what can be a durable run is taken, and Restate learns of it whenever it answers.
fn given(fleet: &mut Fleet<'_>, cem: &mut FleetTasks) {
    let Fleet { ada, restate, .. } = fleet;
    let one = json!(start(1));
    refused(ada.give(&durable(&[]), &files()), "only a durable run has a flow");
    refused(ada.give_flow(&ticket(&[], false), &files(), &one, &[]), "only a durable run has a flow");
    refused(ada.give_flow(&durable(&[]), &files(), &json!({"steps": []}), &[]), "the flow can't be read");
    let newer = json!(FlowStart { version: VERSION + 1, ..start(1) });
    refused(ada.give_flow(&durable(&[]), &files(), &newer, &[]), "of another version than this hub");
    refused(ada.give_flow(&durable(&[]), &files(), &json!(start(2000)), &[]), "too many steps");
    let expires = now().as_second() + 8 * 24 * 3600;
    let later = cycod_team::TicketDocument { expires, ..durable(&[]) };
    refused(ada.give_flow(&later, &files(), &one, &[]), "valid for too long");

    // What a step needs must be there when the run begins.
    let needs = |label: &str| [vec![label.to_owned()]];
    let lacks = TaskTaken::NoWorker("no worker offers `tpu`: the nearest is `one`".to_owned());
    assert_eq!(ada.give_flow(&durable(&[]), &files(), &one, &needs("tpu")), Ok(lacks));
    refused(ada.give_flow(&durable(&[]), &files(), &one, &needs("a b")), "a label is none");
    refused(ada.give_flow(&durable(&[]), &files(), &one, &vec![Vec::new(); 1001]), "too many kinds of workers");

    restate.status.store(503, Ordering::SeqCst);
    let first = durable(&[]);
    assert_eq!(ada.give_flow(&first, &files(), &one, &[]), Ok(TaskTaken::Waits));
    refused(ada.give_flow(&first, &files(), &one, &[]), "was given before");
    assert_eq!(cem.watch_flow(&first.id, 0, 0), Ok(None), "it isn't Cem's");
    refused(cem.cancel(&first.id), "there is no such task");
    assert_eq!(ada.watch_flow(&first.id, 0, 0).expect("a state").expect("it is hers").state, "running");
    restate.status.store(202, Ordering::SeqCst);
    assert_eq!(restate.heard(&format!("/ToolRun/{}/run/send", first.id), 1), [one]);
}

/// Steps that began together start in their order, whatever order the database has them in.
fn claimed_in_order(fleet: &mut Fleet<'_>) {
    let run = fleet.give(12);
    by_hand(fleet.team, "UPDATE tasks SET labels = labels WHERE id LIKE '%.3'");
    for index in 0..12 {
        let claim = claimed(&mut fleet.one);
        let work = &claim.step.as_ref().expect("a step").work;
        assert_eq!(serde_json::from_str::<FlowWork>(work).expect("work"), FlowWork::Attempt(task(index)));
    }
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");
    by_hand(fleet.team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");
}

/// What happens is told once and in order.
fn told_in_order(fleet: &mut Fleet<'_>) {
    let mut run = fleet.give(1);
    assert_eq!(fleet.states(&run.run), ["waiting"], "what was told twice starts once");
    let failed = |why: &str| Err(CommitError::Failed(why.to_owned()));
    let other = FlowCommit { number: 0, ..run.event(FlowEvent::Cancelled, None, &[]) };
    assert_eq!(fleet.hub.commit(&other), failed("another event has this number"));
    let later = FlowCommit { number: 2, ..run.event(FlowEvent::Cancelled, None, &[]) };
    assert_eq!(fleet.hub.commit(&later), failed("an event before this one is missing"));
    let unknown = FlowCommit { run: "00".repeat(16), ..run.event(FlowEvent::Cancelled, None, &[]) };
    assert_eq!(fleet.hub.commit(&unknown), Err(CommitError::Gone));

    // A result that no worker reported.
    let verified = claimed(&mut fleet.one);
    let done = ended(0, AttemptOutcome::Failed);
    _ = report(&mut fleet.one, &verified, &result(done, b"")).expect("it is taken");
    let changed = run.event(ended(0, AttemptOutcome::Succeeded), Some(verified.task()), &[]);
    assert_eq!(fleet.hub.commit(&changed), failed("the event is not what came of the task"));
    let foreign = run.event(ended(0, AttemptOutcome::Failed), Some("nothing"), &[]);
    assert!(matches!(fleet.hub.commit(&foreign), Err(CommitError::Failed(_))));
    run.tell(&FlowCommit { is_over: true, ..run.event(ended(0, AttemptOutcome::Failed), Some(verified.task()), &[]) });
}

/// A run from its beginning to its end, over two workers.
fn whole(fleet: &mut Fleet<'_>) {
    let mut run = fleet.give(2);
    let [first, second] = [claimed(&mut fleet.one), claimed(&mut fleet.two)];
    nothing(&mut fleet.one);
    let step = first.step.as_ref().expect("a step");
    let work = |text: &str| serde_json::from_str::<FlowWork>(text).expect("work");
    assert_eq!((work(&step.work), &step.past.run), (FlowWork::Attempt(task(0)), &run.run));
    assert_eq!((step.past.facts.len(), first.files.len()), (1, 1), "it has what happened before, and the files");
    assert_eq!(first.document.id, run.run);

    // The device sees what happens in the order in which the hub learned it.
    let lease = (first.task().to_owned(), first.fence);
    let said = [json!({"e": "out", "text": "one"})];
    _ = fleet.one.1.report((&lease.0, lease.1), (1, &said), None).expect("it is taken");
    refused(report(&mut fleet.one, &first, &result(ended(1, AttemptOutcome::Succeeded), b"")), "of another step");
    refused(report(&mut fleet.one, &first, &json!({"success": true})), "the result can't be read");
    let event = ended(0, AttemptOutcome::Succeeded);
    _ = report(&mut fleet.one, &first, &result(event.clone(), b"what is known")).expect("it is taken");
    let path = format!("/restate/awakeables/{:?}/resolve", FlowWork::Attempt(task(0))).replace(['{', '}', ' '], "");
    let answer = json!({"task": lease.0, "answer": WorkAnswer::new(event.clone())});
    assert_eq!(fleet.restate.heard(&path, 2).last(), Some(&answer), "Restate learns how it ended, and no more");
    run.tell(&run.event(event, Some(&lease.0), &[]));
    let seen = fleet.ada.watch_flow(&run.run, 0, 0).expect("a state").expect("it is hers");
    assert_eq!(seen.state, "running");
    let facts: Vec<_> = seen.pieces.iter().map(|piece| piece.fact.as_ref().map(|fact| fact.number)).collect();
    assert_eq!(facts, [Some(0), None, Some(1)]);
    assert_eq!(seen.pieces[1].events, said);
    let fact = seen.pieces[2].fact.as_ref().expect("a fact");
    assert_eq!((fact.worker.as_str(), fact.entry()), ("one", Some(b"what is known".to_vec())));

    let event = ended(1, AttemptOutcome::Succeeded);
    _ = report(&mut fleet.two, &second, &result(event.clone(), b"")).expect("it is taken");
    let cleanup = FlowWork::CleanUp(ScopeId(0));
    run.tell(&run.event(event, Some(second.task()), &[cleanup]));
    let last = claimed(&mut fleet.two);
    assert_eq!(last.step.as_ref().expect("a step").past.facts.len(), 3);
    let event = FlowEvent::CleanedUp(ScopeId(0));
    _ = report(&mut fleet.two, &last, &result(event.clone(), b"")).expect("it is taken");
    run.tell(&FlowCommit { is_over: true, ..run.event(event, Some(last.task()), &[]) });
    // What the device hasn't seen yet, it still gets; then the run is over.
    let seen = fleet.ada.watch_flow(&run.run, 3, 0).expect("a state").expect("it is hers");
    let (last, count) = (seen.pieces.last().expect("a piece").number, seen.pieces.len());
    assert_eq!((seen.state.as_str(), count), ("done", 2));
    assert!(fleet.ada.watch_flow(&run.run, last, 0).expect("a state").expect("it is hers").pieces.is_empty());
}

/// A worker that doesn't report has lost its step, and what it says later doesn't count.
fn lost(fleet: &mut Fleet<'_>) {
    let away = |fleet: &Fleet<'_>| by_hand(fleet.team, "UPDATE tasks SET lease_until = 1 WHERE state = 'leased'");
    let mut run = fleet.give(1);
    let frozen = claimed(&mut fleet.one);
    away(fleet);
    nothing(&mut fleet.two);
    assert_eq!(fleet.states(&run.run), ["lost"]);
    let lost = FlowEvent::Lost(task(0));
    let late = report(&mut fleet.one, &frozen, &result(ended(0, AttemptOutcome::Succeeded), b"late"));
    assert!(late.expect("an answer").over);
    let answers = |fleet: &Fleet<'_>| {
        let heard = fleet.restate.heard.lock().expect("no panic");
        heard.iter().map(|(_, body)| body.clone()).filter(|body| body["task"] == frozen.task()).collect::<Vec<_>>()
    };
    let expected = json!({"task": frozen.task(), "answer": WorkAnswer::new(lost.clone())});
    for _ in 0..500 {
        if !answers(fleet).is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(answers(fleet), [expected]);

    // It goes on with another worker; the same fence of another task is no lease of this one.
    let again = FlowWork::Attempt(FlowTask { losses: 1, ..task(0) });
    run.tell(&run.event(lost, Some(frozen.task()), &[again]));
    let seen = fleet.ada.watch_flow(&run.run, 1, 0).expect("a state").expect("it is hers");
    assert_eq!(
        seen.pieces[0].fact.as_ref().map(|fact| fact.worker.as_str()),
        Some("one"),
        "it is known which was lost"
    );
    let second = claimed(&mut fleet.two);
    assert_ne!(second.task(), frozen.task());
    let stolen = fleet.one.1.report((second.task(), second.fence), (0, &[]), Some(&json!({})));
    assert!(stolen.expect("an answer").over, "the task is another worker's");
    let event = FlowEvent::Ended { task: FlowTask { losses: 1, ..task(0) }, outcome: AttemptOutcome::Succeeded };
    _ = report(&mut fleet.two, &second, &result(event.clone(), b"")).expect("it is taken");

    // A cleanup is given to others, until it has ended three of them.
    let cleanup = FlowWork::CleanUp(ScopeId(0));
    run.tell(&run.event(event, Some(second.task()), &[cleanup]));
    let last = claimed(&mut fleet.one);
    away(fleet);
    for _ in 0..2 {
        assert_eq!(claimed(&mut fleet.one).task(), last.task());
        away(fleet);
    }
    nothing(&mut fleet.two);
    assert_eq!(fleet.states(&run.run), ["lost", "done", "lost"]);
    let heard = fleet.restate.heard("CleanUp", 2);
    assert_eq!(heard[1], json!({"task": last.task(), "answer": cleanup.lost()}));
    let event = FlowEvent::CleanedUp(ScopeId(0));
    run.tell(&FlowCommit { is_over: true, ..run.event(event, Some(last.task()), &[]) });
}

/// A run that stays with its worker goes to another one only if that is lost, away, or doesn't offer what a step needs.
fn kept(fleet: &mut Fleet<'_>) {
    let document = cycod_team::TicketDocument { keep_on: true, ..durable(&[]) };
    let mut run = fleet.give_as(&document, 1);
    let goes_on = |fleet: &mut Fleet<'_>, run: &mut Conducted<'_>, had: &VerifiedTicket, by_one: bool| {
        let event = ended(0, AttemptOutcome::Failed);
        let worker = if by_one { &mut fleet.one } else { &mut fleet.two };
        _ = report(worker, had, &result(event.clone(), b"")).expect("it is taken");
        run.tell(&run.event(event, Some(had.task()), &[FlowWork::Attempt(task(0))]));
    };
    let had = claimed(&mut fleet.one);
    goes_on(fleet, &mut run, &had, true);
    nothing(&mut fleet.two);
    let had = claimed(&mut fleet.one);
    goes_on(fleet, &mut run, &had, true);
    // It is away.
    nothing(&mut fleet.two);
    by_hand(fleet.team, "UPDATE workers SET seen = 1 WHERE name = 'one'");
    let had = claimed(&mut fleet.two);
    goes_on(fleet, &mut run, &had, false);
    nothing(&mut fleet.one);
    // Its worker doesn't offer what the next step needs.
    by_hand(fleet.team, "UPDATE tasks SET labels = 'gpu' WHERE state = 'waiting'");
    nothing(&mut fleet.two);
    let given = fleet.one.1.claim(&labels(&["gpu"]), 0).expect("an answer").expect("a task");
    let had = fleet.one.0.verified(&given, now().as_second()).expect("a ticket");
    // It is lost with a step.
    by_hand(fleet.team, "UPDATE tasks SET lease_until = 1 WHERE state = 'leased'");
    nothing(&mut fleet.two);
    run.tell(&run.event(FlowEvent::Lost(task(0)), Some(had.task()), &[FlowWork::Attempt(task(0))]));
    _ = claimed(&mut fleet.two);
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");
    by_hand(fleet.team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");
}

/// A run whose only step is lost, about which the conductor asks; with where Restate takes the answer, and what
/// the worker has.
fn loses<'a>(fleet: &mut Fleet<'a>) -> (Conducted<'a>, String, VerifiedTicket) {
    let mut run = fleet.give(1);
    let frozen = claimed(&mut fleet.one);
    by_hand(fleet.team, "UPDATE tasks SET lease_until = 1 WHERE state = 'leased'");
    nothing(&mut fleet.two);
    let awakeable = format!("asked-{}", run.run);
    let questions = vec![FlowQuestion { about: task(0), awakeable: awakeable.clone() }];
    run.tell(&FlowCommit { questions, ..run.event(FlowEvent::Lost(task(0)), Some(frozen.task()), &[]) });
    (run, format!("/restate/awakeables/{awakeable}/resolve"), frozen)
}

/// A member decides about a step that was lost. The answer counts once, and only that of someone who may give it.
fn asked(fleet: &mut Fleet<'_>, [cem, dana]: [&mut FleetTasks; 2]) {
    let said = |answer: LostAnswer| FlowEvent::Answered { task: task(0), answer };
    let told = |answer: LostAnswer| json!({"about": task(0), "answer": answer});

    let (mut run, path, _) = loses(fleet);
    let questions = fleet.ada.questions().expect("an answer");
    let [question] = &questions[..] else { panic!("{questions:?}") };
    assert_eq!((question.run.as_str(), question.tool.as_str()), (run.run.as_str(), "deploy"));
    assert_eq!([&question.member, &question.step, &question.worker], ["ada", "deploy", "one"]);
    assert_eq!(question.expires - question.asked, 3 * 24 * 3600);
    let again = json!(LostAnswer::Again);
    assert_eq!(cem.questions().expect("an answer"), [], "it is Ada's run");
    refused(cem.answer_question(question, &again), "there is no such question");
    refused(fleet.ada.answer_question(question, &json!("maybe")), "can't be read");
    // The conductor can't say what no one did.
    let early = run.event(said(LostAnswer::Again), None, &[]);
    assert_eq!(fleet.hub.commit(&early), Err(CommitError::Failed("no one gave this answer".to_owned())));
    assert_eq!(dana.questions().expect("an answer"), questions, "an administrator may decide");
    dana.answer_question(question, &again).expect("it is taken");
    refused(fleet.ada.answer_question(question, &json!(LostAnswer::Stop)), "`dana` has decided already: again");
    assert_eq!(fleet.ada.questions().expect("an answer"), []);
    assert_eq!(fleet.restate.heard(&path, 1), [told(LostAnswer::Again)]);
    let other = run.event(said(LostAnswer::Done), None, &[]);
    assert_eq!(fleet.hub.commit(&other), Err(CommitError::Failed("no one gave this answer".to_owned())));
    run.tell(&run.event(said(LostAnswer::Again), None, &[FlowWork::Attempt(FlowTask { losses: 1, ..task(0) })]));
    let seen = fleet.ada.watch_flow(&run.run, 2, 0).expect("a state").expect("it is hers");
    let entry = seen.pieces.iter().filter_map(|piece| piece.fact.as_ref()?.entry()).next_back().expect("a fact");
    let entry: Json = serde_json::from_slice(&entry).expect("JSON");
    assert_eq!(entry, json!({"step": "deploy", "by": "dana"}), "the journal gets who decided");
    // The time of the run began again.
    by_hand(fleet.team, "UPDATE flows SET made = 1 WHERE state = 'running'");
    assert!(claimed(&mut fleet.two).step.expect("a step").past.elapsed < 60_000);
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");
    by_hand(fleet.team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");

    // It was done, and the worker says so late.
    let (mut run, path, frozen) = loses(fleet);
    let event = ended(0, AttemptOutcome::Succeeded);
    assert!(report(&mut fleet.one, &frozen, &result(event.clone(), b"what is known")).expect("an answer").over);
    let question = &fleet.ada.questions().expect("an answer")[0];
    assert_eq!(question.late, frozen.task());
    fleet.ada.answer_question(question, &json!(LostAnswer::Done)).expect("it is taken");
    let came = json!({"task": frozen.task(), "answer": WorkAnswer::new(event.clone())});
    assert_eq!(fleet.restate.heard(&path, 1), [json!({"about": task(0), "answer": "done", "late": came})]);
    run.tell(&run.event(event, Some(frozen.task()), &[]));
    let seen = fleet.ada.watch_flow(&run.run, 2, 0).expect("a state").expect("it is hers");
    let fact = seen.pieces.iter().filter_map(|piece| piece.fact.as_ref()).next_back().expect("a fact");
    assert_eq!((fact.entry().as_deref(), fact.worker.as_str()), (Some(&b"what is known"[..]), "one"));
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");

    // One that says that the step has failed doesn't count.
    let (mut run, path, frozen) = loses(fleet);
    let failed = result(ended(0, AttemptOutcome::Failed), b"what is known");
    assert!(report(&mut fleet.one, &frozen, &failed).expect("an answer").over);
    let question = &fleet.ada.questions().expect("an answer")[0];
    fleet.ada.answer_question(question, &json!(LostAnswer::Done)).expect("it is taken");
    assert_eq!(fleet.restate.heard(&path, 1), [told(LostAnswer::Done)]);
    run.tell(&run.event(said(LostAnswer::Done), None, &[]));
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");

    // No one decides in time.
    let (mut run, path, _) = loses(fleet);
    by_hand(fleet.team, "UPDATE flow_questions SET expires = 1 WHERE state = 'open'");
    refused(
        fleet.ada.answer_question(&TeamQuestion { run: run.run.clone(), ..question.clone() }, &again),
        "no one decided in time",
    );
    nothing(&mut fleet.two);
    assert_eq!(fleet.restate.heard(&path, 1), [told(LostAnswer::Stop)]);
    run.tell(&run.event(said(LostAnswer::Stop), None, &[]));
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");

    // The run is cancelled.
    let (run, path, _) = loses(fleet);
    fleet.ada.cancel(&run.run).expect("it is cancelled");
    assert_eq!(fleet.ada.questions().expect("an answer"), []);
    refused(
        fleet.ada.answer_question(&TeamQuestion { run: run.run.clone(), ..question.clone() }, &again),
        "the run has ended",
    );
    assert_eq!(fleet.restate.heard(&path, 0), [Json::Null; 0]);
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");
}

/// What is cancelled or out of time ends: what runs with its next report, what waits at once.
fn stopped(fleet: &mut Fleet<'_>) {
    let beats = |fleet: &mut Fleet<'_>, of: &VerifiedTicket| {
        fleet.one.1.report((of.task(), of.fence), (0, &[]), None).expect("an answer").stop
    };
    // The time of the run.
    let mut run = fleet.give(2);
    let running = claimed(&mut fleet.one);
    assert!(!beats(fleet, &running));
    let stops = vec![FlowWork::Attempt(task(0)), FlowWork::Attempt(task(1))];
    run.tell(&FlowCommit { stops, ..run.event(FlowEvent::OutOfTime(ScopeId(0)), None, &[]) });
    assert!(beats(fleet, &running));
    nothing(&mut fleet.two);
    assert_eq!(fleet.states(&run.run), ["leased", "withdrawn"]);
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");
    let seen = fleet.ada.watch_flow(&run.run, 2, 0).expect("a state").expect("it is hers");
    assert_eq!(seen.state, "broken");
    assert!(seen.pieces[0].events[0]["text"].as_str().expect("a text").contains("it is only a test"), "{seen:?}");
    assert_eq!(fleet.hub.commit(&run.event(FlowEvent::Cancelled, None, &[])), Err(CommitError::Gone));

    // Ada ends it, and what starts after that doesn't wait for a worker.
    let mut run = fleet.give(1);
    let running = claimed(&mut fleet.one);
    fleet.ada.cancel(&run.run).expect("it is cancelled");
    assert!(beats(fleet, &running));
    assert_eq!(fleet.restate.heard(&format!("/ToolRun/{}/cancel/send", run.run), 1).len(), 1);
    let event = ended(0, AttemptOutcome::Failed);
    _ = report(&mut fleet.one, &running, &result(event.clone(), b"")).expect("it is taken");
    // Restate may pass that on before the cancellation, and then the conductor knows what comes first.
    let path = format!("/restate/awakeables/{:?}/resolve", FlowWork::Attempt(task(0))).replace(['{', '}', ' '], "");
    let answer = json!({"task": running.task(), "answer": WorkAnswer::new(event.clone()), "is_cancelled": true});
    assert!(fleet.restate.is_told(&path, &answer), "the answer of {} comes with the cancellation", running.task());
    let offers = [FlowWork::Attempt(task(1)), FlowWork::CleanUp(ScopeId(0))];
    run.tell(&run.event(event, Some(running.task()), &offers));
    let cleanup = claimed(&mut fleet.two);
    let work = &cleanup.step.as_ref().expect("a step").work;
    assert_eq!(serde_json::from_str::<FlowWork>(work).expect("work"), offers[1]);
    assert_eq!(fleet.states(&run.run), ["done", "withdrawn", "leased"]);
    let event = FlowEvent::CleanedUp(ScopeId(0));
    _ = report(&mut fleet.two, &cleanup, &result(event.clone(), b"")).expect("it is taken");
    run.tell(&FlowCommit { is_over: true, ..run.event(event, Some(cleanup.task()), &[]) });
}

/// What a hub in other hands can't make a worker take for a step.
fn forged(fleet: &mut Fleet<'_>) {
    let other = fleet.give(0);
    let mut check = |changes: &[&str], says: &str| {
        let run = fleet.give(1);
        changes.iter().for_each(|change| by_hand(fleet.team, change));
        let given = fleet.one.1.claim(&[], 0).expect("an answer").expect("a task");
        refused(fleet.one.0.verified(&given, now().as_second()), says);
        fleet.hub.give_up(&run.run, "forged").expect("it ends");
        by_hand(fleet.team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");
    };
    let tool =
        "UPDATE tasks SET ticket = REPLACE(ticket, '\"tool\":\"deploy\"', '\"tool\":\"evil\"') WHERE state = 'waiting'";
    check(&[tool], "no device of ada signed the ticket");
    // All of a run in the place of a step, with the files.
    let files_too = "INSERT INTO task_files (task, path, bytes) SELECT task || '.0.0', path, bytes FROM task_files";
    check(&["UPDATE tasks SET run = '', work = '' WHERE state = 'waiting'", files_too], "a run of another kind");
    check(&[&format!("UPDATE tasks SET run = '{}' WHERE state = 'waiting'", other.run)], "happened in another run");
    // A ticket for all of a run is no ticket for a step.
    let plain = ticket(&[], false);
    assert_eq!(fleet.ada.give(&plain, &files()), Ok(TaskTaken::Waits));
    let change = format!("UPDATE tasks SET run = '{}', work = '{{\"clean-up\":0}}' WHERE state = 'waiting'", other.run);
    by_hand(fleet.team, &change);
    let given = fleet.one.1.claim(&[], 0).expect("an answer").expect("a task");
    refused(fleet.one.0.verified(&given, now().as_second()), "a run of another kind");
    by_hand(fleet.team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");

    // What changes on the way: what happened before, and which step it is.
    let run = fleet.give(1);
    let given = fleet.one.1.claim(&[], 0).expect("an answer").expect("a task");
    let json = serde_json::to_value(&given).expect("JSON");
    let on_the_way = |name: &str, from: &str, to: &str, says: &str| {
        let mut json = json.clone();
        let field = json.pointer_mut(name).expect("a field");
        let text = field.as_str().expect("a text").replace(from, to);
        assert_ne!(field.as_str(), Some(text.as_str()));
        *field = text.into();
        let changed: GivenTicket = serde_json::from_value(json).expect("a ticket");
        refused(fleet.one.0.verified(&changed, now().as_second()), says);
    };
    on_the_way("/past", "\"at_once\":64", "\"at_once\":65", "something else than the lease names");
    on_the_way("/lease/document", "\\\"index\\\":0", "\\\"index\\\":1", "the hub's key didn't sign the lease");
    fleet.hub.give_up(&run.run, "forged").expect("it ends");
    by_hand(fleet.team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");
    fleet.hub.give_up(&other.run, "forged").expect("it ends");
}

/// Results and events have limits.
fn too_much(fleet: &mut Fleet<'_>) {
    let run = fleet.give(2);
    let [first, second] = [claimed(&mut fleet.one), claimed(&mut fleet.two)];
    by_hand(fleet.team, &format!("UPDATE flows SET stored = 8000000 WHERE run = '{}'", run.run));
    let large = result(ended(0, AttemptOutcome::Succeeded), &vec![b'x'; 500_000]);
    refused(report(&mut fleet.one, &first, &large), "have no room");
    // That there is no room has room.
    let small = result(ended(0, AttemptOutcome::Forbidden), b"no room");
    assert!(!report(&mut fleet.one, &first, &small).expect("an answer").over);

    let lease = (second.task(), second.fence);
    let events = |text: &str| [json!({"e": "out", "text": text}), json!({"e": "begin"})];
    _ = fleet.two.1.report(lease, (1, &events("first")), None).expect("it is taken");
    let more = format!("UPDATE task_pieces SET body = '[\"{}\"]' WHERE task = '{}'", "x".repeat(9 << 20), run.run);
    by_hand(fleet.team, &more);
    for piece in 2..4 {
        _ = fleet.two.1.report(lease, (piece, &events("more")), None).expect("it is taken");
    }
    by_hand(fleet.team, &format!("DELETE FROM task_pieces WHERE task = '{}' AND number < 3", run.run));
    let seen = fleet.ada.watch_flow(&run.run, 0, 0).expect("a state").expect("it is hers");
    let all: Vec<&Json> = seen.pieces.iter().flat_map(|piece| &piece.events).collect();
    let kinds: Vec<&str> = all.iter().filter_map(|event| event["e"].as_str()).collect();
    assert_eq!(kinds, ["begin", "warning", "begin"], "the output is cut, and that is said once");
    fleet.hub.give_up(&run.run, "it is only a test").expect("it ends");
    by_hand(fleet.team, "UPDATE tasks SET state = 'lost' WHERE state = 'leased'");
}

/// Runs that take too long end, and those that ended long ago are forgotten.
fn over(fleet: &mut Fleet<'_>) {
    fleet.restate.status.store(503, Ordering::SeqCst);
    let run = fleet.give(1);
    let waiting = |fleet: &Fleet<'_>| {
        let mut made = Vec::new();
        let read = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
            let select = format!("SELECT made FROM flow_outbox WHERE id LIKE '%{}%' ORDER BY made", run.run);
            let rows = tx.rows(&select, &[])?;
            made = rows.iter().map(|row| row.number(0)).collect::<Result<_, _>>()?;
            Ok(())
        };
        fleet.team.store.transaction(read).expect("it reads");
        made
    };
    // What Restate refuses lets the others go first.
    by_hand(fleet.team, "UPDATE flow_outbox SET made = 1");
    for _ in 0..500 {
        if waiting(fleet)[0] > 1 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(waiting(fleet)[0] > 1);
    by_hand(fleet.team, &format!("UPDATE flows SET expires = 1 WHERE run = '{}'", run.run));
    nothing(&mut (worker(fleet.team, &fleet.team.served(), "three")));
    let seen = fleet.ada.watch_flow(&run.run, 1, 0).expect("a state").expect("it is hers");
    assert_eq!(seen.state, "expired");
    assert_eq!(fleet.states(&run.run), ["withdrawn"]);
    by_hand(fleet.team, &format!("UPDATE flows SET ended = 1 WHERE run = '{}'", run.run));
    nothing(&mut fleet.one);
    assert_eq!(fleet.ada.watch_flow(&run.run, 0, 0), Ok(None));
    assert_eq!(fleet.states(&run.run), [""; 0]);
    assert_eq!(waiting(fleet), [0_i64; 0], "Restate gets nothing more about it");
}

/// What steps change in the files of the project is taken in one order, and each worker knows all of it that was before.
fn changed(fleet: &mut Fleet<'_>) {
    let bytes = b"the files of the project".to_vec();
    let with = |changes| {
        let workspace = TicketWorkspace { files: BytesInParts::of(&bytes), directory: String::new(), changes };
        cycod_team::TicketDocument { workspace: Some(workspace), ..durable(&[]) }
    };
    let well = AttemptOutcome::Succeeded;
    let bring = |(_, at_hub): &mut (WorkerMachine, WorkerHub), of: &VerifiedTicket, text: &str| {
        at_hub.bring((of.task(), of.fence), text.as_bytes()).expect("it is brought")
    };
    let told = |index: usize, files: &BytesInParts, after: usize| {
        let mut result = result(ended(index, well), b"done");
        result["changes"] = json!(StepChanges { files: files.clone(), after });
        result
    };
    let ticket = with(true);
    let begin = json!(start(3));
    let missing = "doesn't have all files of the project";
    refused(fleet.ada.give_flow(&ticket, &files(), &begin, &[]), missing);
    fleet.ada.bring(&ticket.id, &bytes).expect("it is brought");
    assert_eq!(fleet.ada.give_flow(&ticket, &files(), &begin, &[]), Ok(TaskTaken::Waits));
    refused(fleet.ada.bring(&ticket.id, b"more"), "was given before");
    let mut run = Conducted { hub: fleet.hub, run: ticket.id.clone(), number: 0 };
    run.begin(3);
    let (first, second) = (claimed(&mut fleet.one), claimed(&mut fleet.two));
    let past = |of: &VerifiedTicket| of.step.as_ref().expect("a step").past.changes.clone();
    assert_eq!((past(&first), past(&second)), (Vec::new(), Vec::new()));
    // Each step has them, and only its worker gets them.
    let of_project = BytesInParts::of(&bytes);
    assert_eq!(fleet.two.1.fetch((second.task(), second.fence), &of_project), Ok(bytes.clone()));
    refused(fleet.one.1.fetch((second.task(), second.fence), &of_project), "doesn't have the task");

    let (one, two) = (bring(&mut fleet.one, &first, "one"), bring(&mut fleet.two, &second, "two"));
    refused(report(&mut fleet.one, &first, &told(0, &BytesInParts::of(b"other"), 0)), "all parts of the changes");
    refused(report(&mut fleet.one, &first, &told(0, &one, 1)), "no such changes");
    let taken = report(&mut fleet.one, &first, &told(0, &one, 0)).expect("an answer");
    assert!(!taken.over && taken.behind.is_none());
    let late = report(&mut fleet.two, &second, &told(1, &two, 0)).expect("an answer");
    assert_eq!(late.behind, Some(vec![one.clone()]));
    assert_eq!(fleet.two.1.fetch((second.task(), second.fence), &one), Ok(b"one".to_vec()));
    let taken = report(&mut fleet.two, &second, &told(1, &two, 1)).expect("an answer");
    assert!(!taken.over && taken.behind.is_none());
    let third = claimed(&mut fleet.one);
    assert_eq!(past(&third), [one.clone(), two.clone()]);
    assert_eq!(fleet.ada.changes(&run.run), Ok(vec![one.clone(), two]));
    assert_eq!(fleet.ada.fetch(&run.run, &one), Ok(b"one".to_vec()));

    // The files of the project are gone with the end, and the changes when the run is forgotten.
    let rows = |fleet: &Fleet<'_>, from: i64| {
        let mut count = 0;
        let read = &mut |tx: &mut dyn cycod_hub::HubTransaction| {
            let select = format!("SELECT digest FROM task_parts WHERE task = '{}' AND from_worker = {from}", ticket.id);
            count = tx.rows(&select, &[])?.len();
            Ok(())
        };
        fleet.team.store.transaction(read).expect("it reads");
        count
    };
    assert_eq!((rows(fleet, 0), rows(fleet, 1)), (1, 2));
    let mut over = run.event(FlowEvent::Cancelled, None, &[]);
    over.is_over = true;
    over.number = 1;
    run.tell(&over);
    _ = report(&mut fleet.one, &third, &result(ended(2, well), b"done")).expect("an answer");
    assert_eq!((rows(fleet, 0), rows(fleet, 1)), (0, 2));
    by_hand(fleet.team, &format!("UPDATE flows SET ended = 1 WHERE run = '{}'", run.run));
    nothing(&mut fleet.one);
    assert_eq!(rows(fleet, 1), 0);

    // Of a run whose member gets nothing back, the hub takes nothing.
    let ticket = with(false);
    fleet.ada.bring(&ticket.id, &bytes).expect("it is brought");
    assert_eq!(fleet.ada.give_flow(&ticket, &files(), &json!(start(1)), &[]), Ok(TaskTaken::Waits));
    let mut run = Conducted { hub: fleet.hub, run: ticket.id.clone(), number: 0 };
    run.begin(1);
    let only = claimed(&mut fleet.one);
    let changes = bring(&mut fleet.one, &only, "changes");
    refused(report(&mut fleet.one, &only, &told(0, &changes, 0)), "nothing that the run changes comes back");
    _ = report(&mut fleet.one, &only, &result(ended(0, well), b"done")).expect("an answer");
    nothing(&mut fleet.two);
}

#[test]
fn durable_runs_at_a_hub_with_one_file() {
    let scratch = tempfile::tempdir().expect("a directory");
    durable_runs(Arc::new(SqliteStore::open(&scratch.path().join("hub.db")).expect("a database")));
}

#[test]
fn restate_is_on_this_machine_only() {
    for address in ["0.0.0.0:1", "192.0.2.1:8080", "[::]:8080"] {
        let error = Restate::at(address.parse().expect("an address")).expect_err(address);
        assert!(error.refusal == HubRefusal::Invalid && error.message.contains("on this machine"), "{error}");
    }
}
