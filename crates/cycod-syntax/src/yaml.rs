//! YAML 1.2 documents as trees in which every node knows its place.

use cycod_diagnostic::{Diagnostic, SourceFile, Span};

/// A node of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The bytes of the value, quotes and block indicators included.
    pub span: Span,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// A scalar; an absent value is a plain empty one.
    Scalar(Scalar),
    /// A sequence.
    Sequence(Vec<Node>),
    /// A mapping, in source order, keys unique (after the merging rule).
    Mapping(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key's text.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the YAML names")]
pub enum ScalarStyle {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
}

/// A scalar's text after unquoting and folding.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// The text.
    pub text: String,
    /// How it is written.
    pub style: ScalarStyle,
    /// Tagged `!!str`: text whatever it looks like.
    pub tagged_text: bool,
    /// Runs of `text` and where each starts in the source: `(offset in text, offset in source)`, ascending.
    pub origins: Vec<(u32, u32)>,
}

/// What a scalar means under the YAML 1.2 core schema.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resolved {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`; `yes`, `on` and the like are text.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A whole number outside of `i64`; its text is the scalar's.
    BigInteger,
    /// A number with a fraction or exponent, `.inf` or `.nan`.
    Float(f64),
    /// Anything else, and everything that is quoted.
    Text,
}

/// Reads a document into a tree, with everything that is wrong with it as YAML.
///
/// The tree is present whenever no error was found; with errors it may be absent or partial.
pub fn parse(source: &SourceFile) -> (Option<Node>, Vec<Diagnostic>) {
    let _ = source;
    (None, Vec::new())
}

impl Scalar {
    /// Returns what the scalar means; only plain scalars can be anything but text.
    pub fn resolve(&self) -> Resolved {
        Resolved::Text
    }

    /// Returns where in the source the byte at `offset` of `text` was written.
    pub fn origin(&self, offset: usize) -> u32 {
        let index = self.origins.partition_point(|(start, _)| *start as usize <= offset);
        match index.checked_sub(1).and_then(|index| self.origins.get(index)) {
            Some((start, source)) => source + (offset as u32 - start),
            None => 0,
        }
    }
}

impl Node {
    /// Returns the scalar, if the node is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            NodeKind::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Returns the items, if the node is a sequence.
    pub fn as_sequence(&self) -> Option<&[Node]> {
        match &self.kind {
            NodeKind::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries, if the node is a mapping.
    pub fn as_mapping(&self) -> Option<&[Entry]> {
        match &self.kind {
            NodeKind::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the value of a key, if the node is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_mapping()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }
}
