//! Which tools a model may use, and whether it asks: the options of every command that lets one work.

use clap::Args;
use cycod_agent::{Choice, Preset, Tools};
use cycod_engine::{
    Layer, Origin, Pattern, Rule, Verdict,
    diagnostic::{Code, Refusal, visible},
};

use crate::{
    command_error::{CommandError, exit},
    options::one_of,
    printer::Printer,
    rules::RuleOptions,
};

/// How many tools a warning names.
const MOST_NAMED: usize = 8;

/// `--tools`, `--group`, `--preset`, `--no-safe-mode` and the options of rules.
#[derive(Args)]
#[group(skip)]
pub(crate) struct ChoiceOptions {
    /// The tools that the model may use; `all` means all enabled tools
    #[arg(long, group = "choice", value_name = "NAMES", value_delimiter = ',')]
    tools: Option<Vec<String>>,
    /// The tools of a group
    #[arg(long, group = "choice", value_name = "GROUP")]
    group: Option<String>,
    /// The tools for a kind of work
    #[arg(long, group = "choice", value_name = "PRESET", value_parser = one_of(Preset::NAMES))]
    preset: Option<Preset>,
    /// Let the model use every tool without asking, except what rules deny or always ask about
    #[arg(long)]
    pub(crate) no_safe_mode: bool,
    #[command(flatten)]
    rules: RuleOptions,
}

impl ChoiceOptions {
    /// The tools that were chosen, if any were.
    pub(crate) fn chosen(&self) -> Option<Choice> {
        if let Some(names) = &self.tools {
            let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()).map(str::to_owned);
            let names: Vec<String> = names.collect();
            let is_all = names.iter().any(|name| name.eq_ignore_ascii_case("all"));
            return Some(if is_all { Choice::All } else { Choice::Names(names) });
        }
        if let Some(group) = &self.group {
            return Some(Choice::Group(group.clone()));
        }
        self.preset.map(Choice::Preset)
    }

    /// The rules that were given.
    ///
    /// # Errors
    /// What is no pattern, and how to fix it.
    pub(crate) fn rules(&self) -> Result<Vec<Rule>, CommandError> {
        let mut given = self.rules.given()?;
        if self.no_safe_mode {
            let everything = Pattern::parse("*").expect("it means everything");
            given.push(Rule::new(Verdict::Allow, everything, Origin::new(Layer::CommandLine, "--no-safe-mode")));
        }
        Ok(given)
    }
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
