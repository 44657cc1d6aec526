//! One file for each command about MCP servers and hosts.

pub(crate) mod add;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod remove;
pub(crate) mod serve;
pub(crate) mod uninstall;
