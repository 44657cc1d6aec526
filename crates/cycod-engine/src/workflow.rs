//! Built-in tools that run a workflow in their place.
//!
//! The plan of such a call is the workflow's own, so everything that holds for the workflow holds for the call: rules, trust,
//! levels, permissions, what somebody is shown and agrees to, what the history is told. Of the built-in tool only what denies
//! it or asks about it counts besides.

use std::{sync::Arc, time::Duration};

use cycod_call::Given;
use cycod_definition::{Body, Tool};
use cycod_diagnostic::{Code, Refusal, closest};
use cycod_plan::{Plan, PlanError, Through};
use cycod_run::{Ran, RanEnd, RunReport, WorkflowCall};

use crate::{
    AnswerTo, Beginning, Engine, EngineError,
    asks::{given, with_answers},
};

impl Engine {
    /// The workflow that runs in the place of a planned tool.
    pub(crate) fn workflow_of(&self, plan: &Plan) -> Option<WorkflowCall> {
        let is_built_in = matches!(plan.asked.body, Body::BuiltIn(_));
        let built_ins = self.built_ins.as_ref().filter(|_| is_built_in)?;
        built_ins.workflow(plan.tool(), &plan.arguments())
    }

    /// The workflow whose questions are asked in the place of a tool's, with its arguments. What is wrong with either is
    /// told when the call is planned.
    pub(crate) fn workflow_to_ask(
        &self,
        tool: &Arc<Tool>,
        arguments: &[(String, Given)],
        beginning: &Beginning,
    ) -> Option<(Arc<Tool>, WorkflowCall)> {
        if !matches!(tool.body, Body::BuiltIn(_)) {
            return None;
        }
        let host = self.host_of(beginning);
        let plan = self.plan_itself(&host, &beginning.run_id, tool, arguments.to_vec(), None).ok()?;
        let workflow = self.workflow_of(&plan)?;
        let tool = self.workflow_named(&workflow.name).ok()?;
        Some((tool, workflow))
    }

    /// The plan of the workflow that runs in the place of `plan`; where there is none, `plan` itself, which then tells why.
    pub(crate) fn carried_out(
        &self,
        mut plan: Plan,
        workflow: &WorkflowCall,
        answers: &[(String, AnswerTo)],
        timeout: Option<Duration>,
    ) -> Plan {
        match self.plan_workflow(&plan, workflow, answers, timeout) {
            Ok(planned) => planned,
            Err(error) => {
                plan.unplanned = Some(error.into_refusal(&workflow.name));
                plan
            }
        }
    }

    fn plan_workflow(
        &self,
        plan: &Plan,
        workflow: &WorkflowCall,
        answers: &[(String, AnswerTo)],
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        let tool = self.workflow_named(&workflow.name)?;
        let definition = self.library(&tool)?.effective(&tool)?;
        self.plan_given(plan, workflow, with_answers(&definition, given(workflow), answers)?, timeout)
    }

    /// Plans a workflow with arguments among which are the answers to its questions.
    pub(crate) fn plan_given(
        &self,
        plan: &Plan,
        workflow: &WorkflowCall,
        given: Vec<(String, Given)>,
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        let tool = self.workflow_named(&workflow.name)?;
        let definition = self.library(&tool)?.effective(&tool)?;
        let default = definition.timeout.is_none().then_some(workflow.default_timeout);
        let timeout = timeout.or(workflow.timeout).or(default);
        let mut planned = self.plan_itself(plan.host(), &plan.run_id, &tool, given.clone(), timeout)?;
        // What is secret in the one is secret in the other.
        planned.call.more_secrets.extend(plan.call.secrets());
        let through = Through { call: plan.call.clone(), given, is_detached: workflow.is_detached };
        planned.through = Some(Arc::new(through));
        Ok(planned)
    }

    /// The workflow of this name: a tool with steps.
    fn workflow_named(&self, name: &str) -> Result<Arc<Tool>, Refusal> {
        let refusal = |why: String| Refusal::new(Code::UnknownWorkflow, why).place(name);
        let is_workflow = |tool: &Arc<Tool>| {
            let effective = self.library(tool).and_then(|library| library.effective(tool));
            effective.map(|tool| matches!(tool.body, Body::Steps(_)))
        };
        match self.tool(name) {
            Ok(tool) if is_workflow(&tool)? => Ok(tool),
            Ok(_) => Err(refusal(format!("`{name}` has no steps, so it is no workflow"))
                .attempt(format!("call `{name}` by its own name"))),
            Err(EngineError::Unknown { .. }) => {
                let workflows = self.workflows();
                let refusal = refusal(format!("no workflow is called `{name}`"));
                Err(match closest(name, workflows.iter().map(String::as_str)) {
                    Some(near) => refusal.attempt(format!("did you mean `{near}`?")),
                    None if workflows.is_empty() => refusal.attempt("make one: cycod tool add NAME --step …"),
                    None => refusal.attempt(format!("one of these: {}", workflows.join(", "))),
                })
            }
            Err(error) => Err(error.into_refusal()),
        }
    }

    /// The names of the tools with steps.
    fn workflows(&self) -> Vec<String> {
        let mut entries = self.catalog().entries();
        entries.retain(|entry| entry.is_active() && entry.summary.kind == cycod_catalog::ToolKind::Steps);
        entries.into_iter().map(|entry| entry.name).collect()
    }

    /// Turns the report of a workflow into that of the tool in whose place it ran; returns why it failed, which the answer
    /// says in the tool's own words.
    pub(crate) fn answered_for(
        &self,
        through: &Through,
        workflow: &Tool,
        run: &str,
        report: &mut RunReport,
    ) -> Option<Refusal> {
        let built_ins = self.built_ins.as_ref()?;
        let answer = built_ins.answer(&Ran { tool: &through.call.tool, workflow, run, end: RanEnd::Ended(&*report) });
        report.output.clone_from(&answer.output);
        report.success = !answer.is_error;
        if answer.is_error && report.exit_code == 0 {
            report.exit_code = 1;
        }
        report.answer = Some(Box::new(answer));
        report.refusal.take()
    }
}
