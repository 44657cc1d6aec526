//! What commands share in reading their arguments: types that clap fills, so that the compiler knows every name.

use clap::{
    ArgMatches, FromArgMatches, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};

use crate::command_error::CommandError;

/// Reads the arguments of a command as their type has them.
///
/// # Errors
/// When the arguments are those of another command, which is a bug.
pub(crate) fn parsed<T: FromArgMatches>(matches: &ArgMatches) -> Result<T, CommandError> {
    T::from_arg_matches(matches).map_err(|error| CommandError::usage(error.to_string()))
}

/// Reads one of the names of a table as what it names.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static, const N: usize>(
    table: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = table.each_ref().map(|(name, _)| *name);
    PossibleValuesParser::new(names).try_map(move |given| {
        let found = table.iter().find(|(name, _)| *name == given);
        found.map(|(_, value)| value.clone()).ok_or("this is not one of the names")
    })
}

/// Whether a command writes for people or for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextOrJson {
    Text,
    Json,
}

impl TextOrJson {
    /// Whether it writes for programs.
    pub(crate) fn is_json(self) -> bool {
        self == Self::Json
    }
}
