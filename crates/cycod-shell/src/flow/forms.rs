//! The forms of the shell's grammar: lists, pipelines, compound commands, loops, redirections.

use std::sync::Arc;

use super::files::{ANY_COMMAND, Except, grow};
use super::input::one_of;
use super::places::is_number;
use super::run_files::{is_fetching, last_name};
use super::value::{Atom, Cut, Tag, Text, beginning, holes_of, texts_among};
use super::{Arguments, Flow, Input, MOST_PRINTED, MOST_VISITS, Reason, value};
use crate::piece::Shell;
use crate::programs;
use crate::script::{Command, Form, Part, Redirect, Script, Target, Word};
use crate::track::Redirection;
use crate::verdict::{Guard, Rule};

impl Flow<'_> {
    /// Walks a script, and tells what it may print.
    pub(super) fn script(&mut self, script: &Script) -> Input {
        self.pipelines(script)
    }

    /// Functions that nothing calls by name: a trap may, or another program.
    pub(super) fn uncalled(&mut self) {
        loop {
            let uncalled = self.functions.iter().filter(|(name, _)| !self.called.contains(*name));
            let uncalled: Vec<_> = uncalled.map(|(name, body)| (Arc::clone(name), Arc::clone(body))).collect();
            if uncalled.is_empty() {
                return;
            }
            for (name, body) in uncalled {
                // One of those before may have called it.
                if !self.called.insert(name) {
                    continue;
                }
                self.arguments.push(Arguments { is_unknown: true, ..Arguments::default() });
                self.assigned.begin_shell();
                self.reading(Input::Clean, false, |flow| flow.command(&body));
                self.assigned.end_shell();
                self.arguments.pop();
            }
        }
    }

    /// What two commands print, each of which may not run.
    pub(super) fn then(&self, first: Input, second: Input) -> Input {
        // Few texts that are known are told apart. Which files start is asked of what is printed, not of what may be missing.
        let is_known = |input: &Input| match input {
            Input::Clean => true,
            Input::Texts(texts) => {
                texts.iter().all(|text| text.len() <= 8 && !text.iter().any(|atom| matches!(atom, Atom::Derived(_))))
            }
            Input::Printed(_) => false,
        };
        if self.watches() || !is_known(&first) || !is_known(&second) {
            return first.and(second);
        }
        let joined = match (&first, &second) {
            (Input::Texts(first), Input::Texts(second)) if first.len() * second.len() <= MOST_PRINTED => {
                let joints: &[&str] = if self.leaves_lines_open { &["\n", ""] } else { &["\n"] };
                let join = |before: &Text, after: &Text, joint: &str| {
                    let mut text = before.clone();
                    value::push(&mut text, Atom::text(joint));
                    after.iter().for_each(|atom| value::push(&mut text, atom.clone()));
                    text
                };
                let is_there = |text: &&Text| !text.is_empty();
                let both = first
                    .iter()
                    .filter(is_there)
                    .flat_map(|before| second.iter().filter(is_there).map(move |after| (before, after)))
                    .flat_map(|(before, after)| joints.iter().map(move |joint| join(before, after, joint)));
                first.iter().chain(second).cloned().chain(both).chain([Text::new()]).collect()
            }
            (Input::Clean, Input::Texts(texts)) => {
                let begun = texts.iter().filter(|_| self.leaves_lines_open).map(|text| {
                    let mut begun = vec![Atom::Unknown(Tag::Somewhere)];
                    begun.extend(text.iter().cloned());
                    begun
                });
                texts.iter().cloned().chain(begun).chain([Text::new()]).collect()
            }
            (Input::Texts(texts), Input::Clean) => texts.iter().cloned().chain([Text::new()]).collect(),
            _ => Vec::new(),
        };
        one_of(joined).unwrap_or_else(|| first.and(second))
    }

    /// `coproc`: what it prints is read from a descriptor, whose name a variable has.
    pub(super) fn coprocess(&mut self, stages: &[Command]) -> Input {
        self.captured += 1;
        let printed = self.perhaps(|flow| flow.pipeline(stages)).0;
        self.captured -= 1;
        self.descriptors_hold(&printed.holes());
        Input::Clean
    }

    pub(super) fn pipeline(&mut self, stages: &[Command]) -> Input {
        let Some((last, others)) = stages.split_last() else { return self.input.clone() };
        let Some((first, others)) = others.split_first() else { return self.command(last) };
        // Each of them is a shell of its own.
        self.captured += 1;
        let mut printed = self.perhaps(|flow| flow.command(first)).0;
        for stage in others {
            printed = self.perhaps(|flow| flow.reading(printed, true, |flow| flow.command(stage))).0;
        }
        self.captured -= 1;
        self.perhaps(|flow| flow.reading(printed, true, |flow| flow.command(last))).0
    }

    /// Walks something that has an input of its own.
    pub(super) fn reading<T>(&mut self, input: Input, is_its_own: bool, walk: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.input, input);
        let was_its_own = std::mem::replace(&mut self.is_input_its_own, is_its_own);
        let outer_files = if is_its_own { std::mem::take(&mut self.input_files) } else { self.input_files.clone() };
        let result = walk(self);
        self.input = outer;
        self.input_files = outer_files;
        self.is_input_its_own = was_its_own;
        result
    }

    pub(super) fn command(&mut self, command: &Command) -> Input {
        self.visits += 1;
        if self.visits > MOST_VISITS {
            self.lose("it has too many commands to be followed");
        }
        if self.lost.is_some() {
            return Input::Clean;
        }
        let mut outputs = Vec::new();
        let (mut redirected, mut files) = (None, Vec::new());
        for redirect in &command.redirects {
            self.redirect(redirect, &mut redirected, &mut files, &mut outputs);
        }
        outputs.iter().for_each(|target| self.note_authored(target));
        outputs.iter().for_each(|target| self.note_name(target));
        if !outputs.is_empty() && !fetches(&command.form) {
            let names: Vec<Arc<str>> = outputs.iter().filter_map(last_name).map(Arc::from).collect();
            for name in names {
                self.has_grown |= self.own_files.insert(name);
            }
        }
        if is_redirection(&command.form) {
            self.redirects_all(&outputs, redirected.as_ref());
            let all = self.own_holes();
            self.writes_to_commands(&command.redirects, &Input::made("", &all));
        }
        let printed_before = std::mem::replace(&mut self.prints_environment, false);
        let takes_output = command.redirects.iter().any(|redirect| redirect.kind.writes());
        self.redirected += usize::from(takes_output);
        let printed = match redirected {
            Some(input) => self.reading(input, true, |flow| {
                // It may be another descriptor than the standard input.
                flow.hold(&flow.input.holes());
                flow.input_files = files;
                flow.form(&command.form)
            }),
            None => self.form(&command.form),
        };
        self.redirected -= usize::from(takes_output);
        self.keep_code(&outputs, &printed);
        if self.prints_environment && !outputs.is_empty() {
            let holes: Vec<usize> = self.in_environment.iter().copied().collect();
            outputs.iter().for_each(|target| self.touched.add(target, ANY_COMMAND, &holes));
        }
        self.prints_environment |= printed_before;
        let holes = printed.holes();
        if !holes.is_empty() {
            self.writes_to_commands(&command.redirects, &printed);
            outputs.iter().for_each(|file| self.guard_file(file, &printed));
            for target in outputs {
                match fetches(&command.form) {
                    true => self.note_written(&target, &holes),
                    false => self.note_printed(&target, &printed),
                }
                self.written_to_descriptor(&target, &holes);
            }
            if command.redirects.iter().any(is_to_descriptor) {
                self.descriptors_hold(&holes);
                self.speak(&holes);
            }
        }
        // `3>&1`: what is written there is printed after all.
        if !self.spoken.is_empty() && command.redirects.iter().any(is_to_output) {
            return printed.and(Input::printed(&self.spoken.iter().copied().collect::<Vec<_>>()));
        }
        printed
    }

    /// Values are written to a descriptor that is not the output.
    pub(super) fn speak(&mut self, holes: &[usize]) {
        self.has_grown |= grow(&mut self.spoken, holes);
    }

    /// `> >(…)`: what the command prints is what is read there.
    fn writes_to_commands(&mut self, redirects: &[Redirect], printed: &Input) {
        for redirect in redirects.iter().filter(|redirect| redirect.kind.writes()) {
            let Target::Word(word) = &redirect.target else { continue };
            for part in &word.parts {
                if let Part::Process(script) = part {
                    self.perhaps(|flow| flow.reading(printed.clone(), true, |flow| flow.captured(script)));
                }
            }
        }
    }

    /// `exec` with redirections alone: they count for every command that follows.
    fn redirects_all(&mut self, outputs: &[Text], input: Option<&Input>) {
        let all = self.own_holes();
        for target in outputs {
            self.note_written(target, &all);
        }
        if let Some(input) = input {
            self.descriptors_hold(&input.holes());
        }
    }

    /// Values that were written to a descriptor, or can be read from one: what is read from here on may be them.
    pub(super) fn descriptors_hold(&mut self, holes: &[usize]) {
        if !holes.is_empty() {
            self.hold(holes);
            let input = std::mem::replace(&mut self.input, Input::Clean);
            self.input = input.and(Input::made("", holes));
        }
    }

    /// Values that can be read from a descriptor by its name, wherever that stands.
    fn hold(&mut self, holes: &[usize]) {
        self.has_grown |= grow(&mut self.held, holes);
    }

    pub(super) fn form(&mut self, form: &Form) -> Input {
        if let Form::Simple { assignments, words } = form {
            return self.simple(assignments, words);
        }
        let is_loop = matches!(form, Form::Loop(_) | Form::For { .. });
        self.sourced.nesting += 1;
        self.loops += usize::from(is_loop);
        let printed = self.compound(form);
        self.loops -= usize::from(is_loop);
        self.sourced.nesting -= 1;
        printed
    }

    fn compound(&mut self, form: &Form) -> Input {
        match form {
            Form::Simple { .. } => Input::Clean,
            Form::Test(words) => {
                self.test(words);
                Input::Clean
            }
            Form::Arithmetic(parts) => {
                self.arithmetic(parts);
                Input::Clean
            }
            Form::Group(scripts) => {
                let mut printed: Option<Input> = None;
                for script in scripts {
                    let new = self.script(script);
                    printed = Some(match printed {
                        Some(before) => self.then(before, new),
                        None => new,
                    });
                }
                printed.unwrap_or(Input::Clean)
            }
            Form::Subshell(script) => self.perhaps(|flow| flow.script(script)).0,
            Form::If(scripts) => self.conditions(scripts),
            Form::Loop(scripts) => {
                let Some((begin, bodies)) = scripts.split_first() else { return Input::Clean };
                let first = self.script(begin);
                let walk = |flow: &mut Self| bodies.iter().fold(first, |printed, body| printed.and(flow.script(body)));
                let printed = self.perhaps(walk).0;
                printed.clone().and(printed)
            }
            Form::For { name, words, body } => {
                let walk = |flow: &mut Self| {
                    flow.loop_over(name, words.as_deref());
                    flow.inside(body)
                };
                let printed = self.perhaps(walk).0;
                printed.clone().and(printed)
            }
            Form::Case { subject, arms } => {
                self.place_in_shell(subject, "the subject of `case`");
                for (patterns, _) in arms {
                    patterns.iter().for_each(|pattern| self.place_in_shell(pattern, "a pattern of `case`"));
                }
                let input = self.input.clone();
                let all = self.reading(input, false, |flow| flow.arms(subject, arms));
                let printed = all.into_iter().fold(Input::Clean, Input::or);
                // None of them may fit.
                match printed {
                    Input::Texts(_) => printed.or(Input::Texts(vec![Text::new()])),
                    printed => printed,
                }
            }
            Form::Function { name, body } => {
                match name.literal() {
                    Some(name) => {
                        if self.functions.get(name).is_none_or(|known| **known != **body) {
                            if self.functions.insert(name.into(), Arc::new((**body).clone())).is_some() {
                                self.lose("a function in it is defined twice");
                            }
                            self.has_grown = true;
                        }
                    }
                    None => self.lose("the name of a function in it is not plain"),
                }
                Input::Clean
            }
        }
    }

    /// Walks commands of which something takes what they print.
    pub(super) fn captured(&mut self, body: &Script) -> Input {
        self.captured += 1;
        let printed = self.inside(body);
        self.captured -= 1;
        printed
    }

    /// Walks the body of a construct, whose commands may read what it reads.
    fn inside(&mut self, body: &Script) -> Input {
        let input = self.input.clone();
        self.reading(input, false, |flow| flow.script(body))
    }

    /// Follows a redirection: what is read from now on, values that name the file, and what is written to.
    fn redirect(
        &mut self,
        redirect: &Redirect,
        input: &mut Option<Input>,
        files: &mut Vec<usize>,
        outputs: &mut Vec<Text>,
    ) {
        match (&redirect.target, redirect.kind) {
            (Target::Document(serial), _) => {
                let parts = self.documents.get(serial).cloned().unwrap_or_default();
                let texts = self.single(&Word { parts, span: 0..0 });
                self.note_shell(&texts, "a here-document");
                let document = Input::Texts(texts);
                self.note_code_text(&document);
                *input = Some(document);
            }
            (Target::Word(word), Redirection::HereString) => {
                let texts = self.single(word);
                self.note_shell(&texts, "a here-string");
                let string = Input::Texts(texts);
                self.note_code_text(&string);
                *input = Some(string);
            }
            (Target::Word(word), Redirection::Input) if let [Part::Process(script)] = word.parts.as_slice() => {
                *input = Some(self.captured(script));
            }
            // What is written there is read when it is known.
            (Target::Word(word), kind) if kind.writes() && matches!(word.parts.as_slice(), [Part::Process(_)]) => {}
            (Target::Word(word), kind) => {
                let texts = self.single(word);
                self.note_shell(&texts, "the target of a redirection");
                if matches!(self.shell, Shell::Bash | Shell::Sh) {
                    texts.iter().for_each(|text| self.guard_target(text));
                }
                match kind {
                    Redirection::DuplicateInput => {
                        let own = input.take().unwrap_or_else(|| self.input.clone());
                        // From now on there may be another name for it.
                        self.hold(&own.holes());
                        *input = Some(self.opened(&own));
                    }
                    Redirection::Input => {
                        let own = input.clone().unwrap_or_else(|| self.input.clone());
                        let opened = texts.iter().find_map(|text| self.read_as_descriptor(text, &own));
                        if opened.is_some() {
                            self.hold(&own.holes());
                            *input = opened;
                            return;
                        }
                        let of_written = |text| self.written.holes_of_file(text);
                        let of_touched = |text| self.touched.holes_of_file(text, Except::default());
                        let mut holes: Vec<usize> = texts.iter().flat_map(of_written).collect();
                        let mut outputs: Vec<usize> = texts.iter().flat_map(of_touched).collect();
                        outputs.extend(texts.iter().flat_map(|text| self.holes_unpacked(text)));
                        holes.extend(texts.iter().flat_map(|text| self.told_in_file(text)));
                        holes.extend(texts.iter().filter_map(|text| self.content_of(text)).collect::<Vec<_>>());
                        // What stands in a file that a value names is as far from it as what a program prints.
                        *files = texts.iter().flat_map(holes_of).collect();
                        outputs.extend(files.iter());
                        *input = Some(Input::made("", &holes).and(Input::printed(&outputs)));
                    }
                    Redirection::Output => outputs.extend(texts),
                    // `>& FILE` writes to a file, as `&> FILE` does.
                    Redirection::Duplicate => outputs.extend(texts.into_iter().filter(|text| !is_number(text))),
                    Redirection::HereString => {}
                }
            }
        }
    }

    /// bash takes the names of some files for addresses to connect to.
    fn guard_target(&mut self, file: &Text) {
        let ([Atom::Value { hole, cut }, ..] | [Atom::Text(_), Atom::Value { hole, cut }, ..]) = file.as_slice() else {
            return;
        };
        for prefix in ["/dev/tcp/", "/dev/udp/"] {
            let rest = prefix.strip_prefix(beginning(file)).filter(|rest| !rest.is_empty() && self.is_text(*hole));
            if let Some(rest) = rest {
                let rule = Rule::Prefix { prefix: rest.to_owned(), goes_on: holes_of(file).len() > 1 };
                let guard = Guard { rule, cut: *cut, program: "bash".into() };
                self.find_guarded(*hole, Reason::Shell("the target of a redirection"), Some(guard));
            }
        }
    }

    pub(super) fn note_shell(&mut self, texts: &[Text], noun: &'static str) {
        for text in texts {
            self.find_all(holes_of(text), &Reason::Shell(noun));
        }
    }

    fn place_in_shell(&mut self, word: &Word, noun: &'static str) {
        let texts = self.single(word);
        self.note_shell(&texts, noun);
    }

    fn loop_over(&mut self, name: &Word, words: Option<&[Word]>) {
        let fields = match words {
            Some(words) => words.iter().flat_map(|word| self.fields(word)).collect(),
            None => self.all_arguments(),
        };
        let texts = texts_among(&fields);
        self.note_shell(&texts, "a word that a loop goes over");
        match name.literal() {
            Some(name) => texts.into_iter().for_each(|text| self.assign(name, text)),
            None => self.lose("the name of a loop variable in it is not plain"),
        }
        // `select` keeps the line that it reads.
        if !self.input.holes().is_empty() {
            self.pieces_of_input(Some(Cut::LINE)).into_iter().for_each(|line| self.assign("REPLY", line));
        }
    }
}

/// Whether a command is `exec` without a program.
fn is_redirection(form: &Form) -> bool {
    let Form::Simple { words, .. } = form else { return false };
    let mut words = words.iter().map(Word::literal).skip_while(|word| matches!(word, Some("command" | "builtin")));
    words.next() == Some(Some("exec")) && words.all(|word| word.is_some_and(|word| word.starts_with('-')))
}

/// Whether what is printed goes to a descriptor other than the usual ones, from which something else may read it.
fn is_to_descriptor(redirect: &Redirect) -> bool {
    let Target::Word(word) = &redirect.target else { return false };
    redirect.kind == Redirection::Duplicate && !matches!(word.literal(), Some("0" | "1" | "2" | "-"))
}

/// Whether what goes to some descriptor is printed.
fn is_to_output(redirect: &Redirect) -> bool {
    let Target::Word(word) = &redirect.target else { return false };
    redirect.kind == Redirection::Duplicate && word.literal() == Some("1")
}

/// Whether a command is of a program that fetches a file.
pub(super) fn fetches(form: &Form) -> bool {
    let Form::Simple { words, .. } = form else { return false };
    let mut words = words.iter().filter_map(Word::literal);
    words.any(|word| programs::copies(word).is_some_and(is_fetching))
}
