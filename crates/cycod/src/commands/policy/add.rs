use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{
    Pattern, Surfaces, Verdict,
    catalog::{Scope, ScopeFilter},
    diagnostic::visible,
};
use cycod_settings::policy::{NewRule, add};

use crate::{
    cli::Context,
    command_error::CommandError,
    commands::{
        approvals::{confirm, yes},
        policy::file_error,
    },
    rules::{doubts, wrong},
    scope::{scope, with_scope},
};

/// `cycod policy add`.
pub(crate) fn command() -> Command {
    let verdict = Arg::new("verdict").value_name("allow|ask|deny").required(true);
    let command = Command::new("add")
        .about("Add a rule")
        .arg(verdict.value_parser(Verdict::NAMES.map(|(name, _)| name)))
        .arg(Arg::new("pattern").value_name("PATTERN").required(true).help("The calls that the rule applies to"))
        .arg(Arg::new("why").long("why").value_name("TEXT").help("The reason, shown whenever the rule decides"))
        .arg(
            Arg::new("for")
                .long("for")
                .value_name("WHO")
                .action(ArgAction::Append)
                .value_delimiter(',')
                .value_parser(Surfaces::NAMES.map(|(name, _)| name))
                .help("Whose calls the rule applies to: person, mcp, agent, model"),
        )
        .arg(yes());
    with_scope(command)
}

/// Adds a rule to the file of a scope.
pub(crate) fn run(context: &mut Context, matches: &ArgMatches) -> Result<u8, CommandError> {
    let word = matches.get_one::<String>("verdict").expect("clap requires it");
    let verdict = Verdict::NAMES.iter().find(|(name, _)| name == word).expect("clap knows the names").1;
    let text = matches.get_one::<String>("pattern").expect("clap requires it");
    let pattern = Pattern::parse(text).map_err(|error| wrong("", text, &error))?;
    let surfaces = matches.get_many::<String>("for").into_iter().flatten();
    let surfaces = surfaces.filter_map(|name| Surfaces::named(name)).reduce(Surfaces::and).unwrap_or(Surfaces::ALL);
    let scope = match scope(matches)? {
        None => Scope::Local,
        Some(ScopeFilter::Only(scope @ (Scope::Local | Scope::User | Scope::Global))) => scope,
        Some(_) => {
            return Err(CommandError::usage("a rule is written to one scope").hint("give --local, --user or --global"));
        }
    };
    let rule = NewRule { verdict, pattern, why: matches.get_one::<String>("why").cloned(), surfaces };
    let engine = &context.engine;
    for (_, doubt) in doubts(&rule.pattern, engine) {
        context.printer.warn(&format!("`{text}`: {doubt}"));
    }
    if verdict == Verdict::Allow {
        confirm(context, matches, &visible(&format!("Allow `{text}` from now on?")))?;
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
