use big_code_analysis::tree_sitter::Node;

use super::{Subject, is_composed_sql, table};
use crate::syntax::{Invocation, children, constant, is_constant, name, text};

/// Properties that are markup.
const MARKUP: [&str; 2] = ["innerHTML", "outerHTML"];

pub(super) fn check(node: Node<'_>, call: Option<&Invocation<'_>>, subject: &mut Subject<'_>) {
    let source = subject.source;
    match node.kind() {
        "assignment_expression" | "augmented_assignment_expression" => return assigned(node, subject),
        "jsx_attribute" => {
            let is_markup = children(node).first().is_some_and(|name| text(*name, source) == "dangerouslySetInnerHTML");
            if is_markup {
                subject.add(&table::HTML_INJECTION, node, "`dangerouslySetInnerHTML` puts markup into the page");
            }
            return;
        }
        "pair" => {
            let is_off = node
                .child_by_field_name("key")
                .is_some_and(|key| name(key, source).trim_matches(['"', '\'']) == "rejectUnauthorized")
                && node.child_by_field_name("value").is_some_and(|value| value.kind() == "false");
            if is_off {
                subject.add(&table::TLS_VERIFICATION_OFF, node, "`rejectUnauthorized: false` believes any certificate");
            }
            return;
        }
        _ => {}
    }
    let Some(call) = call else { return };
    let called = call.name.as_str();
    let first = call.argument(0);
    let is_given = first.is_some_and(|first| !is_constant(first));
    match called {
        "eval" | "window.eval" | "globalThis.eval" if is_given => {
            subject.add(&table::DANGEROUS_EVAL, node, "`eval` runs text as code");
        }
        "Function" if call.arguments.iter().any(|argument| !is_constant(*argument)) => {
            subject.add(&table::DANGEROUS_EVAL, node, "`Function` makes code of text");
        }
        "setTimeout" | "setInterval" | "window.setTimeout" | "window.setInterval" if first.is_some_and(is_text) => {
            subject.add(&table::DANGEROUS_EVAL, node, format!("`{called}` runs text as code"));
        }
        "vm.runInNewContext" | "vm.runInThisContext" | "vm.runInContext" | "vm.Script" if is_given => {
            subject.add(&table::DANGEROUS_EVAL, node, format!("`{called}` runs text as code; `vm` is no confinement"));
        }
        "child_process.exec" | "child_process.execSync" => {
            if is_given {
                subject.add(
                    &table::SHELL_COMMAND,
                    node,
                    format!("`{called}` gives a shell a command line that is put together"),
                );
            } else if first.is_some() {
                subject.add(&table::SHELL_USED, node, format!("`{called}` goes through a shell"));
            }
        }
        "child_process.spawn" | "child_process.spawnSync" | "child_process.execFile" | "child_process.execFileSync"
            if call.arguments.iter().any(|options| has_shell(*options, source)) =>
        {
            subject.add(
                &table::SHELL_COMMAND,
                node,
                format!("`{called}` with `shell: true` lets a shell read the arguments"),
            );
        }
        "crypto.createHash" | "crypto.createHmac" => {
            if let Some(weak @ ("md5" | "sha1")) = first.and_then(|first| constant(first, source)) {
                subject.add(&table::WEAK_HASH, node, format!("`{weak}` can be forged"));
            }
        }
        "crypto.createCipher" | "crypto.createDecipher" => {
            subject.add(
                &table::WEAK_CIPHER,
                node,
                format!("`{called}` makes the same key of the same password, always"),
            );
        }
        "document.write" | "document.writeln" if is_given => {
            subject.add(&table::HTML_INJECTION, node, format!("`{called}` puts markup into the page"));
        }
        _ if call.last() == "insertAdjacentHTML" && call.argument(1).is_some_and(|markup| !is_constant(markup)) => {
            subject.add(&table::HTML_INJECTION, node, "`insertAdjacentHTML` puts markup into the page");
        }
        _ if matches!(call.last(), "query" | "execute" | "raw" | "$queryRawUnsafe" | "$executeRawUnsafe")
            && called.contains('.')
            && first.is_some_and(|sql| is_composed_sql(sql, source)) =>
        {
            subject.add(&table::SQL_INJECTION, node, "values are put into a command of SQL");
        }
        _ => {}
    }
}

fn assigned(node: Node<'_>, subject: &mut Subject<'_>) {
    let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
        return;
    };
    let target = name(left, subject.source);
    let last = target.rsplit('.').next().unwrap_or_default();
    if target.contains('.') && MARKUP.contains(&last) && !is_constant(right) {
        subject.add(&table::HTML_INJECTION, node, format!("`{last}` puts markup into the page"));
    }
    if last == "NODE_TLS_REJECT_UNAUTHORIZED" && name(right, subject.source).contains('0') {
        subject.add(&table::TLS_VERIFICATION_OFF, node, "every connection of the process believes any certificate");
    }
}

fn is_text(node: Node<'_>) -> bool {
    matches!(node.kind(), "string" | "template_string")
}

fn has_shell(options: Node<'_>, source: &str) -> bool {
    options.kind() == "object"
        && children(options).iter().filter(|pair| pair.kind() == "pair").any(|pair| {
            pair.child_by_field_name("key").is_some_and(|key| text(key, source) == "shell")
                && pair.child_by_field_name("value").is_some_and(|value| value.kind() != "false")
        })
}
