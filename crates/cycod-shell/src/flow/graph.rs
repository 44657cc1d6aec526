//! The words of a command as a graph: every way through it is one list of words that the command may get.

use super::value::{Field, Text};

#[derive(Debug, Default)]
pub(crate) struct Graph<'f> {
    /// Where one can go from each node; without a word where nothing is consumed.
    edges: Vec<Vec<(Option<&'f Text>, usize)>>,
    end: usize,
}

impl<'f> Graph<'f> {
    pub(crate) const START: usize = 0;

    pub(crate) fn of(fields: &'f [Field]) -> Self {
        let mut graph = Self { edges: Vec::with_capacity(fields.len() + 1), end: 0 };
        graph.node();
        graph.end = graph.sequence(Self::START, fields);
        graph
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.edges.len()
    }

    fn node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    fn sequence(&mut self, mut from: usize, fields: &'f [Field]) -> usize {
        for field in fields {
            from = match field {
                Field::Word(text) => {
                    let to = self.node();
                    self.edges[from].push((Some(text), to));
                    to
                }
                Field::Choice(alternatives) => {
                    let ends: Vec<usize> = alternatives.iter().map(|fields| self.sequence(from, fields)).collect();
                    let to = self.node();
                    for end in ends {
                        self.edges[end].push((None, to));
                    }
                    to
                }
                Field::Many(alternatives) => {
                    let again = self.node();
                    self.edges[from].push((None, again));
                    for fields in alternatives.iter() {
                        let end = self.sequence(again, fields);
                        self.edges[end].push((None, again));
                    }
                    again
                }
            };
        }
        from
    }

    /// Where one can go from `node`; without a word where nothing is consumed.
    pub(crate) fn edges(&self, node: usize) -> &[(Option<&'f Text>, usize)] {
        &self.edges[node]
    }

    /// Whether the words may end at `node`.
    pub(crate) fn is_end(&self, node: usize) -> bool {
        node == self.end
    }

    /// The words that may come next from `node`, each with the node behind it, and whether the command may end there.
    fn next(&self, node: usize) -> (Vec<(&'f Text, usize)>, bool) {
        let (mut words, mut is_end) = (Vec::new(), false);
        let mut seen = vec![node];
        let mut at = 0;
        while let Some(&node) = seen.get(at) {
            at += 1;
            is_end |= node == self.end;
            for (word, to) in &self.edges[node] {
                match word {
                    Some(text) => words.push((*text, *to)),
                    None if !seen.contains(to) => seen.push(*to),
                    None => {}
                }
            }
        }
        (words, is_end)
    }

    /// The words from `node` to the end, as fields again: in order where there is but one way, else any of them in any order.
    pub(crate) fn rest(&self, node: usize) -> Vec<Field> {
        let mut fields = Vec::new();
        let mut at = node;
        loop {
            let (words, is_end) = self.next(at);
            match words.as_slice() {
                [] => return fields,
                [(text, to)] if !is_end => {
                    fields.push(Field::Word((*text).clone()));
                    at = *to;
                }
                _ => break,
            }
            if fields.len() > self.edges.len() {
                break;
            }
        }
        let mut reached = vec![at];
        let mut words: Vec<Vec<Field>> = Vec::new();
        let mut index = 0;
        while let Some(&node) = reached.get(index) {
            index += 1;
            for (text, to) in self.next(node).0 {
                words.push(vec![Field::Word(text.clone())]);
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        fields.push(Field::Many(words.into()));
        fields
    }
}
