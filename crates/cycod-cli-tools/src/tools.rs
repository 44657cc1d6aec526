//! The nine tools: their definitions, and what carries each out.

use std::path::{Path, PathBuf};

use cycod_definition::{Level, Tool, ToolName, Value, load_built_in};
use cycod_diagnostic::{Code, Refusal, SourceFile};
use cycod_run::{BuiltInCall, BuiltIns, How, Ran, ToolOutcome, TouchedPath, WorkflowCall};
use serde_json::json;

use crate::{
    CliTools,
    answer::{Answer, Failure},
    arguments::Call,
    environment, generate, modules, project, quick, skills, status, workflow_run,
};

/// Carries out a tool; what is worth knowing meanwhile is told a line at a time.
type Operation = fn(&Call<'_>, &mut dyn FnMut(&str)) -> Result<Answer, Failure>;

/// The level of a call by its arguments; nothing where the definition has it.
type LevelOf = fn(&[(String, Value)]) -> Option<Level>;

/// A tool: its name, its definition and what carries it out.
struct Entry {
    name: &'static str,
    definition: &'static str,
    operation: Operation,
    level: LevelOf,
}

impl Entry {
    const fn new(name: &'static str, definition: &'static str, operation: Operation) -> Self {
        Self { name, definition, operation, level: |_| None }
    }

    const fn with_level(self, level: LevelOf) -> Self {
        Self { level, ..self }
    }
}

macro_rules! definition {
    ($name:literal) => {
        include_str!(concat!("definitions/", $name, ".yaml"))
    };
}

/// The tools.
const TOOLS: &[Entry] = &[
    #[cfg(feature = "analysis")]
    Entry::new("cli_analyze_code", definition!("cli_analyze_code"), crate::analyze::analyze_code)
        .with_level(crate::analyze::level),
    Entry::new("cli_check_environment", definition!("cli_check_environment"), environment::check_environment),
    Entry::new("cli_ai_generate", definition!("cli_ai_generate"), generate::generate),
    Entry::new("cli_project_create", definition!("cli_project_create"), project::create_project),
    Entry::new("cli_show_modules", definition!("cli_show_modules"), modules::show_modules),
    Entry::new("cli_show_system_status", definition!("cli_show_system_status"), status::show_system_status),
    Entry::new("cli_skills_search", definition!("cli_skills_search"), skills::skills_search),
    Entry::new("cli_run_quick", definition!("cli_run_quick"), quick::run_quick),
    // What runs in its place has its own level; by itself it only says why nothing does.
    Entry::new(workflow_run::NAME, definition!("cli_workflow_run"), workflow_run::run)
        .with_level(|_| Some(Level::Read)),
];

impl BuiltIns for CliTools {
    fn names(&self) -> Vec<ToolName> {
        TOOLS.iter().filter_map(|entry| ToolName::new(entry.name)).collect()
    }

    fn tools(&self) -> Vec<Tool> {
        let read = |text: &str| {
            let loaded = load_built_in(&SourceFile::new("built-in tool", text));
            debug_assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
            loaded.tool
        };
        TOOLS.iter().filter_map(|entry| read(entry.definition)).collect()
    }

    fn level(&self, tool: &Tool, arguments: &[(String, Value)]) -> Option<Level> {
        let entry = TOOLS.iter().find(|entry| tool.is_built_in(entry.name))?;
        (entry.level)(arguments)
    }

    fn touches(&self, tool: &Tool, arguments: &[(String, Value)]) -> Vec<TouchedPath> {
        let text = |name: &str| match arguments.iter().find(|(known, _)| known == name) {
            Some((_, Value::Text(text))) => Some(Path::new(text)),
            _ => None,
        };
        let touch = |parameter: &'static str, path: PathBuf, how| TouchedPath { parameter, path, how };
        let Some(name) = tool.built_in().map(|name| name.key()) else { return Vec::new() };
        match name.as_str() {
            "cli_project_create" => {
                let parent = text("path").unwrap_or(Path::new(""));
                text("name").map(|name| touch("path", parent.join(name), How::Change)).into_iter().collect()
            }
            "cli_ai_generate" => {
                let output = text("output_path").map(|path| touch("output_path", path.to_owned(), How::Change));
                output.into_iter().collect()
            }
            "cli_analyze_code" => {
                let output = text("output").map(|path| touch("output", path.to_owned(), How::Change));
                text("path").map(|path| touch("path", path.to_owned(), How::Search)).into_iter().chain(output).collect()
            }
            _ => Vec::new(),
        }
    }

    fn workflow(&self, tool: &Tool, arguments: &[(String, Value)]) -> Option<WorkflowCall> {
        if is_workflow_run(tool) { workflow_run::meant(arguments) } else { None }
    }

    fn answer(&self, ran: &Ran<'_>) -> ToolOutcome {
        workflow_run::answer(ran)
    }

    fn call(&self, call: &BuiltInCall<'_>, follow: &mut dyn FnMut(&str)) -> Result<ToolOutcome, Refusal> {
        let Some(entry) = TOOLS.iter().find(|entry| call.tool.is_built_in(entry.name)) else {
            return Err(Refusal::new(Code::NotStarted, format!("`{}` is no tool of this program", call.tool.name)));
        };
        let (answer, is_error) = match (entry.operation)(&Call { tools: self, call }, follow) {
            Ok(answer) => (answer, false),
            Err(Failure::Failed { kind, error, more }) => {
                let mut value = json!({ "success": false, "error": error, "error_type": kind });
                more.into_iter().for_each(|(name, field)| value[name] = field);
                (Answer::from(value), true)
            }
            Err(Failure::Refused(refusal)) => return Err(refusal),
        };
        let output = answer.text.unwrap_or_else(|| format!("{:#}\n", answer.value));
        Ok(ToolOutcome {
            output: output.into_bytes(),
            structured: Some(answer.value),
            is_error,
            ..ToolOutcome::default()
        })
    }
}

fn is_workflow_run(tool: &Tool) -> bool {
    tool.is_built_in(workflow_run::NAME)
}
