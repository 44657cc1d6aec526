use cycod_syntax::yaml::{Node, NodeKind, Resolved, Scalar};

use super::{Lowering, Scope, Text, units};
use crate::{Literal, ParameterType, Value};

impl Lowering<'_> {
    /// Reads a value that an author wrote; `kind` is the type it is for, where that is known.
    ///
    /// For a string every scalar is its source text, so that a default of `1.0` stays `1.0`.
    pub(crate) fn literal(&self, node: &Node, kind: ParameterType, scope: Scope) -> Literal {
        match &node.kind {
            NodeKind::Scalar(scalar) => self.scalar_literal(node, scalar, kind, scope),
            NodeKind::Sequence(items) => {
                Literal::List(items.iter().map(|item| self.literal(item, ParameterType::Any, scope)).collect())
            }
            NodeKind::Mapping(entries) => Literal::Object(
                entries
                    .iter()
                    .map(|entry| (entry.key.clone(), self.literal(&entry.value, ParameterType::Any, scope)))
                    .collect(),
            ),
        }
    }

    fn scalar_literal(&self, node: &Node, scalar: &Scalar, kind: ParameterType, scope: Scope) -> Literal {
        let text = scalar.text.trim();
        match (kind, scalar.resolve()) {
            (_, Resolved::Null) => Literal::Null,
            (ParameterType::Number | ParameterType::Integer, _) if units::number(text).is_some() => {
                Literal::Number(text.to_owned())
            }
            (ParameterType::Boolean, _) if units::truth(text).is_some() => {
                Literal::Bool(units::truth(text) == Some(true))
            }
            (ParameterType::String, _) | (_, Resolved::Text) => {
                Literal::Text(self.template(Text { scalar, span: node.span }, scope))
            }
            (_, Resolved::Bool(value)) => Literal::Bool(value),
            (_, Resolved::Integer(_) | Resolved::BigInteger) => Literal::Number(text.to_owned()),
            (_, Resolved::Float(number)) if number.is_finite() => Literal::Number(text.to_owned()),
            (_, Resolved::Float(_)) => Literal::Text(self.template(Text { scalar, span: node.span }, scope)),
        }
    }
}

/// Reads a value in which braces mean nothing, such as one of `enum`.
pub(crate) fn value(node: &Node, kind: ParameterType) -> Value {
    match &node.kind {
        NodeKind::Sequence(items) => Value::List(items.iter().map(|item| value(item, ParameterType::Any)).collect()),
        NodeKind::Mapping(entries) => Value::Object(
            entries.iter().map(|entry| (entry.key.clone(), value(&entry.value, ParameterType::Any))).collect(),
        ),
        NodeKind::Scalar(scalar) => {
            let text = scalar.text.trim();
            match (kind, scalar.resolve()) {
                (_, Resolved::Null) => Value::Null,
                (ParameterType::Number | ParameterType::Integer, _) if units::number(text).is_some() => {
                    Value::Number(text.to_owned())
                }
                (ParameterType::Boolean, _) if units::truth(text).is_some() => {
                    Value::Bool(units::truth(text) == Some(true))
                }
                (ParameterType::String, _) | (_, Resolved::Text) => Value::Text(scalar.text.clone()),
                (_, Resolved::Bool(value)) => Value::Bool(value),
                (_, Resolved::Float(number)) if !number.is_finite() => Value::Text(scalar.text.clone()),
                (_, Resolved::Integer(_) | Resolved::BigInteger | Resolved::Float(_)) => Value::Number(text.to_owned()),
            }
        }
    }
}

/// The value of a literal in which nothing is left to resolve.
pub(crate) fn static_value(literal: &Literal) -> Option<Value> {
    Some(match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Number(text) => Value::Number(text.clone()),
        Literal::Text(template) => Value::Text(template.as_text()?.to_owned()),
        Literal::List(items) => Value::List(items.iter().map(static_value).collect::<Option<_>>()?),
        Literal::Object(entries) => Value::Object(
            entries.iter().map(|(key, value)| Some((key.clone(), static_value(value)?))).collect::<Option<_>>()?,
        ),
    })
}
