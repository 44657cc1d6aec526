//! Rules of our own: secrets in any text, and calls that are dangerous, found on the syntax so that a call in a comment or a
//! string is none.

mod c;
mod go;
mod java;
mod javascript;
mod measured;
mod names;
mod python;
mod request;
mod rust;
mod secrets;
mod shell;
mod table;

use std::ops::Range;

use big_code_analysis::tree_sitter::{Node, Tree};

use crate::{
    Finding, Language,
    syntax::{self, Invocation},
};

pub(crate) use measured::measured;
pub(crate) use secrets::secrets;
pub use table::{AnalysisRule, RULES};

/// The longest line in which characters are counted; nobody reads a longer one.
const LONGEST_LINE: usize = 10_000;

/// The text that rules look at, and what they have found in it.
pub(crate) struct Subject<'s> {
    pub(crate) path: &'s str,
    pub(crate) source: &'s str,
    pub(crate) found: Vec<Finding>,
    /// The secrets in it.
    pub(crate) secrets: Vec<String>,
}

impl Subject<'_> {
    /// Adds what breaks a rule at a node.
    pub(crate) fn add(&mut self, rule: &'static AnalysisRule, node: Node<'_>, message: impl Into<String>) {
        let place = node.start_position();
        // The parser counts bytes; people and other programs count characters.
        let line_start = node.start_byte().saturating_sub(place.column);
        let before = self.source.get(line_start..node.start_byte()).filter(|before| before.len() <= LONGEST_LINE);
        let column = before.map_or(place.column, |before| before.chars().count());
        self.add_at(rule, place.row + 1, column + 1, message);
    }

    /// Adds what breaks a rule at a line and a column, from 1.
    pub(crate) fn add_at(
        &mut self,
        rule: &'static AnalysisRule,
        line: usize,
        column: usize,
        message: impl Into<String>,
    ) {
        self.found.push(Finding {
            file: self.path.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).ok(),
            severity: rule.severity,
            kind: rule.kind,
            analyzer: "cycod",
            also: Vec::new(),
            rule: rule.id.to_owned(),
            message: message.into(),
            cwe: rule.cwe,
            help: Some(rule.help.to_owned()),
        });
    }
}

/// Looks for what is dangerous; returns where comments are.
pub(crate) fn dangers(language: Language, tree: &Tree, subject: &mut Subject<'_>) -> Vec<Range<usize>> {
    let names = names::Names::read(language, tree, subject.source);
    let flows = request::Flows::read(tree, subject.source);
    let mut comments = Vec::new();
    syntax::walk(tree, |node| {
        if is_comment(node) {
            comments.push(node.byte_range());
            return false;
        }
        let mut call = Invocation::of(node, subject.source);
        if let Some(call) = &mut call {
            call.name = names.resolve(&call.name);
        }
        match language {
            Language::Bash => shell::check(node, call.as_ref(), subject),
            Language::C | Language::Cpp => c::check(call.as_ref(), subject),
            Language::Go => go::check(node, call.as_ref(), subject),
            Language::Java => java::check(call.as_ref(), subject),
            Language::JavaScript | Language::TypeScript | Language::Tsx => {
                javascript::check(node, call.as_ref(), &flows, subject);
            }
            Language::Python => python::check(node, call.as_ref(), &names, &flows, subject),
            Language::Rust => rust::check(node, call.as_ref(), subject),
        }
        true
    });
    comments
}

/// Where comments are.
pub(crate) fn comments(tree: &Tree) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    syntax::walk(tree, |node| {
        if is_comment(node) {
            comments.push(node.byte_range());
        }
        !is_comment(node)
    });
    comments
}

fn is_comment(node: Node<'_>) -> bool {
    matches!(node.kind(), "comment" | "line_comment" | "block_comment")
}

/// Whether a value is a command of SQL into which something is put: by concatenation, formatting or interpolation.
fn is_composed_sql(node: Node<'_>, source: &str) -> bool {
    const COMPOSED: [&str; 6] =
        ["binary_operator", "binary_expression", "template_string", "string", "call", "call_expression"];
    const COMMANDS: [&str; 7] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "DROP ", "ALTER ", "REPLACE "];
    if !COMPOSED.contains(&node.kind()) || syntax::is_constant(node) || is_constants(node) {
        return false;
    }
    let text = syntax::text(node, source);
    // The text begins with the command, or with what formats it: `fmt.Sprintf("SELECT …"`.
    let quoted = text.find(['"', '\'', '`']).map(|at| text[at..].trim_start_matches(['"', '\'', '`']));
    quoted.is_some_and(|quoted| {
        let start: String = quoted.trim_start().chars().take(8).collect::<String>().to_ascii_uppercase();
        COMMANDS.iter().any(|command| start.starts_with(command))
    })
}

/// Whether an operator puts nothing but constants together.
fn is_constants(node: Node<'_>) -> bool {
    let parts = syntax::children(node);
    node.kind().starts_with("binary")
        && parts.len() == 2
        && parts.iter().all(|part| syntax::is_constant(*part) || is_constants_shallow(*part))
}

fn is_constants_shallow(node: Node<'_>) -> bool {
    node.kind().starts_with("binary") && syntax::children(node).iter().all(|part| syntax::is_constant(*part))
}
