//! The HTTP side, from outside: raw bytes over TCP, and tools that do not want to end.

mod access;
mod accounts;
mod bed;
mod ending;
mod limits;
mod oauth;
mod owners;
mod panics;
mod subjects;
