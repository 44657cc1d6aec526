//! The engine itself: opens a place, plans calls, has them approved and runs them.

use std::{
    collections::BTreeSet,
    convert::Infallible,
    ffi::OsString,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use cycod_call::{Given, ScriptFailed, Scripts, speaks_of_secret};
use cycod_catalog::{Adopted, Catalog, Entry, Opened, Overrides, Reason, ScopeFilter, Scopes};
use cycod_definition::{Body, Host, Tool, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_file::Look;
use cycod_plan::{Confinement, Library, Misuse, NoSecrets, Plan, PlanError, Preview, Request, Secrets, misuses};
use cycod_policy::{Approved, Approver, Surface, Verdict};
use cycod_process::{Pool, Stop};
use cycod_run::{AllRemotes, BuiltIns, Driver, Event, Models, Remotes, RunReport, Sink, Workers, run};
use cycod_settings::config::Settings;
use cycod_store::{Digest, History, RunId};

use crate::{
    AnswerTo, Asker, Control, EngineError, Recording,
    background::Ourselves,
    builder::EngineBuilder,
    durable::{Resumed, stays_interrupted},
    history::not_kept,
    journal::Journaled,
    moment::{Moments, Once},
    policy::RulesHere,
    trust::{Known, Trusted},
};

/// The tools of one place, and everything that can be done with them.
#[derive(Debug)]
pub struct Engine {
    host: Arc<Host>,
    catalog: Catalog,
    pub(crate) scripts: JavaScript,
    pub(crate) rules: RulesHere,
    /// Tools as they are that a person runs by hand.
    pub(crate) vouched: Mutex<BTreeSet<Digest>>,
    pub(crate) moments: Moments,
    looks: Once<Look>,
    pub(crate) configured: Once<Settings>,
    pub(crate) trusted: Once<Trusted>,
    pub(crate) fingerprints: Mutex<Option<Known>>,
    remotes: AllRemotes,
    pub(crate) models: Option<Arc<dyn Models>>,
    pub(crate) built_ins: Option<Arc<dyn BuiltIns>>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) absent: Vec<(String, Refusal)>,
    pub(crate) pool: Option<Arc<Pool>>,
    pub(crate) ourselves: Option<Ourselves>,
    pub(crate) secrets: Arc<dyn Secrets + Send + Sync>,
    pub(crate) history: Option<Arc<History>>,
}

/// Transforms written in JavaScript, in an engine that is started when the first is met.
#[derive(Debug, Default)]
pub(crate) struct JavaScript(cycod_script::Engine);

impl Scripts for JavaScript {
    fn transform(&self, script: &str, value: &Value) -> Result<Value, ScriptFailed> {
        self.0.transform(script, value).map_err(|error| ScriptFailed(error.to_string()))
    }
}

impl Engine {
    /// Opens the place where `host` stands: finds its scopes and looks what is in them. What more there is comes from
    /// [`Engine::builder`].
    pub fn open(host: Host) -> Self {
        Self::builder(host).build()
    }

    /// Opens the place where `host` stands, for a host that adds to what an engine has by itself.
    pub fn builder(host: Host) -> EngineBuilder {
        EngineBuilder::new(host)
    }

    /// An engine with nothing but the files and settings of its place.
    pub(crate) fn bare(mut host: Host) -> Self {
        let overrides = Overrides::from_environment(&host.environment);
        let look = Arc::new(Look::default());
        let scopes = Scopes::discover_in(&host, &overrides, &look);
        host.workspace = scopes.workspace().to_owned();
        let configured = Arc::new(Settings::load_in(&scopes, &host, &look));
        let mut catalog = Catalog::open_in(scopes, &host, &look);
        catalog.heed(configured.clone());
        Self {
            host: Arc::new(host),
            catalog,
            scripts: JavaScript::default(),
            rules: RulesHere::default(),
            vouched: Mutex::default(),
            moments: Moments::default(),
            looks: Once::holding(look),
            configured: Once::holding(configured),
            trusted: Once::default(),
            fingerprints: Mutex::default(),
            remotes: AllRemotes::default(),
            models: None,
            built_ins: None,
            workers: Arc::default(),
            absent: Vec::new(),
            pool: None,
            ourselves: None,
            secrets: Arc::new(NoSecrets),
            history: None,
        }
    }

    /// Says that this program makes one call and ends: what was read when the place was opened holds until the call runs. An
    /// engine that lives on reads again for each call what may have changed.
    pub fn expect_one_call(&self) {
        self.moments.hold(true);
    }

    /// Reads again what a call rests on, because something took its time, such as a person who was asked.
    pub fn look_again(&self) {
        self.moments.renew();
    }

    /// What was found in the file system in this moment.
    pub fn look(&self) -> Arc<Look> {
        let Ok(look) = self.looks.get(&self.moments, |_| false, || Ok::<_, Infallible>(Look::default()));
        look
    }

    /// Adds the tools that other programs offer, and the way to call them.
    pub(crate) fn adopt(&mut self, remotes: Arc<dyn Remotes>, tools: impl IntoIterator<Item = Adopted>) {
        let is_new = |adopted: &Adopted| match &adopted.tool.body {
            Body::Remote(remote) => !self.remotes.serves(&remote.server),
            _ => true,
        };
        self.catalog.adopt(tools.into_iter().filter(is_new));
        self.remotes.add(remotes);
    }

    /// Adds tools that this program carries out itself.
    pub(crate) fn build_in(&mut self, built_ins: Arc<dyn BuiltIns>) {
        let tools = Arc::clone(&built_ins);
        self.catalog.build_in(built_ins.names(), move || tools.tools());
        self.built_ins = Some(built_ins);
    }

    /// The processes in which functions run.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// The values of the environment that are never shown, by the names of their variables.
    pub fn secrets_here(&self) -> Vec<String> {
        let here = self.host.environment.iter();
        let secret = |(name, value): (&OsString, &OsString)| {
            let is_secret = name.to_str().is_some_and(speaks_of_secret);
            value.to_str().filter(|value| is_secret && value.chars().nth(3).is_some()).map(str::to_owned)
        };
        here.filter_map(secret).filter(|value| !matches!(value.as_str(), "true" | "false")).collect()
    }

    /// The machine and the moment.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Everything there is, broken and shadowed tools included.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The entry that `name` leads to.
    ///
    /// # Errors
    /// When there is none, with the reason if it is known, else with the name that was probably meant.
    pub fn entry(&self, name: &str, filter: ScopeFilter) -> Result<Entry, EngineError> {
        self.catalog.find(name, filter).ok_or_else(|| {
            let begins =
                |prefix: &str| name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
            match self.absent.iter().find(|(prefix, _)| begins(prefix)) {
                Some((_, why)) => EngineError::Absent(Box::new(why.clone())),
                None => EngineError::Unknown { name: name.to_owned(), suggestion: self.catalog.suggest(name) },
            }
        })
    }

    /// Loads a tool with its source.
    ///
    /// # Errors
    /// When there is none of this name, or its file is wrong.
    pub fn open_tool(&self, name: &str, filter: ScopeFilter) -> Result<Opened, EngineError> {
        // Between the calls of an engine that lives on, what was found before no longer holds.
        let look = if self.moments.is_held() { self.look() } else { Arc::default() };
        Ok(self.entry(name, filter)?.load_in(&look)?)
    }

    /// Loads the tool that `name` leads to.
    ///
    /// # Errors
    /// When there is none of this name, or its file is wrong.
    pub fn tool(&self, name: &str) -> Result<Arc<Tool>, EngineError> {
        Ok(Arc::new(self.open_tool(name, ScopeFilter::Any)?.tool))
    }

    /// Collects the tools that `tool` reaches.
    ///
    /// # Errors
    /// When one is missing, or they reach themselves.
    pub fn library(&self, tool: &Tool) -> Result<Library, Refusal> {
        Library::collect(tool, &|name| self.tool(name).ok())
    }

    /// Plans a call; `timeout` replaces the tool's own.
    ///
    /// # Errors
    /// Everything that is wrong with the arguments, or why the tool cannot run here.
    pub fn plan(
        &self,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        self.plan_on(&self.host, &run_id(), tool, arguments, &[], timeout)
    }

    /// As [`Engine::plan`], as if called from elsewhere; `answers` are those to the questions of a workflow that runs in the
    /// tool's place.
    pub(crate) fn plan_on(
        &self,
        host: &Arc<Host>,
        run_id: &str,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        answers: &[(String, AnswerTo)],
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        let plan = self.plan_itself(host, run_id, tool, arguments, timeout)?;
        Ok(match self.workflow_of(&plan) {
            Some(workflow) => self.carried_out(plan, &workflow, answers, timeout),
            None => plan,
        })
    }

    /// Plans a call of the very tool, whatever runs in its place.
    pub(crate) fn plan_itself(
        &self,
        host: &Arc<Host>,
        run_id: &str,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        self.moments.begin();
        let mut library = self.library(tool)?;
        let tools: Vec<_> = std::iter::once(tool).chain(library.tools()).cloned().collect();
        if let Some(refusal) = tools.iter().find_map(|tool| Some(misuses_in(tool, &library).first()?.refusal(tool))) {
            return Err(refusal.into());
        }
        for tool in &tools {
            if let Some(refusal) = self.lacking(tool) {
                library.lacks(tool, refusal);
            }
        }
        let library = Arc::new(library);
        let settings = self.settings_now();
        self.refuse_what_is_off(&settings, std::iter::once(tool).chain(library.tools()))?;
        let mut plan = Plan::new(Request {
            tool,
            arguments,
            library,
            host: Arc::clone(host),
            run_id,
            timeout,
            scripts: &self.scripts,
            within: Confinement::default(),
        })?;
        plan.set_level(self.level_of(tool, &plan));
        if let Some(longest) = settings.longest() {
            plan.hold_to(longest.value, &format!("`tools.maxExecutionTime` ({})", longest.place));
        }
        Ok(plan)
    }

    /// What is wrong between a tool and those it uses; one that is missing is not told of here.
    pub fn misuses(&self, tool: &Tool) -> Vec<Misuse> {
        misuses(tool, &|name| Some(Arc::new(self.resulting(Tool::clone(&*self.tool(name).ok()?)))))
    }

    /// Why a tool cannot run on this machine, though it works on its platform: something that it requires is not there.
    fn lacking(&self, tool: &Tool) -> Option<Refusal> {
        let lacking = self.catalog.lacking(tool);
        let first = lacking.first()?;
        let reasons: Vec<String> = lacking.iter().map(ToString::to_string).collect();
        let refusal = Refusal::new(Code::RequirementMissing, format!("`{}` {}", tool.name, reasons.join("; ")));
        Some(match first {
            Reason::MissingVariable(name) => {
                refusal.place(name).attempt(format!("set the environment variable `{name}`"))
            }
            Reason::MissingCommand(program) => refusal.place(program).attempt(format!("install `{program}`")),
            _ => refusal,
        })
    }

    /// Shows everything a plan would do.
    pub fn preview(&self, plan: &Plan) -> Preview {
        plan.preview(&self.scripts)
    }

    /// Decides whether a plan may run, asking `approver` where the rules say so.
    ///
    /// # Errors
    /// A refusal with the rule that decided.
    pub fn approve(&self, plan: Plan, surface: Surface, approver: &dyn Approver) -> Result<Approved<Plan>, Refusal> {
        let asker = Asker::from(surface);
        let decision = self.decide_for(&plan, &asker);
        if decision.verdict != Verdict::Ask {
            return self.approve_unasked(plan, decision, &asker);
        }
        let request = self.request(&plan, &decision, &asker, None);
        let answer = approver.answer(&request);
        self.approve_answered(plan, decision, &request, answer, &asker)
    }

    /// A control that nobody holds yet.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn control(&self) -> io::Result<Control> {
        Ok(Control {
            stop: Stop::new()?,
            is_attended: false,
            keep: None,
            observer: None,
            caller: None,
            durable: false,
            session: None,
        })
    }

    /// Runs an approved plan to its end.
    pub fn run(&self, approved: Approved<Plan>, control: &Control, sink: &mut dyn Sink) -> RunReport {
        let is_workflow = approved.subject().is_workflow;
        let (mut report, recording) = self.run_recorded(approved, control, sink);
        if let Some(recording) = recording {
            recording.end_here(&mut report, is_workflow);
        }
        report
    }

    /// Runs an approved plan to its end, for a caller that keeps what it writes, and tells the history where.
    pub fn run_recorded(
        &self,
        approved: Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> (RunReport, Option<Recording>) {
        if approved.subject().is_detached() {
            return (self.detach(&approved, control), None);
        }
        self.run_here(approved, control, sink)
    }

    /// Runs an approved plan in this process, also one that goes on by itself.
    pub(crate) fn run_here(
        &self,
        approved: Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
    ) -> (RunReport, Option<Recording>) {
        self.run_or_resume(approved, control, sink, None)
    }

    /// The same, for a run that goes on where it was interrupted.
    pub(crate) fn run_or_resume(
        &self,
        approved: Approved<Plan>,
        control: &Control,
        sink: &mut dyn Sink,
        resumed: Option<Resumed<'_>>,
    ) -> (RunReport, Option<Recording>) {
        self.moments.hold(false);
        let (through, workflow) = (approved.subject().through.clone(), Arc::clone(&approved.subject().call.tool));
        let run_id = approved.subject().run_id.clone();
        let is_resumed = resumed.is_some();
        // What it takes to go on is there before the history says that the run begins.
        let kept = resumed.map_or_else(|| self.kept(&approved, control), |resumed| Ok(Some(resumed)));
        let mut kept = match kept {
            Ok(kept) => kept,
            Err(refusal) => return (RunReport::refused(refusal), None),
        };
        let recorded = match self.record(&approved, &self.caller(control), is_resumed) {
            Ok((None, _)) if kept.is_some() => Err(not_kept(&run_id)),
            recorded => recorded,
        };
        let (mut recording, warning) = match recorded {
            Ok(recorded) => recorded,
            Err(refusal) => {
                kept.into_iter().for_each(|kept| kept.give_up(is_resumed));
                return (RunReport::refused(refusal), None);
            }
        };
        if let Some(warning) = &warning {
            sink.event(&Event::Warning(warning.clone()));
        }
        let durable = kept.as_mut().map(Resumed::durable);
        let driver = Driver {
            scripts: &self.scripts,
            secrets: &*self.secrets,
            stop: &control.stop,
            is_attended: control.is_attended,
            remotes: Some(&self.remotes),
            models: self.models.as_deref(),
            built_ins: self.built_ins.as_deref(),
            workers: Some(&self.workers),
            worker_session: control.session.as_deref().unwrap_or_default(),
            keep: control.keep,
            observer: control.observer.as_ref(),
            pool: self.pool.as_deref(),
        };
        let mut report = match recording.as_ref().and_then(|recording| recording.journal.clone()) {
            Some(journal) => {
                let is_durable = durable.is_some();
                run(approved, &driver, &mut Journaled { sink, journal, is_durable }, durable)
            }
            None => run(approved, &driver, sink, durable),
        };
        if let (Some(recording), Some(kept)) = (&mut recording, kept) {
            recording.state = Some(kept.into_state());
        }
        report.warnings.extend(warning);
        if let Some(through) = through.filter(|_| !is_resumed || !stays_interrupted(&report)) {
            let refusal = self.answered_for(&through, &workflow, &run_id, &mut report);
            if let Some(recording) = &mut recording {
                (recording.is_answered_for, recording.refusal) = (true, refusal);
            }
        }
        (report, recording)
    }
}

/// What is wrong between a tool of a library and those it uses.
fn misuses_in(tool: &Tool, library: &Library) -> Vec<Misuse> {
    misuses(tool, &|name| {
        let used = library.get(name)?;
        // Of an alias that is wrong itself, its own misuse is told.
        Some(library.effective(used).unwrap_or_else(|_| Arc::clone(used)))
    })
}

/// A name for a run that no other run has: random, or time, process and a count where the system gives no random bytes.
pub(crate) fn run_id() -> String {
    use std::{
        sync::atomic::{AtomicU32, Ordering},
        time::{SystemTime, UNIX_EPOCH},
    };
    static COUNT: AtomicU32 = AtomicU32::new(0);
    RunId::random().map_or_else(
        |_| {
            let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            format!("{:x}-{:x}-{count:x}", nanos & 0xffff_ffff_ffff, std::process::id())
        },
        |id| id.to_string(),
    )
}
