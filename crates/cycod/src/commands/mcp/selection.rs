//! Which tools a server offers, as `serve` takes it and `install` passes it on.

use clap::{Args, builder::NonEmptyStringValueParser};
use cycod_engine::{AnyOf, Selection, definition::Level};

use crate::options::one_of;

/// The options.
#[derive(Args)]
#[group(skip)]
pub(super) struct SelectionOptions {
    /// Offer only these tools
    #[arg(long, value_name = "NAMES", value_parser = NonEmptyStringValueParser::new())]
    tools: Option<Vec<String>>,
    /// Offer only tools with this tag
    #[arg(long, value_name = "TAG", value_parser = NonEmptyStringValueParser::new())]
    tag: Vec<String>,
    /// Offer only tools of this group
    #[arg(long, value_name = "GROUP", value_parser = NonEmptyStringValueParser::new())]
    group: Vec<String>,
    /// Offer only tools up to this level
    #[arg(long, value_name = "LEVEL", value_parser = one_of(Level::NAMES))]
    level: Option<Level>,
    /// Also offer the built-in tools
    #[arg(long)]
    built_in: bool,
}

impl SelectionOptions {
    /// The tools that these options select.
    pub(super) fn selected(&self) -> Selection {
        let apart = |values: &[String]| {
            values.iter().flat_map(|value| value.split(',')).map(|value| value.trim().to_owned()).collect::<Vec<_>>()
        };
        Selection {
            names: self.tools.as_deref().map(apart),
            tags: self.tag.iter().map(|tags| AnyOf::parse(tags)).collect(),
            groups: AnyOf(apart(&self.group)),
            level: self.level,
            built_in: self.built_in,
            ..Selection::default()
        }
    }

    /// The same as words of a command line.
    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        let tools = self.tools.iter().flatten().map(|value| ("--tools", value.clone()));
        let tags = self.tag.iter().map(|value| ("--tag", value.clone()));
        let groups = self.group.iter().map(|value| ("--group", value.clone()));
        let level = self.level.map(|level| ("--level", level.name().to_owned()));
        let pairs = tools.chain(tags).chain(groups).chain(level);
        let built_in = self.built_in.then(|| "--built-in".to_owned());
        pairs.flat_map(|(option, value)| [option.to_owned(), value]).chain(built_in)
    }
}
