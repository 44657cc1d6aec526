//! Schemas from their authors, and from people who mean us harm.

mod dialects;
mod message;
mod schema;
mod undo;
