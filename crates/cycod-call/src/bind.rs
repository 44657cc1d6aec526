//! Binds arguments to parameters: finds the parameter that is meant, coerces, validates and transforms the value.

use std::{collections::HashSet, sync::Arc};

use cycod_definition::{
    Body, Disclosure, Fault, Host, Literal, Parameter, ParameterType, PathPart, Rejection, SchemaViolation, Tool,
    Transform, Value, ValuePath, json, shown, visible_or_hidden,
};
use cycod_diagnostic::{Code, closest};
use cycod_syntax::template::Reference;

use crate::{
    ArgumentProblem, Bound, Call, Instead, NoSteps, PlaceholderChange, ResolveError, RunContext, ValueOrigin,
    call::{collect_texts, normalize_path},
    code,
    problem::told,
    resolve::Scope,
    sample::sample,
    transform,
};

/// Runs the custom transforms of parameters.
pub trait TransformRunner {
    /// Evaluates an expression over `value`.
    ///
    /// # Errors
    /// What went wrong.
    fn transform(&self, script: &str, value: &Value) -> Result<Value, ScriptFailed>;
}

/// What went wrong in a custom transform, in the words of its script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptFailed(pub String);

/// An argument as a caller gave it.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// Text from a command line; repeated for one list parameter, each text is an element.
    Text(String),
    /// A value from JSON.
    Value(Value),
    /// The answer to one of the tool's questions, by the person who was asked.
    Answer(Box<Given>),
}

impl Given {
    /// What was given, by whomever.
    fn into_inner(self) -> Self {
        match self {
            Self::Answer(inner) => inner.into_inner(),
            given => given,
        }
    }
}

/// Binds arguments to a tool's parameters, or tells everything that is wrong with them, and what would do instead.
///
/// A null is the same as no argument.
pub fn bind(
    tool: &Arc<Tool>,
    arguments: Vec<(String, Given)>,
    host: &Arc<Host>,
    run: &RunContext,
    scripts: &dyn TransformRunner,
) -> Result<Call, Vec<ArgumentProblem>> {
    let mut binder = Binder::of(tool, host, run, scripts);
    binder.bind(arguments);
    if binder.problems.is_empty() {
        let Binder { mut values, more, warnings, secrets, .. } = binder;
        values.extend(more);
        return Ok(Call {
            tool: tool.clone(),
            host: host.clone(),
            run: run.clone(),
            values,
            warnings,
            more_secrets: secrets,
            kept_secrets: Vec::new(),
            changes: PlaceholderChange::all_of(tool),
        });
    }
    let instead = binder.instead().filter(|instead| {
        let own = instead.arguments.iter().map(|(name, value)| (name.clone(), Given::Value(value.clone())));
        let answers = instead.answers.iter();
        let answers = answers.map(|(name, value)| (name.clone(), Given::Answer(Box::new(Given::Value(value.clone())))));
        let mut again = Binder::of(tool, host, run, scripts);
        again.bind(own.chain(answers).collect());
        again.problems.is_empty()
    });
    let mut problems = binder.problems;
    if let Some(first) = problems.first_mut() {
        first.instead = instead.map(Arc::new);
    }
    Err(problems)
}

/// How far a parameter is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Waiting,
    /// Its default is being resolved: meeting it again is a circle.
    Settling,
    Settled,
    /// Something is wrong with it, which has been said.
    Failed,
}

struct Binder<'a> {
    tool: &'a Tool,
    host: &'a Host,
    run: &'a RunContext,
    scripts: &'a dyn TransformRunner,
    values: Vec<Bound>,
    progress: Vec<Progress>,
    /// The parameters for which null was given, which a schema of the author's may tell from none.
    nulls: HashSet<usize>,
    /// What the author's schema takes beside its properties.
    more: Vec<Bound>,
    problems: Vec<ArgumentProblem>,
    warnings: Vec<String>,
    /// Sensitive values that a transform is about to change.
    secrets: Vec<String>,
    /// The parameters that something was given for.
    given: HashSet<usize>,
    /// What was given under names that the tool does not have.
    strangers: Vec<(String, Given)>,
    /// What was probably meant by values that are none of those to choose from.
    meant: Vec<(usize, Value)>,
}

impl<'a> Binder<'a> {
    fn of(tool: &'a Tool, host: &'a Host, run: &'a RunContext, scripts: &'a dyn TransformRunner) -> Self {
        let unbound = |parameter: &Parameter| Bound {
            name: parameter.name.clone(),
            value: None,
            untransformed: None,
            origin: ValueOrigin::Absent,
            sensitive: parameter.sensitive || tool.environment.is_secret(&parameter.name),
        };
        Self {
            tool,
            host,
            run,
            scripts,
            values: tool.parameters.iter().map(unbound).collect(),
            progress: vec![Progress::Waiting; tool.parameters.len()],
            nulls: HashSet::new(),
            more: Vec::new(),
            problems: Vec::new(),
            warnings: Vec::new(),
            secrets: Vec::new(),
            given: HashSet::new(),
            strangers: Vec::new(),
            meant: Vec::new(),
        }
    }

    fn bind(&mut self, arguments: Vec<(String, Given)>) {
        self.take_arguments(arguments);
        for index in 0..self.tool.parameters.len() {
            self.settle(index, 0);
        }
        self.check_whole();
    }

    /// Arguments that would do: what was right as it is, what was meant by a misspelt name under the right one, and for the
    /// rest values that the parameters take.
    fn instead(&self) -> Option<Instead> {
        let mut instead = Instead {
            arguments: Vec::new(),
            answers: Vec::new(),
            changed: Vec::new(),
            dropped: Vec::new(),
            has_secret: false,
        };
        let whole_is_wrong =
            |name: &str| self.problems.iter().any(|problem| problem.parameter.as_deref() == Some(name));
        for (index, parameter) in self.tool.parameters.iter().enumerate() {
            let bound = &self.values[index];
            let is_right = self.progress[index] == Progress::Settled
                && bound.origin == ValueOrigin::Given
                && !whole_is_wrong(&parameter.name);
            let was_given = self.given.contains(&index);
            let value = if is_right {
                instead.has_secret |= bound.sensitive;
                bound.untransformed.clone().or_else(|| bound.value.clone())
            } else {
                let misspelt = || {
                    let known = self.tool.given_parameters().map(|parameter| parameter.name.as_str());
                    let known: Vec<&str> = known.collect();
                    let meant = |name: &str| closest(name, known.iter().copied()) == Some(parameter.name.as_str());
                    let (_, given) =
                        self.strangers.iter().find(|(name, _)| !parameter.asked && !was_given && meant(name))?;
                    let value = match given {
                        Given::Text(text) => Value::Text(text.clone()),
                        Given::Value(value) => value.clone(),
                        Given::Answer(_) => return None,
                    };
                    parameter.accept(value, Disclosure::Masked).ok()
                };
                let is_needed = parameter.is_needed();
                let is_wrong = self.progress[index] == Progress::Failed || whole_is_wrong(&parameter.name);
                let value = misspelt().inspect(|_| instead.has_secret |= bound.sensitive);
                let meant = || self.meant.iter().find(|(of, _)| *of == index).map(|(_, value)| value.clone());
                let meant = || meant().and_then(|value| parameter.accept(value, Disclosure::Masked).ok());
                let value = value.or_else(meant);
                let value = value.or_else(|| (is_needed || is_wrong).then(|| sample(parameter)).flatten());
                if value.is_none() && is_needed {
                    return None;
                }
                match &value {
                    Some(_) => instead.changed.push(parameter.name.clone()),
                    None if was_given && is_wrong => instead.dropped.push(parameter.name.clone()),
                    None => {}
                }
                value
            };
            let Some(value) = value else { continue };
            let into = if parameter.asked { &mut instead.answers } else { &mut instead.arguments };
            into.push((parameter.name.clone(), value));
        }
        let more = self.more.iter().filter(|bound| !whole_is_wrong(&bound.name));
        instead.arguments.extend(more.filter_map(|bound| Some((bound.name.clone(), bound.value.clone()?))));
        instead.dropped.extend(self.strangers.iter().map(|(name, _)| told(name)));
        // What only the answer to a question can be is left out of a call.
        let is_asked = |problem: &&ArgumentProblem| problem.code == Code::AskedParameter;
        instead.dropped.extend(self.problems.iter().filter(is_asked).filter_map(|problem| problem.parameter.clone()));
        instead.answers.retain(|(name, _)| !instead.dropped.contains(name));
        Some(instead)
    }

    /// Sorts the arguments by parameter, and reads those that are there.
    fn take_arguments(&mut self, arguments: Vec<(String, Given)>) {
        let mut given: Vec<Vec<Given>> = Vec::new();
        given.resize_with(self.tool.parameters.len(), Vec::new);
        let mut unknown = HashSet::new();
        for (name, argument) in arguments {
            match self.tool.parameter_meant(&name) {
                Some(index) if self.tool.parameters[index].asked && !matches!(argument, Given::Answer(_)) => {
                    let name = &self.tool.parameters[index].name;
                    let message = format!("`{name}` is the answer to a question, not given by the caller");
                    self.fail(index, ArgumentProblem::new(name, Code::AskedParameter, message).help("leave it out"));
                }
                Some(index) => {
                    self.given.insert(index);
                    given[index].push(argument.into_inner());
                }
                // It was reported already.
                None if unknown.contains(&name) => {}
                None if self.is_fixed(&name) => {
                    self.report_fixed(&name);
                    unknown.insert(name.clone());
                    self.strangers.push((name, argument));
                }
                None if self.tool.takes_more() => self.take_more(name, argument),
                None => {
                    self.report_unknown(&name);
                    unknown.insert(name.clone());
                    self.strangers.push((name, argument));
                }
            }
        }
        for (index, given) in given.into_iter().enumerate() {
            let parameter = &self.tool.parameters[index];
            if matches!(given.as_slice(), [Given::Value(Value::Null)]) {
                self.nulls.insert(index);
            }
            let Some(value) = self.collect(parameter, given) else { continue };
            if let Some(deprecation) = &parameter.deprecated {
                self.warnings.push(deprecation_warning(parameter, deprecation));
            }
            self.settle_value(index, value, ValueOrigin::Given);
        }
    }

    fn take_more(&mut self, name: String, argument: Given) {
        let value = match argument {
            Given::Text(text) => Value::Text(text),
            Given::Value(value) => value,
            Given::Answer(_) => return self.report_unknown(&name),
        };
        if holds_nul(&value) || name.contains('\0') {
            let problem = nul_problem(&shown(&name));
            self.problems.push(problem);
            return;
        }
        self.more.push(Bound {
            name,
            value: Some(value),
            untransformed: None,
            origin: ValueOrigin::Given,
            sensitive: false,
        });
    }

    /// Holds everything that was given against the schema that the author wrote for all of it.
    ///
    /// Null is an argument where the schema takes it, and none where it does not.
    fn check_whole(&mut self) {
        let Some(schema) = self.tool.input_schema.as_ref().filter(|_| self.problems.is_empty()) else { return };
        let with_nulls = self.given(&self.nulls);
        let judged = match schema.violations(&with_nulls.to_json()) {
            Ok(violations) if violations.is_empty() => {
                for &index in &self.nulls {
                    let bound = &mut self.values[index];
                    if bound.value.is_none() {
                        (bound.value, bound.origin) = (Some(Value::Null), ValueOrigin::Given);
                    }
                }
                return;
            }
            Ok(violations) if self.nulls.is_empty() => Ok((with_nulls, violations)),
            Ok(_) => {
                let without = self.given(&HashSet::new());
                schema.violations(&without.to_json()).map(|violations| (without, violations))
            }
            Err(problem) => Err(problem),
        };
        match judged {
            Err(problem) => {
                let message = format!("the schema of `{}` cannot be applied: {problem}", self.tool.name);
                self.problems.push(ArgumentProblem {
                    parameter: None,
                    code: Code::InvalidArgument,
                    message,
                    help: None,
                    instead: None,
                });
            }
            Ok((given, violations)) => {
                let problems: Vec<_> =
                    violations.iter().map(|violation| self.whole_problem(violation, &given)).collect();
                self.problems.extend(problems);
            }
        }
    }

    /// What was given, as one object; null for the parameters in `nulls` that have no other value.
    fn given(&self, nulls: &HashSet<usize>) -> Value {
        let parameters = self.tool.parameters.iter().zip(&self.values).enumerate();
        let of_parameters = parameters.filter_map(|(index, (parameter, bound))| {
            let counts =
                bound.origin == ValueOrigin::Given || (bound.origin == ValueOrigin::Default && parameter.required);
            let value = match &bound.value {
                _ if parameter.asked => None,
                Some(value) if counts => Some(value.clone()),
                _ => nulls.contains(&index).then_some(Value::Null),
            };
            Some((parameter.name.clone(), value?))
        });
        let more = self.more.iter().filter_map(|bound| Some((bound.name.clone(), bound.value.clone()?)));
        Value::Object(of_parameters.chain(more).collect())
    }

    fn whole_problem(&self, violation: &SchemaViolation, given: &Value) -> ArgumentProblem {
        let path = ValuePath::of_pointer(&violation.instance_pointer, given);
        let name = path.0.first().map(|part| match part {
            PathPart::Property(name) => name.clone(),
            PathPart::Element(index) => index.to_string(),
        });
        let hides = |bound: &Bound| bound.sensitive && name.as_ref().is_none_or(|name| bound.name == *name);
        let disclosure = if self.values.iter().any(hides) { Disclosure::Masked } else { Disclosure::Shown };
        let path = path.to_string();
        let subject = match path.strip_prefix('.') {
            Some(path) => format!("`{}`: ", shown(path)),
            None => String::new(),
        };
        let message = format!("{subject}{}", visible_or_hidden(&violation.message, disclosure));
        ArgumentProblem { parameter: name, code: Code::InvalidArgument, message, help: None, instead: None }
    }

    /// Whether the user fixed this argument of another program's tool.
    fn is_fixed(&self, name: &str) -> bool {
        matches!(&self.tool.body, Body::Remote(remote) if remote.fixed_argument(name).is_some())
    }

    fn report_fixed(&mut self, name: &str) {
        let message = format!("`{}` of `{}` is fixed in `mcp.json`, so no caller gives it", told(name), self.tool.name);
        self.problems.push(ArgumentProblem::new(&told(name), Code::InvalidArgument, message).help("leave it out"));
    }

    fn report_unknown(&mut self, name: &str) {
        let parameters = || self.tool.given_parameters().map(|parameter| parameter.name.as_str());
        let message = format!("`{}` is not a parameter of `{}`", told(name), self.tool.name);
        let help = match closest(name, parameters()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if parameters().next().is_none() => "the tool takes no arguments".to_owned(),
            None => {
                let names: Vec<String> = parameters().take(20).map(|name| format!("`{name}`")).collect();
                let more = if parameters().count() > 20 { ", …" } else { "" };
                format!("it takes {}{more}", names.join(", "))
            }
        };
        self.problems.push(ArgumentProblem::new(&told(name), Code::UnknownArgument, message).help(help));
    }

    /// Makes one value of what was given for a parameter; nothing when nothing or null was given.
    fn collect(&mut self, parameter: &Parameter, mut given: Vec<Given>) -> Option<Value> {
        if given.len() > 1 {
            let texts = given.into_iter().map(|given| match given {
                Given::Text(text) => Some(Value::Text(text)),
                Given::Value(_) | Given::Answer(_) => None,
            });
            if parameter.kind == ParameterType::Array
                && let Some(items) = texts.collect::<Option<Vec<_>>>()
            {
                return Some(Value::List(items));
            }
            let index = self.tool.parameters.iter().position(|other| std::ptr::eq(other, parameter));
            index.into_iter().for_each(|index| self.progress[index] = Progress::Failed);
            let message = format!("`{}` is given more than once", parameter.name);
            let help = match parameter.kind {
                ParameterType::Array => "give all elements in one JSON array",
                _ => "only a parameter of type array takes several values",
            };
            self.problems.push(ArgumentProblem::new(&parameter.name, Code::RepeatedArgument, message).help(help));
            return None;
        }
        match given.pop()? {
            // One text for a list is its only element, as two texts would be its two; JSON is JSON.
            Given::Text(text)
                if parameter.kind == ParameterType::Array && !text.trim_ascii_start().starts_with('[') =>
            {
                Some(Value::List(vec![Value::Text(text)]))
            }
            // The type of such a parameter is in its schema, where a list and an object may be among others.
            Given::Text(text) if parameter.kind == ParameterType::Any && parameter.schema.is_some() => {
                let is_json = text.trim_ascii_start().starts_with(['[', '{']);
                Some(json::parse(&text).ok().filter(|_| is_json).unwrap_or(Value::Text(text)))
            }
            Given::Text(text) => Some(Value::Text(text)),
            Given::Value(Value::Null) => None,
            Given::Value(value) => Some(value),
            Given::Answer(_) => None,
        }
    }

    /// Gives a parameter its value if it has none yet, after those its default refers to.
    fn settle(&mut self, index: usize, depth: usize) {
        const DEEPEST: usize = 200;
        if self.progress[index] != Progress::Waiting {
            return;
        }
        let tool = self.tool;
        let parameter = &tool.parameters[index];
        let Some(default) = parameter.default.as_ref() else {
            self.settle_absent(index);
            return;
        };
        self.progress[index] = Progress::Settling;
        let mut needed = Vec::new();
        collect_parameters(default, &mut needed);
        for name in needed {
            let Some(other) = tool.parameters.iter().position(|parameter| parameter.name == name) else { continue };
            if self.progress[other] == Progress::Settling || depth == DEEPEST {
                let message = match self.progress[other] {
                    Progress::Settling if other == index => format!("the default of `{name}` refers to itself"),
                    Progress::Settling => {
                        format!("the defaults of `{}` and `{name}` refer to each other", parameter.name)
                    }
                    _ => format!("the default of `{}` refers to a chain of over {DEEPEST} defaults", parameter.name),
                };
                let problem = ArgumentProblem::new(&parameter.name, Code::DefaultCycle, message);
                self.fail(index, problem.help(format!("give `{}`", parameter.name)));
                return;
            }
            self.settle(other, depth + 1);
            if self.progress[other] == Progress::Failed {
                self.progress[index] = Progress::Failed;
                return;
            }
        }
        let scope = Scope { tool, values: &self.values, secrets: &[], host: self.host, run: self.run, steps: &NoSteps };
        let value = match parameter.code_reader() {
            Some(reader) => code::default(&scope, tool, &parameter.name, default, reader),
            None => scope.literal(default).map_err(|error| default_problem(parameter, &error)),
        };
        match value {
            Ok(Value::Null) => self.settle_absent(index),
            Ok(value) => self.settle_value(index, value, ValueOrigin::Default),
            Err(problem) => self.fail(index, problem),
        }
    }

    fn settle_absent(&mut self, index: usize) {
        let parameter = &self.tool.parameters[index];
        if parameter.required && parameter.asked {
            let message = format!("`{}` is the answer to a question that was not answered", parameter.name);
            let help = "call it where cycod can ask the user: on a terminal, or from a host that shows questions";
            self.fail(index, ArgumentProblem::new(&parameter.name, Code::QuestionUnanswered, message).help(help));
        } else if parameter.required && !(self.tool.input_schema.is_some() && self.nulls.contains(&index)) {
            let message = format!("`{}` is required", parameter.name);
            let problem = ArgumentProblem::new(&parameter.name, Code::MissingArgument, message);
            self.fail(
                index,
                if parameter.description.is_empty() { problem } else { problem.help(shown(&parameter.description)) },
            );
        } else {
            self.progress[index] = Progress::Settled;
        }
    }

    /// Coerces, validates, normalizes and transforms a value, in this order, and keeps it.
    fn settle_value(&mut self, index: usize, value: Value, origin: ValueOrigin) {
        if self.progress[index] == Progress::Failed {
            return;
        }
        let parameter = &self.tool.parameters[index];
        let hide = self.values[index].sensitive;
        let disclosure = if hide { Disclosure::Masked } else { Disclosure::Shown };
        let value = match parameter.accept(value, disclosure) {
            Ok(value) => value,
            Err(rejection) => return self.fail_each(index, origin, rejection),
        };
        let value = self.normalize(parameter, value);
        if hide && parameter.transform.is_some() {
            collect_texts(&value, &mut self.secrets);
        }
        let untransformed = parameter.transform.as_ref().map(|_| value.clone());
        let value = match self.transform(parameter, value, hide) {
            Ok(value) => value,
            Err(problem) => return self.fail(index, problem),
        };
        if holds_nul(&value) {
            return self.fail(index, nul_problem(&parameter.name));
        }
        let bound = &mut self.values[index];
        bound.untransformed = untransformed;
        bound.value = (value != Value::Null).then_some(value);
        bound.origin = origin;
        self.progress[index] = Progress::Settled;
    }

    fn normalize(&self, parameter: &Parameter, value: Value) -> Value {
        let paths = &self.tool.file_paths;
        match value {
            Value::Text(text) if parameter.path && paths.normalize => {
                Value::Text(normalize_path(paths, self.host.platform, &text))
            }
            Value::List(items) if parameter.path && paths.normalize => {
                Value::List(items.into_iter().map(|item| self.normalize(parameter, item)).collect())
            }
            value => value,
        }
    }

    fn transform(&self, parameter: &Parameter, value: Value, hide: bool) -> Result<Value, ArgumentProblem> {
        let (name, result) = match &parameter.transform {
            None => return Ok(value),
            Some(Transform::Named(named)) => (transform::name(*named), transform::apply(*named, &value)),
            Some(Transform::Script(script)) => {
                (script.as_str(), self.scripts.transform(script, &value).map_err(|ScriptFailed(why)| why))
            }
        };
        result.map_err(|reason| {
            let reason = if hide { String::new() } else { format!(": {}", shown(&reason)) };
            let message = format!("transform `{}` fails on the value of `{}`{reason}", shown(name), parameter.name);
            ArgumentProblem::new(&parameter.name, Code::TransformFailed, message)
        })
    }

    fn fail(&mut self, index: usize, problem: ArgumentProblem) {
        self.progress[index] = Progress::Failed;
        self.problems.push(problem);
    }

    fn fail_each(&mut self, index: usize, origin: ValueOrigin, rejection: Rejection<'_>) {
        let name = &self.tool.parameters[index].name;
        let default = if origin == ValueOrigin::Default { " (its default)" } else { "" };
        let code = match rejection.fault {
            Fault::Type => Code::WrongArgumentType,
            Fault::Rule => Code::InvalidArgument,
        };
        for violation in rejection.violations {
            let path = shown(&violation.path.to_string());
            let message = format!("`{name}{path}`{default}: {}", violation.message);
            let near = violation.choice.and_then(|choice| closest(&choice.given, choice.texts()));
            self.meant.extend(near.map(|near| (index, Value::Text(near.to_owned()))));
            let help = violation.help.or_else(|| near.map(|near| format!("did you mean `{}`?", shown(near))));
            let parameter = Some(name.clone());
            self.problems.push(ArgumentProblem { parameter, code, message, help, instead: None });
        }
        if rejection.more > 0 {
            let message = format!("`{name}`{default}: and {} more of the kind", rejection.more);
            self.problems.push(ArgumentProblem::new(name, code, message));
        }
        self.progress[index] = Progress::Failed;
    }
}

fn nul_problem(parameter: &str) -> ArgumentProblem {
    ArgumentProblem::new(parameter, Code::NulInValue, format!("the value of `{parameter}` holds a NUL character"))
        .help("no command can carry it; encode the value, for example as base64")
}

fn default_problem(parameter: &Parameter, error: &ResolveError) -> ArgumentProblem {
    code::unresolved(&parameter.name, error.code(), &error.to_string())
}

fn deprecation_warning(parameter: &Parameter, deprecation: &cycod_definition::Deprecation) -> String {
    let mut warning = format!("parameter `{}` is deprecated", parameter.name);
    if let Some(message) = &deprecation.message {
        warning.push_str(": ");
        warning.push_str(message);
    }
    if let Some(alternative) = &deprecation.alternative {
        warning.push_str(&format!("; use `{alternative}`"));
    }
    warning
}

/// The parameters that an author's value refers to.
fn collect_parameters<'a>(literal: &'a Literal, into: &mut Vec<&'a str>) {
    match literal {
        Literal::Text(template) => into.extend(template.references().filter_map(|(reference, _)| match reference {
            Reference::Parameter(name) | Reference::Environment(name) => Some(name.as_str()),
            _ => None,
        })),
        Literal::List(items) => items.iter().for_each(|item| collect_parameters(item, into)),
        Literal::Object(entries) => entries.iter().for_each(|(_, item)| collect_parameters(item, into)),
        Literal::Null | Literal::Bool(_) | Literal::Number(_) => {}
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::Text(text) => text.contains('\0'),
        Value::List(items) => items.iter().any(holds_nul),
        Value::Object(entries) => entries.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
    }
}
