//! What an expansion such as `$name`, `${name[@]:-word}` or `$1` may be, from every text that the variable may hold.

use std::sync::Arc;

use super::expand::{MOST_TEXTS, bounded, cut_text};
use super::pieces::{Piece, Pieces, joined_pieces, unglued, words_of};
use super::value::{
    Atom, Cut, Field, Tag, Text, dedup, holes_among, holes_of, is_absent, literal, made_of, part_of, push, texts_among,
};
use super::{Flow, Reason};
use crate::piece::Shell;
use crate::script::{Expansion, Part, Word};
use crate::track::UNFOLLOWED;

/// Variables of bash that are numbers whatever its environment says, as long as the script leaves them alone.
const NUMBERS: [&str; 8] = ["BASHPID", "EPOCHSECONDS", "EUID", "LINENO", "PPID", "RANDOM", "SECONDS", "UID"];

impl Flow<'_> {
    pub(super) fn expansion(&mut self, expansion: &Expansion, is_open: bool) -> Vec<Pieces> {
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
        if whole == Some('@')
            && !is_open
            && let Some(fields) = self.arguments_from(name, expansion)
        {
            return vec![vec![Piece::Fields(fields.into())]];
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
    pub(super) fn is_of_values(&self, text: &Text) -> bool {
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
    pub(super) fn assigned_subscript(&mut self, name: &str, subscript: &[Part]) {
        self.subscript(name, subscript);
        for key in self.single(&Word { parts: subscript.to_vec(), span: 0..0 }) {
            self.add_key(name, key);
        }
    }

    /// A subscript is arithmetic, unless the array's keys are text.
    pub(super) fn subscript(&mut self, name: &str, subscript: &[Part]) {
        let is_associative = self.is_associative(name);
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
                    self.calculates_with(&text);
                    vec![vec![made_of(&self.holes_of_variables())]]
                }
            };
            let texts = self.operated(name, values, expansion);
            all.extend(texts.into_iter().map(|text| joined_pieces(&text)));
        }
        all
    }

    /// The keys of an array: numbers, where they are no text.
    pub(super) fn keys(&self, name: &str) -> Vec<Text> {
        let mut keys = vec![vec![Atom::Unknown(Tag::Somewhere)]];
        if let Some(variable) = self.variables.get(name).filter(|variable| variable.is_associative) {
            keys.extend(variable.keys.iter().cloned());
            // `name=(key value …)`
            keys.extend(texts_among(variable.lists.iter().chain(&variable.elements).flatten()));
        }
        bounded(keys)
    }

    /// Every text that a variable, or an argument, may hold.
    pub(super) fn values(&mut self, name: &str) -> Vec<Text> {
        if name.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() {
            return self.argument(name.parse().unwrap_or(usize::MAX));
        }
        // The last word of the command before, and the command itself.
        if matches!(name, "_" | "BASH_COMMAND" | "BASH_EXECUTION_STRING" | "BASH_ARGV") {
            let all = self.own_holes();
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
            let mut holes: Vec<usize> = texts.iter().chain(&variable.appended).flat_map(holes_of).collect();
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
                        text.extend([Atom::text(" "), made_of(&holes)]);
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
        for list in arguments.lists() {
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
        let fields = list_fields(arguments.lists(), &arguments.appended, arguments.shifted);
        if self.may_have_no_arguments() { Field::choice(vec![fields, Vec::new()]) } else { fields }
    }

    /// The words of `"${@:2}"`, where it is certain which those are.
    fn arguments_from(&self, name: &str, expansion: &Expansion) -> Option<Vec<Field>> {
        let [Part::Text { text, .. }] = expansion.word.as_slice() else { return None };
        let from: usize = text.parse().ok().filter(|from| *from > 0)?;
        let arguments = self.arguments.last().filter(|arguments| !arguments.is_unknown)?;
        if name != "@" || expansion.operator != ":" || self.may_have_no_arguments() {
            return None;
        }
        Some(list_fields(&arguments.behind(from - 1)?, &arguments.appended, false))
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
    pub(super) fn list(&mut self, name: &str, sign: char, operator: &str, others: Vec<Text>, is_open: bool) -> Pieces {
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
        let holes: Vec<usize> = values.iter().flat_map(holes_of).collect();
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
                    let holes: Vec<usize> = others.iter().flat_map(holes_of).collect();
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
                    return values.iter().flat_map(beginnings_of).collect();
                }
                let pattern = patterns.first().filter(|_| patterns.len() == 1).and_then(|pattern| literal(pattern));
                if operator == "##"
                    && pattern == Some("*/")
                    && let Some(parts) = values.iter().map(last_part).collect::<Option<Vec<_>>>()
                {
                    return parts.concat();
                }
                cut(pattern.and_then(behind_pattern))
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
                // `${name@E}` has escapes.
                _ => {
                    self.respells(holes);
                    cut(None)
                }
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
                    // What it replaces may be any of these characters.
                    if literal(&text).is_none_or(|text| text.contains(['[', '\\', '-'])) {
                        self.respells(all.iter().copied());
                    }
                }
                vec![vec![made_of(&all)]]
            }
        }
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

/// What is left when what a pattern matches is taken from the front: it begins behind the pattern's last character, or is the
/// whole.
fn behind_pattern(pattern: &str) -> Option<Cut> {
    let last = pattern.chars().next_back().filter(|last| !"*?[]()\\".contains(*last))?;
    if pattern.len() == last.len_utf8() { Cut::without(last) } else { Cut::behind(last) }
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

/// What may be left of a text whose end is taken away: it begins as the text does, or it is empty.
pub(super) fn beginnings_of(text: &Text) -> Vec<Text> {
    let rest = || made_of(&holes_of(text));
    let first_of = |text: &str| Atom::text(text.chars().next().map(String::from).unwrap_or_default().as_str());
    match text.as_slice() {
        [Atom::Value { hole, cut }, Atom::Text(next), ..] if let Some(part) = cut.and(Cut::BEGINNING) => {
            let whole = Atom::Value { hole: *hole, cut: *cut };
            vec![vec![Atom::Value { hole: *hole, cut: part }], vec![whole, first_of(next), rest()]]
        }
        [Atom::Text(begins), _, ..] => vec![Text::new(), vec![first_of(begins), rest()]],
        [Atom::Unknown(tag), Atom::Text(next), ..] => {
            vec![vec![Atom::Unknown(Tag::Somewhere)], vec![Atom::Unknown(tag.clone()), first_of(next), rest()]]
        }
        _ => vec![cut_text(text, Cut::BEGINNING).unwrap_or_else(|| vec![part_of(text)])],
    }
}

/// What is left of a path behind its last `/`; nothing when that cannot be told.
pub(super) fn last_part(path: &Text) -> Option<Vec<Text>> {
    let slash = path.iter().rposition(|atom| matches!(atom, Atom::Text(text) if text.contains('/')))?;
    let Atom::Text(text) = &path[slash] else { return None };
    let begins = &text[text.rfind('/')? + 1..];
    let rest = &path[slash + 1..];
    let with = |begins: &[Atom]| -> Text { begins.iter().chain(&rest[1..]).cloned().collect() };
    match rest {
        // There may be another `/` in the value, and what stands behind it has none.
        [Atom::Value { hole, cut }] | [Atom::Value { hole, cut }, Atom::Text(_)] => {
            let part = Atom::Value { hole: *hole, cut: cut.and(Cut::behind('/')?)? };
            let whole = Atom::Value { hole: *hole, cut: *cut };
            let later = with(&[part]);
            Some(if begins.is_empty() { vec![later] } else { vec![with(&[Atom::text(begins), whole]), later] })
        }
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
pub(super) fn behind_subscript(parts: &[Part]) -> Word {
    let mut parts = parts.to_vec();
    if let Some(Part::Text { text, .. }) = parts.first_mut() {
        *text = text.trim_start_matches('+').trim_start_matches('=').into();
    }
    Word { parts, span: 0..0 }
}

/// Whether a subscript stands for all elements.
pub(super) fn all_of(subscript: &[Part]) -> Option<char> {
    match subscript {
        [Part::Text { text, .. }] if &**text == "@" => Some('@'),
        [Part::Text { text, .. }] if &**text == "*" => Some('*'),
        _ => None,
    }
}
