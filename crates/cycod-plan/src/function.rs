use std::{ffi::OsString, path::PathBuf};

use cycod_call::{NoSteps, Steps};
use cycod_definition::Value;
use cycod_diagnostic::Refusal;
use cycod_mask::Masks;

use crate::{Plan, PlannedStep, Swap};

/// The parameter that a function is given its directory by, unless the caller names another.
const DIRECTORY: &str = "working_dir";

/// The default that tools write for it in R; it is text, and means the same.
const R_DIRECTORY: &str = "getwd()";

/// What a function is given that carries out a step: its arguments are data and stand in no command.
#[derive(Clone, Debug)]
pub struct PreparedCall {
    /// The arguments by name; absent ones are left out.
    pub arguments: Vec<(String, Value)>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it works.
    pub working_directory: PathBuf,
    /// Values to mask wherever it is shown or heard.
    pub secrets: Vec<String>,
    /// What finds them.
    pub masks: Masks,
    /// What must be put into the place of placeholders on the way out.
    pub swaps: Vec<Swap>,
}

impl Plan {
    /// Prepares the call of the function that carries out `step`.
    ///
    /// # Errors
    /// A refusal when something around it cannot be resolved.
    pub fn prepare_call(&self, step: &PlannedStep, steps: &dyn Steps) -> Result<PreparedCall, Refusal> {
        let (environment, mut secrets) = self.environment(step, None, steps)?;
        secrets.extend(self.masked_values(step, steps));
        secrets.extend(steps.secrets());
        let secrets = self.with_changes(secrets);
        let working_directory = self.directory_of(step, steps)?;
        let mut arguments = self.arguments();
        let is_unsaid = |value: &Value| *value == Value::Text(R_DIRECTORY.to_owned());
        if self.tool().parameter(DIRECTORY).is_some() {
            let directory = Value::Text(working_directory.to_string_lossy().into_owned());
            match arguments.iter_mut().find(|(name, _)| name == DIRECTORY) {
                Some((_, value)) if is_unsaid(value) => *value = directory,
                Some(_) => {}
                None => arguments.push((DIRECTORY.to_owned(), directory)),
            }
        }
        Ok(PreparedCall {
            arguments,
            environment: environment.into_iter().collect(),
            working_directory,
            masks: self.masks().with(&secrets),
            secrets,
            swaps: self.swaps(),
        })
    }

    /// Where relative paths of the arguments may start beside the tool's working directory: where its steps work, and the
    /// directory that a function is given. What only the result of a step tells is left out.
    pub fn other_directories(&self) -> Vec<PathBuf> {
        let of_steps = self.steps.iter().filter_map(|step| self.directory_of(step, &NoSteps).ok());
        let given =
            self.call.values.iter().filter(|bound| bound.name == DIRECTORY).filter_map(|bound| match &bound.value {
                Some(Value::Text(text)) if *text != R_DIRECTORY => Some(self.working_directory.join(text)),
                _ => None,
            });
        of_steps.chain(given).filter(|directory| *directory != self.working_directory).collect()
    }

    /// The arguments as they were bound; absent ones are left out.
    pub fn arguments(&self) -> Vec<(String, Value)> {
        let given = self.call.values.iter().filter_map(|bound| Some((bound.name.clone(), bound.value.clone()?)));
        given.collect()
    }
}
