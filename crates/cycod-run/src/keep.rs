/// Bytes kept up to a limit; what comes after is counted and dropped.
#[derive(Debug)]
pub(crate) struct Keep {
    bytes: Vec<u8>,
    limit: u64,
    room: usize,
    seen: u64,
}

impl Keep {
    pub(crate) fn new(limit: u64) -> Self {
        Self::at_most(limit, limit)
    }

    /// Holds fewer bytes than its limit, if `most` is below it, for somebody who has seen them all.
    pub(crate) fn at_most(limit: u64, most: u64) -> Self {
        Self { bytes: Vec::new(), limit, room: usize::try_from(limit.min(most)).unwrap_or(usize::MAX), seen: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        let room = self.room.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// Whether there was more than the limit allows.
    pub(crate) fn is_cut(&self) -> bool {
        self.seen > self.limit
    }

    /// Whether it holds all that there was.
    pub(crate) fn is_whole(&self) -> bool {
        self.seen == self.bytes.len() as u64
    }

    /// All that there was, if it holds that.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        self.is_whole().then_some(&self.bytes)
    }

    /// The bytes, cut between characters.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        if self.seen > self.bytes.len() as u64 {
            let tail = self.bytes.len().saturating_sub(3);
            let lead = self.bytes[tail..].iter().rposition(|&byte| byte >= 0xC0).map(|at| tail + at);
            if let Some(lead) = lead {
                let length = match self.bytes[lead] {
                    0xF0.. => 4,
                    0xE0.. => 3,
                    _ => 2,
                };
                if lead + length > self.bytes.len() {
                    self.bytes.truncate(lead);
                }
            }
        }
        self.bytes
    }

    /// The text that says what is missing, for somebody who has seen no more than the limit.
    pub(crate) fn marker(&self) -> Option<String> {
        (self.is_cut() && self.room as u64 == self.limit)
            .then(|| format!("\n[truncated: the first {} of {} bytes]\n", self.bytes.len(), self.seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        let check = |text: &str, limit: u64, expect: &str| {
            let mut keep = Keep::new(limit);
            for byte in text.as_bytes() {
                keep.push(&[*byte]);
            }
            assert_eq!(keep.is_cut(), expect.len() < text.len());
            assert_eq!(String::from_utf8(keep.into_bytes()).expect("cut between characters"), expect);
        };
        check("abc", 3, "abc");
        check("abc", 2, "ab");
        check("aé", 2, "a");
        check("aé", 3, "aé");
        check("a€b", 2, "a");
        check("a€b", 3, "a");
        check("a€b", 4, "a€");
        check("a🦀b", 4, "a");
        check("a🦀b", 5, "a🦀");
        check("", 0, "");
        check("x", 0, "");
    }

    #[test]
    fn what_somebody_else_has_is_not_missing() {
        let check = |limit: u64, most: u64, expect: &str, cut: bool, marked: bool| {
            let mut keep = Keep::at_most(limit, most);
            keep.push(b"12345");
            keep.push("€".as_bytes());
            assert_eq!((keep.is_cut(), keep.marker().is_some()), (cut, marked));
            assert_eq!(String::from_utf8(keep.into_bytes()).expect("cut between characters"), expect);
        };
        check(8, 0, "", false, false);
        check(8, 7, "12345", false, false);
        check(8, 9, "12345€", false, false);
        check(7, 3, "123", true, false);
        check(3, 7, "123", true, true);
        check(3, 3, "123", true, true);
    }
}
