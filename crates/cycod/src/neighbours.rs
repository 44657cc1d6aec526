//! What is wrong between a tool and the tools it uses, which no file can know alone.

use std::collections::HashMap;

use cycod_engine::{
    Engine,
    catalog::{Entry, ScopeFilter},
    definition::{Body, StepAction, Tool, document, name_shapes},
    diagnostic::{Code, Diagnostic, SourceFile, Span, closest},
};
use cycod_syntax::yaml::{Node, NodeKind};

use crate::standing::shown_path;

/// The tool could be taken for another one.
const CONFUSABLE_NAME: Code = Code("confusable-name");
/// No tool has the name; it may come later, so this is a warning.
const UNKNOWN_TOOL: Code = Code("unknown-tool");
/// A tool reaches itself.
const TOOL_CYCLE: Code = Code("tool-cycle");
/// The other tool does not take the argument.
const UNKNOWN_ARGUMENT: Code = Code("unknown-argument");

/// Holds the tools that `tool` uses against what is here.
pub(crate) fn check(engine: &Engine, tool: &Tool, source: &SourceFile, names: &Names) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = names.lookalike(engine, tool, source).into_iter().collect();
    let uses = uses(tool);
    if uses.is_empty() {
        return found;
    }
    let spots = spots(source);
    for (name, arguments) in uses {
        let spot = spots.iter().find(|spot| spot.tool == name && spot.has(&arguments));
        let at = spot.map_or_else(Span::default, |spot| spot.span);
        // Naming itself is a cycle, also for a tool that is not here yet.
        if name.eq_ignore_ascii_case(tool.name.as_str()) {
            continue;
        }
        let Ok(used) = engine.open_tool(name, ScopeFilter::Any) else {
            found.push(missing(engine, name, at));
            continue;
        };
        let used = engine.resulting(used.tool);
        let known = || used.parameters.iter().map(|parameter| parameter.name.as_str());
        for argument in arguments {
            let takes = |name: &&str| name.eq_ignore_ascii_case(argument);
            if known().any(|name| takes(&name)) {
                continue;
            }
            let at = spot.and_then(|spot| spot.argument(argument)).unwrap_or(at);
            let diagnostic = Diagnostic::error(UNKNOWN_ARGUMENT, at, format!("`{name}` takes no `{argument}`"));
            found.push(match closest(argument, known()) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.note(format!("it takes {}", list(known()))),
            });
        }
    }
    // What the library refuses is a missing tool, which is said above, or a cycle.
    if let Err(refusal) = engine.library(tool)
        && refusal.code == TOOL_CYCLE.0
    {
        let at = spots.first().map_or_else(Span::default, |spot| spot.span);
        found.push(Diagnostic::error(TOOL_CYCLE, at, refusal.why));
    }
    found
}

/// Every tool by the shapes of its name, for those that look alike.
pub(crate) struct Names(HashMap<String, Vec<Entry>>);

impl Names {
    /// Of all tools here; made once, however many are looked at.
    pub(crate) fn of(engine: &Engine) -> Self {
        let mut names: HashMap<String, Vec<Entry>> = HashMap::new();
        for entry in engine.catalog().entries() {
            for shape in name_shapes(&entry.name) {
                names.entry(shape).or_default().push(entry.clone());
            }
        }
        Self(names)
    }

    /// Reports a name that looks like another tool's.
    fn lookalike(&self, engine: &Engine, tool: &Tool, source: &SourceFile) -> Option<Diagnostic> {
        let name = tool.name.as_str();
        let alike = name_shapes(name).into_iter().filter_map(|shape| self.0.get(&shape)).flatten();
        let other = alike.into_iter().find(|entry| !entry.name.eq_ignore_ascii_case(name))?;
        let spot = document(source).and_then(|root| Some(root.get("name")?.span));
        let message = format!("the name `{name}` looks like `{}`", other.name);
        let mut diagnostic = Diagnostic::warning(CONFUSABLE_NAME, spot.unwrap_or_default(), message);
        if spot.is_none() {
            diagnostic.labels.clear();
        }
        let place = shown_path(&other.path, engine.host());
        Some(
            diagnostic.note(format!("that one is the {} tool {place}", other.scope)).help("give the tool another name"),
        )
    }
}

fn missing(engine: &Engine, name: &str, at: Span) -> Diagnostic {
    if let Some(entry) = engine.catalog().find(name, ScopeFilter::Any) {
        let diagnostic = Diagnostic::warning(UNKNOWN_TOOL, at, format!("tool `{name}` cannot be used"));
        return diagnostic.help(format!("see: cycod tool validate {}", entry.name));
    }
    let diagnostic = Diagnostic::warning(UNKNOWN_TOOL, at, format!("no tool is called `{name}`"));
    let diagnostic = diagnostic.label("running it fails until there is one");
    match engine.catalog().suggest(name) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// Every use of another tool with the names of its arguments.
fn uses(tool: &Tool) -> Vec<(&str, Vec<&str>)> {
    fn names<T>(arguments: &[(String, T)]) -> Vec<&str> {
        arguments.iter().map(|(name, _)| name.as_str()).collect()
    }
    match &tool.body {
        Body::Command(_) | Body::Handler(_) | Body::BuiltIn(_) | Body::Remote(_) => Vec::new(),
        Body::Use(tool_use) => vec![(&tool_use.tool, names(&tool_use.with))],
        Body::Alias { base, defaults } => vec![(base, names(defaults))],
        Body::Steps(steps) => steps
            .iter()
            .filter_map(|step| match &step.action {
                StepAction::Use(tool_use) => Some((tool_use.tool.as_str(), names(&tool_use.with))),
                StepAction::Command(_) => None,
            })
            .collect(),
    }
}

/// Where a file names another tool.
struct Spot {
    tool: String,
    span: Span,
    arguments: Vec<(String, Span)>,
}

impl Spot {
    fn argument(&self, name: &str) -> Option<Span> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, span)| *span)
    }

    fn has(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.argument(name).is_some())
    }
}

fn spots(source: &SourceFile) -> Vec<Spot> {
    let mut spots = Vec::new();
    if let Some(root) = document(source) {
        spots.extend(spot(&root, &["use-tool", "tool", "base-tool"], &["with", "default-parameters"]));
        let steps = root.get("steps").and_then(Node::as_sequence).unwrap_or_default();
        spots.extend(steps.iter().filter_map(|step| spot(step, &["use-tool", "tool"], &["with"])));
    }
    spots
}

fn spot(node: &Node, tool: &[&str], arguments: &[&str]) -> Option<Spot> {
    let named = tool.iter().find_map(|key| node.get(key))?;
    let given = arguments.iter().find_map(|key| node.get(key)).map(|node| &node.kind);
    let arguments = match given {
        Some(NodeKind::Mapping(entries)) => entries.iter().map(|entry| (entry.key.clone(), entry.key_span)).collect(),
        _ => Vec::new(),
    };
    Some(Spot { tool: named.as_scalar()?.text.clone(), span: named.span, arguments })
}
