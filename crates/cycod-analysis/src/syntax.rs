//! Reading a tree of syntax without recursion, whatever its depth.

use std::{cell::Cell, ops::ControlFlow};

use big_code_analysis::tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::Language;

/// How much work a text may make for each of its bytes, in calls of the parser's progress; plain code makes a small fraction.
const WORK_PER_BYTE: usize = 1;

/// The work that any text may make.
const LEAST_WORK: usize = 20_000;

/// The longest text of a node that is looked at as a whole, such as the name of what is called.
const LONGEST_NAME: usize = 200;

/// How many arguments of a call are looked at.
const MOST_ARGUMENTS: usize = 24;

/// Why a text was not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unparsed {
    /// It makes more work than its length accounts for.
    TooMuchWork,
    /// Nobody waits for it any more.
    Stopped,
}

/// Parses a text, unless it was made to keep a parser busy.
///
/// The work is counted, not timed, so that the same text always gives the same answer.
pub(crate) fn parse(language: Language, text: &str, keep_going: &dyn Fn() -> bool) -> Result<Tree, Unparsed> {
    let mut parser = Parser::new();
    let grammar = language.grammar().tree_sitter_language().map_err(|_| Unparsed::TooMuchWork)?;
    parser.set_language(&grammar).map_err(|_| Unparsed::TooMuchWork)?;
    let (most, work, is_stopped) = (LEAST_WORK + text.len() * WORK_PER_BYTE, Cell::new(0), Cell::new(false));
    let mut progress = |_: &_| {
        work.set(work.get() + 1);
        is_stopped.set(work.get() % 256 == 0 && !keep_going());
        if is_stopped.get() || work.get() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let bytes = text.as_bytes();
    let mut rest = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut progress);
    let parsed = parser.parse_with_options(&mut rest, None, Some(options));
    parsed.ok_or(if is_stopped.get() { Unparsed::Stopped } else { Unparsed::TooMuchWork })
}

/// Gives every node to `visit`, parents before children; children of a node for which it answers `false` are left out.
pub(crate) fn walk<'t>(tree: &'t Tree, mut visit: impl FnMut(Node<'t>) -> bool) {
    let mut cursor = tree.walk();
    loop {
        if visit(cursor.node()) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The text of a node.
pub(crate) fn text<'t>(node: Node<'_>, source: &'t str) -> &'t str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The text of a name such as `os.path.join`, without white space; nothing when it is too long to be one.
pub(crate) fn name(node: Node<'_>, source: &str) -> String {
    if node.byte_range().len() > LONGEST_NAME {
        return String::new();
    }
    text(node, source).split_ascii_whitespace().collect()
}

/// The named children of a node that are no comments, as many as are looked at.
pub(crate) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let (mut cursor, mut found) = (node.walk(), Vec::new());
    if cursor.goto_first_child() {
        loop {
            let child = cursor.node();
            if child.is_named() && !child.kind().contains("comment") {
                found.push(child);
            }
            if found.len() >= MOST_ARGUMENTS || !cursor.goto_next_sibling() {
                break;
            }
        }
    }
    found
}

/// What is called, and with what.
#[derive(Clone, Debug)]
pub(crate) struct Invocation<'t> {
    /// The whole of it.
    pub(crate) node: Node<'t>,
    /// What is called, as it is written and without white space: `subprocess.run`.
    pub(crate) name: String,
    /// The arguments.
    pub(crate) arguments: Vec<Node<'t>>,
}

impl<'t> Invocation<'t> {
    /// What a node calls, if it calls something.
    pub(crate) fn of(node: Node<'t>, source: &str) -> Option<Self> {
        let (callee, arguments) = match node.kind() {
            "call" | "call_expression" => {
                (node.child_by_field_name("function")?, node.child_by_field_name("arguments"))
            }
            "new_expression" => (node.child_by_field_name("constructor")?, node.child_by_field_name("arguments")),
            "object_creation_expression" => (node.child_by_field_name("type")?, node.child_by_field_name("arguments")),
            "method_invocation" => (node.child_by_field_name("name")?, node.child_by_field_name("arguments")),
            "command" => {
                let callee = node.child_by_field_name("name")?;
                let arguments =
                    children(node).into_iter().filter(|child| child.start_byte() >= callee.end_byte()).collect();
                return Some(Self { node, name: name(callee, source), arguments });
            }
            _ => return None,
        };
        let mut called = name(callee, source);
        if let Some(object) = node.child_by_field_name("object").filter(|_| node.kind() == "method_invocation") {
            called = format!("{}.{called}", name(object, source));
        }
        Some(Self { node, name: called, arguments: arguments.map(children).unwrap_or_default() })
    }

    /// What the last part of the name is: `run` of `subprocess.run`.
    pub(crate) fn last(&self) -> &str {
        self.name.rsplit(['.', ':']).next().unwrap_or_default()
    }

    /// The argument that is passed by this name, in languages in which arguments have names.
    pub(crate) fn named(&self, wanted: &str, source: &str) -> Option<Node<'t>> {
        self.arguments.iter().filter(|argument| argument.kind() == "keyword_argument").find_map(|argument| {
            let is_wanted = text(argument.child_by_field_name("name")?, source) == wanted;
            argument.child_by_field_name("value").filter(|_| is_wanted)
        })
    }

    /// The argument at a place, from 0, among those without names.
    pub(crate) fn argument(&self, place: usize) -> Option<Node<'t>> {
        self.arguments.iter().filter(|argument| argument.kind() != "keyword_argument").nth(place).copied()
    }
}

/// Whether a node is a value that is written out, so that nobody else can have a say in it.
pub(crate) fn is_constant(node: Node<'_>) -> bool {
    match node.kind() {
        "number"
        | "integer"
        | "float"
        | "true"
        | "false"
        | "none"
        | "None"
        | "null"
        | "nil"
        | "raw_string"
        | "string_literal"
        | "raw_string_literal"
        | "interpreted_string_literal"
        | "rune_literal"
        | "int_literal"
        | "char_literal"
        | "number_literal"
        | "decimal_integer_literal"
        | "null_literal"
        | "undefined" => true,
        "string" | "template_string" => children(node).iter().all(|part| {
            !matches!(
                part.kind(),
                "interpolation" | "template_substitution" | "expansion" | "simple_expansion" | "command_substitution"
            )
        }),
        "concatenated_string" => children(node).iter().all(|part| part.kind() != "string" || is_constant(*part)),
        "word" => children(node).is_empty(),
        _ => false,
    }
}

/// The text inside a string that is written out.
pub(crate) fn constant<'t>(node: Node<'_>, source: &'t str) -> Option<&'t str> {
    let is_string = matches!(
        node.kind(),
        "string"
            | "string_literal"
            | "interpreted_string_literal"
            | "raw_string_literal"
            | "template_string"
            | "raw_string"
    );
    (is_string && is_constant(node)).then(|| text(node, source).trim_matches(['"', '\'', '`']))
}
