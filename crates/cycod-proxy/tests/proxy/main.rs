//! The proxy with real sockets: clients on one side, hosts of our own on the other, and answers about names that we choose.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "real programs are the clients")]

mod bed;
mod connect;
mod direct;
mod ending;
mod http;
mod names;
mod panics;
mod programs;
mod smuggling;
mod socks;
mod swapping;
