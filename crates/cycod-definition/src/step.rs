//! Steps of workflows, and what follows when they fail or are lost.

use std::time::Duration;

use cycod_diagnostic::Span;
use cycod_syntax::{
    condition::Expr,
    template::{Reference, Template},
};

use crate::{Command, Environment, Literal};

/// A step of a workflow.
#[derive(Clone, Debug)]
pub struct Step {
    /// Unique within the tool; `{name.output}` refers to it.
    pub name: String,
    /// What it does.
    pub action: StepAction,
    /// The steps that must have ended before this one starts, by index: from `wait-for`, from references in its
    /// templates and condition, and from the barrier rule. Acyclic, and not closed: a step that must have ended
    /// before one of these need not be listed itself.
    pub after: Vec<usize>,
    /// Whether its author asked to run it beside others.
    pub parallel: bool,
    /// What it runs for, one item after another or several at once.
    pub each: Option<ForEach>,
    /// Runs only when true.
    pub condition: Option<(Expr, String)>,
    /// Whether the workflow goes on when it fails; absent means the tool's `ignore-errors`.
    pub continue_on_error: Option<bool>,
    /// Whether it runs only if another step failed and stopped the workflow.
    pub on_failure: bool,
    /// What follows in a durable run when a crash interrupted it; absent means the tool's.
    pub on_lost: Option<OnLost>,
    /// The labels that a worker must offer to run it on the fleet, in addition to those of the tool.
    pub runs_on: Vec<String>,
    /// How often and how fast to try again.
    pub retry: Option<Retry>,
    /// Run in the step's shell when all tries failed; its result replaces the step's.
    pub fallback: Option<Command>,
    /// What happens to its output.
    pub output: StepOutput,
    /// The limit of one attempt.
    pub timeout: Option<Duration>,
    /// Where it runs.
    pub working_directory: Option<Template>,
    /// What it reads from standard input.
    pub input: Option<Template>,
    /// Added to the tool's environment.
    pub environment: Environment,
    /// Present when its result is used again instead of running it.
    pub cache: Option<Caching>,
    /// The files that the run keeps of it: patterns of paths from where the tool works.
    pub artifacts: Vec<Template>,
}

impl Step {
    /// Every name that the step refers to, in its condition, commands, arguments and settings.
    pub fn references(&self) -> Vec<(&Reference, Span)> {
        let condition = self.condition.iter().flat_map(|(condition, _)| condition.references());
        condition.chain(self.templates().into_iter().flat_map(Template::references)).collect()
    }

    /// Every template in its commands, arguments and settings.
    pub fn templates(&self) -> Vec<&Template> {
        let mut templates: Vec<&Template> = Vec::new();
        self.each.iter().for_each(|each| each.list.collect_templates(&mut templates));
        match &self.action {
            StepAction::Command(command) => templates.extend(command.texts().map(|text| &text.template)),
            StepAction::Use(tool_use) => {
                tool_use.with.iter().for_each(|(_, value)| value.collect_templates(&mut templates));
            }
        }
        templates.extend(self.fallback.iter().flat_map(Command::texts).map(|text| &text.template));
        templates.extend(self.input.iter().chain(&self.working_directory));
        templates.extend(self.environment.variables.iter().map(|(_, value)| value));
        templates.extend(&self.output.masked_values);
        templates.extend(self.cache.iter().flat_map(Caching::templates));
        templates.extend(&self.artifacts);
        if let StreamTarget::File(file) = &self.output.stream_callback {
            templates.push(file);
        }
        templates
    }

    /// The tool this step calls, if it calls one.
    pub fn used_tool(&self) -> Option<&str> {
        match &self.action {
            StepAction::Command(_) => None,
            StepAction::Use(tool_use) => Some(&tool_use.tool),
        }
    }
}

/// `cache` of a step, or of a tool of one command.
#[derive(Clone, Debug, Default)]
pub struct Caching {
    /// The files that decide its result: patterns of paths from the working directory.
    pub inputs: Vec<Template>,
    /// The files that it makes, which come back with its result.
    pub outputs: Vec<Template>,
    /// The variables of the caller that decide its result, beside those that always do.
    pub env: Vec<String>,
}

impl Caching {
    /// Every template in it.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.inputs.iter().chain(&self.outputs)
    }
}

/// `for-each` of a step.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// The items: a list, or one placeholder that gives them.
    pub list: Literal,
    /// How many of them run at once at the most.
    pub max_parallel: usize,
}

impl ForEach {
    /// The most items of one step.
    pub const MOST_ITEMS: usize = 1000;

    /// How one line says it, as in `for-each: {FILES}, 4 at once`, with the number of items where that is known.
    pub fn line(&self, count: Option<usize>) -> String {
        let count = count.or(if let Literal::List(items) = &self.list { Some(items.len()) } else { None });
        let items = match (count, &self.list) {
            (Some(1), _) => "1 item".to_owned(),
            (Some(count), _) => format!("{count} items"),
            (None, Literal::Text(list)) => list.holes().map(ToString::to_string).collect(),
            (None, _) => String::new(),
        };
        match self.max_parallel {
            1 => format!("for-each: {items}"),
            most => format!("for-each: {items}, {most} at once"),
        }
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepAction {
    /// Runs a command.
    Command(Command),
    /// Calls another tool.
    Use(ToolUse),
}

/// `use-tool` with its arguments.
#[derive(Clone, Debug)]
pub struct ToolUse {
    /// The tool's name.
    pub tool: String,
    /// The arguments.
    pub with: Vec<(String, Literal)>,
}

/// `error-handling.retry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How many times to try again after the first run.
    pub attempts: u32,
    /// The first pause.
    pub delay: Duration,
    /// How the pause grows.
    pub backoff: Backoff,
}

/// What follows when a crash interrupted a step of a durable run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLost {
    /// It starts again.
    Retry,
    /// It has failed.
    Fail,
    /// A person decides.
    Ask,
}

/// How the pause between attempts grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backoff {
    /// Doubles, at most 30 s.
    #[default]
    Exponential,
    /// Grows by `delay` each time, at most 30 s.
    Linear,
    /// Stays.
    Fixed,
}

impl Retry {
    /// The pause before retry number `retry` (1 for the first).
    pub fn pause(&self, retry: u32) -> Duration {
        const CAP: Duration = Duration::from_secs(30);
        match self.backoff {
            Backoff::Fixed => self.delay,
            Backoff::Linear => self.delay.saturating_mul(retry).min(CAP.max(self.delay)),
            Backoff::Exponential => {
                self.delay.saturating_mul(2_u32.saturating_pow(retry.saturating_sub(1))).min(CAP.max(self.delay))
            }
        }
    }
}

/// `output` of a step.
#[derive(Clone, Debug)]
pub struct StepOutput {
    /// Keep or pass on.
    pub mode: OutputMode,
    /// How many bytes are kept.
    pub buffer_limit: u64,
    /// Beyond the limit: cut with a marker (true) or fail the step (false).
    pub truncation: bool,
    /// Where a stream goes.
    pub stream_callback: StreamTarget,
    /// Texts that are masked in the output.
    pub masked_values: Vec<Template>,
}

impl Default for StepOutput {
    fn default() -> Self {
        Self {
            mode: OutputMode::Buffer,
            buffer_limit: Self::DEFAULT_LIMIT,
            truncation: true,
            stream_callback: StreamTarget::Console,
            masked_values: Vec::new(),
        }
    }
}

impl StepOutput {
    /// The default of `buffer-limit`: 10 MB, 1024-based.
    pub const DEFAULT_LIMIT: u64 = 10 << 20;

    /// How much is kept of a tool that prints a picture or another file: 64 MB.
    pub const MEDIA_LIMIT: u64 = 64 << 20;
}

/// `output.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputMode {
    /// Kept until the step ends.
    #[default]
    Buffer,
    /// Passed on as it comes, and kept up to the limit.
    Stream,
}

/// `output.stream-callback`.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StreamTarget {
    /// The terminal.
    #[default]
    Console,
    /// `stream-file`.
    File(Template),
    /// The program that embeds the engine.
    Function,
}
