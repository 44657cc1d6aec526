//! One file for each command about what tools cost, and which are on.

pub(crate) mod budget;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod info;
pub(crate) mod list;
pub(crate) mod tokens;
mod turn;

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::tokens::{Counter, Measure};
use cycod_schema::Dialect;

use crate::{
    charset::Charset,
    cli::Context,
    command_error::CommandError,
    registry::{Look, settings_reports},
};

/// Adds `--format text|json`.
fn with_format(command: Command) -> Command {
    let format = Arg::new("format").long("format").value_name("FORMAT").help("Output format");
    command.arg(format.value_parser(["text", "json"]).default_value("text"))
}

/// Whether the answer is for a program.
fn is_json(matches: &ArgMatches) -> bool {
    matches.get_one::<String>("format").is_some_and(|format| format == "json")
}

/// Adds `--exact` and `--dialect`.
fn with_measure(command: Command) -> Command {
    command
        .arg(
            Arg::new("exact")
                .long("exact")
                .action(ArgAction::SetTrue)
                .help("Count the tokens of the function-calling schema with a real tokenizer"),
        )
        .arg(
            Arg::new("dialect")
                .long("dialect")
                .value_name("DIALECT")
                .value_parser(Dialect::NAMES.map(|(name, _)| name))
                .help("The schema dialect"),
        )
}

/// How tokens are to be counted.
fn measure(matches: &ArgMatches) -> Result<Measure, CommandError> {
    let named = matches.get_one::<String>("dialect").and_then(|name| Dialect::named(name));
    if !matches.get_flag("exact") {
        return Ok(Measure { dialect: named, ..Measure::ESTIMATE });
    }
    let counter = Counter::exact().map_err(|error| {
        CommandError::failure(error.to_string()).hint("leave out --exact, or build it with the feature `exact-tokens`")
    })?;
    Ok(Measure { counter, dialect: Some(named.unwrap_or(Dialect::Openai)) })
}

/// How a list is to look here.
fn look(context: &Context) -> Look<'static> {
    let charset = Charset::of(context.engine.host());
    Look { typed: context.typed.tools(), charset, colour: context.printer.data_colour }
}

/// Says what is wrong with the settings.
fn warn_of_settings(context: &mut Context) {
    for report in settings_reports(&context.engine, context.printer.colour) {
        context.printer.say(report);
    }
}
