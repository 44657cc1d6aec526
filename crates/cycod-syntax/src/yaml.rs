//! YAML 1.2 documents as trees in which every node knows its place.

use cycod_diagnostic::{Code, Diagnostic, SourceFile, Span};

mod origin;
mod places;
mod read;
mod repair;
mod resolve;
mod slips;
mod syntax_error;
#[cfg(test)]
mod tests;

use places::Places;

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
    Mapping(Vec<MappingEntry>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct MappingEntry {
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

/// The longest text that is read; real tool files are a hundredth of it.
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;

/// The most values a document may have once its aliases are copied out.
pub const MAX_NODES: usize = 100_000;

/// The keys whose values are commands, where people forget that YAML gives `: ` and ` #` a meaning.
pub const COMMAND_KEYS: [&str; 8] = ["bash", "cmd", "pwsh", "run", "script", "python", "fallback", "final-command"];

/// Reads a document into a tree, with everything that is wrong with it as YAML.
///
/// Without a tree there is always an error; with an error there may still be a tree, in which what is wrong
/// was left out. An alias is replaced by a copy of what it names; inside of the copy the spans are those of
/// the original, which is where a mistake would have to be fixed.
pub fn parse(source: &SourceFile) -> (Option<Node>, Vec<Diagnostic>) {
    let text = &*source.text;
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes; at most {MAX_BYTES} are read", text.len());
        return (None, vec![Diagnostic::error(Code::YamlLimit, Span::default(), message)]);
    }
    let first = read::read(text, &Places::same());
    if let Some(slips::Read { tree, mut diagnostics }) = slips::read(text, &first) {
        if let Some(tree) = &tree {
            repair::find_comments(text, tree, &mut diagnostics);
        }
        diagnostics.sort_by_key(|diagnostic| diagnostic.span().unwrap_or_default());
        return (tree, diagnostics);
    }
    let (tree, mut diagnostics) = match first {
        Ok(read) => read,
        Err(syntax) => match repair::repair(text) {
            Some(repaired) => match read::read(&repaired.text, &repaired.places) {
                Ok((tree, mut diagnostics)) if !is_slip(&repaired.text) => {
                    diagnostics.extend(repaired.warnings);
                    (tree, diagnostics)
                }
                // With the quotes, something else would be wrong.
                Ok(_) => {
                    let mut syntax = syntax;
                    syntax.extend(slips::further(text, &syntax));
                    return (None, syntax);
                }
                // What is still wrong is what the author has to fix; the commands would have been read.
                Err(mut syntax) => {
                    syntax.extend(slips::further_beside(text, &repaired.warnings, &syntax));
                    syntax.extend(repaired.warnings);
                    syntax.sort_by_key(|diagnostic| diagnostic.span().unwrap_or_default());
                    return (None, syntax);
                }
            },
            None => {
                let mut syntax = syntax;
                syntax.extend(slips::further(text, &syntax));
                return (None, syntax);
            }
        },
    };
    if let Some(tree) = &tree {
        repair::find_comments(text, tree, &mut diagnostics);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span().unwrap_or_default());
    (tree, diagnostics)
}

/// Whether a text that reads as YAML is taken for a slip that leaves nothing to read.
fn is_slip(text: &str) -> bool {
    let read = read::read(text, &Places::same());
    slips::read(text, &read).is_some_and(|read| read.tree.is_none())
}

/// Whether a plain scalar of this text would be text.
pub(crate) fn is_text(text: &str) -> bool {
    resolve::resolve(text) == Resolved::Text
}

impl Scalar {
    /// Returns what the scalar means; only plain scalars can be anything but text.
    pub fn resolve(&self) -> Resolved {
        if self.style == ScalarStyle::Plain && !self.tagged_text {
            resolve::resolve(&self.text)
        } else {
            Resolved::Text
        }
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
    pub fn as_mapping(&self) -> Option<&[MappingEntry]> {
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
