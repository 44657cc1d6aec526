//! Tools over streamable HTTP, at `/mcp`.
//!
//! The library speaks the protocol, `cycod-http` lets requests in; what is left to the host is here, in the order in which a
//! request meets it:
//!
//! ```text
//!  cycod-http ── Endpoint ─┬─ message   a bounded body with one message in it
//!  (connections, names,    ├─ Sessions  a seat for each handshake, few of them
//!   tokens)                └─ Answer    ends the call when it is dropped before its end
//! ```

mod answer;
mod endpoint;
mod limits;
mod message;
mod options;
mod refused;
mod server;
mod sessions;

pub use cycod_http::{HttpAccess, HttpError, IssuerKeys, OAuth};
pub use limits::HttpLimits;
pub use message::begins_session;
pub use options::HttpOptions;
pub use server::serve_http;
