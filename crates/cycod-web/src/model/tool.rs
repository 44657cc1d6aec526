//! One tool: its form, and what a call of it would do.

use std::sync::Arc;

use cycod_app::{
    shown_path,
    views::{Beyond, Note, Rerun, notes},
};
use cycod_engine::{
    ArgumentProblem, Engine, EngineError, Given, Plan, PlanError, Standing, StepPreview, Surface, Verdict as Decided,
    catalog::{Entry, ScopeFilter},
    definition::{Parameter, ParameterType, Tool, function_schema},
    diagnostic::Refusal,
    json,
    tokens::Measure,
};
use cycod_store::Run;

use super::{Card, asker};
use crate::form::Form;

/// The beginning of the names of fields that are arguments.
const ARGUMENT: &str = "arg.";
/// How many choices are shown all at once.
const FEW: usize = 5;

/// A tool.
pub(crate) struct ToolPage {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) level: &'static str,
    pub(crate) source: String,
    pub(crate) path: String,
    pub(crate) tokens: Option<usize>,
    pub(crate) notes: Vec<Note>,
    /// Whether its file can be edited here.
    pub(crate) is_editable: bool,
    /// Whether it waits for trust.
    pub(crate) needs_trust: bool,
    pub(crate) fields: Vec<Field>,
    pub(crate) preview: Option<Preview>,
    /// What keeps the whole call from being made.
    pub(crate) problems: Vec<[String; 2]>,
    pub(crate) refusal: Option<Refusal>,
    /// Why there is no form.
    pub(crate) broken: Option<String>,
    pub(crate) ask: Option<Ask>,
}

/// A question about the call that the form makes.
pub(crate) struct Ask {
    pub(crate) card: Card,
    /// What the answer has to carry.
    pub(crate) ticket: String,
}

/// A parameter as a field of a form.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) kind: FieldKind,
    pub(crate) is_required: bool,
    pub(crate) is_sensitive: bool,
    /// What is typed in it; several values for a list.
    pub(crate) values: Vec<String>,
    /// What is used when it is left empty.
    pub(crate) default: Option<String>,
    /// Rules for the value, in a few words.
    pub(crate) rules: Option<String>,
    pub(crate) problems: Vec<[String; 2]>,
}

/// How a field looks.
pub(crate) enum FieldKind {
    Text,
    Number {
        minimum: Option<String>,
        maximum: Option<String>,
        is_integer: bool,
    },
    /// One of a few words, all of which are shown.
    Radio(Vec<String>),
    /// One of many.
    Select(Vec<String>),
    /// A list with a field for each element.
    Rows,
    /// Anything else, as JSON.
    Json,
}

/// What a call would do.
pub(crate) struct Preview {
    pub(crate) steps: Vec<PreviewStep>,
    pub(crate) cleanup: Vec<String>,
    pub(crate) reach: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) level: &'static str,
    pub(crate) directory: String,
    pub(crate) verdicts: Vec<Verdict>,
}

/// A step of it.
pub(crate) struct PreviewStep {
    pub(crate) name: String,
    pub(crate) after: Vec<String>,
    pub(crate) condition: Option<String>,
    pub(crate) on_failure: bool,
    pub(crate) command: Result<String, Refusal>,
    pub(crate) depth: usize,
}

/// Whether a call may be made, by whom, and which rule says so.
pub(crate) struct Verdict {
    pub(crate) who: &'static str,
    pub(crate) verdict: Decided,
    pub(crate) rule: String,
}

impl ToolPage {
    /// The tool of a name with an empty form, or with the arguments of a run.
    ///
    /// # Errors
    /// When there is no such tool.
    pub(crate) fn of(engine: &Engine, name: &str, from: Option<&Run>) -> Result<Self, EngineError> {
        let entry = engine.entry(name, ScopeFilter::Any)?;
        let opened = engine.open_tool(name, ScopeFilter::Any);
        let mut page = Self::bare(engine, &entry);
        match opened {
            Err(error) => page.broken = Some(error.to_string()),
            Ok(opened) => {
                let tool = Arc::new(engine.resulting(opened.tool));
                page.fields = fields(&tool);
                if let Some(run) = from {
                    page.fill(&Rerun::of(run));
                    page.plan(engine, &tool, &Form::default());
                }
            }
        }
        Ok(page)
    }

    /// The same with what was typed, and what the call would do.
    ///
    /// # Errors
    /// When there is no such tool, or it cannot be read.
    pub(crate) fn filled(engine: &Engine, name: &str, form: &Form) -> Result<(Self, Option<Plan>), EngineError> {
        let entry = engine.entry(name, ScopeFilter::Any)?;
        let tool = Arc::new(engine.open_tool(name, ScopeFilter::Any)?.tool);
        let mut page = Self::bare(engine, &entry);
        page.fields = fields(&engine.resulting(Tool::clone(&tool)));
        for field in &mut page.fields {
            let name = format!("{ARGUMENT}{}", field.name);
            field.values = form.all(&name).map(str::to_owned).collect();
        }
        let plan = page.plan(engine, &tool, form);
        Ok((page, plan))
    }

    fn bare(engine: &Engine, entry: &Entry) -> Self {
        let summary = &entry.summary;
        let beyond = Beyond::of(engine, entry);
        Self {
            name: entry.name.clone(),
            title: summary.title.clone(),
            description: summary.description.clone().unwrap_or_default(),
            level: entry.level.name(),
            source: entry.origin.source.name().to_owned(),
            path: shown_path(&entry.path, engine.host()),
            tokens: engine.function(entry).map(|function| Measure::ESTIMATE.of(&function)),
            notes: notes(entry, &beyond, engine.host()),
            is_editable: super::edit::is_editable(entry),
            needs_trust: beyond.trust.is_some_and(|trust| trust != Standing::Trusted),
            fields: Vec::new(),
            preview: None,
            problems: Vec::new(),
            refusal: None,
            broken: None,
            ask: None,
        }
    }

    /// Plans the call of a form, and puts what is wrong next to its fields.
    fn plan(&mut self, engine: &Engine, tool: &Arc<Tool>, form: &Form) -> Option<Plan> {
        let planned = arguments(&self.fields).map_err(PlanError::Arguments).and_then(|arguments| {
            let arguments = engine.by_person(tool, arguments)?;
            if form.text("run").is_some() {
                return engine.plan(tool, arguments, None);
            }
            engine.plan_unasked(tool, arguments, None)
        });
        match planned {
            Ok(plan) => {
                self.preview = Some(Preview::of(engine, &plan));
                return Some(plan);
            }
            Err(PlanError::Refused(refusal)) => self.refusal = Some(refusal),
            Err(PlanError::Arguments(problems)) => problems.into_iter().for_each(|problem| self.blame(problem)),
        }
        None
    }

    fn blame(&mut self, problem: ArgumentProblem) {
        let words = [problem.message, problem.help.unwrap_or_default()];
        let field = problem.parameter.and_then(|name| self.fields.iter_mut().find(|field| field.name == name));
        field.map_or(&mut self.problems, |field| &mut field.problems).push(words);
    }

    fn fill(&mut self, rerun: &Rerun<'_>) {
        for field in &mut self.fields {
            let Some(value) = rerun.arguments.get(&field.name) else { continue };
            let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            field.values = match (value, &field.kind) {
                (serde_json::Value::Array(items), FieldKind::Rows) => items.iter().map(text).collect(),
                (value, FieldKind::Json) => vec![value.to_string()],
                (value, _) => vec![text(value)],
            };
        }
    }
}

/// The parameters as fields.
fn fields(tool: &Tool) -> Vec<Field> {
    let schema = function_schema(tool);
    let default = |name: &str| {
        let default = &schema["parameters"]["properties"][name]["default"];
        (!default.is_null()).then(|| default.as_str().map_or_else(|| default.to_string(), str::to_owned))
    };
    tool.given_parameters().map(|parameter| field(parameter, default(&parameter.name))).collect()
}

fn field(parameter: &Parameter, default: Option<String>) -> Field {
    let rules = &parameter.validation;
    let choices = rules.allowed.as_ref().map(|allowed| allowed.iter().map(ToString::to_string).collect::<Vec<_>>());
    let of_words =
        |words: Vec<String>| if words.len() <= FEW { FieldKind::Radio(words) } else { FieldKind::Select(words) };
    let is_simple =
        |kind: ParameterType| !matches!(kind, ParameterType::Array | ParameterType::Object | ParameterType::Any);
    let kind = match (parameter.kind, choices) {
        (kind, Some(words)) if is_simple(kind) => of_words(words),
        (ParameterType::Boolean, _) => of_words(vec!["true".to_owned(), "false".to_owned()]),
        (kind @ (ParameterType::Number | ParameterType::Integer), _) => FieldKind::Number {
            minimum: rules.minimum.clone(),
            maximum: rules.maximum.clone(),
            is_integer: kind == ParameterType::Integer,
        },
        (ParameterType::String, _) => FieldKind::Text,
        (ParameterType::Array, _) if rules.items.as_ref().is_none_or(|items| is_simple(items.kind)) => FieldKind::Rows,
        _ => FieldKind::Json,
    };
    Field {
        name: parameter.name.clone(),
        description: parameter.description.clone(),
        kind,
        is_required: parameter.required && parameter.default.is_none(),
        is_sensitive: parameter.sensitive,
        values: Vec::new(),
        default: default.filter(|_| !parameter.sensitive),
        rules: range(parameter),
        problems: Vec::new(),
    }
}

/// The limits of a number or a length, in a few words.
fn range(parameter: &Parameter) -> Option<String> {
    let rules = &parameter.validation;
    let between = |least: Option<String>, most: Option<String>, unit: &str| match (least, most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (None, None) => None,
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    between(rules.minimum.clone(), rules.maximum.clone(), "")
        .or_else(|| between(number(rules.min_length), number(rules.max_length), " characters"))
        .or_else(|| between(number(rules.min_items), number(rules.max_items), " items"))
}

/// The arguments that are typed in the fields. What is left empty is not given.
///
/// # Errors
/// What is no JSON where it has to be.
fn arguments(fields: &[Field]) -> Result<Vec<(String, Given)>, Vec<ArgumentProblem>> {
    let (mut given, mut problems) = (Vec::new(), Vec::new());
    for field in fields {
        for value in field.values.iter().filter(|value| !value.is_empty()) {
            let argument = match field.kind {
                FieldKind::Json => match json::parse(value) {
                    Ok(value) => Given::Value(value),
                    Err(error) => {
                        problems.push(ArgumentProblem {
                            parameter: Some(field.name.clone()),
                            code: cycod_engine::diagnostic::Code::InvalidArgument,
                            message: format!("this is not JSON: {error}"),
                            help: Some("write a value such as [1, 2] or {\"name\": \"value\"}".to_owned()),
                            instead: None,
                        });
                        continue;
                    }
                },
                _ => Given::Text(value.clone()),
            };
            given.push((field.name.clone(), argument));
        }
    }
    if problems.is_empty() { Ok(given) } else { Err(problems) }
}

impl Preview {
    fn of(engine: &Engine, plan: &Plan) -> Self {
        let preview = engine.preview(plan);
        let mut steps = Vec::new();
        add_steps(&mut steps, &preview.steps, 0);
        let verdicts = [Surface::Person, Surface::Mcp].into_iter().map(|surface| {
            let decision = engine.decide(plan, surface);
            Verdict { who: asker(surface), verdict: decision.verdict, rule: decision.rule }
        });
        Self {
            steps,
            cleanup: preview.cleanup.clone(),
            reach: preview.reaches(),
            warnings: plan.warnings.iter().chain(&plan.unmet).cloned().collect(),
            level: plan.level.name(),
            directory: shown_path(&plan.working_directory, plan.host()),
            verdicts: verdicts.collect(),
        }
    }
}

fn add_steps(into: &mut Vec<PreviewStep>, steps: &[StepPreview], depth: usize) {
    for step in steps {
        into.push(PreviewStep {
            name: step.name.clone(),
            after: step.after.clone(),
            condition: step.condition.clone(),
            on_failure: step.on_failure,
            command: step.command.clone(),
            depth,
        });
        if let Some(nested) = &step.nested {
            add_steps(into, &nested.steps, depth + 1);
        }
    }
}
