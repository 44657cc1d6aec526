use super::{Lowering, Scope, View, command::{Defaults, Form}};
use crate::{Environment, Output, Step, StepAction};

impl Lowering<'_> {
    /// Reads the steps of a tool.
    pub(crate) fn steps<'a>(&self, tool: &View<'a>, defaults: &Defaults<'a>) -> Option<Vec<Step>> {
        let views = tool.objects("steps");
        let mut steps = Vec::new();
        for (index, view) in views.iter().enumerate() {
            let action = match self.form(view, Scope::Steps, defaults, view.span)? {
                Form::Command(command) => StepAction::Command(command),
                Form::Use(tool_use) => StepAction::Use(tool_use),
                Form::Steps(_) => return None,
            };
            steps.push(Step {
                name: view.string("name")?,
                action,
                after: (0..index).collect(),
                parallel: false,
                condition: None,
                continue_on_error: view.flag("continue-on-error"),
                retry: None,
                fallback: None,
                output: Output::default(),
                timeout: view.milliseconds("timeout"),
                working_directory: None,
                input: None,
                environment: Environment::default(),
            });
        }
        Some(steps)
    }
}
