//! `cycod tool add` from its options: ordered groups become a definition.
//!
//! `--step`, `--parameter` and `--test` open a group and the modifiers behind them belong to it, so the order of
//! the words matters and [`parse()`] reads them one by one. What they say is collected in a [`Draft`], which is written as
//! YAML and read back like any other file: the loader alone decides what is right.

mod draft;
mod options;
mod parameter;
mod parse;
mod template;

pub(crate) use draft::document;
#[cfg(test)]
pub(crate) use options::OPTIONS;
pub(crate) use parse::{Request, parse};
pub(crate) use template::template;
