use std::sync::Arc;

use cycod_diagnostic::{Code, Refusal, closest};
use cycod_engine::{
    Engine, Registered, Standing,
    catalog::{Availability, State},
    definition::{Level, Tool, function_schema},
    tokens::{Measure, estimate},
};
use cycod_model::ToolSpec;
use cycod_schema::{Dialect, Exporter, Function, Undo};
use serde_json::{Value as Json, json};

use crate::Preset;

/// Which tools a model may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every tool that models are told of here.
    All,
    /// These, by name.
    Names(Vec<String>),
    /// Those of a group.
    Group(String),
    /// Those for a kind of work.
    Preset(Preset),
}

/// The tools that a model may use, in no provider's words.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    offered: Vec<Offered>,
    untrusted: Vec<String>,
}

/// A tool that a model may use.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The tool as its file defines it.
    pub tool: Arc<Tool>,
    /// How dangerous it is, the tools it uses included.
    pub level: Level,
    /// The group that it is listed under.
    pub group: Option<String>,
    /// What a model is told of it.
    pub function: Function,
    /// The parameters whose values are secret.
    pub(crate) sensitive: Vec<String>,
}

/// A tool in the words of a dialect.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// Its place among the tools.
    pub(crate) at: usize,
    pub(crate) spec: ToolSpec,
    /// What brings arguments back.
    pub(crate) undo: Undo,
    /// What it costs.
    pub(crate) tokens: usize,
}

impl Tools {
    /// Chooses among the tools that models are told of here: those that are on, usable and trusted.
    ///
    /// # Errors
    /// Everything that was named and cannot be used, with the reason.
    pub fn choose(engine: &Engine, choice: &Choice) -> Result<Self, Vec<Refusal>> {
        let registry = engine.registry(Measure::ESTIMATE);
        let is_kept_back = |tool: &&Registered| {
            tool.switch.is_on() && tool.standing.as_ref().is_some_and(|standing| *standing == Standing::Untrusted)
        };
        let untrusted = registry.tools.iter().filter(is_kept_back).map(|tool| tool.entry.name.clone()).collect();
        let mut refused = Vec::new();
        let chosen: Vec<&Registered> = match choice {
            Choice::All => registry.offered().collect(),
            Choice::Preset(preset) => registry.offered().filter(|tool| preset.admits(&tool.entry)).collect(),
            Choice::Group(group) => {
                let of = |tool: &&Registered| {
                    tool.entry.summary.group.as_deref().is_some_and(|of| of.eq_ignore_ascii_case(group))
                };
                let tools: Vec<&Registered> = registry.offered().filter(of).collect();
                if tools.is_empty() {
                    let groups = registry.offered().filter_map(|tool| tool.entry.summary.group.as_deref());
                    let refusal =
                        Refusal::new(Code::UnknownTool, format!("no tool here is of the group `{group}`")).place(group);
                    refused.push(match closest(group, groups) {
                        Some(near) => refusal.attempt(format!("did you mean `{near}`?")),
                        None => refusal.attempt("cycod tool groups"),
                    });
                }
                tools
            }
            Choice::Names(names) => {
                let named = names.iter().filter_map(|name| match registry.find(engine, name) {
                    Ok(tool) if tool.is_offered() => Some(tool),
                    Ok(tool) => {
                        refused.push(not_offered(tool));
                        None
                    }
                    Err(error) => {
                        refused.push(error.into_refusal());
                        None
                    }
                });
                let mut named: Vec<&Registered> = named.collect();
                let mut seen = std::collections::HashSet::new();
                named.retain(|tool| seen.insert(tool.entry.name.to_ascii_lowercase()));
                named
            }
        };
        let mut offered = Vec::new();
        for registered in chosen {
            match registered.entry.load() {
                Ok(opened) => {
                    let resulting = engine.told_to_models(opened.tool.clone());
                    offered.push(Offered {
                        sensitive: sensitive(&resulting),
                        function: Function::from_json(&function_schema(&resulting)),
                        level: registered.entry.level,
                        group: registered.entry.summary.group.clone(),
                        tool: Arc::new(opened.tool),
                    });
                }
                Err(error) => refused.push(cycod_engine::EngineError::from(error).into_refusal()),
            }
        }
        if refused.is_empty() { Ok(Self { offered, untrusted }) } else { Err(refused) }
    }

    /// The tools, in the order in which a model is told of them.
    pub fn offered(&self) -> &[Offered] {
        &self.offered
    }

    /// The names of tools that are on here, and that no model is told of because nobody has trusted them as they are.
    pub fn untrusted(&self) -> &[String] {
        &self.untrusted
    }

    /// The tools in the words of a dialect. What it cannot say is left out, with the reason.
    pub(crate) fn told(&self, dialect: Dialect) -> (Vec<Told>, Vec<String>) {
        let mut exporter = Exporter::new(dialect);
        let mut told = Vec::new();
        let mut left_out = Vec::new();
        for (at, offered) in self.offered.iter().enumerate() {
            let export = exporter.export(&offered.function);
            match export.tool {
                Some(tool) => {
                    let tokens = estimate(&tool.to_string());
                    let description = offered.function.description.clone();
                    let spec = ToolSpec { name: export.name, description, schema: schema_of(&tool) };
                    told.push(Told { at, spec, undo: export.undo, tokens });
                }
                None => {
                    let why = export.losses.iter().map(|loss| loss.what.as_str()).collect::<Vec<_>>().join("; ");
                    left_out.push(format!("the model is not told of `{}`: {why}", offered.tool.name));
                }
            }
        }
        (told, left_out)
    }
}

fn sensitive(tool: &Tool) -> Vec<String> {
    tool.parameters.iter().filter(|parameter| parameter.sensitive).map(|parameter| parameter.name.clone()).collect()
}

/// The schema of the arguments in a tool as a provider takes it.
pub(crate) fn schema_of(tool: &Json) -> Json {
    let function = tool.get("function").unwrap_or(tool);
    let schema = ["parameters", "input_schema", "inputSchema"].iter().find_map(|key| function.get(key));
    schema.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}))
}

/// Why a tool that is there cannot be used by a model.
fn not_offered(tool: &Registered) -> Refusal {
    let name = &tool.entry.name;
    if let Some(cause) = tool.switch.causes.first() {
        let why = format!("`{name}` is turned off by {}", cause.place());
        return Refusal::new(Code::ToolDisabled, why).place(name).attempt(format!("cycod tools enable {name}"));
    }
    if let Some(standing) = tool.standing.as_ref().filter(|standing| **standing != Standing::Trusted) {
        let code = if *standing == Standing::Untrusted { Code::UntrustedTool } else { Code::ToolChanged };
        return Refusal::new(code, format!("`{name}` is {}", standing.name()))
            .place(name)
            .attempt(format!("cycod tool trust {name}"));
    }
    let refusal = match &tool.entry.state {
        State::Broken { problem } => Refusal::new(Code::BrokenTool, format!("`{name}` is broken: {problem}")),
        State::Duplicate { .. } => Refusal::new(Code::BrokenTool, format!("`{name}` is there twice")),
        _ => match tool.entry.availability.if_on() {
            Availability::Unavailable(reasons) => {
                let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                Refusal::new(Code::BrokenTool, format!("`{name}` {}", reasons.join("; ")))
            }
            Availability::Available => Refusal::new(Code::BrokenTool, format!("`{name}` cannot be called")),
        },
    };
    refusal.place(name).attempt(format!("cycod tool validate {name}"))
}
