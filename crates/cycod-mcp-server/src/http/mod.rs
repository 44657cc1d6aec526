//! Tools over streamable HTTP, at `/mcp`.
//!
//! The library speaks the protocol; what it leaves to its host is here, in the order in which a request meets it:
//!
//! ```text
//!  Server ── Wire ── Endpoint ─┬─ Names     which Host and Origin may be used
//!  (limits of (a client that   ├─ Gate      who may come in, as whom
//!  connections) does not read) ├─ message   a bounded body with one message in it
//!                              ├─ Sessions  a seat for each handshake, few of them
//!                              └─ Answer    ends the call when it is dropped before its end
//! ```

mod access;
mod answer;
mod endpoint;
mod limits;
mod message;
mod names;
mod options;
mod rate;
mod refused;
mod server;
mod sessions;
mod wire;

pub use access::{Access, KeySource, OAuth};
pub use limits::Limits;
pub use options::{HttpError, HttpOptions};
pub use server::serve_http;
