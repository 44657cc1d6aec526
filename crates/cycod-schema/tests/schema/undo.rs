use cycod_schema::{Dialect, Exporter, Fidelity, Function, Schema};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

/// Any JSON, small.
fn anything() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        "[a-z\"{ ]{0,4}".prop_map(Json::from)
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::Array),
            prop::collection::vec(("[a-z]{1,2}", inner), 0..3)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

/// A schema with a value that it takes.
fn pair() -> impl Strategy<Value = (Json, Json)> {
    let number = prop_oneof![Just(1), Just(2), Just(30)];
    let leaf = prop_oneof![
        "[a-z]{0,3}".prop_map(|text| (json!({"type": "string"}), json!(text))),
        any::<i16>().prop_map(|number| (json!({"type": "integer"}), json!(number))),
        any::<bool>().prop_map(|flag| (json!({"type": "boolean"}), json!(flag))),
        number.prop_map(|number| (json!({"type": "integer", "enum": [1, 2, 30]}), json!(number))),
        anything().prop_map(|value| (json!({}), value)),
        prop::collection::vec(("[a-z]{1,2}", anything()), 0..3)
            .prop_map(|entries| (json!({"type": "object"}), Json::Object(entries.into_iter().collect()))),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let list = inner.clone().prop_flat_map(|(schema, value)| {
            (0..3_usize)
                .prop_map(move |count| (json!({"type": "array", "items": schema}), json!(vec![value.clone(); count])))
        });
        prop_oneof![list, object(inner)]
    })
}

fn object(inner: impl Strategy<Value = (Json, Json)>) -> impl Strategy<Value = (Json, Json)> {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Presence {
        Required,
        Given,
        Absent,
    }
    use Presence::{Absent, Given, Required};
    let presence = prop_oneof![Just(Required), Just(Given), Just(Absent)];
    let names = prop::sample::subsequence(vec!["a", "b c", "b_c", "b.c", "1", "_1", "ü", "x-y"], 1..5);
    (names, prop::collection::vec((presence, inner), 5)).prop_map(|(names, parts)| {
        let (mut properties, mut required, mut value) = (Map::new(), Vec::new(), Map::new());
        for (name, (presence, (schema, part))) in names.into_iter().zip(parts) {
            properties.insert(name.to_owned(), schema);
            if presence == Required {
                required.push(name);
            }
            // An optional null is the one value that strict mode cannot tell from nothing.
            if presence == Required || presence == Given && !part.is_null() {
                value.insert(name.to_owned(), part);
            }
        }
        let schema =
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        (schema, Json::Object(value))
    })
}

/// Writes a value as a model would that was told `exported` instead of `original`.
fn spoken(original: &Json, exported: &Json, value: &Json) -> Json {
    let is_text = exported["type"] == "string" || exported["type"] == json!(["string", "null"]);
    match value {
        value if is_text && original["type"] != "string" => json!(value.to_string()),
        Json::Array(items) => items.iter().map(|item| spoken(&original["items"], &exported["items"], item)).collect(),
        Json::Object(entries) if original["properties"].is_object() => {
            let below = |schema: &Json| schema["properties"].as_object().cloned().unwrap_or_default().into_iter();
            let said = below(original).zip(below(exported)).filter_map(|((name, part), (written, exported_part))| {
                let must_be_said = exported["required"].as_array().is_some_and(|names| names.contains(&json!(written)));
                match entries.get(&name) {
                    Some(value) => Some((written, spoken(&part, &exported_part, value))),
                    None => must_be_said.then_some((written, Json::Null)),
                }
            });
            Json::Object(said.collect())
        }
        value => value.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn arguments_come_back_as_they_were_meant((schema, value) in object(pair())) {
        prop_assert_eq!(Schema::compile(&schema).expect("a schema").validate(&value), []);
        for (name, dialect) in Dialect::NAMES {
            let function = Function { name: "f".into(), description: String::new(), parameters: schema.clone() };
            let export = Exporter::new(dialect).export(&function);
            let tool = export.tool.expect("nothing here is refused");
            let places = ["/function/parameters", "/parameters", "/input_schema", "/inputSchema"];
            let exported = places.iter().find_map(|place| tool.pointer(place)).expect("there are parameters");
            let said = spoken(&schema, exported, &value);
            if export.fidelity <= Fidelity::Reversible {
                let violations = Schema::compile(exported).expect("a schema").validate(&said);
                prop_assert_eq!(violations, [], "{} refuses {} by {}", name, said, exported);
            }
            prop_assert_eq!(export.undo.apply(said.clone()), value.clone(), "{} said {}", name, said);
        }
    }

    #[test]
    fn no_message_of_a_model_is_too_much((schema, _) in object(pair()), said in anything()) {
        for (_, dialect) in Dialect::NAMES {
            let function = Function { name: "f".into(), description: String::new(), parameters: schema.clone() };
            Exporter::new(dialect).export(&function).undo.apply(said.clone());
        }
    }
}
