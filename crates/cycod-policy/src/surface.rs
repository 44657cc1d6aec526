use std::fmt;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Surface {
    /// A person, by hand.
    Person,
    /// A language model in a host, over the Model Context Protocol.
    Mcp,
    /// A language model by function calling, or in our own loop.
    Agent,
}

impl Surface {
    /// Every surface with its name.
    pub const NAMES: [(&'static str, Self); 3] = [("person", Self::Person), ("mcp", Self::Mcp), ("agent", Self::Agent)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Mcp => "mcp",
            Self::Agent => "agent",
        }
    }

    /// Whether a language model decided to call.
    pub fn is_model(self) -> bool {
        self != Self::Person
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Some of the surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surfaces(u8);

impl Surfaces {
    /// All of them.
    pub const ALL: Self = Self(0b111);

    /// Every name that a rule may use; `model` is all but the person.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("person", Self::of(Surface::Person)),
        ("mcp", Self::of(Surface::Mcp)),
        ("agent", Self::of(Surface::Agent)),
        ("model", Self(0b110)),
    ];

    const fn of(surface: Surface) -> Self {
        Self(1 << surface as u8)
    }

    /// The surfaces of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, surfaces)| *surfaces)
    }

    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it is among them.
    pub fn contains(self, surface: Surface) -> bool {
        self.0 & Self::of(surface).0 != 0
    }

    /// The names of all that are among them, as they are written in a file.
    pub fn names(self) -> Vec<&'static str> {
        match self {
            Self(0b110) => vec!["model"],
            _ => Surface::NAMES.iter().filter(|(_, surface)| self.contains(*surface)).map(|(name, _)| *name).collect(),
        }
    }
}
