//! Tools that the program carries out itself, as those who offer them see it.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use cycod_definition::{Level, Tool, ToolName, Value};
use cycod_diagnostic::{Code, Refusal};

use crate::{RunReport, ToolOutcome, ToolPlatform};

/// The tools that this program carries out itself.
pub trait BuiltIns: fmt::Debug + Send + Sync {
    /// What they are called.
    fn names(&self) -> Vec<ToolName>;

    /// What they say about themselves, one of each name.
    fn tools(&self) -> Vec<Tool>;

    /// How dangerous a call of `tool` with these arguments is, where that is less than the tool's own level: one that reads
    /// and writes may be asked to read. Nothing where it is not known for certain.
    ///
    /// The author of the built-in vouches for it: the call must change nothing and start nothing that its level does not allow.
    fn level(&self, _tool: &Tool, _arguments: &[(String, Value)]) -> Option<Level> {
        None
    }

    /// The paths that a call of `tool` with these arguments names, with what becomes of each; relative ones begin where the
    /// tool works.
    fn touches(&self, _tool: &Tool, _arguments: &[(String, Value)]) -> Vec<TouchedPath> {
        Vec::new()
    }

    /// Which workflow a call of `tool` runs in its place; nothing for a tool that does its work itself.
    ///
    /// What is decided, shown, recorded and run is then the workflow, as if it had been called by its own name.
    fn workflow(&self, _tool: &Tool, _arguments: &[(String, Value)]) -> Option<WorkflowCall> {
        None
    }

    /// Writes the answer of a call that ran a workflow.
    fn answer(&self, _ran: &Ran<'_>) -> ToolOutcome {
        ToolOutcome::default()
    }

    /// Carries out a tool, until it is done or [`ToolPlatform::is_over`].
    ///
    /// What is worth knowing while it works goes to `follow`, a line at a time.
    ///
    /// # Errors
    /// A refusal when it cannot be done as asked: something is out of reach, or missing. A tool that did its work and has bad
    /// news to tell is not refused: its outcome is an error.
    fn call(&self, call: &BuiltInCall<'_>, follow: &mut dyn FnMut(&str)) -> Result<ToolOutcome, Refusal>;
}

/// The built-in tools of several: of one name, the first counts.
#[derive(Clone, Debug)]
pub struct Together(pub Vec<Arc<dyn BuiltIns>>);

impl Together {
    /// The built-in that carries out `tool`.
    fn of(&self, tool: &Tool) -> Option<&Arc<dyn BuiltIns>> {
        let name = tool.built_in()?;
        self.0.iter().find(|built_ins| built_ins.names().contains(name))
    }
}

impl BuiltIns for Together {
    fn names(&self) -> Vec<ToolName> {
        self.0.iter().flat_map(|built_ins| built_ins.names()).collect()
    }

    fn tools(&self) -> Vec<Tool> {
        self.0.iter().flat_map(|built_ins| built_ins.tools()).collect()
    }

    fn level(&self, tool: &Tool, arguments: &[(String, Value)]) -> Option<Level> {
        self.of(tool)?.level(tool, arguments)
    }

    fn touches(&self, tool: &Tool, arguments: &[(String, Value)]) -> Vec<TouchedPath> {
        self.of(tool).map(|built_ins| built_ins.touches(tool, arguments)).unwrap_or_default()
    }

    fn workflow(&self, tool: &Tool, arguments: &[(String, Value)]) -> Option<WorkflowCall> {
        self.of(tool)?.workflow(tool, arguments)
    }

    fn answer(&self, ran: &Ran<'_>) -> ToolOutcome {
        self.of(ran.tool).map_or_else(ToolOutcome::default, |built_ins| built_ins.answer(ran))
    }

    fn call(&self, call: &BuiltInCall<'_>, follow: &mut dyn FnMut(&str)) -> Result<ToolOutcome, Refusal> {
        match self.of(call.tool) {
            Some(built_ins) => built_ins.call(call, follow),
            None => Err(Refusal::new(Code::NotStarted, format!("`{}` is no tool of this program", call.tool.name))),
        }
    }
}

/// A path that a call of a built-in tool names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedPath {
    /// The parameter that names it.
    pub parameter: &'static str,
    /// Where it is, as far as the arguments tell.
    pub path: PathBuf,
    /// What becomes of it.
    pub how: How,
}

/// What becomes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is read, or its entries are listed.
    Read,
    /// Everything below it is looked at.
    Search,
    /// It is made, changed or removed.
    Change,
}

/// One call of a built-in tool.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInCall<'a> {
    /// Which tool.
    pub tool: &'a Tool,
    /// Its arguments, as they were bound; absent ones are left out.
    pub arguments: &'a [(String, Value)],
    /// What it may reach.
    pub platform: &'a ToolPlatform<'a>,
    /// Why there is no plan of the workflow that it was to run.
    pub unplanned: Option<&'a Refusal>,
}

impl<'a> BuiltInCall<'a> {
    /// The argument called `name`.
    pub fn argument(&self, name: &str) -> Option<&'a Value> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// A workflow to be run in the place of a built-in tool.
#[derive(Clone, Debug)]
pub struct WorkflowCall {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<(String, Value)>,
    /// Its limit, where the caller gives one.
    pub timeout: Option<Duration>,
    /// Its limit, where neither the caller nor its author gives one.
    pub default_timeout: Duration,
    /// Whether it goes on by itself, and nobody waits for its end.
    pub is_detached: bool,
}

/// A workflow that ran in the place of a built-in tool, or was started to go on by itself.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// The built-in tool.
    pub tool: &'a Tool,
    /// The workflow.
    pub workflow: &'a Tool,
    /// What the run is called.
    pub run: &'a str,
    /// What came of it.
    pub end: RanEnd<'a>,
}

/// What came of a workflow that a built-in tool stands for.
#[derive(Clone, Copy, Debug)]
pub enum RanEnd<'a> {
    /// It ended.
    Ended(&'a RunReport),
    /// It goes on by itself.
    GoesOn {
        /// The way in which it was asked for: `person`, `mcp`, `agent` or `test`.
        surface: &'a str,
    },
}
