//! Which variables certainly have a value where the walk stands.
//!
//! What may not have run assigns nothing: a branch, a loop, what stands behind `&&`, a function that was not called, another shell.
//! There the variable may be empty, so that `$CMD perl -e …` runs `perl`, and `"$DIRECTORY{X}"` begins with the value.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::value::{Atom, Cut, Tag, is_absent};
use super::{Flow, Input};
use crate::script::{Command, Form, Joint, Script, Word};

/// How far into functions it is followed whether they come back.
const DEEPEST: usize = 4;

/// What is certainly assigned, by shell: those around the one that is walked come first.
#[derive(Debug)]
pub(super) struct Assigned {
    shells: Vec<Shell>,
    /// Variables that are unset somewhere.
    unset: HashSet<Arc<str>>,
    /// Names that are not known are unset somewhere.
    unsets_any: bool,
    /// Variables that only the environment of the command has that is being walked.
    passed: Vec<Arc<str>>,
    /// What the script got in its environment.
    given: HashSet<Arc<str>>,
}

/// One shell.
#[derive(Debug, Default)]
struct Shell {
    names: HashSet<Arc<str>>,
    /// The names in the order in which they came, so that those can be taken back that may not have been assigned.
    order: Vec<Arc<str>>,
    /// Where the constructs begin, in that order, whose commands may not run.
    regions: Vec<usize>,
    calls: Vec<Call>,
}

/// A call of a function.
#[derive(Debug)]
struct Call {
    /// It is one of a function, and not of a script that is read.
    is_function: bool,
    /// How many regions are around it.
    regions: usize,
    /// How much was assigned before.
    begin: usize,
    /// What was assigned behind this may not have been, because the function may have come back before.
    kept: usize,
    /// The variables that are its own, each with whether one of that name was assigned around it.
    locals: HashMap<Arc<str>, bool>,
}

impl Default for Assigned {
    fn default() -> Self {
        Self {
            shells: vec![Shell::default()],
            unset: HashSet::new(),
            unsets_any: false,
            passed: Vec::new(),
            given: HashSet::new(),
        }
    }
}

impl Assigned {
    pub(super) fn begin_pass(&mut self) {
        let shell = Shell { names: self.given.clone(), ..Shell::default() };
        self.shells = vec![shell];
        self.passed.clear();
    }

    /// Notes what the script gets in its environment.
    pub(super) fn give(&mut self, name: &str) {
        self.given.insert(name.into());
    }

    fn shell(&mut self) -> &mut Shell {
        if self.shells.is_empty() {
            self.shells.push(Shell::default());
        }
        let last = self.shells.len() - 1;
        &mut self.shells[last]
    }

    /// Notes that a variable has a value from here on.
    pub(super) fn add(&mut self, name: &str) {
        let shell = self.shell();
        if !shell.names.contains(name) {
            let name: Arc<str> = name.into();
            shell.names.insert(Arc::clone(&name));
            shell.order.push(name);
        }
    }

    /// Notes that the function that is walked has a variable of its own, which has no value yet.
    pub(super) fn add_local(&mut self, name: &str) {
        let shell = self.shell();
        let was_assigned = shell.names.remove(name);
        if let Some(call) = shell.calls.last_mut() {
            call.locals.entry(name.into()).or_insert(was_assigned);
        }
    }

    /// Notes that the keys of an array are text from here on, or are not.
    pub(super) fn set_keys(&mut self, array: &str, are_text: bool, is_local: bool) {
        let name = keys_of(array);
        if is_local {
            self.add_local(&name);
        }
        if are_text {
            self.add(&name);
        } else {
            self.shell().names.remove(name.as_str());
        }
    }

    /// Whether the keys of an array are certainly text.
    fn has_text_keys(&self, array: &str) -> bool {
        let name = keys_of(array);
        !self.unsets_any
            && !self.unset.contains(name.as_str())
            && self.shells.last().is_some_and(|shell| shell.names.contains(name.as_str()))
    }

    /// Whether a function is walked.
    pub(super) fn is_in_function(&mut self) -> bool {
        self.shell().calls.iter().any(|call| call.is_function)
    }

    /// Whether the walk stands in a function, in its own shell and where nothing around the command decides whether it runs.
    pub(super) fn is_certain_in_function(&mut self) -> bool {
        let shell = self.shell();
        shell.calls.last().is_some_and(|call| call.is_function && call.regions == shell.regions.len())
    }

    /// Notes that a variable is unset; tells whether that was not known.
    pub(super) fn unset(&mut self, name: Option<&str>) -> bool {
        match name {
            Some(name) => self.unset.insert(name.into()),
            None => !std::mem::replace(&mut self.unsets_any, true),
        }
    }

    /// What is walked from here to [`Self::leave`] may not run, or is another shell.
    pub(super) fn enter(&mut self) {
        let shell = self.shell();
        shell.regions.push(shell.order.len());
    }

    /// Takes back what was assigned since [`Self::enter`], and tells what that was.
    pub(super) fn leave(&mut self) -> Vec<Arc<str>> {
        let shell = self.shell();
        let begin = shell.regions.pop().unwrap_or(0).min(shell.order.len());
        let mut new = shell.order.split_off(begin);
        new.retain(|name| shell.names.remove(name));
        new
    }

    pub(super) fn begin_call(&mut self, is_function: bool) {
        let shell = self.shell();
        let (regions, begin) = (shell.regions.len(), shell.order.len());
        shell.calls.push(Call { is_function, regions, begin, kept: usize::MAX, locals: HashMap::new() });
    }

    pub(super) fn end_call(&mut self) {
        let shell = self.shell();
        let Some(call) = shell.calls.pop() else { return };
        if call.kept < shell.order.len() {
            for name in shell.order.split_off(call.kept) {
                shell.names.remove(&name);
            }
        }
        if call.locals.is_empty() || call.begin > shell.order.len() {
            return;
        }
        // The variables of the same names around it are as they were.
        let mut new = shell.order.split_off(call.begin);
        new.retain(|name| !call.locals.contains_key(name));
        shell.order.extend(new);
        for (name, was_assigned) in call.locals {
            if was_assigned {
                shell.names.insert(name);
            } else {
                shell.names.remove(&name);
            }
        }
    }

    /// `return`: what the function assigns from here on, it may not.
    pub(super) fn comes_back(&mut self) {
        let shell = self.shell();
        let here = shell.order.len();
        if let Some(call) = shell.calls.last_mut() {
            call.kept = call.kept.min(shell.regions.get(call.regions).copied().unwrap_or(here));
        }
    }

    /// A shell of its own begins, which has what is exported, and what its command was given.
    pub(super) fn begin_shell(&mut self) {
        let names = self.passed.iter().cloned().collect();
        self.shells.push(Shell { names, ..Shell::default() });
    }

    pub(super) fn end_shell(&mut self) {
        self.shells.pop();
    }

    /// Notes a variable that only the command that is walked has in its environment.
    pub(super) fn pass(&mut self, name: &str) {
        self.passed.push(name.into());
    }

    /// How many variables the commands being walked were given; [`Self::passed_back`] goes back to that.
    pub(super) fn passed(&self) -> usize {
        self.passed.len()
    }

    /// Whether a command that is being walked was given this variable.
    pub(super) fn is_passed(&self, name: &str) -> bool {
        self.passed.iter().any(|passed| &**passed == name)
    }

    pub(super) fn passed_back(&mut self, count: usize) {
        self.passed.truncate(count);
    }

    /// Whether a variable certainly has a value; `is_exported` when shells that are started have it.
    fn has(&self, name: &str, is_exported: bool) -> bool {
        if self.unsets_any || self.unset.contains(name) {
            return false;
        }
        let mut shells = self.shells.iter().rev();
        shells.next().is_some_and(|shell| shell.names.contains(name))
            || (is_exported || self.given.contains(name)) && shells.any(|shell| shell.names.contains(name))
    }
}

/// What stands among the names of variables for what the keys of an array are; no variable has such a name.
fn keys_of(array: &str) -> String {
    format!("{array}[]")
}

/// What may run of a command that chooses.
pub(super) struct Branch<'a> {
    scripts: &'a [&'a Script],
    /// Nothing behind the command runs then.
    ends: bool,
    /// The placeholder whose value is one of the author's own texts there.
    narrows: Option<Arc<str>>,
}

/// Whether a pattern of `case` stands for no other text.
fn is_plain_pattern(pattern: &Word) -> bool {
    pattern.literal().is_some_and(|text| !text.contains(['*', '?', '[', '(', '~', '<', '#', '^']))
}

impl Flow<'_> {
    /// Whether a variable may have no value here, whatever is assigned to it anywhere.
    pub(super) fn may_be_unset(&self, name: &str) -> bool {
        // Which files start is asked of what is there, not of what may be missing.
        if self.watches() {
            return false;
        }
        let is_exported = self.exports_all || self.variables.get(name).is_some_and(|variable| variable.is_exported);
        !self.assigned.has(name, is_exported)
    }

    /// Whether the keys of an array are text wherever the walk stands, and not arithmetic.
    pub(super) fn is_associative(&self, name: &str) -> bool {
        let is_declared = self.variables.get(name).is_some_and(|variable| variable.is_associative);
        is_declared && (self.watches() || self.assigned.has_text_keys(name))
    }

    /// Walks what may not run, or runs in a shell of its own; tells what it assigns.
    pub(super) fn perhaps<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> (T, Vec<Arc<str>>) {
        self.assigned.enter();
        let result = walk(self);
        let new = self.assigned.leave();
        (result, new)
    }

    /// Walks a script and what connects its commands; tells what it may print.
    pub(super) fn pipelines(&mut self, script: &Script) -> Input {
        let mut printed: Option<Input> = None;
        // What the command behind the last `&&` assigned, where nothing but a condition stands before it.
        let mut behind_and: Option<Vec<Arc<str>>> = None;
        let mut joint_before = Joint::After;
        let mut was_lookup = false;
        for pipeline in &script.pipelines {
            let is_certain = pipeline.joint == Joint::After && !pipeline.is_background;
            let new = if pipeline.is_coprocess {
                self.coprocess(&pipeline.stages)
            } else if is_certain {
                behind_and = None;
                self.pipeline(&pipeline.stages)
            } else {
                let (new, assigned) = self.perhaps(|flow| flow.pipeline(&pipeline.stages));
                match (pipeline.joint, behind_and.take()) {
                    (Joint::And, _) if joint_before == Joint::After && !pipeline.is_background => {
                        behind_and = Some(assigned);
                    }
                    // `condition && a=1 || a=2`, where one of them runs.
                    (Joint::Or, Some(before)) => {
                        let ends = self.ends(pipeline.stages.last(), 0);
                        let assigned: HashSet<Arc<str>> = assigned.into_iter().collect();
                        for name in &before {
                            if ends || assigned.contains(name) {
                                self.assigned.add(name);
                            }
                        }
                    }
                    _ => {}
                }
                new
            };
            joint_before = pipeline.joint;
            printed = Some(match printed {
                Some(before) if pipeline.joint == Joint::Or && was_lookup => found_or(before, new),
                Some(before) => self.then(before, new),
                None => new,
            });
            was_lookup = is_lookup(&pipeline.stages) && (was_lookup || joint_before == Joint::After);
            if self.lost.is_some() {
                break;
            }
        }
        printed.unwrap_or(Input::Clean)
    }

    /// Walks branches of which at most one runs, or exactly one.
    pub(super) fn branches(&mut self, branches: &[Branch<'_>], is_one_run: bool) -> Vec<Input> {
        let mut all = Vec::new();
        let mut in_each: Option<Vec<Arc<str>>> = None;
        for branch in branches {
            let known = self.narrowed.len();
            self.narrowed.extend(branch.narrows.clone());
            let (printed, assigned) =
                self.perhaps(|flow| branch.scripts.iter().map(|script| flow.script(script)).collect::<Vec<_>>());
            self.narrowed.truncate(known);
            all.extend(printed);
            if branch.ends {
                continue;
            }
            in_each = Some(match in_each {
                None => assigned,
                Some(before) => {
                    let assigned: HashSet<Arc<str>> = assigned.into_iter().collect();
                    before.into_iter().filter(|name| assigned.contains(name)).collect()
                }
            });
        }
        if is_one_run {
            in_each.unwrap_or_default().iter().for_each(|name| self.assigned.add(name));
        }
        all
    }

    /// `if`: the first condition runs, then at most one of what follows.
    pub(super) fn conditions(&mut self, scripts: &[Script]) -> Input {
        let Some((condition, rest)) = scripts.split_first() else { return Input::Clean };
        let mut all = vec![self.script(condition)];
        let Some((then, rest)) = rest.split_first() else { return all.remove(0) };
        let mut branches: Vec<Vec<&Script>> = vec![vec![then]];
        branches.extend(rest.chunks(2).map(|chunk| chunk.iter().collect()));
        let has_else = rest.len() % 2 == 1;
        let branches: Vec<Branch<'_>> = branches
            .iter()
            .map(|scripts| Branch {
                scripts,
                ends: self.ends(scripts.last().and_then(|script| last_of(script)), 0),
                narrows: None,
            })
            .collect();
        all.extend(self.branches(&branches, has_else));
        let mut printed = all.into_iter();
        let first = printed.next().unwrap_or(Input::Clean);
        printed.fold(first, |before, new| self.then(before, new))
    }

    /// `case`: what one of its arms prints.
    pub(super) fn arms(&mut self, subject: &Word, arms: &[(Vec<Word>, Script)]) -> Vec<Input> {
        let scripts: Vec<[&Script; 1]> = arms.iter().map(|(_, body)| [body]).collect();
        let name = self.placeholder(subject);
        let narrows = |patterns: &[Word]| name.clone().filter(|_| patterns.iter().all(is_plain_pattern));
        let branches: Vec<Branch<'_>> = scripts
            .iter()
            .zip(arms)
            .map(|(scripts, (patterns, body))| Branch {
                scripts,
                ends: self.ends(last_of(body), 0),
                narrows: narrows(patterns),
            })
            .collect();
        let fits_all = arms.iter().any(|(patterns, _)| patterns.iter().any(|word| word.literal() == Some("*")));
        self.branches(&branches, fits_all)
    }

    /// The placeholder whose value is all of a word.
    fn placeholder(&mut self, word: &Word) -> Option<Arc<str>> {
        let texts = self.single(word);
        let [text] = texts.as_slice() else { return None };
        let [Atom::Value { hole, cut: Cut::WHOLE }] = text.as_slice() else { return None };
        let hole = self.holes.get(*hole).filter(|hole| !hole.is_list && !hole.shown.is_empty())?;
        Some(Arc::from(&*hole.shown))
    }

    /// Whether nothing behind a command runs.
    fn ends(&self, command: Option<&Command>, depth: usize) -> bool {
        let Some(command) = command.filter(|_| depth < DEEPEST) else { return false };
        match &command.form {
            Form::Simple { words, .. } => match words.first().and_then(Word::literal) {
                Some(name) if self.functions.contains_key(name) => self.is_exit(name, depth + 1),
                Some("exit" | "return" | "break" | "continue") => true,
                Some("exec") => words.len() > 1,
                _ => false,
            },
            Form::Group(scripts) => self.ends(scripts.first().and_then(last_of), depth + 1),
            _ => false,
        }
    }

    /// Whether a function ends the script, whatever its commands do.
    fn is_exit(&self, name: &str, depth: usize) -> bool {
        let Some(Form::Group(scripts)) = self.functions.get(name).map(|body| &body.form) else { return false };
        let stays = |command: &Command| match &command.form {
            Form::Simple { words, .. } => {
                !matches!(words.first().and_then(Word::literal), Some("return" | "break" | "continue" | "eval"))
            }
            _ => false,
        };
        scripts.iter().flat_map(Script::commands).all(stays) && self.ends(scripts.first().and_then(last_of), depth)
    }
}

/// The command that a script ends with, when it runs wherever the script does.
fn last_of(script: &Script) -> Option<&Command> {
    let last = script.pipelines.last()?;
    (last.joint == Joint::After && !last.is_background && last.stages.len() == 1).then(|| &last.stages[0])
}

/// Whether a command prints where a program is, and nothing when there is none.
fn is_lookup(stages: &[Command]) -> bool {
    let [Command { form: Form::Simple { words, .. }, .. }] = stages else { return false };
    let words: Vec<Option<&str>> = words.iter().map(Word::literal).collect();
    matches!(words.as_slice(), [Some("command"), Some("-v"), Some(_)] | [Some("which"), Some(_)])
        || matches!(words.as_slice(), [Some("type"), Some("-p" | "-P"), Some(_)])
}

/// What is printed of a program where it is found, or else what another command prints.
fn found_or(found: Input, other: Input) -> Input {
    let Input::Texts(mut texts) = found else { return found.or(other) };
    texts.retain(|text| !is_absent(text));
    // A command that prints nothing leaves nothing.
    let other = if other == Input::Clean { Input::Texts(vec![vec![Atom::Unknown(Tag::Absent)]]) } else { other };
    Input::Texts(texts).or(other)
}
