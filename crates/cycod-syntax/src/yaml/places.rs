use cycod_diagnostic::Span;

/// Where the bytes of the text that was parsed stand in the file.
///
/// They differ when a repaired copy of the file is parsed: then each piece of the copy knows where it came
/// from, and what was added stands at the byte before which it was added.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// `(offset in the parsed text, offset in the file)`, ascending in both; empty when they are the same.
    pieces: Vec<(usize, usize)>,
}

impl Places {
    /// Returns the places of a text that is the file itself.
    pub(super) fn same() -> Self {
        Self::default()
    }

    /// Says that from `parsed` on the text stands at `file`.
    pub(super) fn piece(&mut self, parsed: usize, file: usize) {
        if self.pieces.is_empty() {
            self.pieces.push((0, 0));
        }
        self.pieces.push((parsed, file));
    }

    /// Returns where in the file the byte at `parsed` stands.
    pub(super) fn file(&self, parsed: usize) -> usize {
        let after = self.pieces.partition_point(|(start, _)| *start <= parsed);
        let Some((start, file)) = after.checked_sub(1).and_then(|index| self.pieces.get(index)) else {
            return parsed;
        };
        let place = file + (parsed - start);
        self.pieces.get(after).map_or(place, |(_, next)| place.min(*next))
    }

    /// Returns where in the file a range stands.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file(start), self.file(end))
    }
}
