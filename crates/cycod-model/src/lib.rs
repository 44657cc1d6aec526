//! Speaks to language models: what was said so far goes out, what the model says comes back as it is said.
//!
//! ```text
//!  Request ──► Provider ──► the wire ──► Delta … Delta ──► Reply
//!                                    └─────────────────► ModelError
//! ```
//!
//! [`Provider`] is the seam: whoever embeds the loop can bring their own.
//!
//! Invariant: a reply is whole. A stream that breaks off is an error, never half an answer; keys are in no text of this crate.

mod cancel;
mod conversation;
mod error;
mod provider;

pub use cancel::Cancel;
pub use conversation::{Call, Message, Reply, Request, StopReason, ToolResult, ToolSpec, Usage};
pub use error::{ErrorKind, ModelError};
pub use provider::{Delta, Price, Provider};
