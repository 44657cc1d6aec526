//! What a client gets in place of a list that would cost its model too much: the tools that are used most, and a search for the
//! others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cycod_engine::{
    Engine,
    diagnostic::{Code, Refusal, visible},
};
use cycod_search::{Described, Index};
use cycod_store::Filter;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, JsonObject, Tool};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// The tool that finds tools, and the one that calls what it found where a host calls only what is listed.
pub(crate) const SEARCH: &str = "tools_search";
pub(crate) const CALL: &str = "tools_call";

/// How many tools a search finds when nobody says, and at most.
const FOUND: usize = 8;
const MOST_FOUND: usize = 20;

/// The part of the budget that a list may use which leaves tools out.
const SHARE: usize = 10;

/// How many of the newest runs tell which tools are used most.
const RUNS: usize = 1_000;

/// The most groups that the search names, and the most bytes of a group's name.
const MOST_GROUPS: usize = 40;
const LONGEST_GROUP: usize = 40;

/// Clients that search long lists themselves, by the names that they give themselves.
const SEARCH_THEMSELVES: [&str; 2] = ["claude-code", "codex-mcp-client"];

/// Whether a client puts a long list of tools before its model only in parts.
pub(crate) fn searches_itself(client: &str) -> bool {
    SEARCH_THEMSELVES.contains(&client)
}

/// What a list costs a model, in tokens of about four characters.
fn cost(tool: &Tool) -> usize {
    serde_json::to_string(tool).map_or(0, |text| text.len().div_ceil(4))
}

/// Takes what a tool costs from what is left, if that is enough.
fn spend(left: &mut usize, tool: &Tool) -> bool {
    let rest = left.checked_sub(cost(tool));
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// The tools that a list within a budget leaves out, by name: none when all of them fit, else all but those that are used
/// most.
pub(crate) fn left_out(tools: &[Tool], engine: &Engine, budget: usize) -> BTreeSet<String> {
    let mut left = budget;
    if tools.iter().all(|tool| spend(&mut left, tool)) {
        return BTreeSet::new();
    }
    let uses = uses(engine);
    let uses_of = |at: usize| uses.get(&*tools[at].name).copied().unwrap_or(0);
    let mut order: Vec<usize> = (0..tools.len()).filter(|at| uses_of(*at) > 0).collect();
    order.sort_by_key(|at| std::cmp::Reverse(uses_of(*at)));
    let mut left = budget / SHARE;
    let listed: BTreeSet<usize> = order.into_iter().take_while(|at| spend(&mut left, &tools[*at])).collect();
    tools.iter().enumerate().filter(|(at, _)| !listed.contains(at)).map(|(_, tool)| tool.name.to_string()).collect()
}

/// How often each tool was called lately.
fn uses(engine: &Engine) -> HashMap<String, usize> {
    let mut uses = HashMap::new();
    if let Some(history) = engine.history() {
        // Without a history, no tool is used more than another.
        _ = history.each_run(&Filter { limit: RUNS, ..Filter::default() }, &mut |run| {
            *uses.entry(run.tool).or_default() += 1;
            true
        });
    }
    uses
}

/// What the search says of itself: how many tools there are beside those that are listed, and in which groups.
pub(crate) fn search_function(groups: Option<&BTreeMap<&str, usize>>) -> (String, Json) {
    let groups = || groups.into_iter().flatten();
    let total: usize = groups().map(|(_, count)| count).sum();
    let mut names: Vec<String> = groups()
        .filter(|(group, _)| group.len() <= LONGEST_GROUP)
        .map(|(group, count)| format!("{} ({count})", visible(group)))
        .collect();
    let is_cut = names.len() > MOST_GROUPS;
    names.truncate(MOST_GROUPS);
    let more = if is_cut { ", …" } else { "" };
    let description = format!(
        "Find tools by what they do. {total} tools are not listed: {}{more}. You can call what is found by its name, or with \
         {CALL} if you can't",
        names.join(", ")
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words for what you want to do"},
            "limit": {
                "type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": FOUND, "description": "The most tools to return",
            },
        },
        "required": ["query"],
    });
    (description, schema)
}

/// What the tool says of itself that calls others.
pub(crate) fn call_function() -> (String, Json) {
    let schema = json!({
        "type": "object",
        "properties": {
            "tool": {"type": "string", "description": format!("A name that {SEARCH} returned")},
            "arguments": {"type": "object", "description": "Its arguments, as its inputSchema says"},
        },
        "required": ["tool"],
    });
    (format!("Call a tool that {SEARCH} found"), schema)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    query: String,
    limit: Option<usize>,
}

/// Makes the tools searchable.
pub(crate) fn index(tools: &[Tool], groups: &BTreeMap<String, String>) -> Index {
    let parameters: Vec<String> = tools.iter().map(parameters).collect();
    Index::new(tools.iter().zip(&parameters).map(|(tool, parameters)| Described {
        name: &tool.name,
        group: groups.get(&*tool.name).map_or("", String::as_str),
        description: tool.description.as_deref().unwrap_or_default(),
        keywords: tool.title.as_deref().unwrap_or_default(),
        parameters,
    }))
}

fn parameters(tool: &Tool) -> String {
    let properties = tool.input_schema.get("properties").and_then(Json::as_object);
    properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
}

/// Finds tools. Returns what the model is told, and the names.
///
/// # Errors
/// When the arguments are wrong.
pub(crate) fn search(
    tools: &[Tool],
    index: &Index,
    arguments: JsonObject,
) -> Result<(CallToolResult, Vec<String>), Refusal> {
    let wrong = |why: String| {
        Refusal::new(Code::InvalidArgument, why).attempt("{\"query\": \"words for what you want to do\"}")
    };
    let wanted: Wanted = serde_json::from_value(Json::Object(arguments)).map_err(|error| wrong(error.to_string()))?;
    if wanted.query.trim().is_empty() {
        return Err(wrong("`query` is empty".to_owned()));
    }
    let limit = wanted.limit.unwrap_or(FOUND);
    if !(1..=MOST_FOUND).contains(&limit) {
        let why = format!("`limit` is {limit}, and must be from 1 to {MOST_FOUND}");
        return Err(Refusal::new(Code::OutOfRange, why).place("limit").attempt(format!("{{\"limit\": {FOUND}}}")));
    }
    let found: Vec<&Tool> = index.find(&wanted.query, limit).into_iter().map(|at| &tools[at]).collect();
    let described =
        |tool: &&Tool| json!({"name": tool.name, "description": tool.description, "inputSchema": &*tool.input_schema});
    let mut answer = json!({"tools": found.iter().map(described).collect::<Vec<_>>()});
    if found.is_empty() {
        answer["next"] = "no tool fits; search again with other words".into();
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.to_string())]);
    result.structured_content = Some(answer);
    Ok((result, found.iter().map(|tool| tool.name.to_string()).collect()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inner {
    tool: String,
    #[serde(default)]
    arguments: JsonObject,
}

/// The call that a call of [`CALL`] asks for.
///
/// # Errors
/// When the arguments are wrong.
pub(crate) fn inner(mut request: CallToolRequestParams) -> Result<CallToolRequestParams, Refusal> {
    let arguments = request.arguments.take().unwrap_or_default();
    let inner: Inner = serde_json::from_value(Json::Object(arguments)).map_err(|error| {
        Refusal::new(Code::InvalidArgument, error.to_string()).attempt("{\"tool\": \"NAME\", \"arguments\": {}}")
    })?;
    request.name = inner.tool.into();
    request.arguments = Some(inner.arguments);
    Ok(request)
}
