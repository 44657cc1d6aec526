//! The code of a tool as its author wrote it: read, checked, and freed of its types.
//!
//! Types become spaces, so that every line and column of what runs is that of the file. What cannot be left out because it
//! makes code of its own, such as an `enum`, is a mistake with the way to write it otherwise.

mod blank;
mod depth;

use std::{ops::Range, thread};

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

use self::{blank::Imports, depth::Unparsable};
use crate::{compile, protocol::Language};

/// How many bytes of code a tool may have.
pub const LONGEST_CODE: usize = 256 << 10;

/// What the parser may need for each byte of code, and for itself.
///
/// It goes as deep as the code is nested, and nothing stops it. Brackets are counted before; what a byte of anything else can
/// cost was measured with `a=>`, `!`, `new` and the like, and doubled. Memory that is not touched is only an address.
const STACK_PER_BYTE: usize = 1 << 10;
const STACK: usize = 16 << 20;

/// The stack on which code of any length can be read.
pub(crate) const READING_STACK: usize = STACK + LONGEST_CODE * STACK_PER_BYTE;

/// What a tool's code offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports {
    /// Whether something is exported as `execute`.
    pub execute: bool,
    /// Whether there is a default export.
    pub default: bool,
    /// Every name that is exported, `default` too, in the order of the code.
    pub names: Vec<String>,
}

/// What is wrong in a tool's code, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ScriptDiagnostic {
    /// What is wrong.
    pub message: String,
    /// How to fix it, if that is known.
    pub help: Option<String>,
    /// Which bytes of the code are meant.
    pub span: Range<usize>,
    /// The line of the code, counted from 1.
    pub line: usize,
    /// The character of the line, counted from 1.
    pub column: usize,
}

/// Checks a tool's code and returns what it exports: a function `execute`, or a default export.
///
/// # Errors
/// With everything that is wrong, in the order of the code.
pub fn check(code: &str, language: Language) -> Result<Exports, Vec<ScriptDiagnostic>> {
    with_a_large_stack(code, || {
        let read = read(code, language)?;
        compile::compile(&read.script).map_err(|problem| vec![problem.into_diagnostic(code)])?;
        Ok(read.exports)
    })
}

/// Leaves the types of TypeScript out that another engine is to run, which may import what it finds there. Every character
/// stays where it stood.
///
/// # Errors
/// As for [`check`], but that what the engine itself objects to is not known.
pub fn strip(code: &str) -> Result<String, Vec<ScriptDiagnostic>> {
    with_a_large_stack(code, || Ok(read_with(code, Language::TypeScript, Imports::Kept)?.script))
}

/// Does something with code on a thread whose stack is large enough for it.
fn with_a_large_stack<T: Send>(
    code: &str,
    work: impl FnOnce() -> Result<T, Vec<ScriptDiagnostic>> + Send,
) -> Result<T, Vec<ScriptDiagnostic>> {
    let done = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(READING_STACK).spawn_scoped(scope, work);
        thread.map(|thread| thread.join())
    });
    match done {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(vec![ScriptDiagnostic::new(code, 0..0, "the code makes the parser fail", None)]),
        Err(error) => {
            Err(vec![ScriptDiagnostic::new(code, 0..0, format!("the code cannot be checked now: {error}"), None)])
        }
    }
}

/// Code that was read.
#[derive(Debug)]
pub(crate) struct Read {
    /// The code as it can run: every character stands where it stood.
    pub(crate) script: String,
    /// What it offers.
    pub(crate) exports: Exports,
}

/// Reads code on this thread, which must have a stack of [`READING_STACK`].
pub(crate) fn read(code: &str, language: Language) -> Result<Read, Vec<ScriptDiagnostic>> {
    read_with(code, language, Imports::Refused)
}

fn read_with(code: &str, language: Language, imports: Imports) -> Result<Read, Vec<ScriptDiagnostic>> {
    if code.len() > LONGEST_CODE {
        let message = format!("the code has {} bytes, and a tool may have {LONGEST_CODE}", code.len());
        let help = "move data into files that the tool reads, and leave out what it does not need";
        return Err(vec![ScriptDiagnostic::new(code, 0..0, message, Some(help))]);
    }
    match depth::look(code) {
        Ok(()) => {}
        Err(Unparsable::TooDeep(at)) => return Err(vec![too_deep(code, at..at + 1)]),
        Err(Unparsable::Ambiguous(at)) => {
            let message = "this may be a regular expression or a division, and where it ends depends on which";
            let help = "put the regular expression into a variable of its own";
            return Err(vec![ScriptDiagnostic::new(code, at..at + 1, message, Some(help))]);
        }
    }
    let allocator = Allocator::default();
    let kind = match language {
        Language::TypeScript => SourceType::ts().with_module(true),
        Language::JavaScript => SourceType::mjs(),
    };
    let parsed = Parser::new(&allocator, code, kind).parse();
    let mut problems: Vec<ScriptDiagnostic> = parsed
        .diagnostics
        .errors()
        .map(|error| {
            let span = error.labels.first().map_or(0..0, |label| {
                let start = label.offset() as usize;
                start..start + label.len() as usize
            });
            ScriptDiagnostic::new(code, span, lowercase(&error.message), error.help.as_deref())
        })
        .collect();
    let mut read = None;
    // A tree that the parser fixed would only lead to more complaints about the same place.
    if problems.is_empty() {
        let blanked = blank::blank(code, &parsed.program, imports);
        problems.extend(blanked.problems);
        read = Some(Read { script: blanked.script, exports: blanked.exports });
    }
    if problems.is_empty()
        && let Some(read) = &read
        && !(read.exports.execute || read.exports.default)
    {
        problems.push(no_entry(code, &parsed.program));
    }
    match read {
        Some(read) if problems.is_empty() => Ok(read),
        _ => {
            problems.sort_by_key(|problem| problem.span.start);
            Err(problems)
        }
    }
}

impl ScriptDiagnostic {
    /// Makes a diagnostic; a span beyond the code is taken back into it.
    pub(crate) fn new(code: &str, span: Range<usize>, message: impl Into<String>, help: Option<&str>) -> Self {
        let start = code.floor_char_boundary(span.start);
        let end = code.ceil_char_boundary(span.end).max(start);
        let before = &code[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            message: message.into(),
            help: help.map(str::to_owned),
            span: start..end,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }

    /// Makes a diagnostic for a place that is told as line and column.
    pub(crate) fn at(code: &str, line: usize, column: usize, message: impl Into<String>) -> Self {
        let start: usize = code.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let rest = code.get(start..).unwrap_or_default();
        let inside: usize = rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
        let place = start + inside;
        let end = code.get(place..).and_then(|rest| rest.chars().next()).map_or(place, |char| place + char.len_utf8());
        Self::new(code, place..end, message, None)
    }
}

fn too_deep(code: &str, span: Range<usize>) -> ScriptDiagnostic {
    let help = "name parts of it in variables or functions of their own";
    ScriptDiagnostic::new(code, span, "the code is nested too deeply", Some(help))
}

/// Says what is missing where nothing is exported that could be called.
fn no_entry(code: &str, program: &oxc_ast::ast::Program<'_>) -> ScriptDiagnostic {
    use oxc_ast::ast::{BindingPattern, Statement};
    let message = "the code exports no function that could be called";
    let help = "write `export async function execute(args, context) { … }`";
    for statement in &program.body {
        let id = match statement {
            Statement::FunctionDeclaration(function) => function.id.as_ref(),
            Statement::VariableDeclaration(variables) => {
                variables.declarations.iter().find_map(|variable| match &variable.id {
                    BindingPattern::BindingIdentifier(id) if id.name == "execute" => Some(&**id),
                    _ => None,
                })
            }
            _ => None,
        };
        if let Some(id) = id.filter(|id| id.name == "execute") {
            let span = id.span.start as usize..id.span.end as usize;
            return ScriptDiagnostic::new(
                code,
                span,
                message,
                Some("write `export` before the declaration of `execute`"),
            );
        }
    }
    if code.contains("module.exports") || code.contains("exports.") {
        let help = "the code is an ES module: write `export async function execute(args, context) { … }` instead of \
                    assigning to `exports`";
        return ScriptDiagnostic::new(code, 0..0, message, Some(help));
    }
    ScriptDiagnostic::new(code, 0..0, message, Some(help))
}

/// Messages of the parser are sentences, ours are not.
fn lowercase(message: &str) -> String {
    let message = message.trim_end_matches('.');
    let mut chars = message.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if first.is_ascii_uppercase() && second.is_ascii_lowercase() => {
            format!("{}{}", first.to_ascii_lowercase(), &message[1..])
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
