use cycod_diagnostic::SourceFile;
use cycod_syntax::yaml::{self, Node, NodeKind, Resolved};
use serde_json::{Map, Number, Value};

/// Returns a definition as JSON that reads back as the same tool; nothing when the file is not a document.
///
/// The file's own tree is converted, so that nothing is lost on the way: keys this version does not know stay,
/// and a number that JSON would write otherwise (`1.10`) becomes text with its digits kept.
pub fn document_json(source: &SourceFile) -> Option<Value> {
    yaml::parse(source).0.map(|root| json(&root))
}

fn json(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            Value::Object(entries.iter().map(|entry| (entry.key.clone(), json(&entry.value))).collect::<Map<_, _>>())
        }
        NodeKind::Sequence(items) => items.iter().map(json).collect(),
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
