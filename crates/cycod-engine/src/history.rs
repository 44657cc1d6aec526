//! What the history is told of calls and runs: nothing secret, and nothing large.

use std::{borrow::Cow, ffi::OsStr, path::PathBuf, sync::Arc};

use cycod_call::{Call, ValueOrigin};
use cycod_catalog::ScopeFilter;
use cycod_definition::{Body, Privilege, RemoteRequest, Tool, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_plan::{Plan, PlannedAction};
use cycod_policy::{Answer, Approved, Decision, Verdict};
use cycod_store::{
    Digest, History, Maker, NewRow, Retention, RowDurability, RowKind, RunJournal, StoreError, canonical,
};
use serde_json::{Map, Value as Json, json};

use crate::{
    Caller, Control, Engine, Recording, journal,
    outputs::retention,
    recording::{LONGEST, MOST, shown, told},
    refusal_json,
};

/// What all arguments of a call may take together.
const MOST_ARGUMENTS: usize = 64 * 1024;

/// How the history stands to a run that is about to begin.
#[derive(Default)]
pub(crate) struct Recorded {
    /// What writes its end; nothing where the history does not learn of it.
    pub(crate) recording: Option<Recording>,
    /// Why the history does not learn of it.
    pub(crate) warning: Option<String>,
    /// What is still to be written: a person's run need not wait for it.
    pub(crate) waiting: Option<Beginning<'static>>,
}

/// What the history is told when a run begins.
pub(crate) struct Beginning<'a> {
    plan: Cow<'a, Plan>,
    decision: Cow<'a, Decision>,
    answer: Option<&'static str>,
    caller: Caller,
    masks: Masks,
    kind: RowKind,
}

impl Beginning<'_> {
    /// Whether it is soon enough to write this beside the run, when its one program has been started.
    ///
    /// A person sees what they start, and it runs also where the history cannot be written.
    fn may_wait(&self) -> bool {
        let plan = &self.plan;
        let is_one_command = matches!(&*plan.steps, [step] if matches!(step.action, PlannedAction::Command(_)));
        let has_nothing_else = plan.cleanup.is_empty() && plan.artifacts.is_empty() && plan.through.is_none();
        self.caller.surface == Caller::PERSON && is_one_command && has_nothing_else && !is_elevated(plan)
    }

    fn into_owned(self) -> Beginning<'static> {
        Beginning {
            plan: Cow::Owned(self.plan.into_owned()),
            decision: Cow::Owned(self.decision.into_owned()),
            answer: self.answer,
            caller: self.caller,
            masks: self.masks,
            kind: self.kind,
        }
    }
}

/// Why a run that goes on is not in the history.
pub(crate) fn not_in_history(error: &StoreError) -> String {
    format!("this run is not in the history: {}", told(error))
}

fn is_elevated(plan: &Plan) -> bool {
    plan.privilege == Privilege::Elevated
}

impl Engine {
    /// The history, if one is kept.
    pub fn history(&self) -> Option<&Arc<History>> {
        self.history.as_ref()
    }

    /// The person at this machine, as a caller.
    pub fn person(&self, surface: &'static str) -> Caller {
        let name =
            ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| self.host().environment.get(OsStr::new(name)));
        let principal = name.map_or_else(|| "unknown".to_owned(), |name| name.to_string_lossy().into_owned());
        Caller { surface, host: None, principal, is_local: true }
    }

    /// Who asks for a run.
    pub(crate) fn caller(&self, control: &Control) -> Caller {
        control.caller.clone().unwrap_or_else(|| self.person(Caller::PERSON))
    }

    /// Writes that a run begins. The warning says why that could not be written where the run goes on nevertheless.
    pub(crate) fn record(
        &self,
        approved: &Approved<Plan>,
        caller: &Caller,
        is_resumed: bool,
        may_wait: bool,
    ) -> Result<Recorded, Refusal> {
        let plan = approved.subject();
        let Some(history) = &self.history else { return Ok(Recorded::default()) };
        let masks = self.masks(plan);
        let beginning = Beginning {
            plan: Cow::Borrowed(plan),
            decision: Cow::Borrowed(approved.decision()),
            answer: approved.answer().map(answered),
            caller: caller.clone(),
            masks: masks.clone(),
            kind: if is_resumed { RowKind::Resume } else { RowKind::Call },
        };
        let waits = may_wait && beginning.may_wait();
        let written = if waits { Ok(()) } else { self.write_beginning(&beginning) };
        let recording = match written {
            Ok(()) => {
                let (run, outputs) = (plan.run_id.clone(), self.outputs_directory());
                let history = Arc::clone(history);
                let longest = Retention::default().max_age;
                let retention = Retention { max_age: longest, ..retention(&self.settings_now()) };
                let maker = Maker::new(caller.owner(), plan.tool().name.as_str());
                let begin = || RunJournal::begin(&history.journals(), &run, journal::head(plan, caller, &masks));
                let journal =
                    if is_resumed { RunJournal::go_on(&history.journals(), &run).ok() } else { Some(begin()) };
                let is_flushed = journal::is_flushed(plan);
                let journal = journal.map(|journal| journal.flushed(is_flushed));
                Recording::new(history, outputs, retention, maker, run, masks, journal)
            }
            Err(error) if caller.is_attended() && !is_elevated(plan) => {
                return Ok(Recorded { warning: Some(not_in_history(&error)), ..Recorded::default() });
            }
            Err(error) => {
                let why = format!("what runs must be in the history, and it cannot be written: {}", told(&error));
                return Err(Refusal::new(Code::HistoryUnwritable, why)
                    .place(plan.tool().name.as_str())
                    .attempt("fix what is wrong with the file; `cycod runs verify` checks all of it"));
            }
        };
        Ok(Recorded { recording: Some(recording), warning: None, waiting: waits.then(|| beginning.into_owned()) })
    }

    /// Writes that a run begins, or has begun.
    pub(crate) fn write_beginning(&self, beginning: &Beginning<'_>) -> Result<(), StoreError> {
        let Some(history) = &self.history else { return Ok(()) };
        let Beginning { plan, decision, answer, caller, masks, kind } = beginning;
        let mut body = self.call_json(plan, decision, caller, masks);
        if let Some(answer) = answer {
            body["answer"] = (*answer).into();
        }
        let durability = if is_elevated(plan) { RowDurability::Power } else { RowDurability::Process };
        write_call(history, plan, caller, (*kind, ""), masks, &body, durability)
    }

    /// What the history is to be told of a call that may be refused.
    pub fn asked(&self, plan: &Plan, decision: &Decision) -> Option<(Plan, Decision)> {
        let is_open = self.history.is_some() && decision.verdict != Verdict::Allow;
        is_open.then(|| (plan.clone(), decision.clone()))
    }

    /// Writes that a call was refused. What keeps it from being written is added to what the caller is told.
    pub fn record_refusal(&self, asked: Option<&(Plan, Decision)>, caller: &Caller, mut refusal: Refusal) -> Refusal {
        let (Some(history), Some((plan, decision))) = (&self.history, asked) else { return refusal };
        let masks = self.masks(plan);
        let mut body = self.call_json(plan, decision, caller, &masks);
        body["refusal"] = masks.json(refusal_json(&refusal));
        let kind = (RowKind::Call, "refused");
        if let Err(error) = write_call(history, plan, caller, kind, &masks, &body, RowDurability::Process) {
            refusal.why.push_str(&format!("; and this is not in the history: {}", told(&error)));
        }
        refusal
    }

    /// What the history calls a tool as it is now.
    pub fn fingerprint_of(&self, tool: &Tool) -> Option<String> {
        is_defined_here(tool).then(|| self.fingerprint(tool).digest().to_string())
    }

    /// Everything secret that is known of a call, with what is kept for its tool: an argument may repeat it.
    pub(crate) fn masks(&self, plan: &Plan) -> Masks {
        // What keeps secrets from being had is told when the run wants them.
        let plan = plan.with_secrets(&*self.secrets).unwrap_or(Cow::Borrowed(plan));
        plan.masks()
    }

    /// Where outputs are kept.
    pub fn outputs_directory(&self) -> PathBuf {
        self.catalog().scopes().user_directory().join("outputs")
    }

    fn call_json(&self, plan: &Plan, decision: &Decision, caller: &Caller, masks: &Masks) -> Json {
        let (arguments, withheld) = match plan.unplanned {
            // What of them is secret only the workflow would tell.
            Some(_) => (Map::new(), withheld(&plan.call)),
            None => arguments(&plan.call, masks),
        };
        let through = plan.through.as_ref().map(|through| {
            let (arguments, withheld) = self::arguments(&through.call, masks);
            json!({
                "tool": through.call.tool.name.as_str(),
                "arguments": arguments,
                "withheld": withheld,
                "background": through.is_detached,
            })
        });
        // What is asked of a server besides its tools is in no catalog.
        let is_listed = !matches!(&plan.asked.body, Body::Remote(remote) if remote.request != RemoteRequest::Tool);
        let entry = is_listed.then(|| self.catalog().find(plan.tool().name.as_str(), ScopeFilter::Any)).flatten();
        let is_ours = is_listed && entry.as_ref().is_none_or(|entry| entry.adopted.is_none());
        let mut commands = self.preview(plan).everything();
        commands.truncate(MOST);
        let body = json!({
            "host": caller.host.as_ref().map(|host| shown(masks, host)),
            "principal": caller.principal,
            "source": if is_ours { "custom" } else { "mcp" },
            "scope": entry.as_ref().map(|entry| entry.scope.name()),
            "file": entry.as_ref().map(|entry| entry.path.to_string_lossy()),
            "fingerprint": is_defined_here(&plan.asked).then(|| self.fingerprint_of_plan(plan).digest().to_string()),
            "level": plan.level.name(),
            "verdict": decision.verdict.name(),
            "rule": decision.rule,
            "commands": commands.iter().map(|command| shown(masks, command)).collect::<Vec<_>>(),
            "directory": plan.working_directory.to_string_lossy(),
            "from": plan.host().working_directory.to_string_lossy(),
            "reach": plan.reach(),
        });
        let mut body = masks.json(body);
        if let Some(fields) = body.as_object_mut() {
            fields.insert("arguments".to_owned(), arguments.into());
            fields.insert("withheld".to_owned(), withheld.into());
            fields.insert("through".to_owned(), through.unwrap_or_default());
            fields.retain(|_, value| !value.is_null() && *value != json!({}) && *value != json!([]));
        }
        body
    }
}

/// Whether a tool has a fingerprint: the definition of a remote one is its server's.
fn is_defined_here(tool: &Tool) -> bool {
    !matches!(tool.body, Body::Remote(_))
}

fn write_call(
    history: &History,
    plan: &Plan,
    caller: &Caller,
    (kind, status): (RowKind, &str),
    masks: &Masks,
    body: &Json,
    durability: RowDurability,
) -> Result<(), StoreError> {
    let tool = masks.apply(&plan.call.run.tool_name);
    let event = NewRow { kind, run: &plan.run_id, tool: &tool, surface: caller.surface, status, body };
    history.write(&event, durability).map(drop)
}

/// What somebody said when asked, in a word.
pub(crate) fn answered(answer: &Answer) -> &'static str {
    match answer {
        Answer::Once => "once",
        Answer::Session(_) => "session",
        Answer::Always(_) => "always",
        Answer::Edit(_) | Answer::No(_) | Answer::Unanswered(_) => "no",
    }
}

/// The names of the arguments that were given, none of which is kept.
fn withheld(call: &Call) -> Map<String, Json> {
    let given = call.values.iter().filter(|bound| bound.origin == ValueOrigin::Given);
    given.map(|bound| (bound.name.clone(), json!({"why": "of an unknown workflow"}))).collect()
}

/// The arguments that were given, and the names of those that are not kept or not whole, with the reason.
fn arguments(call: &Call, masks: &Masks) -> (Map<String, Json>, Map<String, Json>) {
    let (mut given, mut withheld) = (Map::new(), Map::new());
    let mut room = MOST_ARGUMENTS;
    for bound in call.values.iter().filter(|bound| bound.origin == ValueOrigin::Given) {
        let Some(value) = bound.untransformed.as_ref().or(bound.value.as_ref()) else { continue };
        if bound.sensitive {
            withheld.insert(bound.name.clone(), json!({"why": "secret"}));
            continue;
        }
        let mut large = |text: &str| {
            let digest = Digest::of(text.as_bytes()).to_string();
            withheld.insert(bound.name.clone(), json!({"why": "large", "bytes": text.len(), "sha256": digest}));
        };
        // A long text is the usual case, and need not be copied.
        if let Value::Text(text) = value
            && text.len() > LONGEST
        {
            large(&masks.apply(text));
            continue;
        }
        let value = value.to_json();
        let shown = masks.json(value.clone());
        let text = canonical(&shown);
        if text.len() > LONGEST.min(room) {
            large(&text);
            continue;
        }
        room -= text.len();
        if shown != value {
            withheld.insert(bound.name.clone(), json!({"why": "holds a secret"}));
        }
        given.insert(bound.name.clone(), shown);
    }
    (given, withheld)
}
