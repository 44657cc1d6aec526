//! Handlers in real interpreters: values both ways, state, places of errors, and what must not harm the channel.

mod node;
mod python;
mod r;
mod support;
