use cycod_diagnostic::Span;

/// Where the bytes of the text that was parsed stand in the file.
///
/// They differ when a repaired copy of the file is parsed: then each piece of the copy knows where it came
/// from, and what was added stands at the byte before which it was added.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Ascending in both offsets; empty when the texts are the same.
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    /// Where it begins in the parsed text.
    parsed: usize,
    /// Where it begins in the file.
    file: usize,
    /// Whether the file has the same bytes; if not, only its two ends have a place in the file.
    is_copy: bool,
}

impl Places {
    /// Returns the places of a text that is the file itself.
    pub(super) fn same() -> Self {
        Self::default()
    }

    /// Says that from `parsed` on the text is a copy of the file from `file` on.
    pub(super) fn piece(&mut self, parsed: usize, file: usize) {
        self.push(parsed, file, true);
    }

    /// Says that from `parsed` on the text stands for other bytes of the file, which begin at `file`.
    pub(super) fn replaced(&mut self, parsed: usize, file: usize) {
        self.push(parsed, file, false);
    }

    fn push(&mut self, parsed: usize, file: usize, is_copy: bool) {
        if self.pieces.is_empty() {
            self.pieces.push(Piece { parsed: 0, file: 0, is_copy: true });
        }
        self.pieces.push(Piece { parsed, file, is_copy });
    }

    /// Returns where in the file the byte at `parsed` stands; what replaces other bytes stands where they begin.
    pub(super) fn file(&self, parsed: usize) -> usize {
        self.place(parsed, |piece, _| piece.file)
    }

    /// Returns where in the file a range stands.
    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        let after = self.place(end, |piece, next| if end > piece.parsed { next } else { piece.file });
        Span::new(self.file(start), after)
    }

    /// Moves runs of a scalar's text, `(offset in its text, offset in the parsed text)`, to where they stand in the file.
    pub(super) fn runs(&self, runs: &[(usize, usize)], len: usize) -> Vec<(usize, usize)> {
        let mut moved = Vec::with_capacity(runs.len());
        for (index, &(at, parsed)) in runs.iter().enumerate() {
            let end = parsed + runs.get(index + 1).map_or(len, |(next, _)| *next).saturating_sub(at);
            moved.push((at, self.file(parsed)));
            let first = self.pieces.partition_point(|piece| piece.parsed <= parsed).saturating_sub(1);
            for (number, piece) in self.pieces.iter().enumerate().skip(first) {
                let next = self.pieces.get(number + 1);
                if piece.parsed >= end {
                    break;
                }
                // A copy keeps step with the file; what replaces other bytes does not move on in it.
                let to = next.map_or(end, |next| next.parsed.min(end));
                let steps = if piece.is_copy { piece.parsed..(piece.parsed + 1).min(to) } else { piece.parsed..to };
                moved.extend(steps.filter(|step| *step > parsed).map(|step| (at + step - parsed, self.file(step))));
            }
        }
        moved
    }

    fn place(&self, parsed: usize, replaced: impl Fn(&Piece, usize) -> usize) -> usize {
        let after = self.pieces.partition_point(|piece| piece.parsed <= parsed);
        let Some(piece) = after.checked_sub(1).and_then(|index| self.pieces.get(index)) else {
            return parsed;
        };
        let next = self.pieces.get(after).map_or(usize::MAX, |next| next.file);
        if piece.is_copy { (piece.file + (parsed - piece.parsed)).min(next) } else { replaced(piece, next) }
    }
}
