use cycod_schema::{Dialect, Export, Exporter, Fidelity, Function};
use expect_test::{Expect, expect, expect_file};
use serde_json::{Value as Json, json};

fn export(dialect: &str, function: &Json) -> Export {
    let dialect = Dialect::named(dialect).expect("a dialect");
    Exporter::new(dialect).export(&Function::from_json(function))
}

fn parameters(dialect: &str, parameters: Json) -> Export {
    let dialect = Dialect::named(dialect).expect("a dialect");
    Exporter::new(dialect).export(&Function { name: "f".to_owned(), description: "F".to_owned(), parameters })
}

/// The tool, and under it what became of the function, a line for each difference.
fn report(export: &Export) -> String {
    let mut text = export.tool.as_ref().map_or_else(String::new, |tool| format!("{tool:#}\n"));
    text.push_str(&format!("{}\n", export.fidelity.name()));
    for loss in &export.losses {
        text.push_str(&format!("  {} {}: {}\n", loss.fidelity.name(), loss.pointer, loss.what));
    }
    text
}

fn check(dialect: &str, schema: Json, expect: &Expect) {
    let export = parameters(dialect, schema);
    let tool = export.tool.as_ref().map(|tool| {
        let places = ["/function/parameters", "/parameters", "/input_schema", "/inputSchema"];
        places.iter().find_map(|place| tool.pointer(place)).map_or("none".to_owned(), Json::to_string)
    });
    let losses = export.losses.iter().map(|loss| format!("{} {}: {}\n", loss.fidelity.name(), loss.pointer, loss.what));
    expect.assert_eq(&format!("{}\n{}", tool.unwrap_or_default(), losses.collect::<String>()));
}

#[test]
fn a_rich_function_in_every_dialect() {
    let rich: Json = serde_json::from_str(include_str!("rich.json")).expect("the function is JSON");
    let golden = [
        expect_file!["golden/openai.txt"],
        expect_file!["golden/openai-strict.txt"],
        expect_file!["golden/openai-responses.txt"],
        expect_file!["golden/anthropic.txt"],
        expect_file!["golden/anthropic-strict.txt"],
        expect_file!["golden/gemini.txt"],
        expect_file!["golden/mcp.txt"],
    ];
    for ((name, _), golden) in Dialect::NAMES.into_iter().zip(golden) {
        golden.assert_eq(&report(&export(name, &rich)));
    }
}

#[test]
fn a_plain_function_is_exact() {
    let plain =
        json!({"type": "object", "properties": {"a": {"type": "string", "description": "A"}}, "required": ["a"]});
    for (name, _) in Dialect::NAMES {
        assert_eq!(parameters(name, plain.clone()).fidelity, Fidelity::Exact, "{name}");
    }
    for (name, _) in Dialect::NAMES {
        assert_eq!(parameters(name, json!({"type": "object", "properties": {}})).fidelity, Fidelity::Exact, "{name}");
    }
}

#[test]
fn a_composed_root_is_refused_where_it_must_be() {
    for keyword in ["anyOf", "oneOf", "allOf"] {
        for (name, dialect) in Dialect::NAMES {
            let export = parameters(name, json!({"type": "object", keyword: [{"required": ["a"]}]}));
            assert_eq!(export.fidelity == Fidelity::Refused, dialect != Dialect::Mcp, "{keyword} for {name}");
            assert_eq!(export.tool.is_none(), dialect != Dialect::Mcp);
        }
    }
    check(
        "openai",
        json!({"type": "array"}),
        &expect![[r#"

        refused /parameters/type: arguments are an object, not "array"
    "#]],
    );
    check(
        "mcp",
        json!({"$ref": "https://x.example/"}),
        &expect![[r#"

        refused /parameters/$ref: `https://x.example/` is another document; a schema must hold everything it refers to
    "#]],
    );
    check(
        "gemini",
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"type": "null"}}}}}),
        &expect![[r#"
        {"properties":{"x":{"nullable":true,"type":"string"}},"type":"object"}
        lossy /parameters/properties/x/type: null alone is no type here
    "#]],
    );
}

#[test]
fn names_are_fitted_and_may_not_meet() {
    let mut exporter = Exporter::new(Dialect::Openai);
    let mut named = |name: &str| {
        let export = exporter.export(&Function::from_json(&json!({"name": name})));
        format!("{} {}", export.name, export.fidelity.name())
    };
    assert_eq!(named("a.b"), "a_b reversible");
    assert_eq!(named("a-b"), "a-b exact");
    assert_eq!(named("a_b"), "a_b refused");
    assert_eq!(named(&"x".repeat(64)), format!("{} exact", "x".repeat(64)));
    assert_eq!(named(&"x".repeat(65)), format!("{} refused", "x".repeat(64)));
    assert_eq!(named("größe"), "gr__e reversible");
    assert_eq!(export("gemini", &json!({"name": "7z.x"})).name, "_7z.x");
    assert_eq!(export("mcp", &json!({"name": "7z.x"})).name, "7z.x");
}

#[test]
fn property_names_are_fitted_at_every_depth() {
    let schema = json!({"type": "object", "properties": {
        "cpu time": {"type": "object", "properties": {"1": {"type": "integer"}, "_1": {"type": "integer"}}, "required": ["1"]},
        "cpu_time": {"type": "integer"},
    }, "required": ["cpu time"]});
    check(
        "gemini",
        schema.clone(),
        &expect![[r#"
        {"type":"object","properties":{"cpu_time_2":{"type":"object","properties":{"_1_2":{"type":"integer"},"_1":{"type":"integer"}},"required":["_1_2"]},"cpu_time":{"type":"integer"}},"required":["cpu_time_2"]}
        reversible /parameters/properties/cpu time: is called `cpu_time_2`
        reversible /parameters/properties/cpu time/properties/1: is called `_1_2`
    "#]],
    );
    let undone =
        parameters("gemini", schema).undo.apply(json!({"cpu_time_2": {"_1_2": 1, "_1": 2}, "cpu_time": 3, "more": 4}));
    assert_eq!(undone, json!({"cpu time": {"1": 1, "_1": 2}, "cpu_time": 3, "more": 4}));
}

#[test]
fn strict_mode_has_limits() {
    let many = |count: usize| -> Json {
        let properties = (0..count).map(|at| (format!("p{at}"), json!({"type": "string"})));
        json!({"type": "object", "properties": properties.collect::<serde_json::Map<_, _>>()})
    };
    let fallback = |export: &Export| export.losses.first().map(|loss| loss.what.clone()).unwrap_or_default();
    assert_eq!(
        fallback(&parameters("openai-strict", many(5001))),
        "written without strict mode: 5001 properties, 5000 are allowed"
    );
    assert!(parameters("openai-strict", many(5001)).tool.expect("it is taken")["function"].get("strict").is_none());
    let deep = (0..11).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "object", "properties": {"a": inner}, "required": ["a"]}),
    );
    assert!(fallback(&parameters("openai-strict", deep)).contains("levels of nesting"));
    let values: Vec<String> = (0..1001).map(|at| at.to_string()).collect();
    let listed =
        |values: &[String]| json!({"type": "object", "properties": {"a": {"enum": values}}, "required": ["a"]});
    assert!(fallback(&parameters("openai-strict", listed(&values))).contains("values of enums"));
    let long: Vec<String> = (0..251).map(|at| format!("{at:060}")).collect();
    assert!(fallback(&parameters("openai-strict", listed(&long))).contains("enum of more than 250"));
    assert_eq!(parameters("openai-strict", listed(&long[..250])).fidelity, Fidelity::Exact);

    let function =
        |parameters: Json, at: usize| Function { name: format!("f{at}"), description: String::new(), parameters };
    let mut exporter = Exporter::new(Dialect::AnthropicStrict);
    let strict = (0..25).filter(|at| exporter.export(&function(many(0), *at)).fidelity == Fidelity::Exact);
    assert_eq!(strict.count(), 20);
    assert!(fallback(&parameters("anthropic-strict", many(25))).contains("optional parameters"));
    assert_eq!(parameters("anthropic-strict", many(24)).fidelity, Fidelity::Exact);
}

#[test]
fn strict_mode_says_absence_with_null() {
    let schema = json!({"type": "object", "properties": {
        "plain": {"type": "string"},
        "listed": {"enum": ["a", "b"]},
        "fixed": {"const": 1},
        "nullable": {"type": ["string", "null"]},
        "any": {},
        "union": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "node": {"$ref": "#"},
        "empty": {"type": "object", "additionalProperties": false},
    }});
    check(
        "openai-strict",
        schema.clone(),
        &expect![[r##"
        {"type":"object","properties":{"plain":{"type":["string","null"]},"listed":{"type":["string","null"],"enum":["a","b",null]},"fixed":{"anyOf":[{"type":"integer","const":1},{"type":"null"}]},"nullable":{"type":["string","null"]},"any":{"type":["string","null"],"description":"(a JSON value as text)"},"union":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]},"node":{"anyOf":[{"$ref":"#"},{"type":"null"}]},"empty":{"type":["object","null"],"properties":{},"required":[],"additionalProperties":false}},"required":["plain","listed","fixed","nullable","any","union","node","empty"],"additionalProperties":false}
        reversible /parameters/properties/plain: null means an absent value
        reversible /parameters/properties/listed: null means an absent value
        reversible /parameters/properties/fixed: null means an absent value
        lossy /parameters/properties/nullable: an absent value and null cannot be told apart
        reversible /parameters/properties/any: is a JSON value as text
        reversible /parameters/properties/any: null means an absent value
        reversible /parameters/properties/union: null means an absent value
        reversible /parameters/properties/node: null means an absent value
        reversible /parameters/properties/empty: null means an absent value
    "##]],
    );
    let nulls = json!({"plain": null, "listed": null, "fixed": null, "nullable": null, "any": null, "union": null,
        "node": {"plain": null, "nullable": null}, "empty": null});
    let undone = parameters("openai-strict", schema).undo.apply(nulls);
    assert_eq!(undone, json!({"nullable": null, "node": {"nullable": null}}));
}

#[test]
fn what_has_no_schema_travels_as_text() {
    let schema = json!({"type": "object", "properties": {
        "map": {"type": "object", "description": "M", "additionalProperties": {"type": "integer"}},
        "list": {"type": "array"},
        "any": true,
    }, "required": ["map", "list", "any"]});
    for name in ["openai-strict", "anthropic-strict", "gemini"] {
        let export = parameters(name, schema.clone());
        let undone = export.undo.apply(json!({"map": "{\"a\": 1}", "list": ["1", "x"], "any": "[null]"}));
        assert_eq!(undone, json!({"map": {"a": 1}, "list": [1, "x"], "any": [null]}), "{name}");
    }
    check(
        "anthropic-strict",
        schema.clone(),
        &expect![[r#"
        {"type":"object","properties":{"map":{"type":"string","description":"M (a JSON object as text; additionalProperties: {\"type\":\"integer\"})"},"list":{"type":"array","items":{"type":"string","description":"(a JSON value as text)"}},"any":{"type":"string","description":"(a JSON value as text)"}},"required":["map","list","any"],"additionalProperties":false}
        reversible /parameters/properties/map: is a JSON object as text
        lossy /parameters/properties/map/additionalProperties: moved into the description
        reversible /parameters/properties/list/items: is a JSON value as text
        reversible /parameters/properties/any: is a JSON value as text
    "#]],
    );
    check(
        "openai",
        schema,
        &expect![[r#"
        {"type":"object","properties":{"map":{"type":"object","description":"M","additionalProperties":{"type":"integer"}},"list":{"type":"array","items":{}},"any":{}},"required":["map","list","any"]}
    "#]],
    );
}

#[test]
fn alternatives_are_told_apart_on_the_way_back() {
    let schema = json!({"type": "object", "properties": {"x": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "n": {"type": ["integer", "null"]}}, "required": ["kind"]},
        {"type": "array", "items": {"type": "object", "properties": {"m": {"type": "string"}}}},
    ]}}, "required": ["x"]});
    let undo = parameters("openai-strict", schema).undo;
    assert_eq!(undo.apply(json!({"x": {"kind": "a", "n": null}})), json!({"x": {"kind": "a"}}));
    assert_eq!(undo.apply(json!({"x": {"kind": "b", "n": null}})), json!({"x": {"kind": "b", "n": null}}));
    assert_eq!(undo.apply(json!({"x": [{"m": null}]})), json!({"x": [{}]}));
}

#[test]
fn conditions_beside_properties_are_told() {
    let schema = json!({"type": "object", "properties": {"x": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }}, "required": ["x"]});
    check(
        "openai-strict",
        schema.clone(),
        &expect![[r#"
        {"type":"object","properties":{"x":{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","null"]}},"required":["a","b"],"additionalProperties":false,"description":"(anyOf: [{\"required\":[\"a\"]},{\"required\":[\"b\"]}])"}},"required":["x"],"additionalProperties":false}
        reversible /parameters/properties/x/properties/a: null means an absent value
        reversible /parameters/properties/x/properties/b: null means an absent value
        lossy /parameters/properties/x/anyOf: moved into the description
    "#]],
    );
    check(
        "gemini",
        schema.clone(),
        &expect![[r#"
        {"type":"object","properties":{"x":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"description":"(anyOf: [{\"required\":[\"a\"]},{\"required\":[\"b\"]}])"}},"required":["x"]}
        lossy /parameters/properties/x/anyOf: moved into the description
    "#]],
    );
    check(
        "openai",
        schema,
        &expect![[r#"
        {"type":"object","properties":{"x":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}},"required":["x"]}
    "#]],
    );
}

#[test]
fn gemini_takes_enums_of_texts_only() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer", "enum": [1, 2], "default": 2},
        "b": {"const": true},
        "o": {"enum": ["x", null]},
        "t": {"enum": ["1", 1]},
        "l": {"type": "array", "items": {"enum": [1.5]}},
    }});
    check(
        "gemini",
        schema.clone(),
        &expect![[r#"
        {"type":"object","properties":{"n":{"type":"string","enum":["1","2"],"default":"2"},"b":{"type":"string","enum":["true"]},"o":{"type":"string","nullable":true,"enum":["x"]},"t":{"type":"string","enum":["1"]},"l":{"type":"array","items":{"type":"string","enum":["1.5"]}}}}
        reversible /parameters/properties/n/enum: the values are written as texts
        reversible /parameters/properties/b/const: the values are written as texts
        lossy /parameters/properties/t/enum: a text and another value are both `1`
        reversible /parameters/properties/l/items/enum: the values are written as texts
    "#]],
    );
    let undone = parameters("gemini", schema).undo.apply(json!({"n": "2", "b": "true", "o": "x", "l": ["1.5"]}));
    assert_eq!(undone, json!({"n": 2, "b": true, "o": "x", "l": [1.5]}));
}

#[test]
fn gemini_unions_stand_alone() {
    let schema = json!({"type": "object", "properties": {
        "maybe": {"description": "M", "anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"description": "E", "anyOf": [{"type": "integer"}, {"type": "string", "description": "S"}, {"type": "null"}]},
        "types": {"type": ["integer", "string", "null"], "description": "T"},
    }});
    check(
        "gemini",
        schema,
        &expect![[r#"
        {"type":"object","properties":{"maybe":{"description":"M","nullable":true,"type":"integer"},"either":{"anyOf":[{"type":"integer","description":"E","nullable":true},{"type":"string","description":"E S","nullable":true}]},"types":{"anyOf":[{"type":"integer","description":"T","nullable":true},{"type":"string","description":"T","nullable":true}]}}}
    "#]],
    );
}

#[test]
fn references_are_replaced_or_kept_and_circles_end() {
    let schema = json!({"type": "object", "properties": {
        "a": {"$ref": "#/$defs/tree", "description": "D"},
        "b": {"$ref": "#/$defs/tree"},
        "c": {"$ref": "#name"},
    }, "required": ["a", "b", "c"], "$defs": {
        "tree": {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
        "named": {"$anchor": "name", "type": "string"},
    }});
    for name in ["openai", "openai-strict", "anthropic", "anthropic-strict", "gemini"] {
        let export = parameters(name, schema.clone());
        let tool = export.tool.expect("it is taken").to_string();
        assert_eq!(tool.contains("$ref"), ["openai", "openai-strict", "anthropic"].contains(&name), "{name}");
    }
    check(
        "openai-strict",
        schema.clone(),
        &expect![[r##"
        {"type":"object","properties":{"a":{"type":"object","properties":{"below":{"type":["array","null"],"items":{"$ref":"#/$defs/tree"}}},"description":"D","required":["below"],"additionalProperties":false},"b":{"$ref":"#/$defs/tree"},"c":{"$ref":"#/$defs/named"}},"required":["a","b","c"],"additionalProperties":false,"$defs":{"tree":{"type":"object","properties":{"below":{"type":["array","null"],"items":{"$ref":"#/$defs/tree"}}},"required":["below"],"additionalProperties":false},"named":{"type":"string"}}}
        reversible /parameters/$defs/tree/properties/below: null means an absent value
        exact /parameters/$defs/named/$anchor: left out: it says nothing about values
    "##]],
    );
    check(
        "gemini",
        schema.clone(),
        &expect![[r#"
        {"type":"object","properties":{"a":{"type":"object","properties":{"below":{"type":"array","items":{"type":"string","description":"(a JSON value as text)"}}},"description":"D"},"b":{"type":"object","properties":{"below":{"type":"array","items":{"type":"string","description":"(a JSON value as text)"}}}},"c":{"type":"string"}},"required":["a","b","c"]}
        lossy /parameters/$defs/tree/properties/below/items/$ref: a schema that refers to itself cannot be written
        reversible /parameters/$defs/tree/properties/below/items: is a JSON value as text
        exact /parameters/$defs/named/$anchor: left out: it says nothing about values
    "#]],
    );
    let undo = parameters("openai-strict", schema).undo;
    assert_eq!(undo.apply(json!({"b": {"below": [{"below": null}]}})), json!({"b": {"below": [{}]}}));
}

#[test]
fn references_that_multiply_are_cut_short() {
    let doubling: serde_json::Map<String, Json> = (0..15)
        .map(|at| {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            (format!("d{at}"), json!({"type": "object", "properties": {"a": next, "b": next}}))
        })
        .chain([("d15".to_owned(), json!({"type": "null"}))])
        .collect();
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": doubling});
    for (name, _) in Dialect::NAMES {
        let tool = parameters(name, schema.clone()).tool.expect("it is taken");
        assert!(tool.to_string().len() < 2_000_000, "{name}: {}", tool.to_string().len());
    }
}
