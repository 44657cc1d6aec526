use cycod_catalog::ScopeFilter;
use cycod_definition::{Body, Tool};
use cycod_plan::standing_for;

use crate::Engine;

/// How many aliases may stand for each other.
const MAX_DEPTH: usize = 16;

impl Engine {
    /// Returns what a caller of `tool` meets: the parameters of an alias are its base's, with the alias's own
    /// defaults. What it does is not looked at, so its body stays as it is.
    ///
    /// The chain may be broken or circular; then the parameters that are known stay.
    pub fn resulting(&self, tool: Tool) -> Tool {
        resolve(self, tool, MAX_DEPTH)
    }
}

fn resolve(engine: &Engine, tool: Tool, depth: usize) -> Tool {
    let Body::Alias { base, .. } = &tool.body else { return tool };
    let base = match depth.checked_sub(1) {
        Some(depth) => engine.open_tool(base, ScopeFilter::Any).ok().map(|base| resolve(engine, base.tool, depth)),
        None => None,
    };
    let Some(base) = base else { return tool };
    let merged = standing_for(&tool, base);
    Tool {
        parameters: merged.parameters,
        description: merged.description,
        function_calling: merged.function_calling,
        timeout: merged.timeout,
        group: merged.group,
        input_schema: merged.input_schema,
        returns: merged.returns,
        produces: merged.produces,
        rank: merged.rank,
        hints: merged.hints,
        asks: merged.asks,
        reports: merged.reports,
        task: merged.task,
        ..tool
    }
}
