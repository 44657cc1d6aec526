//! Which tools a model may use, and whether it asks: the options of every command that lets one work.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command};
use cycod_agent::{Choice, Preset, Tools};
use cycod_engine::{
    Layer, Origin, Pattern, Rule, Verdict,
    diagnostic::{Code, Refusal, visible},
};

use crate::{
    command_error::{CommandError, exit},
    printer::Printer,
    rules,
};

/// How many tools a warning names.
const MOST_NAMED: usize = 8;

/// Adds `--tools`, `--group`, `--preset`, `--no-safe-mode` and the options of rules.
pub(crate) fn with_choice(command: Command) -> Command {
    command
        .arg(
            Arg::new("tools")
                .long("tools")
                .value_name("NAMES")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("The tools that the model may use; `all` means all enabled tools"),
        )
        .arg(Arg::new("group").long("group").value_name("GROUP").help("The tools of a group"))
        .arg(
            Arg::new("preset")
                .long("preset")
                .value_name("PRESET")
                .value_parser(Preset::NAMES.map(|(name, _)| name))
                .help("The tools for a kind of work"),
        )
        .group(ArgGroup::new("choice").args(["tools", "group", "preset"]))
        .arg(
            Arg::new("no-safe-mode")
                .long("no-safe-mode")
                .action(ArgAction::SetTrue)
                .help("Let the model use every tool without asking, except what rules deny or always ask about"),
        )
        .args(rules::options())
}

/// The tools that were chosen, if any were.
pub(crate) fn chosen(matches: &ArgMatches) -> Option<Choice> {
    if let Some(names) = matches.get_many::<String>("tools") {
        let names = names.map(|name| name.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
        let names: Vec<String> = names.collect();
        let is_all = names.iter().any(|name| name.eq_ignore_ascii_case("all"));
        return Some(if is_all { Choice::All } else { Choice::Names(names) });
    }
    if let Some(group) = matches.get_one::<String>("group") {
        return Some(Choice::Group(group.clone()));
    }
    matches.get_one::<String>("preset").and_then(|name| Preset::named(name)).map(Choice::Preset)
}

/// The rules that were given.
///
/// # Errors
/// What is no pattern, and how to fix it.
pub(crate) fn rules(matches: &ArgMatches) -> Result<Vec<Rule>, CommandError> {
    let mut given = rules::given(matches)?;
    if matches.get_flag("no-safe-mode") {
        let everything = Pattern::parse("*").expect("it means everything");
        given.push(Rule::new(Verdict::Allow, everything, Origin::new(Layer::CommandLine, "--no-safe-mode")));
    }
    Ok(given)
}

/// Warns of tools that are here and are kept from models because nobody has looked at them.
pub(crate) fn warn_of_untrusted(tools: &Tools, printer: &mut Printer) {
    let names = tools.untrusted();
    if names.is_empty() {
        return;
    }
    let shown = names[..names.len().min(MOST_NAMED)].iter().map(|name| visible(name)).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    printer.warn(&format!("the model cannot see untrusted tools: {shown}{more}"));
    printer.say("  see what they do: cycod trust --all");
}

/// Every tool that cannot be used, with the way on: the first reason, and the others beside it.
pub(crate) fn refused(refusals: Vec<Refusal>) -> CommandError {
    let mut refusals = refusals.into_iter();
    let first = refusals.next().unwrap_or_else(|| Refusal::new(Code::UnknownTool, "no tool can be used"));
    let mut error = CommandError::from(first);
    for refusal in refusals {
        error.hints.push(format!("also: {}", refusal.why));
        error.hints.extend(refusal.attempt);
    }
    CommandError { exit: exit::USAGE, ..error }
}
