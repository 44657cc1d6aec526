//! Values that the sender of a request chooses, followed through the variables of a function and no further.

use std::{collections::HashMap, ops::Range};

use big_code_analysis::tree_sitter::{Node, Tree};

use crate::syntax::{Invocation, children, constant, is_constant, name, text, walk};

/// What a request is called.
const REQUESTS: [&str; 6] = ["req", "request", "ctx.request", "ctx", "self.request", "flask.request"];

/// The parts of it that the sender chooses.
const CHOSEN: [&str; 16] = [
    "query",
    "body",
    "params",
    "headers",
    "cookies",
    "param",
    "args",
    "form",
    "values",
    "json",
    "get_json",
    "GET",
    "POST",
    "query_params",
    "data",
    "files",
];

/// What the second parameter of a handler is called: a first one that is taken apart is then a request.
const RESPONSES: [&str; 6] = ["res", "_res", "response", "_response", "reply", "_reply"];

/// Calls that leave nothing of a text but a number or an escaped word.
const TAMING: [&str; 11] = [
    "Number",
    "parseInt",
    "parseFloat",
    "Number.parseInt",
    "Number.parseFloat",
    "Boolean",
    "BigInt",
    "int",
    "float",
    "bool",
    "encodeURIComponent",
];

/// The most variables of a file that are followed.
const MOST: usize = 4096;

/// The most functions in which one name is followed.
const MOST_SCOPES: usize = 1000;

/// The most nodes of one expression that are looked at.
const MOST_NODES: usize = 500;

/// The variables of a file that hold what a request chose, or a number.
#[derive(Debug, Default)]
pub(super) struct Flows(HashMap<String, Vec<(Range<usize>, Held)>>);

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Something that the sender of a request chose.
    Chosen,
    /// A number, or something as harmless.
    Tame,
    /// Anything else, such as what an assignment puts over the rest.
    Other,
}

impl Flows {
    /// Follows the variables of a file, in the order in which they are assigned.
    pub(super) fn read(tree: &Tree, source: &str) -> Self {
        let mut flows = Self::default();
        let mut scopes = vec![tree.root_node().byte_range()];
        walk(tree, |node| {
            while scopes.len() > 1 && scopes.last().is_some_and(|scope| scope.end <= node.start_byte()) {
                scopes.pop();
            }
            if is_function(node) {
                scopes.push(node.byte_range());
            }
            let scope = || scopes.last().cloned().expect("the file is never left");
            let (target, value) = match node.kind() {
                "variable_declarator" => (node.child_by_field_name("name"), node.child_by_field_name("value")),
                "assignment_expression" | "assignment" | "named_expression" => {
                    let target = node.child_by_field_name("left").or_else(|| node.child_by_field_name("name"));
                    (target, node.child_by_field_name("right").or_else(|| node.child_by_field_name("value")))
                }
                "formal_parameters" => {
                    flows.parameters(node, &scope(), source);
                    return true;
                }
                _ => return true,
            };
            if let (Some(target), Some(value)) = (target, value)
                && flows.0.len() < MOST
            {
                flows.assigned(target, value, scope(), source);
            }
            true
        });
        flows
    }

    /// The parameters of a handler: `({ query }: Request, res: Response)`.
    fn parameters(&mut self, parameters: Node<'_>, scope: &Range<usize>, source: &str) {
        let all = children(parameters);
        let [first, second, ..] = all.as_slice() else { return };
        let second = pattern(*second);
        let is_response = RESPONSES.contains(&text(second, source)) || second.kind() == "object_pattern";
        let first = pattern(*first);
        if is_response && first.kind() == "object_pattern" {
            for (part, known) in bound(first, source) {
                if CHOSEN.contains(&part) {
                    self.hold(known, scope.clone(), Held::Chosen);
                }
            }
        }
    }

    fn assigned(&mut self, target: Node<'_>, value: Node<'_>, scope: Range<usize>, source: &str) {
        if target.kind() == "object_pattern" {
            let is_request = REQUESTS.contains(&name(value, source).as_str());
            let is_chosen = self.comes_from_request(value, source);
            for (part, known) in bound(target, source) {
                let held = if is_chosen || is_request && CHOSEN.contains(&part) { Held::Chosen } else { Held::Other };
                self.hold(known, scope.clone(), held);
            }
            return;
        }
        if target.kind() != "identifier" {
            return;
        }
        let held = if self.comes_from_request(value, source) {
            Held::Chosen
        } else if self.is_tame(value, source) {
            Held::Tame
        } else {
            Held::Other
        };
        self.hold(text(target, source), scope, held);
    }

    fn hold(&mut self, name: &str, scope: Range<usize>, held: Held) {
        let known = self.0.entry(name.to_owned()).or_default();
        // What may hold either holds the worse.
        let has_room = known.len() < MOST_SCOPES;
        match known.iter_mut().find(|(of, _)| *of == scope) {
            Some((_, before)) if *before != held && *before != Held::Chosen => {
                *before = if held == Held::Chosen { held } else { Held::Other };
            }
            Some(_) => {}
            None if has_room => known.push((scope, held)),
            None => {}
        }
    }

    /// What a variable holds where it is used: the innermost scope that knows it counts.
    fn held(&self, variable: Node<'_>, source: &str) -> Option<Held> {
        let known = self.0.get(text(variable, source))?;
        let at = variable.start_byte();
        let around = known.iter().filter(|(scope, _)| scope.contains(&at));
        around.min_by_key(|(scope, _)| scope.len()).map(|(_, held)| *held)
    }

    /// Whether a part of an expression comes from the sender of a request.
    pub(super) fn comes_from_request(&self, node: Node<'_>, source: &str) -> bool {
        let (mut left, mut looked) = (vec![node], 0);
        while let Some(node) = left.pop() {
            looked += 1;
            if looked > MOST_NODES {
                return false;
            }
            match node.kind() {
                "identifier" | "shorthand_property_identifier" => {
                    if self.held(node, source) == Some(Held::Chosen) {
                        return true;
                    }
                }
                "member_expression" | "attribute" => {
                    if is_chosen(&name(node, source)) {
                        return true;
                    }
                    left.extend(node.child_by_field_name("object"));
                }
                // What a function does later is not this value, and a comparison is no text.
                "arrow_function" | "function_expression" | "function" | "lambda" | "comparison_operator" => {}
                "binary_expression" if is_comparison(node, source) => {}
                "ternary_expression" => {
                    left.extend(node.child_by_field_name("consequence"));
                    left.extend(node.child_by_field_name("alternative"));
                }
                _ if is_taming(node, source) => {}
                _ => left.extend(children(node)),
            }
        }
        false
    }

    /// Whether the sender of a request chooses how an address begins, and with it the server.
    pub(super) fn chooses_server(&self, node: Node<'_>, source: &str) -> bool {
        let mut node = node;
        for _ in 0..MOST_NODES {
            node = match node.kind() {
                "binary_expression" | "binary_operator" => {
                    let Some(first) = node.child_by_field_name("left") else { return false };
                    // `"" + url` and `"https://" + host` say nothing of the server yet.
                    match constant(first, source) {
                        Some(start) if is_open_start(start) => match node.child_by_field_name("right") {
                            Some(rest) => rest,
                            None => return false,
                        },
                        _ => first,
                    }
                }
                "template_string" | "string" if !is_constant(node) => {
                    let parts = children(node);
                    let mut rest = parts.iter().skip_while(|part| {
                        matches!(part.kind(), "string_start")
                            || is_fragment(**part) && is_open_start(text(**part, source))
                    });
                    match rest.next() {
                        Some(part) if !is_fragment(*part) && part.kind() != "string_end" => {
                            match children(*part).first() {
                                Some(inner) => *inner,
                                None => return false,
                            }
                        }
                        _ => return false,
                    }
                }
                "parenthesized_expression" | "await_expression" | "as_expression" | "non_null_expression" => {
                    match children(node).first() {
                        Some(inner) => *inner,
                        None => return false,
                    }
                }
                "new_expression" => {
                    let Some(made) = Invocation::of(node, source).filter(|made| made.last() == "URL") else {
                        return self.comes_from_request(node, source);
                    };
                    // A base counts only for addresses without a server of their own.
                    match made.argument(0) {
                        Some(address) => address,
                        None => return false,
                    }
                }
                _ => return !is_constant(node) && self.comes_from_request(node, source),
            };
        }
        false
    }

    /// Whether an expression holds nothing but what is written out and numbers.
    pub(super) fn is_tame(&self, node: Node<'_>, source: &str) -> bool {
        let (mut left, mut looked) = (vec![node], 0);
        while let Some(node) = left.pop() {
            looked += 1;
            let is_known = match node.kind() {
                _ if looked > MOST_NODES => return false,
                "identifier" => self.held(node, source) == Some(Held::Tame),
                "arrow_function" | "function_expression" | "function" | "lambda" => true,
                _ if is_taming(node, source) => true,
                "template_string"
                | "template_substitution"
                | "binary_expression"
                | "parenthesized_expression"
                | "string"
                | "interpolation"
                | "binary_operator"
                | "string_fragment" => {
                    left.extend(children(node));
                    true
                }
                _ => is_constant(node) || is_fragment(node) || matches!(node.kind(), "string_start" | "string_end"),
            };
            if !is_known {
                return false;
            }
        }
        true
    }
}

/// What a parameter binds, without its type.
fn pattern(parameter: Node<'_>) -> Node<'_> {
    parameter.child_by_field_name("pattern").unwrap_or(parameter)
}

/// Whether a name such as `req.query.url` is a part of a request that its sender chooses.
fn is_chosen(name: &str) -> bool {
    let name = name.replace("?.", ".");
    REQUESTS.iter().any(|request| {
        let rest =
            name.strip_prefix("this.").unwrap_or(&name).strip_prefix(request).and_then(|rest| rest.strip_prefix('.'));
        let part = rest.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
        part.is_some_and(|part| CHOSEN.contains(&part))
    })
}

/// The names that a pattern binds, each with the part that it is bound to.
fn bound<'s>(pattern: Node<'_>, source: &'s str) -> Vec<(&'s str, &'s str)> {
    let part = |node: Node<'_>| match node.kind() {
        "pair_pattern" => Some((
            text(node.child_by_field_name("key")?, source),
            text(node.child_by_field_name("value").filter(|value| value.kind() == "identifier")?, source),
        )),
        "object_assignment_pattern" => {
            let known = text(node.child_by_field_name("left")?, source);
            Some((known, known))
        }
        "shorthand_property_identifier_pattern" => Some((text(node, source), text(node, source))),
        _ => None,
    };
    children(pattern).into_iter().filter_map(part).collect()
}

/// Whether variables of a node are its own.
fn is_function(node: Node<'_>) -> bool {
    let is_named = node.kind().contains("function") || matches!(node.kind(), "method_definition" | "lambda");
    is_named && node.child_by_field_name("body").is_some()
}

fn is_taming(node: Node<'_>, source: &str) -> bool {
    matches!(node.kind(), "call_expression" | "call")
        && Invocation::of(node, source).is_some_and(|call| TAMING.contains(&call.name.as_str()))
}

fn is_comparison(node: Node<'_>, source: &str) -> bool {
    let operator = node.child_by_field_name("operator").map(|operator| text(operator, source)).unwrap_or_default();
    matches!(operator, "==" | "===" | "!=" | "!==" | "<" | ">" | "<=" | ">=" | "in" | "instanceof")
}

/// A piece of a text between what is put into it.
fn is_fragment(node: Node<'_>) -> bool {
    matches!(node.kind(), "string_fragment" | "string_content" | "escape_sequence")
}

/// Whether a text is the beginning of an address and does not name its server.
fn is_open_start(text: &str) -> bool {
    let text = text.trim();
    matches!(text, "" | "/" | "//" | "http://" | "https://" | "http:" | "https:" | "://")
}
