//! The nine tools: their definitions, and what carries each out.

use std::path::{Path, PathBuf};

use cycod_definition::{Level, Tool, ToolName, Value, load_built_in};
use cycod_diagnostic::{Code, Refusal, SourceFile};
use cycod_run::{BuiltInCall, BuiltIns, How, Outcome, Ran, Touch, WorkflowCall};
use serde_json::json;

use crate::{
    CliTools, analyze,
    answer::{Answer, Failure},
    arguments::Call,
    environment, generate, modules, project, quick, skills, status, workflow_run,
};

/// Carries out a tool; what is worth knowing meanwhile is told a line at a time.
type Operation = fn(&Call<'_>, &mut dyn FnMut(&str)) -> Result<Answer, Failure>;

/// The tools, each with its name, its definition and what carries it out.
const TOOLS: &[(&str, &str, Operation)] = &[
    ("cli_analyze_code", include_str!("definitions/cli_analyze_code.yaml"), analyze::analyze_code),
    ("cli_check_environment", include_str!("definitions/cli_check_environment.yaml"), environment::check_environment),
    ("cli_ai_generate", include_str!("definitions/cli_ai_generate.yaml"), generate::generate),
    ("cli_project_create", include_str!("definitions/cli_project_create.yaml"), project::create_project),
    ("cli_show_modules", include_str!("definitions/cli_show_modules.yaml"), modules::show_modules),
    ("cli_show_system_status", include_str!("definitions/cli_show_system_status.yaml"), status::show_system_status),
    ("cli_skills_search", include_str!("definitions/cli_skills_search.yaml"), skills::skills_search),
    ("cli_run_quick", include_str!("definitions/cli_run_quick.yaml"), quick::run_quick),
    (workflow_run::NAME, include_str!("definitions/cli_workflow_run.yaml"), workflow_run::run),
];

impl BuiltIns for CliTools {
    fn names(&self) -> Vec<ToolName> {
        TOOLS.iter().filter_map(|(name, ..)| ToolName::new(name)).collect()
    }

    fn tools(&self) -> Vec<Tool> {
        let read = |text: &str| {
            let loaded = load_built_in(&SourceFile::new("built-in tool", text));
            debug_assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
            loaded.tool
        };
        TOOLS.iter().filter_map(|(_, text, _)| read(text)).collect()
    }

    fn level(&self, tool: &Tool, arguments: &[(String, Value)]) -> Option<Level> {
        let argument = |name: &str| arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        match tool.built_in()?.key().as_str() {
            "cli_analyze_code" => analyze::level(&argument),
            // What runs in its place has its own level; by itself it only says why nothing does.
            _ => is_workflow_run(tool).then_some(Level::Read),
        }
    }

    fn touches(&self, tool: &Tool, arguments: &[(String, Value)]) -> Vec<Touch> {
        let text = |name: &str| match arguments.iter().find(|(known, _)| known == name) {
            Some((_, Value::Text(text))) => Some(Path::new(text)),
            _ => None,
        };
        let touch = |parameter: &'static str, path: PathBuf, how| Touch { parameter, path, how };
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

    fn answer(&self, ran: &Ran<'_>) -> Outcome {
        workflow_run::answer(ran)
    }

    fn call(&self, call: &BuiltInCall<'_>, follow: &mut dyn FnMut(&str)) -> Result<Outcome, Refusal> {
        let is_meant = |(name, ..): &&(&str, &str, Operation)| call.tool.is_built_in(name);
        let Some((.., operation)) = TOOLS.iter().find(is_meant) else {
            return Err(Refusal::new(Code::NotStarted, format!("`{}` is no tool of this program", call.tool.name)));
        };
        let (answer, is_error) = match operation(&Call { tools: self, call }, follow) {
            Ok(answer) => (answer, false),
            Err(Failure::Failed { kind, error, more }) => {
                let mut value = json!({ "success": false, "error": error, "error_type": kind });
                more.into_iter().for_each(|(name, field)| value[name] = field);
                (Answer::from(value), true)
            }
            Err(Failure::Refused(refusal)) => return Err(refusal),
        };
        let output = answer.text.unwrap_or_else(|| format!("{:#}\n", answer.value));
        Ok(Outcome { output: output.into_bytes(), structured: Some(answer.value), is_error, ..Outcome::default() })
    }
}

fn is_workflow_run(tool: &Tool) -> bool {
    tool.is_built_in(workflow_run::NAME)
}
