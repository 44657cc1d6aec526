//! Here-documents, whose bodies come behind the line with their operator.

use std::ops::Range;

use super::{Close, Document, Event, Frame, HOLE, Logical, Open, Spot, Style, Tracker};
use crate::refusal::Context;

impl<const TREE: bool> Tracker<'_, TREE> {
    pub(super) fn open_document(&mut self, operator: usize) -> bool {
        let strip = self.peek() == Some(b'-');
        if strip {
            self.advance();
        }
        self.skip_while(|byte| byte == b' ' || byte == b'\t');
        let start = self.at;
        let mut delimiter = Vec::new();
        let mut quoted = false;
        let mut quote = 0;
        while let Some(byte) = self.peek() {
            match (quote, byte) {
                (_, HOLE) => {
                    return self.abandon("the delimiter of a here-document cannot hold a value");
                }
                (0, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') => break,
                (0, b'\'' | b'"') => {
                    quote = byte;
                    quoted = true;
                }
                (b'\'' | b'"', _) if byte == quote => quote = 0,
                (0, b'\\') => {
                    quoted = true;
                    self.advance();
                    match self.peek() {
                        Some(b'\n' | HOLE) | None => {
                            return self.abandon("the delimiter of a here-document before it is not clear");
                        }
                        Some(escaped) => delimiter.push(escaped),
                    }
                }
                (_, b'$' | b'`' | b'\\') if quote != b'\'' => {
                    return self.abandon("the delimiter of a here-document before it is not clear");
                }
                (_, b'\n') => return self.abandon("the delimiter of a here-document before it spans lines"),
                _ => delimiter.push(byte),
            }
            self.advance();
        }
        if start == self.at || quote != 0 {
            return self.abandon("a here-document before it has no delimiter");
        }
        self.pending.push(Document {
            delimiter,
            quoted,
            opener: start..self.at,
            body: 0..0,
            closer: 0..0,
            layers: self.layers.clone(),
            strip,
            list: self.lists.len(),
            holes: 0..0,
            serial: self.serial,
        });
        let serial = self.serial;
        self.emit(|| Event::Document { serial, at: operator });
        self.serial += 1;
        true
    }

    pub(super) fn begin_documents(&mut self) -> bool {
        if self.pending.iter().any(|document| document.list != self.lists.len()) {
            return self.abandon("a here-document before it begins in one command and has its body in another");
        }
        let first = self.found.documents.len();
        self.found.documents.append(&mut self.pending);
        self.queue.clear();
        self.queue.extend((first..self.found.documents.len()).rev());
        self.next_document()
    }

    fn next_document(&mut self) -> bool {
        let Some(index) = self.queue.pop() else { return true };
        let document = &mut self.found.documents[index];
        document.body = self.at..self.at;
        document.holes = self.found.holes.len()..self.found.holes.len();
        let serial = document.serial;
        self.emit(|| Event::Open(Open::Document(serial)));
        self.push(Frame::Here { document: index, fresh: true })
    }

    pub(super) fn close_document(&mut self, closer: Range<usize>) {
        let Some(Frame::Here { document: index, .. }) = self.close_frame() else { return };
        let document = &mut self.found.documents[index];
        document.body.end = closer.start;
        document.closer = closer;
        document.holes.end = self.found.holes.len();
        let holes = document.holes.clone();
        if !document.quoted && ends_early(&self.source[document.body.clone()], document) {
            // Inside an expansion: some shells end the document there, others do not.
            let why = "a line inside an expansion of a here-document is its delimiter";
            self.unsure(why);
            for hole in &mut self.found.holes[holes] {
                (hole.context, hole.spot) = (Context::Unsupported, Spot::Unsupported(why));
            }
        }
    }

    pub(super) fn here(&mut self, index: usize, fresh: bool) -> bool {
        let quoted = self.found.documents[index].quoted;
        if fresh {
            if let Some((closer, next, certain)) = self.at_delimiter(index) {
                if !certain {
                    return self.abandon("the end of a here-document before it is not clear");
                }
                self.close_document(closer);
                self.at = next;
                return self.next_document();
            }
            if let Some(Frame::Here { fresh, .. }) = self.frames.last_mut() {
                *fresh = false;
            }
        }
        loop {
            let from = self.at;
            if quoted {
                self.skip_while(|byte| byte != b'\n' && byte != HOLE);
            } else {
                self.skip_while(|byte| !matches!(byte, b'\n' | HOLE | b'\\' | b'$' | b'`'));
            }
            self.text(Style::Quoted, from);
            let Some(byte) = self.peek() else { return self.ended() };
            match byte {
                b'\n' => {
                    self.character_of_body();
                    if let Some(Frame::Here { fresh, .. }) = self.frames.last_mut() {
                        *fresh = true;
                    }
                    return true;
                }
                HOLE => self.hole(),
                b'\\' => self.escape(),
                b'$' => return self.dollar(false),
                _ => return self.backtick(),
            }
        }
    }

    fn character_of_body(&mut self) {
        let from = self.at;
        self.advance();
        self.text(Style::Quoted, from);
    }

    /// Whether a line that ends the document begins here: where its delimiter is, where the next line begins, whether that is sure.
    fn at_delimiter(&self, index: usize) -> Option<(Range<usize>, usize, bool)> {
        let document = &self.found.documents[index];
        let mut at = self.at;
        let step = |at: usize| match self.decode(at, self.layers.len()) {
            (Logical::Byte(byte), next) => (Some(byte), next),
            (_, next) => (None, next),
        };
        if document.strip {
            while let (Some(b'\t'), next) = step(at) {
                at = next;
            }
        }
        let start = at;
        for &wanted in &document.delimiter {
            match step(at) {
                (Some(byte), next) if byte == wanted => at = next,
                _ => return None,
            }
        }
        match step(at) {
            (Some(b'\n'), next) => Some((start..at, next, true)),
            (None, _) => Some((start..at, at, true)),
            (Some(b')'), _) if self.list.close == Close::Paren => Some((start..at, at, false)),
            _ => None,
        }
    }

    /// A line break inside an expansion of a here-document: some shells look for the delimiter there.
    pub(super) fn line_inside_document(&mut self) -> bool {
        for depth in (0..self.frames.len()).rev() {
            if let Frame::Here { document, .. } = self.frames[depth] {
                return self.at_delimiter(document).is_none();
            }
        }
        true
    }
}

/// Whether a line of a body is the delimiter.
fn ends_early(body: &[u8], document: &Document) -> bool {
    let delimiter = &document.delimiter[..];
    body.windows(delimiter.len().max(1)).any(|window| window == delimiter)
        && body.split(|&byte| byte == b'\n').any(|line| {
            let tabs = if document.strip { line.iter().take_while(|&&byte| byte == b'\t').count() } else { 0 };
            &line[tabs..] == delimiter && !line.is_empty()
        })
}
