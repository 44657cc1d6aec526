//! The tree of a program: what [`parse`](crate::track::parse) read, put together.
//!
//! The tree keeps what decides where a value can go, and nothing else: which words a command has, what feeds it, what is a
//! function, what a loop assigns, and which commands may not run. What a condition says is not kept.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use crate::track::{Event, Open, Operator, Redirection, Role, Style, Track};

/// How deep commands may be nested in each other, so that a walk over the tree has a bounded stack.
const DEEPEST: usize = 200;

/// Commands one after another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) pipelines: Vec<Pipeline>,
    /// How deep what it holds is nested.
    height: usize,
}

/// Commands that feed each other; a single one in most cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Command>,
    pub(crate) joint: Joint,
    /// Its list ends with `&`: it runs in a shell of its own.
    pub(crate) is_background: bool,
    /// Other commands read what it prints, by a descriptor: `coproc`.
    pub(crate) is_coprocess: bool,
}

/// What connects a pipeline to the one before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Joint {
    /// It runs after that one.
    #[default]
    After,
    /// `&&`: it runs when that one succeeds.
    And,
    /// `||`: it runs when that one fails.
    Or,
}

/// A command with its redirections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) form: Form,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// Assignments, then a name and its arguments.
    Simple {
        assignments: Vec<Word>,
        words: Vec<Word>,
    },
    /// `[[ … ]]`.
    Test(Vec<Word>),
    /// `(( … ))`.
    Arithmetic(Vec<Part>),
    /// `{ …; }`, with what zsh always runs behind it.
    Group(Vec<Script>),
    /// `( … )`: what it assigns is gone behind it.
    Subshell(Box<Script>),
    /// `if`: a condition and what runs then, any number of times, and what runs else.
    If(Vec<Script>),
    /// `while`, `until`, `for ((…))`: what begins it, then what may run any number of times.
    Loop(Vec<Script>),
    /// `for` and `select`; without words, the positional parameters.
    For {
        name: Word,
        words: Option<Vec<Word>>,
        body: Script,
    },
    Case {
        subject: Word,
        arms: Vec<(Vec<Word>, Script)>,
    },
    Function {
        name: Word,
        body: Box<Command>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) kind: Redirection,
    pub(crate) target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Word(Word),
    /// The here-document with this serial number.
    Document(usize),
}

/// A word as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    pub(crate) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Text {
        text: Arc<str>,
        quoted: bool,
    },
    Hole {
        hole: usize,
        quoted: bool,
    },
    /// `$name`, or `${name…}`.
    Expansion(Box<Expansion>),
    /// The output of `$( … )`.
    Output {
        script: Script,
        quoted: bool,
    },
    /// `<( … )` and `>( … )`.
    Process(Script),
    /// The value of `name=( … )`.
    Array(Vec<Word>),
    /// `@( … )` and its relatives.
    Pattern(Vec<Word>),
    Arithmetic(Vec<Part>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// With a leading `#` or `!` where there is one.
    pub(crate) name: String,
    pub(crate) subscript: Option<Vec<Part>>,
    /// Such as `:-` or `##`; empty for the plain value.
    pub(crate) operator: String,
    /// What stands behind the operator.
    pub(crate) word: Vec<Part>,
    pub(crate) quoted: bool,
}

/// A whole program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) script: Script,
    /// The bodies of here-documents, by serial number.
    pub(crate) documents: HashMap<usize, Vec<Part>>,
}

/// Makes the tree of what was read; the reason when it is no program.
///
/// `holes` are the numbers that the holes of the text have, in order, and here-documents are numbered from `first` on: code that
/// stands in other code shares both with it.
pub(crate) fn build(found: &mut Track, holes: &[usize], first: usize) -> Result<Tree, &'static str> {
    if let Some(why) = found.unsure {
        return Err(why);
    }
    if !found.balanced {
        return Err("a quote, a parenthesis or a `case` in it is not closed");
    }
    let mut builder =
        Builder { events: std::mem::take(&mut found.events).into_iter(), documents: HashMap::new(), holes, first };
    let script = builder.list()?;
    Ok(Tree { script, documents: builder.documents })
}

/// What a list of commands is made of, before reserved words give it structure.
#[derive(Debug)]
enum Token {
    Word(Role, Word),
    Operator(Operator),
    Redirect(Redirection),
    Document(usize),
    Parentheses,
    /// A command that is complete in itself.
    Whole(Form),
}

struct Builder<'a> {
    events: IntoIter<Event>,
    documents: HashMap<usize, Vec<Part>>,
    holes: &'a [usize],
    first: usize,
}

type Built<T> = Result<T, &'static str>;

const MISPLACED: &str = "a construct of it stands where no shell expects one";

impl Builder<'_> {
    /// Reads up to the end of a list, and makes commands of it.
    fn list(&mut self) -> Built<Script> {
        let mut tokens = Vec::new();
        let mut end = 0;
        while let Some(event) = self.events.next() {
            let (token, at) = match event {
                Event::Word(start) => match self.word(start)? {
                    Some((role, word)) => {
                        let span = word.span.clone();
                        tokens.push((Token::Word(role, word), span));
                        continue;
                    }
                    None => continue,
                },
                Event::Operator(operator, at) => (Token::Operator(operator), at),
                Event::Redirect(kind, at) => (Token::Redirect(kind), at),
                Event::Document { serial, at } => (Token::Document(self.first + serial), at),
                Event::Parentheses => (Token::Parentheses, end),
                Event::Open(Open::Document(serial)) => {
                    let (parts, _) = self.parts()?;
                    self.documents.insert(self.first + serial, parts);
                    continue;
                }
                Event::Open(Open::Subshell) => (Token::Whole(Form::Subshell(Box::new(self.list()?))), end),
                Event::Open(Open::Test) => {
                    // The `[[` before it.
                    tokens.pop();
                    (Token::Whole(Form::Test(self.words()?)), end)
                }
                Event::Open(Open::ArithmeticCommand) => (Token::Whole(Form::Arithmetic(self.parts()?.0)), end),
                Event::Close(_) => break,
                _ => return Err(MISPLACED),
            };
            end = at;
            tokens.push((token, at..at));
        }
        Grammar { tokens: tokens.into_iter().peekable(), depth: 0 }.whole()
    }

    /// Reads a word that has begun; nothing when it turns out to be none.
    fn word(&mut self, start: usize) -> Built<Option<(Role, Word)>> {
        let mut parts = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::NoWord => return Ok(None),
                Event::WordEnd(role, end) => {
                    // Empty quotes say that the word is there, which other quoted parts say as well.
                    if parts.iter().any(Part::is_quoted) {
                        parts.retain(|part| !matches!(part, Part::Text { text, quoted: true } if text.is_empty()));
                    }
                    return Ok(Some((role, Word { parts, span: start..end })));
                }
                event => self.part(event, &mut parts)?,
            }
        }
        Err(MISPLACED)
    }

    /// Reads the words of an array, a test or a pattern.
    fn words(&mut self) -> Built<Vec<Word>> {
        let mut words = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::Word(start) => words.extend(self.word(start)?.map(|(_, word)| word)),
                Event::Close(_) => return Ok(words),
                _ => return Err(MISPLACED),
            }
        }
        Err(MISPLACED)
    }

    /// Reads parts up to the end of their construct, which is told.
    fn parts(&mut self) -> Built<(Vec<Part>, usize)> {
        let mut parts = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::Close(at) => return Ok((parts, at)),
                event => self.part(event, &mut parts)?,
            }
        }
        Err(MISPLACED)
    }

    fn part(&mut self, event: Event, parts: &mut Vec<Part>) -> Built<()> {
        let part = match event {
            Event::Text(Style::Bare, text) => Part::Text { text: text.into(), quoted: false },
            Event::Text(Style::Quoted, text) => Part::Text { text: text.into(), quoted: true },
            Event::Text(Style::Ansi, text) => Part::Text { text: unescape(&text).into(), quoted: true },
            Event::Hole { hole, quoted } => Part::Hole { hole: self.holes[hole], quoted },
            Event::Variable { name, quoted } => Part::Expansion(Box::new(Expansion {
                name,
                subscript: None,
                operator: String::new(),
                word: Vec::new(),
                quoted,
            })),
            Event::Open(Open::Output { quoted }) => Part::Output { script: self.list()?, quoted },
            Event::Open(Open::Process) => Part::Process(self.list()?),
            Event::Open(Open::Array) => Part::Array(self.words()?),
            Event::Open(Open::Pattern) => Part::Pattern(self.words()?),
            Event::Open(Open::Parameter { quoted }) => Part::Expansion(Box::new(self.expansion(quoted)?)),
            Event::Open(Open::Arithmetic) => Part::Arithmetic(self.parts()?.0),
            _ => return Err(MISPLACED),
        };
        parts.push(part);
        Ok(())
    }

    fn expansion(&mut self, quoted: bool) -> Built<Expansion> {
        let mut expansion =
            Expansion { name: String::new(), subscript: None, operator: String::new(), word: Vec::new(), quoted };
        while let Some(event) = self.events.next() {
            match event {
                Event::Close(_) => return Ok(expansion),
                Event::ParameterName(name) => expansion.name = name,
                Event::ParameterOperator(operator) => expansion.operator = operator,
                Event::Open(Open::Arithmetic) if expansion.operator.is_empty() => {
                    expansion.subscript = Some(self.parts()?.0);
                }
                event => self.part(event, &mut expansion.word)?,
            }
        }
        Err(MISPLACED)
    }
}

/// Gives a list of tokens the structure that reserved words say.
struct Grammar {
    tokens: std::iter::Peekable<IntoIter<(Token, Range<usize>)>>,
    depth: usize,
}

const UNCLOSED: &str = "an `if`, a loop, a `{` or a `case` in it is not closed";

impl Grammar {
    fn whole(mut self) -> Built<Script> {
        let script = self.script(&[])?;
        if self.tokens.next().is_some() {
            return Err("a reserved word in it closes nothing");
        }
        if script.height > DEEPEST {
            return Err("its commands are nested too deeply");
        }
        Ok(script)
    }

    fn peek(&mut self) -> Option<&Token> {
        self.tokens.peek().map(|(token, _)| token)
    }

    /// The reserved word that comes next.
    fn reserved(&mut self) -> Option<&str> {
        match self.peek() {
            Some(Token::Word(Role::Reserved, word)) => word.literal(),
            _ => None,
        }
    }

    fn expect(&mut self, wanted: &str) -> Built<()> {
        if self.reserved() != Some(wanted) {
            return Err(UNCLOSED);
        }
        self.tokens.next();
        Ok(())
    }

    /// Reads commands up to one of `ends`, or to the end.
    fn script(&mut self, ends: &[&str]) -> Built<Script> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("its commands are nested too deeply");
        }
        let mut script = Script::default();
        let mut joint = Joint::After;
        let mut is_behind_joint = false;
        loop {
            match self.peek() {
                None => break,
                Some(Token::Operator(Operator::Sequence)) => {
                    self.tokens.next();
                    // The end of a line behind `&&` means nothing.
                    if !is_behind_joint {
                        joint = Joint::After;
                    }
                }
                Some(Token::Operator(operator @ (Operator::And | Operator::Or))) => {
                    joint = if *operator == Operator::And { Joint::And } else { Joint::Or };
                    is_behind_joint = true;
                    self.tokens.next();
                }
                Some(Token::Operator(Operator::Background)) => {
                    self.tokens.next();
                    joint = Joint::After;
                    script.background();
                }
                Some(Token::Operator(Operator::CaseBreak | Operator::CaseFallThrough | Operator::CaseBody)) => {
                    break;
                }
                Some(_) => {
                    if self.reserved().is_some_and(|word| ends.contains(&word)) {
                        break;
                    }
                    let is_coprocess = self.skip_words_before();
                    let Some(stages) = self.pipeline()? else { break };
                    script.pipelines.push(Pipeline { stages, joint, is_background: false, is_coprocess });
                    is_behind_joint = false;
                }
            }
        }
        self.depth -= 1;
        script.measure();
        Ok(script)
    }

    /// Passes over the words before a pipeline; tells whether it is a coprocess.
    fn skip_words_before(&mut self) -> bool {
        let mut is_coprocess = false;
        while matches!(self.reserved(), Some("!" | "time" | "coproc")) {
            let is_time = self.reserved() == Some("time");
            is_coprocess |= self.reserved() == Some("coproc");
            self.tokens.next();
            // Words of `time` itself.
            while is_time
                && matches!(self.peek(), Some(Token::Word(Role::Plain, word)) if matches!(word.literal(), Some("-p" | "--")))
            {
                self.tokens.next();
            }
        }
        is_coprocess
    }

    fn pipeline(&mut self) -> Built<Option<Vec<Command>>> {
        let Some(first) = self.command()? else { return Ok(None) };
        let mut stages = vec![first];
        while matches!(self.peek(), Some(Token::Operator(Operator::Pipe))) {
            self.tokens.next();
            while matches!(self.peek(), Some(Token::Operator(Operator::Sequence))) {
                self.tokens.next();
            }
            stages.push(self.command()?.ok_or("nothing stands behind a `|` in it")?);
        }
        Ok(Some(stages))
    }

    /// Reads one command; nothing where none begins.
    fn command(&mut self) -> Built<Option<Command>> {
        let Some((token, span)) = self.tokens.peek() else { return Ok(None) };
        let start = span.start;
        let is_group = matches!(token, Token::Whole(_));
        let form = if is_group {
            match self.tokens.next() {
                Some((Token::Whole(form), _)) => Some(form),
                _ => None,
            }
        } else {
            match self.reserved().map(str::to_owned).as_deref() {
                Some("if") => Some(self.compound(&["then", "elif", "else"], "fi")?),
                Some("while" | "until") => Some(self.compound(&["do"], "done")?),
                Some("{") => Some(self.braces()?),
                Some("for" | "select") => Some(self.loop_over()?),
                Some("case") => Some(self.case()?),
                Some("function") => Some(self.function()?),
                Some(_) => return Ok(None),
                None => None,
            }
        };
        if let Some(form) = form {
            let mut redirects = Vec::new();
            while self.redirect(&mut redirects)? {}
            return Ok(Some(Command { form, redirects, span: start..start }));
        }
        self.simple(start)
    }

    fn simple(&mut self, start: usize) -> Built<Option<Command>> {
        let (mut assignments, mut words, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        let mut end = start;
        loop {
            if self.redirect(&mut redirects)? {
                continue;
            }
            match self.peek() {
                Some(Token::Word(Role::Plain | Role::Assignment, _)) => {}
                Some(Token::Parentheses) => {
                    self.tokens.next();
                    let Some(name) = words.pop().filter(|_| words.is_empty()) else { return Err(MISPLACED) };
                    return Ok(Some(Command { form: self.body_of(name)?, redirects: Vec::new(), span: start..start }));
                }
                _ => break,
            }
            let Some((Token::Word(role, word), span)) = self.tokens.next() else { break };
            end = end.max(span.end);
            if role == Role::Assignment && words.is_empty() { assignments.push(word) } else { words.push(word) }
        }
        if let Some(Redirect { target: Target::Word(word), .. }) = redirects.last() {
            end = end.max(word.span.end);
        }
        let is_nothing = assignments.is_empty() && words.is_empty() && redirects.is_empty();
        Ok((!is_nothing).then_some(Command { form: Form::Simple { assignments, words }, redirects, span: start..end }))
    }

    fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> Built<bool> {
        match self.peek() {
            Some(Token::Redirect(kind)) => {
                let kind = *kind;
                self.tokens.next();
                match self.tokens.next() {
                    Some((Token::Word(Role::Redirect, word), _)) => {
                        redirects.push(Redirect { kind, target: Target::Word(word) });
                        Ok(true)
                    }
                    _ => Err("a redirection in it has no target"),
                }
            }
            Some(Token::Document(serial)) => {
                let target = Target::Document(*serial);
                self.tokens.next();
                redirects.push(Redirect { kind: Redirection::Input, target });
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// `if` and `while`: commands between reserved words.
    fn compound(&mut self, between: &[&str], end: &str) -> Built<Form> {
        self.tokens.next();
        let mut ends = between.to_vec();
        ends.push(end);
        let mut scripts = Vec::new();
        loop {
            scripts.push(self.script(&ends)?);
            match self.reserved() {
                Some(word) if word == end => {
                    self.tokens.next();
                    return Ok(if end == "done" { Form::Loop(scripts) } else { Form::If(scripts) });
                }
                Some(word) if between.contains(&word) => {
                    self.tokens.next();
                }
                _ => return Err(UNCLOSED),
            }
        }
    }

    fn braces(&mut self) -> Built<Form> {
        self.tokens.next();
        let mut scripts = vec![self.script(&["}"])?];
        self.expect("}")?;
        if self.reserved() == Some("always") {
            self.tokens.next();
            self.expect("{")?;
            scripts.push(self.script(&["}"])?);
            self.expect("}")?;
        }
        Ok(Form::Group(scripts))
    }

    fn loop_over(&mut self) -> Built<Form> {
        self.tokens.next();
        if matches!(self.peek(), Some(Token::Whole(Form::Arithmetic(_)))) {
            let Some((Token::Whole(Form::Arithmetic(parts)), span)) = self.tokens.next() else { return Err(MISPLACED) };
            let head = Script::of(vec![Command { form: Form::Arithmetic(parts), redirects: Vec::new(), span }]);
            return Ok(Form::Loop(vec![head, self.loop_body()?]));
        }
        let name = match self.tokens.next() {
            Some((Token::Word(Role::ForName, word), _)) => word,
            _ => return Err(MISPLACED),
        };
        while matches!(self.peek(), Some(Token::Operator(Operator::Sequence))) {
            self.tokens.next();
        }
        let mut words = None;
        if self.reserved() == Some("in") {
            self.tokens.next();
            let words = words.insert(Vec::new());
            while matches!(self.peek(), Some(Token::Word(Role::ForWord, _))) {
                if let Some((Token::Word(_, word), _)) = self.tokens.next() {
                    words.push(word);
                }
            }
        }
        Ok(Form::For { name, words, body: self.loop_body()? })
    }

    fn loop_body(&mut self) -> Built<Script> {
        while matches!(self.peek(), Some(Token::Operator(Operator::Sequence))) {
            self.tokens.next();
        }
        let end = match self.reserved() {
            Some("do") => "done",
            Some("{") => "}",
            _ => return Err(UNCLOSED),
        };
        self.tokens.next();
        let body = self.script(&[end])?;
        self.expect(end)?;
        Ok(body)
    }

    fn case(&mut self) -> Built<Form> {
        self.tokens.next();
        let subject = match self.tokens.next() {
            Some((Token::Word(Role::CaseSubject, word), _)) => word,
            _ => return Err(MISPLACED),
        };
        let mut arms: Vec<(Vec<Word>, _)> = Vec::new();
        let mut patterns = Vec::new();
        loop {
            match self.tokens.next() {
                Some((Token::Word(Role::CasePattern, word), _)) => patterns.push(word),
                Some((Token::Operator(Operator::CaseBody), _)) => {
                    let body = self.script(&["esac"])?;
                    arms.push((std::mem::take(&mut patterns), body));
                }
                // What runs the arm before runs the next one, too.
                Some((Token::Operator(Operator::CaseFallThrough), _)) => {
                    patterns.extend(arms.last().map(|(before, _)| before.clone()).unwrap_or_default());
                }
                Some((Token::Operator(_), _)) => {}
                Some((Token::Word(Role::Reserved, word), _)) => match word.literal() {
                    Some("in") => {}
                    Some("esac") => return Ok(Form::Case { subject, arms }),
                    _ => return Err(UNCLOSED),
                },
                _ => return Err(UNCLOSED),
            }
        }
    }

    fn function(&mut self) -> Built<Form> {
        self.tokens.next();
        let name = match self.tokens.next() {
            Some((Token::Word(Role::FunctionName, word), _)) => word,
            _ => return Err(MISPLACED),
        };
        if matches!(self.peek(), Some(Token::Parentheses)) {
            self.tokens.next();
        }
        self.body_of(name)
    }

    fn body_of(&mut self, name: Word) -> Built<Form> {
        while matches!(self.peek(), Some(Token::Operator(Operator::Sequence))) {
            self.tokens.next();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("its commands are nested too deeply");
        }
        let body = self.command()?.ok_or("a function in it has no body")?;
        self.depth -= 1;
        Ok(Form::Function { name, body: Box::new(body) })
    }
}

impl Script {
    /// A script of one command.
    pub(crate) fn of(stages: Vec<Command>) -> Self {
        let pipeline = Pipeline { stages, joint: Joint::After, is_background: false, is_coprocess: false };
        let mut script = Self { pipelines: vec![pipeline], height: 0 };
        script.measure();
        script
    }

    /// All commands in it, but not those inside of others.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &Command> {
        self.pipelines.iter().flat_map(|pipeline| &pipeline.stages)
    }

    /// Notes that the list of commands at its end runs in a shell of its own.
    fn background(&mut self) {
        for pipeline in self.pipelines.iter_mut().rev() {
            pipeline.is_background = true;
            if pipeline.joint == Joint::After {
                return;
            }
        }
    }

    /// Notes how deep what it holds is nested.
    fn measure(&mut self) {
        self.height = 1 + self.commands().map(Command::height).max().unwrap_or(0);
    }
}

impl Command {
    fn height(&self) -> usize {
        let words = |words: &[Word]| words.iter().map(Word::height).max().unwrap_or(0);
        let scripts = |scripts: &[Script]| scripts.iter().map(|script| script.height).max().unwrap_or(0);
        let form = match &self.form {
            Form::Simple { assignments, words: arguments } => words(assignments).max(words(arguments)),
            Form::Test(tested) => words(tested),
            Form::Arithmetic(parts) => height(parts),
            Form::Group(inner) | Form::If(inner) | Form::Loop(inner) => scripts(inner),
            Form::Subshell(inner) => inner.height,
            Form::For { words: over, body, .. } => body.height.max(words(over.as_deref().unwrap_or_default())),
            Form::Case { subject, arms } => {
                arms.iter().map(|(patterns, body)| body.height.max(words(patterns))).fold(subject.height(), usize::max)
            }
            Form::Function { body, .. } => body.height(),
        };
        let redirects = self.redirects.iter().map(|redirect| match &redirect.target {
            Target::Word(word) => word.height(),
            Target::Document(_) => 0,
        });
        1 + redirects.fold(form, usize::max)
    }
}

impl Part {
    /// Whether it makes a word even when it is empty.
    fn is_quoted(&self) -> bool {
        match self {
            Self::Text { text, quoted } => *quoted && !text.is_empty(),
            Self::Hole { quoted, .. } | Self::Output { quoted, .. } => *quoted,
            Self::Expansion(expansion) => expansion.quoted,
            _ => false,
        }
    }
}

impl Word {
    /// The whole word, when nothing in it is expanded.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text { text, .. }] => Some(text),
            _ => None,
        }
    }

    fn height(&self) -> usize {
        height(&self.parts)
    }
}

fn height(parts: &[Part]) -> usize {
    let of = |part: &Part| match part {
        Part::Text { .. } | Part::Hole { .. } => 0,
        Part::Expansion(expansion) => 1 + height(&expansion.word).max(expansion.subscript.as_deref().map_or(0, height)),
        Part::Output { script, .. } | Part::Process(script) => 1 + script.height,
        Part::Array(words) | Part::Pattern(words) => 1 + words.iter().map(Word::height).max().unwrap_or(0),
        Part::Arithmetic(parts) => 1 + height(parts),
    };
    parts.iter().map(of).max().unwrap_or(0)
}

/// What `$'…'` stands for.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let [kind, tail @ ..] = rest else {
            bytes.push(b'\\');
            break;
        };
        rest = tail;
        let number = |rest: &mut &[u8], most: usize, base: u32| {
            let digits = rest.iter().take(most).take_while(|byte| char::from(**byte).is_digit(base)).count();
            let (digits, tail) = rest.split_at(digits);
            *rest = tail;
            std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, base).ok())
        };
        match kind {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b'e' | b'E' => bytes.push(27),
            b'f' => bytes.push(12),
            b'v' => bytes.push(11),
            b'x' => bytes.extend(number(&mut rest, 2, 16).and_then(|byte| u8::try_from(byte).ok())),
            b'u' | b'U' => {
                let most = if *kind == b'u' { 4 } else { 8 };
                let character = number(&mut rest, most, 16).and_then(char::from_u32).unwrap_or('\u{fffd}');
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            b'c' => {
                if let [control, tail @ ..] = rest {
                    bytes.push(control & 0x1f);
                    rest = tail;
                }
            }
            b'0'..=b'7' => {
                let mut digits = &text.as_bytes()[text.len() - rest.len() - 1..];
                let value = number(&mut digits, 3, 8);
                rest = digits;
                bytes.extend(value.map(|byte| (byte & 0xff) as u8));
            }
            b'\\' | b'\'' | b'"' | b'?' => bytes.push(*kind),
            _ => bytes.extend([b'\\', *kind]),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
