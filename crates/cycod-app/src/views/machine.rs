//! What tools need on this machine, and how to get it.

use cycod_engine::{
    Asker, Control, Engine, Given, Ignore, PlanError, Surface, ToolAnswer, Verdict,
    definition::Value,
    diagnostic::{Code, Refusal},
};
use serde::{Deserialize, Serialize};

/// The tool that makes the checks.
const TOOL: &str = "cli_check_environment";

/// What the checks of a machine found.
#[derive(Debug, Default, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct MachineView {
    pub all_passed: bool,
    pub checks: Vec<CheckView>,
    /// Why programs were not asked for their versions.
    #[serde(skip)]
    pub unstarted: Option<Refusal>,
}

/// A check and what fixes it.
#[derive(Debug, Deserialize, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct CheckView {
    pub group: String,
    pub name: String,
    /// `ok`, `absent`, `warning` or `failed`.
    pub status: String,
    pub message: String,
    #[serde(default)]
    pub fix: Option<String>,
}

impl MachineView {
    /// Of a machine on which no program is started.
    pub fn unstarted(engine: &Engine) -> Self {
        serde_json::from_value(cycod_cli_tools::check_unstarted(engine, false)).unwrap_or_default()
    }
}

/// Checks a machine, which starts programs to ask for their versions, and servers if they are to be met. Where that would need
/// an answer, no program is started, and the view has the reason.
pub fn check_machine(engine: &Engine, meets_servers: bool) -> MachineView {
    match checked(engine, meets_servers) {
        Ok(view) => view,
        Err(refusal) => MachineView { unstarted: Some(refusal), ..MachineView::unstarted(engine) },
    }
}

fn checked(engine: &Engine, meets_servers: bool) -> Result<MachineView, Refusal> {
    let failed = |why: String| Refusal::new(Code::NotStarted, why);
    let tool = engine.tool(TOOL).map_err(|error| failed(error.to_string()))?;
    let given = |name: &str, flag: bool| (name.to_owned(), Given::Value(Value::Bool(flag)));
    let plan = engine.plan(&tool, vec![given("verbose", false), given("servers", meets_servers)], None);
    let plan = plan.map_err(|error: PlanError| error.into_refusal(TOOL))?;
    let asker = Asker::from(Surface::Person);
    let decision = engine.decide_for(&plan, &asker);
    if decision.verdict == Verdict::Ask {
        return Err(Refusal::new(decision.code, decision.rule).attempt("cycod doctor"));
    }
    let approved = engine.approve_unasked(plan, decision, &asker)?;
    let control = engine.control().map_err(|error| failed(format!("cannot prepare to start processes: {error}")))?;
    let control = Control { caller: Some(engine.person("doctor")), ..control };
    let report = engine.run(approved, &control, &mut Ignore);
    let answer = ToolAnswer::of(&tool, &report);
    match (answer.structured, answer.problem) {
        (Some(found), _) => serde_json::from_value(found).map_err(|error| failed(error.to_string())),
        (None, Some(problem)) => Err(problem),
        (None, None) => Err(failed("the checks were stopped".to_owned())),
    }
}
