//! Schemas from their authors, and from people who mean us harm.

mod schema;
