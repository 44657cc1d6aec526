use std::time::{Duration, Instant};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::views::{outcome, who};
use cycod_engine::diagnostic::{Code, Refusal};
use cycod_store::{RunId, State};

use super::{RunName, failed, followed_again, history, meant, named};
use crate::{cli::Context, command_error::CommandError, options::parsed};

/// How long it may take until a run that heard that it is to end has ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it is looked whether it has.
const EVERY: Duration = Duration::from_millis(50);

/// What `cycod runs cancel` takes.
#[derive(Parser)]
#[command(name = "cancel", about = "End a background run")]
struct Arguments {
    #[command(flatten)]
    run: RunName,
}

/// `cycod runs cancel`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Asks a run to end, and waits until it has.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let history = history(context);
    let name = &args.run.id;
    let mut run = followed_again(context, meant(context, name)?)?;
    if run.state != State::Running {
        context.printer.line(&format!("{} has ended already: {}", run.id, outcome(&run)));
        return Ok(0);
    }
    let id: RunId = run.id.parse().map_err(|error| failed(&error))?;
    let is_heard = context.engine.controls().cancel(id).map_err(|error| failed(&error))?;
    let asked = Instant::now();
    while run.state == State::Running {
        if !is_heard {
            let why = format!("`{}` can be ended only where it was started: {}", run.id, who(&run));
            let attempt = "press Ctrl-C there, or have the host that called it cancel the call";
            return Err(Refusal::new(Code::RunWithoutControl, why).place(&run.id).attempt(attempt).into());
        }
        if asked.elapsed() > PATIENCE {
            let why = format!("`{}` was asked to end {} s ago and still runs", run.id, PATIENCE.as_secs());
            return Err(CommandError::failure(why));
        }
        std::thread::sleep(EVERY);
        run = named(&history, &run.id)?;
    }
    context.printer.line(&format!("{}: {}", run.id, outcome(&run)));
    Ok(0)
}
