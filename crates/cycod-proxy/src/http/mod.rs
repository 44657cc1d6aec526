//! HTTP/1.1, between a client that is not trusted and hosts that may be.

pub(crate) mod answer;
mod body;
mod exchange;
pub(crate) mod head;

pub(crate) use exchange::{Fixed, serve};
