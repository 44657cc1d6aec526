//! The code of a handler and the commands of a tool, held against their languages before anything runs.

mod reading;
mod shells;

use std::path::Path;

use cycod_definition::{Body, Handler, Host, Runtime, Tool, document};
use cycod_diagnostic::{Code, Diagnostic, SourceFile};
use cycod_process::Ending;
use cycod_script::{Checker, CheckerFinding, check, check_for_node, checker, protocol::ScriptLanguage};
use cycod_syntax::yaml::{Node, Scalar};

use reading::{interpreter, place, read_by};

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
    let language = if *is_typescript { ScriptLanguage::TypeScript } else { ScriptLanguage::JavaScript };
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

fn told(checker: &Checker, finding: &CheckerFinding, code: &str, scalar: Option<&Scalar>) -> Diagnostic {
    let at = checker.byte_at(code, finding.line, finding.column);
    let span = place(scalar, at, at);
    match finding.is_error {
        true => Diagnostic::error(Code::ScriptSyntax, span, &finding.message),
        false => Diagnostic::warning(Code::ScriptSyntax, span, &finding.message),
    }
}

fn findings(checker: &Checker, program: &Path, code: &str, host: &Host) -> Result<Vec<CheckerFinding>, String> {
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
