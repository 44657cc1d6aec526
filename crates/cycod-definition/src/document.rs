use cycod_diagnostic::{Severity, SourceFile};
use cycod_syntax::yaml::{self, MappingEntry, Node, NodeKind, Resolved};
use serde_json::{Map, Number, Value, json};

use crate::{
    form, lower,
    table::{TOOL, Takes},
};

/// Returns a definition as JSON that reads back as the same tool; nothing when the file is not a document.
///
/// Whatever the format of the file, this is a tool in the keys of ours.
///
/// The file's own tree is converted, so that nothing is lost on the way: keys this version does not know stay,
/// and a number that JSON would write otherwise (`1.10`) becomes text with its digits kept, but for JSON Schemas, which
/// are JSON already.
pub fn document_json(source: &SourceFile) -> Option<Value> {
    document(source).map(|root| json(&root, Takes::Object(&TOOL)))
}

/// Returns what a document in YAML says, as JSON; nothing when it is none. Its keys have no meaning here.
pub fn yaml_json(source: &SourceFile) -> Option<Value> {
    let (root, diagnostics) = yaml::parse(source);
    let is_broken = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    root.filter(|_| !is_broken).map(|root| lower::plain_value(&root).to_json())
}

/// Returns a definition as a document in the keys of a tool, with the places in its file; nothing when it is none.
pub fn document(source: &SourceFile) -> Option<Node> {
    form::read(source).root
}

/// The key under which the spelling of a scalar stands.
const WRITTEN: &str = "written";

/// Returns a definition as JSON in which nothing that could mean something is lost.
///
/// Comments, the order of keys, white space and quotes do not count. What stands without quotes and is neither text nor
/// written as JSON writes it (`1.10`, `0x1F`, `True`) keeps its spelling, apart from a text with the same letters.
pub fn exact_json(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let object: Map<_, _> = entries.iter().map(|entry| (entry.key.clone(), exact_json(&entry.value))).collect();
            // One that looks like the spelling of a scalar is told apart from it.
            if object.keys().eq([WRITTEN]) { json!({ WRITTEN: object }) } else { object.into() }
        }
        NodeKind::Sequence(items) => items.iter().map(exact_json).collect(),
        NodeKind::Scalar(scalar) => {
            let plain = match scalar.resolve() {
                Resolved::Null => return Value::Null,
                Resolved::Text => return Value::String(scalar.text.clone()),
                Resolved::Bool(value) => Value::Bool(value),
                Resolved::Integer(number) => number.into(),
                Resolved::Float(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
                Resolved::BigInteger => Value::Null,
            };
            // `1.0` is `1` in canonical text, and may be another text here.
            let spelled = plain.to_string();
            if spelled == scalar.text && !spelled.ends_with(".0") { plain } else { json!({ WRITTEN: scalar.text }) }
        }
    }
}

fn json(node: &Node, takes: Takes) -> Value {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let of = |key: &str| match takes {
                Takes::Object(section) | Takes::Either(section, _) | Takes::TextsOr(section) => {
                    section.key(key).map_or(Takes::Any, |key| key.takes)
                }
                Takes::Map(_, value) => *value,
                Takes::Schema => Takes::Schema,
                _ => Takes::Any,
            };
            let entry = |entry: &MappingEntry| (entry.key.clone(), json(&entry.value, of(&entry.key)));
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

#[cfg(test)]
mod tests {
    use cycod_syntax::yaml;

    use super::*;

    fn exact(text: &str) -> Value {
        exact_json(&yaml::parse(&SourceFile::new("t.yaml", text)).0.expect("a document"))
    }

    #[test]
    fn a_spelling_that_json_shares_is_a_number() {
        assert_eq!(exact("[1.5, 1.0, 1]"), json!([1.5, { "written": "1.0" }, 1]));
    }

    #[test]
    fn what_means_the_same_is_the_same_and_nothing_else() {
        let tool = "name: t\nbash: echo {N}\nparameters: {N: {default: 1.10}}\n";
        for same in [
            "# by hand\nbash: 'echo {N}'\nname:   \"t\"\nparameters:\n  N:\n    default: 1.10 # this\n",
            "{\"parameters\": {\"N\": {\"default\": 1.10}}, \"name\": \"t\", \"bash\": \"echo {N}\"}",
        ] {
            assert_eq!(exact(tool), exact(same), "{same}");
        }
        for other in ["1.1", "'1.10'", "1.100", "11e-1", "{written: 1.10}", "{written: '1.10'}"] {
            assert_ne!(exact(tool), exact(&tool.replace("1.10", other)), "{other}");
        }
        assert_ne!(exact("a: True"), exact("a: true"));
        assert_ne!(exact("a: 0x1F"), exact("a: 31"));
        assert_ne!(exact("a: 12345678901234567890123"), exact("a: '12345678901234567890123'"));
        assert_ne!(exact("a: ''"), exact("a:"));
    }
}
