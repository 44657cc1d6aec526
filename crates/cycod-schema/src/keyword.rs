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
