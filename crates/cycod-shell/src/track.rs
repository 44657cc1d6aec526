//! Knows in which part of the shell's grammar every hole of a program stands.
//!
//! The program arrives as one buffer in which each hole is a NUL byte, a byte no shell program can hold. One pass over it
//! keeps an explicit stack of frames, so that a hostile template costs memory it brought itself and never the call stack:
//!
//! ```text
//! echo "$(cat <<E; printf %s `id`)"          frames at `id`:  List · Double · List · List(backtick)
//! ```
//!
//! A `Frame::List` stands for anything made of words: commands, `( )`, `$( )`, backticks, array literals, `[[ ]]`. Its state
//! lives in [`List`]; the current one in `Tracker::list`, the enclosing ones in `Tracker::lists`.
//!
//! Backticks are the one construct whose text is decoded before it is parsed: within them, `\$`, `` \` `` and `\\` lose their
//! backslash, once per level. `Tracker::decode` reads the buffer through those layers, so the rest of the tracker sees the
//! text as the inner shell will.
//!
//! Where the grammar is ambiguous between shells, or the text is not a program, the tracker becomes *unsure* and says why.
//! Every later hole is then unsupported. It never guesses.

use std::ops::Range;

use crate::piece::Shell;
use crate::refusal::Context;

/// The byte that stands for a hole.
pub(crate) const HOLE: u8 = 0;

const NONE: usize = usize::MAX;
const DEEPEST: usize = 256;
const MOST_LAYERS: usize = 8;

/// How a value must be written at a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    /// Among the words of a command; several words are fine.
    Words,
    /// An unquoted place that is one word; `tilde` when a leading `~/` would be live there.
    One { tilde: bool },
    /// Inside `'…'`.
    Single,
    /// Inside `"…"` or anything that behaves like it.
    Double,
    /// Inside `$'…'`.
    Ansi,
    /// In the pattern of `${x#…}`, where a quoted word is literal even within `"…"`.
    Pattern,
    /// In the body of here-document number `.0`.
    Here(usize),
    /// In arithmetic; a negative number needs parentheses, or a space where parentheses mean something else.
    Arithmetic { parens: bool },
    /// In a comment.
    Comment,
    /// Nowhere a value can be.
    Unsupported(&'static str),
}

/// One hole and its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hole {
    pub(crate) at: usize,
    pub(crate) context: Context,
    pub(crate) spot: Spot,
    /// Text of the same word stands directly before.
    pub(crate) glued_left: bool,
    /// A word made of harmless characters may stand here without quotes.
    pub(crate) bare: bool,
    /// Directly after `$name`, which more letters would lengthen.
    pub(crate) after_variable: bool,
    /// The place is the start of an array element.
    pub(crate) element: bool,
}

/// A here-document.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) delimiter: Vec<u8>,
    pub(crate) quoted: bool,
    pub(crate) opener: Range<usize>,
    pub(crate) body: Range<usize>,
    pub(crate) closer: Range<usize>,
    /// The backticks around it.
    pub(crate) layers: Vec<Layer>,
    strip: bool,
    list: usize,
    holes: Range<usize>,
    /// The command whose input this is.
    command: Option<Interest>,
    producer: bool,
}

/// One word of a simple command.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) span: Range<usize>,
    pub(crate) holes: Range<usize>,
    pub(crate) role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    Assignment,
    HereString,
    Redirect,
}

/// A command that holes reach, kept for the second-parse check.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) words: Vec<Word>,
    pub(crate) span: Range<usize>,
    /// Holes that reach the command's input: from a pipe, or from a here-document.
    pub(crate) fed: Vec<(Range<usize>, Feed)>,
    /// Inside `[[ ]]`.
    pub(crate) test: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feed {
    Pipe,
    Document(usize),
}

type Interest = usize;

/// What the pass found.
#[derive(Debug, Default)]
pub(crate) struct Track {
    pub(crate) holes: Vec<Hole>,
    pub(crate) documents: Vec<Document>,
    pub(crate) commands: Vec<Command>,
    /// Bare `$` directly before a hole, which must become `\$`.
    pub(crate) dollars: Vec<(usize, usize)>,
    /// Text that is evaluated as arithmetic, and whether it is a subscript.
    pub(crate) arithmetic: Vec<(Range<usize>, bool)>,
    pub(crate) unsure: Option<&'static str>,
    pub(crate) balanced: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    End,
    Paren,
    Backtick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Commands,
    Array,
    Test,
    Glob,
}

/// What the next word of a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Command,
    Argument,
    ForName,
    ForIn,
    ForWords,
    CaseSubject,
    CaseIn,
    CasePattern { first: bool, parens: u32 },
    FunctionName,
}

#[derive(Debug)]
struct List {
    kind: Kind,
    close: Close,
    expect: Expect,
    redirect: Option<Role>,
    word: usize,
    word_hole: usize,
    words: usize,
    started: usize,
    first_hole: usize,
    cases: usize,
    documents: usize,
    pipe_documents: usize,
    feeds: Vec<(Range<usize>, Feed)>,
    piped: bool,
}

impl List {
    fn new(
        kind: Kind,
        close: Close,
        expect: Expect,
        words: usize,
        hole: usize,
        cases: usize,
        documents: usize,
    ) -> Self {
        Self {
            kind,
            close,
            expect,
            redirect: None,
            word: NONE,
            word_hole: hole,
            words,
            started: NONE,
            first_hole: hole,
            cases,
            documents,
            pipe_documents: documents,
            feeds: Vec::new(),
            piped: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outer {
    Unquoted,
    Double,
    Here,
    Pattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    After,
    Default,
    Pattern,
    Offset,
    Opaque,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArithmeticEnd {
    Parens,
    Bracket,
}

#[derive(Debug, Clone, Copy)]
enum Frame {
    List,
    Single,
    Ansi,
    /// `$'…'` in a shell that may or may not know it.
    Unclear,
    Double,
    Parameter {
        outer: Outer,
        stage: Stage,
        odd: bool,
    },
    Arithmetic {
        end: ArithmeticEnd,
        depth: u32,
        start: usize,
    },
    Here {
        document: usize,
        fresh: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    Plain,
    Double,
    Here,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logical {
    Byte(u8),
    End(usize),
    Eof,
}

pub(crate) fn track(shell: Shell, source: &[u8]) -> Track {
    let mut tracker = Tracker {
        shell,
        source,
        at: 0,
        frames: vec![Frame::List],
        list: List::new(Kind::Commands, Close::End, Expect::Command, 0, 0, 0, 0),
        lists: Vec::new(),
        layers: Vec::new(),
        words: Vec::new(),
        pending: Vec::new(),
        queue: Vec::new(),
        after_variable: NONE,
        after_backslash: NONE,
        after_dollar: NONE,
        cases: 0,
        found: Track::default(),
    };
    tracker.run();
    tracker.found
}

/// Reads one byte as the shell inside `layer` backticks sees it, and where the next one begins.
pub(crate) fn decode(source: &[u8], layers: &[Layer], at: usize, layer: usize) -> (Logical, usize) {
    if layer == 0 {
        return match source.get(at) {
            Some(&byte) => (Logical::Byte(byte), at + 1),
            None => (Logical::Eof, at),
        };
    }
    let (first, next) = decode(source, layers, at, layer - 1);
    match first {
        Logical::Byte(b'`') => (Logical::End(layer), next),
        Logical::Byte(b'\\') => {
            let (second, after) = decode(source, layers, next, layer - 1);
            match second {
                Logical::Byte(b'`' | b'\\' | b'$') => (second, after),
                Logical::Byte(b'"') if layers[layer - 1] != Layer::Plain => (second, after),
                _ => (first, next),
            }
        }
        _ => (first, next),
    }
}

struct Tracker<'a> {
    shell: Shell,
    source: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    list: List,
    lists: Vec<List>,
    layers: Vec<Layer>,
    words: Vec<Word>,
    /// Here-documents whose operator was read and whose body comes after the line.
    pending: Vec<Document>,
    /// Those whose bodies are being read, the next one last.
    queue: Vec<usize>,
    after_variable: usize,
    after_backslash: usize,
    after_dollar: usize,
    /// Open `case` commands over all lists.
    cases: usize,
    found: Track,
}

const PLAIN: u8 = 0;
const SPECIAL: u8 = 1;
/// Which bytes mean something between words.
static CLASS: [u8; 256] = {
    let mut table = [PLAIN; 256];
    let special = b"\0\\'\"`$()<>&|;#[ \t\n\r";
    let mut index = 0;
    while index < special.len() {
        table[special[index] as usize] = SPECIAL;
        index += 1;
    }
    table[b'\r' as usize] = PLAIN;
    table
};

impl Tracker<'_> {
    fn run(&mut self) {
        loop {
            let alive = match *self.frames.last().expect("the outermost list is popped only at the end") {
                Frame::List => match self.list.kind {
                    Kind::Commands => self.commands(),
                    kind => self.words(kind),
                },
                Frame::Single => self.single(),
                Frame::Ansi | Frame::Unclear => self.ansi(),
                Frame::Double => self.double(),
                Frame::Parameter { outer, stage, odd } => self.parameter(outer, stage, odd),
                Frame::Arithmetic { end, depth, .. } => self.arithmetic(end, depth),
                Frame::Here { document, fresh } => self.here(document, fresh),
            };
            if !alive {
                break;
            }
        }
        self.finish();
    }

    fn finish(&mut self) {
        // Holes that were never reached because the tracker gave up.
        while self.at < self.source.len() {
            if self.source[self.at] == HOLE {
                self.record(
                    self.at,
                    Context::Unsupported,
                    Spot::Unsupported(self.found.unsure.unwrap_or("the program ends before it")),
                );
            }
            self.at += 1;
        }
        while matches!(self.frames.last(), Some(Frame::Here { .. })) {
            self.close_document(self.at..self.at);
        }
        self.last_word();
        self.found.balanced = self.frames.len() == 1 && self.cases == 0 && self.found.unsure.is_none();
        while !self.lists.is_empty() {
            self.end_word();
            self.end_command(false);
            self.list = self.lists.pop().expect("checked by the loop");
        }
        self.end_word();
        self.end_command(false);
        let pending = std::mem::take(&mut self.pending);
        self.found.documents.extend(pending);
    }

    // Reading.

    fn decode(&self, at: usize, layer: usize) -> (Logical, usize) {
        decode(self.source, &self.layers, at, layer)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        if self.layers.is_empty() {
            return self.source.get(self.at).copied();
        }
        match self.decode(self.at, self.layers.len()).0 {
            Logical::Byte(byte) => Some(byte),
            Logical::End(_) | Logical::Eof => None,
        }
    }

    fn peek_second(&self) -> Option<u8> {
        self.nth(1)
    }

    fn nth(&self, count: usize) -> Option<u8> {
        if self.layers.is_empty() {
            return self.source.get(self.at + count).copied();
        }
        let mut at = self.at;
        for _ in 0..count {
            match self.decode(at, self.layers.len()) {
                (Logical::Byte(_), next) => at = next,
                _ => return None,
            }
        }
        match self.decode(at, self.layers.len()).0 {
            Logical::Byte(byte) => Some(byte),
            _ => None,
        }
    }

    #[inline]
    fn advance(&mut self) {
        if self.layers.is_empty() {
            self.at += 1;
        } else {
            self.at = self.decode(self.at, self.layers.len()).1;
        }
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.advance();
        }
    }

    /// Passes over bytes for which `plain` holds.
    #[inline]
    fn skip_while(&mut self, plain: impl Fn(u8) -> bool) {
        if self.layers.is_empty() {
            let rest = &self.source[self.at..];
            self.at += rest.iter().position(|&byte| !plain(byte)).unwrap_or(rest.len());
        } else {
            while self.peek().is_some_and(&plain) {
                self.advance();
            }
        }
    }

    /// Passes over a backslash and what it escapes; a hole after it stays, and is known to be escaped.
    fn escape(&mut self) {
        self.advance();
        if self.peek() == Some(HOLE) {
            self.after_backslash = self.at;
        } else if self.peek().is_some() {
            self.advance();
        }
    }

    fn unsure(&mut self, why: &'static str) {
        self.found.unsure.get_or_insert(why);
    }

    /// Gives up: nothing after this point is looked at.
    fn abandon(&mut self, why: &'static str) -> bool {
        self.unsure(why);
        false
    }

    /// Ends the last word of the text, which may be the one that closes a construct.
    fn last_word(&mut self) {
        if matches!(self.frames.last(), Some(Frame::List)) {
            if self.list.kind == Kind::Test && self.word_text() == b"]]" {
                self.close_test();
            } else {
                self.end_word();
            }
        }
    }

    /// The text ended here, or a backtick closes the innermost layer.
    fn ended(&mut self) -> bool {
        if self.layers.is_empty() {
            return false;
        }
        let (what, next) = self.decode(self.at, self.layers.len());
        let Logical::End(layer) = what else { return false };
        if layer < self.layers.len() {
            self.unsure("backticks are not balanced before it");
        }
        self.last_word();
        loop {
            match self.frames.last() {
                Some(Frame::List) => {
                    self.end_word();
                    self.end_command(false);
                    let close = self.list.close;
                    self.drop_list();
                    if close == Close::Backtick {
                        self.layers.pop();
                        if self.layers.len() < layer {
                            break;
                        }
                    } else {
                        self.unsure("a parenthesis before it is not closed");
                    }
                }
                Some(Frame::Here { .. }) => self.close_document(self.at..self.at),
                Some(_) => {
                    self.unsure("a quote or expansion inside backticks is not closed");
                    self.frames.pop();
                }
                None => return false,
            }
            if self.frames.is_empty() {
                return false;
            }
        }
        self.at = next;
        true
    }

    // The stack.

    fn push(&mut self, frame: Frame) -> bool {
        if self.frames.len() >= DEEPEST {
            return self.abandon("the constructs around it are nested too deeply");
        }
        self.frames.push(frame);
        true
    }

    fn push_list(&mut self, kind: Kind, close: Close, expect: Expect) -> bool {
        if !self.push(Frame::List) {
            return false;
        }
        let list =
            List::new(kind, close, expect, self.words.len(), self.found.holes.len(), self.cases, self.pending.len());
        self.lists.push(std::mem::replace(&mut self.list, list));
        true
    }

    /// Leaves the current list; its last word and command have ended.
    fn drop_list(&mut self) {
        if self.pending.iter().any(|document| document.list == self.lists.len()) {
            self.unsure("a here-document before it has no body yet where its command ends");
            let depth = self.lists.len();
            let (gone, kept) =
                std::mem::take(&mut self.pending).into_iter().partition(|document| document.list == depth);
            self.pending = kept;
            let gone: Vec<Document> = gone;
            self.found.documents.extend(gone);
        }
        if self.cases > self.list.cases {
            self.unsure("a `case` before it is not closed");
            self.cases = self.list.cases;
        }
        self.words.truncate(self.list.words);
        self.frames.pop();
        if let Some(list) = self.lists.pop() {
            self.list = list;
        }
    }

    fn outer(&self) -> Outer {
        match self.frames.last() {
            None | Some(Frame::List) => Outer::Unquoted,
            Some(Frame::Here { .. }) => Outer::Here,
            Some(Frame::Parameter { stage: Stage::Pattern, .. }) => Outer::Pattern,
            Some(Frame::Parameter { outer, .. }) => *outer,
            Some(_) => Outer::Double,
        }
    }

    // Words.

    #[inline]
    fn begin_word(&mut self) {
        if self.list.word == NONE {
            self.list.word = self.at;
            self.list.word_hole = self.found.holes.len();
            if self.list.started == NONE {
                self.list.started = self.at;
            }
        }
    }

    fn word_text(&self) -> &[u8] {
        if self.list.word == NONE { &[] } else { &self.source[self.list.word..self.at] }
    }

    fn end_word(&mut self) {
        if self.list.word == NONE {
            return;
        }
        let span = self.list.word..self.at;
        self.list.word = NONE;
        let holes = self.list.word_hole..self.found.holes.len();
        if let Some(role) = self.list.redirect.take() {
            self.words.push(Word { span, holes, role });
            return;
        }
        let text = &self.source[span.clone()];
        match self.list.expect {
            Expect::Argument => {
                if self.shell == Shell::Zsh && text == b"}" {
                    self.end_command(false);
                    self.list.expect = Expect::Command;
                } else {
                    self.words.push(Word { span, holes, role: Role::Plain });
                }
            }
            Expect::Command => {
                if self.list.kind == Kind::Commands {
                    if is_assignment(text) {
                        self.words.push(Word { span, holes, role: Role::Assignment });
                        return;
                    }
                    if self.words.len() == self.list.words && self.reserved(span.clone()) {
                        return;
                    }
                }
                self.words.push(Word { span, holes, role: Role::Plain });
                if self.list.kind == Kind::Commands {
                    self.list.expect = Expect::Argument;
                }
            }
            Expect::ForName => self.list.expect = Expect::ForIn,
            Expect::ForIn => match text {
                b"in" => self.list.expect = Expect::ForWords,
                b"do" | b"{" => self.list.expect = Expect::Command,
                _ => {}
            },
            Expect::ForWords => {}
            Expect::CaseSubject => self.list.expect = Expect::CaseIn,
            Expect::CaseIn => self.list.expect = Expect::CasePattern { first: true, parens: 0 },
            Expect::CasePattern { first, parens } => {
                if first && text == b"esac" {
                    self.end_case();
                } else {
                    self.list.expect = Expect::CasePattern { first: false, parens };
                }
            }
            Expect::FunctionName => {
                self.list.expect = Expect::Command;
                self.list.started = NONE;
            }
        }
    }

    fn end_case(&mut self) {
        if self.cases > self.list.cases {
            self.cases -= 1;
        }
        self.list.expect = Expect::Command;
        self.list.started = NONE;
    }

    fn reserved(&mut self, span: Range<usize>) -> bool {
        let expect = match &self.source[span] {
            b"if" | b"then" | b"else" | b"elif" | b"fi" | b"while" | b"until" | b"do" | b"done" | b"{" | b"}"
            | b"!" | b"time" | b"always" | b"coproc" => Expect::Command,
            b"esac" => {
                self.end_case();
                return true;
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
            b"[[" => {
                self.list.expect = Expect::Command;
                self.push_list(Kind::Test, Close::End, Expect::Command);
                return true;
            }
            _ => return false,
        };
        self.list.expect = expect;
        self.list.started = NONE;
        self.list.first_hole = self.found.holes.len();
        true
    }

    /// Ends a simple command; `piped` when its output goes to the next one.
    fn end_command(&mut self, piped: bool) {
        let words = self.list.words..self.words.len();
        let holes = self.list.first_hole..self.found.holes.len();
        let documents = self.list.documents.min(self.pending.len())..self.pending.len();
        if !words.is_empty() {
            let producer = self.is_producer();
            if !holes.is_empty()
                || !documents.is_empty()
                || !self.list.feeds.is_empty()
                || self.list.piped && self.list.pipe_documents < self.pending.len()
            {
                let index = self.found.commands.len();
                let span = self.list.started.min(self.at)..self.at;
                let command = Command {
                    words: self.words[words].to_vec(),
                    span,
                    fed: std::mem::take(&mut self.list.feeds),
                    test: self.list.kind == Kind::Test,
                };
                self.list.feeds.clone_from(&command.fed);
                self.found.commands.push(command);
                for document in &mut self.pending[documents.clone()] {
                    document.command = Some(index);
                    document.producer = producer && piped;
                }
                let earlier = self.list.pipe_documents.min(documents.start)..documents.start;
                for document in &mut self.pending[earlier] {
                    // The nearest later command of the pipeline reads what `cat <<E` wrote.
                    if document.producer {
                        document.command = Some(index);
                    }
                }
            }
            if piped && producer && !holes.is_empty() {
                self.list.feeds.push((holes, Feed::Pipe));
            }
        }
        if !piped {
            self.list.feeds.clear();
            self.list.pipe_documents = self.pending.len();
        }
        self.list.piped = piped;
        self.words.truncate(self.list.words);
        self.list.started = NONE;
        self.list.first_hole = self.found.holes.len();
        self.list.documents = self.pending.len();
        self.list.redirect = None;
    }

    fn is_producer(&self) -> bool {
        self.words[self.list.words..].iter().find(|word| word.role == Role::Plain).is_some_and(|word| {
            matches!(&self.source[word.span.clone()], b"echo" | b"printf" | b"print" | b"cat" | b"tee")
        })
    }

    /// Whether the current word may be an assignment.
    fn may_assign(&self) -> bool {
        self.list.kind == Kind::Commands
            && match self.list.expect {
                Expect::Command => true,
                Expect::Argument => {
                    self.words[self.list.words..].iter().find(|word| word.role == Role::Plain).is_some_and(|word| {
                        matches!(
                            &self.source[word.span.clone()],
                            b"export" | b"declare" | b"typeset" | b"local" | b"readonly" | b"integer" | b"float"
                        )
                    })
                }
                _ => false,
            }
            && self.list.redirect.is_none()
    }

    // Lists of commands.

    fn commands(&mut self) -> bool {
        loop {
            let Some(byte) = self.peek() else { return self.ended() };
            if CLASS[byte as usize] == PLAIN {
                self.begin_word();
                self.skip_while(|byte| CLASS[byte as usize] == PLAIN);
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
                    self.end_command(false);
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
                b'#' => self.advance(),
                b'[' => {
                    let name = is_name(self.word_text()) && self.may_assign();
                    self.begin_word();
                    self.advance();
                    if name {
                        return self.push(Frame::Arithmetic { end: ArithmeticEnd::Bracket, depth: 0, start: self.at });
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
                            self.list.started = NONE;
                            self.list.first_hole = self.found.holes.len();
                        }
                        continue;
                    }
                    self.end_command(false);
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
                self.push(Frame::Single)
            }
            b'"' => {
                self.begin_word();
                self.advance();
                self.push(Frame::Double)
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
                self.begin_word();
                self.advance();
                true
            }
        }
    }

    fn comment(&mut self) {
        loop {
            self.skip_while(|byte| byte != b'\n' && byte != HOLE);
            if self.peek() != Some(HOLE) {
                return;
            }
            self.record(self.at, Context::Comment, Spot::Comment);
            self.advance();
        }
    }

    fn operator(&mut self, byte: u8) {
        let next = self.peek_second();
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
                self.list.redirect = Some(Role::Redirect);
                return;
            }
            (b'|', Some(b'|')) | (b'&', Some(b'&')) => {
                self.end_command(false);
                self.skip(2);
            }
            (b'|', _) => {
                self.end_command(true);
                self.advance();
                if self.peek() == Some(b'&') {
                    self.advance();
                }
            }
            (b'&', _) => {
                self.end_command(false);
                self.advance();
            }
            _ => {
                self.end_command(false);
                self.advance();
                if matches!(self.peek(), Some(b';' | b'&' | b'|')) {
                    self.advance();
                    if self.peek() == Some(b'&') {
                        self.advance();
                    }
                    if self.cases > self.list.cases {
                        self.list.expect = Expect::CasePattern { first: true, parens: 0 };
                        return;
                    }
                    self.unsure("a `;;` before it is outside of `case`");
                }
            }
        }
        self.list.expect = Expect::Command;
    }

    fn open_paren(&mut self) -> bool {
        let in_word = self.list.word != NONE;
        let last = self.word_text().last().copied();
        if in_word {
            if self.may_assign() && last == Some(b'=') && is_assignment(self.word_text()) {
                self.advance();
                if self.shell == Shell::Sh {
                    self.unsure("array literals are not part of a POSIX shell");
                }
                return self.push_list(Kind::Array, Close::Paren, Expect::Command);
            }
            if self.shell == Shell::Zsh && self.word_text() == b"=" {
                self.advance();
                return self.push_list(Kind::Commands, Close::Paren, Expect::Command);
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
                self.words.truncate(self.list.words);
                self.list.expect = Expect::Command;
                self.list.started = NONE;
                self.list.first_hole = self.found.holes.len();
                return true;
            }
        }
        if in_word {
            if matches!(last, Some(b'?' | b'*' | b'+' | b'@' | b'!')) && self.shell != Shell::Sh
                || self.shell == Shell::Zsh
            {
                self.advance();
                return self.push_list(Kind::Glob, Close::Paren, Expect::Command);
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
                self.push(Frame::Arithmetic { end: ArithmeticEnd::Parens, depth: 0, start: self.at })
            }
            Expect::Command if self.list.redirect.is_none() => {
                self.advance();
                self.push_list(Kind::Commands, Close::Paren, Expect::Command)
            }
            Expect::Argument if self.shell == Shell::Zsh => {
                self.begin_word();
                self.advance();
                self.push_list(Kind::Glob, Close::Paren, Expect::Command)
            }
            _ => {
                self.unsure("a `(` before it stands where no shell expects one");
                self.advance();
                true
            }
        }
    }

    fn redirect(&mut self, byte: u8) -> bool {
        let next = self.peek_second();
        if next == Some(b'(') {
            self.begin_word();
            self.skip(2);
            if self.shell == Shell::Sh {
                self.unsure("process substitution is not part of a POSIX shell");
            }
            return self.push_list(Kind::Commands, Close::Paren, Expect::Command);
        }
        if self.shell == Shell::Zsh && byte == b'<' && (next == Some(b'-') || next.is_some_and(|b| b.is_ascii_digit()))
        {
            let mut count = 1;
            while count < 64 && self.nth(count).is_some_and(|b| b.is_ascii_digit() || b == b'-') {
                count += 1;
            }
            if self.nth(count) == Some(b'>') {
                self.begin_word();
                self.skip(count + 1);
                return true;
            }
        }
        if !self.word_text().is_empty() && self.word_text().iter().all(u8::is_ascii_digit) {
            self.list.word = NONE;
        }
        let depth = self.frames.len();
        self.end_word();
        if self.frames.len() != depth {
            return true;
        }
        if self.list.started == NONE {
            self.list.started = self.at;
        }
        if byte == b'<' && next == Some(b'<') {
            if self.nth(2) == Some(b'<') {
                self.skip(3);
                self.list.redirect = Some(Role::HereString);
                return true;
            }
            self.skip(2);
            return self.open_document();
        }
        self.advance();
        while matches!(self.peek(), Some(b'>' | b'<' | b'&' | b'|'))
            || self.shell == Shell::Zsh && self.peek() == Some(b'!')
        {
            self.advance();
        }
        self.list.redirect = Some(Role::Redirect);
        true
    }

    // Here-documents.

    fn open_document(&mut self) -> bool {
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
            command: None,
            producer: false,
        });
        true
    }

    fn begin_documents(&mut self) -> bool {
        if self.pending.iter().any(|document| document.list != self.lists.len()) {
            return self.abandon("a here-document before it begins in one command and has its body in another");
        }
        let first = self.found.documents.len();
        self.found.documents.append(&mut self.pending);
        self.list.documents = 0;
        self.list.pipe_documents = 0;
        self.queue.clear();
        self.queue.extend((first..self.found.documents.len()).rev());
        self.next_document()
    }

    fn next_document(&mut self) -> bool {
        let Some(index) = self.queue.pop() else { return true };
        let document = &mut self.found.documents[index];
        document.body = self.at..self.at;
        document.holes = self.found.holes.len()..self.found.holes.len();
        self.push(Frame::Here { document: index, fresh: true })
    }

    fn close_document(&mut self, closer: Range<usize>) {
        let Some(Frame::Here { document: index, .. }) = self.frames.pop() else { return };
        let document = &mut self.found.documents[index];
        document.body.end = closer.start;
        document.closer = closer;
        document.holes.end = self.found.holes.len();
        let holes = document.holes.clone();
        let command = document.command;
        let producer = document.producer;
        if !document.quoted && ends_early(&self.source[document.body.clone()], document) {
            // Inside an expansion: some shells end the document there, others do not.
            let why = "a line inside an expansion of a here-document is its delimiter";
            self.unsure(why);
            for hole in &mut self.found.holes[holes.clone()] {
                (hole.context, hole.spot) = (Context::Unsupported, Spot::Unsupported(why));
            }
        }
        if holes.is_empty() {
            return;
        }
        if let Some(command) = command {
            self.found.commands[command].fed.push((holes.clone(), Feed::Document(index)));
        }
        if producer && self.list.piped {
            self.list.feeds.push((holes, Feed::Document(index)));
        }
        self.list.first_hole = self.found.holes.len();
    }

    fn here(&mut self, index: usize, fresh: bool) -> bool {
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
            if quoted {
                self.skip_while(|byte| byte != b'\n' && byte != HOLE);
            } else {
                self.skip_while(|byte| !matches!(byte, b'\n' | HOLE | b'\\' | b'$' | b'`'));
            }
            let Some(byte) = self.peek() else { return self.ended() };
            match byte {
                b'\n' => {
                    self.advance();
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
    fn line_inside_document(&mut self) -> bool {
        for depth in (0..self.frames.len()).rev() {
            if let Frame::Here { document, .. } = self.frames[depth] {
                return self.at_delimiter(document).is_none();
            }
        }
        true
    }

    // Array literals, `[[ ]]` and parenthesised patterns.

    fn words(&mut self, kind: Kind) -> bool {
        loop {
            let Some(byte) = self.peek() else { return self.ended() };
            if CLASS[byte as usize] == PLAIN {
                self.begin_word();
                self.skip_while(|byte| CLASS[byte as usize] == PLAIN);
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\n' if kind == Kind::Glob => {
                    self.begin_word();
                    self.advance();
                }
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
                    self.begin_word();
                    self.advance();
                    return self.push(Frame::Arithmetic { end: ArithmeticEnd::Bracket, depth: 0, start: self.at });
                }
                b')' if kind != Kind::Test => {
                    self.end_word();
                    self.advance();
                    self.end_command(false);
                    self.drop_list();
                    return true;
                }
                b'<' | b'>' if self.peek_second() == Some(b'(') => {
                    self.begin_word();
                    self.skip(2);
                    return self.push_list(Kind::Commands, Close::Paren, Expect::Command);
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
                    return self.push_list(Kind::Glob, Close::Paren, Expect::Command);
                }
                b'(' | b')' | b'&' | b'|' | b';' | b'<' | b'>' => {
                    if kind == Kind::Test && self.word_text() == b"]]" {
                        return self.close_test();
                    }
                    match kind {
                        Kind::Test => {
                            self.end_word();
                            self.begin_word();
                            self.advance();
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
    fn close_test(&mut self) -> bool {
        let words = &self.words[self.list.words..];
        for (index, word) in words.iter().enumerate() {
            if is_comparison(&self.source[word.span.clone()]) {
                let sides =
                    [index.checked_sub(1), Some(index + 1)].into_iter().flatten().filter_map(|side| words.get(side));
                self.found.arithmetic.extend(sides.map(|side| (side.span.clone(), false)));
            }
        }
        self.list.word = NONE;
        self.end_command(false);
        self.drop_list();
        self.list.expect = Expect::Command;
        true
    }

    // Quotes.

    fn single(&mut self) -> bool {
        loop {
            self.skip_while(|byte| byte != b'\'' && byte != HOLE);
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

    fn ansi(&mut self) -> bool {
        loop {
            self.skip_while(|byte| !matches!(byte, b'\'' | b'\\' | HOLE));
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

    fn double(&mut self) -> bool {
        loop {
            self.skip_while(|byte| !matches!(byte, b'"' | b'\\' | b'$' | b'`' | HOLE));
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

    fn backtick(&mut self) -> bool {
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
        self.advance();
        self.layers.push(layer);
        self.push_list(Kind::Commands, Close::Backtick, Expect::Command)
    }

    // Expansions.

    fn dollar(&mut self, unquoted: bool) -> bool {
        let start = self.at;
        self.advance();
        let Some(next) = self.peek() else { return true };
        match next {
            b'(' => {
                self.advance();
                if self.peek() == Some(b'(') {
                    self.advance();
                    return self.push(Frame::Arithmetic { end: ArithmeticEnd::Parens, depth: 0, start: self.at });
                }
                self.push_list(Kind::Commands, Close::Paren, Expect::Command)
            }
            b'{' => {
                self.advance();
                if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
                    self.unsure("`${ …; }` before it is not known to every version of the shell");
                }
                let outer = self.outer();
                self.push(Frame::Parameter { outer, stage: Stage::Head, odd: false })
            }
            b'[' => {
                if self.shell == Shell::Sh {
                    self.unsure("`$[` before it means different things in different POSIX shells");
                }
                self.advance();
                self.push(Frame::Arithmetic { end: ArithmeticEnd::Bracket, depth: 0, start: self.at })
            }
            b'\'' if unquoted => {
                self.advance();
                self.push(if self.shell == Shell::Sh { Frame::Unclear } else { Frame::Ansi })
            }
            HOLE => {
                self.after_dollar = self.at;
                self.found.dollars.push((start, self.layers.len()));
                true
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.skip_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                self.variable_end()
            }
            b'0'..=b'9' => {
                self.advance();
                if self.shell != Shell::Bash {
                    self.skip_while(|byte| byte.is_ascii_digit());
                }
                self.variable_end()
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
                self.variable_end()
            }
            b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                self.advance();
                self.variable_end()
            }
            _ => true,
        }
    }

    fn variable_end(&mut self) -> bool {
        self.after_variable = self.at;
        if self.shell == Shell::Zsh && self.peek() == Some(b'[') {
            self.advance();
            return self.push(Frame::Arithmetic { end: ArithmeticEnd::Bracket, depth: 0, start: self.at });
        }
        true
    }

    fn stage(&mut self, new: Stage) {
        if let Some(Frame::Parameter { stage, .. }) = self.frames.last_mut() {
            *stage = new;
        }
    }

    fn parameter(&mut self, outer: Outer, stage: Stage, odd: bool) -> bool {
        if stage == Stage::Head {
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
                    self.stage(Stage::Opaque);
                    return true;
                }
            }
            self.stage(Stage::After);
            return true;
        }
        if stage == Stage::After {
            let Some(byte) = self.peek() else { return self.ended() };
            let next = match (byte, self.peek_second()) {
                (b'}', _) => {
                    self.advance();
                    self.frames.pop();
                    return true;
                }
                (b'[', _) => {
                    self.advance();
                    return self.push(Frame::Arithmetic { end: ArithmeticEnd::Bracket, depth: 0, start: self.at });
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
                    let rest = &self.source[self.at..];
                    let end = rest.iter().position(|&byte| byte == b'}').unwrap_or(rest.len());
                    self.found.arithmetic.push((self.at..self.at + end, false));
                    Stage::Offset
                }
                _ => Stage::Opaque,
            };
            self.stage(next);
            return true;
        }
        loop {
            self.skip_while(|byte| !matches!(byte, b'}' | b'\'' | b'"' | b'\\' | b'$' | b'`' | HOLE | b'{' | b'\n'));
            let Some(byte) = self.peek() else { return self.ended() };
            match byte {
                HOLE => self.hole(),
                b'\\' => self.escape(),
                b'}' => {
                    self.advance();
                    self.frames.pop();
                    if stage == Stage::Opaque && odd && self.shell != Shell::Bash {
                        self.unsure("quotes inside an expansion before it are read differently by different shells");
                    }
                    return true;
                }
                b'\n' => {
                    self.advance();
                    if !self.line_inside_document() {
                        return self.abandon("the end of a here-document before it is not clear");
                    }
                }
                b'{' => {
                    if self.shell == Shell::Zsh {
                        self.unsure("a brace inside an expansion before it is not tracked");
                    }
                    self.advance();
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
                    // In `"${x:-it's}"` bash looks for a second one; other shells take it for text.
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

    fn odd(&mut self) {
        if let Some(Frame::Parameter { odd, .. }) = self.frames.last_mut() {
            *odd = true;
        }
    }

    fn set_depth(&mut self, new: u32) {
        if let Some(Frame::Arithmetic { depth, .. }) = self.frames.last_mut() {
            *depth = new;
        }
    }

    fn arithmetic(&mut self, end: ArithmeticEnd, mut depth: u32) -> bool {
        let (open, close) = match end {
            ArithmeticEnd::Parens => (b'(', b')'),
            ArithmeticEnd::Bracket => (b'[', b']'),
        };
        loop {
            self.skip_while(|byte| {
                byte != open && byte != close && !matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`' | HOLE | b'\n')
            });
            let Some(byte) = self.peek() else { return self.ended() };
            match byte {
                HOLE => self.hole(),
                b'\\' => self.escape(),
                b'\n' => {
                    self.advance();
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
                b'\'' => self.advance(),
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
                    self.advance();
                }
                _ if depth > 0 => {
                    depth -= 1;
                    self.advance();
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
                    if let Some(Frame::Arithmetic { start, .. }) = self.frames.pop() {
                        self.found.arithmetic.push((start..self.at, end == ArithmeticEnd::Bracket));
                    }
                    if end == ArithmeticEnd::Parens
                        && matches!(self.frames.last(), Some(Frame::List))
                        && self.list.word == NONE
                    {
                        // `(( ))` as a command.
                        self.list.started = NONE;
                        self.list.first_hole = self.found.holes.len();
                    }
                    return true;
                }
            }
        }
    }

    // Holes.

    fn record(&mut self, at: usize, context: Context, spot: Spot) {
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

    fn hole(&mut self) {
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
        self.advance();
    }

    fn spot(&self) -> (Context, Spot) {
        let no = |why| (Context::Unsupported, Spot::Unsupported(why));
        if let Some(why) = self.found.unsure {
            return no(why);
        }
        if self.after_backslash == self.at {
            return no("a backslash stands directly before it");
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
        if self.list.redirect.is_some() {
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

/// Whether a word of `[[ ]]` compares its sides as arithmetic.
pub(crate) fn is_comparison(text: &[u8]) -> bool {
    matches!(text, b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge")
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

/// Whether a byte never means anything to a shell inside a word.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b':' | b'@' | b'%' | b'+' | b',' | b'-')
}

fn is_name(text: &[u8]) -> bool {
    text.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether a word begins as an assignment does: `name=`, `name+=`, `name[…]=`.
fn is_assignment(text: &[u8]) -> bool {
    let Some(equals) = text.iter().position(|&byte| byte == b'=') else { return false };
    let left = text[..equals].strip_suffix(b"+").unwrap_or(&text[..equals]);
    match left.iter().position(|&byte| byte == b'[') {
        Some(bracket) => is_name(&left[..bracket]) && left.ends_with(b"]"),
        None => is_name(left),
    }
}
