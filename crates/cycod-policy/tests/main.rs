//! What is decided, and that nothing weakens it.

mod conditions;
mod decisions;
mod properties;
mod support;
