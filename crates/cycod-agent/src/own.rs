//! The tools of the loop itself: a look into an output that was left out, and a search among tools that the model was not told of.

use cycod_diagnostic::{Code, Refusal};
use cycod_engine::outputs;
use cycod_model::ToolSpec;
use cycod_schema::{Dialect, Exporter, Function};
use cycod_search::{Described, Index};
use serde_json::{Map, Value as Json, json};

use crate::{
    Tools,
    prompt::parameters,
    tools::{Told, schema_of},
};

/// How many tools a search finds when nobody says.
const FOUND: usize = 5;

/// How many it finds at most.
const MOST_FOUND: usize = 20;

/// A tool of the loop itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// Looks into an output.
    Output,
    /// Finds tools.
    Search,
}

impl Own {
    pub(crate) const ALL: [Self; 2] = [Self::Output, Self::Search];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Output => outputs::LOOK,
            Self::Search => "search_tools",
        }
    }

    fn function(self) -> Function {
        match self {
            Self::Output => outputs::look_function(),
            Self::Search => Function {
                name: self.name().to_owned(),
                description:
                    "Find tools by what they do. You have more tools than are listed; you can call those that are found from then on"
                        .to_owned(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "query": {"type": "string", "description": "Words for what you want to do"},
                        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": FOUND, "description": "How many"},
                    },
                    "required": ["query"],
                }),
            },
        }
    }

    /// The tool in the words of a dialect; nothing when it cannot say it.
    pub(crate) fn spec(self, dialect: Dialect) -> Option<ToolSpec> {
        let function = self.function();
        let export = Exporter::new(dialect.lenient()).export(&function);
        Some(ToolSpec { name: export.name, description: function.description, schema: schema_of(&export.tool?) })
    }
}

/// Finds tools by words; the best first, by their places in `told`.
pub(crate) fn search(tools: &Tools, told: &[Told], arguments: &Map<String, Json>) -> Result<Vec<usize>, Refusal> {
    let wrong = |code, why: &str| {
        Err(Refusal::new(code, why).place("query").attempt("{\"query\": \"words for what you want to do\"}"))
    };
    let query = match arguments.get("query") {
        Some(Json::String(query)) if !query.trim().is_empty() => query,
        Some(Json::String(_)) => return wrong(Code::InvalidArgument, "`query` is empty"),
        Some(_) => return wrong(Code::WrongArgumentType, "`query` is a text"),
        None => return wrong(Code::MissingArgument, "`query` is missing"),
    };
    let limit = match arguments.get("limit") {
        None | Some(Json::Null) => FOUND,
        Some(limit) => match limit.as_u64().and_then(|limit| usize::try_from(limit).ok()) {
            Some(limit @ 1..=MOST_FOUND) => limit,
            _ => {
                return Err(Refusal::new(Code::OutOfRange, format!("`limit` is a number from 1 to {MOST_FOUND}"))
                    .place("limit")
                    .attempt(format!("{{\"limit\": {FOUND}}}")));
            }
        },
    };
    let offered = |told: &Told| &tools.offered()[told.at];
    let parameters: Vec<String> = told.iter().map(|told| parameters(&told.spec)).collect();
    let index = Index::new(told.iter().zip(&parameters).map(|(told, parameters)| {
        let offered = offered(told);
        Described {
            name: &offered.function.name,
            group: offered.group.as_deref().unwrap_or_default(),
            description: &offered.function.description,
            keywords: "",
            parameters,
        }
    }));
    Ok(index.find(query, limit))
}

/// What a search tells the model.
pub(crate) fn found_text(told: &[Told], found: &[usize]) -> String {
    if found.is_empty() {
        return "no tool fits; try other words".to_owned();
    }
    let tool = |at: &usize| {
        let spec = &told[*at].spec;
        json!({"name": spec.name, "description": spec.description, "parameters": spec.schema})
    };
    json!({"tools": found.iter().map(tool).collect::<Vec<_>>()}).to_string()
}
