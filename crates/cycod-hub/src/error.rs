use cycod_team::ReleaseError;

/// For what kind of reason a hub doesn't do what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubRefusal {
    /// What was sent can't be right.
    Invalid,
    /// It is not known who asks.
    Unknown,
    /// Who asks may not do that.
    Forbidden,
    /// There is nothing by that name.
    Missing,
    /// Someone else was faster, or something else comes first.
    Conflict,
    /// Too much is asked at once.
    Busy,
    /// The database is away.
    Away,
    /// The hub itself failed.
    Failed,
}

/// Why a hub doesn't do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HubError {
    /// For what kind of reason.
    pub refusal: HubRefusal,
    /// What is wrong: a lowercase fragment.
    pub message: String,
}

impl HubError {
    /// Refuses something.
    pub fn new(refusal: HubRefusal, message: impl Into<String>) -> Self {
        Self { refusal, message: message.into() }
    }

    pub(crate) fn failed(what: &str, error: impl std::fmt::Display) -> Self {
        Self::new(HubRefusal::Failed, format!("{what}: {error}"))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(HubRefusal::Invalid, message)
    }

    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self::new(HubRefusal::Unknown, message)
    }
}

impl From<ReleaseError> for HubError {
    fn from(error: ReleaseError) -> Self {
        Self::invalid(error.to_string())
    }
}
