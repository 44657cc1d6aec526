//! Which tools a server offers, as `serve` takes it and `install` passes it on.

use clap::{Arg, ArgAction, ArgMatches, builder::NonEmptyStringValueParser};
use cycod_engine::{AnyOf, Selection, definition::Level};

/// The names of the options.
pub(super) const NAMES: [&str; 4] = ["tools", "tag", "group", "level"];

/// The name of the option for the built-in tools.
pub(super) const BUILT_IN: &str = "built-in";

/// That option.
pub(super) fn built_in() -> Arg {
    Arg::new(BUILT_IN).long(BUILT_IN).action(ArgAction::SetTrue).help("Also offer the built-in tools")
}

/// The options with values, in the order of their names.
pub(super) fn options() -> [Arg; 4] {
    let offer = |name: &'static str, value: &'static str, help: &'static str| {
        let texts = NonEmptyStringValueParser::new();
        Arg::new(name).long(name).value_name(value).value_parser(texts).action(ArgAction::Append).help(help)
    };
    let [tools, tag, group, level] = NAMES;
    [
        offer(tools, "NAMES", "Offer only these tools"),
        offer(tag, "TAG", "Offer only tools with this tag"),
        offer(group, "GROUP", "Offer only tools of this group"),
        Arg::new(level)
            .long(level)
            .value_name("LEVEL")
            .value_parser(["read", "write", "run"])
            .help("Offer only tools up to this level"),
    ]
}

/// The tools that these options select, without the built-in ones.
pub(super) fn selected(matches: &ArgMatches) -> Selection {
    let all = |name: &str| {
        let values = matches.get_many::<String>(name).into_iter().flatten();
        values.map(String::as_str).collect::<Vec<_>>()
    };
    let apart = |name: &str| {
        let values = all(name);
        values.iter().flat_map(|value| value.split(',')).map(|value| value.trim().to_owned()).collect::<Vec<_>>()
    };
    let [tools, tag, group, level] = NAMES;
    Selection {
        names: matches.contains_id(tools).then(|| apart(tools)),
        tags: all(tag).into_iter().map(AnyOf::parse).collect(),
        groups: AnyOf(apart(group)),
        level: matches.get_one::<String>(level).map(|level| match level.as_str() {
            "read" => Level::Read,
            "write" => Level::Write,
            _ => Level::Run,
        }),
        ..Selection::default()
    }
}
