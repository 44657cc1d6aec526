use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use crate::printer::columns;

/// When output carries colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set or the terminal is `dumb`.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

impl Color {
    /// Every choice with its name.
    pub(crate) const NAMES: [(&'static str, Self); 3] =
        [("auto", Self::Auto), ("always", Self::Always), ("never", Self::Never)];

    /// The choice called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, color)| color)
    }
}

/// What the environment says about the terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terminal {
    color: Color,
    plain: bool,
    columns: Option<usize>,
}

impl Terminal {
    /// Reads `NO_COLOR`, `TERM` and `COLUMNS`.
    pub(crate) fn new(environment: &BTreeMap<OsString, OsString>, color: Color) -> Self {
        let variable = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let columns = variable("COLUMNS").and_then(|value| value.to_str()?.parse().ok());
        let plain = variable("NO_COLOR").is_some() || variable("TERM").is_some_and(|term| term == "dumb");
        Self { color, plain, columns: columns.filter(|columns| *columns > 0) }
    }

    /// Whether a stream may carry colours.
    pub(crate) fn colours(&self, is_terminal: bool) -> bool {
        match self.color {
            Color::Auto => is_terminal && !self.plain,
            Color::Always => true,
            Color::Never => false,
        }
    }

    /// How many columns the terminal behind stdout has: what it says itself, else `COLUMNS`, else 80.
    pub(crate) fn width(&self) -> usize {
        columns().or(self.columns).unwrap_or(80)
    }
}

#[cfg(test)]
mod tests {
    use super::{Color, Terminal};

    fn colours(color: Color, environment: &[(&str, &str)], is_terminal: bool) -> bool {
        let environment = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Terminal::new(&environment, color).colours(is_terminal)
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        assert!(colours(Color::Auto, &[], true));
        assert!(colours(Color::Auto, &[("NO_COLOR", "")], true), "an empty value says nothing");
        assert!(!colours(Color::Auto, &[], false));
        assert!(!colours(Color::Auto, &[("NO_COLOR", "1")], true));
        assert!(!colours(Color::Auto, &[("TERM", "dumb")], true));
        assert!(colours(Color::Always, &[("NO_COLOR", "1")], false), "what was typed wins over the environment");
        assert!(!colours(Color::Never, &[], true));
    }
}
