//! Scripts of the project that a script reads into itself: what they define is followed as if it stood there.
//!
//! Only a path that is written out counts, and only while it cannot be another directory's: where a script changes its directory,
//! a relative path means nothing that is known before it runs. A script that cannot be read, or that makes the walk lose its way,
//! changes nothing: then its functions are programs of which nothing is known.

use std::collections::HashMap;
use std::sync::Arc;

use super::descriptors::{Source, source};
use super::value::{Atom, Cut, Field, Text, holes_among, literal, texts_among};
use super::{Arguments, Called, Flow, Input, WORK_PER_BYTE};
use crate::hole::Trust;
use crate::piece::Shell;
use crate::programs::ScriptPath;
use crate::script::{Script, build};
use crate::track::{HOLE, parse};

/// How deep scripts may read each other.
const DEEPEST: usize = 8;
/// How many scripts are followed.
const MOST: usize = 32;

/// What is known of the scripts that a script reads.
#[derive(Debug, Default)]
pub(super) struct Sourced {
    /// They are not followed.
    is_off: bool,
    /// What each holds, when it could be read.
    known: HashMap<ScriptPath, Option<Arc<Script>>>,
    /// Those that are being walked.
    within: Vec<ScriptPath>,
    /// The script may have changed its directory.
    pub(super) has_moved: bool,
    /// How many constructs are around the command that is being walked.
    pub(super) nesting: usize,
    /// A relative path was taken whose meaning a change of directory anywhere would change.
    needs_to_stay: bool,
}

impl Sourced {
    /// Nothing is followed.
    pub(super) fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    pub(super) fn begin_pass(&mut self) {
        self.has_moved = false;
        self.nesting = 0;
    }

    /// Whether what was followed may be other scripts than those that will be read.
    pub(super) fn is_doubtful(&self) -> bool {
        self.needs_to_stay && self.has_moved
    }

    /// Whether any script was followed.
    pub(super) fn has_any(&self) -> bool {
        self.known.values().any(Option::is_some)
    }
}

impl Flow<'_> {
    /// Follows a script that is read into this one; `words` are its path and the arguments that it is given.
    pub(super) fn sourced(&mut self, words: &[Field]) {
        let Some((path, arguments)) = words.split_first() else { return };
        for path in texts_among([path]) {
            self.read_in(&path, arguments);
        }
    }

    fn read_in(&mut self, path: &Text, arguments: &[Field]) {
        let written = self.sole_code(path).unwrap_or_default();
        if written.is_empty() {
            self.becomes_part(path);
        }
        self.runs_unknown_file(path, [self.holes_of_variables(), holes_among(arguments)].concat());
        if source(path) == Source::Descriptor {
            self.descriptor_becomes_part();
        }
        let is_input = source(path) == Source::Input;
        let printed = match &self.input {
            Input::Texts(texts) if is_input => texts.clone(),
            _ => [written, self.printed_at(path).to_vec()].concat(),
        };
        if !printed.is_empty() {
            let input = if is_input { Input::Clean } else { self.input.clone() };
            self.reading(input, false, |flow| {
                for text in &printed {
                    flow.evaluate(text, &".".into(), Called { zero: None, arguments: arguments.to_vec() });
                }
            });
            return;
        }
        // What is started is looked for in scripts by themselves.
        if self.sourced.is_off || self.watches() {
            return;
        }
        let Some(path) = self.script_at(path) else { return };
        if self.sourced.within.contains(&path) || self.sourced.within.len() >= DEEPEST {
            return;
        }
        let Some(script) = self.sourced.known.get(&path).cloned().flatten() else { return };
        self.sourced.within.push(path);
        self.assigned.begin_call(false);
        if arguments.is_empty() {
            self.script(&script);
        } else {
            self.arguments.push(Arguments { lists: vec![arguments.to_vec()], ..Arguments::default() });
            self.script(&script);
            self.arguments.pop();
        }
        self.assigned.end_call();
        self.sourced.within.pop();
    }

    /// The script of a path, which is read when it is first met.
    fn script_at(&mut self, path: &Text) -> Option<ScriptPath> {
        let (path, is_of_project) = match path.as_slice() {
            [Atom::Value { hole, cut: Cut::WHOLE }, Atom::Text(rest)] => {
                let hole = self.holes.get(*hole)?;
                let is_project = hole.trust == Trust::Machine && hole.name == "WORKSPACE";
                (rest.strip_prefix('/').filter(|_| is_project)?.to_owned(), true)
            }
            // Without a `/` it is looked for in the directories of programs first.
            _ => (literal(path).filter(|path| path.contains('/') && !path.starts_with(['/', '~']))?.to_owned(), false),
        };
        if !is_of_project {
            if self.sourced.has_moved {
                return None;
            }
            // What a loop or a function reads, it may read again later.
            self.sourced.needs_to_stay |=
                self.sourced.nesting > 0 || self.arguments.len() > 1 || !self.sourced.within.is_empty();
        }
        if self.sourced.known.len() >= MOST {
            return None;
        }
        let (path, text) = self.statements.script(&path, is_of_project)?;
        if !self.sourced.known.contains_key(&path) {
            let script = self.read_script(&text);
            self.sourced.known.insert(path.clone(), script);
        }
        Some(path)
    }

    fn read_script(&mut self, text: &str) -> Option<Arc<Script>> {
        if text.contains(HOLE as char) {
            return None;
        }
        let mut found = parse(self.shell, text.as_bytes());
        let first = self.documents.keys().max().map_or(0, |last| last + 1);
        let tree = build(&mut found, &[], first).ok()?;
        self.documents.extend(tree.documents);
        self.most_work += text.len() * WORK_PER_BYTE;
        // Its functions may be called before they are known, as those of the script itself.
        self.has_grown = true;
        Some(Arc::new(tree.script))
    }

    /// Notes a command that changes the directory.
    pub(super) fn note_move(&mut self, name: &str) {
        self.sourced.has_moved |= matches!(name, "cd" | "pushd" | "popd" | "chdir");
    }

    /// Whether `.` or `source` reads a script here.
    pub(super) fn reads_scripts(&self, name: &str) -> bool {
        name == "." || name == "source" && self.shell != Shell::Sh
    }
}
