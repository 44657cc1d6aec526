//! What a member's device signs so that a worker runs a tool, and what the hub signs when it gives that to one worker.

use std::collections::BTreeMap;

use cycod_schedule::{Schedule, is_schedule_name, scheduled_run};
use jiff::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::{BlobDigest, hex};

/// The most bytes of all files that come with a ticket.
pub const MOST_TICKET_BYTES: usize = 8 << 20;

/// The most bytes of a part of what travels in parts.
pub const MOST_PART: usize = 4 << 20;

/// The most bytes of all parts together.
pub const MOST_PARTS: usize = 64 << 20;

/// Bytes that travel in parts, because they are too many for one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BytesInParts {
    /// The digests of the parts, in order.
    pub parts: Vec<BlobDigest>,
}

impl BytesInParts {
    /// The parts of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { parts: bytes.chunks(MOST_PART).map(BlobDigest::of).collect() }
    }
}

/// The files of the member's project that a run has on the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TicketWorkspace {
    /// The files as they are packed.
    pub files: BytesInParts,
    /// The directory in which the run begins, from the project.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// Whether what the run changes comes back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changes: bool,
}

/// What a step of a durable run changed in the files of the project, as its worker reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepChanges {
    /// The changes as they are packed.
    pub files: BytesInParts,
    /// Of how many changes of the run before these the worker knows. They fit together.
    pub after: usize,
}

/// A file that a worker needs to run a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TicketFile {
    /// The digest of its bytes.
    pub sha256: BlobDigest,
    /// Whether it may be executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

/// One call of one tool, which a member wants a worker to run. Nothing in it is a path of the member's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TicketDocument {
    /// [`crate::FORMAT`].
    pub format: u32,
    /// The team whose hub passes it on.
    pub team: String,
    /// What no other ticket has: 32 hexadecimal digits.
    pub id: String,
    /// What the tool is called.
    pub tool: String,
    /// The digest of everything that decides what the tool does. It is the same on every machine.
    pub digest: String,
    /// The files of the tool by their paths from the project.
    pub files: BTreeMap<String, TicketFile>,
    /// The arguments, as the text of a JSON object.
    pub arguments: String,
    /// How long the run may take, in milliseconds.
    pub timeout: u64,
    /// What the worker must offer.
    pub labels: Vec<String>,
    /// Whether another worker may start it again after one was lost.
    pub again: bool,
    /// Whether its steps are spread over workers, which run one after the other by themselves. The ID is then the one of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub durable: bool,
    /// Whether the steps of a durable run stay with the worker that has begun it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_on: bool,
    /// The files of the project that travel with it; nothing for a call that has only the files of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<TicketWorkspace>,
    /// The times at which the hub may start it; nothing for a call that starts once, as soon as it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<TicketSchedule>,
    /// The span of the run, if the member's device sends traces. It writes the spans of the steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TicketTrace>,
    /// Until when a worker may begin, in seconds since 1970.
    pub expires: i64,
}

/// What a member permits in advance: the call of the ticket at each of these times, until the ticket expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TicketSchedule {
    /// What it is called at the hub.
    pub name: String,
    /// The times.
    pub when: Schedule,
    /// Since when they count, in seconds since 1970.
    pub from: i64,
}

/// For how many seconds after its time a run of a schedule may begin, or a step of it.
pub const LATEST_START: i64 = 8 * 24 * 3600;

/// Why a schedule permits no run at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpermittedTime(String);

impl std::fmt::Display for UnpermittedTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnpermittedTime {}

/// By how many seconds the clock of a worker may be behind that of the hub.
const BEHIND: i64 = 60;

impl TicketSchedule {
    /// The name of the run at an instant, if the member permitted it. Both times are in seconds since 1970.
    ///
    /// # Errors
    /// Why it is not permitted.
    pub fn run(&self, instant: i64, now: i64) -> Result<String, UnpermittedTime> {
        if !is_schedule_name(&self.name) {
            return Err(UnpermittedTime(format!("`{}` is no name of a schedule", self.name)));
        }
        let at = Timestamp::from_second(instant).map_err(|_| UnpermittedTime(format!("{instant} is no time")))?;
        let times = self.when.times().map_err(|error| UnpermittedTime(error.to_string()))?;
        let is_permitted = instant >= self.from && times.has(at);
        if !is_permitted {
            return Err(UnpermittedTime(format!("{at} is no time of the schedule `{}`", self.name)));
        }
        if !(instant.saturating_sub(BEHIND)..=instant.saturating_add(LATEST_START)).contains(&now) {
            return Err(UnpermittedTime(format!("{at} is in the future, or too long ago")));
        }
        Ok(scheduled_run(&self.name, at))
    }
}

/// A span of a trace, as in W3C Trace Context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TicketTrace {
    /// The `traceparent`.
    pub parent: String,
    /// The `tracestate`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub state: String,
}

/// A ticket that the hub gives to one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseDocument {
    /// [`crate::FORMAT`].
    pub format: u32,
    /// The digest of the ticket.
    pub ticket: BlobDigest,
    /// The device that signed it.
    pub device: String,
    /// The member for whom the device acts.
    pub member: String,
    /// The key of the worker.
    pub worker: String,
    /// How often the ticket was given to a worker, with this time.
    pub fence: i64,
    /// What the worker is to do of a durable run; nothing for all of another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepLease>,
    /// For which time of a schedule, in seconds since 1970; nothing for a ticket without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instant: Option<i64>,
    /// Whether no one is asked about it any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// The questions about the run that no one answered in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<BlobDigest>,
    /// Until when the worker may begin, in seconds since 1970.
    pub expires: i64,
}

/// What a worker asks before it runs what a ticket permits, because its rules say so. Nothing in it is a path of the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsentQuestion {
    /// [`crate::FORMAT`].
    pub format: u32,
    /// The team.
    pub team: String,
    /// The run.
    pub run: String,
    /// The digest of the ticket.
    pub ticket: BlobDigest,
    /// Who may answer: the keys of their devices, by name.
    pub approvers: BTreeMap<String, String>,
    /// What is shown to them.
    pub request: serde_json::Value,
}

/// The most bytes of a question as JSON.
pub const MOST_QUESTION: usize = 256 << 10;

/// What someone answers to a [`ConsentQuestion`]. It counts for this run alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsentAnswer {
    /// [`crate::FORMAT`].
    pub format: u32,
    /// The team.
    pub team: String,
    /// The run.
    pub run: String,
    /// The digest of the question: all that was shown.
    pub question: BlobDigest,
    /// Whether it may run.
    pub approved: bool,
    /// Why it may not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An answer with the signature of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedAnswer {
    /// The public key of the device, in hexadecimal digits.
    pub device: String,
    /// The [`ConsentAnswer`], as JSON.
    pub document: String,
    /// The signature of [`answer_bytes`], in hexadecimal digits.
    pub signature: String,
}

/// What a device signs of an answer.
pub fn answer_bytes(document: &str) -> Vec<u8> {
    format!("cycod-answer@1\n{document}").into_bytes()
}

impl SignedAnswer {
    /// The answer, if the device signed it.
    pub fn verified(&self) -> Option<ConsentAnswer> {
        let device: [u8; 32] = hex::bytes(&self.device)?;
        let signature: [u8; 64] = hex::bytes(&self.signature)?;
        let bytes = answer_bytes(&self.document);
        UnparsedPublicKey::new(&ED25519, device).verify(&bytes, &signature).ok()?;
        serde_json::from_str(&self.document).ok()
    }
}

/// What one worker is to do of a durable run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepLease {
    /// What the hub calls it.
    pub task: String,
    /// Which step and attempt it is, as JSON.
    pub work: String,
    /// The digest of what happened before.
    pub past: BlobDigest,
}

/// What happened in a durable run before one of its steps, as the hub knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastDocument {
    /// The ID of the ticket.
    pub run: String,
    /// How long ago the run began, in milliseconds.
    pub elapsed: u64,
    /// How many bytes the hub still takes of results of this run.
    pub room: usize,
    /// The events, as JSON, each with the Base64 of what is known of a step that ended.
    pub facts: Vec<(serde_json::Value, String)>,
    /// What its steps changed in the files of the project so far, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<BytesInParts>,
}

/// What a device signs of a ticket: its text behind a line that says what it is, so that it can't be taken for a request.
pub fn ticket_bytes(document: &str) -> Vec<u8> {
    format!("cycod-ticket@1\n{document}").into_bytes()
}
