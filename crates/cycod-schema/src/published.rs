//! What hosts are shown of the schemas of a tool: the same promise, in a form that every client can read.
//!
//! A client reads a list of tools as a whole, and the older ones compile every output schema in it: one schema that they
//! cannot read takes all the other tools away.

use serde_json::{Map, Value as Json, json};

use crate::{
    keyword::{children, map_schemas},
    pointer::join,
};

/// The era of the protocol that a client belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25: what a tool returns is an object, or nothing.
    Handshake,
    /// From 2026-07-28: it is any JSON.
    Stateless,
}

/// A schema of what a tool returns, as hosts are shown it.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedOutput {
    /// The schema. It accepts whatever the tool's own accepts.
    pub schema: Map<String, Json>,
    /// Whether the value is the property `result` of an object.
    pub is_wrapped: bool,
    /// Why it says less than the tool's own, if so.
    pub loss: Option<Unportable>,
}

/// A part of a schema that not every client reads as it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unportable {
    /// A JSON Pointer to it.
    pub pointer: String,
    /// What is the matter with it.
    pub why: String,
}

/// How deep a schema may be: parsers of clients end at 200 levels of a whole message.
const DEEPEST: usize = 60;

/// The name of the property that holds what is no object.
const RESULT: &str = "result";

impl Era {
    /// Whether clients of this era get what has this schema as the property `result` of an object.
    pub fn wraps(self, schema: &Json) -> bool {
        self == Self::Handshake && !is_object(schema)
    }
}

fn is_object(schema: &Json) -> bool {
    schema.get("type").is_some_and(|name| *name == "object")
}

/// Writes the schema of a tool's output for the clients of an era.
pub fn published_output(schema: &Json, era: Era) -> PublishedOutput {
    let is_wrapped = era.wraps(schema);
    let mut writer = Writer {
        root: schema,
        era,
        draft: Draft::of(schema),
        prefix: if is_wrapped { "#/properties/result" } else { "#" },
        references: Vec::new(),
    };
    let written = writer.root().map(|written| match written {
        Json::Object(fields) => fields,
        _ => Map::new(),
    });
    let (mut fields, loss) = match written {
        Ok(fields) => (fields, None),
        Err(problem) => {
            let mut shape = Map::new();
            if is_object(schema) {
                shape.insert("type".to_owned(), json!("object"));
            }
            for remark in ["title", "description"] {
                if let Some(text) = schema.get(remark).filter(|text| text.is_string()) {
                    shape.insert(remark.to_owned(), text.clone());
                }
            }
            (shape, Some(problem))
        }
    };
    if is_wrapped {
        let dialect = fields.shift_remove("$schema");
        let mut outer = Map::new();
        outer.extend(dialect.map(|dialect| ("$schema".to_owned(), dialect)));
        outer.insert("type".to_owned(), json!("object"));
        outer.insert("properties".to_owned(), json!({ RESULT: fields }));
        outer.insert("required".to_owned(), json!([RESULT]));
        fields = outer;
    }
    PublishedOutput { schema: fields, is_wrapped, loss }
}

/// A value as [`PublishedOutput::is_wrapped`] says.
pub fn wrapped_output(value: Json) -> Json {
    Json::Object(Map::from_iter([(RESULT.to_owned(), value)]))
}

/// Writes the schema of a tool's arguments, which are an object whatever it says.
pub fn published_input(schema: &Json) -> Map<String, Json> {
    let mut fields = match without_booleans(schema, 0) {
        Json::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.insert("type".to_owned(), json!("object"));
    if fields.get("properties").is_some_and(|properties| !properties.is_object()) {
        fields.shift_remove("properties");
    }
    let is_names = |names: &Json| names.as_array().is_some_and(|names| names.iter().all(Json::is_string));
    if fields.get("required").is_some_and(|names| !is_names(names)) {
        fields.shift_remove("required");
    }
    if fields.get("$schema").is_some_and(|dialect| !dialect.is_string()) {
        fields.shift_remove("$schema");
    }
    keep_valid_headers(&mut fields);
    fields
}

/// Writes the same schema with an object for every property that is true or false.
fn without_booleans(schema: &Json, depth: usize) -> Json {
    let Json::Object(fields) = schema else { return schema.clone() };
    if depth > DEEPEST {
        // What is still deeper is left for the call to check.
        return json!({});
    }
    let written = fields.iter().map(|(keyword, value)| {
        let mut of = |name: Option<&str>, below: &Json| match below {
            Json::Bool(is_right) if keyword == "properties" && name.is_some() => as_object(*is_right),
            below => without_booleans(below, depth + 1),
        };
        (keyword.clone(), map_schemas(keyword, value, &mut of))
    });
    Json::Object(written.collect())
}

fn as_object(is_right: bool) -> Json {
    if is_right { json!({}) } else { json!({"not": {}}) }
}

/// The keyword by which a client repeats an argument in a header of HTTP. One that is wrong makes clients drop the tool.
const HEADER: &str = "x-mcp-header";

/// Leaves `x-mcp-header` only where clients take it: a name that is a token and taken once, on a property that is a text,
/// a whole number or a boolean, and that `properties` alone lead to.
fn keep_valid_headers(root: &mut Map<String, Json>) {
    let mut taken = Vec::new();
    root.shift_remove(HEADER);
    keep_headers_below(root, true, &mut taken);
}

fn keep_headers_below(fields: &mut Map<String, Json>, is_reachable: bool, taken: &mut Vec<String>) {
    let below: Vec<(&'static str, Option<String>)> =
        children(fields).into_iter().map(|child| (child.keyword, child.token)).collect();
    for (keyword, token) in below {
        let child = match (fields.get_mut(keyword), token) {
            (Some(Json::Object(named)), Some(name)) => named.get_mut(&name),
            (Some(Json::Array(list)), Some(at)) => at.parse::<usize>().ok().and_then(|at| list.get_mut(at)),
            (one, None) => one,
            _ => None,
        };
        let Some(Json::Object(child)) = child else { continue };
        let is_reachable = is_reachable && keyword == "properties";
        if child.contains_key(HEADER) && !(is_reachable && is_valid_header(child, taken)) {
            child.shift_remove(HEADER);
        }
        keep_headers_below(child, is_reachable, taken);
    }
}

fn is_valid_header(property: &Map<String, Json>, taken: &mut Vec<String>) -> bool {
    let is_token = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let kinds = ["string", "integer", "boolean"];
    let is_plain = property.get("type").and_then(Json::as_str).is_some_and(|kind| kinds.contains(&kind));
    let name = property.get(HEADER).and_then(Json::as_str).filter(|name| is_token(name)).map(str::to_ascii_lowercase);
    match name {
        Some(name) if is_plain && !taken.contains(&name) => {
            taken.push(name);
            true
        }
        _ => false,
    }
}

/// The language that a schema is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Draft {
    Older,
    Seven,
    TwentyNineteen,
    TwentyTwenty,
    Unknown,
}

impl Draft {
    fn of(schema: &Json) -> Self {
        let Some(dialect) = schema.get("$schema") else { return Self::TwentyTwenty };
        let name = dialect.as_str().unwrap_or_default().trim_end_matches('#');
        let name = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")).unwrap_or_default();
        match name {
            "json-schema.org/draft/2020-12/schema" => Self::TwentyTwenty,
            "json-schema.org/draft/2019-09/schema" => Self::TwentyNineteen,
            "json-schema.org/draft-07/schema" | "json-schema.org/draft-06/schema" => Self::Seven,
            "json-schema.org/draft-04/schema" => Self::Older,
            _ => Self::Unknown,
        }
    }
}

/// Writes an output schema once more, in the keywords that every client applies in the same way.
struct Writer<'a> {
    root: &'a Json,
    era: Era,
    draft: Draft,
    /// Where the root of the schema will be.
    prefix: &'static str,
    /// What is referred to, with the places from which.
    references: Vec<(String, String)>,
}

/// Keywords that are written as they are.
const PLAIN: [&str; 24] = [
    "$comment",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
];

/// Keywords that the clients of the older era do not apply. Where more is right without them, nothing is lost.
const NEWER: [&str; 6] = [
    "dependentRequired",
    "dependentSchemas",
    "maxContains",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords below which a looser schema may be right for less.
const NOT_MONOTONE: [&str; 4] = ["not", "if", "oneOf", "contains"];

impl Writer<'_> {
    fn root(&mut self) -> Result<Json, Unportable> {
        let wrong = |pointer: &str, why: &str| Err(Unportable { pointer: pointer.to_owned(), why: why.to_owned() });
        match self.draft {
            Draft::Unknown => return wrong("/$schema", "few clients know this dialect"),
            Draft::Older => return wrong("/$schema", "clients know draft 6 and later"),
            _ => {}
        }
        let root = self.root;
        let mut written = self.write(root, "", 0, false)?;
        if let (Some(dialect), Json::Object(fields)) = (root.get("$schema"), &mut written) {
            fields.insert("$schema".to_owned(), dialect.clone());
        }
        for (reference, pointer) in &self.references {
            let target = reference.strip_prefix(self.prefix).and_then(|rest| written.pointer(rest));
            if !target.is_some_and(Json::is_object) {
                return wrong(pointer, "clients cannot follow this reference");
            }
        }
        Ok(written)
    }

    fn write(&mut self, schema: &Json, pointer: &str, depth: usize, is_exact: bool) -> Result<Json, Unportable> {
        let fields = match schema {
            Json::Object(fields) => fields,
            Json::Bool(is_right) => return Ok(as_object(*is_right)),
            other => return Ok(other.clone()),
        };
        let wrong = |keyword: &str, why: &str| Err(Unportable { pointer: join(pointer, keyword), why: why.to_owned() });
        if depth > DEEPEST {
            return wrong("", &format!("it is nested more than {DEEPEST} levels deep"));
        }
        if !pointer.is_empty() && fields.contains_key("$id") {
            return wrong("$id", "clients differ about a schema with an address of its own in another");
        }
        let mut written = Map::new();
        let is_old = self.draft < Draft::TwentyNineteen;
        for (keyword, value) in fields {
            // In older drafts, nothing else counts next to a reference.
            if is_old
                && fields.contains_key("$ref")
                && !matches!(&**keyword, "$ref" | "definitions" | "$defs" | "title" | "description")
            {
                continue;
            }
            match &**keyword {
                "$ref" => {
                    let target = value.as_str().unwrap_or_default();
                    let Some(rest) = target.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'))
                    else {
                        return wrong(keyword, "clients follow only references such as `#/$defs/name`");
                    };
                    if rest.contains('%') {
                        return wrong(keyword, "clients differ about `%` in a reference");
                    }
                    let moved = format!("{}{rest}", self.prefix);
                    self.references.push((moved.clone(), join(pointer, keyword)));
                    written.insert(keyword.clone(), moved.into());
                }
                "$dynamicRef" | "$recursiveRef" => {
                    return wrong(keyword, "few clients follow this kind of reference");
                }
                "pattern" => {
                    if !value.as_str().is_some_and(is_portable_pattern) {
                        return wrong(keyword, "this pattern means something else, or nothing, in other languages");
                    }
                    written.insert(keyword.clone(), value.clone());
                }
                "multipleOf" => {
                    if !(value.is_u64() || value.is_i64()) {
                        return wrong(keyword, "clients compute with rounding errors here");
                    }
                    written.insert(keyword.clone(), value.clone());
                }
                newer if NEWER.contains(&newer) && is_old => {}
                "minContains" if is_old => {}
                "minContains" if self.era == Era::Handshake => {
                    return wrong(keyword, "clients up to 2025-11-25 want at least one");
                }
                "prefixItems" if self.era == Era::Handshake && fields.contains_key("items") => {
                    return wrong(keyword, "clients up to 2025-11-25 take `items` for all elements");
                }
                newer if NEWER.contains(&newer) && self.era == Era::Handshake && is_exact => {
                    return wrong(keyword, "clients up to 2025-11-25 do not apply it");
                }
                "minContains" | "maxContains" | "dependentRequired" => {
                    written.insert(keyword.clone(), value.clone());
                }
                "dependencies" if self.draft > Draft::Seven => {
                    return wrong(keyword, "clients differ about this keyword of older drafts");
                }
                "additionalItems" if self.draft > Draft::TwentyNineteen => {
                    return wrong(keyword, "clients differ about this keyword of older drafts");
                }
                plain if PLAIN.contains(&plain) => _ = written.insert(keyword.clone(), value.clone()),
                below if holds_schemas(below) => {
                    let names = if below == "patternProperties" { value.as_object() } else { None };
                    if names.is_some_and(|names| !names.keys().all(|name| is_portable_pattern(name))) {
                        return wrong(keyword, "such a pattern means something else, or nothing, in other languages");
                    }
                    let is_exact = is_exact || NOT_MONOTONE.contains(&below);
                    let (mut problem, at) = (None, join(pointer, keyword));
                    let value = map_schemas(keyword, value, &mut |name, schema| {
                        let pointer = name.map_or_else(|| at.clone(), |name| join(&at, name));
                        match self.write(schema, &pointer, depth + 1, is_exact) {
                            Ok(written) => written,
                            Err(found) => {
                                problem.get_or_insert(found);
                                Json::Null
                            }
                        }
                    });
                    if let Some(problem) = problem {
                        return Err(problem);
                    }
                    written.insert(keyword.clone(), value);
                }
                // Nothing else says anything about values, and clients stumble over some of it: `id`, `nullable`, `$async`,
                // a format that they check and we do not.
                _ => {}
            }
        }
        Ok(Json::Object(written))
    }
}

fn holds_schemas(keyword: &str) -> bool {
    const HOLDERS: [&str; 21] = [
        "$defs",
        "definitions",
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "prefixItems",
        "items",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "dependentSchemas",
        "dependencies",
    ];
    HOLDERS.contains(&keyword)
}

/// Whether a pattern means the same in Rust, in JavaScript with its `u` flag, and in Python.
fn is_portable_pattern(pattern: &str) -> bool {
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = rest.next() {
        let next = rest.peek().copied();
        match letter {
            '\\' => {
                let Some(escaped) = rest.next() else { return false };
                let is_known = "dDwWsSnrtfv.\\/()[]{}*+?^$|".contains(escaped)
                    || !in_class && "bB".contains(escaped)
                    || in_class && escaped == '-';
                if !is_known {
                    return false;
                }
            }
            '[' if in_class => return false,
            '[' => {
                in_class = true;
                if next == Some('^') {
                    rest.next();
                }
                if rest.peek() == Some(&']') {
                    return false;
                }
            }
            ']' if in_class => in_class = false,
            ']' | '}' => return false,
            '&' | '~' | '|' if in_class && next == Some(letter) => return false,
            '-' if in_class && next == Some('-') => return false,
            '(' if !in_class && next == Some('?') => {
                rest.next();
                if rest.next() != Some(':') {
                    return false;
                }
            }
            '{' if !in_class => {
                let mut count = String::new();
                loop {
                    match rest.next() {
                        Some('}') => break,
                        Some(digit) if digit.is_ascii_digit() || digit == ',' => count.push(digit),
                        _ => return false,
                    }
                }
                if !count.starts_with(|first: char| first.is_ascii_digit()) || count.matches(',').count() > 1 {
                    return false;
                }
            }
            _ => {}
        }
    }
    !in_class && !has_kind_in_range(pattern)
}

/// Whether a range in a class begins or ends with a kind of characters, such as `\w`.
fn has_kind_in_range(pattern: &str) -> bool {
    let kinds = ["\\d", "\\D", "\\w", "\\W", "\\s", "\\S"];
    kinds.iter().any(|kind| pattern.contains(&format!("{kind}-")) || pattern.contains(&format!("-{kind}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn older(schema: &Json) -> PublishedOutput {
        published_output(schema, Era::Handshake)
    }

    #[test]
    fn an_object_is_shown_as_it_is() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        for era in [Era::Handshake, Era::Stateless] {
            let shown = published_output(&schema, era);
            assert_eq!((Json::Object(shown.schema), shown.is_wrapped, shown.loss), (schema.clone(), false, None));
        }
    }

    #[test]
    fn anything_else_is_wrapped_for_older_clients_and_its_references_follow() {
        let schema =
            json!({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"anyOf": [{"$ref": "#"}, true]}}});
        let shown = older(&schema);
        assert!(shown.is_wrapped && shown.loss.is_none());
        assert_eq!(
            Json::Object(shown.schema),
            json!({"type": "object", "properties": {"result": {
                "type": "array",
                "items": {"$ref": "#/properties/result/$defs/n"},
                "$defs": {"n": {"anyOf": [{"$ref": "#/properties/result"}, {}]}},
            }}, "required": ["result"]})
        );
        assert!(!published_output(&schema, Era::Stateless).is_wrapped);
    }

    #[test]
    fn what_clients_read_differently_is_left_out_with_the_place() {
        for (part, place) in [
            (json!({"pattern": "(?i)a"}), "/properties/x/pattern"),
            (json!({"pattern": "[\\w-.]"}), "/properties/x/pattern"),
            (json!({"multipleOf": 0.1}), "/properties/x/multipleOf"),
            (json!({"$ref": "#/elsewhere"}), "/properties/x/$ref"),
            (json!({"$ref": "https://example.com/x"}), "/properties/x/$ref"),
            (json!({"$id": "https://example.com/x"}), "/properties/x/$id"),
            (json!({"prefixItems": [true], "items": false}), "/properties/x/prefixItems"),
            (json!({"not": {"unevaluatedProperties": false}}), "/properties/x/not/unevaluatedProperties"),
        ] {
            let shown = older(&json!({"type": "object", "properties": {"x": part}}));
            assert_eq!(Json::Object(shown.schema), json!({"type": "object"}));
            assert_eq!(shown.loss.unwrap().pointer, place);
        }
    }

    #[test]
    fn what_says_nothing_is_not_shown() {
        let shown = older(
            &json!({"$id": "https://example.com/a", "id": "a", "type": "object", "format": "x", "nullable": true}),
        );
        assert_eq!((Json::Object(shown.schema), shown.loss), (json!({"type": "object"}), None));
    }

    #[test]
    fn arguments_keep_their_rules() {
        let schema = json!({"type": "object", "properties": {"a": true, "b": false, "c": {"items": true}}});
        let shown = json!({"type": "object", "properties": {"a": {}, "b": {"not": {}}, "c": {"items": true}}});
        assert_eq!(Json::Object(published_input(&schema)), shown);
    }

    #[test]
    fn a_wrong_header_is_left_out() {
        let schema = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "Region"},
            "b": {"type": "string", "x-mcp-header": "region"},
            "c": {"type": "array", "items": {"type": "string", "x-mcp-header": "Item"}},
            "d": {"type": "string", "x-mcp-header": "two words"},
        }});
        let shown = Json::Object(published_input(&schema)).to_string();
        assert_eq!(shown.matches(HEADER).count(), 1, "{shown}");
    }
}
