//! Where a hole stands, as the frames around it say.

use super::{
    ArithmeticEnd, Event, Expect, Frame, Hole, Kind, NONE, Outer, Spot, Stage, Tracker, is_assignment, is_word_byte,
};
use crate::piece::Shell;
use crate::refusal::Context;

impl<const TREE: bool> Tracker<'_, TREE> {
    pub(super) fn record(&mut self, at: usize, context: Context, spot: Spot) {
        self.found.holes.push(Hole {
            at,
            context,
            spot,
            glued_left: false,
            bare: false,
            after_variable: false,
            element: false,
        });
    }

    pub(super) fn hole(&mut self) {
        let at = self.at;
        let (context, spot) = self.spot();
        let word = self.list.word;
        let in_list = matches!(self.frames.last(), Some(Frame::List));
        let before = if in_list && word != NONE { &self.source[word..at] } else { &[][..] };
        let hole = Hole {
            at,
            context,
            spot,
            glued_left: !before.is_empty(),
            bare: in_list
                && matches!(context, Context::Unquoted | Context::SingleWord)
                && self.list.kind != Kind::Test
                && self.list.kind != Kind::Glob
                && !matches!(self.list.expect, Expect::CaseSubject | Expect::CasePattern { .. })
                && self.after_dollar != at
                && self.after_variable != at
                && before.iter().all(|&byte| is_word_byte(byte) || byte == b'=')
                && !(self.shell == Shell::Zsh && before.first() == Some(&b'='))
                && self.source.get(at + 1).is_none_or(|&next| {
                    is_word_byte(next) || matches!(next, b' ' | b'\t' | b'\n' | b';' | b')' | b'|' | b'&' | b'"' | b'`')
                }),
            after_variable: self.after_variable == at,
            element: in_list && self.list.kind == Kind::Array && before.is_empty(),
        };
        self.found.holes.push(hole);
        let (hole, quoted) = (self.found.holes.len() - 1, self.is_quoted());
        self.emit(|| Event::Hole { hole, quoted });
        self.advance();
    }

    pub(super) fn spot(&self) -> (Context, Spot) {
        let no = |why| (Context::Unsupported, Spot::Unsupported(why));
        if let Some(why) = self.found.unsure {
            return no(why);
        }
        if self.after_backslash == self.at {
            return no("a backslash is directly before it");
        }
        let ansi = matches!(self.frames.last(), Some(Frame::Ansi));
        for frame in self.frames.iter().rev() {
            match *frame {
                Frame::Parameter { .. } if ansi => {
                    return no("bash reads `$'…'` inside `${…}` differently at different depths");
                }
                Frame::Arithmetic { end, .. } => {
                    return (Context::Arithmetic, Spot::Arithmetic { parens: end == ArithmeticEnd::Parens });
                }
                Frame::Parameter { stage: Stage::Offset, .. } => {
                    return (Context::Arithmetic, Spot::Arithmetic { parens: true });
                }
                Frame::Parameter { stage: Stage::Head | Stage::After, .. } => {
                    return no("the name of an expansion cannot be a value");
                }
                Frame::Parameter { stage: Stage::Opaque, .. } => return no("this form of `${…}` cannot take a value"),
                Frame::Parameter { odd: true, .. } => {
                    return no("quotes inside this expansion are read differently by different shells");
                }
                Frame::Parameter { outer: Outer::Pattern, .. } => {
                    return no("expansions inside the pattern of an expansion cannot take a value");
                }
                Frame::Unclear => return no("`$'…'` means different things in different POSIX shells"),
                Frame::List | Frame::Here { .. } => break,
                Frame::Single | Frame::Ansi | Frame::Double | Frame::Parameter { .. } => {}
            }
        }
        match *self.frames.last().expect("the outermost list is popped only at the end") {
            Frame::Single => (Context::SingleQuoted, Spot::Single),
            Frame::Ansi | Frame::Unclear => (Context::AnsiQuoted, Spot::Ansi),
            Frame::Double => (Context::DoubleQuoted, Spot::Double),
            Frame::Parameter { stage: Stage::Pattern, .. } => (Context::ExpansionWord, Spot::Pattern),
            Frame::Parameter { outer: Outer::Unquoted, .. } => (Context::ExpansionWord, Spot::One { tilde: false }),
            Frame::Parameter { .. } => (Context::ExpansionWord, Spot::Double),
            Frame::Arithmetic { .. } => (Context::Arithmetic, Spot::Arithmetic { parens: true }),
            Frame::Here { document, .. } if self.found.documents[document].quoted => {
                (Context::QuotedHereDocument, Spot::Here(document))
            }
            Frame::Here { document, .. } => (Context::HereDocument, Spot::Here(document)),
            Frame::List => self.spot_among_words(),
        }
    }

    fn spot_among_words(&self) -> (Context, Spot) {
        let no = |why| (Context::Unsupported, Spot::Unsupported(why));
        let one = |tilde| (Context::SingleWord, Spot::One { tilde });
        let before = if self.list.word == NONE { &[][..] } else { &self.source[self.list.word..self.at] };
        match self.list.kind {
            Kind::Test if self.shell == Shell::Sh => return no("`[[` is not part of a POSIX shell"),
            Kind::Test => {
                let regex =
                    self.words[self.list.words..].last().is_some_and(|word| &self.source[word.span.clone()] == b"=~");
                if regex && self.shell == Shell::Zsh {
                    return no("zsh reads the right side of `=~` as a regular expression even when it is quoted");
                }
                return one(false);
            }
            Kind::Glob if self.shell == Shell::Bash => return one(false),
            Kind::Glob => return no("a parenthesised pattern cannot take a value in this shell"),
            Kind::Array if before.first() == Some(&b'[') => return one(false),
            Kind::Array => return (Context::Unquoted, Spot::Words),
            Kind::Commands => {}
        }
        if self.list.redirect {
            return one(before.is_empty());
        }
        match self.list.expect {
            Expect::Command | Expect::Argument if self.may_assign() && is_assignment(before) => {
                one(before.last() == Some(&b'='))
            }
            Expect::Command => (Context::Command, Spot::Words),
            Expect::Argument | Expect::ForWords => (Context::Unquoted, Spot::Words),
            Expect::CaseSubject | Expect::CasePattern { .. } => one(false),
            Expect::ForName | Expect::ForIn => no("the name of a loop variable cannot be a value"),
            Expect::CaseIn => no("`in` belongs here"),
            Expect::FunctionName => no("the name of a function cannot be a value"),
        }
    }
}
