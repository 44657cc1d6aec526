use std::{io, net::SocketAddr, path::PathBuf};

use super::{Access, Limits};

/// How a server listens.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Where; port 0 takes any.
    pub address: SocketAddr,
    /// Who may come in.
    pub access: Access,
    /// Names besides those of this machine under which clients may address the server, as `HOST` or `HOST:PORT`.
    pub hosts: Vec<String>,
    /// Web pages besides those of this machine that may use the server, as `SCHEME://HOST` or `SCHEME://HOST:PORT`.
    /// Browsers are told that they may.
    pub origins: Vec<String>,
    /// How much is taken on.
    pub limits: Limits,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Everybody on the network could run tools.
    #[error("other machines can reach `{0}`, and nobody would be asked for a token")]
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
