use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_engine::diagnostic::closest;
use cycod_settings::policy::{FileRule, RuleFile, remove};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::policy::{all, file_error, rules},
    options::parsed,
    removal::RemovalOptions,
    scope::ScopeOptions,
};

/// What `cycod policy remove` takes.
#[derive(Parser)]
#[command(name = "remove", about = "Remove a rule")]
struct Arguments {
    /// The pattern of the rule, or its line in the file
    #[arg(value_name = "PATTERN|LINE")]
    rule: String,
    #[command(flatten)]
    removal: RemovalOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod policy remove`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Removes the rule of a pattern or line from the first file that has it, and says where.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let wanted = args.rule.trim();
    let filter = args.scope.filter()?.unwrap_or_default();
    let rules = rules(context);
    let scopes = context.engine.catalog().scopes().clone();
    let is_it = |rule: &FileRule| {
        rule.rule.pattern.to_string() == wanted || wanted.parse::<usize>().is_ok_and(|line| line == rule.line)
    };
    // The narrowest scope first, as names are looked up.
    let files = rules.files.iter().rev().filter(|file| scopes.admits(filter, file.scope));
    let found = files.map(|file| (file, file.rules.iter().filter(|rule| is_it(rule)).collect::<Vec<_>>()));
    let found: Option<(&RuleFile, Vec<&FileRule>)> = found.into_iter().find(|(_, found)| !found.is_empty());
    let Some((file, found)) = found else {
        let patterns: Vec<String> = all(&rules).map(|(_, rule)| rule.rule.pattern.to_string()).collect();
        let error = CommandError::failure(format!("no file here has a rule `{wanted}`"));
        return Err(match closest(wanted, patterns.iter().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("cycod policy list"),
        });
    };
    let [rule] = found[..] else {
        let error = CommandError::failure(format!("{} has several rules `{wanted}`", file.report.source.name));
        let hint = |rule: &&FileRule| format!("line {}: {} {}", rule.line, rule.rule.verdict, rule.rule.pattern);
        let error = found.iter().map(hint).fold(error, CommandError::hint);
        return Err(error.hint("give the line"));
    };
    let what = format!("rule {}", rule.rule);
    args.removal.confirm(context, &what)?;
    remove(&scopes, file, rule).map_err(|error| file_error(&error, context.engine.host()))?;
    context.printer.say(&format!("Removed the {what}"));
    Ok(0)
}
