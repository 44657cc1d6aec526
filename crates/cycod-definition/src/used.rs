//! What a tool's commands and those of the tools that it uses do with each other's files.
//!
//! A tool is judged alone when its file is read. Where it uses others, what one of them leaves may run in another, so all of them are
//! judged once more as one row of commands, as soon as they are known. A value that a tool is given is then the one that its caller
//! placed in `with`.

use std::sync::Arc;

use cycod_shell::{Judgement, Stage, Verdict};
use cycod_syntax::template::{self, KnownNames, Template};

use crate::{
    Body, CommandText, Interpreter, Literal, ProgramTemplate, Runtime, Step, StepAction, Tool, ToolUse,
    judge::{Asking, Given, Places},
    order::{Order, Place},
    tool::{Reached, When},
};

/// How many tools may use each other in a row, and how many commands are judged together.
const DEEPEST: usize = 8;
const MOST: usize = 500;

/// A value of one step that a later one runs, of which at least one uses another tool.
#[derive(Clone, Debug)]
pub struct Crossing {
    /// The step in which the value stands, if it stands in one.
    pub step: Option<String>,
    /// The argument of `with` in which it stands; of a command, the parameter.
    pub argument: String,
    /// The tool that is given it there, if there is one.
    pub used: Option<String>,
    /// The later step that runs it, and the tool that it uses.
    pub by: Option<(String, String)>,
    /// What that is.
    pub verdict: Verdict,
}

/// Finds what a value becomes in a later command, where one of both is of a tool that this one uses. `find` returns what a name leads
/// to, aliases resolved.
pub fn crossings(tool: &Tool, find: &dyn Fn(&str) -> Option<Arc<Tool>>) -> Vec<Crossing> {
    let Body::Steps(steps) = &tool.body else { return Vec::new() };
    if steps.iter().all(|step| step.used_tool().is_none()) {
        return Vec::new();
    }
    let mut arena = Arena { tools: Vec::new(), uses: Vec::new() };
    for (index, step) in steps.iter().enumerate() {
        if let StepAction::Use(used) = &step.action {
            arena.add(Caller::Itself(index), used, find, 0);
        }
    }
    Row::of(tool, steps, &arena).crossings(steps)
}

/// Who uses a tool.
#[derive(Clone, Copy)]
enum Caller {
    /// The step of the tool that is judged.
    Itself(usize),
    /// Another use, and its step.
    Use(usize),
}

/// A use of a tool.
struct Use {
    caller: Caller,
    /// The tool, by its place.
    tool: usize,
    with: Vec<(String, Literal)>,
    /// Commands that stand for what it does with its arguments.
    texts: Vec<CommandText>,
    /// Those among its arguments that are commands, by their names, with the placeholders of the caller.
    arguments: Vec<(String, CommandText)>,
}

/// The tools that are used, and the uses, each behind that of its caller.
struct Arena {
    tools: Vec<Arc<Tool>>,
    uses: Vec<Use>,
}

impl Arena {
    fn add(&mut self, caller: Caller, used: &ToolUse, find: &dyn Fn(&str) -> Option<Arc<Tool>>, depth: usize) {
        if depth > DEEPEST || self.uses.len() > MOST {
            return;
        }
        let Some(tool) = find(&used.tool).map(|tool| behind_alias(tool, find)) else { return };
        let texts = standing_for(&tool);
        let arguments = commands_among(&tool, &used.with);
        self.tools.push(Arc::clone(&tool));
        let number = self.uses.len();
        self.uses.push(Use { caller, tool: self.tools.len() - 1, with: used.with.clone(), texts, arguments });
        match &tool.body {
            Body::Use(used) => self.add(Caller::Use(number), used, find, depth + 1),
            Body::Steps(steps) => {
                for step in steps {
                    if let StepAction::Use(used) = &step.action {
                        self.add(Caller::Use(number), used, find, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// The step of the tool that is judged which leads to a use.
    fn step(&self, number: usize) -> usize {
        match self.uses[number].caller {
            Caller::Itself(step) => step,
            Caller::Use(caller) => self.step(caller),
        }
    }
}

/// What an alias stands for, with the parameters that it has itself.
fn behind_alias(tool: Arc<Tool>, find: &dyn Fn(&str) -> Option<Arc<Tool>>) -> Arc<Tool> {
    let mut behind = Arc::clone(&tool);
    for _ in 0..DEEPEST {
        let Body::Alias { base, .. } = &behind.body else { break };
        let Some(base) = find(base) else { break };
        behind = base;
    }
    if Arc::ptr_eq(&tool, &behind) {
        return tool;
    }
    Arc::new(Tool { parameters: tool.parameters.clone(), ..Tool::clone(&behind) })
}

/// What a built-in tool does with files, as a command with its parameters.
const BUILT_IN: &[(&str, &[&str], &str)] = &[
    ("write_file", &["content", "filepath"], "printf %s \"{content}\" > \"{filepath}\""),
    ("file_operations", &["content", "replacement", "path"], "printf %s \"{content}\" \"{replacement}\" > \"{path}\""),
    ("cli_ai_generate", &["prompt", "output_path"], "printf %s \"{prompt}\" > \"{output_path}\""),
];

/// Commands that stand for what a tool does that has none.
fn standing_for(tool: &Tool) -> Vec<CommandText> {
    if let Body::Handler(handler) = &tool.body
        && handler.runtime != Runtime::Engine
    {
        // A function is given all values; the code around it writes what it likes.
        let words = vec![handler.runtime.to_string(), "{1}".to_owned()];
        let interpreter = Interpreter::Program(ProgramTemplate { words });
        return vec![CommandText::of(interpreter, Template::text(handler.code.clone()))];
    }
    let text = |interpreter: Interpreter, text: &str, parameters: &[&str]| {
        let parameters = parameters.iter().map(|name| (*name).to_owned()).collect();
        let names = KnownNames { parameters, steps: Vec::new(), has_item: false, is_code: false };
        let (template, _) = template::parse(text, |_| 0, &names);
        CommandText::of(interpreter, template)
    };
    let known = BUILT_IN.iter().filter(|(name, ..)| tool.is_built_in(name));
    known.map(|(_, parameters, command)| text(Interpreter::Bash, command, parameters)).collect()
}

/// The arguments of a use that are program text.
fn commands_among(tool: &Tool, with: &[(String, Literal)]) -> Vec<(String, CommandText)> {
    let texts = with.iter().filter_map(|(name, literal)| {
        let reader = tool.parameters.get(tool.parameter_meant(name)?)?.code_reader()?;
        let text = |template: &Template| (name.clone(), CommandText::of(reader.interpreter(), template.clone()));
        Some(literal.templates().into_iter().map(text).collect::<Vec<_>>())
    });
    texts.flatten().collect()
}

/// One command of the row, and whose it is.
struct Part<'a> {
    asking: Asking<'a>,
    place: Place,
    /// The use that it belongs to; nothing for a command of the tool itself.
    of: Option<usize>,
    step: Option<usize>,
    /// The argument of the use that it is.
    argument: Option<&'a str>,
}

/// All commands, in the order in which they stand.
struct Row<'a> {
    tool: &'a Tool,
    parts: Vec<Part<'a>>,
}

impl<'a> Row<'a> {
    fn of(tool: &'a Tool, steps: &'a [Step], arena: &'a Arena) -> Self {
        let mut row = Self { tool, parts: Vec::new() };
        for (at, (text, reached)) in tool.command_texts().into_iter().enumerate() {
            let step = if let When::Step { index, .. } = reached.when { Some(index) } else { None };
            let asking = Asking::of(tool, text, &reached, None, Given::none());
            row.parts.push(Part { asking, place: reached.when.place(at), of: None, step, argument: None });
        }
        let mut given: Vec<Given<'a>> = Vec::new();
        let mut counts = vec![0; steps.len()];
        for (number, used) in arena.uses.iter().enumerate() {
            let callee: &'a Tool = &arena.tools[used.tool];
            let (caller, of_caller): (&'a Tool, Given<'a>) = match used.caller {
                Caller::Itself(_) => (tool, Given::none()),
                Caller::Use(caller) => (&arena.tools[arena.uses[caller].tool], given[caller].clone()),
            };
            let own = Given::of(callee, &used.with, &Places::given(caller, of_caller.clone()));
            given.push(own.clone());
            let index = arena.step(number);
            let Some(step) = steps.get(index) else { continue };
            let mut add = |mut asking: Asking<'a>, argument: Option<&'a str>| {
                asking.name = format!("step `{}`", step.name);
                let place = Place::Step(index, counts[index]);
                counts[index] += 1;
                row.parts.push(Part { asking, place, of: Some(number), step: Some(index), argument });
            };
            for (argument, text) in &used.arguments {
                let argument = matches!(used.caller, Caller::Itself(_)).then_some(argument.as_str());
                add(Asking::of(caller, text, &Reached::NOTHING, None, of_caller.clone()), argument);
            }
            for text in &used.texts {
                add(Asking::of(callee, text, &Reached::NOTHING, None, own.clone()), None);
            }
            for (text, reached) in callee.command_texts() {
                if !matches!(reached.when, When::Tested(_)) {
                    add(Asking::of(callee, text, &reached, None, own.clone()), None);
                }
            }
        }
        row.parts.truncate(MOST);
        row
    }

    fn crossings(&self, steps: &[Step]) -> Vec<Crossing> {
        let places: Vec<Place> = self.parts.iter().map(|part| part.place).collect();
        let order = Order::of(self.tool, &places);
        let stages: Vec<Stage<'_>> = order.sorted.iter().map(|&at| self.parts[at].asking.stage()).collect();
        let judged = cycod_shell::judge_together(&stages, order.is_parallel, &|a, b| order.is_before(a, b));
        let mut found: Vec<Crossing> = Vec::new();
        for (&at, judged) in order.sorted.iter().zip(&judged) {
            self.of_part(at, judged, &order, steps, &mut found);
        }
        found
    }

    fn of_part(&self, at: usize, judged: &Judgement, order: &Order<'_>, steps: &[Step], found: &mut Vec<Crossing>) {
        let part = &self.parts[at];
        let names = part.asking.names_of_holes();
        for ((name, argument), crossing) in names.into_iter().zip(&judged.crossing) {
            let Some((by, verdict)) = crossing.as_ref().filter(|(_, verdict)| !verdict.is_placeable()) else {
                continue;
            };
            let Some(later) = order.sorted.get(*by).and_then(|by| self.parts.get(*by)) else { continue };
            // What is of one tool alone, that tool is refused for.
            if later.of == part.of {
                continue;
            }
            let step = part.step.and_then(|step| steps.get(step));
            let argument = part.argument.or(argument).unwrap_or(name).to_owned();
            let tool_of = |part: &Part<'_>| part.of.and_then(|_| steps.get(part.step?)?.used_tool().map(str::to_owned));
            let by = later.step.and_then(|step| steps.get(step)).zip(tool_of(later));
            let crossing = Crossing {
                step: step.map(|step| step.name.clone()),
                argument,
                used: tool_of(part),
                by: by.map(|(step, tool)| (step.name.clone(), tool)),
                verdict: verdict.clone(),
            };
            let is_known = |known: &Crossing| known.step == crossing.step && known.argument == crossing.argument;
            if !found.iter().any(is_known) {
                found.push(crossing);
            }
        }
    }
}
