//! `cycod agent run`: a model carries out a task with tools, within budgets.

use std::{
    cell::LazyCell,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgMatches, Command, CommandFactory, Parser, value_parser};
use cycod_agent::{Choice, Ending, Event, Limit, Limits, Preset, STOPPED, Session, Tools, TurnError, Turned, With};
use cycod_engine::{Approver, Engine, Nobody, Stop, Surface, diagnostic::visible, host};
use cycod_model::{Message, Provider, Reply, StopReason};
use cycod_process::host_interrupts;
use serde_json::{Value as Json, json};

use super::{directory, failed, show};
use crate::{
    app::app,
    charset::Charset,
    choice::{self, ChoiceOptions},
    cli::Context,
    command_error::{CommandError, exit},
    commands::approvals::{TerminalOrQueue, WaitOptions, asker},
    models,
    options::{TextOrJson, parsed},
    piped, rules,
};

/// The most of a file that is given with `--context`.
const LARGEST_CONTEXT: u64 = 1 << 20;

/// What `cycod agent run` takes.
#[derive(Parser)]
#[command(name = "run", about = "Let a model carry out a task with tools")]
struct Arguments {
    /// The task; `-`, or nothing, reads it from standard input
    #[arg(value_name = "TASK")]
    task: Option<String>,
    /// How often the model may be asked
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), default_value = "10")]
    max_iterations: u32,
    /// Check everything without calling a model
    #[arg(long)]
    dry_run: bool,
    /// The working directory
    #[arg(long, value_name = "DIR")]
    working_dir: Option<PathBuf>,
    /// A file to give to the model first
    #[arg(long, value_name = "FILE")]
    context: Vec<PathBuf>,
    /// The model, as PROVIDER/NAME
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
    /// How many tokens may be used in all
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    max_tokens_total: Option<u64>,
    /// What the tokens may cost
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,
    /// How long the work may take
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u64).range(1..))]
    max_time: Option<u64>,
    /// How many calls may be made
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    max_calls: Option<u32>,
    /// How many tokens the descriptions of tools may take
    #[arg(long, value_name = "TOKENS")]
    tool_budget: Option<u32>,
    /// Continue a session
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    #[command(flatten)]
    waiting: WaitOptions,
    #[command(flatten)]
    choice: ChoiceOptions,
}

/// `cycod agent run`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars > 0.0 => Ok(dollars),
        _ => Err("expected a number of dollars above 0, such as 0.50".to_owned()),
    }
}

/// What is to be done, with everything that was checked.
struct Work {
    task: Option<String>,
    /// What was piped in beside the task.
    given: Option<String>,
    choice: Choice,
    tools: Tools,
    working_directory: PathBuf,
    limits: Limits,
    context: Option<String>,
}

/// Lets a model carry out a task, or checks that it could.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let rules = args.choice.rules()?;
    let resumed = args.resume.as_ref();
    let before = match resumed {
        Some(start) => {
            Some(cycod_agent::Transcript::read(&directory(&context.engine), start).map_err(|error| failed(&error))?)
        }
        None => None,
    };
    let about = before.as_ref().map_or(&Json::Null, |before| &before.about);
    work_in(context, &args, about)?;
    let work = checked(context, &args, about)?;
    let is_answered = || {
        let messages = before.as_ref().map(cycod_agent::Transcript::messages).unwrap_or_default();
        match messages.last() {
            Some(Message::Model(reply)) => !is_stopped(reply),
            last => last.is_none(),
        }
    };
    if work.task.is_none() && is_answered() {
        let what = if resumed.is_some() { "the session has been answered" } else { "a task is missing" };
        let hint = resumed.map_or_else(|| "\"TASK\"".to_owned(), |id| format!("\"TASK\" --resume {id}"));
        return Err(CommandError::usage(what).hint(format!("give a task: cycod agent {hint}")));
    }
    rules::warn_of_unknown(&rules, &context.engine, &mut context.printer);
    context.engine.add_rules(rules);
    choice::warn_of_untrusted(&work.tools, &mut context.printer);
    if args.dry_run {
        return Ok(dry_run(context, &work, args.format.is_json()));
    }
    let model = args.model.as_deref().or_else(|| about["model"].as_str());
    let provider = models::provider(&context.engine, model)?;
    carry_out(context, &args, &work, &*provider)
}

/// Opens the tools where the work is to be done, when that is somewhere else.
fn work_in(context: &mut Context, args: &Arguments, about: &Json) -> Result<(), CommandError> {
    let here = context.engine.host().working_directory.clone();
    let given = args.working_dir.clone();
    let Some(given) = given.or_else(|| about["working_dir"].as_str().map(PathBuf::from)) else { return Ok(()) };
    let wrong = |why: &dyn std::fmt::Display| CommandError::usage(format!("--working-dir {}: {why}", given.display()));
    let directory = here.join(&given).canonicalize().map_err(|error| wrong(&error))?;
    if !directory.is_dir() {
        return Err(wrong(&"this is not a directory"));
    }
    if directory != here {
        let mut host = host::current()
            .map_err(|error| CommandError::failure(format!("cannot determine the working directory: {error}")))?;
        host.working_directory = directory;
        context.engine = LazyCell::new(Box::new(move || app().open(host)));
    }
    Ok(())
}

/// Checks everything that can be checked without a model.
fn checked(context: &mut Context, args: &Arguments, about: &Json) -> Result<Work, CommandError> {
    let task = args.task.clone().filter(|task| task != "-");
    if task.as_ref().is_some_and(|task| task.trim().is_empty()) {
        return Err(CommandError::usage("the task is empty").hint("give a task: cycod agent \"TASK\""));
    }
    let piped = piped::text(LARGEST_CONTEXT, &mut context.printer)?;
    let (task, given) = if task.is_none() { (piped, None) } else { (task, piped) };
    let choice = args.choice.chosen().or_else(|| choice_of(about)).unwrap_or(Choice::All);
    let tools = Tools::choose(&context.engine, &choice).map_err(choice::refused)?;
    let limits = Limits {
        iterations: args.max_iterations,
        tokens: args.max_tokens_total,
        cost: args.max_cost,
        time: args.max_time.map(Duration::from_secs),
        calls: args.max_calls,
        tool_tokens: args.tool_budget.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX)),
        ..Limits::default()
    };
    let working_directory = context.engine.host().working_directory.clone();
    let mut told = String::new();
    for path in &args.context {
        let text = context_file(path)?;
        let _ = write!(told, "\nThe user gives you {}:\n\n{text}\n", path.display());
    }
    let context = (!told.is_empty()).then_some(told);
    Ok(Work { task, given, choice, tools, working_directory, limits, context })
}

/// The choice as a session keeps it.
fn choice_json(choice: &Choice) -> Json {
    match choice {
        Choice::All => Json::Null,
        Choice::Names(names) => json!({ "tools": names }),
        Choice::Group(group) => json!({ "group": group }),
        Choice::Preset(preset) => json!({ "preset": preset.name() }),
    }
}

/// The choice that a session began with.
fn choice_of(about: &Json) -> Option<Choice> {
    let choice = &about["choice"];
    let names =
        choice["tools"].as_array().map(|names| names.iter().filter_map(Json::as_str).map(str::to_owned).collect());
    names
        .map(Choice::Names)
        .or_else(|| choice["group"].as_str().map(|group| Choice::Group(group.to_owned())))
        .or_else(|| choice["preset"].as_str().and_then(Preset::named).map(Choice::Preset))
}

fn context_file(path: &Path) -> Result<String, CommandError> {
    let wrong = |why: &dyn std::fmt::Display| CommandError::usage(format!("--context {}: {why}", path.display()));
    let length = fs::metadata(path).map_err(|error| wrong(&error))?.len();
    if length > LARGEST_CONTEXT {
        return Err(wrong(&format!("it has {length} bytes, and {LARGEST_CONTEXT} are allowed"))
            .hint("name the file in the task, and let the model read what it needs"));
    }
    let bytes = fs::read(path).map_err(|error| wrong(&error))?;
    String::from_utf8(bytes).map_err(|_| wrong(&"it is not text in UTF-8"))
}

/// Says that everything is as it must be.
fn dry_run(context: &mut Context, work: &Work, is_json: bool) -> u8 {
    let names: Vec<&str> = work.tools.offered().iter().map(|offered| offered.tool.name.as_str()).collect();
    let directory = work.working_directory.display().to_string();
    if is_json {
        let value = json!({
            "task": work.task,
            "tools": names,
            "working_dir": directory,
            "validated": true,
            "dry_run": true,
        });
        context.printer.json(&format!("{value:#}"));
        return 0;
    }
    let charset = Charset::of(context.engine.host());
    let width = context.printer.width.unwrap_or(80).clamp(40, 80);
    let line = charset.pick("─", "-");
    let title = format!("{line}{line} Agentic Task Dry Run ");
    let rest = width.saturating_sub(title.chars().count());
    let text = format!(
        "{title}{}\n{} Validation passed\nTask: {}\nTools ({}): {}\nWorking dir: {}\n{}\n",
        line.repeat(rest),
        charset.pick("✔", "v"),
        visible(work.task.as_deref().unwrap_or_default()),
        names.len(),
        names.join(", "),
        visible(&directory),
        line.repeat(width),
    );
    context.printer.text(&text);
    0
}

fn carry_out(
    context: &mut Context,
    args: &Arguments,
    work: &Work,
    provider: &dyn Provider,
) -> Result<u8, CommandError> {
    let unprepared =
        |error: std::io::Error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let is_json = args.format.is_json();
    let Context { engine, printer, .. } = context;
    let engine: &Engine = engine;
    let transcripts = directory(engine);
    let mut session = match &args.resume {
        Some(start) => Session::resume(&transcripts, start, engine).map_err(|error| failed(&error))?.0,
        None => {
            let mut session = Session::default();
            let about = json!({
                "program": concat!("cycod ", env!("CARGO_PKG_VERSION")),
                "task": work.task,
                "model": format!("{}/{}", provider.provider(), provider.model()),
                "working_dir": work.working_directory.display().to_string(),
                "choice": choice_json(&work.choice),
            });
            session.record(&transcripts, &about, engine).map_err(|error| failed(&error))?;
            session
        }
    };
    session.ask_jq_by(cycod_app::jq_worker());
    let id = session.id().unwrap_or_default().to_owned();
    let resume = format!("cycod agent --resume {id}");
    let stop = Stop::new().map_err(unprepared)?;
    let interrupts = host_interrupts(&stop).map_err(unprepared)?;
    let asker = asker(Surface::Agent, "a model, by `cycod agent`");
    let asked = TerminalOrQueue { engine, stop: &stop, wait: args.waiting.longest(), command: Some("cycod agent") };
    let approver: &dyn Approver = if args.choice.no_safe_mode { &Nobody } else { &asked };
    let with = With {
        engine,
        provider,
        tools: &work.tools,
        asker: &asker,
        approver,
        limits: &work.limits,
        stop: &stop,
        context: work.context.as_deref(),
    };
    let was_stopped = matches!(session.messages().last(), Some(Message::Model(reply)) if is_stopped(reply));
    let go_on = || was_stopped.then(|| "Continue where you were stopped.".to_owned());
    if let Some(task) = work.task.clone().or_else(go_on) {
        let task = match &work.given {
            Some(given) => format!("{task}\n\nGiven on standard input:\n\n{given}"),
            None => task,
        };
        session.say(task).map_err(|error| not_turned(&error, &resume))?;
    }
    let mut shown = show::Show::new(printer);
    let turned = session.turn(&with, &mut |event: &Event<'_>| {
        if !is_json {
            shown.event(event);
        }
    });
    let signal = interrupts.signal();
    drop(interrupts);
    let turned = match turned {
        Ok(turned) => turned,
        Err(error) => {
            let error = not_turned(&error, &resume);
            if is_json {
                let refusal = show::refusal(&error);
                printer.json(&json!({"success": false, "session": id, "refusal": refusal}).to_string());
                return Ok(error.exit);
            }
            return Err(error);
        }
    };
    let code = match (&turned.ending, signal) {
        (Ending::Stopped, Some(signal)) => u8::try_from(128 + signal).unwrap_or(exit::FAILURE),
        (Ending::Answered, _) => 0,
        (Ending::Limit(Limit::Time(_)), _) => exit::TIMED_OUT,
        (Ending::Limit(_), _) => exit::LIMIT,
        (Ending::CutOff | Ending::Declined | Ending::Repeats { .. } | Ending::Stopped, _) => exit::FAILURE,
    };
    if is_json {
        let mut value = turned.json();
        value["success"] = (turned.ending == Ending::Answered).into();
        value["answer"] = turned.answer.into();
        value["session"] = id.into();
        if code != 0 {
            value["next"] = resume.into();
        }
        printer.json(&format!("{value:#}"));
        return Ok(code);
    }
    if !turned.answer.is_empty() {
        printer.data(format!("{}\n", turned.answer.trim_end()).as_bytes());
    }
    if let Some(why) = why(&turned) {
        printer.warn(&why);
        printer.say(&format!("  continue with: {resume}"));
    }
    Ok(code)
}

/// Whether a reply was stopped before it was whole.
fn is_stopped(reply: &Reply) -> bool {
    reply.calls.is_empty() && reply.stop == StopReason::Other(STOPPED.to_owned())
}

/// Why the work is not done.
fn why(turned: &Turned) -> Option<String> {
    match &turned.ending {
        Ending::Answered => None,
        Ending::CutOff => Some("the answer was cut off: its tokens were used up".to_owned()),
        Ending::Declined => Some("the model did not want to answer".to_owned()),
        Ending::Limit(limit) => Some(limit.to_string()),
        Ending::Repeats { tool } => Some(format!("the model called `{tool}` in the same way again and again")),
        Ending::Stopped => Some("stopped".to_owned()),
    }
}

fn not_turned(error: &TurnError, resume: &str) -> CommandError {
    match error {
        TurnError::Model(error) => {
            models::failed(error).hint(format!("the work so far is saved; continue with: {resume}"))
        }
        TurnError::NoPrice { .. } => CommandError::usage(error.to_string())
            .hint("leave --max-cost out, give --max-tokens-total instead, or configure the price of the model"),
        TurnError::TooLong { .. } => CommandError::failure(error.to_string())
            .hint(format!("continue with a model that takes more: {resume} --model NAME"))
            .hint("or start again, and put what is known so far into the task"),
        TurnError::Transcript(error) => failed(error),
    }
}
