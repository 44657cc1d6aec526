//! The files in which MCP servers are configured, on a disk.

mod config;
mod foreign;
mod hosts;
mod install;
mod layers;
mod policy;
mod support;
