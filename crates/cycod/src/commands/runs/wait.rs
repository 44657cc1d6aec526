use std::time::{Duration, Instant};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::{RunView, outcome};
use cycod_process::{Stop, host_interrupts};
use cycod_store::{Run, State};

use super::{RunName, followed_again, history, meant, named, show, span, took};
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    options::{TextOrJson, parsed},
};

/// How often it is looked whether the run has ended.
const EVERY: Duration = Duration::from_millis(100);

/// What `cycod runs wait` takes.
#[derive(Parser)]
#[command(name = "wait", about = "Wait until a run has ended, and print its result")]
struct Arguments {
    #[command(flatten)]
    run: RunName,
    /// The longest wait: 30s, 5m, 2h
    #[arg(long, value_name = "SPAN")]
    timeout: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs wait`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Waits, and ends as the run did.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let history = history(context);
    let longest = match &args.timeout {
        Some(text) => Some(span(text).ok_or_else(|| {
            CommandError::usage(format!("`{text}` is no length of time")).hint("such as 30s, 5m, 2h")
        })?),
        None => None,
    };
    let stop = Stop::new().map_err(|error| CommandError::failure(format!("cannot wait: {error}")))?;
    let interrupts = host_interrupts(&stop).map_err(|error| CommandError::failure(format!("cannot wait: {error}")))?;
    let mut run = followed_again(context, meant(context, &args.run.id)?)?;
    let began = Instant::now();
    while run.state == State::Running {
        let left = longest.map_or(EVERY, |longest| longest.saturating_sub(began.elapsed()));
        if left.is_zero() {
            context.printer.say(&format!("{} still runs", run.id));
            return Ok(exit::TIMED_OUT);
        }
        if stop.wait(left.min(EVERY)) {
            return Ok(u8::try_from(128 + interrupts.signal().unwrap_or(0)).unwrap_or(exit::FAILURE));
        }
        run = named(&history, &run.id)?;
    }
    if args.format.is_json() {
        context.printer.json_of(&RunView::of(&run));
    } else {
        show::print_what_was_written(context, &run)?;
        let took = took(&run).map(|took| format!(", {took}")).unwrap_or_default();
        context.printer.say(&format!("{}: {}{took}", run.id, outcome(&run)));
    }
    Ok(exit_code(&run))
}

/// The exit code of a run, as the process that started it would have got it.
pub(super) fn exit_code(run: &Run) -> u8 {
    let code = run.end.as_ref().and_then(|(_, end)| end["exit_code"].as_i64());
    match run.state {
        State::Ok => 0,
        State::TimedOut => exit::TIMED_OUT,
        _ => code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code > 0).unwrap_or(exit::FAILURE),
    }
}
