use std::collections::BTreeSet;

use cycod_syntax::template::Template;

use crate::{Command, Literal, Platform};

/// One of `tests`.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// Unique within the tool.
    pub name: String,
    /// What it shows.
    pub description: Option<String>,
    /// The arguments of the call.
    pub parameters: Vec<(String, Literal)>,
    /// Where it runs; empty means everywhere.
    pub platforms: BTreeSet<Platform>,
    /// What must come out.
    pub expected: Expected,
    /// Commands to run afterwards, whatever came out.
    pub cleanup: Vec<Command>,
}

/// `expected`; without any, the exit code must be 0.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The exit code; 0 unless given.
    pub exit_code: Option<i64>,
    /// A text that the transcript must contain; each of several.
    pub output_contains: Vec<Template>,
    /// Texts of which the transcript or the rendered commands must contain one.
    pub output_contains_any: Vec<Template>,
    /// Files that must be there.
    pub file_exists: Vec<Template>,
    /// Directories that must be there.
    pub directory_exists: Vec<Template>,
}
