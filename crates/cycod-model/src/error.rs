use std::time::Duration;

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What went wrong, in words that hold no key.
    pub message: String,
    /// What the caller can do about it.
    pub attempt: Option<String>,
    /// The status of the provider's answer, where there was one.
    pub status: Option<u16>,
    /// How long the provider wants to be left alone.
    pub retry_after: Option<Duration>,
    /// Whether the same request may be answered when it is sent again.
    pub may_pass: bool,
    /// That the request was longer than the model takes, where the provider says so.
    pub too_long: Option<TooLong>,
}

/// What a provider says of a request that is too long. Counts are tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TooLong {
    /// How long the request was.
    pub tokens: Option<usize>,
    /// The longest that would have been taken.
    pub limit: Option<usize>,
}

/// The kinds of failure that the Codomyrmex document tells apart (`cli_ai_generate`, 5), and what is no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The provider cannot be reached, does not know the key, or answered what nobody understands.
    Provider,
    /// The provider wants fewer requests.
    RateLimit,
    /// The model said nothing that can be used.
    Generation,
    /// It was broken off.
    Cancelled,
}

impl ErrorKind {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Provider => "ProviderError",
            Self::RateLimit => "RateLimitError",
            Self::Generation => "GenerationError",
            Self::Cancelled => "Cancelled",
        }
    }
}

impl ModelError {
    /// A failure of a kind, without more to say about it.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            attempt: None,
            status: None,
            retry_after: None,
            may_pass: false,
            too_long: None,
        }
    }

    /// Says what can be done about it.
    #[must_use]
    pub fn attempt(self, attempt: impl Into<String>) -> Self {
        Self { attempt: Some(attempt.into()), ..self }
    }
}
