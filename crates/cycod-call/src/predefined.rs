use std::time::SystemTime;

use cycod_definition::Host;
use cycod_shell::Kind;
use cycod_syntax::template::Predefined;
use jiff::Timestamp;

use crate::{RunContext, call::path_text};

/// The name a predefined variable has in a template.
pub(crate) fn name(variable: Predefined) -> &'static str {
    Predefined::NAMES.iter().find(|(_, known)| *known == variable).map_or("", |(name, _)| name)
}

/// Returns the variable's value, or nothing when it is a path that is not Unicode.
///
/// The times are all of the one instant of the run, in UTC, so that `{DATE}` and `{TIME}` of one command never
/// fall on two sides of midnight.
pub(crate) fn value(variable: Predefined, host: &Host, run: &RunContext) -> Option<String> {
    let time = |pattern: &str| Some(written(host.now, pattern));
    match variable {
        Predefined::ToolName => Some(run.tool_name.clone()),
        Predefined::Workspace => path_text(&host.workspace).map(str::to_owned),
        Predefined::Temp => path_text(&run.temp).map(str::to_owned),
        Predefined::Home => path_text(&host.home).map(str::to_owned),
        Predefined::Os => Some(host.platform.name().to_owned()),
        Predefined::Date => time("%Y-%m-%d"),
        Predefined::Time => time("%H:%M:%S"),
        Predefined::Timestamp => Some(timestamp(host.now)),
    }
}

/// Writes an instant as `{TIMESTAMP}` and the start and end of steps are written: UTC, to the second.
pub fn timestamp(instant: SystemTime) -> String {
    written(instant, "%Y-%m-%dT%H:%M:%SZ")
}

fn written(instant: SystemTime, pattern: &str) -> String {
    Timestamp::try_from(instant).unwrap_or(Timestamp::MAX).strftime(pattern).to_string()
}

/// What is known about the variable's shape: all but paths are made by us of letters, digits and a few signs.
pub(crate) fn kind(variable: Predefined) -> Kind {
    match variable {
        Predefined::Workspace | Predefined::Temp | Predefined::Home => Kind::Text,
        _ => Kind::Enum,
    }
}
