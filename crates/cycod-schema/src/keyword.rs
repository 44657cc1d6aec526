//! Which keywords of JSON Schema hold schemas, and about what.

use serde_json::{Map, Value as Json};

use crate::pointer::join;

/// What the schemas below a keyword speak about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// The same value.
    Same,
    /// A part of it, or the name of one.
    Part,
    /// Nothing, until something refers to it.
    Nothing,
}

/// How schemas stand below a keyword. Where several forms are allowed, what is not a schema is skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    One,
    List,
    OneOrList,
    Named,
}

const KEYWORDS: [(&str, Form, About); 22] = [
    ("$defs", Form::Named, About::Nothing),
    ("definitions", Form::Named, About::Nothing),
    ("contentSchema", Form::One, About::Nothing),
    ("properties", Form::Named, About::Part),
    ("patternProperties", Form::Named, About::Part),
    ("additionalProperties", Form::One, About::Part),
    ("unevaluatedProperties", Form::One, About::Part),
    ("propertyNames", Form::One, About::Part),
    ("prefixItems", Form::List, About::Part),
    ("items", Form::OneOrList, About::Part),
    ("additionalItems", Form::One, About::Part),
    ("unevaluatedItems", Form::One, About::Part),
    ("contains", Form::One, About::Part),
    ("allOf", Form::List, About::Same),
    ("anyOf", Form::List, About::Same),
    ("oneOf", Form::List, About::Same),
    ("not", Form::One, About::Same),
    ("if", Form::One, About::Same),
    ("then", Form::One, About::Same),
    ("else", Form::One, About::Same),
    ("dependentSchemas", Form::Named, About::Same),
    ("dependencies", Form::Named, About::Same),
];

/// A schema that stands directly below another.
pub(crate) struct Child<'a> {
    /// The keyword it stands below.
    pub(crate) keyword: &'static str,
    /// The name or number it has there.
    pub(crate) token: Option<String>,
    /// What it speaks about.
    pub(crate) about: About,
    /// The schema.
    pub(crate) schema: &'a Json,
}

impl Child<'_> {
    /// Its pointer, when its parent has `parent`.
    pub(crate) fn pointer(&self, parent: &str) -> String {
        let below = join(parent, self.keyword);
        self.token.as_ref().map_or(below.clone(), |token| join(&below, token))
    }
}

/// The schemas directly below `schema`.
pub(crate) fn children(schema: &Map<String, Json>) -> Vec<Child<'_>> {
    let mut children = Vec::new();
    for (keyword, form, about) in KEYWORDS {
        let mut push = |token: Option<String>, schema| {
            if matches!(schema, &Json::Object(_) | &Json::Bool(_)) {
                children.push(Child { keyword, token, about, schema });
            }
        };
        match (form, schema.get(keyword)) {
            (Form::Named, Some(Json::Object(named))) => {
                named.iter().for_each(|(name, schema)| push(Some(name.clone()), schema));
            }
            (Form::List | Form::OneOrList, Some(Json::Array(list))) => {
                list.iter().enumerate().for_each(|(at, schema)| push(Some(at.to_string()), schema));
            }
            (Form::One | Form::OneOrList, Some(one)) => push(None, one),
            _ => {}
        }
    }
    children
}

/// Writes the value of a keyword once more, with each schema in it, and the name or number it has there, replaced.
pub(crate) fn map_schemas(keyword: &str, value: &Json, replace: &mut dyn FnMut(Option<&str>, &Json) -> Json) -> Json {
    let form = KEYWORDS.iter().find(|(known, ..)| *known == keyword).map(|(_, form, _)| *form);
    let is_schema = |value: &Json| value.is_object() || value.is_boolean();
    match (form, value) {
        (Some(Form::Named), Json::Object(named)) => {
            let named = named.iter().map(|(name, schema)| {
                let schema = if is_schema(schema) { replace(Some(name), schema) } else { schema.clone() };
                (name.clone(), schema)
            });
            Json::Object(named.collect())
        }
        (Some(Form::List | Form::OneOrList), Json::Array(list)) => {
            let list = list.iter().enumerate();
            list.map(|(at, schema)| replace(Some(&at.to_string()), schema)).collect()
        }
        (Some(Form::One | Form::OneOrList), one) if is_schema(one) => replace(None, one),
        _ => value.clone(),
    }
}

/// Whether a keyword says nothing about values by itself.
pub(crate) fn says_nothing(keyword: &str) -> bool {
    const SILENT: [&str; 9] = [
        "$schema",
        "$id",
        "$comment",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "$defs",
        "definitions",
    ];
    SILENT.contains(&keyword)
}
