//! `cycod run`: one tool with arguments of the user, planned, shown, approved and run.

use std::{collections::BTreeSet, fs, io::Read, sync::Arc, time::Duration};

use clap::{ArgAction, ArgMatches, Args, Command, CommandFactory, Parser, ValueEnum};
use cycod_app::command_line::pair;
use cycod_engine::{
    Approved, Control, Engine, EngineError, Given, Plan, RunPlace, RunReport, Surface,
    catalog::ScopeFilter,
    definition::{FleetWorkspace, Parameter, RunSite, Tool, Value, WORKER_LABEL, is_worker_label},
    diagnostic::Code,
    json, result_json, result_json_of,
};
use cycod_process::host_interrupts;

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    commands::{
        approvals::{TerminalOrQueue, asker},
        trust::{ByHand, settle},
        usage_of::{usage_of, with_pairs},
    },
    detail::Detail,
    help,
    options::{TextOrJson, parsed},
    rules::{self, RuleOptions},
    run::{Display, OnFleet, Travelling, answers, completed, not_planned, preview_json, preview_text},
    scope::{ScopeOptions, entry},
};

/// What `cycod run` takes.
#[derive(Parser)]
#[command(name = "run", about = "Run a tool", disable_help_flag = true)]
struct Arguments {
    /// Show what the tool takes
    #[arg(long, short = 'h', action = ArgAction::SetTrue)]
    help: bool,
    #[arg(value_name = "TOOL_NAME", required_unless_present = "help")]
    name: Option<String>,
    #[command(flatten)]
    given: ArgumentOptions,
    /// Check everything and show the whole plan; run nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the commands in a form that you can paste; run nothing
    #[arg(long)]
    show_command: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    /// The limit for the whole run, instead of the tool's own
    #[arg(long, value_name = "MS")]
    timeout: Option<u64>,
    /// Let the run continue after a crash; see `cycod runs resume`
    #[arg(long)]
    durable: bool,
    /// Run the steps whose results are stored, too; store the new results
    #[arg(long, conflicts_with = "background")]
    no_cache: bool,
    /// Return when the run has begun, and print its ID; see `cycod help background-runs`
    #[arg(long, conflicts_with_all = ["dry_run", "show_command"])]
    background: bool,
    /// Where the tool runs, instead of where its file says: on this machine, or on a worker of your team's hub; see
    /// `cycod help guide fleet`
    #[arg(long, value_name = "here|fleet")]
    on: Option<Where>,
    /// What the worker must offer, in addition to the labels of the tool; repeat for several
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    #[command(flatten)]
    rules: RuleOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// On which machine a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Where {
    Here,
    Fleet,
}

/// `cycod run`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// The options by which a person gives arguments.
#[derive(Args)]
#[group(skip)]
pub(super) struct ArgumentOptions {
    /// Arguments, as with --param
    #[arg(value_name = "NAME=VALUE", num_args = 0..)]
    pairs: Vec<String>,
    /// An argument of the tool; repeat for the elements of a list
    #[arg(long, short = 'p', value_name = "NAME=VALUE", allow_hyphen_values = true)]
    param: Vec<String>,
    /// All arguments as one JSON object: inline, from a file, or from standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    params_json: Option<String>,
}

impl ArgumentOptions {
    /// Whether any argument is given.
    pub(super) fn is_given(&self) -> bool {
        !self.pairs.is_empty() || !self.param.is_empty() || self.params_json.is_some()
    }
}

/// Runs a tool, or shows what running it would do.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let Some(name) = &args.name else {
        let page = help::page(if context.is_short { "run" } else { "tool run" });
        context.printer.page(&page.expect("every command has one"));
        return Ok(0);
    };
    if args.help {
        return explain(context, name, &args.scope);
    }
    context.engine.expect_one_call();
    let filter = args.scope.filter()?.unwrap_or(ScopeFilter::Any);
    let json = args.format.is_json();
    let arguments = arguments(context, "cycod run", name, &args.given, &args.scope)?;
    let rules = args.rules.given()?;
    rules::warn_of_unknown(&rules, &context.engine, &mut context.printer);
    context.engine.add_rules(rules);
    let timeout = args.timeout.map(Duration::from_millis);
    let opened = context.engine.open_tool(name, filter).map_err(CommandError::from);
    let tool = opened.as_ref().ok().map(|opened| Arc::new(opened.tool.clone()));
    let done = opened.and_then(|opened| {
        let tool = Arc::new(opened.tool);
        let site = site(context, &tool, args.on, &args.label)?;
        if !args.dry_run && !args.show_command {
            let (durable, in_background, refreshes_cache) = (args.durable, args.background, args.no_cache);
            let how =
                How { timeout, json, durable, refreshes_cache, in_background, asks: true, site, labels: args.label };
            return execute(context, &tool, arguments, how);
        }
        let arguments = completed(context, &tool, arguments)?;
        let arguments = context.engine.by_person(&tool, arguments)?;
        let plan = context.engine.plan_unasked(&tool, arguments, timeout).map_err(|error| not_planned(name, error))?;
        let fleet =
            (site == RunSite::Fleet).then(|| on_fleet(&plan, &args.label, (args.dry_run, args.durable))).transpose()?;
        show(context, &plan, fleet.as_ref(), args.dry_run, json)
    });
    told(context, done, tool.as_deref(), json)
}

/// Where a tool runs: where the user says, else where its file says.
fn site(context: &Context, tool: &Arc<Tool>, on: Option<Where>, labels: &[String]) -> Result<RunSite, CommandError> {
    if let Some(wrong) = labels.iter().find(|label| !is_worker_label(label)) {
        return Err(CommandError::usage(format!("`{wrong}` can't be a label: {WORKER_LABEL}")));
    }
    let site = match on {
        Some(Where::Here) => RunSite::Here,
        Some(Where::Fleet) => RunSite::Fleet,
        None => context.engine.site_of(tool)?,
    };
    match site {
        RunSite::Here if !labels.is_empty() => {
            Err(CommandError::usage("`--label` is for a run on the fleet, and this one is on this machine")
                .hint("add `--on fleet`"))
        }
        site => Ok(site),
    }
}

/// What a worker must offer for a run on the fleet, and which files of the project it would get.
fn on_fleet(plan: &Plan, labels: &[String], (whole, durable): (bool, bool)) -> Result<OnFleet, CommandError> {
    let all: BTreeSet<String> = labels.iter().cloned().chain(plan.worker_labels()).collect();
    let travels = whole && plan.tool().workspace == FleetWorkspace::Snapshot;
    let project = travels.then(|| Travelling::of(plan.host())).transpose()?;
    let is_durable = durable || plan.tool().durable;
    Ok(OnFleet { labels: all.into_iter().collect(), project, is_durable })
}

/// Shows what a tool takes and what it may do.
fn explain(context: &mut Context, name: &str, scope: &ScopeOptions) -> Result<u8, CommandError> {
    let Context { engine, printer, .. } = context;
    let entry = entry(engine, name, scope.filter()?.unwrap_or_default())?;
    let tool = engine.resulting(entry.load().map_err(EngineError::from)?.tool);
    let detail = Detail::new(engine, &entry, Some(&tool));
    printer.text(detail.usage(&usage_of(&tool), printer.width, printer.data_colour));
    Ok(0)
}

/// Runs a tool with arguments that a person gave.
pub(crate) fn call(
    context: &mut Context,
    tool: &Arc<Tool>,
    arguments: Vec<(String, Given)>,
    json: bool,
) -> Result<u8, CommandError> {
    let done = site(context, tool, None, &[]).and_then(|site| {
        let how = How {
            timeout: None,
            json,
            durable: false,
            refreshes_cache: false,
            in_background: false,
            asks: false,
            site,
            labels: Vec::new(),
        };
        execute(context, tool, arguments, how)
    });
    told(context, done, Some(tool), json)
}

/// Tells a program in the form of a result what a person is told as an error.
fn told(
    context: &mut Context,
    done: Result<u8, CommandError>,
    tool: Option<&Tool>,
    json: bool,
) -> Result<u8, CommandError> {
    match done {
        Err(error) if json && error.refusal.is_some() => {
            let refusal = *error.refusal.clone().expect("the guard says so");
            let report = RunReport { exit_code: error.exit.into(), ..RunReport::refused(refusal) };
            let result = tool.map_or_else(|| result_json(&report), |tool| result_json_of(tool, &report));
            context.printer.json(&result.to_string());
            Ok(error.exit)
        }
        Err(mut error) if error.code == Some(Code::MissingArgument) => {
            let usage = tool.map(|tool| format!("usage: {}", usage_of(&context.engine.resulting(tool.clone()))));
            error.hints.splice(..0, usage);
            Err(error)
        }
        done => done,
    }
}

/// Asks, where it must be asked, whether a plan may run.
pub(super) fn approved(context: &mut Context, plan: Plan) -> Result<Approved<Plan>, CommandError> {
    let subjects = context.engine.subjects_of(&plan)?;
    settle(context, subjects, ByHand::Tool)?;
    let control = context.engine.control().map_err(|error| unprepared(&error))?;
    let approver = person(&context.engine, &control);
    Ok(context.engine.approve(plan, Surface::Person, &approver)?)
}

/// What a person says of a run beside its arguments.
struct How {
    timeout: Option<Duration>,
    json: bool,
    durable: bool,
    refreshes_cache: bool,
    in_background: bool,
    /// Whether the user is asked for what is missing.
    asks: bool,
    site: RunSite,
    /// What the worker must offer in addition to the labels of the tool.
    labels: Vec<String>,
}

fn execute(
    context: &mut Context,
    tool: &Arc<Tool>,
    arguments: Vec<(String, Given)>,
    How { timeout, json, durable, refreshes_cache, in_background, asks, site, labels }: How,
) -> Result<u8, CommandError> {
    let subjects = context.engine.subjects(tool)?;
    settle(context, subjects, ByHand::Tool)?;
    let arguments = if asks { completed(context, tool, arguments)? } else { arguments };
    let arguments = context.engine.by_person(tool, arguments)?;
    let answers = answers(context, tool, &arguments)?;
    if !answers.is_empty() {
        context.engine.look_again();
    }
    let failed = |error: std::io::Error| unprepared(&error);
    let place = match site {
        RunSite::Here => RunPlace::Here,
        RunSite::Fleet => RunPlace::Carried(context.engine.carrier(tool, labels)?),
    };
    let control = Control {
        is_attended: context.is_attended() && site == RunSite::Here,
        durable,
        refreshes_cache,
        place,
        ..context.engine.control().map_err(failed)?
    };
    let interrupts = host_interrupts(&control.stop).map_err(failed)?;
    let engine = &context.engine;
    let beginning = engine.begin();
    let plan = |arguments| engine.plan_answered(tool, arguments, &answers, timeout, &beginning);
    let asker = asker(Surface::Person, "you, at this terminal");
    let approver = person(engine, &control);
    let approved = match (engine.approve_call(arguments, &plan, &asker, &approver), interrupts.signal()) {
        (Ok(approved), _) => approved,
        (Err(_), Some(signal)) => return Ok(u8::try_from(128 + signal).unwrap_or(exit::FAILURE)),
        (Err(error), None) => return Err(not_planned(tool.name.as_str(), error)),
    };
    if in_background {
        let run = approved.subject().run_id.clone();
        context.engine.run_in_background(approved, &control)?;
        return Ok(begun(context, tool, &run, json));
    }
    let mut display = Display::new(approved.subject(), json);
    if context.engine.history().is_some() {
        display = display.kept_as(&approved.subject().run_id);
    }
    let Context { engine, printer, .. } = context;
    let report = engine.run(approved, &control, &mut display.sink(printer));
    let signal = interrupts.signal();
    drop(interrupts);
    if json {
        printer.json(&result_json_of(tool, &report).to_string());
    } else {
        display.finish(printer, &report);
    }
    Ok(exit_code(&report, signal))
}

/// Says how a run in the background is called, and how it is followed.
fn begun(context: &mut Context, tool: &Tool, run: &str, json: bool) -> u8 {
    if json {
        let next = format!("cycod runs wait {run}");
        context.printer.json(&serde_json::json!({"run": run, "status": "running", "next": next}).to_string());
    } else {
        context.printer.line(run);
        context.printer.say(&format!("`{}` runs in the background: cycod runs follow {run}", tool.name));
    }
    0
}

fn unprepared(error: &std::io::Error) -> CommandError {
    CommandError::failure(format!("cannot prepare to start processes: {error}"))
}

/// Who is asked about a call of a person.
fn person<'a>(engine: &'a Engine, control: &'a Control) -> TerminalOrQueue<'a> {
    TerminalOrQueue { engine, stop: &control.stop, wait: Duration::ZERO, command: None }
}

/// The arguments that a person gives to the tool `name`.
pub(super) fn arguments(
    context: &Context,
    command: &str,
    name: &str,
    given: &ArgumentOptions,
    scope: &ScopeOptions,
) -> Result<Vec<(String, Given)>, CommandError> {
    let mut arguments = match &given.params_json {
        Some(text) => json_arguments(text)?,
        None => Vec::new(),
    };
    let named = words_with_names(context, name, given, scope)?;
    let pairs = pairs(named.iter()).map_err(|error| {
        let line = if given.params_json.is_some() { None } else { with_names(context, command, name, scope, &named) };
        match line {
            Some(line) => error.hint(format!("try: {line}")),
            None => error,
        }
    });
    arguments.extend(pairs?);
    Ok(arguments)
}

/// The arguments that are given one by one.
pub(crate) fn pairs<'a>(words: impl Iterator<Item = &'a String>) -> Result<Vec<(String, Given)>, CommandError> {
    let argument = |word: &String| match word.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), Given::Text(value.to_owned()))),
        None => Err(CommandError::usage(format!("`{word}` is not of the form NAME=VALUE"))),
    };
    words.map(argument).collect()
}

/// The words that give arguments; those of them that are options name parameters of the tool.
fn words_with_names(
    context: &Context,
    name: &str,
    given: &ArgumentOptions,
    scope: &ScopeOptions,
) -> Result<Vec<String>, CommandError> {
    let mut named = given.pairs.clone();
    if named.iter().any(|word| word.starts_with("--")) {
        let tool = context.engine.open_tool(name, scope.filter()?.unwrap_or_default())?.tool;
        named = with_pairs(&context.engine.resulting(tool), &self::command(), named)?;
    }
    named.extend(given.param.iter().cloned());
    Ok(named)
}

/// The command line with names before the values that have none: those of the parameters that nothing is given for, required
/// ones first.
fn with_names(context: &Context, command: &str, name: &str, scope: &ScopeOptions, words: &[String]) -> Option<String> {
    let tool = context.engine.open_tool(name, scope.filter().ok()?.unwrap_or(ScopeFilter::Any)).ok()?.tool;
    let meant = |name: &str| tool.parameter_meant(name).map(|index| &tool.parameters[index]);
    let is_free = |parameter: &&Parameter| {
        let mut named = words.iter().filter_map(|word| meant(word.split_once('=')?.0));
        named.all(|named| named.name != parameter.name)
    };
    let (needed, others): (Vec<_>, Vec<_>) =
        tool.given_parameters().filter(is_free).partition(|parameter| parameter.is_needed());
    let mut free = needed.into_iter().chain(others);
    let mut line = format!("{command} {name}");
    for word in words {
        let (name, value) = word.split_once('=').or_else(|| Some((free.next()?.name.as_str(), word)))?;
        let is_shown = meant(name).is_none_or(|of| !of.sensitive && !tool.environment.is_secret(&of.name));
        let pair = pair(name, &Value::Text(value.to_owned())).filter(|_| is_shown)?;
        line.push_str(&format!(" {pair}"));
    }
    Some(line)
}

fn json_arguments(text: &str) -> Result<Vec<(String, Given)>, CommandError> {
    let read = match text.strip_prefix('@') {
        Some(path) => {
            fs::read_to_string(path).map_err(|error| CommandError::usage(format!("cannot read `{path}`: {error}")))?
        }
        None if text == "-" => {
            let mut read = String::new();
            std::io::stdin()
                .read_to_string(&mut read)
                .map_err(|error| CommandError::usage(format!("cannot read standard input: {error}")))?;
            read
        }
        None => text.to_owned(),
    };
    let hint = "give one JSON object, such as '{\"NAME\": \"value\"}'";
    match json::parse(&read) {
        Ok(Value::Object(fields)) => Ok(fields.into_iter().map(|(name, value)| (name, Given::Value(value))).collect()),
        Ok(_) => Err(CommandError::usage("--params-json: this is not a JSON object").hint(hint)),
        Err(error) => Err(CommandError::usage(format!("--params-json: {error}")).hint(hint)),
    }
}

/// Shows what a plan would do; `fleet` says which workers would do it.
fn show(
    context: &mut Context,
    plan: &Plan,
    fleet: Option<&OnFleet>,
    whole: bool,
    json: bool,
) -> Result<u8, CommandError> {
    let preview = context.engine.preview(plan);
    let unpinned = if whole { context.engine.unpinned(&plan.asked) } else { Vec::new() };
    let interpreters = if whole { context.engine.interpreters(&plan.asked) } else { Vec::new() };
    let outlook = if whole { context.engine.cache_outlook(plan) } else { Vec::new() };
    if let (Some(refusal), false) = (preview.refusal(), whole) {
        return Err(refusal.clone().into());
    }
    match (whole, json) {
        (true, false) => context.printer.text(&preview_text(plan, &preview, fleet, &interpreters, &unpinned, &outlook)),
        (true, true) => {
            context.printer.json(&preview_json(plan, &preview, fleet, &interpreters, &unpinned, &outlook).to_string());
        }
        (false, false) => context.printer.line(&preview.commands().join("\n")),
        (false, true) => context.printer.json(&serde_json::json!(preview.commands()).to_string()),
    }
    Ok(if preview.refusal().is_some() { exit::FAILURE } else { 0 })
}

/// The exit code of a run: the tool's own, 124 after a timeout, 128 and the signal that stopped us.
pub(super) fn exit_code(report: &RunReport, signal: Option<i32>) -> u8 {
    match signal {
        Some(signal) if report.cancelled => u8::try_from(128 + signal).unwrap_or(exit::FAILURE),
        _ if report.timed_out => exit::TIMED_OUT,
        _ => match u8::try_from(report.exit_code & 0xff) {
            // A code that a byte cannot carry is still a failure.
            Ok(0) if report.exit_code != 0 => exit::FAILURE,
            Ok(code) => code,
            Err(_) => exit::FAILURE,
        },
    }
}
