//! Parts of a document that no author wrote as such.

use cycod_diagnostic::Span;
use cycod_syntax::yaml::{MappingEntry, Node, NodeKind, Scalar, ScalarStyle};

/// A text of ours, at the place that it comes from.
pub(super) fn text(text: &str, span: Span) -> Node {
    scalar(text, ScalarStyle::DoubleQuoted, span)
}

/// A number or truth value of ours.
pub(super) fn plain(text: &str, span: Span) -> Node {
    scalar(text, ScalarStyle::Plain, span)
}

fn scalar(text: &str, style: ScalarStyle, span: Span) -> Node {
    let scalar = Scalar { text: text.to_owned(), style, tagged_text: false, origins: vec![(0, span.start)] };
    Node { span, kind: NodeKind::Scalar(scalar) }
}

/// A mapping of ours.
pub(super) fn mapping(entries: Vec<MappingEntry>, span: Span) -> Node {
    Node { span, kind: NodeKind::Mapping(entries) }
}

/// An entry whose key stands, in other words, at `key_span`.
pub(super) fn entry(key: &str, key_span: Span, value: Node) -> MappingEntry {
    MappingEntry { key: key.to_owned(), key_span, value }
}

/// Takes the entry of a key out of a list.
pub(super) fn take(entries: &mut Vec<MappingEntry>, key: &str) -> Option<MappingEntry> {
    let at = entries.iter().position(|entry| entry.key == key)?;
    Some(entries.remove(at))
}
