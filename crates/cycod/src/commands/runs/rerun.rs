use std::{cell::LazyCell, path::Path, sync::Arc};

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::{
    command_line::{pair, place},
    views::Rerun,
};
use cycod_engine::{
    Given,
    catalog::ScopeFilter,
    definition::{self, Host},
};
use cycod_store::Run;

use super::{RunName, meant};
use crate::{
    app::app,
    cli::Context,
    command_error::CommandError,
    commands::run::{call, pairs},
    options::{TextOrJson, parsed},
};

/// What `cycod runs rerun` takes.
#[derive(Parser)]
#[command(name = "rerun", about = "Run a tool again with the arguments of a run")]
struct Arguments {
    #[command(flatten)]
    run: RunName,
    /// Arguments that replace those of the earlier run
    #[arg(value_name = "NAME=VALUE", num_args = 0..)]
    pairs: Vec<String>,
    /// The same
    #[arg(long, short = 'p', value_name = "NAME=VALUE", allow_hyphen_values = true)]
    param: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextOrJson,
}

/// `cycod runs rerun`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Runs a tool again where it ran; whether it may is decided anew.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let run = meant(context, &args.run.id)?;
    let given = pairs(args.pairs.iter().chain(&args.param))?;
    let rerun = Rerun::of(&run);
    let arguments = match rerun.with(given.clone()) {
        Ok(arguments) => arguments,
        Err(missing) => {
            let said: Vec<String> = missing.iter().map(|one| format!("`{}` ({})", one.name, one.why)).collect();
            return Err(CommandError::usage(format!("the history does not hold {}", said.join(", ")))
                .hint(format!("give what is missing: {}", line(&run, &given, missing.iter().map(|one| one.name)))));
        }
    };
    if let Some(directory) = rerun.directory {
        open_in(context, directory, rerun.tool)?;
    }
    let tool = Arc::new(context.engine.open_tool(rerun.tool, ScopeFilter::Any)?.tool);
    if rerun.is_changed(&context.engine, &tool) {
        context.printer.warn(&format!("`{}` is not what it was when it ran", run.tool));
    }
    call(context, &tool, arguments, args.format.is_json())
}

/// Opens the tools of the directory in which a run was started.
pub(super) fn open_in(context: &mut Context, directory: &Path, tool: &str) -> Result<(), CommandError> {
    if context.engine.host().working_directory != directory {
        if !directory.is_dir() {
            let directory = directory.display();
            return Err(CommandError::failure(format!("the run was started in `{directory}`, which is gone")));
        }
        let host = Host { working_directory: directory.to_owned(), ..Host::clone(context.engine.host()) };
        let words = vec![tool.to_owned()];
        context.engine = LazyCell::new(Box::new(move || app().open_for(host, &words)));
    }
    Ok(())
}

/// A command line that runs it again.
pub(super) fn example(run: &Run) -> String {
    line(run, &[], Rerun::of(run).withheld.iter().map(|withheld| withheld.name))
}

/// A command line that runs it again with what is given, and a place for each of what is missing or not to be shown.
fn line<'a>(run: &Run, given: &[(String, Given)], missing: impl Iterator<Item = &'a str>) -> String {
    let rerun = Rerun::of(run);
    let is_withheld = |name: &str| rerun.withheld.iter().any(|withheld| withheld.name.eq_ignore_ascii_case(name));
    let given = given.iter().filter_map(|(name, value)| match value {
        Given::Text(_) if is_withheld(name) => Some(place(name)),
        Given::Text(text) => pair(name, &definition::Value::Text(text.clone())),
        _ => None,
    });
    let words: String = given.chain(missing.map(place)).map(|word| format!(" {word}")).collect();
    format!("cycod runs rerun {}{words}", run.id)
}
