//! What a host needs that is more than the engine, and is no face.
//!
//! ```text
//!  main ─ worker_main ─► a worker process: a script, a jq program, a run in the background
//!     └─► App ─ open ──► Engine with everything: built-in tools, MCP servers, models, secrets, history, workers
//!          └─ lasting ─► the same for an engine that is made again whenever its place changes
//! ```
//!
//! A host is any program that opens tools: the command line, a server, an editor. It calls [`worker_main`] first in its `main`,
//! because its own program is started again for what must be in a process of its own. What asks a person is handed to
//! [`App`]; without that, nobody is asked.
//!
//! Invariant: nothing here parses a command line of people, writes to a terminal or prompts.

mod app;
pub mod bundle;
pub mod command_line;
pub mod confine;
mod doubts;
mod models;
mod neighbours;
mod paths;
mod secrets;
mod servers;
pub mod validate;
pub mod views;
pub mod what_if;
mod worker;

pub use app::{App, Lasting};
pub use doubts::doubts;
pub use models::{ModelsHere, model_refusal};
pub use paths::shown_path;
pub use secrets::told as secret_error;
pub use servers::{
    entry_lines as server_entry_lines, plain as plain_value, remote_servers, told as server_problem,
    unusable as unusable_server,
};
pub use worker::{jq_worker, worker_main, worker_main_with};

pub use cycod_mcp_client::{
    Account, NoPerson, Person, RemoteServers, ServerQuestion, ServerReply, ToolProposal, Visit,
};
pub use cycod_secret::PassphrasePrompt;
