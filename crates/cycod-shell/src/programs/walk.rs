//! One interpreter for the option syntax of every program.
//!
//! It reads the words of a command one by one and tells what each is to the program. Several readings may be possible: an option
//! that is not listed may take the next word or not. A [`State`] is one of them, and a step from it leads to all that follow.

use std::sync::Arc;

use super::{
    CODE_PLACE, Known, Operand, Opt, Options, PROGRAM_PLACE, Place, PlaceKind, Syntax, TEXT_PLACE, Takes,
    UNDESCRIBED_PLACE, UNKNOWN_PLACE, Unlisted, WITHHELD, WITHHELD_PLACE,
};
use crate::flow::descriptors::source;
use crate::flow::value::{Atom, Text, beginning, literal};

/// Operands beyond this number are all like this one; no table says more.
const MOST_OPERANDS: usize = 8;

/// How many operands are kept for an option that may come behind them.
const MOST_EARLIER: usize = 16;

/// How far the words of one command have been read.
#[derive(Debug, Clone)]
pub(crate) struct State {
    entry: Known,
    /// The programs above a subcommand whose options count as well, the nearest last.
    above: Vec<Known>,
    /// The program and its subcommands, for people.
    label: Arc<str>,
    operand: usize,
    /// What the next words are, the next one last.
    pending: Vec<&'static Place<'static>>,
    /// The option that the pending words belong to.
    option: &'static str,
    /// No option is read any more.
    ended: bool,
    /// The program's own end of options was read, and `--` was not.
    passed_own_end: bool,
    /// How many operands stood behind `--`, once it was read.
    behind: Option<usize>,
    /// The program that gets the words which are not its own: the file that an interpreter runs, by its last name.
    runs: Option<Arc<str>>,
    /// `--` was among those words.
    runs_ended: bool,
    /// A `--` was among them that it may have taken away.
    dropped_end: bool,
    /// Options that were given, by bit of `Entry::watched`.
    seen: u32,
    is_first: bool,
    /// The first operand was `-`, which is standard input.
    names_input: bool,
    /// An option before is not listed, so that nothing behind it is proven.
    lost: Option<Arc<str>>,
    /// What was lost is the command: a value chooses it.
    is_chosen: bool,
    /// The words that follow belong to the one before.
    is_done: bool,
    /// The word before was the `{}` of `find`.
    is_behind_mark: bool,
    /// Operands with values, by their number: an option behind them may say what they are.
    earlier: Vec<(usize, Text)>,
    /// The command in whose arguments this one stands, up to `;`.
    outer: Option<Arc<State>>,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.entry, other.entry)
            && are_same(&self.above, &other.above)
            && (self.operand, self.option, self.ended, self.behind, self.seen)
                == (other.operand, other.option, other.ended, other.behind, other.seen)
            && are_same(&self.pending, &other.pending)
            && (self.is_first, self.names_input, self.passed_own_end)
                == (other.is_first, other.names_input, other.passed_own_end)
            && (&self.lost, self.is_done, self.is_behind_mark) == (&other.lost, other.is_done, other.is_behind_mark)
            && (&self.runs, self.runs_ended, self.dropped_end) == (&other.runs, other.runs_ended, other.dropped_end)
            && self.earlier == other.earlier
            && self.outer == other.outer
    }
}

impl Eq for State {}

/// Whether two lists are of the same parts of the tables.
fn are_same<T>(one: &[&T], other: &[&T]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| std::ptr::eq(*one, *other))
}

/// What a word, or a part of it, is to its program.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// It stands at a place.
    Place {
        place: &'static Place<'static>,
        /// The part of the word that stands there.
        text: &'a [Atom],
        /// An option would be read where the part begins.
        is_option_read: bool,
        /// The option it is the argument of; empty for an operand.
        option: &'static str,
    },
    /// A value is part of an option's name, or continues a cluster.
    Option { text: &'a [Atom] },
    /// A value chooses the subcommand.
    Subcommand { text: &'a [Atom] },
    /// The tables do not reach that far; the reason.
    Lost { text: &'a [Atom], why: &'a str },
}

/// What follows a word.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) next: Vec<State>,
    /// The word is the name of a command of its own, whose arguments follow; with what goes on after a `;`, if anything.
    pub(crate) command: Option<Option<Arc<State>>>,
    /// The word is the name of a module that runs like a command.
    pub(crate) module: bool,
    /// The word, and all that follow, are words of another program.
    pub(crate) again: Option<State>,
    /// The word names a plugin, or ends with a name: what follows are words of this program.
    pub(crate) named: Option<Named>,
}

/// What a word names whose arguments follow.
#[derive(Debug)]
pub(crate) enum Named {
    Plugin(String),
    Program(String),
    Module(String),
}

impl Step {
    fn to(state: State) -> Self {
        Self { next: vec![state], ..Self::default() }
    }

    fn command(outer: Option<Arc<State>>) -> Self {
        Self { command: Some(outer), ..Self::default() }
    }

    fn named(named: Named) -> Self {
        Self { named: Some(named), ..Self::default() }
    }
}

impl State {
    pub(crate) fn new(entry: Known, label: &str, outer: Option<Arc<State>>) -> Self {
        Self {
            entry,
            above: Vec::new(),
            label: label.into(),
            operand: 0,
            pending: Vec::new(),
            option: "",
            ended: false,
            passed_own_end: false,
            behind: None,
            runs: None,
            runs_ended: false,
            dropped_end: false,
            seen: 0,
            is_first: true,
            names_input: false,
            lost: None,
            is_chosen: false,
            is_done: false,
            is_behind_mark: false,
            earlier: Vec::new(),
            outer,
        }
    }

    /// The program, as people call it.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// What may begin an option in an operand, and the program that reads it, as people call it.
    pub(crate) fn reader(&self, place: &Place<'_>) -> (&'static str, Arc<str>) {
        match &self.runs {
            _ if !self.ended || !self.is_handed_on(place) => (self.entry.signs(), Arc::clone(&self.label)),
            Some(file) => ("-", Arc::clone(file)),
            None => ("-", format!("{} …", self.label).into()),
        }
    }

    /// Whether an operand is a word of another program, which reads options of its own up to another `--`: what stands behind
    /// `script.py`, or behind the `--` of `cargo run`. Code that stands in the command itself says what it does with its words.
    fn is_handed_on(&self, place: &Place<'_>) -> bool {
        let is_given = |option: &str| self.bit(option).is_some_and(|bit| self.seen & bit != 0);
        let is_code = |option: &str| {
            let argument = self.find(option).and_then(|option| option.arguments.first());
            argument.is_some_and(|argument| matches!(argument.kind, PlaceKind::CodeIn(_)))
        };
        match place.kind {
            PlaceKind::Unknown => {
                // The arguments of a program of which nothing more is known are its own.
                let is_its_own = self.entry.after_end.is_none()
                    && self.replaced(self.seen).is_none()
                    && self.entry.operands.first().is_some_and(|first| first.place.kind == PlaceKind::Unknown);
                let has_code = self.entry.watched.iter().any(|option| is_given(option) && is_code(option));
                !is_its_own && !has_code && !self.names_input && self.entry.syntax != Syntax::None
            }
            // Words for a task that stand behind the `--` of its runner.
            PlaceKind::Plain => self.ended,
            _ => false,
        }
    }

    /// Why nothing is known of what comes behind an option.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Whether a value chooses which command of the program runs.
    pub(crate) fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// The program whose words go on behind its own, as those of `find` do.
    pub(crate) fn outer(&self) -> Option<&Arc<Self>> {
        self.outer.as_ref()
    }

    /// Whether its words are the arguments of a command within those of `find`, which puts file names for `{}`.
    pub(crate) fn is_inside(&self) -> bool {
        self.outer.is_some()
    }

    pub(crate) fn entry(&self) -> Known {
        self.entry
    }

    /// Whether its words end where `next` goes on with those of the program that starts it.
    pub(crate) fn ends_before(&self, next: &Self) -> bool {
        self.outer.as_deref() == Some(next)
    }

    /// Whether it was given an operand that is not its standard input.
    pub(crate) fn has_operand(&self) -> bool {
        self.operand > 0 && !self.names_input
    }

    /// Whether it prints what it reads from its standard input.
    pub(crate) fn is_filter(&self) -> bool {
        self.entry.is_filter && self.operand < self.entry.operands.len().max(1)
    }

    /// Whether its words were handed to a shell, which reads its input as well.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The options among `Entry::watched` that were given.
    pub(crate) fn seen(&self) -> u32 {
        self.seen
    }

    /// Reads one word.
    pub(crate) fn step(&self, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        if let Some(outer) = &self.outer {
            match literal(word) {
                Some(";") => return Step::to(State::clone(outer)),
                Some("+") if self.is_behind_mark => return Step::to(State::clone(outer)),
                Some("+") => {
                    // It ends the command only behind `{}`; what that is, is not certain.
                    let mut step = self.inside(word, see);
                    step.next.push(State::clone(outer));
                    return step;
                }
                _ => {}
            }
        }
        let step = self.inside(word, see);
        step.next.iter().for_each(|next| self.read_earlier(next, see));
        step
    }

    /// Reads the operands before an option once more if it says what they are, as `--execute` in `jupyter nbconvert a --execute`.
    fn read_earlier(&self, next: &Self, see: &mut dyn FnMut(Seen<'_>)) {
        if !std::ptr::eq(next.entry, self.entry) {
            return;
        }
        if let (None, Some(why)) = (&self.lost, &next.lost) {
            // Nor is it known what the option says of them.
            self.earlier.iter().for_each(|(_, word)| see(Seen::Lost { text: word, why }));
        }
        if next.seen == self.seen {
            return;
        }
        for (number, word) in &self.earlier {
            let place = |state: &Self| Some(&state.operand_with(state.seen, *number)?.place);
            match (place(self), place(next)) {
                (Some(before), Some(after)) if before != after => {
                    see(Seen::Place { place: after, text: word, is_option_read: false, option: "" });
                }
                (_, None) => see(Seen::Lost {
                    text: word,
                    why: &format!("an option behind it changes what it is to `{}`", self.label),
                }),
                _ => {}
            }
        }
    }

    fn inside(&self, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        let mut state = self.clone();
        state.is_first = false;
        state.is_behind_mark = self.outer.is_some() && literal(word) == Some("{}");
        if self.is_done {
            return Step::to(state);
        }
        if self.entry.syntax.is_opaque() {
            let place = match self.entry.syntax {
                Syntax::Undescribed => &UNDESCRIBED_PLACE,
                _ if std::ptr::eq(self.entry, &*WITHHELD) => &WITHHELD_PLACE,
                _ => &CODE_PLACE,
            };
            see(Seen::Place { place, text: word, is_option_read: false, option: "" });
            return Step::to(state);
        }
        if let Some(place) = state.pending.pop() {
            return self.argument(state, place, word, see);
        }
        if let Some(why) = &self.lost {
            see(Seen::Lost { text: word, why });
            return Step::to(state);
        }
        let text = beginning(word);
        if self.is_first && self.entry.first_cluster && !text.is_empty() && !text.starts_with('-') {
            return state.first_cluster(text, word, see);
        }
        // So may a value be, which then chooses the options.
        if self.is_first && self.entry.first_cluster && text.is_empty() && !word.is_empty() {
            see(Seen::Option { text: word });
        }
        let reads = !self.ended && self.entry.syntax != Syntax::None;
        if let Some(word) = literal(word)
            && state.read_end(word, reads)
        {
            return Step::to(state);
        }
        let is_option = text.starts_with('-') || self.entry.plus && text.starts_with('+');
        let is_expression =
            self.entry.syntax == Syntax::Expression && matches!(literal(word), Some("(" | ")" | "!" | ","));
        // A `-` alone is an operand, but for a few programs: `su - user`.
        let is_alone = text.len() == 1 && word.len() == 1 && !(is_option && self.find(text).is_some());
        if reads && (is_option && !is_alone || is_expression) {
            return state.option(text, word, see);
        }
        state.read_operand(word, see)
    }

    /// Reads a word that ends the options. Behind the program's own one, `--` still divides what the operands are.
    fn read_end(&mut self, word: &str, reads: bool) -> bool {
        let own = self.entry.end;
        let is_own = reads && !own.is_empty() && word == own;
        let is_dashes = word == "--" && (reads && !own.is_empty() || self.passed_own_end);
        if is_own && own != "--" {
            (self.ended, self.passed_own_end) = (true, true);
        } else if is_own || is_dashes {
            (self.ended, self.passed_own_end, self.behind) = (true, false, Some(0));
        }
        is_own || is_dashes
    }

    /// Reads the argument of an option.
    fn argument(
        &self,
        mut state: State,
        place: &'static Place<'static>,
        word: &Text,
        see: &mut dyn FnMut(Seen<'_>),
    ) -> Step {
        match place.kind {
            PlaceKind::Command => return Step::command(state.outer),
            PlaceKind::Module => return Step { module: true, ..Step::default() },
            PlaceKind::CommandUntil => return Step::command(Some(Arc::new(state))),
            _ => see(Seen::Place { place, text: word, is_option_read: false, option: state.option }),
        }
        if state.pending.is_empty() {
            state.ended |= state.ends_with(state.option);
            state.option = "";
        }
        Step::to(state)
    }

    /// Whether no option is read behind this one.
    fn ends_with(&self, option: &str) -> bool {
        self.bit(option).is_some_and(|bit| self.entry.last_options & bit != 0)
    }

    fn bit(&self, option: &str) -> Option<u32> {
        self.entry.watched.iter().position(|watched| *watched == option).map(|at| 1 << at)
    }

    /// The options that are understood here: the entry's own, those it shares, those of the programs above.
    fn lists(&self) -> impl Iterator<Item = &'static Options<'static>> + '_ {
        self.entry.lists().chain(self.above.iter().rev().flat_map(|entry| entry.lists()))
    }

    fn find(&self, name: &str) -> Option<Opt> {
        self.lists().find_map(|options| options.find(name))
    }

    /// The listed option of which this is a special form: `-filter` of ffmpeg for `-filter:v:0`, which is for one stream, and for
    /// `-/filter`, which takes a file that holds the argument.
    fn find_general(&self, name: &str) -> Option<Opt> {
        let plain = name.strip_prefix("-/").map_or_else(|| name.to_owned(), |rest| format!("-{rest}"));
        let ends = plain.match_indices(':').map(|(at, _)| at).chain([plain.len()]).collect::<Vec<_>>();
        ends.into_iter().rev().find_map(|end| self.find(&plain[..end]))
    }

    /// Finds a long option that may be shortened. When several would fit, all that differ in their arguments are told.
    fn find_long(&self, name: &str) -> Option<Opt> {
        if let Some(exact) = self.find(name) {
            return Some(exact);
        }
        if !self.entry.abbreviates || name.len() < 3 {
            return None;
        }
        let mut fitting = self.lists().flat_map(Options::iter).filter(|option| option.name.starts_with(name));
        let first = fitting.next()?;
        // The program itself refuses what is not unique, unless all mean the same.
        fitting.all(|other| other.arguments == first.arguments && other.takes == first.takes).then_some(first)
    }

    fn note(&mut self, option: Opt) {
        if let Some(bit) = self.bit(option.name) {
            self.seen |= bit;
        }
    }

    /// Expects the arguments of an option, from number `from` on.
    fn expect(&mut self, option: Opt, from: usize) {
        self.pending = option.arguments.get(from..).unwrap_or_default().iter().rev().collect();
        self.option = option.name;
        if self.pending.is_empty() {
            self.ended |= self.ends_with(option.name);
            self.option = "";
        }
    }

    /// Goes on behind an option to which no argument is attached.
    fn behind_option(mut self, option: Opt) -> Step {
        match option.takes {
            Takes::Attached | Takes::Number => Step::to(self),
            Takes::Next => {
                self.expect(option, 0);
                Step::to(self)
            }
            Takes::Either => {
                let mut with_argument = self.clone();
                with_argument.expect(option, 0);
                Step { next: vec![with_argument, self], ..Step::default() }
            }
        }
    }

    /// Reads a word that begins as an option does; `text` is what the author wrote up to the first value.
    fn option(mut self, text: &str, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        let goes_on = word.len() > 1;
        // `vim +command`: all of it is an argument.
        if text.starts_with('+')
            && let Some(place) = self.find("+").and_then(|option| option.arguments.first())
        {
            see(Seen::Place { place, text: &behind(word, 1), is_option_read: false, option: "+" });
            return Step::to(self);
        }
        // `-only-testing:NAME`: the colon is listed as part of the option.
        let colon = text.find(':').map(|at| text.split_at(at + 1)).filter(|(name, _)| self.find(name).is_some());
        let (name, attached) = match colon.or_else(|| text.split_once('=')) {
            Some((name, attached)) => (name, Some(attached)),
            None => (text, None),
        };
        let is_long = match self.entry.syntax {
            Syntax::Long | Syntax::LongFirst | Syntax::Expression => true,
            // Some compilers have `-std=c11` beside clusters.
            _ => text.starts_with("--") || name.len() > 2 && attached.is_some() && self.find(name).is_some(),
        };
        if is_long {
            if attached.is_none() && goes_on {
                return match self.entry.unlisted {
                    Unlisted::Loose => self.read_loosely(word, see),
                    _ => {
                        see(Seen::Option { text: word });
                        self.lose(name)
                    }
                };
            }
            let short = name.strip_prefix('-').filter(|rest| rest.starts_with('-'));
            let found = match self.entry.syntax {
                Syntax::Gnu | Syntax::Posix => self.find_long(name),
                _ => self.find(name).or_else(|| short.and_then(|name| self.find(name))),
            };
            let Some(option) = found else { return self.unlisted(name, attached.map(|text| text.len()), word, see) };
            self.note(option);
            if let Some(attached) = attached {
                let part = behind(word, text.len() - attached.len());
                match option.arguments.first() {
                    Some(place) => return self.attached(option, place, &part, see),
                    None if goes_on => see(Seen::Option { text: word }),
                    None => {}
                }
                return Step::to(self);
            }
            return self.behind_option(option);
        }
        // A whole word first: some programs have `-bb` beside `-b`.
        if !goes_on && let Some(option) = self.find(text) {
            self.note(option);
            return self.behind_option(option);
        }
        // `cargo +nightly`: all of it is one argument.
        if text.starts_with('+')
            && let Some(option) = self.find("+")
            && let Some(place) = option.arguments.first()
        {
            see(Seen::Place { place, text: &behind(word, 1), is_option_read: false, option: option.name });
            return Step::to(self);
        }
        self.cluster(text, word, see)
    }

    /// Reads the argument that is part of the word of an option. As a name, it begins the words of what it names.
    fn attached(
        mut self,
        option: Opt,
        place: &'static Place<'static>,
        part: &Text,
        see: &mut dyn FnMut(Seen<'_>),
    ) -> Step {
        match (place.kind, literal(part)) {
            (PlaceKind::Module, Some(name)) => return Step::named(Named::Module(name.to_owned())),
            (PlaceKind::Command, Some(name)) => return Step::named(Named::Program(name.to_owned())),
            _ => see(Seen::Place { place, text: part, is_option_read: false, option: option.name }),
        }
        self.expect(option, 1);
        Step::to(self)
    }

    /// Reads `-abc`, in which the last letters may be an argument.
    fn cluster(mut self, text: &str, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        let goes_on = word.len() > 1;
        let sign = &text[..1];
        let mut start = 1;
        while let Some(letter) = text[start..].chars().next() {
            let end = start + letter.len_utf8();
            start = end;
            let name = if letter.is_ascii_digit() && self.find(&format!("{sign}{letter}")).is_none() {
                "-#".to_owned()
            } else {
                format!("{sign}{letter}")
            };
            let Some(option) = self.find(&name) else {
                match self.entry.unlisted {
                    Unlisted::Flag => continue,
                    Unlisted::Ambiguous | Unlisted::Text if end == text.len() && !goes_on => {
                        return self.unlisted(&name, None, word, see);
                    }
                    _ => return self.unlisted(&name, Some(text.len() - end), word, see),
                }
            };
            self.note(option);
            let Some(place) = option.arguments.first() else { continue };
            if option.takes == Takes::Number {
                start += number_length(&text[end..]);
                if start < text.len() || !goes_on {
                    continue;
                }
            }
            if end < text.len() || goes_on {
                return self.attached(option, place, &behind(word, end), see);
            }
            return self.behind_option(option);
        }
        if goes_on {
            see(Seen::Option { text: word });
        }
        Step::to(self)
    }

    /// `tar xzf`: letters of options without a `-`, which take the words that follow in order.
    fn first_cluster(mut self, text: &str, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        if word.len() > 1 {
            see(Seen::Option { text: word });
        }
        let mut pending = Vec::new();
        for letter in text.chars() {
            if let Some(option) = self.find(&format!("-{letter}")) {
                self.note(option);
                if !matches!(option.takes, Takes::Attached | Takes::Number) {
                    pending.extend(option.arguments.iter());
                    self.option = if option.arguments.is_empty() { self.option } else { option.name };
                }
            }
        }
        pending.reverse();
        self.pending = pending;
        Step::to(self)
    }

    /// Goes on behind an option that no table lists. `attached` is the length of the argument that is part of the word.
    fn unlisted(mut self, name: &str, attached: Option<usize>, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        let goes_on = word.len() > 1;
        if attached.is_none()
            && self.entry.unlisted == Unlisted::Text
            && let Some(option) = self.find_general(name)
        {
            self.note(option);
            return self.behind_option(option);
        }
        if let Some(length) = attached.filter(|_| goes_on || self.entry.unlisted == Unlisted::Loose) {
            let from = beginning(word).len() - length;
            let part = behind(word, from);
            match self.entry.unlisted {
                Unlisted::Text => {
                    let place = self.text_place();
                    see(Seen::Place { place, text: &part, is_option_read: false, option: "" });
                }
                Unlisted::Loose => return self.read_loosely(word, see),
                // As the next word would be: an argument of which nothing is known.
                Unlisted::Ambiguous if name.len() > 2 => {
                    see(Seen::Place { place: &UNKNOWN_PLACE, text: &part, is_option_read: false, option: "" });
                }
                _ => see(Seen::Lost { text: word, why: &self.why(name) }),
            }
        } else if let Some(length) = attached {
            let part = behind(word, beginning(word).len() - length);
            see(Seen::Lost { text: &part, why: &self.why(name) });
        }
        match self.entry.unlisted {
            Unlisted::Strict => self.lose(name),
            Unlisted::Flag | Unlisted::Loose => Step::to(self),
            _ if attached.is_some() => Step::to(self),
            Unlisted::Text | Unlisted::Ambiguous => {
                let mut with_argument = self.clone();
                with_argument.pending = vec![self.text_place()];
                // What an option takes that nobody knows is unknown; as an operand, the word is judged in the other reading.
                if self.entry.unlisted == Unlisted::Ambiguous {
                    with_argument.pending = vec![&UNKNOWN_PLACE];
                }
                self.option = "";
                Step { next: vec![with_argument, self], ..Step::default() }
            }
        }
    }

    /// The place of the argument of an option that is not listed, where such options take text.
    fn text_place(&self) -> &'static Place<'static> {
        let first = self
            .entry
            .operands
            .iter()
            .map(|operand| &operand.place)
            .find(|place| matches!(place.kind, PlaceKind::Data(_) | PlaceKind::Plain));
        first.unwrap_or(&TEXT_PLACE)
    }

    fn why(&self, option: &str) -> String {
        format!("`{option}` is not a known option of `{}`", self.label)
    }

    fn lose(mut self, option: &str) -> Step {
        self.lost = Some(self.why(option).into());
        Step::to(self)
    }

    /// An option of a program of which only the form of its words is known.
    fn read_loosely(self, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        see(Seen::Place { place: &UNKNOWN_PLACE, text: word, is_option_read: false, option: "" });
        Step::to(self)
    }

    fn read_operand(mut self, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        let is_option_read = !self.ended && self.entry.syntax != Syntax::None;
        if self.operand == 0 && literal(word).is_some_and(|word| self.entry.skips.contains(&word)) {
            return Step::to(self);
        }
        // Where the entry says what stands behind `--`, that is no subcommand.
        let is_behind = self.behind.is_some() && self.entry.after_end.is_some();
        let may_be_subcommand = self.operand == 0 && self.entry.may_be_subcommand(word);
        if may_be_subcommand && self.replaced(self.seen).is_none() && !is_behind {
            return self.subcommand(word, see);
        }
        let Some(operand) = self.operand_at() else {
            let why = format!("cycod knows no argument of `{}` at this place", self.label);
            see(Seen::Lost { text: word, why: &why });
            return Step::to(self);
        };
        let place = &operand.place;
        if place.kind == PlaceKind::CodeIn("sed") && literal(word).is_some_and(|text| text.is_empty()) {
            // `sed -i '' …`: where that takes an argument, this is it, and elsewhere such a script does nothing.
            return Step::to(self);
        }
        let is_option_read = if self.is_handed_on(place) { !self.runs_ended } else { is_option_read };
        if place.kind == PlaceKind::Program && self.operand == 0 {
            let file = literal(word).filter(|_| !source(word).is_descriptor());
            let name = file.and_then(|file| file.rsplit('/').next());
            self.runs = name.filter(|name| !matches!(*name, "" | "." | "..")).map(Arc::from);
        }
        match place.kind {
            PlaceKind::Environment => {
                let text = beginning(word);
                let is_assignment = text.split_once('=').is_some_and(|(name, _)| !name.is_empty());
                if is_assignment {
                    see(Seen::Place { place, text: word, is_option_read: false, option: "" });
                    return Step::to(self);
                }
                if word.iter().any(|atom| !atom.holes().is_empty()) && text.is_empty() {
                    // It may be an assignment or a command.
                    see(Seen::Place { place: &PROGRAM_PLACE, text: word, is_option_read, option: "" });
                }
                // What stands behind them is a command.
                return Step::command(self.outer);
            }
            PlaceKind::Command if place.is_script(word) => {
                see(Seen::Place { place: &PROGRAM_PLACE, text: word, is_option_read, option: "" });
            }
            PlaceKind::Command => return Step::command(self.outer),
            PlaceKind::Module => return Step { module: true, ..Step::default() },
            PlaceKind::As(path) => {
                return match super::described(path) {
                    Some(entry) => {
                        let state = Self::new(entry, &path.replace('/', " "), self.outer);
                        Step { again: Some(state), ..Step::default() }
                    }
                    None => self.lose(path),
                };
            }
            PlaceKind::Data("image") if let Some((entry, name)) = literal(word).and_then(super::program_of_image) => {
                return Step::to(Self::new(entry, name, self.outer));
            }
            PlaceKind::CommandUntil => {
                self.operand += 1;
                return Step::command(Some(Arc::new(self)));
            }
            _ => see(Seen::Place { place, text: word, is_option_read, option: "" }),
        }
        if self.is_handed_on(place) && literal(word) == Some("--") {
            self.runs_ended |= self.dropped_end || !self.entry.drops_end;
            self.dropped_end = true;
        }
        self.is_done = place.kind == PlaceKind::CodeIn("sh-joined");
        self.names_input |= self.operand == 0 && source(word).is_descriptor();
        if let Some((entry, name)) = literal(word).and_then(super::script)
            && (matches!(place.kind, PlaceKind::Program) || place.is_script(word))
            && self.operand_with(self.seen, self.operand + 1).is_some_and(|next| next.place.kind == PlaceKind::Unknown)
        {
            return Step::to(Self::new(entry, name, self.outer));
        }
        self.note_earlier(word, see);
        let most = self.most_operands();
        self.operand = (self.operand + 1).min(most);
        self.behind = self.behind.map(|count| (count + 1).min(most));
        self.ended |= matches!(self.entry.syntax, Syntax::Posix | Syntax::LongFirst);
        Step::to(self)
    }

    /// Keeps an operand that an option behind it may change. Where there are many, it is read as all that it may be at once.
    fn note_earlier(&mut self, word: &Text, see: &mut dyn FnMut(Seen<'_>)) {
        let is_read = !self.ended && matches!(self.entry.syntax, Syntax::Gnu | Syntax::Long);
        if !is_read || word.iter().all(|atom| atom.holes().is_empty()) {
            return;
        }
        let others = self.others();
        let noted = (self.operand, word.clone());
        if others.is_empty() || self.earlier.contains(&noted) {
            return;
        }
        if self.earlier.len() < MOST_EARLIER {
            self.earlier.push(noted);
            return;
        }
        for place in others {
            see(Seen::Place { place, text: word, is_option_read: false, option: "" });
        }
    }

    /// What the next operand may be because of an option that was not given yet.
    fn others(&self) -> Vec<&'static Place<'static>> {
        let unless = self.entry.operands.iter().fold(0, |bits, operand| bits | operand.unless);
        let bits = self.entry.when.iter().fold(unless, |bits, (watched, _)| bits | 1 << watched) & !self.seen;
        let now = self.operand_at().map(|operand| &operand.place);
        let place = |bit: u32| Some(&self.operand_with(self.seen | 1 << bit, self.operand)?.place);
        let places = (0..u32::BITS).filter(|bit| bits & 1 << bit != 0).filter_map(place);
        places.filter(|place| now != Some(*place)).collect()
    }

    /// How many operands are counted: those that follow are all alike, and states that differ only there would be read again.
    fn most_operands(&self) -> usize {
        let entry = self.entry;
        let others = entry.when.iter().map(|(_, operands)| operands).chain(&entry.after_end);
        others.map(Vec::len).fold(entry.operands.len(), usize::max).clamp(1, MOST_OPERANDS)
    }

    /// What operands are because of an option that was given.
    fn replaced(&self, seen: u32) -> Option<&'static [Operand<'static>]> {
        let when = self.entry.when.iter().find(|(watched, _)| seen & (1 << watched) != 0);
        when.map(|(_, operands)| operands.as_slice())
    }

    /// What the next operand is.
    fn operand_at(&self) -> Option<&'static Operand<'static>> {
        self.operand_with(self.seen, self.operand)
    }

    /// What the operand of this number is once these options were given.
    fn operand_with(&self, seen: u32, number: usize) -> Option<&'static Operand<'static>> {
        let entry = self.entry;
        let behind = self.behind.and_then(|count| Some((entry.after_end.as_deref()?, count)));
        let (operands, mut wanted) = match (self.replaced(seen), behind) {
            (Some(operands), _) => (operands, number),
            (None, Some(behind)) => behind,
            (None, None) => (entry.operands.as_slice(), number),
        };
        for operand in operands.iter().filter(|operand| seen & operand.unless == 0) {
            if operand.many || wanted == 0 {
                return Some(operand);
            }
            wanted -= 1;
        }
        None
    }

    fn subcommand(mut self, word: &Text, see: &mut dyn FnMut(Seen<'_>)) -> Step {
        let Some(name) = literal(word) else {
            if let Some(entry) = self.entry.task(beginning(word))
                && let Some(operand) = entry.operands.first()
            {
                see(Seen::Place { place: &operand.place, text: word, is_option_read: false, option: "" });
                let mut inner = Self::new(entry, &self.label, self.outer.clone());
                inner.is_first = false;
                return Step::to(inner);
            }
            see(Seen::Subcommand { text: word });
            let why = format!("which command of `{}` runs is not known", self.label);
            (self.lost, self.is_chosen) = (Some(why.into()), true);
            return Step::to(self);
        };
        let Some(entry) = self.entry.subcommand(name) else {
            if !self.entry.plugins.is_empty() {
                return Step::named(Named::Plugin(format!("{}{name}", self.entry.plugins)));
            }
            let why = format!("`{} {name}` is not described", self.label);
            self.lost = Some(why.into());
            return Step::to(self);
        };
        let mut inner = Self::new(entry, &format!("{} {name}", self.label), self.outer.clone());
        inner.above = self.above;
        if self.entry.inherits {
            inner.above.push(self.entry);
        }
        inner.is_first = false;
        inner.ended = false;
        Step::to(inner)
    }
}

/// How long the number is that a text begins with: `0777` of `-0777ne`, `xFF`. What begins with a `:` is a name, and all of it.
fn number_length(text: &str) -> usize {
    match text.strip_prefix(['x', 'X']) {
        Some(digits) => text.len() - digits.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len(),
        None if text.starts_with(':') => text.len(),
        None => text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len(),
    }
}

/// The word without its first `from` bytes, which are the author's.
fn behind(word: &Text, from: usize) -> Text {
    let mut part = word.clone();
    if let Some(Atom::Text(text)) = part.first() {
        let rest: Arc<str> = text[from..].into();
        if rest.is_empty() {
            part.remove(0);
        } else {
            part[0] = Atom::Text(rest);
        }
    }
    part
}
