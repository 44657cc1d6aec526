//! Brings the tools of other programs in over the Model Context Protocol.
//!
//! ```text
//!  configuration ──► Servers ──► EngineBuilder        the tools, from what was seen when a server was last met
//!                      │
//!                      └ call ──► Slot ──► Connection ──► stdio · HTTP
//!                                  │ accepted? still the same? healthy?
//! ```
//!
//! Nothing a server says is believed: its list is bounded, its texts are shown with what they hide, its hints lower no
//! level, its definitions are pinned when they are first seen, and its answers are held to its own schemas. One server
//! that fails, floods or lies costs only its own calls.
//!
//! All connections live on one thread with a runtime of its own, which is started by the first call.

mod access;
mod account;
mod answers;
mod browser;
mod call;
mod connection;
mod failure;
mod given;
mod handler;
mod health;
mod http;
mod lines;
mod listing;
mod oauth;
mod offered;
mod others;
mod outcome;
mod overriding;
mod person;
mod pinned;
mod pins;
#[cfg_attr(unix, path = "pipes/unix.rs")]
#[cfg_attr(windows, path = "pipes/windows.rs")]
mod pipes;
mod proposal;
mod requests;
mod runtime;
mod servers;
mod slot;
mod snapshot;
mod subscriptions;
mod text;
mod updates;
mod visit;
mod watch;
mod watched;

pub use access::{LoginResource, access_token};
pub use account::Account;
pub use browser::Browse;
pub use oauth::Identity;
pub use others::{ServerOffers, ToolExtras};
pub use person::{NoPerson, Person, ServerQuestion, ServerReply};
pub use proposal::ToolProposal;
pub use servers::RemoteServers;
pub use snapshot::LastMet;
pub use updates::ResourceUpdate;
pub use visit::{Visit, VisitedTool};
pub use watched::ResourceWatch;
