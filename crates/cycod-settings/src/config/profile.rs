//! What clients of `cycod mcp serve` are offered, by the names that they announce and the subjects of their tokens.

use std::collections::HashSet;

use cycod_catalog::Scope;
use cycod_definition::{Level, matches_stars};

use super::{LAYERS, Said, Settings, ToolPattern};

/// The most characters of a client's name that are compared.
const LONGEST_NAME: usize = 200;

/// A part of a profile, as one file describes it. Everything in it narrows what is offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientProfile {
    /// What it is called.
    pub name: String,
    /// The clients that it is for, by the names that they announce; `*` stands for any characters.
    pub clients: Vec<String>,
    /// The subjects of tokens that it is for; `*` stands for any characters. Nothing means that no token chooses it.
    pub subjects: Option<Vec<String>>,
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

/// What chooses the profiles of a client.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfileChoice<'a> {
    /// The profile that the server was started with.
    pub named: Option<&'a str>,
    /// The name that the client announces.
    pub client: Option<&'a str>,
    /// The token that came with its request.
    pub token: TokenSubject<'a>,
}

/// Whose a token is that was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenSubject<'a> {
    /// There is no token of an authorization server.
    #[default]
    NoToken,
    /// The token has no `sub`.
    Unnamed,
    /// The `sub` of the token.
    Named(&'a str),
}

/// The profiles that hold for a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldingProfiles<'a> {
    /// Their parts, all of which hold.
    pub parts: Vec<&'a ClientProfile>,
    /// Whether nothing is offered: the profile that the server was started with is gone or is for tokens of others, or a
    /// file names subjects and not this one.
    pub is_barred: bool,
}

impl ClientProfile {
    /// Whether it is for a client of this name.
    pub fn is_for(&self, client: &str) -> bool {
        let client: String = client.chars().take(LONGEST_NAME).collect::<String>().to_lowercase();
        self.clients.iter().any(|pattern| matches_stars(&pattern.to_lowercase(), &client))
    }

    /// How exactly it names a subject: the most for the subject itself, else the letters of a pattern; nothing when it
    /// does not. Case counts, as it does to authorization servers.
    fn names(&self, subject: &str) -> Option<usize> {
        let meant = self.subjects.iter().flatten().filter(|pattern| matches_stars(pattern, subject));
        let letters = |pattern: &String| match pattern.contains('*') {
            false => usize::MAX,
            true => pattern.chars().filter(|letter| *letter != '*').count(),
        };
        meant.map(letters).max()
    }
}

/// The parts of all profiles, each with its layer, from the broadest layer to the narrowest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientProfiles(Vec<(Scope, ClientProfile)>);

impl ClientProfiles {
    /// The profiles that hold for a client: the one that was named, those for its name, and those for its token.
    ///
    /// A profile is what all files that describe it say together, and each layer chooses for itself. So no file can take
    /// away what another demands.
    pub fn holding(&self, choice: ProfileChoice<'_>) -> HoldingProfiles<'_> {
        let ProfileChoice { named, client, token } = choice;
        let exactness = |part: &ClientProfile| match token {
            TokenSubject::Named(subject) => part.names(subject),
            TokenSubject::NoToken | TokenSubject::Unnamed => None,
        };
        let mut names: HashSet<String> = HashSet::new();
        let mut is_barred = false;
        for layer in LAYERS {
            let of_layer = || self.0.iter().filter(|(scope, part)| *scope == layer && part.subjects.is_some());
            let best = of_layer().filter_map(|(_, part)| exactness(part)).max();
            is_barred |= best.is_none() && token != TokenSubject::NoToken && of_layer().next().is_some();
            let meant = of_layer().filter(|(_, part)| best.is_some() && exactness(part) == best);
            names.extend(meant.map(|(_, part)| part.name.to_lowercase()));
        }
        if let Some(named) = named.map(str::to_lowercase) {
            is_barred |= !self.0.iter().any(|(_, part)| part.name.to_lowercase() == named);
            is_barred |= self.is_for_subjects(&named) && !names.contains(&named);
            names.insert(named);
        }
        let is_for = |part: &&ClientProfile| client.is_some_and(|client| part.is_for(client));
        names.extend(self.parts().filter(is_for).map(|part| part.name.to_lowercase()));
        let holds = |part: &&ClientProfile| {
            names.contains(&part.name.to_lowercase()) && (part.subjects.is_none() || exactness(part).is_some())
        };
        let parts = self.parts().filter(holds).collect();
        HoldingProfiles { parts, is_barred }
    }

    /// Whether tokens choose a profile, so that no option can.
    pub fn is_for_subjects(&self, name: &str) -> bool {
        self.parts().any(|part| part.subjects.is_some() && part.name.eq_ignore_ascii_case(name))
    }

    /// The parts of all profiles.
    pub fn parts(&self) -> impl Iterator<Item = &ClientProfile> {
        self.0.iter().map(|(_, part)| part)
    }
}

impl Settings {
    /// The profiles of all layers.
    pub fn profiles(&self) -> ClientProfiles {
        let parts = self.layers.iter().flat_map(|layer| &layer.0).flat_map(|options| &options.profiles);
        ClientProfiles(parts.map(|Said { value, scope, .. }| (*scope, value.clone())).collect())
    }
}
