//! What workers do only with the consent of a person, because their own rules say so.
//!
//! ```text
//!  a worker ── it asks ──► open ── someone whom the worker named signs an answer ──► answered ──┐
//!                           ├──── in three days, no one does ──► expired ───────────────────────┤
//!                           └──── the run ends ──► withdrawn                                    └──► given to a worker again
//! ```
//!
//! A question is one text, known by its digest, about one run. Each step of the run that a worker holds because of it is a *hold*,
//! and all of them continue with the one answer. The hub passes the answers on and can't make one: a worker counts only what a
//! device signed that a user of the worker's machine named.

use cycod_conductor::{FlowHold, WorkResumed};
use cycod_flow::FlowWork;
use cycod_team::{BlobDigest, ConsentQuestion, FORMAT, MOST_QUESTION, SignedAnswer};
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use crate::{HubError, HubMember, HubRefusal, HubTransaction, audit, flows, hashed, questions, roots};

/// The most questions of an answer.
const MOST: i64 = 200;

/// A question that is open.
#[derive(Clone, Debug)]
pub(crate) struct OpenConsent {
    pub(crate) run: String,
    pub(crate) tool: String,
    /// Whose run it is.
    pub(crate) member: String,
    /// The paths of the steps that wait for it; none for a run as a whole.
    pub(crate) steps: Vec<String>,
    /// The worker that asked first.
    pub(crate) worker: String,
    /// In milliseconds since 1970.
    pub(crate) asked: i64,
    /// Until when it is open.
    pub(crate) expires: i64,
    pub(crate) document: String,
}

fn broken(error: impl std::fmt::Display) -> HubError {
    HubError::failed("a question", error)
}

fn read(document: &str) -> Result<ConsentQuestion, HubError> {
    serde_json::from_str(document).map_err(broken)
}

/// Checks what a worker asks.
pub(crate) fn check(run: &str, document: &str) -> Result<(), HubError> {
    let question: Result<ConsentQuestion, _> = serde_json::from_str(document);
    let is_fit = |question: ConsentQuestion| question.format == FORMAT && question.run == run;
    match document.len() <= MOST_QUESTION && question.is_ok_and(is_fit) {
        true => Ok(()),
        false => Err(HubError::invalid("the question can't be read, or is about another run")),
    }
}

/// What is known of a question, for the journal of the run.
pub(crate) fn told(document: &str, (step, worker): (&str, &str)) -> Result<Vec<u8>, HubError> {
    let question = read(document)?;
    let approvers: Vec<&String> = question.approvers.keys().collect();
    let rule = &question.request["rule"];
    Ok(json!({"step": step, "worker": worker, "rule": rule, "approvers": approvers}).to_string().into_bytes())
}

/// Holds what a worker asked about, until that is answered.
pub(crate) fn hold(
    tx: &mut dyn HubTransaction,
    (run, expires): (&str, i64),
    (holds, task): (&[FlowHold], Option<&str>),
    now: Timestamp,
) -> Result<(), HubError> {
    for FlowHold { work, awakeable } in holds {
        let select = "SELECT worker, result FROM tasks WHERE id = $1";
        let row = tx.row(select, &[task.unwrap_or_default().into()])?.ok_or_else(|| broken("its task is gone"))?;
        let document = flows::entry_of(&row.text(1)?)?;
        let document = String::from_utf8(document).map_err(broken)?;
        let step = step_of(tx, run, *work)?;
        let held = Held { work: json!(work).to_string(), step, awakeable: awakeable.clone() };
        wait(tx, (run, questions::last(expires, now)), &held, (&document, &row.text(0)?), now)?;
    }
    Ok(())
}

/// The path of the step to which work belongs; that of the call for what ends a tool.
pub(crate) fn step_of(tx: &mut dyn HubTransaction, run: &str, work: FlowWork) -> Result<String, HubError> {
    match work {
        FlowWork::Attempt(task) => questions::path(tx, run, task.step),
        FlowWork::Decide(step) => questions::path(tx, run, step),
        FlowWork::CleanUp(scope) => Ok(match questions::caller(tx, run, scope)? {
            Some(step) => format!("{}, the cleanup", questions::path(tx, run, step)?),
            None => "the cleanup".to_owned(),
        }),
    }
}

/// Something that waits for an answer.
pub(crate) struct Held {
    /// Which work of the run, as JSON; empty for a run as a whole.
    pub(crate) work: String,
    pub(crate) step: String,
    /// Where Restate waits; empty for a run as a whole.
    pub(crate) awakeable: String,
}

/// Holds something until a question is answered, or until `last`, in milliseconds since 1970.
pub(crate) fn wait(
    tx: &mut dyn HubTransaction,
    (run, last): (&str, i64),
    held: &Held,
    (document, worker): (&str, &str),
    now: Timestamp,
) -> Result<(), HubError> {
    let question = BlobDigest::of(document.as_bytes()).to_string();
    let insert = "INSERT INTO consents (run, question, document, worker, state, asked, expires, decider, answer) \
                  VALUES ($1, $2, $3, $4, 'open', $5, $6, '', '') ON CONFLICT DO NOTHING";
    let values = [
        run.into(),
        question.as_str().into(),
        document.into(),
        worker.into(),
        now.as_millisecond().into(),
        last.into(),
    ];
    tx.execute(insert, &values)?;
    let select = "SELECT question FROM holds WHERE run = $1 AND work = $2";
    let before = tx.row(select, &[run.into(), held.work.as_str().into()])?;
    let before = before.map(|row| row.text(0)).transpose()?;
    tx.execute("DELETE FROM holds WHERE run = $1 AND work = $2", &[run.into(), held.work.as_str().into()])?;
    let insert = "INSERT INTO holds (run, work, question, step, awakeable, state) VALUES ($1, $2, $3, $4, $5, $6)";
    // Nothing more can come of a question that is asked again.
    let state = if before.as_deref() == Some(question.as_str()) { "last" } else { "open" };
    let values = [
        run.into(),
        held.work.as_str().into(),
        question.as_str().into(),
        held.step.as_str().into(),
        held.awakeable.as_str().into(),
        state.into(),
    ];
    tx.execute(insert, &values)?;
    let select = "SELECT state FROM consents WHERE run = $1 AND question = $2";
    let is_open = tx.row(select, &[run.into(), question.as_str().into()])?;
    let is_open = is_open.map_or(Ok(String::new()), |row| row.text(0))? == "open";
    if state == "last" || !is_open {
        release(tx, run, &held.work, &held.awakeable, now)?;
        let update = "UPDATE holds SET state = 'done' WHERE run = $1 AND work = $2 AND state = 'open'";
        tx.execute(update, &[run.into(), held.work.as_str().into()])?;
    }
    Ok(())
}

/// Gives what was held to a worker again.
fn release(
    tx: &mut dyn HubTransaction,
    run: &str,
    work: &str,
    awakeable: &str,
    now: Timestamp,
) -> Result<(), HubError> {
    if work.is_empty() {
        let update = "UPDATE tasks SET state = 'waiting' WHERE id = $1 AND state = 'asked'";
        return tx.execute(update, &[run.into()]).map(drop);
    }
    let work = serde_json::from_str(work).map_err(broken)?;
    let body = json!(WorkResumed { work }).to_string();
    flows::send(tx, &format!("{run}.{awakeable}"), &flows::resolve(awakeable), &body, now)
}

/// Closes a question, and continues what it held.
fn close(
    tx: &mut dyn HubTransaction,
    (run, question): (&str, &str),
    (state, decider, answer): (&str, &str, &str),
    now: Timestamp,
) -> Result<(), HubError> {
    let update = "UPDATE consents SET state = $1, decider = $2, answer = $3 \
                  WHERE run = $4 AND question = $5 AND state = 'open'";
    let values = [state.into(), decider.into(), answer.into(), run.into(), question.into()];
    // Of two hubs that close it at once, the row changes for one.
    if tx.execute(update, &values)? == 0 {
        return Ok(());
    }
    tx.execute("UPDATE flows SET timed = $1 WHERE run = $2", &[now.as_millisecond().into(), run.into()])?;
    let select = "SELECT work, awakeable FROM holds WHERE run = $1 AND question = $2 AND state = 'open'";
    for row in tx.rows(select, &[run.into(), question.into()])? {
        release(tx, run, &row.text(0)?, &row.text(1)?, now)?;
    }
    let update = "UPDATE holds SET state = 'done' WHERE run = $1 AND question = $2 AND state = 'open'";
    tx.execute(update, &[run.into(), question.into()]).map(drop)
}

/// What the workers asked that a device may answer, and in which runs.
pub(crate) fn open_names(tx: &mut dyn HubTransaction, asker: (&HubMember, &str)) -> Result<String, HubError> {
    let names = open(tx, Some(asker))?.into_iter().map(|open| format!("{} {}", open.run, hashed(&open.document)));
    Ok(names.collect::<Vec<_>>().join("\n"))
}

/// The questions that are open; of a member's device those of the member's runs, and those that the device may answer.
pub(crate) fn open(
    tx: &mut dyn HubTransaction,
    asker: Option<(&HubMember, &str)>,
) -> Result<Vec<OpenConsent>, HubError> {
    let select = "SELECT run, question, document, worker, asked, expires FROM consents WHERE state = 'open' \
                  ORDER BY asked, run, question LIMIT $1";
    let mut all = Vec::new();
    for row in tx.rows(select, &[MOST.into()])? {
        let (run, question, document) = (row.text(0)?, row.text(1)?, row.text(2)?);
        let Some((tool, member)) = run_of(tx, &run)? else { continue };
        if let Some((asker, device)) = asker
            && !(asker.is_admin || asker.name == member || may_answer(&document, device)?)
        {
            continue;
        }
        let select = "SELECT step FROM holds WHERE run = $1 AND question = $2 AND work <> '' ORDER BY step";
        let steps = tx.rows(select, &[run.as_str().into(), question.into()])?;
        all.push(OpenConsent {
            run,
            tool,
            member,
            steps: steps.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?,
            worker: row.text(3)?,
            asked: row.number(4)?,
            expires: row.number(5)?,
            document,
        });
    }
    Ok(all)
}

fn may_answer(document: &str, device: &str) -> Result<bool, HubError> {
    Ok(read(document)?.approvers.values().any(|key| key == device))
}

/// The tool of a run, and whose it is.
fn run_of(tx: &mut dyn HubTransaction, run: &str) -> Result<Option<(String, String)>, HubError> {
    for select in ["SELECT tool, member FROM flows WHERE run = $1", "SELECT tool, member FROM tasks WHERE id = $1"] {
        if let Some(row) = tx.row(select, &[run.into()])? {
            return Ok(Some((row.text(0)?, row.text(1)?)));
        }
    }
    Ok(None)
}

/// The same for the device of a member.
pub(crate) fn listed(
    tx: &mut dyn HubTransaction,
    (member, device): (&HubMember, &str),
    now: Timestamp,
) -> Result<Json, HubError> {
    sweep(tx, now)?;
    let json = |open: &OpenConsent| {
        let OpenConsent { run, tool, member, steps, worker, asked, expires, document } = open;
        json!({"run": run, "tool": tool, "member": member, "steps": steps, "worker": worker, "asked": asked / 1000,
               "expires": expires / 1000, "document": document})
    };
    Ok(open(tx, Some((member, device)))?.iter().map(json).collect())
}

/// Takes what a device signed. Of several answers, the first one counts.
pub(crate) fn answer(
    tx: &mut dyn HubTransaction,
    (member, device): (&HubMember, &str),
    signed: &SignedAnswer,
    now: Timestamp,
) -> Result<(), HubError> {
    let unsigned = || HubError::invalid("the device did not sign this answer");
    let answer = signed.verified().filter(|_| signed.device == device).ok_or_else(unsigned)?;
    if answer.format != FORMAT || answer.team != roots::newest(tx)?.0.team {
        return Err(HubError::invalid("the answer is one of another team"));
    }
    let question = answer.question.to_string();
    let select = "SELECT state, document, decider, expires, worker FROM consents WHERE run = $1 AND question = $2";
    let row = tx.row(select, &[answer.run.as_str().into(), question.as_str().into()])?;
    let of = run_of(tx, &answer.run)?;
    let (Some(row), Some((tool, of))) = (row, of) else {
        return Err(HubError::new(HubRefusal::Missing, "there is no such question"));
    };
    if !may_answer(&row.text(1)?, device)? {
        return Err(match member.is_admin || member.name == of {
            true => {
                let why = format!("`{}` takes no approval from this device", row.text(4)?);
                HubError::new(HubRefusal::Forbidden, why)
            }
            false => HubError::new(HubRefusal::Missing, "there is no such question"),
        });
    }
    let conflict = |why: String| Err(HubError::new(HubRefusal::Conflict, why));
    match row.text(0)?.as_str() {
        "open" if row.number(3)? >= now.as_millisecond() => {}
        "answered" => return conflict(format!("`{}` has answered already", row.text(2)?)),
        "open" | "expired" => return conflict("no one answered in time".to_owned()),
        _ => return conflict("the run has ended".to_owned()),
    }
    close(tx, (&answer.run, &question), ("answered", &member.name, &json!(signed).to_string()), now)?;
    let action = if answer.approved { "approve" } else { "deny" };
    audit::add(tx, now, &member.name, action, &format!("{} {tool}", answer.run))
}

/// What was answered about a run, for its workers.
pub(crate) fn answers(tx: &mut dyn HubTransaction, run: &str) -> Result<Vec<SignedAnswer>, HubError> {
    let select = "SELECT answer FROM consents WHERE run = $1 AND state = 'answered' ORDER BY question";
    let rows = tx.rows(select, &[run.into()])?;
    rows.iter().map(|row| serde_json::from_str(&row.text(0)?).map_err(broken)).collect()
}

/// The questions about a run to which no answer comes any more.
pub(crate) fn closed(tx: &mut dyn HubTransaction, run: &str) -> Result<Vec<BlobDigest>, HubError> {
    let select = "SELECT question FROM consents WHERE run = $1 AND state IN ('expired', 'withdrawn') ORDER BY question";
    tx.rows(select, &[run.into()])?.iter().map(|row| row.text(0)?.parse().map_err(broken)).collect()
}

/// Whether nothing is asked about something any more, whatever it is.
pub(crate) fn is_unanswered(tx: &mut dyn HubTransaction, run: &str, work: &str) -> Result<bool, HubError> {
    let select = "SELECT run FROM flows WHERE run = $1 AND cancelled = 1";
    if tx.row(select, &[run.into()])?.is_some() {
        return Ok(true);
    }
    let select = "SELECT run FROM holds WHERE run = $1 AND work = $2 AND state = 'last'";
    Ok(tx.row(select, &[run.into(), work.into()])?.is_some())
}

/// What came of a question that held some work, for the journal; nothing while it is open.
pub(crate) fn known(tx: &mut dyn HubTransaction, run: &str, work: FlowWork) -> Result<Option<Vec<u8>>, HubError> {
    let select = "SELECT holds.step, consents.state, consents.decider, consents.answer, holds.state FROM holds \
                  JOIN consents ON consents.run = holds.run AND consents.question = holds.question \
                  WHERE holds.run = $1 AND holds.work = $2";
    let Some(row) = tx.row(select, &[run.into(), json!(work).to_string().into()])? else { return Ok(None) };
    if row.text(4)? == "open" {
        return Ok(None);
    }
    let answer: Option<SignedAnswer> = serde_json::from_str(&row.text(3)?).ok();
    let answer = answer.and_then(|answer| answer.verified());
    let approved = answer.as_ref().map(|answer| answer.approved);
    let reason = answer.and_then(|answer| answer.reason);
    let entry = json!({"step": row.text(0)?, "by": row.text(2)?, "approved": approved, "reason": reason});
    Ok(Some(entry.to_string().into_bytes()))
}

/// Whether a question of a run is open.
pub(crate) fn is_open(tx: &mut dyn HubTransaction, run: &str) -> Result<bool, HubError> {
    let select = "SELECT run FROM consents WHERE run = $1 AND state = 'open' LIMIT 1";
    Ok(tx.row(select, &[run.into()])?.is_some())
}

/// Closes the questions of a run that ends.
pub(crate) fn withdraw(tx: &mut dyn HubTransaction, run: &str) -> Result<(), HubError> {
    let update = "UPDATE consents SET state = 'withdrawn' WHERE run = $1 AND state = 'open'";
    tx.execute(update, &[run.into()])?;
    tx.execute("UPDATE holds SET state = 'done' WHERE run = $1 AND state = 'open'", &[run.into()]).map(drop)
}

/// Forgets what was asked about a run.
pub(crate) fn forget(tx: &mut dyn HubTransaction, run: &str) -> Result<(), HubError> {
    for statement in ["DELETE FROM holds WHERE run = $1", "DELETE FROM consents WHERE run = $1"] {
        tx.execute(statement, &[run.into()])?;
    }
    Ok(())
}

/// Closes the questions that no one answered in time.
pub(crate) fn sweep(tx: &mut dyn HubTransaction, now: Timestamp) -> Result<(), HubError> {
    let select = "SELECT run, question FROM consents WHERE state = 'open' AND expires < $1";
    for row in tx.rows(select, &[now.as_millisecond().into()])? {
        close(tx, (&row.text(0)?, &row.text(1)?), ("expired", "", ""), now)?;
    }
    Ok(())
}
