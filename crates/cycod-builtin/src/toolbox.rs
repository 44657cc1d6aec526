use cycod_definition::{Loaded, Tool, load, load_built_in};
use cycod_diagnostic::{Refusal, SourceFile};
use cycod_run::{BuiltInCall, BuiltIns, Outcome};

use crate::{
    arguments::Arguments,
    failure::Failure,
    operations::{self, Answer},
};

/// Carries out a tool.
type Operation = fn(&Arguments<'_>, &mut dyn FnMut(&str)) -> Result<Answer, Failure>;

/// The tools, each with its definition and what carries it out.
const TOOLS: [(&str, Operation); 9] = [
    (include_str!("tools/file_operations.yaml"), operations::file_operations),
    (include_str!("tools/file_search.yaml"), operations::file_search),
    (include_str!("tools/bash_execution.yaml"), operations::bash_execution),
    (include_str!("tools/git.yaml"), operations::git),
    (include_str!("tools/read_file.yaml"), operations::read_file),
    (include_str!("tools/write_file.yaml"), operations::write_file),
    (include_str!("tools/list_files.yaml"), operations::list_files),
    (include_str!("tools/search_files.yaml"), operations::search_files),
    (include_str!("tools/get_context.yaml"), operations::get_context),
];

/// The tools that are functions in a language, in files as anybody could have written them.
const HANDLERS: [&str; 2] = [include_str!("tools/execute_code.md"), include_str!("tools/describe_data.md")];

/// The tools that come with this program.
#[derive(Debug)]
pub struct Toolbox {
    tools: Vec<(Tool, Operation)>,
    handlers: Vec<Tool>,
}

impl Toolbox {
    /// Reads the definitions.
    pub fn new() -> Self {
        let read = |loaded: Loaded| {
            debug_assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
            loaded.tool
        };
        let source = |text| SourceFile::new("built-in tool", text);
        let tool = |(text, operation)| Some((read(load_built_in(&source(text)))?, operation));
        let handler = |text| read(load(&source(text), None));
        Self {
            tools: TOOLS.into_iter().filter_map(tool).collect(),
            handlers: HANDLERS.into_iter().filter_map(handler).collect(),
        }
    }

    /// What the tools say about themselves.
    pub fn tools(&self) -> impl Iterator<Item = Tool> {
        self.tools.iter().map(|(tool, _)| tool).chain(&self.handlers).cloned()
    }
}

impl Default for Toolbox {
    fn default() -> Self {
        Self::new()
    }
}

impl BuiltIns for Toolbox {
    fn call(&self, call: &BuiltInCall<'_>, follow: &mut dyn FnMut(&str)) -> Result<Outcome, Refusal> {
        let Some((_, operation)) = self.tools.iter().find(|(tool, _)| tool.name == call.tool.name) else {
            return Err(Refusal::new("not-started", format!("`{}` is no tool of this program", call.tool.name)));
        };
        match operation(&Arguments::of(call), follow) {
            Ok(Answer { output, structured, is_error }) => {
                Ok(Outcome { output, structured, is_error, ..Outcome::default() })
            }
            Err(Failure::Failed(text)) => {
                Ok(Outcome { error: format!("{text}\n").into_bytes(), is_error: true, ..Outcome::default() })
            }
            Err(Failure::Refused(refusal)) => Err(refusal),
        }
    }
}
