//! Searching a tree: lines that hold a text or match an expression, and files whose names match a glob.

mod lines;
mod render;

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use cycod_file::open_plain;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use ignore::DirEntry;

use crate::{
    failure::Failure,
    kept::Kept,
    tree::{Progress, Tree, Unread, globs},
    until::Until,
};

use lines::{Line, Lines};

/// The longest line that is searched; a file with a longer one is told of.
const LONGEST_LINE: usize = 16 << 20;

/// The size to which a user's expression may be compiled.
const LARGEST_EXPRESSION: usize = 10 << 20;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Lines that hold the query as it is.
    Text,
    /// Lines that match the query, a regular expression.
    Regex,
    /// Files whose paths match the query, a glob.
    Glob,
}

/// A search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search<'a> {
    pub(crate) mode: Mode,
    pub(crate) query: &'a str,
    pub(crate) ignore_case: bool,
    /// Where.
    pub(crate) tree: Tree<'a>,
    /// What stands before the paths that are shown: the root as the caller named it.
    pub(crate) prefix: &'a Path,
    /// How many lines around each line that was found are shown.
    pub(crate) context: usize,
    /// How many lines, or paths, are shown.
    pub(crate) limit: usize,
}

/// What a search found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The first files by path, with the lines to show.
    files: Vec<(PathBuf, Vec<Line>)>,
    counts: Counts,
    unread: Unread,
}

/// How much there is of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Lines that were found; paths in a search for names.
    pub(crate) found: u64,
    /// Files with such lines.
    pub(crate) files: u64,
    /// Files that were looked at.
    pub(crate) visited: u64,
    /// Files passed over because they hold binary data.
    pub(crate) binary: u64,
}

/// Counts that many threads add to.
#[derive(Debug, Default)]
struct Tally {
    found: AtomicU64,
    files: AtomicU64,
    binary: AtomicU64,
}

impl Search<'_> {
    /// Searches; the same tree always gives the same answer.
    pub(crate) fn run(&self, until: Until<'_>, follow: &mut dyn FnMut(&str)) -> Result<Found, Failure> {
        let (kept, tally, progress) = (Kept::new(self.limit), Tally::default(), Progress::default());
        match self.mode {
            Mode::Glob => self.names(until, follow, &progress, &kept, &tally)?,
            Mode::Text | Mode::Regex => self.lines(until, follow, &progress, &kept, &tally)?,
        }
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = Counts {
            found: count(&tally.found),
            files: count(&tally.files),
            visited: count(&progress.visited),
            binary: count(&tally.binary),
        };
        Ok(Found { files: kept.into_entries().collect(), counts, unread: progress.misses.take() })
    }

    fn names(
        &self,
        until: Until<'_>,
        follow: &mut dyn FnMut(&str),
        progress: &Progress,
        kept: &Kept<Vec<Line>>,
        tally: &Tally,
    ) -> Result<(), Failure> {
        let query = globs(self.tree.root, &[self.query], "query", self.ignore_case)?;
        self.tree.walk(until, follow, progress, false, || {
            |entry: DirEntry| {
                let path = self.relative(&entry);
                if query.matched(path, false).is_whitelist() {
                    tally.found.fetch_add(1, Ordering::Relaxed);
                    kept.add(path.to_owned(), 1, Vec::new());
                }
            }
        })
    }

    fn lines(
        &self,
        until: Until<'_>,
        follow: &mut dyn FnMut(&str),
        progress: &Progress,
        kept: &Kept<Vec<Line>>,
        tally: &Tally,
    ) -> Result<(), Failure> {
        let matcher = self.matcher()?;
        self.tree.walk(until, follow, progress, false, || {
            let (matcher, mut searcher) = (matcher.clone(), self.searcher());
            move |entry: DirEntry| {
                if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                    return;
                }
                let path = self.relative(&entry);
                let mut lines = Lines::new(&matcher, kept.room_for(path));
                let searched = open_plain(entry.path()).and_then(|file| {
                    let file = Heeding { file, halt: &progress.halt };
                    searcher.search_reader(&matcher, file, &mut lines)
                });
                if let Err(error) = searched {
                    let shown = self.prefix.join(path);
                    progress.misses.add(format_args!("{}: {}", shown.display(), explain(&error)));
                } else if lines.is_binary {
                    tally.binary.fetch_add(1, Ordering::Relaxed);
                } else if lines.found > 0 {
                    tally.found.fetch_add(lines.found, Ordering::Relaxed);
                    tally.files.fetch_add(1, Ordering::Relaxed);
                    kept.add(path.to_owned(), lines.kept(), lines.into_lines());
                }
            }
        })
    }

    /// A path as it is below the root.
    fn relative<'e>(&self, entry: &'e DirEntry) -> &'e Path {
        entry.path().strip_prefix(self.tree.root).unwrap_or(entry.path())
    }

    fn matcher(&self) -> Result<RegexMatcher, Failure> {
        if self.query.contains('\n') {
            return Err(Failure::new(
                "`query` holds a line break, and lines are searched one by one: look for one of the lines",
            ));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .fixed_strings(self.mode == Mode::Text)
            .case_insensitive(self.ignore_case)
            .multi_line(true)
            .crlf(true)
            .size_limit(LARGEST_EXPRESSION)
            .line_terminator(Some(b'\n'));
        builder.build(self.query).map_err(|error| {
            // The expression as it was given is what its author understands; ours has more around it.
            let why = match regex::Regex::new(self.query) {
                Err(plainer) => plainer.to_string(),
                Ok(_) => error.to_string(),
            };
            Failure::new(format!(
                "`query` is not a regular expression that can be used: {why}; to look for the text as it is, use mode `grep`"
            ))
        })
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_number(true)
            .line_terminator(LineTerminator::byte(b'\n'))
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LONGEST_LINE))
            .memory_map(MmapChoice::never())
            .build()
    }
}

/// A file that ends when the search is given up.
struct Heeding<'a> {
    file: std::fs::File,
    halt: &'a AtomicBool,
}

impl Read for Heeding<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.halt.load(Ordering::Relaxed) { Ok(0) } else { self.file.read(buffer) }
    }
}

fn explain(error: &io::Error) -> String {
    if error.to_string().contains("allocation limit") {
        format!("it has a line of more than {} MB", LONGEST_LINE >> 20)
    } else {
        error.to_string()
    }
}

#[cfg(test)]
mod tests;
