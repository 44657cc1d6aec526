//! What the history is told of calls and runs: nothing secret, and nothing large.

use std::{borrow::Cow, ffi::OsStr, path::PathBuf, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cycod_call::{Call, Origin};
use cycod_catalog::ScopeFilter;
use cycod_definition::{Body, Privilege, Tool, Value};
use cycod_diagnostic::{Code, Refusal};
use cycod_mask::Masks;
use cycod_plan::Plan;
use cycod_policy::{Answer, Approved, Decision, Verdict};
use cycod_run::{RunReport, StepReport};
use cycod_store::{
    Digest, Durability, Event, History, Kept, Kind, Maker, OutputId, Outputs, Retention, RunId, RunJournal, RunState,
    State, StoreError, canonical,
};
use serde_json::{Map, Value as Json, json};

use crate::{Control, Engine, approvals::LOCAL, journal, outputs::retention, refusal_json};

/// The longest text that is kept as it is: an argument, a command.
const LONGEST: usize = 4 * 1024;
/// What all arguments of a call may take together.
const MOST_ARGUMENTS: usize = 64 * 1024;
/// The most commands and the most steps that are named.
const MOST: usize = 256;
/// The largest output that is kept in the history itself.
const LARGEST_INLINE: usize = 8 * 1024;

/// A durable run whose beginning is not in the history.
pub(crate) fn not_kept(run: &str) -> Refusal {
    Refusal::new(Code::HistoryUnwritable, "a durable run must be in the history, and there is none").place(run)
}

/// Who asks for a call, as far as the history is to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The way the call came: `person`, `mcp`, `agent`, `test`.
    pub surface: &'static str,
    /// The program that asks, with its version, such as `claude-code 2.1`.
    pub host: Option<String>,
    /// As whom: the user of this machine, or whoever a server let in.
    pub principal: String,
    /// Whether that is the user of this machine.
    pub is_local: bool,
}

impl Caller {
    /// To whom the outputs of a call belong.
    pub fn owner(&self) -> &str {
        if self.is_local { LOCAL } else { &self.principal }
    }

    /// Whether a person sees what a run says.
    fn is_attended(&self) -> bool {
        matches!(self.surface, "person" | "test")
    }
}

/// A run that the history knows, until its end is written.
#[derive(Debug)]
pub struct Recording {
    history: Arc<History>,
    outputs: PathBuf,
    retention: Retention,
    maker: Maker,
    run: String,
    masks: Masks,
    /// What happens in it, as it happens.
    pub(crate) journal: Option<RunJournal>,
    /// What it could be continued from, until it has ended.
    pub(crate) state: Option<RunState>,
    is_ended: bool,
    /// Whether the report is that of a tool in whose place a workflow ran.
    pub(crate) is_answered_for: bool,
    /// Why it failed, which the report then says in other words.
    pub(crate) refusal: Option<Refusal>,
}

/// What a run wrote, for the history.
#[derive(Debug)]
pub enum Wrote<'a> {
    /// All of it.
    Bytes(&'a [u8]),
    /// All of it, where it is kept or will be: what is large is put there now.
    Kept(&'a mut Kept),
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
        control.caller.clone().unwrap_or_else(|| self.person("person"))
    }

    /// Writes that a run begins. The warning says why that could not be written where the run goes on nevertheless.
    pub(crate) fn record(
        &self,
        approved: &Approved<Plan>,
        caller: &Caller,
        is_resumed: bool,
    ) -> Result<(Option<Recording>, Option<String>), Refusal> {
        let plan = approved.subject();
        let Some(history) = &self.history else { return Ok((None, None)) };
        let masks = self.masks(plan);
        let mut body = self.call_json(plan, approved.decision(), caller, &masks);
        if let Some(answer) = approved.answer() {
            body["answer"] = answered(answer).into();
        }
        let is_elevated = plan.privilege == Privilege::Elevated;
        let durability = if is_elevated { Durability::Power } else { Durability::Process };
        let kind = if is_resumed { Kind::Resume } else { Kind::Call };
        match write_call(history, plan, caller, (kind, ""), &masks, &body, durability) {
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
                Ok((
                    Some(Recording {
                        history,
                        outputs,
                        retention,
                        maker,
                        run,
                        masks,
                        journal,
                        state: None,
                        is_ended: false,
                        is_answered_for: false,
                        refusal: None,
                    }),
                    None,
                ))
            }
            Err(error) if caller.is_attended() && !is_elevated => {
                Ok((None, Some(format!("this run is not in the history: {}", told(&error)))))
            }
            Err(error) => {
                let why = format!("what runs must be in the history, and it cannot be written: {}", told(&error));
                Err(Refusal::new(Code::HistoryUnwritable, why)
                    .place(plan.tool().name.as_str())
                    .attempt("fix what is wrong with the file; `cycod runs verify` checks all of it"))
            }
        }
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
        let kind = (Kind::Call, "refused");
        if let Err(error) = write_call(history, plan, caller, kind, &masks, &body, Durability::Process) {
            refusal.why.push_str(&format!("; and this is not in the history: {}", told(&error)));
        }
        refusal
    }

    /// What the history calls a tool as it is now.
    pub fn fingerprint_of(&self, tool: &Tool) -> Option<String> {
        is_defined_here(tool).then(|| self.fingerprint(tool).digest().to_string())
    }

    /// Everything secret that is known of a call, with what is kept for its tool: an argument may repeat it.
    fn masks(&self, plan: &Plan) -> Masks {
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
        let entry = self.catalog().find(plan.tool().name.as_str(), ScopeFilter::Any);
        let is_ours = entry.as_ref().is_none_or(|entry| entry.adopted.is_none());
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
    (kind, status): (Kind, &str),
    masks: &Masks,
    body: &Json,
    durability: Durability,
) -> Result<(), StoreError> {
    let tool = masks.apply(&plan.call.run.tool_name);
    let event = Event { kind, run: &plan.run_id, tool: &tool, surface: caller.surface, status, body };
    history.write(&event, durability).map(drop)
}

impl Recording {
    /// Writes the end of the run, with what it wrote; what keeps the history from that becomes a warning of the report.
    pub fn end(mut self, report: &mut RunReport, outputs: Vec<(&str, Wrote<'_>)>) {
        self.is_ended = true;
        let status = match report {
            _ if report.cancelled => State::Cancelled,
            _ if report.timed_out => State::TimedOut,
            _ if report.success => State::Ok,
            _ => State::Failed,
        };
        let journal = self.journal.take().and_then(|journal| journal::finish(journal, status.name(), report));
        let outputs: Map<String, Json> = outputs
            .into_iter()
            .filter_map(|(name, wrote)| Some((name.to_owned(), self.output(name, wrote)?)))
            .collect();
        let mut steps = Vec::new();
        add_steps(&report.steps, "", &self.masks, &mut steps);
        let mut body = self.masks.json(
            json!({
                "exit_code": report.exit_code,
                "duration_us": u64::try_from(report.duration.as_micros()).unwrap_or(u64::MAX),
                "truncated": report.truncated,
                "refusal": report.refusal.as_ref().or(self.refusal.as_ref()).map(refusal_json),
                "warnings": report.warnings.iter().take(MOST).map(|warning| shown(&self.masks, warning)).collect::<Vec<_>>(),
                "steps": steps,
                "outputs": outputs,
                "journal": journal,
            }),
        );
        if let Some(fields) = body.as_object_mut() {
            let is_nothing = |value: &Json| [json!(null), json!(false), json!({}), json!([])].contains(value);
            fields.retain(|_, value| !is_nothing(value));
        }
        let written = self.write(status.name(), &body);
        if let (Ok(()), Some(state)) = (&written, self.state.take()) {
            // Without its end in the history, the run is still one that was interrupted.
            _ = state.remove();
        }
        if let Err(error) = written {
            report.warnings.push(format!("the end of this run is not in the history: {}", told(&error)));
        }
    }

    /// Writes the end of a run whose output nobody else keeps.
    pub(crate) fn end_here(self, report: &mut RunReport, is_workflow: bool) {
        // The answer of what a workflow ran in the place of is worth keeping beside what the workflow said.
        let answer = self.is_answered_for.then(|| report.output.clone());
        let [output, error] = if is_workflow {
            [("transcript", std::mem::take(&mut report.transcript)), ("stderr", Vec::new())]
        } else {
            [("stdout", std::mem::take(&mut report.output)), ("stderr", std::mem::take(&mut report.error))]
        };
        let mut wrote = vec![(output.0, Wrote::Bytes(&output.1)), (error.0, Wrote::Bytes(&error.1))];
        wrote.extend(answer.as_ref().map(|answer| ("stdout", Wrote::Bytes(answer))));
        self.end(report, wrote);
        if is_workflow {
            report.transcript = output.1;
        } else {
            (report.output, report.error) = (output.1, error.1);
        }
    }

    /// Leaves the run as it is: it can still be continued.
    pub(crate) fn leave(mut self) {
        self.is_ended = true;
    }

    fn write(&self, status: &str, body: &Json) -> Result<(), StoreError> {
        let event = Event { kind: Kind::End, run: &self.run, tool: "", surface: "", status, body };
        self.history.write(&event, Durability::Process).map(drop)
    }

    /// What is known of an output: itself, or where it is.
    fn output(&self, name: &str, wrote: Wrote<'_>) -> Option<Json> {
        let inline = |bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(text) => json!({"bytes": bytes.len(), "text": text}),
            Err(_) => json!({"bytes": bytes.len(), "base64": STANDARD.encode(bytes)}),
        };
        let lost = |bytes: u64, digest: Digest, error: &StoreError| json!({"bytes": bytes, "sha256": digest.to_string(), "lost": told(error)});
        let referred = |kept: &Kept| {
            let mut referred =
                json!({"bytes": kept.bytes(), "sha256": kept.sha256().to_string(), "id": kept.id().to_string()});
            if kept.dropped() > 0 {
                referred["dropped"] = kept.dropped().into();
            }
            referred
        };
        match wrote {
            Wrote::Bytes([]) => None,
            Wrote::Bytes(bytes) if bytes.len() <= LARGEST_INLINE => Some(inline(bytes)),
            Wrote::Bytes(bytes) => Some(match self.keep(name, bytes) {
                Ok(kept) => referred(&kept),
                Err(error) => lost(bytes.len() as u64, Digest::of(bytes), &error),
            }),
            Wrote::Kept(kept) if kept.bytes() == 0 => None,
            Wrote::Kept(kept) if kept.bytes() <= LARGEST_INLINE as u64 => {
                let mut bytes = vec![0; LARGEST_INLINE];
                Some(match kept.read_at(0, &mut bytes) {
                    Ok(length) => inline(&bytes[..length]),
                    Err(error) => lost(kept.bytes(), kept.sha256(), &error),
                })
            }
            Wrote::Kept(kept) => Some(match kept.store() {
                Ok(()) => referred(kept),
                Err(error) => lost(kept.bytes(), kept.sha256(), &error),
            }),
        }
    }

    fn keep(&self, name: &str, bytes: &[u8]) -> Result<Kept, StoreError> {
        let id = OutputId::new(self.run.parse::<RunId>()?, name)?;
        let mut spool = Outputs::open(&self.outputs, self.retention)?.spool(id, self.maker, 0);
        spool.write(bytes)?;
        spool.finish()
    }
}

impl Drop for Recording {
    /// A run that breaks off while its process lives on would be shown as running for as long.
    fn drop(&mut self) {
        if !self.is_ended {
            // Nobody is left to be told.
            _ = self.write("failed", &json!({"warnings": ["the run failed: this is a bug in cycod"]}));
        }
    }
}

/// What somebody said when asked, in a word.
fn answered(answer: &Answer) -> &'static str {
    match answer {
        Answer::Once => "once",
        Answer::Session(_) => "session",
        Answer::Always(_) => "always",
        Answer::Edit(_) | Answer::No(_) | Answer::Unanswered(_) => "no",
    }
}

/// The names of the arguments that were given, none of which is kept.
fn withheld(call: &Call) -> Map<String, Json> {
    let given = call.values.iter().filter(|bound| bound.origin == Origin::Given);
    given.map(|bound| (bound.name.clone(), json!({"why": "of an unknown workflow"}))).collect()
}

/// The arguments that were given, and the names of those that are not kept or not whole, with the reason.
fn arguments(call: &Call, masks: &Masks) -> (Map<String, Json>, Map<String, Json>) {
    let (mut given, mut withheld) = (Map::new(), Map::new());
    let mut room = MOST_ARGUMENTS;
    for bound in call.values.iter().filter(|bound| bound.origin == Origin::Given) {
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

/// Every step with those of the tools they call, under names joined by `/`.
fn add_steps(steps: &[StepReport], above: &str, masks: &Masks, into: &mut Vec<Json>) {
    for step in steps {
        if into.len() == MOST {
            return;
        }
        let name = format!("{above}{}", step.name);
        let mut row = json!({
            "name": name,
            "status": step.status.name(),
            "exit_code": step.exit_code,
            "duration_us": u64::try_from(step.duration.as_micros()).unwrap_or(u64::MAX),
            "commands": step.commands.iter().take(MOST).map(|command| shown(masks, command)).collect::<Vec<_>>(),
        });
        if step.attempts > 1 {
            row["attempts"] = step.attempts.into();
        }
        if step.used_fallback {
            row["used_fallback"] = true.into();
        }
        if let Some(refusal) = &step.refusal {
            row["refusal"] = refusal_json(refusal);
        }
        into.push(row);
        add_steps(&step.steps, &format!("{name}/"), masks, into);
    }
}

/// A text without secrets, or its beginning with what is missing: a secret that is cut in two is none that can be found.
fn shown(masks: &Masks, text: &str) -> String {
    let text = masks.apply(text);
    if text.len() <= LONGEST {
        return text.into_owned();
    }
    let end = text.floor_char_boundary(LONGEST);
    format!("{}[… {} more bytes]", &text[..end], text.len() - end)
}

/// An error with what led to it.
pub(crate) fn told(error: &StoreError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
