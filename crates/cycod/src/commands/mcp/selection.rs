//! Which tools a server offers, as `serve` takes it and `install` passes it on.

use clap::{Arg, ArgAction, builder::NonEmptyStringValueParser};

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
