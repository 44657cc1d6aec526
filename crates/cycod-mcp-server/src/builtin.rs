//! The server's own tools: runs that nobody waits for, and a look into large outputs.

use std::sync::Arc;

use cycod_engine::outputs::{LOOK, look_function};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value as Json, json};

pub(crate) mod call;

/// How long `run_wait` waits when nobody says, and at most, in milliseconds: clients lose patience after a minute.
const WAIT: u64 = 20_000;
const LONGEST_WAIT: u64 = 50_000;

/// One of the server's own tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Start,
    Status,
    Wait,
    Cancel,
    Output,
}

const ALL: [(&str, Builtin); 5] = [
    ("run_start", Builtin::Start),
    ("run_status", Builtin::Status),
    ("run_wait", Builtin::Wait),
    ("run_cancel", Builtin::Cancel),
    (LOOK, Builtin::Output),
];

impl Builtin {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, builtin)| *builtin)
    }

    fn description(self) -> (String, Json) {
        let run = json!({"type": "string", "description": "What run_start returned"});
        match self {
            Self::Start => (
                "Start a tool that may take long, without waiting for it; returns a run to ask after".to_owned(),
                json!({
                    "type": "object",
                    "properties": {
                        "tool": {"type": "string", "description": "Its name"},
                        "arguments": {"type": "object", "description": "Its arguments"},
                    },
                    "required": ["tool"],
                }),
            ),
            Self::Status => (
                "How far a run is, and its result once it has ended".to_owned(),
                json!({"type": "object", "properties": {"run": run}, "required": ["run"]}),
            ),
            Self::Wait => (
                "Wait until a run has ended, or until the time is over".to_owned(),
                json!({
                    "type": "object",
                    "properties": {
                        "run": run,
                        "timeout_ms": {
                            "type": "integer",
                            "minimum": 0,
                            "default": WAIT,
                            "description": format!("How long to wait, at most {LONGEST_WAIT}"),
                        },
                    },
                    "required": ["run"],
                }),
            ),
            Self::Cancel => (
                "End a run with everything it started".to_owned(),
                json!({"type": "object", "properties": {"run": run}, "required": ["run"]}),
            ),
            Self::Output => {
                let look = look_function();
                (look.description, look.parameters)
            }
        }
    }
}

/// The server's own tools as they are listed; without those for runs where no tool may take long.
pub(crate) fn tools(has_long_ones: bool) -> impl Iterator<Item = Tool> {
    ALL.into_iter().filter(move |(_, builtin)| *builtin == Builtin::Output || has_long_ones).map(|(name, builtin)| {
        let (description, schema) = builtin.description();
        let mut schema = schema.as_object().cloned().unwrap_or_default();
        schema.insert("additionalProperties".to_owned(), Json::Bool(false));
        let mut tool = Tool::new(name, description, Arc::new(schema));
        if matches!(builtin, Builtin::Status | Builtin::Wait | Builtin::Output) {
            tool.annotations = Some(ToolAnnotations::new().read_only(true));
        }
        tool
    })
}
