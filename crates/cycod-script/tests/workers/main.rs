//! Handlers in real interpreters: values both ways, state, places of errors, and what must not harm the channel.

mod node;
mod python;
#[cfg(unix)]
mod r;
mod support;
