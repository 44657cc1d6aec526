//! The server's own tools: runs that nobody waits for, and a look into large outputs.

use std::{collections::BTreeMap, sync::Arc};

use cycod_engine::outputs::{LOOK, look_function};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value as Json, json};

use crate::finding;

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
    Search,
    Call,
}

const ALL: [(&str, Builtin); 7] = [
    ("run_start", Builtin::Start),
    ("run_status", Builtin::Status),
    ("run_wait", Builtin::Wait),
    ("run_cancel", Builtin::Cancel),
    (LOOK, Builtin::Output),
    (finding::SEARCH, Builtin::Search),
    (finding::CALL, Builtin::Call),
];

impl Builtin {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, builtin)| *builtin)
    }

    fn description(self, searched: Option<&BTreeMap<&str, usize>>) -> (String, Json) {
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
            Self::Search => finding::search_function(searched),
            Self::Call => finding::call_function(),
            Self::Output => {
                let look = look_function();
                (look.description, look.parameters)
            }
        }
    }
}

/// The server's own tools as they are listed: those for runs where a tool may take long, and those for finding tools where
/// some are not listed, by their groups.
pub(crate) fn tools(has_long_ones: bool, searched: Option<&BTreeMap<&str, usize>>) -> impl Iterator<Item = Tool> {
    let is_needed = move |builtin: &Builtin| match builtin {
        Builtin::Output => true,
        Builtin::Search | Builtin::Call => searched.is_some(),
        Builtin::Start | Builtin::Status | Builtin::Wait | Builtin::Cancel => has_long_ones,
    };
    ALL.into_iter().filter(move |(_, builtin)| is_needed(builtin)).map(move |(name, builtin)| {
        let (description, schema) = builtin.description(searched);
        let mut schema = schema.as_object().cloned().unwrap_or_default();
        schema.insert("additionalProperties".to_owned(), Json::Bool(false));
        let mut tool = Tool::new(name, description, Arc::new(schema));
        if matches!(builtin, Builtin::Status | Builtin::Wait | Builtin::Output | Builtin::Search) {
            tool.annotations = Some(ToolAnnotations::new().read_only(true));
        }
        tool
    })
}
