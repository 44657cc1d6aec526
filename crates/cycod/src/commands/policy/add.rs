use clap::{ArgMatches, Command, CommandFactory, Parser};
use cycod_app::doubts;
use cycod_engine::{
    Pattern, Surfaces, Verdict,
    catalog::{Scope, ScopeFilter},
    diagnostic::visible,
};
use cycod_settings::policy::{NewRule, add};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{approvals::ConfirmationOptions, policy::file_error},
    options::{one_of, parsed},
    rules::wrong,
    scope::ScopeOptions,
};

/// What `cycod policy add` takes.
#[derive(Parser)]
#[command(name = "add", about = "Add a rule")]
struct Arguments {
    #[arg(value_name = "allow|ask|deny", value_parser = one_of(Verdict::NAMES))]
    verdict: Verdict,
    /// The calls that the rule applies to
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// The reason, shown whenever the rule decides
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Whose calls the rule applies to: person, mcp, agent, model
    #[arg(long = "for", value_name = "WHO", value_delimiter = ',', value_parser = one_of(Surfaces::NAMES))]
    surfaces: Vec<Surfaces>,
    #[command(flatten)]
    confirmation: ConfirmationOptions,
    #[command(flatten)]
    scope: ScopeOptions,
}

/// `cycod policy add`.
pub(crate) fn command() -> Command {
    Arguments::command()
}

/// Adds a rule to the file of a scope.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let args: Arguments = parsed(matches)?;
    let verdict = args.verdict;
    let text = &args.pattern;
    let pattern = Pattern::parse(text).map_err(|error| wrong("", text, &error))?;
    let surfaces = args.surfaces.iter().copied().reduce(Surfaces::and).unwrap_or(Surfaces::ALL);
    let scope = match args.scope.filter()? {
        None => Scope::Local,
        Some(ScopeFilter::Only(scope @ (Scope::Local | Scope::User | Scope::Global))) => scope,
        Some(_) => {
            return Err(CommandError::usage("a rule is written to one scope").hint("give --local, --user or --global"));
        }
    };
    let rule = NewRule { verdict, pattern, why: args.why.clone(), surfaces };
    let engine = &context.engine;
    for (_, doubt) in doubts(&rule.pattern, engine) {
        context.printer.warn(&format!("`{text}`: {doubt}"));
    }
    if verdict == Verdict::Allow {
        args.confirmation.confirm(context, &visible(&format!("Allow `{text}` from now on?")))?;
    }
    let engine = &context.engine;
    let (rule, is_new) =
        add(engine.catalog().scopes(), scope, &rule).map_err(|error| file_error(&error, engine.host()))?;
    let path = cycod_settings::policy::path(engine.catalog().scopes(), scope);
    let place = format!("{}:{}", crate::store::shown(&path, engine.host()), rule.line);
    let said = if is_new { format!("Added to {place}") } else { format!("It is there already: {place}") };
    context.printer.say(&format!("{said}: {} {}", rule.rule.verdict, rule.rule.pattern));
    Ok(0)
}
