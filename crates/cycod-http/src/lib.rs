//! The way in over HTTP, for every server of ours: what is decided before anybody looks at what a request wants.
//!
//! ```text
//!  listen ── Wire ──► the server's own service ─┬─ Names  which Host and Origin may be used
//!  (few connections,  (a client that does       ├─ Gate   who may come in, as whom
//!   503 beyond)        not read is cut off)     └─ body   bounded, in a bounded time
//! ```
//!
//! A request that does not get through is a [`Refused`], which each server answers in its own words.
//!
//! Invariant: this crate knows neither the Model Context Protocol nor a page.

mod access;
mod body;
mod listen;
mod names;
mod rate;
mod refused;
mod wire;

use std::{io, net::SocketAddr, path::PathBuf};

pub use access::{Gate, HttpAccess, IssuerKeys, OAuth, Principal, TokenHolder};
pub use body::read_body;
pub use listen::{Connections, serve};
pub use names::AllowedNames;
pub use rate::Rate;
pub use refused::Refused;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Everybody on the network could run tools.
    #[error("other machines can reach `{0}`, and no one would be asked for a token")]
    Unguarded(SocketAddr),
    /// A name that cannot be one.
    #[error("`{name}` is not {expected}")]
    Name {
        /// As it was given.
        name: String,
        /// What it has to look like.
        expected: &'static str,
    },
    /// The keys of the authorization server are of no use.
    #[error("no keys for access tokens in `{path}`: {why}")]
    Keys {
        /// Where they should be.
        path: PathBuf,
        /// What is wrong there.
        why: String,
    },
    /// The address cannot be opened.
    #[error("cannot listen at `{address}`")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The system has no threads or no random numbers to give.
    #[error("cannot begin")]
    Begin(#[source] io::Error),
}
