//! A tool with its arguments, and what templates and conditions see of them.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use cycod_definition::{FilePaths, Host, Literal, Platform, Secret, Tool, Value, speaks_of_secret};
use cycod_mask::can_be_masked;
use cycod_shell::parameter_variable;
use cycod_syntax::{condition::Expr, template::Template};

use crate::{OwnedPiece, PlaceholderChange, ResolveError, Steps, json, resolve::Scope, transform};

/// A tool with its arguments: every parameter has its final value or none.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The machine and the moment.
    pub host: Arc<Host>,
    /// The run this call is made for.
    pub run: RunContext,
    /// One entry for each parameter of the tool, in its order.
    pub values: Vec<Bound>,
    /// What the caller should know, such as the use of a deprecated parameter.
    pub warnings: Vec<String>,
    /// What else must never be shown: sensitive values as they were before their `transform`, which a program may well
    /// undo, and the secrets of a tool that calls this one.
    pub more_secrets: Vec<String>,
    /// The secrets that a run was given beside its arguments.
    pub kept_secrets: Vec<KeptSecret>,
    /// How templates change values: those of the tool, and of the tools that may get a value from it.
    pub changes: BTreeSet<PlaceholderChange>,
}

/// A secret with the value that was kept for it.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptSecret {
    /// What the tool says of it.
    pub secret: Secret,
    /// The value.
    pub value: String,
    /// What the tool sees instead.
    pub placeholder: Option<String>,
}

impl KeptSecret {
    /// What the tool sees.
    pub fn shown_to_tool(&self) -> &str {
        self.placeholder.as_ref().unwrap_or(&self.value)
    }
}

impl std::fmt::Debug for KeptSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptSecret").field("secret", &self.secret).finish_non_exhaustive()
    }
}

/// What a call knows of the run it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunContext {
    /// The run's own temporary directory: `{TEMP}`.
    pub temp: PathBuf,
    /// The tool's name as it was called, which is an alias's own: `{TOOL_NAME}`.
    pub tool_name: String,
}

/// A parameter and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The parameter's name.
    pub name: String,
    /// Its value, validated and transformed.
    pub value: Option<Value>,
    /// Its value before its `transform`, if it has one.
    pub untransformed: Option<Value>,
    /// Where the value comes from.
    pub origin: ValueOrigin,
    /// Whether the value is masked everywhere.
    pub sensitive: bool,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// The caller gave it.
    Given,
    /// It is the parameter's default, or an alias's.
    Default,
    /// There is none.
    Absent,
}

impl Call {
    /// A call that no argument was given for yet: what can be resolved without any, such as a test's arguments.
    pub fn without_arguments(tool: Arc<Tool>, host: Arc<Host>, run: RunContext) -> Self {
        Self {
            tool,
            host,
            run,
            values: Vec::new(),
            warnings: Vec::new(),
            more_secrets: Vec::new(),
            kept_secrets: Vec::new(),
            changes: BTreeSet::new(),
        }
    }

    /// Resolves a command for a shell: the author's text and the values to place in it.
    pub fn pieces(&self, template: &Template, steps: &dyn Steps) -> Result<Vec<OwnedPiece>, ResolveError> {
        self.scope(steps).pieces(template)
    }

    /// Resolves a template outside of commands: environment values, paths, standard input, expected texts.
    ///
    /// A parameter's `format` says how it appears in a command, so it is not applied here; inline formats are.
    pub fn text(&self, template: &Template, steps: &dyn Steps) -> Result<String, ResolveError> {
        self.scope(steps).text(template)
    }

    /// As [`Call::text`], with the values still told apart from the author's text.
    pub fn text_pieces(&self, template: &Template, steps: &dyn Steps) -> Result<Vec<OwnedPiece>, ResolveError> {
        self.scope(steps).text_pieces(template)
    }

    /// As [`Call::text`], where any bytes may stand: what a step said is there byte for byte.
    pub fn bytes(&self, template: &Template, steps: &dyn Steps) -> Result<Vec<u8>, ResolveError> {
        self.scope(steps).bytes(template)
    }

    /// Resolves a value of `with`; a template that is exactly one placeholder keeps the value's type.
    pub fn literal(&self, literal: &Literal, steps: &dyn Steps) -> Result<Value, ResolveError> {
        self.scope(steps).literal(literal)
    }

    /// Decides a `run-condition`.
    pub fn condition(&self, condition: &Expr, steps: &dyn Steps) -> Result<bool, ResolveError> {
        self.scope(steps).condition(condition)
    }

    /// The value of the parameter called `name`.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|bound| bound.name == name)?.value.as_ref()
    }

    /// The texts that must never be shown, longest first so that one which contains another is masked whole.
    ///
    /// They are the values of sensitive parameters, of names listed in `environment.secrets` and of environment
    /// variables whose name speaks of a secret, and what the tool's templates and transforms make of them. What
    /// [cannot be masked](can_be_masked) is left out: masking it would only garble what is shown.
    pub fn secrets(&self) -> Vec<String> {
        let mut secrets = self.plain_secrets();
        // What a parameter makes of a value that holds a secret, such as a default of the environment's, is one.
        for bound in self.values.iter().filter(|bound| !bound.sensitive) {
            let holds_secret = bound.untransformed.as_ref().is_some_and(|before| {
                let mut texts = Vec::new();
                collect_texts(before, &mut texts);
                texts.iter().any(|text| secrets.iter().any(|secret| can_be_masked(secret) && text.contains(&**secret)))
            });
            if holds_secret {
                bound.value.iter().for_each(|value| collect_texts(value, &mut secrets));
            }
        }
        let wholes = self.values.iter().filter(|bound| bound.sensitive).filter_map(|bound| bound.value.as_ref());
        let wholes = wholes.filter(|value| matches!(value, Value::Object(_) | Value::List(_))).map(json::write);
        // A short one may become long: three control characters are nine characters in an address.
        let all = secrets.iter().cloned().chain(wholes).filter(|secret| !secret.is_empty());
        let all: BTreeSet<String> = all.collect();
        secrets.extend(all.iter().flat_map(|secret| self.changed(secret)));
        secrets.retain(|secret| can_be_masked(secret));
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        secrets
    }

    /// What templates may make of a text.
    pub fn changed(&self, text: &str) -> impl Iterator<Item = String> {
        self.changes.iter().flat_map(move |change| change.stages(text))
    }

    /// The secrets as they are given.
    fn plain_secrets(&self) -> Vec<String> {
        let mut secrets = self.more_secrets.clone();
        secrets.extend(self.kept_secrets.iter().map(|secret| secret.value.clone()));
        for bound in self.values.iter().filter(|bound| bound.sensitive) {
            bound.value.iter().for_each(|value| collect_texts(value, &mut secrets));
        }
        for (name, template) in &self.tool.environment.variables {
            if speaks_of_secret(name) || self.tool.environment.is_secret(name) {
                secrets.extend(self.text(template, &crate::NoSteps).ok());
            }
        }
        secrets.extend(self.host.environment.secrets().iter().cloned());
        let stated = self.tool.environment.secrets.iter();
        secrets.extend(
            stated
                .filter_map(|secret| self.host.environment.get(OsStr::new(&secret.name))?.to_str())
                .map(str::to_owned),
        );
        secrets
    }

    /// The values as environment variables `CYCOD_PARAM_<NAME>`, for programs into which nothing is placed.
    ///
    /// Lists and objects are JSON. A value that is too large for an environment is left out: the program finds
    /// it in the file that `CYCOD_PARAMS` names, whose contents are [`Call::arguments_json`].
    pub fn environment(&self) -> Vec<(String, String)> {
        const LARGEST_VALUE: usize = 64 << 10;
        const LARGEST_SUM: usize = 512 << 10;
        let mut sum = 0;
        let mut variables: Vec<(String, String)> = Vec::new();
        for bound in &self.values {
            let Some(value) = &bound.value else { continue };
            let name = parameter_variable(&bound.name);
            let text = transform::plain_text(value);
            let fits = text.len() <= LARGEST_VALUE && sum + text.len() <= LARGEST_SUM;
            if fits && variables.iter().all(|(other, _)| *other != name) {
                sum += text.len();
                variables.push((name, text));
            }
        }
        variables
    }

    /// All values that are there as one JSON object: the contents of the file that `CYCOD_PARAMS` names.
    pub fn arguments_json(&self) -> String {
        let mut text = String::new();
        let values = self.values.iter().filter_map(|bound| Some((bound.name.as_str(), bound.value.as_ref()?)));
        json::write_object(values, &mut text);
        text
    }

    fn scope<'a>(&'a self, steps: &'a dyn Steps) -> Scope<'a> {
        Scope {
            tool: &self.tool,
            values: &self.values,
            secrets: &self.kept_secrets,
            host: &self.host,
            run: &self.run,
            steps,
        }
    }
}

/// Returns `path` with the separator that `file-paths` names for the platform, when it asks for that.
pub fn normalize_path(paths: &FilePaths, platform: Platform, path: &str) -> String {
    if !paths.normalize {
        return path.to_owned();
    }
    let separator = if platform == Platform::Windows { paths.windows_separator } else { paths.unix_separator };
    path.chars().map(|character| if matches!(character, '/' | '\\') { separator } else { character }).collect()
}

/// Returns the directory as text, or nothing when it is not Unicode.
pub(crate) fn path_text(path: &Path) -> Option<&str> {
    path.to_str()
}

pub(crate) fn collect_texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(text) | Value::Text(text) => into.push(text.clone()),
        Value::List(items) => items.iter().for_each(|item| collect_texts(item, into)),
        Value::Object(entries) => entries.iter().for_each(|(_, value)| collect_texts(value, into)),
    }
}
