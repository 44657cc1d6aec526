use serde_json::{Map, Value as Json, json};

use crate::{FunctionCalling, Literal, Parameter, ParameterType, Shape, Tool, Validation, Value};

/// Returns the function-calling schema of a tool in the default dialect: name, description and parameters.
///
/// An alias has its base's parameters, which this file does not hold; apply it to the tool that results.
pub fn function_schema(tool: &Tool) -> Json {
    let settings = &tool.function_calling;
    let properties: Map<String, Json> = tool
        .parameters
        .iter()
        .map(|parameter| (parameter.name.clone(), Json::Object(property(parameter, settings))))
        .collect();
    let mut parameters = Map::new();
    parameters.insert("type".to_owned(), json!("object"));
    parameters.insert("properties".to_owned(), Json::Object(properties));
    let required: Vec<&str> = tool
        .parameters
        .iter()
        .filter(|parameter| parameter.required && parameter.default.is_none())
        .map(|parameter| parameter.name.as_str())
        .collect();
    if !required.is_empty() {
        parameters.insert("required".to_owned(), json!(required));
    }
    json!({
        "name": tool.name.as_str(),
        "description": tool.description.as_deref().unwrap_or_default(),
        "parameters": parameters,
    })
}

fn property(parameter: &Parameter, settings: &FunctionCalling) -> Map<String, Json> {
    let mut schema = Map::new();
    insert_type(&mut schema, parameter.kind, settings);
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
        schema.insert("default".to_owned(), to_json(&default));
    }
    insert_rules(&mut schema, parameter.kind, &parameter.validation, settings);
    if settings.example_generation && !parameter.examples.is_empty() {
        schema.insert("examples".to_owned(), parameter.examples.iter().map(to_json).collect());
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

fn insert_rules(schema: &mut Map<String, Json>, kind: ParameterType, rules: &Validation, settings: &FunctionCalling) {
    let mut insert = |key: &str, value: Option<Json>| {
        if let Some(value) = value {
            schema.insert(key.to_owned(), value);
        }
    };
    let number = |text: &Option<String>| text.as_deref().map(number_json);
    insert("minLength", rules.min_length.map(Json::from));
    insert("maxLength", rules.max_length.map(Json::from));
    insert("pattern", rules.pattern.as_ref().map(|pattern| json!(pattern.as_str())));
    insert("minimum", number(&rules.minimum));
    insert("maximum", number(&rules.maximum));
    insert("exclusiveMinimum", number(&rules.exclusive_minimum));
    insert("exclusiveMaximum", number(&rules.exclusive_maximum));
    insert("multipleOf", number(&rules.multiple_of));
    insert("enum", rules.allowed.as_ref().map(|values| values.iter().map(to_json).collect()));
    insert("minItems", rules.min_items.map(Json::from));
    insert("maxItems", rules.max_items.map(Json::from));
    insert("uniqueItems", rules.unique_items.then_some(Json::Bool(true)));
    if kind == ParameterType::Array {
        // Every provider refuses an array without `items`.
        let items = rules.items.as_ref().map_or_else(|| json!({"type": "string"}), |shape| shape_json(shape, settings));
        insert("items", Some(items));
    }
    if !rules.properties.is_empty() {
        let properties: Map<String, Json> =
            rules.properties.iter().map(|(name, shape)| (name.clone(), shape_json(shape, settings))).collect();
        insert("properties", Some(Json::Object(properties)));
    }
    if !rules.required_properties.is_empty() {
        insert("required", Some(json!(rules.required_properties)));
    }
}

fn shape_json(shape: &Shape, settings: &FunctionCalling) -> Json {
    let mut schema = Map::new();
    insert_type(&mut schema, shape.kind, settings);
    if let Some(description) = shape.description.as_ref().filter(|_| settings.include_descriptions) {
        schema.insert("description".to_owned(), json!(description));
    }
    insert_rules(&mut schema, shape.kind, &shape.validation, settings);
    Json::Object(schema)
}

/// A default as its author wrote it.
fn written(literal: &Literal) -> String {
    fn value(literal: &Literal) -> Value {
        let names = cycod_syntax::template::Names::default();
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

fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(text) => number_json(text),
        Value::Text(text) => json!(text),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Object(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key.clone(), to_json(value))).collect())
        }
    }
}

/// A number as JSON; one that JSON cannot hold stays text.
fn number_json(text: &str) -> Json {
    let whole = text.parse::<i64>().ok().map(Json::from);
    whole.or_else(|| text.parse::<f64>().ok().map(Json::from)).unwrap_or_else(|| json!(text))
}
