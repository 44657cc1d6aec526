//! Assignments: what the walk knows of a variable from then on.

use std::collections::HashMap;
use std::sync::Arc;

use super::expand::{MOST_TEXTS, bounded};
use super::pieces::keeps_words;
use super::value::{Field, Text, holes_among, holes_of, literal, made_of, part_of, texts_among};
use super::variables::{all_of, behind_subscript};
use super::{Flow, Variable};
use crate::piece::Shell;
use crate::script::{Part, Word};

/// How many pieces a text may have before it is only known whose values are in it.
const MOST_ATOMS: usize = 12;

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

impl Flow<'_> {
    /// Notes a key of an array whose keys are text.
    pub(super) fn add_key(&mut self, name: &str, key: Text) {
        if self.shell == Shell::Bash && NAMES_OF_COMMANDS.contains(&name) {
            self.renames(literal(&key));
        }
        if self.is_associative(name) {
            self.add(name, |variable| &mut variable.keys, key);
        }
    }

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
        if self.is_for_programs(name) {
            self.variable_of_environment(name, &holes_of(&text), false);
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
            None => known.iter().flat_map(holes_of).collect(),
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

fn variable_in<'v>(variables: &'v mut HashMap<Arc<str>, Variable>, name: &str) -> &'v mut Variable {
    variables.entry(name.into()).or_default()
}
