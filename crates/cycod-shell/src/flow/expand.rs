//! What a word becomes: the texts that its variables may hold, the words they fall apart into.

use std::collections::HashMap;
use std::sync::Arc;

use super::value::{
    Atom, Cut, Field, Tag, Text, dedup, holes_among, holes_of, is_absent, literal, made_of, part_of, push, texts_among,
};
use super::{Flow, Input, Reason, Variable};
use crate::argv::{Item, split_template};
use crate::hole::{Format, Hole, Trust};
use crate::piece::{Kind, Mode, Shell};
use crate::script::{Command, Expansion, Form, Part, Pipeline, Redirect, Script, Target, Word};
use crate::track::{HOLE, Redirection, UNFOLLOWED};
use crate::verdict::{Guard, Rule};

/// How many texts a word or a variable may have before they are taken together.
const MOST_TEXTS: usize = 32;
/// How many pieces a text may have before it is only known whose values are in it.
const MOST_ATOMS: usize = 12;

/// Variables of bash that are numbers whatever its environment says, as long as the script leaves them alone.
const NUMBERS: [&str; 8] = ["BASHPID", "EPOCHSECONDS", "EUID", "LINENO", "PPID", "RANDOM", "SECONDS", "UID"];

/// Variables that are integers from the beginning, so that what is assigned to them is calculated: what `declare -pi` tells, and
/// what it tells once they are used. Source: bash 5.2, bash(1).
const INTEGERS: [&str; 12] = [
    "BASHPID",
    "EPOCHSECONDS",
    "EUID",
    "HISTCMD",
    "LINENO",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "UID",
    "COMP_POINT",
];
/// The same in zsh: what `typeset -i +m '*'` tells. Source: zsh 5.9, zshparam(1).
const INTEGERS_OF_ZSH: [&str; 27] = [
    "ARGC",
    "BAUD",
    "COLUMNS",
    "EGID",
    "EPOCHSECONDS",
    "ERRNO",
    "EUID",
    "FUNCNEST",
    "GID",
    "HISTCMD",
    "HISTSIZE",
    "KEYTIMEOUT",
    "LINENO",
    "LINES",
    "LISTMAX",
    "MAILCHECK",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SAVEHIST",
    "SECONDS",
    "SHLVL",
    "TMOUT",
    "TRY_BLOCK_ERROR",
    "TRY_BLOCK_INTERRUPT",
    "TTYIDLE",
    "UID",
];

/// Arrays of bash that say what the names of commands mean, by those names. Source: bash 5.2, bash(1).
const NAMES_OF_COMMANDS: [&str; 2] = ["BASH_ALIASES", "BASH_CMDS"];

/// A piece of a word that may fall apart.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Atom(Atom),
    /// One word ends, the next begins.
    Break,
    /// The word is there even when it is empty.
    Mark,
    /// Any number of such words.
    Several(Atom),
    /// These words.
    Fields(Arc<[Field]>),
}

type Pieces = Vec<Piece>;

impl Flow<'_> {
    /// The words that a word of a command becomes.
    pub(super) fn fields(&mut self, word: &Word) -> Vec<Field> {
        if let [Part::Text { text, quoted }] = word.parts.as_slice()
            && (*quoted || !text.contains('{'))
        {
            let word = if text.is_empty() { Text::new() } else { vec![Atom::Text(Arc::clone(text))] };
            return vec![Field::Word(word)];
        }
        let mut alternatives = Vec::new();
        for parts in self.braces(&word.parts) {
            let pieces = self.pieces(&parts, true).into_iter().flat_map(unglued);
            alternatives.push(Field::choice(pieces.map(|pieces| words_of(&pieces)).collect()));
        }
        alternatives.into_iter().flatten().collect()
    }

    /// What a word becomes where it stays one.
    pub(super) fn single(&mut self, word: &Word) -> Vec<Text> {
        if let [Part::Text { text, .. }] = word.parts.as_slice() {
            return vec![if text.is_empty() { Text::new() } else { vec![Atom::Text(Arc::clone(text))] }];
        }
        let mut texts: Vec<Text> = Vec::new();
        for pieces in self.pieces(&word.parts, false) {
            let text = joined(&pieces);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }

    /// Brace expansion, which bash and zsh do before anything else.
    fn braces(&self, parts: &[Part]) -> Vec<Vec<Part>> {
        let may = |part: &Part| matches!(part, Part::Text { text, quoted: false } if text.contains('{'));
        if self.shell == Shell::Sh || !parts.iter().any(may) {
            return vec![parts.to_vec()];
        }
        let mut done = Vec::new();
        let mut queue = vec![parts.to_vec()];
        while let Some(parts) = queue.pop() {
            match brace(&parts).filter(|_| done.len() + queue.len() < MOST_TEXTS) {
                Some(alternatives) => queue.extend(alternatives.into_iter().rev()),
                None => done.push(parts),
            }
        }
        done
    }

    fn pieces(&mut self, parts: &[Part], splits: bool) -> Vec<Pieces> {
        let mut all: Vec<Pieces> = vec![Vec::new()];
        for part in parts {
            let mut alternatives = self.part(part, splits);
            if alternatives.len() == 1 {
                let only = alternatives.remove(0);
                if let Some((last, others)) = all.split_last_mut() {
                    others.iter_mut().for_each(|pieces| pieces.extend(only.iter().cloned()));
                    last.extend(only);
                }
                continue;
            }
            if all.len() * alternatives.len() > MOST_TEXTS {
                // What stands before it stays known: it may be what makes the word data.
                let holes: Vec<usize> = alternatives.iter().flat_map(holes_in).collect();
                let may_fall_apart = splits && !is_quoted(part)
                    || alternatives.iter().flatten().any(|piece| !matches!(piece, Piece::Atom(_) | Piece::Mark));
                let wide = several(made_of(&holes), may_fall_apart);
                all.iter_mut().for_each(|pieces| pieces.extend(wide.iter().cloned()));
                continue;
            }
            all = all
                .iter()
                .flat_map(|before| alternatives.iter().map(move |after| before.iter().chain(after).cloned().collect()))
                .collect();
        }
        all
    }

    fn part(&mut self, part: &Part, splits: bool) -> Vec<Pieces> {
        match part {
            Part::Text { text, quoted } => {
                let mut pieces = vec![Piece::Atom(Atom::Text(Arc::clone(text)))];
                if *quoted {
                    pieces.push(Piece::Mark);
                }
                vec![pieces]
            }
            Part::Hole { hole, quoted } => self.hole(*hole, splits && !quoted),
            Part::Expansion(expansion) => self.expansion(expansion, splits && !expansion.quoted),
            Part::Output { script, quoted } => {
                self.outputs += 1;
                let tag = if makes_a_file(script) { Tag::New(self.outputs) } else { Tag::Output(self.outputs) };
                let outer = self.arguments.last().cloned();
                let printed = self.perhaps(|flow| flow.captured(script)).0;
                // A subshell cannot change the arguments of the script.
                if let (Some(outer), Some(arguments)) = (outer, self.arguments.last_mut()) {
                    *arguments = outer;
                }
                let is_open = splits && !quoted;
                match printed {
                    // zsh splits it too, though not what variables hold.
                    Input::Texts(texts) => self.all_inserted(texts, is_open, true, "$(…)"),
                    Input::Printed(holes) => {
                        vec![several(Atom::Output(holes.into()), is_open)]
                    }
                    // It fails, or prints a word.
                    Input::Clean if is_open && !self.watches() && self.prints_a_word(script) => {
                        vec![vec![Piece::Atom(Atom::Unknown(Tag::Number("$(…)".into())))], Vec::new()]
                    }
                    _ => vec![several(Atom::Unknown(tag), is_open)],
                }
            }
            Part::Process(script) => {
                // It reads what is written to it, or what it prints is read.
                let printed = self.perhaps(|flow| flow.captured(script)).0.holes();
                let mut pieces = vec![Piece::Mark];
                if self.watches() {
                    // What it holds is followed; nobody chooses its name.
                    pieces.push(Piece::Atom(Atom::text("/dev/fd/")));
                }
                pieces.push(Piece::Atom(Atom::Output(printed.into())));
                vec![pieces]
            }
            Part::Array(words) | Part::Pattern(words) => {
                let mut holes = Vec::new();
                for word in words {
                    for text in self.single(word) {
                        self.find_all(holes_of(&text), &Reason::Shell("a pattern"));
                        holes.extend(holes_of(&text));
                    }
                }
                vec![vec![Piece::Mark, Piece::Atom(made_of(&holes))]]
            }
            Part::Arithmetic(parts) => {
                self.arithmetic(parts);
                vec![vec![Piece::Mark, Piece::Atom(Atom::Unknown(Tag::Number("(())".into())))]]
            }
        }
    }

    /// Whether a script is one command that prints a single word without blanks, or nothing.
    fn prints_a_word(&self, script: &Script) -> bool {
        let [Pipeline { stages, is_background: false, .. }] = script.pipelines.as_slice() else { return false };
        let [Command { form: Form::Simple { assignments, words }, redirects, .. }] = stages.as_slice() else {
            return false;
        };
        let to_nothing = |redirect: &Redirect| match &redirect.target {
            Target::Word(word) => redirect.kind == Redirection::Output && word.literal() == Some("/dev/null"),
            Target::Document(_) => false,
        };
        let words: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
        assignments.is_empty()
            && redirects.iter().all(to_nothing)
            && words.is_some_and(|words| is_printer_of_a_word(&words) && !self.functions.contains_key(words[0]))
    }

    fn hole(&mut self, hole: usize, is_bare: bool) -> Vec<Pieces> {
        let Some(about) = self.holes.get(hole) else { return vec![vec![Piece::Atom(Atom::value(hole))]] };
        if about.mode == Mode::Raw {
            return vec![several(Atom::Unknown(Tag::Somewhere), is_bare)];
        }
        let value = Piece::Atom(Atom::value(hole));
        if !about.format.is_empty() {
            let formatted = formatted(hole, about, is_bare);
            return if about.vanishes { vec![Vec::new(), formatted] } else { vec![formatted] };
        }
        if !about.texts.is_empty() {
            let texts: Vec<Pieces> = about.texts.iter().map(|text| author(about, text, is_bare)).collect();
            return if texts.len() > MOST_TEXTS { vec![vec![value, Piece::Mark]] } else { texts };
        }
        if !is_bare {
            return vec![vec![value, Piece::Mark]];
        }
        let many = |count: usize| {
            let mut pieces = Vec::new();
            for index in 0..count {
                if index > 0 {
                    pieces.push(Piece::Break);
                }
                pieces.extend([value.clone(), Piece::Mark]);
            }
            pieces
        };
        match about.mode {
            _ if about.is_list => vec![vec![Piece::Several(Atom::value(hole))]],
            Mode::Arguments | Mode::Output => vec![vec![Piece::Several(Atom::value(hole))]],
            Mode::Bare if about.vanishes => vec![vec![], many(1)],
            Mode::Bare | Mode::Word | Mode::Fragment | Mode::Raw => vec![many(1)],
        }
    }

    /// What texts become of which one is there. A value may be empty, and then it is no word.
    fn all_inserted(&mut self, texts: Vec<Text>, is_open: bool, splits: bool, name: &str) -> Vec<Pieces> {
        let mut all = Vec::with_capacity(texts.len());
        for text in texts {
            let vanishes = is_open && self.is_of_values(&text);
            all.push(self.inserted(text, is_open, splits, name));
            if vanishes && !all.contains(&Vec::new()) {
                all.push(Vec::new());
            }
        }
        all
    }

    /// What one text becomes in the place of a variable or a command substitution.
    fn inserted(&mut self, text: Text, is_open: bool, splits: bool, name: &str) -> Pieces {
        if !is_open {
            return joined_pieces(&text);
        }
        let mut pieces = Vec::new();
        for atom in text {
            match &atom {
                Atom::Text(text) if splits && self.may_split_otherwise(text) => {
                    pieces.push(Piece::Several(Atom::Unknown(Tag::Somewhere)));
                }
                Atom::Text(text) if splits => pieces.extend(split(text)),
                // It is at least one word.
                Atom::Unknown(Tag::Given(_)) if splits => {
                    pieces.extend([Piece::Atom(atom.clone()), Piece::Break, Piece::Several(atom)]);
                }
                // No word, which those who read the words know.
                Atom::Unknown(Tag::Absent) => pieces.push(Piece::Atom(atom)),
                Atom::Value { hole, cut } if splits => {
                    self.split_guard(*hole, name);
                    // A character that divides its parts became a blank: `$(echo "$list" | tr , ' ')`.
                    pieces.push(if cut.is_joined() {
                        Piece::Several(Atom::Value { hole: *hole, cut: cut.one() })
                    } else {
                        Piece::Atom(atom)
                    });
                }
                Atom::Derived(holes) if splits => {
                    for &hole in holes.iter() {
                        self.split_guard(hole, name);
                    }
                    // What was made of a value may have blanks that the value has not: `${list//,/ }`, or two lines that hold it.
                    pieces.push(Piece::Several(atom));
                }
                Atom::Unknown(Tag::Number(_)) if !self.splits_otherwise => pieces.push(Piece::Atom(atom)),
                // A directory is one word where the author meant one.
                Atom::Unknown(Tag::Variable(_)) if self.watches() => pieces.push(Piece::Atom(atom)),
                Atom::Output(_) | Atom::Unknown(_) if splits => pieces.push(Piece::Several(atom)),
                _ => pieces.push(Piece::Atom(atom)),
            }
        }
        pieces
    }

    /// Whether `IFS` may be such that a text of the author's falls apart elsewhere than at blanks.
    fn may_split_otherwise(&self, text: &str) -> bool {
        self.splits_otherwise
            && self.separators.as_ref().is_none_or(|separators| text.contains(|c| separators.contains(c)))
    }

    /// A value in an expansion without quotes must not fall apart.
    fn split_guard(&mut self, hole: usize, name: &str) {
        if !self.is_text(hole) {
            return;
        }
        if self.splits_otherwise {
            return self
                .find(hole, Reason::Unclear("`IFS` is changed, and an expansion without quotes splits it".into()));
        }
        let guard = Guard { rule: Rule::Split, cut: Cut::WHOLE, program: name.into() };
        self.find_guarded(hole, Reason::Shell("an expansion without quotes"), Some(guard));
    }

    fn expansion(&mut self, expansion: &Expansion, is_open: bool) -> Vec<Pieces> {
        let name = expansion.name.as_str();
        if let Some(subscript) = &expansion.subscript {
            let name = name.trim_start_matches(['#', '!']);
            if matches!(expansion.operator.as_str(), "=" | ":=") {
                self.assigned_subscript(name, subscript);
            } else {
                self.subscript(name, subscript);
            }
        }
        // zsh has another name for the arguments.
        let (name, otherwise) = match name {
            "argv" if self.shell == Shell::Zsh => ("@", Some(if is_open { '@' } else { '*' })),
            "@" => (name, Some('@')),
            "*" => (name, Some('*')),
            name => (name, None),
        };
        let whole = expansion.subscript.as_deref().and_then(all_of).or(otherwise);
        if name.starts_with('#') && name.len() > 1 || matches!(name, "#" | "?" | "$") {
            return vec![vec![Piece::Mark, Piece::Atom(Atom::Unknown(Tag::Number(name.into())))]];
        }
        if name == UNFOLLOWED {
            let why = "zsh makes something else of a variable, which is not followed";
            self.find_unclear(self.holes_of_variables(), why);
            return vec![vec![Piece::Mark, Piece::Several(Atom::Unknown(Tag::Somewhere))]];
        }
        if matches!(name, "!" | "-") {
            return vec![vec![Piece::Mark, Piece::Atom(Atom::Unknown(Tag::Somewhere))]];
        }
        if let Some(indirect) = name.strip_prefix('!') {
            return self.indirect(indirect, expansion, whole, is_open);
        }
        if let Some(sign) = whole {
            let others = self.word_of_list(&expansion.operator, &expansion.word);
            return vec![self.list(name, sign, &expansion.operator, others, is_open)];
        }
        // Which element a subscript means is not followed.
        let values = self.values(name);
        if is_open
            && expansion.operator.is_empty()
            && expansion.subscript.is_none()
            && let Some(pieces) = self.list_in_text(name)
        {
            return pieces;
        }
        if expansion.operator.is_empty()
            && expansion.subscript.is_none()
            && let Some(pieces) = self.zsh_array(name, is_open)
        {
            return vec![pieces];
        }
        let texts = self.operated(name, values, expansion);
        let shown = format!("${name}");
        self.all_inserted(texts, is_open, self.shell != Shell::Zsh, &shown)
    }

    /// What the name of an array becomes; nothing when it is no array. In zsh that is all of its elements, of which empty ones
    /// vanish where there are no quotes.
    fn zsh_array(&mut self, name: &str, is_open: bool) -> Option<Pieces> {
        let variable = self.variables.get(name).filter(|_| self.shell == Shell::Zsh)?;
        if variable.lists.is_empty() && variable.elements.is_empty() {
            return None;
        }
        Some(self.list(name, if is_open { '@' } else { '*' }, "", Vec::new(), is_open))
    }

    /// Whether a text is made of nothing but values that may be any text.
    fn is_of_values(&self, text: &Text) -> bool {
        !text.is_empty() && text.iter().all(|atom| matches!(atom, Atom::Value { hole, .. } if self.is_text(*hole)))
    }

    /// A variable that collects words as text, `options="$options --name $name"`, where the shell splits it again.
    fn list_in_text(&mut self, name: &str) -> Option<Vec<Pieces>> {
        let variable = self.variables.get(name)?;
        let begins_word =
            |text: &Text| matches!(text.first(), Some(Atom::Text(text)) if text.starts_with([' ', '\t', '\n']));
        if variable.appended.is_empty() || !variable.appended.iter().all(begins_word) || self.shell == Shell::Zsh {
            return None;
        }
        let (appended, mut texts) = (variable.appended.clone(), variable.texts.clone());
        if texts.is_empty() || self.may_be_unset(name) {
            texts.push(Text::new());
        }
        let shown = format!("${name}");
        let added: Vec<Vec<Field>> = appended
            .into_iter()
            .flat_map(|text| unglued(self.inserted(text, true, true, &shown)))
            .map(|pieces| words_of(&pieces))
            .collect();
        let added = Piece::Fields(vec![Field::Many(added.into())].into());
        let whole = texts.into_iter().map(|text| {
            let mut pieces = self.inserted(text, true, true, &shown);
            pieces.extend([Piece::Break, added.clone(), Piece::Break]);
            pieces
        });
        Some(whole.collect())
    }

    /// The subscript of an element that gets a value.
    fn assigned_subscript(&mut self, name: &str, subscript: &[Part]) {
        self.subscript(name, subscript);
        for key in self.single(&Word { parts: subscript.to_vec(), span: 0..0 }) {
            self.add_key(name, key);
        }
    }

    /// A subscript is arithmetic, unless the array's keys are text.
    fn subscript(&mut self, name: &str, subscript: &[Part]) {
        let is_associative = self.variables.get(name).is_some_and(|variable| variable.is_associative);
        if all_of(subscript).is_some() {
            return;
        }
        if is_associative {
            let texts = self.single(&Word { parts: subscript.to_vec(), span: 0..0 });
            for text in &texts {
                self.find_all(holes_of(text), &Reason::Shell("a key"));
            }
        } else {
            self.arithmetic(subscript);
        }
    }

    /// `${!name}`: the value names a variable. `${!name[@]}`: the keys of an array.
    fn indirect(&mut self, name: &str, expansion: &Expansion, whole: Option<char>, is_open: bool) -> Vec<Pieces> {
        if let Some(sign) = whole {
            let keys = self.keys(name);
            return vec![self.listed(vec![Field::any_of(keys)], &format!("{{!{name}[@]}}"), sign, "", is_open)];
        }
        if matches!(expansion.operator.as_str(), "*" | "@") && expansion.word.is_empty() {
            return vec![vec![Piece::Mark, Piece::Atom(Atom::Unknown(Tag::Somewhere))]];
        }
        let mut all = Vec::new();
        for text in self.values(name) {
            let values = match literal(&text) {
                Some("@" | "*") => texts_among(&self.all_arguments()),
                // `array[0]`, `array[@]`
                Some(target) => {
                    let (name, subscript) = target.split_once('[').unwrap_or((target, ""));
                    self.names_in(&vec![Atom::text(subscript)]);
                    self.values(name)
                }
                None => {
                    self.guard_arithmetic(&holes_of(&text));
                    vec![vec![made_of(&self.holes_of_variables())]]
                }
            };
            let texts = self.operated(name, values, expansion);
            all.extend(texts.into_iter().map(|text| joined_pieces(&text)));
        }
        all
    }

    /// The keys of an array: numbers, where they are no text.
    fn keys(&self, name: &str) -> Vec<Text> {
        let mut keys = vec![vec![Atom::Unknown(Tag::Somewhere)]];
        if let Some(variable) = self.variables.get(name).filter(|variable| variable.is_associative) {
            keys.extend(variable.keys.iter().cloned());
            // `name=(key value …)`
            keys.extend(texts_among(variable.lists.iter().chain(&variable.elements).flatten()));
        }
        bounded(keys)
    }

    /// Notes a key of an array whose keys are text.
    pub(super) fn add_key(&mut self, name: &str, key: Text) {
        if self.shell == Shell::Bash && NAMES_OF_COMMANDS.contains(&name) {
            self.renames(literal(&key));
        }
        if self.variables.get(name).is_some_and(|variable| variable.is_associative) {
            self.add(name, |variable| &mut variable.keys, key);
        }
    }

    /// Every text that a variable, or an argument, may hold.
    pub(super) fn values(&mut self, name: &str) -> Vec<Text> {
        if name.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() {
            return self.argument(name.parse().unwrap_or(usize::MAX));
        }
        // The last word of the command before, and the command itself.
        if matches!(name, "_" | "BASH_COMMAND" | "BASH_EXECUTION_STRING" | "BASH_ARGV") {
            let all: Vec<usize> = (0..self.holes.len()).collect();
            return vec![vec![made_of(&all)]];
        }
        // Where things are searched for grows out of itself; each part of it is seen where it is assigned.
        let variable = self.variables.get(name).filter(|_| !(self.watches() && name.ends_with("PATH")));
        let Some(variable) = variable else {
            let is_number = self.shell == Shell::Bash && NUMBERS.contains(&name) && !self.watches();
            let tag = if is_number { Tag::Number } else { Tag::Variable };
            return vec![vec![Atom::Unknown(tag(name.into()))]];
        };
        let mut texts = variable.texts.clone();
        if self.may_be_unset(name) {
            texts.push(Text::new());
        }
        // The name of an array alone is its first element.
        texts.extend(texts_among(variable.lists.iter().chain(&variable.elements).flatten()));
        if !variable.appended.is_empty() {
            let mut holes: Vec<usize> =
                texts.iter().chain(&variable.appended).flat_map(|text| holes_of(text)).collect();
            holes.sort_unstable();
            holes.dedup();
            if holes.is_empty() {
                texts.push(vec![Atom::Unknown(Tag::Somewhere)]);
            } else {
                // Once appended, and any number of times.
                let once: Vec<Text> = texts
                    .iter()
                    .flat_map(|text| variable.appended.iter().map(move |more| (text, more)))
                    .take(MOST_TEXTS)
                    .map(|(text, more)| {
                        let mut text = text.clone();
                        more.iter().for_each(|atom| push(&mut text, atom.clone()));
                        text
                    })
                    .collect();
                texts.extend(once);
                // Begun by the author's text, it goes on with anything.
                let begun: Vec<Text> = texts
                    .iter()
                    .map(|text| {
                        let mut text: Text = text.iter().take(1).cloned().collect();
                        text.extend([Atom::text(" "), Atom::Derived(holes.clone().into())]);
                        text
                    })
                    .collect();
                texts.extend(begun);
            }
        }
        bounded(texts)
    }

    /// `$1` and its siblings.
    fn argument(&mut self, number: usize) -> Vec<Text> {
        if number == 0 {
            return bounded(self.zero());
        }
        let arguments = self.arguments.last().cloned().unwrap_or_default();
        if arguments.is_unknown {
            return vec![vec![Atom::Unknown(Tag::Somewhere)]];
        }
        let mut texts = Vec::new();
        if self.may_have_no_arguments() {
            texts.push(Text::new());
        }
        let is_plain = arguments.appended.is_empty() && !arguments.shifted;
        for list in &arguments.lists {
            let is_simple = list.iter().take(number).all(|field| matches!(field, Field::Word(_)));
            match list.get(number - 1) {
                Some(Field::Word(text)) if is_plain && is_simple => texts.push(text.clone()),
                None if is_plain && is_simple && list.iter().all(|field| matches!(field, Field::Word(_))) => {
                    texts.push(Text::new());
                }
                _ => texts.extend(texts_among(list)),
            }
        }
        texts.extend(texts_among(arguments.appended.iter().flatten()));
        bounded(texts)
    }

    /// What `$0` may be: in a function it is that of the shell around it.
    fn zero(&self) -> Vec<Text> {
        let mut texts = self.arguments.iter().rev().find_map(|arguments| arguments.zero.clone()).unwrap_or_default();
        // bash: what is assigned to this variable becomes `$0`.
        texts.extend(self.variables.get("BASH_ARGV0").into_iter().flat_map(|variable| variable.texts.iter().cloned()));
        if texts.is_empty() {
            texts.push(vec![Atom::Unknown(Tag::Variable("0".into()))]);
        }
        texts
    }

    /// The arguments of the script or function, as words.
    pub(super) fn all_arguments(&self) -> Vec<Field> {
        let Some(arguments) = self.arguments.last() else { return Vec::new() };
        if arguments.is_unknown {
            return vec![Field::Many(vec![vec![Field::Word(vec![Atom::Unknown(Tag::Somewhere)])]].into())];
        }
        let fields = list_fields(&arguments.lists, &arguments.appended, arguments.shifted);
        if self.may_have_no_arguments() { Field::choice(vec![fields, Vec::new()]) } else { fields }
    }

    /// Whether the script has set its own arguments where that may not have run.
    fn may_have_no_arguments(&self) -> bool {
        let is_set = self.arguments.first().is_some_and(|arguments| !arguments.lists.is_empty());
        self.arguments.len() == 1 && is_set && self.may_be_unset("@")
    }

    /// What the word behind the operator of a list becomes.
    fn word_of_list(&mut self, operator: &str, word: &[Part]) -> Vec<Text> {
        match operator {
            "" => Vec::new(),
            ":" => {
                self.arithmetic(word);
                Vec::new()
            }
            _ => {
                let texts = self.single(&Word { parts: word.to_vec(), span: 0..0 });
                self.note_shell(&texts, "the word of an expansion");
                texts
            }
        }
    }

    /// The elements of `name[@]`, or the arguments; `others` is the word behind the operator.
    fn list(&mut self, name: &str, sign: char, operator: &str, others: Vec<Text>, is_open: bool) -> Pieces {
        let mut fields = match (name, self.variables.get(name)) {
            ("@" | "*", _) => self.all_arguments(),
            (_, Some(variable)) => {
                let mut lists = variable.lists.clone();
                lists.extend(variable.texts.iter().map(|text| vec![Field::Word(text.clone())]));
                if self.may_be_unset(name) && !lists.is_empty() {
                    lists.push(Vec::new());
                }
                list_fields(&lists, &variable.elements, false)
            }
            (_, None) => vec![Field::Many(vec![vec![Field::Word(vec![Atom::Unknown(Tag::Somewhere)])]].into())],
        };
        if operator == ":" && matches!(name, "@" | "*") {
            // `${@:0}` begins with `$0`.
            let zero = self.zero().into_iter().filter(|text| !holes_of(text).is_empty());
            fields.extend(zero.map(Field::Word));
        }
        if operator == "@" {
            // `${name[@]@K}` has the keys, too.
            fields.extend(self.keys(name).into_iter().map(Field::Word));
        }
        fields.extend(others.into_iter().filter(|text| !holes_of(text).is_empty()).map(Field::Word));
        let shown = if matches!(name, "@" | "*") { name.to_owned() } else { format!("{{{name}[@]}}") };
        self.listed(fields, &shown, sign, operator, is_open)
    }

    /// What a list of words becomes.
    fn listed(&mut self, fields: Vec<Field>, shown: &str, sign: char, operator: &str, is_open: bool) -> Pieces {
        let holes = holes_among(&fields);
        if is_open && self.shell != Shell::Zsh {
            let shown = format!("${shown}");
            for &hole in &holes {
                self.split_guard(hole, &shown);
            }
        }
        if sign == '*' && !is_open {
            return vec![Piece::Mark, Piece::Atom(made_of(&holes))];
        }
        match operator {
            "" => vec![Piece::Fields(fields.into())],
            // A part of the list, or what a default gives: its words in any order.
            ":" | ":-" | "-" | ":+" | "+" => vec![Piece::Fields(vec![Field::any_of(texts_among(&fields))].into())],
            _ => vec![Piece::Several(made_of(&holes))],
        }
    }

    /// What `${name…}` makes of the values.
    fn operated(&mut self, name: &str, values: Vec<Text>, expansion: &Expansion) -> Vec<Text> {
        let operator = expansion.operator.as_str();
        if operator.is_empty() {
            return values;
        }
        let word = Word { parts: expansion.word.clone(), span: 0..0 };
        let holes: Vec<usize> = values.iter().flat_map(|text| holes_of(text)).collect();
        let cut = |how: Option<Cut>| -> Vec<Text> {
            values
                .iter()
                .map(|text| how.and_then(|how| cut_text(text, how)).unwrap_or_else(|| vec![part_of(text)]))
                .collect()
        };
        match operator {
            ":-" | "-" | ":=" | "=" | ":+" | "+" | ":?" | "?" => {
                let others = self.single(&word);
                for text in &others {
                    self.find_all(holes_of(text), &Reason::Shell("the word of an expansion"));
                }
                if operator.ends_with('=') {
                    others.iter().for_each(|text| self.assign(name, text.clone()));
                }
                if operator.ends_with('?') {
                    // It says this on the standard error.
                    let holes: Vec<usize> = others.iter().flat_map(|text| holes_of(text)).collect();
                    self.speak(&holes);
                }
                let values = if operator.starts_with(':') && !self.watches() { given(values) } else { values };
                let mut texts = match operator {
                    ":?" | "?" => values,
                    ":+" | "+" => {
                        let mut others = others;
                        others.push(Text::new());
                        others
                    }
                    _ => values.into_iter().chain(others).collect(),
                };
                dedup(&mut texts);
                texts
            }
            "#" | "##" | "%" | "%%" => {
                let patterns = self.single(&word);
                for text in &patterns {
                    self.find_all(holes_of(text), &Reason::Shell("the pattern of an expansion"));
                }
                if operator.starts_with('%')
                    && self.watches()
                    && patterns.iter().any(|text| literal(text) == Some("/*"))
                {
                    let parents = values.iter().map(super::watch::parent);
                    return parents.map(|path| path.unwrap_or_else(|| vec![Atom::Unknown(Tag::Somewhere)])).collect();
                }
                if operator.starts_with('%') {
                    return cut(Some(Cut::BEGINNING));
                }
                cut(match patterns.as_slice() {
                    [pattern] => literal(pattern).and_then(behind_pattern),
                    _ => None,
                })
            }
            ":" => {
                self.arithmetic(&expansion.word);
                let from_start = word.literal().is_some_and(|text| text.trim().starts_with("0:"));
                cut(from_start.then_some(Cut::BEGINNING))
            }
            "^" | "," | "~" => cut(Some(Cut::BEGINNING)),
            "@" => match word.literal() {
                Some("@U" | "@u" | "@L" | "U" | "u" | "L") => cut(Some(Cut::BEGINNING)),
                Some("@P" | "P") => {
                    let by: Arc<str> = format!("${{{name}@P}}").into();
                    self.find_all(holes, &Reason::Evaluated { by });
                    cut(None)
                }
                _ => cut(None),
            },
            _ => {
                if operator.starts_with('/')
                    && let Some(how) = substituted(&word.parts)
                {
                    return cut(Some(how));
                }
                let mut all = holes;
                for text in self.single(&word) {
                    self.find_all(holes_of(&text), &Reason::Shell("the word of an expansion"));
                    all.extend(holes_of(&text));
                }
                vec![vec![made_of(&all)]]
            }
        }
    }

    // Assignments.

    /// `name=value`, `name+=value`, `name[…]=value`, `name=( … )`, alone or for the environment of one command.
    pub(super) fn assignment(&mut self, word: &Word, is_exported: bool) {
        let Some(Part::Text { text: head, .. }) = word.parts.first() else { return };
        let (name, rest): (String, Vec<Part>) = match head.split_once('=') {
            Some((name, value)) if !name.contains('[') => {
                let mut rest = vec![Part::Text { text: value.into(), quoted: false }];
                rest.extend(word.parts[1..].iter().cloned());
                (name.to_owned(), rest)
            }
            _ => {
                // A subscript: what is in it, then the value.
                let Some((name, _)) = head.split_once('[') else { return };
                if let Some(Part::Arithmetic(subscript)) = word.parts.get(1) {
                    self.assigned_subscript(name, subscript);
                }
                let name = name.to_owned();
                for text in self.single(&behind_subscript(word.parts.get(2..).unwrap_or_default())) {
                    self.note_assigned(&name, &text, is_exported);
                    self.assigns_zsh(&name);
                    let element = vec![Field::Word(text)];
                    self.add(&name, |variable| &mut variable.elements, element);
                }
                return;
            }
        };
        let appends = name.ends_with('+');
        let name = name.trim_end_matches('+').to_owned();
        if let Some(words) =
            rest.iter().find_map(|part| if let Part::Array(words) = part { Some(words.clone()) } else { None })
        {
            return self.assign_list(&name, &words, appends);
        }
        // `list="$list more"` appends.
        let starts_with_itself = matches!(rest.as_slice(), [Part::Text { text, .. }, Part::Expansion(own), ..]
            if text.is_empty() && own.name == name && own.operator.is_empty() && own.subscript.is_none());
        let value = if starts_with_itself { rest[2..].to_vec() } else { rest };
        let texts = self.single(&Word { parts: value, span: 0..0 });
        for text in texts {
            self.note_assigned(&name, &text, is_exported);
            if appends || starts_with_itself {
                if !text.is_empty() {
                    self.add_text(&name, text, true);
                }
            } else {
                self.assign(&name, text);
            }
        }
    }

    fn note_assigned(&mut self, name: &str, text: &Text, is_exported: bool) {
        self.variable_of_environment(name, &holes_of(text), is_exported);
        self.loaded_by(name, text, is_exported);
        self.note_variable(name, text);
        if self.is_calculated(name) {
            self.calculated_text(text);
        }
    }

    fn calculates_list(&mut self, name: &str, fields: &[Field]) {
        if self.is_calculated(name) {
            texts_among(fields).iter().for_each(|text| self.calculated_text(text));
        }
    }

    /// Whether the shell calculates what a variable is to hold.
    fn is_calculated(&self, name: &str) -> bool {
        let numbers: &[&str] = match self.shell {
            Shell::Bash => &INTEGERS,
            Shell::Zsh => &INTEGERS_OF_ZSH,
            _ => &[],
        };
        numbers.contains(&name) || self.variables.get(name).is_some_and(|variable| variable.is_integer)
    }

    fn assign_list(&mut self, name: &str, words: &[Word], appends: bool) {
        let mut fields = Vec::new();
        let mut appends = appends;
        for (index, word) in words.iter().enumerate() {
            let is_itself = matches!(word.parts.as_slice(), [Part::Expansion(own)]
                if own.name == name && own.operator.is_empty() && own.subscript.as_deref().and_then(all_of).is_some());
            if is_itself && index == 0 {
                appends = true;
                continue;
            }
            if is_itself {
                // Words of the list, in any order: the list that is made here is one of those that it may be.
                let known = self.variables.get(name).cloned().unwrap_or_default();
                let mut texts = texts_among(known.lists.iter().chain(&known.elements).flatten());
                texts.extend(known.texts);
                fields.push(Field::any_of(bounded(texts)));
                continue;
            }
            // `[key]=value`
            if let [Part::Text { text, .. }, Part::Arithmetic(subscript), rest @ ..] = word.parts.as_slice()
                && &**text == "["
            {
                self.assigned_subscript(name, subscript);
                let texts = self.single(&behind_subscript(rest));
                fields.extend(Field::choice(texts.into_iter().map(|text| vec![Field::Word(text)]).collect()));
                continue;
            }
            fields.extend(self.fields(word));
        }
        let holes = holes_among(&fields);
        self.assigns_zsh(name);
        self.calculates_list(name, &fields);
        self.variable_of_environment(name, &holes, false);
        if appends {
            self.add(name, |variable| &mut variable.elements, fields);
        } else {
            self.add(name, |variable| &mut variable.lists, fields);
            self.assigned.add(name);
        }
    }

    pub(super) fn assign(&mut self, name: &str, text: Text) {
        self.assigns_zsh(name);
        if name == "IFS" && !keeps_words(&text) {
            let why = "it would be in `IFS`, which says where the script's words fall apart";
            self.find_unclear(holes_of(&text), why);
            self.splits_otherwise = true;
            let other = literal(&text).map(str::to_owned);
            self.separates(other.as_deref());
        }
        if self.is_calculated(name) {
            self.calculated_text(&text);
        }
        self.assigned.add(name);
        self.add_text(name, text, false);
    }

    /// Notes what `IFS` may be.
    fn separates(&mut self, characters: Option<&str>) {
        let before = self.separators.clone();
        self.separators = before.clone().zip(characters).map(|(mut known, new)| {
            known.extend(
                new.chars().chain(" \t\n".chars()).filter(|c| !before.as_ref().is_some_and(|b| b.contains(*c))),
            );
            known
        });
        self.has_grown |= self.separators != before;
    }

    /// Adds a text that a variable may hold, or that is appended to it. When there are many, or when they grow out of each other, it
    /// is only known whose values are in them.
    fn add_text(&mut self, name: &str, mut text: Text, is_appended: bool) {
        self.note_changed(name);
        if text.len() > MOST_ATOMS || self.widens && !self.knows_text(name, &text) {
            text = vec![part_of(&text)];
        }
        let variable = variable_in(&mut self.variables, name);
        let known = if is_appended { &mut variable.appended } else { &mut variable.texts };
        if known.contains(&text) {
            return;
        }
        if known.len() < MOST_TEXTS {
            known.push(text);
            self.has_grown = true;
            return;
        }
        // The last one stands for all, once there are too many.
        let new = holes_of(&text);
        let of_all = match known.get(MOST_TEXTS) {
            Some(all) => {
                let of_all = holes_of(all);
                if new.iter().all(|hole| of_all.binary_search(hole).is_ok()) {
                    return;
                }
                of_all
            }
            None => known.iter().flat_map(|text| holes_of(text)).collect(),
        };
        known.truncate(MOST_TEXTS);
        known.push(vec![made_of(&[of_all, new].concat())]);
        self.has_grown = true;
    }

    fn knows_text(&self, name: &str, text: &Text) -> bool {
        self.variables
            .get(name)
            .is_some_and(|variable| variable.texts.contains(text) || variable.appended.contains(text))
    }

    fn add<T: PartialEq>(&mut self, name: &str, of: impl Fn(&mut Variable) -> &mut Vec<T>, new: T) {
        self.note_changed(name);
        let variable = variable_in(&mut self.variables, name);
        let known = of(variable);
        if known.contains(&new) {
            return;
        }
        if known.len() >= MOST_TEXTS * 4 {
            return self.lose("a variable in it is assigned in too many ways");
        }
        known.push(new);
        self.has_grown = true;
    }

    /// Assigns a list that is made outside of an assignment, as `mapfile` does.
    pub(super) fn assign_fields(&mut self, name: &str, fields: Vec<Field>) {
        self.calculates_list(name, &fields);
        self.add(name, |variable| &mut variable.lists, fields);
        self.assigned.add(name);
    }

    /// Notes what `declare` says about a variable.
    pub(super) fn declare(&mut self, name: &str, options: &str) {
        let is_zsh = self.shell == Shell::Zsh;
        let variable = variable_in(&mut self.variables, name);
        let is = |variable: &Variable| {
            (variable.is_integer, variable.is_array, variable.is_associative, variable.is_exported)
        };
        let before = is(variable);
        // zsh: a number with a point is calculated as well.
        variable.is_integer |= options.contains('i') || is_zsh && options.contains(['E', 'F']);
        variable.is_array |= options.contains(['a', 'A']);
        variable.is_associative |= options.contains('A');
        variable.is_exported |= options.contains('x');
        self.has_grown |= before != is(variable);
    }
}

/// What is left of the texts of a variable where it is not empty.
fn given(values: Vec<Text>) -> Vec<Text> {
    let there = values.into_iter().filter(|text| !text.is_empty() && !is_absent(text));
    there
        .map(|text| match text.as_slice() {
            [Atom::Unknown(Tag::Variable(name))] => vec![Atom::Unknown(Tag::Given(Arc::clone(name)))],
            _ => text,
        })
        .collect()
}

fn variable_in<'v>(variables: &'v mut HashMap<Arc<str>, Variable>, name: &str) -> &'v mut Variable {
    variables.entry(name.into()).or_default()
}

/// A value with the words that its author puts around it.
fn formatted(hole: usize, about: &Hole<'_>, is_bare: bool) -> Pieces {
    let text: String = about
        .format
        .iter()
        .map(|part| match part {
            Format::Text(text) => text.to_string(),
            Format::Value => char::from(HOLE).to_string(),
        })
        .collect();
    let value = [Piece::Mark, Piece::Atom(Atom::value(hole))];
    let mut pieces = Vec::new();
    if !is_bare {
        for (index, text) in text.split(char::from(HOLE)).enumerate() {
            if index > 0 {
                pieces.extend(value.clone());
            }
            pieces.push(Piece::Atom(Atom::text(text)));
        }
        return pieces;
    }
    if text.starts_with([' ', '\t', '\n']) {
        pieces.push(Piece::Break);
    }
    // The form was looked at before: it splits.
    for (index, (items, _)) in split_template(&text).unwrap_or_default().into_iter().enumerate() {
        if index > 0 {
            pieces.push(Piece::Break);
        }
        let mut word = String::new();
        for item in items {
            match item {
                Item::Character(character) => word.push(character),
                Item::Alone(_) | Item::Hole(_) => {
                    pieces.push(Piece::Atom(Atom::text(&std::mem::take(&mut word))));
                    pieces.extend(value.clone());
                }
            }
        }
        pieces.extend([Piece::Atom(Atom::text(&word)), Piece::Mark]);
    }
    if text.ends_with([' ', '\t', '\n']) {
        pieces.push(Piece::Break);
    }
    pieces
}

fn author(about: &Hole<'_>, text: &str, is_bare: bool) -> Pieces {
    if is_bare && about.kind == Kind::Enum && about.trust == Trust::Author {
        return split(text);
    }
    if is_bare && text.is_empty() && about.vanishes {
        return Vec::new();
    }
    vec![Piece::Atom(Atom::text(text)), Piece::Mark]
}

/// Where a text falls apart at blanks.
fn split(text: &str) -> Pieces {
    let mut pieces = Vec::new();
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n');
    if text.starts_with(blank) {
        pieces.push(Piece::Break);
    }
    for (index, word) in text.split(blank).filter(|word| !word.is_empty()).enumerate() {
        if index > 0 {
            pieces.push(Piece::Break);
        }
        pieces.push(Piece::Atom(Atom::text(word)));
    }
    if text.ends_with(blank) && !text.trim_matches(blank).is_empty() {
        pieces.push(Piece::Break);
    }
    pieces
}

/// What a word may be, each text once; when there are many, it is only known whose values are in them.
pub(super) fn bounded(mut texts: Vec<Text>) -> Vec<Text> {
    if texts.is_empty() {
        texts.push(Text::new());
    }
    dedup(&mut texts);
    if texts.len() > MOST_TEXTS {
        texts = vec![vec![made_of(&holes_of(&texts.concat()))]];
    }
    texts
}

/// Whether a part stands in quotes, where the shell divides no text into words.
fn is_quoted(part: &Part) -> bool {
    match part {
        Part::Text { quoted, .. } | Part::Hole { quoted, .. } | Part::Output { quoted, .. } => *quoted,
        Part::Expansion(expansion) => expansion.quoted,
        _ => false,
    }
}

fn several(atom: Atom, is_open: bool) -> Pieces {
    if is_open { vec![Piece::Several(atom)] } else { vec![Piece::Mark, Piece::Atom(atom)] }
}

fn holes_in(pieces: &Pieces) -> Vec<usize> {
    pieces
        .iter()
        .flat_map(|piece| match piece {
            Piece::Atom(atom) | Piece::Several(atom) => atom.holes().to_vec(),
            Piece::Fields(fields) => holes_among(fields),
            Piece::Break | Piece::Mark => Vec::new(),
        })
        .collect()
}

fn joined_pieces(text: &Text) -> Pieces {
    let mut pieces = vec![Piece::Mark];
    pieces.extend(text.iter().cloned().map(Piece::Atom));
    pieces
}

/// Spells out words of any number that are glued to other text: the first joins what stands before, the last what follows.
fn unglued(pieces: Pieces) -> Vec<Pieces> {
    let is_edge = |piece: Option<&Piece>| piece.is_none_or(|piece| matches!(piece, Piece::Break));
    let glued = pieces.iter().enumerate().position(|(index, piece)| {
        let before = index.checked_sub(1).and_then(|before| pieces.get(before));
        matches!(piece, Piece::Several(_)) && !(is_edge(before) && is_edge(pieces.get(index + 1)))
    });
    let Some(at) = glued else { return vec![pieces] };
    if pieces.iter().filter(|piece| matches!(piece, Piece::Several(_))).count() > 2 {
        // Too many ways to fall apart: any number of words of which it is only known whose values are in them.
        return vec![vec![Piece::Several(made_of(&holes_in(&pieces)))]];
    }
    let Piece::Several(atom) = &pieces[at] else { return vec![pieces] };
    let spelt = |count: usize| {
        let mut some: Pieces = pieces[..at].to_vec();
        for index in 0..count {
            if index > 0 {
                some.push(Piece::Break);
            }
            some.push(Piece::Atom(atom.clone()));
        }
        some.extend(pieces[at + 1..].iter().cloned());
        some
    };
    // Three words are like two with one that stands alone, and so are more.
    (0..=3).flat_map(|count| unglued(spelt(count))).collect()
}

/// Whether words still fall apart at blanks alone when `IFS` is this text: at some of them, or as before, where a script restores it.
fn keeps_words(text: &[Atom]) -> bool {
    match text {
        [Atom::Unknown(Tag::Variable(name) | Tag::Given(name))] => &**name == "IFS",
        text => literal(text).is_some_and(|text| text.chars().all(|c| " \t\n".contains(c))),
    }
}

/// The words that pieces make.
fn words_of(pieces: &Pieces) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut word = Text::new();
    let mut is_there = false;
    let end = |word: &mut Text, is_there: &mut bool, fields: &mut Vec<Field>| {
        if *is_there {
            // In quotes, nothing is an empty word.
            word.retain(|atom| *atom != Atom::Unknown(Tag::Absent));
        }
        if *is_there || !word.is_empty() {
            fields.push(Field::Word(std::mem::take(word)));
        }
        *is_there = false;
    };
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Atom(atom) => push(&mut word, atom.clone()),
            Piece::Mark => is_there = true,
            Piece::Break => end(&mut word, &mut is_there, &mut fields),
            Piece::Several(atom) => {
                end(&mut word, &mut is_there, &mut fields);
                fields.push(Field::Many(vec![vec![Field::Word(vec![atom.clone()])]].into()));
            }
            Piece::Fields(list) => {
                is_there = false;
                if word.is_empty()
                    && pieces.get(index + 1).is_none_or(|next| matches!(next, Piece::Break | Piece::Mark))
                {
                    fields.extend(list.iter().cloned());
                } else {
                    push(&mut word, made_of(&holes_among(list)));
                }
            }
        }
    }
    end(&mut word, &mut is_there, &mut fields);
    fields
}

/// The one word that pieces make where nothing falls apart.
fn joined(pieces: &Pieces) -> Text {
    let mut text = Text::new();
    for piece in pieces {
        match piece {
            Piece::Atom(atom) | Piece::Several(atom) => push(&mut text, atom.clone()),
            Piece::Break => push(&mut text, Atom::text(" ")),
            Piece::Mark => {}
            Piece::Fields(fields) => push(&mut text, made_of(&holes_among(fields))),
        }
    }
    text
}

/// What is left when what a pattern matches is taken from the front: it begins behind the pattern's last character, or is the
/// whole.
fn behind_pattern(pattern: &str) -> Option<Cut> {
    let last = pattern.chars().next_back().filter(|last| !"*?[]()\\".contains(*last))?;
    if pattern.len() == last.len_utf8() { Cut::without(last) } else { Cut::behind(last) }
}

/// What is left of a text that is cut, when it can be told.
pub(super) fn cut_text(text: &Text, how: Cut) -> Option<Text> {
    match text.as_slice() {
        [] => Some(Text::new()),
        [Atom::Value { hole, cut }] => Some(vec![Atom::Value { hole: *hole, cut: cut.and(how)? }]),
        [Atom::Output(holes)] => Some(vec![Atom::Output(holes.clone())]),
        [Atom::Unknown(_)] | [Atom::Text(_)] => Some(vec![Atom::Unknown(Tag::Somewhere)]),
        _ => None,
    }
}

/// Whether a script makes a new file, and prints its path.
fn makes_a_file(script: &Script) -> bool {
    let runs = |command: &Command, names: &[&str]| {
        let Form::Simple { words, .. } = &command.form else { return false };
        words.first().and_then(Word::literal).is_some_and(|name| names.contains(&name))
    };
    let mut commands = script.commands();
    commands.next().is_some_and(|first| runs(first, &["mktemp"]))
        && commands.all(|other| runs(other, &["exit", "return"]))
}

/// Whether a command prints a single word, or nothing: a number, a date, the name of a machine or of a commit.
fn is_printer_of_a_word(words: &[&str]) -> bool {
    match words {
        ["nproc" | "arch" | "hostname" | "uname"] | ["nproc", "--all"] | ["hostname", "-s"] => true,
        // Names of users and groups can have blanks where a directory service gives them.
        ["id", option] => matches!(*option, "-u" | "-g"),
        ["uname", option] => matches!(*option, "-m" | "-s" | "-r" | "-p" | "-n"),
        ["getconf", "_NPROCESSORS_ONLN"] | ["sysctl", "-n", "hw.ncpu" | "hw.logicalcpu" | "hw.physicalcpu"] => true,
        ["dpkg", "--print-architecture"] | ["git", "branch", "--show-current"] => true,
        ["go", "env", name] => matches!(*name, "GOOS" | "GOARCH" | "GOHOSTOS" | "GOHOSTARCH"),
        ["date", format] | ["date", "-u", format] => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:-%".contains(c);
            let mut directives = format.split('%').skip(1);
            format.strip_prefix('+').is_some_and(|format| !format.is_empty() && format.chars().all(is_plain))
                && directives.all(|behind| behind.starts_with(|c: char| "YmdHMSsFTjuyVNIGgUWw".contains(c)))
        }
        ["git", "rev-parse", options @ .., "HEAD"] => options
            .iter()
            .all(|option| matches!(*option, "--short" | "--verify" | "--abbrev-ref") || option.starts_with("--short=")),
        ["git", "describe", options @ ..] => options.iter().all(|option| option.starts_with("--")),
        _ => false,
    }
}

/// What `${name/pattern/text}` does to a text, when that is one character for another, or for none.
fn substituted(parts: &[Part]) -> Option<Cut> {
    let mut characters = Vec::new();
    // Within double quotes around it all, a pattern is a pattern.
    let is_within = parts.len() == 1;
    for part in parts {
        let Part::Text { text, quoted } = part else { return None };
        if is_within && text.contains(['"', '\'']) {
            return None;
        }
        let quoted = quoted & !is_within;
        let mut escapes = false;
        for character in text.chars() {
            if character == '\\' && !quoted && !escapes {
                escapes = true;
            } else {
                characters.push((character, quoted || escapes));
                escapes = false;
            }
        }
    }
    let characters = characters.strip_prefix(&[('/', false)])?;
    let characters = characters.strip_prefix(&[('/', false)]).unwrap_or(characters);
    let ((from, is_literal), rest) = characters.split_first()?;
    if !is_literal && "/*?[]()#%~!@+".contains(*from) {
        return None;
    }
    match rest {
        [] | [('/', false)] => Cut::taken(*from),
        [('/', false), (to, _)] => Cut::turned(*from, *to),
        _ => None,
    }
}

/// Lists that are assigned, followed by what is appended.
fn list_fields(lists: &[Vec<Field>], appended: &[Vec<Field>], shifted: bool) -> Vec<Field> {
    if shifted {
        // Every end of each list keeps its order; in a loop over the arguments any word may come next.
        let mut ends: Vec<Vec<Field>> = Vec::new();
        for list in lists {
            ends.extend((0..=list.len()).map(|from| list[from..].to_vec()));
        }
        if appended.is_empty() && ends.len() <= MOST_TEXTS {
            return Field::choice(ends);
        }
        return vec![Field::any_of(texts_among(lists.iter().chain(appended).flatten()))];
    }
    let mut fields = Field::choice(if lists.is_empty() { vec![Vec::new()] } else { lists.to_vec() });
    if !appended.is_empty() {
        fields.push(Field::Many(appended.to_vec().into()));
    }
    fields
}

/// The value behind `[…]` in an assignment: what follows `=` or `+=`.
fn behind_subscript(parts: &[Part]) -> Word {
    let mut parts = parts.to_vec();
    if let Some(Part::Text { text, .. }) = parts.first_mut() {
        *text = text.trim_start_matches('+').trim_start_matches('=').into();
    }
    Word { parts, span: 0..0 }
}

/// Whether a subscript stands for all elements.
fn all_of(subscript: &[Part]) -> Option<char> {
    match subscript {
        [Part::Text { text, .. }] if &**text == "@" => Some('@'),
        [Part::Text { text, .. }] if &**text == "*" => Some('*'),
        _ => None,
    }
}

/// Expands the first pair of braces that holds a comma, if there is one.
fn brace(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    /// The part and the byte in it.
    type At = (usize, usize);
    // The unquoted `{` that are open, each with the `,` behind it.
    let mut open: Vec<(At, Vec<At>)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let Part::Text { text, quoted: false } = part else { continue };
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'{' => open.push(((index, at), Vec::new())),
                b',' => {
                    if let Some((_, commas)) = open.last_mut() {
                        commas.push((index, at));
                    }
                }
                b'}' => {
                    // Pairs inside of others follow when these have been expanded.
                    let Some((start, commas)) = open.pop() else { continue };
                    if commas.is_empty() || !open.is_empty() {
                        continue;
                    }
                    let end = (index, at);
                    let mut cuts = vec![start];
                    cuts.extend(commas);
                    cuts.push(end);
                    let before = between(parts, (0, 0), start);
                    let after = between(parts, (end.0, end.1 + 1), (parts.len(), 0));
                    let alternatives = cuts.windows(2).map(|pair| {
                        let middle = between(parts, (pair[0].0, pair[0].1 + 1), pair[1]);
                        before.iter().chain(&middle).chain(&after).cloned().collect()
                    });
                    return Some(alternatives.collect());
                }
                _ => {}
            }
        }
    }
    None
}

/// The parts from one position to another.
fn between(parts: &[Part], from: (usize, usize), to: (usize, usize)) -> Vec<Part> {
    let mut out = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if index < from.0 || index > to.0 {
            continue;
        }
        match part {
            Part::Text { text, quoted } if index == from.0 || index == to.0 => {
                let start = if index == from.0 { from.1 } else { 0 };
                let end = if index == to.0 { to.1 } else { text.len() };
                if start < end {
                    out.push(Part::Text { text: text[start..end].into(), quoted: *quoted });
                }
            }
            _ if index == to.0 => {}
            part => out.push(part.clone()),
        }
    }
    out
}
