//! Everything that a call would do, made from the call alone.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use cycod_call::{
    ArgumentProblem, Call, Given, MOST_TOLD, NoSteps, PlaceholderChange, ResolveError, RunContext, Steps,
    TransformRunner, bind, normalize_path,
};
use cycod_definition::{
    Approval, Body, Caching, Cleanup, CodeReader, Command, CommandText, Demand, Environment, ForEach, Handler, Host,
    Interpreter, Isolation, Level, OfferedConfinement, OnLost, Parameter, Platform, Privilege, Produces, RemoteTool,
    Retry, Step, StepAction, StepOutput, Tool, ToolUse, Value, Verdicts, argument_verdicts, verdicts_in_cmd,
};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_shell::Verdict;
use cycod_syntax::{condition::Expr, template::Template};

use crate::{Library, PlannedArtifact, PlannedConfinement, confinement, effective_level};

/// A call with everything a plan is made of.
pub struct PlanRequest<'a> {
    /// The tool that was asked for.
    pub tool: &'a Arc<Tool>,
    /// Its arguments.
    pub arguments: Vec<(String, Given)>,
    /// The tools that can be reached from it.
    pub library: Arc<Library>,
    /// The machine and the moment.
    pub host: Arc<Host>,
    /// Names the run; part of the path of its temporary directory.
    pub run_id: &'a str,
    /// Replaces the tool's own limit.
    pub timeout: Option<Duration>,
    /// Runs the transforms that are JavaScript.
    pub scripts: &'a dyn TransformRunner,
    /// What the tool that calls this one is held to, and this one with it.
    pub within: PlannedConfinement,
}

/// Why there is no plan.
#[derive(Clone, Debug)]
pub enum PlanError {
    /// The arguments do not fit; every problem at once.
    Arguments(Vec<ArgumentProblem>),
    /// Something else stands in the way.
    Refused(Refusal),
}

impl From<Refusal> for PlanError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Who shortened the time of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTo {
    /// The time that it would have had.
    pub wanted: Duration,
    /// Who says so, and where.
    pub by: String,
}

/// Everything that would happen.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The tool that was asked for; the call is of the one that it stands for.
    pub asked: Arc<Tool>,
    /// The call, bound.
    pub call: Call,
    /// The steps in source order; a single command is one step.
    pub steps: Vec<PlannedStep>,
    /// Whether the tool has steps of its own, so that its transcript is headed per step.
    pub is_workflow: bool,
    /// How dangerous it is, composition included; of a built-in tool, how dangerous this very call is.
    pub level: Level,
    /// Up to which level the decision lets it act: the level of the plan that is decided about, also for the tools that it
    /// uses.
    pub(crate) granted: Level,
    /// The limit of the whole run.
    pub timeout: Duration,
    /// Present when the limit is not the one that was asked for.
    pub held_to: Option<HeldTo>,
    /// Where commands run unless a step says otherwise.
    pub working_directory: PathBuf,
    /// The run's own directory for temporary files; not created yet.
    pub temp_directory: PathBuf,
    /// The files that the run keeps.
    pub artifacts: Vec<PlannedArtifact>,
    /// What is done when the run ends, however it ends.
    pub cleanup: Vec<Cleanup>,
    /// What its programs are held to.
    pub confinement: PlannedConfinement,
    /// With whose rights, the tools it uses included.
    pub privilege: Privilege,
    /// Whether it, or a tool it uses, wants somebody asked each time.
    pub asks_always: bool,
    /// Which of them want that unless a rule of the user's own names them.
    pub asks_unless_named: Vec<String>,
    /// What the tool asks to be confined to and is not offered.
    pub unmet: Vec<String>,
    /// What a person should know, such as the use of something deprecated.
    pub warnings: Vec<String>,
    /// The tools its steps reach.
    pub library: Arc<Library>,
    /// Names the run.
    pub run_id: String,
    /// The call of a built-in tool that this one is carried out for, in its place.
    pub through: Option<Arc<Through>>,
    /// Of a built-in tool that was to run a workflow: why there is no plan of that.
    pub unplanned: Option<Refusal>,
    /// What finds the secrets of the call, once it is needed.
    pub(crate) masks: OnceLock<Masks>,
}

/// Whether one of these tools wants somebody asked each time a model wants to run it, and which of them want that unless a rule
/// of the user's own names them.
pub fn asking<'t>(tools: impl Iterator<Item = &'t Tool>) -> (bool, Vec<String>) {
    let (mut always, mut unless_named) = (false, Vec::new());
    for tool in tools {
        match tool.security.approval {
            Approval::ByRules => {}
            Approval::UnlessNamed => unless_named.push(tool.name.to_string()),
            Approval::Always => always = true,
        }
    }
    unless_named.dedup();
    (always, unless_named)
}

/// The call of a built-in tool in whose place a workflow runs.
#[derive(Clone, Debug)]
pub struct Through {
    /// The call.
    pub call: Call,
    /// What the workflow is called with.
    pub given: Vec<(String, Given)>,
    /// Whether the workflow goes on by itself, and nobody waits for its end.
    pub is_detached: bool,
}

/// A step, ready but for the results of earlier ones.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// Its name.
    pub name: String,
    /// What it does.
    pub action: PlannedAction,
    /// The step whose item it is.
    pub item_of: Option<String>,
    /// What it runs for, one item after another or several at once.
    pub each: Option<ForEach>,
    /// The steps it waits for, by index.
    pub after: Vec<usize>,
    /// Runs only when true; with its source text.
    pub condition: Option<(Expr, String)>,
    /// Whether the run goes on when it fails.
    pub continue_on_error: bool,
    /// Whether it runs only if another step failed.
    pub on_failure: bool,
    /// What follows in a durable run when a crash interrupted it, where its author says so.
    pub on_lost: Option<OnLost>,
    /// The labels that a worker must offer to run it on the fleet, in alphabetical order.
    pub runs_on: Vec<String>,
    /// How often and how fast to try again.
    pub retry: Option<Retry>,
    /// Run when all tries failed.
    pub fallback: Option<CommandText>,
    /// What happens to its output.
    pub output: StepOutput,
    /// The limit of one attempt.
    pub timeout: Option<Duration>,
    /// What it reads.
    pub input: Option<Template>,
    /// Present when its result is used again instead of running it.
    pub cache: Option<Caching>,
    /// The files that the run keeps of it.
    pub(crate) artifacts: Vec<Template>,
    pub(crate) working_directory: Option<Template>,
    pub(crate) environment: Environment,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum PlannedAction {
    /// Runs a command.
    Command(CommandText),
    /// Calls another tool.
    Tool(ToolUse),
    /// Calls a function in a language.
    Handler(Handler),
    /// Is carried out by this program, which knows it by the tool's name.
    BuiltIn,
    /// Calls a tool of another program.
    Remote(RemoteTool),
}

impl Plan {
    /// Makes the plan of a call.
    ///
    /// # Errors
    /// The arguments' problems, or a refusal: wrong platform, a newer version needed, a cycle of tools, a
    /// directory that cannot be resolved.
    pub fn new(request: PlanRequest<'_>) -> Result<Self, PlanError> {
        let PlanRequest { tool, arguments, library, host, run_id, timeout, scripts, within } = request;
        let definition = library.effective(tool)?;
        for needed in std::iter::once(&**tool).chain(library.bases(tool)) {
            check_here(needed, host.platform)?;
        }
        if let Some(lacking) = library.lacking(tool) {
            return Err(lacking.clone().into());
        }
        let bound = |arguments, temp: PathBuf| {
            let run = RunContext { temp, tool_name: definition.name.to_string() };
            bind(&definition, arguments, &host, &run, scripts).map_err(PlanError::Arguments)
        };
        let call = match &definition.file_paths.temp_directory {
            None => bound(arguments, Self::temp_directory_of(&host, run_id))?,
            Some(template) => {
                // In the template itself `{TEMP}` is the system's directory; everywhere else it is the run's own.
                let outside = bound(arguments.clone(), host.temp.clone())?;
                let parent = resolve_directory(&outside, Some(template), &NoSteps)?;
                bound(arguments, parent.join(shown_name(run_id)))?
            }
        };
        let steps = planned_steps(&definition, host.platform)?;
        let working_directory = confinement::working_directory(&call)?;
        let confinement = PlannedConfinement::of(&call, &working_directory)?.within(&within, &definition)?;
        let mut warnings = call.warnings.clone();
        if let Some(deprecated) = &definition.deprecated {
            let instead = deprecated.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
            warnings.push(format!("`{}` is deprecated{instead}", definition.name));
        }
        warnings.extend(ignored_in(std::iter::once(tool).chain(library.tools())));
        let mut call = call;
        call.changes.extend(library.tools().flat_map(|tool| PlaceholderChange::all_of(tool)));
        let is_inside = matches!(definition.body, Body::Handler(_) | Body::BuiltIn(_));
        if definition.security.isolation == cycod_definition::Isolation::None && !is_inside {
            warnings.push(
                "`isolation: none` is for handlers inside this program; the command runs in a process of its own"
                    .into(),
            );
        }
        let unmet = std::iter::once(&definition)
            .chain(library.tools())
            .flat_map(|used| unmet(used, &host.offered, confinement.is_confined()))
            .collect();
        let privileges = library.tools().map(|used| used.security.privilege).chain([confinement.privilege]);
        let privilege = privileges.max().unwrap_or_default();
        let (asks_always, asks_unless_named) =
            asking(std::iter::once(&*definition).chain(library.tools().map(|used| &**used)));
        // An alias can be called more dangerous than what it stands for, never less.
        let level = effective_level(tool, &library).max(effective_level(&definition, &library));
        Ok(Self {
            asked: Arc::clone(tool),
            is_workflow: matches!(definition.body, Body::Steps(_)),
            level,
            granted: level,
            timeout: timeout.or(definition.timeout).unwrap_or(Tool::DEFAULT_TIMEOUT),
            held_to: None,
            temp_directory: call.run.temp.clone(),
            artifacts: PlannedArtifact::all(&call, &steps, &working_directory)?,
            cleanup: definition.resources.cleanup.clone(),
            call,
            steps,
            working_directory,
            confinement,
            privilege,
            asks_always,
            asks_unless_named,
            unmet,
            warnings,
            library,
            run_id: run_id.to_owned(),
            through: None,
            unplanned: None,
            masks: OnceLock::new(),
        })
    }

    /// The directory for temporary files that a run gets when its tool does not choose another.
    pub fn temp_directory_of(host: &Host, run_id: &str) -> PathBuf {
        host.temp.join(format!("cycod-{}", shown_name(run_id)))
    }

    /// Says how dangerous this very call is, before anybody decides about it.
    pub fn set_level(&mut self, level: Level) {
        (self.level, self.granted) = (level, level);
    }

    /// Up to which level it may act once it is approved.
    pub fn granted(&self) -> Level {
        self.granted
    }

    /// Gives the run no more than this time, which `by` says is the most for every tool.
    pub fn hold_to(&mut self, longest: Duration, by: &str) {
        if self.timeout > longest {
            let wanted = std::mem::replace(&mut self.timeout, longest);
            self.held_to = Some(HeldTo { wanted, by: by.to_owned() });
        }
    }

    /// What gives a run more time.
    pub fn more_time(&self) -> String {
        match &self.held_to {
            Some(held_to) => format!("raise {}", held_to.by),
            None => "raise `timeout`, or pass --timeout MS".to_owned(),
        }
    }

    /// Names the run.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The definition that runs.
    pub fn tool(&self) -> &Tool {
        &self.call.tool
    }

    /// The machine and the moment.
    pub fn host(&self) -> &Arc<Host> {
        &self.call.host
    }

    /// Whether it goes on by itself, and nobody waits for its end.
    pub fn is_detached(&self) -> bool {
        self.through.as_ref().is_some_and(|through| through.is_detached)
    }

    /// The labels that a worker must offer to run all of it.
    pub fn worker_labels(&self) -> BTreeSet<String> {
        let tools = std::iter::once(self.tool()).chain(self.library.tools().map(|tool| &**tool));
        tools.flat_map(Tool::worker_labels).collect()
    }

    /// What each of its steps asks of a worker, and each step of the tools that they call; each set of labels once.
    pub fn labels_of_steps(&self) -> BTreeSet<Vec<String>> {
        let mut seen = BTreeSet::new();
        self.add_labels(&self.call.tool, &[], &mut seen);
        seen.into_iter().map(|(_, labels)| labels).collect()
    }

    fn add_labels(&self, tool: &Arc<Tool>, within: &[String], seen: &mut BTreeSet<(String, Vec<String>)>) {
        let Ok(tool) = self.library.effective(tool) else { return };
        let mut add = |own: &[String], called: Option<&str>| {
            let labels = labels(&labels(within, &tool.runs_on), own);
            // What is called the same way in another place needs the same.
            if seen.insert((called.unwrap_or_default().to_lowercase(), labels.clone()))
                && let Some(called) = called.and_then(|name| self.library.get(name))
            {
                self.add_labels(called, &labels, seen);
            }
        };
        match &tool.body {
            Body::Use(tool_use) => add(&[], Some(&tool_use.tool)),
            Body::Steps(steps) => {
                for step in steps {
                    let called =
                        if let StepAction::Use(tool_use) = &step.action { Some(&*tool_use.tool) } else { None };
                    add(&step.runs_on, called);
                }
            }
            _ => add(&[], None),
        }
    }

    /// Whether a step calls another tool.
    pub fn calls_tools(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.action, PlannedAction::Tool(_)))
    }

    /// The step in whose surroundings the cleanup commands run: the tool's, without a step's own additions.
    pub fn cleanup_step(&self, command: &CommandText) -> PlannedStep {
        PlannedStep::bare(self.tool(), "cleanup", PlannedAction::Command(command.clone()))
    }

    /// Resolves a path template: text with the platform's separators.
    ///
    /// # Errors
    /// A placeholder that has no value.
    pub fn path(&self, template: &Template, steps: &dyn Steps) -> Result<String, ResolveError> {
        resolve_path(&self.call, template, steps)
    }

    /// Makes the plan of the tool that a step calls, once the results it refers to are known.
    ///
    /// # Errors
    /// As for [`Plan::new`]; `with` is checked against the tool's parameters here.
    pub fn nested(
        &self,
        step: &PlannedStep,
        tool_use: &ToolUse,
        steps: &dyn Steps,
        scripts: &dyn TransformRunner,
    ) -> Result<Self, PlanError> {
        let tool = self.library.get(&tool_use.tool).ok_or_else(|| {
            Refusal::new(Code::UnknownTool, format!("`{}` is not a tool", tool_use.tool)).place(&tool_use.tool)
        })?;
        let mut arguments = Vec::with_capacity(tool_use.with.len());
        let effective = self.library.effective(tool)?;
        for (name, literal) in &tool_use.with {
            let value = match effective.parameter_given(name).and_then(Parameter::code_reader) {
                Some(reader) => literal.value(&|text| self.code(step, text, reader, steps).map(Value::Text))?,
                None => self.call.literal(literal, steps).map_err(|error| self.unresolved(&error))?,
            };
            arguments.push((name.clone(), Given::Value(value)));
        }
        let mut plan = Self::new(PlanRequest {
            tool,
            arguments,
            library: Arc::clone(&self.library),
            host: Arc::clone(self.host()),
            run_id: &format!("{}-{}", self.run_id, step.own_name()),
            timeout: None,
            scripts,
            within: self.confinement.clone(),
        })?;
        // What the step asks of a worker, it asks for all that it calls.
        plan.steps.iter_mut().for_each(|nested| nested.runs_on = labels(&step.runs_on, &nested.runs_on));
        // What it is given may hold what is secret here.
        plan.call.more_secrets.extend(self.call.secrets().into_iter().chain(steps.secrets()));
        plan.granted = self.granted;
        // It has what is left of our time.
        plan.held_to.clone_from(&self.held_to);
        Ok(plan)
    }
}

impl Plan {
    /// Program text that a step gives to another tool, with the values in it placed for its readers.
    fn code(
        &self,
        step: &PlannedStep,
        template: &Template,
        reader: CodeReader,
        steps: &dyn Steps,
    ) -> Result<String, Refusal> {
        let verdicts = Verdicts { command: argument_verdicts(self.tool(), template, reader), ..Verdicts::default() };
        if let Some(verdict) = verdicts.all().find(|verdict| !verdict.is_placeable()) {
            return Err(unproven(verdict).place(&*step.own_name()));
        }
        let text = CommandText {
            interpreter: reader.interpreter(),
            template: template.clone(),
            options: Vec::new(),
            verdicts,
        };
        self.placed(step, &text, steps)
    }
}

impl PlannedStep {
    /// Whether it has secrets of its own, or texts that are masked in its output.
    pub fn has_secrets(&self) -> bool {
        !self.environment.secrets.is_empty() || !self.output.masked_values.is_empty()
    }

    /// A step with nothing of its own but what it does.
    fn bare(tool: &Tool, name: &str, action: PlannedAction) -> Self {
        Self {
            name: name.to_owned(),
            action,
            item_of: None,
            each: None,
            after: Vec::new(),
            condition: None,
            continue_on_error: tool.ignore_errors,
            on_failure: false,
            on_lost: tool.on_lost,
            runs_on: labels(&tool.runs_on, &[]),
            retry: None,
            fallback: None,
            output: output_of(tool),
            timeout: None,
            input: None,
            cache: None,
            artifacts: Vec::new(),
            working_directory: None,
            environment: Environment::default(),
        }
    }
}

/// The labels of a tool and of one of its steps, each once.
fn labels(of_tool: &[String], of_step: &[String]) -> Vec<String> {
    let labels: BTreeSet<&String> = of_tool.iter().chain(of_step).collect();
    labels.into_iter().cloned().collect()
}

/// How much of the output of a tool's only command is kept: a picture or another file is of use only as a whole.
fn output_of(tool: &Tool) -> StepOutput {
    match tool.produces {
        Produces::Media(_) => StepOutput { buffer_limit: StepOutput::MEDIA_LIMIT, ..StepOutput::default() },
        _ => StepOutput::default(),
    }
}

/// What the files of tools say that has no effect.
fn ignored_in<'t>(tools: impl Iterator<Item = &'t Arc<Tool>>) -> Vec<String> {
    let of =
        |tool: &'t Arc<Tool>| tool.ignored.iter().map(|ignored| format!("in the file of `{}`, {ignored}", tool.name));
    tools.flat_map(of).collect()
}

/// What a tool asks to be held to, by itself or by what uses it, and cannot be.
fn unmet(tool: &Tool, offered: &OfferedConfinement, is_confined: bool) -> Vec<String> {
    let security = &tool.security;
    let refused = |demand: Demand| {
        let why = offered.meets(demand).err()?.why;
        Some(format!("`{}` asks for {demand}, which cannot be enforced here: {why}", tool.name))
    };
    let mut unmet: Vec<String> = security.demands().into_iter().filter_map(refused).collect();
    let asks_to_be_confined = !security.permissions.is_empty() || security.isolation == Isolation::Container;
    if security.privilege == Privilege::Elevated && asks_to_be_confined {
        unmet.push(format!("`{}` asks for elevated rights, which nothing can confine", tool.name));
    }
    if matches!(tool.body, Body::Remote(_)) && is_confined {
        unmet.push(format!("`{}` runs in another program, which cycod cannot confine", tool.name));
    }
    unmet
}

/// The name of a run as others may see it: enough that no two are the same, and too little to ask for its outputs.
fn shown_name(run_id: &str) -> String {
    let (name, step) = run_id.split_at_checked(32).unwrap_or((run_id, ""));
    format!("{}{step}", name.get(..20).unwrap_or(name))
}

fn check_here(tool: &Tool, platform: Platform) -> Result<(), Refusal> {
    let works_here =
        |platforms: &std::collections::BTreeSet<Platform>| platforms.is_empty() || platforms.contains(&platform);
    if !works_here(&tool.platforms) || !works_here(&tool.requires.platforms) {
        let list = |platforms: &std::collections::BTreeSet<Platform>| {
            platforms.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ")
        };
        let names = if works_here(&tool.platforms) { list(&tool.requires.platforms) } else { list(&tool.platforms) };
        return Err(Refusal::new(
            Code::UnsupportedPlatform,
            format!("`{}` works on {names}, and this is {platform}", tool.name),
        ));
    }
    let ours = semver::Version::parse(env!("CARGO_PKG_VERSION")).expect("cargo checks the version");
    match &tool.min_cycod_version {
        Some(wanted) if *wanted > ours => Err(Refusal::new(
            Code::NewerVersionNeeded,
            format!("`{}` needs cycod {wanted} or newer, and this is {ours}", tool.name),
        )),
        _ => Ok(()),
    }
}

fn planned_steps(tool: &Tool, platform: Platform) -> Result<Vec<PlannedStep>, Refusal> {
    let single = |action| PlannedStep {
        input: tool.input.clone(),
        cache: tool.cache.clone(),
        ..PlannedStep::bare(tool, tool.name.as_str(), action)
    };
    match &tool.body {
        Body::Command(command) => Ok(vec![single(PlannedAction::Command(text_for(command, platform, tool)?))]),
        Body::Use(tool_use) => Ok(vec![single(PlannedAction::Tool(tool_use.clone()))]),
        Body::Handler(handler) if !handler.runtime.runs_on(platform) => {
            let why =
                format!("`{}` is a function in {}, and those don't run on {platform}", tool.name, handler.runtime);
            Err(Refusal::new(Code::UnsupportedPlatform, why).attempt("start its program with `run:` or `script:`"))
        }
        Body::Handler(handler) => Ok(vec![single(PlannedAction::Handler(handler.clone()))]),
        Body::BuiltIn(_) => Ok(vec![single(PlannedAction::BuiltIn)]),
        Body::Remote(remote) => Ok(vec![single(PlannedAction::Remote(remote.clone()))]),
        Body::Steps(steps) => {
            steps.iter().enumerate().map(|(index, step)| planned_step(tool, step, index == 0, platform)).collect()
        }
        Body::Alias { base, .. } => Err(Refusal::new(
            Code::UnknownTool,
            format!("`{}` is an alias of `{base}`, which is not a tool", tool.name),
        )),
    }
}

fn planned_step(tool: &Tool, step: &Step, is_first: bool, platform: Platform) -> Result<PlannedStep, Refusal> {
    let action = match &step.action {
        StepAction::Command(command) => PlannedAction::Command(text_for(command, platform, tool)?),
        StepAction::Use(tool_use) => PlannedAction::Tool(tool_use.clone()),
    };
    let fallback = step.fallback.as_ref().map(|command| text_for(command, platform, tool)).transpose()?;
    Ok(PlannedStep {
        name: step.name.clone(),
        action,
        item_of: None,
        each: step.each.clone(),
        after: step.after.clone(),
        condition: step.condition.clone(),
        continue_on_error: step.continue_on_error.unwrap_or(tool.ignore_errors),
        on_failure: step.on_failure,
        on_lost: step.on_lost.or(tool.on_lost),
        runs_on: labels(&tool.runs_on, &step.runs_on),
        retry: step.retry,
        fallback,
        output: step.output.clone(),
        timeout: step.timeout,
        input: step.input.clone().or_else(|| tool.input.clone().filter(|_| is_first)),
        cache: step.cache.clone(),
        artifacts: step.artifacts.clone(),
        working_directory: step.working_directory.clone(),
        environment: step.environment.clone(),
    })
}

pub(crate) fn text_for(command: &Command, platform: Platform, tool: &Tool) -> Result<CommandText, Refusal> {
    let mut text = command.for_platform(platform).cloned().ok_or_else(|| {
        Refusal::new(Code::UnsupportedPlatform, format!("`{}` has no command for {platform}", tool.name))
            .attempt("add `default` or this platform under `commands`")
    })?;
    if platform == Platform::Windows && text.interpreter == Interpreter::PlatformDefault {
        text.verdicts = verdicts_in_cmd(tool, &text);
    }
    let refusal = text.verdicts.all().find(|verdict| !verdict.is_placeable()).map(unproven);
    refusal.map_or(Ok(text), |refusal| Err(refusal.place(tool.name.as_str())))
}

/// Why no value is placed where nothing proves that it is data.
fn unproven(verdict: &Verdict) -> Refusal {
    let refusal = Refusal::new(verdict.code.unwrap_or(Code::UnprovenPlace), verdict.reason.clone());
    match (&verdict.rewrite, verdict.help.as_str()) {
        (Some(rewrite), help) => refusal.attempt(format!("{help}: {rewrite}")),
        (None, "") => refusal,
        (None, help) => refusal.attempt(help),
    }
}

pub(crate) fn resolve_path(call: &Call, template: &Template, steps: &dyn Steps) -> Result<String, ResolveError> {
    let text = call.text(template, steps)?;
    Ok(normalize_path(&call.tool.file_paths, call.host.platform, &text))
}

/// Resolves a directory template; relative ones start at the caller's directory, `~/` at the home.
pub(crate) fn resolve_directory(
    call: &Call,
    template: Option<&Template>,
    steps: &dyn Steps,
) -> Result<PathBuf, Refusal> {
    let host = &call.host;
    let Some(template) = template else { return Ok(host.working_directory.clone()) };
    let text = resolve_path(call, template, steps)
        .map_err(|error| Refusal::new(error.code(), error.to_string()).place("working-directory"))?;
    if text.contains('\0') {
        let why = "the directory's name holds a NUL character";
        return Err(Refusal::new(Code::NulInValue, why).place("working-directory"));
    }
    Ok(match text.strip_prefix("~/") {
        Some(below_home) => host.home.join(below_home),
        None if text == "~" => host.home.clone(),
        None => host.working_directory.join(text),
    })
}

impl PlanError {
    /// The refusal that stands for all of it, for a caller that gives arguments as JSON.
    pub fn into_refusal(self, tool: &str) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            Self::Arguments(problems) => {
                let why = Self::Arguments(problems.clone()).to_string();
                let mut help: Vec<String> = Vec::new();
                for problem in problems.iter().take(MOST_TOLD) {
                    let Some(one) = &problem.help else { continue };
                    // What is missing has its description, which alone is no advice.
                    let one = match (&problem.parameter, problem.code) {
                        (Some(name), Code::MissingArgument) => format!("give `{name}`: {one}"),
                        _ => one.clone(),
                    };
                    if !help.contains(&one) {
                        help.push(one);
                    }
                }
                let again = problems.first().and_then(|problem| problem.instead.as_ref()?.as_json());
                let code = problems.first().map_or(Code::InvalidArgument, |problem| problem.code);
                let refusal = Refusal::new(code, why);
                let refusal = match problems.first().and_then(|problem| problem.parameter.as_deref()) {
                    Some(parameter) => refusal.place(parameter),
                    None => refusal,
                };
                let attempt: Vec<String> = help.into_iter().chain(again).collect();
                if attempt.is_empty() {
                    refusal.attempt(format!("cycod info {tool} --detail"))
                } else {
                    refusal.attempt(attempt.join("; "))
                }
            }
        }
    }
}

impl PlanError {
    /// The refusal of a step that calls `tool`: the caller of the tool with the step cannot give other arguments.
    pub fn in_step(self, step: &str, tool: &str) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            error @ Self::Arguments(_) => error
                .into_refusal(tool)
                .attempt(format!("correct what step `{step}` gives to `{tool}` in `with`: cycod info {tool} --detail")),
        }
    }
}

impl std::fmt::Display for PlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Arguments(problems) => {
                let messages: Vec<&str> = problems.iter().take(MOST_TOLD).map(|problem| &*problem.message).collect();
                f.write_str(&messages.join("; "))?;
                match problems.len() - messages.len() {
                    0 => Ok(()),
                    more => write!(f, "; and {more} more problems"),
                }
            }
        }
    }
}

impl std::error::Error for PlanError {}
