//! What a word becomes: the texts that its variables may hold, the words they fall apart into.

use std::sync::Arc;

use super::pieces::{
    Piece, Pieces, author, formatted, holes_in, is_quoted, joined, joined_pieces, several, split, unglued, words_of,
};
use super::value::{Atom, Cut, Field, Tag, Text, dedup, holes_of, made_of, output_of};
use super::{Flow, Input, Reason};
use crate::piece::{Mode, Shell};
use crate::script::{Command, Form, Part, Pipeline, Redirect, Script, Target, Word};
use crate::track::Redirection;
use crate::verdict::{Guard, Rule};

/// How many texts a word or a variable may have before they are taken together.
pub(super) const MOST_TEXTS: usize = 32;

impl Flow<'_> {
    /// The words that a word of a command becomes, names of files among them, if it is a pattern.
    pub(super) fn fields(&mut self, word: &Word) -> Vec<Field> {
        let mut fields = self.expanded(word);
        fields.extend(self.names_for(word, &fields));
        fields
    }

    pub(super) fn expanded(&mut self, word: &Word) -> Vec<Field> {
        if let [Part::Text { text, quoted }] = word.parts.as_slice()
            && (*quoted || !text.contains('{') && !text.starts_with('~'))
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
        if let [Part::Text { text, quoted }] = word.parts.as_slice()
            && (*quoted || self.named_directory(text).is_none())
        {
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

    /// `~+`, `~-` and `~1`, which are directories where the shell works or worked, if values name those; and what stands behind.
    fn named_directory<'t>(&mut self, text: &'t str) -> Option<(Atom, &'t str)> {
        let behind = text.strip_prefix('~')?;
        let rest = behind.trim_start_matches(|c: char| "+-".contains(c) || c.is_ascii_digit());
        if rest.len() == behind.len() {
            return None;
        }
        let holes = holes_of(self.values(super::builtin::DIRECTORIES[0]).iter().flatten());
        (!holes.is_empty()).then(|| (made_of(&holes), rest))
    }

    /// A word that stays one, as a word of a command.
    pub(super) fn one_field(&mut self, word: &Word) -> Vec<Field> {
        Field::choice(self.single(word).into_iter().map(|text| vec![Field::Word(text)]).collect())
    }

    pub(super) fn pieces(&mut self, parts: &[Part], splits: bool) -> Vec<Pieces> {
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

    pub(super) fn part(&mut self, part: &Part, splits: bool) -> Vec<Pieces> {
        match part {
            Part::Text { text, quoted } => {
                if !quoted && let Some((directory, rest)) = self.named_directory(text) {
                    return vec![vec![Piece::Atom(directory), Piece::Atom(Atom::text(rest))]];
                }
                let mut pieces = vec![Piece::Atom(Atom::Text(Arc::clone(text)))];
                if *quoted {
                    pieces.push(Piece::Mark);
                }
                vec![pieces]
            }
            Part::Hole { hole, quoted } => self.hole(*hole, splits && !quoted, *quoted),
            Part::Expansion(expansion) => self.expansion(expansion, splits && !expansion.quoted),
            Part::Output { script, quoted } => {
                self.outputs += 1;
                let is_word = self.prints_a_word(script);
                let tag = match self.outputs {
                    number if makes_a_file(script) => Tag::New(number),
                    number if is_word => Tag::Word(number),
                    number => Tag::Output(number),
                };
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
                        vec![several(Atom::Output(holes), is_open)]
                    }
                    // It fails, or prints a word.
                    Input::Clean if is_open && is_word => vec![vec![Piece::Atom(Atom::Unknown(tag))], Vec::new()],
                    _ => vec![several(Atom::Unknown(tag), is_open)],
                }
            }
            Part::Process(script) => {
                // It reads what is written to it, or what it prints is read.
                self.outputs += 1;
                let number = self.outputs;
                let printed = self.perhaps(|flow| flow.captured(script)).0;
                let mut pieces = vec![Piece::Mark];
                if self.watches() {
                    // What it holds is followed; nobody chooses its name.
                    pieces.push(Piece::Atom(Atom::text("/dev/fd/")));
                }
                let path = match printed.holes().as_slice() {
                    [] if !self.watches() => Atom::Unknown(Tag::Process(number)),
                    holes => output_of(holes),
                };
                if let Input::Texts(texts) = printed {
                    self.substitutions.insert(number, texts);
                }
                pieces.push(Piece::Atom(path));
                vec![pieces]
            }
            Part::Array(words) | Part::Pattern(words) => {
                // What is in parentheses behind a pattern of zsh says which files it means, and may be code, in quotes, too.
                // Source: zshexpn(1), "Glob Qualifiers".
                let may_be_code = self.shell == Shell::Zsh && splits && matches!(part, Part::Pattern(_));
                let reason =
                    if may_be_code { Reason::Evaluated { by: "zsh".into() } } else { Reason::Shell("a pattern") };
                let mut holes = Vec::new();
                for word in words {
                    for text in self.single(word) {
                        self.find_all(holes_of(&text), &reason);
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

    /// What a placeholder becomes. The shell takes the quotes off a value that has some, unless there are others around it.
    pub(super) fn hole(&mut self, hole: usize, is_bare: bool, is_quoted: bool) -> Vec<Pieces> {
        let Some(about) = self.holes.get(hole) else { return vec![vec![Piece::Atom(Atom::value(hole))]] };
        if about.mode == Mode::Raw {
            return vec![several(Atom::Unknown(Tag::Somewhere), is_bare)];
        }
        let cut = if is_quoted && about.mode == Mode::Fragment { Cut::QUOTED } else { Cut::WHOLE };
        let value = Piece::Atom(Atom::Value { hole, cut });
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

    /// What texts become of which one is there. A value may be empty, as the word that a command prints, and then it is no word.
    pub(super) fn all_inserted(&mut self, texts: Vec<Text>, is_open: bool, splits: bool, name: &str) -> Vec<Pieces> {
        let mut all = Vec::with_capacity(texts.len());
        for text in texts {
            let is_word = matches!(text.as_slice(), [Atom::Unknown(Tag::Word(_))]);
            let vanishes = is_open && (is_word || self.is_of_values(&text));
            all.push(self.inserted(text, is_open, splits, name));
            if vanishes && !all.contains(&Vec::new()) {
                all.push(Vec::new());
            }
        }
        all
    }

    /// What one text becomes in the place of a variable or a command substitution.
    pub(super) fn inserted(&mut self, text: Text, is_open: bool, splits: bool, name: &str) -> Pieces {
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
                Atom::Unknown(Tag::Number(_) | Tag::Word(_)) if !self.splits_otherwise => {
                    pieces.push(Piece::Atom(atom));
                }
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
    pub(super) fn split_guard(&mut self, hole: usize, name: &str) {
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
