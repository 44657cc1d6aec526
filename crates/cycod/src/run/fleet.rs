//! Runs on a worker of the team's hub. This machine plans, decides, records and shows; the worker plans and decides again.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use cycod_engine::{
    Approved, Carrier, Driver, Durable, Engine, Event, FlowEvent, FlowFact, FlowNews, FlowSource, FlowTask, LostAnswer,
    Plan, RunReport, Sink, StepPath, Stop,
    definition::{FleetWorkspace, Level, OnLost, Privilege, Produces, Tool},
    diagnostic::{Code, Refusal},
    end_open_steps, event_of_json, flow_start, follow, json, report_of_json,
    trust::fingerprint,
};
use cycod_process::has_hung_up;
use cycod_snapshot::{Changes, ProjectEntry, ProjectPath};
use cycod_team::{
    BlobDigest, BytesInParts, FORMAT, MOST_TICKET_BYTES, TicketDocument, TicketFile, TicketSchedule, TicketTrace,
    TicketWorkspace,
};
use cycod_team_sync::{FleetTasks, SyncError, TaskPiece, TaskTaken};
use serde_json::Value as Json;

use super::workspace::{KeptChanges, Travelling, apply, entries_with};
use crate::{
    commands::team::{self, NoFleet},
    secrets::seconds,
};

/// How long a request waits for news of a run, in milliseconds.
const WAIT: u64 = 250;

/// How long the hub may be away before the user learns of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the hub may be away before a run that is not durable counts as failed. For so long, its worker may continue.
const LONGEST_AWAY: Duration = Duration::from_secs(600);

/// How long a worker has to end what was stopped.
const GRACE: Duration = Duration::from_secs(15);

/// How long a ticket waits for a worker, in seconds.
const LASTING: i64 = 3600;

/// How long the steps of a durable run may begin, in seconds.
const LASTING_DURABLE: i64 = 7 * 24 * 3600 - 60;

/// The workers of a hub, for one call.
#[derive(Debug)]
pub(crate) struct Fleet {
    tasks: Mutex<FleetTasks>,
    team: String,
    labels: Vec<String>,
    digest: String,
    files: BTreeMap<String, TicketFile>,
    bytes: BTreeMap<String, Vec<u8>>,
    now: i64,
    /// The user's own directory.
    home: PathBuf,
}

impl Fleet {
    /// The workers of the hub of the user's team, which have these labels in addition to those of the tool.
    ///
    /// # Errors
    /// When the user has no hub, or the tool needs something that only this machine has.
    pub(crate) fn joined(engine: &Engine, tool: &Tool, labels: Vec<String>) -> Result<Self, Refusal> {
        let name = tool.name.as_str();
        let no_hub = |why: &str, attempt: &str| {
            let why = format!("`{name}` is to run on a worker, and {why}");
            let here = here(tool).map_or(String::new(), |here| format!(", or {here}"));
            Refusal::new(Code::NoHub, why).place(name).attempt(format!("{attempt}{here}"))
        };
        let hub = team::fleet(engine).map_err(|error| match error {
            NoFleet::NotJoined => no_hub("you have joined no team", "join one by its hub: cycod team join HUB"),
            NoFleet::NoHub(team) => no_hub(
                &format!("this machine isn't enrolled at a hub of {team}"),
                "join the team by its hub: cycod team join HUB",
            ),
            NoFleet::Failed(error) => Refusal::new(Code::HubFailed, error.to_string()),
        })?;
        Self::of(engine, tool, hub, labels)
    }

    /// Collects what a worker needs to run a tool.
    ///
    /// # Errors
    /// When the tool needs something that only this machine has.
    fn of(
        engine: &Engine,
        tool: &Tool,
        (team, tasks): (String, FleetTasks),
        labels: Vec<String>,
    ) -> Result<Self, Refusal> {
        let name = tool.name.as_str();
        let portable = engine.portable([name], [])?;
        if !portable.obstacles.is_empty() {
            let why: Vec<String> = portable.obstacles.iter().map(ToString::to_string).collect();
            return Err(stays(tool, &why.join("; ")));
        }
        let library = engine.library(tool)?;
        if let Some(shared) = library.effective(&Arc::new(tool.clone()))?.workspace.shared()
            && let Some((script, _)) = engine.scripts_started(tool, &library)?.first()
        {
            // Of this path, the worker would start what is in the shared directory, and no one signed that.
            let why = format!("it works in the directory `{}` of the worker, and starts `{script}`", shared.as_str());
            return Err(stays(tool, &format!("{why} of this project")));
        }
        if portable.files.is_empty() {
            return Err(stays(tool, "it isn't a tool of this project, so a worker doesn't have it"));
        }
        let (mut files, mut bytes) = (BTreeMap::new(), BTreeMap::new());
        for (path, file) in portable.files {
            let sha256 = BlobDigest::of(&file.bytes);
            files.insert(path.clone(), TicketFile { sha256, executable: file.is_executable });
            bytes.insert(path, file.bytes);
        }
        if bytes.values().map(Vec::len).sum::<usize>() > MOST_TICKET_BYTES {
            return Err(stays(tool, &format!("its files have more than {} MiB", MOST_TICKET_BYTES >> 20)));
        }
        let digest = fingerprint(engine, tool).to_string();
        let now = i64::try_from(seconds(engine.host().now)).unwrap_or(i64::MAX);
        let home = engine.catalog().scopes().user_directory().to_owned();
        Ok(Self { tasks: Mutex::new(tasks), team, labels, digest, files, bytes, now, home })
    }

    /// What a worker must offer. The steps of a durable run say for themselves what more they need.
    fn labels_of(&self, plan: &Plan, durable: bool) -> Vec<String> {
        let of_tool = if durable { plan.tool().own_worker_labels() } else { plan.worker_labels() };
        let labels: BTreeSet<String> = self.labels.iter().cloned().chain(of_tool).collect();
        labels.into_iter().collect()
    }

    /// The ticket for a call, in the span of a trace that is told in this way.
    fn ticket(&self, plan: &Plan, span: &[(&'static str, String)], durable: bool) -> Result<TicketDocument, Refusal> {
        let new = || FleetTasks::new_id().map_err(|error| Refusal::new(Code::HubFailed, error.to_string()));
        // Another process finds a durable run by its ID.
        let id = if durable { Ok(plan.run_id.clone()) } else { new() }?;
        let timeout = u64::try_from(plan.timeout.as_millis()).unwrap_or(u64::MAX);
        Ok(TicketDocument {
            format: FORMAT,
            team: self.team.clone(),
            id,
            tool: plan.tool().name.to_string(),
            digest: self.digest.clone(),
            files: self.files.clone(),
            arguments: arguments(plan)?,
            timeout,
            labels: self.labels_of(plan, durable),
            again: plan.steps.iter().all(|step| match step.on_lost {
                Some(on_lost) => on_lost == OnLost::Retry,
                None => plan.granted() == Level::Read,
            }),
            durable,
            keep_on: durable && plan.tool().keep_on,
            workspace: None,
            schedule: None,
            trace: trace_of(span),
            expires: self.now.saturating_add(if durable { LASTING_DURABLE } else { LASTING }),
        })
    }
}

/// The workers of the hub of the user's team, for the engine.
///
/// # Errors
/// As for [`Fleet::joined`].
pub(crate) fn fleet_of(engine: &Engine, tool: &Tool, labels: Vec<String>) -> Result<Arc<dyn Carrier>, Refusal> {
    Ok(Arc::new(Fleet::joined(engine, tool, labels)?))
}

/// How a tool runs on this machine, if it can.
fn here(tool: &Tool) -> Option<String> {
    tool.workspace.shared().is_none().then(|| format!("run it here: cycod run {} --on here", tool.name))
}

/// The span of a run, for a worker.
fn trace_of(told: &[(&'static str, String)]) -> Option<TicketTrace> {
    let value = |wanted: &str| told.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone());
    Some(TicketTrace { parent: value("traceparent")?, state: value("tracestate").unwrap_or_default() })
}

/// Why a call isn't one for a worker.
fn stays(tool: &Tool, why: &str) -> Refusal {
    let name = tool.name.as_str();
    let refusal = Refusal::new(Code::NotForFleet, format!("`{name}` can't run on the fleet: {why}")).place(name);
    match here(tool) {
        Some(here) => refusal.attempt(here),
        None => refusal,
    }
}

/// What a call has that can't leave this machine, or can't come back to it.
fn refused(plan: &Plan) -> Option<&'static str> {
    match plan {
        _ if plan.through.is_some() || plan.is_detached() => Some("it runs another tool in its place"),
        _ if plan.privilege == Privilege::Elevated => Some("it needs elevated rights"),
        _ if plan.keeps_files() => Some("it keeps files, which would stay on the worker"),
        _ if !matches!(plan.call.tool.produces, Produces::Text | Produces::Json) => {
            Some("its result is more than text or JSON")
        }
        _ => None,
    }
}

/// The arguments as JSON. Secrets don't travel.
fn arguments(plan: &Plan) -> Result<String, Refusal> {
    let tool = plan.tool();
    let given = plan.call.values.iter().filter(|bound| bound.origin == cycod_engine::ValueOrigin::Given);
    let mut values = Vec::new();
    for bound in given {
        let Some(value) = bound.untransformed.as_ref().or(bound.value.as_ref()) else { continue };
        if bound.sensitive {
            return Err(stays(
                tool,
                &format!("the argument `{}` is a secret, and secrets don't leave this machine", bound.name),
            ));
        }
        values.push((bound.name.as_str(), value));
    }
    let mut text = String::new();
    json::write_object(values, &mut text);
    match plan.masks().apply(&text) == text {
        true => Ok(text),
        false => Err(stays(tool, "an argument contains a secret, and secrets don't leave this machine")),
    }
}

impl Carrier for Fleet {
    fn carry(
        &self,
        approved: Approved<Plan>,
        driver: &Driver<'_>,
        sink: &mut dyn Sink,
        durable: Option<Durable<'_>>,
    ) -> RunReport {
        let began = Instant::now();
        let plan = approved.subject();
        let carried = match (refused(plan), durable) {
            (Some(why), _) => Err(stays(plan.tool(), why)),
            (None, Some(durable)) => self.carry_flow(approved, driver, sink, durable),
            (None, None) => self.carry_whole(plan, driver, sink),
        };
        carried.unwrap_or_else(|refusal| RunReport { duration: began.elapsed(), ..RunReport::refused(refusal) })
    }

    fn labels(&self) -> Option<Vec<String>> {
        Some(self.labels.clone())
    }
}

impl Fleet {
    /// Gives a run to the hub as a whole, with the files of the project if the tool has them there, and follows it.
    fn carry_whole(&self, plan: &Plan, driver: &Driver<'_>, sink: &mut dyn Sink) -> Result<RunReport, Refusal> {
        let mut ticket = self.ticket(plan, driver.run_trace, false)?;
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = None;
        if let Some(project) = project_of(plan)? {
            let packed = project.pack_for(plan, &mut ticket)?;
            tasks.bring(&ticket.id, &packed).map_err(|error| failed(&error))?;
            before = changes_come_back(plan).then(|| entries_with(&project.snapshot, self.own(&ticket)));
        }
        let (stop, open) = (driver.stop, BTreeSet::new());
        let mut following = Following { tasks: &mut tasks, stop, sink, open, changes: None };
        let report = following.follow(&ticket, &self.bytes)?;
        let Some((before, parts)) = before.zip(following.changes) else { return Ok(report) };
        let packed = following.tasks.fetch(&ticket.id, &parts).map_err(|error| failed(&error));
        let returned = packed.and_then(|packed| self.bring_back(plan, &before, &packed, report.success));
        let warning = match returned {
            Ok(warning) => warning,
            // Why it failed itself matters more.
            Err(refusal) if !report.success => Some(refusal.why),
            Err(refusal) => return Ok(RunReport { success: false, exit_code: 1, refusal: Some(refusal), ..report }),
        };
        warning.into_iter().for_each(|warning| following.sink.event(&Event::Warning(warning)));
        Ok(report)
    }

    /// The files of the tool, with whether each is executable.
    fn own<'a>(&'a self, ticket: &'a TicketDocument) -> impl Iterator<Item = (&'a String, &'a [u8], bool)> {
        self.bytes
            .iter()
            .map(|(path, bytes)| (path, bytes.as_slice(), ticket.files.get(path).is_some_and(|file| file.executable)))
    }

    /// Applies what a run changed in the files of the project, if it succeeded, and keeps what isn't applied. Returns what the user
    /// should know.
    fn bring_back(
        &self,
        plan: &Plan,
        before: &BTreeMap<ProjectPath, ProjectEntry>,
        packed: &[u8],
        success: bool,
    ) -> Result<Option<String>, Refusal> {
        let broken = |why: &str| Refusal::new(Code::HubFailed, format!("what the run changed can't be read: {why}"));
        let changes = Changes::unpack(packed).map_err(|error| broken(&error.to_string()))?;
        if !changes.is_of(before) {
            return Err(broken("they aren't changes of the files that it had"));
        }
        let (run, project) = (plan.run_id.as_str(), &plan.host().workspace);
        // It is there also if this process ends before all of it is applied.
        KeptChanges { project: project.clone() }
            .keep(&self.home, run, packed)
            .map_err(|error| broken(&format!("they can't be kept: {error}")))?;
        if !success {
            let why = "the run failed, so nothing that it changed was applied; to do that";
            return Ok(Some(format!("{why}: cycod runs apply {run}")));
        }
        apply(&changes, project, run)?;
        KeptChanges::forget(&self.home, run);
        Ok(None)
    }

    /// Gives a durable run to the hub, unless it is there already, and follows it.
    fn carry_flow(
        &self,
        approved: Approved<Plan>,
        driver: &Driver<'_>,
        sink: &mut dyn Sink,
        durable: Durable<'_>,
    ) -> Result<RunReport, Refusal> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = approved.subject();
        let known = durable.past.len();
        let mut is_there = || tasks.watch_flow(&plan.run_id, 0, 0).map(|state| state.is_some());
        if known == 0 && !is_there().map_err(|error| failed(&error))? {
            let mut ticket = self.ticket(plan, driver.run_trace, true)?;
            if let Some(project) = project_of(plan)? {
                let packed = project.pack_for(plan, &mut ticket)?;
                // An earlier process may have brought them, and given the ticket, just before it ended.
                if let Err(error) = tasks.bring(&ticket.id, &packed) {
                    begun(&error, || Ok(tasks.watch_flow(&plan.run_id, 0, 0)?.is_some()))?;
                }
            }
            let needs: Vec<Vec<String>> = plan.labels_of_steps().into_iter().collect();
            match tasks.give_flow(&ticket, &self.bytes, &flow_of(plan)?, &needs) {
                // The hub may have it nevertheless, and then the run has begun.
                Err(error) => begun(&error, || Ok(tasks.watch_flow(&plan.run_id, 0, 0)?.is_some()))?,
                given => taken(given)?,
            }
        }
        // The run has begun, though nothing is heard of it before a worker has time.
        sink.event(&Event::Quiet);
        let (run, project) = (plan.run_id.clone(), plan.host().workspace.clone());
        let comes_back = plan.tool().workspace == FleetWorkspace::Snapshot && changes_come_back(plan);
        let mut stream = FlowStream {
            tasks: &mut tasks,
            run: &run,
            news: VecDeque::new(),
            last: 0,
            known,
            lost: BTreeSet::new(),
            heard: Instant::now(),
            stopped: None,
            has_warned: false,
            goes_on: false,
        };
        let report = follow(approved, driver, sink, durable, &mut stream);
        let goes_on = stream.goes_on;
        let report = RunReport { goes_on, ..report };
        if !comes_back
            || goes_on
            || report.cancelled
            || report.refusal.as_ref().is_some_and(|why| why.code == Code::HubFailed)
        {
            return Ok(report);
        }
        match keep_changes(&mut tasks, &self.home, &run, project) {
            Ok(0) => Ok(report),
            Ok(count) => {
                let files = if count == 1 { "file" } else { "files" };
                let what = format!("it changed {count} {files} of the project: cycod runs apply {run}");
                sink.event(&Event::Warning(what));
                Ok(report)
            }
            // Why it failed itself matters more.
            Err(refusal) if !report.success => {
                sink.event(&Event::Warning(refusal.why));
                Ok(report)
            }
            Err(refusal) => Ok(RunReport { success: false, exit_code: 1, refusal: Some(refusal), ..report }),
        }
    }
}

/// The files of the project, if the tool has them on the worker.
fn project_of(plan: &Plan) -> Result<Option<Travelling>, Refusal> {
    (plan.tool().workspace == FleetWorkspace::Snapshot).then(|| Travelling::of(plan.host())).transpose()
}

/// Whether what a run changes in the files of the project comes back.
fn changes_come_back(plan: &Plan) -> bool {
    plan.granted() > Level::Read
}

impl Travelling {
    /// Packs the files, and names them in a ticket.
    fn pack_for(&self, plan: &Plan, ticket: &mut TicketDocument) -> Result<Vec<u8>, Refusal> {
        let packed = self.pack()?;
        let (files, changes) = (BytesInParts::of(&packed), changes_come_back(plan));
        ticket.workspace = Some(TicketWorkspace { files, directory: self.directory.clone(), changes });
        Ok(packed)
    }
}

/// Gets what the steps of a run changed in the files of the project, as one change.
///
/// # Errors
/// When the hub can't be reached, or has something else.
pub(crate) fn changes_of(tasks: &mut FleetTasks, run: &str) -> Result<Changes, Refusal> {
    let broken = |why: String| Refusal::new(Code::HubFailed, format!("what the run changed can't be read: {why}"));
    let mut all = Changes::default();
    for parts in tasks.changes(run).map_err(|error| failed(&error))? {
        let packed = tasks.fetch(run, &parts).map_err(|error| failed(&error))?;
        let changes = Changes::unpack(&packed).map_err(|error| broken(error.to_string()))?;
        all.add(changes).map_err(|error| broken(error.to_string()))?;
    }
    Ok(all)
}

/// Keeps what a durable run changed, until the user applies it. Returns how many files it changed.
fn keep_changes(tasks: &mut FleetTasks, home: &Path, run: &str, project: PathBuf) -> Result<usize, Refusal> {
    let changes = changes_of(tasks, run)?;
    if !changes.is_empty() {
        let cannot = |why: String| Refusal::new(Code::HubFailed, format!("what the run changed can't be kept: {why}"));
        let packed = changes.pack().map_err(|error| cannot(error.to_string()))?;
        KeptChanges { project }.keep(home, run, &packed).map_err(|error| cannot(error.to_string()))?;
    }
    Ok(changes.by_path().len())
}

/// What the conductor has to know of a plan.
fn flow_of(plan: &Plan) -> Result<Json, Refusal> {
    serde_json::to_value(flow_start(plan)).map_err(|error| Refusal::new(Code::HubFailed, error.to_string()))
}

/// What permits a call at the times of a schedule.
#[derive(Debug)]
pub(crate) struct Permission {
    pub(crate) ticket: TicketDocument,
    /// The files of the project that its runs have, also as they are packed.
    pub(crate) project: Option<(Travelling, Vec<u8>)>,
}

impl Fleet {
    /// What permits a call at the times of a schedule, without anything that must not leave this machine.
    ///
    /// # Errors
    /// When the call can't leave this machine.
    pub(crate) fn permission(
        &self,
        plan: &Plan,
        schedule: TicketSchedule,
        (durable, expires): (bool, i64),
    ) -> Result<Permission, Refusal> {
        if let Some(why) = refused(plan) {
            return Err(stays(plan.tool(), why));
        }
        let mut ticket = TicketDocument {
            schedule: Some(schedule),
            durable,
            keep_on: durable && plan.tool().keep_on,
            expires,
            labels: self.labels_of(plan, durable),
            ..self.ticket(plan, &[], false)?
        };
        let project = project_of(plan)?;
        let packed = project.as_ref().map(|project| project.pack_for(plan, &mut ticket)).transpose()?;
        Ok(Permission { ticket, project: project.zip(packed) })
    }

    /// Signs a permission and gives it to the hub. Returns why no worker could begin it now, if none could.
    ///
    /// # Errors
    /// When the hub doesn't take it.
    pub(crate) fn permit(&self, plan: &Plan, permission: &Permission) -> Result<Option<String>, Refusal> {
        let Permission { ticket, project } = permission;
        let flow = ticket.durable.then(|| flow_of(plan)).transpose()?;
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, packed)) = project {
            tasks.bring(&ticket.id, packed).map_err(|error| failed(&error))?;
        }
        match tasks.add_schedule(ticket, &self.bytes, flow.as_ref()) {
            Ok(TaskTaken::NoWorker(why)) => Ok(Some(why)),
            other => taken(other).map(|()| None),
        }
    }
}

/// Why the hub doesn't take a run.
fn taken(taken: Result<TaskTaken, SyncError>) -> Result<(), Refusal> {
    match taken.map_err(|error| failed(&error))? {
        TaskTaken::Waits => Ok(()),
        TaskTaken::NoWorker(why) => {
            Err(Refusal::new(Code::NoWorker, why).attempt("`cycod-hub worker list` shows the workers and their labels"))
        }
        TaskTaken::NoFlows(why) => Err(Refusal::new(Code::NotForFleet, why)
            .attempt("run it here with `--on here`, or on one worker: set `durable: false`")),
    }
}

/// Finds out whether the hub has a run, though no answer came to the request to take it.
fn begun(failure: &SyncError, mut has: impl FnMut() -> Result<bool, SyncError>) -> Result<(), Refusal> {
    let began = Instant::now();
    loop {
        match has() {
            Ok(true) => return Ok(()),
            Ok(false) => return Err(failed(failure)),
            Err(error) if began.elapsed() > PATIENCE => {
                return Err(failed(&error).attempt("the run may have begun: `cycod runs list` shows it"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(WAIT)),
        }
    }
}

/// What the hub tells of a durable run.
struct FlowStream<'a> {
    tasks: &'a mut FleetTasks,
    run: &'a str,
    news: VecDeque<FlowNews>,
    /// The number of the last piece.
    last: i64,
    /// How many facts are known.
    known: usize,
    /// The attempts that were lost.
    lost: BTreeSet<FlowTask>,
    heard: Instant,
    /// When the hub was told to end the run.
    stopped: Option<Instant>,
    has_warned: bool,
    /// Whether the run goes on without this process.
    goes_on: bool,
}

impl FlowStream<'_> {
    /// Lets go of the run.
    fn leave(&mut self, why: &str) -> Refusal {
        self.goes_on = true;
        Refusal::new(Code::HubFailed, why).attempt(format!("follow it again: cycod runs resume {}", self.run))
    }

    fn take(&mut self, piece: TaskPiece) -> Result<(), Refusal> {
        self.last = piece.number;
        let Some(fact) = piece.fact else {
            self.news.extend(piece.events.iter().filter_map(event_of_json).map(FlowNews::Event));
            return Ok(());
        };
        if fact.number < self.known {
            return Ok(());
        }
        let unreadable = || Refusal::new(Code::HubFailed, "the hub's news of the run can't be read");
        let event: FlowEvent = serde_json::from_value(fact.event.clone()).map_err(|_| unreadable())?;
        match event {
            FlowEvent::Lost(task) => {
                self.lost.insert(task);
                self.news.push_back(FlowNews::Event(Event::Warning(format!("the worker `{}` was lost", fact.worker))));
            }
            FlowEvent::Ended { task, .. } if self.lost.contains(&task) => {
                let said = format!("what came late from the worker `{}` counts", fact.worker);
                self.news.push_back(FlowNews::Event(Event::Warning(said)));
            }
            _ => {}
        }
        self.known = fact.number + 1;
        let mut entry = fact.entry().ok_or_else(unreadable)?;
        let said = match event {
            FlowEvent::Answered { answer, .. } => decided(answer, &entry),
            FlowEvent::Asked(_) => asked(&entry),
            FlowEvent::Resumed(_) => answered(&entry),
            _ => Some(String::new()),
        };
        let said = said.ok_or_else(unreadable)?;
        if !said.is_empty() {
            entry.clear();
            self.news.push_back(FlowNews::Event(Event::Warning(said)));
            // Nothing else may happen for a long time.
            self.news.push_back(FlowNews::Event(Event::Quiet));
        }
        self.news.push_back(FlowNews::Fact(FlowFact { event, entry }));
        Ok(())
    }
}

/// How a question about a lost step was closed, as the hub tells it.
fn decided(answer: LostAnswer, told: &[u8]) -> Option<String> {
    let told: Json = serde_json::from_slice(told).ok()?;
    let (step, by) = (told["step"].as_str()?, told["by"].as_str()?);
    Some(match (by, answer) {
        ("", _) => format!("no one decided about `{step}` in time, so it has failed"),
        (by, LostAnswer::Again) => format!("{by} decided: `{step}` starts again"),
        (by, LostAnswer::Done) => format!("{by} decided: `{step}` was done"),
        (by, LostAnswer::Stop) => format!("{by} decided: `{step}` has failed"),
    })
}

/// What a worker asks about a step, as the hub tells it.
fn asked(told: &[u8]) -> Option<String> {
    let told: Json = serde_json::from_slice(told).ok()?;
    let (step, worker) = (told["step"].as_str()?, told["worker"].as_str()?);
    let rule = told["rule"].as_str().unwrap_or_default();
    Some(format!("`{worker}` asks whether `{step}` may run, so the run waits: cycod approvals list (rule: {rule})"))
}

/// What came of that.
fn answered(told: &[u8]) -> Option<String> {
    let told: Json = serde_json::from_slice(told).ok()?;
    let (step, by) = (told["step"].as_str()?, told["by"].as_str()?);
    let reason = told["reason"].as_str().map(|reason| format!(", because: {reason}")).unwrap_or_default();
    Some(match told["approved"].as_bool() {
        Some(true) => format!("{by} approved `{step}`"),
        Some(false) => format!("{by} denied `{step}`{reason}"),
        None => format!("no one approved `{step}` in time"),
    })
}

impl FlowSource for FlowStream<'_> {
    fn next(&mut self, stop: &Stop) -> Result<FlowNews, Refusal> {
        loop {
            if let Some(news) = self.news.pop_front() {
                return Ok(news);
            }
            if stop.is_raised() && has_hung_up() {
                return Err(self.leave("the terminal is gone, and the run continues without it"));
            }
            if stop.is_raised() && self.stopped.is_none() && self.tasks.cancel(self.run).is_ok() {
                self.stopped = Some(Instant::now());
            }
            match self.tasks.watch_flow(self.run, self.last, WAIT) {
                Ok(Some(now)) => {
                    self.heard = Instant::now();
                    self.has_warned = false;
                    let is_over = now.pieces.is_empty() && now.state != "running";
                    now.pieces.into_iter().try_for_each(|piece| self.take(piece))?;
                    if is_over {
                        let why = match now.state.as_str() {
                            "expired" => "the run didn't end within a week".to_owned(),
                            state => format!("the hub ended the run: it is `{state}`"),
                        };
                        return Err(Refusal::new(Code::HubFailed, why));
                    }
                }
                Ok(None) => return Err(Refusal::new(Code::HubFailed, "the hub doesn't know the run any more")),
                Err(_) if stop.is_raised() && self.stopped.unwrap_or(self.heard).elapsed() > GRACE => {
                    return Err(self.leave("the hub doesn't answer, so the run may continue"));
                }
                Err(error) => {
                    if self.heard.elapsed() > PATIENCE && !std::mem::replace(&mut self.has_warned, true) {
                        let warning = format!("{error}; the run continues, and cycod follows it when the hub answers");
                        return Ok(FlowNews::Event(Event::Warning(warning)));
                    }
                    std::thread::sleep(Duration::from_millis(WAIT));
                }
            }
        }
    }
}

/// A run on a worker, as it is followed here.
struct Following<'a> {
    tasks: &'a mut FleetTasks,
    stop: &'a Stop,
    sink: &'a mut dyn Sink,
    /// The steps that have begun and not ended.
    open: BTreeSet<StepPath>,
    /// What the run changed in the files of the project.
    changes: Option<BytesInParts>,
}

impl Following<'_> {
    fn follow(&mut self, ticket: &TicketDocument, files: &BTreeMap<String, Vec<u8>>) -> Result<RunReport, Refusal> {
        let followed = self.followed(ticket, files);
        end_open_steps(std::mem::take(&mut self.open), self.sink);
        followed
    }

    fn followed(&mut self, ticket: &TicketDocument, files: &BTreeMap<String, Vec<u8>>) -> Result<RunReport, Refusal> {
        match self.tasks.give(ticket, files) {
            // The hub may have it nevertheless, and then the run has begun.
            Err(error) => begun(&error, || self.tasks.has(&ticket.id))?,
            given => taken(given)?,
        }
        let (mut state, mut last, mut fence, mut lost) = ("new".to_owned(), 0, 0, 0);
        let mut heard = Instant::now();
        let (mut stopped, mut has_warned) = (None::<Instant>, false);
        loop {
            if self.stop.is_raised() && stopped.is_none() && self.tasks.cancel(&ticket.id).is_ok() {
                stopped = Some(Instant::now());
            }
            if self.stop.is_raised() && stopped.map_or(heard, |at| at).elapsed() > GRACE {
                return Err(Refusal::new(Code::Cancelled, "the run was stopped, and the worker didn't answer"));
            }
            let now = match self.tasks.watch(&ticket.id, (&state, last), WAIT) {
                Ok(now) => now,
                Err(error) if heard.elapsed() > LONGEST_AWAY => return Err(failed(&error)),
                Err(error) => {
                    if heard.elapsed() > PATIENCE && !std::mem::replace(&mut has_warned, true) {
                        self.sink.event(&Event::Warning(format!(
                            "{error}; the run may continue, and cycod waits for the hub"
                        )));
                    }
                    _ = self.stop.wait(Duration::from_millis(WAIT));
                    continue;
                }
            };
            (heard, has_warned) = (Instant::now(), false);
            for piece in &now.pieces {
                if piece.fence != fence && fence != 0 {
                    end_open_steps(std::mem::take(&mut self.open), self.sink);
                }
                (fence, last) = (piece.fence, piece.number);
                piece.events.iter().filter_map(event_of_json).for_each(|event| self.take(&event));
            }
            for worker in now.lost.iter().skip(lost).filter(|_| !matches!(now.state.as_str(), "lost" | "withdrawn")) {
                self.take(&Event::Warning(format!(
                    "the worker `{worker}` was lost, and the run starts again on another"
                )));
            }
            lost = now.lost.len();
            if now.state == "asked" && state != "asked" {
                let why = format!("`{}` asks whether the tool may run, so the run waits", now.worker);
                self.take(&Event::Warning(format!("{why}: cycod approvals list")));
                self.take(&Event::Quiet);
            }
            match now.state.as_str() {
                "waiting" | "leased" | "asked" => state = now.state,
                "done" => {
                    let changes = now.result.as_ref().and_then(|result| result.get("changes"));
                    self.changes = changes.and_then(|changes| serde_json::from_value(changes.clone()).ok());
                    let report = now.result.as_ref().and_then(report_of_json);
                    return report.ok_or_else(|| {
                        Refusal::new(Code::HubFailed, "the worker's report can't be read: it has another version")
                    });
                }
                "lost" => return Err(lost_worker(&now.lost)),
                "withdrawn" => return Err(Refusal::new(Code::Cancelled, "the run was stopped")),
                "expired" => return Err(Refusal::new(Code::NoWorker, "no worker had time for it within an hour")),
                other => return Err(Refusal::new(Code::HubFailed, format!("the hub says that the run is `{other}`"))),
            }
        }
    }

    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::StepStarted { step, .. } => _ = self.open.insert(step.clone()),
            Event::StepEnded { step, .. } => _ = self.open.remove(step),
            _ => {}
        }
        self.sink.event(event);
    }
}

fn failed(error: &SyncError) -> Refusal {
    Refusal::new(Code::HubFailed, error.to_string())
}

/// A run whose worker is gone, and that may not start again.
fn lost_worker(workers: &[String]) -> Refusal {
    let names: Vec<String> = workers.iter().map(|worker| format!("`{worker}`")).collect();
    let why = match &names[..] {
        [one] => format!("the worker {one} was lost while it had the run"),
        several => format!("the workers {} were lost while they had the run", several.join(", ")),
    };
    Refusal::new(Code::WorkerLost, why).attempt("check what it did before you run it again")
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use cycod_team_sync::SyncError;

    use super::begun;

    #[test]
    fn a_run_has_begun_if_the_hub_has_it() {
        let failure = |why: &str| SyncError { code: None, message: why.to_owned() };
        let ask = |answers: Vec<Result<bool, SyncError>>| {
            let mut answers = VecDeque::from(answers);
            begun(&failure("no answer"), || answers.pop_front().expect("it asks no more"))
        };
        assert_eq!(ask(vec![Ok(true)]), Ok(()));
        assert_eq!(ask(vec![Err(failure("away")), Ok(true)]), Ok(()), "it asks until the hub answers");
        let refused = ask(vec![Ok(false)]).expect_err("the hub doesn't have it");
        assert_eq!(refused.why, "no answer");
    }
}
