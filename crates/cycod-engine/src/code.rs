//! The code of a handler, held against its language before anything runs.

use cycod_definition::{Body, Handler, Runtime, Tool, document};
use cycod_diagnostic::{Code, Diagnostic, SourceFile, Span};
use cycod_script::{check, protocol::Language, strip};
use cycod_syntax::yaml::{Node, Scalar};

/// The code is not of its language, holds what the engine cannot run, or exports nothing that could be called.
const SYNTAX: Code = Code("script-syntax");

/// Reports what is wrong with the JavaScript or TypeScript of a tool that was read from `source`.
///
/// R and Python are known to their own programs alone; what they say comes when the tool is called.
pub fn check_code(tool: &Tool, source: &SourceFile) -> Vec<Diagnostic> {
    let Body::Handler(handler) = &tool.body else { return Vec::new() };
    let Handler { runtime, is_typescript, code, .. } = handler;
    let language = if *is_typescript { Language::TypeScript } else { Language::JavaScript };
    let document = document(source);
    let scalar = document.as_ref().and_then(|root| root.get("handler")?.get("code").and_then(Node::as_scalar));
    let place = |start: usize, end: usize| place(scalar, start, end);
    let found = match runtime {
        Runtime::Engine => check(code, language).err(),
        // Node knows best what it can run; only types have to be left out before.
        Runtime::Node if *is_typescript => strip(code).err(),
        Runtime::R | Runtime::Python | Runtime::Node => None,
    };
    let diagnostics = found.into_iter().flatten().map(|found| {
        let diagnostic = Diagnostic::error(SYNTAX, place(found.span.start, found.span.end), found.message);
        match found.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    });
    diagnostics.collect()
}

/// Where in the file a part of the code stands.
fn place(code: Option<&Scalar>, start: usize, end: usize) -> Span {
    let Some(code) = code else { return Span::default() };
    let last = end.clamp(start + 1, (start + 1).max(code.text.len())) - 1;
    let (start, end) = (code.origin(start), code.origin(last) + 1);
    Span { start, end: end.max(start) }
}
