//! Cuts a stream of bytes into events, within limits.

/// Cuts what arrives into the events of a stream, whose bytes are counted before they are kept.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Framing,
    most: usize,
    arrived: usize,
    line: Vec<u8>,
    after_return: bool,
    event: Option<String>,
    data: Option<String>,
}

/// How a format tells its events apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// One JSON value on each line.
    Lines,
}

/// Why bytes are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameError {
    /// There are more than this many, which is all that anybody wants.
    TooMany(usize),
    /// They are not UTF-8.
    NotText,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// What it is called, where the stream says so.
    pub(crate) event: Option<String>,
    /// What it says.
    pub(crate) data: String,
}

impl Frames {
    /// Cuts a stream of at most `most` bytes.
    pub(crate) fn new(framing: Framing, most: usize) -> Self {
        let (line, event, data) = (Vec::new(), None, None);
        Self { framing, most, arrived: 0, line, after_return: false, event, data }
    }

    /// Takes what arrived, and hands over each event that is whole now.
    pub(crate) fn feed<E: From<FrameError>>(
        &mut self,
        bytes: &[u8],
        take: &mut dyn FnMut(Frame) -> Result<(), E>,
    ) -> Result<(), E> {
        self.arrived = self.arrived.saturating_add(bytes.len());
        if self.arrived > self.most {
            return Err(FrameError::TooMany(self.most).into());
        }
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(at) = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..at]);
            self.after_return = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if let Some(frame) = self.end_line()? {
                take(frame)?;
            }
        }
        Ok(())
    }

    /// Ends the stream: a last line of JSON needs no line break, an event without its empty line is none.
    pub(crate) fn end(&mut self) -> Result<Option<Frame>, FrameError> {
        match self.framing {
            Framing::Lines => self.end_line(),
            Framing::Events => Ok(None),
        }
    }

    fn end_line(&mut self) -> Result<Option<Frame>, FrameError> {
        let bytes = std::mem::take(&mut self.line);
        let line = str::from_utf8(&bytes).map_err(|_| FrameError::NotText)?;
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if self.framing == Framing::Lines {
            let frame = Frame { event: None, data: line.trim().to_owned() };
            return Ok((!frame.data.is_empty()).then_some(frame));
        }
        if line.is_empty() {
            let event = self.event.take();
            return Ok(self.data.take().map(|data| Frame { event, data }));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // Comments have an empty name; nothing else matters to anybody here.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(framing: Framing, text: &str, size: usize) -> Vec<String> {
        let mut frames = Frames::new(framing, 1 << 20);
        let mut found = Vec::new();
        for bytes in text.as_bytes().chunks(size) {
            let mut take = |frame: Frame| {
                found.push(format!("{}|{}", frame.event.unwrap_or_default(), frame.data));
                Ok::<(), FrameError>(())
            };
            frames.feed(bytes, &mut take).expect("it is text and short");
        }
        found.extend(frames.end().expect("it is text").map(|frame| frame.data));
        found
    }

    #[test]
    fn events_are_the_same_however_they_arrive() {
        let text = "\u{feff}event: a\ndata: 1\n\n: keep\r\ndata:2\r\ndata: 3\r\n\r\ndata: é\r\rdata: half\n";
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(cut(Framing::Events, text, size), ["a|1", "|2\n3", "|é"], "{size}");
        }
    }

    #[test]
    fn lines_need_no_end() {
        for size in [1, 3, 1000] {
            assert_eq!(cut(Framing::Lines, "{}\r\n\n {1}\n{2}", size), ["|{}", "|{1}", "{2}"], "{size}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let mut frames = Frames::new(Framing::Events, 1000);
        let mut take = |_| Ok::<(), FrameError>(());
        frames.feed(&[b'x'; 1000], &mut take).expect("it just fits");
        assert_eq!(frames.feed(b"x", &mut take), Err(FrameError::TooMany(1000)));
    }
}
