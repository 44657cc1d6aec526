//! Every kind of file as one kind of document: a tree in the keys of a tool of ours, with places in its own file.
//!
//! Each kind is held against its own section of the table of keys, so that what is said about a key is said in the
//! words of its author's format. What follows reads one format only.

mod blocks;
mod language;
mod markdown;
mod markers;
mod mimir;
mod parts;
mod signature;

use cycod_diagnostic::{Diagnostic, SourceFile};
use cycod_syntax::yaml::{self, MappingEntry, Node};

use crate::{
    FileFormat,
    lower::{Sink, shape},
    table::{Section, TOOL},
};

/// A file as a document, with everything that is wrong with it as a file of its kind.
pub(crate) struct Read {
    pub(crate) root: Option<Node>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads a file of any kind.
pub(crate) fn read(source: &SourceFile) -> Read {
    let sink = Sink::new(source);
    let root = match FileFormat::of(source) {
        FileFormat::Cycod => cycod(source, &sink),
        FileFormat::Markdown => markdown::read(source, &sink),
        FileFormat::Mimir => mimir::read(source, &sink),
    };
    Read { root, diagnostics: sink.into_diagnostics() }
}

fn cycod(source: &SourceFile, sink: &Sink<'_>) -> Option<Node> {
    let (root, found) = yaml::parse(source);
    sink.extend(found);
    if let Some(root) = root.as_ref().filter(|root| root.as_mapping().is_some()) {
        shape::check(root, &TOOL, sink);
    }
    root
}

/// Drops the keys that mean something in our own files and nothing in this format: they were reported as unknown.
fn drop_foreign(entries: &mut Vec<MappingEntry>, format: &Section) {
    entries.retain(|entry| format.key(&entry.key).is_some() || TOOL.key(&entry.key).is_none());
}
