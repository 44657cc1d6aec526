use std::{fmt, io};

/// How many of the biggest files an error names.
const NAMED: usize = 5;

/// Why files can't be packed or unpacked.
#[derive(Debug)]
pub enum SnapshotError {
    /// There is more than is carried; the biggest files with their sizes.
    TooLarge {
        /// What there is too much of.
        what: String,
        /// The biggest files with their sizes.
        biggest: Vec<(String, u64)>,
    },
    /// A file has a name that isn't carried.
    Name(String),
    /// A link leads out of the project.
    LeadsOut {
        /// The link.
        link: String,
        /// What it names.
        to: String,
    },
    /// The packed files can't be read.
    Broken(String),
    /// The system refuses.
    Failed {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
}

impl SnapshotError {
    pub(crate) fn too_large(what: String, mut sizes: Vec<(String, u64)>) -> Self {
        sizes.sort_by(|(a, size), (b, other)| other.cmp(size).then_with(|| a.cmp(b)));
        sizes.truncate(NAMED);
        Self::TooLarge { what, biggest: sizes }
    }

    pub(crate) fn broken(why: impl Into<String>) -> Self {
        Self::Broken(why.into())
    }

    pub(crate) fn failed(path: impl fmt::Display, error: io::Error) -> Self {
        Self::Failed { path: path.to_string(), error }
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { what, biggest } if biggest.is_empty() => f.write_str(what),
            Self::TooLarge { what, biggest } => {
                let named: Vec<String> =
                    biggest.iter().map(|(path, size)| format!("`{path}` ({size} bytes)")).collect();
                write!(f, "{what}; the biggest are {}", named.join(", "))
            }
            Self::Name(name) => write!(f, "`{}` has a name that can't travel", name.escape_debug()),
            Self::LeadsOut { link, to } => write!(f, "the link `{link}` leads out of the project, to `{to}`"),
            Self::Broken(why) => write!(f, "the packed files can't be read: {why}"),
            Self::Failed { path, error } => write!(f, "`{path}`: {error}"),
        }
    }
}

impl std::error::Error for SnapshotError {}
