//! Lets a confined program reach exactly the hosts it declared.
//!
//! The program lives in a network namespace with nothing in it but a loopback device. The sandbox makes listening sockets
//! there and hands them to us; a socket belongs to the namespace it was made in, so what we accept comes from inside, and
//! what we connect goes out from the host. Nothing else leads from one to the other:
//!
//! ```text
//!   in the sandbox                      here                                     outside
//!   127.0.0.1:3128   HTTP proxy ──┐
//!   127.0.0.1:1080   SOCKS5     ──┼──► which host? ─► declared? ─► looked up ─► address checked ─► connected
//!   127.77.0.1:443   by name    ──┘        ▲                       (only here)                        │
//!   127.0.0.1:5432   loopback              └── the name inside TLS or `Host` must be the same ◄───────┘
//! ```
//!
//! A host is decided about by its name before it is looked up, and by its address after. The address that was checked
//! is the one that is connected to, so an answer that changes between two questions gains nothing.
//!
//! A [`SecretSwap`] goes one step further: the program holds a placeholder, and the value takes its place on the way to the
//! one host it is for. There TLS ends here, with an authority that exists for one run.
//!
//! Each connection has a thread, and every wait of a thread also waits for the end of the whole: see `session`. Nothing
//! here starts a program, reads a file of ours or knows what a tool is.
#![cfg(target_os = "linux")]

mod address;
mod authority;
mod error;
mod hello;
mod host;
mod http;
mod limits;
mod proxy;
mod relay;
mod report;
mod resolve;
mod rules;
mod serving;
mod session;
mod socks;
mod stream;
mod swap;
mod tunnel;

pub use error::ProxyError;
pub use host::HostName;
pub use limits::ProxyLimits;
pub use proxy::{Proxy, ProxySettings};
pub use report::{DenialKind, Denied, ProxyReport, ReachedHost, Records};
pub use resolve::{Resolver, SystemResolver};
pub use rules::{HostPattern, HostRule, HostRules};
pub use serving::Serving;
pub use swap::SecretSwap;

/// What reads the bytes of others, for tests that throw bytes at it.
#[doc(hidden)]
pub mod parsers {
    pub use crate::{
        hello::{Hello, Read, read as client_hello},
        host::authority,
        http::head::{Bad, Framing, RequestHead, RequestTarget, Response},
        socks::{SocksStep, greeting as socks_greeting, request as socks_request},
    };
}
