//! Mimir tools: YAML with a JSON Schema and TypeScript.

use cycod_diagnostic::{Code, Diagnostic, SourceFile};
use cycod_syntax::yaml::{self, MappingEntry, Node, NodeKind, Resolved};

use super::{
    drop_foreign,
    parts::{entry, mapping, take, text},
};
use crate::{
    lower::{Sink, shape},
    table::MIMIR,
};

/// Reads a Mimir tool; nothing when it is not YAML.
pub(super) fn read(source: &SourceFile, sink: &Sink<'_>) -> Option<Node> {
    let (root, found) = yaml::parse(source);
    sink.extend(found);
    let root = root?;
    if root.as_mapping().is_none() {
        return Some(root);
    }
    shape::check(&root, &MIMIR, sink);
    let Node { span, kind: NodeKind::Mapping(mut entries) } = root else { return None };
    drop_foreign(&mut entries, &MIMIR);
    let top = entries.first().map_or(span, |first| first.key_span);
    let permissions = take(&mut entries, "permissions").and_then(|permissions| match permissions.value.kind {
        NodeKind::Mapping(permissions) => Some(permissions),
        _ => None,
    });
    let mut permissions = permissions.unwrap_or_default();

    let mut handler = vec![entry("language", top, text("typescript", top))];
    if let Some(runtime) = take(&mut entries, "runtime") {
        let name = runtime.value.as_scalar().map_or("", |scalar| scalar.text.as_str());
        let name = if name == "node" { "node" } else { "engine" };
        handler.push(entry("runtime", runtime.key_span, text(name, runtime.value.span)));
    }
    handler.extend(take(&mut permissions, "allowlist"));
    match take(&mut entries, "code") {
        Some(code) => {
            if code.value.as_scalar().is_some_and(|scalar| scalar.text.trim().is_empty()) {
                let diagnostic = Diagnostic::error(Code::EmptyHandler, code.key_span, "`code` is empty");
                sink.report(diagnostic.help("write into it what the tool does"));
            }
            handler.push(code);
        }
        None => {
            let diagnostic = Diagnostic::error(Code::NoHandler, top, "a Mimir tool needs `code`");
            sink.report(
                diagnostic.help("write the function: `code: |`, then `export async function execute(args, context)`"),
            );
            handler.push(entry("code", top, text("", top)));
        }
    }
    let place = handler.iter().find(|entry| entry.key == "code").map_or(top, |code| code.key_span);
    entries.push(entry("handler", place, mapping(handler, place)));

    match entries.iter_mut().find(|entry| entry.key == "schema") {
        Some(schema) => schema.key = "input-schema".to_owned(),
        None => {
            let message = "a Mimir tool says in `schema` what it takes";
            let diagnostic = Diagnostic::error(Code::InvalidSchema, top, message);
            sink.report(diagnostic.help("add `schema: {type: object, properties: {}}` if it takes nothing"));
        }
    }
    if let Some(cost) = entries.iter_mut().find(|entry| entry.key == "tokenCost") {
        cost.key = "token-cost".to_owned();
    }
    entries.extend(take(&mut permissions, "riskLevel"));
    if let Some(accepts) = take(&mut permissions, "autoAccept") {
        auto_accept(&accepts, &mut entries, sink);
    }
    Some(mapping(entries, span))
}

/// `false` asks each time, unless the user has named the tool in a rule; `true` would be the file's own approval, which nobody gives to himself.
fn auto_accept(accepts: &MappingEntry, entries: &mut Vec<MappingEntry>, sink: &Sink<'_>) {
    match accepts.value.as_scalar().map(yaml::Scalar::resolve) {
        Some(Resolved::Bool(true)) => {
            let message = "a file cannot allow itself to run without being asked";
            sink.report(
                Diagnostic::warning(Code::AutoAccept, accepts.key_span, message)
                    .label("has no effect")
                    .help("allow the tool in your own policy: `cycod help policy add`"),
            );
        }
        Some(Resolved::Bool(false)) => {
            let approval = entry("approval", accepts.key_span, text("unless-named", accepts.value.span));
            match entries.iter_mut().find(|entry| entry.key == "security") {
                Some(MappingEntry { value: Node { kind: NodeKind::Mapping(security), .. }, .. }) => {
                    if !security.iter().any(|entry| entry.key == "approval") {
                        security.push(approval);
                    }
                }
                Some(_) => {}
                None => entries.push(entry("security", accepts.key_span, mapping(vec![approval], accepts.value.span))),
            }
        }
        _ => {}
    }
}
