use cycod_catalog::ScopeFilter;
use cycod_definition::{Body, Tool};

use crate::Engine;

/// How many aliases may stand for each other.
const MAX_DEPTH: usize = 16;

impl Engine {
    /// Returns what a caller of `tool` meets: an alias has its base's parameters, under its own name and with its own
    /// defaults, which nobody has to give any more.
    ///
    /// The chain may be broken or circular; then the parameters that are known stay.
    pub fn resulting(&self, tool: Tool) -> Tool {
        resolve(self, tool, MAX_DEPTH)
    }
}

fn resolve(engine: &Engine, tool: Tool, depth: usize) -> Tool {
    let Body::Alias { base, defaults } = &tool.body else { return tool };
    let base = match depth.checked_sub(1) {
        Some(depth) => engine.open_tool(base, ScopeFilter::Any).ok().map(|base| resolve(engine, base.tool, depth)),
        None => None,
    };
    let Some(base) = base else { return tool };
    let mut parameters = base.parameters;
    for (name, default) in defaults {
        if let Some(parameter) = parameters.iter_mut().find(|parameter| parameter.name == *name) {
            parameter.default = Some(default.clone());
            parameter.required = false;
        }
    }
    // Its own come last, and replace those of the same name.
    parameters.retain(|parameter| tool.parameter(&parameter.name).is_none());
    parameters.extend(tool.parameters.iter().cloned());
    let description = tool.description.clone().or(base.description);
    Tool { parameters, description, function_calling: base.function_calling, ..tool }
}
