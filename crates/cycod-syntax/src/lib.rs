//! YAML, templates and conditions become spanned trees.
//!
//! Parsing never fails: it returns what could be understood together with diagnostics. Nothing here knows
//! what a tool is.

pub mod condition;
pub mod decimal;
pub mod edit;
pub mod emit;
#[cfg(test)]
mod pages;
pub mod template;
pub mod yaml;
