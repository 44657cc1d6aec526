//! `cycod ui`: a local page that shows tools, runs and approvals, and runs and answers what its user wants.
//!
//! ```text
//!  browser ── GET /page, POST /action ──► Site ─┬─ guard    which requests get in: names, origin, session
//!     ▲                                         ├─ model    what the engine, the history and the queue know, as plain values
//!     │                                         ├─ view     those values as HTML; pure
//!     └──── one stream of patches ◄── live ─────┴─ action   what a form does; editing, of the editor
//! ```
//!
//! The page reads files. Runs of every process write a journal, and the page follows journals, so it shows a run of a terminal, a
//! server or an agent as it shows its own. A stream holds a position in a journal and never a queue: a browser that was away says
//! how far it got, and gets the rest.
//!
//! Nothing is decided here. A form plans a call, the engine decides, and where the engine wants an answer, the page shows the
//! request with its digest. The answer counts only for that digest, from the session to which it was shown, once.
//!
//! Invariant: nothing here reads a terminal or keeps state that a restart would lose, other than sessions.

mod action;
mod assets;
mod editing;
mod guard;
mod live;
mod model;
mod server;
mod site;
mod view;

use cycod_page::{form, reply};

pub use server::{PageOptions, PageServer, UiError, serve};
