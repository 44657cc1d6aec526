use std::{sync::Arc, time::Duration};

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{Event, Given, Nobody, PlanError, Sink, Stream, Surface, result_json};

use crate::{
    cli::Context,
    command_error::{CommandError, exit},
    printer::Printer,
};

/// `cycod tool run`.
pub(crate) fn command() -> Command {
    Command::new("run")
        .about("Run a tool")
        .arg(Arg::new("name").required(true))
        .arg(Arg::new("param").long("param").action(ArgAction::Append).allow_hyphen_values(true))
        .arg(Arg::new("format").long("format").value_parser(["text", "json"]).default_value("text"))
        .arg(Arg::new("timeout").long("timeout").value_parser(clap::value_parser!(u64)))
}

/// Runs a tool.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let name = matches.get_one::<String>("name").expect("clap requires it");
    let tool = context.engine.tool(name)?;
    let mut arguments = Vec::new();
    for pair in matches.get_many::<String>("param").into_iter().flatten() {
        let (name, value) = pair.split_once('=').ok_or_else(|| CommandError::usage(format!("`--param {pair}` has no `=`")))?;
        arguments.push((name.to_owned(), Given::Text(value.to_owned())));
    }
    let timeout = matches.get_one::<u64>("timeout").map(|&limit| Duration::from_millis(limit));
    let plan = context.engine.plan(&Arc::clone(&tool), arguments, timeout).map_err(|error| match error {
        PlanError::Refused(refusal) => CommandError::from(refusal),
        arguments @ PlanError::Arguments(_) => CommandError { exit: exit::USAGE, ..arguments.into_refusal(name).into() },
    })?;
    let approved = context.engine.approve(plan, Surface::Person, &Nobody)?;
    let control = context.engine.control().map_err(|error| CommandError::failure(error.to_string()))?;
    let json = matches.get_one::<String>("format").is_some_and(|format| format == "json");
    let report = context.engine.run(approved, &control, &mut Passing { printer: &mut context.printer, quiet: json });
    if json {
        context.printer.line(&result_json(&report).to_string());
    }
    let code = if report.timed_out { exit::TIMED_OUT } else { u8::try_from(report.exit_code & 0xff).unwrap_or(exit::FAILURE) };
    Ok(code)
}

/// Passes output on as it comes.
struct Passing<'a> {
    printer: &'a mut Printer,
    quiet: bool,
}

impl Sink for Passing<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Output { stream: Stream::Stdout, bytes, .. } if !self.quiet => self.printer.data(bytes),
            Event::Output { stream: Stream::Stderr, bytes, .. } if !self.quiet => self.printer.talk(bytes),
            _ => {}
        }
    }
}
