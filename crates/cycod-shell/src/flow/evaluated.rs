//! Text that runs as code again: what shells evaluate, and what programs take from variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::files::{by_its_code, grow};
use super::value::{Atom, Cut, Field, Tag, Text, beginning, holes_among, holes_of, literal, texts_among};
use super::{Arguments, Called, DEEPEST, Flow, Input, Reason, files, value, watch, zsh};
use crate::piece::Shell;
use crate::programs;
use crate::script::Command;
use crate::track::{HOLE, Spot, parse};

/// Why nothing is known of code that a command reads or prints.
pub(super) const UNKNOWN_CODE: &str =
    "a shell runs what a program prints or reads, which may be a text of the command's own that uses it";

impl Flow<'_> {
    /// The author's text may be a command that a shell runs with the variables of the environment: what `GIT_SSH_COMMAND` or
    /// `core.pager` says.
    pub(super) fn may_be_command(&mut self, text: &str, by: &str) {
        if !self.in_environment.is_empty() && !self.watches() {
            let command = vec![Atom::text(text.trim_start_matches(['!', '|', ' ']))];
            self.perhaps(|flow| {
                flow.reading(Input::Clean, false, |flow| flow.evaluate(&command, &by.into(), Called::default()));
            });
        }
    }

    /// What a variable names that programs run, or load from.
    pub(super) fn loaded_by(&mut self, name: &str, value: &Text, is_exported: bool) {
        let is_exported =
            is_exported || self.exports_all || self.variables.get(name).is_some_and(|variable| variable.is_exported);
        if matches!(name, "BASH_ENV" | "ENV") {
            self.becomes_part(value);
        }
        if matches!(name, "PS3" | "PS4") {
            self.expanded_prompt(value);
        }
        if !programs::runs_variable(name, is_exported) {
            return;
        }
        if let Some(text) = literal(value) {
            self.may_be_command(text, name);
        }
        if self.has_unpacked() {
            watch::pieces(value).iter().for_each(|piece| self.runs_unpacked_below(piece));
        }
        if !self.knows_files() {
            return;
        }
        for piece in watch::pieces(value) {
            let glued = literal(&piece)
                .filter(|text| text.starts_with('-'))
                .and_then(|text| text.get(2..))
                .map(|text| vec![Atom::text(text)]);
            for piece in [Some(piece), glued].into_iter().flatten() {
                // Programs are found by the last part of their names.
                if name != "PATH" {
                    self.runs_below(&piece, |name| !files::is_data(name));
                }
                let mut stem = piece.clone();
                value::push(&mut stem, Atom::text("."));
                stem.push(Atom::Unknown(Tag::Somewhere));
                for file in [piece, stem] {
                    let mut holes = self.written.holes(&file);
                    holes.extend(self.touched.holes(&file, self.itself()));
                    self.find_by_kind(holes, &Reason::Written, "a file");
                }
            }
        }
    }

    /// The shell expands what it prints before the commands that it traces, and when it asks with `select`. Source: POSIX.1-2024,
    /// sh, "Environment Variables"; bash(1).
    fn expanded_prompt(&mut self, value: &Text) {
        if let Some(text) = literal(value).filter(|text| text.contains(['$', '`'])) {
            let code = vec![Atom::text(&format!(": <<PROMPT\n{text}\nPROMPT"))];
            self.perhaps(|flow| flow.evaluate(&code, &"eval".into(), Called::default()));
        }
    }

    /// `NAME=value` for the environment of a command.
    pub(super) fn environment(&mut self, text: &Text, program: &Arc<str>) {
        match beginning(text).split_once('=') {
            Some((name, _)) => {
                let name = name.to_owned();
                self.variable_of_environment(&name, &holes_of(text), true);
                self.assign_in_command(text);
            }
            None => self.find_code(holes_of(text), program, "environment"),
        }
    }

    /// The command that gets `NAME=value` in its environment may be a script.
    pub(super) fn assign_in_command(&mut self, text: &Text) {
        let Some(((name, _), value)) = beginning(text).split_once('=').zip(behind_name(text)) else { return };
        let name = name.to_owned();
        self.perhaps(|flow| flow.assign(&name, value));
        self.assigned.pass(&name);
    }

    /// Whether programs may get a variable of this name, or run what it says.
    pub(super) fn is_for_programs(&self, name: &str) -> bool {
        self.exports_all
            || self.variables.get(name).is_some_and(|variable| variable.is_exported)
            || programs::runs_variable(name, false)
    }

    /// A variable gets its value from holes: some variables are run, or loaded from.
    pub(super) fn variable_of_environment(&mut self, name: &str, holes: &[usize], is_exported: bool) {
        if holes.is_empty() {
            return;
        }
        let is_exported =
            is_exported || self.exports_all || self.variables.get(name).is_some_and(|variable| variable.is_exported);
        if is_exported {
            self.has_grown |= grow(&mut self.in_environment, holes);
            self.has_grown |= grow(self.in_variables.entry(name.into()).or_default(), holes);
        }
        let runs = programs::runs_variable(name, is_exported) || self.shell == Shell::Zsh && zsh::runs_list(name);
        let reason = if runs { Reason::Environment { name: name.into() } } else { Reason::Shell("a variable") };
        self.find_by_kind(holes.iter().copied(), &reason, "a variable");
    }

    /// Text that a program hands to a shell. `rest` are the words behind it, which the shell gets as arguments.
    pub(super) fn shell_code(&mut self, text: &Text, language: &'static str, program: &Arc<str>, rest: Vec<Field>) {
        self.around.push(by_its_code(self.running.id));
        self.follow_shell_code(text, language, program, rest);
        self.around.pop();
    }

    fn follow_shell_code(&mut self, text: &Text, language: &'static str, program: &Arc<str>, rest: Vec<Field>) {
        if language == "sh-joined" {
            // The program joins its words with blanks.
            let mut whole = text.clone();
            for field in rest {
                let Field::Word(next) = field else {
                    let holes = holes_among(&[field]);
                    self.find_code(holes, program, "sh");
                    continue;
                };
                value::push(&mut whole, Atom::text(" "));
                next.into_iter().for_each(|atom| value::push(&mut whole, atom));
            }
            return self.evaluate(&whole, program, Called::default());
        }
        if language == "sh-words" {
            // What escapes mean in the text differs from a shell, so it must hold no value.
            self.find_code(holes_of(text), program, "arguments");
            let mut whole = text.clone();
            value::push(&mut whole, Atom::text(" \"$@\""));
            return self.evaluate(&whole, program, Called { zero: None, arguments: rest });
        }
        // The word behind the code is `$0`; which it is cannot be told where it may be none, or several.
        let called = match rest.split_first() {
            None => Called::default(),
            Some((Field::Word(zero), arguments)) => {
                Called { zero: Some(vec![zero.clone()]), arguments: arguments.to_vec() }
            }
            Some(_) => {
                let any = texts_among(&rest);
                Called { zero: Some(any.clone()), arguments: vec![Field::any_of(any)] }
            }
        };
        self.evaluate(text, program, called);
    }

    /// A shell runs what a program prints, or what is read: that may be a text of the author's, with the values that it names.
    fn runs_unknown_code(&mut self, text: &Text, by: &Arc<str>, arguments: &[Field]) {
        let is_printed = |atom: &Atom| matches!(atom, Atom::Unknown(Tag::Output(_) | Tag::Word(_) | Tag::Somewhere));
        if !self.holds_code || !text.iter().any(is_printed) {
            return;
        }
        let given =
            if runs_here(by) { self.holes_of_variables() } else { self.in_environment.iter().copied().collect() };
        self.find_unclear([given, holes_among(arguments)].concat(), UNKNOWN_CODE);
    }

    /// The same for a process substitution whose text is not known, with the values that it is given.
    pub(super) fn runs_unknown_file(&mut self, file: &Text, given: Vec<usize>) {
        let is_substitution = matches!(file.as_slice(), [Atom::Unknown(Tag::Process(_))]);
        if is_substitution && self.holds_code && self.printed_at(file).is_empty() {
            self.find_unclear(given, UNKNOWN_CODE);
        }
    }

    /// Notes a text of the author's that names variables or arguments as a shell does, and that a command reads or prints.
    pub(super) fn note_code_text(&mut self, printed: &Input) {
        let Input::Texts(texts) = printed else { return };
        let is_new = !self.holds_code && texts.iter().any(|text| literal(text).is_some_and(names_values));
        self.holds_code |= is_new;
        self.has_grown |= is_new;
    }

    /// Leaves only the functions that a shell gets which is started, and returns all.
    fn keep_exported(&mut self, shell: Shell) -> BTreeMap<Arc<str>, Arc<Command>> {
        let all = std::mem::take(&mut self.functions);
        if shell == Shell::Bash {
            let exported = all.iter().filter(|(name, _)| self.exported_functions.contains(*name));
            self.functions = exported.map(|(name, body)| (Arc::clone(name), Arc::clone(body))).collect();
        }
        all
    }

    /// Follows text that is evaluated as a script; the values in it are code, unless they are quoted for that.
    pub(super) fn evaluate(&mut self, text: &Text, by: &Arc<str>, called: Called) {
        if text.iter().all(|atom| matches!(atom, Atom::Unknown(_))) {
            if !text.is_empty() {
                self.note_unpinned(|| format!("the code that `{by}` evaluates"));
                self.runs_unknown_code(text, by, &called.arguments);
            }
            return;
        }
        if self.depth >= DEEPEST {
            return self.lose("code in it is evaluated in code too deeply");
        }
        self.runs_unknown_code(text, by, &called.arguments);
        let mut source = String::new();
        let mut holes = Vec::new();
        for atom in text {
            match atom {
                Atom::Text(text) => source.push_str(text),
                Atom::Unknown(Tag::Variable(name)) if self.watches() => source.push_str(&format!("${{{name}}}")),
                Atom::Unknown(_) => {
                    self.note_unpinned(|| format!("a part of the code that `{by}` evaluates"));
                    source.push_str(watch::UNKNOWN);
                }
                Atom::Value { hole, cut } if *cut == Cut::QUOTED || !self.is_text(*hole) => {
                    if *cut != Cut::QUOTED {
                        self.find(*hole, Reason::Shell("code, where it can do no harm"));
                    }
                    holes.push(*hole);
                    source.push(HOLE as char);
                }
                atom => {
                    let evaluated = Reason::Evaluated { by: Arc::clone(by) };
                    self.find_by_kind(atom.holes().iter().copied(), &evaluated, "code");
                    source.push_str(watch::UNKNOWN);
                }
            }
        }
        let is_here = runs_here(by);
        let shell = match &**by {
            "zsh" => Shell::Zsh,
            _ if is_here => self.shell,
            _ => Shell::Bash,
        };
        let mut found = parse(shell, source.as_bytes());
        for (hole, place) in holes.iter().zip(&found.holes) {
            if !matches!(place.spot, Spot::Words | Spot::One { .. }) && self.is_text(*hole) {
                self.find(*hole, Reason::Evaluated { by: Arc::clone(by) });
            }
        }
        let first = self.documents.keys().max().map_or(0, |last| last + 1);
        match crate::script::build(&mut found, &holes, first) {
            Ok(tree) => {
                self.documents.extend(tree.documents);
                self.depth += 1;
                let outer = std::mem::replace(&mut self.shell, shell);
                let echo_escapes = is_here && self.echo_escapes || !is_here && !by.starts_with("bash");
                let outer_echo = std::mem::replace(&mut self.echo_escapes, echo_escapes);
                let functions = (!is_here).then(|| self.keep_exported(shell));
                let has_arguments = !is_here || !called.arguments.is_empty();
                if has_arguments {
                    let zero = if is_here { None } else { Some(called.zero.unwrap_or_default()) };
                    self.arguments.push(Arguments { lists: vec![called.arguments], zero, ..Arguments::default() });
                }
                if !is_here {
                    self.assigned.begin_shell();
                }
                self.script(&tree.script);
                if functions.is_some() && !self.functions.is_empty() && !by.starts_with("bash") {
                    // Another shell than bash has no functions of its environment, and runs the programs of these names.
                    self.functions.clear();
                    self.script(&tree.script);
                }
                if has_arguments {
                    self.arguments.pop();
                }
                if let Some(functions) = functions {
                    self.assigned.end_shell();
                    self.functions = functions;
                }
                self.echo_escapes = outer_echo || is_here && self.echo_escapes;
                self.shell = outer;
                self.depth -= 1;
            }
            Err(_) => {
                // Not a program for a shell that is known; what its variables hold may be run.
                self.note_unpinned(|| format!("the code that `{by}` evaluates, which is not understood"));
                self.find_unclear(
                    self.holes_of_variables(),
                    &format!("the code that `{by}` evaluates is not understood"),
                );
            }
        }
    }
}

/// Whether what evaluates code is the shell itself that the script runs in.
fn runs_here(by: &str) -> bool {
    matches!(by, "eval" | "trap" | "." | "source")
}

/// Whether a text names variables or arguments, as code of a shell does.
fn names_values(text: &str) -> bool {
    let is_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_{@*".contains(c));
    text.split('$').skip(1).any(is_name) || text.contains("((")
}

/// The value in `NAME=value`.
pub(super) fn behind_name(text: &Text) -> Option<Text> {
    let (_, before) = beginning(text).split_once('=')?;
    let mut value = Text::new();
    std::iter::once(&Atom::text(before)).chain(&text[1..]).for_each(|atom| value::push(&mut value, atom.clone()));
    Some(value)
}
