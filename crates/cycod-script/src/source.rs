//! The code of a tool as its author wrote it: read, checked, and made into JavaScript.
//!
//! [`SourcePlaces`] translates what an engine reports about the compiled script to places in the source.

mod depth;
mod look;
mod lower;
mod places;

use std::{ops::Range, thread};

use cycod_thread::Thread;
use oxc_allocator::Allocator;
use oxc_diagnostics::{LabeledSpan, OxcDiagnostic};
use oxc_parser::Parser;
use oxc_span::SourceType;

use self::depth::Unparsable;
use crate::{compile, protocol::ScriptLanguage};

pub use self::places::SourcePlaces;

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
    /// Whether there may be more, of which only a run of the code knows.
    pub is_open: bool,
}

/// Where code is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// In the engine, where it stands alone.
    Engine,
    /// In a program that finds modules for it.
    Elsewhere,
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

/// Checks a tool's code for the engine and returns what it exports: a function `execute`, or a default export.
///
/// # Errors
/// With everything that is wrong, in the order of the code.
pub fn check(code: &str, language: ScriptLanguage) -> Result<Exports, Vec<ScriptDiagnostic>> {
    with_a_large_stack(code, || {
        let read = read(code, language)?;
        compile::compile(&read.script).map_err(|problem| vec![problem.into_diagnostic(code, &read.places)])?;
        Ok(read.exports)
    })
}

/// Checks a tool's code for Node.js. It may import what it finds there, and may be a module of either kind.
///
/// # Errors
/// As for [`check`], but that what the engine itself objects to is not known.
pub fn check_for_node(code: &str, language: ScriptLanguage) -> Result<Exports, Vec<ScriptDiagnostic>> {
    // Node.js has other limits than the engine. Of what is beyond ours, it alone knows whether it is right.
    let is_beyond = || code.len() > LONGEST_CODE || depth::look(code).is_err();
    if language == ScriptLanguage::JavaScript && is_beyond() {
        return Ok(Exports { is_open: true, ..Exports::default() });
    }
    with_a_large_stack(code, || Ok(read_for(code, language, Home::Elsewhere)?.exports))
}

/// Makes JavaScript for Node.js of TypeScript, with the places where each part of it stood.
///
/// # Errors
/// As for [`check_for_node`].
pub fn lower(code: &str) -> Result<(String, SourcePlaces), Vec<ScriptDiagnostic>> {
    with_a_large_stack(code, || {
        let read = read_for(code, ScriptLanguage::TypeScript, Home::Elsewhere)?;
        Ok((read.script, read.places))
    })
}

/// Does something with code on a thread whose stack is large enough for it.
fn with_a_large_stack<T: Send>(
    code: &str,
    work: impl FnOnce() -> Result<T, Vec<ScriptDiagnostic>> + Send,
) -> Result<T, Vec<ScriptDiagnostic>> {
    let done = thread::scope(|scope| {
        let thread = Thread::named("reading").stack(READING_STACK).scoped(scope, work);
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
    /// The code as it can run.
    pub(crate) script: String,
    /// Where it stood.
    pub(crate) places: SourcePlaces,
    /// What it offers.
    pub(crate) exports: Exports,
}

/// Reads code for the engine on this thread, which must have a stack of [`READING_STACK`].
pub(crate) fn read(code: &str, language: ScriptLanguage) -> Result<Read, Vec<ScriptDiagnostic>> {
    read_for(code, language, Home::Engine)
}

fn read_for(code: &str, language: ScriptLanguage, home: Home) -> Result<Read, Vec<ScriptDiagnostic>> {
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
    let parse = |kind: SourceType| {
        let parsed = Parser::new(&allocator, code, kind).parse();
        let problems: Vec<_> =
            parsed.diagnostics.errors().map(|found| told(code, found, found.labels.first())).collect();
        (parsed.program, problems)
    };
    let (program, mut problems) = match language {
        ScriptLanguage::TypeScript => parse(SourceType::ts().with_module(true)),
        ScriptLanguage::JavaScript => parse(SourceType::mjs()),
    };
    let mut exports = Exports::default();
    // A tree that the parser fixed would only lead to more complaints about the same place.
    if problems.is_empty() {
        (exports, problems) = look::look(code, &program, home);
        if problems.is_empty() && !(exports.execute || exports.default || exports.is_open) {
            problems.push(no_entry(code, &program, home));
        }
    } else if language == ScriptLanguage::JavaScript && home == Home::Elsewhere {
        // What is no module of the one kind may be one of the other, in which more is allowed.
        let (program, of_script) = parse(SourceType::cjs());
        if of_script.is_empty() {
            let (found, wrong) = look::look(code, &program, home);
            if found.is_open {
                (exports, problems) = (found, wrong);
            }
        }
    }
    if problems.is_empty() {
        let made = match language {
            ScriptLanguage::TypeScript => lower::lower(code, &allocator, program),
            ScriptLanguage::JavaScript => Ok((without_hashbang(code), SourcePlaces::default())),
        };
        match made {
            Ok((script, places)) => return Ok(Read { script, places, exports }),
            Err(found) => problems = found,
        }
    }
    problems.sort_by_key(|problem| problem.span.start);
    Err(problems)
}

/// The engine knows `#!` only at the very start, where nothing of the file may stand before it.
fn without_hashbang(code: &str) -> String {
    match code.strip_prefix("#!") {
        Some(rest) => format!("//{rest}"),
        None => code.to_owned(),
    }
}

/// What the parser, or what makes JavaScript, has found.
fn told(code: &str, found: &OxcDiagnostic, label: Option<&LabeledSpan>) -> ScriptDiagnostic {
    let span = label.map_or(0..0, |label| {
        let start = label.offset() as usize;
        start..start + label.len() as usize
    });
    ScriptDiagnostic::new(code, span, lowercase(&found.message), found.help.as_deref())
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
fn no_entry(code: &str, program: &oxc_ast::ast::Program<'_>, home: Home) -> ScriptDiagnostic {
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
    if home == Home::Engine && (code.contains("module.exports") || code.contains("exports.")) {
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
