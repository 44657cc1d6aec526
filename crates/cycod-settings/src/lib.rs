//! What the user configured, here and in other programs, each value with its origin.
//!
//! [`Servers::load`] reads the MCP servers of every scope, [`add`] and [`remove`] change one file of them.
//! [`read_foreign`] reads those that other programs know; [`HostEntry::install`] and [`uninstall`] write our own entry into
//! their files; [`config`] reads and changes what is configured about tools; [`policy`] reads and changes the rules of what may run. Whatever is written, every byte that is not meant
//! stays, no reader sees half a file, and a file that cannot be understood is left alone. Nothing is started and nobody is
//! asked here.

mod by_name;
pub mod config;
mod consent;
mod edit;
mod entry;
mod file;
mod foreign;
mod hosts;
mod install;
mod jsonc;
mod lines;
mod looked;
mod overriding;
pub mod policy;
mod secret;
mod server_security;
mod servers;
mod toml;
mod tree;
mod variables;
mod yaml;

pub use consent::Consents;
pub use entry::{Credentials, EntryProblem, LOGIN_HEADERS, Protocol, ServerEntry, Transport};
pub use file::FileError;
pub use foreign::{ForeignServer, UnusableServer, files_of, read_foreign};
pub use hosts::{HOSTS, McpHost};
pub use install::{Done, HostEntry, HostFile, uninstall};
pub use overriding::{ToolOverride, ToolSettings};
pub use server_security::{SecurityProblem, ServerSecurity};
pub use servers::{
    Server, ServerOrigin, ServerProblem, Servers, add, is_server_name, masked, remove, servers_file, to_json,
};
