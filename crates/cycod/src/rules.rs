//! `--auto-approve` and `--auto-deny`, which every command that runs tools takes.

use clap::{Args, builder::NonEmptyStringValueParser};
use cycod_app::doubts;
use cycod_engine::{Engine, Layer, Origin, Pattern, PatternError, Rule, Verdict};

use crate::{command_error::CommandError, printer::Printer};

/// The names of the options.
const AUTO_APPROVE: &str = "auto-approve";
const AUTO_DENY: &str = "auto-deny";

/// The options.
#[derive(Args)]
#[group(skip)]
pub(crate) struct RuleOptions {
    /// Let models use this without asking: a level, '*', a tool or tag
    #[arg(long = AUTO_APPROVE, value_name = "WHAT", value_parser = NonEmptyStringValueParser::new())]
    auto_approve: Vec<String>,
    /// Deny this to everyone
    #[arg(long = AUTO_DENY, value_name = "WHAT", value_parser = NonEmptyStringValueParser::new())]
    auto_deny: Vec<String>,
}

impl RuleOptions {
    /// The options with their values.
    fn all(&self) -> [(&'static str, Verdict, &[String]); 2] {
        [(AUTO_APPROVE, Verdict::Allow, &self.auto_approve), (AUTO_DENY, Verdict::Deny, &self.auto_deny)]
    }

    /// The rules that were given.
    ///
    /// # Errors
    /// What is no pattern, and how to fix it.
    pub(crate) fn given(&self) -> Result<Vec<Rule>, CommandError> {
        let mut rules = Vec::new();
        for (name, verdict, lists) in self.all() {
            for text in lists.iter().flat_map(|list| Pattern::split(list)) {
                let pattern = Pattern::parse(text).map_err(|error| wrong(&format!("--{name} "), text, &error))?;
                rules.push(Rule::new(verdict, pattern, Origin::new(Layer::CommandLine, format!("--{name}"))));
            }
        }
        Ok(rules)
    }

    /// The same as words of a command line.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> {
        let words = |(name, _, lists): (&'static str, Verdict, &[String])| {
            lists.iter().flat_map(|list| [format!("--{name}"), list.clone()]).collect::<Vec<_>>()
        };
        self.all().into_iter().flat_map(words)
    }
}

/// What is wrong with a pattern that was typed.
pub(crate) fn wrong(option: &str, text: &str, error: &PatternError) -> CommandError {
    CommandError::usage(format!("{option}{text}: {error}")).hint(&*error.help)
}

/// Warns of rules that are most likely misspelt.
pub(crate) fn warn_of_unknown(rules: &[Rule], engine: &Engine, printer: &mut Printer) {
    for rule in rules {
        for (_, doubt) in doubts(&rule.pattern, engine) {
            printer.warn(&format!("`{} {}`: {doubt}", rule.origin, rule.pattern));
        }
    }
}
