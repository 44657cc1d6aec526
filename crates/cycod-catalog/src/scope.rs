use std::fmt;

/// How far a tool reaches. Of one name, a tool of the machine or of the team wins; of the others, that of an earlier scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// This program itself: the built-in tools, which are in no file and give their names to none.
    BuiltIn,
    /// The project: the nearest ancestor of the working directory that holds `.cycod`.
    Local,
    /// The person: `~/.cycod`.
    User,
    /// The machine: `/etc/cycod` and its like.
    Global,
    /// The team: the tools of a signed release.
    Team,
    /// Other programs: the tools of MCP servers, which are in no file of ours.
    Mcp,
}

impl Scope {
    /// Every scope, from the narrowest to the broadest.
    pub const ALL: [Self; 6] = [Self::BuiltIn, Self::Local, Self::User, Self::Global, Self::Team, Self::Mcp];

    /// Every name a scope goes by; the first of a scope is the one we write.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("built-in", Self::BuiltIn),
        ("local", Self::Local),
        ("user", Self::User),
        ("global", Self::Global),
        ("team", Self::Team),
        ("mcp", Self::Mcp),
        ("project", Self::Local),
        ("personal", Self::User),
    ];

    /// The name we write.
    pub fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::Local => "local",
            Self::User => "user",
            Self::Global => "global",
            Self::Team => "team",
            Self::Mcp => "mcp",
        }
    }

    /// Whether what is of this scope binds every user here: no project and no user turns it off, hides it or changes it.
    pub fn binds(self) -> bool {
        matches!(self, Self::Global | Self::Team)
    }

    /// Whether a tool of this scope gets a name before one of the other scope.
    pub fn comes_before(self, other: Self) -> bool {
        (self != Self::BuiltIn, !self.binds(), self) < (other != Self::BuiltIn, !other.binds(), other)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which scopes a question is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScopeFilter {
    /// All of them.
    #[default]
    Any,
    /// One of them.
    Only(Scope),
}
