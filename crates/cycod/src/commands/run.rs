//! `cycod run`: one tool with arguments of the user, planned, shown, approved and run.

use std::{fs, io::Read, sync::Arc, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use cycod_app::command_line::pair;
use cycod_engine::{
    Approved, Control, Engine, EngineError, Given, Plan, RunReport, Surface,
    catalog::ScopeFilter,
    definition::{Parameter, Tool, Value},
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
    help, rules,
    run::{Display, answers, completed, not_planned, preview_json, preview_text},
    scope::{entry, scope, with_scope},
};

/// `cycod run`.
pub(crate) fn command() -> Command {
    let command = Command::new("run")
        .about("Run a tool")
        .disable_help_flag(true)
        .arg(Arg::new("help").long("help").short('h').action(ArgAction::SetTrue).help("Show what the tool takes"))
        .arg(Arg::new("name").value_name("TOOL_NAME").required_unless_present("help"));
    let command = with_arguments(command)
        .arg(
            Arg::new("dry-run")
                .long("dry-run")
                .action(ArgAction::SetTrue)
                .help("Check everything and show the whole plan; run nothing"),
        )
        .arg(
            Arg::new("show-command")
                .long("show-command")
                .action(ArgAction::SetTrue)
                .help("Print the commands in a form that you can paste; run nothing"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("Output format"),
        )
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("MS")
                .value_parser(value_parser!(u64))
                .help("The limit for the whole run, instead of the tool's own"),
        )
        .arg(
            Arg::new("durable")
                .long("durable")
                .action(ArgAction::SetTrue)
                .help("Let the run continue after a crash; see `cycod runs resume`"),
        )
        .arg(
            Arg::new("background")
                .long("background")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["dry-run", "show-command"])
                .help("Return when the run has begun, and print its ID; see `cycod help background-runs`"),
        )
        .args(rules::options());
    with_scope(command)
}

/// The options by which a person gives arguments.
pub(super) fn with_arguments(command: Command) -> Command {
    command
        .arg(Arg::new("pairs").value_name("NAME=VALUE").num_args(0..).help("Arguments, as with --param"))
        .arg(
            Arg::new("param")
                .long("param")
                .short('p')
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .allow_hyphen_values(true)
                .help("An argument of the tool; repeat for the elements of a list"),
        )
        .arg(
            Arg::new("params-json")
                .long("params-json")
                .value_name("JSON|@FILE|-")
                .help("All arguments as one JSON object: inline, from a file, or from standard input"),
        )
}

/// Runs a tool, or shows what running it would do.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let Some(name) = matches.get_one::<String>("name") else {
        let page = help::page(if context.is_short { "run" } else { "tool run" });
        context.printer.page(&page.expect("every command has one"));
        return Ok(0);
    };
    if matches.get_flag("help") {
        return explain(context, name, matches);
    }
    context.engine.expect_one_call();
    let filter = scope(matches)?.unwrap_or(ScopeFilter::Any);
    let json = matches.get_one::<String>("format").is_some_and(|format| format == "json");
    let arguments = arguments(context, "cycod run", matches)?;
    let rules = rules::given(matches)?;
    rules::warn_of_unknown(&rules, &context.engine, &mut context.printer);
    context.engine.add_rules(rules);
    let timeout = matches.get_one::<u64>("timeout").map(|&limit| Duration::from_millis(limit));
    let opened = context.engine.open_tool(name, filter).map_err(CommandError::from);
    let tool = opened.as_ref().ok().map(|opened| Arc::new(opened.tool.clone()));
    let done = opened.and_then(|opened| {
        let tool = Arc::new(opened.tool);
        if !matches.get_flag("dry-run") && !matches.get_flag("show-command") {
            let (durable, in_background) = (matches.get_flag("durable"), matches.get_flag("background"));
            let how = How { timeout, json, durable, in_background, asks: true };
            return execute(context, &tool, arguments, how);
        }
        let arguments = completed(context, &tool, arguments)?;
        let arguments = context.engine.by_person(&tool, arguments)?;
        let plan = context.engine.plan_unasked(&tool, arguments, timeout).map_err(|error| not_planned(name, error))?;
        show(context, &plan, matches.get_flag("dry-run"), json)
    });
    told(context, done, tool.as_deref(), json)
}

/// Shows what a tool takes and what it may do.
fn explain(context: &mut Context, name: &str, matches: &ArgMatches) -> Result<u8, CommandError> {
    let Context { engine, printer, .. } = context;
    let entry = entry(engine, name, scope(matches)?.unwrap_or_default())?;
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
    let done = execute(
        context,
        tool,
        arguments,
        How { timeout: None, json, durable: false, in_background: false, asks: false },
    );
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
    in_background: bool,
    /// Whether the user is asked for what is missing.
    asks: bool,
}

fn execute(
    context: &mut Context,
    tool: &Arc<Tool>,
    arguments: Vec<(String, Given)>,
    How { timeout, json, durable, in_background, asks }: How,
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
    let control = Control { is_attended: context.is_attended(), durable, ..context.engine.control().map_err(failed)? };
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

/// Collects the arguments of the call of `tool` by `command`; those given one by one are added to those given as JSON.
pub(super) fn arguments(
    context: &Context,
    command: &str,
    matches: &ArgMatches,
) -> Result<Vec<(String, Given)>, CommandError> {
    let mut arguments = match matches.get_one::<String>("params-json") {
        Some(text) => json_arguments(text)?,
        None => Vec::new(),
    };
    let named = words_with_names(context, matches)?;
    let given = parsed(named.iter()).map_err(|error| match with_names(context, command, matches, &named) {
        Some(line) => error.hint(format!("try: {line}")),
        None => error,
    });
    arguments.extend(given?);
    Ok(arguments)
}

/// The arguments that are given one by one.
pub(crate) fn pairs(matches: &ArgMatches) -> Result<Vec<(String, Given)>, CommandError> {
    parsed(words(matches))
}

fn parsed<'a>(words: impl Iterator<Item = &'a String>) -> Result<Vec<(String, Given)>, CommandError> {
    let argument = |word: &String| match word.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), Given::Text(value.to_owned()))),
        None => Err(CommandError::usage(format!("`{word}` is not of the form NAME=VALUE"))),
    };
    words.map(argument).collect()
}

/// The words that give arguments; those of them that are options name parameters of the tool.
fn words_with_names(context: &Context, matches: &ArgMatches) -> Result<Vec<String>, CommandError> {
    let positional = matches.get_many::<String>("pairs").into_iter().flatten().cloned();
    let mut named: Vec<String> = positional.collect();
    if named.iter().any(|word| word.starts_with("--")) {
        let name = matches.get_one::<String>("name").expect("clap wants it before others");
        let tool = context.engine.open_tool(name, scope(matches)?.unwrap_or_default())?.tool;
        named = with_pairs(&context.engine.resulting(tool), &self::command(), named)?;
    }
    named.extend(matches.get_many::<String>("param").into_iter().flatten().cloned());
    Ok(named)
}

fn words(matches: &ArgMatches) -> impl Iterator<Item = &String> {
    ["pairs", "param"].into_iter().flat_map(|option| matches.get_many::<String>(option)).flatten()
}

/// The command line with names before the values that have none: those of the parameters that nothing is given for, required
/// ones first.
fn with_names(context: &Context, command: &str, matches: &ArgMatches, words: &[String]) -> Option<String> {
    if matches.contains_id("params-json") {
        return None;
    }
    let name = matches.get_one::<String>("name")?;
    let tool = context.engine.open_tool(name, scope(matches).ok()?.unwrap_or(ScopeFilter::Any)).ok()?.tool;
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

fn show(context: &mut Context, plan: &Plan, whole: bool, json: bool) -> Result<u8, CommandError> {
    let preview = context.engine.preview(plan);
    let unpinned = if whole { context.engine.unpinned(&plan.asked) } else { Vec::new() };
    if let (Some(refusal), false) = (preview.refusal(), whole) {
        return Err(refusal.clone().into());
    }
    match (whole, json) {
        (true, false) => context.printer.text(&preview_text(plan, &preview, &unpinned)),
        (true, true) => context.printer.json(&preview_json(plan, &preview, &unpinned).to_string()),
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
