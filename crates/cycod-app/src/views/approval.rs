//! What waits to be approved, and what was.

use cycod_store::approvals::{Pending, Standing};
use serde::Serialize;
use serde_json::{Map, Value};

/// A request that waits for an answer.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PendingView {
    /// What is asked, as [`cycod_engine::approvals::request_json`] writes it.
    #[serde(flatten)]
    pub about: Map<String, Value>,
    pub id: String,
    /// Whether somebody waits for the answer (`waiting`), the next same call takes it (`open`), or it was given (`answered`).
    pub state: &'static str,
    pub asked: u64,
    pub expires: u64,
}

impl PendingView {
    /// Of a request.
    pub fn of(pending: &Pending) -> Self {
        let state = match (&pending.answer, pending.is_awaited) {
            (Some(_), _) => "answered",
            (None, true) => "waiting",
            (None, false) => "open",
        };
        let about = pending.about.as_object().cloned().unwrap_or_default();
        Self { about, id: pending.id.to_string(), state, asked: pending.asked, expires: pending.expires }
    }
}

/// An answer that stands for longer than a call.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct StandingView {
    /// What was approved.
    #[serde(flatten)]
    pub about: Map<String, Value>,
    pub name: String,
    pub for_session: bool,
    pub given: u64,
    pub expires: Option<u64>,
}

impl StandingView {
    /// Of an answer.
    pub fn of(standing: &Standing) -> Self {
        Self {
            about: standing.about.as_object().cloned().unwrap_or_default(),
            name: standing.name().to_string(),
            for_session: standing.session.is_some(),
            given: standing.given,
            expires: standing.expires,
        }
    }
}
