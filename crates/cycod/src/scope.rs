//! `--scope X` and its short forms, which every command about tools shares.

use clap::{Arg, ArgAction, ArgMatches, Command};
use cycod_engine::{
    Engine,
    catalog::{Entry, Scope, ScopeFilter},
    diagnostic::{Code, closest},
};

use crate::command_error::CommandError;

/// Adds `--scope`, `-g`, `-u`, `-l` and `-a` to a command.
pub(crate) fn with_scope(command: Command) -> Command {
    let flag = |name: &'static str, short: char, help: &'static str| {
        Arg::new(name).long(name).short(short).action(ArgAction::SetTrue).help(help)
    };
    command
        .arg(Arg::new("scope").long("scope").value_name("SCOPE").help("local, user, global or any"))
        .arg(flag("global", 'g', "The global scope (all users)"))
        .arg(flag("user", 'u', "The user scope (current user)"))
        .arg(flag("local", 'l', "The local scope (current directory)"))
        .arg(flag("any", 'a', "Every scope"))
}

/// Reads the scope that was asked for; `None` when none was.
///
/// # Errors
/// An unknown scope, or two that differ.
pub(crate) fn scope(matches: &ArgMatches) -> Result<Option<ScopeFilter>, CommandError> {
    let named = matches.get_one::<String>("scope").map(|name| parse(name)).transpose()?;
    let flags = [
        ("global", ScopeFilter::Only(Scope::Global)),
        ("user", ScopeFilter::Only(Scope::User)),
        ("local", ScopeFilter::Only(Scope::Local)),
        ("any", ScopeFilter::Any),
    ];
    let mut asked =
        named.into_iter().chain(flags.into_iter().filter(|(name, _)| matches.get_flag(name)).map(|(_, filter)| filter));
    let first = asked.next();
    match asked.find(|filter| Some(*filter) != first) {
        Some(_) => {
            Err(CommandError::usage("two different scopes are asked for").hint("give one of --scope, -g, -u, -l, -a"))
        }
        None => Ok(first),
    }
}

/// Reads the name of a scope.
pub(crate) fn parse(name: &str) -> Result<ScopeFilter, CommandError> {
    if name == "any" {
        return Ok(ScopeFilter::Any);
    }
    let scope = Scope::NAMES.iter().find(|(known, _)| *known == name).map(|(_, scope)| ScopeFilter::Only(*scope));
    scope.ok_or_else(|| {
        let error = CommandError::usage(format!("`{name}` is not a scope"));
        match closest(name, Scope::NAMES.iter().map(|(known, _)| *known).chain(["any"])) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("one of local, user, global, any"),
        }
    })
}

/// The entry that `name` leads to among the scopes asked for.
///
/// # Errors
/// When there is none; one of another scope is named then, because that is most often what is wrong.
pub(crate) fn entry(engine: &Engine, name: &str, filter: ScopeFilter) -> Result<Entry, CommandError> {
    let error = match engine.entry(name, filter) {
        Ok(entry) => return Ok(entry),
        Err(error) => error,
    };
    match (filter, engine.catalog().find(name, ScopeFilter::Any)) {
        (ScopeFilter::Only(scope), Some(elsewhere)) => {
            let mut error = CommandError::failure(format!("no tool is called `{name}` in the {scope} scope"));
            error.code = Some(Code::UnknownTool);
            Err(error.hint(format!("there is one in the {} scope: leave out --scope", elsewhere.scope)))
        }
        _ => Err(error.into()),
    }
}
