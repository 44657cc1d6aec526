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
    fn emit(&mut self, event: impl FnOnce() -> Event) {
        if TREE {
            self.found.events.push(event());
        }
    }

    /// Tells the text from `from` up to here.
    #[inline]
    fn text(&mut self, style: Style, from: usize) {
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
    fn style(&self) -> Style {
        match self.frames.last() {
            None | Some(Frame::List | Frame::Parameter { outer: Outer::Unquoted | Outer::Pattern, .. }) => Style::Bare,
            Some(Frame::Ansi | Frame::Unclear) => Style::Ansi,
            Some(_) => Style::Quoted,
        }
    }

    fn is_quoted(&self) -> bool {
        self.style() != Style::Bare
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

    fn close_frame(&mut self) -> Option<Frame> {
        let at = self.at;
        self.emit(|| Event::Close(at));
        self.frames.pop()
    }

    fn push_arithmetic(&mut self, open: Open, end: ArithmeticEnd) -> bool {
        self.emit(|| Event::Open(open));
        self.push(Frame::Arithmetic { end, depth: 0 })
    }

    fn push(&mut self, frame: Frame) -> bool {
        if self.frames.len() >= DEEPEST {
            return self.abandon("the constructs around it are nested too deeply");
        }
        self.frames.push(frame);
        true
    }

    fn push_list(&mut self, open: Open, kind: Kind, close: Close, expect: Expect) -> bool {
        if !self.push(Frame::List) {
            return false;
        }
        self.emit(|| Event::Open(open));
        let list = List::new(kind, close, expect, self.words.len(), self.cases);
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
        self.close_frame();
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
            let at = self.at;
            self.emit(|| Event::Word(at));
        }
    }

    fn word_text(&self) -> &[u8] {
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

    fn end_word(&mut self) {
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

    fn end_command(&mut self) {
        self.words.truncate(self.list.words);
        self.list.redirect = false;
    }

    /// Whether the current word may be an assignment.
    fn may_assign(&self) -> bool {
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
    fn plain(&mut self) {
        let from = self.at;
        self.skip_while(|byte| CLASS[byte as usize] == PLAIN);
        self.text(Style::Bare, from);
    }

    /// Passes over one character of the current word that is text here.
    fn character(&mut self) {
        self.begin_word();
        let from = self.at;
        self.advance();
        self.text(self.style(), from);
    }

    // Lists of commands.

    fn commands(&mut self) -> bool {
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
    fn push_quote(&mut self, frame: Frame) -> bool {
        self.emit(|| Event::Text(Style::Quoted, String::new()));
        self.push(frame)
    }

    fn sequence(&mut self) {
        let at = self.at;
        self.emit(|| Event::Operator(Operator::Sequence, at));
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
                    self.advance();
                    if self.peek() == Some(b'&') {
                        self.advance();
                    }
                    if self.cases > self.list.cases {
                        self.end_command();
                        self.emit(|| Event::Operator(Operator::CaseBreak, at));
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

    fn redirect(&mut self, byte: u8) -> bool {
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

    // Here-documents.

    fn open_document(&mut self, operator: usize) -> bool {
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

    fn begin_documents(&mut self) -> bool {
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

    fn close_document(&mut self, closer: Range<usize>) {
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
    fn close_test(&mut self) -> bool {
        self.drop_word();
        self.end_command();
        self.drop_list();
        self.list.expect = Expect::Command;
        true
    }

    // Quotes.

    fn single(&mut self) -> bool {
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

    fn ansi(&mut self) -> bool {
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

    fn double(&mut self) -> bool {
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
        let quoted = self.is_quoted();
        self.advance();
        self.layers.push(layer);
        self.push_list(Open::Output { quoted }, Kind::Commands, Close::Backtick, Expect::Command)
    }

    // Expansions.

    fn dollar(&mut self, unquoted: bool) -> bool {
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

    fn stage(&mut self, new: Stage) {
        if let Some(Frame::Parameter { stage, .. }) = self.frames.last_mut() {
            *stage = new;
        }
    }

    fn parameter(&mut self, outer: Outer, stage: Stage, odd: bool) -> bool {
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
        let (hole, quoted) = (self.found.holes.len() - 1, self.is_quoted());
        self.emit(|| Event::Hole { hole, quoted });
        self.advance();
    }

    fn spot(&self) -> (Context, Spot) {
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
