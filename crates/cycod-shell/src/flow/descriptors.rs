//! Names of what a command has open: `-`, `/dev/stdin`, `/dev/fd/3`, `/proc/self/fd/0`. What runs a file of such a name runs what it
//! reads there.
//!
//! A path is compared without what changes nothing in it. All that lies below `/proc` is made by the kernel, and much of it holds
//! what a caller said: the words and the environment of a process, what it has open.

use std::sync::Arc;

use super::value::{ANY, Atom, Tag, Text, literal, written_out};
use super::{Flow, Input, Reason};
use crate::programs::{self, Place, PlaceKind};

/// Why nothing is known of a script that a shell reads from a descriptor.
const UNFOLLOWED: &str = "a shell runs what it reads from a descriptor, and cycod doesn't follow which script that is";

/// What the name of a file says about where its text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file that is none of the command's descriptors.
    File,
    /// The standard input.
    Input,
    /// A descriptor.
    Descriptor,
    /// It may be a descriptor: the name is not known, or leads there in a way that is not understood.
    Perhaps,
    /// Something that the kernel tells of processes.
    Process,
}

impl Source {
    /// Whether it is one of what the command has open.
    pub(crate) fn is_descriptor(self) -> bool {
        matches!(self, Self::Input | Self::Descriptor)
    }
}

/// What a name of a file says.
pub(crate) fn source(text: &Text) -> Source {
    let Some(path) = Path::of(text) else { return Source::Perhaps };
    if path.0 == "-" {
        return Source::Input;
    }
    let parts: Vec<&str> = path.0.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let Some((last, directories)) = parts.split_last() else { return Source::File };
    let is_absolute = path.0.starts_with('/');
    match (is_absolute, directories) {
        (true, ["dev"]) if *last == "stdin" => Source::Input,
        (true, ["dev"]) if matches!(*last, "stdout" | "stderr") => Source::Descriptor,
        (true, ["dev", "fd"] | ["proc", _, "fd"] | ["proc", _, "task", _, "fd"]) if is_number(last) => {
            if *last == "0" {
                Source::Input
            } else {
                Source::Descriptor
            }
        }
        // `/proc/meminfo` and the like tell of no process.
        (true, ["proc", of, ..]) if is_process(of) => Source::Process,
        (_, directories) if directories.contains(&"proc") && directories.contains(&"..") => Source::Process,
        _ if may_be_descriptor(last, parts.len() == 1 && !is_absolute) => Source::Perhaps,
        _ => Source::File,
    }
}

/// A path in which a sign stands for each text that is known only when it runs.
struct Path(String);

/// Stands for a number that the shell makes.
const NUMBER: char = '\u{1}';

impl Path {
    fn of(text: &Text) -> Option<Self> {
        // A value that names the file is judged by itself.
        let path = written_out(text, |tag| if matches!(tag, Tag::Number(_)) { NUMBER } else { ANY });
        (!path.is_empty()).then_some(Self(path))
    }
}

/// Whether a directory below `/proc` is that of a process, or may lead to one.
fn is_process(name: &str) -> bool {
    matches!(name, "self" | "thread-self" | "..") || is_number(name) || name.contains(ANY)
}

/// Whether all of a name is known before it runs.
fn is_known(name: &Text) -> bool {
    name.iter().all(|atom| matches!(atom, Atom::Text(_)))
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_digit() || c == NUMBER)
}

/// Whether the last part of a path may be that of a descriptor, whatever stands before it; or `-`, where nothing does.
fn may_be_descriptor(last: &str, is_alone: bool) -> bool {
    let Some((_, end)) = last.rsplit_once(ANY) else {
        return is_number(last) || matches!(last, "stdin" | "stdout" | "stderr");
    };
    end.chars().all(|c| c.is_ascii_digit() || c == NUMBER)
        || ["stdin", "stdout", "stderr"].iter().any(|name| name.ends_with(end))
        || is_alone && end == "-"
}

/// Where in a word the name of a file may begin: `@FILE`, `NAME=FILE`, `file:FILE`.
fn names(text: &Text) -> Vec<Text> {
    let mut names = vec![text.clone()];
    let Some(Atom::Text(start)) = text.first() else { return names };
    let behind = |at: usize| {
        let rest = text[1..].iter().cloned();
        let first = (at < start.len()).then(|| Atom::text(&start[at..]));
        first.into_iter().chain(rest).collect::<Text>()
    };
    let mut add = |at: Option<usize>| names.extend(at.map(behind).filter(|name| !name.is_empty()));
    add(start.starts_with('@').then_some(1));
    let assigned = start.find('=').map(|at| at + 1);
    add(assigned);
    add(assigned.filter(|at| start[*at..].starts_with('@')).map(|at| at + 1));
    for scheme in ["file://", "file:"] {
        add(start.find(scheme).map(|at| at + scheme.len()));
    }
    names
}

impl Flow<'_> {
    /// A word names a file that a program runs, or loads what it does from: what it reads is code where that is a descriptor.
    pub(super) fn run_descriptor(&mut self, place: &'static Place<'static>, text: &Text, program: &Arc<str>) {
        let language = match place.kind {
            PlaceKind::CodeIn(language) => language,
            PlaceKind::Data("recipe") => "recipe",
            _ if place.runs_its_file() => "program",
            _ => return,
        };
        for (at, name) in names(text).iter().enumerate() {
            match source(name) {
                Source::File => {}
                // Code is no name of a file, and the table does not tell which of the two it is.
                Source::Perhaps if at > 0 || is_code(place, name) => {}
                Source::Input => self.find_code(self.input.holes(), program, language),
                Source::Descriptor => {
                    self.find_code(self.open_holes(), program, language);
                    if programs::runs_shell_code(program) {
                        let given: Vec<usize> =
                            self.running.arguments.iter().chain(&self.in_environment).copied().collect();
                        self.find_unclear(given, UNFOLLOWED);
                    }
                }
                Source::Perhaps => {
                    let holes = if is_known(name) { self.open_holes() } else { self.input.holes() };
                    let why = format!("a file that `{program}` runs may be what it reads");
                    self.find_unclear(holes, &why);
                }
                Source::Process => {
                    let all = self.own_holes();
                    let why =
                        format!("`{program}` runs what the system says about a process, and values may be in that");
                    self.find_unclear(all, &why);
                }
            }
        }
    }

    /// A shell reads a script into itself from a descriptor that is not its input.
    pub(super) fn descriptor_becomes_part(&mut self) {
        self.find_unclear(self.own_holes(), UNFOLLOWED);
    }

    /// A descriptor is run by its name.
    pub(super) fn start_descriptor(&mut self, name: &Text) {
        let holes = match source(name) {
            Source::Input | Source::Descriptor => self.open_holes(),
            Source::Process => self.own_holes(),
            Source::Perhaps if literal(name).is_some_and(|name| name.contains('/')) => {
                let why = "the file that it starts may be what it reads";
                return self.find_unclear(self.open_holes(), why);
            }
            Source::File | Source::Perhaps => return,
        };
        self.find_by_kind(holes, &Reason::Chooses, "the name of a command");
    }

    /// What is read from a file of this name that is none: a descriptor again, or what the system tells of a process.
    pub(super) fn read_as_descriptor(&self, name: &Text, own: &Input) -> Option<Input> {
        match source(name) {
            Source::Input | Source::Descriptor => Some(self.opened(own)),
            Source::Perhaps if is_known(name) => Some(self.opened(own)),
            Source::Process => Some(Input::made("", &self.own_holes())),
            Source::Perhaps | Source::File => None,
        }
    }

    /// What a descriptor gives that the command has open. The standard input stays what it is known to be, where no other has values.
    pub(super) fn opened(&self, own: &Input) -> Input {
        let held: Vec<usize> = self.held.iter().copied().collect();
        let is_more = held.iter().any(|hole| !own.holes().contains(hole));
        if is_more { own.clone().and(Input::made("", &held)) } else { own.clone() }
    }

    /// Values are written to a descriptor that goes by this name. What goes to the usual ones is what the command prints.
    pub(super) fn written_to_descriptor(&mut self, name: &Text, holes: &[usize]) {
        let Some(path) = literal(name) else { return };
        let is_usual = ["/fd/1", "/fd/2", "stdout", "stderr"].iter().any(|end| path.ends_with(end));
        if source(name).is_descriptor() && !is_usual {
            self.descriptors_hold(holes);
            self.has_grown |= super::grow(&mut self.spoken, holes);
        }
    }

    /// Values that anything the command has open may hold.
    pub(super) fn open_holes(&self) -> Vec<usize> {
        let mut holes = self.input.holes();
        holes.extend(self.held.iter().copied());
        holes.sort_unstable();
        holes.dedup();
        holes
    }
}

/// Whether a word is code, or may be: then one that is not known, or has no `/`, is the author's code more likely than the name of a
/// descriptor: `exit 1`, `sed "$program"`.
fn is_code(place: &Place<'_>, text: &Text) -> bool {
    let has_directory = matches!(text.as_slice(), [Atom::Text(path)] if path.contains('/'));
    !matches!(place.kind, PlaceKind::Program) && !has_directory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parts: &[&str], expect: Source) {
        let text = parts
            .iter()
            .map(|part| match part.strip_prefix('$') {
                Some("$") => Atom::Unknown(Tag::Number("$$".into())),
                Some(name) => Atom::Unknown(Tag::Variable(name.into())),
                None => Atom::text(part),
            })
            .collect();
        assert_eq!(source(&text), expect, "{parts:?}");
    }

    #[test]
    fn a_descriptor_is_known_by_its_name() {
        for name in ["-", "/dev/stdin", "/dev/fd/0", "//dev/.//stdin", "/proc/self/fd/0", "/proc/thread-self/fd/0"] {
            check(&[name], Source::Input);
        }
        for name in ["/dev/fd/3", "/dev/stderr", "/proc/1/task/2/fd/12"] {
            check(&[name], Source::Descriptor);
        }
        check(&["/proc/", "$$", "/fd/0"], Source::Input);
        check(&["/dev/fd/", "$$"], Source::Descriptor);
        for name in ["/dev/../dev/stdin", "stdin", "0", "../fd/3", "/dev/pts/1", "/home/../dev/fd/3"] {
            check(&[name], Source::Perhaps);
        }
        for parts in [&["$X"][..], &["$X", "/", "$Y"], &["/dev/", "$X"], &["$X", "in"], &["$X", "-"], &["$X", "/3"]] {
            check(parts, Source::Perhaps);
        }
        for name in [
            "/proc/self/environ",
            "/proc/self/cwd/x",
            "/proc/../proc/1/environ",
            "/proc/self/../1/fd/0",
            "../../proc/1/cmdline",
        ] {
            check(&[name], Source::Process);
        }
        for parts in [
            &["a.sh"][..],
            &["/dev/null"],
            &["/dev/shm/a.sh"],
            &["/proc/meminfo"],
            &["/proc/sys/kernel/hostname"],
            &["$X", "/a.sh"],
            &["$X", ".py"],
            &["a-"],
            &["proc/a"],
        ] {
            check(parts, Source::File);
        }
    }

    /// Whatever program a table describes: what it runs is code under any name of what it reads.
    #[test]
    fn every_program_runs_what_its_descriptors_hold() {
        use crate::{Kind, Mode, Programs, Question, Reader, Segment, Shell, judge};
        const NAMES: [&str; 5] = ["/dev/stdin", "-", "/proc/self/fd/0", "/dev/fd/3", "/dev/../dev/stdin"];
        let runners = crate::programs::runners();
        assert!(runners.len() > 2000, "only {} were found", runners.len());
        let programs = Programs::default();
        let mut open = Vec::new();
        for (runner, name) in runners.iter().flat_map(|runner| NAMES.iter().map(move |name| (runner, name))) {
            let begin = format!("{runner} {name} <<< ");
            let hole = crate::Hole {
                name: "X",
                shown: "X".into(),
                kind: Kind::Text,
                mode: Mode::Bare,
                texts: Vec::new(),
                vanishes: false,
                is_list: false,
                format: Vec::new(),
                options: false,
                is_json_string: false,
                trust: crate::Trust::None,
            };
            let command = [Segment::Text(&begin), Segment::Hole(hole)];
            let reader = Reader::Shell(Shell::Bash);
            let question = Question { reader, command: &command, environment: &[], input: &[], programs: &programs };
            if judge(&question).command.iter().all(crate::Verdict::is_placeable) {
                open.push(begin);
            }
        }
        assert!(open.is_empty(), "{} of {} are let through: {open:#?}", open.len(), runners.len() * NAMES.len());
    }
}
