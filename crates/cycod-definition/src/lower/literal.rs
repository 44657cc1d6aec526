use cycod_syntax::yaml::{Node, NodeKind, Resolved, Scalar};

use super::{Lowering, Scope, Text, units};
use crate::{Literal, ParameterType, ParameterValidation, Shape, Value};

/// The type that a value is for, with the shapes of its parts, as far as they are known.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) kind: ParameterType,
    rules: Option<&'a ParameterValidation>,
}

impl<'a> Expected<'a> {
    pub(crate) const ANY: Self = Self { kind: ParameterType::Any, rules: None };

    pub(crate) fn new(kind: ParameterType, rules: &'a ParameterValidation) -> Self {
        Self { kind, rules: Some(rules) }
    }

    fn of(shape: Option<&'a Shape>) -> Self {
        shape.map_or(Self::ANY, |shape| Self::new(shape.kind, &shape.validation))
    }

    fn item(self) -> Self {
        Self::of(self.rules.and_then(|rules| rules.items.as_deref()))
    }

    fn property(self, name: &str) -> Self {
        Self::of(self.rules.and_then(|rules| rules.property(name)))
    }
}

/// A scalar as its author means it where `kind` is wanted.
///
/// For a string that is the source text, so that a default of `1.0` stays `1.0`; a number is written as in JSON.
/// Everything else that a type can be read from is left to the one place that does so for calls as well.
enum Meant<'s> {
    Null,
    Bool(bool),
    Number(String),
    Text(&'s Scalar),
}

fn meant(scalar: &Scalar, kind: ParameterType) -> Meant<'_> {
    let number = || units::number_text(scalar.text.trim()).map_or(Meant::Text(scalar), Meant::Number);
    match (kind, scalar.resolve()) {
        (_, Resolved::Null) => Meant::Null,
        (ParameterType::Number | ParameterType::Integer, _) => number(),
        (ParameterType::String, _) | (_, Resolved::Text) => Meant::Text(scalar),
        (_, Resolved::Bool(value)) => Meant::Bool(value),
        (_, Resolved::Integer(_) | Resolved::BigInteger | Resolved::Float(_)) => number(),
    }
}

impl Lowering<'_> {
    /// Reads a value that an author wrote.
    pub(crate) fn literal(&self, node: &Node, expected: Expected<'_>, scope: Scope) -> Literal {
        match &node.kind {
            NodeKind::Scalar(scalar) => match meant(scalar, expected.kind) {
                Meant::Null => Literal::Null,
                Meant::Bool(value) => Literal::Bool(value),
                Meant::Number(text) => Literal::Number(text),
                Meant::Text(scalar) => Literal::Text(self.template(Text { scalar, span: node.span }, scope)),
            },
            NodeKind::Sequence(items) => {
                Literal::List(items.iter().map(|item| self.literal(item, expected.item(), scope)).collect())
            }
            NodeKind::Mapping(entries) => Literal::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), self.literal(&entry.value, expected.property(&entry.key), scope)))
                    .collect(),
            ),
        }
    }
}

/// Reads a value of which nothing is known.
pub(crate) fn plain_value(node: &Node) -> Value {
    value(node, Expected::ANY)
}

/// Reads a value in which braces mean nothing, such as one of `enum`.
pub(crate) fn value(node: &Node, expected: Expected<'_>) -> Value {
    match &node.kind {
        NodeKind::Sequence(items) => Value::List(items.iter().map(|item| value(item, expected.item())).collect()),
        NodeKind::Mapping(entries) => Value::Object(
            entries
                .iter()
                .map(|entry| (entry.key.clone(), value(&entry.value, expected.property(&entry.key))))
                .collect(),
        ),
        NodeKind::Scalar(scalar) => match meant(scalar, expected.kind) {
            Meant::Null => Value::Null,
            Meant::Bool(value) => Value::Bool(value),
            Meant::Number(text) => Value::Number(text),
            Meant::Text(scalar) => Value::Text(scalar.text.clone()),
        },
    }
}

/// The value of a literal in which nothing is left to resolve.
pub fn static_value(literal: &Literal) -> Option<Value> {
    literal.value(&|template| template.as_text().map(|text| Value::Text(text.to_owned())).ok_or(())).ok()
}
