//! What waits to be approved, and what was.

use cycod_engine::{LostStep, journal::Reached};
use cycod_store::approvals::{PendingRequest, StandingAnswer};
use serde::Serialize;
use serde_json::{Map, Value};

use super::who;

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
    pub fn of(pending: &PendingRequest) -> Self {
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
    pub fn of(standing: &StandingAnswer) -> Self {
        Self {
            about: standing.about.as_object().cloned().unwrap_or_default(),
            name: standing.name().to_string(),
            for_session: standing.session.is_some(),
            given: standing.given,
            expires: standing.expires,
        }
    }
}

/// A step that a crash interrupted, about which the user decides.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct LostView<'a> {
    pub id: String,
    /// Always `lost`.
    pub state: &'static str,
    pub tool: &'a str,
    pub level: Option<&'a str>,
    pub run: &'a str,
    pub step: &'a str,
    pub asker: String,
    /// When the run began, or the question about it.
    pub asked: u64,
    /// Of one on the fleet: the worker that was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<&'a str>,
    /// Of one on the fleet: until when the user can decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// Of one on the fleet: the task of which a result came late, for `cycod runs late`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<&'a str>,
    /// Of one that is shown by itself.
    #[serde(flatten)]
    pub reached: Option<ReachedView<'a>>,
}

/// How far a step got.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ReachedView<'a> {
    pub command: &'a str,
    /// The end of what it wrote.
    pub output: String,
    /// How many bytes it wrote in all.
    pub written: u64,
}

impl<'a> LostView<'a> {
    /// Of a step.
    pub fn of(lost: &'a LostStep) -> Self {
        let run = &lost.run;
        Self {
            id: lost.id.to_string(),
            state: "lost",
            tool: &run.tool,
            level: run.call["level"].as_str(),
            run: &run.id,
            step: lost.step().as_str(),
            asker: who(run),
            asked: run.at / 1_000,
            worker: None,
            expires: None,
            late: None,
            reached: None,
        }
    }

    /// With how far it got.
    #[must_use]
    pub fn with(self, reached: &'a Reached) -> Self {
        let output = String::from_utf8_lossy(&reached.output).into_owned();
        let reached = ReachedView { command: &reached.command, output, written: reached.written };
        Self { reached: Some(reached), ..self }
    }
}

/// What a worker asks before it runs something for a member of a team.
#[derive(Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ConsentView<'a> {
    /// What is asked, as [`cycod_engine::approvals::request_json`] writes it.
    #[serde(flatten)]
    pub about: Map<String, Value>,
    pub id: String,
    /// Always `waiting`.
    pub state: &'static str,
    pub run: &'a str,
    pub member: &'a str,
    pub steps: &'a [String],
    pub worker: &'a str,
    /// Whose answer the worker takes.
    pub approvers: Vec<&'a str>,
    pub asked: u64,
    pub expires: u64,
}

/// One of those that wait for an answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum QueuedView<'a> {
    Request(PendingView),
    Lost(LostView<'a>),
    Consent(ConsentView<'a>),
}
