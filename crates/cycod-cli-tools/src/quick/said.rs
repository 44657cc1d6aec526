/// How many bytes are kept of the beginning, and as many of the end.
const HALF: usize = 16 << 10;

/// What a program said in one stream: all of it, or its beginning and its end.
#[derive(Debug, Default)]
pub(super) struct Said {
    head: Vec<u8>,
    /// What came after the head: the last of it, and at times more than is answered.
    tail: Vec<u8>,
    dropped: u64,
}

impl Said {
    /// Takes what comes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = (HALF - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Moving the end forward once per half keeps the cost of a flood linear.
        if self.tail.len() > 2 * HALF {
            self.shorten();
        }
    }

    /// Whether there was more than is kept.
    pub(super) fn is_cut(&self) -> bool {
        self.dropped > 0 || self.tail.len() > HALF
    }

    /// The text, with a line that says how much is missing where something is. What is no UTF-8 is replaced.
    pub(super) fn text(&self) -> String {
        let surplus = self.tail.len().saturating_sub(HALF);
        let mut tail = &self.tail[surplus..];
        if !self.is_cut() {
            return String::from_utf8_lossy(&[self.head.as_slice(), tail].concat()).into_owned();
        }
        // Between lines where that costs little, else between characters.
        let mut head = self.head.as_slice();
        match head.iter().rposition(|&byte| byte == b'\n') {
            Some(end) if end >= HALF / 2 => head = &head[..=end],
            _ => head = &head[..head.len() - unfinished(head)],
        }
        match tail.iter().position(|&byte| byte == b'\n') {
            Some(end) if end < HALF / 2 => tail = &tail[end + 1..],
            _ => tail = &tail[tail.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count()..],
        }
        let total = self.head.len() as u64 + self.dropped + self.tail.len() as u64;
        let missing = total - (head.len() + tail.len()) as u64;
        let break_before = if head.ends_with(b"\n") { "" } else { "\n" };
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}{break_before}[… {missing} of {total} bytes left out …]\n{tail}")
    }

    fn shorten(&mut self) {
        let surplus = self.tail.len() - HALF;
        self.tail.drain(..surplus);
        self.dropped += surplus as u64;
    }
}

/// How many bytes at the end begin a character that is not complete.
fn unfinished(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    match bytes[from..].iter().rposition(|&byte| byte >= 0xC0) {
        Some(at) => {
            let length = match bytes[from + at] {
                0xF0.. => 4,
                0xE0.. => 3,
                _ => 2,
            };
            let has = bytes.len() - from - at;
            if has < length { has } else { 0 }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(pieces: &[&[u8]]) -> Said {
        let mut said = Said::default();
        pieces.iter().for_each(|piece| said.push(piece));
        said
    }

    #[test]
    fn what_fits_is_whole() {
        let check = |pieces: &[&[u8]], expect: &str| {
            let said = said(pieces);
            assert_eq!((said.text().as_str(), said.is_cut()), (expect, false));
        };
        check(&[], "");
        check(&[b"one\ntw", b"o\n"], "one\ntwo\n");
        check(&["caf\u{e9}".as_bytes()], "café");
        check(&[b"caf\xC3", b"\xA9"], "café");
        check(&[b"caf\xe9!"], "caf\u{fffd}!");
        let full = "é".repeat(HALF);
        check(&[full.as_bytes()], &full);
    }

    #[test]
    fn of_too_much_the_beginning_and_the_end_stay() {
        let lines: Vec<String> = (0..100_000).map(|number| format!("line {number}\n")).collect();
        let whole = lines.concat();
        let mut said = Said::default();
        for piece in whole.as_bytes().chunks(997) {
            said.push(piece);
            assert!(said.tail.len() <= 2 * HALF + 997);
        }
        let text = said.text();
        assert!(said.is_cut() && text.len() <= 2 * HALF + 100);
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 99998\nline 99999\n"));
        let at = text.lines().position(|line| line.starts_with("[… ")).expect("a marker");
        let kept: usize =
            text.lines().enumerate().filter(|(line, _)| *line != at).map(|(_, line)| line.len() + 1).sum();
        let expect = format!("[… {} of {} bytes left out …]", whole.len() - kept, whole.len());
        assert_eq!(text.lines().nth(at), Some(expect.as_str()));
        assert!(text.lines().enumerate().all(|(number, line)| number == at || line.starts_with("line ")));
    }

    #[test]
    fn one_long_line_is_cut_between_characters() {
        for shift in 0..4 {
            let whole = format!("{}{}", "x".repeat(shift), "🦀".repeat(2 * HALF));
            let said = said(&[whole.as_bytes()]);
            assert!(said.is_cut() && !said.text().contains('\u{fffd}'), "{shift}");
        }
    }
}
