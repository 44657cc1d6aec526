//! Speaks to language models: what was said so far goes out, what the model says comes back as it is said.
//!
//! ```text
//!  Configured ──► Provider (Remote) ──► Format::body ──► HTTP ──► Frames ──► Reading ──► Delta … Delta ──► Reply
//!                     │                                              └────────────────────────────────► ModelError
//!                     └── again, after a pause, when that can help
//! ```
//!
//! [`Provider`] is the seam: a program that embeds the loop can bring its own. [`Remote`] is ours, for everything that speaks one
//! of five [formats](Format). A format is a pure pair: how a request is written, and a state machine that reads events; it
//! sees neither a socket nor a clock.
//!
//! The formats are read here and not by a client library because a provider is not trusted: every byte is counted before
//! it is kept, so that a line without an end, or a call with the number four thousand million, costs nothing; and an answer is
//! whole only with the end mark of its format, which the libraries we looked at make up when it is missing.
//!
//! Invariant: a reply is whole. A stream that breaks off is an error, never half an answer; keys are in no text of this crate.

mod cancel;
mod configured;
mod conversation;
mod error;
mod facts;
mod frames;
mod http;
mod key;
mod known;
mod listing;
mod provider;
mod remote;
mod retry;
mod too_long;
mod wire;

pub use cancel::Cancel;
pub use configured::{Configured, Endpoint, KeyOrigin, Keys, ListedModel, ModelSource};
pub use conversation::{Call, Message, NoObject, Reply, Request, StopReason, ToolResult, ToolSpec, Usage};
pub use error::{ErrorKind, ModelError, TooLong};
pub use facts::Facts;
pub use key::Key;
pub use provider::{Delta, Price, Provider};
pub use remote::{Limits, Remote, Service};
pub use wire::WireFormat;
