//! What begins with `$`: parameters, substitutions, arithmetic.

use super::{ArithmeticEnd, Close, Event, Expect, Frame, HOLE, Kind, Open, Outer, Stage, Style, Tracker, UNFOLLOWED};
use crate::piece::Shell;

impl<const TREE: bool> Tracker<'_, TREE> {
    pub(super) fn dollar(&mut self, unquoted: bool) -> bool {
        let start = self.at;
        self.advance();
        let Some(next) = self.peek() else {
            self.text(Style::Quoted, start);
            return true;
        };
        let quoted = self.is_quoted();
        let name = self.at;
        match next {
            b'(' => {
                self.advance();
                if self.peek() == Some(b'(') {
                    self.advance();
                    return self.push_arithmetic(Open::Arithmetic, ArithmeticEnd::Parens);
                }
                self.push_list(Open::Output { quoted }, Kind::Commands, Close::Paren, Expect::Command)
            }
            b'{' => {
                self.advance();
                if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
                    self.unsure("`${ …; }` before it is not known to every version of the shell");
                }
                let outer = self.outer();
                self.emit(|| Event::Open(Open::Parameter { quoted }));
                self.push(Frame::Parameter { outer, stage: Stage::Head, odd: false })
            }
            b'[' => {
                if self.shell == Shell::Sh {
                    self.unsure("`$[` before it means different things in different POSIX shells");
                }
                self.advance();
                self.push_arithmetic(Open::Arithmetic, ArithmeticEnd::Bracket)
            }
            b'\'' if unquoted => {
                self.advance();
                self.push_quote(if self.shell == Shell::Sh { Frame::Unclear } else { Frame::Ansi })
            }
            HOLE => {
                self.text(Style::Quoted, start);
                self.after_dollar = self.at;
                self.found.dollars.push((start, self.layers.len()));
                true
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                self.variable_end(name, quoted)
            }
            b'0'..=b'9' => {
                self.advance();
                if self.shell != Shell::Bash {
                    self.skip_while(|byte| byte.is_ascii_digit());
                }
                self.variable_end(name, quoted)
            }
            b'#' | b'+' | b'^' | b'=' | b'~' if self.shell == Shell::Zsh => {
                if self.nth(1).is_some_and(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'*' | b'@' | b'{' | b'#' | b'+')
                }) {
                    if self.nth(1) == Some(b'{') {
                        self.unsure("zsh's expansion flags are not tracked");
                    }
                    self.advance();
                    self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                } else if next == b'#' {
                    self.advance();
                }
                self.variable_end(name, quoted)
            }
            b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                self.advance();
                self.variable_end(name, quoted)
            }
            // `$"…"` is translated text.
            b'"' if unquoted => true,
            _ => {
                self.text(Style::Quoted, start);
                true
            }
        }
    }

    fn variable_end(&mut self, name: usize, quoted: bool) -> bool {
        self.after_variable = self.at;
        if TREE {
            let is_modifier = |byte: u8| byte.is_ascii_alphabetic() || byte == b'&';
            // In zsh a subscript may take a part of a text, and a flag or a modifier makes another of it.
            let is_changed = self.shell == Shell::Zsh
                && (matches!(self.source.get(name), Some(b'^' | b'=' | b'~'))
                    || match self.peek() {
                        Some(b'[') => true,
                        Some(b':') => self.peek_second().is_some_and(is_modifier),
                        _ => false,
                    });
            let name = if is_changed { UNFOLLOWED.to_owned() } else { self.source_text(name) };
            self.found.events.push(Event::Variable { name, quoted });
        }
        if self.shell == Shell::Zsh && self.peek() == Some(b'[') {
            self.advance();
            return self.push_arithmetic(Open::Arithmetic, ArithmeticEnd::Bracket);
        }
        true
    }

    /// What was read since `from`, where nothing is escaped.
    fn source_text(&self, from: usize) -> String {
        String::from_utf8_lossy(&self.source[from..self.at]).into_owned()
    }

    pub(super) fn stage(&mut self, new: Stage) {
        if let Some(Frame::Parameter { stage, .. }) = self.frames.last_mut() {
            *stage = new;
        }
    }

    pub(super) fn parameter(&mut self, outer: Outer, stage: Stage, odd: bool) -> bool {
        match stage {
            Stage::Head => self.parameter_name(),
            Stage::After => self.parameter_operator(),
            stage => self.parameter_text(outer, stage, odd),
        }
    }

    /// The name in an expansion.
    fn parameter_name(&mut self) -> bool {
        let name = self.at;
        if matches!(self.peek(), Some(b'#' | b'!'))
            && !matches!(self.peek_second(), Some(b'}' | b':' | b'-' | b'+' | b'=' | b'%' | b'?' | b'/'))
        {
            self.advance();
        }
        match self.peek() {
            Some(byte) if byte.is_ascii_alphanumeric() || byte == b'_' => {
                self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            }
            Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => self.advance(),
            Some(b'}') => {}
            _ => {
                self.tell_parameter_name(name);
                self.stage(Stage::Opaque);
                return true;
            }
        }
        self.tell_parameter_name(name);
        self.stage(Stage::After);
        true
    }

    /// What stands behind the name in an expansion.
    fn parameter_operator(&mut self) -> bool {
        let Some(byte) = self.peek() else { return self.ended() };
        let operator = self.at;
        let next = match (byte, self.peek_second()) {
            (b'}', _) => {
                self.advance();
                self.close_frame();
                return true;
            }
            (b'[', second) => {
                let is_all = matches!(second, Some(b'@' | b'*')) && self.nth(2) == Some(b']');
                if TREE && self.shell == Shell::Zsh && !is_all {
                    self.found.events.push(Event::ParameterName(UNFOLLOWED.to_owned()));
                }
                self.advance();
                return self.push_arithmetic(Open::Arithmetic, ArithmeticEnd::Bracket);
            }
            (b':', Some(b'-' | b'=' | b'?' | b'+')) => {
                self.skip(2);
                Stage::Default
            }
            (b'-' | b'=' | b'?' | b'+', _) => {
                self.advance();
                Stage::Default
            }
            (b'#' | b'%', second) => {
                self.advance();
                if second == Some(byte) {
                    self.advance();
                }
                Stage::Pattern
            }
            (b':', _) => {
                self.advance();
                Stage::Offset
            }
            _ => Stage::Opaque,
        };
        if TREE {
            let operator = match next {
                // What there is says `parameter`, which passes over it as over text.
                Stage::Opaque => char::from(byte).to_string(),
                _ => self.source_text(operator),
            };
            self.found.events.push(Event::ParameterOperator(operator));
        }
        self.stage(next);
        true
    }

    /// What an operator works with, up to the end of the expansion.
    fn parameter_text(&mut self, outer: Outer, stage: Stage, odd: bool) -> bool {
        loop {
            let from = self.at;
            self.skip_while(|byte| !matches!(byte, b'}' | b'\'' | b'"' | b'\\' | b'$' | b'`' | HOLE | b'{' | b'\n'));
            self.text(self.style(), from);
            let Some(byte) = self.peek() else { return self.ended() };
            match byte {
                HOLE => self.hole(),
                b'\\' => self.escape(),
                b'}' => {
                    self.advance();
                    self.close_frame();
                    if stage == Stage::Opaque && odd && self.shell != Shell::Bash {
                        self.unsure("quotes inside an expansion before it are read differently by different shells");
                    }
                    return true;
                }
                b'\n' => {
                    self.character_inside();
                    if !self.line_inside_document() {
                        return self.abandon("the end of a here-document before it is not clear");
                    }
                }
                b'{' => {
                    if self.shell == Shell::Zsh {
                        self.unsure("a brace inside an expansion before it is not tracked");
                    }
                    self.character_inside();
                }
                b'"' => {
                    if outer == Outer::Here {
                        self.odd();
                        if stage != Stage::Pattern {
                            self.unsure("quotes inside an expansion of a here-document before it are read differently by different shells");
                        }
                    }
                    self.advance();
                    return self.push(Frame::Double);
                }
                b'\'' => {
                    if outer == Outer::Unquoted
                        || stage == Stage::Pattern && outer == Outer::Double && self.shell != Shell::Zsh
                    {
                        self.advance();
                        return self.push(Frame::Single);
                    }
                    // In `"${x:-it's}"` bash looks for a second one; other shells take it for text. Where nothing between two
                    // of them could end anything, both come to the same.
                    if (self.shell != Shell::Zsh || stage != Stage::Pattern)
                        && let Some(length) = self.harmless_quotes()
                    {
                        let from = self.at;
                        self.skip(length);
                        self.text(self.style(), from);
                        continue;
                    }
                    self.odd();
                    self.unsure("a quote inside an expansion before it is read differently by different shells");
                    self.advance();
                }
                b'$' => {
                    let depth = self.frames.len();
                    if !self.dollar(outer == Outer::Unquoted) {
                        return false;
                    }
                    if self.frames.len() != depth {
                        return true;
                    }
                }
                _ => return self.backtick(),
            }
        }
    }

    /// The length of `'…'`, quotes included, when it ends where it does in whatever way its quotes are read.
    fn harmless_quotes(&self) -> Option<usize> {
        let rest = self.source.get(self.at + 1..)?;
        let length = rest.iter().position(|byte| *byte == b'\'')?;
        let inside = &rest[..length];
        let is_harmless = |(index, byte): (usize, &u8)| match *byte {
            b'{' | b'}' | b'"' | b'`' | b'$' | b'\n' | HOLE => false,
            b'\\' => inside.get(index + 1).is_some_and(|next| next.is_ascii_alphanumeric()),
            _ => true,
        };
        inside.iter().enumerate().all(is_harmless).then_some(length + 2)
    }

    fn tell_parameter_name(&mut self, from: usize) {
        if TREE {
            let name = self.source_text(from);
            self.found.events.push(Event::ParameterName(name));
        }
    }

    /// Passes over one character of text inside an expansion or arithmetic.
    fn character_inside(&mut self) {
        let from = self.at;
        self.advance();
        self.text(self.style(), from);
    }

    pub(super) fn odd(&mut self) {
        if let Some(Frame::Parameter { odd, .. }) = self.frames.last_mut() {
            *odd = true;
        }
    }

    fn set_depth(&mut self, new: u32) {
        if let Some(Frame::Arithmetic { depth, .. }) = self.frames.last_mut() {
            *depth = new;
        }
    }

    pub(super) fn arithmetic(&mut self, end: ArithmeticEnd, mut depth: u32) -> bool {
        let (open, close) = match end {
            ArithmeticEnd::Parens => (b'(', b')'),
            ArithmeticEnd::Bracket => (b'[', b']'),
        };
        loop {
            let from = self.at;
            self.skip_while(|byte| {
                byte != open && byte != close && !matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`' | HOLE | b'\n')
            });
            self.text(Style::Quoted, from);
            let Some(byte) = self.peek() else { return self.ended() };
            match byte {
                HOLE => self.hole(),
                b'\\' => self.escape(),
                b'\n' => {
                    self.character_inside();
                    if !self.line_inside_document() {
                        return self.abandon("the end of a here-document before it is not clear");
                    }
                }
                b'"' => {
                    self.set_depth(depth);
                    self.advance();
                    return self.push(Frame::Double);
                }
                b'\'' if end == ArithmeticEnd::Bracket => {
                    self.set_depth(depth);
                    self.advance();
                    return self.push(Frame::Single);
                }
                b'\'' => self.character_inside(),
                b'$' => {
                    self.set_depth(depth);
                    let frames = self.frames.len();
                    if !self.dollar(false) {
                        return false;
                    }
                    if self.frames.len() != frames {
                        return true;
                    }
                }
                b'`' => {
                    self.set_depth(depth);
                    return self.backtick();
                }
                _ if byte == open => {
                    depth += 1;
                    self.character_inside();
                }
                _ if depth > 0 => {
                    depth -= 1;
                    self.character_inside();
                }
                _ => {
                    self.advance();
                    if end == ArithmeticEnd::Parens {
                        if self.peek() == Some(b')') {
                            self.advance();
                        } else {
                            return self.abandon("`((` before it is not closed by `))`");
                        }
                    }
                    self.close_frame();
                    return true;
                }
            }
        }
    }
}
