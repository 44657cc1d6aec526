//! What the user changes about tools of a server: `overrides` of its entry.

use std::{borrow::Cow, collections::HashSet, time::Duration};

use cycod_definition::{Level, matches_stars};
use serde_json::{Map, Value, json};

use crate::{
    ServerEntry,
    by_name::{ByName, MOST_PATTERNS, is_pattern},
    entry::{Problem, folded, milliseconds, text},
    secret,
    tree::{Kind, Member, Node, Wrong},
};

/// The keys of an override.
const KEYS: &str = "name, description, default-arguments, fixed-arguments, output-tokens, cache";

/// The fewest tokens of output to which a tool can be limited.
const FEWEST_TOKENS: u64 = 100;

/// What the user changes about a tool of a server, or about all that a pattern stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOverride {
    /// What it is called here, behind the name of its server.
    pub name: Option<String>,
    /// What people and models are told that it does.
    pub description: Option<String>,
    /// Arguments of calls that give no others.
    pub default_arguments: Map<String, Value>,
    /// Arguments of every call. No caller sees or gives them.
    pub fixed_arguments: Map<String, Value>,
    /// The most of its output that a model gets at once, in tokens.
    pub output_tokens: Option<usize>,
    /// How long an answer counts for further calls with the same arguments.
    pub cache: Option<Duration>,
}

impl ToolOverride {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The override as it stands in `mcp.json`.
    pub fn to_json(&self) -> Value {
        let mut all = Map::new();
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                all.insert(key.to_owned(), value);
            }
        };
        let table = |table: &Map<String, Value>| (!table.is_empty()).then(|| Value::Object(table.clone()));
        set("name", self.name.as_ref().map(|name| json!(name)));
        set("description", self.description.as_ref().map(|description| json!(description)));
        set("default-arguments", table(&self.default_arguments));
        set("fixed-arguments", table(&self.fixed_arguments));
        set("output-tokens", self.output_tokens.map(|tokens| json!(tokens)));
        set("cache", self.cache.map(|cache| json!(u64::try_from(cache.as_millis()).unwrap_or(u64::MAX))));
        Value::Object(all)
    }

    /// Takes over what `other`, which is less specific, says besides.
    fn and(mut self, other: &Self) -> Self {
        let add = |own: &mut Map<String, Value>, taken: &Map<String, Value>, more: &Map<String, Value>| {
            for (name, value) in more {
                if !own.contains_key(name) && !taken.contains_key(name) {
                    own.insert(name.clone(), value.clone());
                }
            }
        };
        self.name = self.name.or_else(|| other.name.clone());
        self.description = self.description.or_else(|| other.description.clone());
        add(&mut self.fixed_arguments, &self.default_arguments, &other.fixed_arguments);
        add(&mut self.default_arguments, &self.fixed_arguments, &other.default_arguments);
        self.output_tokens = self.output_tokens.or(other.output_tokens);
        self.cache = self.cache.or(other.cache);
        self
    }

    /// The same with what may be secret hidden.
    pub(crate) fn masked(&self) -> Self {
        let mask = |table: &Map<String, Value>| {
            table.iter().map(|(name, value)| (name.clone(), masked(name, value))).collect::<Map<_, _>>()
        };
        Self {
            default_arguments: mask(&self.default_arguments),
            fixed_arguments: mask(&self.fixed_arguments),
            ..self.clone()
        }
    }
}

fn masked(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(secret::value(name, text).into_owned()),
        Value::Array(items) => items.iter().map(|item| masked(name, item)).collect(),
        Value::Object(table) => {
            Value::Object(table.iter().map(|(name, value)| (name.clone(), masked(name, value))).collect())
        }
        other => other.clone(),
    }
}

/// What the entry of a server says about its tools, by the names that the server gives to them.
///
/// A name comes before patterns, and a pattern with more letters before a shorter one.
#[derive(Clone, Debug)]
pub struct ToolSettings<'a> {
    entry: &'a ServerEntry,
    wanted: Option<ByName<'a, String>>,
    levels: ByName<'a, Level>,
    overrides: ByName<'a, ToolOverride>,
}

impl<'a> ToolSettings<'a> {
    /// What an entry says. One that its user did not write grants no level, and changes no tool.
    pub(crate) fn of(entry: &'a ServerEntry, is_ours: bool) -> Self {
        let wanted = entry.tools.as_ref().map(|tools| ByName::new(tools.iter().map(|tool| (tool.as_str(), tool))));
        let levels = entry.levels.iter().filter(|_| is_ours).map(|(tool, level)| (tool.as_str(), level));
        let overrides = entry.overrides.iter().filter(|_| is_ours).map(|(tool, change)| (tool.as_str(), change));
        Self { entry, wanted, levels: ByName::new(levels), overrides: ByName::new(overrides) }
    }

    /// Whether a tool is used at all.
    pub fn wants(&self, tool: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.all(tool).next().is_some())
    }

    /// The level that the user gives to a tool.
    pub fn level(&self, tool: &str) -> Option<Level> {
        self.levels.all(tool).next().copied()
    }

    /// What the user changes about a tool. Each thing comes from the most specific override that says it.
    pub fn changes(&self, tool: &str) -> ToolOverride {
        self.overrides.all(tool).fold(ToolOverride::default(), ToolOverride::and)
    }

    /// The names and patterns that stand for none of these tools, each with its key.
    pub fn idle(&self, tools: &[&str]) -> Vec<(&'static str, &'a str)> {
        let known: HashSet<&str> = tools.iter().copied().collect();
        let stands = |name: &str| {
            if is_pattern(name) { tools.iter().any(|tool| matches_stars(name, tool)) } else { known.contains(name) }
        };
        let wanted = self.entry.tools.iter().flatten().map(|tool| ("tools", tool.as_str()));
        let levels = self.entry.levels.iter().map(|(tool, _)| ("levels", tool.as_str()));
        let overrides = self.entry.overrides.iter().map(|(tool, _)| ("overrides", tool.as_str()));
        wanted.chain(levels).chain(overrides).filter(|(_, name)| !stands(name)).collect()
    }
}

/// Refuses more patterns than are compared with each tool.
pub(crate) fn few_patterns<'n>(at: usize, names: impl Iterator<Item = &'n str>) -> Result<(), Wrong> {
    if names.filter(|name| is_pattern(name)).count() > MOST_PATTERNS {
        return Err(Wrong::new(at, format!("there are more than {MOST_PATTERNS} patterns")));
    }
    Ok(())
}

/// An override as it was read.
pub(crate) struct Read {
    pub(crate) tool: String,
    pub(crate) change: ToolOverride,
    /// Where its `cache` is.
    cache_at: usize,
}

/// Reads `overrides`.
pub(crate) fn read(node: &Node) -> Result<Vec<Read>, Problem<'_>> {
    let Kind::Table(members) = &node.kind else { return Err(Problem::Type(node, "a table of overrides")) };
    let mut read: Vec<Read> = Vec::new();
    let (mut tools, mut names) = (HashSet::new(), HashSet::new());
    for Member { key, key_span, value, .. } in members {
        if !tools.insert(key.as_str()) {
            return Err(Wrong::new(key_span.start, format!("`{key}` is there twice")).into());
        }
        let one = one(key, value)?;
        if let Some(name) = &one.change.name
            && !names.insert(name.to_ascii_lowercase())
        {
            let why = format!("two tools are called `{name}`; `{key}` is the second");
            return Err(Wrong::new(value.span.start, why).into());
        }
        read.push(one);
    }
    few_patterns(node.span.start, tools.into_iter())?;
    Ok(read)
}

/// Refuses answers that are kept of tools that may change something.
pub(crate) fn check_caches(read: &[Read], levels: &[(String, Level)]) -> Result<(), Wrong> {
    let levels = ByName::new(levels.iter().map(|(tool, level)| (tool.as_str(), level)));
    for one in read.iter().filter(|one| one.change.cache.is_some() && !is_pattern(&one.tool)) {
        if levels.all(&one.tool).next() != Some(&Level::Read) {
            let tool = &one.tool;
            let why = format!(
                "`cache` needs a tool of level read, which `levels` doesn't give to `{tool}`: write \"levels\": {{\"{tool}\": \"read\"}} if calls of it change nothing"
            );
            return Err(Wrong::new(one.cache_at, why));
        }
    }
    Ok(())
}

fn one<'n>(tool: &str, node: &'n Node) -> Result<Read, Problem<'n>> {
    let at = node.span.start;
    let Kind::Table(members) = &node.kind else {
        return Err(Wrong::new(at, format!("the override of `{tool}` needs a table, not {}", node.what())).into());
    };
    let mut read = Read { tool: tool.to_owned(), change: ToolOverride::default(), cache_at: at };
    let change = &mut read.change;
    let mut seen = HashSet::new();
    for Member { key, key_span, value, .. } in members {
        let at = value.span.start;
        if !seen.insert(folded(key)) {
            return Err(Wrong::new(key_span.start, format!("`{key}` is there twice")).into());
        }
        let of_key = |problem: Problem<'n>| match problem {
            Problem::Type(at, what) => {
                Wrong::new(at.span.start, format!("`{key}` needs {what}, not {}", at.what())).into()
            }
            wrong => wrong,
        };
        let of_one = |what: &str| {
            let why = format!("`{key}` is of one tool, and the pattern `{tool}` can stand for several: name {what}");
            if is_pattern(tool) { Err(Problem::Wrong(Wrong::new(key_span.start, why))) } else { Ok(()) }
        };
        match &*folded(key) {
            "name" => {
                of_one("the tool that is called so")?;
                change.name = Some(name(text(value).map_err(of_key)?, at)?);
            }
            "description" => {
                of_one("the tool that it describes")?;
                let said = text(value).map_err(of_key)?;
                if said.trim().is_empty() {
                    return Err(Wrong::new(at, "`description` is empty").into());
                }
                change.description = Some(said);
            }
            "defaultarguments" => change.default_arguments = arguments(value).map_err(of_key)?,
            "fixedarguments" => change.fixed_arguments = arguments(value).map_err(of_key)?,
            "outputtokens" => change.output_tokens = Some(tokens(value).map_err(of_key)?),
            "cache" => {
                let why = "`cache` is a time in milliseconds, at least 1";
                let milliseconds = milliseconds(value, 1).map_err(|problem| match of_key(problem) {
                    Problem::Wrong(wrong) if matches!(value.kind, Kind::Number(_)) => Wrong::new(wrong.at, why).into(),
                    other => other,
                });
                change.cache = Some(Duration::from_millis(milliseconds?));
                read.cache_at = at;
            }
            _ => {
                let near = cycod_diagnostic::closest(key, KEYS.split(", "));
                let help = near.map_or(Cow::Borrowed(KEYS), |near| format!("did you mean `{near}`?").into());
                return Err(Wrong::new(key_span.start, format!("`{key}` is no key of an override: {help}")).into());
            }
        }
    }
    let both = change.fixed_arguments.keys().find(|name| change.default_arguments.contains_key(*name));
    match both {
        Some(both) => Err(Wrong::new(at, format!("`{both}` of `{tool}` can't be fixed and have a default")).into()),
        None => Ok(read),
    }
}

/// What a tool can be called behind the name of its server.
fn name(name: String, at: usize) -> Result<String, Wrong> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || name.len() > 50 || !name.bytes().all(is_part) {
        let shown = name.escape_debug();
        let why = format!("`{shown}` can't name a tool: use letters, digits, `_` and `-`, at most 50");
        return Err(Wrong::new(at, why));
    }
    Ok(name)
}

fn arguments(node: &Node) -> Result<Map<String, Value>, Problem<'_>> {
    let Kind::Table(members) = &node.kind else { return Err(Problem::Type(node, "a table of arguments")) };
    let mut arguments = Map::new();
    for Member { key, key_span, value, .. } in members {
        once(value)?;
        if value.kind == Kind::Null {
            return Err(Wrong::new(value.span.start, format!("`{key}` is null, which is no argument")).into());
        }
        if arguments.insert(key.clone(), value.to_json()).is_some() {
            return Err(Wrong::new(key_span.start, format!("`{key}` is there twice")).into());
        }
    }
    Ok(arguments)
}

/// Refuses a table within an argument that has a key twice: it depends on the reader which one counts.
fn once(node: &Node) -> Result<(), Wrong> {
    match &node.kind {
        Kind::Table(members) => {
            let mut seen = HashSet::new();
            for Member { key, key_span, value, .. } in members {
                if !seen.insert(key) {
                    return Err(Wrong::new(key_span.start, format!("`{key}` is there twice")));
                }
                once(value)?;
            }
            Ok(())
        }
        Kind::List(items) => items.iter().try_for_each(once),
        _ => Ok(()),
    }
}

fn tokens(node: &Node) -> Result<usize, Problem<'_>> {
    let Kind::Number(number) = &node.kind else { return Err(Problem::Type(node, "a number")) };
    let tokens = number.parse::<u64>().ok().filter(|tokens| *tokens >= FEWEST_TOKENS);
    let tokens = tokens.and_then(|tokens| usize::try_from(tokens).ok());
    let why = || format!("`output-tokens` is a whole number from {FEWEST_TOKENS}");
    tokens.ok_or_else(|| Wrong::new(node.span.start, why()).into())
}
