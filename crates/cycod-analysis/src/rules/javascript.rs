//! Built-in rules for JavaScript and TypeScript.

use big_code_analysis::tree_sitter::Node;

use super::{Subject, is_composed_sql, request::Flows, table};
use crate::syntax::{Invocation, children, constant, is_constant, name, text};

/// Properties that are markup.
const MARKUP: [&str; 2] = ["innerHTML", "outerHTML"];

/// Modules and functions that send requests.
const CLIENTS: [&str; 12] =
    ["fetch", "axios", "got", "needle", "request", "superagent", "node-fetch", "undici", "http", "https", "ky", "phin"];

/// The options of theirs that name an address.
const ADDRESSES: [&str; 6] = ["url", "uri", "baseURL", "host", "hostname", "href"];

pub(super) fn check(node: Node<'_>, call: Option<&Invocation<'_>>, flows: &Flows, subject: &mut Subject<'_>) {
    let source = subject.source;
    match node.kind() {
        "assignment_expression" | "augmented_assignment_expression" => return assigned(node, flows, subject),
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
            return pair(node, flows, subject);
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
        _ => by_last_word(call, node, flows, subject),
    }
}

/// What the last word of a call's name tells, whatever it is called on.
fn by_last_word(call: &Invocation<'_>, node: Node<'_>, flows: &Flows, subject: &mut Subject<'_>) {
    let source = subject.source;
    let called = call.name.as_str();
    let first = call.argument(0);
    match call.last() {
        "$where" if first.is_some_and(|code| !flows.is_tame(code, source)) => {
            subject.add(&table::NOSQL_INJECTION, node, "`$where` runs text as code in the database");
        }
        "redirect" | "location"
            if called.contains('.') && call.arguments.iter().any(|to| flows.chooses_server(*to, source)) =>
        {
            subject.add(
                &table::OPEN_REDIRECT,
                node,
                format!("`{called}` redirects to an address that the request chooses"),
            );
        }
        "setHeader" | "header" | "set" | "append"
            if first
                .and_then(|name| constant(name, source))
                .is_some_and(|name| name.eq_ignore_ascii_case("location"))
                && call.argument(1).is_some_and(|to| flows.chooses_server(to, source)) =>
        {
            subject.add(&table::OPEN_REDIRECT, node, "`Location` redirects to an address that the request chooses");
        }
        _ if CLIENTS.contains(&called.split('.').next().unwrap_or_default())
            && first.is_some_and(|address| {
                flows.chooses_server(address, source) || names_server(address, flows, source)
            }) =>
        {
            subject.add(
                &table::REQUEST_FORGERY,
                node,
                format!("`{called}` sends a request to a server that the request chooses"),
            );
        }
        "insertAdjacentHTML" if call.argument(1).is_some_and(|markup| !is_constant(markup)) => {
            subject.add(&table::HTML_INJECTION, node, "`insertAdjacentHTML` puts markup into the page");
        }
        "query" | "execute" | "raw" | "$queryRawUnsafe" | "$executeRawUnsafe"
            if called.contains('.') && first.is_some_and(|sql| is_composed_sql(sql, source)) =>
        {
            subject.add(&table::SQL_INJECTION, node, "values are put into a command of SQL");
        }
        _ => {}
    }
}

fn assigned(node: Node<'_>, flows: &Flows, subject: &mut Subject<'_>) {
    let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
        return;
    };
    let target = name(left, subject.source);
    let last = target.rsplit('.').next().unwrap_or_default();
    let index = left.child_by_field_name("index").and_then(|index| constant(index, subject.source));
    if (target.contains('.') && last == "$where" || index == Some("$where")) && !flows.is_tame(right, subject.source) {
        subject.add(&table::NOSQL_INJECTION, node, "`$where` runs text as code in the database");
    }
    if target.contains('.') && MARKUP.contains(&last) && !is_constant(right) {
        subject.add(&table::HTML_INJECTION, node, format!("`{last}` puts markup into the page"));
    }
    if last == "NODE_TLS_REJECT_UNAUTHORIZED" && name(right, subject.source).contains('0') {
        subject.add(&table::TLS_VERIFICATION_OFF, node, "every connection of the process believes any certificate");
    }
}

/// A field of an object.
fn pair(node: Node<'_>, flows: &Flows, subject: &mut Subject<'_>) {
    let source = subject.source;
    let (Some(key), Some(value)) = (node.child_by_field_name("key"), node.child_by_field_name("value")) else { return };
    match name(key, source).trim_matches(['"', '\'', '[', ']']) {
        "$where" if !flows.is_tame(value, source) => {
            subject.add(&table::NOSQL_INJECTION, node, "`$where` runs text as code in the database");
        }
        key if key.eq_ignore_ascii_case("location") && flows.chooses_server(value, source) => {
            subject.add(&table::OPEN_REDIRECT, node, "`Location` redirects to an address that the request chooses");
        }
        _ => {}
    }
}

/// Whether options name a server that a request chose.
fn names_server(options: Node<'_>, flows: &Flows, source: &str) -> bool {
    let is_address = |pair: &Node<'_>| {
        let key = pair.child_by_field_name("key").map(|key| text(key, source)).unwrap_or_default();
        let value = pair.child_by_field_name("value");
        ADDRESSES.contains(&key.trim_matches(['"', '\'']))
            && value.is_some_and(|value| flows.chooses_server(value, source))
    };
    let is_named = |part: &Node<'_>| {
        part.kind() == "shorthand_property_identifier"
            && ADDRESSES.contains(&text(*part, source))
            && flows.comes_from_request(*part, source)
    };
    options.kind() == "object" && children(options).iter().any(|part| is_address(part) || is_named(part))
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
