//! What another process needs to know to plan the same call again.

use std::{
    path::PathBuf,
    time::{Duration, UNIX_EPOCH},
};

use cycod_call::{Bound, Given, ValueOrigin, json};
use cycod_definition::{Body, Tool, Value};
use cycod_diagnostic::Refusal;
use cycod_plan::{Plan, PlanError};
use cycod_policy::{Approved, Decision, Surface, Verdict};
use serde::{Deserialize, Serialize};

use crate::{Asker, Beginning, Caller, Engine, EngineError};

/// The ways in which calls come, as the history knows them.
const SURFACES: [&str; 4] = [Caller::PERSON, "mcp", "agent", Caller::TEST];

/// A call that another process may plan again.
pub(crate) struct Order {
    pub(crate) tool: String,
    pub(crate) arguments: Vec<(String, Value)>,
    pub(crate) given: Vec<(String, Value)>,
    pub(crate) answers: Vec<String>,
    pub(crate) beginning: Beginning,
    pub(crate) timeout: Duration,
    pub(crate) call: String,
    pub(crate) rule: String,
    pub(crate) caller: Caller,
    /// Where it began, for a run that another process may continue.
    pub(crate) directory: Option<PathBuf>,
    /// Whether it is durable although its tool does not say so.
    pub(crate) durable: bool,
    /// The labels of the workers that carry it out; nothing for a run of this machine.
    pub(crate) fleet: Option<Vec<String>>,
}

/// A call in the form in which it is stored, so that another process can plan it again. An interrupted run may have one of an earlier version:
/// fields may be added, never changed.
#[derive(Serialize, Deserialize)]
pub(crate) struct OrderRow {
    tool: String,
    arguments: String,
    given: String,
    answers: Vec<String>,
    run: String,
    moment: (u64, u32),
    timeout: (u64, u32),
    call: String,
    rule: String,
    surface: String,
    host: Option<String>,
    principal: String,
    local: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) directory: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) durable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fleet: Option<Vec<String>>,
}

impl OrderRow {
    /// The order; nothing where a value is none of ours.
    pub(crate) fn read(self) -> Option<Order> {
        let object = |text: &str| match json::parse(text).ok()? {
            Value::Object(fields) => Some(fields),
            _ => None,
        };
        let duration = |(seconds, nanoseconds): (u64, u32)| Duration::new(seconds, nanoseconds.min(999_999_999));
        Some(Order {
            arguments: object(&self.arguments)?,
            given: object(&self.given)?,
            tool: self.tool,
            answers: self.answers,
            beginning: Beginning { moment: UNIX_EPOCH.checked_add(duration(self.moment))?, run_id: self.run },
            timeout: duration(self.timeout),
            call: self.call,
            rule: self.rule,
            caller: Caller {
                surface: SURFACES.into_iter().find(|name| *name == self.surface)?,
                host: self.host,
                principal: self.principal,
                is_local: self.local,
            },
            directory: self.directory.map(PathBuf::from),
            durable: self.durable,
            fleet: self.fleet,
        })
    }
}

impl Engine {
    /// Everything that the other process needs to know.
    pub(crate) fn order(&self, approved: &Approved<Plan>, caller: &Caller) -> OrderRow {
        let plan = approved.subject();
        let Some(through) = &plan.through else {
            let given: Vec<&Bound> =
                plan.call.values.iter().filter(|bound| bound.origin == ValueOrigin::Given).collect();
            let value = |bound: &Bound| bound.untransformed.clone().or_else(|| bound.value.clone());
            let arguments: Vec<_> =
                given.iter().filter_map(|bound| Some((bound.name.clone(), value(bound)?))).collect();
            let is_answer = |name: &str| plan.call.tool.parameter(name).is_some_and(|parameter| parameter.asked);
            let answers: Vec<&String> = given.iter().map(|bound| &bound.name).filter(|name| is_answer(name)).collect();
            return self.order_of(approved, caller, &plan.asked, &arguments, &[], &answers);
        };
        let call = &through.call;
        let outer: Vec<_> =
            call.values.iter().filter_map(|bound| Some((bound.name.clone(), bound.value.clone()?))).collect();
        let mut answers = Vec::new();
        let mut given = Vec::new();
        for (name, one) in &through.given {
            let (value, is_answer) = plain(one);
            given.push((name.clone(), value));
            answers.extend(is_answer.then_some(name));
        }
        self.order_of(approved, caller, &call.tool, &outer, &given, &answers)
    }

    /// What another process needs to know to plan the same call.
    fn order_of(
        &self,
        approved: &Approved<Plan>,
        caller: &Caller,
        tool: &Tool,
        arguments: &[(String, Value)],
        given: &[(String, Value)],
        answers: &[&String],
    ) -> OrderRow {
        let plan = approved.subject();
        let written = |values: &[(String, Value)]| {
            let mut text = String::new();
            json::write_object(values.iter().map(|(name, value)| (name.as_str(), value)), &mut text);
            text
        };
        let moment = plan.host().now.duration_since(UNIX_EPOCH).unwrap_or_default();
        OrderRow {
            tool: tool.name.to_string(),
            arguments: written(arguments),
            given: written(given),
            answers: answers.iter().map(|name| (*name).clone()).collect(),
            run: plan.run_id.clone(),
            moment: (moment.as_secs(), moment.subsec_nanos()),
            timeout: (plan.timeout.as_secs(), plan.timeout.subsec_nanos()),
            call: self.digest_of_call(plan, &asker(caller)).to_string(),
            rule: approved.decision().rule.clone(),
            surface: caller.surface.to_owned(),
            host: caller.host.clone(),
            principal: caller.principal.clone(),
            local: caller.is_local,
            directory: None,
            durable: false,
            fleet: None,
        }
    }

    /// Plans again what an order asks for.
    pub(crate) fn plan_ordered(&self, order: &Order) -> Result<Plan, Refusal> {
        let tool = self.tool(&order.tool).map_err(EngineError::into_refusal)?;
        let given = |values: &[(String, Value)]| {
            let one = |(name, value): &(String, Value)| {
                let given = Given::Value(value.clone());
                let is_answer = order.answers.contains(name);
                (name.clone(), if is_answer { Given::Answer(Box::new(given)) } else { given })
            };
            values.iter().map(one).collect::<Vec<_>>()
        };
        let wrong = |error: PlanError| error.into_refusal(&order.tool);
        if matches!(tool.body, Body::BuiltIn(_)) {
            // Which of its own arguments were answers is not what the order says.
            let own = order.arguments.iter().map(|(name, value)| (name.clone(), Given::Value(value.clone()))).collect();
            let host = self.host_of(&order.beginning);
            let outer = self.plan_itself(&host, &order.beginning.run_id, &tool, own, None).map_err(wrong)?;
            if let Some(workflow) = self.workflow_of(&outer) {
                return self.plan_given(&outer, &workflow, given(&order.given), Some(order.timeout)).map_err(wrong);
            }
        }
        self.plan_answered(&tool, given(&order.arguments), &[], Some(order.timeout), &order.beginning).map_err(wrong)
    }

    /// Decides about what an order asks for. The user was asked before this process started, if anyone had to be.
    pub(crate) fn decide_ordered(&self, plan: &Plan, order: &Order, asker: &Asker) -> Decision {
        match self.decide_for(plan, asker) {
            Decision { verdict: Verdict::Ask, code, .. } => {
                Decision::built_in(Verdict::Allow, format!("approved when it was started: {}", order.rule), code)
            }
            decision => decision,
        }
    }
}

/// Who asks for a run, as far as the rules need to know.
pub(crate) fn asker(caller: &Caller) -> Asker {
    let surface = Surface::NAMES.iter().find(|(name, _)| *name == caller.surface).map(|(_, surface)| *surface);
    Asker { principal: caller.principal.clone(), ..Asker::from(surface.unwrap_or(Surface::Person)) }
}

fn plain(given: &Given) -> (Value, bool) {
    match given {
        Given::Text(text) => (Value::Text(text.clone()), false),
        Given::Value(value) => (value.clone(), false),
        Given::Answer(given) => (plain(given).0, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_an_earlier_version_is_read_and_written_the_same() {
        let was = r#"{"tool":"ship","arguments":"{\"PIN\": \"x\"}","given":"{}","answers":["PIN"],"run":"01a2021a4831ea9400fc71aa3f533d16","moment":[1700000000,5],"timeout":[60,0],"call":"00","rule":"a rule","surface":"person","host":null,"principal":"ada","local":true,"directory":"/work"}"#;
        let row: OrderRow = serde_json::from_str(was).expect("it is read");
        assert_eq!(serde_json::to_string(&row).expect("it is written"), was);
        let order = row.read().expect("it is an order");
        assert_eq!(order.arguments, [("PIN".to_owned(), Value::Text("x".to_owned()))]);
        assert_eq!((order.caller.surface, order.durable), ("person", false));
    }
}
