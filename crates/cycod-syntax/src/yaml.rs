//! YAML 1.2 documents as trees in which every node knows its place.

use cycod_diagnostic::Span;

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
    /// Runs of `text` and where each starts in the source: `(offset in text, offset in source)`, ascending.
    pub origins: Vec<(u32, u32)>,
}
