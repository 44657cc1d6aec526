//! Values that a program pastes into its own code by a name: `psql -v id={X} -c 'SELECT :id'`.
//!
//! In such code, `:'id'` is the value as one text, and `:id` is whatever the value says. The code counts as far as it stands in the
//! command: among its words, and in what it reads.

use std::sync::Arc;

use super::value::{Atom, Text, beginning, holes_of};
use super::{Flow, Input, Reason};
use crate::programs::{Place, State};

/// What a command pastes, and into what.
#[derive(Debug, Default)]
pub(super) struct Pasted {
    /// Names, each with the mark before it in code, and the values.
    named: Vec<(String, &'static str, Vec<usize>)>,
    /// The code, with a mark for what the author did not write.
    code: Vec<String>,
}

/// Stands for what is not the author's.
const OTHER: char = '\u{1}';

impl Flow<'_> {
    /// A word names a value for the code of its program.
    pub(super) fn note_pasted(&mut self, place: &'static Place<'static>, text: &Text) {
        if let Some((name, _)) = beginning(text).split_once('=').filter(|_| !place.pasted.is_empty()) {
            self.pasted.named.push((name.to_owned(), place.pasted, holes_of(text)));
        }
    }

    /// A word, or what is read, is code of a program.
    pub(super) fn note_code(&mut self, text: &Text) {
        if !self.pasted.named.is_empty() || text.iter().any(|atom| matches!(atom, Atom::Text(_))) {
            let piece = |atom: &Atom| if let Atom::Text(text) = atom { text.to_string() } else { OTHER.to_string() };
            self.pasted.code.push(text.iter().map(piece).collect());
        }
    }

    /// The words of a command are read: what it pastes is code.
    pub(super) fn pastes(&mut self, state: &State) {
        if self.pasted.named.is_empty() {
            return;
        }
        if let Input::Texts(texts) = self.input.clone() {
            texts.iter().for_each(|text| self.note_code(text));
        }
        for (name, mark, holes) in std::mem::take(&mut self.pasted.named) {
            if self.pasted.code.iter().any(|code| pastes(code, mark, &name)) {
                let reason =
                    Reason::Pasted { program: Arc::clone(state.label()), code: format!("{mark}{name}").into() };
                self.find_by_kind(holes, &reason, "code, where it can do no harm");
            }
        }
    }
}

/// Whether code names a value outside of quotes, so that it is pasted there as it is.
fn pastes(code: &str, mark: &str, name: &str) -> bool {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in code.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            // `:'id'` is quoted by the program itself.
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None => {
                let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
                let rest = code[at..].strip_prefix(mark).and_then(|rest| rest.strip_prefix(name));
                // `a::id` is a type.
                if !before.to_string().ends_with(mark)
                    && rest.is_some_and(|rest| rest.chars().next().is_none_or(is_end))
                {
                    return true;
                }
            }
        }
        before = c;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::pastes;

    #[test]
    fn a_name_is_pasted_where_no_quotes_are() {
        for code in ["select :id", "select * from a where id=:id;", "\\\\set a :id", ":id", "select 'a', :id, 'b'"] {
            assert!(pastes(code, ":", "id"), "{code}");
        }
        for code in ["select :'id'", "select :\"id\"", "select ':id'", "select a::id", "select :id2", "select 1"] {
            assert!(!pastes(code, ":", "id"), "{code}");
        }
    }
}
