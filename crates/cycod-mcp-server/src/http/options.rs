use std::net::SocketAddr;

use super::{HttpAccess, HttpLimits};

/// How a server listens.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Where; port 0 takes any.
    pub address: SocketAddr,
    /// Who may come in.
    pub access: HttpAccess,
    /// Names besides those of this machine under which clients may address the server, as `HOST` or `HOST:PORT`.
    pub hosts: Vec<String>,
    /// Web pages besides those of this machine that may use the server, as `SCHEME://HOST` or `SCHEME://HOST:PORT`.
    /// Browsers are told that they may.
    pub origins: Vec<String>,
    /// How much is taken on.
    pub limits: HttpLimits,
}
