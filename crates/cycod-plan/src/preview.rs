//! A plan as a dry run shows it.

use std::borrow::Cow;

use cycod_call::{StepValue, Steps, TransformRunner};
use cycod_definition::{Cleanup, CommandText, ToolUse, Value};
use cycod_diagnostic::Refusal;
use cycod_syntax::template::{ITEM, Reference, StepAttribute};

use crate::{Plan, PlannedAction, PlannedStep, plan::text_for, secrets::Masked};

/// A plan as a dry run shows it: every step with its command.
#[derive(Clone, Debug)]
pub struct Preview {
    /// The tool.
    pub tool: String,
    /// What its programs are held to, a line each; of a tool that is held to nothing, that it reaches everything.
    pub reach: Vec<String>,
    /// Every step, in source order.
    pub steps: Vec<StepPreview>,
    /// Commands that run at the end, whatever happens.
    pub cleanup: Vec<String>,
}

/// A step as a dry run shows it.
#[derive(Clone, Debug)]
pub struct StepPreview {
    /// Its name.
    pub name: String,
    /// The names of the steps it waits for.
    pub after: Vec<String>,
    /// Its condition, as written.
    pub condition: Option<String>,
    /// Whether it runs only if another step failed.
    pub on_failure: bool,
    /// What it executes, secrets masked, or why it cannot; `{step.output}` stands where a result is not known yet.
    pub command: Result<String, Refusal>,
    /// What it executes when all tries failed.
    pub fallback: Option<Result<String, Refusal>>,
    /// The plan of the tool it calls.
    pub nested: Option<Box<Preview>>,
}

/// The results of steps that have not run.
struct NotYet;

impl Steps for NotYet {
    fn value(&self, _step: &str, _attribute: StepAttribute) -> StepValue {
        StepValue::Later
    }

    fn item(&self) -> StepValue {
        StepValue::Later
    }
}

/// An item that is known before anything runs, and the results of steps that have not run.
struct OfItem<'a, S>(&'a Value, S);

impl<S: Steps> Steps for OfItem<'_, S> {
    fn value(&self, step: &str, attribute: StepAttribute) -> StepValue {
        self.1.value(step, attribute)
    }

    fn item(&self) -> StepValue {
        StepValue::Known(self.0.clone())
    }
}

/// The same in a text: the placeholder itself stands for its value. Its braces mean something to some programs, which would refuse
/// it, so until it is shown, there are characters in their place that mean nothing to any.
struct AsWritten;

const OPEN: char = '\u{f8f0}';
const CLOSE: char = '\u{f8f1}';

fn written(text: &str) -> String {
    text.replace(OPEN, "{").replace(CLOSE, "}")
}

impl Steps for AsWritten {
    fn value(&self, step: &str, attribute: StepAttribute) -> StepValue {
        StepValue::Known(Value::Text(format!("{OPEN}{step}.{}{CLOSE}", attribute.name())))
    }

    fn item(&self) -> StepValue {
        StepValue::Known(Value::Text(format!("{OPEN}{ITEM}{CLOSE}")))
    }
}

impl Plan {
    /// Shows every step without running anything.
    pub fn preview(&self, scripts: &dyn TransformRunner) -> Preview {
        let plan = self.with_secrets(&Masked).unwrap_or(Cow::Borrowed(self));
        let cleanup = plan.cleanup.iter().filter_map(|action| plan.cleanup_text(action)).collect();
        let steps = plan.steps.iter().map(|step| plan.preview_step(step, scripts)).collect();
        let preview = Preview { tool: plan.tool().name.to_string(), reach: plan.confinement.lines(), steps, cleanup };
        preview.written()
    }

    fn preview_step(&self, step: &PlannedStep, scripts: &dyn TransformRunner) -> StepPreview {
        let Some(each) = &step.each else { return self.preview_once(step, &NotYet, &AsWritten, scripts) };
        let items = self.known_items(step, each, &AsWritten);
        let once = self.preview_once(step, &NotYet, &AsWritten, scripts);
        let count = items.as_ref().and_then(|items| items.as_ref().ok()).map(Vec::len);
        let steps = match &items {
            Some(Err(refusal)) => return StepPreview { command: Err(refusal.clone()), nested: None, ..once },
            None => vec![StepPreview {
                name: "each".to_owned(),
                after: Vec::new(),
                condition: None,
                on_failure: false,
                ..once.clone()
            }],
            Some(Ok(items)) => {
                let plan = self.for_items(step, items.len());
                let of_item = |(step, item): (&PlannedStep, &Value)| {
                    plan.preview_once(step, &OfItem(item, NotYet), &OfItem(item, AsWritten), scripts)
                };
                plan.steps.iter().zip(items).map(of_item).collect()
            }
        };
        let nested = Preview { tool: self.tool().name.to_string(), reach: Vec::new(), steps, cleanup: Vec::new() };
        StepPreview { command: Ok(each.line(count)), fallback: None, nested: Some(Box::new(nested)), ..once }
    }

    /// Shows a step that has no items, or one item of a step.
    fn preview_once(
        &self,
        step: &PlannedStep,
        in_command: &dyn Steps,
        steps: &dyn Steps,
        scripts: &dyn TransformRunner,
    ) -> StepPreview {
        let shown = |command| self.shown_with(step, command, in_command, steps);
        let (command, nested) = match &step.action {
            PlannedAction::Command(command) => (shown(command), None),
            PlannedAction::Handler(handler) => (Ok(self.shown_call(&handler.runtime.to_string())), None),
            PlannedAction::BuiltIn => {
                (self.unplanned.clone().map_or_else(|| Ok(self.shown_call("built in")), Err), None)
            }
            PlannedAction::Remote(remote) => (Ok(format!("mcp: {remote}")), None),
            PlannedAction::Tool(tool_use) => match self.nested(step, tool_use, steps, scripts) {
                Ok(plan) => (Ok(format!("use-tool: {}", tool_use.tool)), Some(Box::new(plan.preview(scripts)))),
                // An argument that only a result can give may not fit its type before it is there.
                Err(_) if refers_to_steps(tool_use) => (Ok(format!("use-tool: {}", tool_use.tool)), None),
                Err(error) => (Err(error.in_step(&step.name, &tool_use.tool)), None),
            },
        };
        StepPreview {
            name: step.name.clone(),
            after: step.after.iter().filter_map(|&index| Some(self.steps.get(index)?.name.clone())).collect(),
            condition: step.condition.as_ref().map(|(_, source)| source.clone()),
            on_failure: step.on_failure,
            command,
            fallback: step.fallback.as_ref().map(shown),
            nested,
        }
    }

    fn shown(&self, step: &PlannedStep, command: &CommandText) -> Result<String, Refusal> {
        self.shown_with(step, command, &NotYet, &AsWritten)
    }

    fn shown_with(
        &self,
        step: &PlannedStep,
        command: &CommandText,
        in_command: &dyn Steps,
        steps: &dyn Steps,
    ) -> Result<String, Refusal> {
        let prepared = self.prepare_with(step, command, in_command, steps)?;
        Ok(prepared.masks.apply(&prepared.shown).into_owned())
    }

    /// A call of a function with its arguments, secrets masked.
    pub fn shown_call(&self, by: &str) -> String {
        if self.unplanned.is_some() {
            // What of it is secret only the workflow would tell.
            return format!("{by}: {}(…)", self.tool().name);
        }
        self.masks().apply(&format!("{by}: {}({})", self.tool().name, self.call.arguments_json())).into_owned()
    }

    fn cleanup_text(&self, action: &Cleanup) -> Option<String> {
        let Cleanup::Command(command) = action else { return None };
        let text = text_for(command, self.host().platform, self.tool()).ok()?;
        self.shown(&self.cleanup_step(&text), &text).ok()
    }
}

fn refers_to_steps(tool_use: &ToolUse) -> bool {
    let mut templates = tool_use.with.iter().flat_map(|(_, value)| value.templates());
    templates.any(|template| {
        template.references().any(|(reference, _)| matches!(reference, Reference::Step { .. } | Reference::Item))
    })
}

impl Preview {
    /// With the results of steps that have not run as their placeholders.
    fn written(mut self) -> Self {
        let written_command = |command: &mut Result<String, Refusal>| match command {
            Ok(command) => *command = written(command),
            Err(refusal) => {
                refusal.why = written(&refusal.why);
                refusal.attempt = refusal.attempt.as_deref().map(written);
            }
        };
        self.reach.iter_mut().chain(&mut self.cleanup).for_each(|line| *line = written(line));
        for step in &mut self.steps {
            written_command(&mut step.command);
            step.fallback.iter_mut().for_each(written_command);
            step.nested = step.nested.take().map(|nested| Box::new(nested.written()));
        }
        self
    }

    /// Every command in it, nested ones included, in order.
    pub fn commands(&self) -> Vec<String> {
        let of_step = |step: &StepPreview| match &step.nested {
            Some(nested) => nested.commands(),
            None => step.command.iter().cloned().collect(),
        };
        self.steps.iter().flat_map(of_step).collect()
    }

    /// Everything that may run, for the approver: fallbacks and cleanup too, and for what cannot be shown, why.
    pub fn everything(&self) -> Vec<String> {
        let shown = |command: &Result<String, Refusal>| match command {
            Ok(command) => command.clone(),
            Err(refusal) => format!("[cannot be shown: {}]", refusal.why),
        };
        let of_step = |step: &StepPreview| {
            let mut all = step.nested.as_ref().map_or_else(|| vec![shown(&step.command)], |nested| nested.everything());
            all.extend(step.fallback.as_ref().map(shown));
            all
        };
        self.steps.iter().flat_map(of_step).chain(self.cleanup.iter().cloned()).collect()
    }

    /// What everything in it can reach, for the approver: of the tools that it uses, where that is something else.
    pub fn reaches(&self) -> Vec<String> {
        let mut all = self.reach.clone();
        for nested in self.steps.iter().filter_map(|step| step.nested.as_deref()) {
            let lines = nested.reaches().into_iter().filter(|line| !self.reach.contains(line));
            let fresh: Vec<String> = lines.map(|line| format!("`{}` {line}", nested.tool)).collect();
            all.extend(fresh.into_iter().filter(|line| !all.contains(line)).collect::<Vec<_>>());
        }
        all
    }

    /// The first refusal in it, nested ones included.
    pub fn refusal(&self) -> Option<&Refusal> {
        self.steps.iter().find_map(|step| step.command.as_ref().err().or_else(|| step.nested.as_ref()?.refusal()))
    }
}
