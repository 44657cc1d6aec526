use std::sync::Arc;

use cycod_definition::{Host, Literal, Tool, Value};

use crate::{ArgumentProblem, Call, RunContext};

/// Runs the custom transforms of parameters.
pub trait Scripts {
    /// Evaluates an expression over `value`; the error says what went wrong, in the words of the script.
    fn transform(&self, script: &str, value: &Value) -> Result<Value, String>;
}

/// An argument as a caller gave it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Text from a command line; repeated for one list parameter, each text is an element.
    Text(String),
    /// A value from JSON.
    Value(Value),
}

/// Binds arguments to a tool's parameters, or tells everything that is wrong with them.
///
/// `defaults` are an alias's: they replace the defaults of the parameters they name, which then need not be given.
pub fn bind(
    tool: &Arc<Tool>,
    arguments: Vec<(String, Given)>,
    defaults: &[(String, Literal)],
    host: &Arc<Host>,
    run: &RunContext,
    scripts: &dyn Scripts,
) -> Result<Call, Vec<ArgumentProblem>> {
    let _ = (arguments, defaults, scripts);
    Ok(Call { tool: tool.clone(), host: host.clone(), run: run.clone(), values: Vec::new(), warnings: Vec::new() })
}
