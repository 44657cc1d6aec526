//! For whom servers are reached. Each account has its own logins, connections, answers and lists at the servers whose credentials
//! are per user; the others are shared.

use std::{fmt, sync::Arc};

use cycod_diagnostic::{Code, Refusal};
use cycod_engine::approvals::LOCAL;
use cycod_shell::quoted_if_needed;
use serde_json::{Value as Json, json};

/// For whom servers are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Account {
    /// The user of this machine.
    #[default]
    Owner,
    /// A user that an authorization server knows, as `ISSUER#SUBJECT`.
    User(Arc<str>),
    /// Somebody of whom it is not known who it is, and who so has no login.
    Unknown,
}

impl Account {
    /// The account of a principal, as the history knows it.
    pub fn of_principal(principal: &str) -> Self {
        if principal == LOCAL { Self::Owner } else { Self::user(principal).unwrap_or(Self::Unknown) }
    }

    /// The account of a user that is written as `ISSUER#SUBJECT`; nothing when it is not.
    pub fn user(written: &str) -> Option<Self> {
        let (issuer, subject) = written.split_once('#')?;
        let host = issuer.strip_prefix("https://").or_else(|| issuer.strip_prefix("http://"))?;
        (!host.is_empty() && !subject.is_empty()).then(|| Self::User(written.into()))
    }

    /// What it is called as a principal.
    pub(crate) fn principal(&self) -> &str {
        match self {
            Self::Owner => LOCAL,
            Self::User(user) => user,
            Self::Unknown => "unknown",
        }
    }

    /// What the names of its files end with: no name of a server holds an `@`.
    pub(crate) fn suffix(&self) -> String {
        match self {
            Self::Owner => String::new(),
            Self::User(user) => format!("@{}", cycod_store::digest(&json!(&**user))),
            Self::Unknown => "@unknown".to_owned(),
        }
    }

    /// What names it in its files.
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::User(user) => json!(&**user),
            Self::Owner | Self::Unknown => Json::Null,
        }
    }

    /// The command that does something with a server for it.
    fn command(&self, verb: &str, server: &str) -> String {
        match self {
            Self::User(user) => format!("cycod mcp {verb} {server} --as {}", quoted_if_needed(user)),
            Self::Owner | Self::Unknown => format!("cycod mcp {verb} {server}"),
        }
    }

    /// What somebody reads who is refused with this account.
    pub(crate) fn told(&self, server: &str, refusal: Refusal) -> Refusal {
        match (refusal.code, self) {
            (_, Self::Owner) => refusal,
            (Code::LoginNeeded, Self::User(_)) => {
                let why =
                    format!("{}; each user has their own login there, and this one is needed for {self}", refusal.why);
                Refusal { why, ..refusal }.attempt(self.command("login", server))
            }
            (Code::LoginNeeded, Self::Unknown) => {
                let why =
                    format!("{}; each user has their own login there, and this client's user isn't known", refusal.why);
                Refusal { why, ..refusal }.attempt(format!(
                    "serve with --oauth-issuer, or write `\"credentials\": \"shared\"` into the entry of `{server}`"
                ))
            }
            (Code::DefinitionChanged, Self::User(_)) => refusal.attempt(self.command("accept", server)),
            _ => refusal,
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("the user of this machine"),
            Self::User(user) => write!(f, "`{}`", cycod_diagnostic::visible(user)),
            Self::Unknown => f.write_str("an unknown user"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_an_issuer_with_a_subject() {
        for (principal, is_user) in [
            ("https://login.example#ada", true),
            ("http://127.0.0.1:9/x#a#b", true),
            ("https://login.example client=ada", false),
            ("https://login.example#", false),
            ("https://#ada", false),
            ("token:12ab", false),
            ("anyone", false),
            ("ada@team", false),
        ] {
            assert_eq!(matches!(Account::of_principal(principal), Account::User(_)), is_user, "{principal}");
            assert_ne!(Account::of_principal(principal), Account::Owner, "{principal}");
        }
        assert_eq!(Account::of_principal("local"), Account::Owner);
    }

    #[test]
    fn no_two_have_the_same_files() {
        let one = |user: &str| Account::user(user).map(|account| account.suffix()).unwrap_or_default();
        let suffixes =
            [one("https://a#b"), one("https://a#B"), one("https://a/#b"), Account::Unknown.suffix(), String::new()];
        let different: std::collections::BTreeSet<_> = suffixes.iter().collect();
        assert_eq!(different.len(), suffixes.len());
    }
}
