use std::fmt;

/// An operating system a tool can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Platform {
    Windows,
    Linux,
    Macos,
}

impl Platform {
    /// Every platform with its name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("windows", Self::Windows), ("linux", Self::Linux), ("macos", Self::Macos)];

    /// The name used in files and in `{OS}`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Windows => "windows",
            Self::Linux => "linux",
            Self::Macos => "macos",
        }
    }

    /// Whether `commands.platforms.unix` and `sh` apply.
    pub fn is_unix(self) -> bool {
        self != Self::Windows
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
