//! Offers tools over the Model Context Protocol, in both of its eras from one handler: with a handshake (up to 2025-11-25)
//! and without (2026-07-28).
//!
//! ```text
//!  stdio ┐                ┌─ shelf    what is offered, reloaded when a file changes
//!        ├─► Handler ─────┼─ call     questions · approval · run · reply
//!  HTTP  ┘                └─ running  every run, so that all can be ended
//! ```
//!
//! Everything is decided below: the engine plans, policy decides, the runner runs. This crate translates.
//!
//! Invariant: no run outlives the request, connection or server it belongs to.
#![expect(deprecated, reason = "clients that know sampling, roots and logging get them while they have them")]

mod asking;
mod background;
mod blocking;
mod builtin;
mod call;
mod caller;
mod changes;
mod client;
mod complete;
mod finding;
mod follow;
mod gateway;
mod handler;
mod handles;
mod http;
mod in_process;
mod options;
mod outputs;
mod pages;
mod pipe;
mod relay;
mod reply;
mod roots;
mod running;
mod shared;
mod shelf;
mod skills;
mod stdio;
mod streams;
mod tasks;
mod upstream;
mod uri;
mod watch;
mod wire;

pub use cycod_engine::Selection;
pub use http::{HttpAccess, HttpError, HttpLimits, HttpOptions, IssuerKeys, OAuth, serve_http};
pub use options::{Equip, NotOfferedSink, ServerOptions, Upstreams};
pub use relay::Relay;
pub use stdio::serve_stdio;

/// What reads the messages of others, for tests that throw bytes at it.
#[doc(hidden)]
pub mod parsers {
    pub use crate::{http::begins_session, in_process::InProcessServer};
}
