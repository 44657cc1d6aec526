//! JSON Schema: compiled, applied, and written in the dialects of model providers.
//!
//! [`Schema`] judges values. [`Exporter`] writes functions as a provider's models are told of them, and says what was
//! lost; [`Undo`] brings arguments back. [`CallMessage`] is what a model calls with, and knows how it is answered. Schemas and messages come from strangers, so what could cost more than it is worth is refused.
//!
//! Invariant: this crate opens no file and no connection; a schema that refers to another document is refused.

mod convert;
mod dialect;
mod document;
mod export;
mod graph;
mod keyword;
mod message;
mod pattern;
mod pointer;
mod published;
mod schema;
mod undo;
mod unknown;

pub use dialect::Dialect;
pub use export::{DialectLoss, Export, Exporter, Fidelity, Function};
pub use message::{ArgumentsProblem, CallAnswer, CallMessage, CallPicture, MessageFormat, MessageProblem, ToolCall};
pub use pattern::Pattern;
pub use pointer::{escaped_token, unescaped_token};
pub use published::{Era, PublishedOutput, Unportable, published_input, published_output, wrapped_output};
pub use schema::{Schema, SchemaProblem, SchemaViolation};
pub use undo::Undo;
pub use unknown::{RULES, unknown_words};
