use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command};
use cycod_app::views::{RunView, outcome};
use cycod_process::{Stop, host_interrupts};
use cycod_store::{Run, State};

use super::{format_argument, history, is_json, meant, name_argument, named, show, span, took};
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
};

/// How often it is looked whether the run has ended.
const EVERY: Duration = Duration::from_millis(100);

/// `cycod runs wait`.
pub(crate) fn command() -> Command {
    Command::new("wait")
        .about("Wait until a run has ended, and print its result")
        .arg(name_argument())
        .arg(Arg::new("timeout").long("timeout").value_name("SPAN").help("The longest wait: 30s, 5m, 2h"))
        .arg(format_argument())
}

/// Waits, and ends as the run did.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let history = history(context);
    let longest = match matches.get_one::<String>("timeout") {
        Some(text) => Some(span(text).ok_or_else(|| {
            CommandError::usage(format!("`{text}` is no length of time")).hint("such as 30s, 5m, 2h")
        })?),
        None => None,
    };
    let stop = Stop::new().map_err(|error| CommandError::failure(format!("cannot wait: {error}")))?;
    let interrupts = host_interrupts(&stop).map_err(|error| CommandError::failure(format!("cannot wait: {error}")))?;
    let mut run = meant(context, matches.get_one::<String>("id").expect("clap requires it"))?;
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
    if is_json(matches) {
        context.printer.json_of(&RunView::of(&run));
    } else {
        show::print_what_was_written(context, &run)?;
        let took = took(&run).map(|took| format!(", {took}")).unwrap_or_default();
        context.printer.say(&format!("{}: {}{took}", run.id, outcome(&run)));
    }
    Ok(exit_code(&run))
}

/// The exit code of a run, as whoever waited for it where it was started would have got it.
pub(super) fn exit_code(run: &Run) -> u8 {
    let code = run.end.as_ref().and_then(|(_, end)| end["exit_code"].as_i64());
    match run.state {
        State::Ok => 0,
        State::TimedOut => exit::TIMED_OUT,
        _ => code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code > 0).unwrap_or(exit::FAILURE),
    }
}
