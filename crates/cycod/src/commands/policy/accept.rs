use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::Shown;
use cycod_settings::policy::Rules;

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::policy::{file_error, rules},
    editor::ask,
    options::parsed,
};

/// What `cycod policy accept` takes.
#[derive(Parser)]
#[command(name = "accept", about = "Let the project's 'allow' rules take effect")]
struct Arguments {
    /// Accept everything shown, without asking
    #[arg(long)]
    all: bool,
}

/// `cycod policy accept`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Shows what the project's file allows and nobody agreed to, and agrees to it.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let rules = rules(context);
    if rules.waiting().next().is_none() {
        context.printer.say("no rule waits to be accepted");
        return Ok(0);
    }
    for (_, rule) in rules.waiting() {
        let names = rule.rule.surfaces.names().join(", ");
        context.printer.line(Shown::from(&format!("{}, for {names}", rule.rule)).on_one_line());
    }
    if !args.all {
        if !context.is_attended() {
            return Err(CommandError::failure("nothing was accepted: there is no terminal to ask at")
                .hint("try: cycod policy accept --all"));
        }
        if ask(context, "Let this run without asking? [y/n] ", &["y", "n"])? != Some("y") {
            return Err(CommandError::failure("nothing was accepted"));
        }
    }
    let engine = &context.engine;
    Rules::accept(engine.catalog().scopes(), rules.waiting()).map_err(|error| file_error(&error, engine.host()))?;
    let what = match rules.waiting().count() {
        1 => "1 rule".to_owned(),
        count => format!("{count} rules"),
    };
    context.printer.say(&format!("Accepted {what}; a change asks again"));
    Ok(0)
}
