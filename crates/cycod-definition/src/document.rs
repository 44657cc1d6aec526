use cycod_diagnostic::SourceFile;
use cycod_syntax::yaml::{self, Entry, Node, NodeKind, Resolved};
use serde_json::{Map, Number, Value};

use crate::{
    lower,
    table::{TOOL, Takes},
};

/// Returns a definition as JSON that reads back as the same tool; nothing when the file is not a document.
///
/// The file's own tree is converted, so that nothing is lost on the way: keys this version does not know stay,
/// and a number that JSON would write otherwise (`1.10`) becomes text with its digits kept, but for JSON Schemas, which
/// are JSON already.
pub fn document_json(source: &SourceFile) -> Option<Value> {
    yaml::parse(source).0.map(|root| json(&root, Takes::Object(&TOOL)))
}

fn json(node: &Node, takes: Takes) -> Value {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let of = |key: &str| match takes {
                Takes::Object(section) | Takes::Either(section, _) => {
                    section.key(key).map_or(Takes::Any, |key| key.takes)
                }
                Takes::Map(_, value) => *value,
                Takes::Schema => Takes::Schema,
                _ => Takes::Any,
            };
            let entry = |entry: &Entry| (entry.key.clone(), json(&entry.value, of(&entry.key)));
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
        NodeKind::Sequence(items) => {
            let item = if let Takes::List(item) = takes { *item } else { takes };
            items.iter().map(|node| json(node, item)).collect()
        }
        // In a schema text is not a number.
        NodeKind::Scalar(_) if matches!(takes, Takes::Schema) => lower::plain_value(node).to_json(),
        NodeKind::Scalar(scalar) => {
            let number = match scalar.resolve() {
                Resolved::Null => return Value::Null,
                Resolved::Bool(value) => return Value::Bool(value),
                Resolved::Integer(number) => Some(Number::from(number)),
                Resolved::Float(number) => Number::from_f64(number),
                Resolved::BigInteger | Resolved::Text => None,
            };
            match number {
                Some(number) if number.to_string() == scalar.text => Value::Number(number),
                _ => Value::String(scalar.text.clone()),
            }
        }
    }
}
