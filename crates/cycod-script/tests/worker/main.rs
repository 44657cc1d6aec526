//! Calls carried out by a worker on a thread of this process, with the tests as its host.

#![cfg(unix)]

mod asks;
mod bombs;
mod failures;
mod host;
mod isolation;
mod results;
mod surroundings;
