use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_app::views::outcome;
use cycod_engine::{
    Control, LostAnswer, Resumption, RunReport, StepPath, catalog::ScopeFilter, definition::Body, diagnostic::shown,
    result_json_of,
};
use cycod_process::host_interrupts;
use cycod_store::{Run, RunState, State};

use super::{failed, format_argument, history, is_json, meant, rerun::open_in};
use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        approvals::lost,
        run::exit_code,
        trust::{ByHand, settle},
    },
    printer::Tty,
    run::Display,
};

/// `cycod runs resume`.
pub(crate) fn command() -> Command {
    let id = Arg::new("id").value_name("ID").allow_hyphen_values(true).help("A run: its name, `last`, -1, -2, …");
    let all = Arg::new("all").long("all").action(ArgAction::SetTrue).conflicts_with("id");
    Command::new("resume")
        .about("Continue a durable run that was interrupted")
        .arg(id.required_unless_present("all"))
        .arg(all.help("Continue every interrupted durable run, one after another"))
        .arg(lost::option())
        .arg(
            Arg::new("with-current")
                .long("with-current")
                .action(ArgAction::SetTrue)
                .help("Continue even if the tool has changed since the run began"),
        )
        .arg(format_argument())
}

/// Goes on with one run, or with all that were interrupted.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let history = history(context);
    if let Some(id) = matches.get_one::<String>("id") {
        return resume(context, matches, &meant(context, id)?);
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
        let done = resume(context, matches, &run).unwrap_or_else(|error| {
            context.printer.warn(&error.message);
            error.exit
        });
        worst = worst.max(done);
    }
    Ok(worst)
}

fn resume(context: &mut Context, matches: &ArgMatches, run: &Run) -> Result<u8, CommandError> {
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
    let control = Control { is_attended: context.is_attended(), ..context.engine.control().map_err(cannot)? };
    let interrupts = host_interrupts(&control.stop).map_err(cannot)?;
    let said = lost::wanted(matches);
    let is_attended = context.is_attended();
    let answer = |step: &StepPath| said.or_else(|| if is_attended { ask(step) } else { None });
    let steps = if let Body::Steps(steps) = &tool.body { steps.len() } else { 1 };
    let mut display = Display::of_steps(Some(steps).filter(|_| !is_json(matches)));
    let Context { engine, printer, .. } = context;
    let report =
        engine.resume(resumption, &answer, matches.get_flag("with-current"), &control, &mut display.sink(printer));
    let report: RunReport = report.map_err(CommandError::from)?;
    let signal = interrupts.signal();
    drop(interrupts);
    if is_json(matches) {
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
