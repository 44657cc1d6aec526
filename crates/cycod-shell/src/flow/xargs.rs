//! `xargs`, which makes arguments of what it reads.

use super::Flow;
use super::value::{self, Atom, Cut, Field, Text, holes_of, literal};
use crate::programs;
use crate::verdict::Rule;

impl Flow<'_> {
    /// `xargs` takes quotes and backslashes out of what it reads.
    pub(super) fn guard_input_of_xargs(&mut self, holes: impl Iterator<Item = usize>) {
        self.guard_texts(holes, &Rule::Without { characters: "\\\"'" }, "xargs", "text that `xargs` reads");
    }

    /// The words of a command to which `xargs` adds what it reads: at the end, and where what may be the author's mark stands.
    pub(super) fn with_arguments(&mut self, fields: &[Field]) -> Vec<Vec<Field>> {
        let pieces = self.literal_input().unwrap_or_else(|| self.pieces_of_input(Some(Cut::WORD)));
        let own = Xargs::of(fields);
        if !own.as_ref().is_some_and(|own| own.is_plain) {
            self.guard_input_of_xargs(pieces.iter().flat_map(holes_of));
        }
        let each = pieces.iter().map(|piece| vec![Field::Word(piece.clone())]);
        let added = match &own {
            // It runs once without any where it reads nothing.
            Some(own) if own.is_one => Field::choice(std::iter::once(Vec::new()).chain(each).collect()),
            _ => vec![Field::Many(each.collect::<Vec<_>>().into())],
        };
        let added: Vec<Field> = fields.iter().cloned().chain(added).collect();
        let marks = match &own {
            Some(own) => own.mark.into_iter().collect(),
            None => may_be_marks(fields),
        };
        let replaced = |mark: &str| fields.iter().flat_map(|field| with_mark(field, mark, &pieces)).collect();
        let with_marks: Vec<Vec<Field>> = marks.into_iter().map(replaced).collect();
        // With a mark, nothing is added.
        if own.is_some() && !with_marks.is_empty() {
            return with_marks;
        }
        std::iter::once(added).chain(with_marks).collect()
    }
}

/// What the options of `xargs` say. Source: xargs(1) of GNU findutils 4.9 and of FreeBSD.
pub(super) struct Xargs<'a> {
    /// What stands for a line of its input in the words of the command.
    mark: Option<&'a str>,
    /// The command gets one more argument at most.
    is_one: bool,
    /// Quotes and backslashes mean nothing in what it reads.
    is_plain: bool,
    /// It reads a file, and the command gets its input.
    reads_file: bool,
}

impl<'a> Xargs<'a> {
    /// Those of the first `xargs` among some words; nothing where they are not certain.
    fn of(fields: &'a [Field]) -> Option<Self> {
        let mut words = fields.iter().map(|field| if let Field::Word(text) = field { literal(text) } else { None });
        // `parallel` does the same, with other options.
        let first = words.find(|word| word.is_some_and(programs::makes_arguments))??;
        if first.rsplit('/').next() != Some("xargs") {
            return None;
        }
        let mut own = Self { mark: None, is_one: false, is_plain: false, reads_file: false };
        loop {
            let word = words.next()??;
            let Some(option) = word.strip_prefix('-').filter(|rest| !rest.is_empty() && *rest != "-") else {
                return Some(own);
            };
            if let Some(long) = option.strip_prefix('-') {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                match name {
                    "null" => own.is_plain = true,
                    "no-run-if-empty" | "verbose" | "interactive" | "open-tty" | "exit" | "eof" | "show-limits" => {}
                    "replace" => own.mark = Some(value.unwrap_or("{}")),
                    "max-args" | "max-procs" | "max-chars" | "delimiter" | "arg-file" | "process-slot-var" => {
                        let value = if let Some(value) = value { value } else { words.next()?? };
                        own.takes(
                            match name {
                                "max-args" => 'n',
                                "delimiter" => 'd',
                                "arg-file" => 'a',
                                _ => 'P',
                            },
                            value,
                        );
                    }
                    _ => return None,
                }
                continue;
            }
            for (at, letter) in option.char_indices() {
                let rest = &option[at + letter.len_utf8()..];
                match letter {
                    '0' => own.is_plain = true,
                    'r' | 't' | 'p' | 'x' | 'o' => {}
                    'i' => own.mark = Some(if rest.is_empty() { "{}" } else { rest }),
                    'e' | 'l' => {}
                    'I' | 'n' | 'L' | 'P' | 'd' | 'a' | 's' | 'E' => {
                        own.takes(letter, if rest.is_empty() { words.next()?? } else { rest });
                    }
                    _ => return None,
                }
                if !"0rtpxo".contains(letter) {
                    break;
                }
            }
        }
    }

    /// Whether it certainly reads the input of the command, so that what it starts has none.
    pub(super) fn takes_input(fields: &[Field]) -> bool {
        Xargs::of(fields).is_some_and(|own| !own.reads_file)
    }

    fn takes(&mut self, option: char, value: &'a str) {
        match option {
            'I' => self.mark = Some(value).filter(|mark| !mark.is_empty()),
            'n' => self.is_one = value == "1",
            'd' => self.is_plain = true,
            'a' => self.reads_file = true,
            _ => {}
        }
    }
}

/// What may stand for a line of the input of an `xargs` whose options are not certain.
fn may_be_marks(fields: &[Field]) -> Vec<&str> {
    let mut mark = None;
    let mut words = fields.iter().filter_map(|field| match field {
        Field::Word(text) => literal(text),
        _ => None,
    });
    while let Some(word) = words.next() {
        if word == "-i" || word == "--replace" {
            mark = Some("{}");
        } else if let Some(rest) = word.strip_prefix("--replace=") {
            mark = Some(rest);
        } else if let Some((_, rest)) =
            word.split_once(['I', 'J']).filter(|_| word.starts_with('-') && !word.starts_with("--"))
        {
            mark = if rest.is_empty() { words.next() } else { Some(rest) };
        }
    }
    mark.into_iter().filter(|mark| !mark.is_empty()).collect()
}

/// A word in which each of these texts may stand for a mark.
fn with_mark(field: &Field, mark: &str, pieces: &[Text]) -> Vec<Field> {
    let replaced = |text: &Text, piece: &Text| {
        let mut out = Text::new();
        for atom in text {
            let Atom::Text(own) = atom else {
                value::push(&mut out, atom.clone());
                continue;
            };
            for (at, part) in own.split(mark).enumerate() {
                if at > 0 {
                    piece.iter().for_each(|atom| value::push(&mut out, atom.clone()));
                }
                value::push(&mut out, Atom::text(part));
            }
        }
        out
    };
    match field {
        Field::Word(text) if text.iter().any(|atom| matches!(atom, Atom::Text(own) if own.contains(mark))) => {
            Field::choice(pieces.iter().map(|piece| vec![Field::Word(replaced(text, piece))]).collect())
        }
        field => vec![field.clone()],
    }
}
