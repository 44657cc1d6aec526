//! Quotes of every kind, and backticks.

use super::{Close, Expect, Frame, HOLE, Kind, Layer, MOST_LAYERS, Open, Outer, Style, Tracker};
use crate::piece::Shell;

impl<const TREE: bool> Tracker<'_, TREE> {
    pub(super) fn single(&mut self) -> bool {
        loop {
            let from = self.at;
            self.skip_while(|byte| byte != b'\'' && byte != HOLE);
            self.text(Style::Quoted, from);
            match self.peek() {
                Some(HOLE) => self.hole(),
                Some(_) => {
                    self.advance();
                    self.frames.pop();
                    return true;
                }
                None => return self.ended(),
            }
        }
    }

    pub(super) fn ansi(&mut self) -> bool {
        loop {
            let from = self.at;
            self.skip_while(|byte| !matches!(byte, b'\'' | b'\\' | HOLE));
            self.text(Style::Ansi, from);
            match self.peek() {
                Some(HOLE) => self.hole(),
                Some(b'\\') => {
                    if matches!(self.frames.last(), Some(Frame::Unclear)) {
                        self.unsure("a `$'` before it means different things in different POSIX shells");
                    }
                    self.escape();
                }
                Some(_) => {
                    self.advance();
                    self.frames.pop();
                    return true;
                }
                None => return self.ended(),
            }
        }
    }

    pub(super) fn double(&mut self) -> bool {
        loop {
            let from = self.at;
            self.skip_while(|byte| !matches!(byte, b'"' | b'\\' | b'$' | b'`' | HOLE));
            self.text(Style::Quoted, from);
            match self.peek() {
                Some(HOLE) => self.hole(),
                Some(b'\\') => self.escape(),
                Some(b'$') => {
                    let depth = self.frames.len();
                    if !self.dollar(false) {
                        return false;
                    }
                    if self.frames.len() != depth {
                        return true;
                    }
                }
                Some(b'`') => return self.backtick(),
                Some(_) => {
                    self.advance();
                    self.frames.pop();
                    return true;
                }
                None => return self.ended(),
            }
        }
    }

    pub(super) fn backtick(&mut self) -> bool {
        if self.layers.len() >= MOST_LAYERS {
            return self.abandon("the backticks around it are nested too deeply");
        }
        let layer = match self.outer() {
            Outer::Unquoted => Layer::Plain,
            Outer::Double => Layer::Double,
            Outer::Here | Outer::Pattern => Layer::Here,
        };
        // Whether `\"` keeps its backslash differs between shells: in a here-document, and in the quotes of a POSIX shell.
        if layer == Layer::Here || layer == Layer::Double && self.shell == Shell::Sh {
            // So does an escaped quote beside an apostrophe: bash as a POSIX shell pairs the apostrophes first.
            let mut run = 0;
            let (mut apostrophe, mut escaped) = (false, false);
            for &byte in &self.source[self.at + 1..] {
                apostrophe |= byte == b'\'';
                escaped |= byte == b'"' && run > 0;
                if apostrophe && escaped {
                    self.unsure("quotes inside backticks before it are read differently by different POSIX shells");
                    break;
                }
                match byte {
                    b'\\' => run += 1,
                    b'`' if run % 2 == 0 => break,
                    b'"' if run % 2 == 1 || run > 0 && (layer == Layer::Here || !self.layers.is_empty()) => {
                        self.unsure(
                            "an escaped quote inside backticks before it means different things in different shells",
                        );
                        break;
                    }
                    _ => run = 0,
                }
            }
        }
        let quoted = self.is_quoted();
        self.advance();
        self.layers.push(layer);
        self.push_list(Open::Output { quoted }, Kind::Commands, Close::Backtick, Expect::Command)
    }
}
