//! Plans of calls, and what keeps a tool from being planned here.

use std::{sync::Arc, time::Duration};

use cycod_call::Given;
use cycod_catalog::UnavailableReason;
use cycod_definition::{Host, Tool};
use cycod_diagnostic::{Code, Refusal};
use cycod_plan::{Library, Misuse, Plan, PlanError, PlanRequest, PlannedConfinement, Preview, misuses};

use crate::{AnswerTo, Engine, beginning::run_id};

impl Engine {
    /// Plans a call; `timeout` replaces the tool's own.
    ///
    /// # Errors
    /// Everything that is wrong with the arguments, or why the tool cannot run here.
    pub fn plan(
        &self,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        self.plan_on(self.host(), &run_id(), tool, arguments, &[], timeout)
    }

    /// As [`Engine::plan`], as if called from elsewhere; `answers` are those to the questions of a workflow that runs in the
    /// tool's place.
    pub(crate) fn plan_on(
        &self,
        host: &Arc<Host>,
        run_id: &str,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        answers: &[(String, AnswerTo)],
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        let plan = self.plan_itself(host, run_id, tool, arguments, timeout)?;
        Ok(match self.workflow_of(&plan) {
            Some(workflow) => self.carried_out(plan, &workflow, answers, timeout),
            None => plan,
        })
    }

    /// Plans a call of the very tool, whatever runs in its place.
    pub(crate) fn plan_itself(
        &self,
        host: &Arc<Host>,
        run_id: &str,
        tool: &Arc<Tool>,
        arguments: Vec<(String, Given)>,
        timeout: Option<Duration>,
    ) -> Result<Plan, PlanError> {
        self.moments.begin();
        let mut library = self.library(tool)?;
        let tools: Vec<_> = std::iter::once(tool).chain(library.tools()).cloned().collect();
        if let Some(refusal) = tools.iter().find_map(|tool| Some(misuses_in(tool, &library).first()?.refusal(tool))) {
            return Err(refusal.into());
        }
        for tool in &tools {
            if let Some(refusal) = self.lacking(tool) {
                library.lacks(tool, refusal);
            }
        }
        let library = Arc::new(library);
        let settings = self.settings_now();
        self.refuse_what_is_off(&settings, std::iter::once(tool).chain(library.tools()))?;
        let mut plan = Plan::new(PlanRequest {
            tool,
            arguments,
            library,
            host: Arc::clone(host),
            run_id,
            timeout,
            scripts: &self.scripts,
            within: PlannedConfinement::default(),
        })?;
        plan.set_level(self.level_of(tool, &plan));
        if let Some(longest) = settings.longest() {
            plan.hold_to(longest.value, &format!("`tools.maxExecutionTime` ({})", longest.place));
        }
        Ok(plan)
    }

    /// What is wrong between a tool and those it uses; one that is missing is not told of here.
    pub fn misuses(&self, tool: &Tool) -> Vec<Misuse> {
        misuses(tool, &|name| Some(Arc::new(self.resulting(Tool::clone(&*self.tool(name).ok()?)))))
    }

    /// Why a tool cannot run on this machine, though it works on its platform: something that it requires is not there.
    fn lacking(&self, tool: &Tool) -> Option<Refusal> {
        let lacking = self.catalog().lacking(tool);
        let first = lacking.first()?;
        let reasons: Vec<String> = lacking.iter().map(ToString::to_string).collect();
        let refusal = Refusal::new(Code::RequirementMissing, format!("`{}` {}", tool.name, reasons.join("; ")));
        Some(match first {
            UnavailableReason::MissingVariable(name) => {
                refusal.place(name).attempt(format!("set the environment variable `{name}`"))
            }
            UnavailableReason::MissingCommand(program) => {
                refusal.place(program).attempt(format!("install `{program}`"))
            }
            _ => refusal,
        })
    }

    /// Shows everything a plan would do.
    pub fn preview(&self, plan: &Plan) -> Preview {
        plan.preview(&self.scripts)
    }
}

/// What is wrong between a tool of a library and those it uses.
fn misuses_in(tool: &Tool, library: &Library) -> Vec<Misuse> {
    misuses(tool, &|name| {
        let used = library.get(name)?;
        // Of an alias that is wrong itself, its own misuse is told.
        Some(library.effective(used).unwrap_or_else(|_| Arc::clone(used)))
    })
}
