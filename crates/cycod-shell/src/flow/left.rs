//! What a script leaves in the directory where others run after it: the steps of a workflow, what cleans up behind them.
//!
//! Each script is walked alone, because nothing of its variables and functions outlives it. Its files do. A walk is given what those
//! before it left, with the numbers of their values, so what it finds about such a value is a verdict about a place in an earlier
//! script.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::files::{Earlier, FileName, Files, grow};
use super::memory::Memory;
use super::run_files::NamedFile;
use super::unpacked::Where;
use super::value::{Text, holes_of};
use super::{Flow, Input};

/// Whether a script, by its number, may have run before another one.
pub(crate) type Before<'a> = &'a dyn Fn(usize) -> bool;

/// What is around a script that is followed.
pub(crate) struct Around<'a> {
    /// What the author sets before it starts.
    pub(crate) environment: &'a [(&'a str, Text)],
    /// What it reads.
    pub(crate) input: &'a Input,
    /// Where it works, when that is not where the others do.
    pub(crate) directory: Option<Text>,
    /// The file that gets what it prints.
    pub(crate) output: Option<Text>,
    /// It may run several times.
    pub(crate) repeats: bool,
    /// The numbers of its own values.
    pub(crate) own: Range<usize>,
    /// The number from which on holes are choices between words of its author.
    pub(crate) choices: usize,
    /// What others left before, and which of them count.
    pub(crate) earlier: Option<(&'a Left, Before<'a>)>,
}

impl<'a> Around<'a> {
    /// Around a script that runs alone and has so many values.
    pub(crate) fn alone(environment: &'a [(&'a str, Text)], input: &'a Input, count: usize) -> Self {
        Self {
            environment,
            input,
            directory: None,
            output: None,
            repeats: false,
            own: 0..count,
            choices: count,
            earlier: None,
        }
    }
}

/// What scripts left, each by its number.
#[derive(Default)]
pub(crate) struct Left {
    pub(super) written: Files,
    pub(super) touched: Files,
    /// Files with values, by who wrote them.
    pub(super) kept: BTreeMap<(usize, FileName), BTreeSet<usize>>,
    /// What was unpacked, by where; then by who did it and by which program.
    pub(super) filled: BTreeMap<Where, BTreeMap<(usize, String), BTreeSet<usize>>>,
    /// What is kept under names, from which something else takes it; then by who did it.
    pub(super) fetched: BTreeMap<String, BTreeMap<usize, BTreeSet<usize>>>,
    /// What programs were told, and names of files, by who told or made them.
    pub(super) told: BTreeMap<Arc<str>, BTreeMap<usize, BTreeSet<usize>>>,
    pub(super) names: BTreeSet<(usize, Text)>,
    /// The last names of files that a script writes itself.
    authored: HashMap<String, BTreeSet<usize>>,
    /// Files that values name, by who writes them.
    pub(super) targets: BTreeSet<(usize, NamedFile)>,
    own_files: HashMap<Arc<str>, BTreeSet<usize>>,
    /// The names at which it puts other programs.
    copied: HashMap<Arc<str>, BTreeSet<usize>>,
}

/// What one script leaves.
#[derive(Default)]
pub(crate) struct Trace {
    written: Files,
    touched: Files,
    kept: Vec<(FileName, Vec<usize>)>,
    filled: Vec<(Where, String, Vec<usize>)>,
    fetched: BTreeMap<String, BTreeSet<usize>>,
    memory: Memory,
    targets: BTreeSet<NamedFile>,
    authored: BTreeSet<String>,
    own_files: BTreeSet<Arc<str>>,
    copied: BTreeSet<Arc<str>>,
}

impl Trace {
    /// What code leaves through which no value is followed: its values may be in each file that it names, in what it
    /// prints, in names of files, and in what it tells the programs that it names.
    pub(crate) fn of_code(code: &str, output: Option<&Text>, values: &[usize]) -> Self {
        let mut trace = Self::default();
        let names = super::files::names_in_text(code);
        let is_written = |file: &&Text| !FileName::of(file).is_document();
        for file in names.iter().filter(is_written).chain(output) {
            trace.touched.add(file, super::files::ANY_COMMAND, values);
        }
        trace.memory = Memory::of_code(code, values);
        trace
    }
}

impl Left {
    /// Adds what a script left; tells whether any of it is new. `counts` says which holes are values of callers.
    pub(crate) fn add(&mut self, stage: usize, trace: Trace, counts: &dyn Fn(usize) -> bool) -> bool {
        let mut is_new = self.written.leave(stage, trace.written, counts);
        is_new |= self.touched.leave(stage, trace.touched, counts);
        let of = |holes: Vec<usize>| -> Vec<usize> { holes.into_iter().filter(|hole| counts(*hole)).collect() };
        for (name, holes) in trace.kept {
            let holes = of(holes);
            is_new |= !holes.is_empty() && grow(self.kept.entry((stage, name)).or_default(), &holes);
        }
        for (place, program, holes) in trace.filled {
            let holes = of(holes);
            if !holes.is_empty() {
                let of_place = self.filled.entry(place).or_default();
                is_new |= grow(of_place.entry((stage, program)).or_default(), &holes);
            }
        }
        for (name, holes) in trace.fetched {
            let holes = of(holes.into_iter().collect());
            if !holes.is_empty() {
                is_new |= grow(self.fetched.entry(name).or_default().entry(stage).or_default(), &holes);
            }
        }
        for (program, holes) in trace.memory.told {
            let holes = of(holes.into_iter().collect());
            if !holes.is_empty() {
                is_new |= grow(self.told.entry(program).or_default().entry(stage).or_default(), &holes);
            }
        }
        for name in trace.memory.names.into_values() {
            is_new |= holes_of(&name).into_iter().any(counts) && self.names.insert((stage, name));
        }
        for target in trace.targets {
            is_new |= counts(target.hole) && self.targets.insert((stage, target));
        }
        for name in trace.authored {
            is_new |= self.authored.entry(name).or_default().insert(stage);
        }
        for (all, new) in [(&mut self.own_files, trace.own_files), (&mut self.copied, trace.copied)] {
            for name in new {
                is_new |= all.entry(name).or_default().insert(stage);
            }
        }
        is_new
    }

    pub(crate) fn is_empty(&self) -> bool {
        let has_names = !self.authored.is_empty() || !self.own_files.is_empty() || !self.copied.is_empty();
        let has_values =
            !self.written.is_empty() || !self.touched.is_empty() || !self.filled.is_empty() || !self.fetched.is_empty();
        let has_memory = !self.told.is_empty() || !self.names.is_empty();
        !has_names && !has_values && !has_memory && self.kept.is_empty() && self.targets.is_empty()
    }

    /// Every value in what the scripts left that count.
    pub(crate) fn holes(&self, before: Before<'_>) -> BTreeSet<usize> {
        let mut holes = BTreeSet::new();
        self.written.all(before, &mut holes);
        self.touched.all(before, &mut holes);
        for ((stage, _), filled) in self.filled.values().flatten() {
            holes.extend(filled.iter().filter(|_| before(*stage)));
        }
        for (stage, kept) in self.fetched.values().chain(self.told.values()).flatten() {
            holes.extend(kept.iter().filter(|_| before(*stage)));
        }
        let names = self.names.iter().filter(|(stage, _)| before(*stage));
        holes.extend(names.flat_map(|(_, name)| holes_of(name)));
        holes
    }

    /// Values in the files that code in another language names, which it may run.
    pub(crate) fn named_in(&self, code: &str, before: Before<'_>) -> BTreeSet<usize> {
        let mut holes = BTreeSet::new();
        if self.written.is_empty() {
            return holes;
        }
        let earlier = Earlier { files: &self.written, before };
        for file in super::files::names_in_text(code) {
            let is_data = super::value::literal(&file).is_some_and(super::files::is_data);
            if !is_data && !FileName::of(&file).is_inert() {
                holes.extend(earlier.holes(|files, except| files.holes(&file, except)));
            }
        }
        // `import mod`: code names a module without the end of its file.
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = code.split(|c| !is_of_name(c)).collect();
        let modules = self.kept.iter().filter(|((stage, file), _)| before(*stage) && file.is_code());
        for (_, of_file) in modules.filter(|((_, file), _)| words.contains(file.stem())) {
            holes.extend(of_file);
        }
        holes
    }
}

impl Flow<'_> {
    /// The numbers of the script's own values, and of the choices in it.
    pub(super) fn own_holes(&self) -> Vec<usize> {
        self.own.clone().chain(self.choices..self.holes.len()).collect()
    }

    /// Whether the script, or one before it, writes a file of this name.
    pub(super) fn authors(&self, name: &str) -> bool {
        let left = |(left, before): (&Left, Before<'_>)| {
            left.authored.get(name).is_some_and(|stages| stages.iter().any(|stage| before(*stage)))
        };
        self.authored.contains(name) || self.earlier.is_some_and(left)
    }

    /// Whether any of them writes a file.
    pub(super) fn authors_any(&self) -> bool {
        !self.authored.is_empty() || self.earlier.is_some_and(|(left, _)| !left.authored.is_empty())
    }

    /// Whether one of their commands writes, and does not fetch, a file of this name.
    pub(super) fn owns(&self, name: &str) -> bool {
        self.own_files.contains(name) || self.has_left(|left| &left.own_files, name)
    }

    /// Whether one of them puts another program at this name.
    pub(super) fn is_copied(&self, name: &str) -> bool {
        self.copied.contains(name) || self.has_left(|left| &left.copied, name)
    }

    fn has_left(&self, which: impl Fn(&Left) -> &HashMap<Arc<str>, BTreeSet<usize>>, name: &str) -> bool {
        self.earlier.is_some_and(|(left, before)| {
            which(left).get(name).is_some_and(|stages| stages.iter().any(|stage| before(*stage)))
        })
    }

    /// What the script leaves, once it was walked.
    pub(super) fn trace(&mut self) -> Trace {
        let kept = std::mem::take(&mut self.kept);
        Trace {
            written: std::mem::take(&mut self.written.own),
            touched: std::mem::take(&mut self.touched).into_files(),
            kept: kept.into_iter().map(|kept| (kept.name, kept.holes)).collect(),
            filled: self.filled(),
            fetched: self.fetched(),
            memory: self.memories.take(),
            targets: std::mem::take(&mut self.targets),
            authored: std::mem::take(&mut self.authored),
            own_files: std::mem::take(&mut self.own_files),
            copied: std::mem::take(&mut self.copied),
        }
    }
}
