//! Why there is no proxy.

/// What is wrong with what a [`Proxy`](crate::Proxy) was to be made of.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A permission names no host that could be let through.
    #[error("`{permission}` cannot be given: {why}")]
    Permission {
        /// The permission as it was written.
        permission: String,
        /// What is wrong, and what to write instead.
        why: String,
    },
    /// There are more hosts than sockets we would open for them.
    #[error("{count} listening sockets would be needed for the declared hosts and ports; at most {most} are opened")]
    TooMany {
        /// How many the rules ask for.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A secret cannot be swapped.
    #[error("a secret cannot be handed on by the proxy: {0}")]
    Swap(&'static str),
    /// The authority for one run could not be made.
    #[error("no certificates can be issued for hosts with secrets: {0}")]
    Authority(String),
}
