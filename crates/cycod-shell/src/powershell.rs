//! Writes values into PowerShell programs: always as a single-quoted literal, which knows no escape but a doubled quote.
//!
//! | place | written as |
//! |---|---|
//! | bare | `'it''s'`; several words as `'a','b'`, which a program gets as two arguments and a cmdlet as an array |
//! | `'…'` | its own text, quotes doubled |
//! | `"…"`, `@"…"@` | `$('it''s')` |
//! | `@'…'@` | its own text when it cannot end the here-string, else refused |
//! | comment | its own text when harmless, else nothing |
//!
//! PowerShell takes the typographic quotes `‘ ’ ‚ ‛` for `'`, and `“ ” „` for `"`.

use cycod_code::Code;

use crate::assemble::{assemble, joined};
use crate::flow::value::Cut;
use crate::harmless::{is_harmless, is_number};
use crate::hole::Hole as About;
use crate::judge::{Stages, judge_input, judge_words, misplaced, unclear};
use crate::piece::{Kind, Mode, Piece, Value};
use crate::posix::refusal;
use crate::programs::Statements;
use crate::refusal::{Placed, Problem, Refusal};
use crate::verdict::{Guard, Proof, Rule, Verdict};
use crate::words::split;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// Code; what closes it.
    Code(char),
    Single,
    Double,
    SingleHere,
    DoubleHere,
    LineComment,
    BlockComment,
}

#[derive(Clone, Copy)]
struct Hole {
    at: usize,
    frame: Frame,
    trouble: Option<&'static str>,
    /// Where the innermost command around it begins.
    statement: usize,
    /// That command stands in another, or in a block.
    is_nested: bool,
}

fn is_single(character: char) -> bool {
    matches!(character, '\'' | '\u{2018}'..='\u{201b}')
}

fn is_double(character: char) -> bool {
    matches!(character, '"' | '\u{201c}'..='\u{201e}')
}

/// What runs text that it is given, wherever it stands in a script: then no text in the script is followed.
const EVALUATORS: [&str; 22] = [
    "iex",
    "invoke-expression",
    "scriptblock",
    ".invoke",
    "invokescript",
    "invoke-command",
    "icm",
    "start-process",
    "saps",
    "start-job",
    "add-type",
    "set-alias",
    "new-alias",
    "expandstring",
    "encodedcommand",
    "powershell",
    "pwsh",
    "cmd",
    "register-",
    "import-module",
    "invoke-item",
    "new-object",
];

/// Commands that take text, paths and names. In a quoted word they see no parameter.
const CMDLETS: [&str; 76] = [
    "add-content",
    "cat",
    "cd",
    "compare-object",
    "compress-archive",
    "convertfrom-csv",
    "convertfrom-json",
    "convertto-csv",
    "convertto-json",
    "copy-item",
    "cp",
    "del",
    "dir",
    "echo",
    "expand-archive",
    "export-csv",
    "format-list",
    "format-table",
    "gc",
    "gci",
    "get-childitem",
    "get-content",
    "get-date",
    "get-filehash",
    "get-item",
    "get-itemproperty",
    "get-location",
    "get-process",
    "get-random",
    "get-service",
    "group-object",
    "import-csv",
    "invoke-restmethod",
    "invoke-webrequest",
    "irm",
    "iwr",
    "join-path",
    "ls",
    "measure-object",
    "mkdir",
    "move-item",
    "mv",
    "new-item",
    "out-file",
    "out-host",
    "out-null",
    "out-string",
    "pop-location",
    "push-location",
    "pwd",
    "read-host",
    "remove-item",
    "rename-item",
    "resolve-dnsname",
    "resolve-path",
    "return",
    "rm",
    "select",
    "select-object",
    "select-string",
    "set-content",
    "set-location",
    "sleep",
    "sls",
    "sort",
    "sort-object",
    "split-path",
    "start-sleep",
    "stop-process",
    "tee-object",
    "test-connection",
    "test-path",
    "throw",
    "write-error",
    "write-host",
    "write-output",
];

fn scan(source: &str) -> Vec<Hole> {
    let mut scan = Scan {
        source,
        characters: source.char_indices().peekable(),
        frames: vec![Frame::Code('\0')],
        statement: vec![0],
        unsure: None,
    };
    let mut holes = Vec::new();
    let mut before = '\n';
    while let Some((at, character)) = scan.characters.next() {
        let frame = *scan.frames.last().expect("the outermost frame is never popped");
        let next = scan.characters.peek().map(|&(_, next)| next);
        if character == '\0' {
            let trouble = scan.unsure.or(why_unquotable(frame, before, next));
            let is_nested = scan.statement.len() > 1;
            let statement = scan.statement.last().copied().unwrap_or(0);
            holes.push(Hole { at, frame, trouble, statement, is_nested });
            before = 'x';
            continue;
        }
        let mut seen = character;
        match frame {
            Frame::Code(close) => seen = scan.code(close, at, character, before),
            Frame::Single if is_single(character) => {
                if next.is_some_and(is_single) {
                    scan.characters.next();
                } else {
                    scan.frames.pop();
                }
            }
            Frame::Double | Frame::DoubleHere if character == '`' && next.is_some_and(|next| next != '\0') => {
                scan.characters.next();
                seen = 'x';
            }
            Frame::Double | Frame::DoubleHere if character == '$' && next == Some('(') => {
                scan.characters.next();
                scan.frames.push(Frame::Code(')'));
                scan.statement.push(at + 2);
                seen = '(';
            }
            Frame::Double if is_double(character) => {
                if next.is_some_and(is_double) {
                    scan.characters.next();
                } else {
                    scan.frames.pop();
                }
            }
            Frame::SingleHere | Frame::DoubleHere if character == '\n' => {
                let ends = |next: char| if frame == Frame::SingleHere { is_single(next) } else { is_double(next) };
                let mut rest = scan.source[at + 1..].chars();
                if rest.next().is_some_and(ends) && rest.next() == Some('@') {
                    scan.characters.next();
                    scan.characters.next();
                    scan.frames.pop();
                }
            }
            Frame::LineComment if character == '\n' => {
                scan.frames.pop();
                if let Some(start) = scan.statement.last_mut() {
                    *start = at + 1;
                }
            }
            Frame::BlockComment if character == '#' && next == Some('>') => {
                scan.characters.next();
                scan.frames.pop();
            }
            _ => {}
        }
        before = seen;
    }
    holes
}

/// Why no quotes can be put where a hole is, if that is so.
fn why_unquotable(frame: Frame, before: char, next: Option<char>) -> Option<&'static str> {
    match frame {
        Frame::Code(_) if before == '`' => Some("a backtick is directly before it"),
        Frame::Code(_)
            if !(is_boundary(before)
                || before.is_ascii_alphanumeric()
                || matches!(before, '_' | '=' | ':' | '/' | '.' | ',' | '-' | '\\')) =>
        {
            Some("the text directly before it would join its quotes")
        }
        Frame::Code(_) if is_boundary(before) && next.is_some_and(|next| !is_boundary(next) && next != ',') => {
            Some("PowerShell ends an argument where a quote closes; put `\"…\"` around the whole argument")
        }
        Frame::Code(_)
            if next.is_some_and(|next| {
                !is_boundary(next)
                    && !next.is_ascii_alphanumeric()
                    && !matches!(next, ',' | '.' | '/' | '\\' | '-' | '_' | '=' | ':')
            }) =>
        {
            Some("the text directly after it would join its quotes")
        }
        Frame::Double | Frame::DoubleHere if before == '`' => Some("a backtick is directly before it"),
        Frame::Double | Frame::DoubleHere if before == '$' => Some("a `$` is directly before it"),
        _ => None,
    }
}

/// How far a text was read.
struct Scan<'a> {
    source: &'a str,
    characters: std::iter::Peekable<std::str::CharIndices<'a>>,
    /// What is open, the innermost last.
    frames: Vec<Frame>,
    /// Where the statement begins, of each block that is open.
    statement: Vec<usize>,
    /// Why everything from here on could be read otherwise.
    unsure: Option<&'static str>,
}

impl Scan<'_> {
    /// Reads on from a character of code, and returns what stands before the next one.
    fn code(&mut self, close: char, at: usize, character: char, before: char) -> char {
        let next = self.characters.peek().map(|&(_, next)| next);
        match character {
            // A hole after it stays visible, and escaped.
            '`' if next.is_some_and(|next| next != '\0') => {
                self.characters.next();
                return 'x';
            }
            '@' if next.is_some_and(|next| is_single(next) || is_double(next)) => {
                let rest = &self.source[at + 1..];
                let quote = rest.chars().next().unwrap_or('\'');
                let line = rest[quote.len_utf8()..].split('\n').next().unwrap_or_default();
                if line.trim().is_empty() {
                    self.characters.next();
                    self.frames.push(if is_single(quote) { Frame::SingleHere } else { Frame::DoubleHere });
                }
            }
            _ if is_single(character) => self.frames.push(Frame::Single),
            _ if is_double(character) => self.frames.push(Frame::Double),
            '#' if is_boundary(before) => self.frames.push(Frame::LineComment),
            '<' if next == Some('#') => {
                self.characters.next();
                self.frames.push(Frame::BlockComment);
            }
            '$' if next == Some('{') => {
                if self.source[at..].split('}').next().is_some_and(|name| name.contains('\0')) {
                    self.unsure = Some("the name of a variable cannot be a value");
                }
                while self.characters.next_if(|&(_, inside)| inside != '}' && inside != '\0').is_some() {}
                self.characters.next_if(|&(_, inside)| inside == '}');
            }
            '-' if self.source[at..].starts_with("--%") && is_boundary(before) => {
                self.unsure = Some("`--%` before it turns off PowerShell's own quoting");
            }
            '(' => {
                self.frames.push(Frame::Code(')'));
                self.statement.push(at + 1);
            }
            '{' => {
                self.frames.push(Frame::Code('}'));
                self.statement.push(at + 1);
            }
            ')' | '}' => {
                if character == close {
                    self.frames.pop();
                    self.statement.pop();
                } else {
                    self.unsure = Some("a bracket before it closes nothing");
                }
            }
            ';' | '\n' | '|' => {
                if let Some(start) = self.statement.last_mut() {
                    *start = at + 1;
                }
            }
            _ => {}
        }
        character
    }
}

fn is_boundary(character: char) -> bool {
    character.is_whitespace() || matches!(character, '(' | ')' | '{' | '}' | ';' | '|' | '&' | '[' | ']')
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    double_quotes(text, &mut out);
    out.push('\'');
    out
}

fn double_quotes(text: &str, out: &mut String) {
    for character in text.chars() {
        out.push(character);
        if is_single(character) {
            out.push(character);
        }
    }
}

fn trouble(hole: &Hole, value: &Value<'_>) -> Option<Problem> {
    let why = hole.trouble?;
    Some(Problem {
        code: Code::UnsupportedPlace,
        message: format!("`{}` is where no value can be placed: {why}", value.name),
        help: format!("assign it first, `$value = {{{}}}`, and use `\"$value\"` there", value.name),
    })
}

/// Judges every hole of a program.
///
/// Variables are not followed. So a value that is kept in one is proven only where nothing in the whole program could run it.
pub(crate) fn judge(source: &str, about: &[&About<'_>], statements: &Statements<'_>) -> Vec<Verdict> {
    let lower = source.to_ascii_lowercase();
    let evaluator = EVALUATORS.iter().copied().find(|name| holds_word(&lower, name)).or_else(|| calls_variable(&lower));
    let verdict = |(hole, about): (&Hole, &&About<'_>)| {
        if let Some(why) = hole.trouble {
            return misplaced(about, why);
        }
        if about.kind != Kind::Text {
            return Verdict::free();
        }
        if matches!(hole.frame, Frame::LineComment | Frame::BlockComment) {
            return Verdict::of(Proof::Data, "it is in a comment");
        }
        if let Some(evaluator) = evaluator {
            let why = format!("`{evaluator}` in this program may run any text of it");
            return unclear(&why, "use a command that runs nothing, or another shell");
        }
        in_statement(source, hole, about, statements, &lower)
    };
    scan(source).iter().zip(about).map(verdict).collect()
}

/// Whether a name stands in a program by itself.
fn holds_word(lower: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    lower.match_indices(name).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let behind = lower[at + name.len()..].chars().next();
        let open = name.ends_with('-') || !behind.is_some_and(is_part);
        (name.starts_with('.') || !before.is_some_and(|c| is_part(c) || c == '-')) && open
    })
}

/// `& $command` and `. $script`.
fn calls_variable(lower: &str) -> Option<&'static str> {
    let sign = |sign: char, name: &'static str| {
        lower
            .match_indices(sign)
            .any(|(at, _)| {
                let before = lower[..at].chars().next_back().is_none_or(is_boundary);
                let behind = lower[at + 1..].trim_start().chars().next();
                before
                    && lower[at + 1..].starts_with([' ', '$', '(', '"', '\'', '\0'])
                    && matches!(behind, Some('$' | '(' | '"' | '\'' | '\0'))
            })
            .then_some(name)
    };
    sign('&', "&").or_else(|| sign('.', "."))
}

fn in_statement(source: &str, hole: &Hole, about: &About<'_>, statements: &Statements<'_>, lower: &str) -> Verdict {
    let end = source[hole.at..].find(['\n', ';', '|']).map_or(source.len(), |end| hole.at + end);
    let statement = &source[hole.statement..end];
    let before = source[hole.statement..hole.at].trim_start();
    let first: String = before.chars().take_while(|c| !c.is_whitespace() && *c != '\0').collect();
    let name = first.to_ascii_lowercase();
    let in_itself = "write the placeholder in the command itself";
    let defines = |name: &str| lower.contains(&format!("function {name}"));
    let mut verdict = Verdict::of(Proof::Data, "it is a text in an expression");
    if first.starts_with('$') || first.starts_with('[') {
        // An assignment or a comparison.
        let is_assigned = before.split_once('=').is_some_and(|(left, _)| !left.contains(['-', '(']));
        if is_assigned && !only_cmdlets(source, lower) {
            return unclear("commands of this program may get it through a variable", in_itself);
        }
    } else if first.is_empty()
        || first.starts_with(['"', '\'', '(', '@', '-'])
        || first.bytes().all(|byte| byte.is_ascii_digit())
    {
        // A value of its own.
    } else if defines(&name) {
        return unclear("functions of this program are not followed", "write the placeholder in a command");
    } else if CMDLETS.binary_search(&name.as_str()).is_ok() {
        verdict = Verdict::of(Proof::Data, &format!("`{first}` takes it as an argument"));
        // Paths of providers: a function that is written is run by whatever calls it.
        for text in ["function:", "alias:", "::"] {
            let rule = Rule::Lacks { text };
            verdict.guards.push(Guard { rule, cut: Cut::WHOLE, program: first.as_str().into() });
        }
    } else {
        let index = statement[..hole.at - hole.statement].matches('\0').count();
        let stages = std::iter::once(statement).chain(later_stages(&source[end..]));
        return match stages.map(words).collect::<Option<Stages>>() {
            Some(stages) => judge_words(&stages, index, about, statements),
            None => unclear("the command around it is not understood", "write its arguments without `$( )`"),
        };
    }
    if may_write(lower) && !only_cmdlets(source, lower) {
        return unclear("commands of this program may run a file that it writes", in_itself);
    }
    // Expressions and cmdlets hand on what they get; programs read it.
    let is_native = |stage: &&str| !only_cmdlets(stage, &stage.to_ascii_lowercase());
    if hole.is_nested && source[end..].split('|').skip(1).any(|stage| is_native(&stage)) {
        return unclear("a program of a pipeline around it may read it", in_itself);
    }
    let natives: Vec<&str> = later_stages(&source[end..]).into_iter().filter(is_native).collect();
    if natives.is_empty() {
        return verdict;
    }
    match natives.into_iter().map(words).collect::<Option<Stages>>() {
        Some(stages) => verdict.and(judge_input(&stages, about, statements)),
        None => unclear("the program that it is piped to is not understood", "write its arguments without `$( )`"),
    }
}

/// What follows in the pipeline whose statement ends where this text begins.
fn later_stages(mut text: &str) -> Vec<&str> {
    let mut stages = Vec::new();
    while let Some(rest) = text.trim_start().strip_prefix('|') {
        let rest = rest.trim_start();
        let end = rest.find(['\n', ';', '|']).unwrap_or(rest.len());
        stages.push(&rest[..end]);
        text = &rest[end..];
    }
    stages
}

/// Whether a program may write what it has to a file.
fn may_write(lower: &str) -> bool {
    const WRITERS: [&str; 17] = [
        "ac",
        "add-content",
        "copy",
        "copy-item",
        "cp",
        "cpi",
        "export-csv",
        "move",
        "move-item",
        "mv",
        "new-item",
        "ni",
        "out-file",
        "sc",
        "set-content",
        "tee",
        "tee-object",
    ];
    lower.contains('>') || WRITERS.iter().any(|name| holds_word(lower, name))
}

/// Whether no program runs in a script that could be given a variable.
fn only_cmdlets(source: &str, lower: &str) -> bool {
    source.len() == lower.len()
        && lower.split(['\n', ';', '|', '{', '}', '(']).all(|statement| {
            let first =
                statement.trim_start().split(|c: char| c.is_whitespace() || c == '\0').next().unwrap_or_default();
            first.is_empty()
                || first.starts_with(['$', '[', '"', '\'', '-', '@', ')', '#'])
                // A method on a line of its own.
                || first.starts_with('.') && first.contains('(') && !first.contains(['/', '\\'])
                || matches!(
                    first,
                    "if" | "else"
                        | "elseif"
                        | "foreach"
                        | "for"
                        | "while"
                        | "in"
                        | "try"
                        | "catch"
                        | "finally"
                        | "param"
                        | "function"
                        | "exit"
                        | "break"
                        | "continue"
                )
                || CMDLETS.binary_search(&first).is_ok()
        })
}

/// The words of a native command, with a NUL for each value.
fn words(statement: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut is_word = false;
    for character in statement.trim().chars() {
        match (quote, character) {
            (None, c) if c.is_whitespace() => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            (None, '$' | '(' | ')' | '`' | '@' | '{' | '}' | '&' | '<' | '>' | ',') => return None,
            (Some('"'), '$' | '`') => return None,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), c) if c == open => quote = None,
            (_, c) => word.push(c),
        }
        is_word = true;
    }
    if is_word {
        words.push(word);
    }
    quote.is_none().then_some(words)
}

pub(crate) fn place(pieces: &[Piece<'_>]) -> Result<Placed, Refusal> {
    let assembled = assemble(pieces)?;
    let source = &assembled.source;
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for (hole, &(value, piece)) in scan(source).iter().zip(&assembled.values) {
        if let Some(problem) = trouble(hole, value) {
            return Err(refusal(piece, problem));
        }
        text.push_str(&source[at..hole.at]);
        at = hole.at + 1;
        let whole = joined(value);
        match hole.frame {
            Frame::Code(_) => text.push_str(&bare(value, source, hole.at)),
            Frame::Single => double_quotes(&whole, &mut text),
            Frame::Double | Frame::DoubleHere => {
                text.push_str("$(");
                text.push_str(&quoted(&whole));
                text.push(')');
            }
            Frame::SingleHere => {
                let meets_quote = source[at..].chars().next().is_some_and(is_single);
                if whole.chars().any(is_single) && whole.contains('@')
                    || meets_quote && whole.contains('\n')
                    || whole.is_empty() && meets_quote
                {
                    return Err(Refusal {
                        code: Code::UnplaceableValue,
                        piece,
                        offset: 0,
                        message: format!("the value of `{}` could end this here-string", value.name),
                        try_: "use a here-string with double quotes, `@\"…\"@`".into(),
                    });
                }
                text.push_str(&whole);
            }
            Frame::LineComment | Frame::BlockComment => {
                if is_harmless(&whole) {
                    text.push_str(&whole);
                }
            }
        }
    }
    text.push_str(&source[at..]);
    Ok(Placed { text, prelude: 0..0, sensitive: assembled.sensitive })
}

fn bare(value: &Value<'_>, source: &str, at: usize) -> String {
    let whole = joined(value);
    if value.kind == Kind::Number && is_number(&whole) {
        return whole.into_owned();
    }
    let list = match (&value.words, value.mode) {
        (crate::Words::List { items, .. }, _) => items.iter().map(|item| quoted(item)).collect::<Vec<_>>(),
        (_, Mode::Output) => split(value).words.iter().map(|word| quoted(&crate::argv::plain_text(word))).collect(),
        (_, Mode::Arguments | Mode::Bare)
            if whole.is_empty()
                && source[..at].ends_with(char::is_whitespace)
                && !source[..at].trim_end().ends_with(['=', '(', ',']) =>
        {
            return String::new();
        }
        _ => return quoted(&whole),
    };
    if list.is_empty() { "@()".into() } else { list.join(",") }
}
