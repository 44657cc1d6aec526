//! What is wrong between a tool and the tools it uses, which no file can know alone.

use std::{collections::HashMap, sync::Arc};

use cycod_engine::{
    Engine,
    catalog::{Entry, ScopeFilter},
    definition::{Tool, document, name_shapes},
    diagnostic::{Code, Diagnostic, SourceFile, Span},
};
use cycod_syntax::yaml::Node;

use crate::shown_path;

/// Holds the tools that `tool` uses against what is here.
pub(crate) fn check(engine: &Engine, tool: &Tool, source: &SourceFile, names: &Names) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = names.lookalike(engine, tool, source).into_iter().collect();
    if tool.uses().is_empty() {
        return found;
    }
    let spots = spots(source);
    for spot in &spots {
        // Naming itself is a cycle, also for a tool that is not here yet.
        let is_itself = spot.tool.eq_ignore_ascii_case(tool.name.as_str());
        if !is_itself && engine.open_tool(&spot.tool, ScopeFilter::Any).is_err() {
            found.push(missing(engine, &spot.tool, spot.span));
        }
    }
    for misuse in engine.misuses(tool) {
        let spot = spots.iter().find(|spot| spot.step == misuse.step && spot.tool == misuse.used);
        let at = spot
            .map(|spot| misuse.argument.as_deref().and_then(|argument| spot.argument(argument)).unwrap_or(spot.span));
        let diagnostic = Diagnostic::error(misuse.code, at.unwrap_or_default(), misuse.why);
        found.push(match misuse.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        });
    }
    // What the library refuses is a missing tool, which is said above, or a cycle.
    if let Err(refusal) = engine.library(tool)
        && refusal.code == Code::ToolCycle
    {
        let at = spots.first().map_or_else(Span::default, |spot| spot.span);
        found.push(Diagnostic::error(Code::ToolCycle, at, refusal.why));
    }
    if let Ok(library) = engine.library(tool)
        && let Err(refusal) = library.site(&Arc::new(tool.clone()))
        && refusal.code == Code::NotForFleet
    {
        let at = spots.first().map_or_else(Span::default, |spot| spot.span);
        let diagnostic = Diagnostic::error(refusal.code, at, refusal.why);
        found.push(diagnostic.help(format!("write `on: fleet` in `{}`, too", tool.name)));
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
        let mut diagnostic = Diagnostic::warning(Code::ConfusableName, spot.unwrap_or_default(), message);
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
        let diagnostic = Diagnostic::warning(Code::UnknownTool, at, format!("tool `{name}` cannot be used"));
        return diagnostic.help(format!("see: cycod validate {}", entry.name));
    }
    let diagnostic = Diagnostic::warning(Code::UnknownTool, at, format!("no tool is called `{name}`"));
    let diagnostic = diagnostic.label("running it fails until there is one");
    match engine.catalog().suggest(name) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => diagnostic,
    }
}

/// Where a file names another tool.
struct Spot {
    step: Option<String>,
    tool: String,
    span: Span,
    arguments: Vec<(String, Span)>,
}

impl Spot {
    fn argument(&self, name: &str) -> Option<Span> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, span)| *span)
    }
}

fn spots(source: &SourceFile) -> Vec<Spot> {
    let mut spots = Vec::new();
    if let Some(root) = document(source) {
        let keys = ["with", "default-parameters", "parameters"];
        spots.extend(spot(&root, None, &["use-tool", "tool", "base-tool"], &keys));
        let steps = root.get("steps").and_then(Node::as_sequence).unwrap_or_default();
        let name = |step: &Node| Some(step.get("name")?.as_scalar()?.text.clone());
        spots.extend(steps.iter().filter_map(|step| spot(step, name(step), &["use-tool", "tool"], &keys[..1])));
    }
    spots
}

fn spot(node: &Node, step: Option<String>, tool: &[&str], arguments: &[&str]) -> Option<Spot> {
    let named = tool.iter().find_map(|key| node.get(key))?;
    let given = arguments.iter().filter_map(|key| node.get(key)?.as_mapping()).flatten();
    let arguments = given.map(|entry| (entry.key.clone(), entry.key_span)).collect();
    Some(Spot { step, tool: named.as_scalar()?.text.clone(), span: named.span, arguments })
}
