//! Questions of durable runs: what follows for a step that was lost and may not simply start again.
//!
//! ```text
//!  conductor ── commit: ask ──► open ── a member decides ──► answered ──┐
//!                                 ├──── in three days, no one does ──► expired ──┴── outbox ──► Restate ──► conductor
//!                                 └──── the run ends ──► withdrawn
//! ```
//!
//! Nothing runs while a question is open: Restate has an awakeable, and the database a row. The time of the run doesn't count
//! meanwhile, and begins again with the answer.

use cycod_conductor::{FlowQuestion, PersonAnswer, TaskAnswer};
use cycod_flow::{AttemptOutcome, FlowEvent, FlowTask, FlowWork, LostAnswer, ScopeId, StepId, StepShape};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::{
    HubError, HubMember, HubRefusal, HubTransaction, audit,
    flows::{self, StepResult},
};

/// How long a question is open, in milliseconds.
const LONGEST: i64 = 3 * 24 * 3600 * 1000;

/// How much of the time in which steps of a run may begin is left for what follows the question, in milliseconds.
const LEFT: i64 = 3600 * 1000;

/// The most questions of an answer.
const MOST: i64 = 1000;

/// What a member says about a lost step.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenAnswer {
    run: String,
    about: FlowTask,
    answer: LostAnswer,
}

/// A question that is open.
#[derive(Clone, Debug)]
pub(crate) struct OpenQuestion {
    pub(crate) run: String,
    /// The attempt, as JSON.
    about: String,
    pub(crate) tool: String,
    /// Whose run it is.
    pub(crate) member: String,
    /// The path of the step.
    pub(crate) step: String,
    /// The worker that was lost.
    pub(crate) worker: String,
    /// In milliseconds since 1970.
    pub(crate) asked: i64,
    /// Until when it is open.
    pub(crate) expires: i64,
    /// The task of which a result came late; empty if none did.
    pub(crate) late: String,
}

/// Opens questions about what came of a task.
pub(crate) fn ask(
    tx: &mut dyn HubTransaction,
    (run, expires): (&str, i64),
    (questions, task): (&[FlowQuestion], Option<&str>),
    now: Timestamp,
) -> Result<(), HubError> {
    let of_task = "SELECT worker FROM tasks WHERE id = $1";
    for FlowQuestion { about, awakeable } in questions {
        let row = tx.row(of_task, &[task.unwrap_or_default().into()])?;
        let worker = row.map_or(Ok(String::new()), |row| row.text(0))?;
        let step = path(tx, run, about.step)?;
        let insert = "INSERT INTO flow_questions (run, about, step, worker, awakeable, state, asked, expires, answer, decider) \
                      VALUES ($1, $2, $3, $4, $5, 'open', $6, $7, '', '')";
        let values = [
            run.into(),
            json!(about).to_string().into(),
            step.into(),
            worker.into(),
            awakeable.as_str().into(),
            now.as_millisecond().into(),
            last(expires, now).into(),
        ];
        tx.execute(insert, &values)?;
    }
    Ok(())
}

/// Until when a question of a run is open whose steps may begin until `expires`, in seconds since 1970.
pub(crate) fn last(expires: i64, now: Timestamp) -> i64 {
    expires.saturating_mul(1000).saturating_sub(LEFT).min(latest(now))
}

/// Until when a question is open that is asked now, if nothing else ends it.
pub(crate) fn latest(now: Timestamp) -> i64 {
    now.as_millisecond().saturating_add(LONGEST)
}

/// A tool that was called in a run.
struct Scope {
    /// The step that called it; nothing for the outermost one.
    by: Option<StepId>,
    steps: Vec<StepShape>,
}

/// The tools that were called in a run, by number.
fn scopes(tx: &mut dyn HubTransaction, run: &str) -> Result<Vec<Scope>, HubError> {
    let select = "SELECT event FROM flow_log WHERE run = $1 AND event LIKE '{\"opened\"%' ORDER BY number";
    let mut scopes = Vec::new();
    for row in tx.rows(select, &[run.into()])? {
        match serde_json::from_str(&row.text(0)?).map_err(|error| HubError::failed("an event", error))? {
            FlowEvent::Opened { by, steps, .. } => scopes.push(Scope { by: by.map(|by| by.step), steps }),
            _ => return Err(HubError::failed("an event", "it is another one")),
        }
    }
    Ok(scopes)
}

/// The step that called a tool; nothing for the outermost one.
pub(crate) fn caller(tx: &mut dyn HubTransaction, run: &str, scope: ScopeId) -> Result<Option<StepId>, HubError> {
    Ok(scopes(tx, run)?.get(scope.0).and_then(|scope| scope.by))
}

/// What a step is called, after the steps that called its tool.
pub(crate) fn path(tx: &mut dyn HubTransaction, run: &str, about: StepId) -> Result<String, HubError> {
    let scopes = scopes(tx, run)?;
    let (mut names, mut next) = (Vec::new(), Some(about));
    while let Some((step, scope)) = next.and_then(|step| Some((step, scopes.get(step.scope.0)?))) {
        names.extend(scope.steps.get(step.index).map(|step| step.name.as_str()));
        next = scope.by;
    }
    names.reverse();
    Ok(names.join("/"))
}

/// What the questions are about which a member may decide, and which of them have a late result.
pub(crate) fn open_names(tx: &mut dyn HubTransaction, member: &HubMember) -> Result<String, HubError> {
    let names = open(tx, Some(member))?.into_iter().map(|open| format!("{} {} {}", open.run, open.about, open.late));
    Ok(names.collect::<Vec<_>>().join("\n"))
}

/// The questions about which a member may decide; all of the team for nobody in particular.
pub(crate) fn open(tx: &mut dyn HubTransaction, member: Option<&HubMember>) -> Result<Vec<OpenQuestion>, HubError> {
    let select = "SELECT q.run, q.about, flows.tool, flows.member, q.step, q.worker, q.asked, q.expires, \
                  COALESCE((SELECT MIN(t.id) FROM tasks t WHERE t.run = q.run AND t.late <> '' \
                            AND t.work = '{\"attempt\":' || q.about || '}'), '') \
                  FROM flow_questions q \
                  JOIN flows ON flows.run = q.run WHERE q.state = 'open' ORDER BY q.asked, q.run, q.about LIMIT $1";
    let mut all = Vec::new();
    for row in tx.rows(select, &[MOST.into()])? {
        let question = OpenQuestion {
            run: row.text(0)?,
            about: row.text(1)?,
            tool: row.text(2)?,
            member: row.text(3)?,
            step: row.text(4)?,
            worker: row.text(5)?,
            asked: row.number(6)?,
            expires: row.number(7)?,
            late: row.text(8)?,
        };
        if member.is_none_or(|member| may_decide(member, &question.member)) {
            all.push(question);
        }
    }
    Ok(all)
}

/// The same for the device of a member.
pub(crate) fn listed(tx: &mut dyn HubTransaction, member: &HubMember, now: Timestamp) -> Result<Json, HubError> {
    sweep(tx, now)?;
    let json = |question: &OpenQuestion| {
        let OpenQuestion { run, about, tool, member, step, worker, asked, expires, late } = question;
        let about: Json = serde_json::from_str(about).map_err(|error| HubError::failed("a question", error))?;
        Ok(json!({"run": run, "about": about, "tool": tool, "member": member, "step": step, "worker": worker,
                  "asked": asked / 1000, "expires": expires / 1000, "late": late}))
    };
    open(tx, Some(member))?.iter().map(json).collect()
}

/// Whose run it is decides, and who administers the team.
fn may_decide(member: &HubMember, of: &str) -> bool {
    member.is_admin || member.name == of
}

/// Takes what a member says. Of several answers, the first one counts.
pub(crate) fn answer(
    tx: &mut dyn HubTransaction,
    member: &HubMember,
    given: &GivenAnswer,
    now: Timestamp,
) -> Result<(), HubError> {
    let about = json!(given.about).to_string();
    let select = "SELECT q.state, q.answer, q.decider, flows.member, q.step, q.expires FROM flow_questions q \
                  JOIN flows ON flows.run = q.run WHERE q.run = $1 AND q.about = $2";
    let row = tx.row(select, &[given.run.as_str().into(), about.as_str().into()])?;
    let of = row.as_ref().map_or(Ok(String::new()), |row| row.text(3))?;
    let Some(row) = row.filter(|_| may_decide(member, &of)) else {
        return Err(HubError::new(HubRefusal::Missing, "there is no such question"));
    };
    let conflict = |why: String| Err(HubError::new(HubRefusal::Conflict, why));
    match row.text(0)?.as_str() {
        "open" if row.number(5)? >= now.as_millisecond() => {}
        "answered" => return conflict(format!("`{}` has decided already: {}", row.text(2)?, row.text(1)?)),
        "open" | "expired" => return conflict("no one decided in time, so the step has failed".to_owned()),
        _ => return conflict("the run has ended".to_owned()),
    }
    close(tx, (&given.run, &about), (given.answer, &member.name), now)?;
    let what = format!("{} {} {}", given.run, row.text(4)?, name(given.answer));
    audit::add(tx, now, &member.name, "decide", what.trim())
}

fn name(answer: LostAnswer) -> &'static str {
    match answer {
        LostAnswer::Again => "again",
        LostAnswer::Done => "done",
        LostAnswer::Stop => "stop",
    }
}

/// Closes a question, and tells the conductor. Nobody decided if there is no decider.
fn close(
    tx: &mut dyn HubTransaction,
    (run, about): (&str, &str),
    (answer, decider): (LostAnswer, &str),
    now: Timestamp,
) -> Result<(), HubError> {
    let state = if decider.is_empty() { "expired" } else { "answered" };
    let update = "UPDATE flow_questions SET state = $1, answer = $2, decider = $3 \
                  WHERE run = $4 AND about = $5 AND state = 'open'";
    let values = [state.into(), name(answer).into(), decider.into(), run.into(), about.into()];
    // Of two hubs that close it at once, the row changes for one.
    if tx.execute(update, &values)? == 0 {
        return Ok(());
    }
    tx.execute("UPDATE flows SET timed = $1 WHERE run = $2", &[now.as_millisecond().into(), run.into()])?;
    let select = "SELECT awakeable FROM flow_questions WHERE run = $1 AND about = $2";
    let row = tx.row(select, &[run.into(), about.into()])?;
    let awakeable = row.ok_or_else(|| HubError::failed("a question", "it is gone"))?.text(0)?;
    let about = serde_json::from_str(about).map_err(|error| HubError::failed("a question", error))?;
    let late = if answer == LostAnswer::Done { take_late(tx, run, about)? } else { None };
    let body = json!(PersonAnswer { about, answer, late }).to_string();
    flows::send(tx, &format!("{run}.{awakeable}"), &flows::resolve(&awakeable), &body, now)
}

/// Lets the result count that came late of an attempt, if one did, and says what it is. One that says that the attempt has
/// failed stays where it is: the person knows that it was done.
fn take_late(tx: &mut dyn HubTransaction, run: &str, about: FlowTask) -> Result<Option<TaskAnswer>, HubError> {
    let work = FlowWork::Attempt(about);
    let select = "SELECT id, late FROM tasks WHERE run = $1 AND work = $2 AND late <> '' ORDER BY id LIMIT 1";
    let Some(row) = tx.row(select, &[run.into(), json!(work).to_string().into()])? else { return Ok(None) };
    let (task, late) = (row.text(0)?, StepResult::kept(&row.text(1)?)?);
    if late.answer.event != (FlowEvent::Ended { task: about, outcome: AttemptOutcome::Succeeded }) {
        return Ok(None);
    }
    if flows::check(tx, (run, &task, work), &late)?.is_some() {
        let why = "other steps changed the files of the project after it, so what it changed in them doesn't fit: \
                   let it start again, or stop";
        return Err(HubError::new(HubRefusal::Conflict, why));
    }
    let update = "UPDATE tasks SET state = 'done', result = late, worker = late_by WHERE id = $1";
    tx.execute(update, &[task.as_str().into()])?;
    Ok(Some(TaskAnswer { task, answer: late.answer, is_cancelled: false }))
}

/// What is known of an answer that the conductor heard, for the journal; nothing if no one gave it.
pub(crate) fn known(
    tx: &mut dyn HubTransaction,
    run: &str,
    (about, answer): (FlowTask, LostAnswer),
) -> Result<Option<Vec<u8>>, HubError> {
    let select = "SELECT answer, decider, step FROM flow_questions WHERE run = $1 AND about = $2";
    let Some(row) = tx.row(select, &[run.into(), json!(about).to_string().into()])? else { return Ok(None) };
    let entry = json!({"step": row.text(2)?, "by": row.text(1)?}).to_string();
    Ok((row.text(0)? == name(answer)).then(|| entry.into_bytes()))
}

/// Whether a question of a run is open.
pub(crate) fn is_open(tx: &mut dyn HubTransaction, run: &str) -> Result<bool, HubError> {
    let select = "SELECT run FROM flow_questions WHERE run = $1 AND state = 'open' LIMIT 1";
    Ok(tx.row(select, &[run.into()])?.is_some())
}

/// Closes the questions of a run that ends.
pub(crate) fn withdraw(tx: &mut dyn HubTransaction, run: &str) -> Result<(), HubError> {
    let update = "UPDATE flow_questions SET state = 'withdrawn' WHERE run = $1 AND state = 'open'";
    tx.execute(update, &[run.into()]).map(drop)
}

/// Closes the questions that no one answered in time: the step has failed.
pub(crate) fn sweep(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<(), HubError> {
    let select = "SELECT run, about FROM flow_questions WHERE state = 'open' AND expires < $1";
    for row in tx.rows(select, &[now.as_millisecond().into()])? {
        close(tx, (&row.text(0)?, &row.text(1)?), (LostAnswer::Stop, ""), now)?;
    }
    Ok(())
}
