use std::fmt;

use cycod_syntax::template::{Placeholder, Reference, Template};

use crate::{Body, Parameter, Placing, Tool};

/// How dangerous a tool is; each level includes those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Only looks.
    Read,
    /// Changes files or data.
    Write,
    /// Executes whatever it likes; also the level of a tool that does not say.
    Run,
}

impl Level {
    /// Every level with the tag that declares it.
    pub const NAMES: [(&'static str, Self); 3] = [("read", Self::Read), ("write", Self::Write), ("run", Self::Run)];

    /// The tag that declares it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Run => "run",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the level of `tool`: the highest of its tags, of what the file declares as its risk, of the tools it
/// uses, and run where a value is placed as program text or chooses options, and where a script may have any program started.
///
/// A tool that carries none of the three tags may do anything, except that an alias without one is as
/// dangerous as its base. `of` tells the level of another tool; one it does not know may do anything.
pub fn level(tool: &Tool, of: &dyn Fn(&str) -> Option<Level>) -> Level {
    let tagged = Level::NAMES
        .into_iter()
        .filter(|(name, _)| tool.tags.iter().any(|tag| tag.eq_ignore_ascii_case(name)))
        .map(|(_, level)| level)
        .max();
    let own = match (tagged, &tool.body) {
        (Some(level), _) => level,
        (None, Body::Alias { .. }) => Level::Read,
        (None, _) => Level::Run,
    };
    let used = tool.uses().into_iter().map(|name| of(name).unwrap_or(Level::Run)).max();
    let raw = places_raw(tool).then_some(Level::Run);
    // A caller who gives options, or words that may be options, chooses what the program does.
    let chooses = |parameter: &Parameter| {
        parameter.words || parameter.options || matches!(parameter.placing, Some(Placing::Code(_)))
    };
    let chosen = tool.parameters.iter().any(chooses).then_some(Level::Run).filter(|_| tool.built_in().is_none());
    let starts = match &tool.body {
        Body::Handler(handler) => handler.starts_anything() && tool.security.permissions.is_empty(),
        _ => false,
    };
    let started = starts.then_some(Level::Run);
    [Some(own), tool.declared_risk, used, raw, chosen, started].into_iter().flatten().max().unwrap_or(Level::Run)
}

/// Whether a value is placed into a command as program text, by `{RAW:…}` or `escape-shell: false`.
fn places_raw(tool: &Tool) -> bool {
    let raw_parameter = |reference: &Reference| match reference {
        Reference::Parameter(name) => {
            tool.parameter(name).is_some_and(|parameter| parameter.escape_shell == Some(false))
        }
        _ => false,
    };
    let raw_hole = |hole: &Placeholder| hole.raw;
    let raw = |template: &Template| {
        template.holes().any(raw_hole) || template.references().any(|(reference, _)| raw_parameter(reference))
    };
    let in_formats = tool.parameters.iter().filter_map(|parameter| parameter.format.as_ref());
    // A base's command may place an alias's parameter where this file cannot see it.
    let unseen = matches!(tool.body, Body::Alias { .. })
        && tool.parameters.iter().any(|parameter| parameter.escape_shell == Some(false));
    unseen
        || tool.commands().any(|command| command.texts().any(|text| raw(&text.template)))
        || in_formats.into_iter().any(|format| format.template.holes().any(raw_hole))
}
