//! Commands: words, reserved words, operators, redirections, and what else is made of words.

use std::ops::Range;

use super::{
    ArithmeticEnd, CLASS, Close, Event, Expect, Frame, HOLE, Kind, NONE, Open, Operator, PLAIN, Redirection, Role,
    Spot, Style, Tracker, Word, is_assignment, is_name,
};
use crate::piece::Shell;
use crate::refusal::Context;

impl<const TREE: bool> Tracker<'_, TREE> {
    #[inline]
    fn begin_word(&mut self) {
        if self.list.word == NONE {
            self.list.word = self.at;
            let at = self.at;
            self.emit(|| Event::Word(at));
        }
    }

    pub(super) fn word_text(&self) -> &[u8] {
        if self.list.word == NONE { &[] } else { &self.source[self.list.word..self.at] }
    }

    /// Forgets the word that began.
    fn drop_word(&mut self) {
        self.list.word = NONE;
        self.emit(|| Event::NoWord);
    }

    fn word_ended(&mut self, role: Role, span: Range<usize>) {
        self.emit(|| Event::WordEnd(role, span.end));
        if matches!(role, Role::Plain | Role::Assignment | Role::Redirect) {
            self.words.push(Word { span, is_plain: role == Role::Plain });
        }
    }

    pub(super) fn end_word(&mut self) {
        if self.list.word == NONE {
            return;
        }
        let span = self.list.word..self.at;
        self.list.word = NONE;
        if std::mem::take(&mut self.list.redirect) {
            return self.word_ended(Role::Redirect, span);
        }
        let text = &self.source[span.clone()];
        match self.list.expect {
            Expect::Argument if self.shell == Shell::Zsh && text == b"}" => {
                self.word_ended(Role::Reserved, span);
                self.end_command();
                self.list.expect = Expect::Command;
            }
            Expect::Argument => self.word_ended(Role::Plain, span),
            Expect::Command if self.list.kind == Kind::Commands => {
                if is_assignment(text) {
                    return self.word_ended(Role::Assignment, span);
                }
                if self.words.len() == self.list.words && self.reserved(span.clone()) {
                    return;
                }
                self.word_ended(Role::Plain, span);
                self.list.expect = Expect::Argument;
            }
            Expect::Command => self.word_ended(Role::Plain, span),
            Expect::ForName => {
                self.list.expect = Expect::ForIn;
                self.word_ended(Role::ForName, span);
            }
            Expect::ForIn => {
                match text {
                    b"in" => self.list.expect = Expect::ForWords,
                    b"do" | b"{" => self.list.expect = Expect::Command,
                    _ => {}
                }
                self.word_ended(Role::Reserved, span);
            }
            Expect::ForWords => self.word_ended(Role::ForWord, span),
            Expect::CaseSubject => {
                self.list.expect = Expect::CaseIn;
                self.word_ended(Role::CaseSubject, span);
            }
            Expect::CaseIn => {
                self.list.expect = Expect::CasePattern { first: true, parens: 0 };
                self.word_ended(Role::Reserved, span);
            }
            Expect::CasePattern { first: true, .. } if text == b"esac" => {
                self.word_ended(Role::Reserved, span);
                self.end_case();
            }
            Expect::CasePattern { parens, .. } => {
                self.list.expect = Expect::CasePattern { first: false, parens };
                self.word_ended(Role::CasePattern, span);
            }
            Expect::FunctionName => {
                self.list.expect = Expect::Command;
                self.word_ended(Role::FunctionName, span);
            }
        }
    }

    fn end_case(&mut self) {
        if self.cases > self.list.cases {
            self.cases -= 1;
        }
        self.list.expect = Expect::Command;
    }

    fn reserved(&mut self, span: Range<usize>) -> bool {
        let text = &self.source[span.clone()];
        let expect = match text {
            b"if" | b"then" | b"else" | b"elif" | b"fi" | b"while" | b"until" | b"do" | b"done" | b"{" | b"}"
            | b"!" | b"time" | b"always" | b"coproc" | b"[[" => Expect::Command,
            b"esac" => {
                self.end_case();
                Expect::Command
            }
            b"for" | b"select" => Expect::ForName,
            b"foreach" | b"repeat" if self.shell == Shell::Zsh => {
                self.unsure("zsh's short loops are not tracked");
                Expect::Argument
            }
            b"case" => {
                self.cases += 1;
                Expect::CaseSubject
            }
            b"function" if self.shell != Shell::Sh => Expect::FunctionName,
            _ => return false,
        };
        let is_test = text == b"[[";
        self.list.expect = expect;
        self.word_ended(Role::Reserved, span);
        if is_test {
            self.push_list(Open::Test, Kind::Test, Close::End, Expect::Command);
        }
        true
    }

    pub(super) fn end_command(&mut self) {
        self.words.truncate(self.list.words);
        self.list.redirect = false;
    }

    /// Whether the current word may be an assignment.
    pub(super) fn may_assign(&self) -> bool {
        self.list.kind == Kind::Commands
            && match self.list.expect {
                Expect::Command => true,
                Expect::Argument => {
                    self.words[self.list.words..].iter().find(|word| word.is_plain).is_some_and(|word| {
                        matches!(
                            &self.source[word.span.clone()],
                            b"export" | b"declare" | b"typeset" | b"local" | b"readonly" | b"integer" | b"float"
                        )
                    })
                }
                _ => false,
            }
            && !self.list.redirect
    }

    /// Passes over text that means nothing to the shell.
    #[inline]
    pub(super) fn plain(&mut self) {
        let from = self.at;
        self.skip_while(|byte| CLASS[byte as usize] == PLAIN);
        self.text(Style::Bare, from);
    }

    /// Passes over one character of the current word that is text here.
    pub(super) fn character(&mut self) {
        self.begin_word();
        let from = self.at;
        self.advance();
        self.text(self.style(), from);
    }

    pub(super) fn commands(&mut self) -> bool {
        loop {
            let Some(byte) = self.peek() else { return self.ended() };
            if CLASS[byte as usize] == PLAIN {
                self.begin_word();
                self.plain();
                continue;
            }
            match byte {
                b' ' | b'\t' => {
                    let depth = self.frames.len();
                    self.end_word();
                    self.advance();
                    if self.frames.len() != depth {
                        return true;
                    }
                }
                b'\n' => {
                    let depth = self.frames.len();
                    self.end_word();
                    if self.frames.len() != depth {
                        return true;
                    }
                    self.end_command();
                    self.sequence();
                    if matches!(
                        self.list.expect,
                        Expect::Argument | Expect::ForIn | Expect::ForWords | Expect::FunctionName
                    ) {
                        self.list.expect = Expect::Command;
                    }
                    self.advance();
                    if !self.pending.is_empty() {
                        return self.begin_documents();
                    }
                }
                b'#' if self.list.word == NONE => self.comment(),
                b'#' => self.character(),
                b'[' => {
                    let name = is_name(self.word_text()) && self.may_assign();
                    self.character();
                    if name {
                        return self.push_arithmetic(Open::Arithmetic, ArithmeticEnd::Bracket);
                    }
                }
                b'<' | b'>' => return self.redirect(byte),
                b'(' => return self.open_paren(),
                b')' => {
                    let depth = self.frames.len();
                    self.end_word();
                    if self.frames.len() != depth {
                        return true;
                    }
                    if let Expect::CasePattern { parens, .. } = self.list.expect {
                        self.advance();
                        if parens > 0 {
                            self.list.expect = Expect::CasePattern { first: false, parens: parens - 1 };
                        } else {
                            self.list.expect = Expect::Command;
                            let at = self.at;
                            self.emit(|| Event::Operator(Operator::CaseBody, at));
                        }
                        continue;
                    }
                    self.end_command();
                    if self.list.close == Close::Paren {
                        self.advance();
                        self.drop_list();
                        return true;
                    }
                    self.unsure("a `)` before it closes nothing");
                    self.advance();
                }
                b'&' | b'|' | b';' => {
                    let depth = self.frames.len();
                    self.end_word();
                    if self.frames.len() != depth {
                        return true;
                    }
                    self.operator(byte);
                }
                _ => return self.quote_or_expansion(byte),
            }
        }
    }

    /// Whatever may begin inside a word: a hole, a quote, an escape, an expansion.
    fn quote_or_expansion(&mut self, byte: u8) -> bool {
        match byte {
            HOLE => {
                self.begin_word();
                self.hole();
                true
            }
            b'\\' => {
                if self.peek_second() == Some(b'\n') {
                    self.skip(2);
                } else {
                    self.begin_word();
                    self.escape();
                }
                true
            }
            b'\'' => {
                self.begin_word();
                self.advance();
                self.push_quote(Frame::Single)
            }
            b'"' => {
                self.begin_word();
                self.advance();
                self.push_quote(Frame::Double)
            }
            b'`' => {
                self.begin_word();
                self.backtick()
            }
            b'$' => {
                self.begin_word();
                self.dollar(true)
            }
            _ => {
                self.character();
                true
            }
        }
    }

    /// Opens quotes; a word that is empty but for them is a word.
    pub(super) fn push_quote(&mut self, frame: Frame) -> bool {
        self.emit(|| Event::Text(Style::Quoted, String::new()));
        self.push(frame)
    }

    fn sequence(&mut self) {
        let at = self.at;
        self.emit(|| Event::Operator(Operator::Sequence, at));
    }

    pub(super) fn comment(&mut self) {
        loop {
            self.skip_while(|byte| byte != b'\n' && byte != HOLE);
            if self.peek() != Some(HOLE) {
                return;
            }
            self.record(self.at, Context::Comment, Spot::Comment);
            self.advance();
        }
    }

    pub(super) fn operator(&mut self, byte: u8) {
        let next = self.peek_second();
        let at = self.at;
        match (byte, next) {
            (b'|', _) if matches!(self.list.expect, Expect::CasePattern { .. }) => {
                self.advance();
                return;
            }
            (b'&', Some(b'>')) => {
                self.skip(2);
                if self.peek() == Some(b'>') {
                    self.advance();
                }
                self.list.redirect = true;
                self.emit(|| Event::Redirect(Redirection::Output, at));
                return;
            }
            (b'|', Some(b'|')) => {
                self.emit(|| Event::Operator(Operator::Or, at));
                self.skip(2);
            }
            (b'&', Some(b'&')) => {
                self.emit(|| Event::Operator(Operator::And, at));
                self.skip(2);
            }
            (b'|', _) => {
                self.emit(|| Event::Operator(Operator::Pipe, at));
                self.advance();
                if self.peek() == Some(b'&') {
                    self.advance();
                }
            }
            (b'&', _) => {
                self.emit(|| Event::Operator(Operator::Background, at));
                self.advance();
            }
            _ => {
                self.advance();
                if matches!(self.peek(), Some(b';' | b'&' | b'|')) {
                    let operator =
                        if self.peek() == Some(b'&') { Operator::CaseFallThrough } else { Operator::CaseBreak };
                    self.advance();
                    if self.peek() == Some(b'&') {
                        self.advance();
                    }
                    if self.cases > self.list.cases {
                        self.end_command();
                        self.emit(|| Event::Operator(operator, at));
                        self.list.expect = Expect::CasePattern { first: true, parens: 0 };
                        return;
                    }
                    self.unsure("a `;;` before it is outside of `case`");
                }
                self.sequence();
            }
        }
        self.end_command();
        self.list.expect = Expect::Command;
    }

    fn open_paren(&mut self) -> bool {
        if self.shell == Shell::Bash && self.is_behind_keyword() {
            self.end_word();
        }
        let in_word = self.list.word != NONE;
        let last = self.word_text().last().copied();
        if in_word {
            if self.may_assign() && last == Some(b'=') && is_assignment(self.word_text()) {
                self.advance();
                if self.shell == Shell::Sh {
                    self.unsure("array literals are not part of a POSIX shell");
                }
                return self.push_list(Open::Array, Kind::Array, Close::Paren, Expect::Command);
            }
            if self.shell == Shell::Zsh && self.word_text() == b"=" {
                self.advance();
                return self.push_list(Open::Process, Kind::Commands, Close::Paren, Expect::Command);
            }
        }
        if let Expect::CasePattern { first, parens } = self.list.expect {
            self.advance();
            let parens = if first && !in_word { parens } else { parens + 1 };
            self.list.expect = Expect::CasePattern { first: false, parens };
            return true;
        }
        let first_word =
            self.words.len() == self.list.words && in_word || self.words.len() == self.list.words + 1 && !in_word;
        if matches!(self.list.expect, Expect::Command | Expect::Argument | Expect::FunctionName)
            && (first_word || self.list.expect == Expect::FunctionName)
        {
            let mut count = 1;
            while matches!(self.nth(count), Some(b' ' | b'\t')) && count < 64 {
                count += 1;
            }
            if self.nth(count) == Some(b')') && (in_word || self.list.expect != Expect::Command) {
                self.end_word();
                self.skip(count + 1);
                self.emit(|| Event::Parentheses);
                self.words.truncate(self.list.words);
                self.list.expect = Expect::Command;
                return true;
            }
        }
        if in_word {
            if matches!(last, Some(b'?' | b'*' | b'+' | b'@' | b'!')) && self.shell != Shell::Sh
                || self.shell == Shell::Zsh
            {
                self.advance();
                return self.push_list(Open::Pattern, Kind::Glob, Close::Paren, Expect::Command);
            }
            self.unsure("a `(` before it stands where no shell expects one");
            self.advance();
            return true;
        }
        match self.list.expect {
            Expect::Command | Expect::ForName if self.peek_second() == Some(b'(') => {
                if self.shell == Shell::Sh {
                    self.unsure("`((` before it means different things in different POSIX shells");
                }
                if self.list.expect == Expect::ForName {
                    self.list.expect = Expect::ForIn;
                }
                self.skip(2);
                self.push_arithmetic(Open::ArithmeticCommand, ArithmeticEnd::Parens)
            }
            Expect::Command if !self.list.redirect => {
                self.advance();
                self.push_list(Open::Subshell, Kind::Commands, Close::Paren, Expect::Command)
            }
            Expect::Argument if self.shell == Shell::Zsh => {
                self.begin_word();
                self.advance();
                self.push_list(Open::Pattern, Kind::Glob, Close::Paren, Expect::Command)
            }
            _ => {
                self.unsure("a `(` before it stands where no shell expects one");
                self.advance();
                true
            }
        }
    }

    /// Whether what stands here are the `((` of arithmetic, right behind a reserved word.
    fn is_behind_keyword(&self) -> bool {
        const KEYWORDS: [&[u8]; 8] = [b"for", b"if", b"elif", b"while", b"until", b"then", b"else", b"do"];
        self.list.word != NONE
            && self.peek_second() == Some(b'(')
            && self.list.expect == Expect::Command
            && KEYWORDS.contains(&self.word_text())
    }

    pub(super) fn redirect(&mut self, byte: u8) -> bool {
        let next = self.peek_second();
        if next == Some(b'(') {
            self.begin_word();
            self.skip(2);
            if self.shell == Shell::Sh {
                self.unsure("process substitution is not part of a POSIX shell");
            }
            return self.push_list(Open::Process, Kind::Commands, Close::Paren, Expect::Command);
        }
        if self.shell == Shell::Zsh && byte == b'<' && (next == Some(b'-') || next.is_some_and(|b| b.is_ascii_digit()))
        {
            let mut count = 1;
            while count < 64 && self.nth(count).is_some_and(|b| b.is_ascii_digit() || b == b'-') {
                count += 1;
            }
            if self.nth(count) == Some(b'>') {
                self.begin_word();
                let from = self.at;
                self.skip(count + 1);
                self.text(Style::Bare, from);
                return true;
            }
        }
        if !self.word_text().is_empty() && self.word_text().iter().all(u8::is_ascii_digit) {
            self.drop_word();
        }
        let depth = self.frames.len();
        self.end_word();
        if self.frames.len() != depth {
            return true;
        }
        let start = self.at;
        if byte == b'<' && next == Some(b'<') {
            if self.nth(2) == Some(b'<') {
                self.skip(3);
                self.list.redirect = true;
                self.emit(|| Event::Redirect(Redirection::HereString, start));
                return true;
            }
            self.skip(2);
            return self.open_document(start);
        }
        self.advance();
        let mut redirection = if byte == b'<' { Redirection::Input } else { Redirection::Output };
        while matches!(self.peek(), Some(b'>' | b'<' | b'&' | b'|'))
            || self.shell == Shell::Zsh && self.peek() == Some(b'!')
        {
            match self.peek() {
                Some(b'&') if byte == b'<' => redirection = Redirection::DuplicateInput,
                Some(b'&') => redirection = Redirection::Duplicate,
                // `<>` may write.
                Some(b'>') => redirection = Redirection::Output,
                _ => {}
            }
            self.advance();
        }
        self.list.redirect = true;
        self.emit(|| Event::Redirect(redirection, start));
        true
    }

    // Array literals, `[[ ]]` and parenthesised patterns.

    pub(super) fn words(&mut self, kind: Kind) -> bool {
        loop {
            let Some(byte) = self.peek() else { return self.ended() };
            if CLASS[byte as usize] == PLAIN {
                self.begin_word();
                self.plain();
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\n' if kind == Kind::Glob => self.character(),
                b' ' | b'\t' | b'\n' => {
                    if kind == Kind::Test && self.word_text() == b"]]" {
                        return self.close_test();
                    }
                    self.end_word();
                    self.advance();
                    if byte == b'\n' && !self.pending.is_empty() {
                        return self.abandon("a here-document before it has its body inside another construct");
                    }
                }
                b'#' if self.list.word == NONE && kind != Kind::Glob => self.comment(),
                b'[' if kind == Kind::Array && self.list.word == NONE => {
                    self.character();
                    return self.push_arithmetic(Open::Arithmetic, ArithmeticEnd::Bracket);
                }
                b')' if kind != Kind::Test => {
                    self.end_word();
                    self.advance();
                    self.end_command();
                    self.drop_list();
                    return true;
                }
                b'<' | b'>' if self.peek_second() == Some(b'(') => {
                    self.begin_word();
                    self.skip(2);
                    return self.push_list(Open::Process, Kind::Commands, Close::Paren, Expect::Command);
                }
                b'(' if kind != Kind::Test => {
                    if kind == Kind::Array
                        && self.shell != Shell::Zsh
                        && !matches!(self.word_text().last(), Some(b'?' | b'*' | b'+' | b'@' | b'!'))
                    {
                        self.unsure("a `(` before it stands where no shell expects one");
                    }
                    self.begin_word();
                    self.advance();
                    return self.push_list(Open::Pattern, Kind::Glob, Close::Paren, Expect::Command);
                }
                b'(' | b')' | b'&' | b'|' | b';' | b'<' | b'>' => {
                    if kind == Kind::Test && self.word_text() == b"]]" {
                        return self.close_test();
                    }
                    match kind {
                        Kind::Test => {
                            self.end_word();
                            self.character();
                            self.end_word();
                        }
                        Kind::Array => {
                            self.unsure("an operator before it stands inside an array literal");
                            self.advance();
                        }
                        _ => self.advance(),
                    }
                }
                _ => {
                    let depth = self.frames.len();
                    if !self.quote_or_expansion(byte) {
                        return false;
                    }
                    if self.frames.len() != depth {
                        return true;
                    }
                }
            }
        }
    }

    /// Leaves `[[ ]]`; the cursor is just after its `]]`.
    pub(super) fn close_test(&mut self) -> bool {
        self.drop_word();
        self.end_command();
        self.drop_list();
        self.list.expect = Expect::Command;
        true
    }
}
