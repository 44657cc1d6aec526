//! The schemas by which models and forms learn what a tool takes.

use serde_json::{Map, Value as Json, json};

use crate::{
    FunctionCalling, Literal, Parameter, ParameterType, ParameterValidation, Shape, Tool, ToolQuestion, Value, Whom,
};

/// Returns the function-calling schema of a tool in the default dialect: name, description and parameters.
///
/// An alias has its base's parameters, which this file does not hold; apply it to the tool that results.
pub fn function_schema(tool: &Tool) -> Json {
    let parameters = match &tool.input_schema {
        Some(schema) => schema.json().clone(),
        None => {
            object(tool.given_parameters(), Wording { settings: &tool.function_calling, elements: Elements::Texts })
        }
    };
    json!({
        "name": tool.name.as_str(),
        "description": tool.description.as_deref().unwrap_or_default(),
        "parameters": parameters,
    })
}

/// Returns the schema of a tool's arguments that says what a call checks, to the letter: nothing of elements of which the
/// author says nothing, and that there are no other parameters. A call also reads values of another type where there is one
/// sensible reading.
pub fn arguments_schema(tool: &Tool) -> Json {
    let mut schema = match &tool.input_schema {
        Some(schema) => schema.json().clone(),
        None => object(tool.given_parameters(), Wording { settings: &tool.function_calling, elements: Elements::Any }),
    };
    if let (false, Some(schema)) = (tool.takes_more(), schema.as_object_mut()) {
        schema.insert("additionalProperties".to_owned(), Json::Bool(false));
    }
    schema
}

/// How parameters are written.
#[derive(Clone, Copy)]
struct Wording<'a> {
    settings: &'a FunctionCalling,
    elements: Elements,
}

/// What is written of the elements of an array whose author says nothing of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elements {
    /// That they are texts: every provider refuses an array without `items`.
    Texts,
    /// That they are anything.
    Any,
}

/// Returns the form of a question as a flat JSON Schema of type `object`; without properties where consent is all that
/// is asked for.
///
/// Rules that forms do not have, such as `pattern`, are left out; the answer is held to them all the same. Defaults are left
/// to code that can resolve them.
pub fn form_schema(tool: &Tool, ask: &ToolQuestion) -> Json {
    const KNOWN: [&str; 12] = [
        "type",
        "description",
        "enum",
        "items",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "examples",
        "deprecated",
    ];
    let fields = ask.fields.iter().filter(|_| matches!(ask.whom, Whom::Person { .. }));
    let settings = FunctionCalling { include_defaults: false, ..FunctionCalling::default() };
    let wording = Wording { settings: &settings, elements: Elements::Texts };
    let mut form = object(fields.filter_map(|field| tool.parameter(field)), wording);
    for (name, field) in form["properties"].as_object_mut().into_iter().flatten() {
        let is_written_out = tool.parameter(name).is_some_and(|parameter| parameter.schema.is_some());
        if let (false, Some(field)) = (is_written_out, field.as_object_mut()) {
            field.retain(|keyword, _| KNOWN.contains(&keyword.as_str()));
        }
    }
    form
}

fn object<'a>(parameters: impl Iterator<Item = &'a Parameter>, wording: Wording<'_>) -> Json {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in parameters {
        properties.insert(parameter.name.clone(), Json::Object(property(parameter, wording)));
        if parameter.is_needed() {
            required.push(parameter.name.as_str());
        }
    }
    let mut object = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn property(parameter: &Parameter, wording: Wording<'_>) -> Map<String, Json> {
    let settings = wording.settings;
    let verbatim = parameter.schema.as_ref().and_then(|schema| schema.json().as_object());
    let mut schema = verbatim.cloned().unwrap_or_default();
    if verbatim.is_none() {
        insert_type(&mut schema, parameter.kind, settings);
    }
    let fixed = parameter.default.as_ref().and_then(crate::lower::static_value);
    if settings.include_descriptions {
        let mut description = parameter.description.clone();
        // A model cannot follow `./checkout/{REPO}` as a value, but it can as an explanation.
        if let (true, Some(default), None) = (settings.include_defaults, &parameter.default, &fixed) {
            if !description.is_empty() {
                description.push(' ');
            }
            description.push_str(&format!("(default: {})", written(default)));
        }
        if let Some(deprecation) = &parameter.deprecated {
            let instead = match (&deprecation.alternative, &deprecation.message) {
                (_, Some(message)) => format!("(deprecated: {message})"),
                (Some(alternative), None) => format!("(deprecated: use {alternative})"),
                (None, None) => "(deprecated)".to_owned(),
            };
            description = if description.is_empty() { instead } else { format!("{description} {instead}") };
        }
        if !description.is_empty() {
            schema.insert("description".to_owned(), Json::String(description));
        }
    }
    if let (true, Some(default)) = (settings.include_defaults, fixed.filter(|value| *value != Value::Null)) {
        schema.insert("default".to_owned(), default.to_json());
    }
    if verbatim.is_none() {
        insert_rules(&mut schema, parameter.kind, &parameter.validation, wording);
    }
    if settings.example_generation && !parameter.examples.is_empty() {
        schema.insert("examples".to_owned(), parameter.examples.iter().map(Value::to_json).collect());
    }
    schema
}

fn insert_type(schema: &mut Map<String, Json>, kind: ParameterType, settings: &FunctionCalling) {
    if kind == ParameterType::Any {
        return;
    }
    let mapped = settings.parameter_mapping.iter().find(|(ours, _)| ours == kind.name());
    schema.insert("type".to_owned(), json!(mapped.map_or(kind.name(), |(_, theirs)| theirs)));
}

fn insert_rules(
    schema: &mut Map<String, Json>,
    kind: ParameterType,
    rules: &ParameterValidation,
    wording: Wording<'_>,
) {
    let mut insert = |key: &str, value: Option<Json>| {
        if let Some(value) = value {
            schema.insert(key.to_owned(), value);
        }
    };
    let number = |text: &Option<String>| text.as_ref().map(|text| Value::Number(text.clone()).to_json());
    insert("minLength", rules.min_length.map(Json::from));
    insert("maxLength", rules.max_length.map(Json::from));
    insert("pattern", rules.pattern.as_ref().map(|pattern| json!(pattern.as_str())));
    insert("minimum", number(&rules.minimum));
    insert("maximum", number(&rules.maximum));
    insert("exclusiveMinimum", number(&rules.exclusive_minimum));
    insert("exclusiveMaximum", number(&rules.exclusive_maximum));
    insert("multipleOf", number(&rules.multiple_of));
    insert("enum", rules.allowed.as_ref().map(|values| values.iter().map(Value::to_json).collect()));
    insert("minItems", rules.min_items.map(Json::from));
    insert("maxItems", rules.max_items.map(Json::from));
    insert("uniqueItems", rules.unique_items.then_some(Json::Bool(true)));
    if kind == ParameterType::Array || rules.items.is_some() {
        let unknown = || if wording.elements == Elements::Texts { json!({"type": "string"}) } else { json!({}) };
        let items = rules.items.as_ref().map_or_else(unknown, |shape| shape_json(shape, wording));
        insert("items", Some(items));
    }
    if !rules.properties.is_empty() {
        let properties: Map<String, Json> =
            rules.properties.iter().map(|(name, shape)| (name.clone(), shape_json(shape, wording))).collect();
        insert("properties", Some(Json::Object(properties)));
    }
    if !rules.required_properties.is_empty() {
        insert("required", Some(json!(rules.required_properties)));
    }
}

fn shape_json(shape: &Shape, wording: Wording<'_>) -> Json {
    let settings = wording.settings;
    let mut schema = Map::new();
    insert_type(&mut schema, shape.kind, settings);
    if let Some(description) = shape.description.as_ref().filter(|_| settings.include_descriptions) {
        schema.insert("description".to_owned(), json!(description));
    }
    insert_rules(&mut schema, shape.kind, &shape.validation, wording);
    Json::Object(schema)
}

/// A default as its author wrote it.
fn written(literal: &Literal) -> String {
    fn value(literal: &Literal) -> Value {
        let names = cycod_syntax::template::KnownNames::default();
        match literal {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Number(text) => Value::Number(text.clone()),
            Literal::Text(template) => Value::Text(template.source(&names)),
            Literal::List(items) => Value::List(items.iter().map(value).collect()),
            Literal::Object(entries) => {
                Value::Object(entries.iter().map(|(key, of)| (key.clone(), value(of))).collect())
            }
        }
    }
    value(literal).to_string()
}
