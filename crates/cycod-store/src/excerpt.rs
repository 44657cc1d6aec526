use crate::{StoreError, StoredOutput};

/// As much of an output as a model is given at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// All of it; or its beginning, a line that says what is missing, and its end; or what it is, when it is not text.
    pub text: String,
    /// What is not in `text`.
    pub left_out: Option<OutputGap>,
}

/// The part of an output that an excerpt does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputGap {
    /// Where it begins.
    pub from: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many lines it has a part of.
    pub lines: u64,
}

/// Estimates how many tokens a text is for a model: one for every four characters.
pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// Returns how many characters fit into `cap` tokens.
pub(crate) fn room(cap: usize) -> usize {
    cap.max(1).saturating_mul(4)
}

impl StoredOutput {
    /// Returns the beginning and the end, in at most `cap` tokens, cut between lines where lines are short enough.
    ///
    /// Leaving something out stores the output first if it is only in memory: an excerpt refers to nothing that cannot
    /// be found.
    pub fn excerpt(&mut self, cap: usize) -> Result<Excerpt, StoreError> {
        let room = room(cap);
        let all = OutputGap { from: 0, bytes: self.bytes(), lines: self.lines() };
        if !self.is_text() {
            self.store()?;
            let media_type = self.media_type()?;
            let text = format!("[{}, {media_type}; all of it: {}]", count(all.bytes, "byte"), self.id().uri());
            return Ok(Excerpt { text: first(&text, room).to_owned(), left_out: Some(all) });
        }
        if all.bytes <= (room as u64).saturating_mul(4) {
            let text = self.text_at(0, all.bytes)?;
            if text.chars().count() <= room {
                return Ok(Excerpt { text, left_out: None });
            }
        }
        self.store()?;
        // The true counts are not larger, so the line that holds them is not longer. Two newlines stand around it.
        let longest_note = self.note(all);
        let Some(shown) = room.checked_sub(longest_note.chars().count() + 2) else {
            return Ok(Excerpt { text: first(&longest_note, room).to_owned(), left_out: Some(all) });
        };
        let head = self.text_at(0, widest(shown))?;
        let head = whole_lines(first(&head, shown - shown / 2));
        let tail = self.text_at(all.bytes.saturating_sub(widest(shown)), widest(shown))?;
        let tail = last_lines(last(&tail, shown / 2));
        let (from, until) = (head.len() as u64, all.bytes - tail.len() as u64);
        let shown_newlines = [head, tail].map(|text| text.matches('\n').count() as u64).iter().sum::<u64>();
        let ends_within_line = self.block(until - 1, 1)? != b"\n";
        let lines = self.totals.newlines - shown_newlines + u64::from(ends_within_line);
        let left_out = OutputGap { from, bytes: until - from, lines };
        let newline = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        let text = format!("{head}{newline}{}\n{tail}", self.note(left_out));
        Ok(Excerpt { text, left_out: Some(left_out) })
    }

    fn note(&self, left_out: OutputGap) -> String {
        let (bytes, lines) = (count(left_out.bytes, "byte"), count(left_out.lines, "line"));
        format!("[… {bytes}, {lines} left out; all of it: {} …]", self.id().uri())
    }

    /// Reads text, without the characters that are only partly within.
    pub(crate) fn text_at(&self, offset: u64, length: u64) -> Result<String, StoreError> {
        let mut bytes = self.block(offset, length)?;
        let begin = bytes.iter().take_while(|byte| is_continuation(**byte)).count();
        bytes.truncate(whole_characters(&bytes));
        bytes.drain(..begin.min(bytes.len()));
        String::from_utf8(bytes).map_err(|error| self.failed_to_read()(std::io::Error::other(error)))
    }
}

pub(crate) fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Returns how many of the bytes are left when a character that is cut at the end goes.
pub(crate) fn whole_characters(bytes: &[u8]) -> usize {
    let last = bytes.iter().rposition(|byte| !is_continuation(*byte)).unwrap_or(0);
    let width = bytes.get(last).map_or(0, |byte| byte.leading_ones().max(1) as usize);
    if last + width <= bytes.len() { bytes.len() } else { last }
}

/// Returns how many bytes so many characters can be.
pub(crate) fn widest(characters: usize) -> u64 {
    (characters as u64).saturating_mul(4)
}

/// Returns the first `count` characters.
pub(crate) fn first(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

fn last(text: &str, count: usize) -> &str {
    match count.checked_sub(1) {
        None => "",
        Some(before) => text.char_indices().nth_back(before).map_or(text, |(start, _)| &text[start..]),
    }
}

/// Drops the begun line at the end, unless that would be more than half.
fn whole_lines(text: &str) -> &str {
    text.rfind('\n').map(|newline| newline + 1).filter(|end| end * 2 >= text.len()).map_or(text, |end| &text[..end])
}

/// Drops the rest of a line at the beginning, unless that would be more than half.
fn last_lines(text: &str) -> &str {
    text.find('\n')
        .map(|newline| newline + 1)
        .filter(|start| start * 2 <= text.len())
        .map_or(text, |start| &text[start..])
}

/// Returns such as `1 line` or `20,480 lines`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} {noun}{}", if number == 1 { "" } else { "s" })
}
