use std::time::{Duration, Instant};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::{RunView, outcome, step_times};
use cycod_engine::{Sink, journal};
use cycod_process::{Stop, host_interrupts};
use cycod_store::{History, Run, RunReader, State};
use serde_json::{Value, json};

use super::{RunName, failed, followed_again, history, meant, named, show, took, wait};
use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    options::{TextOrJson, parsed},
    printer::talk_size,
    run::{Display, timeline_of},
};

/// How often it is checked whether more has happened.
const EVERY: Duration = Duration::from_millis(50);
/// How long the journal of a run that has just begun may be missing.
const PATIENCE: Duration = Duration::from_millis(500);

/// What `cycod runs follow` takes.
#[derive(Parser)]
#[command(name = "follow", about = "Show what happens in a run, in whichever process it runs")]
struct Arguments {
    #[command(flatten)]
    run: RunName,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs follow`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Follows a run, and ends as it did.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let history = history(context);
    let cannot = |error| CommandError::failure(format!("cannot wait: {error}"));
    let stop = Stop::new().map_err(cannot)?;
    let interrupts = host_interrupts(&stop).map_err(cannot)?;
    let mut run = followed_again(context, meant(context, &args.run.id)?)?;
    let Some(mut reader) = opened(&history, &mut run)? else {
        return without_journal(context, args.format, &run);
    };
    let mut display: Option<Display> = None;
    loop {
        // What is known of its end comes before the last of its events is read, so none is missed.
        let state = if run.state == State::Running { named(&history, &run.id)? } else { run.clone() };
        let events = reader.more().map_err(|error| failed(&error))?;
        for line in &events {
            if args.format.is_json() {
                context.printer.json(&with_text(&mut reader, line)?.to_string());
                continue;
            }
            let steps = line["steps"].as_array().map_or(2, Vec::len);
            let display = display.get_or_insert_with(|| Display::of_steps(Some(steps)));
            if let Some(event) = journal::event(&mut reader, line).map_err(|error| failed(&error))? {
                display.sink(&mut context.printer).event(&event);
            }
        }
        run = state;
        if events.is_empty() && run.state != State::Running {
            break;
        }
        if context.printer.is_closed() {
            return Ok(0);
        }
        if events.is_empty() && stop.wait(EVERY) {
            return Ok(u8::try_from(128 + interrupts.signal().unwrap_or(0)).unwrap_or(exit::FAILURE));
        }
    }
    // The running lines go before the last word.
    let is_live = display.is_some_and(|display| display.is_live());
    if is_live {
        let (steps, total) = step_times(&history, &run).map_err(|error| failed(&error))?;
        let columns = talk_size().map_or(80, |(columns, _)| columns);
        context.printer.talk(&timeline_of(&steps, total, columns));
    }
    let took = took(&run).map(|took| format!(", {took}")).unwrap_or_default();
    context.printer.say(&format!("{}: {}{took}", run.id, outcome(&run)));
    Ok(wait::exit_code(&run))
}

/// The journal of a run; one that has just begun may take a moment to appear.
fn opened(history: &History, run: &mut Run) -> Result<Option<RunReader>, CommandError> {
    let began = Instant::now();
    loop {
        let reader = RunReader::open(&history.journals(), &run.id).map_err(|error| failed(&error))?;
        if reader.is_some() || run.state != State::Running || began.elapsed() > PATIENCE {
            return Ok(reader);
        }
        std::thread::sleep(EVERY);
        *run = named(history, &run.id)?;
    }
}

/// A run of one short step has none: the history has all of it.
fn without_journal(context: &mut Context, format: TextOrJson, run: &Run) -> Result<u8, CommandError> {
    if run.state == State::Running {
        return Err(CommandError::failure(format!("`{}` writes no journal", run.id))
            .hint(format!("cycod runs wait {}", run.id)));
    }
    if format.is_json() {
        context.printer.json(&serde_json::to_string(&RunView::of(run)).expect("a view can be written as JSON"));
    } else {
        show::print_what_was_written(context, run)?;
        context.printer.say(&format!("{}: {}", run.id, outcome(run)));
    }
    Ok(wait::exit_code(run))
}

/// An event with the bytes that it names.
fn with_text(reader: &mut RunReader, line: &Value) -> Result<Value, CommandError> {
    let mut line = line.clone();
    if line["e"] == "out" {
        let bytes = reader.output(&line).map_err(|error| failed(&error))?;
        line["text"] = json!(String::from_utf8_lossy(&bytes));
    }
    Ok(line)
}
