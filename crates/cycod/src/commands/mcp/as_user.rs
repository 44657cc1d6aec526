//! The option that says for which user of our server something is done at another server.

use std::sync::Arc;

use clap::Args;
use cycod_app::{Account, RemoteServers};

use crate::command_error::CommandError;

/// For whom a command does something at a server.
#[derive(Args)]
#[group(skip)]
pub(super) struct AsUser {
    /// Do it for this user of `cycod mcp serve --http`, as their token names them
    #[arg(long = "as", value_name = "ISSUER#SUBJECT")]
    user: Option<String>,
}

impl AsUser {
    /// The way to the servers of the user that `--as` names; without it, of the owner.
    ///
    /// # Errors
    /// When it is no user, or when users have no login of their own at the server.
    pub(super) fn reach(&self, servers: Arc<RemoteServers>, name: &str) -> Result<Arc<RemoteServers>, CommandError> {
        let Some(user) = &self.user else { return Ok(servers) };
        let account = Account::user(user).ok_or_else(|| {
            CommandError::usage(format!("--as {user}: this is not a user"))
                .hint("write the issuer and the subject of their token, as in 'https://login.example#ada'")
        })?;
        if !servers.is_per_user(name) {
            return Err(CommandError::usage(format!(
                "--as {user}: all users share the credentials of the server `{name}`"
            ))
            .hint(format!("leave out --as, or write \"credentials\": \"per-user\" into the entry of `{name}`")));
        }
        Ok(servers.of_account(&account))
    }

    /// Whether a user was named.
    pub(super) fn is_given(&self) -> bool {
        self.user.is_some()
    }
}
