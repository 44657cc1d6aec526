//! The commands of a tool, read by the shells that would run them.

use std::{collections::HashMap, ffi::OsString};

use cycod_definition::{Command, CommandText, Host, Interpreter, Tool, document};
use cycod_diagnostic::{Code, Diagnostic, SourceFile};
use cycod_process::Ending;
use cycod_syntax::{
    template::{Reference, Template, TemplatePart},
    yaml::{Node, NodeKind, Scalar},
};

use super::reading::{Reading, interpreter, place, read_by};

/// What stands in a text that is only read in the place of a value: a word that fits wherever a value may stand.
const WORD: &str = "x";

/// A shell that can read a text without running it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Reader {
    program: &'static str,
    arguments: Vec<&'static str>,
}

impl Reader {
    /// The reader of a command; `None` for what has no shell, or one that cannot only read.
    fn of(command: &CommandText, text: &str, host: &Host) -> Option<Self> {
        let (program, mut arguments) = match command.interpreter {
            Interpreter::Bash => ("bash", vec!["--noprofile", "--norc", "-n"]),
            Interpreter::Sh => ("sh", vec!["-n"]),
            Interpreter::PlatformDefault if host.platform.is_unix() => ("sh", vec!["-n"]),
            Interpreter::Zsh => ("zsh", vec!["-f", "-n"]),
            _ => return None,
        };
        // Bash reads these patterns only when they are turned on, which a text does while it runs.
        if program == "bash" && text.contains("extglob") {
            arguments.extend(["-O", "extglob"]);
        }
        arguments.push("/dev/stdin");
        Some(Self { program, arguments })
    }
}

/// Reports what the shells cannot read in the commands of a tool. A shell that is not installed reports nothing.
///
/// Each text has a shell of its own. Joined, a quote or a here-document that one text leaves open would be closed by the next,
/// and an `eval` for each in one shell could be made to run them. A text that comes again is read once.
pub(super) fn check(tool: &Tool, source: &SourceFile, host: &Host) -> Vec<Diagnostic> {
    let root = document(source);
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut readings: HashMap<(Reader, String), Result<Reading, String>> = HashMap::new();
    for command in tool.commands().flat_map(Command::texts) {
        // A value that is program text may complete what is open without it.
        if takes_program_text(tool, &command.template) {
            continue;
        }
        let text = skeleton(&command.template);
        let scalar = root.as_ref().and_then(|root| scalar_of(root, &command.template));
        let Some(reader) = Reader::of(command, &text, host).filter(|_| may_be_wrong(&text)) else { continue };
        let Some(program) = interpreter(reader.program, host) else { continue };
        let read = |(reader, text): &(Reader, String)| {
            // The messages are read here, and what a shell would load is not loaded.
            let environment: Vec<(OsString, OsString)> = vec![("LC_ALL".into(), "C".into())];
            read_by(&program, &reader.arguments, environment, text, host)
        };
        let entry = readings.entry((reader, text));
        let (reader, text) = entry.key();
        let (reader, text) = (reader.clone(), text.clone());
        match entry.or_insert_with_key(read) {
            Ok(reading) => found.extend(told(&reader, reading, &text, scalar)),
            Err(why) => found.push(unchecked(&reader, why, scalar)),
        }
    }
    found.dedup();
    found
}

fn unchecked(reader: &Reader, why: &str, scalar: Option<&Scalar>) -> Diagnostic {
    let message = format!("`{}` did not read the command: {why}", reader.program);
    Diagnostic::warning(Code::ScriptUnchecked, place(scalar, 0, 0), message).label("not checked")
}

fn takes_program_text(tool: &Tool, template: &Template) -> bool {
    let is_unescaped = |reference: &Reference| match reference {
        Reference::Parameter(name) => {
            tool.parameter(name).is_some_and(|parameter| parameter.escape_shell == Some(false))
        }
        _ => false,
    };
    template.holes().any(|hole| hole.raw) || template.references().any(|(reference, _)| is_unescaped(reference))
}

/// The text with a word in the place of each value. Each line stays the line that it is.
fn skeleton(template: &Template) -> String {
    let parts = template.segments.iter().map(|segment| match segment {
        TemplatePart::Text(text) => text.as_str(),
        TemplatePart::Hole(_) => WORD,
    });
    parts.collect()
}

/// Whether there is anything in a text that a shell could fail to read: plain words on one line are a command.
fn may_be_wrong(text: &str) -> bool {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/' | ':' | '=' | '@' | '%' | '+' | ',');
    let text = text.trim();
    let first = text.split(' ').next().unwrap_or_default();
    const RESERVED: [&str; 18] = [
        "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "function",
        "select", "coproc", "time", "repeat",
    ];
    !text.chars().all(is_plain) || RESERVED.contains(&first)
}

/// What a shell says about a text.
fn told(reader: &Reader, reading: &Reading, text: &str, scalar: Option<&Scalar>) -> Vec<Diagnostic> {
    let words = String::from_utf8_lossy(&reading.last_words);
    let mut findings = words.lines().filter_map(Finding::of);
    if reading.ending == Ending::Exited(0) {
        // Such as a here-document without its end.
        let warnings = findings.filter_map(|finding| {
            let message = finding.message.strip_prefix("warning: ")?;
            Some(Diagnostic::warning(Code::ScriptSyntax, finding.span(text, scalar), message))
        });
        return warnings.collect();
    }
    let Some(error) = findings.find(|finding| !finding.message.starts_with("warning: ")) else {
        return vec![unchecked(reader, words.lines().next().unwrap_or("it gives no reason"), scalar)];
    };
    let message = format!("`{}` cannot read the command: {}", reader.program, error.message);
    vec![Diagnostic::error(Code::ScriptSyntax, error.span(text, scalar), message)]
}

/// Something that a shell says, and of which line.
struct Finding {
    line: usize,
    message: String,
}

impl Finding {
    /// Reads `FILE: line 3: WORDS` of bash, `FILE: 3: WORDS` of others and `FILE:3: WORDS` of zsh.
    fn of(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once(':')?;
        let rest = rest.trim_start();
        let (number, message) = rest.strip_prefix("line ").unwrap_or(rest).split_once(": ")?;
        let mut message = message.replacen("Syntax error", "syntax error", 1);
        // Shells quote as `this'.
        if let (Some(open), Some(close)) = (message.find('`'), message.rfind('\''))
            && close > open
        {
            message.replace_range(close..=close, "`");
        }
        Some(Self { line: number.parse().ok()?, message })
    }

    /// The line in the file.
    fn span(&self, text: &str, scalar: Option<&Scalar>) -> cycod_diagnostic::Span {
        let written = scalar.map_or(text, |scalar| &scalar.text);
        let start: usize = written.split_inclusive('\n').take(self.line.saturating_sub(1)).map(str::len).sum();
        let line = written.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        let indentation = line.len() - line.trim_start().len();
        place(scalar, start + indentation, start + line.trim_end().len())
    }
}

/// Where a template was written.
fn scalar_of<'a>(root: &'a Node, template: &Template) -> Option<&'a Scalar> {
    let first = template.holes().next().map(|hole| hole.span);
    let text = skeleton(template);
    let is_it = |node: &Node, scalar: &Scalar| match first {
        Some(hole) => node.span.start <= hole.start && hole.end <= node.span.end,
        // Braces that stand for themselves are written with a backslash.
        None => scalar.text.len() >= text.len() && scalar.text.replace("\\{", "{") == text,
    };
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        match &node.kind {
            NodeKind::Scalar(scalar) if is_it(node, scalar) => return Some(scalar),
            NodeKind::Scalar(_) => {}
            NodeKind::Sequence(items) => waiting.extend(items.iter().rev()),
            NodeKind::Mapping(entries) => waiting.extend(entries.iter().rev().map(|entry| &entry.value)),
        }
    }
    None
}
