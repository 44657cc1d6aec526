use std::path::PathBuf;

use cycod_definition::{Level, Loaded, Tool, ToolName, Value, load, load_built_in};
use cycod_diagnostic::{Code, Refusal, SourceFile};
use cycod_run::{BuiltInCall, BuiltIns, How, ToolOutcome, TouchedPath};

use crate::{
    arguments::{Arguments, below},
    failure::Failure,
    git,
    operations::{self, Answer},
};

/// Carries out a tool.
type Operation = fn(&Arguments<'_>, &mut dyn FnMut(&str)) -> Result<Answer, Failure>;

/// The tools, each with its name, its definition and what carries it out.
const TOOLS: [(&str, &str, Operation); 9] = [
    ("file_operations", include_str!("tools/file_operations.yaml"), operations::file_operations),
    ("file_search", include_str!("tools/file_search.yaml"), operations::file_search),
    ("bash_execution", include_str!("tools/bash_execution.yaml"), operations::bash_execution),
    ("git", include_str!("tools/git.yaml"), operations::git),
    ("read_file", include_str!("tools/read_file.yaml"), operations::read_file),
    ("write_file", include_str!("tools/write_file.yaml"), operations::write_file),
    ("list_files", include_str!("tools/list_files.yaml"), operations::list_files),
    ("search_files", include_str!("tools/search_files.yaml"), operations::search_files),
    ("get_context", include_str!("tools/get_context.yaml"), operations::get_context),
];

/// The tools that are functions in a language, with their names, in files as anybody could have written them.
const HANDLERS: [(&str, &str); 2] = [
    ("execute_code", include_str!("tools/execute_code.md")),
    ("describe_data", include_str!("tools/describe_data.md")),
];

/// The tools that come with this program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Toolbox;

impl BuiltIns for Toolbox {
    fn names(&self) -> Vec<ToolName> {
        let names = TOOLS.iter().map(|(name, ..)| name).chain(HANDLERS.iter().map(|(name, _)| name));
        names.filter_map(|name| ToolName::new(name)).collect()
    }

    fn tools(&self) -> Vec<Tool> {
        let read = |loaded: Loaded| {
            debug_assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
            loaded.tool
        };
        let source = |text| SourceFile::new("built-in tool", text);
        let tools = TOOLS.iter().filter_map(|(_, text, _)| read(load_built_in(&source(*text))));
        tools.chain(HANDLERS.iter().filter_map(|(_, text)| read(load(&source(*text), None)))).collect()
    }

    fn level(&self, tool: &Tool, arguments: &[(String, Value)]) -> Option<Level> {
        let argument = |name: &str| arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let Some(Value::Text(operation)) = argument("operation") else { return None };
        let reads = match tool.built_in()?.key().as_str() {
            "file_operations" => operations::only_reads(operation),
            "git" => match argument("args") {
                None => git::only_reads(operation, &[]),
                Some(Value::List(words)) => {
                    git::only_reads(operation, &words.iter().map(Value::to_string).collect::<Vec<_>>())
                }
                Some(_) => false,
            },
            _ => false,
        };
        reads.then_some(Level::Read)
    }

    fn touches(&self, tool: &Tool, arguments: &[(String, Value)]) -> Vec<TouchedPath> {
        let text = |name: &str| match arguments.iter().find(|(known, _)| known == name) {
            Some((_, Value::Text(text))) => Some(text.as_str()),
            _ => None,
        };
        let touch = |parameter, how| {
            text(parameter).map(|path| TouchedPath { parameter, path: below(text("working_dir"), path), how })
        };
        let Some(name) = tool.built_in().map(|name| name.key()) else { return Vec::new() };
        let touched = match name.as_str() {
            "read_file" => vec![touch("filepath", How::Read)],
            "write_file" => vec![touch("filepath", How::Change)],
            "file_operations" => {
                let reads = text("operation").is_some_and(operations::only_reads);
                vec![touch("path", if reads { How::Read } else { How::Change })]
            }
            "file_search" => vec![touch("path", How::Search)],
            "search_files" => vec![touch("directory", How::Search)],
            // The second name is looked at instead of the first, whose default is there all the same.
            "list_files" => {
                let path = text("path").or_else(|| text("directory")).map(PathBuf::from);
                let both = |path: PathBuf| {
                    ["path", "directory"].map(|parameter| TouchedPath {
                        parameter,
                        path: path.clone(),
                        how: How::Search,
                    })
                };
                path.into_iter().flat_map(both).map(Some).collect()
            }
            _ => Vec::new(),
        };
        touched.into_iter().flatten().collect()
    }

    fn call(&self, call: &BuiltInCall<'_>, follow: &mut dyn FnMut(&str)) -> Result<ToolOutcome, Refusal> {
        let is_meant = |(name, ..): &&(&str, &str, Operation)| call.tool.is_built_in(name);
        let Some((.., operation)) = TOOLS.iter().find(is_meant) else {
            return Err(Refusal::new(Code::NotStarted, format!("`{}` is no tool of this program", call.tool.name)));
        };
        match operation(&Arguments::of(call), follow) {
            Ok(Answer { output, structured, is_error }) => {
                Ok(ToolOutcome { output, structured, is_error, ..ToolOutcome::default() })
            }
            Err(Failure::Failed(text)) => {
                Ok(ToolOutcome { error: format!("{text}\n").into_bytes(), is_error: true, ..ToolOutcome::default() })
            }
            Err(Failure::Refused(refusal)) => Err(refusal),
        }
    }
}
