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
use crate::flow::structure;
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
    /// It stands in parentheses, whose result may be an argument.
    is_in_parentheses: bool,
    /// A method that gets it, of which nothing is known.
    method: bool,
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
        methods: Vec::new(),
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
            let is_in_parentheses = scan.frames.contains(&Frame::Code(')'));
            let method = scan.methods.iter().any(|is_unknown| *is_unknown);
            holes.push(Hole { at, frame, trouble, statement, is_nested, is_in_parentheses, method });
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
                scan.methods.push(false);
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
    /// For each parenthesis and brace that is open, whether it is that of a method of which nothing is known.
    methods: Vec<bool>,
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
                self.methods.push(is_unknown_method(&self.source[..at]));
            }
            '{' => {
                self.frames.push(Frame::Code('}'));
                self.statement.push(at + 1);
                self.methods.push(false);
            }
            ')' | '}' => {
                if character == close {
                    self.frames.pop();
                    self.statement.pop();
                    self.methods.pop();
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

/// Whether a parenthesis behind this text is that of a method that may do more with a text than look at it.
fn is_unknown_method(before: &str) -> bool {
    const TYPES: [&str; 18] = [
        "array",
        "char",
        "console",
        "convert",
        "datetime",
        "double",
        "guid",
        "int",
        "io.path",
        "long",
        "math",
        "regex",
        "string",
        "text.encoding",
        "timespan",
        "uri",
        "version",
        "web.httputility",
    ];
    const READING: [&str; 10] = [
        "io.directory::exists",
        "io.directory::getdirectories",
        "io.directory::getfiles",
        "io.file::exists",
        "io.file::readallbytes",
        "io.file::readalllines",
        "io.file::readalltext",
        "io.file::readlines",
        "io.fileinfo::new",
        "environment::getenvironmentvariable",
    ];
    const METHODS: [&str; 37] = [
        "add",
        "append",
        "compareto",
        "contains",
        "containskey",
        "endswith",
        "equals",
        "escape",
        "format",
        "getbytes",
        "getstring",
        "indexof",
        "insert",
        "ismatch",
        "join",
        "lastindexof",
        "match",
        "matches",
        "padleft",
        "padright",
        "parse",
        "remove",
        "replace",
        "split",
        "startswith",
        "substring",
        "tobase64string",
        "tolower",
        "tolowerinvariant",
        "tostring",
        "toupper",
        "toupperinvariant",
        "trim",
        "trimend",
        "trimstart",
        "tryparse",
        "where",
    ];
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let without_name = before.trim_end_matches(is_name);
    let name = before[without_name.len()..].to_ascii_lowercase();
    if name.is_empty() {
        // `$x."name"(…)`, and parentheses of an expression.
        return before.ends_with(['"', '\'', '}', ']']);
    }
    if let Some(of) = without_name.strip_suffix("::") {
        let Some((_, of)) = of.strip_suffix(']').and_then(|of| of.rsplit_once('[')) else { return true };
        let of = of.to_ascii_lowercase();
        let of = of.strip_prefix("system.").unwrap_or(&of);
        return !TYPES.contains(&of) && !READING.contains(&format!("{of}::{name}").as_str());
    }
    without_name.ends_with('.') && !METHODS.contains(&name.as_str())
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
        let outside = match hole.frame {
            Frame::Single => source[..hole.at].rfind(is_single),
            Frame::Double => source[..hole.at].rfind(is_double),
            _ => Some(hole.at),
        };
        if outside.is_some_and(|at| source[..at].ends_with('.') || source[..at].ends_with("::")) {
            return unclear("it names a member, which may be any method", "choose among values of your own: an `enum`");
        }
        if hole.method {
            return unclear("nothing says what the method that gets it does with it", "use a cmdlet, or another shell");
        }
        let mut verdict = in_statement(source, hole, about, statements, &lower);
        verdict.guards.extend(structure_around(source, hole, about).map(|rule| Guard {
            rule,
            cut: Cut::WHOLE,
            program: "the command".into(),
        }));
        verdict
    };
    scan(source).iter().zip(about).map(verdict).collect()
}

/// What keeps a value a part of the JSON text, or of the address, in which the author put it.
fn structure_around(source: &str, hole: &Hole, about: &About<'_>) -> Option<Rule> {
    let before = &source[..hole.at];
    let is_mark = |c: char| is_single(c) || is_double(c) || c.is_whitespace();
    let behind = source[hole.at + 1..].split(is_mark).next().unwrap_or_default();
    if matches!(hole.frame, Frame::Single | Frame::SingleHere) {
        let start = before.rfind(is_single).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let text = before[start..].replace('\0', "\u{1}");
        let rule = structure::in_json(&text, about.is_json_string).or_else(|| structure::in_markup(&text, false));
        if rule.is_some() {
            return rule;
        }
    }
    let start = before.rfind(is_mark).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let is_printed = ["write-host", "write-output", "echo", "write-error", "throw"]
        .iter()
        .any(|name| source[hole.statement..].trim_start().to_ascii_lowercase().starts_with(name));
    let behind = if behind.starts_with('\0') { return None } else { behind };
    structure::in_address(&before[start..], Some(behind), false).filter(|_| !is_printed)
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
    if let Some(variable) = environment_variable(before) {
        // Names have no case on Windows.
        let upper = variable.to_ascii_uppercase();
        if [variable, upper.as_str()].iter().any(|name| crate::programs::runs_variable(name, true)) {
            let why = format!("`{variable}` is a variable that programs run or load from");
            return unclear(&why, "choose among values of your own: an `enum`");
        }
        return Verdict::of(Proof::Data, "it is the value of a variable");
    }
    let is_expression = first.is_empty()
        || first.starts_with(['$', '[', '"', '\'', '(', '@', '-'])
        || CMDLETS.binary_search(&name.as_str()).is_ok() && !is_silent(&name);
    if hole.is_in_parentheses
        && is_expression
        && !is_compared(before, &source[hole.at + 1..])
        && !only_cmdlets(source, lower)
    {
        return unclear("what the parentheses around it make of it may be an argument of a program", in_itself);
    }
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

/// The variable of the environment that a statement sets, by what stands before the value.
fn environment_variable(before: &str) -> Option<&str> {
    let text = before.trim_start_matches('$');
    let text = text.strip_prefix('{').unwrap_or(text);
    let name = text
        .get(..4)
        .filter(|scope| before.starts_with('$') && scope.eq_ignore_ascii_case("env:"))
        .map(|_| &text[4..])?;
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let sign = name[end..].trim_start_matches('}').trim_start();
    (sign.starts_with('=') || sign.starts_with("+=")).then_some(&name[..end])
}

/// Whether a cmdlet says nothing of the text that it gets.
fn is_silent(name: &str) -> bool {
    [
        "test-path",
        "out-null",
        "test-connection",
        "get-filehash",
        "set-location",
        "cd",
        "push-location",
        "remove-item",
        "sleep",
        "start-sleep",
    ]
    .contains(&name)
}

/// Whether a value is only compared with something.
fn is_compared(before: &str, behind: &str) -> bool {
    const OPERATORS: [&str; 12] =
        ["contains", "eq", "ge", "gt", "in", "is", "le", "like", "lt", "match", "ne", "notcontains"];
    let operator = |word: Option<&str>| {
        let name = word.and_then(|word| word.strip_prefix('-')).map(str::to_ascii_lowercase);
        name.is_some_and(|name| {
            let name = name.strip_prefix("not").filter(|rest| !rest.is_empty()).unwrap_or(&name);
            let base = name.strip_prefix(['c', 'i']).filter(|base| OPERATORS.contains(base)).unwrap_or(name);
            OPERATORS.contains(&base)
        })
    };
    let before = before.trim_end_matches(['"', '\'']);
    operator(before.split_whitespace().next_back())
        || operator(behind.trim_start_matches(['"', '\'']).split_whitespace().next())
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
