use cycod_schema::Schema;
use expect_test::{Expect, expect};
use serde_json::{Value as Json, json};

fn compiled(schema: &Json) -> Schema {
    Schema::compile(schema).unwrap_or_else(|problem| panic!("{problem} at {}", problem.pointer))
}

/// Compares what is wrong with `instance`: a line for each violation, nothing when it is right.
fn check(schema: &Json, instance: &Json, expect: &Expect) {
    let violations = compiled(schema).validate(instance);
    let lines: String = violations
        .iter()
        .map(|violation| {
            format!("[{}] [{}] {}\n", violation.instance_pointer, violation.schema_pointer, violation.message)
        })
        .collect();
    expect.assert_eq(&lines);
}

fn refused(schema: &Json, expect: &Expect) {
    let problem = Schema::compile(schema).expect_err("the schema is refused");
    expect.assert_eq(&format!("[{}] {problem}", problem.pointer));
}

#[test]
fn violations_say_where_and_what() {
    let schema = json!({
        "type": "object",
        "properties": {"a/b": {"type": "array", "items": {"type": "integer", "maximum": 5}}, "c": {"enum": ["x", "y"]}},
        "required": ["d"],
        "additionalProperties": false,
    });
    check(
        &schema,
        &json!({"d": 1}),
        &expect![[r#"
        [] [/additionalProperties] Additional properties are not allowed ('d' was unexpected)
        [] [/required] "d" is a required property
    "#]],
    );
    check(
        &schema,
        &json!({"a/b": [1, 9, "x"], "c": "z"}),
        &expect![[r#"
            [/a~1b/1] [/properties/a~1b/items/maximum] 9 is greater than the maximum of 5
            [/a~1b/2] [/properties/a~1b/items/type] "x" is not of type "integer"
            [/c] [/properties/c/enum] "z" is not one of "x" or "y"
            [] [/required] "d" is a required property
        "#]],
    );
}

#[test]
fn alternatives_tell_the_branch_that_was_meant() {
    let schema = json!({"anyOf": [
        {"type": "null"},
        {"type": "object", "properties": {"size": {"type": "integer"}}},
        {"type": "array"},
    ]});
    check(
        &schema,
        &json!({"size": "big"}),
        &expect![[r#"
        [/size] [/anyOf/1/properties/size/type] "big" is not of type "integer"
    "#]],
    );
    check(
        &schema,
        &json!(5),
        &expect![[r#"
        [] [/anyOf] 5 is not valid under any of the schemas listed in the 'anyOf' keyword
    "#]],
    );
}

#[test]
fn messages_stay_short() {
    let violations = compiled(&json!({"type": "integer"})).validate(&json!("x".repeat(1 << 20)));
    assert!(violations[0].message.len() < 600, "{}", violations[0].message.len());
    let many: Vec<Json> = (0..10_000).map(|_| json!("x")).collect();
    let violations = compiled(&json!({"items": {"type": "integer"}})).validate(&Json::Array(many));
    assert_eq!(violations.len(), 20);
}

#[test]
fn references_stay_inside() {
    let accepts = |schema: Json, right: Json, wrong: Json| {
        let schema = compiled(&schema);
        assert_eq!(schema.validate(&right), []);
        assert_ne!(schema.validate(&wrong), []);
    };
    accepts(json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "string"}}}), json!("x"), json!(1));
    accepts(json!({"$ref": "#n", "$defs": {"a": {"$anchor": "n", "type": "string"}}}), json!("x"), json!(1));
    accepts(
        json!({"$id": "https://x.example/s", "items": {"$ref": "https://x.example/s#/$defs/a"},
        "$defs": {"a": {"type": "string"}}}),
        json!(["x"]),
        json!([1]),
    );
    accepts(json!({"type": "object", "additionalProperties": {"$ref": "#"}}), json!({"a": {"b": {}}}), json!({"a": 1}));
    accepts(json!({"properties": {"$ref": {"type": "string"}}}), json!({"$ref": "x"}), json!({"$ref": 1}));
    accepts(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "null"}]}),
        json!([null]),
        json!([1]),
    );

    refused(
        &json!({"properties": {"a": {"$ref": "https://x.example/s.json"}}}),
        &expect![
            "[/properties/a/$ref] `https://x.example/s.json` is another document; a schema must hold everything it refers to"
        ],
    );
    refused(
        &json!({"$ref": "file:///etc/passwd"}),
        &expect!["[/$ref] `file:///etc/passwd` is another document; a schema must hold everything it refers to"],
    );
    refused(
        &json!({"$ref": "other.json#/a"}),
        &expect!["[/$ref] `other.json#/a` is another document; a schema must hold everything it refers to"],
    );
    refused(&json!({"$ref": "#/$defs/none"}), &expect!["[/$ref] `#/$defs/none` leads to no schema in this document"]);
    refused(&json!({"$ref": "#none"}), &expect!["[/$ref] `#none` leads to no schema in this document"]);
    refused(&json!({"$ref": "#/%F"}), &expect!["[/$ref] `#/%F` leads to no schema in this document"]);
    refused(
        &json!({"$defs": {"a": {"$id": "https://x.example/"}}}),
        &expect!["[/$defs/a/$id] a schema inside another has an address of its own (`$id`), which is not supported"],
    );
    refused(
        &json!({"$schema": "https://x.example/meta"}),
        &expect![
            "[] Unknown meta-schema: 'https://x.example/meta'. Custom meta-schemas must be registered in the registry before use"
        ],
    );
}

#[test]
fn what_is_no_schema_is_refused() {
    refused(&json!(5), &expect![[r#"[] 5 is not of types "boolean", "object""#]]);
    refused(
        &json!({"type": "strin"}),
        &expect![[r#"[/type] "strin" is not valid under any of the schemas listed in the 'anyOf' keyword"#]],
    );
    refused(
        &json!({"properties": {"a": {"minimum": "1"}}}),
        &expect![[r#"[/properties/a/minimum] "1" is not of type "number""#]],
    );
    refused(&json!({"pattern": "(?=x)"}), &expect![[r#"[/pattern] "(?=x)" is not a "regex""#]]);
    refused(&json!({"pattern": "("}), &expect![[r#"[/pattern] "(" is not a "regex""#]]);
    refused(
        &json!({"pattern": "(((a{1000}){1000}){1000}){1000}"}),
        &expect![[r#"[/pattern] "(((a{1000}){1000}){1000}){1000}" is not a "regex""#]],
    );
}

#[test]
fn circles_that_never_end_are_refused() {
    refused(
        &json!({"$ref": "#"}),
        &expect!["[] the schema refers to itself without going into the value, which never ends"],
    );
    refused(
        &json!({"allOf": [{"not": {"$ref": "#"}}]}),
        &expect!["[] the schema refers to itself without going into the value, which never ends"],
    );
    refused(
        &json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        &expect!["[/$defs/a] the schema refers to itself without going into the value, which never ends"],
    );
}

fn nested(depth: usize, around: impl Fn(Json) -> Json, core: Json) -> Json {
    (0..depth).fold(core, |inner, _| around(inner))
}

#[test]
fn deep_and_large_things_are_refused() {
    refused(
        &nested(200, |inner| json!({"items": inner}), json!({})),
        &expect!["[] the schema is nested more than 128 levels deep"],
    );
    refused(
        &nested(60, |inner| json!({"not": inner}), json!({})),
        &expect![
            "[/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not/not] more than 32 schemas stand one behind the other here"
        ],
    );
    let many: Vec<Json> = (0..20_000).map(|_| json!({})).collect();
    refused(&json!({"items": {"anyOf": many}}), &expect!["[] the schema holds more than 6000 schemas"]);
    check(
        &json!({}),
        &nested(200, |inner| json!([inner]), json!(1)),
        &expect![[r#"
        [] [] the value is nested more than 128 levels deep
    "#]],
    );
}

#[test]
fn doubling_at_each_level_is_cut_short() {
    let both = json!([{"$ref": "#"}, {"$ref": "#"}]);
    let schema = json!({"type": "array", "items": {"allOf": both}});
    check(&schema, &nested(10, |inner| json!([inner]), json!([])), &expect![[r#""#]]);
    check(
        &schema,
        &nested(100, |inner| json!([inner]), json!([])),
        &expect![[r#"
        [] [] the schema refers to itself in so many ways that this value cannot be judged
    "#]],
    );
    // Without depth: each schema leads twice to the next.
    let laughs: serde_json::Map<String, Json> = (0..30)
        .map(|at| {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            (format!("d{at}"), json!({"allOf": [next, next]}))
        })
        .chain([("d30".to_owned(), json!({"type": "null"}))])
        .collect();
    refused(
        &json!({"$defs": laughs, "$ref": "#/$defs/d0"}),
        &expect!["[/$defs/d13/allOf/0] more than 32 schemas stand one behind the other here"],
    );
}

#[test]
fn a_long_chain_of_references_does_not_exhaust_the_stack() {
    let links: serde_json::Map<String, Json> = (0..2_000)
        .map(|at| (format!("d{at}"), json!({"properties": {"next": {"$ref": format!("#/$defs/d{}", at + 1)}}})))
        .chain([("d2000".to_owned(), json!({"type": "null"}))])
        .collect();
    let schema = json!({"$defs": links, "$ref": "#/$defs/d0"});
    check(&schema, &nested(100, |inner| json!({"next": inner}), json!(1)), &expect![[r#""#]]);
}

#[test]
fn the_longest_chain_at_the_greatest_depth_fits_a_small_stack() {
    let chain = nested(30, |inner| json!({"allOf": [inner]}), json!({"items": {"$ref": "#"}, "type": "array"}));
    let instance = nested(128, |inner| json!([inner]), json!([]));
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let violations = thread.spawn(move || compiled(&chain).validate(&instance)).expect("a thread starts").join();
    assert_eq!(violations.expect("the stack is enough"), []);
}
