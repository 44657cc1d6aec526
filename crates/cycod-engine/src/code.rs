//! The code of a handler and the commands of a tool, held against their languages before anything runs.

mod shells;

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use cycod_definition::{Body, Handler, Host, Runtime, Tool, document};
use cycod_diagnostic::{Code, Diagnostic, SourceFile, Span};
use cycod_process::{Ending, Input, Limits, Program, Session, Spec, Stop, Stream, find_program};
use cycod_script::{Checker, Finding, check, check_for_node, checker, protocol::Language};
use cycod_syntax::yaml::{Node, Scalar};

/// How long an interpreter may take to read the code of one tool.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many bytes it may use for that.
const MEMORY: u64 = 1 << 30;

/// The most that is read of what it says.
const MOST_WORDS: usize = 64 << 10;

/// Reports what is wrong with the code of a tool that was read from `source`.
///
/// JavaScript and TypeScript are read here. R, Python and the commands of shells are read by their own interpreters where these
/// are installed, which run nothing of the code.
pub fn check_code(tool: &Tool, source: &SourceFile, host: &Host) -> Vec<Diagnostic> {
    let mut found = shells::check(tool, source, host);
    if let Body::Handler(handler) = &tool.body {
        found.extend(check_handler(handler, source, host));
    }
    found
}

fn check_handler(handler: &Handler, source: &SourceFile, host: &Host) -> Vec<Diagnostic> {
    let Handler { runtime, is_typescript, code, .. } = handler;
    let document = document(source);
    let scalar = document.as_ref().and_then(|root| root.get("handler")?.get("code").and_then(Node::as_scalar));
    if let Some(checker) = checker(*runtime) {
        return by_interpreter(&checker, code, scalar, host);
    }
    let language = if *is_typescript { Language::TypeScript } else { Language::JavaScript };
    let found = match runtime {
        Runtime::Engine => check(code, language).err(),
        Runtime::Node => check_for_node(code, language).err(),
        Runtime::R | Runtime::Python => None,
    };
    let diagnostics = found.into_iter().flatten().map(|found| {
        let diagnostic =
            Diagnostic::error(Code::ScriptSyntax, place(scalar, found.span.start, found.span.end), found.message);
        match found.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    });
    diagnostics.collect()
}

/// What an interpreter says about code of its language. One that is not installed says nothing.
fn by_interpreter(checker: &Checker, code: &str, scalar: Option<&Scalar>, host: &Host) -> Vec<Diagnostic> {
    let Some(program) = interpreter(checker.program, host) else { return Vec::new() };
    match findings(checker, &program, code, host) {
        Ok(findings) => findings.iter().map(|finding| told(checker, finding, code, scalar)).collect(),
        Err(why) => {
            let message = format!("`{}` did not read the code: {why}", checker.program);
            vec![Diagnostic::warning(Code::ScriptUnchecked, place(scalar, 0, 0), message).label("not checked")]
        }
    }
}

fn told(checker: &Checker, finding: &Finding, code: &str, scalar: Option<&Scalar>) -> Diagnostic {
    let at = checker.byte_at(code, finding.line, finding.column);
    let span = place(scalar, at, at);
    match finding.is_error {
        true => Diagnostic::error(Code::ScriptSyntax, span, &finding.message),
        false => Diagnostic::warning(Code::ScriptSyntax, span, &finding.message),
    }
}

/// Where an interpreter is. A relative entry of the search path names what lies in the directory of whoever looks at a tool,
/// which may be anybody's.
fn interpreter(name: &str, host: &Host) -> Option<PathBuf> {
    let search = host.environment.get(OsStr::new("PATH"))?;
    let absolute = std::env::split_paths(search).filter(|entry| entry.is_absolute());
    let search = std::env::join_paths(absolute).ok()?;
    find_program(OsStr::new(name), &search, Path::new("/")).ok()
}

fn findings(checker: &Checker, program: &Path, code: &str, host: &Host) -> Result<Vec<Finding>, String> {
    let mut environment: Vec<_> = host.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, value) in checker.variables {
        environment.retain(|(known, _)| known != name);
        environment.push(((*name).into(), (*value).into()));
    }
    let reading = read_by(program, checker.arguments, environment, code, host)?;
    match (reading.ending, checker.findings(&reading.output)) {
        (Ending::Exited(0), Some(findings)) => Ok(findings),
        (ending, _) => {
            let words = String::from_utf8_lossy(&reading.last_words);
            let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it gives no reason");
            match ending {
                Ending::Exited(code) => Err(format!("it ended with exit code {code}: {last}")),
                _ => Err(format!("it was ended: {last}")),
            }
        }
    }
}

/// What a program said about code that it read.
struct Reading {
    ending: Ending,
    output: Vec<u8>,
    last_words: Vec<u8>,
}

/// Lets a program read code from its standard input.
fn read_by(
    program: &Path,
    arguments: &[&str],
    mut environment: Vec<(OsString, OsString)>,
    code: &str,
    host: &Host,
) -> Result<Reading, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    // What an interpreter keeps for itself goes with the directory, and what it could read beside it is not there.
    let directory = tempfile::Builder::new().prefix("cycod-check-").tempdir_in(&host.temp).map_err(|e| said(&e))?;
    environment.retain(|(known, _)| known != "TMPDIR");
    environment.push(("TMPDIR".into(), directory.path().into()));
    let mut spec = Spec::new(Program {
        args: arguments.iter().map(Into::into).collect(),
        env: environment,
        ..Program::new(program, directory.path())
    });
    spec.input = Input::Bytes(code.as_bytes().into());
    spec.limits = Limits { memory: Some(MEMORY), cpu_seconds: Some(PATIENCE.as_secs()), ..Limits::default() };
    spec.deadline = Some(Instant::now() + PATIENCE);
    spec.grace = Duration::ZERO;
    let stop = Stop::new().map_err(|error| said(&error))?;
    let session = Session::new().map_err(|error| said(&error))?;
    let (mut output, mut last_words) = (Vec::new(), Vec::new());
    let ended = session.run(&spec, &stop, &mut |stream, bytes| {
        let heard = if stream == Stream::Stdout { &mut output } else { &mut last_words };
        heard.extend_from_slice(&bytes[..bytes.len().min(MOST_WORDS.saturating_sub(heard.len()))]);
    });
    let ended = ended.map_err(|error| said(&error))?;
    match ended.ending {
        Ending::TimedOut { .. } => Err(format!("it took more than {} s", PATIENCE.as_secs())),
        ending => Ok(Reading { ending, output, last_words }),
    }
}

/// Where in the file a part of the code stands.
fn place(code: Option<&Scalar>, start: usize, end: usize) -> Span {
    let Some(code) = code else { return Span::default() };
    // What is missing at the end is missing behind the last character.
    let start = start.min(code.text.trim_end().len());
    let last = end.clamp(start + 1, (start + 1).max(code.text.len())) - 1;
    let (start, end) = (code.origin(start), code.origin(last) + 1);
    Span { start, end: end.max(start) }
}
