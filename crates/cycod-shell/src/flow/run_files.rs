//! What becomes of the files of a script: which of its commands write, copy, read and run them.

use std::sync::Arc;

use super::commands::is_make;
use super::files::{Except, by_its_code};
use super::places::{is_file_of_code, is_of_reading, is_shell};
use super::structure::FileKind;
use super::value::{Atom, Cut, Field, Tag, Text, beginning, holes_among, holes_of, literal, texts_among};
use super::{Called, Flow, Input, Kept, MOST_PRINTED, Reason, files, memory, small, unpacked, value, watch};
use crate::programs::{self, Loads, Place, PlaceKind, State, Writes};
use crate::verdict::{Guard, Rule};

/// A file that a value names, with what the author wrote around the value, and in which other values may be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedFile {
    pub(super) hole: usize,
    cut: Cut,
    before: String,
    /// Nothing when it is not known.
    after: Option<String>,
    /// Where it is a directory, the program that puts files there which values choose.
    filled_by: Option<String>,
}

impl Flow<'_> {
    /// Notes that values are written to a file that another value names.
    fn note_target(&mut self, file: &Text, content: &[usize]) {
        let of_name = holes_of(file);
        if !content.iter().all(|hole| of_name.contains(hole)) {
            self.note_named(file);
        }
    }

    /// Notes a file, or a directory, that a value names.
    pub(super) fn note_named(&mut self, file: &Text) {
        self.note_as(file, None);
    }

    /// Notes a directory that a value names, in which a program puts files that values choose.
    pub(super) fn note_filled(&mut self, directory: &Text, program: &str) {
        self.note_as(directory, Some(program));
    }

    fn note_as(&mut self, file: &Text, filled_by: Option<&str>) {
        for (index, atom) in file.iter().enumerate() {
            let (before, after) = (literal(&file[..index]), literal(&file[index + 1..]));
            for &hole in atom.holes() {
                let (cut, before, after) = match (atom, before) {
                    (Atom::Value { cut, .. }, Some(before)) => (*cut, before, after),
                    _ => (Cut::BEGINNING, "", Some("")),
                };
                let (before, after) = (before.to_owned(), after.map(str::to_owned));
                let target = NamedFile { hole, cut, before, after, filled_by: filled_by.map(str::to_owned) };
                self.has_grown |= self.targets.insert(target);
            }
        }
    }

    fn known_targets(&self) -> Vec<NamedFile> {
        let left = self.earlier.into_iter().flat_map(|(left, before)| {
            left.targets.iter().filter(move |(stage, _)| before(*stage)).map(|(_, target)| target)
        });
        self.targets.iter().chain(left).cloned().collect()
    }

    /// A file runs: nothing that is written may be it, whichever name a value gives. `is_own_of` is the program that makes it otherwise.
    fn guard_targets(&mut self, file: &Text, is_own_of: Option<&str>) {
        let targets = self.known_targets();
        if targets.is_empty() {
            return;
        }
        let mut names = files::directories(file);
        names.extend(last_name(file).map(str::to_owned));
        // What is looked for where a command works is in each directory that it goes to.
        if !beginning(file).starts_with(['/', '~']) {
            names.extend(self.directories_of_work());
            self.guard_filled_among(&targets, is_own_of);
        }
        // Names that only equal themselves are in no value.
        names.retain(|name| !name.ends_with('/'));
        self.spend(targets.len() / 8);
        for NamedFile { hole, cut, before, after, .. } in &targets {
            // Some file systems ignore case.
            let end = after.as_ref().map(|after| after.to_lowercase()).filter(|after| !after.contains('/'));
            let is_at_end = |name: &str| end.as_ref().is_none_or(|end| name.to_lowercase().ends_with(end));
            let may_end = |name: &&String| *cut != Cut::WHOLE || is_at_end(name);
            for name in names.iter().filter(may_end) {
                let rule = Rule::NotNamed { before: before.clone(), after: after.clone(), name: name.clone() };
                self.guard_name(*hole, *cut, rule);
            }
        }
    }

    /// Something runs, or is loaded, from where a command works: no directory that values fill may be that one. `is_own_of` is the
    /// program that makes it otherwise.
    pub(super) fn guard_filled(&mut self, is_own_of: Option<&str>) {
        let targets = self.known_targets();
        self.guard_filled_among(&targets, is_own_of);
    }

    fn guard_filled_among(&mut self, targets: &[NamedFile], is_own_of: Option<&str>) {
        for NamedFile { hole, cut, before, after, filled_by } in targets {
            if filled_by.as_ref().is_some_and(|program| !unpacked::is_own(program, is_own_of)) {
                let rule = Rule::Apart { before: before.clone(), after: after.clone().unwrap_or_default() };
                self.guard_name(*hole, *cut, rule);
            }
        }
    }

    fn guard_name(&mut self, hole: usize, cut: Cut, rule: Rule) {
        if self.is_text(hole) {
            let guard = Guard { rule, cut, program: "the command".into() };
            self.find_guarded(hole, Reason::Shell("the name of a file"), Some(guard));
        }
    }

    pub(super) fn note_written(&mut self, target: &Text, holes: &[usize]) {
        self.note_target(target, holes);
        self.keep(target, holes);
        self.has_grown |= self.written.add(target, holes);
    }

    /// Notes what is printed to a file. What a program prints of its words is no value, there as in a pipe.
    pub(super) fn note_printed(&mut self, target: &Text, printed: &Input) {
        let holes = printed.holes();
        match printed {
            Input::Printed(_) => {
                self.note_target(target, &holes);
                self.keep(target, &holes);
                self.touched.add(target, files::ANY_COMMAND, &holes);
            }
            _ => self.note_written(target, &holes),
        }
    }

    /// A program may look for a file with values by itself.
    fn keep(&mut self, target: &Text, holes: &[usize]) {
        if !holes.is_empty() {
            self.kept.push(Kept { name: files::FileName::of(target), command: self.running.id, holes: holes.to_vec() });
        }
    }

    /// Values in the files that these words name.
    pub(super) fn holes_in_files(&self, fields: &[Field]) -> Vec<usize> {
        if self.written.is_empty() {
            return Vec::new();
        }
        let texts = texts_among(fields);
        let mut holes: Vec<usize> = texts.iter().flat_map(|text| self.written.holes(text)).collect();
        holes.sort_unstable();
        holes.dedup();
        holes
    }

    /// Notes what may be in a file that is read.
    pub(super) fn reads_file(&mut self, file: &Text) {
        self.running.names_own_file |= self.is_authored(file);
        if self.knows_files() {
            self.running.files.extend(self.written.holes_of_file(file));
            self.running.outputs.extend(self.touched.holes_of_file(file, self.itself()));
        }
        let unpacked = self.holes_unpacked(file);
        self.running.outputs.extend(unpacked);
    }

    /// Whether there are files to ask for, which costs something.
    pub(super) fn knows_files(&mut self) -> bool {
        let files = self.written.len() + self.touched.len();
        self.spend(files / 8);
        !self.written.is_empty() || !self.touched.is_empty()
    }

    /// A file runs, or something is loaded from it.
    pub(super) fn runs_file(&mut self, file: &Text) {
        // One of its own in which a program keeps what it was told: `.git/COMMIT_EDITMSG`.
        let told = self.told_in_file(file);
        self.find_all(told, &Reason::Written);
        self.guard_targets(file, None);
        self.runs_unpacked(file, None);
        self.runs_written(file, false);
    }

    /// A file runs whose text may be a value, because the command names it or `looks` for it.
    fn runs_written(&mut self, file: &Text, looks: bool) {
        if self.knows_files() {
            self.find_all(self.written.holes_of_file(file), &Reason::Written);
            let except = Except { ends: looks, ..self.itself() };
            self.find_all(self.touched.holes_of_file(file, except), &Reason::Written);
        }
    }

    /// The script writes a file.
    pub(super) fn note_authored(&mut self, file: &Text) {
        if let Some(name) = code_name(file) {
            self.has_grown |= self.authored.insert(name);
        }
    }

    /// The script makes a file of its own out of another one.
    pub(super) fn note_own(&mut self, file: &Text) {
        self.note_authored(file);
        self.note_rewritten(file);
        if let Some(name) = last_name(file) {
            self.has_grown |= self.own_files.insert(name.into());
        }
    }

    /// The script writes a file, in a way in which its text is not known.
    pub(super) fn note_rewritten(&mut self, file: &Text) {
        if let Some(name) = code_name(file) {
            let code = self.codes.entry(name).or_default();
            self.has_grown |= !std::mem::replace(&mut code.is_unclear, true);
        }
    }

    /// The script writes a file whose text is its author's alone: code, perhaps.
    pub(super) fn keep_code(&mut self, outputs: &[Text], printed: &Input) {
        let is_literal = |text: &Text| literal(text).is_some_and(|text| !text.is_empty());
        let texts = match printed {
            Input::Texts(texts) if texts.iter().all(is_literal) => texts.as_slice(),
            _ => &[],
        };
        for file in outputs {
            let Some(name) = code_name(file) else { continue };
            let code = self.codes.entry(name).or_default();
            let is_new = code.texts.is_empty() && !texts.is_empty();
            if is_new {
                texts.clone_into(&mut code.texts);
            }
            // Written twice, or more, it may be one behind the other.
            let is_unclear = texts.is_empty() || code.texts != texts;
            self.has_grown |= is_new || is_unclear && !code.is_unclear;
            code.is_unclear |= is_unclear;
            if is_unclear {
                code.texts.extend(
                    texts
                        .iter()
                        .filter(|text| !code.texts.contains(text))
                        .take(MOST_PRINTED)
                        .cloned()
                        .collect::<Vec<_>>(),
                );
            }
        }
    }

    /// What is in a file that the script writes, where that is its author's alone and all of it is known: one of these texts.
    pub(super) fn sole_code(&self, file: &Text) -> Option<Vec<Text>> {
        let code = self.codes.get(&code_name(file)?)?;
        (!code.is_unclear && !code.texts.is_empty()).then(|| code.texts.clone())
    }

    /// The author's code that a process substitution prints.
    pub(super) fn printed_at(&self, path: &Text) -> &[Text] {
        match path.as_slice() {
            [Atom::Unknown(Tag::Process(number))] => self.substitutions.get(number).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// Code runs that the script has written itself: it may write what it is given to the files that it names, and start shells.
    pub(super) fn runs_code(&mut self, file: &Text, program: &Arc<str>) {
        // `gawk`, `mawk`, `nawk` and `gsed`.
        let language = program.trim_start_matches(['g', 'm', 'n']);
        let is_yaml = files::kind(file) == FileKind::Yaml;
        let written = code_name(file).and_then(|name| self.codes.get(&name)).into_iter().flat_map(|code| &code.texts);
        let codes: Vec<Text> = written.chain(self.printed_at(file)).cloned().collect();
        for code in &codes {
            self.takes_variables(code);
            self.touch_all(&files::names_in(code), self.running.id);
            self.running.runs_what_it_reads |=
                literal(code).is_some_and(|code| small::runs_what_it_reads(language, code));
            if !is_yaml {
                self.code_for_shell(code, program);
            }
        }
    }

    fn is_authored(&self, file: &Text) -> bool {
        code_name(file).is_some_and(|name| self.authors(&name))
    }

    /// A file runs as a script of a shell, or as its first line says. One that the script writes is followed where its text is known.
    pub(super) fn runs_script(&mut self, file: &Text, arguments: &[Field], shell: Option<&Arc<str>>) {
        // What is fetched is as a program of the project is.
        let is_own = last_name(file).is_none_or(|name| self.owns(name));
        if !is_own || !self.is_authored(file) {
            return;
        }
        let codes = self.sole_code(file).unwrap_or_default();
        let by = shell.cloned().or_else(|| codes.first().and_then(|code| interpreter(literal(code)?)));
        let Some(by) = by.filter(|_| !codes.is_empty()) else {
            let given = holes_among(arguments);
            let holes: Vec<usize> = given.iter().chain(&self.in_environment).copied().collect();
            return self.find_unclear(holes, "the command passes it to a script that it writes itself, and cycod doesn't follow what such a script does");
        };
        for code in &codes {
            self.evaluate(code, &by, Called { zero: Some(vec![file.clone()]), arguments: arguments.to_vec() });
        }
    }

    /// A shell reads a file into itself. What one that the script writes makes of the names of commands is not followed.
    pub(super) fn becomes_part(&mut self, file: &Text) {
        if self.is_authored(file) {
            let all = self.own_holes();
            self.find_unclear(all, "a shell reads a script into itself that the command writes, which is not followed");
        }
    }

    /// The script puts a program at another name. What a table says of that name is of another program then.
    pub(super) fn copies(&mut self, fields: &[Field]) {
        let how = fields.iter().enumerate().find_map(|(at, field)| match field {
            Field::Word(word) => Some((at, programs::copies(last_name(word)?)?)),
            _ => None,
        });
        let Some((at, how)) = how else { return };
        let mut sources = Vec::new();
        let mut targets = Vec::new();
        let (mut is_target, mut is_unclear) = (false, false);
        for field in &fields[at + 1..] {
            let Field::Word(word) = field else {
                is_unclear = true;
                continue;
            };
            let text = beginning(word);
            if std::mem::take(&mut is_target) {
                targets.push(word.clone());
            } else if let Some(prefix) = how.iter().find(|prefix| prefix.ends_with('=') && text.starts_with(**prefix)) {
                targets.push(without_beginning(word, prefix.len()));
            } else if text.starts_with('-') {
                match how.iter().find_map(|option| behind_option(text, option)) {
                    Some(from) if from < text.len() || word.len() > 1 => targets.push(without_beginning(word, from)),
                    Some(_) => is_target = true,
                    None => {}
                }
            } else {
                let setting = text.split_once('=').filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase()));
                // `bs=1M` of `dd` names none.
                let is_source = |name: &str| name == "if" || !how.iter().any(|word| word.ends_with('='));
                match setting {
                    None => sources.push(word.clone()),
                    Some((name, _)) if is_source(name) => sources.push(without_beginning(word, name.len() + 1)),
                    Some(_) => {}
                }
            }
        }
        if how.contains(&"last") {
            targets.extend(sources.pop());
        } else if how.contains(&"all") {
            targets.append(&mut sources);
        }
        if sources.iter().any(|source| self.is_authored(source)) {
            targets.iter().for_each(|target| self.note_own(target));
        } else if is_unclear {
            let all = texts_among(&fields[at + 1..]);
            if all.iter().any(|file| self.is_authored(file)) {
                all.iter().for_each(|file| self.note_own(file));
            }
        }
        // What is fetched is the program that it is called here, unless it has the name of another one.
        let is_fetching = is_fetching(how);
        for target in targets.iter().filter_map(last_name) {
            self.has_grown |= is_fetching && self.fetched_at.insert(target.into());
            let is_same = |source: &Text| match last_name(source) {
                Some(name) if name == target || programs::is_same(name, target) => true,
                Some(name) if is_fetching => !programs::is_described(name) || !beginning(source).contains("://"),
                None => is_fetching,
                Some(name) if name.bytes().all(|byte| byte.is_ascii_digit()) => true,
                // A program of the project stays one.
                Some(name) => {
                    let is_of_project = literal(source).is_some_and(|path| !path.starts_with(['/', '~']));
                    is_of_project && !programs::is_described(name) && !programs::is_described(target)
                }
            };
            if is_unclear && !is_fetching || !sources.iter().all(is_same) {
                self.has_grown |= self.copied.insert(target.into());
            } else if sources.is_empty() && !is_fetching {
                // What it reads is kept there.
                self.note_own(&vec![Atom::text(target)]);
            }
        }
    }

    /// A program runs by a name at which the script may put another one, or a file of its own.
    pub(super) fn runs_copy(&mut self, name: &str, is_path: bool) {
        let is_found = is_path || self.variables.contains_key("PATH");
        let is_own = is_found && self.owns(name) && programs::is_described(name);
        if is_own || self.is_copied(name) {
            let why = format!("the command puts another program at the name `{name}`, which is not followed");
            let holes: Vec<usize> = self.running.words.iter().chain(&self.in_environment).copied().collect();
            self.find_unclear(holes, &why);
        }
        // What is fetched may stand where programs are looked for.
        if self.fetched_at.contains(name) {
            self.runs_written(&vec![Atom::text(name)], false);
        }
    }

    /// A package is installed: from a path, if that is what the word is, and its code runs. A path may have no `/` where `is_path`.
    pub(super) fn builds(&mut self, word: &Text, is_path: bool) {
        // `./r[extra]` is the package in `r`.
        let path = match word.as_slice() {
            [Atom::Text(text)] => vec![Atom::text(text.split('[').next().unwrap_or_default())],
            _ => word.clone(),
        };
        self.runs_file(&path);
        let looks_so = |atom: &Atom| matches!(atom, Atom::Text(text) if text.contains('/') || text.starts_with('.'));
        if is_path || path.iter().any(looks_so) {
            self.runs_below(&path, |_| true);
        }
    }

    /// What stands in a directory runs, or something is loaded from it.
    pub(super) fn runs_below(&mut self, directory: &Text, counts: impl Fn(&str) -> bool) {
        self.runs_unpacked_below(directory);
        self.runs_written_below(directory, counts);
    }

    fn runs_written_below(&mut self, directory: &Text, counts: impl Fn(&str) -> bool) {
        if self.knows_files() {
            self.find_all(self.written.holes_below(directory, &counts), &Reason::Written);
            let except = Except { ends: true, ..self.itself() };
            self.find_all(self.touched.holes_below(directory, except, &counts), &Reason::Written);
        }
    }

    /// A word may be the name of a file that the program writes, or code that writes some.
    pub(super) fn touch_named(&mut self, place: &'static Place<'static>, text: &Text, files: &[Text]) {
        // Only the program knows which words name files, and its code which it writes.
        let names = match place.kind {
            PlaceKind::Unknown => {
                files.iter().filter(|file| literal(file).is_some_and(files::is_name)).cloned().collect()
            }
            PlaceKind::CodeIn(language) => written_by_code(language, text),
            _ => Vec::new(),
        };
        // Code of a shell is followed by itself, and what it runs is not what its names may write.
        let is_followed = matches!(place.kind, PlaceKind::CodeIn(language) if is_shell(language));
        if let (PlaceKind::CodeIn(language), false) = (place.kind, is_followed) {
            self.running.names_files |= code_may_write(language, text);
            if literal(text).is_some_and(names_make) {
                self.pasted_by_make();
            }
        }
        let command = if is_followed { by_its_code(self.running.id) } else { self.running.id };
        self.touch_all(&names, command);
    }

    /// Notes that a command may write what it was given, and what is in its environment, to files.
    pub(super) fn touch_all(&mut self, names: &[Text], command: u64) {
        names.iter().for_each(|file| self.touch(file, command));
        if !names.is_empty() {
            let holes: Vec<usize> = self.in_environment.iter().copied().collect();
            names.iter().for_each(|file| self.touched.add(file, command, &holes));
        }
    }

    /// Notes that a command may write what it was given to a file.
    pub(super) fn touch(&mut self, file: &Text, command: u64) {
        if code_name(file).is_some_and(|name| self.codes.contains_key(&name)) {
            self.note_rewritten(file);
        }
        self.running.may_write.insert((file.clone(), command));
        self.touched.add(file, command, &self.running.words);
        if !self.running.taken.is_empty() {
            self.touched.add(file, command, &self.running.taken);
        }
        if !self.running.outputs.is_empty() {
            self.touched.add(file, command, &self.running.outputs);
        }
    }

    /// What a command is given and reads, it may write to each of its files, whichever of its words comes first.
    pub(super) fn writes_what_it_reads(&mut self) {
        let outputs = std::mem::take(&mut self.running.may_write);
        if outputs.is_empty() {
            return;
        }
        let mut read = [self.running.files.as_slice(), &self.running.outputs].concat();
        // Behind the values are what files hold and programs print, which is followed as in `cp` alone.
        read.retain(|hole| *hole < self.holes.len());
        let all = [read.as_slice(), &self.running.words, &self.running.taken].concat();
        for (file, command) in &outputs {
            self.note_target(file, &all);
            if let Some((program, language)) = files::runs_later(file) {
                self.find_code(read.iter().copied(), &program.into(), language);
            }
            // A file that only a value names is any: the value is checked instead.
            if !files::is_any(file) {
                self.touched.add(file, *command, &read);
            }
        }
        if self.has_memory() && !self.running.printed_to.is_empty() {
            let programs = std::mem::take(&mut self.running.programs);
            let told = self.told(&programs, self.running.shows);
            self.running.programs = programs;
            self.spend(told.len() * memory::COST);
            for file in std::mem::take(&mut self.running.printed_to) {
                self.touched.add(&file, self.running.id, &told);
            }
        }
    }

    /// A program prints what stands in the files of a directory.
    pub(super) fn searches(&mut self, state: &State) {
        if !state.entry().searches.is_some_and(|with| with.holds(state.seen())) {
            return;
        }
        let here = vec![Atom::text(".")];
        if self.knows_files() {
            let touched = self.touched.holes_below(&here, self.itself(), |_| true);
            self.running.outputs.extend(self.written.holes_below(&here, |_| true));
            self.running.outputs.extend(touched);
        }
        let unpacked = self.all_unpacked();
        self.running.outputs.extend(unpacked);
    }

    /// A program may name a file after one that it reads: `a.txt.gz`, `a.pdf`.
    pub(super) fn derives(&mut self, file: &Text) {
        if !self.knows_files() {
            return;
        }
        // A directory, and the name of a file without what is behind its last dot.
        let Some(name) = last_name(file).filter(|name| !matches!(*name, "." | "..")) else { return };
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let beginnings = [name.to_owned(), format!("{stem}.")];
        for beginning in beginnings.iter().filter(|beginning| *beginning != ".") {
            let derived = vec![Atom::text(beginning), Atom::Unknown(Tag::Somewhere)];
            self.running.may_write.insert((derived, self.running.id));
        }
    }

    /// What is not told from the command that is read: it runs nothing that it writes itself, and the code that it was given runs
    /// nothing that only a name in that code says it writes.
    pub(super) fn itself(&self) -> Except<'_> {
        Except { command: Some(self.running.id), around: &self.around, ..Except::default() }
    }

    /// What a program writes that its words do not name.
    pub(super) fn writes_unnamed(&mut self, state: &State) {
        let writes = state.entry().writes;
        for name in &state.entry().prints_environment {
            match *name {
                "*" => {
                    self.running.environment.extend(self.in_environment.iter().copied());
                    self.substituted.extend(self.in_environment.iter().copied());
                }
                name => self.running.environment.extend(self.in_variables.get(name).into_iter().flatten()),
            }
        }
        if !writes.has_content() {
            return;
        }
        self.prints_environment |= !self.in_environment.is_empty();
        for name in &state.entry().makes {
            let mut file = vec![Atom::text(name.trim_end_matches('*'))];
            file.extend(name.ends_with('*').then_some(Atom::Unknown(Tag::Somewhere)));
            self.touch_all(&[file], self.running.id);
        }
        let read = [self.input.holes(), self.running.files.clone(), self.running.outputs.clone()].concat();
        if writes == Writes::Anything {
            self.touched.add(&vec![Atom::Unknown(Tag::Somewhere)], self.running.id, &read);
        }
        let all = [self.running.words.clone(), read].concat();
        // A filter writes what its words name, or its code.
        if !state.entry().is_filter || self.running.names_files || self.running.runs_file {
            self.touched.add_unnamed(self.running.id, &all);
        }
        self.named_files().iter().for_each(|file| self.note_target(file, &all));
    }

    /// What a program loads that neither its words nor its input name.
    pub(super) fn loads(&mut self, state: &State) {
        let files = if let Loads::Files(files) = &state.entry().loads { files.as_slice() } else { &[] };
        let own = state.entry().own.iter().map(|file| (file, Some(&**state.label())));
        for (file, is_own_of) in files.iter().map(|file| (file, None)).chain(own) {
            let file = vec![Atom::text(file)];
            self.runs_code(&file, state.label());
            self.guard_targets(&file, is_own_of);
            self.runs_unpacked(&file, is_own_of);
            self.runs_written(&file, true);
            self.runs_written_below(&file, |_| true);
        }
        self.finds_files(state);
    }

    /// Whether what is walked runs once, and not again behind what follows it.
    pub(super) fn runs_once(&self) -> bool {
        self.loops == 0 && self.arguments.len() == 1 && !self.repeats
    }

    /// A program looks for files by itself: its settings, and code that other code names. One with a value that was written before
    /// may be among them, unless it is known to look for no such file.
    fn finds_files(&mut self, state: &State) {
        let is_known = !state.is_of_unknown_program() && !state.is_of_project();
        if is_known && matches!(state.entry().loads, Loads::Unknown | Loads::Modules) {
            self.finds_unpacked(state.label());
        }
        // What a loop or a function runs may run again after what it writes.
        let is_once = self.runs_once();
        let left = self.earlier.filter(|(left, _)| !left.kept.is_empty());
        self.spend(left.map_or(0, |(left, _)| left.kept.len()) / 8);
        let earlier: &[_] = if is_once { &[] } else { &self.kept_before };
        if self.kept.is_empty() && earlier.is_empty() && left.is_none() {
            return;
        }
        let entry = state.entry();
        let may_find = |name: &files::FileName| {
            let is_own = if is_known {
                entry.loads == Loads::Unknown && !name.is_inert()
            } else {
                name.is_code() || name.is_title() || !state.is_of_project() && !name.is_inert()
            };
            is_own
                || entry.has_settings && name.is_hidden() && !name.is_inert()
                || entry.modules.iter().any(|end| name.ends_with(end))
        };
        let others = earlier.iter().chain(&self.kept).filter(|file| file.command != self.running.id);
        let found = others.filter(|file| may_find(&file.name));
        let mut holes: Vec<usize> = found.flat_map(|file| file.holes.iter().copied()).collect();
        if let Some((left, before)) = left {
            let found = left.kept.iter().filter(|((stage, name), _)| before(*stage) && may_find(name));
            holes.extend(found.flat_map(|(_, holes)| holes.iter().copied()));
        }
        if !holes.is_empty() {
            let why = format!("`{}` may take the file that holds it for its settings or code", state.label());
            self.find_unclear(holes, &why);
        }
    }

    /// `include` in what `make` reads names a file.
    pub(super) fn includes(&mut self) {
        let Input::Texts(texts) = self.input.clone() else { return };
        if !self.knows_files() {
            return;
        }
        for file in texts.iter().flat_map(files::names_in) {
            self.find_all(self.written.holes(&file), &Reason::Written);
            self.find_all(self.touched.holes(&file, self.itself()), &Reason::Written);
        }
    }
}

/// The files that the author's code may write, by its names.
pub(super) fn written_by_code(language: &str, code: &Text) -> Vec<Text> {
    if !code_may_write(language, code) {
        return Vec::new();
    }
    let mut names = files::names_in(code);
    if language == "sed" {
        names.extend(literal(code).map(files::names_in_edits).unwrap_or_default());
    }
    names
}

/// Whether code names `make`, which it may start.
fn names_make(code: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && !"-_.".contains(c)).any(is_make)
}

fn code_may_write(language: &str, code: &Text) -> bool {
    !is_file_of_code(language)
        && !is_of_reading(language)
        && literal(code).is_none_or(|code| !watch::writes_nothing(language, code))
}

/// The shell that runs a script by its first line; nothing where that names another interpreter.
fn interpreter(script: &str) -> Option<Arc<str>> {
    let Some(line) = script.strip_prefix("#!") else { return Some("sh".into()) };
    let words = line.lines().next().unwrap_or_default().split_ascii_whitespace();
    let mut names = words.map(|word| word.rsplit('/').next().unwrap_or(word));
    let name = names.find(|name| *name != "env" && !name.starts_with('-'))?;
    programs::runs_shell_code(name).then(|| name.into())
}

/// The name under which the code in a file is kept: what stands behind the last `/` of its path, or the path where that is known only
/// when it runs.
fn code_name(file: &Text) -> Option<String> {
    match last_name(file) {
        Some(name) => Some(name.to_owned()),
        None if literal(file).is_none() && holes_of(file).is_empty() => Some(format!("{file:?}")),
        None => None,
    }
}

/// The name behind the last `/` of a path, where it is known.
pub(super) fn last_name(path: &Text) -> Option<&str> {
    match path.last() {
        Some(Atom::Text(end)) if literal(path).is_some() || end.contains('/') => {
            end.rsplit('/').next().filter(|name| !name.is_empty())
        }
        _ => None,
    }
}

/// Where the argument of an option begins in a word that is that option, alone or among others: `-sSLoNAME`.
fn behind_option(word: &str, option: &str) -> Option<usize> {
    let letter = option.strip_prefix('-').filter(|letter| letter.len() == 1);
    match letter {
        Some(letter) if !word.starts_with("--") => word.find(letter).map(|at| at + 1),
        Some(_) => None,
        None => match word.strip_prefix(option)? {
            "" => Some(word.len()),
            rest => rest.starts_with('=').then_some(option.len() + 1),
        },
    }
}

/// Whether a program whose words say so which file it makes fetches what is in it.
pub(super) fn is_fetching(how: &[&str]) -> bool {
    how.iter().all(|word| word.starts_with('-'))
}

/// The word without so many bytes of the author's at its beginning.
fn without_beginning(word: &Text, length: usize) -> Text {
    let mut rest = Text::new();
    value::push(&mut rest, Atom::text(&beginning(word)[length..]));
    word[1..].iter().for_each(|atom| value::push(&mut rest, atom.clone()));
    rest
}
