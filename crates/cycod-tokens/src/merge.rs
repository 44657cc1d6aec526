use cycod_schema::Function;
use serde_json::{Map, Value as Json, json};

/// How many tools may become one: a choice of more is no easier for a model than the tools were.
const MOST: usize = 12;
const FEWEST: usize = 3;

/// Tools that could be one with a parameter that says which is meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The tools.
    pub tools: Vec<String>,
    /// What would take their place.
    pub into: Function,
    /// What they cost.
    pub before: usize,
    /// What it would.
    pub after: usize,
}

/// The tool that could stand for several; nothing when their parameters do not go together.
pub(crate) fn merged(family: &str, tools: &[&Function]) -> Option<Function> {
    if !(FEWEST..=MOST).contains(&tools.len()) {
        return None;
    }
    let short = |name: &str| {
        let rest = name.get(family.len()..).filter(|_| name.starts_with(family)).unwrap_or(name);
        rest.trim_start_matches(['_', '-', '.']).to_owned()
    };
    let operations: Vec<String> = tools.iter().map(|tool| short(&tool.name)).collect();
    if operations.iter().any(String::is_empty) {
        return None;
    }
    let mut properties = Map::new();
    let choice = json!({"type": "string", "enum": operations});
    properties.insert("operation".to_owned(), choice);
    let mut required: Option<Vec<&str>> = None;
    for tool in tools {
        let schema = tool.parameters.as_object()?;
        // What is more than properties says how they depend on each other, which would be lost.
        if schema
            .keys()
            .any(|keyword| !matches!(&**keyword, "type" | "properties" | "required" | "additionalProperties"))
        {
            return None;
        }
        for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            match properties.get(name) {
                None => _ = properties.insert(name.clone(), property.clone()),
                Some(known) if is_alike(known, property) => {}
                Some(_) => return None,
            }
        }
        let needs: Vec<&str> =
            schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
        required = Some(match required {
            None => needs,
            Some(before) => before.into_iter().filter(|name| needs.contains(name)).collect(),
        });
    }
    let mut names = vec!["operation"];
    names.extend(required.unwrap_or_default());
    let said = operations.iter().zip(tools).map(|(operation, tool)| format!("{operation}: {}", tool.description));
    Some(Function {
        name: family.trim_end_matches(['_', '-', '.']).to_owned(),
        description: said.collect::<Vec<_>>().join("; "),
        parameters: json!({"type": "object", "properties": properties, "required": names}),
    })
}

/// Whether two properties take the same values, whatever is said about them.
fn is_alike(one: &Json, other: &Json) -> bool {
    let plain = |json: &Json| {
        let mut json = json.clone();
        if let Some(keywords) = json.as_object_mut() {
            keywords.retain(|keyword, _| !matches!(&**keyword, "description" | "title" | "examples"));
        }
        json
    };
    plain(one) == plain(other)
}
