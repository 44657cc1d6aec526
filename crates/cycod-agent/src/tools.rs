//! The tools that a model may use, and how a provider learns of them.

use std::sync::Arc;

use cycod_diagnostic::Refusal;
use cycod_engine::{
    AnyOf, Engine, Registered, Selection, Standing,
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
        let chosen: Vec<&Registered> = match choice {
            Choice::Preset(preset) => {
                let selections = preset.selections();
                let is_meant = |tool: &&Registered| selections.iter().any(|meant| meant.admits(&tool.entry));
                registry.offered().filter(is_meant).collect()
            }
            Choice::All => registry.choose(engine, &Selection { built_in: true, ..Selection::default() })?,
            Choice::Group(group) => {
                let groups = AnyOf(vec![group.clone()]);
                registry.choose(engine, &Selection { groups, built_in: true, ..Selection::default() })?
            }
            Choice::Names(names) => {
                registry.choose(engine, &Selection { names: Some(names.clone()), ..Selection::default() })?
            }
        };
        let mut refused = Vec::new();
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
                    left_out.push(format!("the model cannot see `{}`: {why}", offered.tool.name));
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
