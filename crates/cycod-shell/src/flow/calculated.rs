//! Arithmetic and tests, where the shell evaluates what a variable holds once more.

use super::value::{Atom, Cut, Text, beginning, holes_among, holes_of, made_of, names_among, texts_among};
use super::{Flow, Reason, Variable};
use crate::piece::Shell;
use crate::script::{Part, Word};
use crate::verdict::{Guard, Rule};

impl Flow<'_> {
    /// A text in arithmetic is the name of a variable whose value is evaluated in turn, so every value in a variable counts. Each
    /// value of the script is in one: that in which it is placed, and `$_`.
    pub(super) fn spread_arithmetic(&mut self) {
        if !self.calculates {
            return;
        }
        self.guard_arithmetic(&self.holes_of_variables());
        self.guard_arithmetic(&self.own_holes());
    }

    /// A program, or an expansion, may make other characters of these values.
    pub(super) fn respells(&mut self, holes: impl IntoIterator<Item = usize>) {
        for hole in holes {
            self.has_grown |= self.respelt.insert(hole);
        }
    }

    /// Finds values of an atom that may have other characters than those that a guard sees.
    pub(super) fn find_respelt(&mut self, atom: &Atom, what: &str) {
        if self.respelt.is_empty() || matches!(atom, Atom::Value { .. }) {
            return;
        }
        let respelt: Vec<usize> = atom.holes().iter().copied().filter(|hole| self.respelt.contains(hole)).collect();
        self.find_unclear(respelt, what);
    }

    pub(super) fn guard_arithmetic(&mut self, holes: &[usize]) {
        for &hole in holes {
            if self.is_text(hole) {
                self.has_grown |= !self.calculates;
                self.calculates = true;
                self.guard_calculated(hole, Rule::Arithmetic, Cut::WHOLE);
            }
        }
    }

    fn guard_calculated(&mut self, hole: usize, rule: Rule, cut: Cut) {
        let guard = Guard { rule, cut, program: "arithmetic".into() };
        self.find_guarded(hole, Reason::Shell("a variable that is calculated with"), Some(guard));
    }

    /// `[[ … ]]`.
    pub(super) fn test(&mut self, words: &[Word]) {
        let texts: Vec<Vec<Text>> = words.iter().map(|word| self.single(word)).collect();
        for texts in &texts {
            self.note_shell(texts, "a word of `[[ ]]`");
        }
        for (index, word) in words.iter().enumerate() {
            match word.literal() {
                Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => {
                    for side in [index.checked_sub(1), Some(index + 1)].into_iter().flatten() {
                        if let (Some(word), Some(texts)) = (words.get(side), texts.get(side)) {
                            self.calculated_word(word, texts);
                        }
                    }
                }
                Some("=~") => {
                    let compared = index.checked_sub(1).and_then(|before| texts.get(before));
                    let holes: Vec<usize> = compared.into_iter().flatten().flat_map(holes_of).collect();
                    self.matched(&holes);
                }
                Some("-v" | "-R") => {
                    if let (Some(word), Some(texts)) = (words.get(index + 1), texts.get(index + 1)) {
                        self.named_word(word, texts, "[[ -v");
                    }
                }
                _ => {}
            }
        }
    }

    /// The shell keeps the parts of what it compared with a regular expression. Source: bash(1), zshmisc(1).
    fn matched(&mut self, holes: &[usize]) {
        let names: &[&str] = if self.shell == Shell::Zsh { &["MATCH", "match"] } else { &["BASH_REMATCH"] };
        for name in names.iter().filter(|_| !holes.is_empty()) {
            self.assign(name, vec![made_of(holes)]);
        }
    }

    /// A word whose text is evaluated as arithmetic.
    fn calculated_word(&mut self, word: &Word, texts: &[Text]) {
        for part in &word.parts {
            if let Part::Hole { hole, .. } = part
                && self.is_text(*hole)
            {
                self.find(*hole, Reason::Arithmetic);
            }
        }
        texts.iter().for_each(|text| self.calculated_text(text));
    }

    /// Arithmetic evaluates values in this text.
    pub(super) fn calculates_with(&mut self, text: &[Atom]) {
        for atom in text {
            self.find_respelt(
                atom,
                "what a program or an expansion made of it reaches arithmetic, where `[` begins code; take nothing but its digits, as in `n=$(… | tr -cd 0-9)`",
            );
        }
        // Without a name in it, a value reads and sets no variable. Of a part of one, and of what stands behind letters, that isn't
        // known.
        let is_name = |c: char| c.is_alphabetic() || c == '_';
        let is_alone = text.iter().filter(|atom| !matches!(atom, Atom::Text(_))).count() == 1
            && !text.iter().any(|atom| matches!(atom, Atom::Text(text) if text.contains(is_name)));
        for atom in text {
            match atom {
                Atom::Value { hole, cut: cut @ (Cut::WHOLE | Cut::QUOTED) } if is_alone => {
                    if self.is_text(*hole) {
                        self.guard_calculated(*hole, Rule::Nameless, *cut);
                    }
                }
                atom => self.guard_arithmetic(atom.holes()),
            }
        }
    }

    /// A text that is evaluated as arithmetic.
    pub(super) fn calculated_text(&mut self, text: &Text) {
        self.calculates_with(text);
        self.names_in(text);
        self.keys_in(text);
    }

    /// A word that is taken for the name of a variable.
    fn named_word(&mut self, word: &Word, texts: &[Text], by: &str) {
        for part in &word.parts {
            if let Part::Hole { hole, .. } = part
                && self.is_text(*hole)
            {
                self.find(*hole, Reason::Name { by: by.into() });
            }
        }
        texts.iter().for_each(|text| self.calculates_with(text));
        texts.iter().for_each(|text| self.subscript_in_name(text));
    }

    /// `unset 'list[$key]'`: the subscript in a name is expanded again, and is arithmetic unless the keys of the array are text.
    pub(super) fn subscript_in_name(&mut self, text: &Text) {
        if let Some((array, _)) = beginning(text).split_once('[')
            && !self.is_associative(array)
        {
            self.names_in(text);
        }
    }

    /// Variables whose names stand in text that is calculated. What they hold is calculated in turn.
    pub(super) fn names_in(&mut self, text: &Text) {
        let mut names: Vec<String> = names_among(text).map(str::to_owned).collect();
        let mut at = 0;
        while let Some(name) = names.get(at).cloned() {
            at += 1;
            let Some(variable) = self.variables.get(name.as_str()) else { continue };
            let mut holes = variable.holes();
            let lists = texts_among(variable.lists.iter().chain(&variable.elements).flatten());
            let texts: Vec<Text> = variable.texts.iter().chain(&variable.appended).cloned().chain(lists).collect();
            for text in &texts {
                for name in names_among(text) {
                    if self.variables.contains_key(name) && !names.iter().any(|known| known == name) {
                        names.push(name.to_owned());
                    }
                }
            }
            self.spend(1);
            texts.iter().for_each(|text| self.calculates_with(text));
            let followed = holes_of(texts.iter().flatten());
            holes.retain(|hole| !followed.contains(hole));
            self.guard_arithmetic(&holes);
        }
    }

    /// `((count[$word]++))` makes a key of a value, where the keys of the array are text.
    fn keys_in(&mut self, text: &[Atom]) {
        let holes = holes_of(text);
        let key = if holes.is_empty() { return } else { vec![made_of(&holes)] };
        let names: Vec<String> =
            names_among(text).filter(|name| self.is_associative(name)).map(str::to_owned).collect();
        names.iter().for_each(|name| self.add_key(name, key.clone()));
    }

    /// All holes whose values any variable holds.
    pub(super) fn holes_of_variables(&self) -> Vec<usize> {
        let mut holes: Vec<usize> = self.variables.values().flat_map(Variable::holes).collect();
        for arguments in &self.arguments {
            holes.extend(arguments.lists.iter().chain(&arguments.appended).flat_map(|fields| holes_among(fields)));
        }
        holes.sort_unstable();
        holes.dedup();
        holes
    }

    /// Walks arithmetic: what is inserted there, and what is named there.
    pub(super) fn arithmetic(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Hole { hole, .. } if self.is_text(*hole) => self.find(*hole, Reason::Arithmetic),
                Part::Hole { hole, .. } => self.find(*hole, Reason::Shell("arithmetic")),
                Part::Text { text, .. } => self.names_in(&vec![Atom::text(text)]),
                part => {
                    let texts = self.single(&Word { parts: vec![part.clone()], span: 0..0 });
                    for text in texts {
                        self.calculates_with(&text);
                        self.names_in(&text);
                    }
                }
            }
        }
        let may_have_key = |part: &Part| matches!(part, Part::Text { text, .. } if text.contains('['));
        if parts.len() > 1 && parts.iter().any(may_have_key) {
            for text in self.single(&Word { parts: parts.to_vec(), span: 0..0 }) {
                self.keys_in(&text);
            }
        }
    }
}
