use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue, RETRY_AFTER},
};

/// A request that is not let through, and why.
#[derive(Debug)]
pub struct Refused {
    /// The status of the answer.
    pub status: StatusCode,
    /// What is wrong with it, for the sender.
    pub why: String,
    /// What the answer has to carry, such as how to come in.
    pub header: Option<(HeaderName, HeaderValue)>,
}

impl Refused {
    /// Refuses a request with this status.
    pub fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into(), header: None }
    }

    /// Refuses what is too much at once: of one client (429), or of all of them (503).
    pub fn for_now(status: StatusCode, why: &str) -> Self {
        Self::new(status, why).with_header(RETRY_AFTER, HeaderValue::from_static("1"))
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// Whether the same request may succeed a little later.
    pub fn is_for_now(&self) -> bool {
        matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
    }
}
