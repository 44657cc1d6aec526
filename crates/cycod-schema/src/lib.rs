//! JSON Schema: compiled, applied, and written in the dialects of model providers.
//!
//! [`Schema`] judges values. Schemas come from strangers, so one that could cost more than it is worth is refused.
//!
//! Invariant: this crate opens no file and no connection; a schema that refers to another document is refused.

mod graph;
mod keyword;
mod pointer;
mod schema;

pub use schema::{Schema, SchemaProblem, Violation};
