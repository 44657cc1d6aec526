use std::sync::Arc;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::outcome;
use cycod_engine::{
    Control, LostAnswer, Resumption, RunReport, StepPath, catalog::ScopeFilter, definition::Body, diagnostic::shown,
    result_json_of,
};
use cycod_process::host_interrupts;
use cycod_store::{Run, RunState, State};

use super::{failed, history, meant, rerun::open_in};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        approvals::lost,
        run::exit_code,
        trust::{ByHand, settle},
    },
    options::{TextOrJson, one_of, parsed},
    printer::Tty,
    run::Display,
};

/// What `cycod runs resume` takes.
#[derive(Parser)]
#[command(name = "resume", about = "Continue a durable run that was interrupted")]
struct Arguments {
    /// A run: its name, `last`, -1, -2, …
    #[arg(value_name = "ID", allow_hyphen_values = true, required_unless_present = "all")]
    id: Option<String>,
    /// Continue every interrupted durable run, one after another
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// What to do with a step that was running: start it again, count it as done, or count it as failed
    #[arg(long, value_name = "WHAT", value_parser = one_of(lost::WORDS))]
    lost: Option<LostAnswer>,
    /// Continue even if the tool has changed since the run began
    #[arg(long)]
    with_current: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs resume`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Goes on with one run, or with all that were interrupted.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let history = history(context);
    if let Some(id) = &args.id {
        return resume(context, &args, &meant(context, id)?);
    }
    let mut worst = 0;
    for id in RunState::list(&history.journals()).map_err(|error| failed(&error))? {
        let run = match history.find(&id).map_err(|error| failed(&error))?.pop() {
            Some(run) if run.state == State::Interrupted => run,
            Some(run) if run.state == State::Running => continue,
            // What a run left that ended, or never began, in the moment of a crash.
            _ => {
                if let Ok(Some((state, _))) = RunState::open(&history.journals(), &id) {
                    _ = state.remove();
                }
                continue;
            }
        };
        context.printer.say(&format!("{}: {}", run.tool, run.id));
        let done = resume(context, &args, &run).unwrap_or_else(|error| {
            context.printer.warn(&error.message);
            error.exit
        });
        worst = worst.max(done);
    }
    Ok(worst)
}

fn resume(context: &mut Context, args: &Arguments, run: &Run) -> Result<u8, CommandError> {
    match run.state {
        State::Interrupted => {}
        State::Running => {
            return Err(CommandError::failure(format!("`{}` is still running", run.id))
                .hint(format!("cycod runs follow {}", run.id)));
        }
        _ => {
            return Err(CommandError::failure(format!("`{}` has ended: {}", run.id, outcome(run)))
                .hint(format!("cycod runs rerun {}", run.id)));
        }
    }
    let resumption = Resumption::open(&history(context).journals(), &run.id)?;
    open_in(context, resumption.directory(), resumption.tool())?;
    let tool = Arc::new(context.engine.open_tool(resumption.tool(), ScopeFilter::Any)?.tool);
    let subjects = context.engine.subjects(&tool)?;
    settle(context, subjects, ByHand::Tool)?;
    let cannot = |error| CommandError::failure(format!("cannot prepare to start processes: {error}"));
    let is_attended = context.is_attended() && !resumption.is_on_fleet();
    let control = Control { is_attended, ..context.engine.control().map_err(cannot)? };
    let interrupts = host_interrupts(&control.stop).map_err(cannot)?;
    let said = args.lost;
    let is_attended = context.is_attended();
    let answer = |step: &StepPath| said.or_else(|| if is_attended { ask(step) } else { None });
    let steps = if let Body::Steps(steps) = &tool.body { steps.len() } else { 1 };
    let mut display = Display::of_steps(Some(steps).filter(|_| !args.format.is_json()));
    let Context { engine, printer, .. } = context;
    let report = engine.resume(resumption, &answer, args.with_current, &control, &mut display.sink(printer));
    let report: RunReport = report.map_err(CommandError::from)?;
    let signal = interrupts.signal();
    drop(interrupts);
    if args.format.is_json() {
        printer.json(&result_json_of(&tool, &report).to_string());
    } else {
        display.finish(printer, &report);
    }
    Ok(exit_code(&report, signal))
}

/// Asks the user at the terminal what follows for a step that was running when the run was interrupted.
fn ask(step: &StepPath) -> Option<LostAnswer> {
    let tty = Tty::open()?;
    tty.say(shown!["`", step.as_str(), "` was running when the run was interrupted, and may have been done.\n"]);
    lost::ask(&tty, &mut || false)
}
