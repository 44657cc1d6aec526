//! Real processes, started, stopped and killed.
#![allow(unsafe_code, reason = "signals and descriptors, as in the library")]
#![deny(clippy::undocumented_unsafe_blocks)]

mod conversation;
mod descendants;
mod descriptors;
mod endings;
mod failures;
mod host;
mod limits;
mod search;
mod streams;
mod support;
