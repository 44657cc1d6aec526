//! @@description:line@@

use std::{
    collections::HashMap,
    io::{self, BufRead},
};

/// How often each line comes.
#[derive(Debug, Default)]
pub struct Tally {
    counts: HashMap<Vec<u8>, u64>,
}

impl Tally {
    /// Counts the lines of a file; they need not be UTF-8.
    pub fn read(&mut self, mut from: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line)? > 0 {
            let end = line.trim_ascii_end().len();
            *self.counts.entry(line[..end].to_vec()).or_default() += 1;
            line.clear();
        }
        Ok(())
    }

    /// The most frequent lines with their counts; equally frequent ones in the order of their bytes.
    pub fn top(&self, most: usize) -> Vec<(&[u8], u64)> {
        let mut lines: Vec<_> = self
            .counts
            .iter()
            .map(|(line, &count)| (line.as_slice(), count))
            .collect();
        lines.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        lines.truncate(most);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_come_first() {
        let mut tally = Tally::default();
        tally.read(&b"pear\nfig\nfig\r\napple\n"[..]).unwrap();
        tally.read(&b"apple"[..]).unwrap();
        let expected: [(&[u8], u64); 3] = [(b"apple", 2), (b"fig", 2), (b"pear", 1)];
        assert_eq!(tally.top(10), expected);
        assert_eq!(tally.top(1), expected[..1]);
    }

    #[test]
    fn bytes_that_are_no_text_are_counted() {
        let mut tally = Tally::default();
        tally.read(&b"\xff\n\xff\n"[..]).unwrap();
        assert_eq!(tally.top(1), [(&b"\xff"[..], 2)]);
    }
}
