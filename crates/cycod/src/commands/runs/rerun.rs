use std::{cell::LazyCell, path::Path, sync::Arc};

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{
    Given,
    catalog::ScopeFilter,
    definition::{self, Host},
};
use cycod_store::Run;
use serde_json::Value;

use super::{format_argument, history, is_json, name_argument, named};
use crate::{
    cli::Context,
    command_error::CommandError,
    command_line::{pair, place},
    commands::run::{call, pairs},
    servers,
};

/// `cycod runs rerun`.
pub(crate) fn command() -> Command {
    Command::new("rerun")
        .about("Run a tool again with the arguments of a run")
        .arg(name_argument())
        .arg(Arg::new("pairs").value_name("NAME=VALUE").num_args(0..).help("Arguments in the place of those it had"))
        .arg(
            Arg::new("param")
                .long("param")
                .short('p')
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .allow_hyphen_values(true)
                .help("The same"),
        )
        .arg(format_argument())
}

/// Runs a tool again where it ran; whether it may is decided anew.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let run = named(&history(context), matches.get_one::<String>("id").expect("clap requires it"))?;
    let given = pairs(matches)?;
    let is_given = |name: &str| given.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    let missing: Vec<(&String, &Value)> =
        run.call["withheld"].as_object().into_iter().flatten().filter(|(name, _)| !is_given(name)).collect();
    if !missing.is_empty() {
        let said: Vec<String> = missing
            .iter()
            .map(|(name, why)| format!("`{name}` ({})", why["why"].as_str().unwrap_or("not kept")))
            .collect();
        return Err(CommandError::usage(format!("the history does not hold {}", said.join(", ")))
            .hint(format!("give what is missing: {}", line(&run, &given, missing.iter().map(|(name, _)| *name)))));
    }
    let kept = run.call["arguments"].as_object().into_iter().flatten().filter(|(name, _)| !is_given(name));
    let kept = kept.map(|(name, value)| (name.clone(), Given::Value(value.clone().into())));
    let arguments: Vec<(String, Given)> = kept.collect::<Vec<_>>().into_iter().chain(given).collect();
    // A path among the arguments means what it meant.
    if let Some(directory) = run.call["from"].as_str() {
        open_in(context, Path::new(directory), &run.tool)?;
    }
    let tool = Arc::new(context.engine.open_tool(&run.tool, ScopeFilter::Any)?.tool);
    if run.call["fingerprint"]
        .as_str()
        .is_some_and(|then| context.engine.fingerprint_of(&tool).as_deref() != Some(then))
    {
        context.printer.warn(&format!("`{}` is not what it was when it ran", run.tool));
    }
    call(context, &tool, arguments, is_json(matches))
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
        context.engine = LazyCell::new(Box::new(move || servers::open(host, &words)));
    }
    Ok(())
}

/// A command line that runs it again.
pub(super) fn example(run: &Run) -> String {
    line(run, &[], run.call["withheld"].as_object().into_iter().flatten().map(|(name, _)| name))
}

/// A command line that runs it again with what is given, and a place for each of what is missing or not to be shown.
fn line<'a>(run: &Run, given: &[(String, Given)], missing: impl Iterator<Item = &'a String>) -> String {
    let is_withheld = |name: &str| {
        run.call["withheld"].as_object().is_some_and(|all| all.keys().any(|of| of.eq_ignore_ascii_case(name)))
    };
    let given = given.iter().filter_map(|(name, value)| match value {
        Given::Text(_) if is_withheld(name) => Some(place(name)),
        Given::Text(text) => pair(name, &definition::Value::Text(text.clone())),
        _ => None,
    });
    let words: String = given.chain(missing.map(|name| place(name))).map(|word| format!(" {word}")).collect();
    format!("cycod runs rerun {}{words}", run.id)
}
