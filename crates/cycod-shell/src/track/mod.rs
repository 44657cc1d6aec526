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
//!
//! Placing a value needs the places alone ([`track`]). Judging a template also needs what the program says: [`parse`] runs the
//! same pass with `TREE` set, and every construct leaves an [`Event`] behind, of which `script` makes a tree.

mod commands;
mod documents;
mod expansions;
mod holes;
mod quotes;

use std::ops::Range;

use crate::piece::Shell;
use crate::refusal::Context;

/// The byte that stands for a hole.
pub(crate) const HOLE: u8 = 0;

/// The name of an expansion that is not followed. No variable has it.
pub(crate) const UNFOLLOWED: &str = "";

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
    /// Counts the documents in the order of their operators.
    serial: usize,
}

/// A word of the command that is being read.
#[derive(Debug, Clone)]
struct Word {
    span: Range<usize>,
    is_plain: bool,
}

/// What a word is to the command it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The name of a command, or one of its arguments.
    Plain,
    /// `name=value`.
    Assignment,
    /// What follows `<`, `>` and their relatives.
    Redirect,
    /// A word of the grammar, such as `if`.
    Reserved,
    ForName,
    ForWord,
    CaseSubject,
    CasePattern,
    FunctionName,
}

/// One construct of the program, in the order of the text. What is opened is closed again, unless the text ends before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A word begins at this byte.
    Word(usize),
    /// The word that began is none: the number of a descriptor, or the `]]` of a test.
    NoWord,
    /// The word ends before this byte.
    WordEnd(Role, usize),
    Text(Style, String),
    /// The hole of this number, and whether the shell would leave it one word.
    Hole {
        hole: usize,
        quoted: bool,
    },
    /// `$name`, `$1`, `$@`.
    Variable {
        name: String,
        quoted: bool,
    },
    Open(Open),
    /// The name of `${name…}`, with a leading `#` or `!`.
    ParameterName(String),
    /// What stands behind that name: `:-`, `##`, `:`, or what else there is.
    ParameterOperator(String),
    /// At this byte.
    Close(usize),
    Operator(Operator, usize),
    Redirect(Redirection, usize),
    /// The operator of a here-document.
    Document {
        serial: usize,
        at: usize,
    },
    /// `()` behind a function's name.
    Parentheses,
}

/// How a text was written, which is how much of it the shell still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Outside of quotes: braces, globs and a leading `~` act.
    Bare,
    /// Text as it is.
    Quoted,
    /// Inside `$'…'`, escapes included.
    Ansi,
}

/// A construct that holds others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    /// `( … )` as a command.
    Subshell,
    /// `$( … )` and backticks.
    Output { quoted: bool },
    /// `<( … )` and `>( … )`.
    Process,
    /// The value of `name=( … )`.
    Array,
    /// `[[ … ]]`.
    Test,
    /// `@( … )` and its relatives, which are patterns.
    Pattern,
    /// `${ … }`.
    Parameter { quoted: bool },
    /// `$(( … ))`, `$[ … ]`, subscripts.
    Arithmetic,
    /// `(( … ))` as a command.
    ArithmeticCommand,
    /// The body of the here-document with this serial number.
    Document(usize),
}

/// What separates commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `;` and the end of a line.
    Sequence,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `&`.
    Background,
    Pipe,
    /// `;;` and its relatives.
    CaseBreak,
    /// The end of an arm behind which the next one runs: `;&`.
    CaseFallThrough,
    /// The `)` behind the patterns of a case.
    CaseBody,
}

/// What a redirection does with the word that follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirection {
    Input,
    Output,
    HereString,
    /// `>&` with a descriptor.
    Duplicate,
    /// `<&` with a descriptor.
    DuplicateInput,
}

impl Redirection {
    /// Whether something may be written to the word.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Output | Self::Duplicate)
    }
}

/// What the pass found.
#[derive(Debug, Default)]
pub(crate) struct Track {
    pub(crate) holes: Vec<Hole>,
    pub(crate) documents: Vec<Document>,
    /// Bare `$` directly before a hole, which must become `\$`.
    pub(crate) dollars: Vec<(usize, usize)>,
    pub(crate) unsure: Option<&'static str>,
    pub(crate) balanced: bool,
    /// The constructs; empty unless asked for.
    pub(crate) events: Vec<Event>,
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
    redirect: bool,
    word: usize,
    words: usize,
    cases: usize,
}

impl List {
    fn new(kind: Kind, close: Close, expect: Expect, words: usize, cases: usize) -> Self {
        Self { kind, close, expect, redirect: false, word: NONE, words, cases }
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

/// Finds the place of every hole.
pub(crate) fn track(shell: Shell, source: &[u8]) -> Track {
    Tracker::<false>::pass(shell, source)
}

/// Finds the place of every hole, and every construct around them.
pub(crate) fn parse(shell: Shell, source: &[u8]) -> Track {
    Tracker::<true>::pass(shell, source)
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

struct Tracker<'a, const TREE: bool> {
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
    serial: usize,
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

impl<'a, const TREE: bool> Tracker<'a, TREE> {
    fn pass(shell: Shell, source: &'a [u8]) -> Track {
        let mut tracker = Self {
            shell,
            source,
            at: 0,
            frames: vec![Frame::List],
            list: List::new(Kind::Commands, Close::End, Expect::Command, 0, 0),
            lists: Vec::new(),
            layers: Vec::new(),
            words: Vec::new(),
            pending: Vec::new(),
            queue: Vec::new(),
            after_variable: NONE,
            after_backslash: NONE,
            after_dollar: NONE,
            cases: 0,
            serial: 0,
            found: Track::default(),
        };
        tracker.run();
        tracker.found
    }

    pub(super) fn run(&mut self) {
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
                Frame::Arithmetic { end, depth } => self.arithmetic(end, depth),
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
        let pending = std::mem::take(&mut self.pending);
        self.found.documents.extend(pending);
    }

    // Telling what was read.

    #[inline]
    pub(super) fn emit(&mut self, event: impl FnOnce() -> Event) {
        if TREE {
            self.found.events.push(event());
        }
    }

    /// Tells the text from `from` up to here.
    #[inline]
    pub(super) fn text(&mut self, style: Style, from: usize) {
        if TREE && from < self.at {
            self.text_between(style, from);
        }
    }

    fn text_between(&mut self, style: Style, from: usize) {
        let mut bytes = Vec::with_capacity(self.at - from);
        let mut at = from;
        while at < self.at {
            let (Logical::Byte(byte), next) = self.decode(at, self.layers.len()) else { break };
            bytes.push(byte);
            at = next;
        }
        let text =
            String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        match self.found.events.last_mut() {
            Some(Event::Text(before, joined)) if *before == style => joined.push_str(&text),
            _ => self.found.events.push(Event::Text(style, text)),
        }
    }

    /// How text is written at this place.
    pub(super) fn style(&self) -> Style {
        match self.frames.last() {
            None | Some(Frame::List | Frame::Parameter { outer: Outer::Unquoted | Outer::Pattern, .. }) => Style::Bare,
            Some(Frame::Ansi | Frame::Unclear) => Style::Ansi,
            Some(_) => Style::Quoted,
        }
    }

    pub(super) fn is_quoted(&self) -> bool {
        self.style() != Style::Bare
    }

    // Reading.

    pub(super) fn decode(&self, at: usize, layer: usize) -> (Logical, usize) {
        decode(self.source, &self.layers, at, layer)
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        if self.layers.is_empty() {
            return self.source.get(self.at).copied();
        }
        match self.decode(self.at, self.layers.len()).0 {
            Logical::Byte(byte) => Some(byte),
            Logical::End(_) | Logical::Eof => None,
        }
    }

    pub(super) fn peek_second(&self) -> Option<u8> {
        self.nth(1)
    }

    pub(super) fn nth(&self, count: usize) -> Option<u8> {
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
    pub(super) fn advance(&mut self) {
        if self.layers.is_empty() {
            self.at += 1;
        } else {
            self.at = self.decode(self.at, self.layers.len()).1;
        }
    }

    pub(super) fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.advance();
        }
    }

    /// Passes over bytes for which `plain` holds.
    #[inline]
    pub(super) fn skip_while(&mut self, plain: impl Fn(u8) -> bool) {
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
    pub(super) fn escape(&mut self) {
        let backslash = self.at;
        self.advance();
        let Some(escaped) = self.peek() else { return };
        if escaped == HOLE {
            self.after_backslash = self.at;
            return;
        }
        let character = self.at;
        self.advance();
        if escaped >= 0x80 {
            self.skip_while(|byte| (0x80..0xc0).contains(&byte));
        }
        if !TREE {
            return;
        }
        let style = self.style();
        let is_special = match self.frames.last() {
            Some(Frame::Here { .. }) => matches!(escaped, b'$' | b'`' | b'\\'),
            _ => matches!(escaped, b'$' | b'`' | b'\\' | b'"'),
        };
        match style {
            Style::Ansi => self.text(style, backslash),
            _ if escaped == b'\n' => {}
            Style::Bare => self.text(Style::Quoted, character),
            Style::Quoted => self.text(style, if is_special { character } else { backslash }),
        }
    }

    pub(super) fn unsure(&mut self, why: &'static str) {
        self.found.unsure.get_or_insert(why);
    }

    /// Gives up: nothing after this point is looked at.
    pub(super) fn abandon(&mut self, why: &'static str) -> bool {
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
    pub(super) fn ended(&mut self) -> bool {
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
                    self.end_command();
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

    pub(super) fn close_frame(&mut self) -> Option<Frame> {
        let at = self.at;
        self.emit(|| Event::Close(at));
        self.frames.pop()
    }

    pub(super) fn push_arithmetic(&mut self, open: Open, end: ArithmeticEnd) -> bool {
        self.emit(|| Event::Open(open));
        self.push(Frame::Arithmetic { end, depth: 0 })
    }

    pub(super) fn push(&mut self, frame: Frame) -> bool {
        if self.frames.len() >= DEEPEST {
            return self.abandon("the constructs around it are nested too deeply");
        }
        self.frames.push(frame);
        true
    }

    pub(super) fn push_list(&mut self, open: Open, kind: Kind, close: Close, expect: Expect) -> bool {
        if !self.push(Frame::List) {
            return false;
        }
        self.emit(|| Event::Open(open));
        let list = List::new(kind, close, expect, self.words.len(), self.cases);
        self.lists.push(std::mem::replace(&mut self.list, list));
        true
    }

    /// Leaves the current list; its last word and command have ended.
    pub(super) fn drop_list(&mut self) {
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
        self.close_frame();
        if let Some(list) = self.lists.pop() {
            self.list = list;
        }
    }

    pub(super) fn outer(&self) -> Outer {
        match self.frames.last() {
            None | Some(Frame::List) => Outer::Unquoted,
            Some(Frame::Here { .. }) => Outer::Here,
            Some(Frame::Parameter { stage: Stage::Pattern, .. }) => Outer::Pattern,
            Some(Frame::Parameter { outer, .. }) => *outer,
            Some(_) => Outer::Double,
        }
    }
}

/// Whether a byte never means anything to a shell inside a word.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b':' | b'@' | b'%' | b'+' | b',' | b'-')
}

pub(super) fn is_name(text: &[u8]) -> bool {
    text.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether a word begins as an assignment does: `name=`, `name+=`, `name[…]=`.
pub(super) fn is_assignment(text: &[u8]) -> bool {
    let Some(equals) = text.iter().position(|&byte| byte == b'=') else { return false };
    let left = text[..equals].strip_suffix(b"+").unwrap_or(&text[..equals]);
    match left.iter().position(|&byte| byte == b'[') {
        Some(bracket) => is_name(&left[..bracket]) && left.ends_with(b"]"),
        None => is_name(left),
    }
}
