use std::collections::HashMap;

use cycod_diagnostic::{Code, Diagnostic, Edit, Span};
use cycod_syntax::yaml::MappingEntry;

use crate::{Body, Command, Interpreter, Tool, lower::Lowering};

/// Reports parameters that nothing in the tool refers to.
///
/// A lower-case `{name}` in a command is text when there is no parameter of exactly that name, so this is also
/// how a placeholder in the wrong case comes to light.
pub(crate) fn check(tool: &Tool, entries: &[&MappingEntry], lowering: &Lowering<'_>) {
    // A function is given them all.
    let is_given_all = matches!(tool.body, Body::Handler(_) | Body::BuiltIn(_));
    if is_given_all || matches!(tool.body, Body::Alias { .. }) || finds_parameters_by_itself(tool, lowering) {
        return;
    }
    let used = lowering.used.borrow();
    let unused: Vec<&MappingEntry> = entries
        .iter()
        .copied()
        .filter(|entry| !used.contains(&entry.key))
        .filter(|entry| tool.parameter(&entry.key).is_some_and(|parameter| parameter.deprecated.is_none()))
        .collect();
    if unused.is_empty() {
        return;
    }
    let braces = words_in_braces(&lowering.sink.source.text);
    for entry in unused {
        let name = &entry.key;
        let diagnostic =
            Diagnostic::warning(Code::UnusedParameter, entry.key_span, format!("parameter `{name}` is never used"));
        let folded = name.to_lowercase().replace('_', "-");
        lowering.sink.report(match braces.get(&folded).filter(|(written, _)| written != name) {
            Some((written, span)) => diagnostic
                .also(*span, format!("`{{{written}}}` is text"))
                .help(format!("write `{{{name}}}`"))
                .fix(format!("write `{{{name}}}`"), vec![Edit { span: *span, replacement: name.clone() }]),
            None => diagnostic.help(format!("write `{{{name}}}` where its value belongs, or remove it")),
        });
    }
}

/// Whether values reach a program by its environment, where we cannot see which of them it looks at.
fn finds_parameters_by_itself(tool: &Tool, lowering: &Lowering<'_>) -> bool {
    lowering.sink.source.text.contains("CYCOD_PARAM")
        || tool.commands().flat_map(Command::texts).any(|text| matches!(text.interpreter, Interpreter::Program(_)))
}

/// The words that stand alone in braces, without regard to case and `_` or `-`, each with its first place.
fn words_in_braces(text: &str) -> HashMap<String, (String, Span)> {
    let mut found = HashMap::new();
    for (open, _) in text.match_indices('{') {
        let rest = &text[open + 1..];
        let length =
            rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
        if length > 0 && rest[length..].starts_with(['}', ':']) && !text[..open].ends_with(['$', '\\', '@', '%', '{']) {
            let word = &rest[..length];
            let span = Span::new(open + 1, open + 1 + length);
            found.entry(word.to_lowercase().replace('_', "-")).or_insert_with(|| (word.to_owned(), span));
        }
    }
    found
}
