//! What a tool asks of others before it runs.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use cycod_call::{Bound, Call, Given, NoSteps, OwnedPiece, RunContext, ValueOrigin, bind};
use cycod_definition::{Body, Host, Tool, ToolQuestion, Value, Whom, form_schema};
use cycod_diagnostic::{Code, Refusal, visible};
use cycod_mask::Masks;
use cycod_plan::{Plan, PlanError};
use cycod_run::WorkflowCall;
use serde_json::Value as Json;

use crate::{Beginning, Engine};

/// Something to ask before a tool can run.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingQuestion {
    /// What it is called.
    pub name: String,
    /// Who is asked, and what.
    pub whom: AskedOf,
    /// Whether the tool cannot run without an answer.
    pub is_required: bool,
}

impl PendingQuestion {
    /// Refuses the call of a tool whose question nobody can be asked.
    pub fn unanswerable(&self, tool: &str) -> Refusal {
        let asked = match &self.whom {
            AskedOf::Person { message, .. } => format!("the user: {message}"),
            AskedOf::Model { .. } => "a host with a model".to_owned(),
            AskedOf::Roots => "a host for its directories".to_owned(),
        };
        Refusal::new(Code::NobodyToAnswer, format!("`{tool}` asks {asked}"))
            .place(&self.name)
            .attempt(format!("ask the user to run it: cycod run {tool}"))
    }
}

/// Whom a question goes to.
#[derive(Clone, Debug, PartialEq)]
pub enum AskedOf {
    /// A person.
    Person {
        /// What is asked.
        message: String,
        /// The form to fill in, a flat JSON Schema of type `object`; without properties where consent is all that is asked.
        form: Json,
    },
    /// A model.
    Model {
        /// What is asked.
        prompt: String,
        /// How long the answer may be.
        max_tokens: u32,
    },
    /// The host: which directories it works in.
    Roots,
}

/// What came back for a question.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerTo {
    /// An object with the fields of the form; for a model its text, for roots their addresses, under the question's name.
    /// What else is in it does not matter.
    Accept(Json),
    /// The person who was asked does not want to answer.
    Decline,
    /// Nobody answered.
    Cancel,
}

impl Engine {
    /// Returns what is to be asked next: every question that has no answer yet and whose words are known.
    ///
    /// Ask them, add the answers, and ask for more until there are none; then [`Engine::plan_answered`] plans the call.
    /// Questions that wait for the tool to be a task are left out unless it is one.
    ///
    /// # Errors
    /// Everything that is wrong with the arguments and with the answers so far, or that an answer was needed and declined.
    pub fn questions(
        &self,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        answers: &[(String, AnswerTo)],
        is_task: bool,
        beginning: &Beginning,
    ) -> Result<Vec<PendingQuestion>, PlanError> {
        if let Some((tool, workflow)) = self.workflow_to_ask(tool, &arguments, beginning) {
            return self.questions(&tool, given(&workflow), answers, is_task, beginning);
        }
        if tool.asks.is_empty() && !matches!(tool.body, Body::Alias { .. }) {
            return Ok(Vec::new());
        }
        let library = self.library(tool)?;
        // Nobody is asked for a call that will not be made.
        self.refuse_what_is_off(&self.settings_now(), std::iter::once(tool).chain(library.tools()))?;
        let definition = library.effective(tool)?;
        let arguments = with_answers(&definition, arguments, answers)?;
        let is_open =
            |ask: &&ToolQuestion| ask.fields.iter().all(|field| arguments.iter().all(|(name, _)| name != field));
        let open: Vec<&ToolQuestion> = definition.asks.iter().filter(is_open).collect();
        let unknown: BTreeSet<&str> = open.iter().flat_map(|ask| &ask.fields).map(String::as_str).collect();
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        // Until its question is answered, nobody misses an answer.
        let mut without = Tool::clone(&definition);
        without.parameters.iter_mut().for_each(|known| known.required &= !unknown.contains(known.name.as_str()));
        let host = self.host_of(beginning);
        let temp = Plan::temp_directory_of(&host, &beginning.run_id);
        let run = RunContext { temp, tool_name: definition.name.to_string() };
        let call = bind(&Arc::new(without), arguments, &host, &run, &self.scripts).map_err(PlanError::Arguments)?;
        let is_next =
            |ask: &&&ToolQuestion| (is_task || !ask.within_task) && definition.answers_for(ask).is_disjoint(&unknown);
        let next = open.iter().filter(is_next).map(|ask| question(&definition, ask, &call));
        Ok(next.collect::<Result<_, _>>()?)
    }

    /// Plans a call whose questions are answered; `timeout` replaces the tool's own.
    ///
    /// # Errors
    /// As for [`Engine::plan`], and when an answer is missing or does not fit its question.
    pub fn plan_answered(
        &self,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        answers: &[(String, AnswerTo)],
        timeout: Option<Duration>,
        beginning: &Beginning,
    ) -> Result<Plan, PlanError> {
        let definition = self.library(tool)?.effective(tool)?;
        let arguments = with_answers(&definition, arguments, answers)?;
        self.plan_on(&self.host_of(beginning), &beginning.run_id, tool, arguments, answers, timeout)
    }

    /// As [`Engine::plan_answered`] without answers, as if called on another host, such as one that works in other files.
    ///
    /// # Errors
    /// As for [`Engine::plan_answered`].
    pub fn plan_at(
        &self,
        host: &Arc<Host>,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        timeout: Duration,
    ) -> Result<Plan, PlanError> {
        let definition = self.library(tool)?.effective(tool)?;
        let arguments = with_answers(&definition, arguments, &[])?;
        self.plan_on(host, &self.begin().run_id, tool, arguments, &[], Some(timeout))
    }

    /// Plans a call to be shown, asking nobody: answers that are not there are left empty, and the plan is never approved.
    ///
    /// # Errors
    /// As for [`Engine::plan`].
    pub fn plan_unasked(
        &self,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        let effective = self.library(tool)?.effective(tool)?;
        let mut definition = Tool::clone(&effective);
        let mut missing = Vec::new();
        for parameter in definition.parameters.iter_mut().filter(|parameter| parameter.asked && parameter.required) {
            if arguments.iter().all(|(name, _)| *name != parameter.name) {
                parameter.required = false;
                missing.push(format!("`{}` is the answer to a question that was not answered", parameter.name));
            }
        }
        if missing.is_empty() {
            return self.plan(tool, arguments, timeout);
        }
        let mut plan = self.plan(&Arc::new(definition), arguments, timeout)?;
        plan.unmet.extend(missing);
        Ok(plan)
    }

    /// Takes the arguments of a person, who may answer the tool's questions with them.
    ///
    /// # Errors
    /// When the tool cannot be told, because it stands for none.
    pub fn by_person(
        &self,
        tool: &Arc<Tool>,
        mut arguments: Vec<(String, Given)>,
    ) -> Result<Vec<(String, Given)>, Refusal> {
        let definition = self.library(tool)?.effective(tool)?;
        for (name, given) in &mut arguments {
            if definition.parameter(name).is_some_and(|parameter| parameter.asked) {
                *given = Given::Answer(Box::new(given.clone()));
            }
        }
        Ok(arguments)
    }
}

/// Adds the answers to the arguments.
pub(crate) fn with_answers(
    definition: &Tool,
    mut arguments: Vec<(String, Given)>,
    answers: &[(String, AnswerTo)],
) -> Result<Vec<(String, Given)>, Refusal> {
    for ask in &definition.asks {
        let answer = answers.iter().find(|(name, _)| *name == ask.name).map(|(_, answer)| answer);
        let accepted = match answer {
            None => continue,
            Some(AnswerTo::Accept(accepted)) => Some(accepted),
            Some(_) if is_required(definition, ask) => return Err(declined(ask)),
            Some(_) => None,
        };
        arguments.extend(ask.fields.iter().map(|field| {
            let value = match (accepted.and_then(|accepted| accepted.get(field)), &ask.whom) {
                (Some(value), _) => value.clone().into(),
                (None, Whom::Consent { .. }) => Value::Bool(true),
                (None, _) => Value::Null,
            };
            (field.clone(), Given::Answer(Box::new(Given::Value(value))))
        }));
    }
    let is_consent =
        |name: &str| definition.asks.iter().find(|ask| matches!(ask.whom, Whom::Consent { .. }) && ask.name == name);
    for (name, given) in &arguments {
        let Given::Answer(given) = given else { continue };
        let text = match &**given {
            Given::Text(text) => text.clone(),
            Given::Value(value) => value.to_string(),
            Given::Answer(_) => continue,
        };
        if let (Some(ask), "false" | "no" | "off" | "0") = (is_consent(name), &*text.trim().to_ascii_lowercase()) {
            return Err(declined(ask));
        }
    }
    Ok(arguments)
}

fn is_required(definition: &Tool, ask: &ToolQuestion) -> bool {
    let fields = ask.fields.iter().filter_map(|field| definition.parameter(field));
    fields.into_iter().any(|field| field.is_needed())
}

fn declined(ask: &ToolQuestion) -> Refusal {
    Refusal::new(Code::QuestionDeclined, format!("the question `{}` was declined", ask.name))
        .place(&ask.name)
        .attempt("ask the user what they want instead; do not repeat the same call")
}

/// Writes a question out. What is secret among the arguments is not shown to the person who is asked.
fn question(definition: &Tool, ask: &ToolQuestion, call: &Call) -> Result<PendingQuestion, Refusal> {
    let words = ask.words().map(|words| call.text_pieces(words, &NoSteps)).transpose();
    let words =
        words.map_err(|error| Refusal::new(error.code(), error.to_string()).place(&ask.name))?.unwrap_or_default();
    let masks = Masks::new(call.secrets());
    let whom = match &ask.whom {
        Whom::Person { .. } | Whom::Consent { .. } => {
            let mut form = form_schema(definition, ask);
            let defaults = call.values.iter().filter(|bound| bound.origin == ValueOrigin::Default && !bound.sensitive);
            for Bound { name, value, .. } in defaults {
                if let (Some(field), Some(value)) = (form["properties"].get_mut(name), value) {
                    field["default"] = value.to_json();
                }
            }
            AskedOf::Person { message: for_person(&words, &masks), form }
        }
        Whom::Model { max_tokens, .. } => {
            let prompt = masks.apply(&OwnedPiece::joined(&words)).into_owned();
            AskedOf::Model { prompt, max_tokens: *max_tokens }
        }
        Whom::Roots => AskedOf::Roots,
    };
    Ok(PendingQuestion { name: ask.name.clone(), whom, is_required: is_required(definition, ask) })
}

/// The words of a question as a person reads them. A value stays on its line, and one that would begin a line stands in
/// quotes: the value cannot add to the question.
fn for_person(words: &[OwnedPiece], masks: &Masks) -> String {
    let mut text = String::new();
    for piece in words {
        let part = OwnedPiece::joined(std::slice::from_ref(piece));
        let part = masks.apply(&part);
        match piece {
            OwnedPiece::Text(_) => text.push_str(&part),
            OwnedPiece::Value(_) => {
                let value = visible(&part).replace('\n', "\\n").replace('\t', " ");
                let begins_line = text.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
                text.push_str(&if begins_line && !value.is_empty() { format!("“{value}”") } else { value });
            }
        }
    }
    masks.apply(&text).into_owned()
}

/// What a workflow gets that runs in the place of a tool.
pub(crate) fn given(workflow: &WorkflowCall) -> Vec<(String, Given)> {
    workflow.arguments.iter().map(|(name, value)| (name.clone(), Given::Value(value.clone()))).collect()
}
