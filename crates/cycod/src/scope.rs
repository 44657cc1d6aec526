//! `--scope X` and its short forms, which every command about tools shares.

use clap::Args;
use cycod_engine::{
    Engine,
    catalog::{Entry, Scope, ScopeFilter},
    diagnostic::{Code, closest},
};

use crate::command_error::CommandError;

/// The options of a command about tools of a scope.
#[derive(Args)]
#[group(skip)]
pub(crate) struct ScopeOptions {
    /// local, user, global or any
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// The global scope (all users)
    #[arg(long, short = 'g')]
    global: bool,
    /// The user scope (current user)
    #[arg(long, short = 'u')]
    user: bool,
    /// The local scope (current directory)
    #[arg(long, short = 'l')]
    local: bool,
    /// Every scope
    #[arg(long, short = 'a')]
    any: bool,
}

impl ScopeOptions {
    /// Reads the scope that was asked for; `None` when none was.
    ///
    /// # Errors
    /// An unknown scope, or two that differ.
    pub(crate) fn filter(&self) -> Result<Option<ScopeFilter>, CommandError> {
        let named = self.scope.as_deref().map(parse).transpose()?;
        let flags = [
            (self.global, ScopeFilter::Only(Scope::Global)),
            (self.user, ScopeFilter::Only(Scope::User)),
            (self.local, ScopeFilter::Only(Scope::Local)),
            (self.any, ScopeFilter::Any),
        ];
        let flags = flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, filter)| filter);
        let mut asked = named.into_iter().chain(flags);
        let first = asked.next();
        match asked.find(|filter| Some(*filter) != first) {
            Some(_) => {
                Err(CommandError::usage("two different scopes are asked for")
                    .hint("give one of --scope, -g, -u, -l, -a"))
            }
            None => Ok(first),
        }
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
