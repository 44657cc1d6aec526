//! What is known of the command whose words are read.

use std::collections::HashSet;
use std::sync::Arc;

use super::value::Text;

/// A command that may start other ones, each of which has a value of this type of its own.
#[derive(Default)]
pub(super) struct Running {
    /// What tells it from others.
    pub(super) id: u64,
    /// The values in its words.
    pub(super) arguments: Vec<usize>,
    /// The values in its words and in its input.
    pub(super) words: Vec<usize>,
    /// Those that stand in several of its words.
    pub(super) repeated: Vec<usize>,
    /// What it reads as a file is a description of filters: `ffmpeg -f lavfi -i …`.
    pub(super) reads_filters: bool,
    /// One of the files that its words name is one that the script writes.
    pub(super) names_own_file: bool,
    /// Values in files that its words name.
    pub(super) files: Vec<usize>,
    /// The same for files that other programs may have written.
    pub(super) outputs: Vec<usize>,
    /// Values of its environment in variables that its code names.
    pub(super) taken: Vec<usize>,
    /// Files that it may write what it reads to.
    pub(super) may_write: HashSet<(Text, u64)>,
    /// Its operands, where it copies them to the last one, each with what is below it.
    pub(super) operands: Vec<(Vec<Text>, Vec<usize>)>,
    /// Files that get what it prints otherwise.
    pub(super) printed_to: Vec<Text>,
    /// It prints nothing but what it reads, or what stands in the files that it names; unknown before it was read.
    pub(super) is_filter: Option<bool>,
    /// Values of its environment that it prints.
    pub(super) environment: Vec<usize>,
    /// Its programs, and whether one of them lists names of files.
    pub(super) programs: Vec<Arc<str>>,
    pub(super) lists: bool,
    /// One of them shows what other processes were given.
    pub(super) shows: bool,
    /// The code that one of them runs may make files, and take their names from what it reads.
    pub(super) names_files: bool,
    /// Its code is in a file.
    pub(super) runs_file: bool,
    /// Its code runs what it reads.
    pub(super) runs_what_it_reads: bool,
}
