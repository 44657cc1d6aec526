//! What each tool does: its arguments are looked at, its paths are asked for, and the work is handed on.

mod context;
mod files;
mod programs;
mod searches;

pub(crate) use context::get_context;
pub(crate) use files::{file_operations, list_files, only_reads, read_file, write_file};
pub(crate) use programs::{bash_execution, git};
pub(crate) use searches::{file_search, search_files};

use serde_json::Value;

/// What a tool has to say.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) output: Vec<u8>,
    pub(crate) structured: Option<Value>,
    /// Whether it is bad news.
    pub(crate) is_error: bool,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { output: text.into_bytes(), ..Self::default() }
    }
}
