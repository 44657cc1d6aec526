//! A tool's function in the words of a provider: its name, its description and its schema, with what the provider can't express.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value as Json, json};

use crate::{Dialect, Undo, convert::Converter, graph::Graph};

/// How long a name may be that hosts put their own words before.
const LONGEST_COMFORTABLE_NAME: usize = 45;

/// A function as models call it, in no provider's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Json,
}

impl Function {
    /// Reads `{name, description, parameters}`; what is missing is empty.
    pub fn from_json(json: &Json) -> Self {
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let parameters = json.get("parameters").cloned().unwrap_or_else(|| json!({"type": "object"}));
        Self { name: text("name"), description: text("description"), parameters }
    }
}

/// How much of a function a provider is told, from all to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fidelity {
    /// All of it, as it is.
    Exact,
    /// All of it, in other words; [`Undo`] brings arguments back.
    Reversible,
    /// Not all of it. What a model gets wrong for that is found when its arguments are validated.
    Lossy,
    /// Nothing: the provider would refuse the tool, and every other in the same request.
    Refused,
}

impl Fidelity {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Reversible => "reversible",
            Self::Lossy => "lossy",
            Self::Refused => "refused",
        }
    }
}

/// A difference between a function and what a provider is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectLoss {
    /// A JSON Pointer into `{name, description, parameters}`.
    pub pointer: String,
    /// The keyword concerned; empty when it is the whole.
    pub keyword: String,
    /// What became of it.
    pub what: String,
    /// How much this difference matters.
    pub fidelity: Fidelity,
}

/// A function in a dialect.
#[derive(Clone, Debug)]
pub struct Export {
    /// The tool as the provider takes it; nothing when it is refused.
    pub tool: Option<Json>,
    /// The name in it.
    pub name: String,
    /// How much of the function it tells.
    pub fidelity: Fidelity,
    /// The differences, in the order of the schema.
    pub losses: Vec<DialectLoss>,
    /// How to bring arguments back.
    pub undo: Undo,
}

/// Writes the functions of one request in a dialect: names must differ, and some limits are on all of them together.
#[derive(Debug)]
pub struct Exporter {
    dialect: Dialect,
    /// The names that are taken, with the functions that took them.
    names: HashMap<String, String>,
    strict_tools: usize,
    optional_parameters: usize,
    unions: usize,
}

impl Exporter {
    /// An exporter of a request without functions.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, names: HashMap::new(), strict_tools: 0, optional_parameters: 0, unions: 0 }
    }

    /// Writes the next function.
    pub fn export(&mut self, function: &Function) -> Export {
        let mut export = self.written(function, self.dialect);
        if self.dialect.is_strict()
            && let Some(tool) = &export.tool
            && let Err(why) = self.count(tool)
        {
            let what = format!("written without strict mode: {why}");
            let lost = loss("/parameters", "strict", Fidelity::Lossy, what);
            export = self.written(function, self.dialect.lenient());
            export.losses.insert(0, lost);
        }
        if let Some(other) = self.names.get(&export.name).filter(|_| export.tool.is_some()) {
            let what = format!("`{other}` is called `{}` already", export.name);
            export.losses.push(loss("/name", "name", Fidelity::Refused, what));
        }
        export.fidelity = export.losses.iter().map(|loss| loss.fidelity).max().unwrap_or(Fidelity::Exact);
        if export.fidelity == Fidelity::Refused {
            export.tool = None;
        } else {
            self.names.insert(export.name.clone(), function.name.clone());
        }
        export
    }

    fn written(&self, function: &Function, dialect: Dialect) -> Export {
        let name = dialect.tool_name(&function.name);
        let mut losses = Vec::new();
        if name != function.name {
            losses.push(loss("/name", "name", Fidelity::Reversible, format!("is called `{name}`")));
        }
        if dialect == Dialect::Mcp && name.len() > LONGEST_COMFORTABLE_NAME {
            let what = format!("over {LONGEST_COMFORTABLE_NAME} characters: hosts that put words before it may cut it");
            losses.push(loss("/name", "name", Fidelity::Exact, what));
        }
        let (parameters, undo) = match parameters(&function.parameters, dialect, &mut losses) {
            Some((parameters, undo)) => (Some(parameters), undo),
            None => (None, Undo::default()),
        };
        let tool = parameters.map(|parameters| wrapped(dialect, &name, &function.description, &parameters));
        Export { tool, name, fidelity: Fidelity::Exact, losses, undo }
    }

    /// Counts a tool against the limits of strict modes, and says which one it breaks.
    fn count(&mut self, tool: &Json) -> Result<(), String> {
        let within = |what: &str, count: usize, most: usize| {
            if count <= most { Ok(()) } else { Err(format!("{count} {what}, {most} are allowed")) }
        };
        if self.dialect == Dialect::OpenaiStrict {
            let size = Size::of(&tool["function"]["parameters"]);
            within("properties", size.properties, 5000)?;
            within("levels of nesting", size.depth, 10)?;
            within("characters in names and values", size.characters, 120_000)?;
            within("values of enums", size.values, 1000)?;
            return within("characters in the values of an enum of more than 250", size.largest_enum, 15_000);
        }
        let size = Size::of(&tool["input_schema"]);
        let (tools, optional) = (self.strict_tools + 1, self.optional_parameters + size.optional);
        let unions = self.unions + size.unions;
        within("strict tools in a request", tools, 20)?;
        within("optional parameters in a request", optional, 24)?;
        within("parameters with several types in a request", unions, 16)?;
        (self.strict_tools, self.optional_parameters, self.unions) = (tools, optional, unions);
        Ok(())
    }
}

fn loss(pointer: &str, keyword: &str, fidelity: Fidelity, what: impl Into<String>) -> DialectLoss {
    DialectLoss { pointer: pointer.to_owned(), keyword: keyword.to_owned(), what: what.into(), fidelity }
}

/// Writes the schema of arguments; nothing when the dialect has none for it.
fn parameters(schema: &Json, dialect: Dialect, losses: &mut Vec<DialectLoss>) -> Option<(Json, Undo)> {
    if let Err(problem) = Graph::new(schema) {
        let pointer = format!("/parameters{}", problem.pointer);
        losses.push(loss(&pointer, "", Fidelity::Refused, problem.message));
        return None;
    }
    let nothing = Map::new();
    let root = schema.as_object().unwrap_or(&nothing);
    if let Some(name) = root.get("type").filter(|name| *name != "object") {
        let what = format!("arguments are an object, not {name}");
        losses.push(loss("/parameters/type", "type", Fidelity::Refused, what));
        return None;
    }
    if dialect == Dialect::Mcp {
        let mut root = root.clone();
        root.entry("type").or_insert_with(|| json!("object"));
        return Some((Json::Object(root), Undo::default()));
    }
    let rules = dialect.rules();
    let unfit: Vec<&str> = rules.not_at_root.iter().copied().filter(|keyword| root.contains_key(*keyword)).collect();
    for keyword in &unfit {
        let what = "the provider takes no such keyword at the top level";
        losses.push(loss(&format!("/parameters/{keyword}"), keyword, Fidelity::Refused, what));
    }
    if !unfit.is_empty() {
        return None;
    }
    let mut converter = Converter::new(schema, rules);
    let written = converter.write_root(root);
    losses.append(&mut converter.losses);
    Some((written, Undo::new(converter.parts)))
}

/// A tool around its schema.
fn wrapped(dialect: Dialect, name: &str, description: &str, parameters: &Json) -> Json {
    match dialect {
        Dialect::Openai => {
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
        }
        Dialect::OpenaiStrict => json!({
            "type": "function",
            "function": {"name": name, "description": description, "parameters": parameters, "strict": true},
        }),
        Dialect::OpenaiResponses => json!({
            "type": "function",
            "name": name,
            "description": description,
            "parameters": parameters,
            "strict": false,
        }),
        Dialect::Anthropic => json!({"name": name, "description": description, "input_schema": parameters}),
        Dialect::AnthropicStrict => {
            json!({"name": name, "description": description, "input_schema": parameters, "strict": true})
        }
        // An object without properties is refused, and a function without parameters says so by silence.
        Dialect::Gemini if parameters["properties"].as_object().is_none_or(Map::is_empty) => {
            json!({"name": name, "description": description})
        }
        Dialect::Gemini => json!({"name": name, "description": description, "parameters": parameters}),
        Dialect::Mcp => json!({"name": name, "description": description, "inputSchema": parameters}),
    }
}

/// What strict modes count in a schema.
#[derive(Default)]
struct Size {
    properties: usize,
    optional: usize,
    unions: usize,
    depth: usize,
    characters: usize,
    values: usize,
    largest_enum: usize,
}

impl Size {
    fn of(schema: &Json) -> Self {
        let mut size = Self::default();
        size.add(schema, 1);
        size
    }

    fn add(&mut self, schema: &Json, depth: usize) {
        self.depth = self.depth.max(depth);
        if schema["type"].is_array() || schema["anyOf"].is_array() {
            self.unions += 1;
        }
        let values = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
        let characters = values.clone().map(|value| value.as_str().map_or(0, |text| text.chars().count())).sum();
        let count = values.count();
        self.values += count;
        self.characters += characters;
        if count > 250 {
            self.largest_enum = self.largest_enum.max(characters);
        }
        let required: HashSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        for (name, below) in schema["properties"].as_object().into_iter().flatten() {
            self.properties += 1;
            self.characters += name.chars().count();
            self.optional += usize::from(!required.contains(&**name));
            self.add(below, depth + 1);
        }
        for (name, below) in schema["$defs"].as_object().into_iter().flatten() {
            self.characters += name.chars().count();
            self.add(below, depth);
        }
        schema["anyOf"].as_array().into_iter().flatten().for_each(|below| self.add(below, depth));
        schema.get("items").into_iter().for_each(|below| self.add(below, depth + 1));
    }
}
