//! What is wrong in a user's file, exactly where, and how to fix it.
//!
//! A [`Diagnostic`] is about text that a person wrote; errors about the world (a vanished file, a failed
//! spawn) are ordinary Rust errors and live where they happen. This crate reads no file and prints nothing:
//! it turns a [`SourceFile`] and its diagnostics into text or JSON.

mod count;
mod diagnostic;
mod fixes;
mod json;
mod markup;
mod refusal;
mod render;
mod shown;
mod source;
mod suggest;
#[cfg(test)]
mod tests;
mod visible;
mod wrapped;

pub use count::{MOST_REPORTED, count, counted, most_important};
pub use cycod_code::{Code, Exit, UnknownCode};
pub use diagnostic::{Diagnostic, Edit, Fix, Label, Severity};
pub use fixes::apply_fixes;
pub use json::to_json;
pub use markup::entity;
pub use refusal::{Refusal, caught};
pub use render::{LineStarts, RenderStyle, SourceReport, render_text};
pub use shown::{Passing, Shown};
pub use source::{LineColumn, SourceFile, Span};
pub use suggest::{closest, is_slip};
pub use visible::{is_hidden, misleads, readable, readable_json, visible, visible_json};
pub use wrapped::wrapped;
