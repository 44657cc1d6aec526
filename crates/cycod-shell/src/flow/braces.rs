//! Brace expansion: one word from which the shell makes several.

use super::Flow;
use super::expand::MOST_TEXTS;
use crate::piece::Shell;
use crate::script::Part;

impl Flow<'_> {
    /// Brace expansion, which bash and zsh do before anything else.
    pub(super) fn braces(&self, parts: &[Part]) -> Vec<Vec<Part>> {
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
                    if !open.is_empty() {
                        continue;
                    }
                    let end = (index, at);
                    let is_range = commas.is_empty();
                    let mut cuts = vec![start];
                    cuts.extend(commas);
                    cuts.push(end);
                    let mut middles: Vec<Vec<Part>> =
                        cuts.windows(2).map(|pair| between(parts, (pair[0].0, pair[0].1 + 1), pair[1])).collect();
                    if is_range {
                        let Some(numbers) = range(&middles[0]) else { continue };
                        middles = numbers;
                    }
                    let before = between(parts, (0, 0), start);
                    let after = between(parts, (end.0, end.1 + 1), (parts.len(), 0));
                    let with = |middle: Vec<Part>| before.iter().chain(&middle).chain(&after).cloned().collect();
                    return Some(middles.into_iter().map(with).collect());
                }
                _ => {}
            }
        }
    }
    None
}

/// What stands for `{1..3}`, when that is not much.
fn range(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    let [Part::Text { text, quoted: false }] = parts else { return None };
    let (first, last) = text.split_once("..")?;
    let width = if first.starts_with('0') || last.starts_with('0') { first.len().max(last.len()) } else { 0 };
    let (from, to): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
    let count = usize::try_from(from.abs_diff(to)).ok()?;
    let part = |number: i64| vec![Part::Text { text: format!("{number:0width$}").into(), quoted: false }];
    (count < MOST_TEXTS).then(|| (from.min(to)..=from.max(to)).map(part).collect())
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
