//! How much, and how long.

use std::time::Duration;

/// What one run may take of us.
#[derive(Clone, Debug)]
pub struct ProxyLimits {
    /// Connections from the sandbox at once; more wait to be accepted.
    pub connections: usize,
    /// Bytes of a request's or response's head, and of a `ClientHello`.
    pub head: usize,
    /// How long a head, a handshake, a lookup or a connect may take.
    pub handshake: Duration,
    /// How long a connection may be without any byte in either direction.
    pub idle: Duration,
    /// Bytes in all, both ways together.
    pub bytes: Option<u64>,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections: 128,
            head: 64 << 10,
            handshake: Duration::from_secs(30),
            idle: Duration::from_secs(600),
            bytes: None,
        }
    }
}

/// Body bytes that are held in memory so that their length can be told after a secret was put in or taken out.
pub(crate) const HELD_BODY: u64 = 1 << 20;
/// Listening sockets for one run.
pub(crate) const LISTENERS: usize = 256;
/// Different hosts that a report tells apart, of each kind.
pub(crate) const REPORTED: usize = 256;
