//! A server on which a team proposes, reviews and releases its tools.
//!
//! ```text
//!  Server ── a request, signed by a device ──► Hub ── one transaction ──► HubStore ─┬─ SqliteStore    one file
//!  (cycod-http, JSON)                          (who may, what follows)             └─ PostgresStore  several hubs
//! ```
//!
//! The hub has a key that signs releases, and no other power. Its releases hold the signatures of authors and reviewers, which
//! each client checks by the root, and the keys of the root are not here. So a hub in other hands can keep back what was
//! reviewed, and can put in nothing else.
//!
//! The pages of the hub (`page`) only read: a browser has a session that a member's device began, and no key.
//!
//! Every change is one transaction, with a row of the [audit](HubAudit) that follows from the row before. Two administrators
//! who release at once name the release that they have seen, and the second one is refused.

mod audit;
mod carried;
mod consents;
mod error;
mod events;
mod fleet;
mod flows;
mod hub;
mod import;
mod key;
mod login;
mod looks;
mod member;
mod migrations;
mod page;
mod postgres;
mod presence;
mod questions;
mod release;
mod request;
mod restate;
mod review;
mod roots;
mod schedules;
mod server;
mod session;
mod sqlite;
mod store;

pub use audit::HubAudit;
pub use error::{HubError, HubRefusal};
pub use hub::Hub;
pub use import::{ImportOutcome, ImportedCommit};
pub use key::HubKey;
pub use login::{HubLogin, HubSubject};
pub use member::HubMember;
pub use postgres::PostgresStore;
pub use restate::{Restate, RestateKey, exposed};
pub use server::HubServer;
pub use sqlite::SqliteStore;
pub use store::{HubStore, HubTransaction, HubWatch, SqlRow, SqlValue};

/// The SHA-256 of a text.
fn hashed(text: &str) -> String {
    cycod_team::BlobDigest::of(text.as_bytes()).to_string()
}
