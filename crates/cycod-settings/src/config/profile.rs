//! What clients of `cycod mcp serve` are offered, by the names that they announce.

use std::collections::HashSet;

use cycod_definition::{Level, matches_stars};

use super::{Said, Settings, ToolPattern};

/// The most characters of a client's name that are compared.
const LONGEST_NAME: usize = 200;

/// A part of a profile, as one file describes it. Everything in it narrows what is offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientProfile {
    /// What it is called.
    pub name: String,
    /// The clients that it is for, by the names that they announce; `*` stands for any characters.
    pub clients: Vec<String>,
    /// The tools that are offered; nothing means all.
    pub tools: Option<Vec<ToolPattern>>,
    /// The other MCP servers whose tools are offered; nothing means all.
    pub servers: Option<Vec<String>>,
    /// The groups whose tools are offered; nothing means all.
    pub groups: Option<Vec<String>>,
    /// The tags of which a tool that is offered has one; nothing means that it needs none.
    pub tags: Option<Vec<String>>,
    /// The highest level of a tool that is offered.
    pub level: Option<Level>,
    /// The most of an output that is returned at once, in tokens.
    pub reply_tokens: Option<u32>,
    /// The longest list of tools, in tokens.
    pub list_tokens: Option<u32>,
}

impl ClientProfile {
    /// Whether it is for a client of this name.
    pub fn is_for(&self, client: &str) -> bool {
        let client: String = client.chars().take(LONGEST_NAME).collect::<String>().to_lowercase();
        self.clients.iter().any(|pattern| matches_stars(&pattern.to_lowercase(), &client))
    }

    /// Those of these parts that hold for a client: of the profile that was named, and of the profiles that are for it.
    ///
    /// A profile is what all files that describe it say together, so no file can take away what another demands.
    pub fn holding<'a>(parts: &'a [Self], named: Option<&str>, client: Option<&str>) -> Vec<&'a Self> {
        let is_for = |profile: &&Self| client.is_some_and(|client| profile.is_for(client));
        let mut names: HashSet<String> = named.into_iter().map(str::to_lowercase).collect();
        names.extend(parts.iter().filter(is_for).map(|profile| profile.name.to_lowercase()));
        parts.iter().filter(|profile| names.contains(&profile.name.to_lowercase())).collect()
    }
}

impl Settings {
    /// The parts of all profiles, from the broadest layer to the narrowest.
    pub fn profiles(&self) -> impl Iterator<Item = &Said<ClientProfile>> {
        self.layers.iter().flat_map(|layer| &layer.0).flat_map(|options| &options.profiles)
    }
}
